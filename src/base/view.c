/* view.c - strided views: made, permuted, broadcast, copied. */
#include "base/view.h"

#include <assert.h>
#include <string.h>

#include "base/dtype.h"

cxi_view cxi_view_dense(cx_aval type, void *data) {
  cxi_view view = { .type = type, .data = data };
  int64_t stride = 1;
  for (int i = type.shape.n - 1; i >= 0; i--) {
    view.strides[i] = stride;
    /* Overflow: there is an axis of size 0, and no element to be found. */
    if (__builtin_mul_overflow(stride, type.shape.d[i], &stride)) stride = 0;
  }
  return view;
}

bool cxi_view_is_dense(const cxi_view *view) {
  const cx_dims *shape = &view->type.shape;
  if (cxi_dims_count(shape) == 0) return true;
  int64_t stride = 1;
  for (int i = shape->n - 1; i >= 0; i--) {
    if (shape->d[i] != 1 && view->strides[i] != stride) return false;
    stride *= shape->d[i];
  }
  return true;
}

cxi_view cxi_view_at(const cxi_view *view, int axis, int64_t i) {
  assert(axis >= 0 && axis < view->type.shape.n);
  assert(i >= 0 && i < view->type.shape.d[axis]);
  cxi_view part = *view;
  part.data = (char *)view->data + i * view->strides[axis] *
                                       (int64_t)cxi_dtype_bytes(view->type.type);
  part.type.shape = cxi_dims_without(view->type.shape, axis);
  for (int k = axis; k < part.type.shape.n; k++)
    part.strides[k] = view->strides[k + 1];
  return part;
}

cxi_view cxi_view_permute(const cxi_view *view, const cx_dims *order) {
  assert(order->n == view->type.shape.n);
  cxi_view turned = *view;
  for (int i = 0; i < order->n; i++) {
    turned.type.shape.d[i] = view->type.shape.d[order->d[i]];
    turned.strides[i] = view->strides[order->d[i]];
  }
  return turned;
}

cxi_view cxi_view_broadcast(const cxi_view *view, cx_dims shape, cx_dims map) {
  assert(map.n == view->type.shape.n);
  cxi_view wide = { .type = { view->type.type, shape }, .data = view->data };
  for (int i = 0; i < map.n; i++) {
    const int64_t size = view->type.shape.d[i];
    assert(size == 1 || size == shape.d[map.d[i]]);
    wide.strides[map.d[i]] = size == 1 ? 0 : view->strides[i];
  }
  return wide;
}

bool cxi_index_next(const cx_dims *shape, int64_t *index) {
  for (int i = shape->n - 1; i >= 0; i--) {
    if (++index[i] < shape->d[i]) return true;
    index[i] = 0;
  }
  return false;
}

/* -- Copies ----------------------------------------------------------------
 * Axes of size 1 are dropped, neighbours that are one longer axis in both
 * views are joined; what is innermost then is copied by one loop. */
typedef struct loops {
  int n;
  int64_t sizes[CX_MAX_DIMS];
  int64_t to[CX_MAX_DIMS], from[CX_MAX_DIMS]; /* strides in bytes */
} loops;

static loops loops_of(const cxi_view *to, const cxi_view *from) {
  const int64_t bytes = (int64_t)cxi_dtype_bytes(to->type.type);
  loops l = { 0 };
  for (int i = 0; i < to->type.shape.n; i++) {
    const int64_t size = to->type.shape.d[i];
    const int64_t to_stride = to->strides[i] * bytes;
    const int64_t from_stride = from->strides[i] * bytes;
    const int last = l.n - 1;
    if (size == 1) continue;
    if (l.n && l.to[last] == to_stride * size &&
        l.from[last] == from_stride * size) {
      l.sizes[last] *= size;
      l.to[last] = to_stride;
      l.from[last] = from_stride;
    } else {
      l.sizes[l.n] = size;
      l.to[l.n] = to_stride;
      l.from[l.n++] = from_stride;
    }
  }
  return l;
}

static void copy_row(char *to, int64_t to_stride, const char *from,
                     int64_t from_stride, int64_t n, size_t bytes) {
  if (to_stride == (int64_t)bytes && from_stride == (int64_t)bytes) {
    memcpy(to, from, (size_t)n * bytes);
    return;
  }
  /* One loop for each size, so that the copy is a single move. */
  switch (bytes) {
  case 1:
    for (int64_t i = 0; i < n; i++) to[i * to_stride] = from[i * from_stride];
    break;
  case 2:
    for (int64_t i = 0; i < n; i++)
      memcpy(to + i * to_stride, from + i * from_stride, 2);
    break;
  case 4:
    for (int64_t i = 0; i < n; i++)
      memcpy(to + i * to_stride, from + i * from_stride, 4);
    break;
  default:
    for (int64_t i = 0; i < n; i++)
      memcpy(to + i * to_stride, from + i * from_stride, 8);
  }
}

/* Moves both pointers to the next row; false after the last. */
static bool next_row(const loops *l, int64_t *index, char **to,
                     const char **from) {
  for (int i = l->n - 2; i >= 0; i--) {
    *to += l->to[i];
    *from += l->from[i];
    if (++index[i] < l->sizes[i]) return true;
    *to -= index[i] * l->to[i];
    *from -= index[i] * l->from[i];
    index[i] = 0;
  }
  return false;
}

void cxi_view_copy(const cxi_view *to, const cxi_view *from) {
  assert(cxi_aval_equal(&to->type, &from->type));
  if (cxi_dims_count(&to->type.shape) == 0 || to->data == from->data) return;
  const size_t bytes = cxi_dtype_bytes(to->type.type);
  const loops l = loops_of(to, from);
  const int row = l.n - 1;
  int64_t index[CX_MAX_DIMS] = { 0 };
  char *out = to->data;
  const char *in = from->data;
  do {
    if (l.n)
      copy_row(out, l.to[row], in, l.from[row], l.sizes[row], bytes);
    else
      copy_row(out, (int64_t)bytes, in, (int64_t)bytes, 1, bytes);
  } while (next_row(&l, index, &out, &in));
}

void cxi_view_zero(const cxi_view *to) {
  const int64_t zero = 0;     /* all-zero bytes are 0 in every dtype */
  cxi_view from = *to;
  from.data = (void *)&zero;
  memset(from.strides, 0, sizeof from.strides);
  if (cxi_view_is_dense(to)) {
    const int64_t bytes = cxi_aval_bytes(&to->type);
    if (bytes > 0) memset(to->data, 0, (size_t)bytes);
  } else {
    cxi_view_copy(to, &from);
  }
}
