/* distributions.c - draws from distributions, by the formulas of JAX.
 *
 * Most are the inverse of the distribution at a uniform number (Devroye 1986,
 * "Non-Uniform Random Variate Generation"); each says which. */
#include <math.h>

#include "ops/random.h"

/* What is drawn: one key, parameters of dtype t that broadcast to the shape. */
typedef struct draw {
  cx key;
  const cx *params;
  cx_dtype t;
  cx_dims shape;
} draw;

static cx number(const draw *d, double x) {
  return cxi_number(d->t, x);
}
static cx unit(const draw *d) {
  return cxi_random_uniform(d->key, d->t, d->shape, number(d, 0), number(d, 1));
}
static void split(cx key, cx *out_a, cx *out_b) {
  cx_split_(key, (cx *[]){ out_a, out_b, NULL }, NULL);
}

/* -- on the half line ------------------------------------------------------ */

/* -log(1 - u) */
static cx exponential(const draw *d) {
  return cxi_neg(cxi_unary(CXI_PRIM_log1p, cxi_neg(unit(d))));
}
/* (1 - u)^(-1/b), b > 0 */
static cx pareto(const draw *d) {
  return cxi_unary(CXI_PRIM_exp, cxi_div(exponential(d), d->params[0]));
}
/* scale * (-log(1 - u))^(1/k) */
static cx weibull(const draw *d) {
  cx power = cxi_div(number(d, 1), d->params[1]);
  cx x = cxi_binary(CXI_PRIM_pow, exponential(d), power);
  return cxi_mul(x, d->params[0]);
}
/* scale * sqrt(-2 log u) */
static cx rayleigh(const draw *d) {
  cx log_u = cxi_unary(CXI_PRIM_log, unit(d));
  return cxi_mul(d->params[0], cxi_unary(CXI_PRIM_sqrt, cxi_scale(log_u, -2)));
}
/* The length of three normal numbers. */
static cx maxwell(const draw *d) {
  if (d->shape.n == CX_MAX_DIMS)
    return cxi_fail(CX_ESHAPE, "maxwell: at most %d sizes, got %s",
                    CX_MAX_DIMS - 1, cxi_shown_dims(d->shape).text);
  cx z = cx_normal_(d->key, d->t, cxi_dims_append(d->shape, 3), NULL);
  cx_dims last = { .n = 1, .d = { d->shape.n } };
  return cxi_unary(CXI_PRIM_sqrt, cxi_reduce_sum(cxi_mul(z, z), last));
}
/* exp(sigma z) */
static cx lognormal(const draw *d) {
  cx z = cx_normal_(d->key, d->t, d->shape, NULL);
  return cxi_unary(CXI_PRIM_exp, cxi_mul(z, d->params[0]));
}
/* The root that Michael, Schucany & Haas (1976, "Generating Random Variates
 * Using Transformations with Multiple Roots") choose; mean > 0, scale 1. */
static cx wald(const draw *d) {
  cx a, b, mean = d->params[0];
  split(d->key, &a, &b);
  cx v = cx_normal_(a, d->t, d->shape, NULL);
  cx u = cxi_random_uniform(b, d->t, d->shape, number(d, 0), number(d, 1));
  cx y = cxi_mul(v, v), square = cxi_mul(mean, mean);
  cx root = cxi_unary(CXI_PRIM_sqrt, cxi_add(cxi_scale(cxi_mul(mean, y), 4),
                                             cxi_mul(square, cxi_mul(y, y))));
  cx x = cxi_sub(cxi_add(mean, cxi_scale(cxi_mul(square, y), 0.5)),
                 cxi_mul(cxi_scale(mean, 0.5), root));
  cx first = cxi_compare(CXI_PRIM_le, u, cxi_div(mean, cxi_add(mean, x)));
  return cxi_select(first, cxi_div(square, x), x);
}

/* -- on the line ----------------------------------------------------------- */

/* sign(u) log(1 - |u|), u in (-1, 1) */
static cx laplace(const draw *d) {
  cx u = cxi_random_uniform(d->key, d->t, d->shape,
                            number(d, cxi_random_above_minus_one(d->t)),
                            number(d, 1));
  cx size = cxi_unary(CXI_PRIM_abs, u);
  return cxi_mul(cxi_unary(CXI_PRIM_sign, u),
                 cxi_unary(CXI_PRIM_log1p, cxi_neg(size)));
}
/* log(u / (1 - u)) */
static cx logistic(const draw *d) {
  cx u = cxi_random_uniform(d->key, d->t, d->shape,
                            number(d, cxi_random_least_normal(d->t)),
                            number(d, 1));
  return cxi_sub(cxi_unary(CXI_PRIM_log, u),
                 cxi_unary(CXI_PRIM_log1p, cxi_neg(u)));
}
/* tan(pi (u - 1/2)) */
static cx cauchy(const draw *d) {
  double least = ldexp(1, -cxi_random_fraction(d->t)); /* the epsilon of t */
  cx u = cxi_random_uniform(d->key, d->t, d->shape, number(d, least),
                            number(d, 1));
  cx angle = cxi_mul(number(d, M_PI), cxi_offset(u, -0.5));
  return cxi_unary(CXI_PRIM_tan, angle);
}
static cx rademacher(const draw *d) {
  cx half = cxi_number(cxi_dtype_bytes(d->t) == 8 ? CX_F64 : CX_F32, 0.5);
  cx heads = cx_bernoulli_(d->key, half, d->shape, NULL);
  return cxi_offset(cxi_scale(cxi_convert(heads, d->t), 2), -1);
}
/* loc + scale * a length of three normal numbers with a random sign */
static cx double_sided_maxwell(const draw *d) {
  draw length = *d, sign = *d;
  split(d->key, &length.key, &sign.key);
  cx x = cxi_mul(rademacher(&sign), maxwell(&length));
  return cxi_add(cxi_mul(x, d->params[1]), d->params[0]);
}
/* The inverse on both sides of the mode; left <= mode <= right. */
static cx triangular(const draw *d) {
  cx left = d->params[0], mode = d->params[1], right = d->params[2];
  cx u = unit(d), width = cxi_sub(right, left), low = cxi_sub(mode, left);
  cx below = cxi_mul(cxi_mul(u, width), low);
  cx above =
      cxi_mul(cxi_mul(cxi_sub(number(d, 1), u), width), cxi_sub(right, mode));
  cx first = cxi_add(left, cxi_unary(CXI_PRIM_sqrt, below));
  cx second = cxi_sub(right, cxi_unary(CXI_PRIM_sqrt, above));
  return cxi_select(cxi_compare(CXI_PRIM_lt, u, cxi_div(low, width)), second,
                    first);
}

/* -- by gamma numbers ------------------------------------------------------ */

/* Marsaglia & Tsang 2000, in the row; the logarithm does not underflow. */
static cx gamma_of(const draw *d, cx key, cx a, bool log_space) {
  const cxi_random_gamma_params p = { .log_space = log_space };
  cx two[2] = { key, cxi_broadcast_to(a, d->shape) };
  return cxi_emit1(CXI_PRIM_random_gamma, &p, 2, two);
}
static cx gamma_number(const draw *d) {
  return gamma_of(d, d->key, d->params[0], false);
}
static cx loggamma(const draw *d) {
  return gamma_of(d, d->key, d->params[0], true);
}
/* X / (X + Y) of gamma numbers, both over the larger */
static cx beta(const draw *d) {
  cx a, b;
  split(d->key, &a, &b);
  cx x = gamma_of(d, a, d->params[0], true);
  cx y = gamma_of(d, b, d->params[1], true), most = cxi_max(x, y);
  x = cxi_unary(CXI_PRIM_exp, cxi_sub(x, most));
  y = cxi_unary(CXI_PRIM_exp, cxi_sub(y, most));
  return cxi_div(x, cxi_add(x, y));
}
static cx chi_square(const draw *d, cx key, cx df) {
  cx half = cxi_scale(df, 0.5);
  return cxi_scale(cxi_unary(CXI_PRIM_exp, gamma_of(d, key, half, true)), 2);
}
static cx chisquare(const draw *d) {
  return chi_square(d, d->key, d->params[0]);
}
/* The ratio of two chi squares, each over its degrees; the divisor has the
 * first key. */
static cx f_ratio(const draw *d) {
  cx a, b;
  split(d->key, &b, &a);
  cx x = cxi_div(chi_square(d, a, d->params[0]), d->params[0]);
  cx y = cxi_div(chi_square(d, b, d->params[1]), d->params[1]);
  return cxi_div(x, y);
}
/* z sqrt(df/2 / gamma(df/2)) */
static cx student(const draw *d) {
  cx a, b, half = cxi_scale(d->params[0], 0.5);
  split(d->key, &a, &b);
  cx z = cx_normal_(a, d->t, d->shape, NULL);
  cx g = gamma_of(d, b, half, false);
  return cxi_mul(z, cxi_unary(CXI_PRIM_sqrt, cxi_div(half, g)));
}
/* +- gamma(1/p)^(1/p): density proportional to exp(-|x|^p) */
static cx generalized_normal(const draw *d) {
  draw sign = *d;
  cx a, inverse = cxi_div(number(d, 1), d->params[0]);
  split(d->key, &a, &sign.key);
  cx g = gamma_of(d, a, inverse, false);
  return cxi_mul(rademacher(&sign), cxi_binary(CXI_PRIM_pow, g, inverse));
}

/* -- the table ------------------------------------------------------------- */

typedef struct entry {
  const char *name;
  int n_params;
  cx (*run)(const draw *);
} entry;
static const entry entries[] = {
  [CX_DRAW_EXPONENTIAL] = { "exponential", 0, exponential },
  [CX_DRAW_LAPLACE] = { "laplace", 0, laplace },
  [CX_DRAW_LOGISTIC] = { "logistic", 0, logistic },
  [CX_DRAW_CAUCHY] = { "cauchy", 0, cauchy },
  [CX_DRAW_MAXWELL] = { "maxwell", 0, maxwell },
  [CX_DRAW_RADEMACHER] = { "rademacher", 0, rademacher },
  [CX_DRAW_PARETO] = { "pareto", 1, pareto },
  [CX_DRAW_RAYLEIGH] = { "rayleigh", 1, rayleigh },
  [CX_DRAW_LOGNORMAL] = { "lognormal", 1, lognormal },
  [CX_DRAW_WALD] = { "wald", 1, wald },
  [CX_DRAW_WEIBULL] = { "weibull_min", 2, weibull },
  [CX_DRAW_DOUBLE_SIDED_MAXWELL] = { "double_sided_maxwell", 2,
                                     double_sided_maxwell },
  [CX_DRAW_GAMMA] = { "gamma", 1, gamma_number },
  [CX_DRAW_LOGGAMMA] = { "loggamma", 1, loggamma },
  [CX_DRAW_BETA] = { "beta", 2, beta },
  [CX_DRAW_CHISQUARE] = { "chisquare", 1, chisquare },
  [CX_DRAW_F] = { "f", 2, f_ratio },
  [CX_DRAW_T] = { "t", 1, student },
  [CX_DRAW_GENERALIZED_NORMAL] = { "generalized_normal", 1,
                                   generalized_normal },
  [CX_DRAW_TRIANGULAR] = { "triangular", 3, triangular },
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

bool cxi_random_parameter(const char *op, cx given, cx_dtype t, cx_dims shape,
                          cx *out, cx *out_poison) {
  cx a = cxi_strong(op, given, t);
  if (!cxi_operand(op, &a, out_poison)) return false;
  if (cxi_dtype_at(a) != t) {
    *out_poison = cxi_fail(CX_EDTYPE, "%s: a parameter must be %s, got %s", op,
                           cxi_dtype_name(t), cxi_shown_of(a).text);
    return false;
  }
  const cx_dims own = cxi_shape_at(a);
  bool fits = own.n <= shape.n;
  for (int i = 1; fits && i <= own.n; i++)
    fits = own.d[own.n - i] == 1 || own.d[own.n - i] == shape.d[shape.n - i];
  if (!fits) {
    *out_poison =
        cxi_fail(CX_ESHAPE, "%s: a parameter must broadcast to %s, got %s", op,
                 cxi_shown_dims(shape).text, cxi_shown_of(a).text);
    return false;
  }
  *out = cxi_spread(a, shape);
  return true;
}
cx cx_draw_(cx_distribution what, cx key, int n, const cx *params, cx_dtype t,
            cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, spread[3];
  if ((unsigned)what >= N_ENTRIES || !entries[what].name)
    return cxi_leave(
        before, cxi_fail(CX_EUSER, "no distribution has number %d", (int)what));
  const entry *e = &entries[what];
  if (n != e->n_params || !cxi_list_given(e->name, n, params, &poison))
    return cxi_leave(before,
                     cxi_fail(CX_EUSER, "%s: %d parameters are needed, got %d",
                              e->name, e->n_params, n));
  const bool is_sign = what == CX_DRAW_RADEMACHER && cxi_dtype_valid(t) &&
                       cxi_dtype_kind(t) == CXI_SIGNED;
  if (!cxi_random_draw(e->name, &key, is_sign ? CX_F32 : t, shape, &poison))
    return cxi_leave(before, poison);
  for (int i = 0; i < n; i++)
    if (!cxi_random_parameter(e->name, params[i], t, shape, &spread[i],
                              &poison))
      return cxi_leave(before, poison);
  return cxi_leave(before, e->run(&(draw){ key, spread, t, shape }));
}

/* 1 + floor(log u / log(1 - p)), the number of trials up to the first success;
 * 1 for u = 0, too. */
cx cx_geometric_(cx key, cx p, cx_dtype t, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, spread;
  const cx_dtype own =
      cxi_given(p) ? cxi_dtype_at(cxi_strong("geometric", p, CX_F32)) : CX_F32;
  const cx_dtype f =
      cxi_dtype_valid(own) && cxi_dtype_is_float(own) ? own : CX_F32;
  if (!cxi_dtype_valid(t) ||
      (cxi_dtype_kind(t) != CXI_SIGNED && cxi_dtype_kind(t) != CXI_UNSIGNED))
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "geometric: needs an integer dtype, "
                                      "got %s",
                                      cxi_dtype_name(t)));
  if (!cxi_random_draw("geometric", &key, f, shape, &poison) ||
      !cxi_random_parameter("geometric", p, f, shape, &spread, &poison))
    return cxi_leave(before, poison);
  const draw d = { key, &spread, f, shape };
  cx u = unit(&d), zero = cxi_compare(CXI_PRIM_eq, u, number(&d, 0));
  u = cxi_select(zero, u, cxi_full(cxi_type_at(u), 1));
  cx ratio = cxi_div(cxi_unary(CXI_PRIM_log, u),
                     cxi_unary(CXI_PRIM_log1p, cxi_neg(spread)));
  cx trials = cxi_offset(cxi_unary(CXI_PRIM_floor, ratio), 1);
  return cxi_leave(before, cxi_convert(trials, t));
}

/* Gamma numbers over their sum, through their logarithms. */
static cx dirichlet(cx key, cx alpha, cx_dtype t, cx_dims shape) {
  const draw d = { key, &alpha, t, shape };
  cx logs = gamma_of(&d, key, alpha, true);
  const cx_dims last = { .n = 1, .d = { shape.n - 1 } };
  cx_dims across = { .n = shape.n - 1 };
  for (int i = 0; i < across.n; i++) across.d[i] = i;
  cx most = cxi_stop_gradient(cxi_reduce(CXI_PRIM_reduce_max, logs, last));
  cx parts = cxi_unary(
      CXI_PRIM_exp, cxi_sub(logs, cxi_broadcast_in_dim(most, shape, across)));
  cx sum = cxi_reduce_sum(parts, last);
  return cxi_div(parts, cxi_broadcast_in_dim(sum, shape, across));
}
cx cx_dirichlet_(cx key, cx alpha, cx_dtype t, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, spread;
  if (!cxi_random_draw("dirichlet", &key, t, shape, &poison) ||
      !cxi_operand("dirichlet", &alpha, &poison))
    return cxi_leave(before, poison);
  const cx_dims own = cxi_shape_at(alpha);
  if (own.n == 0 || own.d[own.n - 1] == 0 || shape.n == CX_MAX_DIMS)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "dirichlet: needs alpha (..., k), got "
                                      "%s for draws %s",
                                      cxi_shown_of(alpha).text,
                                      cxi_shown_dims(shape).text));
  const cx_dims whole = cxi_dims_append(shape, own.d[own.n - 1]);
  if (!cxi_random_parameter("dirichlet", alpha, t, whole, &spread, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, dirichlet(key, spread, t, whole));
}
