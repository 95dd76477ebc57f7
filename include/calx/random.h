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
CX_API CX_USED cx cx_key(uint64_t seed);
#define cx_fold(key, data) cx_fold_in_((key), CX_A(data), CX_AT)
/* k1, k2 = split(key):  cx_split(key, &k1, &k2). cx_split_n: an array of n. */
#define cx_split(...) CX_SPLIT_(__VA_ARGS__, NULL)
#define CX_SPLIT_(key, ...) \
  cx_split_((key), (struct cx *[]){ __VA_ARGS__ }, CX_AT)
CX_API CX_USED cx cx_fold_in_(cx key, cx data, const char *at);
CX_API void cx_split_(cx key, cx **out_keys, const char *at);
CX_API CX_USED cx cx_split_n(cx key, int64_t n);
CX_API CX_USED cx cx_split_like(cx key, cx tree); /* a key for each leaf */
#define cx_uniform(key, t, ...) \
  cx_uniform_((key), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_normal(key, t, ...) \
  cx_normal_((key), (t), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_bernoulli(key, p, ...) \
  cx_bernoulli_((key), CX_A(p), CX_DIMS(__VA_ARGS__), CX_AT)
#define cx_randint(key, lo, hi, ...) \
  cx_randint_((key), CX_A(lo), CX_A(hi), CX_DIMS(__VA_ARGS__), CX_AT)
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
CX_API CX_USED cx cx_truncated_normal_(cx key, double lo, double hi, cx_dtype t,
                                       cx_dims shape, const char *at);
CX_API CX_USED cx cx_gumbel_(cx key, cx_dtype t, cx_dims shape, const char *at);
CX_API CX_USED cx cx_bits_(cx key, cx_dtype t, cx_dims shape, const char *at);
CX_API CX_USED cx cx_categorical_(cx key, cx logits, const char *at);

#ifdef __cplusplus
}
#endif
#endif
