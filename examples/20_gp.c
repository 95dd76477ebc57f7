/* 20_gp.c - Gaussian process regression (Rasmussen & Williams 2006, algorithm
 * 2.1): amplitude, length and noise by the gradient of the marginal likelihood,
 * through a Cholesky factor. As JAX's gaussian_process_regression.py.
 *   20_gp [PICTURE.png]   the data, the mean and two deviations around it */
#include <math.h>
#include <stdio.h>
#include "calx.h"
#include "calx/models/optimizer.h"
#include "picture.h"

enum { POINTS = 24, TESTS = 201, STEPS = 300 };

CX_STRUCT(kernel, (cx, amplitude), (cx, length), (cx, noise)); /* logarithms */

/* k(x, y) for all pairs: one vmap for each index of the matrix */
CX_DEF(exp_quadratic, p, x, y) {
  kernel k = cx_as(kernel, p);
  cx distance = cx_mul(cx_sub(x, y), cx_exp(cx_neg(k.length)));
  return cx_exp(
      cx_sub(cx_mul(2, k.amplitude), cx_mul(0.5, cx_square(distance))));
}
static cx covariance(cx p, cx xs, cx ys) { /* (n), (m) -> (n, m) */
  cx_fn row = cx_vmap(CX_FN(exp_quadratic), .in = { CX_NONE, CX_NONE, 0 });
  return cx_call(cx_vmap(row, .in = { CX_NONE, 0, CX_NONE }), p, xs, ys);
}
/* L with L L' = K + noise^2, and alpha = (L L')^-1 y */
static void factor(cx p, cx x, cx y, cx *out_l, cx *out_alpha) {
  cx noise = cx_exp(cx_mul(2, cx_get(p, "noise")));
  cx k = cx_add(covariance(p, x, x), cx_mul(noise, cx_eye(CX_F64, POINTS)));
  *out_l = cx_cholesky(k);
  cx half = cx_solve_triangular(*out_l, y, .lower = true);
  *out_alpha =
      cx_solve_triangular(*out_l, half, .lower = true, .transpose = true);
}
/* -log p(y | x): 1/2 y' alpha + sum log L_ii + n/2 log 2 pi */
CX_DEF(loss, p, x, y) {
  cx l, alpha;
  factor(p, x, y, &l, &alpha);
  cx fit = cx_mul(0.5, cx_sum(cx_mul(y, alpha)));
  cx volume = cx_sum(cx_log(cx_diagonal(l, 0)));
  return cx_add(fit, volume, 0.5 * POINTS * log(2 * acos(-1)));
}
/* At other places: the mean and the deviation of the function, (m) each */
CX_DEF(predict, p, x, y, at) {
  cx l, alpha, k = covariance(p, x, at);
  factor(p, x, y, &l, &alpha);
  cx v = cx_solve_triangular(l, k, .lower = true);
  cx prior = cx_exp(cx_mul(2, cx_get(p, "amplitude")));
  cx variance = cx_sub(prior, cx_sum(cx_square(v), 0));
  return cx_tuple(cx_matmul(alpha, k), cx_sqrt(variance));
}
CX_DEF(step, p, opt, x, y, lr) {
  cx value, slope;
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), p, x, y), &value, &slope);
  adam_update(p, slope, opt, lr, (adam_options){ 0 }, &p, &opt);
  return cx_tuple(p, opt, value, cx_global_norm(slope));
}

static bool show(const char *path, cx x, cx y, cx at, cx mean, cx std) {
  cx margin = cx_mul(2, std);
  picture *plot = plot_new(640, 360, -1, 7, -2, 2);
  plot_band(plot, at, cx_sub(mean, margin), cx_add(mean, margin), SKY);
  plot_curve(plot, at, cx_sin(at), GREY);
  plot_curve(plot, at, mean, BLUE);
  plot_dots(plot, x, y, BLACK);
  return picture_save(plot, path);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  cx k1, k2;
  cx_split(cx_key(0), &k1, &k2);
  cx x = cx_mul(5, cx_uniform(k1, CX_F64, POINTS)); /* of [0, 5] */
  cx y = cx_add(cx_sin(x), cx_mul(0.1, cx_normal(k2, CX_F64, POINTS)));
  cx at = cx_linspace(-1, 7, TESTS, CX_F64);

  cx zero = cx_scalar(0.0, CX_F64);
  cx p = cx_pack(kernel, .amplitude = zero, .length = zero, .noise = zero);
  cx opt = adam_init(p), value = cx_none(), slope = cx_none();
  cx_fn improve = cx_jit(CX_FN(step));
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    double lr = schedule_cosine(0.1, 1, STEPS, 1e-4, i + 1);
    cx_unpack(cx_call(improve, p, opt, x, y, lr), &p, &opt, &value, &slope);
    if (i % 50 == 0)
      printf("step %3d  -log p(y) %.4f  slope %.1e\n", i, cx_item(value),
             cx_item(slope));
  }
  cx mean, std;
  cx_unpack(cx_call(cx_jit(CX_FN(predict)), p, x, y, at), &mean, &std);
  bool shown = show(argc > 1 ? argv[1] : NULL, x, y, at, mean, std);
  /* inside the data: how far from the truth, and how often within the band */
  cx inside = cx_and(cx_ge(at, 0), cx_le(at, 5));
  cx off = cx_abs(cx_sub(mean, cx_sin(at)));
  double worst = cx_item(cx_max(cx_where(inside, off, 0)));
  cx within = cx_cast(cx_le(off, cx_mul(2, std)), CX_F64);
  double covered = cx_item(cx_mean(within, CX_ALL_AXES, .where = inside));
  double noise = exp(cx_item(cx_get(p, "noise")));
  printf("reached: noise %.3f (0.1 is true), %.0f %% of the sine in the band\n",
         noise, 100 * covered);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  double steep = cx_item(slope);
  cx_close(ctx);
  return code || !shown || !(worst < 0.15) || !(fabs(noise - 0.1) < 0.04) ||
         !(steep < 1e-3);
}
