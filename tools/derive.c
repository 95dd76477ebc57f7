/* derive.c - jvp, vjp, vmap, grad as the records have them. */
#include "derive.h"

#include <string.h>

#include "jaxpr_text.h"

enum { MOST = 256 }; /* inputs or outputs */

static bool is_float(cx a) {
  return jaxpr_is_float(cx_type(a));
}

/* All leaves as one tuple. */
static cx flat_tuple(cx tree) {
  cx items[MOST];
  int n = cx_leaf_count(tree);
  if (n > MOST) return cx_fail(CX_EUSER, "conform: more than %d arrays", MOST);
  for (int i = 0; i < n; i++) items[i] = cx_leaf(tree, i);
  return cx_tuple_n(n, items);
}

static cx joined(cx a, cx b) {
  return flat_tuple(cx_tuple(a, b));
}

CX_STRUCT(one_fn, (cx_fn, f));
CX_DEF_ENV(flat, one_fn, e, inputs) {
  cx items[MOST];
  int n = cx_len(inputs);
  if (n > MOST) return cx_fail(CX_EUSER, "conform: more than %d arrays", MOST);
  for (int i = 0; i < n; i++) items[i] = cx_nth(inputs, i);
  return flat_tuple(cx_call_n(e->f, n, items));
}

cx_fn derive_flat(cx_fn f) {
  return CX_BIND(flat, .f = f);
}

/* -- derivatives ---------------------------------------------------------- */

CX_STRUCT(derived, (cx_fn, f), (int, n));

/* inputs: n of f, then a tangent for each that is floating */
CX_DEF_ENV(as_jvp, derived, e, inputs) {
  cx x[MOST], dx[MOST], y[2 * MOST], out, dout;
  int next = e->n, m = 0;
  for (int i = 0; i < e->n; i++) {
    x[i] = cx_nth(inputs, i);
    dx[i] = is_float(x[i]) ? cx_nth(inputs, next++) : cx_none();
  }
  cx primals = cx_tuple_n(e->n, x), tangents = cx_tuple_n(e->n, dx);
  cx_unpack(cx_call(cx_jvp(e->f), cx_tuple(primals), cx_tuple(tangents)), &out,
            &dout);
  for (int i = 0; i < cx_len(out); i++) y[m++] = cx_nth(out, i);
  for (int i = 0; i < cx_len(out); i++)
    if (is_float(cx_nth(out, i))) {
      cx t = cx_nth(dout, i);
      y[m++] = cx_is_none(t) ? cx_zeros_like(cx_nth(out, i)) : t;
    }
  return cx_tuple_n(m, y);
}

/* inputs: n of f, then a cotangent for each floating output */
CX_DEF_ENV(as_vjp, derived, e, inputs) {
  cx x[MOST], specs[MOST], ct[MOST], g[MOST], out, grads;
  int next = e->n, m = 0;
  for (int i = 0; i < e->n; i++)
    x[i] = cx_nth(inputs, i), specs[i] = cx_spec_like(x[i]);
  cx like = cx_call(e->f, cx_tuple_n(e->n, specs));
  int n_out = cx_len(like);
  for (int i = 0; i < n_out; i++)
    ct[i] = is_float(cx_nth(like, i)) ? cx_nth(inputs, next++) : cx_none();
  cx_unpack(cx_call(cx_vjp(e->f), cx_tuple(cx_tuple_n(e->n, x)),
                    cx_tuple_n(n_out, ct)),
            &out, &grads);
  grads = cx_nth(grads, 0);
  for (int i = 0; i < e->n; i++)
    if (is_float(x[i])) g[m++] = cx_nth(grads, i);
  return joined(out, cx_tuple_n(m, g));
}

CX_DEF_ENV(sum_of_outputs, one_fn, e, inputs) {
  cx out = cx_call(e->f, inputs), sum = cx_none();
  for (int i = 0; i < cx_len(out); i++) {
    if (!is_float(cx_nth(out, i))) continue;
    cx s = cx_sum(cx_nth(out, i));
    sum = cx_is_none(sum) ? s : cx_add(sum, s);
  }
  return sum;
}

/* gradients of the sum with respect to the first n inputs that are floating */
CX_DEF_ENV(as_grad, derived, e, inputs) {
  cx g[MOST];
  int m = 0;
  cx_fn f = CX_BIND(sum_of_outputs, .f = e->f);
  cx grads = cx_call(cx_grad(f, .allow_int = true), inputs);
  for (int i = 0; i < e->n; i++)
    if (is_float(cx_nth(inputs, i))) g[m++] = cx_nth(grads, i);
  return cx_tuple_n(m, g);
}

CX_DEF_ENV(first_output, one_fn, e, inputs) {
  cx out = cx_call(e->f, inputs);
  return cx_tuple(cx_nth(out, 0), out);
}

/* all outputs, then the gradients of the first for n parameters */
CX_DEF_ENV(as_value_and_grad, derived, e, inputs) {
  cx g[MOST], value, grads;
  cx_fn f = CX_BIND(first_output, .f = e->f);
  cx_unpack(
      cx_call(cx_value_and_grad(f, .has_aux = true, .allow_int = true), inputs),
      &value, &grads);
  for (int i = 0; i < e->n; i++) g[i] = cx_nth(grads, i);
  return joined(cx_nth(value, 1), cx_tuple_n(e->n, g));
}

CX_DEF_ENV(one_output, derived, e, inputs) {
  return cx_nth(cx_call(e->f, inputs), e->n);
}

CX_STRUCT(jacobian_env, (cx_fn, f), (int, n), (bool, forward));

/* Jacobians of each floating output by each of the first n inputs that are
 * floating: the axes of the output first. */
CX_DEF_ENV(as_jacobian, jacobian_env, e, inputs) {
  cx rows[MOST], like = cx_call(e->f, cx_spec_like(inputs));
  int m = 0;
  for (int k = 0; k < cx_len(like); k++) {
    if (!is_float(cx_nth(like, k))) continue;
    cx_fn f = CX_BIND(one_output, .f = e->f, .n = k);
    cx j = cx_call(e->forward ? cx_jacfwd(f) : cx_jacrev(f), inputs);
    for (int i = 0; i < e->n; i++)
      if (is_float(cx_nth(inputs, i))) rows[m++] = cx_nth(j, i);
  }
  return cx_tuple_n(m, rows);
}

/* The product of the Hessian and a vector of ones. */
CX_DEF_ENV(as_hvp, derived, e, inputs) {
  cx ones[MOST], g, h;
  for (int i = 0; i < e->n; i++)
    ones[i] = is_float(cx_nth(inputs, i)) ? cx_ones_like(cx_nth(inputs, i))
                                          : cx_none();
  cx_unpack(cx_call(cx_jvp(CX_BIND(as_grad, .f = e->f, .n = e->n)),
                    cx_tuple(inputs), cx_tuple(cx_tuple_n(e->n, ones))),
            &g, &h);
  return h;
}

/* -- vmap ----------------------------------------------------------------- */

/* Axes of `n` inputs: the record's if it has as many, else `otherwise`; vmap1
 * maps the first along its last axis. */
static cx axes_of(const json_t *record, int n, bool only_first) {
  const json_t *axes = json_object_get(record, "in_axes");
  cx items[MOST];
  for (int i = 0; i < n; i++) {
    const json_t *x = json_array_get(axes, (size_t)i);
    if (only_first)
      items[i] = i ? cx_none() : cx_scalar(-1, CX_I32);
    else if ((int)json_array_size(axes) == n)
      items[i] = json_is_integer(x)
                     ? cx_scalar((long long)json_integer_value(x), CX_I32)
                     : cx_none();
    else
      items[i] = cx_scalar(0, CX_I32);
  }
  return cx_tuple_n(n, items);
}

static cx axis_item(const json_t *axis) {
  return json_is_integer(axis)
             ? cx_scalar((long long)json_integer_value(axis), CX_I32)
             : cx_none();
}

static cx_fn mapped(cx_fn f, const json_t *record, int n, bool only_first) {
  const json_t *out = json_object_get(record, "out_axes");
  cx in = cx_tuple(axes_of(record, n, only_first)), items[MOST];
  if (!out) return cx_vmap(f, .in_tree = in);
  const int n_out = (int)json_array_size(out);
  if (n_out > MOST) {
    cx_fail(CX_EUSER, "conform: more than %d results", MOST);
    return NULL;
  }
  for (int i = 0; i < n_out; i++)
    items[i] = axis_item(json_array_get(out, (size_t)i));
  return cx_vmap(f, .in_tree = in,
                 .out_tree = json_is_array(out) ? cx_tuple_n(n_out, items)
                                                : axis_item(out));
}

cx derive_repeated(cx x, int axis, int64_t size) {
  if (axis < 0) axis += cx_ndim(x) + 1;
  x = cx_expand(x, axis);
  cx_dims shape = cx_shape(x);
  shape.d[axis] = size;
  return cx_broadcast_to(x, shape);
}

/* -- gradients of single examples ----------------------------------------- */

/* The first `n` inputs are parameters, the others have the batch at an axis. */
CX_STRUCT(copies_env, (cx_fn, f), (int, n), (int64_t, size),
          (int, axis, [MOST]));

/* The function of one example: of a batch of its copies, whose mean is that of
 * one; of results for each of them the first. */
CX_DEF_ENV(of_copies, copies_env, e, inputs) {
  cx items[MOST];
  for (int i = 0; i < cx_len(inputs) && i < MOST; i++)
    items[i] = i < e->n
                   ? cx_nth(inputs, i)
                   : derive_repeated(cx_nth(inputs, i), e->axis[i], e->size);
  const cx out = cx_call(e->f, cx_tuple_n(cx_len(inputs), items));
  for (int i = 0; i < cx_len(out) && i < MOST; i++) {
    const cx y = cx_nth(out, i);
    items[i] = cx_ndim(y) && cx_dim(y, 0) == e->size ? cx_take(y, 0, 0) : y;
  }
  return cx_tuple_n(cx_len(out), items);
}

/* A gradient for each parameter, with the examples in front: those of a batch
 * whose inputs have the examples at the first axis of their number. */
static cx_fn per_example(cx_fn f, cx specs, const json_t *record) {
  const json_t *out = json_object_get(record, "out");
  const cx_dims first =
      jaxpr_dims(json_object_get(json_array_get(out, 0), "shape"));
  copies_env e = { .f = f,
                   .n = (int)json_array_size(out),
                   .size = first.n ? first.d[0] : 0 };
  cx axes[MOST];
  for (int i = 0; i < cx_len(specs) && i < MOST; i++) {
    const cx_dims s = cx_shape(cx_nth(specs, i));
    axes[i] = cx_none();
    if (i < e.n) continue;
    while (e.axis[i] < s.n && s.d[e.axis[i]] != e.size) e.axis[i]++;
    if (e.axis[i] < s.n) axes[i] = cx_scalar(e.axis[i], CX_I32);
  }
  const cx_fn one = CX_BIND_TO(of_copies, &e);
  return cx_vmap(CX_BIND(as_grad, .f = one, .n = e.n),
                 .in_tree = cx_tuple(cx_tuple_n(cx_len(specs), axes)));
}

/* -- kinds ---------------------------------------------------------------- */

static bool next_step(const char **kind, char *step, size_t room) {
  size_t n = strcspn(*kind, ".");
  if (n == 0 || n >= room) return false;
  memcpy(step, *kind, n), step[n] = 0;
  *kind += n + ((*kind)[n] == '.');
  return true;
}

bool derive_is_vmap(const char *kind) {
  return strstr(kind, "vmap") != NULL || !strcmp(kind, "per_example_grad");
}

/* How many inputs a Jacobian, or a Hessian, is taken with respect to: some
 * records hold the first ones alone. */
static int inputs_named(const json_t *record, int n, bool twice) {
  const int blocks = (int)json_array_size(json_object_get(record, "out"));
  int wrt = 0;
  while (wrt < n && (wrt + 1) * (twice ? wrt + 1 : 1) <= blocks) wrt++;
  return wrt;
}

static bool is_step(const char *step) {
  static const char *const steps[] = {
    "jvp",    "vjp",    "vmap",    "vmap1", "grad", "value_and_grad",
    "grad1",  "grad2",  "grad3",   "grad4", "hvp",  "jit_value_and_grad",
    "jacfwd", "jacrev", "hessian",
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (!strcmp(step, steps[i])) return true;
  return false;
}

/* Inputs of the step after this one; `like` are this one's. */
static cx_fn apply_step(cx_fn f, const char *step, cx *like,
                        const json_t *record) {
  int n = cx_len(*like);
  if (!strcmp(step, "jvp")) {
    cx dx[MOST];
    int m = 0;
    for (int i = 0; i < n; i++)
      if (is_float(cx_nth(*like, i))) dx[m++] = cx_nth(*like, i);
    *like = joined(*like, cx_tuple_n(m, dx));
    return CX_BIND(as_jvp, .f = f, .n = n);
  }
  if (!strcmp(step, "vjp")) {
    cx out = cx_call(f, *like), ct[MOST];
    int m = 0;
    for (int i = 0; i < cx_len(out); i++)
      if (is_float(cx_nth(out, i))) ct[m++] = cx_nth(out, i);
    *like = joined(*like, cx_tuple_n(m, ct));
    return CX_BIND(as_vjp, .f = f, .n = n);
  }
  if (!strcmp(step, "vmap")) return mapped(f, record, n, false);
  if (!strcmp(step, "vmap1")) return mapped(f, record, n, true);
  if (!strcmp(step, "grad")) return CX_BIND(as_grad, .f = f, .n = n);
  if (!strcmp(step, "hvp")) return CX_BIND(as_hvp, .f = f, .n = n);
  if (!strcmp(step, "hessian")) {
    const int wrt = inputs_named(record, n, true);
    f = CX_BIND(as_grad, .f = f, .n = wrt);
    return CX_BIND(as_jacobian, .f = f, .n = wrt, .forward = true);
  }
  if (!strncmp(step, "jac", 3))
    return CX_BIND(as_jacobian, .f = f, .n = inputs_named(record, n, false),
                   .forward = !strcmp(step, "jacfwd"));
  if (!strncmp(step, "grad", 4)) { /* grad2: nested twice */
    for (int i = step[4] - '0'; i > 0; i--)
      f = CX_BIND(as_grad, .f = f, .n = n);
    return f;
  }
  if (!strcmp(step, "value_and_grad") || !strcmp(step, "jit_value_and_grad")) {
    int params = (int)json_array_size(json_object_get(record, "params"));
    return CX_BIND(as_value_and_grad, .f = f, .n = params);
  }
  return NULL;
}

/* The inputs of what a vmap gave: the record's, less the axes of the vmaps that
 * `rest` still has, which are in front. */
static cx after_vmap(const json_t *record, int n, const char *rest) {
  const json_t *in = json_object_get(record, "in");
  cx items[MOST];
  int more = 0;
  for (const char *at = rest; (at = strstr(at, "vmap")); at++) more++;
  for (int i = 0; i < n && i < MOST; i++) {
    const json_t *a = json_array_get(in, (size_t)i);
    cx_dims s = jaxpr_dims(json_object_get(a, "shape"));
    const int cut = more < s.n ? more : s.n;
    memmove(s.d, s.d + cut, sizeof s.d[0] * (size_t)(s.n - cut));
    s.n -= cut;
    items[i] =
        cx_spec(jaxpr_dtype(json_string_value(json_object_get(a, "dtype"))), s);
  }
  return cx_tuple_n(n, items);
}

cx_fn derive_kind(cx_fn f, const char *kind, cx specs, const json_t *record,
                  bool *out_handled) {
  char step[32];
  const char *rest = kind;
  *out_handled = !strcmp(kind, "per_example_grad");
  if (*out_handled) return per_example(f, specs, record);
  while (next_step(&rest, step, sizeof step)) {
    if (!is_step(step)) return NULL;
    f = apply_step(f, step, &specs, record);
    if (!f) break;
    if (!strncmp(step, "vmap", 4) && *rest)
      specs = after_vmap(record, cx_len(specs), rest);
  }
  *out_handled = true;
  return f;
}
