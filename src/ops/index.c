/* index.c - reading elements: subscripts, take, pick, gather. */
#include "calx/index.h"

#include "base/dtype.h"
#include "ops/subscript.h"

/* -- x[...] --------------------------------------------------------------- */

static cx gather_arrays(const cxi_subscript *s, cx a, cx_mode mode,
                        double fill) {
  cxi_gather_params p = { .offset = cxi_subscript_window(s),
                          .sizes = s->basic,
                          .mode = mode,
                          .fill = fill };
  for (int i = 0; i < s->n_arrays; i++) {
    p.collapsed = cxi_dims_append(p.collapsed, s->axis[i]);
    p.sizes.d[s->axis[i]] = 1;
  }
  p.start_map = p.collapsed;
  return cxi_gather(a, cxi_subscript_indices(s), &p);
}
/* Only scalars: a slice of size 1 along their axes. */
static cx slice_at(const cxi_subscript *s, cx a) {
  cx starts[CX_MAX_DIMS];
  cx_dtype type = cxi_dtype_at(s->array[0]);
  cx_dims sizes = s->basic, axes = { .n = 0 };
  for (int i = 0; i < sizes.n; i++) starts[i] = cxi_integer(type, 0);
  for (int i = 0; i < s->n_arrays; i++) {
    starts[s->axis[i]] = s->array[i], sizes.d[s->axis[i]] = 1;
    axes = cxi_dims_append(axes, s->axis[i]);
  }
  return cxi_squeeze(cxi_dynamic_slice(a, starts, sizes), axes);
}
static bool has_empty_axis(const cxi_subscript *s) {
  for (int i = 0; i < s->n_arrays; i++)
    if (s->basic.d[s->axis[i]] == 0) return true;
  return false;
}
cx cxi_subscript_read(const cxi_subscript *s, cx a, cx_mode mode, double fill) {
  a = cxi_subscript_basic(s, a);
  if (!s->n_arrays || !cxi_given(a)) return a;
  if (s->shape.n == 0 && mode == CX_CLIP && !has_empty_axis(s))
    return slice_at(s, a);
  return gather_arrays(s, a, mode, fill);
}
/* Asked where no index can be outside, too. */
bool cxi_is_mode(const char *op, cx_mode mode, cx *out_poison) {
  if ((int)mode >= CX_DEFAULT && mode <= CX_IN_BOUNDS) return true;
  *out_poison = cxi_fail(CX_EINDEX, "%s: no .mode has number %d: see cx_mode",
                         op, (int)mode);
  return false;
}
/* The C number for what is out of bounds; NaN: the dtype's own. */
static bool fill_number(const char *op, cx fill, cx_dtype type, double *out,
                        cx *out_poison) {
  cxi_info info;
  cxi_emitter *e = cxi_emitter_now();
  *out = __builtin_nan("");
  if (cxi_left_out(fill)) return true;
  cx number = cxi_strong(op, fill, type);
  if (!cxi_operand(op, &number, out_poison)) return false;
  if (e->info(e, fill, &info) && info.weak && type != CX_KEY) {
    *out = cxi_element_get(cxi_type_dtype(info.type), &info.bits);
    return true;
  }
  *out_poison = cxi_fail(CX_EUSER, "%s: .fill must be a C number, got %s", op,
                         cxi_shown_of(fill).text);
  return false;
}
static cx read_at(const char *op, cx a, int n, const cx_ix *index, cx_mode mode,
                  cx fill) {
  cx poison;
  cxi_subscript s;
  if (!cxi_is_mode(op, mode, &poison) || !cxi_operand(op, &a, &poison) ||
      !cxi_subscript_of(op, a, n, index, &s, &poison))
    return poison;
  if (has_empty_axis(&s) && cxi_dims_count(&s.result) != 0)
    return cxi_fail(CX_EINDEX, "%s: nothing to read in %s", op,
                    cxi_shown_of(a).text);
  double number;
  if (!fill_number(op, fill, cxi_dtype_at(a), &number, &poison)) return poison;
  return cxi_subscript_read(&s, a, mode, number);
}
cx cx_index_(cx a, int n, const cx_ix *index, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, read_at("index", a, n, index, CX_CLIP, (cx){ 0 }));
}
cx cx_at_get_(cx a, int n, const cx_ix *index, cx_at_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  cx_mode mode = !cxi_left_out(opt.fill)  ? CX_FILL
                 : opt.mode == CX_DEFAULT ? CX_CLIP
                 : opt.mode == CX_DROP    ? CX_FILL
                                          : opt.mode;
  return cxi_leave(before, read_at("at_get", a, n, index, mode, opt.fill));
}

/* -- take, take_along, pick ----------------------------------------------- */

bool cxi_integer_operand(const char *op, cx *i, cx *out_poison) {
  if (!cxi_operand(op, i, out_poison)) return false;
  cxi_kind kind = cxi_dtype_kind(cxi_dtype_at(*i));
  if (kind == CXI_SIGNED || kind == CXI_UNSIGNED) return true;
  *out_poison = cxi_fail(CX_EDTYPE, "%s: indices must be integers, got %s", op,
                         cxi_shown_of(*i).text);
  return false;
}
cx cx_take_(cx a, cx indices, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("take", &a, &poison) ||
      !cxi_integer_operand("take", &indices, &poison) ||
      !cxi_axis("take", a, &axis, &poison))
    return cxi_leave(before, poison);
  cx_dims shape = cxi_shape_at(a), index_shape = cxi_shape_at(indices);
  if (shape.n - 1 + index_shape.n > CX_MAX_DIMS)
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE, "take: more than %d axes", CX_MAX_DIMS));
  cxi_gather_params p = { .sizes = shape,
                          .mode = CX_FILL,
                          .fill = __builtin_nan("") };
  p.collapsed = p.start_map = (cx_dims){ .n = 1, .d = { axis } };
  p.sizes.d[axis] = shape.d[axis] ? 1 : 0;
  for (int i = 0; i < shape.n - 1; i++)
    p.offset = cxi_dims_append(p.offset, i < axis ? i : i + index_shape.n);
  if (shape.d[axis] == 0) {
    cx_dims result = cxi_dims_without(shape, axis);
    for (int i = 0; i < index_shape.n; i++)
      result = cxi_dims_with(result, axis + i, index_shape.d[i]);
    if (cxi_dims_count(&result) == 0)
      return cxi_leave(before,
                       cxi_zeros(cxi_type_make(cxi_dtype_at(a), result)));
    return cxi_leave(before, cxi_fail(CX_EINDEX, "take: nothing to read in %s",
                                      cxi_shown_of(a).text));
  }
  indices = cxi_index_from_end(indices, shape.d[axis]);
  cx_dims last = { .n = 1, .d = { index_shape.n } };
  return cxi_leave(before, cxi_gather(a, cxi_expand_dims(indices, last), &p));
}

cx_dims cxi_dims_around(cx_dims shape, int axis) {
  cx_dims out = { 3, { 1, shape.d[axis], 1 } };
  for (int i = 0; i < shape.n; i++)
    if (i != axis) out.d[i < axis ? 0 : 2] *= shape.d[i];
  return out;
}
/* out[..., i, ...] = a[..., indices[..., i, ...], ...] along axis; the other
 * axes of both broadcast. */
static cx take_along(const char *op, cx a, cx indices, int axis) {
  cx_dims s = cxi_shape_at(a), t = cxi_shape_at(indices), shape = s;
  bool ok = s.n == t.n;
  for (int i = 0; ok && i < s.n; i++) {
    if (i == axis) continue;
    ok = s.d[i] == t.d[i] || s.d[i] == 1 || t.d[i] == 1;
    if (s.d[i] == 1) shape.d[i] = t.d[i];
  }
  if (!ok)
    return cxi_fail(CX_ESHAPE, "%s: indices %s do not match %s beside axis %d",
                    op, cxi_shown_of(indices).text, cxi_shown_of(a).text, axis);
  a = cxi_broadcast_to(a, shape);
  const cx_dims whole = shape;
  shape.d[axis] = t.d[axis];
  indices = cxi_broadcast_to(cxi_index_from_end(indices, s.d[axis]), shape);
  if (shape.n == CX_MAX_DIMS) {
    const cx along =
        take_along(op, cxi_reshape(a, cxi_dims_around(whole, axis)),
                   cxi_reshape(indices, cxi_dims_around(shape, axis)), 1);
    return cxi_reshape(along, shape);
  }
  cxi_gather_params p = { .mode = CX_FILL, .fill = __builtin_nan("") };
  p.sizes.n = s.n;
  for (int i = 0; i < s.n; i++) {
    p.sizes.d[i] = 1;
    if (i == axis) continue;
    p.operand_batch = cxi_dims_append(p.operand_batch, i);
    p.index_batch = cxi_dims_append(p.index_batch, i);
  }
  p.collapsed = p.start_map = (cx_dims){ .n = 1, .d = { axis } };
  cx_dims last = { .n = 1, .d = { shape.n } };
  return cxi_gather(a, cxi_expand_dims(indices, last), &p);
}
cx cx_take_along_(cx a, cx indices, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("take_along", &a, &poison) ||
      !cxi_integer_operand("take_along", &indices, &poison) ||
      !cxi_axis("take_along", a, &axis, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, take_along("take_along", a, indices, axis));
}
cx cxi_pick(cx a, cx labels) {
  cx_dims s = cxi_shape_at(a), t = cxi_shape_at(labels);
  cx_dims rows = s;
  rows.n = s.n - 1;
  if (s.n == 0 || !cxi_dims_equal(&rows, &t))
    return cxi_fail(CX_ESHAPE, "pick: %s needs labels of %s, got %s",
                    cxi_shown_of(a).text,
                    s.n ? cxi_shown_dims(rows).text : "one more axis",
                    cxi_shown_of(labels).text);
  cx_dims last = { .n = 1, .d = { t.n } };
  return cxi_squeeze(take_along("pick", a, cxi_expand_dims(labels, last), t.n),
                     last);
}
cx cx_pick_(cx a, cx labels, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("pick", &a, &poison) ||
      !cxi_integer_operand("pick", &labels, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_pick(a, labels));
}

/* -- lax's forms ---------------------------------------------------------- */

cx cx_dynamic_slice_(cx a, cx start, int64_t size, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison, starts[CX_MAX_DIMS];
  if (!cxi_operand("dynamic_slice", &a, &poison) ||
      !cxi_integer_operand("dynamic_slice", &start, &poison) ||
      !cxi_axis("dynamic_slice", a, &axis, &poison))
    return cxi_leave(before, poison);
  cx_dims sizes = cxi_shape_at(a);
  if (size < 0 || size > sizes.d[axis] || cxi_rank_at(start) != 0)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE,
                              "dynamic_slice: %lld of axis %d of %s, "
                              "start %s",
                              (long long)size, axis, cxi_shown_of(a).text,
                              cxi_shown_of(start).text));
  start = cxi_index_from_end(start, sizes.d[axis]);
  sizes.d[axis] = size;
  for (int i = 0; i < sizes.n; i++)
    starts[i] = i == axis ? start : cxi_integer(cxi_dtype_at(start), 0);
  return cxi_leave(before, cxi_dynamic_slice(a, starts, sizes));
}
cx cx_dynamic_slice_all_(cx a, int n, const cx *starts, cx_dims sizes,
                         const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison, all[CX_MAX_DIMS];
  if (!cxi_operand("dynamic_slice", &a, &poison) ||
      !cxi_starts("dynamic_slice", a, n, starts, all, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(a);
  bool fits = sizes.n == shape.n;
  for (int i = 0; fits && i < shape.n; i++)
    fits = sizes.d[i] >= 0 && sizes.d[i] <= shape.d[i];
  if (!fits)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "dynamic_slice: sizes %s of %s",
                              cxi_shown_dims(sizes).text,
                              cxi_shown_of(a).text));
  return cxi_leave(before, cxi_dynamic_slice(a, all, sizes));
}
cx cx_gather_general_(const char *at, cx a, cx starts, cx_gather_dims dims,
                      cx_at_opt opt) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cxi_gather_params p = {
    .offset = cxi_dims_given(dims.offset),
    .collapsed = cxi_dims_given(dims.collapsed),
    .start_map = cxi_dims_given(dims.start_map),
    .operand_batch = cxi_dims_given(dims.operand_batch),
    .index_batch = cxi_dims_given(dims.index_batch),
    .sizes = cxi_dims_given(dims.sizes),
    .mode = opt.mode == CX_DEFAULT ? CX_IN_BOUNDS
            : opt.mode == CX_DROP  ? CX_FILL
                                   : opt.mode,
    .fill = __builtin_nan(""),
    .sorted = opt.sorted,
    .unique = opt.unique,
  };
  cx poison;
  if (!cxi_operand("gather", &a, &poison) ||
      !cxi_integer_operand("gather", &starts, &poison))
    return poison;
  return cxi_gather(a, starts, &p);
}
