/* undo.c - back from a recorded derivative to its function. */
#include "undo.h"

#include <string.h>

#include "derive.h"
#include "jaxpr_text.h"

enum { MOST = 256, UNMAPPED = -99 };

/* Types of inputs or results. */
typedef struct types {
  int n;
  cx_dtype dtype[MOST];
  cx_dims shape[MOST];
} types;

static bool types_of(cx tree, types *out) {
  out->n = cx_leaf_count(tree);
  if (out->n > MOST) return false;
  for (int i = 0; i < out->n; i++) {
    out->dtype[i] = cx_type(cx_leaf(tree, i));
    out->shape[i] = cx_shape(cx_leaf(tree, i));
  }
  return true;
}

/* Whether a[n..] are as the floating ones of b[0..m-1]. */
static bool are_floats_of(const types *a, int n, const types *b, int m) {
  for (int i = 0; i < m; i++) {
    if (!jaxpr_is_float(b->dtype[i])) continue;
    const cx_dims *x = &a->shape[n], *y = &b->shape[i];
    if (n >= a->n || a->dtype[n] != b->dtype[i] || x->n != y->n ||
        memcmp(x->d, y->d, sizeof x->d[0] * (size_t)x->n) != 0)
      return false;
    n++;
  }
  return n == a->n;
}

static cx specs_of(const types *t, int n) {
  cx items[MOST];
  for (int i = 0; i < n; i++) items[i] = cx_spec(t->dtype[i], t->shape[i]);
  return cx_tuple_n(n, items);
}

/* -- jvp, vjp -------------------------------------------------------------- */

CX_STRUCT(leading_env, (cx_fn, f), (int, n), (int, m), (cx, rest));

/* The first m results, of inputs and zeros. */
CX_DEF_ENV(leading, leading_env, e, inputs) {
  cx items[2 * MOST];
  int n = 0;
  for (int i = 0; i < e->n; i++) items[n++] = cx_nth(inputs, i);
  for (int i = 0; i < cx_len(e->rest); i++) items[n++] = cx_nth(e->rest, i);
  cx out = cx_call(e->f, cx_tuple_n(n, items));
  for (int i = 0; i < e->m; i++) items[i] = cx_nth(out, i);
  return cx_tuple_n(e->m, items);
}

/* How many inputs and results are the function's: as the record says of its
 * last step, else as the types do, if they say it in one way. */
static bool count_own(bool is_jvp, const types *in, const types *out,
                      const json_t *record, int *out_n, int *out_m) {
  const json_t *diff_in = json_object_get(record, "diff_in");
  const json_t *diff_out = json_object_get(record, "diff_out");
  const int by = (int)json_array_size(diff_in);
  const int of = (int)json_array_size(diff_out);
  int ways = 0;
  for (int n = 0; n <= in->n; n++)
    for (int m = 1; m <= out->n; m++) {
      if (diff_in && n != in->n - (is_jvp ? by : of)) continue;
      if (diff_out && m != out->n - (is_jvp ? of : by)) continue;
      if (!are_floats_of(in, n, is_jvp ? in : out, is_jvp ? n : m) ||
          !are_floats_of(out, m, is_jvp ? out : in, is_jvp ? m : n))
        continue;
      ways++;
      *out_n = n, *out_m = m;
    }
  return ways == 1;
}

static cx_fn undo_derivative(cx_fn f, bool is_jvp, const json_t *record,
                             cx *specs) {
  types in, out;
  cx zeros[MOST];
  int n, m;
  if (!types_of(*specs, &in) || !types_of(cx_call(f, *specs), &out) ||
      !count_own(is_jvp, &in, &out, record, &n, &m))
    return NULL;
  for (int i = n; i < in.n; i++)
    zeros[i - n] = cx_zeros(in.dtype[i], in.shape[i]);
  *specs = specs_of(&in, n);
  return CX_BIND(leading, .f = f, .n = n, .m = m,
                 .rest = cx_tuple_n(in.n - n, zeros));
}

/* -- vmap ------------------------------------------------------------------ */

CX_STRUCT(place_env, (cx_fn, f), (int64_t, size), (int, in, [MOST]),
          (int, out, [MOST]));

/* The first place of the results, of inputs that are equal at all places. */
CX_DEF_ENV(one_place, place_env, e, inputs) {
  cx items[MOST];
  const int n = cx_len(inputs);
  if (n > MOST) return cx_fail(CX_EUSER, "conform: more than %d arrays", MOST);
  for (int i = 0; i < n; i++) {
    const cx x = cx_nth(inputs, i);
    items[i] = e->in[i] == UNMAPPED ? x : derive_repeated(x, e->in[i], e->size);
  }
  const cx out = cx_call(e->f, cx_tuple_n(n, items));
  const int m = cx_len(out);
  for (int i = 0; i < m && i < MOST; i++) {
    const cx y = cx_nth(out, i);
    items[i] = e->out[i] == UNMAPPED ? y : cx_take(y, 0, e->out[i]);
  }
  return cx_tuple_n(m, items);
}

/* Axis i of in_axes or out_axes: a list, one number for all, or 0. */
static int axis_of(const json_t *axes, int i) {
  const json_t *x =
      json_is_array(axes) ? json_array_get(axes, (size_t)i) : axes;
  if (json_is_integer(x)) return (int)json_integer_value(x);
  return axes ? UNMAPPED : 0;
}

static cx_fn undo_vmap(cx_fn f, const json_t *record, cx *specs) {
  const json_t *in_axes = json_object_get(record, "in_axes");
  types in;
  place_env e = { .f = f };
  if (!types_of(*specs, &in) ||
      (in_axes && (int)json_array_size(in_axes) != in.n))
    return NULL;
  for (int i = 0; i < in.n; i++) {
    e.in[i] = axis_of(in_axes, i);
    if (e.in[i] == UNMAPPED) continue;
    cx_dims *s = &in.shape[i];
    const int axis = e.in[i] < 0 ? e.in[i] + s->n : e.in[i];
    if (axis < 0 || axis >= s->n) return NULL;
    e.size = s->d[axis];
    memmove(s->d + axis, s->d + axis + 1,
            sizeof s->d[0] * (size_t)(--s->n - axis));
  }
  for (int i = 0; i < MOST; i++)
    e.out[i] = axis_of(json_object_get(record, "out_axes"), i);
  if (e.size == 0) return NULL;
  *specs = specs_of(&in, in.n);
  return CX_BIND_TO(one_place, &e);
}

/* -- kinds ----------------------------------------------------------------- */

static bool step_is(const char *step, size_t n, const char *name) {
  return strlen(name) == n && !strncmp(step, name, n);
}

cx_fn undo_steps(cx_fn f, const char *kind, const json_t *record, cx *specs,
                 const char **out_kind) {
  size_t end = strlen(kind);
  *out_kind = kind + end;
  for (bool last = true; end > 0; last = false) {
    size_t start = end;
    while (start > 0 && kind[start - 1] != '.') start--;
    const char *step = kind + start;
    const size_t n = end - start;
    const bool is_jvp = step_is(step, n, "jvp");
    cx_fn before = NULL;
    if (is_jvp || step_is(step, n, "vjp"))
      before = undo_derivative(f, is_jvp, last ? record : NULL, specs);
    else if (step_is(step, n, "vmap") && last)
      before = undo_vmap(f, record, specs);
    if (!cx_ok()) return NULL;
    if (!before) break;
    f = before, *out_kind = step;
    end = start ? start - 1 : 0;
  }
  return f;
}
