/* collective.h - rules shared by the rows of collectives. */
#ifndef CXI_COLLECTIVE_H
#define CXI_COLLECTIVE_H

#include "primitives/moves.h"

/* infer: names, each once; `one`: exactly one of them. */
bool cxi_infer_axis_names(cxi_infer *c, bool one);
/* batch: whether the axis that is batched is one of the equation's. */
bool cxi_collective_is_here(const cxi_rule *r);
/* The error that no vmap has the axis. */
bool cxi_evaluate_collective(cxi_eval *e, const cxi_view *in, cxi_view *out);

#endif
