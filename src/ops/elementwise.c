/* elementwise.c - the elementwise operations on single arrays. */
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

/* -- names: one line per cx_op -------------------------------------------- */

typedef struct op_entry {
  const char *name;
  int arity;
  cxi_prim prim; /* NONE: several equations */
  bool floating; /* integers become floats under JAX's promotion */
} op_entry;

static const op_entry ops[] = {
  [CX_OP_NEG] = { "neg", 1, CXI_PRIM_neg, false },
  [CX_OP_ABS] = { "abs", 1, CXI_PRIM_abs, false },
  [CX_OP_SIGN] = { "sign", 1, CXI_PRIM_sign, false },
  [CX_OP_EXP] = { "exp", 1, CXI_PRIM_exp, true },
  [CX_OP_EXPM1] = { "expm1", 1, CXI_PRIM_expm1, true },
  [CX_OP_LOG] = { "log", 1, CXI_PRIM_log, true },
  [CX_OP_LOG1P] = { "log1p", 1, CXI_PRIM_log1p, true },
  [CX_OP_SQRT] = { "sqrt", 1, CXI_PRIM_sqrt, true },
  [CX_OP_RSQRT] = { "rsqrt", 1, CXI_PRIM_rsqrt, true },
  [CX_OP_SQUARE] = { "square", 1, CXI_PRIM_square, false },
  [CX_OP_RECIPROCAL] = { "reciprocal", 1, CXI_PRIM_NONE, true },
  [CX_OP_SIN] = { "sin", 1, CXI_PRIM_sin, true },
  [CX_OP_COS] = { "cos", 1, CXI_PRIM_cos, true },
  [CX_OP_TANH] = { "tanh", 1, CXI_PRIM_tanh, true },
  [CX_OP_ERF] = { "erf", 1, CXI_PRIM_erf, true },
  [CX_OP_ERF_INV] = { "erf_inv", 1, CXI_PRIM_erf_inv, true },
  [CX_OP_FLOOR] = { "floor", 1, CXI_PRIM_floor, true },
  [CX_OP_CEIL] = { "ceil", 1, CXI_PRIM_ceil, true },
  [CX_OP_ROUND] = { "round", 1, CXI_PRIM_NONE, true },
  [CX_OP_IS_NAN] = { "is_nan", 1, CXI_PRIM_NONE, true },
  [CX_OP_IS_FINITE] = { "is_finite", 1, CXI_PRIM_is_finite, true },
  [CX_OP_NOT] = { "not", 1, CXI_PRIM_not, false },
  [CX_OP_SIGMOID] = { "sigmoid", 1, CXI_PRIM_logistic, true },
  [CX_OP_RELU] = { "relu", 1, CXI_PRIM_NONE, false },
  [CX_OP_SILU] = { "silu", 1, CXI_PRIM_NONE, true },
  [CX_OP_SOFTPLUS] = { "softplus", 1, CXI_PRIM_NONE, true },
  [CX_OP_GELU] = { "gelu", 1, CXI_PRIM_NONE, true },
  [CX_OP_GELU_TANH] = { "gelu_tanh", 1, CXI_PRIM_NONE, true },
  [CX_OP_ADD] = { "add", 2, CXI_PRIM_add, false },
  [CX_OP_SUB] = { "sub", 2, CXI_PRIM_sub, false },
  [CX_OP_MUL] = { "mul", 2, CXI_PRIM_mul, false },
  [CX_OP_DIV] = { "div", 2, CXI_PRIM_div, false },
  [CX_OP_REM] = { "rem", 2, CXI_PRIM_rem, false },
  [CX_OP_FLOOR_DIVIDE] = { "floor_divide", 2, CXI_PRIM_NONE, false },
  [CX_OP_MOD] = { "mod", 2, CXI_PRIM_NONE, false },
  [CX_OP_POWER] = { "power", 2, CXI_PRIM_NONE, false },
  [CX_OP_MAXIMUM] = { "maximum", 2, CXI_PRIM_max, false },
  [CX_OP_MINIMUM] = { "minimum", 2, CXI_PRIM_min, false },
  [CX_OP_LOGADDEXP] = { "logaddexp", 2, CXI_PRIM_NONE, true },
  [CX_OP_EQ] = { "eq", 2, CXI_PRIM_eq, false },
  [CX_OP_NE] = { "ne", 2, CXI_PRIM_ne, false },
  [CX_OP_LT] = { "lt", 2, CXI_PRIM_lt, false },
  [CX_OP_LE] = { "le", 2, CXI_PRIM_le, false },
  [CX_OP_GT] = { "gt", 2, CXI_PRIM_gt, false },
  [CX_OP_GE] = { "ge", 2, CXI_PRIM_ge, false },
  [CX_OP_AND] = { "and", 2, CXI_PRIM_and, false },
  [CX_OP_OR] = { "or", 2, CXI_PRIM_or, false },
  [CX_OP_XOR] = { "xor", 2, CXI_PRIM_xor, false },
  [CX_OP_SHL] = { "shl", 2, CXI_PRIM_shift_left, false },
  [CX_OP_SHR] = { "shr", 2, CXI_PRIM_NONE, false },
  [CX_OP_EXP2] = { "exp2", 1, CXI_PRIM_exp2, true },
  [CX_OP_LOG2] = { "log2", 1, CXI_PRIM_log2, true },
  [CX_OP_TAN] = { "tan", 1, CXI_PRIM_tan, true },
  [CX_OP_ASIN] = { "asin", 1, CXI_PRIM_asin, true },
  [CX_OP_ACOS] = { "acos", 1, CXI_PRIM_acos, true },
  [CX_OP_ATAN] = { "atan", 1, CXI_PRIM_atan, true },
  [CX_OP_SINH] = { "sinh", 1, CXI_PRIM_sinh, true },
  [CX_OP_COSH] = { "cosh", 1, CXI_PRIM_cosh, true },
  [CX_OP_ASINH] = { "asinh", 1, CXI_PRIM_asinh, true },
  [CX_OP_ACOSH] = { "acosh", 1, CXI_PRIM_acosh, true },
  [CX_OP_ATANH] = { "atanh", 1, CXI_PRIM_atanh, true },
  [CX_OP_ERFC] = { "erfc", 1, CXI_PRIM_erfc, true },
  [CX_OP_CBRT] = { "cbrt", 1, CXI_PRIM_cbrt, true },
  [CX_OP_LGAMMA] = { "lgamma", 1, CXI_PRIM_lgamma, true },
  [CX_OP_DIGAMMA] = { "digamma", 1, CXI_PRIM_digamma, true },
  [CX_OP_I0E] = { "i0e", 1, CXI_PRIM_bessel_i0e, true },
  [CX_OP_I1E] = { "i1e", 1, CXI_PRIM_bessel_i1e, true },
  [CX_OP_I0] = { "i0", 1, CXI_PRIM_NONE, true },
  [CX_OP_I1] = { "i1", 1, CXI_PRIM_NONE, true },
  [CX_OP_LOG10] = { "log10", 1, CXI_PRIM_NONE, true },
  [CX_OP_DEG2RAD] = { "deg2rad", 1, CXI_PRIM_NONE, true },
  [CX_OP_RAD2DEG] = { "rad2deg", 1, CXI_PRIM_NONE, true },
  [CX_OP_SINC] = { "sinc", 1, CXI_PRIM_NONE, true },
  [CX_OP_NDTR] = { "ndtr", 1, CXI_PRIM_NONE, true },
  [CX_OP_LOG_NDTR] = { "log_ndtr", 1, CXI_PRIM_NONE, true },
  [CX_OP_NDTRI] = { "ndtri", 1, CXI_PRIM_NONE, true },
  [CX_OP_LOGIT] = { "logit", 1, CXI_PRIM_NONE, true },
  [CX_OP_ENTR] = { "entr", 1, CXI_PRIM_NONE, true },
  [CX_OP_ATAN2] = { "atan2", 2, CXI_PRIM_atan2, true },
  [CX_OP_POLYGAMMA] = { "polygamma", 2, CXI_PRIM_polygamma, true },
  [CX_OP_ZETA] = { "zeta", 2, CXI_PRIM_zeta, true },
  [CX_OP_IGAMMA] = { "igamma", 2, CXI_PRIM_igamma, true },
  [CX_OP_IGAMMAC] = { "igammac", 2, CXI_PRIM_igammac, true },
  [CX_OP_IGAMMA_GRAD_A] = { "igamma_grad_a", 2, CXI_PRIM_igamma_grad_a, true },
  [CX_OP_RANDOM_GAMMA_GRAD] = { "random_gamma_grad", 2,
                                CXI_PRIM_random_gamma_grad, true },
  [CX_OP_BETALN] = { "betaln", 2, CXI_PRIM_NONE, true },
  [CX_OP_HYPOT] = { "hypot", 2, CXI_PRIM_NONE, true },
  [CX_OP_LOGADDEXP2] = { "logaddexp2", 2, CXI_PRIM_NONE, true },
  [CX_OP_XLOGY] = { "xlogy", 2, CXI_PRIM_NONE, true },
  [CX_OP_XLOG1PY] = { "xlog1py", 2, CXI_PRIM_NONE, true },
  [CX_OP_ROUND_AWAY] = { "round_away", 1, CXI_PRIM_NONE, true },
  [CX_OP_SIGN_BIT] = { "sign_bit", 1, CXI_PRIM_NONE, true },
  [CX_OP_POPULATION_COUNT] = { "population_count", 1, CXI_PRIM_population_count,
                               false },
  [CX_OP_CLZ] = { "clz", 1, CXI_PRIM_clz, false },
  [CX_OP_MULHI] = { "mulhi", 2, CXI_PRIM_mulhi, false },
  [CX_OP_SHR_LOGICAL] = { "shr_logical", 2, CXI_PRIM_shift_right_logical,
                          false },
  [CX_OP_SHR_ARITHMETIC] = { "shr_arithmetic", 2,
                             CXI_PRIM_shift_right_arithmetic, false },
  [CX_OP_NEXTAFTER] = { "nextafter", 2, CXI_PRIM_nextafter, true },
  [CX_OP_COPYSIGN] = { "copysign", 2, CXI_PRIM_NONE, true },
  [CX_OP_HEAVISIDE] = { "heaviside", 2, CXI_PRIM_NONE, true },
  [CX_OP_FMAX] = { "fmax", 2, CXI_PRIM_NONE, false },
  [CX_OP_FMIN] = { "fmin", 2, CXI_PRIM_NONE, false },
  [CX_OP_ELU] = { "elu", 1, CXI_PRIM_NONE, true },
  [CX_OP_SELU] = { "selu", 1, CXI_PRIM_NONE, true },
  [CX_OP_CELU] = { "celu", 1, CXI_PRIM_NONE, true },
  [CX_OP_LOG_SIGMOID] = { "log_sigmoid", 1, CXI_PRIM_NONE, true },
  [CX_OP_LEAKY_RELU] = { "leaky_relu", 1, CXI_PRIM_NONE, true },
  [CX_OP_RELU6] = { "relu6", 1, CXI_PRIM_NONE, true },
  [CX_OP_HARD_TANH] = { "hard_tanh", 1, CXI_PRIM_NONE, true },
  [CX_OP_HARD_SIGMOID] = { "hard_sigmoid", 1, CXI_PRIM_NONE, true },
  [CX_OP_HARD_SILU] = { "hard_silu", 1, CXI_PRIM_NONE, true },
  [CX_OP_SOFT_SIGN] = { "soft_sign", 1, CXI_PRIM_NONE, true },
  [CX_OP_MISH] = { "mish", 1, CXI_PRIM_NONE, true },
  [CX_OP_SQUAREPLUS] = { "squareplus", 1, CXI_PRIM_NONE, true },
  [CX_OP_SPARSE_PLUS] = { "sparse_plus", 1, CXI_PRIM_NONE, true },
  [CX_OP_SPARSE_SIGMOID] = { "sparse_sigmoid", 1, CXI_PRIM_NONE, true },
};
enum { N_OPS = sizeof ops / sizeof *ops };

static bool known(cx_op op) {
  return (unsigned)op < N_OPS && ops[op].name != NULL;
}
const char *cxi_op_name(cx_op op) {
  return known(op) ? ops[op].name : "?";
}
int cxi_op_arity(cx_op op) {
  return known(op) ? ops[op].arity : 0;
}
cx_op cxi_op_find(const char *name) {
  for (int i = 1; i < N_OPS; i++)
    if (ops[i].name && strcmp(ops[i].name, name) == 0) return (cx_op)i;
  return 0;
}

static bool is_float(cx a) {
  return cxi_dtype_is_float(cxi_dtype_at(a));
}
static bool is_bool(cx a) {
  return cxi_dtype_at(a) == CX_BOOL;
}

/* -- one operand ---------------------------------------------------------- */

/* max(x, 0) with NaN handed on and derivative 0 at 0. */
static cx relu(cx x) {
  cx zero = cxi_number_like(x, 0);
  return cxi_select(cxi_compare(CXI_PRIM_le, x, zero), x,
                    cxi_zeros(cxi_type_at(x)));
}

/* What JAX's promotion makes of an operand that is no float. */
static cx promoted_jax(cx_op op, cx a) {
  if (is_bool(a) && (op == CX_OP_SQUARE || op == CX_OP_RELU))
    return cxi_convert(a, CX_I32);
  if (!ops[op].floating || op == CX_OP_ROUND || op == CX_OP_ROUND_AWAY)
    return a;
  return cxi_convert(a, cxi_inexact_jax(cxi_dtype_at(a)));
}
/* Integers are whole; what is unsigned or bool is not negative. */
static bool is_identity(cx_op op, cx a) {
  if (op == CX_OP_ABS && cxi_dtype_kind(cxi_dtype_at(a)) == CXI_UNSIGNED)
    return true;
  if (cxi_promotion_now() != CX_PROMOTE_JAX || is_float(a)) return false;
  return op == CX_OP_FLOOR || op == CX_OP_CEIL ||

         ((op == CX_OP_ROUND || op == CX_OP_ROUND_AWAY) && !is_bool(a)) ||
         (op == CX_OP_ABS && is_bool(a));
}

cx cxi_op_unary(cx_op op, cx a) {
  cx poison;
  if (!known(op) || ops[op].arity != 1)
    return cxi_fail(CX_EUSER, "no operation of one operand has number %d",
                    (int)op);
  if (!cxi_operand(ops[op].name, &a, &poison)) return poison;
  if (is_identity(op, a)) return a;
  if (cxi_promotion_now() == CX_PROMOTE_JAX && !is_float(a))
    a = promoted_jax(op, a);
  if (ops[op].prim) return cxi_unary(ops[op].prim, a);
  if (ops[op].floating && !is_float(a))
    return cxi_fail(CX_EDTYPE, "%s: needs a floating dtype, got %s",
                    ops[op].name, cxi_shown_of(a).text);
  switch (op) {
  case CX_OP_RECIPROCAL:
    return cxi_div(cxi_number_like(a, 1), a);
  case CX_OP_ROUND:
    return cxi_round(a, false);
  case CX_OP_ROUND_AWAY:
    return cxi_round(a, true);
  case CX_OP_IS_NAN:
    return cxi_compare(CXI_PRIM_ne, a, a);
  case CX_OP_RELU:
    return relu(a);
  case CX_OP_SILU:
    return cxi_mul(a, cxi_unary(CXI_PRIM_logistic, a));
  case CX_OP_SOFTPLUS:
    return cxi_op_fold(CX_OP_LOGADDEXP, 2, (cx[]){ a, cxi_number_like(a, 0) });
  case CX_OP_GELU:
    return cxi_gelu(a);
  case CX_OP_GELU_TANH:
    return cxi_gelu_tanh(a);
  default:
    return cxi_special_unary(op, a);
  }
}

/* -- two operands --------------------------------------------------------- */

/* Quotient and remainder that round towards minus infinity: the truncated
 * ones are one apart where the remainder's sign is not the divisor's. */
static cx differs_in_sign(cx remainder, cx b) {
  cx zero = cxi_number_like(remainder, 0);
  cx not_zero = cxi_compare(CXI_PRIM_ne, remainder, zero);
  cx signs = cxi_compare(CXI_PRIM_ne, cxi_compare(CXI_PRIM_lt, remainder, zero),
                         cxi_compare(CXI_PRIM_lt, b, zero));
  return cxi_binary(CXI_PRIM_and, not_zero, signs);
}
static cx floor_mod(cx a, cx b) {
  cx r = cxi_binary(CXI_PRIM_rem, a, b);
  return cxi_select(differs_in_sign(r, b), r, cxi_add(r, b));
}
static cx floor_divide(cx a, cx b) {
  cx r = cxi_binary(CXI_PRIM_rem, a, b);
  cx q = is_float(a) ? cxi_div(cxi_sub(a, r), b) : cxi_div(a, b);
  q = cxi_select(differs_in_sign(r, b), q, cxi_offset(q, -1));
  if (!is_float(a)) return q;
  /* By 0 the remainder is no number; the quotient is infinite, as in a / b. */
  cx by_zero = cxi_compare(CXI_PRIM_eq, b, cxi_number_like(b, 0));
  return cxi_select(by_zero, cxi_round(q, false), cxi_div(a, b));
}

/* log(e^a + e^b) = max + log1p(e^-|a - b|); equal infinities give their sum. */
static cx logaddexp(cx a, cx b) {
  cx difference = cxi_sub(a, b);
  cx not_a_number = cxi_compare(CXI_PRIM_ne, difference, difference);
  cx tail = cxi_unary(
      CXI_PRIM_log1p,
      cxi_unary(CXI_PRIM_exp, cxi_neg(cxi_unary(CXI_PRIM_abs, difference))));
  return cxi_select(not_a_number, cxi_add(cxi_max(a, b), tail), cxi_add(a, b));
}

/* Integers to integer powers by repeated squaring over the exponent's bits;
 * a negative exponent gives 0, or +-1 for a base of +-1. */
static cx integer_power(cx a, cx b) {
  cx_dtype type = cxi_dtype_at(a);
  cx zero = cxi_number_like(b, 0), one = cxi_number_like(b, 1);
  cx result = cxi_full(cxi_type_at(a), 1), square = a, left = b;
  for (size_t bit = 0; bit < 8 * cxi_dtype_bytes(type); bit++) {
    cx odd =
        cxi_compare(CXI_PRIM_ne, cxi_binary(CXI_PRIM_and, left, one), zero);
    result = cxi_select(odd, result, cxi_mul(result, square));
    square = cxi_mul(square, square);
    left = cxi_binary(CXI_PRIM_shift_right_logical, left, one);
  }
  if (cxi_dtype_kind(type) == CXI_UNSIGNED) return result;
  cx inverse = cxi_div(cxi_number_like(a, 1), a);
  cx is_unit = cxi_compare(CXI_PRIM_eq, cxi_mul(a, a), cxi_number_like(a, 1));
  cx odd = cxi_compare(CXI_PRIM_ne, cxi_binary(CXI_PRIM_and, b, one), zero);
  cx unit = cxi_select(odd, cxi_full(cxi_type_at(a), 1), inverse);
  cx negative = cxi_select(is_unit, cxi_zeros(cxi_type_at(a)), unit);
  return cxi_select(cxi_compare(CXI_PRIM_lt, b, zero), result, negative);
}
/* The C integer that a weak operand is. */
static bool static_integer(cx a, int64_t *out) {
  cxi_info info;
  cxi_emitter *e = cxi_emitter_now();
  if (!cxi_given(a) || !e->info(e, a, &info) || !info.weak) return false;
  if (cxi_type_dtype(info.type) != CX_I64) return false;
  memcpy(out, &info.bits, sizeof *out);
  return true;
}
static cx power(cx a, cx b) {
  if (is_float(a)) return cxi_binary(CXI_PRIM_pow, a, b);
  if (is_bool(a))
    return cxi_fail(CX_EDTYPE, "power: no powers of bool: %s",
                    cxi_shown_of(a).text);
  return integer_power(a, b);
}

/* On bool, sums and products are or and and. */
static cxi_prim logical(cx_op op) {
  switch (op) {
  case CX_OP_ADD:
  case CX_OP_MAXIMUM:
  case CX_OP_FMAX:
    return CXI_PRIM_or;
  case CX_OP_MUL:
  case CX_OP_MINIMUM:
  case CX_OP_FMIN:
    return CXI_PRIM_and;
  default:
    return CXI_PRIM_NONE;
  }
}
static cx apply(cx_op op, cx a, cx b) {
  if (is_bool(a) && logical(op)) return cxi_binary(logical(op), a, b);
  switch (op) {
  case CX_OP_EQ:
  case CX_OP_NE:
  case CX_OP_LT:
  case CX_OP_LE:
  case CX_OP_GT:
  case CX_OP_GE:
    return cxi_compare(ops[op].prim, a, b);
  case CX_OP_FLOOR_DIVIDE:
    return floor_divide(a, b);
  case CX_OP_MOD:
    return floor_mod(a, b);
  case CX_OP_POWER:
    return power(a, b);
  case CX_OP_LOGADDEXP:
    return logaddexp(a, b);
  case CX_OP_SHR:
    return cxi_binary(cxi_dtype_kind(cxi_dtype_at(a)) == CXI_SIGNED
                          ? CXI_PRIM_shift_right_arithmetic
                          : CXI_PRIM_shift_right_logical,
                      a, b);
  default:
    return ops[op].prim ? cxi_binary(ops[op].prim, a, b)
                        : cxi_special_binary(op, a, b);
  }
}
/* Operations that have no sense for bool: JAX's promotion makes i32 of it. */
static bool counts(cx_op op) {
  return op == CX_OP_FLOOR_DIVIDE || op == CX_OP_MOD || op == CX_OP_POWER ||
         op == CX_OP_REM || op == CX_OP_DIV || op == CX_OP_SHL ||
         op == CX_OP_SHR || op == CX_OP_SHR_LOGICAL ||
         op == CX_OP_SHR_ARITHMETIC || op == CX_OP_MULHI;
}
static cx binary(cx_op op, cx a, cx b) {
  const char *name = ops[op].name;
  cx two[2] = { a, b }, poison;
  int64_t exponent;
  if (op == CX_OP_POWER && static_integer(b, &exponent) &&
      (exponent >= 0 || is_float(a))) {
    if (!cxi_operand(name, &a, &poison)) return poison;
    if (is_bool(a) && cxi_promotion_now() == CX_PROMOTE_JAX)
      a = cxi_convert(a, CX_I32);
    return cxi_integer_pow(a, exponent);
  }
  if (!cxi_promote(name, 2, two, &poison)) return poison;
  cx_dims shape;
  if (!cxi_broadcast_shape(name, 2, two, &shape, &poison)) return poison;
  a = cxi_spread(two[0], shape), b = cxi_spread(two[1], shape);
  if (ops[op].floating && !is_float(a)) {
    if (cxi_promotion_now() != CX_PROMOTE_JAX)
      return cxi_fail(CX_EDTYPE, "%s: needs floating dtypes, got %s", name,
                      cxi_shown_of(a).text);
    a = promoted_jax(op, a), b = promoted_jax(op, b);
  }
  if (cxi_promotion_now() == CX_PROMOTE_JAX && counts(op) && is_bool(a))
    a = cxi_convert(a, CX_I32), b = cxi_convert(b, CX_I32);
  /* (1) and rank 0: an elementwise equation keeps the larger shape only */
  if (shape.n > 0 && cxi_rank_at(a) == 0 && cxi_rank_at(b) == 0)
    a = cxi_broadcast_to(a, shape);
  return apply(op, a, b);
}
/* Several C numbers before the first array take its dtype at once: in
 * cx_mul(0.1, 0.2, x) with x of f64, 0.1 * 0.2 is not rounded to f32. */
static cx number_beside(cx_op op, cx number, cx array) {
  cx two[2] = { number, array }, poison;
  return cxi_promote(ops[op].name, 2, two, &poison) ? two[0] : poison;
}
cx cxi_op_fold(cx_op op, int n, const cx *operands) {
  if (!known(op) || ops[op].arity != 2 || n < 2)
    return cxi_fail(CX_EUSER, "no operation of %d operands has number %d", n,
                    (int)op);
  int numbers = 0;
  while (numbers < n && cxi_is_weak(operands[numbers])) numbers++;
  if (numbers < 2 || numbers == n) numbers = 0;
  cx result = { 0 };
  for (int i = 0; i < n; i++) {
    cx a = operands[i];
    if (i < numbers) a = number_beside(op, a, operands[numbers]);
    result = i == 0 ? a : binary(op, result, a);
  }
  return result;
}

/* -- selection, clipping, casts ------------------------------------------- */

cx cxi_op_where(cx condition, cx a, cx b) {
  cx two[2] = { a, b }, all[3], poison;
  cx_dims shape;
  if (!cxi_operand("where", &condition, &poison)) return poison;
  if (!is_bool(condition)) {
    if (cxi_promotion_now() != CX_PROMOTE_JAX)
      return cxi_fail(CX_EDTYPE, "where: the condition must be bool, got %s",
                      cxi_shown_of(condition).text);
    condition =
        cxi_compare(CXI_PRIM_ne, condition, cxi_number_like(condition, 0));
  }
  if (!cxi_promote("where", 2, two, &poison)) return poison;
  all[0] = condition, all[1] = two[0], all[2] = two[1];
  if (!cxi_broadcast_shape("where", 3, all, &shape, &poison)) return poison;
  cx which = cxi_spread(condition, shape);
  cx if_true = cxi_spread(two[0], shape), if_false = cxi_spread(two[1], shape);
  if (shape.n > 0 && cxi_rank_at(if_true) == 0 && cxi_rank_at(if_false) == 0)
    if_false = cxi_broadcast_to(if_false, shape);
  return cxi_select(which, if_false, if_true);
}
cx cxi_op_clip(cx a, cx lo, cx hi) {
  cx all[3] = { a, lo, hi }, poison;
  if (!cxi_promote("clip", 3, all, &poison)) return poison;
  cx_dims shape;
  if (!cxi_broadcast_shape("clip", 3, all, &shape, &poison)) return poison;
  return cxi_clamp(cxi_spread(all[1], shape), cxi_broadcast_to(all[0], shape),
                   cxi_spread(all[2], shape));
}
cx cxi_op_reduce_precision(cx a, int exponent_bits, int mantissa_bits) {
  cx poison;
  if (!cxi_operand("reduce_precision", &a, &poison)) return poison;
  if (exponent_bits < 1 || mantissa_bits < 0)
    return cxi_fail(CX_EUSER,
                    "reduce_precision: needs exponent bits >= 1 and mantissa "
                    "bits >= 0, got %d and %d",
                    exponent_bits, mantissa_bits);
  return cxi_reduce_precision(a, exponent_bits, mantissa_bits);
}
cx cxi_op_cast(cx a, cx_dtype type) {
  cx poison;
  if (!cxi_dtype_valid(type))
    return cxi_fail(CX_EDTYPE, "cast: unsupported dtype %d", (int)type);
  if (type == CX_F64) a = cxi_strong("cast", a, type); /* not through f32 */
  if (!cxi_operand("cast", &a, &poison)) return poison;
  return cxi_convert(a, type);
}
cx cxi_op_full_like(cx a, cx value) {
  cx poison;
  if (!cxi_operand("full_like", &a, &poison)) return poison;
  if (cxi_is_poison(value)) return value;
  cx_dtype type = cxi_dtype_at(a);
  if (type == CX_KEY) return cxi_zeros(cxi_type_at(a));
  value = cxi_strong("full_like", value, type);
  if (cxi_is_poison(value)) return value;
  if (cxi_rank_at(value) != 0)
    return cxi_fail(CX_ESHAPE, "full_like: the value must be a number, got %s",
                    cxi_shown_of(value).text);
  return cxi_broadcast_scalar(cxi_convert(value, type), cxi_shape_at(a));
}
cx cxi_op_stop_gradient(cx a) {
  cx poison;
  if (!cxi_operand("stop_gradient", &a, &poison)) return poison;
  return cxi_stop_gradient(a);
}
cx cxi_op_checkpoint_name(cx a, const char *name) {
  cx poison;
  if (!cxi_operand("checkpoint_name", &a, &poison)) return poison;
  return cxi_emit1(CXI_PRIM_name,
                   &(cxi_name_params){ .name = cxi_name_of(name ? name : "") },
                   1, &a);
}
cx cx_bitcast_(cx a, cx_dtype type, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_dtype_valid(type))
    return cxi_leave(
        before,
        cxi_fail(CX_EDTYPE, "bitcast: unsupported dtype %d", (int)type));
  if (!cxi_operand("bitcast", &a, &poison)) return cxi_leave(before, poison);
  return cxi_leave(before, cxi_bitcast(a, type));
}
