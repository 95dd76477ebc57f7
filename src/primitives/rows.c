/* rows.c - several axes of a view read as one row of wide numbers. */
#include "primitives/rows.h"

int64_t cxi_fused_count(const cxi_view *v, const cx_dims *axes) {
  const cx_dims shape = cxi_dims_pick(&v->type.shape, axes);
  return cxi_dims_count(&shape);
}

cxi_fused cxi_fuse_axes(const cxi_view *v, const cx_dims *axes,
                        int64_t **room) {
  const cx_dims shape = cxi_dims_pick(&v->type.shape, axes);
  cxi_fused fused = { cxi_dims_count(&shape), *room };
  int64_t index[CX_MAX_DIMS] = { 0 };
  /* Without elements the strides say nothing. */
  const int axes_read = cxi_dims_count(&v->type.shape) ? axes->n : 0;
  *room += fused.n;
  for (int64_t i = 0; i < fused.n; i++) {
    fused.offsets[i] = 0;
    for (int k = 0; k < axes_read; k++)
      fused.offsets[i] += index[k] * v->strides[axes->d[k]];
    cxi_index_next(&shape, index);
  }
  return fused;
}

void cxi_load_row(cx_dtype wide, cx_dtype type, const void *base,
                  const int64_t *offsets, int64_t n, void *to) {
  float *f = to;
  double *d = to;
  uint64_t *u = to;
  const size_t bytes = cxi_dtype_bytes(type);
  if (type == CX_F32 && wide == CX_F32) {
    for (int64_t i = 0; i < n; i++) f[i] = ((const float *)base)[offsets[i]];
  } else if (type == CX_F64) {
    for (int64_t i = 0; i < n; i++) d[i] = ((const double *)base)[offsets[i]];
  } else if (type == CX_BF16 && wide == CX_F32) {
    for (int64_t i = 0; i < n; i++)
      f[i] = cxi_bf16_to_f32(((const uint16_t *)base)[offsets[i]]);
  } else if (type == CX_F16 && wide == CX_F32) {
    for (int64_t i = 0; i < n; i++)
      f[i] = cxi_f16_to_f32(((const uint16_t *)base)[offsets[i]]);
  } else if (wide == CX_F64) {
    for (int64_t i = 0; i < n; i++)
      d[i] = cxi_element_get(type,
                             (const char *)base + offsets[i] * (int64_t)bytes);
  } else {
    for (int64_t i = 0; i < n; i++)
      u[i] = (uint64_t)cxi_element_get_int(
          type, (const char *)base + offsets[i] * (int64_t)bytes);
  }
}
