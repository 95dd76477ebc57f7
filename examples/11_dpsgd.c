/* 11_dpsgd.c - differentially private training: the gradient of each example,
 * clipped, summed, with noise (Abadi et al. 2016, arXiv:1607.00133), and what
 * it gives away of the data: epsilon. As JAX's differentially_private_sgd.py. */
#include <math.h>
#include <stdio.h>
#include "calx.h"
#include "calx/models/nn.h"
#include "digits.h"

enum { TRAIN = 8192, TEST = 1024, EPOCHS = 3 };
enum { BATCH = 256, MOST = BATCH + 64 }; /* 4 standard deviations */
static const double delta = 1e-5;

CX_STRUCT(dp, (double, clip), (double, noise), (double, lr));

/* -- the model: one image (28, 28) ------------------------------------------- */

static cx init(cx key) {
  cx k[4];
  cx_split(key, &k[0], &k[1], &k[2], &k[3]);
  return cx_dict("conv1", nn_conv_init(k[0], 1, 16, CX_SHAPE(8, 8)), "conv2",
                 nn_conv_init(k[1], 16, 32, CX_SHAPE(4, 4)), "hidden",
                 nn_linear_init(k[2], 32 * 4 * 4, 32, 0.06), "out",
                 nn_linear_init(k[3], 32, DIGITS_CLASSES, 0.2));
}
CX_DEF(logits, p, x) {
  x = cx_expand(x, 0, 1); /* a batch of one, one channel */
  x = cx_relu(nn_conv(cx_get(p, "conv1"), x, .strides = CX_SHAPE(4, 4),
                      .padding = "SAME")); /* (1, 16, 7, 7) */
  x = cx_relu(nn_conv(cx_get(p, "conv2"), x, .strides = CX_SHAPE(2, 2),
                      .padding = "SAME")); /* (1, 32, 4, 4) */
  x = cx_relu(nn_linear(cx_get(p, "hidden"), cx_reshape(x, -1)));
  return nn_linear(cx_get(p, "out"), x);
}
CX_DEF(loss, p, x, y) {
  return cx_neg(cx_pick(cx_log_softmax(logits(p, x)), y));
}
CX_DEF(right, p, x, y) {
  return cx_cast(cx_eq(cx_argmax(logits(p, x)), y), CX_F32);
}
CX_DEF(accuracy, p, x, y) {
  cx_fn each = cx_vmap(CX_FN(right), .in = { CX_NONE, 0, 0 });
  return cx_mean(cx_call(each, p, x, y));
}

/* -- a private step ------------------------------------------------------------ */

/* part: 1, or 0 for an example that is not in the batch */
CX_DEF_ENV(clipped_grad, dp, c, p, x, y, part) {
  cx g = cx_call(cx_grad(CX_FN(loss)), p, x, y);
  cx divisor = cx_maximum(cx_div(cx_global_norm(g), c->clip), 1);
  return cx_mul(g, cx_div(part, divisor));
}
CX_DEF(sum0, g) {
  return cx_sum(g, 0);
}
CX_DEF_ENV(noised, dp, c, g, key) {
  return cx_add(
      g, cx_mul(c->noise * c->clip, cx_normal(key, CX_F32, cx_shape(g))));
}
/* Each example is in the batch with the probability q, whatever the others do:
 * the sampling that the bound below is proved for. */
CX_DEF_ENV(private_step, dp, c, p, x, y, key) {
  cx draw, noise;
  cx_split(key, &draw, &noise);
  cx drawn = cx_bernoulli(draw, (double)BATCH / TRAIN, TRAIN);
  cx rows = cx_index(cx_argsort(drawn, 0, .descending = true), CX_TO(MOST));
  cx part = cx_cast(cx_take(drawn, rows, 0), CX_F32);
  cx_fn each = cx_vmap(CX_BIND_TO(clipped_grad, c), .in = { CX_NONE, 0, 0, 0 });
  cx g = cx_call(each, p, cx_take(x, rows, 0), cx_take(y, rows, 0), part);
  g = cx_tree_map(CX_FN(sum0), g);
  g = cx_tree_map(CX_BIND_TO(noised, c), g, cx_split_like(noise, g));
  return cx_sub(p, cx_mul(c->lr / BATCH, g));
}

/* -- the accountant ------------------------------------------------------------ */

/* Renyi divergence of order alpha that one step with sampling rate q and noise
 * sigma gives away: Mironov, Talwar & Zhang 2019, arXiv:1908.10530, section
 * 3.3, for whole alpha: log(A) / (alpha - 1), A the sum over k of
 * C(alpha, k) (1 - q)^(alpha - k) q^k e^(k (k - 1) / (2 sigma^2)). */
CX_DEF(renyi, alpha, q, sigma) {
  cx k = cx_arange(0, 64, 1, CX_F64), rest = cx_sub(alpha, k);
  cx choose = cx_sub(cx_lgamma(cx_add(alpha, 1)),
                     cx_add(cx_lgamma(cx_add(k, 1)),
                            cx_lgamma(cx_maximum(cx_add(rest, 1), 1))));
  cx power = cx_div(cx_mul(k, cx_sub(k, 1)), cx_mul(2, cx_square(sigma)));
  cx terms = cx_add(choose, cx_mul(rest, cx_log1p(cx_neg(q))),
                    cx_mul(k, cx_log(q)), power);
  terms = cx_where(cx_ge(rest, 0), terms, -INFINITY);
  return cx_div(cx_logsumexp(terms), cx_sub(alpha, 1));
}
/* The least epsilon of all orders: Mironov 2017, arXiv:1702.07476, prop. 3. */
static double epsilon(double q, double sigma, int64_t steps) {
  CX_SCOPE;
  cx alpha = cx_arange(2, 64, 1, CX_F64);
  cx_fn each = cx_vmap(CX_FN(renyi), .in = { 0, CX_NONE, CX_NONE });
  cx given =
      cx_call(each, alpha, cx_scalar(q, CX_F64), cx_scalar(sigma, CX_F64));
  return cx_item(cx_min(
      cx_add(cx_mul(steps, given), cx_div(-log(delta), cx_sub(alpha, 1)))));
}

int main(void) {
  const dp settings = { .clip = 1, .noise = 1.1, .lr = 1 };
  cx_ctx *ctx = cx_open("cpu");
  /* 60 epochs of MNIST with these settings: 3.01 in the table of TensorFlow
   * Privacy's tutorial */
  double known = epsilon(256 / 60000.0, 1.1, 60 * 60000 / 256);
  printf("60 epochs of MNIST would be (%.2f, %.0e)-private\n", known, delta);
  cx x, y, test_x, test_y;
  cx_unpack(digits(cx_key(1), TRAIN), &y, &x);
  cx_unpack(digits(cx_key(2), TEST), &test_y, &test_x);
  cx p = cx_keep(init(cx_key(0)));
  cx_fn train =
      cx_jit(CX_BIND_TO(private_step, &settings), .donate = CX_ARGS(0));
  cx_fn judge = cx_jit(CX_FN(accuracy));
  double score = 0, spent = 0;
  for (int i = 1; i <= EPOCHS * (TRAIN / BATCH) && cx_ok(); i++) {
    CX_SCOPE;
    cx_swap(&p, cx_call(train, p, x, y, cx_fold(cx_key(3), i)));
    if (i % (TRAIN / BATCH)) continue;
    score = cx_item(cx_call(judge, p, test_x, test_y));
    spent = epsilon((double)BATCH / TRAIN, settings.noise, i);
    printf("epoch %d  accuracy %.4f  epsilon %.2f\n", i / (TRAIN / BATCH),
           score, spent);
  }
  printf("reached: %.1f %% of new digits, (%.2f, %.0e)-private\n", 100 * score,
         spent, delta);
  printf("%s", cx_cache_report(train));
  cx_drop(p);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(score > 0.85) || !(spent < 3) ||
         !(fabs(known - 3.01) < 0.05);
}
