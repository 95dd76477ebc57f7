/* view.h - a strided view of elements: dtype, sizes, strides, pointer. */
#ifndef CXI_VIEW_H
#define CXI_VIEW_H

#include "base/size.h"

typedef struct cxi_view {
  cx_aval type;
  int64_t strides[CX_MAX_DIMS]; /* in elements; 0 repeats, negative reverses */
  void *data;
} cxi_view;

cxi_view cxi_view_dense(cx_aval type, void *data); /* row-major */
bool cxi_view_is_dense(const cxi_view *view);
/* v[i] along `axis`, the axis gone. */
cxi_view cxi_view_at(const cxi_view *view, int axis, int64_t i);
/* The axes in another order: result axis i is axis order[i]. */
cxi_view cxi_view_permute(const cxi_view *view, const cx_dims *order);
/* Repeated to `shape`; map[i] is the result axis of axis i. */
cxi_view cxi_view_broadcast(const cxi_view *view, cx_dims shape, cx_dims map);

static inline void *cxi_view_element(const cxi_view *view,
                                     const int64_t *index, size_t bytes) {
  int64_t offset = 0;
  for (int i = 0; i < view->type.shape.n; i++)
    offset += index[i] * view->strides[i];
  return (char *)view->data + offset * (int64_t)bytes;
}
/* Of a window along an axis: start, moved so that start..start+window-1 lies in
 * 0..size-1. */
static inline int64_t cxi_clamp_start(int64_t start, int64_t window,
                                      int64_t size) {
  if (start > size - window) start = size - window;
  return start < 0 ? 0 : start;
}
/* Whether it lies there without being moved. */
static inline bool cxi_start_inside(int64_t start, int64_t window,
                                    int64_t size) {
  return start >= 0 && start <= size - window;
}

/* Counts index up in row-major order; false after the last one. Start from
 * zeros, and only if the shape has an element. */
bool cxi_index_next(const cx_dims *shape, int64_t *index);

/* Copies elements of the same dtype and shape; may not overlap partially. */
void cxi_view_copy(const cxi_view *to, const cxi_view *from);
void cxi_view_zero(const cxi_view *to);

#endif
