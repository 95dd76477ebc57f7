/* math_f64_test.c - the f64 functions that call no library: their errors in
 * units in the last place, densely where their pieces meet, and special points.
 *
 * The measure is the C library's long double, and at recorded points mpmath
 * with 60 digits. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/math.h"

enum { N = 300000 };

typedef double function(double);
typedef struct row {
  const char *name;
  function *f;
  long double (*exact)(long double);
  double near, far; /* |x| of most points; where the function ends */
  double worst;
} row;

static long double logistic(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static const row rows[] = {
  { "exp", cxi_exp_f64, expl, 4, 750, 1 },
  { "expm1", cxi_expm1_f64, expm1l, 2, 715, 1.6 },
  { "logistic", cxi_logistic_f64, logistic, 8, 750, 1.5 },
  { "tanh", cxi_tanh_f64, tanhl, 3, 25, 1.5 },
  { "sinh", cxi_sinh_f64, sinhl, 4, 715, 1 },
  { "cosh", cxi_cosh_f64, coshl, 4, 715, 1 },
};
enum { ROWS = sizeof rows / sizeof *rows };

static uint64_t random_bits(void) {
  static uint64_t state = 7; /* xorshift64*, Vigna 2016 */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * UINT64_C(2685821657736338717);
}

/* A unit in the last place of a number of this size, subnormal ones too. */
static long double place(double size) {
  int exponent;
  frexp(size, &exponent);
  return ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53);
}

/* The distance from high + low in places; huge for another kind of number or
 * sign of zero. An overflow counts as the next power of two. */
static double error_in_places(double got, long double want) {
  if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : 1e9;
  if (want == 0) return got == 0 && !signbit(got) == !signbit(want) ? 0 : 1e9;
  if (isinf(want) && isinf(got))
    return !signbit(got) == !signbit(want) ? 0 : 1e9;
  const long double top = ldexpl(1, 1024);
  const long double a = isinf(got) ? copysignl(top, got) : got;
  const long double b = fabsl(want) > top ? copysignl(top, want) : want;
  return (double)(fabsl(a - b) / place((double)(isinf(got) ? DBL_MAX : want)));
}

static double point(const row *r, int i) {
  const double u = (double)(int64_t)random_bits() * 0x1p-63;
  switch (i % 4) {
  case 0:
    return u * r->near;
  case 1:
    return u * r->near * ldexp(1, -(int)(random_bits() % 64));
  case 2:
    return u * r->far;
  default:
    return cxi_f64_of_bits(random_bits());
  }
}

static void test_errors(void **state) {
  (void)state;
  for (const row *r = rows; r < rows + ROWS; r++) {
    double worst = 0, at = 0;
    for (int i = 0; i < N; i++) {
      const double x = point(r, i);
      const double error = error_in_places(r->f(x), r->exact(x));
      if (error > worst) worst = error, at = x;
    }
    print_message("  f64 %-9s %.3f units at %.17g\n", r->name, worst, at);
    assert_true(worst <= r->worst);
  }
}

/* Where the pieces meet, both neighbours of each number. */
static void test_edges(void **state) {
  (void)state;
  static const double edges[] = {
    0,
    0x1p-1074,
    0x1p-1022,
    0x1p-54,
    0.34657359027997264,
    1,
    20,
    40,
    708.3964185322641,
    709.782712893384,
    710,
    710.4758600739439,
    710.5,
    745.1332191019412,
    746,
    INFINITY,
  };
  for (const row *r = rows; r < rows + ROWS; r++) {
    for (size_t i = 0; i < 6 * (sizeof edges / sizeof *edges); i++) {
      const double edge = i % 2 ? -edges[i / 6] : edges[i / 6];
      const double x =
          i % 6 / 2 == 0
              ? edge
              : nextafter(edge, i % 6 / 2 == 1 ? INFINITY : -INFINITY);
      assert_true(error_in_places(r->f(x), r->exact(x)) <= r->worst);
    }
    assert_true(isnan(r->f(NAN)) && isnan(r->f(-NAN)));
  }
}

/* Worst points, and ends of ranges: mpmath's value is high + low. */
typedef struct recorded {
  function *f;
  double x, high, low;
} recorded;
static const recorded points[] = {
  { cxi_exp_f64, -0x1.74910d52d3052p+9, 0, 0 },
  { cxi_exp_f64, -0x1.74910d52d3051p+9, 0x0.0000000000001p-1022, 0 },
  { cxi_exp_f64, -0x1.6232bdd7abcd2p+9, 0x1.000000000007cp-1022, 0 },
  { cxi_exp_f64, 0x1.62e42fefa39efp+9, 0x1.fffffffffff2ap+1023, 2.109e+291 },
  { cxi_exp_f64, 0x1.62e42fefa39efp-2, 0x1.6a09e667f3bccp+0, 1.09e-16 },
  { cxi_exp_f64, -0x1.836844653e91p+7, 0x1.756f183ff0489p-280, -1.539e-101 },
  { cxi_exp_f64, 0x1.70ef54646d497p-57, 0x1p+0, 1e-17 },
  { cxi_exp_f64, -0x1.8p-1, 0x1.e3b40ebefcd7ep-2, 1.798e-17 },
  { cxi_expm1_f64, 0x1.6887c0a040a78p-2, 0x1.b026bdaf83245p-2, 2.723e-17 },
  { cxi_expm1_f64, 0x1.6f0068db8bac7p-2, 0x1.b962013b39db3p-2, -1.386e-17 },
  { cxi_expm1_f64, -0x1.62eb1c432ca58p-2, -0x1.2bf1186530eb9p-2, 7.827e-18 },
  { cxi_expm1_f64, -0x1.56e1fc2f8f359p-997, -0x1.56e1fc2f8f359p-997, 0 },
  { cxi_expm1_f64, 0x1.70ef54646d497p-57, 0x1.70ef54646d497p-57, 5e-35 },
  { cxi_expm1_f64, -0x1.2cp+5, -0x1p+0, 5.176e-17 },
  { cxi_expm1_f64, 0x1.62e42fefa39efp+9, 0x1.fffffffffff2ap+1023, 2.109e+291 },
  { cxi_expm1_f64, 0x1.0a29c779a6b51p+0, 0x1.d40ff32e51df2p+0, 7.157e-17 },
  { cxi_logistic_f64, -0x1.748cccccccccdp+9, 0x0.0000000000001p-1022, 0 },
  { cxi_logistic_f64, -0x1.624p+9, 0x0.e6cf6d08897acp-1022, 0 },
  { cxi_logistic_f64, -0x1.1dd1fd4e8b573p+2, 0x1.7459ec1f91959p-7, 5.844e-19 },
  { cxi_logistic_f64, -0x1.017e7933f336p+5, 0x1.7a8c0a1d6fd9bp-47, -4.139e-31 },
  { cxi_logistic_f64, 0, 0x1p-1, 0 },
  { cxi_logistic_f64, 0x1.259999999999ap+5, 0x1.fffffffffffffp-1, -4.162e-18 },
  { cxi_logistic_f64, 0x1.12e0be826d695p-30, 0x1.0000000225c18p-1, -2.069e-17 },
  { cxi_logistic_f64, 0x1.4p+1, 0x1.d9291ddb596f7p-1, 8.55e-18 },
  { cxi_tanh_f64, 0x1.ea9cc071e63b6p-1, 0x1.7caa12897d611p-1, -2.69e-17 },
  { cxi_tanh_f64, 0x1p+0, 0x1.85efab514f394p-1, 3.709e-17 },
  { cxi_tanh_f64, 0x1.fffffffffffffp-1, 0x1.85efab514f394p-1, -9.536e-18 },
  { cxi_tanh_f64, 0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27, -3.333e-25 },
  { cxi_tanh_f64, -0x1p-1022, -0x1p-1022, 0 },
  { cxi_tanh_f64, 0x1.30fbe76c8b439p+4, 0x1.fffffffffffffp-1, 5.551e-17 },
  { cxi_tanh_f64, 0x1.193ea7aad030ap-1, 0x1.fffffffffffffp-2, 6.262e-18 },
  { cxi_tanh_f64, 0x1.8p+1, 0x1.fd77d111a0bp-1, -1.299e-17 },
  { cxi_sinh_f64, 0x1.138c50d269f3p+0, 0x1.4bec33e315f01p+0, -1.907e-17 },
  { cxi_sinh_f64, 0x1.fffffffffffffp-1, 0x1.2cd9fc44eb982p+0, -9.282e-17 },
  { cxi_sinh_f64, 0x1p+0, 0x1.2cd9fc44eb982p+0, 7.85e-17 },
  { cxi_sinh_f64, 0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27, 1.667e-25 },
  { cxi_sinh_f64, 0x1.633ce8fb9f87dp+9, 0x1.ffffffffffd3bp+1023, -2.06e+291 },
  { cxi_sinh_f64, -0x1.8458c07a359p+3, -0x1.6c21216782164p+16, -1.807e-12 },
  { cxi_sinh_f64, -0x1p-1022, -0x1p-1022, 0 },
  { cxi_sinh_f64, 0x1p-1, 0x1.0acd00fe63b97p-1, -2.333e-17 },
  { cxi_cosh_f64, 0x1.633ce8fb9f87dp+9, 0x1.ffffffffffd3bp+1023, -2.06e+291 },
  { cxi_cosh_f64, -0x1.4002c0493d12bp-25, 0x1.0000000000003p+0, 2.78e-17 },
  { cxi_cosh_f64, 0, 0x1p+0, 0 },
  { cxi_cosh_f64, 0x1p+0, 0x1.8b07551d9f55p+0, 6.607e-17 },
  { cxi_cosh_f64, 0x1.e8c62379e2cddp+1, 0x1.6c7ac1d0ff786p+4, 4.113e-16 },
  { cxi_cosh_f64, -0x1.22d310d76c079p+8, 0x1.7c4f259a18099p+418, -2.049e+109 },
  { cxi_cosh_f64, 0x1.62eb1c432ca58p-2, 0x1.0f880976b81e5p+0, 1.008e-16 },
  { cxi_cosh_f64, 0x1.4p+4, 0x1.ceb088b68e804p+27, 1.275e-09 },
};

static void test_recorded(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    const recorded *p = &points[i];
    const row *r = rows;
    while (r->f != p->f) r++;
    const long double want = (long double)p->high + (long double)p->low;
    const double got = r->f(p->x), error = error_in_places(got, want);
    if (error > r->worst)
      fail_msg("%s(%a): %a, not %a", r->name, p->x, got, p->high);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_edges),
    cmocka_unit_test(test_recorded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
