/* composed.c - functions that tests put under stacks of transforms. */
#include "support/composed.h"

#include <stdlib.h>

cx composed_floats_(cx_dtype type, uint64_t seed, cx_dims shape) {
  int64_t n = 1;
  for (int i = 0; i < shape.n; i++) n *= shape.d[i];
  double *d = calloc((size_t)n + 1, sizeof *d);
  if (!d) return cx_fail(CX_EMEMORY, "no memory for a test");
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    d[i] = (double)(state >> 40) / 8388608.0 - 1;
  }
  cx a = cx_cast(cx_from_(d, CX_F64, shape, CX_AT), type);
  free(d);
  return a;
}

/* -- layers --------------------------------------------------------------- */

CX_DEF(mlp, x, p, z) {
  (void)z;
  cx h = cx_tanh(cx_add(cx_matmul(x, cx_t(cx_get(p, "w1"))), cx_get(p, "b1")));
  return cx_add(cx_matmul(h, cx_t(cx_get(p, "w2"))), cx_get(p, "b2"));
}
static void mlp_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 1, 3, 4);
  out[1] = cx_dict("w1", composed_floats(t, 2, 5, 4), "b1",
                   composed_floats(t, 3, 5), "w2", composed_floats(t, 4, 2, 5),
                   "b2", composed_floats(t, 5, 2));
  out[2] = cx_none();
}

CX_DEF(softmaxes, x, y, labels) {
  cx logits = cx_mul(x, y);
  return cx_tuple(cx_pick(cx_log_softmax(logits), labels), cx_softmax(x, 0),
                  cx_cross_entropy(logits, labels, -1));
}
static void softmax_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 6, 3, 5);
  out[1] = composed_floats(t, 7, 5);
  out[2] = cx_array(int32_t, 4, 0, 2);
}

CX_DEF(norms, x, p, z) {
  (void)z;
  cx g = cx_get(p, "g"), b = cx_get(p, "b");
  cx mean = cx_mean(x, -1, .keepdims = true);
  cx var = cx_var(x, -1, .keepdims = true);
  cx by_hand = cx_mul(cx_sub(x, mean), cx_rsqrt(cx_add(var, 1e-3)));
  return cx_tuple(cx_layer_norm(x, g, b, .eps = 1e-3), cx_mul(by_hand, g),
                  cx_gelu(cx_add(x, b)));
}
static void norm_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 8, 3, 6);
  out[1] =
      cx_dict("g", composed_floats(t, 9, 6), "b", composed_floats(t, 10, 6));
  out[2] = cx_none();
}

CX_DEF(attentions, q, kv, mask) {
  cx k, v;
  cx_unpack(kv, &k, &v);
  return cx_gelu_tanh(cx_attention(q, k, v, .mask = mask));
}
static void attention_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 11, 1, 3, 2, 2);
  out[1] = cx_tuple(composed_floats(t, 12, 1, 4, 2, 2),
                    composed_floats(t, 13, 1, 4, 2, 2));
  out[2] = cx_reshape(cx_array(bool, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1), 1, 1,
                      3, 4);
}

/* -- movement ------------------------------------------------------------- */

CX_DEF(gathers, x, y, i) {
  cx rows = cx_take(x, i, 0), moved = cx_at_add(x, (i), y);
  cx set = cx_at_set(x, (i, CX_RANGE(0, 2)), 0.5);
  cx u = cx_sub(4, cx_add(cx_iota(CX_I32, 0, 4), cx_mul(0, i)));
  cx low = cx_at_min(x, (u), y, .mode = CX_CLIP, .unique = true);
  cx along = cx_take_along(y, cx_expand(cx_rem(i, 3), -1), 1);
  return cx_tuple(cx_mul(rows, y), cx_square(moved), set, low, along,
                  cx_index(x, i, CX_STEP(2)));
}
static void gather_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 14, 5, 3);
  out[1] = composed_floats(t, 15, 4, 3);
  out[2] = cx_array(int32_t, 1, 4, 1, 0);
}

CX_DEF(slices, x, y, i) {
  cx part = cx_dynamic_slice(x, i, 3, 0), changed;
  changed = cx_dynamic_update(x, cx_mul(part, y), i, 0);
  cx padded = cx_pad(changed, 0.25, (1, 2));
  cx joined =
      cx_concat(0, padded, cx_flip(x, 0), cx_index(x, CX_SLICE(1, 6, 2)));
  return cx_tuple(joined, cx_index(x, i), cx_roll(changed, 2, 0),
                  cx_tile(cx_expand(y, 0), 2, 2));
}
static void slice_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 16, 7);
  out[1] = composed_floats(t, 17, 3);
  out[2] = cx_scalar(2, CX_I32);
}

CX_DEF(einsums, x, y, z) {
  (void)z;
  cx a = cx_einsum("ij,jkl->ikl", x, y);
  return cx_tuple(a, cx_einsum("ikl,kli->", a, cx_transpose(a, 1, 2, 0)),
                  cx_einsum("ij,ij->j", x, x), cx_einsum("jkl->lj", y));
}
static void einsum_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 18, 2, 3);
  out[1] = composed_floats(t, 19, 3, 4, 2);
  out[2] = cx_none();
}

CX_DEF(masks, x, y, m) {
  cx kept = cx_where(m, cx_mul(x, y), -0.5);
  cx bounded = cx_clip(cx_mul(x, 2), -0.75, y);
  return cx_tuple(kept, bounded, cx_maximum(x, y), cx_relu(x), cx_abs(x),
                  cx_sum(x, 0, .where = m), cx_tril(x, 0),
                  cx_and(m, cx_gt(x, y)));
}
static void mask_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 20, 4, 3);
  out[1] = composed_floats(t, 21, 3);
  out[2] = cx_reshape(cx_array(bool, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1), 4, 3);
}

CX_DEF(reductions, x, y, z) {
  (void)z;
  cx a = cx_mul(x, y);
  return cx_tuple(cx_max(a, 0), cx_min(a), cx_mean(a, 1), cx_std(a, 0),
                  cx_logsumexp(a, -1), cx_norm(a, 0), cx_argmax(a, 1),
                  cx_sum(cx_power(cx_add(a, 2.5), y), 0));
}
static void reduction_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 22, 3, 4);
  out[1] = composed_floats(t, 23, 4);
  out[2] = cx_none();
}

/* -- control flow --------------------------------------------------------- */

CX_STRUCT(weights, (cx, w));
CX_DEF_ENV(cell, weights, e, h, x) {
  cx next = cx_tanh(cx_add(cx_matmul(e->w, h), x));
  return cx_tuple(next, cx_mul(next, x));
}
CX_DEF(scans, x, y, z) {
  (void)z;
  cx w = cx_outer(x, x);
  cx forth = cx_scan(CX_BIND(cell, .w = w), x, y);
  cx back =
      cx_scan(CX_BIND(cell, .w = cx_t(w)), cx_mul(x, 0.5), y, .reverse = true);
  return cx_tuple(forth, back);
}
static void scan_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 24, 3);
  out[1] = composed_floats(t, 25, 4, 3);
  out[2] = cx_none();
}

CX_DEF(times_sine, x, y) {
  return cx_mul(x, cx_sin(y));
}
CX_DEF(plus_square, x, y) {
  return cx_add(cx_square(x), y);
}
CX_DEF(first_only, x, y) {
  (void)y;
  return cx_exp(x);
}
CX_DEF(conds, x, y, i) {
  cx a =
      cx_cond(cx_gt(cx_sum(x), 0), CX_FN(times_sine), CX_FN(plus_square), x, y);
  cx b = cx_switch(
      i, (CX_FN(first_only), CX_FN(times_sine), CX_FN(plus_square)), a, y);
  return cx_tuple(a, b);
}
static void cond_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 26, 3);
  out[1] = composed_floats(t, 27, 3);
  out[2] = cx_scalar(2, CX_I32);
}

CX_DEF(small, s) {
  return cx_lt(cx_sum(cx_square(cx_nth(s, 0))), 4);
}
CX_DEF_ENV(grow, weights, e, s) {
  return cx_tuple(cx_add(cx_mul(cx_nth(s, 0), 1.5), cx_mul(e->w, 0.1)),
                  cx_add(cx_nth(s, 1), 1));
}
CX_DEF_ENV(turn, weights, e, i, s) {
  return cx_add(cx_sin(s), cx_mul(e->w, cx_cast(i, cx_type(s))));
}
CX_DEF(loops, x, y, n) {
  cx s = cx_while(CX_FN(small), CX_BIND(grow, .w = y), cx_tuple(x, n),
                  .max_steps = 6);
  return cx_tuple(s, cx_fori(0, 3, CX_BIND(turn, .w = y), x));
}
static void loop_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 28, 3);
  out[1] = composed_floats(t, 29, 3);
  out[2] = cx_scalar(0, CX_I32);
}

/* -- custom rules --------------------------------------------------------- */

CX_DEF(bend_value, x, y) {
  return cx_mul(cx_sin(x), y);
}
/* Not the true derivative, so that forgetting the rule shows. */
CX_DEF(bend_rule, p, t) {
  cx x = cx_nth(p, 0), y = cx_nth(p, 1);
  cx dx = cx_mul(cx_nth(t, 0), cx_mul(y, 2)), dy = cx_mul(cx_nth(t, 1), x);
  return cx_tuple(bend_value(x, y), cx_add(dx, dy));
}
CX_DEF(custom_forward, x, y, z) {
  (void)z;
  cx_fn bend = cx_custom_jvp(CX_FN(bend_value), CX_FN(bend_rule));
  return cx_mul(cx_call(bend, cx_square(x), y), x);
}

CX_DEF(scale_fwd, x, y) {
  return cx_tuple(cx_mul(x, y), cx_tuple(cx_cos(x), y));
}
CX_DEF(scale_value, x, y) {
  return cx_mul(x, y);
}
CX_DEF(scale_bwd, res, ct) {
  cx dx = cx_mul(ct, cx_mul(cx_nth(res, 1), 3));
  return cx_tuple(dx, cx_mul(ct, cx_nth(res, 0)));
}
CX_DEF(custom_reverse, x, y, z) {
  (void)z;
  cx_fn scale =
      cx_custom_vjp(CX_FN(scale_value), CX_FN(scale_fwd), CX_FN(scale_bwd));
  return cx_mul(cx_call(scale, cx_square(x), y), x);
}
static void custom_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 30, 3);
  out[1] = composed_floats(t, 31, 3);
  out[2] = cx_none();
}

/* -- what else there is --------------------------------------------------- */

CX_DEF(randoms, x, y, key) {
  cx k1, k2;
  cx_split(key, &k1, &k2);
  cx noise = cx_uniform(k1, cx_type(x), cx_shape(x));
  cx keep = cx_bernoulli(k2, 0.5, cx_shape(x));
  return cx_tuple(cx_where(keep, cx_mul(x, noise), y),
                  cx_randint(cx_fold(key, 3), 0, 9, 2),
                  cx_dropout(x, 0.25, cx_fold(k1, 1)));
}
static void random_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 32, 4);
  out[1] = composed_floats(t, 33, 4);
  out[2] = cx_key(7);
}

CX_DEF(trees, x, y, z) {
  cx a = cx_nth(x, 0), u = cx_get(x, "1.u"), v = cx_get(x, "1.v");
  cx n = cx_nth(z, 0), flag = cx_get(z, "1.flag");
  cx sum = cx_add(a, cx_mul(v, cx_nth(y, 0)));
  return cx_dict("product", cx_matmul(u, sum), "count", cx_add(n, 1), "chosen",
                 cx_where(flag, a, sum), "all", cx_mul(x, 2), "none",
                 cx_none());
}
static void tree_arguments(cx_dtype t, cx out[3]) {
  out[0] = cx_tuple(composed_floats(t, 34, 2),
                    cx_dict("u", composed_floats(t, 35, 3, 2), "v",
                            composed_floats(t, 36, CX_SCALAR)));
  out[1] = cx_tuple(composed_floats(t, 37, 2));
  out[2] =
      cx_tuple(cx_array(int32_t, 3, 4), cx_dict("flag", cx_array(bool, 1, 0)));
}

CX_DEF(energy, x, y) {
  return cx_sum(cx_mul(cx_sin(x), y));
}
CX_DEF(inners, x, y, z) {
  (void)z;
  cx value;
  cx_fn pull = cx_pullback(CX_FN(times_sine), cx_tuple(x, y), &value);
  cx g = cx_call(cx_jit(cx_grad(CX_FN(energy))), x, y);
  cx h = cx_call(cx_vmap(cx_grad(CX_FN(energy)), .in = { 0, CX_NONE }), x, y);
  cx c = cx_call(cx_checkpoint(CX_FN(times_sine)), g, value);
  return cx_tuple(cx_call(pull, cx_mul(g, 2)), h, c);
}
static void inner_arguments(cx_dtype t, cx out[3]) {
  out[0] = composed_floats(t, 38, 3);
  out[1] = composed_floats(t, 39, 3);
  out[2] = cx_none();
}

const composed composed_functions[] = {
  { "mlp", &mlp_def, mlp_arguments, false },
  { "softmaxes", &softmaxes_def, softmax_arguments, false },
  { "norms", &norms_def, norm_arguments, false },
  { "attentions", &attentions_def, attention_arguments, false },
  { "gathers", &gathers_def, gather_arguments, false },
  { "slices", &slices_def, slice_arguments, false },
  { "einsums", &einsums_def, einsum_arguments, false },
  { "masks", &masks_def, mask_arguments, false },
  { "reductions", &reductions_def, reduction_arguments, false },
  { "scans", &scans_def, scan_arguments, false },
  { "conds", &conds_def, cond_arguments, false },
  { "loops", &loops_def, loop_arguments, false },
  { "custom_forward", &custom_forward_def, custom_arguments, false },
  { "custom_reverse", &custom_reverse_def, custom_arguments, true },
  { "randoms", &randoms_def, random_arguments, false },
  { "trees", &trees_def, tree_arguments, false },
  { "inners", &inners_def, inner_arguments, false },
};
const int n_composed_functions =
    (int)(sizeof composed_functions / sizeof *composed_functions);
