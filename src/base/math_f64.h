/* math_f64.h - elementwise functions of f64; see math.h.
 *
 * The exponentials and what is made of them are in math_exp_f64.h; the others
 * are those of the C library where that is within 2 units in the last place. */
#ifndef CXI_MATH_F64_H
#define CXI_MATH_F64_H

#include <math.h>
#include <stdint.h>

#include "base/half.h"
#include "base/math_exp_f64.h"

static inline double cxi_log_f64(double x) {
  return log(x);
}

static inline double cxi_log1p_f64(double x) {
  return log1p(x);
}

static inline double cxi_sin_f64(double x) {
  return sin(x);
}

static inline double cxi_cos_f64(double x) {
  return cos(x);
}

static inline double cxi_erf_f64(double x) {
  return erf(x);
}

/* The C library's is 5 units away at worst. */
static inline double cxi_erfc_f64(double x) {
  return (double)erfcl((long double)x);
}

/* A start good to 0.2 % (S. Winitzki, "A handy approximation for the error
 * function and its inverse", 2008), then three steps of Halley's method, each
 * of which cubes the error; beyond 1/2 on erfc, lest 1 - |x| lose its places. */
static inline double cxi_erf_inv_f64(double x) {
  const double a = cxi_abs_f64(x), c = 0.147, rest = 1.0 - a;
  if (!(a < 1.0)) return a == 1.0 ? x * INFINITY : NAN;
  if (a < 0x1p-30) return x * 0x1.c5bf891b4ef6ap-1; /* sqrt(pi) / 2 */
  const double l = log(rest * (1.0 + a));
  const double m = 4.330746750799873 + 0.5 * l; /* 2 / (pi c) */
  double y =
      a < 0.05 ? a * 0x1.c5bf891b4ef6ap-1 : sqrt(sqrt(m * m - l / c) - m);
  for (int step = 0; step < 3; step++) {
    const double error = a < 0.5 ? erf(y) - a : rest - erfc(y);
    const double slope = 0x1.20dd750429b6dp0 * exp(-y * y); /* 2/sqrt(pi) */
    const double newton = error / slope;
    y -= newton / (1.0 + y * newton);
  }
  return copysign(y, x);
}

static inline double cxi_exp2_f64(double x) {
  return exp2(x);
}

static inline double cxi_log2_f64(double x) {
  return log2(x);
}

/* The C library's, up to 4 units away, and a step of Newton's method with the
 * remainder y^3 - x in twice the places. */
static inline double cxi_cbrt_f64(double x) {
  const double y = cbrt(x), square = y * y;
  if (y == 0.0 || !(cxi_abs_f64(y) < INFINITY)) return y;
  const double rest = fma(square, y, -x) + fma(y, y, -square) * y;
  return y - rest / (3.0 * square);
}

static inline double cxi_tan_f64(double x) {
  return tan(x);
}

static inline double cxi_asin_f64(double x) {
  return asin(x);
}

static inline double cxi_acos_f64(double x) {
  return acos(x);
}

static inline double cxi_atan_f64(double x) {
  return atan(x);
}

static inline double cxi_atan2_f64(double y, double x) {
  return atan2(y, x);
}

static inline double cxi_asinh_f64(double x) {
  return asinh(x);
}

/* The C library's may be more than 2 units away. */
static inline double cxi_acosh_f64(double x) {
  return (double)acoshl((long double)x);
}

static inline double cxi_atanh_f64(double x) {
  return atanh(x);
}

static inline double cxi_sqrt_f64(double x) {
  return __builtin_sqrt(x);
}

static inline double cxi_rsqrt_f64(double x) {
  return 1.0 / __builtin_sqrt(x);
}

static inline double cxi_pow_f64(double x, double y) {
  return pow(x, y);
}

/* x^y by repeated squaring, of the reciprocal's power for negative y. */
static inline double cxi_integer_pow_f64(double x, int64_t y) {
  uint64_t n = y < 0 ? -(uint64_t)y : (uint64_t)y;
  double power = 1.0;
  for (; n; n >>= 1) {
    if (n & 1) power *= x;
    if (n > 1) x *= x;
  }
  return y < 0 ? 1.0 / power : power;
}

static inline double cxi_floor_f64(double x) {
  return __builtin_floor(x);
}

static inline double cxi_ceil_f64(double x) {
  return __builtin_ceil(x);
}

static inline double cxi_round_f64(double x) {
  return __builtin_rint(x);
}

static inline double cxi_round_away_f64(double x) {
  return __builtin_round(x);
}

/* +-0 and NaN are their own sign. */
static inline double cxi_sign_f64(double x) {
  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

static inline double cxi_rem_f64(double x, double y) {
  return fmod(x, y);
}

static inline double cxi_mul_f64(double a, double b) {
  return a * b;
}
static inline double cxi_add_f64(double a, double b) {
  return a + b;
}

/* NaN if either is; -0 < +0. Equal numbers differ at most in the sign of 0. */
static inline double cxi_max_f64(double a, double b) {
  const double zeros = cxi_f64_of_bits(cxi_bits_f64(a) & cxi_bits_f64(b));
  const double rest = a == b ? zeros : a + b;
  return a > b ? a : b > a ? b : rest;
}

static inline double cxi_min_f64(double a, double b) {
  const double zeros = cxi_f64_of_bits(cxi_bits_f64(a) | cxi_bits_f64(b));
  const double rest = a == b ? zeros : a + b;
  return a < b ? a : b < a ? b : rest;
}

#endif
