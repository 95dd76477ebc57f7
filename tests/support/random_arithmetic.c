/* random_arithmetic.c - random elementwise operations, reductions, products. */
#include "support/random_function.h"

static uint32_t draw(pool *p, uint32_t n) {
  return chance_draw(&p->chance, n);
}

static const cx nothing = { 0 };
static bool missing(cx a) {
  return a.index == 0 && a.generation == 0;
}

/* -- elementwise ---------------------------------------------------------- */

static cx float_map(pool *p) {
  static const cx_op ops[] = {
    CX_OP_NEG,  CX_OP_ABS,   CX_OP_SIGN,     CX_OP_EXPM1,     CX_OP_SQUARE,
    CX_OP_SIN,  CX_OP_COS,   CX_OP_TANH,     CX_OP_ERF,       CX_OP_FLOOR,
    CX_OP_CEIL, CX_OP_ROUND, CX_OP_IS_NAN,   CX_OP_IS_FINITE, CX_OP_SIGMOID,
    CX_OP_RELU, CX_OP_SILU,  CX_OP_SOFTPLUS, CX_OP_GELU,      CX_OP_GELU_TANH
  };
  const cx_op op = ops[draw(p, sizeof ops / sizeof *ops)];
  return cx_unary_(op, pool_pick(p, A_FLOAT, 0), CX_AT);
}

static cx positive_map(pool *p) {
  static const cx_op ops[] = { CX_OP_LOG, CX_OP_LOG1P, CX_OP_SQRT, CX_OP_RSQRT,
                               CX_OP_RECIPROCAL };
  cx a = cx_add(cx_abs(pool_pick(p, A_FLOAT, 0)), 0.5);
  return cx_unary_(ops[draw(p, sizeof ops / sizeof *ops)], a, CX_AT);
}

static cx bounded_map(pool *p) {
  cx a = cx_mul(cx_sin(pool_float(p)), 0.75);
  return draw(p, 2) ? cx_erf_inv(a) : cx_exp(a);
}

static cx float_pair(pool *p) {
  static const cx_op ops[] = { CX_OP_ADD,     CX_OP_SUB,     CX_OP_MUL,
                               CX_OP_MAXIMUM, CX_OP_MINIMUM, CX_OP_LOGADDEXP };
  cx a = pool_pick(p, A_FLOAT, 0), b = pool_partner(p, a);
  const cx two[] = { draw(p, 2) ? a : b, a };
  cx made =
      cx_fold_(ops[draw(p, 6)], 2,
               two[0].index == a.index ? (const cx[]){ a, b } : two, CX_AT);
  return draw(p, 2) ? cx_sin(made) : made;
}

static cx quotient(pool *p) {
  static const cx_op ops[] = { CX_OP_DIV, CX_OP_REM, CX_OP_FLOOR_DIVIDE,
                               CX_OP_MOD };
  cx a = pool_pick(p, A_FLOAT, 0), b = pool_partner(p, a);
  const cx two[] = { a, cx_add(cx_abs(cx_cast(b, cx_type(a))), 0.5) };
  return cx_fold_(ops[draw(p, 4)], 2, two, CX_AT);
}

static cx power(pool *p) {
  cx a = pool_float(p);
  if (draw(p, 2)) return cx_power(a, (int)draw(p, 4));
  cx b = cx_cast(pool_partner(p, a), cx_type(a));
  return cx_power(cx_add(cx_abs(cx_tanh(a)), 0.5), cx_tanh(b));
}

static cx integer_pair(pool *p) {
  static const cx_op ops[] = { CX_OP_ADD, CX_OP_SUB,     CX_OP_MUL,
                               CX_OP_DIV, CX_OP_REM,     CX_OP_FLOOR_DIVIDE,
                               CX_OP_MOD, CX_OP_MAXIMUM, CX_OP_MINIMUM,
                               CX_OP_AND, CX_OP_OR,      CX_OP_XOR,
                               CX_OP_SHL, CX_OP_SHR };
  cx a = pool_pick(p, AN_INTEGER, 0), b = pool_partner(p, a);
  return cx_fold_(ops[draw(p, sizeof ops / sizeof *ops)], 2,
                  (const cx[]){ a, b }, CX_AT);
}

static cx bool_pair(pool *p) {
  static const cx_op ops[] = { CX_OP_AND, CX_OP_OR, CX_OP_XOR };
  cx a = pool_pick(p, A_BOOL, 0);
  if (!draw(p, 4)) return cx_not(a);
  return cx_fold_(ops[draw(p, 3)], 2, (const cx[]){ a, pool_partner(p, a) },
                  CX_AT);
}

static cx comparison(pool *p) {
  static const cx_op ops[] = { CX_OP_EQ, CX_OP_NE, CX_OP_LT,
                               CX_OP_LE, CX_OP_GT, CX_OP_GE };
  cx a = pool_pick(p, A_NUMBER, 0);
  return cx_fold_(ops[draw(p, 6)], 2, (const cx[]){ a, pool_partner(p, a) },
                  CX_AT);
}

static cx choice(pool *p) {
  cx a = pool_pick(p, A_NUMBER, 0), b = pool_partner(p, a);
  switch (draw(p, 3)) {
  case 0:
    return cx_where(cx_gt(a, b), a, b);
  case 1:
    return cx_where(cx_any(pool_pick(p, A_BOOL, 0)), b, a);
  default:
    return cx_clip(a, 0, b);
  }
}

static cx conversion(pool *p) {
  static const cx_dtype types[] = { CX_I32,  CX_U32, CX_BOOL, CX_F32, CX_F64,
                                    CX_BF16, CX_F16, CX_I64,  CX_I8,  CX_U8 };
  const cx_dtype type = types[draw(p, sizeof types / sizeof *types)];
  cx a = pool_pick(p, A_NUMBER | A_BOOL, 0);
  /* Derivatives stay sharp: none goes through fewer bits. */
  if (p->main == CX_F64 && type != CX_F64) a = cx_stop_gradient(a);
  return cx_cast(a, type);
}

static cx to_float(pool *p) {
  cx a = pool_pick(p, A_NUMBER | A_BOOL, 0);
  if (cx_type(a) != p->main) a = cx_stop_gradient(a);
  return cx_sin(cx_cast(a, p->main));
}

static cx bits_of_float(pool *p) {
  cx a = cx_cast(cx_stop_gradient(pool_float(p)), CX_F32);
  return cx_bitcast(a, CX_U32);
}

/* -- reductions ----------------------------------------------------------- */

static cx_dims some_axes(pool *p, cx a) {
  cx_dims axes = { .n = 0 };
  for (int i = 0; i < cx_ndim(a); i++)
    if (draw(p, 2)) axes.d[axes.n++] = draw(p, 2) ? i : i - cx_ndim(a);
  return axes;
}

/* Whether the reduction would be over nothing. */
static bool is_empty(cx a) {
  return cx_size(a) == 0;
}

static cx reduction(pool *p) {
  static const cx_red kinds[] = { CX_RED_SUM,       CX_RED_MAX, CX_RED_MIN,
                                  CX_RED_MEAN,      CX_RED_VAR, CX_RED_STD,
                                  CX_RED_LOGSUMEXP, CX_RED_NORM };
  cx a = pool_pick(p, A_FLOAT, 0);
  const uint32_t kind = draw(p, is_empty(a) ? 1 : 8);
  return cx_reduce_(
      kinds[kind], a, some_axes(p, a),
      (cx_reduce_opt){ .size_ = sizeof(cx_reduce_opt), .keepdims = draw(p, 2) },
      CX_AT);
}

static cx integer_reduction(pool *p) {
  cx a = pool_pick(p, AN_INTEGER, 0);
  if (is_empty(a) || !draw(p, 3)) return cx_sum(a, some_axes(p, a));
  return draw(p, 2) ? cx_max(a, some_axes(p, a)) : cx_min(a, some_axes(p, a));
}

static cx masked_sum(pool *p) {
  cx a = pool_float(p);
  return cx_sum(a, CX_ALL_AXES, .where = cx_gt(a, 0.1));
}

static cx place_of_extreme(pool *p) {
  cx a = pool_pick(p, A_NUMBER, 1);
  if (missing(a) || is_empty(a)) return nothing;
  const int axis = (int)draw(p, (uint32_t)cx_ndim(a));
  return draw(p, 2) ? cx_argmax(a, axis) : cx_argmin(a, axis);
}

static cx truth(pool *p) {
  cx a = pool_pick(p, A_BOOL, 0);
  return draw(p, 2) ? cx_any(a, some_axes(p, a)) : cx_all(a, some_axes(p, a));
}

/* -- products and layers -------------------------------------------------- */

static cx product(pool *p) {
  cx a = pool_pick(p, A_FLOAT, 2);
  if (missing(a) || cx_size(a) > 60) return nothing;
  cx b = cx_swap_axes(a, -1, -2);
  return draw(p, 2) ? cx_matmul(a, b) : cx_matmul(cx_sin(b), a);
}

static cx contraction(pool *p) {
  cx a = pool_pick(p, A_FLOAT, 1);
  if (missing(a) || cx_size(a) > 15) return nothing;
  cx b = cx_reshape(a, -1);
  if (draw(p, 2)) return cx_outer(b, cx_cos(b));
  return cx_einsum("i,i->", b, cx_sin(b));
}

static cx layer(pool *p) {
  cx a = pool_pick(p, A_FLOAT, 1);
  if (missing(a) || is_empty(a)) return nothing;
  const int axis = (int)draw(p, (uint32_t)cx_ndim(a));
  switch (draw(p, 4)) {
  case 0:
    return cx_softmax(a, axis);
  case 1:
    return cx_log_softmax(a, axis);
  case 2:
    return cx_layer_norm(a, cx_none(), cx_none(), .eps = 0.01);
  default:
    return cx_pick(a, cx_argmax(a, -1));
  }
}

/* -- random numbers ------------------------------------------------------- */

static cx new_key(pool *p) {
  cx key = pool_pick(p, A_KEY, 0), first, second;
  if (missing(key) || cx_ndim(key) > 0) return nothing;
  if (draw(p, 2)) return cx_fold(key, (int)draw(p, 9));
  cx_split(key, &first, &second);
  return second;
}

static cx noise(pool *p) {
  cx key = pool_pick(p, A_KEY, 0), like = pool_float(p);
  if (missing(key) || cx_ndim(key) > 0) return nothing;
  switch (draw(p, 4)) {
  case 0:
    return cx_uniform(key, p->main, cx_shape(like));
  case 1:
    return cx_normal(key, p->main, cx_shape(like));
  case 2:
    return cx_bernoulli(key, 0.5, cx_shape(like));
  default:
    return cx_randint(key, -3, 7, cx_shape(like));
  }
}

static const random_maker makers[] = {
  float_map,     float_map,
  positive_map,  bounded_map,
  float_pair,    float_pair,
  quotient,      power,
  integer_pair,  bool_pair,
  comparison,    choice,
  conversion,    to_float,
  bits_of_float, reduction,
  reduction,     integer_reduction,
  masked_sum,    place_of_extreme,
  truth,         product,
  contraction,   layer,
  new_key,       noise,
};
const random_makers random_arithmetic = { (int)(sizeof makers / sizeof *makers),
                                          makers };
