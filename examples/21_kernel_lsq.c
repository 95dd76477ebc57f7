/* 21_kernel_lsq.c - least squares with a kernel, any function of two points:
 * v of (K + lambda) v = y by conjugate gradients, and the kernel's width by the
 * gradient of the error on other points, through the solution. As JAX's
 * kernel_lsq.py, which descends to v.
 *   21_kernel_lsq [PICTURE.png]   the points and the curve */
#include <math.h>
#include <stdio.h>
#include "calx.h"
#include "calx/models/optimizer.h"
#include "picture.h"

enum { POINTS = 60, STEPS = 100 };

/* -- least squares ------------------------------------------------------------- */

/* A kernel is a function of (parameters, x, y); here a setting. */
CX_STRUCT(with, (cx_fn, kernel));
static cx gram(const with *e, cx p, cx xs, cx ys) { /* k(x_i, y_j): (n, m) */
  cx_fn row = cx_vmap(e->kernel, .in = { CX_NONE, CX_NONE, 0 });
  return cx_call(cx_vmap(row, .in = { CX_NONE, 0, CX_NONE }), p, xs, ys);
}
CX_DEF(regularized, args, v) { /* (K + lambda) v */
  cx k = cx_nth(args, 0), lambda = cx_nth(args, 1);
  return cx_add(cx_matmul(k, v), cx_mul(lambda, v));
}
/* p = {kernel, lambda}: what the kernel takes, and a logarithm */
CX_DEF_ENV(train, with, e, p, xs, ys) {
  cx k = gram(e, cx_get(p, "kernel"), xs, xs);
  cx args = cx_tuple(k, cx_exp(cx_get(p, "lambda")));
  return cx_cg(CX_FN(regularized), args, ys, .tol = 1e-10);
}
CX_DEF_ENV(predict, with, e, p, v, xs, at) {
  return cx_matmul(gram(e, cx_get(p, "kernel"), at, xs), v);
}
static cx mean_square(cx a, cx b) {
  return cx_mean(cx_square(cx_sub(a, b)));
}
/* Of those trained on half of the points: the error on the other half */
CX_DEF_ENV(validation, with, e, p, xs, ys) {
  cx x = cx_index(xs, CX_STEP(2)), other = cx_index(xs, CX_SLICE(1, CX_END, 2));
  cx v = train(e, p, x, cx_index(ys, CX_STEP(2)));
  return mean_square(predict(e, p, v, x, other),
                     cx_index(ys, CX_SLICE(1, CX_END, 2)));
}
CX_DEF_ENV(improve, with, e, p, opt, xs, ys, lr) {
  cx value, slope;
  cx_fn f = cx_value_and_grad(CX_BIND_TO(validation, e));
  cx_unpack(cx_call(f, p, xs, ys), &value, &slope);
  adam_update(p, slope, opt, lr, (adam_options){ 0 }, &p, &opt);
  return cx_tuple(p, opt, value);
}

/* -- two kernels ---------------------------------------------------------------- */

CX_DEF(linear, unused, x, y) {
  (void)unused;
  return cx_sum(cx_mul(x, y));
}
CX_DEF(bell, log_width, x, y) {
  cx z = cx_div(cx_sub(x, y), cx_exp(log_width));
  return cx_exp(cx_mul(-0.5, cx_square(z)));
}

/* With the linear kernel it is linear regression: a function of 20 variables
 * comes back from 100 points, JAX's example. */
static double linear_error(void) {
  cx k1, k2, none = cx_none();
  cx_split(cx_key(0), &k1, &k2);
  cx truth = cx_normal(k1, CX_F64, 20), xs = cx_normal(k2, CX_F64, 100, 20);
  cx ys = cx_matmul(xs, truth);
  cx p = cx_dict("kernel", none, "lambda", cx_scalar(log(1e-6), CX_F64));
  with settings = { .kernel = CX_FN(linear) };
  cx v = cx_call(cx_jit(CX_BIND_TO(train, &settings)), p, xs, ys);
  return cx_item(mean_square(predict(&settings, p, v, xs, xs), ys));
}
static bool show(const char *path, cx x, cx y, cx at, cx curve) {
  picture *plot = plot_new(640, 360, -4, 4, -0.6, 1.4);
  plot_curve(plot, at, cx_sinc(at), GREY);
  plot_curve(plot, at, curve, BLUE);
  plot_dots(plot, x, y, BLACK);
  return picture_save(plot, path);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  double flat = linear_error();
  printf("linear kernel: mean square error %.1e\n", flat);

  cx k1, k2;
  cx_split(cx_key(1), &k1, &k2);
  cx x = cx_sub(cx_mul(8, cx_uniform(k1, CX_F64, POINTS)), 4);
  cx y = cx_add(cx_sinc(x), cx_mul(0.1, cx_normal(k2, CX_F64, POINTS)));
  with settings = { .kernel = CX_FN(bell) };
  cx p = cx_dict("kernel", cx_scalar(log(0.2), CX_F64), "lambda",
                 cx_scalar(log(0.01), CX_F64));
  cx opt = adam_init(p), value = cx_none();
  cx_fn step = cx_jit(CX_BIND_TO(improve, &settings));
  double first = 0, last = 0;
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    double lr = schedule_cosine(0.1, 1, STEPS, 0, i + 1);
    cx_unpack(cx_call(step, p, opt, x, y, lr), &p, &opt, &value);
    last = cx_item(value);
    if (i == 0) first = last;
    if (i % 20 == 0)
      printf("width %.3f  lambda %.4f  error %.5f\n",
             exp(cx_item(cx_get(p, "kernel"))),
             exp(cx_item(cx_get(p, "lambda"))), last);
  }
  cx at = cx_linspace(-4, 4, 321, CX_F64);
  cx v = cx_call(cx_jit(CX_BIND_TO(train, &settings)), p, x, y);
  cx curve = predict(&settings, p, v, x, at);
  double off = sqrt(cx_item(mean_square(curve, cx_sinc(at))));
  bool shown = show(argc > 1 ? argv[1] : NULL, x, y, at, curve);
  printf("reached: the curve within %.3f, from noise of 0.1\n", off);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !shown || !(flat < 1e-8) || !(last < first) || !(off < 0.06);
}
