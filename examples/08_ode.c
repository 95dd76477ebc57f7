/* 08_ode.c - loops: hares and foxes by an adaptive Runge-Kutta scheme, whose
 * rates are found by derivatives through all of its steps; the same derivatives
 * by the adjoint equation, with no step kept; Newton's method by a loop with a
 * bound.
 *   08_ode [PICTURE.png]   what was seen, and the orbits that were found */
#include <math.h>
#include <stdio.h>
#include "calx.h"
#include "picture.h"

enum { TIMES = 61, MOST = 64, STEPS = 8 };
static const double rtol = 1e-7, atol = 1e-7;

/* Lotka & Volterra: theta (4) logarithms of rates, y (2) hares and foxes */
CX_DEF(field, theta, y) {
  cx a, b, c, d, hares, foxes;
  cx_unpack(cx_unstack(cx_exp(theta), 0), &a, &b, &c, &d);
  cx_unpack(cx_unstack(y, 0), &hares, &foxes);
  return cx_stack(0, cx_mul(hares, cx_sub(a, cx_mul(b, foxes))),
                  cx_mul(foxes, cx_sub(cx_mul(d, hares), c)));
}

/* -- dy/dt = f(theta, y), by Dormand & Prince 1980, order 5 with error ---------- */

static const double stages[6][6] = {
  { 1 / 5.0 },
  { 3 / 40.0, 9 / 40.0 },
  { 44 / 45.0, -56 / 15.0, 32 / 9.0 },
  { 19372 / 6561.0, -25360 / 2187.0, 64448 / 6561.0, -212 / 729.0 },
  { 9017 / 3168.0, -355 / 33.0, 46732 / 5247.0, 49 / 176.0, -5103 / 18656.0 },
  { 35 / 384.0, 0, 500 / 1113.0, 125 / 192.0, -2187 / 6784.0, 11 / 84.0 },
};
/* order 5 less order 4 */
static const double error_of[7] = { 71 / 57600.0,      0,
                                    -71 / 16695.0,     71 / 1920.0,
                                    -17253 / 339200.0, 22 / 525.0,
                                    -1 / 40.0 };

static cx combine(int n, const double *weights, const cx *k) {
  cx sum = cx_mul(weights[0], k[0]);
  for (int i = 1; i < n; i++)
    if (weights[i] != 0) sum = cx_add(sum, cx_mul(weights[i], k[i]));
  return sum;
}
/* state = (y, t, h, end): the settings are captured. */
CX_STRUCT(flow, (cx_fn, f), (cx, theta));
CX_DEF(unfinished, state) {
  return cx_lt(cx_nth(state, 1), cx_nth(state, 3));
}
CX_DEF_ENV(advance, flow, e, state) {
  cx y, t, h, end, k[7];
  cx_unpack(state, &y, &t, &h, &end);
  cx dt = cx_minimum(h, cx_sub(end, t)), next = y;
  k[0] = cx_call(e->f, e->theta, y);
  for (int i = 0; i < 6; i++) {
    next = cx_add(y, cx_mul(dt, combine(i + 1, stages[i], k)));
    k[i + 1] = cx_call(e->f, e->theta, next);
  }
  /* The step is taken if the error is below 1; the next is as long as the
   * error asks for. Its length is no function to differentiate. */
  cx scale = cx_add(atol, cx_mul(rtol, cx_maximum(cx_abs(y), cx_abs(next))));
  cx parts = cx_div(cx_mul(dt, combine(7, error_of, k)), scale);
  cx error = cx_stop_gradient(cx_max(cx_abs(parts)));
  cx taken = cx_le(error, 1);
  cx growth = cx_mul(0.9, cx_power(cx_maximum(error, 1e-10), -0.2));
  h = cx_mul(dt, cx_clip(growth, 0.2, 5));
  return cx_tuple(cx_where(taken, next, y), cx_where(taken, cx_add(t, dt), t),
                  h, end);
}
/* One interval: carry = (y, t, h), at its end -> (carry, y) */
CX_DEF_ENV(interval, flow, e, carry, end) {
  cx y, t, h, unused;
  cx_unpack(carry, &y, &t, &h);
  cx state = cx_while(CX_FN(unfinished), CX_BIND_TO(advance, e),
                      cx_tuple(y, t, h, end), .max_steps = MOST);
  cx_unpack(state, &y, &t, &h, &unused);
  return cx_tuple(cx_tuple(y, t, h), y);
}
/* y at each of the ascending times (n), from y0 at times[0]: (n, 2) */
static cx integrate(cx_fn f, cx theta, cx y0, cx times) {
  cx t0 = cx_index(times, 0), h = cx_full_like(t0, 0.05);
  cx rest = cx_scan(CX_BIND(interval, .f = f, .theta = theta),
                    cx_tuple(y0, t0, h), cx_index(times, CX_FROM(1)));
  return cx_concat(0, cx_expand(y0, 0), cx_nth(rest, 1));
}
CX_DEF(path, theta, y0, times) {
  return integrate(CX_FN(field), theta, y0, times);
}

/* -- the same path, its derivatives by the adjoint equation ---------------------- */

/* z = (y, a, g): against time y falls back, a is the cotangent of y, and g, of
 * theta, gathers what a passes on: Pontryagin et al. 1962. */
CX_STRUCT(of, (cx_fn, f));
CX_DEF_ENV(adjoint, of, e, theta, z) {
  int64_t n = (cx_size(z) - cx_size(theta)) / 2;
  cx y = cx_index(z, CX_TO(n)), a = cx_index(z, CX_RANGE(n, 2 * n));
  cx slope, grads;
  cx_unpack(cx_call(cx_vjp(e->f), cx_tuple(theta, y), a), &slope, &grads);
  return cx_concat(0, cx_neg(slope), cx_nth(grads, 1), cx_nth(grads, 0));
}
/* From the end of an interval to its start; carry = (a, g), x = (y and its
 * cotangent at the end, the interval's length) */
CX_DEF_ENV(interval_back, flow, e, carry, x) {
  cx a, g, y, ct, length;
  cx_unpack(carry, &a, &g);
  cx_unpack(x, &y, &ct, &length);
  flow back = { .f = CX_BIND(adjoint, .f = e->f), .theta = e->theta };
  cx t = cx_zeros_like(length), h = cx_full_like(length, 0.05);
  cx start = cx_tuple(cx_concat(0, y, cx_add(a, ct), g), t, h);
  cx z = cx_nth(interval(&back, start, length), 1);
  int64_t n = cx_size(y);
  return cx_tuple(
      cx_tuple(cx_index(z, CX_RANGE(n, 2 * n)), cx_index(z, CX_FROM(2 * n))),
      cx_none());
}
CX_DEF(path_fwd, theta, y0, times) {
  cx ys = path(theta, y0, times);
  return cx_tuple(ys, cx_tuple(theta, ys, times));
}
CX_DEF(path_bwd, kept, cts) {
  cx theta, ys, times;
  cx_unpack(kept, &theta, &ys, &times);
  cx later = cx_index(times, CX_FROM(1));
  cx lengths = cx_sub(later, cx_index(times, CX_TO(-1)));
  cx xs =
      cx_tuple(cx_index(ys, CX_FROM(1)), cx_index(cts, CX_FROM(1)), lengths);
  cx none = cx_tuple(cx_zeros_like(cx_index(ys, 0)), cx_zeros_like(theta));
  cx end = cx_scan(CX_BIND(interval_back, .f = CX_FN(field), .theta = theta),
                   none, xs, .reverse = true);
  cx a, g;
  cx_unpack(cx_nth(end, 0), &a, &g);
  return cx_tuple(g, cx_add(a, cx_index(cts, 0)), cx_none());
}
CX_DEF(path_adjoint, theta, y0, times) {
  cx_fn f = cx_custom_vjp(CX_FN(path), CX_FN(path_fwd), CX_FN(path_bwd));
  return cx_call(f, theta, y0, times);
}

/* -- the fit ----------------------------------------------------------------------- */

/* Half the sum of squares: its gradient, in reverse mode, is J' r. */
CX_DEF_ENV(loss, of, solver, theta, y0, times, seen) {
  cx off = cx_sub(cx_call(solver->f, theta, y0, times), seen);
  return cx_mul(0.5, cx_sum(cx_square(off)));
}
/* One step of Gauss and Newton: J by forward mode, (J'J) d = J'r. */
CX_DEF(improve, theta, y0, times, seen) {
  cx j = cx_call(cx_jacfwd(CX_FN(path)), theta, y0, times); /* (n, 2, 4) */
  cx r = cx_sub(path(theta, y0, times), seen);
  cx normal = cx_einsum("tia,tib->ab", j, j);
  return cx_sub(theta, cx_solve(normal, cx_einsum("tia,ti->a", j, r)));
}

static bool show(const char *file, cx theta, cx y0, cx times, cx seen) {
  cx fine = cx_linspace(0, 20, 401, CX_F64);
  cx ys = cx_call(cx_jit(CX_FN(path)), theta, y0, fine);
  picture *plot = plot_new(640, 360, 0, 20, 0, 15);
  const colour inks[] = { BLUE, ORANGE };
  for (int i = 0; i < 2; i++) {
    plot_curve(plot, fine, cx_index(ys, CX_ALL, i), inks[i]);
    plot_dots(plot, times, cx_index(seen, CX_ALL, i), inks[i]);
  }
  return picture_save(plot, file);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  cx truth = cx_log(cx_array(double, 1.1, 0.4, 0.4, 0.1));
  cx theta = cx_log(cx_array(double, 1, 0.5, 0.5, 0.125));
  cx y0 = cx_array(double, 10, 5), times = cx_linspace(0, 20, TIMES, CX_F64);
  cx seen = cx_add(cx_call(cx_jit(CX_FN(path)), truth, y0, times),
                   cx_mul(0.3, cx_normal(cx_key(1), CX_F64, TIMES, 2)));
  cx_fn through = cx_jit(cx_value_and_grad(CX_BIND(loss, .f = CX_FN(path))));
  cx_fn around = cx_jit(cx_grad(CX_BIND(loss, .f = CX_FN(path_adjoint))));
  cx_fn better = cx_jit(CX_FN(improve));

  cx value, slope;
  cx_unpack(cx_call(through, theta, y0, times, seen), &value, &slope);
  cx other = cx_call(around, theta, y0, times, seen);
  double apart = cx_item(cx_div(cx_norm(cx_sub(slope, other)), cx_norm(slope)));
  printf("gradient through the steps "), cx_print(slope);
  printf("by the adjoint             "), cx_print(other);
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    theta = cx_call(better, theta, y0, times, seen);
    cx_unpack(cx_call(through, theta, y0, times, seen), &value, &slope);
    printf("misfit %8.4f, its gradient %7.1e\n", cx_item(value),
           cx_item(cx_norm(slope)));
  }
  double steep = cx_item(cx_norm(slope)), rates[4] = { 0 };
  cx_read(cx_exp(theta), rates, 4);
  double off = cx_item(cx_max(cx_abs(cx_sub(theta, truth))));
  bool shown = show(argc > 1 ? argv[1] : NULL, theta, y0, times, seen);
  printf("reached: rates %.3f %.3f %.3f %.3f; 1.1 0.4 0.4 0.1 are true\n",
         rates[0], rates[1], rates[2], rates[3]);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !shown || !(apart < 1e-5) || !(steep < 1e-4) || !(off < 0.05);
}
