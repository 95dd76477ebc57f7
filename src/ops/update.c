/* update.c - new arrays with some elements changed: x.at[...].set(v). */
#include "calx/index.h"

#include "ops/subscript.h"

static const char *const names[] = {
  [CX_AT_SET] = "at_set", [CX_AT_ADD] = "at_add", [CX_AT_MUL] = "at_mul",
  [CX_AT_MIN] = "at_min", [CX_AT_MAX] = "at_max", [CX_AT_SUB] = "at_sub",
  [CX_AT_DIV] = "at_div",
};

static cx combine(cx_at_kind kind, cx old, cx value) {
  switch (kind) {
  case CX_AT_ADD:
    return cxi_add(old, value);
  case CX_AT_MUL:
    return cxi_mul(old, value);
  case CX_AT_MIN:
    return cxi_min(old, value);
  case CX_AT_MAX:
    return cxi_max(old, value);
  case CX_AT_SUB:
    return cxi_sub(old, value);
  case CX_AT_DIV:
    return cxi_div(old, value);
  default:
    return value;
  }
}
/* value broadcast to `shape`. */
static bool fit(const char *op, cx *value, cx_dims shape, cx *out_poison) {
  cx_dims own = cxi_shape_at(*value);
  while (own.n > shape.n && own.d[0] == 1) own = cxi_dims_without(own, 0);
  bool ok = own.n <= shape.n;
  for (int k = 1; ok && k <= own.n; k++)
    ok = own.d[own.n - k] == 1 || own.d[own.n - k] == shape.d[shape.n - k];
  if (ok) {
    *value = cxi_broadcast_to(cxi_reshape(*value, own), shape);
    return true;
  }
  *out_poison = cxi_fail(CX_ESHAPE, "%s: the value %s does not fit %s", op,
                         cxi_shown_of(*value).text, cxi_shown_dims(shape).text);
  return false;
}

/* -- a mask --------------------------------------------------------------- */

static cx update_masked(cx_at_kind kind, cx a, cx mask, cx value) {
  cx_dims s = cxi_shape_at(a), m = cxi_shape_at(mask);
  bool ok = m.n <= s.n;
  for (int i = 0; ok && i < m.n; i++) ok = m.d[i] == s.d[i];
  if (!ok || cxi_rank_at(value) != 0)
    return cxi_fail(CX_ESHAPE,
                    "%s: a mask needs the leading axes of %s and a "
                    "number to set, got %s and %s",
                    names[kind], cxi_shown_of(a).text, cxi_shown_of(mask).text,
                    cxi_shown_of(value).text);
  mask = cxi_broadcast_in_dim(mask, s, cxi_dims_range(0, m.n));
  cx changed = combine(kind, a, cxi_broadcast_scalar(value, s));
  return cxi_select(mask, a, changed);
}

/* -- index arrays --------------------------------------------------------- */

cx_mode cxi_update_mode(cx_mode mode) {
  return mode == CX_DEFAULT || mode == CX_FILL ? CX_DROP : mode;
}
/* Subtraction adds what is negated; division divides by a product. */
static cx scatter_by_kind(cx_at_kind kind, cx a, cx indices, cx value,
                          const cxi_scatter_params *p) {
  static const cxi_prim prims[] = {
    [CX_AT_SET] = CXI_PRIM_scatter,     [CX_AT_ADD] = CXI_PRIM_scatter_add,
    [CX_AT_MUL] = CXI_PRIM_scatter_mul, [CX_AT_MIN] = CXI_PRIM_scatter_min,
    [CX_AT_MAX] = CXI_PRIM_scatter_max, [CX_AT_SUB] = CXI_PRIM_scatter_add,
    [CX_AT_DIV] = CXI_PRIM_scatter_mul,
  };
  if (kind == CX_AT_SUB) value = cxi_neg(value);
  if (kind != CX_AT_DIV)
    return cxi_scatter_by(prims[kind], a, indices, value, p);
  const cx ones = cxi_full(cxi_type_make(cxi_dtype_at(a), cxi_shape_at(a)), 1);
  return cxi_div(a, cxi_scatter_by(prims[kind], ones, indices, value, p));
}
static cx scatter_arrays(cx_at_kind kind, const cxi_subscript *s, cx a,
                         cx value, cx_at_opt opt) {
  cxi_scatter_params p = { .window = cxi_subscript_window(s),
                           .mode = cxi_update_mode(opt.mode),
                           .sorted = opt.sorted,
                           .unique = opt.unique };
  for (int i = 0; i < s->n_arrays; i++)
    p.inserted = cxi_dims_append(p.inserted, s->axis[i]);
  p.start_map = p.inserted;
  return scatter_by_kind(kind, a, cxi_subscript_indices(s), value, &p);
}

/* -- slices --------------------------------------------------------------- */

/* The region with the operand's rank: dropped axes back, added ones gone. */
static cx to_region(const cxi_subscript *s, cx x) {
  return cxi_reshape(x, s->count);
}
static bool unit_steps(const cxi_subscript *s) {
  for (int i = 0; i < s->step.n; i++)
    if (s->step.d[i] != 1 && s->count.d[i] > 1) return false;
  return true;
}
/* The region between the elements it leaves alone: `fill` there. */
static cx spread_out(const cxi_subscript *s, cx region, cx fill,
                     cx_dims shape) {
  cx_dims low = s->start, high = s->start, interior = s->start,
          down = { .n = 0 };
  for (int i = 0; i < s->start.n; i++) {
    int64_t n = s->count.d[i], step = s->step.d[i];
    int64_t stride = step < 0 ? -step : step;
    if (n <= 1) stride = 1;
    if (step < 0 && n > 1) down = cxi_dims_append(down, i);
    low.d[i] =
        step < 0 && n > 1 ? s->start.d[i] + (n - 1) * step : s->start.d[i];
    interior.d[i] = stride - 1;
    high.d[i] = shape.d[i] - low.d[i] - (n ? (n - 1) * stride + 1 : 0);
  }
  if (down.n) region = cxi_rev(region, down);
  return cxi_pad(region, fill, low, high, interior);
}
static void starts_of(const cxi_subscript *s, cx *out) {
  for (int i = 0; i < s->start.n; i++)
    out[i] = cxi_integer(CX_I32, s->start.d[i]);
}
cx cxi_subscript_write(const cxi_subscript *s, cx a, cx region) {
  cx_dims shape = cxi_shape_at(a);
  if (s->whole) return cxi_reshape(region, shape);
  region = to_region(s, region);
  if (unit_steps(s)) {
    cx starts[CX_MAX_DIMS];
    starts_of(s, starts);
    return cxi_dynamic_update_slice(a, region, starts);
  }
  cx ones = cxi_full(cxi_type_make(CX_BOOL, s->count), 1);
  cx mask = spread_out(s, ones, cxi_integer(CX_BOOL, 0), shape);
  cx placed =
      spread_out(s, region, cxi_zeros(cxi_type_scalar(cxi_dtype_at(a))), shape);
  return cxi_select(mask, a, placed);
}
static cx add_to_region(const cxi_subscript *s, cx a, cx value) {
  cx starts[CX_MAX_DIMS];
  starts_of(s, starts);
  return cxi_update_slice_add(a, to_region(s, value), starts);
}

static bool is_mask(int n, const cx_ix *index) {
  return n == 1 && index[0].kind == CX_IX_ARRAY &&
         cxi_dtype_at(index[0].array) == CX_BOOL;
}
static cx update(cx_at_kind kind, cx a, int n, const cx_ix *index, cx value,
                 cx_at_opt opt) {
  const char *op = names[kind];
  cx two[2] = { a, value }, poison;
  if (!cxi_is_mode(op, opt.mode, &poison) ||
      !cxi_list_given(op, n, index, &poison) ||
      !cxi_operand(op, &two[0], &poison) || !cxi_promote(op, 2, two, &poison))
    return poison;
  a = two[0], value = two[1];
  if (is_mask(n, index)) return update_masked(kind, a, index[0].array, value);
  cxi_subscript s;
  if (!cxi_subscript_of(op, a, n, index, &s, &poison) ||
      !fit(op, &value, s.result, &poison))
    return poison;
  if (s.n_arrays) {
    cx region = cxi_subscript_basic(&s, a);
    return cxi_subscript_write(&s, a,
                               scatter_arrays(kind, &s, region, value, opt));
  }
  if (kind == CX_AT_ADD && unit_steps(&s) && !s.whole)
    return add_to_region(&s, a, value);
  if (kind != CX_AT_SET)
    value = combine(kind, cxi_subscript_basic(&s, a), value);
  return cxi_subscript_write(&s, a, value);
}
static bool is_kind(cx_at_kind kind) {
  return (int)kind >= 0 && kind <= CX_AT_DIV;
}
static cx no_kind(cx_at_kind kind) {
  return cxi_fail(CX_EUSER, "no update has number %d", (int)kind);
}
cx cx_update_(cx_at_kind kind, cx a, int n, const cx_ix *index, cx value,
              cx_at_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  if (!is_kind(kind)) return cxi_leave(before, no_kind(kind));
  return cxi_leave(before, update(kind, a, n, index, value, opt));
}

/* -- put_along ------------------------------------------------------------ */

static cx put_along(cx a, cx indices, cx values, int axis) {
  cx poison, pair[2] = { indices, values };
  cx_dims s = cxi_shape_at(a), shape;
  if (!cxi_broadcast_shape("put_along", 2, pair, &shape, &poison))
    return poison;
  bool ok = shape.n == s.n;
  for (int i = 0; ok && i < s.n; i++) {
    ok = i == axis || shape.d[i] == s.d[i] || shape.d[i] == 1;
    if (i != axis) shape.d[i] = s.d[i];
  }
  if (!ok)
    return cxi_fail(CX_ESHAPE,
                    "put_along: indices %s and values %s do not match %s "
                    "beside axis %d",
                    cxi_shown_of(indices).text, cxi_shown_of(values).text,
                    cxi_shown_of(a).text, axis);
  if (s.n == CX_MAX_DIMS) {
    const cx_dims few = cxi_dims_around(shape, axis);
    const cx three =
        put_along(cxi_reshape(a, cxi_dims_around(s, axis)),
                  cxi_reshape(cxi_broadcast_to(indices, shape), few),
                  cxi_reshape(cxi_broadcast_to(values, shape), few), 1);
    return cxi_reshape(three, s);
  }
  cxi_scatter_params p = { .mode = CX_DROP };
  p.inserted = p.start_map = (cx_dims){ .n = 1, .d = { axis } };
  p.operand_batch = p.index_batch =
      cxi_dims_without(cxi_dims_range(0, s.n), axis);
  cx_dims last = { .n = 1, .d = { s.n } };
  indices = cxi_broadcast_to(cxi_index_from_end(indices, s.d[axis]), shape);
  return cxi_scatter(a, cxi_expand_dims(indices, last),
                     cxi_broadcast_to(values, shape), &p);
}
cx cx_put_along_(cx a, cx indices, cx values, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx two[2] = { a, values }, poison;
  if (!cxi_integer_operand("put_along", &indices, &poison) ||
      !cxi_promote("put_along", 2, two, &poison) ||
      !cxi_axis("put_along", two[0], &axis, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, put_along(two[0], indices, two[1], axis));
}

/* -- lax's forms ---------------------------------------------------------- */

cx cx_dynamic_update_(cx a, cx value, cx start, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx two[2] = { a, value }, poison, starts[CX_MAX_DIMS];
  if (!cxi_integer_operand("dynamic_update", &start, &poison) ||
      !cxi_promote("dynamic_update", 2, two, &poison) ||
      !cxi_axis("dynamic_update", two[0], &axis, &poison))
    return cxi_leave(before, poison);
  cx_dims shape = cxi_shape_at(two[0]);
  start = cxi_index_from_end(start, shape.d[axis]);
  for (int i = 0; i < shape.n; i++)
    starts[i] = i == axis ? start : cxi_integer(cxi_dtype_at(start), 0);
  return cxi_leave(before, cxi_dynamic_update_slice(two[0], two[1], starts));
}
cx cx_dynamic_update_all_(cx a, cx value, int n, const cx *starts,
                          const char *at) {
  cxi_name before = cxi_enter(at);
  cx two[2] = { a, value }, poison, all[CX_MAX_DIMS];
  if (!cxi_promote("dynamic_update", 2, two, &poison) ||
      !cxi_starts("dynamic_update", two[0], n, starts, all, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_dynamic_update_slice(two[0], two[1], all));
}
cx cx_scatter_general_(const char *at, cx_at_kind kind, cx a, cx starts,
                       cx value, cx_gather_dims dims, cx_at_opt opt) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx two[2] = { a, value }, poison;
  if (!is_kind(kind)) return no_kind(kind);
  if (!cxi_operand("scatter", &starts, &poison) ||
      !cxi_promote("scatter", 2, two, &poison))
    return poison;
  const cxi_scatter_params p = {
    .window = cxi_dims_given(dims.offset),
    .inserted = cxi_dims_given(dims.collapsed),
    .start_map = cxi_dims_given(dims.start_map),
    .operand_batch = cxi_dims_given(dims.operand_batch),
    .index_batch = cxi_dims_given(dims.index_batch),
    .mode = cxi_update_mode(opt.mode),
    .sorted = opt.sorted,
    .unique = opt.unique,
  };
  return scatter_by_kind(kind, two[0], starts, two[1], &p);
}
