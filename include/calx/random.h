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
/* k1, k2 = split(key):  cx_split(key, &k1, &k2). cx_split_n(key, 2, 3): an
 * array of this shape. */
#define cx_split(...) CX_CAT(CX_SPLIT_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_SPLIT_1(key) cx_split_((key), CX_KEYS_ARE_MISSING, CX_AT)
#define CX_SPLIT_2_OR_MORE(key, ...) \
  cx_split_((key), (struct cx *[]){ __VA_ARGS__, NULL }, CX_AT)
CX_API CX_USED cx cx_fold_in_(cx key, cx data, const char *at);
CX_API void cx_split_(cx key, cx **out_keys, const char *at);
#define cx_split_n(...) \
  cx_split_n_(CX_THEN(CX_SIZES_ARE_MISSING, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_split_n_(cx key, cx_dims shape, const char *at);
/* a key for each leaf */
#define cx_split_like(key, tree) cx_split_like_((key), (tree), CX_AT)
CX_API CX_USED cx cx_split_like_(cx key, cx tree, const char *at);
/* The two words of each key, u32 (..., 2), to keep or to send; keys of such
 * words. CX_EDTYPE, CX_ESHAPE if they are none. */
#define cx_key_data(keys) cx_key_data_((keys), CX_AT)
#define cx_wrap_key_data(words) cx_wrap_key_data_((words), CX_AT)
CX_API CX_USED cx cx_key_data_(cx keys, const char *at);
CX_API CX_USED cx cx_wrap_key_data_(cx words, const char *at);
/* The hash beneath, of u32 arrays that broadcast: the two words of a key, the
 * two of a counter -> a tuple of two. The two words, high and low, of each
 * element's index in an array of this shape: a tuple. */
#define cx_threefry2x32(k0, k1, x0, x1) \
  cx_threefry2x32_(CX_AS(k0, k1, x0, x1), CX_AT)
#define cx_iota_2x32(...) cx_iota_2x32_(CX_DIMS(__VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_threefry2x32_(int n, const cx *words, const char *at);
CX_API CX_USED cx cx_iota_2x32_(cx_dims shape, const char *at);
/* Sizes at the end, of which none mean a scalar. */
#define cx_uniform(key, ...) \
  cx_uniform_((key), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_normal(key, ...) \
  cx_normal_((key), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_bernoulli(key, ...) \
  cx_bernoulli_((key), CX_THEN_A(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_randint(key, lo, ...) \
  cx_randint_((key), CX_A(lo), CX_THEN_A(CX_SCALAR, __VA_ARGS__), CX_AT)
/* The bounds' dtype, i32 of numbers; cx_randint_as: any integer dtype, whose
 * range a number as hi may end: cx_randint_as(key, CX_U8, 0, 256, n). Numbers
 * beyond it are cut to it; hi <= lo gives lo. */
#define cx_randint_as(key, t, lo, ...)                       \
  cx_randint_as_((key), (t), CX_A(lo),                       \
                 CX_THEN_A(CX_SCALAR, __VA_ARGS__), CX_AT)
/* Far from 0 too; CX_EUSER if no number of dtype t lies inside (lo, hi). */
#define cx_truncated_normal(key, lo, hi, ...)                          \
  cx_truncated_normal_((key), (lo), (hi), CX_THEN(CX_SCALAR, __VA_ARGS__), \
                       CX_AT)
#define cx_gumbel(key, ...) \
  cx_gumbel_((key), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_bits(key, ...) \
  cx_bits_((key), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
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

/* Indices i32 of classes, drawn with the probabilities softmax(logits) along
 * the last axis (..., n), cx_categorical_along: along an axis. One for each
 * line; .draws = CX_SHAPE(5): (5, ...), .without_replacement: no class twice
 * in a line. The logits need not sum to anything; -inf is never drawn.
 *   CX_EDTYPE: no floats. CX_EINDEX: no such axis. CX_ESHAPE: no classes, or
 *   more draws without replacement than there are.
 * The greatest of logits and Gumbel numbers: Kool et al. 2019,
 * arXiv:1903.06059. */
typedef struct cx_categorical_opt {
  CX_OPTIONS;
  cx_dims draws;
  bool without_replacement;
} cx_categorical_opt;
#define cx_categorical(key, ...) CX_CATEGORICAL(key, __VA_ARGS__, )
#define CX_CATEGORICAL(key, logits, ...)   \
  cx_categorical_((key), (logits), -1,     \
                  CX_OPT(cx_categorical_opt, __VA_ARGS__), CX_AT)
#define cx_categorical_along(key, logits, ...) \
  CX_CATEGORICAL_ALONG(key, logits, __VA_ARGS__, )
#define CX_CATEGORICAL_ALONG(key, logits, axis, ...) \
  cx_categorical_((key), (logits), (axis),           \
                  CX_OPT(cx_categorical_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_categorical_(cx key, cx logits, int axis,
                                 cx_categorical_opt opt, const char *at);

/* x with the slices along .axis (0) in a random order, of any dtype; with
 * .independent each line has its own order. A C number n: a permutation i32 of
 * 0..n-1. CX_EINDEX: no such axis. CX_ESHAPE: x has none, n < 0. */
typedef struct cx_permutation_opt {
  CX_OPTIONS;
  int axis;
  bool independent;
} cx_permutation_opt;
#define cx_permutation(key, ...) CX_PERMUTATION(key, __VA_ARGS__, )
#define CX_PERMUTATION(key, a, ...) \
  cx_permutation_((key), CX_A(a), CX_OPT(cx_permutation_opt, __VA_ARGS__), \
                  CX_AT)
CX_API CX_USED cx cx_permutation_(cx key, cx a, cx_permutation_opt opt,
                                 const char *at);
/* Slices of x along .axis (0), or of 0..n-1 for a C number n, drawn with equal
 * probabilities or those of .p, floats (n) >= 0 that are scaled to sum to 1.
 * The shape, a number or CX_SHAPE(2, 3), takes the axis' place:
 *   cx_choice(key, x, 5), cx_choice(key, 10, CX_SHAPE(2, 3), .p = p),
 *   cx_choice(key, x, 5, .without_replacement = true)
 * CX_EINDEX: no such axis. CX_EDTYPE: p is no float. CX_ESHAPE: nothing to draw
 * from, more draws without replacement than slices, p is not (n). */
typedef struct cx_choice_opt {
  CX_OPTIONS;
  cx p;
  int axis;
  bool without_replacement;
} cx_choice_opt;
#define cx_choice(key, a, ...) CX_CHOICE(key, a, __VA_ARGS__, )
#define CX_CHOICE(key, a, shape, ...)             \
  cx_choice_((key), CX_A(a), CX_DIMS_1(shape),  \
             CX_OPT(cx_choice_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_choice_(cx key, cx a, cx_dims shape, cx_choice_opt opt,
                            const char *at);

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
#define CX_DRAW_0(what, key, ...) \
  cx_draw_((what), (key), 0, NULL, CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define CX_DRAW_1(what, key, a, ...) \
  cx_draw_((what), (key), CX_AS(a), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define CX_DRAW_2(what, key, a, b, ...)                                      \
  cx_draw_((what), (key), CX_AS(a, b), CX_THEN(CX_SCALAR, __VA_ARGS__), \
           CX_AT)
#define CX_DRAW_3(what, key, a, b, c, ...)                                      \
  cx_draw_((what), (key), CX_AS(a, b, c), CX_THEN(CX_SCALAR, __VA_ARGS__), \
           CX_AT)
/* Of mean 1; of scale 1 about 0; -1 or 1, of a signed integer dtype too. */
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
#define cx_dirichlet(key, alpha, ...) \
  cx_dirichlet_((key), (alpha), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_dirichlet_(cx key, cx alpha, cx_dtype t, cx_dims shape,
                               const char *at);
/* Trials up to the first success, each with probability p in (0, 1]; t an
 * integer dtype. */
#define cx_geometric(key, p, ...) \
  cx_geometric_((key), CX_A(p), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_geometric_(cx key, cx p, cx_dtype t, cx_dims shape,
                               const char *at);

/* Counts. Their derivatives with respect to the parameters are 0.
 * cx_poisson: of mean lam >= 0, t an integer dtype; -1 (unsigned: the greatest)
 * for a lam that is NaN or below 0. Computed in f32. Knuth 1969, 3.4.1; Hoermann
 * 1993, "The transformed rejection method for generating Poisson random
 * variables", PTRS.
 * cx_binomial: how many of n trials succeed, each with probability p; n and p
 * numbers or arrays that broadcast to the shape, n of any dtype, p floating;
 * t floating. Computed in p's dtype, for a number p in f32, or f64 if t is;
 * NaN unless 0 <= p <= 1 and n >= 0, infinite if n is. Hoermann 1993, "The
 * generation of binomial random variates", BTRS.
 * cx_multinomial: the shape (..., k) of classes with the probabilities p (...,
 * k), counts that sum to n (...); by binomial numbers, one class after the
 * other. n and p of dtype t, which is floating.
 *   CX_EDTYPE: t or a parameter is of another kind. CX_ESHAPE: a parameter does
 *   not broadcast to the shape. */
#define cx_poisson(key, lam, ...) \
  cx_poisson_((key), CX_A(lam), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_binomial(key, n, p, ...)                                      \
  cx_binomial_((key), CX_A(n), CX_A(p), CX_THEN(CX_SCALAR, __VA_ARGS__), \
               CX_AT)
#define cx_multinomial(key, n, p, ...)                            \
  cx_multinomial_((key), CX_A(n), CX_A(p),                        \
                  CX_THEN(CX_SIZES_ARE_MISSING, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_poisson_(cx key, cx lam, cx_dtype t, cx_dims shape,
                             const char *at);
CX_API CX_USED cx cx_binomial_(cx key, cx n, cx p, cx_dtype t, cx_dims shape,
                              const char *at);
CX_API CX_USED cx cx_multinomial_(cx key, cx n, cx p, cx_dtype t,
                                 cx_dims shape, const char *at);

/* Vectors and matrices.
 * cx_multivariate_normal: vectors (shape, n) with the mean (..., n) and the
 * covariance (..., n, n), floats of one dtype whose other axes broadcast to
 * the shape, a number or CX_SHAPE(...). Through a factor of the covariance:
 * that of Cholesky, or by .method, which singular matrices need, eigenvalues
 * or singular values.
 * cx_orthogonal: matrices (..., n, m), uniform among those with orthonormal
 * columns, or rows if n < m. Mezzadri 2007, arXiv:math-ph/0609050.
 * cx_ball: vectors (..., d), uniform where sum |x|^p <= 1; p > 0 a number or
 * an array of rank 0. Barthe et al. 2005, arXiv:math/0503650.
 *   CX_EDTYPE: no floats, or dtypes that differ. CX_ESHAPE: sizes that do not
 *   fit, axes that lack. CX_EUSER: no such method. */
typedef enum cx_normal_method {
  CX_BY_CHOLESKY, CX_BY_EIGH, CX_BY_SVD
} cx_normal_method;
typedef struct cx_multivariate_opt {
  CX_OPTIONS;
  cx_normal_method method;
} cx_multivariate_opt;
#define cx_multivariate_normal(key, mean, cov, ...) \
  CX_MULTIVARIATE(key, mean, cov, __VA_ARGS__, )
#define CX_MULTIVARIATE(key, mean, cov, shape, ...)                        \
  cx_multivariate_normal_((key), (mean), (cov), CX_DIMS_1(shape),        \
                          CX_OPT(cx_multivariate_opt, __VA_ARGS__), CX_AT)
#define cx_orthogonal(key, ...)                                         \
  cx_orthogonal_((key), CX_THEN(CX_SIZES_ARE_MISSING, __VA_ARGS__), \
                 CX_AT)
#define cx_ball(key, p, ...)                                          \
  cx_ball_((key), CX_A(p), CX_THEN(CX_SIZES_ARE_MISSING, __VA_ARGS__), \
           CX_AT)
CX_API CX_USED cx cx_multivariate_normal_(cx key, cx mean, cx cov,
                                         cx_dims shape,
                                         cx_multivariate_opt opt,
                                         const char *at);
CX_API CX_USED cx cx_orthogonal_(cx key, cx_dtype t, cx_dims shape,
                                const char *at);
CX_API CX_USED cx cx_ball_(cx key, cx p, cx_dtype t, cx_dims shape,
                          const char *at);

#ifdef __cplusplus
}
#endif
#endif
