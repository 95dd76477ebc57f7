/* math_test.c - the elementwise functions: measured errors, special points.
 *
 * f32 is checked over a stride of all bit patterns against the C library's
 * f64, f64 at random points against its long double. Errors are in units in
 * the last place of the exact result, printed for each function. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/math.h"

enum { STRIDE = 8209, N_F64 = 100000, N_POW = 400000 };

static uint64_t random_bits(void) {
  static uint64_t state = 42; /* xorshift64*, Vigna 2016 */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * UINT64_C(2685821657736338717);
}

/* The difference in units of the last place that `want` has in a format of
 * `digits` bits with exponents down to `least`; huge if the kind of number or
 * the sign of a zero differs. An overflow counts as the next power of two. */
static double error_in_places(long double got, long double want, int digits,
                              int least, int most) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e9;
  if (got == want) return !signbit(got) == !signbit(want) ? 0 : 1e9;
  const long double top = ldexpl(1, most);
  if (isinf(want) && fabsl(got) < top) return 1e9;
  if (isinf(got)) got = copysignl(top, got);
  if (fabsl(want) > top) want = copysignl(top, want);
  int exponent;
  frexpl(want, &exponent);
  if (exponent < least) exponent = least;
  return (double)(fabsl(got - want) / ldexpl(1, exponent - digits));
}

static double error_f32(float got, double want) {
  return error_in_places(got, want, 24, -125, 128);
}

static double error_f64(double got, long double want) {
  return error_in_places(got, want, 53, -1021, 1024);
}

static double logistic(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double rsqrt(double x) {
  return 1 / sqrt(x);
}

static double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

typedef struct row_f32 {
  const char *name;
  float (*f)(float);
  double (*exact)(double);
  double limit;
} row_f32;

static const row_f32 rows_f32[] = {
  { "exp", cxi_exp_f32, exp, 2 },
  { "expm1", cxi_expm1_f32, expm1, 2 },
  { "log", cxi_log_f32, log, 2 },
  { "log1p", cxi_log1p_f32, log1p, 2 },
  { "logistic", cxi_logistic_f32, logistic, 2 },
  { "sin", cxi_sin_f32, sin, 2 },
  { "cos", cxi_cos_f32, cos, 2 },
  { "tanh", cxi_tanh_f32, tanh, 2 },
  { "erf", cxi_erf_f32, erf, 4 },
  { "erf_inv", cxi_erf_inv_f32, cxi_erf_inv_f64, 4 },
  { "exp2", cxi_exp2_f32, exp2, 2 },
  { "log2", cxi_log2_f32, log2, 2 },
  { "tan", cxi_tan_f32, tan, 2 },
  { "asin", cxi_asin_f32, asin, 2 },
  { "acos", cxi_acos_f32, acos, 2 },
  { "atan", cxi_atan_f32, atan, 2 },
  { "sinh", cxi_sinh_f32, sinh, 2 },
  { "cosh", cxi_cosh_f32, cosh, 2 },
  { "asinh", cxi_asinh_f32, asinh, 2 },
  { "acosh", cxi_acosh_f32, acosh, 2 },
  { "atanh", cxi_atanh_f32, atanh, 2 },
  { "erfc", cxi_erfc_f32, erfc, 4 },
  { "cbrt", cxi_cbrt_f32, cbrt, 2 },
  { "sqrt", cxi_sqrt_f32, sqrt, 0.5 },
  { "rsqrt", cxi_rsqrt_f32, rsqrt, 2 },
  { "floor", cxi_floor_f32, floor, 0 },
  { "ceil", cxi_ceil_f32, ceil, 0 },
  { "round", cxi_round_f32, rint, 0 },
  { "round_away", cxi_round_away_f32, round, 0 },
  { "sign", cxi_sign_f32, sign, 0 },
};

static const float special_f32[] = {
  0.0f,  -0.0f, INFINITY, -INFINITY, NAN,      1.0f,    -1.0f,  FLT_MIN,
  1e-45f, -1e-45f, FLT_MAX, -FLT_MAX, 0.5f,     -0.5f,   2.0f,   -2.0f,
  3.0f,  -3.0f, 1.5f,     -1.5f,     0x1p17f,  0x1.000002p17f,   88.73f,
  -87.4f, -103.98f, 0x1p24f - 1, 1 - 0x1p-24f, -1 + 0x1p-24f, 1e10f,
};
enum { N_SPECIAL = sizeof special_f32 / sizeof *special_f32 };

static void report(const char *type, const char *name, double worst, double at,
                   double limit) {
  print_message("  %s %-10s %.3f units at %.9g\n", type, name, worst, at);
  assert_true(worst <= limit);
}

static void test_f32(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows_f32 / sizeof *rows_f32; i++) {
    const row_f32 *row = &rows_f32[i];
    double worst = 0;
    float at = 0;
    for (uint64_t n = 0; n < (UINT64_C(1) << 32) / STRIDE + N_SPECIAL; n++) {
      const float x = n < N_SPECIAL
                          ? special_f32[n]
                          : cxi_f32_of_bits((uint32_t)(n - N_SPECIAL) * STRIDE);
      const double error = error_f32(row->f(x), row->exact(x));
      if (error > worst) worst = error, at = x;
    }
    report("f32", row->name, worst, at, row->limit);
  }
}

/* Powers whose result is an ordinary number, and any other bits. */
static void test_pow_f32(void **state) {
  (void)state;
  double worst = 0;
  float at = 0;
  for (int i = 0; i < N_POW; i++) {
    float x = cxi_f32_of_bits((uint32_t)random_bits());
    float y = cxi_f32_of_bits((uint32_t)random_bits());
    const double log2_result = (double)(random_bits() >> 32) * 0x1p-32 * 300 - 150;
    if (i % 4 == 1) x = 1 + (float)(int32_t)random_bits() * 0x1p-33f;
    if (i % 4) y = (float)(log2_result / log2(fabs((double)x)));
    if (i % 4 == 2) y = rintf(y);
    const double error = error_f32(cxi_pow_f32(x, y), pow(x, y));
    if (error > worst) worst = error, at = x;
  }
  for (int i = 0; i < N_SPECIAL * N_SPECIAL; i++) {
    const float x = special_f32[i / N_SPECIAL], y = special_f32[i % N_SPECIAL];
    const double error = error_f32(cxi_pow_f32(x, y), pow(x, y));
    if (error > worst) worst = error, at = x;
  }
  report("f32", "pow", worst, at, 2);
}

static void test_rem_f32(void **state) {
  (void)state;
  for (int i = 0; i < N_POW; i++) {
    float x = cxi_f32_of_bits((uint32_t)random_bits());
    float y = cxi_f32_of_bits((uint32_t)random_bits());
    if (i % 2) y = x * (0.5f + (float)(random_bits() >> 44)) * 0x1p-17f;
    if (i < N_SPECIAL * N_SPECIAL) {
      x = special_f32[i / N_SPECIAL];
      y = special_f32[i % N_SPECIAL];
    }
    assert_true(error_f32(cxi_rem_f32(x, y), fmodf(x, y)) == 0);
  }
}

static void test_fma_f32(void **state) {
  (void)state;
  for (int i = 0; i < N_POW; i++) {
    const float a = cxi_f32_of_bits((uint32_t)random_bits());
    const float b = cxi_f32_of_bits((uint32_t)random_bits());
    float c = cxi_f32_of_bits((uint32_t)random_bits());
    if (i % 2) c = -a * b * (1 + (float)(int8_t)random_bits() * 0x1p-23f);
    const float got = cxi_fma_f32(a, b, c), want = fmaf(a, b, c);
    assert_true(isnan(want) ? isnan(got)
                            : cxi_bits_f32(got) == cxi_bits_f32(want));
  }
}

/* -- f64 ------------------------------------------------------------------ */

static long double logistic_long(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static long double rsqrt_long(long double x) {
  return 1 / sqrtl(x);
}

typedef struct row_f64 {
  const char *name;
  double (*f)(double);
  long double (*exact)(long double);
  double limit;
} row_f64;

static const row_f64 rows_f64[] = {
  { "exp", cxi_exp_f64, expl, 2 },
  { "expm1", cxi_expm1_f64, expm1l, 2 },
  { "log", cxi_log_f64, logl, 2 },
  { "log1p", cxi_log1p_f64, log1pl, 2 },
  { "logistic", cxi_logistic_f64, logistic_long, 2 },
  { "sin", cxi_sin_f64, sinl, 2 },
  { "cos", cxi_cos_f64, cosl, 2 },
  { "tanh", cxi_tanh_f64, tanhl, 2 },
  { "erf", cxi_erf_f64, erfl, 4 },
  { "exp2", cxi_exp2_f64, exp2l, 2 },
  { "log2", cxi_log2_f64, log2l, 2 },
  { "tan", cxi_tan_f64, tanl, 2 },
  { "asin", cxi_asin_f64, asinl, 2 },
  { "acos", cxi_acos_f64, acosl, 2 },
  { "atan", cxi_atan_f64, atanl, 2 },
  { "sinh", cxi_sinh_f64, sinhl, 2 },
  { "cosh", cxi_cosh_f64, coshl, 2 },
  { "asinh", cxi_asinh_f64, asinhl, 2 },
  { "acosh", cxi_acosh_f64, acoshl, 2 },
  { "atanh", cxi_atanh_f64, atanhl, 2 },
  { "erfc", cxi_erfc_f64, erfcl, 4 },
  { "cbrt", cxi_cbrt_f64, cbrtl, 2 },
  { "sqrt", cxi_sqrt_f64, sqrtl, 0.501 },
  { "rsqrt", cxi_rsqrt_f64, rsqrt_long, 2 },
  { "floor", cxi_floor_f64, floorl, 0 },
  { "ceil", cxi_ceil_f64, ceill, 0 },
  { "round", cxi_round_f64, rintl, 0 },
  { "round_away", cxi_round_away_f64, roundl, 0 },
};

/* Any bits, and numbers of usual size. */
static double random_f64(int i) {
  if (i < N_SPECIAL) return special_f32[i];
  const double x = cxi_f64_of_bits(random_bits());
  const double wide = (double)(int64_t)random_bits();
  return i % 3 == 0 ? x : wide * (i % 3 == 1 ? 0x1p-53 : 0x1p-60);
}

static void test_f64(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows_f64 / sizeof *rows_f64; i++) {
    const row_f64 *row = &rows_f64[i];
    double worst = 0, at = 0;
    for (int n = 0; n < N_F64; n++) {
      const double x = random_f64(n);
      const double error = error_f64(row->f(x), row->exact(x));
      if (error > worst) worst = error, at = x;
    }
    report("f64", row->name, worst, at, row->limit);
  }
  double worst = 0, at = 0;
  for (int n = 0; n < N_F64; n++) {
    const double x = fabs(random_f64(n)), y = random_f64(n + 1);
    const double error = error_f64(cxi_pow_f64(x, y), powl(x, y));
    if (error > worst) worst = error, at = x;
  }
  report("f64", "pow", worst, at, 2);
}

/* The distance from y to the argument whose erf is x, by one Newton step. */
static void test_erf_inv_f64(void **state) {
  (void)state;
  double worst = 0, at = 0;
  for (int n = 0; n < N_F64; n++) {
    double x = (double)(random_bits() >> 11) * 0x1p-53;
    if (n % 3 == 1) x = 1 - x * ldexp(1, -(n % 50));
    if (n % 3 == 2) x *= ldexp(1, -(n % 60));
    const double y = cxi_erf_inv_f64(x);
    if (x == 0 || x == 1) continue;
    const long double error = x < 0.5 ? erfl(y) - x : (1 - x) - erfcl(y);
    const long double slope = M_2_SQRTPI * expl(-(long double)y * y);
    const double places = error_f64(y, y - error / slope);
    if (places > worst) worst = places, at = x;
  }
  report("f64", "erf_inv", worst, at, 4);
  assert_true(cxi_erf_inv_f64(1) == INFINITY);
  assert_true(cxi_erf_inv_f64(-1) == -INFINITY);
  assert_true(isnan(cxi_erf_inv_f64(1.5)) && isnan(cxi_erf_inv_f64(NAN)));
  assert_true(signbit(cxi_erf_inv_f64(-0.0)) && cxi_erf_inv_f64(-0.0) == 0);
}

/* -- Comparison, powers of integers --------------------------------------- */

static void test_max_min(void **state) {
  (void)state;
  assert_true(isnan(cxi_max_f32(NAN, 1)) && isnan(cxi_max_f32(1, NAN)));
  assert_true(isnan(cxi_min_f32(NAN, 1)) && isnan(cxi_min_f64(1, NAN)));
  assert_true(!signbit(cxi_max_f32(-0.0f, 0.0f)));
  assert_true(!signbit(cxi_max_f32(0.0f, -0.0f)));
  assert_true(signbit(cxi_min_f32(-0.0f, 0.0f)));
  assert_true(signbit(cxi_min_f64(0.0, -0.0)));
  assert_true(cxi_max_f32(-2, -1) == -1 && cxi_min_f32(-2, -1) == -2);
  assert_true(cxi_max_f64(INFINITY, 1) == INFINITY);
}

static void test_integer_pow(void **state) {
  (void)state;
  assert_true(cxi_integer_pow_f32(3, 5) == 243);
  assert_true(cxi_integer_pow_f32(0, 0) == 1);
  assert_true(cxi_integer_pow_f32(2, -2) == 0.25f);
  assert_true(cxi_integer_pow_f32(0, -1) == INFINITY);
  assert_true(cxi_integer_pow_f64(-2, 3) == -8);
  assert_true(cxi_integer_pow_f64(1, INT64_MIN) == 1);
  assert_int_equal(cxi_integer_pow_i32(-3, 3), -27);
  assert_int_equal(cxi_integer_pow_i32(0, 0), 1);
  assert_int_equal(cxi_integer_pow_i32(2, 32), 0);
  assert_int_equal(cxi_pow_i32(-1, -3), -1);
  assert_int_equal(cxi_pow_i32(-1, -2), 1);
  assert_int_equal(cxi_pow_i32(2, -1), 0);
  assert_int_equal(cxi_pow_u8(3, 5), 243);
  assert_true(cxi_pow_u64(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
  assert_true(cxi_pow_u64(3, UINT64_C(1) << 63 | 1) ==
              cxi_integer_pow_u64(3, INT64_MAX) * 9);
}

/* Every pair of 8-bit numbers against arithmetic in int. */
static void test_8_bits(void **state) {
  (void)state;
  for (int a = -128; a < 128; a++) {
    for (int b = -128; b < 128; b++) {
      const int8_t x = (int8_t)a, y = (int8_t)b;
      assert_int_equal(cxi_add_i8(x, y), (int8_t)(a + b));
      assert_int_equal(cxi_sub_i8(x, y), (int8_t)(a - b));
      assert_int_equal(cxi_mul_i8(x, y), (int8_t)(a * b));
      assert_int_equal(cxi_div_i8(x, y), b ? (int8_t)(a / b) : -1);
      assert_int_equal(cxi_rem_i8(x, y), b ? a % b : a);
      assert_int_equal(cxi_max_i8(x, y), a > b ? a : b);
      const bool in = b >= 0 && b < 8;
      assert_int_equal(cxi_shift_left_i8(x, y), in ? (int8_t)(a * (1 << b)) : 0);
      assert_int_equal(cxi_shift_right_arithmetic_i8(x, y),
                       in ? (int)floor(ldexp(a, -b)) : a < 0 ? -1 : 0);
      assert_int_equal(cxi_shift_right_logical_i8(x, y),
                       in ? (int8_t)((a & 255) >> b) : 0);
      const unsigned c = (uint8_t)a, d = (uint8_t)b;
      const uint8_t u = (uint8_t)a, v = (uint8_t)b;
      assert_int_equal(cxi_div_u8(u, v), d ? c / d : 255);
      assert_int_equal(cxi_rem_u8(u, v), d ? c % d : c);
      assert_int_equal(cxi_min_u8(u, v), c < d ? c : d);
      assert_int_equal(cxi_shift_right_arithmetic_u8(u, v),
                       (uint8_t)cxi_shift_right_arithmetic_i8(x, y));
      assert_int_equal(cxi_shift_left_u8(u, v), d < 8 ? (uint8_t)(c << d) : 0);
    }
    assert_int_equal(cxi_neg_i8((int8_t)a), (int8_t)-a);
    assert_int_equal(cxi_abs_i8((int8_t)a), (int8_t)abs(a));
    assert_int_equal(cxi_sign_i8((int8_t)a), (a > 0) - (a < 0));
  }
}

static void test_wide_edges(void **state) {
  (void)state;
  assert_int_equal(cxi_div_i32(INT32_MIN, -1), INT32_MIN);
  assert_int_equal(cxi_rem_i32(INT32_MIN, -1), 0);
  assert_int_equal(cxi_div_i32(5, 0), -1);
  assert_int_equal(cxi_div_u32(5, 0), UINT32_MAX);
  assert_true(cxi_div_i64(INT64_MIN, -1) == INT64_MIN);
  assert_true(cxi_rem_u64(UINT64_MAX, 0) == UINT64_MAX);
  assert_int_equal(cxi_mul_u16(0xffff, 0xffff), 1);
  assert_int_equal(cxi_mul_i16(INT16_MIN, INT16_MIN), 0);
  assert_true(cxi_mul_i64(INT64_MAX, 2) == -2);
  assert_true(cxi_abs_i64(INT64_MIN) == INT64_MIN);
  assert_int_equal(cxi_shift_left_i32(1, 32), 0);
  assert_int_equal(cxi_shift_right_arithmetic_i32(-5, 100), -1);
  assert_true(cxi_shift_right_logical_i64(-1, 63) == 1);
  assert_true(cxi_shift_left_u64(1, UINT64_MAX) == 0);
}

/* The fast form of erf_inv has the bits of the other, up to where it ends. */
static void test_fast_erf_inv(void **state) {
  (void)state;
  const uint32_t last = cxi_bits_f32(0.996f);
  assert_true(cxi_erf_inv_is_fast_f32(0.996f));
  assert_false(cxi_erf_inv_is_fast_f32(cxi_f32_of_bits(last + 1)));
  assert_false(cxi_erf_inv_is_fast_f32(NAN));
  for (uint32_t i = 0; i < last; i += i < 100000 ? 1 : 1009) {
    const float x = cxi_f32_of_bits(last - i);
    assert_int_equal(cxi_bits_f32(cxi_erf_inv_fast_f32(x)),
                     cxi_bits_f32(cxi_erf_inv_f32(x)));
    assert_int_equal(cxi_bits_f32(cxi_erf_inv_fast_f32(-x)),
                     cxi_bits_f32(cxi_erf_inv_f32(-x)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_fast_erf_inv),
    cmocka_unit_test(test_f32),
    cmocka_unit_test(test_pow_f32),
    cmocka_unit_test(test_rem_f32),
    cmocka_unit_test(test_fma_f32),
    cmocka_unit_test(test_f64),
    cmocka_unit_test(test_erf_inv_f64),
    cmocka_unit_test(test_max_min),
    cmocka_unit_test(test_integer_pow),
    cmocka_unit_test(test_8_bits),
    cmocka_unit_test(test_wide_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
