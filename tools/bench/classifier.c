/* classifier.c - group E: a classifier of 784-512-512-10 units. */
#include "bench/bench.h"

enum { LAYERS = 3 };
static const int64_t widths[LAYERS + 1] = { 784, 512, 512, 10 };

/* A tuple of (w, b) for each layer. */
static cx init(void) {
  cx layers[LAYERS];
  for (int i = 0; i < LAYERS; i++) {
    const char *const names[LAYERS] = { "mlp.w0", "mlp.w1", "mlp.w2" };
    layers[i] =
        cx_tuple(bench_uniform(names[i], 0.05, widths[i], widths[i + 1]),
                 cx_zeros(CX_F32, widths[i + 1]));
  }
  return cx_tuple(layers[0], layers[1], layers[2]);
}
static cx logits(cx params, cx x) {
  for (int i = 0; i < LAYERS; i++) {
    cx layer = cx_nth(params, i);
    x = cx_add(cx_matmul(x, cx_nth(layer, 0)), cx_nth(layer, 1));
    if (i < LAYERS - 1) x = cx_relu(x);
  }
  return x;
}
CX_DEF(loss, params, x, labels) {
  return cx_cross_entropy(logits(params, x), labels, -1);
}
CX_DEF(loss_of_one, params, x, label) {
  return loss(params, cx_expand(x, 0), cx_expand(label, 0));
}
/* (params, x, labels) -> (params, loss) */
CX_DEF(descend, params, x, labels) {
  cx value, grads;
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), params, x, labels), &value,
            &grads);
  return cx_tuple(cx_sub(params, cx_mul(0.1, grads)), value);
}
/* Each example's gradient is scaled to a norm of at most 1 (Abadi et al. 2016,
 * arXiv:1607.00133, algorithm 1, without noise). */
CX_DEF(clipped_sum, grad, scale) {
  cx flat = cx_reshape(grad, cx_dim(grad, 0), -1);
  cx_dims shape = cx_shape(grad);
  for (int i = 0; i + 1 < shape.n; i++) shape.d[i] = shape.d[i + 1];
  shape.n--;
  return cx_reshape(cx_matmul(scale, flat), shape);
}
CX_DEF(squares, grad) {
  return cx_sum(cx_square(cx_reshape(grad, cx_dim(grad, 0), -1)), 1);
}
CX_DEF(descend_clipped, params, x, labels) {
  cx values, grads;
  cx_fn each =
      cx_vmap(cx_value_and_grad(CX_FN(loss_of_one)), .in = { CX_NONE, 0, 0 });
  cx_unpack(cx_call(each, params, x, labels), &values, &grads);
  cx total = cx_zeros(CX_F32, cx_dim(x, 0));
  for (int i = 0; i < cx_leaf_count(grads); i++)
    total = cx_add(total, squares(cx_leaf(grads, i)));
  cx scale = cx_minimum(1, cx_div(1, cx_add(cx_sqrt(total), 1e-6)));
  cx leaves[2 * LAYERS];
  for (int i = 0; i < 2 * LAYERS; i++) {
    cx sum = clipped_sum(cx_leaf(grads, i), scale);
    cx mean = cx_div(cx_mul(0.1, sum), (double)cx_dim(x, 0));
    leaves[i] = cx_sub(cx_leaf(params, i), mean);
  }
  return cx_tuple(cx_unflatten(params, 2 * LAYERS, leaves), cx_mean(values));
}
static void make(const bench_case *c, bench_work *w) {
  /* (h >> 8) 2^-24: from 0 to 1 */
  cx x = bench_uniform("mlp.x", 1, c->m, 784);
  x = cx_mul(0.5, cx_add(x, 1));
  *w = (bench_work){ .f = c->k ? CX_FN(descend_clipped) : CX_FN(descend),
                     .args = { init(), x, bench_integers("mlp.y", 10, c->m) },
                     .n_args = 3,
                     .carried = 1,
                     .value = BENCH_LOSSES,
                     .leaf = 2 * LAYERS,
                     .least = 5,
                     .most = 1000,
                     .seconds = 2 };
}
static const bench_case cases[] = {
  { "mlp/sgd_step_b128", make, 0, 128, 0, 0, CX_F32, "" },
  { "mlp/per_example_clip_step_b64", make, 0, 64, 0, 1, CX_F32, "" },
};
const bench_group bench_classifier = { 'E', "a classifier's steps", cases,
                                       sizeof cases / sizeof *cases };
