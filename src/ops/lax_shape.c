/* lax_shape.c - filled arrays, broadcasting, moving, joining, padding. */
#include "ops/axes.h"
#include "ops/lax.h"

static cx too_many(const char *op) {
  return cxi_fail(CX_ESHAPE, "%s: more than %d dimensions", op, CX_MAX_DIMS);
}

/* -- filled arrays --------------------------------------------------------- */

cx cxi_full(cxi_type type, double number) {
  return cxi_broadcast_scalar(cxi_number(cxi_type_dtype(type), number),
                              *cxi_type_shape(type));
}

cx cxi_zeros(cxi_type type) {
  return cxi_broadcast_scalar(cxi_literal_bits(cxi_type_dtype(type), 0),
                              *cxi_type_shape(type));
}

cx cxi_iota(cx_dtype type, cx_dims shape, int axis) {
  if (shape.n < 0) return too_many("iota");
  const cxi_iota_params p = { .type = type, .shape = shape, .axis = axis };
  return cxi_emit1(CXI_PRIM_iota, &p, 0, NULL);
}

/* -- broadcasting and moving ----------------------------------------------- */

cx cxi_broadcast_in_dim(cx x, cx_dims shape, cx_dims map) {
  if (shape.n < 0) return too_many("broadcast_in_dim");
  const cx_dims from = cxi_shape_at(x);
  if (map.n == from.n && cxi_dims_equal(&from, &shape) &&
      cxi_axes_identity(&map))
    return x;
  const cxi_broadcast_in_dim_params p = { .shape = shape, .map = map };
  return cxi_emit1(CXI_PRIM_broadcast_in_dim, &p, 1, &x);
}

cx cxi_broadcast_scalar(cx x, cx_dims shape) {
  return cxi_broadcast_in_dim(x, shape, (cx_dims){ 0 });
}

cx cxi_reshape(cx x, cx_dims shape) {
  if (shape.n < 0) return too_many("reshape");
  const cx_dims from = cxi_shape_at(x);
  if (cxi_dims_equal(&from, &shape)) return x;
  const cxi_reshape_params p = { .shape = shape };
  return cxi_emit1(CXI_PRIM_reshape, &p, 1, &x);
}

cx cxi_flatten(cx x) {
  const cx_dims shape = cxi_shape_at(x);
  return cxi_reshape(x, cxi_dims_repeat(1, cxi_dims_count(&shape)));
}

cx cxi_transpose(cx x, cx_dims permutation) {
  if (permutation.n == cxi_rank_at(x) && cxi_axes_identity(&permutation))
    return x;
  const cxi_transpose_params p = { .permutation = permutation };
  return cxi_emit1(CXI_PRIM_transpose, &p, 1, &x);
}

cx cxi_squeeze(cx x, cx_dims axes) {
  if (axes.n == 0) return x;
  const cxi_squeeze_params p = { .axes = axes };
  return cxi_emit1(CXI_PRIM_squeeze, &p, 1, &x);
}

cx cxi_expand_dims(cx x, cx_dims axes) {
  const cx_dims from = cxi_shape_at(x);
  if (axes.n < 0 || from.n + axes.n > CX_MAX_DIMS)
    return too_many("expand_dims");
  if (axes.n == 0 || !cxi_given(x)) return x;
  if (!cxi_axes_valid(&axes, from.n + axes.n))
    return cxi_fail(CX_ESHAPE, "expand_dims: axes %s of a result of rank %d",
                    cxi_show_list(&axes).s, from.n + axes.n);
  cx_dims shape = { .n = from.n + axes.n };
  for (int i = 0, at = 0; i < shape.n; i++)
    shape.d[i] = cxi_dims_has(&axes, i) ? 1 : from.d[at++];
  return cxi_reshape(x, shape);
}

cx cxi_rev(cx x, cx_dims axes) {
  if (axes.n == 0) return x;
  const cxi_rev_params p = { .axes = axes };
  return cxi_emit1(CXI_PRIM_rev, &p, 1, &x);
}

cx cxi_move_axis(cx x, int from, int to) {
  const int rank = cxi_rank_at(x);
  if (from == to || from < 0 || from >= rank || to < 0 || to >= rank) return x;
  const cx_dims others = cxi_dims_without(cxi_dims_range(0, rank), from);
  return cxi_transpose(x, cxi_dims_with(others, to, from));
}

cx cxi_insert_axis(cx x, int axis, int64_t size) {
  if (!cxi_given(x)) return x;
  if (cxi_rank_at(x) == CX_MAX_DIMS) {
    char text[96];
    cxi_aval_print(text, sizeof text, cxi_type_aval(cxi_type_at(x)));
    return cxi_fail(CX_ESHAPE, "vmap: %s has no room for a batch of %lld", text,
                    (long long)size);
  }
  const cx_dims shape = cxi_dims_insert(cxi_shape_at(x), axis, size);
  return cxi_broadcast_in_dim(
      x, shape, cxi_axes_shift(cxi_dims_range(0, cxi_rank_at(x)), axis));
}

/* -- joining --------------------------------------------------------------- */

cx cxi_concatenate(int axis, uint32_t n, const cx *items) {
  if (n == 1) return items[0];
  const cxi_concatenate_params p = { .axis = axis };
  return cxi_emit1(CXI_PRIM_concatenate, &p, n, items);
}

cx cxi_stack(int axis, uint32_t n, const cx *items) {
  const cxi_stack_params p = { .axis = axis };
  return cxi_emit1(CXI_PRIM_stack, &p, n, items);
}

void cxi_unstack(cx x, int axis, cx *out) {
  const cx_dims shape = cxi_shape_at(x);
  const cxi_unstack_params p = { .axis = axis };
  if (axis < 0 || axis >= shape.n) return;
  cxi_emit(CXI_PRIM_unstack, &p, 1, &x, (uint32_t)shape.d[axis], out);
}

void cxi_split_axis(cx x, int axis, cxi_ints sizes, cx *out) {
  const cx_dims shape = cxi_shape_at(x);
  if (sizes.n == 1 && axis >= 0 && axis < shape.n &&
      cxi_size_equal(shape.d[axis], sizes.d[0])) {
    out[0] = x;
    return;
  }
  const cxi_split_params p = { .sizes = sizes, .axis = axis };
  cxi_emit(CXI_PRIM_split, &p, 1, &x, sizes.n, out);
}

/* -- windows --------------------------------------------------------------- */

static bool all_equal(const cx_dims *dims, int64_t value) {
  for (int i = 0; i < dims->n; i++)
    if (dims->d[i] != value) return false;
  return true;
}

cx cxi_slice(cx x, cx_dims start, cx_dims limit, cx_dims strides) {
  const cx_dims shape = cxi_shape_at(x);
  if (start.n == shape.n && strides.n == shape.n && all_equal(&start, 0) &&
      all_equal(&strides, 1) && cxi_dims_equal(&limit, &shape))
    return x;
  const cxi_slice_params p = { .start = start,
                               .limit = limit,
                               .strides = strides };
  return cxi_emit1(CXI_PRIM_slice, &p, 1, &x);
}

cx cxi_slice_axis(cx x, int axis, int64_t start, int64_t limit) {
  if (!cxi_given(x)) return x;
  cx_dims limits = cxi_shape_at(x);
  cx_dims starts = cxi_dims_repeat(limits.n, 0);
  if (axis < 0 || axis >= limits.n)
    return cxi_fail(CX_ESHAPE, "slice: axis %d of %s", axis,
                    cxi_show_type(cxi_type_at(x)).s);
  starts.d[axis] = start, limits.d[axis] = limit;
  return cxi_slice(x, starts, limits, cxi_dims_repeat(limits.n, 1));
}

cx cxi_pad(cx x, cx value, cx_dims low, cx_dims high, cx_dims interior) {
  const int rank = cxi_rank_at(x);
  if (low.n == rank && high.n == rank && interior.n == rank &&
      all_equal(&low, 0) && all_equal(&high, 0) && all_equal(&interior, 0))
    return x;
  const cxi_pad_params p = { .low = low, .high = high, .interior = interior };
  return cxi_emit1(CXI_PRIM_pad, &p, 2, (cx[]){ x, value });
}
