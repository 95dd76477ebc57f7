/* special_incomplete.c - the incomplete gamma and beta functions.
 *
 * Series and continued fractions as in DiDonato & Morris, "Computation of the
 * incomplete gamma function ratios and their inverse", 1986, and Press et al.,
 * Numerical Recipes, chapter 6. Derivatives with respect to a go along with the
 * sums term by term. */
#include "base/math_special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Beyond this a the normal distribution's expansion serves; up to it the sums
 * end after some multiple of sqrt(a) terms. */
static const double LARGE = 1e6;
enum { MOST_TERMS = 100000 };
static const double SMALL = DBL_EPSILON / 16;

static long double log_gamma(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}

/* A number and its derivative with respect to a. */
typedef struct dual {
  double value, slope;
} dual;

static const long double TWO_PI = 6.28318530717958647692528676655900577L;

/* mu - log(ratio), ratio = 1 + mu: by its series where the difference
 * cancels. */
static long double log_rest_of(long double mu, long double ratio) {
  if (fabsl(mu) > 0.07L) return mu - logl(ratio);
  long double sum = 0.0L;
  for (int k = 20; k > 1; k--) sum = 1.0L / k - mu * sum;
  return mu * mu * sum;
}

/* x^a e^-x / Gamma(a): the exponent cancels, hence long double, and Stirling's
 * formula for large a. */
static long double density_times_x(double a, double x) {
  if (a > LARGE) {
    const long double mu = ((long double)x - (long double)a) / (long double)a;
    const long double rest = log_rest_of(mu, (long double)x / (long double)a);
    return sqrtl(a / TWO_PI) * expl(-a * rest) / (1.0L + 1.0L / (12.0L * a));
  }
  const long double exponent =
      (long double)a * logl(x) - (long double)x - log_gamma(a);
  return expl(exponent);
}

/* P(a, x) / (x^a e^-x / Gamma(a + 1)): the sum of x^n / ((a + 1) ... (a + n)),
 * DLMF 8.11.4, which is regular at a = 0. */
static dual lower_series(double a, double x) {
  dual term = { 1.0, 0.0 }, sum = term;
  for (int n = 1; n < MOST_TERMS; n++) {
    const double factor = x / (a + n);
    term.slope = factor * (term.slope - term.value / (a + n));
    term.value *= factor;
    sum.value += term.value;
    sum.slope += term.slope;
    if (term.value <= SMALL * sum.value &&
        fabs(term.slope) <= SMALL * fabs(sum.slope))
      break;
  }
  return sum;
}

/* Q(a, x) / (x^a e^-x / Gamma(a)) = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a -
 * 2 (2 - a) / ...)), DLMF 8.9.2, by Lentz's method with derivatives: C and D
 * are the ratios of successive numerators and denominators. */
static dual upper_fraction(double a, double x) {
  double b = x + 1.0 - a;
  dual c = { 1.0 / DBL_MIN, 0.0 };
  dual d = { 1.0 / b, 1.0 / (b * b) };
  dual h = d;
  for (int n = 1; n < MOST_TERMS; n++) {
    const double top = -n * (n - a), top_slope = n;
    b += 2.0;
    /* d = 1 / (top d + b), c = b + top / c; the slope of b is -1 */
    const double below = top * d.value + b;
    const double below_slope = top_slope * d.value + top * d.slope - 1.0;
    const double c_slope =
        -1.0 + (top_slope - top * c.slope / c.value) / c.value;
    c.value = b + top / c.value;
    c.slope = c_slope;
    d.value = 1.0 / below;
    d.slope = -below_slope * d.value * d.value;
    const double factor = c.value * d.value;
    const double factor_slope = c.slope * d.value + c.value * d.slope;
    h.slope = h.slope * factor + h.value * factor_slope;
    h.value *= factor;
    if (fabs(factor - 1.0) <= SMALL * 8 &&
        fabs(h.value * factor_slope) <= SMALL * 8 * fabs(h.slope))
      break;
  }
  return h;
}

static long double horner(long double x, int n, const double *c) {
  long double sum = 0.0L;
  while (n-- > 0) sum = sum * x + c[n];
  return sum;
}

/* Temme 1979, "The asymptotic expansion of the incomplete gamma functions":
 * with x = a (1 + mu), eta^2 / 2 = mu - log(1 + mu), P and Q are the tails of a
 * normal distribution at eta sqrt(a) and e^(-a eta^2 / 2) / sqrt(2 pi a)
 * (c0(eta) + c1(eta) / a + ...). As far as mu = 0.07, beyond which a factor
 * e^-1000 leaves nothing, c0 and c1 are polynomials. */
typedef struct temme {
  long double mu, half, eta, c0, c1, c0_slope;
} temme;
static temme temme_at(double a, double x) {
  static const double c0[] = { -1 / 3.0,   1 / 12.0,   -2 / 135.0,
                               1 / 864.0,  1 / 2835.0, -139 / 777600.0,
                               1 / 25515.0 };
  static const double c1[] = { -1 / 540.0, -1 / 288.0, 1 / 378.0, -77 / 77760.0,
                               1 / 4860.0 };
  double slopes[6];
  for (int k = 0; k < 6; k++) slopes[k] = (k + 1) * c0[k + 1];
  temme t = { .mu = ((long double)x - (long double)a) / (long double)a };
  t.half = log_rest_of(t.mu, (long double)x / (long double)a);
  t.eta = copysignl(sqrtl(2.0L * t.half), t.mu);
  t.c0 = horner(t.eta, 7, c0);
  t.c1 = horner(t.eta, 5, c1);
  t.c0_slope = horner(t.eta, 6, slopes);
  return t;
}
/* Q for large a (side 1), or P (side -1). */
static double tail_normal(double a, double x, double side) {
  const temme t = temme_at(a, x);
  if (fabsl(t.mu) > 0.07L) return (t.mu > 0.0L) == (side > 0.0) ? 0.0 : 1.0;
  const long double rest = expl(-(a * t.half)) / sqrtl(TWO_PI * a);
  const long double main = 0.5L * erfcl(side * t.eta * sqrtl(0.5L * a));
  return (double)(main + side * rest * (t.c0 + t.c1 / a));
}

/* log Gamma(1 + a) for 0 < a <= 1, relative to itself: 1 + a rounds a off, so
 * that by its series near 0 (DLMF 5.7.3). */
static long double log_gamma_above_one(long double a) {
  static const long double series[] = {
    -0.57721566490153286061L, 0.82246703342411321824L,
    -0.40068563438653142847L, 0.27058080842778454788L,
    -0.20738555102867398527L,
  };
  if (a > 1e-4L) return log_gamma(1.0L + a);
  long double sum = 0.0L;
  for (int k = 4; k >= 0; k--) sum = (sum + series[k]) * a;
  return sum;
}

/* Q for a and x up to 1, where it may be as small as a: with the power
 * p = x^a / Gamma(1 + a), 1 - p and p a times the sum of (-1)^(n + 1) x^n /
 * ((a + n) n!), n = 1, 2, ... (Gautschi 1979). */
static double upper_small(double a, double x) {
  const long double log_power =
      (long double)a * logl(x) - log_gamma_above_one(a);
  long double term = -1.0L, sum = 0.0L; /* -(-x)^n / n! */
  for (int n = 1; fabsl(term) > SMALL * sum; n++) {
    term *= -(long double)x / n;
    sum += term / (a + n);
  }
  return (double)(a * sum * expl(log_power) - expm1l(log_power));
}

static bool outside(double a, double x) {
  return !(a > 0.0) || !(x >= 0.0) || (isinf(a) && isinf(x));
}
/* Whether the fraction for Q is the one to take. */
static bool is_upper(double a, double x) {
  return x > 1.0 && x > a;
}

static double lower(double a, double x) {
  return (double)(density_times_x(a, x) / a * lower_series(a, x).value);
}
static double upper(double a, double x) {
  return (double)(density_times_x(a, x) * upper_fraction(a, x).value);
}

double cxi_igamma_f64(double a, double x) {
  if (outside(a, x)) return NAN;
  if (x == 0.0 || isinf(a)) return 0.0;
  if (isinf(x)) return 1.0;
  if (a > LARGE) return tail_normal(a, x, -1.0);
  return is_upper(a, x) ? 1.0 - upper(a, x) : lower(a, x);
}

double cxi_igammac_f64(double a, double x) {
  if (outside(a, x)) return NAN;
  if (x == 0.0 || isinf(a)) return 1.0;
  if (isinf(x)) return 0.0;
  if (a > LARGE) return tail_normal(a, x, 1.0);
  if (is_upper(a, x)) return upper(a, x);
  return a < 1.0 && x <= 1.0 ? upper_small(a, x) : 1.0 - lower(a, x);
}

/* The same for large a by the derivative of Temme's expansion, c0 + 1 / eta
 * being 1 / mu: -(log(1 + mu) / mu + (c1 log(1 + mu) - c0 / 2 - c0' mu / eta) /
 * a) Gamma*(a) / a, Gamma* = 1 + 1 / (12 a) + ... */
static double slope_normal(double a, double x) {
  temme t = temme_at(a, x);
  const long double l = log1pl(t.mu);
  const long double quotient = t.mu == 0.0L ? 1.0L : l / t.mu;
  const long double speed = t.mu == 0.0L ? 1.0L : t.mu / t.eta;
  if (fabsl(t.mu) > 0.07L) {
    t.c0 = 1.0L / t.mu - 1.0L / t.eta;
    t.c0_slope =
        1.0L / (t.eta * t.eta) - t.eta * (1.0L + t.mu) / (t.mu * t.mu * t.mu);
    t.c1 = 1.0L / (t.eta * t.eta * t.eta) - 1.0L / (t.mu * t.mu * t.mu) -
           1.0L / (t.mu * t.mu) - 1.0L / (12.0L * t.mu);
  }
  const long double next = t.c1 * l - 0.5L * t.c0 - speed * t.c0_slope;
  const long double star = 1.0L + 1.0L / (12.0L * a);
  return (double)(-(quotient + next / a) * star / a);
}

/* (dP / da) / (x^a e^-x / Gamma(a)), by which -x times this is dx / da. */
static double scaled_slope(double a, double x) {
  if (a > LARGE) return slope_normal(a, x);
  const bool is_q = is_upper(a, x);
  const dual s = is_q ? upper_fraction(a, x) : lower_series(a, x);
  const double digamma = cxi_digamma_f64(is_q ? a : a + 1.0);
  const double log_slope = (double)(logl(x) - (long double)digamma);
  const double slope = s.value * log_slope + s.slope;
  return is_q ? -slope : slope / a;
}

double cxi_igamma_grad_a_f64(double a, double x) {
  if (outside(a, x)) return NAN;
  if (x == 0.0 || isinf(a) || isinf(x)) return 0.0;
  return (double)(density_times_x(a, x) * scaled_slope(a, x));
}

double cxi_random_gamma_grad_f64(double a, double x) {
  if (outside(a, x)) return NAN;
  if (x == 0.0 || isinf(a) || isinf(x)) return 0.0;
  return -x * scaled_slope(a, x);
}

/* -- beta ----------------------------------------------------------------- */

static const double BOTH_LARGE = 1e8;

/* log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2) */
static long double stirling_rest(long double z) {
  static const double series[] = { 1 / 12.0,   -1 / 360.0,
                                   1 / 1260.0, -1 / 1680.0,
                                   1 / 1188.0, -691 / 360360.0,
                                   1 / 156.0,  -3617 / 122400.0 };
  if (z >= 12.0L) return horner(1.0L / (z * z), 8, series) / z;
  return log_gamma(z) - ((z - 0.5L) * logl(z) - z + 0.5L * logl(TWO_PI));
}

/* (a + b) x - a, whose terms cancel near the mean: the products are exact. */
static long double deviation(double a, double b, double x) {
  const double bx = b * x, ax = a * x;
  const long double rest = (long double)fma(b, x, -bx) + fma(a, x, -ax);
  const long double large = bx > ax ? bx : ax, small = bx > ax ? ax : bx;
  return (large - a) + small + rest;
}

/* What x^a y^b, y = 1 - x, is of its greatest value, at x = a / (a + b): with
 * d = (a + b) x - a, x (a + b) / a = 1 + d / a and y (a + b) / b = 1 - d / b, so
 * that the first terms of their logarithms, d and -d, are left out. */
typedef struct beta_point {
  long double a, b, d, exponent;
} beta_point;
static beta_point beta_point_at(double a, double b, long double x,
                                long double y, long double d) {
  const long double sum = (long double)a + (long double)b;
  beta_point p = { .a = a, .b = b, .d = d };
  p.exponent = -a * log_rest_of(p.d / p.a, x / p.a * sum) -
               b * log_rest_of(-p.d / p.b, y / p.b * sum);
  return p;
}

/* The continued fraction that divides x^a y^b / B(a, b), DiDonato & Morris 1992,
 * "Algorithm 708", by Lentz's method; a - (a + b) x = -d stands in it by itself,
 * so that x may be near 1. */
static long double beta_fraction(const beta_point *p, long double x,
                                 long double y) {
  const long double a = p->a, b = p->b;
  long double h = a * (1.0L - p->d) / (a + 1.0L), c = h, d = 0.0L;
  for (int m = 1; m < MOST_TERMS; m++) {
    const long double below = a + 2.0L * m - 1.0L;
    const long double top = (a + m - 1.0L) / below *
                            ((a + b + m - 1.0L) / below) * m * (b - m) * x * x;
    const long double next =
        m + m * (b - m) * x / below +
        (a + m) * (1.0L - p->d + m * (1.0L + y)) / (below + 2.0L);
    d = 1.0L / (next + top * d);
    c = next + top / c;
    h *= c * d;
    if (fabsl(c * d - 1.0L) <= LDBL_EPSILON) break;
  }
  return h;
}

static long double lower_beta(double a, double b, long double x, long double y,
                              long double d) {
  const beta_point p = beta_point_at(a, b, x, y, d);
  const long double sum = p.a + p.b;
  const long double rests =
      stirling_rest(sum) - stirling_rest(a) - stirling_rest(b);
  const long double scale = sqrtl(p.a / sum * p.b / TWO_PI);
  return scale * expl(p.exponent + rests) / beta_fraction(&p, x, y);
}

/* For large a and b, where the fraction takes too many terms, DLMF 8.18.9: the
 * tail of a normal distribution at e, e^2 / 2 the exponent, and e^(-e^2 / 2) /
 * sqrt(2 pi) (1 / e - 1 / w), w = d sqrt((a + b) / (a b)); near the mean
 * (w / e)^2 = 1 - 2/3 g d + h d^2 / 2 - ... */
static double beta_normal(double a, double b, long double x, long double y,
                          long double d) {
  const beta_point p = beta_point_at(a, b, x, y, d);
  const long double unit = sqrtl(p.a / (p.a + p.b) * p.b);
  const long double w = p.d / unit;
  const long double e = copysignl(sqrtl(-2.0L * p.exponent), p.d);
  const long double g = 1.0L / p.a - 1.0L / p.b;
  const long double h =
      1.0L / (p.a * p.a) - 1.0L / p.a / p.b + 1.0L / (p.b * p.b);
  const long double rest =
      fabsl(w) < 0.01L ? unit * (g / 3.0L + p.d * (g * g / 6.0L - h / 4.0L))
                       : 1.0L / e - 1.0L / w;
  const long double factor = expl(p.exponent) / sqrtl(TWO_PI);
  return (double)(0.5L * erfcl(-e * sqrtl(0.5L)) + factor * rest);
}

double cxi_regularized_incomplete_beta_f64(double a, double b, double x) {
  if (!(a > 0.0) || !(b > 0.0) || !(x >= 0.0) || !(x <= 1.0)) return NAN;
  if (isinf(a) && isinf(b)) return NAN;
  if (x == 0.0 || x == 1.0) return x;
  if (isinf(a) || isinf(b)) return isinf(a) ? 0.0 : 1.0;
  const long double y = 1.0L - (long double)x, d = deviation(a, b, x);
  if (a > BOTH_LARGE && b > BOTH_LARGE) return beta_normal(a, b, x, y, d);
  if (x <= (a + 1.0) / (a + b + 2.0)) return (double)lower_beta(a, b, x, y, d);
  return (double)(1.0L - lower_beta(b, a, y, x, -d));
}
