/* math_wide_f32.h - f32 functions computed in f64 and rounded once; see math.h.
 *
 * A polynomial in f64 has 29 places to spare: no low parts, no fused steps, and
 * the result is within 0.54 units of the last place. Vector code is half as
 * wide as f32's. The errors of the polynomials are given relative to the
 * function. */
#ifndef CXI_MATH_WIDE_F32_H
#define CXI_MATH_WIDE_F32_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"
#include "base/math_f32.h"
#include "base/math_pow_f32.h"

/* -- Parts ---------------------------------------------------------------- */

/* Infinity as a number beside which no f32 counts. */
static inline double cxi_wide_finite(float a) {
  return a == INFINITY ? 0x1p400 : (double)a;
}

/* e^x for |x| <= 138, relative 2^-29.0 */
static inline double cxi_wide_exp(double x) {
  return cxi_wide_exp2(x * 0x1.71547652b82fep0);
}

/* log(1 + u) for 0 <= u < 2^200: k ln 2 + log(1 + f). While k is 0, f is u and
 * keeps its places. */
static inline double cxi_wide_log1p(double u) {
  const double w = 1.0 + u;
  const uint64_t shifted = cxi_bits_f64(w) - UINT64_C(0x3fe5555555555555);
  const int32_t k = (int32_t)(shifted >> 32) >> 20;
  const double scaled =
      cxi_f64_of_bits(cxi_bits_f64(w) - ((uint64_t)(int64_t)k << 52));
  const double f = k == 0 ? u : scaled - 1.0;
  const double log2 = (double)k + cxi_wide_log2_tail(f);
  return log2 * 0x1.62e42fefa39efp-1;
}

/* asin of z in [0, 1/2]: z A(z^2), relative 2^-35.9 */
static inline double cxi_wide_asin(double z) {
  const double s = z * z;
  double p = 0x1.1e5238316865bp-5;
  p = p * s + 0x1.d9747723245e9p-8;
  p = p * s + 0x1.94de7296fbf64p-6;
  p = p * s + 0x1.ed0832587de46p-6;
  p = p * s + 0x1.6ddf0eb7804dcp-5;
  p = p * s + 0x1.33328d72088e4p-4;
  p = p * s + 0x1.55555658608b3p-3;
  p = p * s + 0x1.ffffffffdee1bp-1;
  return z * p;
}

/* atan of num / den, both finite and >= 0, not both 0. The quotient t
 * is below tan(pi/8), or (t - 1) / (t + 1) and -1 / t are: t A(t^2), relative
 * 2^-35.5, and pi/4 or pi/2. */
static inline double cxi_wide_atan(double num, double den) {
  const bool above = num > den * 0x1.3504f333f9de6p1; /* tan(3 pi/8) */
  const bool middle = num > den * 0x1.a827999fcef32p-2;
  const double n = above ? -den : middle ? num - den : num;
  const double d = above ? num : middle ? num + den : den;
  const double base = above    ? 0x1.921fb54442d18p0
                      : middle ? 0x1.921fb54442d18p-1
                               : 0.0;
  const double t = n / d, s = t * t;
  double p = 0x1.8232bbb69e0e3p-5;
  p = p * s - 0x1.5a83716492715p-4;
  p = p * s + 0x1.c43f4139332e3p-4;
  p = p * s - 0x1.247cfbf31b263p-3;
  p = p * s + 0x1.9999011d9df2dp-3;
  p = p * s - 0x1.55555487800c6p-2;
  p = p * s + 0x1.ffffffffd27f1p-1;
  return base + t * p;
}

/* -- Exponentials and logarithms ------------------------------------------ */

static inline float cxi_exp2_f32(float x) {
  x = x > 200.0f ? 200.0f : x; /* beyond: infinity, or zero */
  x = x < -200.0f ? -200.0f : x;
  return cxi_exp2_wide_f32((double)x);
}

static inline float cxi_log2_f32(float x) {
  float y = (float)cxi_log2_wide_f32(x);
  y = x < INFINITY ? y : x; /* infinity and NaN stay */
  y = x < 0.0f ? NAN : y;
  return x == 0.0f ? -INFINITY : y;
}

/* y^3 = |x|: a third of the exponent to five places (W. Kahan, 1991), then
 * two steps of Halley's method, each of which triples them. */
static inline float cxi_cbrt_f32(float x) {
  const double a = (double)cxi_abs_f32(x);
  const uint32_t high = (uint32_t)(cxi_bits_f64(a) >> 32);
  double y = cxi_f64_of_bits((uint64_t)(high / 3 + 715094163) << 32);
  double cube = y * y * y;
  y = y * (cube + a + a) / (cube + cube + a);
  cube = y * y * y;
  y = y * (cube + a + a) / (cube + cube + a);
  const float z = cxi_with_sign_f32((float)y, x);
  const bool ordinary = (a > 0.0) & (a < (double)INFINITY);
  return ordinary ? z : x;
}

/* -- Tangent -------------------------------------------------------------- */

/* x = k pi/2 + r: k times the first part of pi/2 is exact, r is right to
 * 2^-70. tan r = sin r / cos r, minus its inverse for odd k; sin r = r S(r^2)
 * relative 2^-37.7, cos r = C(r^2) 2^-34.0. */
static inline float cxi_tan_fast_f32(float x) {
  const double sum = (double)x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  const double k = sum - 0x1.8p52;
  const double first = (double)x - k * 0x1.921fb544p0;
  const double r = first - k * 0x1.0b4611a626331p-34, s = r * r;
  double p = 0x1.6caea21bae19dp-19;
  p = p * s - 0x1.a00ebe57a203bp-13;
  p = p * s + 0x1.1111070cddaf6p-7;
  p = p * s - 0x1.55555548d06a9p-3;
  p = p * s + 0x1.fffffffff5ec9p-1;
  double q = 0x1.98e5328d28295p-16;
  q = q * s - 0x1.6c06e08b35892p-10;
  q = q * s + 0x1.5555388c031e7p-5;
  q = q * s - 0x1.ffffffb626f97p-2;
  q = q * s + 0x1.ffffffff84a36p-1;
  const double sine = r * p;
  const bool odd = (cxi_bits_f64(sum) & 1) != 0;
  const float y = (float)((odd ? -q : sine) / (odd ? sine : q));
  return cxi_abs_f32(x) < 0x1p-13f ? x : y; /* keeps the sign of 0 */
}

static inline float cxi_tan_f32(float x) {
  return cxi_trig_is_fast_f32(x) ? cxi_tan_fast_f32(x) : (float)tan((double)x);
}

/* -- Inverse trigonometric functions -------------------------------------- */

/* Beyond 1/2 by the half angle: asin a = pi/2 - 2 asin sqrt((1 - a) / 2). */
static inline float cxi_asin_f32(float x) {
  const double a = (double)cxi_abs_f32(x);
  const double half = __builtin_sqrt(0.5 - 0.5 * a); /* NaN beyond 1 */
  const double y = cxi_wide_asin(a > 0.5 ? half : a);
  const double angle = a > 0.5 ? 0x1.921fb54442d18p0 - 2.0 * y : y;
  return cxi_with_sign_f32((float)angle, x);
}

static inline float cxi_acos_f32(float x) {
  const double a = (double)cxi_abs_f32(x);
  const double half = __builtin_sqrt(0.5 - 0.5 * a);
  const double y = cxi_wide_asin(a > 0.5 ? half : a);
  const bool negative = x < 0.0f;
  const double outer = negative ? 0x1.921fb54442d18p1 - 2.0 * y : 2.0 * y;
  const double inner = 0x1.921fb54442d18p0 + (negative ? y : -y);
  return (float)(a > 0.5 ? outer : inner);
}

static inline float cxi_atan_f32(float x) {
  const double a = cxi_wide_finite(cxi_abs_f32(x));
  return cxi_with_sign_f32((float)cxi_wide_atan(a, 1.0), x);
}

/* The angle of (x, y); two zeros count as (1, 0) with their signs. */
static inline float cxi_atan2_f32(float y, float x) {
  const double a = cxi_wide_finite(cxi_abs_f32(y));
  const double b = cxi_wide_finite(cxi_abs_f32(x));
  const double angle = cxi_wide_atan(a, ((a == 0.0) & (b == 0.0)) ? 1.0 : b);
  const bool left = (cxi_bits_f32(x) >> 31) != 0;
  const double turned = left ? 0x1.921fb54442d18p1 - angle : angle;
  return cxi_with_sign_f32((float)turned, y);
}

/* -- Hyperbolic functions ------------------------------------------------- */

/* (e^a - e^-a) / 2; below 1 a S(a^2), relative 2^-34.3 */
static inline float cxi_sinh_f32(float x) {
  const float limited = cxi_abs_f32(x) > 100.0f ? 100.0f : cxi_abs_f32(x);
  const double a = (double)limited, s = a * a;
  double p = 0x1.7a4bc3924b47fp-19;
  p = p * s + 0x1.9ffcb5388f317p-13;
  p = p * s + 0x1.11113a6b8821ap-7;
  p = p * s + 0x1.55555504242cfp-3;
  p = p * s + 0x1.000000003279dp+0;
  const double e = cxi_wide_exp(a);
  const double y = a < 1.0 ? a * p : 0.5 * (e - 1.0 / e);
  return cxi_with_sign_f32((float)y, x);
}

static inline float cxi_cosh_f32(float x) {
  const float a = cxi_abs_f32(x) > 100.0f ? 100.0f : cxi_abs_f32(x);
  const double e = cxi_wide_exp((double)a);
  return (float)(0.5 * (e + 1.0 / e));
}

/* log(a + sqrt(a^2 + 1)), as log1p of a + a^2 / (1 + sqrt(a^2 + 1)) */
static inline float cxi_asinh_f32(float x) {
  const float a = cxi_abs_f32(x);
  const double b = (double)(a < INFINITY ? a : 1.0f), s = b * b;
  const float y =
      (float)cxi_wide_log1p(b + s / (1.0 + __builtin_sqrt(s + 1.0)));
  return a < INFINITY ? cxi_with_sign_f32(y, x) : x;
}

/* log(x + sqrt(x^2 - 1)), as log1p of t + sqrt(t (t + 2)) with t = x - 1 */
static inline float cxi_acosh_f32(float x) {
  const bool inside = (x >= 1.0f) & (x < INFINITY);
  const double t = (double)(inside ? x : 1.0f) - 1.0;
  const float y = (float)cxi_wide_log1p(t + __builtin_sqrt(t * (t + 2.0)));
  const float edge = x == INFINITY ? x : NAN;
  return inside ? y : edge;
}

/* log((1 + a) / (1 - a)) / 2 */
static inline float cxi_atanh_f32(float x) {
  const float a = cxi_abs_f32(x);
  const double b = (double)(a < 1.0f ? a : 0.0f);
  const float y = (float)(0.5 * cxi_wide_log1p(2.0 * b / (1.0 - b)));
  const float edge = a == 1.0f ? INFINITY : NAN;
  return cxi_with_sign_f32(a < 1.0f ? y : edge, x);
}

/* -- Error function ------------------------------------------------------- */

/* e^(-a^2) / (1 + 2 a) P((a - 3) / (a + 3)), relative 2^-34.8; 2 minus that for
 * negative x. */
static inline float cxi_erfc_f32(float x) {
  const float limited = cxi_abs_f32(x) > 10.2f ? 10.2f : cxi_abs_f32(x);
  const double a = (double)limited, q = (a - 3.0) / (a + 3.0);
  double p = 0x1.15b048f9dbb84p-15;
  p = p * q + 0x1.09b79cbf1678dp-13;
  p = p * q - 0x1.09cedb9cf3130p-13;
  p = p * q - 0x1.9e31d639767cap-11;
  p = p * q + 0x1.f09397e16d142p-10;
  p = p * q + 0x1.4c13e5aa92a57p-9;
  p = p * q - 0x1.857707d6ce966p-6;
  p = p * q + 0x1.17c9769fb5bdbp-4;
  p = p * q - 0x1.e88b7d7c6eec3p-4;
  p = p * q + 0x1.09836c5d284afp-3;
  p = p * q - 0x1.85a15c18f34d4p-5;
  p = p * q - 0x1.15c084d653634p-3;
  p = p * q + 0x1.40c522d7e0bffp+0;
  const double y = cxi_wide_exp(-a * a) * p / (1.0 + 2.0 * a);
  return (float)(x < 0.0f ? 2.0 - y : y);
}

#endif
