/* special.h - gamma, beta, zeta and Bessel functions; functions made of the
 * elementary ones. */
#ifndef CALX_SPECIAL_H
#define CALX_SPECIAL_H

#include "calx/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- Special functions ------------------------------------------------------
 * Elementwise, of floats; operands and errors as in elementwise.h, section 11.
 * Outside the domain the result is NaN. Computed in f64 and rounded once;
 * lgamma and digamma of f64 are within 4 ulp; measured, of f64: igamma, igammac
 * and betainc a relative 1e-13 for all operands up to 1e18, igamma_grad_a
 * 1e-11; polygamma 1e-13 up to the order 1e5.
 */
#define cx_lgamma(a) CX_U(CX_OP_LGAMMA, a)   /* log |Gamma(a)| */
#define cx_digamma(a) CX_U(CX_OP_DIGAMMA, a) /* d lgamma(a) / da */
/* The n-th derivative of digamma at x, n a whole number >= 0. */
#define cx_polygamma(n, x) CX_B(CX_OP_POLYGAMMA, n, x)
/* Hurwitz's: the sum of (q + k)^-s over k = 0, 1, ...; s > 1. Differentiable
 * with respect to q. */
#define cx_zeta(s, q) CX_B(CX_OP_ZETA, s, q)
/* The regularized incomplete gamma functions, from 0 to x and from x on, a > 0,
 * x >= 0; the derivative of the first with respect to a; and dx / da of a gamma
 * variate x. The last two have no derivatives. */
#define cx_igamma(a, x) CX_B(CX_OP_IGAMMA, a, x)
#define cx_igammac(a, x) CX_B(CX_OP_IGAMMAC, a, x)
#define cx_igamma_grad_a(a, x) CX_B(CX_OP_IGAMMA_GRAD_A, a, x)
#define cx_random_gamma_grad(a, x) CX_B(CX_OP_RANDOM_GAMMA_GRAD, a, x)
/* The regularized incomplete beta function I_x(a, b), a and b > 0, 0 <= x <= 1.
 * Differentiable with respect to x. */
#define cx_betainc(a, b, x) cx_betainc_(CX_AS(a, b, x), CX_AT)
CX_API CX_USED cx cx_betainc_(int n, const cx *operands, const char *at);
#define cx_betaln(a, b) CX_B(CX_OP_BETALN, a, b) /* log B(a, b); a, b > 0 */
/* Modified Bessel functions; e: times exp(-|a|), which does not overflow. */
#define cx_i0(a) CX_U(CX_OP_I0, a)
#define cx_i1(a) CX_U(CX_OP_I1, a)
#define cx_i0e(a) CX_U(CX_OP_I0E, a)
#define cx_i1e(a) CX_U(CX_OP_I1E, a)

/* The normal distribution: its function and the logarithm of that, exact far
 * below 0. */
#define cx_ndtr(a) CX_U(CX_OP_NDTR, a)
#define cx_log_ndtr(a) CX_U(CX_OP_LOG_NDTR, a)
/* The inverse of cx_ndtr: of 0 and 1 the infinities, outside NaN. f16 and bf16
 * in f32. Wichura 1988, algorithm AS 241. */
#define cx_ndtri(a) CX_U(CX_OP_NDTRI, a)
#define cx_logit(a) CX_U(CX_OP_LOGIT, a)     /* log(a / (1 - a)) */
#define cx_entr(a) CX_U(CX_OP_ENTR, a)       /* -a log a; of 0: 0; below: -inf */
#define cx_xlogy(a, b) CX_B(CX_OP_XLOGY, a, b)     /* a log b; of a = 0: 0 */
#define cx_xlog1py(a, b) CX_B(CX_OP_XLOG1PY, a, b) /* a log1p(b) */
/* log2(2^a + 2^b) without overflow */
#define cx_logaddexp2(a, b) CX_B(CX_OP_LOGADDEXP2, a, b)
/* sin(pi a) / (pi a), with all its derivatives at 0 */
#define cx_sinc(a) CX_U(CX_OP_SINC, a)
#define cx_hypot(a, b) CX_B(CX_OP_HYPOT, a, b) /* sqrt(a^2 + b^2), no overflow */
#define cx_log10(a) CX_U(CX_OP_LOG10, a)
#define cx_deg2rad(a) CX_U(CX_OP_DEG2RAD, a)
#define cx_rad2deg(a) CX_U(CX_OP_RAD2DEG, a)

#ifdef __cplusplus
}
#endif
#endif
