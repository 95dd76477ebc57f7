/* lax_reduce.c - reductions. */
#include "ops/lax.h"

cx cxi_reduce(cxi_prim prim, cx x, cx_dims axes) {
  if (axes.n == 0) return x;
  /* All reduce_* primitives have this one parameter. */
  const cxi_reduce_sum_params p = { .axes = axes };
  return cxi_emit1(prim, &p, 1, &x);
}

cx cxi_cumulate(cxi_prim prim, cx x, int axis, bool reverse) {
  /* All cum* primitives have these parameters. */
  const cxi_cumsum_params p = { .axis = axis, .reverse = reverse };
  return cxi_emit1(prim, &p, 1, &x);
}

cx cxi_argmax(cx x, int axis, cx_dtype type) {
  const cxi_argmax_params p = { .axis = axis, .type = type };
  return cxi_emit1(CXI_PRIM_argmax, &p, 1, &x);
}

cx cxi_argmin(cx x, int axis, cx_dtype type) {
  const cxi_argmin_params p = { .axis = axis, .type = type };
  return cxi_emit1(CXI_PRIM_argmin, &p, 1, &x);
}

bool cxi_reduce_by(const cxi_program *body, uint32_t n, const cx *in,
                   cx_dims axes, cx *out) {
  const cxi_reduce_params p = { .axes = axes, .body = body };
  return cxi_emit(CXI_PRIM_reduce, &p, 2 * n, in, n, out);
}
