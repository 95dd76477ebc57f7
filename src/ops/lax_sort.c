/* lax_sort.c - sorting, the greatest elements. */
#include "ops/lax.h"

bool cxi_sort(const cxi_sort_params *params, uint32_t n, const cx *in,
              cx *out) {
  return cxi_emit(CXI_PRIM_sort, params, n, in, n, out);
}

bool cxi_top_k(cx x, int64_t k, int axis, cx *out) {
  const cxi_top_k_params p = { .k = k, .axis = axis };
  return cxi_emit(CXI_PRIM_top_k, &p, 1, &x, 2, out);
}
