/* special.c - functions made of the elementary and special ones. */
#include "ops/ops.h"

#include <math.h>

static cx unary(cxi_prim prim, cx x) {
  return cxi_unary(prim, x);
}
static cx like(cx x, double number) {
  return cxi_full(cxi_type_at(x), number);
}
/* number - x */
static cx less(double number, cx x) {
  return cxi_sub(cxi_number_like(x, number), x);
}
static cx compare(cxi_prim prim, cx x, double number) {
  return cxi_compare(prim, x, cxi_number_like(x, number));
}
/* c[0] + c[1] x + ... */
static cx polynomial(cx x, int n, const double *c) {
  cx sum = like(x, c[n - 1]);
  for (int i = n - 2; i >= 0; i--) sum = cxi_offset(cxi_mul(sum, x), c[i]);
  return sum;
}

/* -- one operand ---------------------------------------------------------- */

/* Up to pi |x| = 1/2 by its series, whose derivatives at 0 are right; beyond,
 * by the quotient. */
static cx sinc(cx x) {
  static const double series[] = { 1,
                                   -1 / 6.0,
                                   1 / 120.0,
                                   -1 / 5040.0,
                                   1 / 362880.0,
                                   -1 / 39916800.0,
                                   1 / 6227020800.0,
                                   -1 / 1307674368000.0 };
  cx y = cxi_scale(x, M_PI);
  cx near = compare(CXI_PRIM_lt, unary(CXI_PRIM_abs, y), 0.5);
  cx inner = cxi_select(near, like(x, 0), y);
  cx outer = cxi_select(near, y, like(x, 1));
  cx sum = polynomial(unary(CXI_PRIM_square, inner), 8, series);
  return cxi_select(near, cxi_div(unary(CXI_PRIM_sin, outer), outer), sum);
}

static cx ndtr(cx x) {
  return cxi_scale(unary(CXI_PRIM_erfc, cxi_scale(x, -M_SQRT1_2)), 0.5);
}

/* Above 0 log1p of minus the other tail; below -12, or -4 in f16, whose numbers
 * end before the tail does, the asymptotic series
 * -x^2/2 - log(-x sqrt(2 pi)) + log(1 - z (1 - 3 z (1 - 5 z ...))), z = 1/x^2
 * (Abramowitz & Stegun 26.2.12; so nested, no factor overflows f16). */
static cx log_ndtr(cx x) {
  const double border = cxi_dtype_at(x) == CX_F16 ? -4 : -12;
  cx up = compare(CXI_PRIM_gt, x, 0), far = compare(CXI_PRIM_lt, x, border);
  cx above = cxi_select(up, like(x, 1), x);
  cx middle = cxi_clamp(cxi_number_like(x, border), x, cxi_number_like(x, 0));
  cx below = cxi_select(far, like(x, border - 1), x);
  cx z = cxi_div(cxi_number_like(x, 1), unary(CXI_PRIM_square, below));
  cx tail_series = like(x, 1);
  for (int k = 13; k > 0; k -= 2)
    tail_series = less(1, cxi_mul(cxi_scale(z, k), tail_series));
  cx log_tail = unary(CXI_PRIM_log, tail_series);
  cx lead = cxi_add(cxi_scale(unary(CXI_PRIM_square, below), 0.5),
                    unary(CXI_PRIM_log, cxi_neg(below)));
  cx tail = cxi_sub(log_tail, cxi_offset(lead, 0.91893853320467274));
  cx high = unary(CXI_PRIM_log1p, cxi_neg(ndtr(cxi_neg(above))));
  cx result = cxi_select(up, unary(CXI_PRIM_log, ndtr(middle)), high);
  result = cxi_select(far, result, tail);
  return cxi_select(cxi_compare(CXI_PRIM_ne, x, x), result, x);
}

/* Quotients of polynomials of degree 7 (Wichura 1988, AS 241): of q = p - 1/2
 * up to 0.425 in 0.180625 - q^2, else of r = sqrt(-log min(p, 1 - p)), in
 * r - 1.6 up to 5, in r - 5 beyond. */
static const double ndtri_table[3][2][8] = {
  { { 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
      3.3430575583588128105e4, 2.5090809287301226727e3 },
    { 1, 4.2313330701600911252e1, 6.8718700749205790830e2,
      5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
      2.8729085735721942674e4, 5.2264952788528545610e3 } },
  { { 1.42343711074968357734e0, 4.63033784615654529590e0,
      5.76949722146069140550e0, 3.64784832476320460504e0,
      1.27045825245236838258e0, 2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4 },
    { 1, 2.05319162663775882187e0, 1.67638483018380384940e0,
      6.89767334985100004550e-1, 1.48103976427480074590e-1,
      1.51986665636164571966e-2, 5.47593808499534494600e-4,
      1.05075007164441684324e-9 } },
  { { 6.65790464350110377720e0, 5.46378491116411436990e0,
      1.78482653991729133580e0, 2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7 },
    { 1, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
      1.48753612908506148525e-2, 7.86869131145613259100e-4,
      1.84631831751005468180e-5, 1.42151175831644588870e-7,
      2.04426310338993978564e-15 } }
};
static cx ndtri_quotient(int part, cx x) {
  return cxi_div(polynomial(x, 8, ndtri_table[part][0]),
                 polynomial(x, 8, ndtri_table[part][1]));
}
static cx ndtri(cx given) {
  const cx_dtype type = cxi_dtype_at(given);
  const cx p = cxi_convert(given, type == CX_F64 ? CX_F64 : CX_F32);
  const cx q = cxi_offset(p, -0.5);
  const cx central = compare(CXI_PRIM_le, unary(CXI_PRIM_abs, q), 0.425);
  const cx inner = cxi_select(central, like(q, 0), q);
  const cx middle = cxi_mul(
      inner, ndtri_quotient(0, less(0.180625, unary(CXI_PRIM_square, inner))));
  /* the lesser tail; where there is none, one for which all is finite */
  const cx tail = cxi_min(p, less(1, p));
  const cx open =
      cxi_binary(CXI_PRIM_or, central, compare(CXI_PRIM_le, tail, 0));
  const cx safe = cxi_select(open, tail, like(p, 0.01));
  const cx r = unary(CXI_PRIM_sqrt, cxi_neg(unary(CXI_PRIM_log, safe)));
  const cx far = compare(CXI_PRIM_gt, r, 5);
  const cx near_r = cxi_select(far, r, like(r, 5));
  const cx far_r = cxi_select(far, like(r, 5), r);
  const cx size = cxi_select(far, ndtri_quotient(1, cxi_offset(near_r, -1.6)),
                             ndtri_quotient(2, cxi_offset(far_r, -5)));
  const cx low = compare(CXI_PRIM_lt, q, 0);
  cx x = cxi_select(low, size, cxi_neg(size));
  x = cxi_select(central, x, middle);
  x = cxi_select(compare(CXI_PRIM_eq, p, 0), x, like(p, -INFINITY));
  x = cxi_select(compare(CXI_PRIM_eq, p, 1), x, like(p, INFINITY));
  const cx inside = cxi_binary(CXI_PRIM_and, compare(CXI_PRIM_ge, p, 0),
                               compare(CXI_PRIM_le, p, 1));
  return cxi_convert(cxi_select(inside, like(p, (double)NAN), x), type);
}

/* x log y, or x log1p(y) with low = -1; NaN if y is. Where x is 0 and the
 * logarithm is not finite, that counts as 0 so that the product and its
 * derivatives are. */
static cx times_log(cx x, cx y, double low) {
  cx at_most = compare(CXI_PRIM_le, y, low);
  cx infinite = compare(CXI_PRIM_eq, y, INFINITY);
  cx guarded = cxi_binary(CXI_PRIM_and, compare(CXI_PRIM_eq, x, 0),
                          cxi_binary(CXI_PRIM_or, at_most, infinite));
  cx safe = cxi_select(guarded, y, like(y, low + 1));
  return cxi_mul(x, unary(low < 0 ? CXI_PRIM_log1p : CXI_PRIM_log, safe));
}

static cx entr(cx x) {
  cx negative = compare(CXI_PRIM_lt, x, 0);
  cx inside = cxi_select(negative, x, like(x, 1));
  cx value = cxi_neg(times_log(inside, inside, 0));
  return cxi_select(negative, value, like(x, -INFINITY));
}

/* e^|x| times the scaled function, in two factors of which none overflows
 * before the product does. */
static cx unscaled(cxi_prim prim, cx x) {
  cx half = unary(CXI_PRIM_exp, cxi_scale(unary(CXI_PRIM_abs, x), 0.5));
  return cxi_mul(half, cxi_mul(half, unary(prim, x)));
}

/* Set of -0 and NaN too, hence read from the bits. */
static cx sign_bit(cx x) {
  const size_t bytes = cxi_dtype_bytes(cxi_dtype_at(x));
  const cx_dtype word = bytes == 2 ? CX_I16 : bytes == 4 ? CX_I32 : CX_I64;
  return compare(CXI_PRIM_lt, cxi_bitcast(cxi_stop_gradient(x), word), 0);
}

cx cxi_special_unary(cx_op op, cx x) {
  switch (op) {
  case CX_OP_SIGN_BIT:
    return sign_bit(x);
  case CX_OP_LOG10:
    return cxi_div(unary(CXI_PRIM_log, x), cxi_number_like(x, M_LN10));
  case CX_OP_DEG2RAD:
    return cxi_scale(x, M_PI / 180);
  case CX_OP_RAD2DEG:
    return cxi_scale(x, 180 / M_PI);
  case CX_OP_SINC:
    return sinc(x);
  case CX_OP_NDTR:
    return ndtr(x);
  case CX_OP_LOG_NDTR:
    return log_ndtr(x);
  case CX_OP_NDTRI:
    return ndtri(x);
  case CX_OP_LOGIT:
    return cxi_sub(unary(CXI_PRIM_log, x), unary(CXI_PRIM_log1p, cxi_neg(x)));
  case CX_OP_ENTR:
    return entr(x);
  case CX_OP_I0:
    return unscaled(CXI_PRIM_bessel_i0e, x);
  case CX_OP_I1:
    return unscaled(CXI_PRIM_bessel_i1e, x);
  default:
    return cxi_activation(op, x);
  }
}

/* -- two operands, of one shape ------------------------------------------- */

/* The larger times sqrt(1 + ratio^2); infinity if one is, even beside NaN. */
static cx hypot_of(cx a, cx b) {
  a = unary(CXI_PRIM_abs, a), b = unary(CXI_PRIM_abs, b);
  cx infinite = cxi_binary(CXI_PRIM_or, compare(CXI_PRIM_eq, a, INFINITY),
                           compare(CXI_PRIM_eq, b, INFINITY));
  cx large = cxi_max(a, b), small = cxi_min(a, b);
  cx zero = compare(CXI_PRIM_eq, large, 0);
  cx ratio = cxi_div(small, cxi_select(zero, large, like(a, 1)));
  cx square = cxi_offset(unary(CXI_PRIM_square, ratio), 1);
  cx length = cxi_mul(large, unary(CXI_PRIM_sqrt, square));
  return cxi_select(infinite, cxi_select(zero, length, large),
                    like(a, INFINITY));
}

/* max + log2(1 + 2^-|a - b|); equal infinities give their sum. */
static cx logaddexp2(cx a, cx b) {
  cx difference = cxi_sub(a, b);
  cx not_a_number = cxi_compare(CXI_PRIM_ne, difference, difference);
  cx power = unary(CXI_PRIM_exp2, cxi_neg(unary(CXI_PRIM_abs, difference)));
  cx tail = cxi_scale(unary(CXI_PRIM_log1p, power), M_LOG2E);
  return cxi_select(not_a_number, cxi_add(cxi_max(a, b), tail), cxi_add(a, b));
}

/* What Stirling's formula leaves of log Gamma, z >= 8. */
static cx stirling_rest(cx z) {
  static const double series[] = { 1 / 12.0,    -1 / 360.0, 1 / 1260.0,
                                   -1 / 1680.0, 1 / 1188.0, -691 / 360360.0,
                                   1 / 156.0 };
  cx inverse = cxi_div(cxi_number_like(z, 1), z);
  return cxi_mul(inverse,
                 polynomial(unary(CXI_PRIM_square, inverse), 7, series));
}

/* log Gamma(a) + log Gamma(b) - log Gamma(a + b) with a <= b; from b = 8 on
 * the last two by Stirling's formula, since their difference cancels:
 * a - a log b - (a + b - 1/2) log(1 + a / b) and the rests. */
static cx betaln(cx x, cx y) {
  cx a = cxi_min(x, y), b = cxi_max(x, y);
  cx large = compare(CXI_PRIM_ge, b, 8);
  cx high = cxi_select(large, like(b, 8), b);
  cx low = cxi_select(large, b, like(b, 1));
  cx sum = cxi_add(a, high);
  cx rests = cxi_sub(stirling_rest(high), stirling_rest(sum));
  cx ratio = unary(CXI_PRIM_log1p, cxi_div(a, high));
  cx main = cxi_mul(a, less(1, unary(CXI_PRIM_log, high)));
  main = cxi_sub(main, cxi_mul(cxi_offset(sum, -0.5), ratio));
  cx direct = cxi_sub(unary(CXI_PRIM_lgamma, low),
                      unary(CXI_PRIM_lgamma, cxi_add(a, low)));
  return cxi_add(unary(CXI_PRIM_lgamma, a),
                 cxi_select(large, direct, cxi_add(main, rests)));
}

static cx copysign_of(cx a, cx b) {
  cx same = cxi_compare(CXI_PRIM_eq, sign_bit(a), sign_bit(b));
  return cxi_select(same, cxi_neg(a), a);
}

static cx heaviside(cx a, cx b) {
  cx sign = unary(CXI_PRIM_sign, cxi_stop_gradient(a));
  cx zero = compare(CXI_PRIM_eq, sign, 0);
  cx step = cxi_max(sign, cxi_zeros(cxi_type_at(sign)));
  return cxi_select(zero, step, b);
}

/* a where it is greater (less) or alone a number. */
static cx fmax_of(cxi_prim compare_by, cx a, cx b) {
  cx wins = cxi_compare(compare_by, a, b);
  if (cxi_dtype_is_float(cxi_dtype_at(b)))
    wins = cxi_binary(CXI_PRIM_or, wins, cxi_compare(CXI_PRIM_ne, b, b));
  return cxi_select(wins, b, a);
}

cx cxi_special_binary(cx_op op, cx a, cx b) {
  cx_dims shape = cxi_shape_at(cxi_rank_at(a) ? a : b);
  a = cxi_broadcast_to(a, shape), b = cxi_broadcast_to(b, shape);
  switch (op) {
  case CX_OP_HYPOT:
    return hypot_of(a, b);
  case CX_OP_LOGADDEXP2:
    return logaddexp2(a, b);
  case CX_OP_XLOGY:
    return times_log(a, b, 0);
  case CX_OP_XLOG1PY:
    return times_log(a, b, -1);
  case CX_OP_BETALN:
    return betaln(a, b);
  case CX_OP_COPYSIGN:
    return copysign_of(a, b);
  case CX_OP_HEAVISIDE:
    return heaviside(a, b);
  case CX_OP_FMAX:
    return fmax_of(CXI_PRIM_gt, a, b);
  case CX_OP_FMIN:
    return fmax_of(CXI_PRIM_lt, a, b);
  default:
    return cxi_fail(CX_ENORULE, "%s: no such operation", cxi_op_name(op));
  }
}

/* -- three operands ------------------------------------------------------- */

cx cxi_op_betainc(cx a, cx b, cx x) {
  cx all[3] = { a, b, x }, poison;
  cx_dims shape;
  if (!cxi_promote("betainc", 3, all, &poison) ||
      !cxi_broadcast_shape("betainc", 3, all, &shape, &poison))
    return poison;
  for (int i = 0; i < 3; i++) {
    if (!cxi_dtype_is_float(cxi_dtype_at(all[i]))) {
      if (cxi_promotion_now() != CX_PROMOTE_JAX)
        return cxi_fail(CX_EDTYPE, "betainc: needs floating dtypes, got %s",
                        cxi_shown_of(all[i]).text);
      all[i] = cxi_convert(all[i], CX_F32);
    }
    all[i] = cxi_broadcast_to(all[i], shape);
  }
  static const cxi_regularized_incomplete_beta_params none;
  return cxi_emit1(CXI_PRIM_regularized_incomplete_beta, &none, 3, all);
}
