/* expand.h - an equation written in other primitives. */
#ifndef CXI_EXPAND_H
#define CXI_EXPAND_H

#include "ir/row.h"

/* Emits what stands for the rule's equation: out[0..n_out-1] from in[]. */
typedef void cxi_expansion(const cxi_rule *r, const cx *in, cx *out);

/* The tangents of the equation are those of its expansion. Sets out[] too
 * unless that is NULL: the driver has emitted the equation itself. */
void cxi_jvp_through(const cxi_rule *r, cxi_expansion *write, const cx *in,
                     const cx *dx, cx *out, cx *dout);

/* The rules of rows that have an expansion. */
void cxi_jvp_expansion(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout);
bool cxi_evaluate_expansion(cxi_eval *e, const cxi_view *in, cxi_view *out);

#endif
