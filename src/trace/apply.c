/* apply.c - some elements of an array replaced by a function of them:
 * x.at[...].apply(f). */
#include "calx/array.h"
#include "calx/control.h"
#include "calx/index.h"
#include "calx/tree.h"
#include "ops/subscript.h"

/* f(x), which has x's type; one number stands for an array of it. */
static cx applied(cx_fn f, cx x) {
  cx y = cx_call(f, x);
  if (cxi_is_poison(y)) return y;
  if (cxi_is_tree(y))
    return cxi_fail(CX_ETREE, "at_apply: the function gives a tree");
  if (cxi_rank_at(y) == 0 && cxi_dtype_at(y) == cxi_dtype_at(x))
    y = cxi_broadcast_scalar(y, cxi_shape_at(x));
  if (cxi_type_at(y) == cxi_type_at(x)) return y;
  return cxi_fail(
      cxi_dtype_at(y) == cxi_dtype_at(x) ? CX_ESHAPE : CX_EDTYPE,
      "at_apply: the function must give what it gets, %s, but gives %s",
      cxi_shown_of(x).text, cxi_shown_of(y).text);
}

/* -- index arrays --------------------------------------------------------- */

/* One window for each index vector: the axes of the indices, those that the
 * windows have in the result, what is outside. */
CX_STRUCT(places, (cx_fn, f), (cx_dims, axes), (cx_dims, window),
          (cx_dims, sizes), (int, mode));

/* What is dropped is read from inside: a function of NaN would have derivatives
 * that are NaN, also those by its captures. */
static cx replaced(const places *p, cx x, cx indices, bool unique) {
  const cxi_gather_params read = {
    .offset = p->window,
    .collapsed = p->axes,
    .start_map = p->axes,
    .sizes = p->sizes,
    .mode = p->mode == CX_DROP ? CX_CLIP : (cx_mode)p->mode,
    .fill = __builtin_nan(""),
    .unique = unique && p->mode != CX_DROP,
  };
  const cxi_scatter_params write = {
    .window = p->window,
    .inserted = p->axes,
    .start_map = p->axes,
    .mode = (cx_mode)p->mode,
    .unique = unique,
  };
  const cx old = cxi_gather(x, indices, &read);
  return cxi_scatter(x, indices, applied(p->f, old), &write);
}

CX_DEF_ENV(one_turn, places, p, x, indices) {
  return cx_tuple(replaced(p, x, indices, true), cx_none());
}

static cx apply_arrays(const cxi_subscript *s, cx x, cx_fn f, cx_at_opt opt) {
  places p = { .f = f,
               .window = cxi_subscript_window(s),
               .sizes = s->basic,
               .mode = (int)cxi_update_mode(opt.mode) };
  for (int i = 0; i < s->n_arrays; i++) {
    p.axes = cxi_dims_append(p.axes, s->axis[i]);
    if (s->basic.d[s->axis[i]] == 0) return x; /* nothing is inside */
    p.sizes.d[s->axis[i]] = 1;
  }
  const cx indices = cxi_subscript_indices(s);
  const int64_t n = cxi_dims_count(&s->shape);
  if (opt.unique || n == 1) return replaced(&p, x, indices, opt.unique);
  p.window = cxi_dims_range(0, s->basic.n - s->n_arrays);
  const cx rows =
      cxi_reshape(indices, (cx_dims){ .n = 2, .d = { n, s->n_arrays } });
  return cx_nth(cx_scan(CX_BIND_TO(one_turn, &p), x, rows), 0);
}

/* -- masks and slices ----------------------------------------------------- */

static cx apply_masked(cx a, cx mask, cx_fn f) {
  const cx_dims s = cxi_shape_at(a), m = cxi_shape_at(mask);
  bool ok = m.n <= s.n;
  for (int i = 0; ok && i < m.n; i++) ok = m.d[i] == s.d[i];
  if (!ok)
    return cxi_fail(CX_ESHAPE,
                    "at_apply: a mask needs the leading axes of %s, got %s",
                    cxi_shown_of(a).text, cxi_shown_of(mask).text);
  mask = cxi_broadcast_in_dim(mask, s, cxi_dims_range(0, m.n));
  return cxi_select(mask, a, applied(f, a));
}

static cx apply(cx a, int n, const cx_ix *index, cx_fn f, cx_at_opt opt) {
  static const char op[] = "at_apply";
  cx poison;
  if (!f) return cxi_fail(CX_EUSER, "at_apply: no function is given");
  if (!cxi_is_mode(op, opt.mode, &poison) ||
      !cxi_list_given(op, n, index, &poison) || !cxi_operand(op, &a, &poison))
    return poison;
  if (n == 1 && index[0].kind == CX_IX_ARRAY &&
      cxi_dtype_at(index[0].array) == CX_BOOL)
    return apply_masked(a, index[0].array, f);
  cxi_subscript s;
  if (!cxi_subscript_of(op, a, n, index, &s, &poison)) return poison;
  const cx region = cxi_subscript_basic(&s, a);
  return cxi_subscript_write(&s, a,
                             s.n_arrays ? apply_arrays(&s, region, f, opt)
                                        : applied(f, region));
}

cx cx_at_apply_(cx a, int n, const cx_ix *index, cx_fn f, cx_at_opt opt,
                const char *at) {
  const cxi_name before = cxi_enter(at);
  return cxi_leave(before, apply(a, n, index, f, opt));
}
