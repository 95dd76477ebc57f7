/* reduce.h - reductions in plain C. */
#ifndef CXI_REDUCE_H
#define CXI_REDUCE_H

#include "ir/row.h"

/* Each result element from its row of operand elements, which are read in
 * row-major order of the reduced axes, whatever the strides. */
bool cxi_evaluate_reduce(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_reduce_workspace(const cxi_eval *e, const cxi_view *in,
                             const cxi_view *out);
/* The index of the first greatest or least element along one axis. */
bool cxi_evaluate_arg(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_arg_workspace(const cxi_eval *e, const cxi_view *in,
                          const cxi_view *out);

#endif
