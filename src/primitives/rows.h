/* rows.h - several axes of a view read as one row of wide numbers. */
#ifndef CXI_ROWS_H
#define CXI_ROWS_H

#include "ops/axes.h"

/* Axes of a view, in row-major order of the list, as one: where each of its
 * elements is, counted in elements. */
typedef struct cxi_fused {
  int64_t n;
  int64_t *offsets;
} cxi_fused;
/* The number of elements along the axes. */
int64_t cxi_fused_count(const cxi_view *v, const cx_dims *axes);
/* Takes that many offsets from *room, which moves on. */
cxi_fused cxi_fuse_axes(const cxi_view *v, const cx_dims *axes,
                        int64_t **room);

static inline const void *cxi_view_offset(const cxi_view *v, int64_t offset) {
  return (const char *)v->data +
         offset * (int64_t)cxi_dtype_bytes(v->type.type);
}

/* n elements of `type` at base + offsets[i], as numbers of the dtype `wide`:
 * f32 or f64 for floats that it holds exactly, u64 for integers and bools,
 * negative ones in two's complement. */
void cxi_load_row(cx_dtype wide, cx_dtype type, const void *base,
                  const int64_t *offsets, int64_t n, void *to);

#endif
