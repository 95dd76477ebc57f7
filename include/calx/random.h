/* random.h - random numbers. */
#ifndef CALX_RANDOM_H
#define CALX_RANDOM_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 17. Random -------------------------------------------------------------
 * threefry2x32, bit for bit JAX's. A key is an array; use it once. Splitting
 * or folding cx_none() gives cx_none(): "no randomness" needs no branches.
 */
#define cx_key(seed) cx_key_((seed), CX_AT)
CX_API CX_USED cx cx_key_(uint64_t seed, const char *at);
#define cx_fold(key, data) cx_fold_in_((key), CX_A(data), CX_AT)
/* k1, k2 = split(key):  cx_split(key, &k1, &k2). cx_split_n: an array of n. */
#define cx_split(...) CX_SPLIT_(__VA_ARGS__, NULL)
#define CX_SPLIT_(key, ...) \
  cx_split_((key), (struct cx *[]){ __VA_ARGS__ }, CX_AT)
CX_API CX_USED cx cx_fold_in_(cx key, cx data, const char *at);
CX_API void cx_split_(cx key, cx **out_keys, const char *at);
#define cx_split_n(key, n) cx_split_n_((key), (n), CX_AT)
CX_API CX_USED cx cx_split_n_(cx key, int64_t n, const char *at);
/* a key for each leaf */
#define cx_split_like(key, tree) cx_split_like_((key), (tree), CX_AT)
CX_API CX_USED cx cx_split_like_(cx key, cx tree, const char *at);
#define cx_uniform(key, t, ...) \
  cx_uniform_((key), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_normal(key, t, ...) \
  cx_normal_((key), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_bernoulli(key, p, ...) \
  cx_bernoulli_((key), CX_A(p), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_randint(key, lo, hi, ...) \
  cx_randint_((key), CX_A(lo), CX_A(hi), CX_DIMS(__VA_ARGS__), CX_AT)
/* The bounds' dtype, i32 of numbers; cx_randint_as: any integer dtype, whose
 * range a number as hi may end: cx_randint_as(key, CX_U8, 0, 256, n). Numbers
 * beyond it are cut to it; hi <= lo gives lo. */
#define cx_randint_as(key, t, lo, hi, ...)                 \
  cx_randint_as_((key), (t), CX_A(lo), CX_A(hi), CX_DIMS(__VA_ARGS__), CX_AT)
/* Far from 0 too; CX_EUSER if no number of dtype t lies inside (lo, hi). */
#define cx_truncated_normal(key, lo, hi, t, ...)         \
  cx_truncated_normal_((key), (lo), (hi), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_gumbel(key, t, ...) \
  cx_gumbel_((key), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_bits(key, t, ...) cx_bits_((key), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_categorical(key, logits) cx_categorical_((key), (logits), CX_AT)
CX_API CX_USED cx cx_uniform_(cx key, cx_dtype t, cx_dims shape,
                              const char *at);
CX_API CX_USED cx cx_normal_(cx key, cx_dtype t, cx_dims shape, const char *at);
CX_API CX_USED cx cx_bernoulli_(cx key, cx p, cx_dims shape, const char *at);
CX_API CX_USED cx cx_randint_(cx key, cx lo, cx hi, cx_dims shape,
                             const char *at);
CX_API CX_USED cx cx_randint_as_(cx key, cx_dtype t, cx lo, cx hi,
                                cx_dims shape, const char *at);
CX_API CX_USED cx cx_truncated_normal_(cx key, double lo, double hi, cx_dtype t,
                                       cx_dims shape, const char *at);
CX_API CX_USED cx cx_gumbel_(cx key, cx_dtype t, cx_dims shape, const char *at);
CX_API CX_USED cx cx_bits_(cx key, cx_dtype t, cx_dims shape, const char *at);
CX_API CX_USED cx cx_categorical_(cx key, cx logits, const char *at);

/* Distributions; parameters are numbers or arrays of dtype t that broadcast to
 * the shape. The formulas are jax.random's, the draws agree within rounding.
 *   CX_EDTYPE: t is no float, or a parameter has another dtype. CX_ESHAPE: a
 *   parameter does not broadcast to the shape. */
typedef enum cx_distribution {
  CX_DRAW_EXPONENTIAL = 1, CX_DRAW_LAPLACE, CX_DRAW_LOGISTIC, CX_DRAW_CAUCHY,
  CX_DRAW_MAXWELL, CX_DRAW_RADEMACHER, CX_DRAW_PARETO, CX_DRAW_RAYLEIGH,
  CX_DRAW_LOGNORMAL, CX_DRAW_WALD, CX_DRAW_WEIBULL,
  CX_DRAW_DOUBLE_SIDED_MAXWELL, CX_DRAW_TRIANGULAR, CX_DRAW_GAMMA,
  CX_DRAW_LOGGAMMA, CX_DRAW_BETA, CX_DRAW_CHISQUARE, CX_DRAW_F, CX_DRAW_T,
  CX_DRAW_GENERALIZED_NORMAL
} cx_distribution;
CX_API CX_USED cx cx_draw_(cx_distribution what, cx key, int n,
                           const cx *params, cx_dtype t, cx_dims shape,
                           const char *at);
#define CX_DRAW_0(what, key, t, ...) \
  cx_draw_((what), (key), 0, NULL, (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define CX_DRAW_1(what, key, a, t, ...) \
  cx_draw_((what), (key), CX_AS(a), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define CX_DRAW_2(what, key, a, b, t, ...) \
  cx_draw_((what), (key), CX_AS(a, b), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define CX_DRAW_3(what, key, a, b, c, t, ...) \
  cx_draw_((what), (key), CX_AS(a, b, c), (t), CX_DIMS(__VA_ARGS__), CX_AT)
/* Of mean 1; of scale 1 about 0; -1 or 1. */
#define cx_exponential(key, ...) \
  CX_DRAW_0(CX_DRAW_EXPONENTIAL, key, __VA_ARGS__)
#define cx_laplace(key, ...) CX_DRAW_0(CX_DRAW_LAPLACE, key, __VA_ARGS__)
#define cx_logistic(key, ...) CX_DRAW_0(CX_DRAW_LOGISTIC, key, __VA_ARGS__)
#define cx_cauchy(key, ...) CX_DRAW_0(CX_DRAW_CAUCHY, key, __VA_ARGS__)
#define cx_maxwell(key, ...) CX_DRAW_0(CX_DRAW_MAXWELL, key, __VA_ARGS__)
#define cx_rademacher(key, ...) CX_DRAW_0(CX_DRAW_RADEMACHER, key, __VA_ARGS__)
/* P(x > s) = s^-b, s >= 1, b > 0; the others of scale or mean `a` > 0. */
#define cx_pareto(key, b, ...) CX_DRAW_1(CX_DRAW_PARETO, key, b, __VA_ARGS__)
#define cx_rayleigh(key, a, ...) \
  CX_DRAW_1(CX_DRAW_RAYLEIGH, key, a, __VA_ARGS__)
#define cx_lognormal(key, a, ...) \
  CX_DRAW_1(CX_DRAW_LOGNORMAL, key, a, __VA_ARGS__)
#define cx_wald(key, a, ...) CX_DRAW_1(CX_DRAW_WALD, key, a, __VA_ARGS__)
#define cx_weibull_min(key, scale, k, ...) \
  CX_DRAW_2(CX_DRAW_WEIBULL, key, scale, k, __VA_ARGS__)
#define cx_double_sided_maxwell(key, loc, scale, ...) \
  CX_DRAW_2(CX_DRAW_DOUBLE_SIDED_MAXWELL, key, loc, scale, __VA_ARGS__)
#define cx_triangular(key, left, mode, right, ...) \
  CX_DRAW_3(CX_DRAW_TRIANGULAR, key, left, mode, right, __VA_ARGS__)
/* Shape a > 0, scale 1, and its logarithm; degrees of freedom df > 0. */
#define cx_gamma(key, a, ...) CX_DRAW_1(CX_DRAW_GAMMA, key, a, __VA_ARGS__)
#define cx_loggamma(key, a, ...) \
  CX_DRAW_1(CX_DRAW_LOGGAMMA, key, a, __VA_ARGS__)
#define cx_beta(key, a, b, ...) CX_DRAW_2(CX_DRAW_BETA, key, a, b, __VA_ARGS__)
#define cx_chisquare(key, df, ...) \
  CX_DRAW_1(CX_DRAW_CHISQUARE, key, df, __VA_ARGS__)
#define cx_f(key, df1, df2, ...) \
  CX_DRAW_2(CX_DRAW_F, key, df1, df2, __VA_ARGS__)
#define cx_student_t(key, df, ...) CX_DRAW_1(CX_DRAW_T, key, df, __VA_ARGS__)
/* Density proportional to exp(-|x|^p). */
#define cx_generalized_normal(key, p, ...) \
  CX_DRAW_1(CX_DRAW_GENERALIZED_NORMAL, key, p, __VA_ARGS__)
/* Draws (shape, k) that sum to 1; alpha (..., k) > 0, whose other axes
 * broadcast to the shape. */
#define cx_dirichlet(key, alpha, t, ...) \
  cx_dirichlet_((key), (alpha), (t), CX_DIMS(__VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_dirichlet_(cx key, cx alpha, cx_dtype t, cx_dims shape,
                               const char *at);
/* Trials up to the first success, each with probability p in (0, 1]; t an
 * integer dtype. */
#define cx_geometric(key, p, t, ...) \
  cx_geometric_((key), CX_A(p), (t), CX_DIMS(__VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_geometric_(cx key, cx p, cx_dtype t, cx_dims shape,
                               const char *at);

#ifdef __cplusplus
}
#endif
#endif
