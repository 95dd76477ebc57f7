/* random_movement.c - random reshaping, joining, indexing, updates. */
#include "support/random_function.h"

static uint32_t draw(pool *p, uint32_t n) {
  return chance_draw(&p->chance, n);
}

static const cx nothing = { 0 };
static bool missing(cx a) {
  return a.index == 0 && a.generation == 0;
}

static int some_axis(pool *p, cx a) {
  const int n = cx_ndim(a), axis = (int)draw(p, (uint32_t)n);
  return draw(p, 2) ? axis : axis - n;
}

/* -- shape ---------------------------------------------------------------- */

static cx reshaped(pool *p) {
  cx a = pool_pick(p, ANY_ARRAY, 0);
  if (cx_ndim(a) > 1 && draw(p, 2)) return cx_reshape(a, cx_size(a));
  if (cx_size(a) % 2 == 0 && cx_size(a) > 0) return cx_reshape(a, 2, -1);
  return cx_expand(a, (int)draw(p, (uint32_t)cx_ndim(a) + 1));
}

static cx transposed(pool *p) {
  cx a = pool_pick(p, ANY_ARRAY, 1);
  if (missing(a)) return nothing;
  cx_dims order = { .n = cx_ndim(a) };
  for (int i = 0; i < order.n; i++) {
    const int k = (int)draw(p, (uint32_t)i + 1);
    order.d[i] = order.d[k];
    order.d[k] = i;
  }
  return cx_transpose(a, order);
}

static cx broadcast(pool *p) {
  cx a = pool_pick(p, ANY_ARRAY, 0);
  cx_dims shape = cx_shape(a);
  for (int i = 0; i < shape.n; i++)
    if (shape.d[i] == 1) shape.d[i] = draw(p, 4);
  if (shape.n > 3) return nothing;
  for (int i = shape.n; i > 0; i--) shape.d[i] = shape.d[i - 1];
  shape.n++;
  shape.d[0] = 2;
  return cx_broadcast_to(a, shape);
}

static cx flipped(pool *p) {
  cx a = pool_pick(p, ANY_ARRAY, 1);
  if (missing(a)) return nothing;
  const int axis = some_axis(p, a);
  if (cx_dim(a, axis) == 0) return cx_flip(a, axis);
  switch (draw(p, 5)) {
  case 0:
    return cx_roll(a, (int)draw(p, 7) - 3, axis);
  case 1:
    return cx_repeat(a, (int)draw(p, 3), axis);
  case 2:
    return cx_unstack(a, axis);
  case 3:
    return cx_squeeze(cx_index(cx_swap_axes(a, 0, axis), CX_TO(1)), 0);
  default:
    return cx_flip(a, axis);
  }
}

static cx joined(pool *p) {
  cx a = pool_pick(p, A_NUMBER | A_BOOL, 1);
  if (missing(a)) return nothing;
  const int axis = some_axis(p, a);
  switch (draw(p, 4)) {
  case 0:
    return cx_concat(axis, a, cx_flip(a, axis), a);
  case 1:
    return cx_stack(0, a, a);
  case 2:
    return cx_split_axis(cx_concat(axis, a, a), 2, axis);
  default:
    return cx_tile(a, 2, 1);
  }
}

static cx padded(pool *p) {
  cx a = pool_pick(p, A_NUMBER, 0);
  if (cx_ndim(a) > 2) return nothing;
  const int lo = (int)draw(p, 3), hi = (int)draw(p, 3);
  if (cx_ndim(a) == 1) return cx_pad(a, 1, (lo, hi));
  if (cx_ndim(a) == 2)
    return draw(p, 2) ? cx_pad(a, 1, (lo, 0), (1, hi)) : cx_tril(a, lo - 1);
  return nothing;
}

/* -- indexing ------------------------------------------------------------- */

static cx indexed(pool *p) {
  cx a = pool_pick(p, ANY_ARRAY, 1);
  if (missing(a) || cx_dim(a, 0) == 0) return nothing;
  const int64_t n = cx_dim(a, 0), i = draw(p, (uint32_t)n);
  switch (draw(p, 5)) {
  case 0:
    return cx_index(a, (int64_t)-1 - i);
  case 1:
    return cx_index(a, CX_FROM(i), CX_DOTS, CX_NEW);
  case 2:
    return cx_index(a, CX_STEP(draw(p, 2) ? 2 : -1));
  case 3:
    return cx_index(a, CX_DOTS, CX_SLICE(0, 2, 1));
  default:
    return cx_index(a, CX_NEW, CX_TO(i));
  }
}

/* Integers of any kind as i32 in 0..7, some beyond an axis. */
static cx places(pool *p) {
  cx i = pool_pick(p, AN_INTEGER, 0);
  return cx_cast(cx_rem(cx_abs(cx_cast(i, CX_I64)), 7), CX_I32);
}

static cx gathered(pool *p) {
  cx a = pool_pick(p, A_FLOAT | AN_INTEGER, 1), i = places(p);
  if (missing(a) || cx_dim(a, 0) == 0 || cx_size(a) * cx_size(i) > 400)
    return nothing;
  if (draw(p, 2)) return cx_index(a, i);
  return cx_where(cx_is_finite(cx_cast(cx_take(a, i, 0), CX_F32)),
                  cx_take(a, i, 0), 0);
}

static cx gathered_along(pool *p) {
  cx a = pool_pick(p, A_FLOAT, 1);
  if (missing(a) || cx_size(a) == 0) return nothing;
  const int axis = some_axis(p, a);
  cx i =
      cx_iota_(CX_I32, axis < 0 ? axis + cx_ndim(a) : axis, cx_shape(a), CX_AT);
  return cx_take_along(a, cx_floor_divide(i, 2), axis);
}

static cx updated(pool *p) {
  cx a = pool_pick(p, A_FLOAT | AN_INTEGER, 1);
  if (missing(a) || cx_dim(a, 0) == 0) return nothing;
  const int i = (int)draw(p, (uint32_t)cx_dim(a, 0));
  cx row = cx_index(a, 0);
  switch (draw(p, 6)) {
  case 0:
    return cx_at_set(a, (i), row);
  case 1:
    return cx_at_add(a, (places(p)), 1);
  case 2:
    return cx_at_mul(a, (CX_FROM(i)), 2);
  case 3:
    return cx_at_max(a, (i, CX_DOTS), row);
  case 4:
    return cx_at_set(a, (cx_gt(a, 0)), 2);
  default:
    return cx_at_add(a, (CX_STEP(2)), row);
  }
}

static cx dynamic(pool *p) {
  cx a = pool_pick(p, A_FLOAT | AN_INTEGER, 1);
  if (missing(a)) return nothing;
  cx start = cx_sum(places(p));
  const int axis = some_axis(p, a);
  const int64_t n = cx_dim(a, axis), size = draw(p, (uint32_t)n + 1);
  cx part = cx_dynamic_slice(a, start, size, axis);
  if (draw(p, 2)) return part;
  return cx_dynamic_update(a, cx_flip(part, axis), start, axis);
}

static cx made_here(pool *p) {
  switch (draw(p, 5)) {
  case 0:
    return cx_sin(cx_cast(cx_iota(CX_I32, 1, 2, 3), p->main));
  case 1:
    return cx_arange(0, 5, 1, CX_I32);
  case 2:
    return cx_eye(p->main, 3);
  case 3:
    return cx_linspace(-1, 1, 5, p->main);
  default:
    return cx_one_hot(cx_iota(CX_I32, 0, 3), 4, p->main);
  }
}

static const random_maker makers[] = {
  reshaped,       transposed, broadcast, flipped, flipped,
  joined,         padded,     indexed,   indexed, gathered,
  gathered_along, updated,    updated,   dynamic, made_here,
};
const random_makers random_movement = { (int)(sizeof makers / sizeof *makers),
                                        makers };
