/* shape_window.c - slice, pad, iota. */
#include "primitives/moves.h"

#include <inttypes.h>
#include <string.h>

/* -- slice(x; start, limit, strides): x[start:limit:stride] ---------------- */

static bool infer_slice(cxi_infer *c) {
  const cxi_slice_params *p = c->params;
  if (!cxi_infer_count(c, 1)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (p->start.n != shape.n || p->limit.n != shape.n || p->strides.n != shape.n)
    return cxi_infer_fail(
        c, CX_ESHAPE,
        "start %s, limit %s, strides %s: want "
        "one item per axis of %s",
        cxi_show_list(&p->start).s, cxi_show_list(&p->limit).s,
        cxi_show_list(&p->strides).s, cxi_show_type(c->in[0]).s);
  for (int i = 0; i < shape.n; i++) {
    const int64_t start = p->start.d[i], limit = p->limit.d[i];
    const int64_t stride = p->strides.d[i];
    if (start < 0 || start > limit || limit > shape.d[i] || stride < 1)
      return cxi_infer_fail(c, CX_EINDEX,
                            "axis %d of %s: %" PRId64 ":%" PRId64 ":%" PRId64
                            " does not lie inside",
                            i, cxi_show_type(c->in[0]).s, start, limit, stride);
    const int64_t length = limit - start;
    shape.d[i] = length == 0 ? 0 : (length - 1) / stride + 1;
  }
  return cxi_infer_moved(c, shape);
}

static bool unit_strides(const cx_dims *strides) {
  for (int i = 0; i < strides->n; i++)
    if (strides->d[i] != 1) return false;
  return true;
}

/* The starts as literals, i32 where they fit. */
static void literal_starts(const cx_dims *start, cx *out) {
  cx_dtype dtype = CX_I32;
  for (int i = 0; i < start->n; i++)
    if (start->d[i] > INT32_MAX) dtype = CX_I64;
  for (int i = 0; i < start->n; i++) out[i] = cxi_integer(dtype, start->d[i]);
}

/* A contiguous window is added in place; a strided one is spread by a pad. */
static void transpose_slice(const cxi_rule *r, const cx *in, const cx *ct,
                            cx *acc) {
  (void)in;
  const cxi_slice_params *p = r->params;
  if (unit_strides(&p->strides)) {
    cx starts[CX_MAX_DIMS];
    literal_starts(&p->start, starts);
    acc[0] =
        cxi_update_slice_add(cxi_begun(acc[0], r->in_types[0]), ct[0], starts);
    return;
  }
  const cx_dims *shape = cxi_type_shape(r->in_types[0]);
  const cx_dims *window = cxi_type_shape(r->out_types[0]);
  cx_dims high = { .n = shape->n }, interior = { .n = shape->n };
  for (int i = 0; i < shape->n; i++) {
    const int64_t n = window->d[i];
    interior.d[i] = n > 1 ? p->strides.d[i] - 1 : 0;
    high.d[i] = shape->d[i] - p->start.d[i] -
                (n == 0 ? 0 : (n - 1) * p->strides.d[i] + 1);
  }
  const cx zero = cxi_number(cxi_type_dtype(r->in_types[0]), 0);
  cxi_accumulate(r, 0, cxi_pad(ct[0], zero, p->start, high, interior), acc);
}

static void batch_slice(const cxi_rule *r, const cx *in, const int *axis,
                        int64_t size, cx *out, int *out_axis) {
  const cxi_slice_params *p = r->params;
  out[0] = cxi_slice(in[0], cxi_dims_insert(p->start, axis[0], 0),
                     cxi_dims_insert(p->limit, axis[0], size),
                     cxi_dims_insert(p->strides, axis[0], 1));
  out_axis[0] = axis[0];
}

static bool evaluate_slice(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_slice_params *p = e->params;
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  cxi_view from = in[0];
  from.data =
      cxi_view_element(&in[0], p->start.d, cxi_dtype_bytes(from.type.type));
  from.type.shape = out[0].type.shape;
  for (int i = 0; i < from.type.shape.n; i++) {
    if (from.type.shape.d[i] > 1) from.strides[i] *= p->strides.d[i];
  }
  cxi_view_copy(&out[0], &from);
  return true;
}

static const char *const examples_slice[] = {
  "program @main(%0: f32[5]) { %1: f32[3] = slice[start=(1), limit=(4), "
  "strides=(1)] %0 return %1 }",
  "program @main(%0: f32[4,5]) { %1: f32[2,2] = slice[start=(0,1), "
  "limit=(4,5), strides=(3,2)] %0 return %1 }",
  "program @main(%0: f32[2,7]) { %1: f32[1,3] = slice[start=(1,0), "
  "limit=(2,7), strides=(1,3)] %0 return %1 }",
  "program @main(%0: f32[3,2]) { %1: f32[0,2] = slice[start=(3,0), "
  "limit=(3,2), strides=(2,1)] %0 return %1 }",
  "program @main(%0: f32[]) { %1: f32[] = slice[start=(), limit=(), "
  "strides=()] %0 return %1 }",
  "program @main(%0: u8[6]) { %1: u8[2] = slice[start=(1), limit=(6), "
  "strides=(4)] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_slice = {
  .prim = CXI_PRIM_slice,
  .form = CXI_FORM_MOVE,
  .formula = "x[start:limit:stride]",
  .infer = infer_slice,
  .jvp = cxi_jvp_move,
  .transpose = transpose_slice,
  .batch = batch_slice,
  .evaluate = evaluate_slice,
  .examples = examples_slice,
};

/* -- pad(x, value; low, high, interior): `interior` values between elements,
 *    low and high ones at the ends; negative ones crop --------------------- */

/* Beyond this nothing is a size, and sums of two still fit. */
static const int64_t most_padding = INT64_MAX / 4;

/* low + high + n + (n - 1) interior; negative if it is not a size. */
static int64_t padded_size(int64_t n, int64_t low, int64_t high,
                           int64_t interior) {
  int64_t size;
  if (low < -most_padding || low > most_padding || high < -most_padding ||
      high > most_padding || interior < 0 || interior > most_padding ||
      __builtin_mul_overflow(n > 0 ? n - 1 : 0, interior, &size) ||
      __builtin_add_overflow(size, n, &size) ||
      __builtin_add_overflow(size, low + high, &size))
    return -1;
  return size;
}

static bool infer_pad(cxi_infer *c) {
  const cxi_pad_params *p = c->params;
  if (!cxi_infer_count(c, 2) || !cxi_infer_one_dtype(c, 0, 2)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (cxi_type_rank(c->in[1]) != 0)
    return cxi_infer_fail(c, CX_ESHAPE, "the value is %s, not a scalar",
                          cxi_show_type(c->in[1]).s);
  if (p->low.n != shape.n || p->high.n != shape.n || p->interior.n != shape.n)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "low %s, high %s, interior %s: want "
                          "one item per axis of %s",
                          cxi_show_list(&p->low).s, cxi_show_list(&p->high).s,
                          cxi_show_list(&p->interior).s,
                          cxi_show_type(c->in[0]).s);
  for (int i = 0; i < shape.n; i++) {
    const int64_t size =
        padded_size(shape.d[i], p->low.d[i], p->high.d[i], p->interior.d[i]);
    if (size < 0)
      return cxi_infer_fail(c, CX_ESHAPE,
                            "axis %d of %s by low %" PRId64 ", high %" PRId64
                            ", interior %" PRId64 " has no valid size",
                            i, cxi_show_type(c->in[0]).s, p->low.d[i],
                            p->high.d[i], p->interior.d[i]);
    shape.d[i] = size;
  }
  return cxi_infer_moved(c, shape);
}

static cx_dims negated(cx_dims dims) {
  for (int i = 0; i < dims.n; i++) dims.d[i] = -dims.d[i];
  return dims;
}

/* x: undo the ends, then take every (interior + 1)-th element. */
static cx unpadded(const cxi_rule *r, cx ct) {
  const cxi_pad_params *p = r->params;
  const cx_dims *shape = cxi_type_shape(r->in_types[0]);
  const cx zero = cxi_number(cxi_type_dtype(r->in_types[0]), 0);
  cx_dims limit = *shape, strides = p->interior;
  for (int i = 0; i < shape->n; i++) {
    strides.d[i]++;
    if (limit.d[i] > 0) limit.d[i] += (limit.d[i] - 1) * p->interior.d[i];
  }
  const cx ends = cxi_pad(ct, zero, negated(p->low), negated(p->high),
                          cxi_dims_repeat(shape->n, 0));
  return cxi_slice(ends, cxi_dims_repeat(shape->n, 0), limit, strides);
}

/* Where the result of this equation, of unbatched x, takes an element of x. */
static cx taken_from_x(const cxi_rule *r) {
  const cxi_pad_params *p = r->params;
  const cxi_type bools = cxi_type_with_dtype(r->in_types[0], CX_BOOL);
  return cxi_pad(cxi_full(bools, 1), cxi_number(CX_BOOL, 0), p->low, p->high,
                 p->interior);
}

/* value: the sum of the cotangent where x is not. A mask, not a difference of
 * two sums, which would cancel. */
static void transpose_pad(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  if (cx_is_none(in[0])) cxi_accumulate(r, 0, unpadded(r, ct[0]), acc);
  if (!cx_is_none(in[1])) return;
  const cx zeros = cxi_zeros(r->out_types[0]);
  const cx rest = cxi_select(taken_from_x(r), ct[0], zeros);
  const cx_dims all = cxi_dims_range(0, cxi_type_rank(r->out_types[0]));
  cxi_accumulate(r, 1, cxi_reduce_sum(rest, all), acc);
}

/* A batched value does not fit the equation, which has one for all: pad with
 * anything and select. */
static cx pad_with_each(const cxi_rule *r, cx x, cx value, int at, int64_t size,
                        const cxi_pad_params *p) {
  const cx_dims shape =
      cxi_dims_insert(*cxi_type_shape(r->out_types[0]), at, size);
  if (shape.n < 0)
    return cxi_fail(CX_ESHAPE, "pad: more than %d dimensions", CX_MAX_DIMS);
  const cx zero = cxi_zeros(cxi_type_scalar(cxi_type_dtype(r->in_types[1])));
  const cx padded = cxi_pad(x, zero, p->low, p->high, p->interior);
  const cx mask = cxi_insert_axis(taken_from_x(r), at, size);
  const cx values =
      cxi_broadcast_in_dim(value, shape, cxi_dims_range(at, at + 1));
  return cxi_select(mask, values, padded);
}

static void batch_pad(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  const cxi_pad_params *p = r->params;
  const int at = axis[0] < 0 ? 0 : axis[0];
  const cx x = cxi_batch_to(in[0], axis[0], at, size);
  const cxi_pad_params batched = {
    .low = cxi_dims_insert(p->low, at, 0),
    .high = cxi_dims_insert(p->high, at, 0),
    .interior = cxi_dims_insert(p->interior, at, 0),
  };
  out_axis[0] = at;
  if (axis[1] < 0)
    out[0] = cxi_pad(x, in[1], batched.low, batched.high, batched.interior);
  else
    out[0] = pad_with_each(r, x, in[1], at, size, &batched);
}

/* The elements of x that land inside the result, in both; false: none. */
static bool overlap(const cxi_pad_params *p, cxi_view *from, cxi_view *to) {
  const cx_dims result = to->type.shape;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(to->type.type);
  for (int i = 0; i < result.n; i++) {
    /* Element k lands at low + k step; first and last that fit: */
    const int64_t low = p->low.d[i], step = p->interior.d[i] + 1;
    const int64_t first = low >= 0 ? 0 : (-low - 1) / step + 1;
    const int64_t room = result.d[i] - 1 - low;
    int64_t last = room < 0 ? -1 : room / step;
    if (last > from->type.shape.d[i] - 1) last = from->type.shape.d[i] - 1;
    if (first > last) return false;
    from->data = (char *)from->data + first * from->strides[i] * bytes;
    to->data = (char *)to->data + (low + first * step) * to->strides[i] * bytes;
    from->type.shape.d[i] = to->type.shape.d[i] = last - first + 1;
    /* A step that is never taken may not fit. */
    if (last > first) to->strides[i] *= step;
  }
  return true;
}

static bool evaluate_pad(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_pad_params *p = e->params;
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  const cxi_view value =
      cxi_view_broadcast(&in[1], out[0].type.shape, (cx_dims){ 0 });
  cxi_view from = in[0], to = out[0];
  cxi_view_copy(&out[0], &value);
  if (overlap(p, &from, &to)) cxi_view_copy(&to, &from);
  return true;
}

static const char *const examples_pad[] = {
  "program @main(%0: f32[3], %1: f32[]) { %2: f32[6] = pad[low=(1), high=(2), "
  "interior=(0)] %0, %1 return %2 }",
  "program @main(%0: f32[3], %1: f32[]) { %2: f32[8] = pad[low=(2), high=(1), "
  "interior=(1)] %0, %1 return %2 }",
  "program @main(%0: f32[2,3], %1: f32[]) { %2: f32[1,8] = pad[low=(-1,1), "
  "high=(0,0), interior=(0,2)] %0, %1 return %2 }",
  "program @main(%0: f32[4], %1: f32[]) { %2: f32[6] = pad[low=(-2), "
  "high=(-2), "
  "interior=(2)] %0, %1 return %2 }",
  "program @main(%0: f32[2], %1: f32[]) { %2: f32[0] = pad[low=(-1), "
  "high=(-1), "
  "interior=(0)] %0, %1 return %2 }",
  "program @main(%0: f32[0,2], %1: f32[]) { %2: f32[3,2] = pad[low=(1,0), "
  "high=(2,0), interior=(5,0)] %0, %1 return %2 }",
  "program @main(%0: f32[2], %1: f32[]) { %2: f32[3] = pad[low=(-3), high=(4), "
  "interior=(0)] %0, %1 return %2 }",
  "program @main(%0: f32[], %1: f32[]) { %2: f32[] = pad[low=(), high=(), "
  "interior=()] %0, %1 return %2 }",
  "program @main(%0: i16[2]) { %1: i16[5] = pad[low=(1), high=(1), "
  "interior=(1)] %0, 7:i16 return %1 }",
  NULL
};

const cxi_row cxi_row_pad = {
  .prim = CXI_PRIM_pad,
  .form = CXI_FORM_MOVE,
  .formula = "y[low + i (interior + 1)] = x[i], else value",
  .infer = infer_pad,
  .jvp = cxi_jvp_move,
  .transpose = transpose_pad,
  .batch = batch_pad,
  .evaluate = evaluate_pad,
  .examples = examples_pad,
};

/* -- iota(; type, shape, axis): the index along an axis -------------------- */

static bool infer_iota(cxi_infer *c) {
  const cxi_iota_params *p = c->params;
  if (!cxi_infer_count(c, 0) || !cxi_infer_sizes(c, "shape", &p->shape) ||
      !cxi_infer_axis(c, p->axis, p->shape.n))
    return false;
  const cx_aval aval = { p->type, p->shape };
  if (!cxi_dtype_valid((int)p->type) || p->type == CX_BOOL || p->type == CX_KEY)
    return cxi_infer_fail(c, CX_EDTYPE, "makes integers or floats, not %s",
                          cxi_dtype_name(p->type));
  if (cxi_aval_bytes(&aval) < 0)
    return cxi_infer_fail(c, CX_ESHAPE, "%s: its size overflows",
                          cxi_show_list(&p->shape).s);
  return cxi_infer_result(c, cxi_type_make(p->type, p->shape));
}

/* (outer, axis, inner): the elements of one outer index are filled, the others
 * are copies. */
static bool evaluate_iota(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  (void)in;
  const cxi_iota_params *p = e->params;
  const int64_t count = cxi_dims_count(&p->shape), n = p->shape.d[p->axis];
  if (count == 0) return true;
  const size_t bytes = cxi_dtype_bytes(p->type);
  size_t inner = 1;
  for (int i = (int)p->axis + 1; i < p->shape.n; i++)
    inner *= (size_t)p->shape.d[i];
  char *at = out[0].data;
  for (int64_t i = 0; i < n; i++) {
    uint64_t element = 0;
    cxi_element_set_int(p->type, &element, i);
    for (size_t k = 0; k < inner; k++, at += bytes) memcpy(at, &element, bytes);
  }
  const size_t block = (size_t)n * inner * bytes;
  for (char *end = (char *)out[0].data + (size_t)count * bytes; at < end;
       at += block)
    memcpy(at, out[0].data, block);
  return true;
}

static const char *const examples_iota[] = {
  "program @main() { %0: i32[4] = iota[type=i32, shape=(4), axis=0] return %0 "
  "}",
  "program @main() { %0: f32[2,3] = iota[type=f32, shape=(2,3), axis=0] "
  "return %0 }",
  "program @main() { %0: bf16[2,3,2] = iota[type=bf16, shape=(2,3,2), axis=1] "
  "return %0 }",
  "program @main() { %0: u8[0,3] = iota[type=u8, shape=(0,3), axis=1] "
  "return %0 }",
  NULL
};

const cxi_row cxi_row_iota = {
  .prim = CXI_PRIM_iota,
  .form = CXI_FORM_SOURCE,
  .formula = "y[.., i, ..] = i",
  .infer = infer_iota,
  .evaluate = evaluate_iota,
  .no_jvp = "no operands",
  .no_transpose = "no operands",
  .no_batch = "no operands",
  .examples = examples_iota,
};
