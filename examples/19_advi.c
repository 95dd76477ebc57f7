/* 19_advi.c - automatic differentiation variational inference (Kucukelbir et
 * al. 2017, arXiv:1603.00788): a Gaussian as near as can be to a density known
 * up to its constant, by the gradient of a Monte Carlo estimate. As JAX's
 * advi.py, with its funnel.
 *   19_advi [PICTURE.png]   both densities, and draws from the Gaussian */
#include <math.h>
#include <stdio.h>
#include "calx.h"
#include "calx/models/optimizer.h"
#include "picture.h"

enum { SAMPLES = 64, STEPS = 600 };

/* -- the evidence lower bound ------------------------------------------------ */

/* log N(x; mean, e^(2 log_std)), element by element */
static cx normal_logpdf(cx x, cx mean, cx log_std) {
  cx z = cx_mul(cx_sub(x, mean), cx_exp(cx_neg(log_std)));
  cx scale = cx_add(log_std, 0.5 * log(2 * acos(-1)));
  return cx_neg(cx_add(cx_mul(0.5, cx_square(z)), scale));
}
CX_STRUCT(gaussian, (cx, mean), (cx, log_std)); /* (2) each */
static cx sample(gaussian q, cx key) {
  cx noise = cx_normal(key, CX_F32, cx_shape(q.mean));
  return cx_add(q.mean, cx_mul(cx_exp(q.log_std), noise));
}
CX_DEF(log_q, params, x) {
  gaussian q = cx_as(gaussian, params);
  return cx_sum(normal_logpdf(x, q.mean, q.log_std));
}
/* The density is a setting: any function of x (2). */
CX_STRUCT(target, (cx_fn, log_p));
CX_DEF_ENV(elbo, target, e, params, key) { /* from one sample */
  cx x = sample(cx_as(gaussian, params), key);
  return cx_sub(cx_call(e->log_p, x), log_q(params, x));
}
CX_DEF_ENV(objective, target, e, params, key) {
  cx_fn each = cx_vmap(CX_BIND_TO(elbo, e), .in = { CX_NONE, 0 });
  return cx_neg(cx_mean(cx_call(each, params, cx_split_n(key, SAMPLES))));
}
CX_DEF_ENV(step, target, e, params, opt, key, lr) {
  cx value, slope;
  cx_unpack(cx_call(cx_value_and_grad(CX_BIND_TO(objective, e)), params, key),
            &value, &slope);
  adam_update(params, slope, opt, lr, (adam_options){ 0 }, &params, &opt);
  return cx_tuple(params, opt, value);
}

/* -- the funnel: x0 ~ N(0, e^x1), x1 ~ N(0, 1.35) ------------------------------ */

static const double wide = 1.35;
CX_DEF(funnel, x) {
  cx x0 = cx_index(x, 0), x1 = cx_index(x, 1);
  cx zero = cx_zeros_like(x0);
  return cx_add(normal_logpdf(x0, zero, x1),
                normal_logpdf(x1, zero, cx_full_like(x0, log(wide))));
}

/* -- a picture ----------------------------------------------------------------- */

CX_DEF(point, x, y) {
  return cx_stack(0, x, y);
}
/* e^f on a grid over [-2, 2] x [-4, 2]: (101, 101), a row for each x1 */
static cx grid(cx_fn f) {
  cx xs = cx_linspace(-2, 2, 101, CX_F32), ys = cx_linspace(-4, 2, 101, CX_F32);
  cx_fn row = cx_vmap(CX_FN(point), .in = { 0, CX_NONE });
  cx points = cx_call(cx_vmap(row, .in = { CX_NONE, 0 }), xs, ys);
  return cx_exp(cx_call(cx_vmap(cx_vmap(f)), points));
}
CX_STRUCT(fitted, (cx, params));
CX_DEF_ENV(log_fit, fitted, e, x) {
  return log_q(e->params, x);
}
CX_DEF_ENV(draw, fitted, e, key) {
  return sample(cx_as(gaussian, e->params), key);
}
static bool show(const char *path, cx params) {
  cx p = grid(CX_FN(funnel)), q = grid(CX_BIND(log_fit, .params = params));
  picture *plot = plot_new(480, 480, -2, 2, -4, 2);
  for (int i = 1; i < 9; i++) plot_contour(plot, p, 0.05 * i, BLUE);
  for (int i = 1; i < 9; i++) plot_contour(plot, q, 0.05 * i, ORANGE);
  cx x = cx_call(cx_vmap(CX_BIND(draw, .params = params)),
                 cx_split_n(cx_key(7), SAMPLES));
  plot_dots(plot, cx_index(x, CX_ALL, 0), cx_index(x, CX_ALL, 1), ORANGE);
  return picture_save(plot, path);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  cx params = cx_pack(gaussian, .mean = cx_ones(CX_F32, 2),
                      .log_std = cx_zeros(CX_F32, 2));
  cx opt = adam_init(params), value = cx_none();
  cx_fn improve = cx_jit(CX_BIND(step, .log_p = CX_FN(funnel)));
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    double lr = schedule_cosine(0.05, 1, STEPS, 0, i + 1);
    cx_unpack(cx_call(improve, params, opt, cx_fold(cx_key(1), i), lr), &params,
              &opt, &value);
    if (i % 100 == 0) printf("step %3d  bound %.3f\n", i, -cx_item(value));
  }
  float mean[2] = { 0 }, log_std[2] = { 0 };
  cx_read(cx_get(params, "mean"), mean, 2);
  cx_read(cx_get(params, "log_std"), log_std, 2);
  double std0 = exp(log_std[0]), std1 = exp(log_std[1]);

  /* The bound of this density has a closed form, whose greatest value lies at
   * means 0, variances 1 / (2 + 1 / 1.35^2) of x1 and e^(-2 that) of x0. */
  double var1 = 1 / (2 + 1 / (wide * wide)), best0 = exp(-var1),
         best1 = sqrt(var1);
  double off = fmax(fmax(fabs(mean[0]), fabs(mean[1])),
                    fmax(fabs(std0 - best0), fabs(std1 - best1)));
  bool shown = show(argc > 1 ? argv[1] : NULL, params);
  printf("reached: deviations %.3f and %.3f; the best are %.3f and %.3f\n",
         std0, std1, best0, best1);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !shown || !(off < 0.03);
}
