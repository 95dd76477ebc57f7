/* pad.c - padding with what the array holds, as NumPy's pad. */
#include "calx/shape.h"

#include "ops/axes.h"
#include "ops/ops.h"

static const char *const names[] = {
  [CX_PAD_EDGE] = "edge",
  [CX_PAD_REFLECT] = "reflect",
  [CX_PAD_SYMMETRIC] = "symmetric",
  [CX_PAD_WRAP] = "wrap",
  [CX_PAD_LINEAR_RAMP] = "linear_ramp",
  [CX_PAD_MAXIMUM] = "maximum",
  [CX_PAD_MEAN] = "mean",
  [CX_PAD_MINIMUM] = "minimum",
};

/* -- elements at other places --------------------------------------------- */

/* Where element j of an axis of n, continued to both sides, comes from. */
static int64_t source(cx_pad_mode mode, int64_t j, int64_t n) {
  const int64_t period = mode == CX_PAD_WRAP        ? n
                         : mode == CX_PAD_SYMMETRIC ? 2 * n
                         : n > 1                    ? 2 * (n - 1)
                                                    : 1;
  const int64_t k = ((j % period) + period) % period;
  if (k < n) return k;
  return mode == CX_PAD_SYMMETRIC ? period - 1 - k : period - k;
}

/* Elements from..to-1 of the continued axis, in runs up and down. */
static cx continued(cx x, int axis, cx_pad_mode mode, int64_t from,
                    int64_t to) {
  const int64_t n = cxi_shape_at(x).d[axis];
  const int64_t periods = cxi_size_add((to - from) / n, 2);
  const cx_dims along = { 1, { axis } };
  const cxi_mark mark = cxi_scratch_mark();
  const int64_t bytes = cxi_size_mul(periods, 4 * (int64_t)sizeof(cx));
  cx *parts = bytes < 0 ? NULL : cxi_scratch((size_t)bytes);
  if (!parts) return cxi_fail(CX_EMEMORY, "pad: out of memory");
  uint32_t count = 0;
  for (int64_t j = from; j < to;) {
    const int64_t first = source(mode, j, n);
    int64_t step = 1, length = 1;
    if (j + 1 < to) step = source(mode, j + 1, n) - first;
    if (step != 1 && step != -1) step = 1;
    while (j + length < to &&
           source(mode, j + length, n) == first + step * length)
      length++;
    const int64_t low = step > 0 ? first : first - length + 1;
    cx part = cxi_slice_axis(x, axis, low, low + length);
    parts[count++] = step > 0 ? part : cxi_rev(part, along);
    j += length;
  }
  const cx result = count == 1 ? parts[0] : cxi_concatenate(axis, count, parts);
  cxi_scratch_reset(mark);
  return result;
}

/* -- one value on each side ----------------------------------------------- */

static cx repeated(cx one, int axis, int64_t n) {
  cx_dims shape = cxi_shape_at(one);
  const cx flat = cxi_reshape(one, cxi_dims_without(shape, axis));
  return cxi_insert_axis(flat, axis, n);
}

/* From 0 outside to the edge, which is not reached: k / n of it. */
static cx ramp(cx edge, int axis, int64_t n, bool before) {
  const cx_dtype type = cxi_dtype_at(edge);
  const bool whole = !cxi_dtype_is_float(type);
  const cx_dtype wide = type == CX_F32 || type == CX_F64 ? type
                        : whole                          ? CX_F64
                                                         : CX_F32;
  const cx all = cxi_convert(repeated(edge, axis, n), wide);
  const cx k = cxi_iota(wide, cxi_shape_at(all), axis);
  const cx steps = before ? k : cxi_sub(cxi_number(wide, (double)n - 1), k);
  const cx values = cxi_div(cxi_mul(all, steps), cxi_number(wide, (double)n));
  return cxi_convert(whole ? cxi_unary(CXI_PRIM_floor, values) : values, type);
}

static cx mean(cx x, int axis) {
  const cx_dtype type = cxi_dtype_at(x);
  const cx_dims along = { 1, { axis } };
  const int64_t n = cxi_shape_at(x).d[axis];
  const bool whole = !cxi_dtype_is_float(type);
  const cx sum = cxi_reduce_sum(cxi_convert(x, whole ? CX_F64 : type), along);
  const cx m = cxi_div(sum, cxi_number_like(sum, (double)n));
  return cxi_convert(whole ? cxi_round(m, false) : m, type);
}

static cx beside(cx x, int axis, cx_pad_mode mode, int64_t n, bool before) {
  const cx_dims along = { 1, { axis } };
  const int64_t last = cxi_shape_at(x).d[axis] - 1, at = before ? 0 : last;
  cx one;
  switch (mode) {
  case CX_PAD_MAXIMUM:
    one = cxi_reduce(CXI_PRIM_reduce_max, x, along);
    return cxi_insert_axis(one, axis, n);
  case CX_PAD_MINIMUM:
    one = cxi_reduce(CXI_PRIM_reduce_min, x, along);
    return cxi_insert_axis(one, axis, n);
  case CX_PAD_MEAN:
    return cxi_insert_axis(mean(x, axis), axis, n);
  case CX_PAD_LINEAR_RAMP:
    return ramp(cxi_slice_axis(x, axis, at, at + 1), axis, n, before);
  default:
    return repeated(cxi_slice_axis(x, axis, at, at + 1), axis, n);
  }
}

static cx pad_axis(cx x, int axis, cx_pad_mode mode, int64_t low,
                   int64_t high) {
  const int64_t n = cxi_shape_at(x).d[axis];
  if (mode == CX_PAD_REFLECT || mode == CX_PAD_SYMMETRIC || mode == CX_PAD_WRAP)
    return continued(x, axis, mode, -low, n + high);
  cx parts[3];
  uint32_t count = 0;
  if (low) parts[count++] = beside(x, axis, mode, low, true);
  parts[count++] = x;
  if (high) parts[count++] = beside(x, axis, mode, high, false);
  return cxi_concatenate(axis, count, parts);
}

cx cx_pad_mode_(cx a, cx_pad_mode mode, int n, const int64_t (*pads)[2],
                const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("pad", &a, &poison) ||
      !cxi_list_given("pad", n, pads, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(a);
  if ((int)mode < 0 || mode >= sizeof names / sizeof *names)
    return cxi_leave(
        before, cxi_fail(CX_EUSER, "pad: no mode has number %d", (int)mode));
  if (n != shape.n)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "pad: %s needs %d pairs, got %d",
                              cxi_shown_of(a).text, shape.n, n));
  for (int i = 0; i < n; i++) {
    const int64_t low = pads[i][0], high = pads[i][1];
    if (low < 0 || high < 0 ||
        cxi_size_add(cxi_size_add(low, high), shape.d[i]) < 0)
      return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                        "pad: axis %d by (%lld,%lld): mode %s "
                                        "takes no negative sizes",
                                        i, (long long)low, (long long)high,
                                        names[mode]));
    if (low == 0 && high == 0) continue;
    if (shape.d[i] == 0)
      return cxi_leave(before,
                       cxi_fail(CX_ESHAPE,
                                "pad: axis %d of %s has nothing to pad with, "
                                "as mode %s does",
                                i, cxi_shown_of(a).text, names[mode]));
    a = pad_axis(a, i, mode, low, high);
  }
  return cxi_leave(before, a);
}
