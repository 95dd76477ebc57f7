/* sort.c - sorting, the greatest elements, quantiles. */
#include "calx/sort.h"

#include "ops/axes.h"
#include "ops/ops.h"

/* -- sort, argsort, lexsort, top_k ----------------------------------------- */

static cx reversed(cx a, int axis, bool reverse) {
  return reverse ? cxi_rev(a, cxi_dims_repeat(1, axis)) : a;
}

/* False, with *out_poison: the indices along the axis are no i32. */
static bool short_axis(const char *op, cx a, int axis, cx *out_poison) {
  if (cxi_shape_at(a).d[axis] - 1 <= INT32_MAX) return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: axis %d of %s has no i32 indices", op,
                         axis, cxi_shown_of(a).text);
  return false;
}

cx cx_sort_(cx a, int axis, cx_sort_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, out;
  if (!cxi_operand("sort", &a, &poison) || !cxi_axis("sort", a, &axis, &poison))
    return cxi_leave(before, poison);
  const cxi_sort_params p = { .axis = axis, .n_keys = 1, .stable = true };
  a = reversed(a, axis, opt.descending);
  if (!cxi_sort(&p, 1, &a, &out)) return cxi_leave(before, out);
  return cxi_leave(before, reversed(out, axis, opt.descending));
}

/* The indices in the order of the keys, the first the most significant: they
 * are sorted along, at place n of in[] and out[]. */
static cx arg_sorted(int n, cx *in, cx *out, int axis, bool descending) {
  const cxi_sort_params p = { .axis = axis, .n_keys = n, .stable = true };
  for (int i = 0; i < n; i++) in[i] = reversed(in[i], axis, descending);
  in[n] =
      reversed(cxi_iota(CX_I32, cxi_shape_at(in[0]), axis), axis, descending);
  if (!cxi_sort(&p, (uint32_t)n + 1, in, out)) return out[n];
  return reversed(out[n], axis, descending);
}

cx cx_argsort_(cx a, int axis, cx_sort_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, in[2], out[2];
  if (!cxi_operand("argsort", &a, &poison) ||
      !cxi_axis("argsort", a, &axis, &poison) ||
      !short_axis("argsort", a, axis, &poison))
    return cxi_leave(before, poison);
  in[0] = a;
  return cxi_leave(before, arg_sorted(1, in, out, axis, opt.descending));
}

static cx lex_sorted(int axis, int n, const cx *keys, cx *in, cx *out) {
  cx poison;
  for (int i = 0; i < n; i++) {
    in[i] = keys[n - 1 - i];
    if (!cxi_operand("lexsort", &in[i], &poison)) return poison;
  }
  if (!cxi_axis("lexsort", in[0], &axis, &poison) ||
      !short_axis("lexsort", in[0], axis, &poison))
    return poison;
  return arg_sorted(n, in, out, axis, false);
}

cx cx_lexsort_(int axis, int n, const cx *keys, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx result;
  if (!cxi_list_given("lexsort", n, keys, &result))
    return cxi_leave(before, result);
  if (n == 0)
    return cxi_leave(before, cxi_fail(CX_EUSER, "lexsort: no key is given"));
  const cxi_mark mark = cxi_scratch_mark();
  cx *in = cxi_scratch(2 * ((size_t)n + 1) * sizeof *in);
  if (in)
    result = lex_sorted(axis, n, keys, in, in + n + 1);
  else
    result = cxi_fail(CX_EMEMORY, "lexsort: no memory for %d keys", n);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

cx cx_top_k_(cx a, int64_t k, int axis, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, out[2];
  if (!cxi_operand("top_k", &a, &poison) ||
      !cxi_axis("top_k", a, &axis, &poison))
    return cxi_leave(before, poison);
  if (!cxi_top_k(a, k, axis, out)) return cxi_leave(before, out[0]);
  return cxi_leave(before, cx_tuple_(2, out, NULL));
}

/* -- quantiles ------------------------------------------------------------ */

/* The axes joined into one, the last; *out_kept is the shape with 1 there. */
static cx rows_of(cx a, cx_dims axes, cx_dims *out_kept) {
  const cx_dims shape = cxi_shape_at(a);
  cx_dims order = cxi_axes_rest(shape.n, &axes, NULL);
  cx_dims rows = cxi_dims_pick(&shape, &order);
  const cx_dims joined = cxi_dims_pick(&shape, &axes);
  *out_kept = shape;
  for (int i = 0; i < axes.n; i++) {
    order = cxi_dims_append(order, axes.d[i]);
    out_kept->d[axes.d[i]] = 1;
  }
  rows = cxi_dims_append(rows, cxi_dims_count(&joined));
  return cxi_reshape(cxi_transpose(a, order), rows);
}

/* x (rows, n) sorted, all of it NaN where a row has one; `places` (m), floats.
 * Returns (m, rows): the elements there. */
static cx elements_at(cx x, cx places) {
  const cx_dims shape = cxi_shape_at(x);
  const cx_dims many = cxi_shape_at(places), last = { 1, { 1 } };
  cxi_gather_params p = { .collapsed = last,
                          .start_map = last,
                          .sizes = { 2, { shape.d[0], 1 } },
                          .mode = CX_CLIP,
                          .fill = __builtin_nan("") };
  p.offset = last;
  const cx index = cxi_convert(places, CX_I32);
  return cxi_gather(x, cxi_reshape(index, (cx_dims){ 2, { many.d[0], 1 } }),
                    &p);
}

/* Of rows x (rows, n) in ascending order, at q (m) of the way from the first
 * to the last: (m, rows). */
static cx between(cx x, cx q, cx_quantile_method method) {
  const cx_dims shape = cxi_shape_at(x);
  const cx_dims to = { 2, { cxi_shape_at(q).d[0], shape.d[0] } };
  const double last = (double)(shape.d[1] - 1);
  const cx place = cxi_clamp(cxi_number_like(q, 0), cxi_scale(q, last),
                             cxi_number_like(q, last));
  const cx low = cxi_unary(CXI_PRIM_floor, place);
  const cx a = elements_at(x, low);
  const cx b = elements_at(x, cxi_unary(CXI_PRIM_ceil, place));
  const cx w =
      cxi_broadcast_in_dim(cxi_sub(place, low), to, cxi_dims_repeat(1, 0));
  switch (method) {
  case CX_QUANTILE_LOWER:
    return a;
  case CX_QUANTILE_HIGHER:
    return b;
  case CX_QUANTILE_MIDPOINT:
    return cxi_scale(cxi_add(a, b), 0.5);
  case CX_QUANTILE_NEAREST:
    return cxi_select(cxi_compare(CXI_PRIM_le, w, cxi_number_like(w, 0.5)), b,
                      a);
  default:
    break;
  }
  const cx mixed = cxi_add(cxi_mul(a, cxi_sub(cxi_full(cxi_type_at(w), 1), w)),
                           cxi_mul(b, w));
  /* at an element: infinity times 0 is none of it */
  return cxi_select(cxi_compare(CXI_PRIM_eq, w, cxi_number_like(w, 0)), mixed,
                    a);
}

/* Rows in ascending order; NaN throughout where there is one: it is last. */
static cx sorted_rows(cx x) {
  const cxi_sort_params p = { .axis = 1, .n_keys = 1, .stable = true };
  const cx_dims shape = cxi_shape_at(x);
  cx sorted;
  if (!cxi_sort(&p, 1, &x, &sorted)) return sorted;
  const cx last =
      cxi_squeeze(cxi_slice_axis(sorted, 1, shape.d[1] - 1, shape.d[1]),
                  cxi_dims_repeat(1, 1));
  const cx spread = cxi_broadcast_in_dim(last, shape, cxi_dims_repeat(1, 0));
  return cxi_select(cxi_compare(CXI_PRIM_ne, spread, spread), sorted, spread);
}

cx cx_quantile_(cx a, cx q, double whole, cx_dims axes, cx_quantile_opt opt,
                const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  cx_dims kept;
  if (!cxi_operand("quantile", &a, &poison) ||
      !cxi_axes("quantile", a, axes, &axes, &poison))
    return cxi_leave(before, poison);
  const cx_dtype given = cxi_dtype_at(a);
  const cx_dtype type = cxi_dtype_is_float(given) ? given : CX_F32;
  const cx_dtype wide = type == CX_F64 ? CX_F64 : CX_F32;
  q = cxi_strong("quantile", q, wide);
  if (!cxi_operand("quantile", &q, &poison)) return cxi_leave(before, poison);
  if ((unsigned)opt.method > CX_QUANTILE_NEAREST)
    return cxi_leave(
        before, cxi_fail(CX_EUSER, "quantile: no method %d", (int)opt.method));
  if (given == CX_KEY || !cxi_dtype_is_float(cxi_dtype_at(q)))
    return cxi_leave(before,
                     cxi_fail(CX_EDTYPE,
                              "quantile: numbers and a floating q, "
                              "got %s and %s",
                              cxi_shown_of(a).text, cxi_shown_of(q).text));
  cx x = rows_of(cxi_convert(a, wide), axes, &kept);
  const int rank = cxi_rank_at(x);
  cx_dims rest = cxi_shape_at(x), shape = cxi_shape_at(q);
  const int64_t n = rank > 0 ? rest.d[rank - 1] : 0, m = cxi_dims_count(&shape);
  rest.n = rank > 0 ? rank - 1 : 0;
  if (opt.keepdims) rest = kept;
  if (n == 0 || shape.n + rest.n > CX_MAX_DIMS)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "quantile: of %s, q %s",
                              cxi_shown_of(a).text, cxi_shown_of(q).text));
  const int64_t rows = cxi_dims_count(&rest);
  x = sorted_rows(cxi_reshape(x, (cx_dims){ 2, { rows, n } }));
  q = cxi_reshape(cxi_convert(q, wide), cxi_dims_repeat(1, m));
  if (whole != 1) q = cxi_div(q, cxi_number(wide, whole));
  for (int i = 0; i < rest.n; i++) shape = cxi_dims_append(shape, rest.d[i]);
  return cxi_leave(
      before, cxi_reshape(cxi_convert(between(x, q, opt.method), type), shape));
}
