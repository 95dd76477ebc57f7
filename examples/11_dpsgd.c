/* 11_dpsgd.c - differentially private training: the gradient of each example,
 * clipped, summed, with noise (Abadi et al. 2016, arXiv:1607.00133). */
#include <stdio.h>
#include "calx.h"

enum { BATCH = 64, STEPS = 150 };

CX_STRUCT(dp, (double, clip), (double, noise), (double, lr));

CX_DEF(logits, p, x) {
  cx h = cx_tanh(cx_add(cx_matmul(x, cx_get(p, "w1")), cx_get(p, "b1")));
  return cx_add(cx_matmul(h, cx_get(p, "w2")), cx_get(p, "b2"));
}
CX_DEF(loss, p, x, y) { /* one example */
  return cx_neg(cx_pick(cx_log_softmax(logits(p, x)), y));
}
CX_DEF_ENV(clipped_grad, dp, c, p, x, y) {
  cx g = cx_call(cx_grad(CX_FN(loss)), p, x, y);
  cx divisor = cx_maximum(cx_div(cx_global_norm(g), c->clip), 1.0);
  return cx_div(g, divisor);
}
CX_DEF(sum0, g) {
  return cx_sum(g, 0);
}
CX_DEF_ENV(noised, dp, c, g, key) {
  return cx_add(
      g, cx_mul(c->noise * c->clip, cx_normal(key, CX_F32, cx_shape(g))));
}
CX_DEF_ENV(private_step, dp, c, p, key, x, y) {
  cx_fn each = cx_vmap(CX_BIND_TO(clipped_grad, c), .in = { CX_NONE, 0, 0 });
  cx g = cx_tree_map(CX_FN(sum0), cx_call(each, p, x, y));
  g = cx_tree_map(CX_BIND_TO(noised, c), g, cx_split_like(key, g));
  g = cx_div(g, (double)cx_dim(x, 0));
  return cx_sub(p, cx_mul(c->lr, g));
}

/* Points of the plane; the class says whether their signs are equal. */
CX_DEF(points, key) {
  cx x = cx_uniform(key, CX_F32, BATCH, 2);
  x = cx_sub(cx_mul(2, x), 1);
  cx product = cx_mul(cx_index(x, CX_ALL, 0), cx_index(x, CX_ALL, 1));
  return cx_tuple(x, cx_cast(cx_gt(product, 0), CX_I32));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx k1, k2;
  cx_split(cx_key(0), &k1, &k2);
  cx p = cx_keep(cx_dict(
      "w1", cx_normal(k1, CX_F32, 2, 16), "b1", cx_zeros(CX_F32, 16), "w2",
      cx_mul(0.3, cx_normal(k2, CX_F32, 16, 2)), "b2", cx_zeros(CX_F32, 2)));
  cx_fn train =
      cx_jit(CX_BIND(private_step, .clip = 1, .noise = 0.5, .lr = 0.8),
             .donate = CX_ARGS(0));
  cx_fn sample = cx_jit(CX_FN(points));
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    CX_SCOPE;
    cx x, y, key = cx_fold(cx_key(1), i);
    cx_unpack(cx_call(sample, key), &x, &y);
    cx_swap(&p, cx_call(train, p, cx_fold(key, 0), x, y));
  }
  double right = 0;
  for (int i = 0; i < 10; i++) {
    CX_SCOPE;
    cx x, y;
    cx_unpack(cx_call(sample, cx_fold(cx_key(2), i)), &x, &y);
    cx hit = cx_eq(cx_argmax(logits(p, x), -1), y);
    right += cx_item(cx_mean(cx_cast(hit, CX_F32))) / 10;
  }
  printf("after %d private steps %.3f are right\n", STEPS, right);
  printf("%s", cx_cache_report(train));
  cx_drop(p);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(right > 0.85);
}
