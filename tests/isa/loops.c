/* loops.c - a loop over each f32 function, made vector code where the
 * instruction set and the level of optimisation allow. */
#include "loops.h"

#include <stddef.h>

#include "base/half.h"
#include "base/isa.h"
#include "base/math.h"

#define UNARY(name, f)                                                     \
  static void name(const float *x, const float *y, float *restrict out,    \
                   int64_t n) {                                            \
    (void)y;                                                               \
    for (int64_t i = 0; i < n; i++) out[i] = f(x[i]);                      \
  }
#define BINARY(name, f)                                                    \
  static void name(const float *x, const float *y, float *restrict out,    \
                   int64_t n) {                                            \
    for (int64_t i = 0; i < n; i++) out[i] = f(x[i], y[i]);                \
  }

static inline float through_f16(float x) {
  return cxi_f16_widen(cxi_f16_round(x));
}

static inline float through_bf16(float x) {
  return cxi_bf16_widen(cxi_bf16_round(x));
}

static inline float fma_square(float x, float y) {
  return cxi_fma_f32(x, y, -x);
}

/* The fast forms where they serve, as a kernel would use them. */
static inline float sin_fast(float x) {
  return cxi_sin_fast_f32(cxi_trig_is_fast_f32(x) ? x : 1.0f);
}

static inline float cos_fast(float x) {
  return cxi_cos_fast_f32(cxi_trig_is_fast_f32(x) ? x : 1.0f);
}

static inline float tan_fast(float x) {
  return cxi_tan_fast_f32(cxi_trig_is_fast_f32(x) ? x : 1.0f);
}

UNARY(exp_, cxi_exp_f32)
UNARY(expm1_, cxi_expm1_f32)
UNARY(log_, cxi_log_f32)
UNARY(log1p_, cxi_log1p_f32)
UNARY(logistic_, cxi_logistic_f32)
UNARY(tanh_, cxi_tanh_f32)
UNARY(sin_, sin_fast)
UNARY(cos_, cos_fast)
UNARY(erf_, cxi_erf_f32)
UNARY(erf_inv_, cxi_erf_inv_f32)
UNARY(exp2_, cxi_exp2_f32)
UNARY(log2_, cxi_log2_f32)
UNARY(tan_, tan_fast)
UNARY(asin_, cxi_asin_f32)
UNARY(acos_, cxi_acos_f32)
UNARY(atan_, cxi_atan_f32)
UNARY(sinh_, cxi_sinh_f32)
UNARY(cosh_, cxi_cosh_f32)
UNARY(asinh_, cxi_asinh_f32)
UNARY(acosh_, cxi_acosh_f32)
UNARY(atanh_, cxi_atanh_f32)
UNARY(erfc_, cxi_erfc_f32)
UNARY(cbrt_, cxi_cbrt_f32)
UNARY(sqrt_, cxi_sqrt_f32)
UNARY(rsqrt_, cxi_rsqrt_f32)
UNARY(floor_, cxi_floor_f32)
UNARY(ceil_, cxi_ceil_f32)
UNARY(round_, cxi_round_f32)
UNARY(round_away_, cxi_round_away_f32)
UNARY(sign_, cxi_sign_f32)
UNARY(f16_, through_f16)
UNARY(bf16_, through_bf16)
BINARY(pow_, cxi_pow_f32)
BINARY(atan2_, cxi_atan2_f32)
BINARY(rem_, cxi_rem_f32)
BINARY(max_, cxi_max_f32)
BINARY(min_, cxi_min_f32)
BINARY(fma_, fma_square)

const loop CXI_FOR_ISA(loops)[] = {
  { "exp", exp_ },     { "expm1", expm1_ },       { "log", log_ },
  { "log1p", log1p_ }, { "logistic", logistic_ }, { "tanh", tanh_ },
  { "sin", sin_ },     { "cos", cos_ },           { "erf", erf_ },
  { "erf_inv", erf_inv_ }, { "sqrt", sqrt_ },     { "rsqrt", rsqrt_ },
  { "floor", floor_ }, { "ceil", ceil_ },         { "round", round_ },
  { "round_away", round_away_ }, { "sign", sign_ }, { "f16", f16_ },
  { "bf16", bf16_ },   { "pow", pow_ },           { "rem", rem_ },
  { "max", max_ },     { "min", min_ },           { "fma", fma_ },
  { "exp2", exp2_ },
  { "log2", log2_ },
  { "tan", tan_ },
  { "asin", asin_ },
  { "acos", acos_ },
  { "atan", atan_ },
  { "sinh", sinh_ },
  { "cosh", cosh_ },
  { "asinh", asinh_ },
  { "acosh", acosh_ },
  { "atanh", atanh_ },
  { "erfc", erfc_ },
  { "cbrt", cbrt_ },
  { "atan2", atan2_ },
  { NULL, NULL },
};
