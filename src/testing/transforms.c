/* transforms.c - derivatives against differences; transforms against what
 * they must equal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing/check.h"

/* -- random arguments ----------------------------------------------------- */

static cx random_leaf(cx spec, cx key) {
  cx_dims shape = cx_shape(spec);
  cx_dtype t = cx_type(spec);
  if (t == CX_KEY)
    return shape.n == 0 ? key
                        : cx_reshape(cx_split_n(key, cx_size(spec)), shape);
  if (t == CX_BOOL) return cx_bernoulli(key, 0.5, shape);
  if (cxi_check_is_float(spec))
    return cx_cast(cx_normal(key, CX_F32, shape), t);
  return cx_cast(cx_randint(key, 0, 10, shape), t);
}
cx cx_random_like(cx specs, uint64_t seed) {
  int n = cx_leaf_count(specs);
  cx key = cx_key(seed);
  if (key.index == 0) return key; /* poison: no context */
  cx *leaves = malloc(((size_t)n + 1) * sizeof *leaves);
  if (!leaves) return cx_fail(CX_EMEMORY, "random_like: out of memory");
  for (int i = 0; i < n; i++)
    leaves[i] = random_leaf(cx_leaf(specs, i), cx_fold(key, i));
  cx tree = cx_unflatten(specs, n, leaves);
  free(leaves);
  return tree;
}

/* -- trees of tangents ---------------------------------------------------- */

/* f(i-th leaf of a, of b) where a's leaf is floating, else what `other` says. */
typedef enum other_leaf { OTHER_NONE, OTHER_SAME } other_leaf;
static cx map_floats(cx a, cx b, double scale, bool add, other_leaf other) {
  int n = cx_leaf_count(a);
  cx *leaves = malloc(((size_t)n + 1) * sizeof *leaves);
  if (!leaves) return cx_fail(CX_EMEMORY, "check: out of memory");
  for (int i = 0; i < n; i++) {
    cx x = cx_leaf(a, i);
    leaves[i] = other == OTHER_NONE ? cx_none() : x;
    if (!cxi_check_is_float(x)) continue;
    cx y = cx_mul(cx_leaf(b, i), scale);
    leaves[i] = add ? cx_add(x, y) : y;
  }
  cx tree = cx_unflatten(a, n, leaves);
  free(leaves);
  return tree;
}
/* A tangent for every floating leaf, of length about 1. */
static cx tangent_like(cx a, uint64_t seed) {
  cx u = cx_random_like(a, seed);
  double length = sqrt(cxi_check_dot(u, u));
  return map_floats(a, u, length > 0 ? 1 / length : 1, false, OTHER_NONE);
}
/* Without the leaves that are none, so that trees of tangents compare. */
static cx moved(cx args, cx u, double eps) {
  int n = cx_leaf_count(args), k = 0;
  cx *leaves = malloc(((size_t)n + 1) * sizeof *leaves);
  if (!leaves) return cx_fail(CX_EMEMORY, "check: out of memory");
  for (int i = 0; i < n; i++) { /* u lacks the leaves that are not floating */
    cx x = cx_leaf(args, i);
    leaves[i] =
        cxi_check_is_float(x) ? cx_add(x, cx_mul(eps, cx_leaf(u, k++))) : x;
  }
  cx tree = cx_unflatten(args, n, leaves);
  free(leaves);
  return tree;
}
/* The items of the argument tuple, for a call. */
static cx call_tuple(cx_fn f, cx args) {
  int n = cx_len(args);
  cx *items = malloc(((size_t)n + 1) * sizeof *items);
  if (!items) return cx_fail(CX_EMEMORY, "check: out of memory");
  for (int i = 0; i < n; i++) items[i] = cx_nth(args, i);
  cx result = cx_call_n(f, n, items);
  free(items);
  return result;
}
/* Only the floating leaves, as a tuple. */
static cx floats_of(cx tree) {
  int n = cx_leaf_count(tree), m = 0;
  cx *leaves = malloc(((size_t)n + 1) * sizeof *leaves);
  if (!leaves) return cx_fail(CX_EMEMORY, "check: out of memory");
  for (int i = 0; i < n; i++)
    if (cxi_check_is_float(cx_leaf(tree, i))) leaves[m++] = cx_leaf(tree, i);
  cx tuple = cx_tuple_n(m, leaves);
  free(leaves);
  return tuple;
}

/* -- derivatives ---------------------------------------------------------- */

typedef struct check {
  cx_fn f;
  cx args; /* a tuple */
  cxi_tolerance t;
  uint64_t seed;
  int order;
  const char *at;
} check;

/* (f(x + eps u) - f(x - eps u)) / (2 eps), of the floating outputs. */
static cx difference(const check *c, cx u) {
  cx up = floats_of(call_tuple(c->f, moved(c->args, u, c->t.eps)));
  cx down = floats_of(call_tuple(c->f, moved(c->args, u, -c->t.eps)));
  return cx_div(cx_sub(up, down), 2 * c->t.eps);
}
static const char *first_order(const check *c) {
  CX_SCOPE;
  char what[96];
  cx out, dout, back, grads;
  cx u = tangent_like(c->args, c->seed);
  cx_unpack(cx_call(cx_jvp(c->f), c->args, u), &out, &dout);
  snprintf(what, sizeof what, "jvp against differences (order %d, seed %llu)",
           c->order, (unsigned long long)c->seed);
  const char *text = cxi_check_compare(c->at, what, floats_of(dout),
                                       difference(c, u), c->t.rtol, c->t.atol);
  if (text) return text;
  cx v = tangent_like(out, c->seed + 1);
  cx_unpack(cx_call(cx_vjp(c->f), c->args, v), &back, &grads);
  double forward = cxi_check_dot(floats_of(v), floats_of(dout));
  double reverse = cxi_check_dot(floats_of(grads), floats_of(u));
  text = cxi_check_kept_error(c->at, "vjp");
  double scale = c->t.atol + c->t.rtol * fabs(forward);
  if (!text && !(fabs(forward - reverse) <= scale))
    text =
        cxi_check_fail(c->at,
                       "vjp against jvp (order %d, seed %llu): "
                       "<v, J u> is %.9g, <J' v, u> is %.9g",
                       c->order, (unsigned long long)c->seed, forward, reverse);
  return text;
}
/* x, u -> J u and x, v -> J' v as functions, for the next order. */
CX_STRUCT(derivative_env, (cx_fn, f));
CX_DEF_ENV(forward, derivative_env, e, x, u) {
  return floats_of(cx_nth(cx_call(cx_jvp(e->f), x, u), 1));
}
CX_DEF_ENV(reverse, derivative_env, e, x, v) {
  return floats_of(cx_nth(cx_call(cx_vjp(e->f), x, v), 1));
}
static const char *check_order(const check *c, int orders) {
  const char *text = first_order(c);
  if (text || orders == 1) return text;
  CX_SCOPE;
  cx out = call_tuple(c->f, c->args);
  check next = *c;
  next.order++, next.seed += 100;
  next.f = CX_BIND(forward, .f = c->f);
  next.args = cx_tuple(c->args, tangent_like(c->args, next.seed + 7));
  text = check_order(&next, orders - 1);
  if (text) return text;
  next.f = CX_BIND(reverse, .f = c->f);
  next.args = cx_tuple(c->args, tangent_like(out, next.seed + 8));
  return check_order(&next, orders - 1);
}
static cxi_tolerance tolerance_of(cx args, cx_check_opt opt) {
  cxi_tolerance t = cxi_check_tolerance(cxi_check_narrowest(args));
  if (opt.eps > 0) t.eps = opt.eps;
  if (opt.rtol > 0) t.rtol = opt.rtol;
  if (opt.atol > 0) t.atol = opt.atol;
  return t;
}
const char *cx_check_grads_(cx_fn f, int n, const cx *args, cx_check_opt opt,
                            const char *at) {
  CX_SCOPE;
  cx tuple = cx_tuple_n(n, args);
  if (cx_ok() && cx_len(floats_of(tuple)) == 0)
    return cxi_check_fail(at,
                          "check_grads: no argument is floating, there is no "
                          "derivative to check: %s",
                          cx_show(tuple));
  check c = { .f = f,
              .args = tuple,
              .t = tolerance_of(tuple, opt),
              .seed = opt.seed,
              .order = 1,
              .at = at };
  return check_order(&c, opt.order > 0 ? opt.order : 1);
}

/* -- transforms ----------------------------------------------------------- */

const char *cx_check_jit_(cx_fn f, int n, const cx *args, cx_check_opt opt,
                          const char *at) {
  CX_SCOPE;
  cx plain = cx_call_n(f, n, args), compiled = cx_call_n(cx_jit(f), n, args);
  return cxi_check_compare(at, "jit", compiled, plain,
                           opt.rtol > 0 ? opt.rtol : -1, opt.atol);
}
/* Element i of every leaf along its first axis. */
static cx example(cx tree, int64_t i) {
  int n = cx_leaf_count(tree);
  cx *leaves = malloc(((size_t)n + 1) * sizeof *leaves);
  if (!leaves) return cx_fail(CX_EMEMORY, "check: out of memory");
  for (int k = 0; k < n; k++) leaves[k] = cx_index(cx_leaf(tree, k), i);
  cx item = cx_unflatten(tree, n, leaves);
  free(leaves);
  return item;
}
const char *cx_check_vmap_(cx_fn f, int n, const cx *args, cx_check_opt opt,
                           const char *at) {
  CX_SCOPE;
  cx all = cx_tuple_n(n, args), batched = cx_call_n(cx_vmap(f), n, args);
  int64_t size = cx_leaf_count(all) ? cx_dim(cx_leaf(all, 0), 0) : 0;
  const char *text = cxi_check_kept_error(at, "vmap");
  for (int64_t i = 0; !text && i < size; i++) {
    CX_SCOPE;
    char what[48];
    snprintf(what, sizeof what, "vmap, example %lld", (long long)i);
    text = cxi_check_compare(
        at, what, example(batched, i), call_tuple(f, example(all, i)),
        opt.rtol > 0 ? opt.rtol : -1, opt.atol);
  }
  return text;
}
CX_DEF_ENV(value_and_pullback, derivative_env, e, x, v) {
  cx out, grads;
  cx_unpack(cx_call(cx_vjp(e->f), x, v), &out, &grads);
  return cx_tuple(out, grads);
}
const char *cx_check_remat_(cx_fn f, int n, const cx *args, cx_check_opt opt,
                            const char *at) {
  CX_SCOPE;
  cx x = cx_tuple_n(n, args);
  cx v = tangent_like(cx_call_n(f, n, args), opt.seed);
  cx plain = cx_call(CX_BIND(value_and_pullback, .f = f), x, v);
  cx again = cx_call(CX_BIND(value_and_pullback, .f = cx_checkpoint(f)), x, v);
  return cxi_check_compare(at, "checkpoint", again, plain,
                           opt.rtol > 0 ? opt.rtol : -1, opt.atol);
}
