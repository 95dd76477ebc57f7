/* dot.h - what the rules of dot_general and its evaluation share. */
#ifndef CXI_DOT_H
#define CXI_DOT_H

#include "ir/row.h"

/* The dtype in which products are summed: f32 or f64 for floats, u64 (whose
 * low bits are those of every other width) for integers and bools. */
cx_dtype cxi_dot_wide(cx_dtype operands, cx_dtype result);

/* infer: two operands of one dtype whose products are summed to `type`: floats
 * to floats, integers to integers, bools to bools. */
bool cxi_dot_infer_dtypes(cxi_infer *c, cx_dtype type);
/* A floating dtype that holds both. */
cx_dtype cxi_dot_common_float(cx_dtype a, cx_dtype b);

/* out = addend + a b (addend NULL: 0), the sum over K first. One order: each
 * element is the sum of fma(a[k], b[k], sum) for k in row-major order of the
 * contracted axes as listed, cut as base/chain.h says, in the wide dtype; the
 * addend comes last, and the result is rounded once. */
void cxi_dot_evaluate(const cxi_dot_general_params *p, const cxi_view *a,
                      const cxi_view *b, const cxi_view *addend,
                      const cxi_view *out, void *workspace);
/* The bytes of its workspace; -1: more than there can be. */
int64_t cxi_dot_workspace(const cxi_dot_general_params *p, const cxi_view *a,
                          const cxi_view *b);

#endif
