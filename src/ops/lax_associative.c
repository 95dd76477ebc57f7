/* lax_associative.c - prefixes and folds of an associative operation, by trees
 * of operations on slices. */
#include "ops/axes.h"
#include "ops/lax.h"

/* The operation, and what it is applied along. */
typedef struct tree {
  cxi_associative *f;
  void *user;
  uint32_t n; /* arrays of an element */
  int axis;
} tree;

static cx *handles(size_t n) {
  cx *items = cxi_scratch((n ? n : 1) * sizeof *items);
  if (!items) cxi_fail(CX_EMEMORY, "associative_scan: out of memory");
  return items;
}

/* Elements first, first + 2, ... before limit. */
static cx every_second(const tree *t, cx x, int64_t first, int64_t limit) {
  cx_dims stop = cxi_shape_at(x);
  cx_dims start = cxi_dims_repeat(stop.n, 0);
  cx_dims strides = cxi_dims_repeat(stop.n, 1);
  start.d[t->axis] = first;
  stop.d[t->axis] = limit;
  strides.d[t->axis] = 2;
  return cxi_slice(x, start, stop, strides);
}

/* f of the pairs (0, 1), (2, 3), ...: half as many elements. */
static bool join_pairs(const tree *t, const cx *x, int64_t length, cx *out) {
  cx *sides = handles(2 * (size_t)t->n);
  if (!sides) return false;
  for (uint32_t i = 0; i < t->n; i++) {
    sides[i] = every_second(t, x[i], 0, length / 2 * 2);
    sides[t->n + i] = every_second(t, x[i], 1, length / 2 * 2);
  }
  return t->f(t->user, sides, sides + t->n, out);
}

/* x[0], odd[0], even[0], odd[1], ...: the prefixes in order. */
static cx interleave(const tree *t, cx first, cx odd, cx even, int64_t length) {
  const cx_dims shape = cxi_shape_at(odd);
  const cx zero = cxi_zeros(cxi_type_scalar(cxi_dtype_at(odd)));
  cx_dims low = cxi_dims_repeat(shape.n, 0), high = low, interior = low;
  cx parts[2] = { first, even };
  cx evens = cxi_given(even) ? cxi_concatenate(t->axis, 2, parts) : first;
  interior.d[t->axis] = 1;
  high.d[t->axis] = length % 2 == 0;
  evens = cxi_pad(evens, zero, low, high, interior);
  low.d[t->axis] = 1;
  high.d[t->axis] = length % 2;
  const cx odds = cxi_pad(odd, zero, low, high, interior);
  cx_dims lane = cxi_shape_at(evens), map = { 1, { t->axis } };
  const cx_dims along = { 1, { lane.d[t->axis] } };
  const cx parity =
      cxi_compare(CXI_PRIM_eq,
                  cxi_binary(CXI_PRIM_and, cxi_iota(CX_I32, along, 0),
                             cxi_integer(CX_I32, 1)),
                  cxi_integer(CX_I32, 1));
  return cxi_select(cxi_broadcast_in_dim(parity, lane, map), evens, odds);
}

/* Levels of halves: level k has the elements of level k - 1 joined in pairs.
 * Back up, the prefixes of a level are the odd ones of the level above. */
static bool scan(const tree *t, const cx *x, int64_t length, cx *out) {
  enum { LEVELS = 64 };
  cx *level[LEVELS];
  int64_t size[LEVELS];
  int depth = 0;
  level[0] = handles(t->n);
  if (!level[0]) return false;
  for (uint32_t i = 0; i < t->n; i++) level[0][i] = x[i];
  for (size[0] = length; size[depth] > 1; depth++) {
    size[depth + 1] = size[depth] / 2;
    level[depth + 1] = handles(t->n);
    if (!level[depth + 1] ||
        !join_pairs(t, level[depth], size[depth], level[depth + 1]))
      return false;
  }
  cx *odd = level[depth];
  while (depth-- > 0) {
    const int64_t n = size[depth];
    cx *sides = handles(3 * (size_t)t->n), *next = handles(t->n);
    if (!sides || !next) return false;
    cx *even = sides + 2 * (size_t)t->n;
    for (uint32_t i = 0; i < t->n; i++) {
      /* the odd prefix before each even element but the first */
      sides[i] = cxi_slice_axis(odd[i], t->axis, 0, (n - 1) / 2);
      sides[t->n + i] = every_second(t, level[depth][i], 2, n);
      even[i] = (cx){ 0, 0 };
    }
    if (n > 2 && !t->f(t->user, sides, sides + t->n, even)) return false;
    for (uint32_t i = 0; i < t->n; i++)
      next[i] = interleave(t, cxi_slice_axis(level[depth][i], t->axis, 0, 1),
                           odd[i], even[i], n);
    odd = next;
  }
  for (uint32_t i = 0; i < t->n; i++) out[i] = odd[i];
  return true;
}

bool cxi_associative_scan(cxi_associative *f, void *user, uint32_t n,
                          const cx *x, int axis, bool reverse, cx *out) {
  const tree t = { f, user, n, axis };
  const cx_dims along = { 1, { axis } };
  const int64_t length = cxi_shape_at(x[0]).d[axis];
  cx *ordered = handles(n);
  if (!ordered) return false;
  for (uint32_t i = 0; i < n; i++)
    ordered[i] = out[i] = reverse ? cxi_rev(x[i], along) : x[i];
  if (length > 1 && !scan(&t, ordered, length, out)) return false;
  for (uint32_t i = 0; reverse && i < n; i++) out[i] = cxi_rev(out[i], along);
  return true;
}

bool cxi_associative_fold(cxi_associative *f, void *user, uint32_t n,
                          const cx *x, int axis, cx *out) {
  const tree t = { f, user, n, axis };
  cx *now = handles(n), *joined = handles(n);
  if (!now || !joined) return false;
  for (uint32_t i = 0; i < n; i++) now[i] = x[i];
  for (int64_t length = cxi_shape_at(x[0]).d[axis]; length > 1;
       length = (length + 1) / 2) {
    if (!join_pairs(&t, now, length, joined)) return false;
    for (uint32_t i = 0; i < n; i++) {
      cx two[2] = { joined[i], now[i] };
      if (length % 2) two[1] = cxi_slice_axis(now[i], axis, length - 1, length);
      now[i] = length % 2 ? cxi_concatenate(axis, 2, two) : joined[i];
    }
  }
  for (uint32_t i = 0; i < n; i++) out[i] = now[i];
  return true;
}
