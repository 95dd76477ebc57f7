/* 07_custom_rules.c - derivative rules of one's own, and derivatives of
 * derivatives. */
#include <stdio.h>
#include "calx.h"

/* log(1 + e^x). Its derivative, by the rule for each part, is e^x / (1 + e^x),
 * which is inf / inf for x = 100; written as 1 - 1 / (1 + e^x) it is 1. */
CX_DEF(log1pexp_plain, x) {
  return cx_log1p(cx_exp(x));
}
CX_DEF(log1pexp_jvp, primals, tangents) {
  cx x = cx_nth(primals, 0), dx = cx_nth(tangents, 0);
  cx slope = cx_sub(1, cx_reciprocal(cx_add(1, cx_exp(x))));
  return cx_tuple(log1pexp_plain(x), cx_mul(slope, dx));
}
CX_DEF(log1pexp, x) {
  return cx_call(cx_custom_jvp(CX_FN(log1pexp_plain), CX_FN(log1pexp_jvp)), x);
}

/* The identity, whose cotangent is clipped to [lo, hi]. */
CX_STRUCT(bounds, (double, lo), (double, hi));
CX_DEF(identity, x) {
  return x;
}
CX_DEF(clip_fwd, x) {
  return cx_tuple(x, cx_none());
}
CX_DEF_ENV(clip_bwd, bounds, b, residuals, ct) {
  (void)residuals;
  return cx_tuple(cx_clip(ct, b->lo, b->hi));
}
CX_DEF_ENV(clip_gradient, bounds, b, x) {
  return cx_call(
      cx_custom_vjp(CX_FN(identity), CX_FN(clip_fwd), CX_BIND_TO(clip_bwd, b)),
      x);
}
CX_DEF(clipped_sin, x) {
  return cx_sin(clip_gradient(&(bounds){ .lo = -0.75, .hi = 0.75 }, x));
}

/* Hessian times vector, forward over reverse: the cost of a few gradients,
 * and no Hessian. */
CX_STRUCT(of, (cx_fn, f));
CX_DEF_ENV(hvp, of, e, x, v) {
  return cx_nth(cx_call(cx_jvp(cx_grad(e->f)), cx_tuple(x), cx_tuple(v)), 1);
}
/* Rosenbrock's function of n variables */
CX_DEF(rosenbrock, x) {
  cx a = cx_index(x, CX_TO(-1)), b = cx_index(x, CX_FROM(1));
  cx valley = cx_square(cx_sub(b, cx_square(a)));
  return cx_sum(cx_add(cx_mul(100, valley), cx_square(cx_sub(1, a))));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx xs = cx_array(float, -1, 0, 1, 100);
  puts("d log(1 + e^x), plain and with the rule");
  cx_print(cx_call(cx_vmap(cx_grad(CX_FN(log1pexp_plain))), xs));
  cx_print(cx_call(cx_vmap(cx_grad(CX_FN(log1pexp))), xs));
  puts("d sin(x), clipped");
  cx_print(cx_call(cx_vmap(cx_grad(CX_FN(clipped_sin))),
                   cx_array(float, 0, 1, 2, 3)));
  puts("Hessian of Rosenbrock's function; times a vector, both ways");
  cx x = cx_array(double, 1, 2, 3), v = cx_array(double, 1, 0, -1);
  cx h = cx_call(cx_hessian(CX_FN(rosenbrock)), x);
  cx_print(h);
  cx_print(cx_matmul(h, v));
  cx_print(cx_call(CX_BIND(hvp, .f = CX_FN(rosenbrock)), x, v));
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code;
}
