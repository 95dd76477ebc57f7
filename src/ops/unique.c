/* unique.c - what there is: places of true, different elements. */
#include "calx/sort.h"

#include "ops/axes.h"
#include "ops/ops.h"

/* to (n) with to[index] = value for index in range. */
static cx put(cx to, cx index, cx value) {
  const cx_dims only = { 1, { 0 } };
  const cxi_scatter_params p = { .inserted = only,
                                 .start_map = only,
                                 .mode = CX_DROP };
  return cxi_scatter(
      to, cxi_reshape(index, cxi_dims_append(cxi_shape_at(index), 1)), value,
      &p);
}

/* The first `size` places where the mask (n) is true; n where there are no
 * more. *out_rank: how many there are up to and with each place. */
static cx places(cx mask, int64_t size, cx *out_rank) {
  const int64_t n = cxi_shape_at(mask).d[0];
  const cx_dims shape = { 1, { n } }, to = { 1, { size } };
  *out_rank =
      cxi_cumulate(CXI_PRIM_cumsum, cxi_convert(mask, CX_I32), 0, false);
  if (size == 0) return cxi_zeros(cxi_type_make(CX_I32, to));
  const cx rank = cxi_sub(*out_rank, cxi_integer(CX_I32, 1));
  const cx beyond = cxi_full(cxi_type_make(CX_I32, shape), (double)size);
  return put(cxi_full(cxi_type_make(CX_I32, to), (double)n),
             cxi_select(mask, beyond, rank), cxi_iota(CX_I32, shape, 0));
}

/* False, with *out_poison, if the elements or the size do not fit an i32. */
static bool fits(const char *op, cx a, int64_t size, cx *out_poison) {
  const cx_dims shape = cxi_shape_at(a);
  if (size >= 0 && size < INT32_MAX && cxi_dims_count(&shape) < INT32_MAX)
    return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: %lld of %s", op, (long long)size,
                         cxi_shown_of(a).text);
  return false;
}

/* The flat places (size) of true in a mask of one axis or more. *out_none
 * tells where there are no more. False with *out_poison. */
static bool true_places(const char *op, cx *mask, int64_t size, cx *out_place,
                        cx *out_none, cx *out_poison) {
  cx rank;
  if (!cxi_operand(op, mask, out_poison) || !fits(op, *mask, size, out_poison))
    return false;
  const cx_dims shape = cxi_shape_at(*mask);
  if (shape.n == 0 || cxi_dtype_at(*mask) == CX_KEY) {
    *out_poison = cxi_fail(CX_ESHAPE,
                           "%s: needs an axis or more of bools or numbers, "
                           "got %s",
                           op, cxi_shown_of(*mask).text);
    return false;
  }
  const int64_t n = cxi_dims_count(&shape);
  *out_place = places(cxi_convert(cxi_flatten(*mask), CX_BOOL), size, &rank);
  *out_none = cxi_compare(CXI_PRIM_eq, *out_place, cxi_integer(CX_I32, n));
  return true;
}
/* Their indices along each axis of the shape. */
static void axis_indices(cx place, cx none, cx_dims shape, int64_t fill,
                         cx *out) {
  const cx filled =
      cxi_broadcast_scalar(cxi_integer(CX_I32, fill), cxi_shape_at(place));
  for (int i = shape.n - 1; i >= 0; i--) {
    const cx extent = cxi_integer(CX_I32, shape.d[i]);
    out[i] = cxi_select(none, cxi_binary(CXI_PRIM_rem, place, extent), filled);
    place = cxi_div(place, extent);
  }
}
cx cx_nonzero_(cx mask, int64_t size, int64_t fill, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, place, none, axes[CX_MAX_DIMS];
  if (!true_places("nonzero", &mask, size, &place, &none, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(mask);
  axis_indices(place, none, shape, fill, axes);
  return cxi_leave(before, cx_tuple_(shape.n, axes, NULL));
}
cx cx_argwhere_(cx mask, int64_t size, int64_t fill, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, place, none, axes[CX_MAX_DIMS];
  if (!true_places("argwhere", &mask, size, &place, &none, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(mask);
  axis_indices(place, none, shape, fill, axes);
  return cxi_leave(before, cxi_stack(1, (uint32_t)shape.n, axes));
}
cx cx_flatnonzero_(cx mask, int64_t size, int64_t fill, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, place, none;
  if (!true_places("flatnonzero", &mask, size, &place, &none, &poison))
    return cxi_leave(before, poison);
  const cx filled =
      cxi_broadcast_scalar(cxi_integer(CX_I32, fill), cxi_shape_at(place));
  return cxi_leave(before, cxi_select(none, place, filled));
}

/* -- a[mask] --------------------------------------------------------------- */

/* A number or an array of rank 0 of a's dtype. */
static bool filling(const char *op, cx *fill, cx a, cx *out_poison) {
  *fill = cxi_strong(op, *fill, cxi_dtype_at(a));
  if (!cxi_operand(op, fill, out_poison)) return false;
  if (cxi_dtype_at(*fill) == cxi_dtype_at(a) && cxi_rank_at(*fill) == 0)
    return true;
  *out_poison =
      cxi_fail(cxi_rank_at(*fill) ? CX_ESHAPE : CX_EDTYPE,
               "%s: the fill must be one %s, got %s", op,
               cxi_dtype_name(cxi_dtype_at(a)), cxi_shown_of(*fill).text);
  return false;
}
/* Rows of x (n, ...) at places (size), `fill` where there is none. */
static cx rows_at(cx x, cx place, cx none, cx fill) {
  if (!cxi_given(x) || !cxi_given(place)) return cxi_given(x) ? place : x;
  const cx_dims own = cxi_shape_at(x);
  cx_dims shape = own;
  shape.d[0] = cxi_shape_at(place).d[0];
  cxi_gather_params p = { .collapsed = { 1, { 0 } },
                          .start_map = { 1, { 0 } },
                          .sizes = own,
                          .mode = CX_CLIP,
                          .fill = __builtin_nan("") };
  const cx filled = cxi_broadcast_scalar(fill, shape);
  if (own.d[0] == 0 || cxi_dims_count(&shape) == 0) return filled;
  p.sizes.d[0] = 1;
  for (int i = 1; i < own.n; i++) p.offset = cxi_dims_append(p.offset, i);
  const cx rows = cxi_gather(
      x, cxi_reshape(place, cxi_dims_append(cxi_shape_at(place), 1)), &p);
  const cx_dims first = { 1, { 0 } };
  return cxi_select(cxi_broadcast_in_dim(none, shape, first), rows, filled);
}
cx cx_extract_(cx mask, cx a, int64_t size, cx fill, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, place, none;
  if (!true_places("extract", &mask, size, &place, &none, &poison) ||
      !cxi_operand("extract", &a, &poison) ||
      !filling("extract", &fill, a, &poison))
    return cxi_leave(before, poison);
  const cx_dims m = cxi_shape_at(mask), s = cxi_shape_at(a);
  bool ok = m.n <= s.n;
  for (int i = 0; ok && i < m.n; i++) ok = m.d[i] == s.d[i];
  if (!ok)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "extract: a mask %s of %s",
                              cxi_shown_of(mask).text, cxi_shown_of(a).text));
  cx_dims rows = { 1, { cxi_dims_count(&m) } };
  for (int i = m.n; i < s.n; i++) rows = cxi_dims_append(rows, s.d[i]);
  return cxi_leave(before, rows_at(cxi_reshape(a, rows), place, none, fill));
}
cx cx_compress_(cx mask, cx a, int axis, int64_t size, cx fill,
                const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, place, none;
  if (!true_places("compress", &mask, size, &place, &none, &poison) ||
      !cxi_operand("compress", &a, &poison) ||
      !cxi_axis("compress", a, &axis, &poison) ||
      !filling("compress", &fill, a, &poison))
    return cxi_leave(before, poison);
  const cx_dims m = cxi_shape_at(mask), s = cxi_shape_at(a);
  if (m.n != 1 || m.d[0] > s.d[axis])
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE, "compress: a mask %s along axis %d of %s",
                         cxi_shown_of(mask).text, axis, cxi_shown_of(a).text));
  const cx rows = rows_at(cxi_move_axis(a, axis, 0), place, none, fill);
  return cxi_leave(before, cxi_move_axis(rows, 0, axis));
}

/* -- unique ---------------------------------------------------------------- */

/* Whether each element of x (n, ...), sorted, differs from the one before. */
static cx begins(cx x) {
  const cx_dims shape = cxi_shape_at(x);
  const int64_t n = shape.d[0];
  const cx a = cxi_slice_axis(x, 0, 0, n - 1), b = cxi_slice_axis(x, 0, 1, n);
  cx differs = cxi_compare(CXI_PRIM_ne, a, b);
  if (cxi_dtype_is_float(cxi_dtype_at(x))) {
    const cx numbers = cxi_binary(CXI_PRIM_or, cxi_compare(CXI_PRIM_eq, a, a),
                                  cxi_compare(CXI_PRIM_eq, b, b));
    differs = cxi_binary(CXI_PRIM_and, differs, numbers);
  }
  cx_dims inner = { .n = shape.n - 1 };
  for (int i = 0; i < inner.n; i++) inner.d[i] = i + 1;
  differs = cxi_reduce(CXI_PRIM_reduce_or, differs, inner);
  const cx first =
      cxi_broadcast_scalar(cxi_integer(CX_BOOL, 1), cxi_dims_repeat(1, 1));
  return cxi_concatenate(0, 2, (cx[]){ first, differs });
}

/* Of a column (n) and an order (n): the order that sorts by it, what is equal
 * as before. */
static void sort_by_column(void *user, const cx *in, cx *out) {
  const cxi_sort_params by = { .axis = 0, .n_keys = 1, .stable = true };
  (void)user;
  cx sorted[2];
  const cx two[2] = { cxi_element(in[1], in[0]), in[0] };
  out[0] = cxi_sort(&by, 2, two, sorted) ? sorted[1] : sorted[0];
}
/* The order (n) of the rows of x (n, m): by the last column, then by the one
 * before it, and so on. */
static cx order_of_rows(cx x) {
  const cx_dims shape = cxi_shape_at(x), swapped = { 2, { 1, 0 } };
  const cx columns = cxi_rev(cxi_transpose(x, swapped), cxi_dims_repeat(1, 0));
  const cx in[2] = { cxi_iota(CX_I32, cxi_dims_repeat(1, shape.d[0]), 0),
                     columns };
  const cxi_loop loop = {
    .name = "unique", .length = shape.d[1], .n_carry = 1, .n_xs = 1
  };
  cx order;
  cxi_scan_of(&loop, sort_by_column, NULL, in, &order);
  return order;
}
/* x (n) or (n, m) in order, and where each of it was. */
static bool sorted_rows(cx x, cx out[2]) {
  const cx_dims shape = cxi_shape_at(x);
  const cxi_sort_params by = { .axis = 0, .n_keys = 1, .stable = true };
  if (shape.n == 1)
    return cxi_sort(&by, 2, (cx[]){ x, cxi_iota(CX_I32, shape, 0) }, out);
  out[1] = order_of_rows(x);
  const cx none = cxi_zeros(cxi_type_make(CX_BOOL, cxi_shape_at(out[1])));
  const cx zero = cxi_zeros(cxi_type_scalar(cxi_dtype_at(x)));
  out[0] = rows_at(x, out[1], none, zero);
  return true;
}

/* Of x (n) or (n, m), n > 0: values, indices, inverse (n), counts. */
static void unique(cx x, int64_t size, cx fill, cx *out) {
  const cx_dims all = cxi_dims_repeat(1, cxi_shape_at(x).d[0]);
  const cx_dims to = { 1, { size } };
  cx sorted[2], rank;
  if (!sorted_rows(x, sorted)) {
    out[0] = out[1] = out[2] = out[3] = sorted[0];
    return;
  }
  const cx start = places(begins(sorted[0]), size + 1, &rank);
  const cx first = cxi_slice_axis(start, 0, 0, size);
  const cx end = cxi_slice_axis(start, 0, 1, size + 1);
  const cx none =
      cxi_compare(CXI_PRIM_eq, first, cxi_integer(CX_I32, all.d[0]));
  const cx from = cxi_select(none, first, cxi_zeros(cxi_type_make(CX_I32, to)));
  const cx never = cxi_zeros(cxi_type_make(CX_BOOL, to));
  const cx zero = cxi_zeros(cxi_type_scalar(cxi_dtype_at(x)));
  const bool filled = cxi_given(fill);
  out[0] =
      rows_at(sorted[0], from, filled ? none : never, filled ? fill : zero);
  out[1] = cxi_element(sorted[1], from);
  out[2] = put(cxi_zeros(cxi_type_make(CX_I32, all)), sorted[1],
               cxi_sub(rank, cxi_integer(CX_I32, 1)));
  out[3] = cxi_sub(end, first);
}
/* What both forms ask of their operands. */
static bool unique_fits(const char *op, cx *a, int64_t size, cx *fill,
                        cx *out_poison) {
  if (!cxi_operand(op, a, out_poison) || !fits(op, *a, size, out_poison) ||
      (!cxi_left_out(*fill) && !filling(op, fill, *a, out_poison)))
    return false;
  const cx_dims shape = cxi_shape_at(*a);
  if (cxi_dims_count(&shape) > 0) return true;
  *out_poison =
      cxi_fail(CX_ESHAPE, "%s: nothing in %s", op, cxi_shown_of(*a).text);
  return false;
}
cx cx_unique_(cx a, int64_t size, cx_unique_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, out[4];
  if (!unique_fits("unique", &a, size, &opt.fill, &poison))
    return cxi_leave(before, poison);
  unique(cxi_flatten(a), size, opt.fill, out);
  out[2] = cxi_reshape(out[2], cxi_shape_at(a));
  return cxi_leave(before, cx_tuple_(4, out, NULL));
}
cx cx_unique_along_(cx a, int axis, int64_t size, cx_unique_opt opt,
                    const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, out[4];
  if (!unique_fits("unique_along", &a, size, &opt.fill, &poison) ||
      !cxi_axis("unique_along", a, &axis, &poison))
    return cxi_leave(before, poison);
  const cx moved = cxi_move_axis(a, axis, 0);
  cx_dims shape = cxi_shape_at(moved);
  const int64_t n = shape.d[0], m = cxi_dims_count(&shape) / n;
  unique(cxi_reshape(moved, (cx_dims){ 2, { n, m } }), size, opt.fill, out);
  shape.d[0] = size;
  out[0] = cxi_move_axis(cxi_reshape(out[0], shape), 0, axis);
  return cxi_leave(before, cx_tuple_(4, out, NULL));
}
