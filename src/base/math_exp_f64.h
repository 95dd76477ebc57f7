/* math_exp_f64.h - exponentials and hyperbolic functions of f64; see math.h.
 *
 * Like those of f32 they are free of branches, tables and calls, and no step
 * is fused: machines without such an instruction agree, and need no call. */
#ifndef CXI_MATH_EXP_F64_H
#define CXI_MATH_EXP_F64_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"

/* -- Parts ---------------------------------------------------------------- */

static inline double cxi_abs_f64(double x) {
  return cxi_f64_of_bits(cxi_bits_f64(x) & INT64_MAX);
}

static inline double cxi_with_sign_f64(double magnitude, double sign) {
  const uint64_t bit = UINT64_C(1) << 63;
  return cxi_f64_of_bits((cxi_bits_f64(magnitude) & ~bit) |
                         (cxi_bits_f64(sign) & bit));
}

/* 1.5 * 2^52: adding it rounds to an integer, which its low bits then hold. */
#define CXI_ROUNDER_F64 0x1.8p52

/* x = k ln 2 + r + *out_low with |r| <= ln 2 / 2, for |x| <= 746; *out_sum is
 * k + CXI_ROUNDER_F64. The first step is exact: ln2_hi has 42 bits and k 11,
 * both products are multiples of 2^-54 and their difference is below 1/2. What
 * the second rounds away is the low part. */
static inline double cxi_exp_reduce_f64(double x, double *out_sum,
                                        double *out_low) {
  const double sum = x * 0x1.71547652b82fep0 + CXI_ROUNDER_F64;
  const double k = sum - CXI_ROUNDER_F64;
  const double first = x - k * 0x1.62e42fefa38p-1;
  const double second = k * 0x1.ef35793c7673p-45;
  const double r = first - second;
  *out_sum = sum;
  *out_low = (first - r) - second;
  return r;
}

/* e^r - 1 - r = r^2 q(r) for |r| <= 0.34658; relative to e^r 2^-57.4 */
static inline double cxi_exp_tail_f64(double r) {
  double q = 0x1.ad1f6eb336a21p-26;
  q = q * r + 0x1.289f804a5a427p-22;
  q = q * r + 0x1.71df55adb8548p-19;
  q = q * r + 0x1.a019ab3791d4cp-16;
  q = q * r + 0x1.a01a011bedc9bp-13;
  q = q * r + 0x1.6c16c17cbff38p-10;
  q = q * r + 0x1.111111112893ap-7;
  q = q * r + 0x1.5555555553211p-5;
  q = q * r + 0x1.5555555555501p-3;
  q = q * r + 0.5;
  return r * r * q;
}

/* The same relative to e^r - 1, 2^-61.6. */
static inline double cxi_expm1_tail_f64(double r) {
  double q = 0x1.1f394a362f8edp-29;
  q = q * r + 0x1.af5d0290aca7fp-26;
  q = q * r + 0x1.27e4f86574bfdp-22;
  q = q * r + 0x1.71ddf9396ac98p-19;
  q = q * r + 0x1.a01a019e7d78cp-16;
  q = q * r + 0x1.a01a01af9cba5p-13;
  q = q * r + 0x1.6c16c16c167aap-10;
  q = q * r + 0x1.111111110f708p-7;
  q = q * r + 0x1.5555555555559p-5;
  q = q * r + 0x1.5555555555559p-3;
  q = q * r + 0.5;
  return r * r * q;
}

/* p 2^k for -1076 <= k <= 1025 and p near 1, in two steps of which only the
 * second can round; sum is k + CXI_ROUNDER_F64. */
static inline double cxi_scale_f64(double p, double sum) {
  const uint64_t k =
      cxi_bits_f64(sum) - UINT64_C(0x4337fffffffff800); /* +2048 */
  const uint64_t half = k >> 1;
  const double a = cxi_f64_of_bits((half - 1) << 52);
  const double b = cxi_f64_of_bits((k - half - 1) << 52);
  return p * a * b;
}

/* 2^(k - less), a normal number; sum is k + CXI_ROUNDER_F64. */
static inline double cxi_power_of_2_f64(double sum, int less) {
  return cxi_f64_of_bits((cxi_bits_f64(sum) + 1023 - (uint64_t)less) << 52);
}

/* e^x / 2 + *out_low for 0 <= x <= 710.5; infinity where that is beyond. */
static inline double cxi_half_exp_f64(double x, double *out_low) {
  double sum, low;
  const double r = cxi_exp_reduce_f64(x, &sum, &low);
  const double p = r + (cxi_exp_tail_f64(r) + low), high = 1.0 + p;
  const double by = cxi_power_of_2_f64(sum, 2); /* k may be 1025 */
  *out_low = (p - (high - 1.0)) * by * 2.0;
  return high * by * 2.0;
}

/* -- Exponentials --------------------------------------------------------- */

static inline double cxi_exp_f64(double x) {
  x = x > 710.0 ? 710.0 : x; /* beyond: infinity, or zero */
  x = x < -746.0 ? -746.0 : x;
  double sum, low;
  const double r = cxi_exp_reduce_f64(x, &sum, &low);
  return cxi_scale_f64(1.0 + (r + (cxi_exp_tail_f64(r) + low)), sum);
}

/* 2^k (e^r - 1) + (2^k - 1), with 2^(k-1) so that k = 1024 does not overflow
 * too early. */
static inline double cxi_expm1_f64(double x) {
  double y = x > 710.0 ? 710.0 : x;
  y = y < -40.0 ? -40.0 : y;
  double sum, low;
  const double r = cxi_exp_reduce_f64(y, &sum, &low);
  const double p = r + (cxi_expm1_tail_f64(r) + low);
  const double half = cxi_power_of_2_f64(sum, 1);
  const double shifted = 2.0 * (p * half + (half - 0.5));
  const double z = sum == CXI_ROUNDER_F64 ? p : shifted;
  return cxi_abs_f64(x) < 0x1p-54 ? x : z; /* keeps the sign of 0 */
}

/* With e = e^-|x|: 1 / (1 + e), and e / (1 + e) for negative x. e and 1 + e
 * carry a low part, by which the quotient q is corrected; 1 / (1 + e) in that
 * correction is 1 - q or q itself. */
static inline double cxi_logistic_f64(double x) {
  double y = -cxi_abs_f64(x);
  y = y < -746.0 ? -746.0 : y;
  double k, low;
  const double r = cxi_exp_reduce_f64(y, &k, &low);
  const double p = r + (cxi_exp_tail_f64(r) + low);
  const double high = 1.0 + p;
  const double e = cxi_scale_f64(high, k);
  const double e_low = cxi_scale_f64(p - (high - 1.0), k);
  const double sum = 1.0 + e, sum_low = ((1.0 - sum) + e) + e_low;
  const bool negative = x < 0.0;
  const double q = (negative ? e : 1.0) / sum;
  const double rest = (negative ? e_low : 0.0) - q * sum_low;
  return q + (negative ? 1.0 - q : q) * rest;
}

/* -- Hyperbolic functions ------------------------------------------------- */

/* a + a^3 P(a^2) / Q(a^2) below 1, relative 2^-55.4; from there on
 * 1 - 2 / (e^2a + 1). There is one division for both. */
static inline double cxi_tanh_f64(double x) {
  const double a = cxi_abs_f64(x);
  const bool large = a >= 1.0;
  const double t = a > 20.0 ? 20.0 : a, s = t * t;
  double p = -0x1.275e7857ec18cp-26;
  p = p * s - 0x1.fdd455fdf8fefp-13;
  p = p * s - 0x1.5eb7159cad0f6p-6;
  p = p * s - 0x1.5555555555554p-2;
  double q = 0x1.0a7562910b131p-12;
  q = q * s + 0x1.919987072a721p-6;
  q = q * s + 0x1.db5beda6fa080p-2;
  q = q * s + 1.0;
  double sum, low;
  const double r = cxi_exp_reduce_f64(2.0 * t, &sum, &low);
  const double e = 1.0 + (r + (cxi_exp_tail_f64(r) + low));
  const double above = large ? -2.0 : t * s * p;
  const double below = large ? e * cxi_power_of_2_f64(sum, 0) + 1.0 : q;
  return cxi_with_sign_f64((large ? 1.0 : t) + above / below, x);
}

/* (e^a - e^-a) / 2; below 1 a + a^3 S(a^2), relative 2^-61.7 */
static inline double cxi_sinh_f64(double x) {
  const double a = cxi_abs_f64(x);
  const double t = a > 710.5 ? 710.5 : a, s = t * t;
  double p = 0x1.b5c88db513fe2p-41;
  p = p * s + 0x1.6116f4b894d1cp-33;
  p = p * s + 0x1.ae646ff4df86cp-26;
  p = p * s + 0x1.71de3a3b06de3p-19;
  p = p * s + 0x1.a01a01a037268p-13;
  p = p * s + 0x1.111111111101ep-7;
  p = p * s + 0x1.5555555555556p-3;
  double low;
  const double half = cxi_half_exp_f64(t, &low);
  const double large = half + (low - 0.25 / half);
  return cxi_with_sign_f64(a >= 1.0 ? large : t + t * s * p, x);
}

static inline double cxi_cosh_f64(double x) {
  const double a = cxi_abs_f64(x) > 710.5 ? 710.5 : cxi_abs_f64(x);
  double low;
  const double half = cxi_half_exp_f64(a, &low);
  return half + (low + 0.25 / half);
}

#endif
