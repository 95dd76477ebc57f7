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

cx cx_nonzero_(cx mask, int64_t size, int64_t fill, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, rank, axes[CX_MAX_DIMS];
  if (!cxi_operand("nonzero", &mask, &poison) ||
      !fits("nonzero", mask, size, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(mask);
  if (shape.n == 0 || cxi_dtype_at(mask) == CX_KEY)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "nonzero: needs an axis or more of bools "
                                      "or numbers, got %s",
                                      cxi_shown_of(mask).text));
  const int64_t n = cxi_dims_count(&shape);
  cx place = places(cxi_convert(cxi_flatten(mask), CX_BOOL), size, &rank);
  const cx none = cxi_compare(CXI_PRIM_eq, place, cxi_integer(CX_I32, n));
  const cx filled =
      cxi_broadcast_scalar(cxi_integer(CX_I32, fill), cxi_dims_repeat(1, size));
  for (int i = shape.n - 1; i >= 0; i--) {
    const cx extent = cxi_integer(CX_I32, shape.d[i]);
    axes[i] = cxi_select(none, cxi_binary(CXI_PRIM_rem, place, extent), filled);
    place = cxi_div(place, extent);
  }
  return cxi_leave(before, cx_tuple_(shape.n, axes, NULL));
}

/* Whether each element of x (n), sorted, differs from the one before. */
static cx begins(cx x) {
  const int64_t n = cxi_shape_at(x).d[0];
  const cx a = cxi_slice_axis(x, 0, 0, n - 1), b = cxi_slice_axis(x, 0, 1, n);
  cx differs = cxi_compare(CXI_PRIM_ne, a, b);
  if (cxi_dtype_is_float(cxi_dtype_at(x)))
    differs = cxi_binary(CXI_PRIM_and, differs, cxi_compare(CXI_PRIM_eq, a, a));
  const cx first =
      cxi_broadcast_scalar(cxi_integer(CX_BOOL, 1), cxi_dims_repeat(1, 1));
  return cxi_concatenate(0, 2, (cx[]){ first, differs });
}

/* Of x (n), n > 0: values, indices, inverse (n), counts. */
static bool unique(cx x, int64_t size, cx *out) {
  const cx_dims shape = cxi_shape_at(x), to = { 1, { size } };
  const cxi_sort_params by = { .axis = 0, .n_keys = 1, .stable = true };
  const cx in[2] = { x, cxi_iota(CX_I32, shape, 0) };
  cx sorted[2], rank;
  if (!cxi_sort(&by, 2, in, sorted)) return out[0] = sorted[0], false;
  const cx start = places(begins(sorted[0]), size + 1, &rank);
  const cx first = cxi_slice_axis(start, 0, 0, size);
  const cx end = cxi_slice_axis(start, 0, 1, size + 1);
  const cx none =
      cxi_compare(CXI_PRIM_eq, first, cxi_integer(CX_I32, shape.d[0]));
  const cx from = cxi_select(none, first, cxi_zeros(cxi_type_make(CX_I32, to)));
  out[0] = cxi_element(sorted[0], from);
  out[1] = cxi_element(sorted[1], from);
  out[2] = put(cxi_zeros(cxi_type_make(CX_I32, shape)), sorted[1],
               cxi_sub(rank, cxi_integer(CX_I32, 1)));
  out[3] = cxi_sub(end, first);
  return true;
}

cx cx_unique_(cx a, int64_t size, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, out[4];
  if (!cxi_operand("unique", &a, &poison) || !fits("unique", a, size, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(a);
  if (cxi_dims_count(&shape) == 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "unique: nothing in %s",
                                      cxi_shown_of(a).text));
  if (!unique(cxi_flatten(a), size, out)) return cxi_leave(before, out[0]);
  out[2] = cxi_reshape(out[2], shape);
  return cxi_leave(before, cx_tuple_(4, out, NULL));
}
