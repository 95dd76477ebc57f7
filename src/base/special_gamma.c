/* special_gamma.c - log Gamma, its derivatives and Hurwitz's zeta function. */
#include "base/math_special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const long double PI = 3.14159265358979323846264338327950288L;

static bool is_pole(double x) {
  return x <= 0.0 && floor(x) == x;
}

/* lgammal_r and not lgammal, which writes to a global variable. */
double cxi_lgamma_f64(double x) {
  int sign;
  return (double)lgammal_r((long double)x, &sign);
}

/* -- digamma -------------------------------------------------------------- */

/* Around its positive root by Taylor's series, for |x - root| < 1/16: there
 * the sum below would cancel. */
static long double digamma_near_root(long double x) {
  static const long double slopes[] = {
    0.9676722454476211704274L,  -0.4427631689835921060929L,
    0.2584997609556510106244L,  -0.1639427054424065275043L,
    0.1078240506912623657572L,  -0.07219956125645471092612L,
    0.04880428816414310722509L, -0.03316112647484735929226L,
    0.02259764823221810465962L, -0.0154247659049489591388L,
    0.01053879161661217538812L, -0.00720453438635686824097L,
  };
  const long double t =
      (x - 0x1.762d86356be3fp+0L) - 0x1.b86a722197829p-54L; /* the root */
  long double sum = 0.0L;
  for (int i = 11; i >= 0; i--) sum = sum * t + slopes[i];
  return sum * t;
}

/* x > 0: psi(x) = psi(x + 1) - 1/x up to 12, then log x - 1/(2x) less the sum
 * of B_2k / (2k x^2k), k = 1 .. 8 (Abramowitz & Stegun 6.3.18). */
static long double digamma_positive(long double x) {
  static const long double terms[] = {
    1 / 12.0L,  -1 / 120.0L,     1 / 252.0L, -1 / 240.0L,
    1 / 132.0L, -691 / 32760.0L, 1 / 12.0L,  -3617 / 8160.0L,
  };
  if (fabsl(x - 1.4616321L) < 0.0625L) return digamma_near_root(x);
  long double before = 0.0L;
  for (; x < 12.0L; x += 1.0L) before += 1.0L / x;
  const long double z = 1.0L / (x * x);
  long double sum = 0.0L;
  for (int k = 7; k >= 0; k--) sum = (sum + terms[k]) * z;
  return logl(x) - 0.5L / x - sum - before;
}

/* Below 0 by reflection: psi(x) = psi(1 - x) - pi / tan(pi x). */
double cxi_digamma_f64(double x) {
  if (x == 0.0) return -INFINITY;
  if (is_pole(x) || isnan(x)) return NAN;
  if (x > 0.0) return (double)digamma_positive((long double)x);
  const long double rest = (long double)(x - rint(x));
  return (double)(digamma_positive(1.0L - (long double)x) -
                  PI / tanl(PI * rest));
}

/* -- zeta ----------------------------------------------------------------- */

/* q^-s in three ways: powl takes 400 ns and a sum has dozens of terms. */
typedef long double power(long double q, long double s);

/* s = 1 .. 64, by repeated squaring: up to 64 products, each 2^-64 off. */
static long double power_whole(long double q, long double s) {
  long double product = 1.0L;
  for (unsigned n = (unsigned)s; n; n >>= 1, q *= q)
    if (n & 1) product *= q;
  return 1.0L / product;
}

/* Of q rounded to h, with the slope for the rest: h^-s (1 - s (q - h) / h).
 * Good to the last place of a double, where that has all its places. */
static long double power_near(long double q, long double s) {
  const double h = (double)q, near = pow(h, (double)-s);
  if (!(near > 0x1p-1000 && near < 0x1p1000)) return powl(q, -s);
  return near * (1.0L - s * (q - h) / h);
}

static long double power_wide(long double q, long double s) {
  return powl(q, -s);
}

/* For a sum from which another is taken away, all places of long double. */
static power *power_for(long double s, bool cancels) {
  if (s <= 64.0L && floorl(s) == s) return power_whole;
  return cancels ? power_wide : power_near;
}

/* q > 0: the sum to q + k >= 12 + s, or until a term counts no more, then
 * Euler and Maclaurin's formula with the coefficients B_2k / (2k)! (DLMF
 * 25.11.43). */
static long double zeta_positive(long double s, long double q, bool cancels) {
  static const long double terms[] = {
    8.333333333333333333333e-2L,  -1.388888888888888888889e-3L,
    3.306878306878306878307e-5L,  -8.267195767195767195767e-7L,
    2.087675698786809897921e-8L,  -5.284190138687493184848e-10L,
    1.338253653068467883283e-11L, -3.38968029632258286683e-13L,
    8.586062056277844564136e-15L, -2.174868698558061873042e-16L,
    5.509002828360229515203e-18L, -1.395446468581252334071e-19L,
  };
  power *const raised = power_for(s, cancels);
  long double sum = 0.0L;
  for (const long double enough = 12.0L + s; q < enough; q += 1.0L) {
    const long double term = raised(q, s);
    sum += term;
    if (term <= sum * 1e-22L) return sum;
  }
  const long double last = raised(q, s);
  sum += last * (q / (s - 1.0L) + 0.5L);
  long double rising = s * last / q; /* s (s + 1) ... q^(-s - 2k + 1) */
  for (int k = 0; k < 12; k++) {
    const long double term = terms[k] * rising;
    sum += term;
    if (fabsl(term) <= fabsl(sum) * 1e-20L) break;
    rising *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}

/* Below 0 for a whole s: the numbers q + k up to -1 + f and those from f > 0
 * on; the former are, but for the sign, r, r + 1, ... -q with r = 1 - f. */
static long double zeta_negative(long double s, long double q) {
  const long double f = q - floorl(q), r = 1.0L - f;
  const long double sign = fmodl(s, 2.0L) == 0.0L ? 1.0L : -1.0L;
  const long double below =
      zeta_positive(s, r, true) - zeta_positive(s, 1.0L - q, true);
  return sign * below + zeta_positive(s, f, true);
}

static long double zeta(double s, double q) {
  if (isnan(s) || isnan(q) || s < 1.0) return NAN;
  if (s == 1.0) return INFINITY;
  const bool whole = floor(s) == s;
  if (is_pole(q)) return whole && fmod(s, 2.0) == 0.0 ? INFINITY : NAN;
  if (q < 0.0 && (!whole || isinf(s))) return NAN;
  if (isinf(s)) return q > 1.0 ? 0.0L : q == 1.0 ? 1.0L : INFINITY;
  if (isinf(q)) return 0.0L;
  return q > 0.0 ? zeta_positive(s, q, false) : zeta_negative(s, q);
}
double cxi_zeta_f64(double s, double q) {
  return (double)zeta(s, q);
}

/* n! zeta(n + 1, x) where n! or x^-(n + 1) is beyond long double, x > 0: the sum of
 * (1 + k / x)^-(n + 1), which is below 1 + x / n, times n! / x^(n + 1). */
static double polygamma_large(double n, double x) {
  if (isinf(x)) return 0.0;
  const long double p = n + 1.0L;
  int sign;
  const long double exponent = lgammal_r(p, &sign) - p * logl(x);
  if (exponent > 800.0L) return INFINITY;
  if (exponent + log1pl(x / (long double)n) < -800.0L) return 0.0;
  long double sum = 1.0L, term = 1.0L;
  for (int k = 1; term > LDBL_EPSILON * sum; k++) {
    term = expl(-p * log1pl(k / (long double)x));
    sum += term;
  }
  return (double)(expl(exponent) * sum);
}

/* (-1)^(n + 1) n! zeta(n + 1, x), the factors in long double: one may be far
 * out of the range in which their product is. */
double cxi_polygamma_f64(double n, double x) {
  if (isnan(n) || isnan(x) || n < 0.0 || floor(n) != n) return NAN;
  if (n == 0.0) return cxi_digamma_f64(x);
  if (n > 1600.0 && x > 0.0 && !isinf(n))
    return fmod(n, 2.0) == 0.0 ? -polygamma_large(n, x) : polygamma_large(n, x);
  const double value = (double)(tgammal(n + 1.0L) * zeta(n + 1.0, x));
  return fmod(n, 2.0) == 0.0 ? -value : value;
}
