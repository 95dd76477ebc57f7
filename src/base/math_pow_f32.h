/* math_pow_f32.h - powers and remainders of f32; see math.h.
 *
 * x^y = 2^(y log2 x) needs log2 to ten places more than f32 holds, so it is
 * computed in f64, by plain products and sums: with 29 places to spare no
 * step needs to be fused, and machines without such an instruction agree. */
#ifndef CXI_MATH_POW_F32_H
#define CXI_MATH_POW_F32_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"
#include "base/math_f32.h"

/* log2(1 + f) for 1 + f in [2/3, 4/3): s L(s^2) with s = f / (2 + f), relative
 * 2^-35.5. */
static inline double cxi_wide_log2_tail(double f) {
  const double s = f / (2.0 + f), z = s * s;
  double p = 0x1.64cf367c6a515p-2;
  p = p * z + 0x1.a5125261cbf03p-2;
  p = p * z + 0x1.2778a84c2f648p-1;
  p = p * z + 0x1.ec709b53bdd0ep-1;
  p = p * z + 0x1.71547652d85a5p+1;
  return s * p;
}

/* log2 of a positive number. */
static inline double cxi_log2_wide_f32(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = subnormal ? x * 0x1p23f : x;
  const int32_t k = cxi_log_exponent_f32(scaled);
  const double f = (double)(cxi_unscale_f32(scaled, k) - 1.0f);
  return (double)(k - (subnormal ? 23 : 0)) + cxi_wide_log2_tail(f);
}

/* 2^x for |x| <= 200: 2^k 2^r, relative 2^-29.0 */
static inline double cxi_wide_exp2(double x) {
  const double sum = x + 0x1.8p52, r = x - (sum - 0x1.8p52);
  double p = 0x1.41d3935972325p-13;
  p = p * r + 0x1.5f4575795eb71p-10;
  p = p * r + 0x1.3b2dbb1fcaf50p-7;
  p = p * r + 0x1.c6aed4994e69cp-5;
  p = p * r + 0x1.ebfbdaddd8f78p-3;
  p = p * r + 0x1.62e430c814745p-1;
  p = p * r + 0x1.0000000260739p+0;
  return cxi_f64_of_bits(cxi_bits_f64(p) + (cxi_bits_f64(sum) << 52));
}

static inline float cxi_exp2_wide_f32(double x) {
  return (float)cxi_wide_exp2(x);
}

/* C's pow: the sign of odd powers, NaN for other powers of negative numbers,
 * 1 for the power 0 and for the base 1 whatever the other operand. */
static inline float cxi_pow_f32(float x, float y) {
  const float a = cxi_abs_f32(x), b = cxi_abs_f32(y);
  /* Every float from 2^24 on is an even integer. The bits of positive floats
   * are in the order of the floats. Here and below, minima of integers and &
   * stand where comparisons and && would leave branches in a loop. */
  const uint32_t even = 0x4b800000, bits = cxi_bits_f32(b);
  const float limited = cxi_f32_of_bits(bits < even ? bits : even);
  const int32_t whole = (int32_t)limited;
  const float fraction = limited - (float)whole;
  double exponent = (double)y * cxi_log2_wide_f32(a);
  const double to_inf = (double)y * INFINITY;
  exponent = a == INFINITY ? to_inf : exponent;
  exponent = a == 0.0f ? -to_inf : exponent;
  exponent = ((a == 1.0f) & (b == INFINITY)) ? 0.0 : exponent;
  exponent = x != x ? (double)x : exponent;
  exponent = exponent > 200.0 ? 200.0 : exponent;
  exponent = exponent < -200.0 ? -200.0 : exponent;
  const float p = cxi_exp2_wide_f32(exponent);
  const uint32_t odd = fraction == 0.0f ? (uint32_t)whole << 31 : 0;
  float z = cxi_f32_of_bits(cxi_bits_f32(p) ^ (cxi_bits_f32(x) & odd));
  /* A power that is no integer of a negative finite number. */
  z = ((x < 0.0f) & (a < INFINITY) & (fraction != 0.0f)) ? NAN : z;
  return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : z;
}

/* x^y by repeated squaring, of the reciprocal's power for negative y. */
static inline float cxi_integer_pow_f32(float x, int64_t y) {
  uint64_t n = y < 0 ? -(uint64_t)y : (uint64_t)y;
  float power = 1.0f;
  for (; n; n >>= 1) {
    if (n & 1) power *= x;
    if (n > 1) x *= x;
  }
  return y < 0 ? 1.0f / power : power;
}

/* Whether the fast form of rem serves: finite operands with a quotient that
 * f64 can hold with its error below the distance to the next integer. */
static inline bool cxi_rem_is_fast_f32(float x, float y) {
  return cxi_abs_f32(x) < 0x1p24f * cxi_abs_f32(y) && cxi_abs_f32(x) < INFINITY &&
         cxi_abs_f32(y) < INFINITY;
}

/* x - trunc(x / y) y: in f64 the product and the difference are exact. */
static inline float cxi_rem_fast_f32(float x, float y) {
  const double quotient = __builtin_trunc((double)x / (double)y);
  return cxi_with_sign_f32((float)((double)x - quotient * (double)y), x);
}

/* C's fmod: the sign of x, exact. */
static inline float cxi_rem_f32(float x, float y) {
  return cxi_rem_is_fast_f32(x, y) ? cxi_rem_fast_f32(x, y) : fmodf(x, y);
}

#endif
