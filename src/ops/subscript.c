/* subscript.c - reads a list of indices. */
#include "ops/subscript.h"

/* Integers that index arithmetic can use: i32, or i64 where it may not fit. */
static cx index_type(cx i) {
  cx_dtype type = cxi_dtype_at(i);
  bool wide = type == CX_I64 || type == CX_U64 || type == CX_U32;
  return cxi_convert(i, wide ? CX_I64 : CX_I32);
}
cx cxi_index_from_end(cx i, int64_t size) {
  bool is_unsigned = cxi_dtype_kind(cxi_dtype_at(i)) == CXI_UNSIGNED;
  i = index_type(i);
  if (is_unsigned) return i;
  cx negative = cxi_compare(CXI_PRIM_lt, i, cxi_number_like(i, 0));
  return cxi_select(negative, i,
                    cxi_add(i, cxi_integer(cxi_dtype_at(i), size)));
}

bool cxi_starts(const char *op, cx a, int n, const cx *given, cx *out_starts,
                cx *out_poison) {
  const cx_dims shape = cxi_shape_at(a);
  bool wide = false, good = n == shape.n;
  if (!cxi_list_given(op, n, given, out_poison)) return false;
  for (int i = 0; i < n && i < CX_MAX_DIMS; i++) {
    out_starts[i] = given[i];
    if (!cxi_integer_operand(op, &out_starts[i], out_poison)) return false;
  }
  if (n == 1 && cxi_rank_at(out_starts[0]) == 1) {
    good = cxi_shape_at(out_starts[0]).d[0] == shape.n;
    if (good) cxi_unstack(out_starts[0], 0, out_starts);
  }
  if (!good) {
    *out_poison = cxi_fail(CX_ESHAPE, "%s: %d starts for %s", op, n,
                           cxi_shown_of(a).text);
    return false;
  }
  for (int i = 0; i < shape.n; i++) {
    if (cxi_rank_at(out_starts[i]) != 0) {
      *out_poison = cxi_fail(CX_ESHAPE, "%s: start %d is %s, not a scalar", op,
                             i, cxi_shown_of(out_starts[i]).text);
      return false;
    }
    out_starts[i] = cxi_index_from_end(out_starts[i], shape.d[i]);
    wide = wide || cxi_dtype_at(out_starts[i]) == CX_I64;
  }
  for (int i = 0; wide && i < shape.n; i++)
    out_starts[i] = cxi_convert(out_starts[i], CX_I64);
  return true;
}

/* Expands "..." so that every axis of the operand has an entry. */
static int spell_out(const char *op, cx a, int n, const cx_ix *index,
                     cx_ix *out, cx *out_poison) {
  int rank = cxi_rank_at(a), used = 0, dots = 0, k = 0;
  if (!cxi_list_given(op, n, index, out_poison)) return -1;
  for (int i = 0; i < n; i++) {
    used += index[i].kind != CX_IX_NEW && index[i].kind != CX_IX_DOTS;
    dots += index[i].kind == CX_IX_DOTS;
  }
  if (used > rank || dots > 1 || n > 2 * CX_MAX_DIMS) {
    *out_poison = cxi_fail(CX_EINDEX,
                           dots > 1 ? "%s: \"...\" twice for %s"
                                    : "%s: too many indices for %s",
                           op, cxi_shown_of(a).text);
    return -1;
  }
  const cx_ix all = {
    .kind = CX_IX_SLICE, .lo = CX_END, .hi = CX_END, .step = 1
  };
  for (int i = 0; i < n; i++) {
    if (index[i].kind != CX_IX_DOTS)
      out[k++] = index[i];
    else
      for (int r = used; r < rank; r++) out[k++] = all;
  }
  for (int r = used; !dots && r < rank; r++) out[k++] = all;
  return k;
}

/* Python's slice: clipped bounds, counted steps. */
static void slice_bounds(const cx_ix *ix, int64_t size, int64_t step,
                         int64_t *start, int64_t *count) {
  int64_t lo = ix->lo, hi = ix->hi;
  int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  if (lo == CX_END)
    lo = step > 0 ? 0 : size - 1;
  else if (lo < 0)
    lo = lo + size < least ? least : lo + size;
  else if (lo > most)
    lo = most;
  if (hi == CX_END)
    hi = step > 0 ? size : -1;
  else if (hi < 0)
    hi = hi + size < least ? least : hi + size;
  else if (hi > most)
    hi = most;
  int64_t span = step > 0 ? hi - lo : lo - hi;
  int64_t stride = step > 0 ? step : -step;
  *start = lo;
  *count = span > 0 ? (span - 1) / stride + 1 : 0;
  if (*count == 0) *start = 0;
}

static bool add_array(const char *op, cx a, cx array, cxi_subscript *s,
                      int axis, int64_t size, cx *out_poison) {
  if (!cxi_operand(op, &array, out_poison)) return false;
  cxi_kind kind = cxi_dtype_kind(cxi_dtype_at(array));
  if (kind != CXI_SIGNED && kind != CXI_UNSIGNED) {
    *out_poison =
        cxi_fail(CX_EDTYPE,
                 kind == CXI_BOOLEAN
                     ? "%s: a mask has no static count: use cx_where, or "
                       "cx_at_set with a mask (%s, %s)"
                     : "%s: an index of %s must be integers, got %s",
                 op, cxi_shown_of(a).text, cxi_shown_of(array).text);
    return false;
  }
  s->axis[s->n_arrays] = axis;
  s->array[s->n_arrays++] = cxi_index_from_end(array, size);
  return true;
}
/* One entry for axis `axis` of the operand (or for a new one). */
static bool read_entry(const char *op, cx a, const cx_ix *ix, int axis,
                       bool with_arrays, cxi_subscript *s, cx *out_poison) {
  cx_dims shape = cxi_shape_at(a);
  int64_t size = axis < shape.n ? shape.d[axis] : 1, start = 0, count = size;
  int64_t step = 1;
  if (ix->kind == CX_IX_NEW) {
    if (s->basic.n == CX_MAX_DIMS) {
      *out_poison =
          cxi_fail(CX_ESHAPE, "%s: more than %d axes", op, CX_MAX_DIMS);
      return false;
    }
    s->added = cxi_dims_append(s->added, s->basic.n);
    s->basic = cxi_dims_append(s->basic, 1);
    return true;
  }
  if (ix->kind == CX_IX_INT) {
    start = ix->lo < 0 ? ix->lo + size : ix->lo, count = 1;
    if (start < 0 || start >= size) {
      *out_poison = cxi_fail(CX_EINDEX,
                             "%s: index %lld is out of range for axis "
                             "%d of %s",
                             op, (long long)ix->lo, axis, cxi_shown_of(a).text);
      return false;
    }
    if (with_arrays) { /* takes part in the broadcasting of the arrays */
      count = size;
      s->axis[s->n_arrays] = s->basic.n;
      s->array[s->n_arrays++] = cxi_integer(CX_I32, start), start = 0;
    } else {
      s->dropped = cxi_dims_append(s->dropped, axis);
    }
  } else if (ix->kind == CX_IX_SLICE) {
    if (ix->step == 0) {
      *out_poison = cxi_fail(CX_EINDEX, "%s: a slice with step 0", op);
      return false;
    }
    /* A step of one element or none may be any; its sign can be changed. */
    step = ix->step < -INT64_MAX ? -INT64_MAX : ix->step;
    slice_bounds(ix, size, step, &start, &count);
  } else if (!add_array(op, a, ix->array, s, s->basic.n, size, out_poison)) {
    return false;
  }
  s->whole = s->whole && count == size && step == 1;
  s->start = cxi_dims_append(s->start, start);
  s->count = cxi_dims_append(s->count, count);
  s->step = cxi_dims_append(s->step, step);
  bool is_dropped = ix->kind == CX_IX_INT && !with_arrays;
  if (!is_dropped) {
    if (s->basic.n == CX_MAX_DIMS) {
      *out_poison =
          cxi_fail(CX_ESHAPE, "%s: more than %d axes", op, CX_MAX_DIMS);
      return false;
    }
    s->basic = cxi_dims_append(s->basic, count);
  }
  return true;
}

/* NumPy: index arrays side by side put their axes in place of the first one,
 * otherwise in front. */
static bool place_arrays(const char *op, cxi_subscript *s, bool adjacent,
                         cx *out_poison) {
  s->result = s->basic;
  if (!s->n_arrays) return true;
  if (!cxi_broadcast_shape(op, s->n_arrays, s->array, &s->shape, out_poison))
    return false;
  cx_dtype type = CX_I32;
  for (int i = 0; i < s->n_arrays; i++)
    if (cxi_dtype_at(s->array[i]) == CX_I64) type = CX_I64;
  for (int i = 0; i < s->n_arrays; i++)
    s->array[i] = cxi_broadcast_to(cxi_convert(s->array[i], type), s->shape);
  s->place = adjacent ? s->axis[0] : 0;
  for (int i = s->n_arrays; i-- > 0;)
    s->result = cxi_dims_without(s->result, s->axis[i]);
  if (s->result.n + s->shape.n > CX_MAX_DIMS) {
    *out_poison = cxi_fail(CX_ESHAPE, "%s: more than %d axes", op, CX_MAX_DIMS);
    return false;
  }
  for (int i = 0; i < s->shape.n; i++)
    s->result = cxi_dims_with(s->result, s->place + i, s->shape.d[i]);
  return true;
}
bool cxi_subscript_of(const char *op, cx a, int n, const cx_ix *index,
                      cxi_subscript *s, cx *out_poison) {
  cx_ix list[4 * CX_MAX_DIMS];
  *s = (cxi_subscript){ .whole = true };
  int count = spell_out(op, a, n, index, list, out_poison), axis = 0;
  if (count < 0) return false;
  bool with_arrays = false, adjacent = true;
  for (int i = 0; i < count; i++)
    with_arrays = with_arrays || list[i].kind == CX_IX_ARRAY;
  int last = -1;
  for (int i = 0; i < count; i++) {
    int before = s->n_arrays;
    if (!read_entry(op, a, &list[i],
                    list[i].kind == CX_IX_NEW ? CX_MAX_DIMS : axis, with_arrays,
                    s, out_poison))
      return false;
    axis += list[i].kind != CX_IX_NEW;
    if (s->n_arrays > before) {
      adjacent = adjacent && (last < 0 || last == i - 1);
      last = i;
    }
  }
  return place_arrays(op, s, adjacent, out_poison);
}

cx cxi_subscript_basic(const cxi_subscript *s, cx a) {
  if (!s->whole) {
    cx_dims lo = s->start, hi = s->start, stride = s->step,
            reversed = { .n = 0 };
    for (int i = 0; i < s->start.n; i++) {
      int64_t n = s->count.d[i], step = s->step.d[i];
      stride.d[i] = step < 0 ? -step : step;
      if (n == 0) {
        lo.d[i] = hi.d[i] = 0, stride.d[i] = 1;
        continue;
      }
      lo.d[i] = step < 0 ? s->start.d[i] + (n - 1) * step : s->start.d[i];
      hi.d[i] = lo.d[i] + (n - 1) * stride.d[i] + 1;
      if (step < 0) reversed = cxi_dims_append(reversed, i);
    }
    a = cxi_slice(a, lo, hi, stride);
    if (reversed.n) a = cxi_rev(a, reversed);
  }
  if (s->dropped.n) a = cxi_squeeze(a, s->dropped);
  return s->added.n ? cxi_reshape(a, s->basic) : a;
}
cx cxi_subscript_indices(const cxi_subscript *s) {
  cx parts[CX_MAX_DIMS];
  cx_dims last = { .n = 1, .d = { s->shape.n } };
  for (int i = 0; i < s->n_arrays; i++)
    parts[i] = cxi_expand_dims(s->array[i], last);
  return s->n_arrays == 1
             ? parts[0]
             : cxi_concatenate(s->shape.n, (uint32_t)s->n_arrays, parts);
}
cx_dims cxi_subscript_window(const cxi_subscript *s) {
  cx_dims window = { .n = 0 };
  for (int i = 0; i < s->result.n; i++)
    if (i < s->place || i >= s->place + s->shape.n)
      window = cxi_dims_append(window, i);
  return window;
}
