/* elementwise.h - elementwise operations. */
#ifndef CALX_ELEMENTWISE_H
#define CALX_ELEMENTWISE_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 11. Elementwise --------------------------------------------------------
 * NumPy's broadcasting. A tree operand maps the op over its leaves; the other
 * operand is a tree of the same structure, an array for every leaf or a
 * number. cx_add and cx_mul take two or more operands, left to right.
 *   CX_ESHAPE: the shapes do not broadcast. CX_EDTYPE: dtypes differ, or the
 *   operation does not take this one. CX_ETREE: the trees differ.
 */
typedef enum cx_op {
  CX_OP_NEG = 1, CX_OP_ABS, CX_OP_SIGN, CX_OP_EXP, CX_OP_EXPM1, CX_OP_LOG,
  CX_OP_LOG1P, CX_OP_SQRT, CX_OP_RSQRT, CX_OP_SQUARE, CX_OP_RECIPROCAL,
  CX_OP_SIN, CX_OP_COS, CX_OP_TANH, CX_OP_ERF, CX_OP_ERF_INV, CX_OP_FLOOR,
  CX_OP_CEIL, CX_OP_ROUND, CX_OP_IS_NAN, CX_OP_IS_FINITE, CX_OP_NOT,
  CX_OP_SIGMOID, CX_OP_RELU, CX_OP_SILU, CX_OP_SOFTPLUS, CX_OP_GELU,
  CX_OP_GELU_TANH, CX_OP_ADD, CX_OP_SUB, CX_OP_MUL, CX_OP_DIV, CX_OP_REM,
  CX_OP_FLOOR_DIVIDE, CX_OP_MOD, CX_OP_POWER, CX_OP_MAXIMUM, CX_OP_MINIMUM,
  CX_OP_LOGADDEXP, CX_OP_EQ, CX_OP_NE, CX_OP_LT, CX_OP_LE, CX_OP_GT, CX_OP_GE,
  CX_OP_AND, CX_OP_OR, CX_OP_XOR, CX_OP_SHL, CX_OP_SHR,
  CX_OP_EXP2, CX_OP_LOG2, CX_OP_TAN, CX_OP_ASIN, CX_OP_ACOS, CX_OP_ATAN,
  CX_OP_SINH, CX_OP_COSH, CX_OP_ASINH, CX_OP_ACOSH, CX_OP_ATANH, CX_OP_ERFC,
  CX_OP_CBRT, CX_OP_ATAN2,
  /* special.h */
  CX_OP_LGAMMA, CX_OP_DIGAMMA, CX_OP_I0E, CX_OP_I1E, CX_OP_I0, CX_OP_I1,
  CX_OP_LOG10, CX_OP_DEG2RAD, CX_OP_RAD2DEG, CX_OP_SINC, CX_OP_NDTR,
  CX_OP_LOG_NDTR, CX_OP_LOGIT, CX_OP_ENTR, CX_OP_POLYGAMMA, CX_OP_ZETA,
  CX_OP_IGAMMA, CX_OP_IGAMMAC, CX_OP_IGAMMA_GRAD_A, CX_OP_RANDOM_GAMMA_GRAD,
  CX_OP_BETALN, CX_OP_HYPOT, CX_OP_LOGADDEXP2, CX_OP_XLOGY, CX_OP_XLOG1PY,
  CX_OP_NDTRI,
  /* here again */
  CX_OP_ROUND_AWAY, CX_OP_SIGN_BIT, CX_OP_POPULATION_COUNT, CX_OP_CLZ,
  CX_OP_MULHI, CX_OP_SHR_LOGICAL, CX_OP_SHR_ARITHMETIC, CX_OP_NEXTAFTER,
  CX_OP_COPYSIGN, CX_OP_HEAVISIDE, CX_OP_FMAX, CX_OP_FMIN,
  /* nn.h */
  CX_OP_ELU, CX_OP_SELU, CX_OP_CELU, CX_OP_LOG_SIGMOID, CX_OP_RELU6,
  CX_OP_LEAKY_RELU, CX_OP_HARD_TANH, CX_OP_HARD_SIGMOID, CX_OP_HARD_SILU,
  CX_OP_SOFT_SIGN, CX_OP_MISH, CX_OP_SQUAREPLUS, CX_OP_SPARSE_PLUS,
  CX_OP_SPARSE_SIGMOID
} cx_op;
CX_API CX_USED cx cx_unary_(cx_op op, cx a, const char *at);
/* Operands in an array: C leaves the order of arguments open, and GCC and
 * Clang differ; in an initialiser both go from left to right. For plain calls
 * f(g(x), h(x)) a trace orders its equations canonically when it ends. */
CX_API CX_USED cx cx_fold_(cx_op op, int n, const cx *operands, const char *at);
#define CX_U(op, a) cx_unary_(op, CX_A(a), CX_AT)
#define CX_B(op, ...) cx_fold_(op, CX_AS(__VA_ARGS__), CX_AT)

/* Numbers of any dtype; unsigned and integer ones wrap. */
#define cx_neg(a) CX_U(CX_OP_NEG, a)
#define cx_abs(a) CX_U(CX_OP_ABS, a)       /* its derivative at 0 is 0 */
#define cx_sign(a) CX_U(CX_OP_SIGN, a)     /* -1, 0, 1; NaN of NaN */
#define cx_square(a) CX_U(CX_OP_SQUARE, a) /* a a */
/* Floats. Within 2 ulp over the whole range, erf, erfc and erf_inv 4; f16 and
 * bf16 are computed in f32 and rounded once. */
#define cx_exp(a) CX_U(CX_OP_EXP, a)
#define cx_expm1(a) CX_U(CX_OP_EXPM1, a)   /* exp(a) - 1, exact near 0 */
#define cx_log(a) CX_U(CX_OP_LOG, a)       /* of 0: -inf; below: NaN */
#define cx_log1p(a) CX_U(CX_OP_LOG1P, a)   /* log(1 + a), exact near 0 */
#define cx_sqrt(a) CX_U(CX_OP_SQRT, a)     /* its derivative at 0 is inf */
#define cx_rsqrt(a) CX_U(CX_OP_RSQRT, a)   /* 1 / sqrt(a) */
#define cx_reciprocal(a) CX_U(CX_OP_RECIPROCAL, a)
#define cx_sin(a) CX_U(CX_OP_SIN, a)
#define cx_cos(a) CX_U(CX_OP_COS, a)
#define cx_tan(a) CX_U(CX_OP_TAN, a)
#define cx_asin(a) CX_U(CX_OP_ASIN, a)     /* beyond 1: NaN; so acos, atanh */
#define cx_acos(a) CX_U(CX_OP_ACOS, a)
#define cx_atan(a) CX_U(CX_OP_ATAN, a)
#define cx_atan2(y, x) CX_B(CX_OP_ATAN2, y, x) /* the angle of (x, y) */
#define cx_sinh(a) CX_U(CX_OP_SINH, a)
#define cx_cosh(a) CX_U(CX_OP_COSH, a)
#define cx_tanh(a) CX_U(CX_OP_TANH, a)
#define cx_asinh(a) CX_U(CX_OP_ASINH, a)
#define cx_acosh(a) CX_U(CX_OP_ACOSH, a)   /* below 1: NaN */
#define cx_atanh(a) CX_U(CX_OP_ATANH, a)
#define cx_exp2(a) CX_U(CX_OP_EXP2, a)     /* 2^a */
#define cx_log2(a) CX_U(CX_OP_LOG2, a)
#define cx_cbrt(a) CX_U(CX_OP_CBRT, a)     /* the real cube root */
#define cx_erf(a) CX_U(CX_OP_ERF, a)
#define cx_erfc(a) CX_U(CX_OP_ERFC, a)     /* 1 - erf(a), exact far above 0 */
#define cx_erf_inv(a) CX_U(CX_OP_ERF_INV, a)
#define cx_floor(a) CX_U(CX_OP_FLOOR, a)
#define cx_ceil(a) CX_U(CX_OP_CEIL, a)
#define cx_round(a) CX_U(CX_OP_ROUND, a)   /* halves to even */
#define cx_round_away(a) CX_U(CX_OP_ROUND_AWAY, a) /* halves away from 0 */
#define cx_is_nan(a) CX_U(CX_OP_IS_NAN, a) /* -> bool */
#define cx_is_finite(a) CX_U(CX_OP_IS_FINITE, a)
/* bool: logical; integers: every bit */
#define cx_not(a) CX_U(CX_OP_NOT, a)

/* Arithmetic. Integers: cx_div and cx_rem truncate, cx_floor_divide and cx_mod
 * floor; a / 0 is -1, a rem 0 is a. */
#define cx_add(...) CX_B(CX_OP_ADD, __VA_ARGS__)
#define cx_mul(...) CX_B(CX_OP_MUL, __VA_ARGS__)
#define cx_sub(a, b) CX_B(CX_OP_SUB, a, b)
#define cx_div(a, b) CX_B(CX_OP_DIV, a, b)
#define cx_rem(a, b) CX_B(CX_OP_REM, a, b)
#define cx_floor_divide(a, b) CX_B(CX_OP_FLOOR_DIVIDE, a, b)
#define cx_mod(a, b) CX_B(CX_OP_MOD, a, b)
#define cx_power(a, b) CX_B(CX_OP_POWER, a, b) /* 0 to the 0 is 1 */
/* NaN if one is; a tie gives half of the gradient to each. */
#define cx_maximum(a, b) CX_B(CX_OP_MAXIMUM, a, b)
#define cx_minimum(a, b) CX_B(CX_OP_MINIMUM, a, b)
/* The other one if one is NaN; of equal ones b, which takes the gradient. */
#define cx_fmax(a, b) CX_B(CX_OP_FMAX, a, b)
#define cx_fmin(a, b) CX_B(CX_OP_FMIN, a, b)
/* 0 where a < 0, 1 where a > 0, b where a is 0; NaN of NaN; floats */
#define cx_heaviside(a, b) CX_B(CX_OP_HEAVISIDE, a, b)
/* log(e^a + e^b) without overflow */
#define cx_logaddexp(a, b) CX_B(CX_OP_LOGADDEXP, a, b)

/* Comparisons: bools; false if one is NaN, but for cx_ne. */
#define cx_eq(a, b) CX_B(CX_OP_EQ, a, b)
#define cx_ne(a, b) CX_B(CX_OP_NE, a, b)
#define cx_lt(a, b) CX_B(CX_OP_LT, a, b)
#define cx_le(a, b) CX_B(CX_OP_LE, a, b)
#define cx_gt(a, b) CX_B(CX_OP_GT, a, b)
#define cx_ge(a, b) CX_B(CX_OP_GE, a, b)
/* bool: logical; integers: bits. A shift by the width or more gives 0, or the
 * sign if a signed number goes right. */
#define cx_and(a, b) CX_B(CX_OP_AND, a, b)
#define cx_or(a, b) CX_B(CX_OP_OR, a, b)
#define cx_xor(a, b) CX_B(CX_OP_XOR, a, b)
#define cx_shl(a, b) CX_B(CX_OP_SHL, a, b)
#define cx_shr(a, b) CX_B(CX_OP_SHR, a, b) /* signed: fills with the sign */
#define cx_shr_logical(a, b) CX_B(CX_OP_SHR_LOGICAL, a, b)       /* with 0 */
#define cx_shr_arithmetic(a, b) CX_B(CX_OP_SHR_ARITHMETIC, a, b) /* first bit */
/* Integers: the bits that are set; the zeros before the first of them, all bits
 * of 0; the upper half of the product of twice the width. Not differentiable. */
#define cx_population_count(a) CX_U(CX_OP_POPULATION_COUNT, a)
#define cx_clz(a) CX_U(CX_OP_CLZ, a)
#define cx_mulhi(a, b) CX_B(CX_OP_MULHI, a, b)
/* Floats: whether the sign is set, of -0 and NaN too -> bool; a with b's sign,
 * which has no gradient; the number next to a in b's direction, b if they are
 * equal, not differentiable. */
#define cx_sign_bit(a) CX_U(CX_OP_SIGN_BIT, a)
#define cx_copysign(a, b) CX_B(CX_OP_COPYSIGN, a, b)
#define cx_nextafter(a, b) CX_B(CX_OP_NEXTAFTER, a, b)
/* Floats rounded, halves to even, to what a format of so many bits holds, in
 * the same dtype: cx_reduce_precision(a, 8, 7) is bf16. exponent_bits >= 1,
 * mantissa_bits >= 0, or CX_EUSER. The gradient is rounded too. */
#define cx_reduce_precision(a, exponent_bits, mantissa_bits) \
  cx_reduce_precision_((a), (exponent_bits), (mantissa_bits), CX_AT)
CX_API CX_USED cx cx_reduce_precision_(cx tree, int exponent_bits,
                                       int mantissa_bits, const char *at);

/* c ? a : b, c bool; all three broadcast. The side that is not taken gets the
 * gradient 0, which an infinite derivative behind it turns into NaN: guard the
 * operand there. */
#define cx_where(c, a, b) cx_where_(CX_AS(c, a, b), CX_AT)
/* cx_select_n(which, case 0, case 1, ...): the case of which's number, an integer
 * that is clamped to those there are, or bool for two. All broadcast. */
#define cx_select_n(which, ...) \
  cx_select_n_((which), CX_AS(__VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_select_n_(cx which, int n, const cx *cases, const char *at);
/* min(max(a, lo), hi); passes a gradient strictly inside. */
#define cx_clip(a, lo, hi) cx_clip_(CX_AS(a, lo, hi), CX_AT)
/* Another dtype. Floats to integers truncate and saturate, NaN becomes 0;
 * numbers to bool are "not 0". */
#define cx_cast(a, t) cx_cast_((a), (t), CX_AT)
/* The bits as another dtype: a narrower one adds a last axis, a wider one takes
 * it away. */
#define cx_bitcast(a, t) cx_bitcast_((a), (t), CX_AT)
CX_API CX_USED cx cx_where_(int n, const cx *operands, const char *at);
CX_API CX_USED cx cx_clip_(int n, const cx *operands, const char *at);
CX_API CX_USED cx cx_cast_(cx tree, cx_dtype type, const char *at);
CX_API CX_USED cx cx_bitcast_(cx a, cx_dtype type, const char *at);

#ifdef __cplusplus
}
#endif
#endif
