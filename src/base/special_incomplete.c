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

/* x^a e^-x / Gamma(a): the exponent cancels, hence long double. */
static long double density_times_x(double a, double x) {
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

/* Q for large a (side 1), or P (side -1), Temme 1979: erfc(+-eta sqrt(a / 2)) /
 * 2 and the first term of the rest; eta^2 / 2 = mu - log(1 + mu), x = a (1 + mu).
 */
static double tail_normal(double a, double x, double side) {
  const double mu = (x - a) / a;
  const double half = fabs(mu) < 1e-4
                          ? mu * mu * (0.5 - mu * (1.0 / 3.0 - 0.25 * mu))
                          : mu - log1p(mu);
  const double eta = copysign(sqrt(2.0 * half), mu);
  const double c0 =
      fabs(mu) < 1e-4 ? -1.0 / 3.0 + mu / 12.0 : 1.0 / mu - 1.0 / eta;
  const double rest = exp(-a * half) / sqrt(2.0 * 3.14159265358979324 * a);
  return 0.5 * erfc(side * eta * sqrt(0.5 * a)) + side * rest * c0;
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

/* (dP / da) / (x^a e^-x / Gamma(a)), by which -x times this is dx / da. For
 * large a, P(a - 1/2) - P(a + 1/2) = x^(a - 1/2) e^-x / Gamma(a + 1/2). */
static double scaled_slope(double a, double x) {
  if (a > LARGE) return -(1.0 + 0.125 / a) / sqrt(a * x);
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

/* The continued fraction of DLMF 8.17.22 by Lentz's method. */
static double beta_fraction(double a, double b, double x) {
  double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
  d = 1.0 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
  double h = d;
  for (int m = 1; m < MOST_TERMS; m++) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    const double tops[2] = { even, odd };
    double step = 1.0;
    for (int k = 0; k < 2; k++) {
      d = 1.0 + tops[k] * d;
      d = 1.0 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
      c = 1.0 + tops[k] / c;
      c = fabs(c) < DBL_MIN ? DBL_MIN : c;
      step = c * d;
      h *= step;
    }
    if (fabs(step - 1.0) <= DBL_EPSILON / 2) break;
  }
  return h;
}

/* x^a y^b / (a B(a, b)) times the fraction, y = 1 - x */
static long double lower_beta(double a, double b, long double x,
                              long double y) {
  const long double sum = (long double)a + (long double)b;
  const long double exponent =
      a * logl(x) + b * logl(y) - log_gamma(a) - log_gamma(b) + log_gamma(sum);
  return expl(exponent) / a * beta_fraction(a, b, (double)x);
}

double cxi_regularized_incomplete_beta_f64(double a, double b, double x) {
  if (!(a > 0.0) || !(b > 0.0) || !(x >= 0.0) || !(x <= 1.0)) return NAN;
  if (isinf(a) && isinf(b)) return NAN;
  if (x == 0.0 || x == 1.0) return x;
  if (isinf(a) || isinf(b)) return isinf(a) ? 0.0 : 1.0;
  const long double y = 1.0L - (long double)x;
  if (x <= (a + 1.0) / (a + b + 2.0)) return (double)lower_beta(a, b, x, y);
  return (double)(1.0L - lower_beta(b, a, y, x));
}
