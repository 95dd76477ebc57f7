/* cumulate.h - prefixes in plain C. */
#ifndef CXI_CUMULATE_H
#define CXI_CUMULATE_H

#include "ir/row.h"

/* Each element from those before it along the axis, one after the other: in
 * f32 for f16 and bf16, rounded where it is stored. */
bool cxi_evaluate_cumulate(cxi_eval *e, const cxi_view *in, cxi_view *out);

#endif
