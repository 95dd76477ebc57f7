/* 08_ode.c - loops: foxes and hares by a Runge-Kutta scheme, whose rates are
 * found by derivatives through a thousand steps; Newton's method by a loop
 * with a bound. */
#include <math.h>
#include <stdio.h>
#include "calx.h"

/* Lotka & Volterra: theta (4) rates, y (2) hares and foxes */
CX_DEF(field, theta, y) {
  cx a, b, c, d, hares, foxes;
  cx_unpack(cx_unstack(theta, 0), &a, &b, &c, &d);
  cx_unpack(cx_unstack(y, 0), &hares, &foxes);
  return cx_stack(0, cx_mul(hares, cx_sub(a, cx_mul(b, foxes))),
                  cx_mul(foxes, cx_sub(cx_mul(d, hares), c)));
}
/* The classical scheme of order 4; f and theta are captured. */
CX_STRUCT(rk4_env, (cx_fn, f), (cx, theta), (double, dt));
CX_DEF_ENV(rk4, rk4_env, e, y, t) {
  (void)t;
  cx k1 = cx_call(e->f, e->theta, y);
  cx k2 = cx_call(e->f, e->theta, cx_add(y, cx_mul(e->dt / 2, k1)));
  cx k3 = cx_call(e->f, e->theta, cx_add(y, cx_mul(e->dt / 2, k2)));
  cx k4 = cx_call(e->f, e->theta, cx_add(y, cx_mul(e->dt, k3)));
  cx sum = cx_add(k1, cx_mul(2, k2), cx_mul(2, k3), k4);
  y = cx_add(y, cx_mul(e->dt / 6, sum));
  return cx_tuple(y, y);
}
/* The path (1000, 2) from y0 */
CX_DEF(path, theta, y0) {
  cx_fn step = CX_BIND(rk4, .f = CX_FN(field), .theta = theta, .dt = 0.01);
  return cx_nth(cx_scan(step, y0, cx_none(), .length = 1000), 1);
}
/* Half the sum of squares: its gradient, in reverse mode, is J' r. */
CX_DEF(loss, theta, y0, seen) {
  return cx_mul(0.5, cx_sum(cx_square(cx_sub(path(theta, y0), seen))));
}

/* A x = b by conjugate gradients, as many steps as there are unknowns. */
CX_DEF(cg_step, i, s) {
  (void)i;
  cx a, x, r, p;
  cx_unpack(s, &a, &x, &r, &p);
  cx ap = cx_matmul(a, p), rr = cx_sum(cx_square(r));
  cx alpha = cx_div(rr, cx_sum(cx_mul(p, ap)));
  cx next = cx_sub(r, cx_mul(alpha, ap));
  cx beta = cx_div(cx_sum(cx_square(next)), rr);
  return cx_tuple(a, cx_add(x, cx_mul(alpha, p)), next,
                  cx_add(next, cx_mul(beta, p)));
}
CX_DEF(solve, a, b) {
  cx start = cx_tuple(a, cx_zeros_like(b), b, b);
  return cx_nth(cx_fori(0, cx_dim(b, 0), CX_FN(cg_step), start), 1);
}
/* One step of Gauss and Newton: J by forward mode, (J'J) d = J'r. */
CX_DEF(improve, theta, y0, seen) {
  cx j = cx_call(cx_jacfwd(CX_FN(path)), theta, y0); /* (1000, 2, 4) */
  cx r = cx_sub(path(theta, y0), seen);
  cx normal = cx_einsum("tia,tib->ab", j, j);
  return cx_sub(theta, solve(normal, cx_einsum("tia,ti->a", j, r)));
}

/* x x = a: differentiable because the number of steps is bounded. */
CX_DEF(unfinished, s) {
  cx x = cx_nth(s, 0), a = cx_nth(s, 1);
  return cx_gt(cx_abs(cx_sub(cx_square(x), a)), cx_mul(1e-14, a));
}
CX_DEF(newton, s) {
  cx x = cx_nth(s, 0), a = cx_nth(s, 1);
  return cx_tuple(cx_mul(0.5, cx_add(x, cx_div(a, x))), a);
}
CX_DEF(root, a) {
  return cx_nth(cx_while(CX_FN(unfinished), CX_FN(newton),
                         cx_tuple(cx_ones_like(a), a), .max_steps = 64),
                0);
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx truth = cx_array(double, 1.1, 0.4, 0.4, 0.1);
  cx theta = cx_array(double, 1, 0.5, 0.5, 0.125);
  cx y0 = cx_array(double, 10, 5);
  cx seen = cx_call(cx_jit(CX_FN(path)), truth, y0);
  cx_fn loss_and_slope = cx_jit(cx_value_and_grad(CX_FN(loss)));
  cx_fn better = cx_jit(CX_FN(improve));
  double misfit = 1;
  for (int i = 0; i < 6 && cx_ok(); i++) {
    cx value, slope;
    cx_unpack(cx_call(loss_and_slope, theta, y0, seen), &value, &slope);
    misfit = cx_item(value);
    printf("misfit %9.2e, its gradient %8.1e\n", misfit,
           cx_item(cx_norm(slope)));
    theta = cx_call(better, theta, y0, seen);
  }
  cx_print(theta);
  cx a = cx_scalar(2.0, CX_F64);
  double slope = cx_item(cx_call(cx_grad(CX_FN(root)), a));
  printf("root of 2: %.6f, its slope %.6f\n", cx_item(cx_call(CX_FN(root), a)),
         slope);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(misfit < 1e-9) || !(fabs(slope - 0.5 / sqrt(2)) < 1e-9);
}
