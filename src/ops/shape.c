/* shape.c - reshaping, permuting, joining and cutting arrays. */
#include "calx/shape.h"

#include "ops/ops.h"

/* -- another shape of the same elements ----------------------------------- */

/* One size may be -1: what is left. */
static bool complete(cx a, cx_dims *shape, cx *out_poison) {
  *shape = cxi_dims_given(*shape);
  cx_dims own = cxi_shape_at(a);
  int64_t known = 1, have = cxi_dims_count(&own);
  int open = -1;
  for (int i = 0; i < shape->n; i++) {
    if (shape->d[i] == -1 && open < 0)
      open = i;
    else
      known = cxi_size_mul(known, shape->d[i]);
  }
  if (shape->n < 0)
    *out_poison = cxi_fail(CX_ESHAPE, "reshape: a shape has at most %d sizes",
                           CX_MAX_DIMS);
  else if (open >= 0 && known > 0 && have % known == 0)
    return shape->d[open] = have / known, true;
  else if (open < 0 && known == have)
    return true;
  else
    *out_poison = cxi_fail(CX_ESHAPE, "reshape: %s has %lld elements, not %s",
                           cxi_shown_of(a).text, (long long)have,
                           cxi_shown_dims(*shape).text);
  return false;
}
cx cx_reshape_(cx a, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("reshape", &a, &poison) || !complete(a, &shape, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_reshape(a, shape));
}
cx cx_transpose_(cx a, cx_dims axes, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  cx_dims order;
  if (!cxi_operand("transpose", &a, &poison) ||
      !cxi_axes("transpose", a, axes, &order, &poison))
    return cxi_leave(before, poison);
  int n = cxi_rank_at(a);
  if (order.n != n)
    return cxi_leave(before, cxi_fail(CX_EINDEX,
                                      "transpose: %s needs %d axes, "
                                      "got %d",
                                      cxi_shown_of(a).text, n, order.n));
  if (axes.n == CX_ALL_AXES.n)
    for (int i = 0; i < n; i++) order.d[i] = n - 1 - i;
  return cxi_leave(before, cxi_transpose(a, order));
}
cx cx_swap_axes_(cx a, int i, int j, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("swap_axes", &a, &poison) ||
      !cxi_axis("swap_axes", a, &i, &poison) ||
      !cxi_axis("swap_axes", a, &j, &poison))
    return cxi_leave(before, poison);
  cx_dims order = cxi_dims_range(0, cxi_rank_at(a));
  order.d[i] = j, order.d[j] = i;
  return cxi_leave(before, cxi_transpose(a, order));
}
cx cx_broadcast_to_(cx a, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("broadcast_to", &a, &poison))
    return cxi_leave(before, poison);
  cx_dims own = cxi_shape_at(a);
  bool fits = cxi_dims_valid(&shape) && shape.n >= own.n;
  for (int k = 1; fits && k <= own.n; k++)
    fits = own.d[own.n - k] == 1 || own.d[own.n - k] == shape.d[shape.n - k];
  if (!fits)
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "broadcast_to: %s to %s",
                                      cxi_shown_of(a).text,
                                      cxi_shown_dims(shape).text));
  return cxi_leave(before, cxi_broadcast_to(a, shape));
}
/* New axes of size 1; the axes count in the result. */
cx cx_expand_(cx a, cx_dims axes, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("expand", &a, &poison)) return cxi_leave(before, poison);
  axes = cxi_dims_given(axes);
  int n = cxi_rank_at(a) + axes.n;
  bool is_new[CX_MAX_DIMS] = { false }, ok = axes.n >= 0 && n <= CX_MAX_DIMS;
  for (int i = 0; ok && i < axes.n; i++) {
    int64_t axis = axes.d[i] < 0 ? axes.d[i] + n : axes.d[i];
    ok = axis >= 0 && axis < n && !is_new[axis];
    if (ok) is_new[axis] = true;
  }
  if (!ok)
    return cxi_leave(before,
                     cxi_fail(CX_EINDEX, "expand: axes %s for %s",
                              cxi_shown_dims(axes).text, cxi_shown_of(a).text));
  cx_dims own = cxi_shape_at(a), shape = { .n = n };
  for (int i = 0, k = 0; i < n; i++) shape.d[i] = is_new[i] ? 1 : own.d[k++];
  return cxi_leave(before, cxi_reshape(a, shape));
}
cx cx_squeeze_(cx a, cx_dims axes, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  cx_dims which, own;
  if (!cxi_operand("squeeze", &a, &poison) ||
      !cxi_axes("squeeze", a, axes, &which, &poison))
    return cxi_leave(before, poison);
  own = cxi_shape_at(a);
  if (axes.n == CX_ALL_AXES.n) {
    which.n = 0;
    for (int i = 0; i < own.n; i++)
      if (own.d[i] == 1) which.d[which.n++] = i;
  }
  for (int i = 0; i < which.n; i++)
    if (own.d[which.d[i]] != 1)
      return cxi_leave(before,
                       cxi_fail(CX_ESHAPE, "squeeze: axis %lld of %s is not 1",
                                (long long)which.d[i], cxi_shown_of(a).text));
  return cxi_leave(before, cxi_squeeze(a, which));
}
cx cx_flip_(cx a, cx_dims axes, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  cx_dims which;
  if (!cxi_operand("flip", &a, &poison) ||
      !cxi_axes("flip", a, axes, &which, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_rev(a, which));
}

/* -- repetition ----------------------------------------------------------- */

/* Axis `axis` of size d as (n, d) or (d, n), then flattened. */
static cx repeat_axis(cx a, int axis, int64_t n, bool whole) {
  cx_dims shape = cxi_shape_at(a);
  shape.d[axis] = cxi_size_mul(shape.d[axis], n);
  return cxi_reshape(cxi_insert_axis(a, whole ? axis : axis + 1, n), shape);
}
cx cx_tile_(cx a, cx_dims reps, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("tile", &a, &poison)) return cxi_leave(before, poison);
  if (!cxi_dims_valid(&reps))
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "tile: repetitions %s",
                                      cxi_shown_dims(reps).text));
  cx_dims shape = cxi_shape_at(a);
  while (shape.n < reps.n) shape = cxi_dims_with(shape, 0, 1);
  while (reps.n < shape.n) reps = cxi_dims_with(reps, 0, 1);
  a = cxi_reshape(a, shape);
  for (int i = 0; i < shape.n; i++)
    if (reps.d[i] != 1) a = repeat_axis(a, i, reps.d[i], true);
  return cxi_leave(before, a);
}
cx cx_repeat_(cx a, int64_t n, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("repeat", &a, &poison) ||
      !cxi_axis("repeat", a, &axis, &poison))
    return cxi_leave(before, poison);
  if (n < 0)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "repeat: %lld times", (long long)n));
  return cxi_leave(before, n == 1 ? a : repeat_axis(a, axis, n, false));
}
cx cx_roll_(cx a, int64_t by, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("roll", &a, &poison) || !cxi_axis("roll", a, &axis, &poison))
    return cxi_leave(before, poison);
  cx_dims shape = cxi_shape_at(a);
  int64_t size = shape.d[axis], cut = size ? (size - by % size) % size : 0;
  if (cut == 0) return cxi_leave(before, a);
  cx parts[2] = { cxi_slice_axis(a, axis, cut, size),
                  cxi_slice_axis(a, axis, 0, cut) };
  return cxi_leave(before, cxi_concatenate(axis, 2, parts));
}

/* -- joining -------------------------------------------------------------- */

/* n arrays of one dtype; a single tuple stands for its items. The list is in
 * scratch memory: the caller marks and resets. */
static cx *items_of(const char *op, int n, const cx *given, uint32_t *out_n,
                    cx *out_poison) {
  if (!cxi_list_given(op, n, given, out_poison)) return NULL;
  cx tuple = n == 1 && cxi_is_tree(given[0]) ? given[0] : (cx){ 0, 0 };
  int count = tuple.index ? cx_len(tuple) : n;
  cx *items = cxi_scratch((size_t)(count + 1) * sizeof *items);
  if (!items) {
    *out_poison = cxi_fail(CX_EMEMORY, "%s: out of memory", op);
    return NULL;
  }
  if (count < 1) {
    *out_poison = cxi_fail(CX_ESHAPE, "%s: needs at least one array", op);
    return NULL;
  }
  for (int i = 0; i < count; i++)
    items[i] = tuple.index ? cx_nth_(tuple, i, NULL) : given[i];
  *out_n = (uint32_t)count;
  return cxi_promote(op, count, items, out_poison) ? items : NULL;
}
static cx join(const char *op, bool is_stack, int axis, int n,
               const cx *given) {
  cxi_mark mark = cxi_scratch_mark();
  uint32_t count;
  cx result, *items = items_of(op, n, given, &count, &result);
  if (items) {
    int rank = cxi_rank_at(items[0]) + is_stack, from_end = axis;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
      result = cxi_fail(CX_EINDEX, "%s: axis %d is out of range for %s", op,
                        from_end, cxi_shown_of(items[0]).text);
    else
      result = is_stack ? cxi_stack(axis, count, items)
                        : cxi_concatenate(axis, count, items);
  }
  cxi_scratch_reset(mark);
  return result;
}
cx cx_concat_(int axis, int n, const cx *items, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, join("concat", false, axis, n, items));
}
cx cx_stack_(int axis, int n, const cx *items, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, join("stack", true, axis, n, items));
}

/* -- cutting -------------------------------------------------------------- */

static cx cut(const char *op, cx a, int64_t n, int axis, bool unstack) {
  cx poison;
  if (!cxi_operand(op, &a, &poison) || !cxi_axis(op, a, &axis, &poison))
    return poison;
  int64_t size = cxi_shape_at(a).d[axis];
  if (unstack) n = size;
  if (n < 1 || n > (1 << 20) || size % n)
    return cxi_fail(CX_ESHAPE, "%s: axis %d of %s into %lld parts", op, axis,
                    cxi_shown_of(a).text, (long long)n);
  cxi_mark mark = cxi_scratch_mark();
  cx *parts = cxi_scratch((size_t)n * sizeof *parts), result;
  int64_t *sizes = cxi_scratch((size_t)n * sizeof *sizes);
  if (!parts || !sizes) {
    result = cxi_fail(CX_EMEMORY, "%s: out of memory", op);
  } else {
    for (int64_t i = 0; i < n; i++) sizes[i] = size / n;
    if (unstack)
      cxi_unstack(a, axis, parts);
    else
      cxi_split_axis(a, axis, (cxi_ints){ (uint32_t)n, sizes }, parts);
    result = cx_tuple_((int)n, parts, NULL);
  }
  cxi_scratch_reset(mark);
  return result;
}
cx cx_split_axis_(cx a, int n, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, cut("split_axis", a, n, axis, false));
}
cx cx_unstack_(cx a, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, cut("unstack", a, 0, axis, true));
}

/* -- padding and triangles ------------------------------------------------ */

cx cx_pad_(cx a, cx value, int n, const int64_t (*pads)[2], const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison, two[2] = { a, value };
  if (!cxi_operand("pad", &two[0], &poison) ||
      !cxi_list_given("pad", n, pads, &poison) ||
      !cxi_promote("pad", 2, two, &poison))
    return cxi_leave(before, poison);
  int rank = cxi_rank_at(two[0]);
  if (n != rank || cxi_rank_at(two[1]) != 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "pad: %s needs %d pairs and a number, "
                                      "got %d pairs and %s",
                                      cxi_shown_of(two[0]).text, rank, n,
                                      cxi_shown_of(two[1]).text));
  cx_dims low = { .n = n }, high = { .n = n }, interior = { .n = n };
  for (int i = 0; i < n; i++) low.d[i] = pads[i][0], high.d[i] = pads[i][1];
  return cxi_leave(before, cxi_pad(two[0], two[1], low, high, interior));
}
cx cx_tri_(bool lower, cx a, int k, const char *at) {
  cxi_name before = cxi_enter(at);
  const char *op = lower ? "tril" : "triu";
  cx poison;
  if (!cxi_operand(op, &a, &poison)) return cxi_leave(before, poison);
  if (cxi_rank_at(a) < 2)
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "%s: needs two axes, got %s",
                                      op, cxi_shown_of(a).text));
  return cxi_leave(before, cxi_triangle(lower, a, k));
}
