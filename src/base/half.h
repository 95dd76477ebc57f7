/* half.h - f16 and bf16 to and from f32, one element, without branches.
 *
 * Inline and free of branches, so that loops over them become vector code.
 * Rounding is to nearest, ties to even; NaN stays a quiet NaN with its sign. */
#ifndef CXI_HALF_H
#define CXI_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t cxi_bits_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float cxi_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint64_t cxi_bits_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double cxi_f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline float cxi_bf16_widen(uint16_t bits) {
  return cxi_f32_of_bits((uint32_t)bits << 16);
}

static inline uint16_t cxi_bf16_round(float x) {
  const uint32_t bits = cxi_bits_f32(x);
  /* Half of the last place kept, less one if that place is even. */
  const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  const uint32_t quiet = bits | 0x400000;
  return (uint16_t)(((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);
}

static inline float cxi_f16_widen(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t rest = half & 0x7fff;
  const uint32_t normal = (rest << 13) + (112u << 23);
  /* Infinity and NaN: the largest exponent; a NaN is made quiet. */
  const uint32_t special =
      (rest << 13) | 0x7f800000 | (rest > 0x7c00 ? 0x400000u : 0);
  /* Subnormal: rest * 2^-24, exact. */
  const uint32_t small = cxi_bits_f32((float)(int32_t)rest * 0x1p-24f);
  const uint32_t magnitude =
      rest >= 0x7c00 ? special : rest < 0x0400 ? small : normal;
  return cxi_f32_of_bits(sign | magnitude);
}

static inline uint16_t cxi_f16_round(float x) {
  const uint32_t bits = cxi_bits_f32(x);
  const uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  const uint32_t normal = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
  /* Below 2^-14 the result is a multiple of 2^-24: that of a sum with 0.5,
   * whose last place is 2^-24, rounds as wanted. */
  const float shifted = cxi_f32_of_bits(rest) + 0.5f;
  const uint32_t small = cxi_bits_f32(shifted) - 0x3f000000;
  const uint32_t nan = 0x7e00 | (rest >> 13 & 0x3ff);
  const uint32_t magnitude = rest > 0x7f800000    ? nan
                             : rest >= 0x477ff000 ? 0x7c00
                             : rest < 0x38800000  ? small
                                                  : normal;
  return (uint16_t)(sign | magnitude);
}

/* x rounded to odd: what is not exact gets an odd last place, so that a later
 * rounding to fewer places (at most 22) is that of x itself. Boldo &
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008. */
static inline float cxi_f32_to_odd(double x) {
  const float near = (float)x;
  const double back = (double)near;
  const uint32_t bits = cxi_bits_f32(near);
  /* The neighbour towards x, if `near` is even and not x; then it is odd. */
  const uint32_t away = (back < x) == !(bits >> 31) ? 1u : UINT32_MAX;
  const uint32_t step = (back < x || back > x) && !(bits & 1) ? away : 0;
  return cxi_f32_of_bits(bits + step);
}

#endif
