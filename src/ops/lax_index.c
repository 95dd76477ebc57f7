/* lax_index.c - slices at computed places, gather, scatter. */
#include "ops/axes.h"
#include "ops/lax.h"

/* The primitives take (x, [update,] start of axis 0, start of axis 1, ...). */
static cx emit_at(cxi_prim prim, const void *params, uint32_t n_arrays,
                  const cx *arrays, const cx *starts) {
  cx in[2 + CX_MAX_DIMS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_arrays; i++) in[n++] = arrays[i];
  for (int i = 0; i < cxi_rank_at(arrays[0]); i++) in[n++] = starts[i];
  return cxi_emit1(prim, params, n, in);
}

cx cxi_dynamic_slice(cx x, const cx *starts, cx_dims sizes) {
  const cxi_dynamic_slice_params p = { .sizes = sizes };
  return emit_at(CXI_PRIM_dynamic_slice, &p, 1, &x, starts);
}

cx cxi_dynamic_update_slice(cx x, cx update, const cx *starts) {
  const cxi_dynamic_update_slice_params p = { 0 };
  return emit_at(CXI_PRIM_dynamic_update_slice, &p, 2, (cx[]){ x, update },
                 starts);
}

cx cxi_update_slice_add(cx x, cx update, const cx *starts) {
  const cxi_update_slice_add_params p = { 0 };
  return emit_at(CXI_PRIM_update_slice_add, &p, 2, (cx[]){ x, update }, starts);
}

cx cxi_gather(cx x, cx indices, const cxi_gather_params *params) {
  return cxi_emit1(CXI_PRIM_gather, params, 2, (cx[]){ x, indices });
}

_Static_assert(sizeof(cxi_scatter_params) == sizeof(cxi_scatter_add_params) &&
                   sizeof(cxi_scatter_params) ==
                       sizeof(cxi_scatter_mul_params) &&
                   sizeof(cxi_scatter_params) ==
                       sizeof(cxi_scatter_min_params) &&
                   sizeof(cxi_scatter_params) == sizeof(cxi_scatter_max_params),
               "the scatters share one struct of parameters");

cx cxi_scatter_by(cxi_prim prim, cx x, cx indices, cx updates,
                  const cxi_scatter_params *params) {
  return cxi_emit1(prim, params, 3, (cx[]){ x, indices, updates });
}

cx cxi_scatter(cx x, cx indices, cx updates, const cxi_scatter_params *params) {
  return cxi_scatter_by(CXI_PRIM_scatter, x, indices, updates, params);
}

cx cxi_scatter_add(cx x, cx indices, cx updates,
                   const cxi_scatter_add_params *params) {
  return cxi_emit1(CXI_PRIM_scatter_add, params, 3,
                   (cx[]){ x, indices, updates });
}

cx cxi_element(cx x, cx i) {
  const cx_dims only = { 1, { 0 } };
  const cxi_gather_params p = { .collapsed = only,
                                .start_map = only,
                                .sizes = { 1, { 1 } },
                                .mode = CX_CLIP,
                                .fill = __builtin_nan("") };
  return cxi_gather(x, cxi_reshape(i, cxi_dims_append(cxi_shape_at(i), 1)), &p);
}

/* Seen as (outer, along, inner), so that there is an axis left for the
 * gather's index whatever the rank. */
cx cxi_gather_along(cx x, cx indices, int axis) {
  const cx_dims shape = cxi_shape_at(x), to = cxi_shape_at(indices);
  if (!cxi_given(x) || !cxi_given(indices)) return cxi_given(x) ? indices : x;
  if (cxi_dims_count(&to) == 0)
    return cxi_zeros(cxi_type_make(cxi_dtype_at(x), to));
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; i++) outer *= shape.d[i];
  for (int i = axis + 1; i < shape.n; i++) inner *= shape.d[i];
  const cx_dims beside = { 2, { 0, 2 } }, along = { 1, { 1 } };
  const cxi_gather_params p = {
    .collapsed = along,
    .start_map = along,
    .operand_batch = beside,
    .index_batch = beside,
    .sizes = cxi_dims_repeat(3, 1),
    .mode = CX_IN_BOUNDS,
    .fill = __builtin_nan(""),
    .unique = true,
  };
  x = cxi_reshape(x, (cx_dims){ 3, { outer, shape.d[axis], inner } });
  indices =
      cxi_reshape(indices, (cx_dims){ 4, { outer, to.d[axis], inner, 1 } });
  return cxi_reshape(cxi_gather(x, indices, &p), to);
}
