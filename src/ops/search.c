/* search.c - places in sorted arrays, interpolation, counting. */
#include "calx/sort.h"

#include "ops/axes.h"
#include "ops/ops.h"

/* False, with *out_poison, unless x is (n) with n in the range of i32. */
static bool is_list(const char *op, cx x, int64_t least, cx *out_poison) {
  const cx_dims shape = cxi_shape_at(x);
  if (shape.n == 1 && shape.d[0] >= least && shape.d[0] <= INT32_MAX)
    return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: needs one axis of %d or more, got %s",
                         op, (int)least, cxi_shown_of(x).text);
  return false;
}

static bool is_integer(cx x) {
  const cxi_kind kind = cxi_dtype_kind(cxi_dtype_at(x));
  return kind == CXI_SIGNED || kind == CXI_UNSIGNED;
}

/* -- searchsorted, digitize ----------------------------------------------- */

/* a < b in the order of sort: NaN is last. */
static cx comes_before(cx a, cx b) {
  const cx less = cxi_compare(CXI_PRIM_lt, a, b);
  if (!cxi_dtype_is_float(cxi_dtype_at(a))) return less;
  return cxi_binary(CXI_PRIM_or, less,
                    cxi_binary(CXI_PRIM_and, cxi_compare(CXI_PRIM_eq, a, a),
                               cxi_compare(CXI_PRIM_ne, b, b)));
}

/* By halves: v (m) belongs between lo and hi, where it ends. */
static cx search(cx sorted, cx v, bool right) {
  const int64_t n = cxi_shape_at(sorted).d[0];
  const cxi_type type = cxi_type_make(CX_I32, cxi_shape_at(v));
  cx lo = cxi_zeros(type), hi = cxi_full(type, (double)n);
  for (int64_t left = n; left > 0; left /= 2) {
    const cx half = cxi_binary(CXI_PRIM_shift_right_logical, cxi_sub(hi, lo),
                               cxi_integer(CX_I32, 1));
    const cx mid = cxi_add(lo, half), x = cxi_element(sorted, mid);
    const cx open = cxi_compare(CXI_PRIM_lt, lo, hi);
    cx above = right ? cxi_unary(CXI_PRIM_not, comes_before(v, x))
                     : comes_before(x, v);
    above = cxi_binary(CXI_PRIM_and, open, above);
    hi = cxi_select(above, cxi_min(hi, mid), hi);
    lo = cxi_select(above, lo, cxi_add(mid, cxi_integer(CX_I32, 1)));
  }
  return lo;
}

cx cx_searchsorted_(cx sorted, cx v, cx_search_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, in[2] = { sorted, v };
  if (!cxi_promote("searchsorted", 2, in, &poison) ||
      !is_list("searchsorted", in[0], 0, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before,
                   cxi_reshape(search(in[0], cxi_flatten(in[1]), opt.right),
                               cxi_shape_at(in[1])));
}

/* Bins that descend are searched from their end. */
cx cx_digitize_(cx x, cx bins, cx_search_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, in[2] = { x, bins };
  if (!cxi_promote("digitize", 2, in, &poison) ||
      !is_list("digitize", in[1], 0, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(in[0]);
  const int64_t n = cxi_shape_at(in[1]).d[0];
  if (n == 0) return cxi_leave(before, cxi_zeros(cxi_type_make(CX_I32, shape)));
  const cx_dims only = { 1, { 0 } };
  const cx values = cxi_flatten(in[0]), turned = cxi_rev(in[1], only);
  const cx first = cxi_squeeze(cxi_slice_axis(in[1], 0, 0, 1), only);
  const cx last = cxi_squeeze(cxi_slice_axis(in[1], 0, n - 1, n), only);
  const cx up = search(in[1], values, !opt.right);
  const cx down =
      cxi_sub(cxi_integer(CX_I32, n), search(turned, values, !opt.right));
  const cx ascends = cxi_broadcast_scalar(cxi_compare(CXI_PRIM_ge, last, first),
                                          cxi_shape_at(values));
  return cxi_leave(before, cxi_reshape(cxi_select(ascends, down, up), shape));
}

/* -- interp --------------------------------------------------------------- */

/* The segment that x lies in; of one without length, its beginning. */
static cx interpolated(cx x, cx xp, cx fp) {
  const int64_t n = cxi_shape_at(xp).d[0];
  const cxi_type type = cxi_type_at(x);
  const cx one = cxi_integer(CX_I32, 1);
  const cx i = cxi_clamp(one, search(xp, x, true), cxi_integer(CX_I32, n - 1));
  const cx j = cxi_sub(i, one);
  const cx x0 = cxi_element(xp, j), f0 = cxi_element(fp, j);
  const cx width = cxi_sub(cxi_element(xp, i), x0);
  const cx rise = cxi_sub(cxi_element(fp, i), f0);
  const cx none = cxi_compare(CXI_PRIM_eq, width, cxi_zeros(type));
  const cx divisor = cxi_select(none, width, cxi_full(type, 1));
  const cx part = cxi_div(cxi_sub(x, x0), divisor);
  const cx inside = cxi_select(none, cxi_add(f0, cxi_mul(part, rise)), f0);
  const cx zeros = cxi_zeros(cxi_type_make(CX_I32, cxi_shape_at(x)));
  const cx ends = cxi_add(zeros, cxi_integer(CX_I32, n - 1));
  const cx below = cxi_compare(CXI_PRIM_lt, x, cxi_element(xp, zeros));
  const cx above = cxi_compare(CXI_PRIM_gt, x, cxi_element(xp, ends));
  const cx lower = cxi_select(below, inside, cxi_element(fp, zeros));
  return cxi_select(above, lower, cxi_element(fp, ends));
}

cx cx_interp_(cx x, cx xp, cx fp, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, in[3] = { x, xp, fp };
  if (!cxi_promote("interp", 3, in, &poison) ||
      !is_list("interp", in[1], 2, &poison) ||
      !is_list("interp", in[2], 2, &poison))
    return cxi_leave(before, poison);
  if (!cxi_dtype_is_float(cxi_dtype_at(in[0])))
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "interp: needs a floating dtype, got %s",
                                      cxi_shown_of(in[0]).text));
  if (cxi_type_at(in[1]) != cxi_type_at(in[2]))
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "interp: points at %s of %s",
                                      cxi_shown_of(in[1]).text,
                                      cxi_shown_of(in[2]).text));
  return cxi_leave(before,
                   cxi_reshape(interpolated(cxi_flatten(in[0]), in[1], in[2]),
                               cxi_shape_at(in[0])));
}

/* -- bincount, histogram -------------------------------------------------- */

/* The weights (m) summed by their index in 0..length-1; others are dropped. */
static cx sums_by_index(cx index, cx weights, int64_t length) {
  const cx_dims only = { 1, { 0 } };
  const cxi_scatter_add_params p = { .inserted = only,
                                     .start_map = only,
                                     .mode = CX_DROP };
  const cx_dims to = cxi_dims_repeat(1, length);
  return cxi_scatter_add(
      cxi_zeros(cxi_type_make(cxi_dtype_at(weights), to)),
      cxi_reshape(index, cxi_dims_append(cxi_shape_at(index), 1)), weights, &p);
}

/* The weights of x (m), or ones of a dtype. */
static bool weights_of(const char *op, cx x, cx given, cx_dtype type, cx *out,
                       cx *out_poison) {
  const cx_dims shape = cxi_shape_at(x);
  if (cxi_left_out(given)) {
    *out = cxi_full(cxi_type_make(type, cxi_shape_at(cxi_flatten(x))), 1);
    return true;
  }
  if (!cxi_operand(op, &given, out_poison)) return false;
  const cx_dims same = cxi_shape_at(given);
  if (cxi_dims_equal(&shape, &same) && cxi_dtype_at(given) != CX_KEY) {
    *out = cxi_flatten(given);
    return true;
  }
  *out_poison = cxi_fail(CX_ESHAPE, "%s: weights %s of %s", op,
                         cxi_shown_of(given).text, cxi_shown_of(x).text);
  return false;
}

cx cx_bincount_(cx x, int64_t length, cx_count_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, weights;
  if (!cxi_operand("bincount", &x, &poison) ||
      !weights_of("bincount", x, opt.weights, CX_I32, &weights, &poison))
    return cxi_leave(before, poison);
  if (!is_integer(x))
    return cxi_leave(before,
                     cxi_fail(CX_EDTYPE, "bincount: needs integers, got %s",
                              cxi_shown_of(x).text));
  if (length < 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "bincount: a length of %lld",
                                      (long long)length));
  const cx index = cxi_max(cxi_flatten(x), cxi_number_like(x, 0));
  return cxi_leave(before, sums_by_index(index, weights, length));
}

cx cx_histogram_(cx x, cx edges, cx_count_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, weights, in[2] = { x, edges };
  if (!cxi_promote("histogram", 2, in, &poison) ||
      !is_list("histogram", in[1], 2, &poison))
    return cxi_leave(before, poison);
  const cx_dtype given = cxi_dtype_at(in[0]);
  const cx_dtype type = cxi_dtype_is_float(given) ? given : CX_F32;
  if (!weights_of("histogram", in[0], opt.weights, type, &weights, &poison))
    return cxi_leave(before, poison);
  const int64_t n = cxi_shape_at(in[1]).d[0];
  const cx values = cxi_flatten(in[0]);
  const cx zeros = cxi_zeros(cxi_type_make(CX_I32, cxi_shape_at(values)));
  const cx last = cxi_add(zeros, cxi_integer(CX_I32, n - 1));
  const cx at_end = cxi_compare(CXI_PRIM_eq, values, cxi_element(in[1], last));
  cx index = cxi_select(at_end, search(in[1], values, true), last);
  index = cxi_sub(index, cxi_integer(CX_I32, 1));
  cx counts = sums_by_index(index, cxi_convert(weights, type), n - 1);
  if (opt.density) {
    const cx width = cxi_convert(cxi_sub(cxi_slice_axis(in[1], 0, 1, n),
                                         cxi_slice_axis(in[1], 0, 0, n - 1)),
                                 type);
    const cx sum = cxi_reduce_sum(counts, cxi_dims_repeat(1, 0));
    counts = cxi_div(cxi_div(counts, width), sum);
  }
  return cxi_leave(before, counts);
}
