/* lax_collective.c - across the lanes of vmaps with axis names. */
#include "ops/lax.h"

cx cxi_collective(cxi_prim prim, cx x, cxi_names axes) {
  if (axes.n == 0) return x;
  /* psum, pmax and pmin have this one parameter. */
  const cxi_psum_params p = { .axes = axes };
  return cxi_emit1(prim, &p, 1, &x);
}

cx cxi_axis_index(cxi_name axis) {
  const cxi_axis_index_params p = { .axes = { 1, &axis } };
  return cxi_emit1(CXI_PRIM_axis_index, &p, 0, NULL);
}

cx cxi_pbroadcast(cx x, cxi_name axis, int64_t source) {
  const cxi_pbroadcast_params p = { .axes = { 1, &axis }, .source = source };
  return cxi_emit1(CXI_PRIM_pbroadcast, &p, 1, &x);
}

cx cxi_ppermute(cx x, cxi_name axis, cxi_ints from, cxi_ints to) {
  const cxi_ppermute_params p = { .axes = { 1, &axis },
                                  .from = from,
                                  .to = to };
  return cxi_emit1(CXI_PRIM_ppermute, &p, 1, &x);
}

cx cxi_all_gather(cx x, cxi_name name, int64_t size, int axis) {
  const cxi_all_gather_params p = { .axes = { 1, &name },
                                    .size = size,
                                    .axis = axis };
  return cxi_emit1(CXI_PRIM_all_gather, &p, 1, &x);
}

cx cxi_reduce_scatter(cx x, cxi_name name, int64_t size, int axis) {
  const cxi_reduce_scatter_params p = { .axes = { 1, &name },
                                        .size = size,
                                        .axis = axis };
  return cxi_emit1(CXI_PRIM_reduce_scatter, &p, 1, &x);
}

cx cxi_all_to_all(cx x, cxi_name name, int64_t size, int split, int concat) {
  const cxi_all_to_all_params p = {
    .axes = { 1, &name }, .size = size, .split = split, .concat = concat
  };
  return cxi_emit1(CXI_PRIM_all_to_all, &p, 1, &x);
}
