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

/* The value beyond an end of the points: what was given, a number or one of
 * the dtype, or what is there. */
static cx at_end(cx given, cx there) {
  if (cxi_left_out(given)) return there;
  return cxi_broadcast_scalar(given, cxi_shape_at(there));
}
/* The segment that x lies in; of one without length, its beginning. */
static cx interpolated(cx x, cx xp, cx fp, const cx_interp_opt *opt) {
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
  cx result = inside;
  if (!opt->extrapolate || !cxi_left_out(opt->left))
    result =
        cxi_select(below, result, at_end(opt->left, cxi_element(fp, zeros)));
  if (!opt->extrapolate || !cxi_left_out(opt->right))
    result =
        cxi_select(above, result, at_end(opt->right, cxi_element(fp, ends)));
  return result;
}
/* x modulo the period, in [0, period). */
static cx wrapped(cx x, double period) {
  const cx p = cxi_number_like(x, period);
  const cx rest = cxi_binary(CXI_PRIM_rem, x, p);
  const cx negative = cxi_compare(CXI_PRIM_lt, rest, cxi_number_like(x, 0));
  return cxi_select(negative, rest, cxi_offset(rest, period));
}
/* All of them so; the points in order, with the last before the first and the
 * first after the last. */
static bool periodic(double period, cx *x, cx *xp, cx *fp) {
  const cxi_sort_params by = { .axis = 0, .n_keys = 1, .stable = true };
  const int64_t n = cxi_shape_at(*xp).d[0];
  cx sorted[2];
  *x = wrapped(*x, period);
  if (!cxi_sort(&by, 2, (cx[]){ wrapped(*xp, period), *fp }, sorted))
    return false;
  cx parts[2][3];
  for (int i = 0; i < 2; i++) {
    const double shift = i ? 0 : period;
    parts[i][0] = cxi_offset(cxi_slice_axis(sorted[i], 0, n - 1, n), -shift);
    parts[i][1] = sorted[i];
    parts[i][2] = cxi_offset(cxi_slice_axis(sorted[i], 0, 0, 1), shift);
  }
  *xp = cxi_concatenate(0, 3, parts[0]);
  *fp = cxi_concatenate(0, 3, parts[1]);
  return true;
}
/* Numbers beyond the ends, of rank 0 and dtype t. */
static bool end_given(cx *end, cx_dtype t, cx *out_poison) {
  if (cxi_left_out(*end)) return true;
  *end = cxi_strong("interp", *end, t);
  if (!cxi_operand("interp", end, out_poison)) return false;
  if (cxi_dtype_at(*end) == t && cxi_rank_at(*end) == 0) return true;
  *out_poison = cxi_fail(cxi_rank_at(*end) ? CX_ESHAPE : CX_EDTYPE,
                         "interp: .left and .right must be one %s, got %s",
                         cxi_dtype_name(t), cxi_shown_of(*end).text);
  return false;
}
static bool interp_options(cx_interp_opt *opt, cx_dtype t, cx *out_poison) {
  if (!end_given(&opt->left, t, out_poison) ||
      !end_given(&opt->right, t, out_poison))
    return false;
  const bool ends =
      opt->extrapolate || !cxi_left_out(opt->left) || !cxi_left_out(opt->right);
  if (opt->period == 0 || (opt->period > 0 && opt->period < 1e300 && !ends))
    return true;
  *out_poison = cxi_fail(CX_EUSER, "interp: a period of %g%s", opt->period,
                         ends ? ", which leaves no ends" : "");
  return false;
}

cx cx_interp_(cx x, cx xp, cx fp, cx_interp_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, in[3] = { x, xp, fp };
  if (!cxi_promote("interp", 3, in, &poison) ||
      !is_list("interp", in[1], opt.period != 0 ? 1 : 2, &poison) ||
      !is_list("interp", in[2], opt.period != 0 ? 1 : 2, &poison))
    return cxi_leave(before, poison);
  if (!cxi_dtype_is_float(cxi_dtype_at(in[0])))
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "interp: needs a floating dtype, got %s",
                                      cxi_shown_of(in[0]).text));
  if (cxi_type_at(in[1]) != cxi_type_at(in[2]))
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "interp: points at %s of %s",
                                      cxi_shown_of(in[1]).text,
                                      cxi_shown_of(in[2]).text));
  if (!interp_options(&opt, cxi_dtype_at(in[0]), &poison))
    return cxi_leave(before, poison);
  cx flat = cxi_flatten(in[0]);
  if (opt.period != 0 && !periodic(opt.period, &flat, &in[1], &in[2]))
    return cxi_leave(before, in[1]);
  return cxi_leave(before, cxi_reshape(interpolated(flat, in[1], in[2], &opt),
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

/* Of n bins over a range, or from the least to the greatest of x; 1/2 to both
 * sides where that has no width. */
static cx bin_edges(cx x, int64_t n, const double *range) {
  const cx_dtype t = cxi_dtype_at(x);
  const cx_dims only = { 1, { 0 } }, shape = { 1, { n + 1 } };
  const cx flat = cxi_flatten(x);
  if (!cxi_given(flat)) return flat;
  cx lo = cxi_number(t, range[0]), hi = cxi_number(t, range[1]);
  if (range[0] == 0 && range[1] == 0 && cxi_shape_at(flat).d[0] > 0) {
    lo = cxi_reduce(CXI_PRIM_reduce_min, flat, only);
    hi = cxi_reduce(CXI_PRIM_reduce_max, flat, only);
  }
  const cx none = cxi_compare(CXI_PRIM_eq, lo, hi);
  lo = cxi_select(none, lo, cxi_offset(lo, -0.5));
  hi = cxi_select(none, hi, cxi_offset(hi, 0.5));
  const cx i = cxi_iota(t, shape, 0), last = cxi_number(t, (double)n);
  const cx part = cxi_div(i, last);
  const cx edge =
      cxi_add(cxi_mul(cxi_sub(cxi_number(t, 1), part), lo), cxi_mul(part, hi));
  return cxi_select(cxi_compare(CXI_PRIM_eq, i, last), edge,
                    cxi_broadcast_scalar(hi, shape));
}
/* x as floats, and whether there can be n bins over the range. */
static bool bins_fit(const char *op, cx *x, int64_t n, const double *range,
                     cx *out_poison) {
  if (!cxi_operand(op, x, out_poison)) return false;
  const cx_dtype t = cxi_dtype_at(*x);
  if (t == CX_KEY) {
    *out_poison = cxi_fail(CX_EDTYPE, "%s: needs numbers, got %s", op,
                           cxi_shown_of(*x).text);
    return false;
  }
  if (!cxi_dtype_is_float(t)) *x = cxi_convert(*x, CX_F32);
  if (n < 1 || n >= INT32_MAX) {
    *out_poison = cxi_fail(CX_ESHAPE, "%s: %lld bins", op, (long long)n);
    return false;
  }
  if (range[0] <= range[1]) return true;
  *out_poison =
      cxi_fail(CX_EUSER, "%s: no range from %g to %g", op, range[0], range[1]);
  return false;
}
cx cx_bin_edges_(cx x, int64_t n, cx_count_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!bins_fit("histogram_bin_edges", &x, n, opt.range, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, bin_edges(x, n, opt.range));
}
cx cx_histogram_(cx x, cx edges, cx_count_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, weights;
  int64_t bins;
  if (cxi_is_count(edges, &bins)) {
    if (!bins_fit("histogram", &x, bins, opt.range, &poison))
      return cxi_leave(before, poison);
    edges = bin_edges(x, bins, opt.range);
  }
  cx in[2] = { x, edges };
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
