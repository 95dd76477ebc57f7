/* math_special.h - special functions on single numbers; see math.h.
 *
 * All are computed in f64, sums and exponents that cancel in long double; f32
 * is rounded from that. Outside their domain they are NaN. */
#ifndef CXI_MATH_SPECIAL_H
#define CXI_MATH_SPECIAL_H

/* log |Gamma(x)|; infinity at 0, -1, -2, ... */
double cxi_lgamma_f64(double x);
/* The derivative of log Gamma; -infinity at 0, NaN at -1, ... */
double cxi_digamma_f64(double x);
/* The sum over k >= 0 of (q + k)^-s, s > 1. At a pole, q = 0, -1, -2, ...:
 * infinity for even s, else NaN; other q < 0 need a whole s. */
double cxi_zeta_f64(double s, double q);
/* The n-th derivative of digamma, n = 0, 1, 2, ... */
double cxi_polygamma_f64(double n, double x);

/* The regularized incomplete gamma functions P(a, x) and Q = 1 - P; a > 0,
 * x >= 0. */
double cxi_igamma_f64(double a, double x);
double cxi_igammac_f64(double a, double x);
/* dP / da, and the derivative dx / da of a gamma variate x along constant P:
 * -(dP / da) / (dP / dx). */
double cxi_igamma_grad_a_f64(double a, double x);
double cxi_random_gamma_grad_f64(double a, double x);
/* I_x(a, b); a, b > 0 and 0 <= x <= 1. */
double cxi_regularized_incomplete_beta_f64(double a, double b, double x);

/* e^-|x| I_0(x), e^-|x| I_1(x) */
double cxi_bessel_i0e_f64(double x);
double cxi_bessel_i1e_f64(double x);

static inline float cxi_lgamma_f32(float x) {
  return (float)cxi_lgamma_f64((double)x);
}
static inline float cxi_digamma_f32(float x) {
  return (float)cxi_digamma_f64((double)x);
}
static inline float cxi_zeta_f32(float s, float q) {
  return (float)cxi_zeta_f64((double)s, (double)q);
}
static inline float cxi_polygamma_f32(float n, float x) {
  return (float)cxi_polygamma_f64((double)n, (double)x);
}
static inline float cxi_igamma_f32(float a, float x) {
  return (float)cxi_igamma_f64((double)a, (double)x);
}
static inline float cxi_igammac_f32(float a, float x) {
  return (float)cxi_igammac_f64((double)a, (double)x);
}
static inline float cxi_igamma_grad_a_f32(float a, float x) {
  return (float)cxi_igamma_grad_a_f64((double)a, (double)x);
}
static inline float cxi_random_gamma_grad_f32(float a, float x) {
  return (float)cxi_random_gamma_grad_f64((double)a, (double)x);
}
static inline float cxi_regularized_incomplete_beta_f32(float a, float b,
                                                        float x) {
  return (float)cxi_regularized_incomplete_beta_f64((double)a, (double)b,
                                                    (double)x);
}
static inline float cxi_bessel_i0e_f32(float x) {
  return (float)cxi_bessel_i0e_f64((double)x);
}
static inline float cxi_bessel_i1e_f32(float x) {
  return (float)cxi_bessel_i1e_f64((double)x);
}

#endif
