/* index.c - what the rows that index share when they run. */
#include "primitives/index.h"

cxi_view cxi_view_window(const cxi_view *v, const int64_t *start,
                         cx_dims sizes) {
  cxi_view window = *v;
  window.data = cxi_view_element(v, start, cxi_dtype_bytes(v->type.type));
  window.type.shape = sizes;
  return window;
}

/* -- adding rows of elements ----------------------------------------------- */

/* n elements, with strides in elements. */
typedef void add_row(int64_t n, void *to, int64_t to_stride, const void *from,
                     int64_t from_stride);

#define ELEMENT uint8_t
#define ADD_ROW add_u8
#include "primitives/add_row.inc"
#define ELEMENT uint16_t
#define ADD_ROW add_u16
#include "primitives/add_row.inc"
#define ELEMENT uint32_t
#define ADD_ROW add_u32
#include "primitives/add_row.inc"
#define ELEMENT uint64_t
#define ADD_ROW add_u64
#include "primitives/add_row.inc"
#define ELEMENT float
#define ADD_ROW add_f32
#include "primitives/add_row.inc"
#define ELEMENT double
#define ADD_ROW add_f64
#include "primitives/add_row.inc"

static void add_f16(int64_t n, void *to, int64_t to_stride, const void *from,
                    int64_t from_stride) {
  uint16_t *t = to;
  const uint16_t *f = from;
  for (int64_t i = 0; i < n; i++, t += to_stride, f += from_stride)
    *t = cxi_f16_from_f32(cxi_f16_to_f32(*t) + cxi_f16_to_f32(*f));
}

static void add_bf16(int64_t n, void *to, int64_t to_stride, const void *from,
                     int64_t from_stride) {
  uint16_t *t = to;
  const uint16_t *f = from;
  for (int64_t i = 0; i < n; i++, t += to_stride, f += from_stride)
    *t = cxi_bf16_from_f32(cxi_bf16_to_f32(*t) + cxi_bf16_to_f32(*f));
}

static void add_f16_to_f32(int64_t n, void *to, int64_t to_stride,
                           const void *from, int64_t from_stride) {
  float *t = to;
  const uint16_t *f = from;
  for (int64_t i = 0; i < n; i++, t += to_stride, f += from_stride)
    *t += cxi_f16_to_f32(*f);
}

static void add_bf16_to_f32(int64_t n, void *to, int64_t to_stride,
                            const void *from, int64_t from_stride) {
  float *t = to;
  const uint16_t *f = from;
  for (int64_t i = 0; i < n; i++, t += to_stride, f += from_stride)
    *t += cxi_bf16_to_f32(*f);
}

static add_row *choose(cx_dtype to, cx_dtype from) {
  switch (from) {
  case CX_F16:
    return to == CX_F32 ? add_f16_to_f32 : add_f16;
  case CX_BF16:
    return to == CX_F32 ? add_bf16_to_f32 : add_bf16;
  case CX_F32:
    return add_f32;
  case CX_F64:
    return add_f64;
  default:
    break;
  }
  switch (cxi_dtype_bytes(from)) {
  case 1:
    return add_u8;
  case 2:
    return add_u16;
  case 4:
    return add_u32;
  default:
    return add_u64;
  }
}

void cxi_view_add(const cxi_view *to, const cxi_view *from) {
  cx_dims outer = to->type.shape;
  if (cxi_dims_count(&outer) == 0) return;
  add_row *add = choose(to->type.type, from->type.type);
  const size_t to_bytes = cxi_dtype_bytes(to->type.type);
  const size_t from_bytes = cxi_dtype_bytes(from->type.type);
  if (outer.n == 0) {
    add(1, to->data, 0, from->data, 0);
    return;
  }
  const int last = outer.n - 1;
  const int64_t n = outer.d[last];
  outer.d[last] = 1;
  int64_t index[CX_MAX_DIMS] = { 0 };
  do {
    add(n, cxi_view_element(to, index, to_bytes), to->strides[last],
        cxi_view_element(from, index, from_bytes), from->strides[last]);
  } while (cxi_index_next(&outer, index));
}
