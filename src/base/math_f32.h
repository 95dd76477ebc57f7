/* math_f32.h - elementwise functions of f32; see math.h. */
#ifndef CXI_MATH_F32_H
#define CXI_MATH_F32_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"

/* -- Parts ---------------------------------------------------------------- */

/* a b + c, rounded once. Without the instruction: the product is exact in f64,
 * the sum is rounded to odd there (see cxi_f32_to_odd), then to f32. */
static inline float cxi_fma_f32(float a, float b, float c) {
#if defined __FMA__ || defined __ARM_FEATURE_FMA
  return __builtin_fmaf(a, b, c);
#else
  const double product = (double)a * (double)b, addend = (double)c;
  const double sum = product + addend;
  const double part = sum - product;    /* Knuth's exact error of a sum */
  const double error = (product - (sum - part)) + (addend - part);
  const uint64_t bits = cxi_bits_f64(sum);
  const uint64_t away =
      (error < 0.0) == (bits >> 63 != 0) ? UINT64_C(1) : UINT64_MAX;
  const bool inexact = error < 0.0 || error > 0.0; /* not of NaN */
  return (float)cxi_f64_of_bits(bits + (inexact && !(bits & 1) ? away : 0));
#endif
}

static inline float cxi_with_sign_f32(float magnitude, float sign) {
  return cxi_f32_of_bits((cxi_bits_f32(magnitude) & 0x7fffffff) |
                         (cxi_bits_f32(sign) & 0x80000000));
}

static inline float cxi_abs_f32(float x) {
  return cxi_f32_of_bits(cxi_bits_f32(x) & 0x7fffffff);
}

/* 1.5 * 2^23: adding it rounds to an integer, which its low bits then hold. */
#define CXI_ROUNDER_F32 0x1.8p23f

static inline int32_t cxi_rounded_int_f32(float sum) {
  return (int32_t)(cxi_bits_f32(sum) - 0x4b400000);
}

/* p 2^k for -252 <= k <= 254 and p near 1, in two steps of which only the
 * second can round. */
static inline float cxi_scale_f32(float p, int32_t k) {
  const int32_t half = k >> 1;
  const float a = cxi_f32_of_bits((uint32_t)(half + 127) << 23);
  const float b = cxi_f32_of_bits((uint32_t)(k - half + 127) << 23);
  return p * a * b;
}

/* x = k ln 2 + r + *out_low with |r| <= ln 2 / 2. The first step is exact,
 * since x and k ln2_hi are multiples of 2^-25 and their difference is below
 * 1/2; what the second rounds away is the low part. */
static inline float cxi_exp_reduce_f32(float x, int32_t *out_k,
                                       float *out_low) {
  const float sum = cxi_fma_f32(x, 0x1.715476p0f, CXI_ROUNDER_F32);
  const float k = sum - CXI_ROUNDER_F32;
  *out_k = cxi_rounded_int_f32(sum);
  const float first = cxi_fma_f32(-k, 0x1.62e43p-1f, x);
  const float r = cxi_fma_f32(-k, -0x1.05c61p-29f, first);
  *out_low = cxi_fma_f32(-k, -0x1.05c61p-29f, first - r);
  return r;
}

/* e^r - 1 - r = r^2 q(r) for |r| <= 0.3475; relative to e^r 2^-28.2 */
static inline float cxi_exp_tail_f32(float r) {
  float q = 0x1.6a3fb2p-10f;
  q = cxi_fma_f32(q, r, 0x1.1239ep-7f);
  q = cxi_fma_f32(q, r, 0x1.5558bep-5f);
  q = cxi_fma_f32(q, r, 0x1.555492p-3f);
  q = cxi_fma_f32(q, r, 0x1.fffffcp-2f);
  return r * r * q;
}

/* The same relative to e^r - 1, 2^-31.0. */
static inline float cxi_expm1_tail_f32(float r) {
  float q = 0x1.9e7d64p-13f;
  q = cxi_fma_f32(q, r, 0x1.6d3aap-10f);
  q = cxi_fma_f32(q, r, 0x1.1112d4p-7f);
  q = cxi_fma_f32(q, r, 0x1.5554f8p-5f);
  q = cxi_fma_f32(q, r, 0x1.555554p-3f);
  q = cxi_fma_f32(q, r, 0.5f);
  return r * r * q;
}

/* e^x for -104 <= x <= 89 and NaN. */
static inline float cxi_exp_inner_f32(float x) {
  int32_t k;
  float low;                  /* up to 1/4 unit in the last place: left out */
  const float r = cxi_exp_reduce_f32(x, &k, &low);
  return cxi_scale_f32(1.0f + (r + cxi_exp_tail_f32(r)), k);
}

/* log((1 + f) 2^k) for 1 + f in [2/3, 4/3):
 * k ln 2 + f - f^2/2 + f^3 q(f), relative to log(1 + f) 2^-27.7 */
static inline float cxi_log_inner_f32(float f, float k) {
  float q = -0x1.07dae6p-3f;
  q = cxi_fma_f32(q, f, 0x1.1e69d2p-3f);
  q = cxi_fma_f32(q, f, -0x1.f32a76p-4f);
  q = cxi_fma_f32(q, f, 0x1.1ed6p-3f);
  q = cxi_fma_f32(q, f, -0x1.559c96p-3f);
  q = cxi_fma_f32(q, f, 0x1.99d048p-3f);
  q = cxi_fma_f32(q, f, -0x1.fffefap-3f);
  q = cxi_fma_f32(q, f, 0x1.555506p-2f);
  const float tail = f * f * cxi_fma_f32(q, f, -0.5f);
  const float low = cxi_fma_f32(k, -0x1.05c61p-29f, tail);
  return cxi_fma_f32(k, 0x1.62e43p-1f, f + low);
}

/* The exponent k for which x 2^-k is in [2/3, 4/3); x normal. */
static inline int32_t cxi_log_exponent_f32(float x) {
  return (int32_t)(cxi_bits_f32(x) - 0x3f2aaaab) >> 23;
}

/* x 2^-k, by its exponent field. */
static inline float cxi_unscale_f32(float x, int32_t k) {
  return cxi_f32_of_bits(cxi_bits_f32(x) - ((uint32_t)k << 23));
}

/* -- Exponentials and logarithms ------------------------------------------ */

static inline float cxi_exp_f32(float x) {
  x = x > 89.0f ? 89.0f : x;  /* beyond: infinity, or zero */
  x = x < -104.0f ? -104.0f : x;
  return cxi_exp_inner_f32(x);
}

/* 2^k (e^r - 1) + (2^k - 1), with 2^(k-1) so that k = 128 does not overflow
 * too early. */
static inline float cxi_expm1_f32(float x) {
  float y = x > 89.0f ? 89.0f : x;
  y = y < -20.0f ? -20.0f : y;
  int32_t k;
  float low;
  const float r = cxi_exp_reduce_f32(y, &k, &low);
  const float p = r + (cxi_expm1_tail_f32(r) + low);
  const float half = cxi_f32_of_bits((uint32_t)(k + 126) << 23);
  const float shifted = 2.0f * cxi_fma_f32(p, half, half - 0.5f);
  const float z = k == 0 ? p : shifted;
  return cxi_abs_f32(x) < 0x1p-25f ? x : z; /* keeps the sign of 0 */
}

static inline float cxi_log_f32(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = subnormal ? x * 0x1p23f : x;
  const int32_t k = cxi_log_exponent_f32(scaled);
  const float f = cxi_unscale_f32(scaled, k) - 1.0f;
  float y = cxi_log_inner_f32(f, (float)k - (subnormal ? 23.0f : 0.0f));
  y = x < INFINITY ? y : x;   /* infinity and NaN stay */
  y = x < 0.0f ? NAN : y;
  return x == 0.0f ? -INFINITY : y;
}

/* (1 + x) 2^-k - 1 = x 2^-k + (2^-k - 1) keeps the bits of x that 1 + x would
 * round away; from 2^25 on there are none. */
static inline float cxi_log1p_f32(float x) {
  const float u = 1.0f + x;
  const int32_t k = cxi_log_exponent_f32(u);
  const float scale = cxi_f32_of_bits((uint32_t)(127 - k) << 23);
  const float near = cxi_fma_f32(x, scale, scale - 1.0f);
  const float f = k > 24 ? cxi_unscale_f32(u, k) - 1.0f : near;
  float y = cxi_log_inner_f32(f, (float)k);
  y = cxi_abs_f32(x) < 0x1p-25f ? x : y;
  y = x < INFINITY ? y : x;
  y = x < -1.0f ? NAN : y;
  return x == -1.0f ? -INFINITY : y;
}

/* With e = e^-|x|: 1 / (1 + e), and e / (1 + e) for negative x. Three roundings
 * in a row would pass 2 units, so e and 1 + e carry a low part and the
 * quotient q is corrected by its remainder over 1 + e; 1 / (1 + e) in that
 * correction is 1 - q or q itself. */
static inline float cxi_logistic_f32(float x) {
  float y = -cxi_abs_f32(x);
  y = y < -104.0f ? -104.0f : y;
  int32_t k;
  float low;
  const float r = cxi_exp_reduce_f32(y, &k, &low);
  const float p = r + (cxi_exp_tail_f32(r) + low);
  const float high = 1.0f + p;
  const float e = cxi_scale_f32(high, k);
  const float e_low = cxi_scale_f32(p - (high - 1.0f), k);
  const float sum = 1.0f + e, sum_low = ((1.0f - sum) + e) + e_low;
  const bool negative = x < 0.0f;
  const float q = (negative ? e : 1.0f) / sum;
  const float remainder = cxi_fma_f32(-q, sum, negative ? e : 1.0f) +
                          (negative ? e_low : 0.0f);
  const float inverse = negative ? 1.0f - q : q;
  return cxi_fma_f32(inverse, cxi_fma_f32(-q, sum_low, remainder), q);
}

/* x + x^3 P(x^2) up to 0.625, relative 2^-31.4; 1 - 2 / (e^2x + 1) beyond. */
static inline float cxi_tanh_f32(float x) {
  const float a = cxi_abs_f32(x), s = x * x;
  float p = 0x1.078ad4p-9f;
  p = cxi_fma_f32(p, s, -0x1.071316p-7f);
  p = cxi_fma_f32(p, s, 0x1.62873ep-6f);
  p = cxi_fma_f32(p, s, -0x1.b9d632p-5f);
  p = cxi_fma_f32(p, s, 0x1.110fe8p-3f);
  p = cxi_fma_f32(p, s, -0x1.555552p-2f);
  const float small = cxi_fma_f32(x * s, p, x);
  const float twice = a > 10.0f ? 20.0f : 2.0f * a;
  const float large = 1.0f - 2.0f / (cxi_exp_inner_f32(twice) + 1.0f);
  const float y = a < 0.625f ? small : cxi_with_sign_f32(large, x);
  return a < 0x1p-40f ? x : y; /* x s underflows; keeps the sign of 0 */
}

/* -- Sine and cosine ------------------------------------------------------ */

/* Whether the fast forms serve: not of large, infinite and NaN operands. */
static inline bool cxi_trig_is_fast_f32(float x) {
  return cxi_abs_f32(x) <= 0x1p17f;
}

/* x = k pi/2 + r + *out_low with |r| < 0.79. pi/2 in three parts: k times the
 * first subtracts exactly, being a multiple of 2^-24 near x; the errors of the
 * product with the second and of its subtraction (Knuth's) go to the low part,
 * for near a multiple of pi/2 little else is left. */
static inline float cxi_trig_reduce_f32(float x, uint32_t *out_k,
                                        float *out_low) {
  const float sum = cxi_fma_f32(x, 0x1.45f306p-1f, CXI_ROUNDER_F32);
  const float k = sum - CXI_ROUNDER_F32;
  *out_k = (uint32_t)cxi_rounded_int_f32(sum);
  const float first = cxi_fma_f32(-k, 0x1.921fb6p0f, x);
  const float second = k * 0x1.777a5cp-25f;
  const float second_low = cxi_fma_f32(k, 0x1.777a5cp-25f, -second);
  const float r = first + second;
  const float part = r - first;
  const float lost = (first - (r - part)) + (second - part);
  *out_low = cxi_fma_f32(k, 0x1.ee59dap-50f, lost + second_low);
  return r;
}

/* sin(r + low) = r + (low + r^3 S(r^2)), relative 2^-27.9 */
static inline float cxi_sin_inner_f32(float r, float low) {
  const float s = r * r;
  float p = -0x1.994c34p-13f;
  p = cxi_fma_f32(p, s, 0x1.11076ap-7f);
  p = cxi_fma_f32(p, s, -0x1.555546p-3f);
  return r + cxi_fma_f32(r * s, p, low);
}

/* cos(r + low) = 1 - r^2/2 + (r^4 C(r^2) - r low), absolute 2^-33.1 */
static inline float cxi_cos_inner_f32(float r, float low) {
  const float s = r * r;
  float p = 0x1.99e0eep-16f;
  p = cxi_fma_f32(p, s, -0x1.6c0c1ap-10f);
  p = cxi_fma_f32(p, s, 0x1.55554ap-5f);
  const float tail = cxi_fma_f32(s * s, p, -r * low);
  return 1.0f + cxi_fma_f32(-0.5f, s, tail);
}

static inline float cxi_sin_fast_f32(float x) {
  uint32_t k;
  float low;
  const float r = cxi_trig_reduce_f32(x, &k, &low);
  const float y =
      k & 1 ? cxi_cos_inner_f32(r, low) : cxi_sin_inner_f32(r, low);
  const float turned = cxi_f32_of_bits(cxi_bits_f32(y) ^ (k & 2) << 30);
  return cxi_abs_f32(x) < 0x1p-13f ? x : turned;
}

static inline float cxi_cos_fast_f32(float x) {
  uint32_t k;
  float low;
  const float r = cxi_trig_reduce_f32(x, &k, &low);
  const float y =
      k & 1 ? cxi_sin_inner_f32(r, low) : cxi_cos_inner_f32(r, low);
  return cxi_f32_of_bits(cxi_bits_f32(y) ^ ((k + 1) & 2) << 30);
}

static inline float cxi_sin_f32(float x) {
  return cxi_trig_is_fast_f32(x) ? cxi_sin_fast_f32(x) : (float)sin((double)x);
}

static inline float cxi_cos_f32(float x) {
  return cxi_trig_is_fast_f32(x) ? cxi_cos_fast_f32(x) : (float)cos((double)x);
}

/* -- Error function ------------------------------------------------------- */

/* Up to 0.925 x + x P(x^2), relative 2^-30.0; beyond, 1 - e^(-x Q(x)) with
 * x Q(x) = -log erfc x, relative to erf 2^-28.3, and 1 from 3.93 on. */
static inline float cxi_erf_f32(float x) {
  const float a = cxi_abs_f32(x), s = x * x;
  float p = 0x1.4f674ap-14f;
  p = cxi_fma_f32(p, s, -0x1.a60a2cp-11f);
  p = cxi_fma_f32(p, s, 0x1.544a1ap-8f);
  p = cxi_fma_f32(p, s, -0x1.b8011ap-6f);
  p = cxi_fma_f32(p, s, 0x1.ce2d64p-4f);
  p = cxi_fma_f32(p, s, -0x1.81274p-2f);
  p = cxi_fma_f32(p, s, 0x1.06eba8p-3f);
  const float small = cxi_fma_f32(x, p, x);
  const float t = a > 3.93f ? 3.93f : a;
  float q = -0x1.c0c1acp-13f;
  q = cxi_fma_f32(q, t, 0x1.a56442p-9f);
  q = cxi_fma_f32(q, t, -0x1.7707c2p-6f);
  q = cxi_fma_f32(q, t, 0x1.af2736p-4f);
  q = cxi_fma_f32(q, t, 0x1.457cdap-1f);
  q = cxi_fma_f32(q, t, 0x1.20e652p0f);
  const float large = 1.0f - cxi_exp_inner_f32(-t * q);
  return a < 0.925f ? small : cxi_with_sign_f32(large, x);
}

/* x P(w), w = -log(1 - x^2), the product fused so that 1 - x^2 is rounded
 * once: in w - 2.5 up to w = 5, relative 2^-24.5; beyond in sqrt(w) - 3,
 * 2^-26.8. After M. Giles, "Approximating the erfinv function", 2010. */
static inline float cxi_erf_inv_w_f32(float x) { /* w */
  const float rest = cxi_fma_f32(-x, x, 1.0f);
  const int32_t k = cxi_log_exponent_f32(rest);
  return -cxi_log_inner_f32(cxi_unscale_f32(rest, k) - 1.0f, (float)k);
}

/* P up to w = 5. */
static inline float cxi_erf_inv_central_f32(float w) {
  const float v = w - 2.5f;
  float p = -0x1.1b0826p-27f;
  p = cxi_fma_f32(p, v, 0x1.e421e4p-26f);
  p = cxi_fma_f32(p, v, 0x1.eddf8p-22f);
  p = cxi_fma_f32(p, v, -0x1.d8eea2p-19f);
  p = cxi_fma_f32(p, v, -0x1.4bc094p-18f);
  p = cxi_fma_f32(p, v, 0x1.ca63dp-13f);
  p = cxi_fma_f32(p, v, -0x1.486702p-10f);
  p = cxi_fma_f32(p, v, -0x1.11c9a6p-8f);
  p = cxi_fma_f32(p, v, 0x1.f91e8ap-3f);
  p = cxi_fma_f32(p, v, 0x1.805c5ep0f);
  return p;
}

/* Whether the fast form serves: w is then below 4.9. */
static inline bool cxi_erf_inv_is_fast_f32(float x) {
  return cxi_abs_f32(x) <= 0.996f;
}

static inline float cxi_erf_inv_fast_f32(float x) {
  return x * cxi_erf_inv_central_f32(cxi_erf_inv_w_f32(x));
}

static inline float cxi_erf_inv_f32(float x) {
  const float w = cxi_erf_inv_w_f32(x), p = cxi_erf_inv_central_f32(w);
  const float u = __builtin_sqrtf(w < 5.0f ? 9.0f : w) - 3.0f;
  float q = 0x1.1208f2p-13f;
  q = cxi_fma_f32(q, u, -0x1.4bd806p-12f);
  q = cxi_fma_f32(q, u, -0x1.5a6e84p-14f);
  q = cxi_fma_f32(q, u, 0x1.8754cp-10f);
  q = cxi_fma_f32(q, u, -0x1.d571a2p-9f);
  q = cxi_fma_f32(q, u, 0x1.748dc8p-8f);
  q = cxi_fma_f32(q, u, -0x1.f4c52p-8f);
  q = cxi_fma_f32(q, u, 0x1.35814ep-7f);
  q = cxi_fma_f32(q, u, 0x1.006dcap0f);
  q = cxi_fma_f32(q, u, 0x1.6a9efcp1f);
  const float y = x * (w < 5.0f ? p : q);
  const float a = cxi_abs_f32(x);
  const float edge = a == 1.0f ? x * INFINITY : NAN;
  return a < 1.0f ? y : edge;
}

/* -- Roots, rounding, comparison ------------------------------------------ */

static inline float cxi_sqrt_f32(float x) {
  return __builtin_sqrtf(x);
}

static inline float cxi_rsqrt_f32(float x) {
  return 1.0f / __builtin_sqrtf(x);
}

static inline float cxi_floor_f32(float x) {
  return __builtin_floorf(x);
}

static inline float cxi_ceil_f32(float x) {
  return __builtin_ceilf(x);
}

/* Half to even: in the rounding mode that the library sets. */
static inline float cxi_round_f32(float x) {
  return __builtin_rintf(x);
}

static inline float cxi_round_away_f32(float x) {
  const float whole = __builtin_truncf(x), rest = cxi_abs_f32(x - whole);
  const float step = cxi_with_sign_f32(rest >= 0.5f ? 1.0f : 0.0f, x);
  return cxi_with_sign_f32(whole + step, x);
}

/* +-0 and NaN are their own sign. */
static inline float cxi_sign_f32(float x) {
  const float one = cxi_with_sign_f32(1.0f, x);
  return x > 0.0f || x < 0.0f ? one : x;
}

static inline float cxi_mul_f32(float a, float b) {
  return a * b;
}
static inline float cxi_add_f32(float a, float b) {
  return a + b;
}

/* NaN if either is; -0 < +0. Equal numbers differ at most in the sign of 0. */
static inline float cxi_max_f32(float a, float b) {
  const float zeros = cxi_f32_of_bits(cxi_bits_f32(a) & cxi_bits_f32(b));
  const float rest = a == b ? zeros : a + b; /* not less, not greater: NaN */
  return a > b ? a : b > a ? b : rest;
}

static inline float cxi_min_f32(float a, float b) {
  const float zeros = cxi_f32_of_bits(cxi_bits_f32(a) | cxi_bits_f32(b));
  const float rest = a == b ? zeros : a + b;
  return a < b ? a : b < a ? b : rest;
}

#endif
