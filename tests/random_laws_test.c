/* random_laws_test.c - orders, choices, counts, vectors and matrices at random:
 * the numbers of JAX 0.10.2 for jax.random.key(7), and the laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calx/testing.h"
#include "support/group.h"
#include "support/laws.h"

static cx key7(void) {
  return cx_key(7);
}
static cx table(cx_dtype t) { /* 0..11 in three rows */
  return cx_reshape(cx_cast(cx_arange(0, 12, 1, CX_I32), t), 3, 4);
}
static cx log_weights(void) { /* log 1..12 */
  return cx_log(cx_reshape(cx_arange(1, 13, 1, CX_F32), 3, 4));
}
static cx tenths(cx_dtype t) { /* 0.1 0.2 0.3 0.4 */
  return cx_cast(cx_array(float, 0.1, 0.2, 0.3, 0.4), t);
}
static void check_integers(cx got, int n, const int *want) {
  int all[32];
  cx_read(cx_cast(cx_reshape(got, -1), CX_I32), all, n);
  assert_true(cx_ok());
  for (int i = 0; i < n; i++)
    if (all[i] != want[i])
      fail_msg("element %d: %d, not %d", i, all[i], want[i]);
}
#define INTEGERS(got, ...)                                            \
  check_integers((got), sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
                 (int[]){ __VA_ARGS__ })
#define CLOSE(got, ...)                                                       \
  cx_assert(cx_check_close(cx_reshape(got, -1), cx_array(float, __VA_ARGS__), \
                           .rtol = 4e-6, .atol = 1e-6))

/* -- the same numbers as JAX ---------------------------------------------- */

static void orders_of_jax(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = key7(), x = table(CX_F32);
  INTEGERS(cx_permutation(k, 9), 4, 2, 3, 5, 0, 7, 6, 1, 8);
  INTEGERS(cx_permutation(k, x), 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7);
  INTEGERS(cx_permutation(k, x, .axis = 1), 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8,
           9);
  INTEGERS(cx_permutation(k, x, .axis = -1, .independent = true), 2, 3, 0, 1, 4,
           5, 7, 6, 10, 9, 11, 8);
}
static void choices_of_jax(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = key7(), x = table(CX_F32), p = tenths(CX_F32);
  INTEGERS(cx_choice(k, 10, CX_SHAPE(2, 3)), 9, 2, 0, 7, 2, 6);
  INTEGERS(cx_choice(k, x, 2, .axis = 1, .without_replacement = true), 2, 3, 6,
           7, 10, 11);
  INTEGERS(cx_choice(k, 4, 10, .p = p), 2, 0, 3, 2, 1, 2, 2, 2, 3, 3);
  INTEGERS(cx_choice(k, 4, 3, .p = p, .without_replacement = true), 1, 3, 0);
  const cx logits = log_weights();
  INTEGERS(cx_categorical_along(k, logits, 0), 1, 0, 2, 2);
  INTEGERS(cx_categorical(k, logits, .draws = CX_SHAPE(4)), 1, 0, 3, 2, 3, 0, 2,
           2, 3, 2, 1, 1);
  INTEGERS(cx_categorical(k, logits, .draws = CX_SHAPE(3),
                          .without_replacement = true),
           1, 0, 3, 3, 1, 2, 0, 3, 1);
  INTEGERS(cx_categorical_along(k, logits, 0, .draws = CX_SHAPE(2),
                                .without_replacement = true),
           1, 0, 2, 2, 2, 1, 1, 1);
}
static void counts_of_jax(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = key7();
  const cx lam = cx_array(float, 0, 0.5, 3, 9.9, 10, 40, 300);
  INTEGERS(cx_poisson(k, lam, CX_I32, 3, 7), 0, 1, 1, 9, 9, 40, 317, 0, 2, 1, 6,
           10, 37, 285, 0, 2, 7, 8, 11, 52, 310);
  const cx n = cx_array(float, 0, 7, 60, 1000);
  const cx p = cx_array(float, 0.5, 0.2, 0.7, 0.03);
  INTEGERS(cx_binomial(k, n, p, CX_F32, 3, 4), 0, 2, 50, 23, 0, 0, 40, 27, 0, 0,
           47, 32);
  INTEGERS(cx_multinomial(k, 50, tenths(CX_F32), CX_F32, 3, 4), 7, 17, 15, 11,
           7, 17, 15, 11, 2, 11, 14, 23);
}
/* p of 16 bits draws in them; a number p in f32. */
static void counts_of_jax_in_16_bits(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = cx_key(5);
  const cx n = cx_array(float, 5, 20, 60, 100, 200, 40.5f);
  const cx p = cx_array(float, 0.5f, 0.25f, 0.75f, 0.375f, 0.125f, 0.25f);
  const cx p_bf16 = cx_cast(p, CX_BF16), p_f16 = cx_cast(p, CX_F16);
  INTEGERS(cx_binomial(k, n, p, CX_F32, 6), 1, 5, 50, 34, 19, 10);
  INTEGERS(cx_binomial(k, n, p_bf16, CX_BF16, 6), 3, 9, 46, 33, 21, 12);
  INTEGERS(cx_binomial(k, n, p_f16, CX_F32, 6), 3, 6, 44, 30, 23, 10);
  const cx parts = cx_reshape(
      cx_array(float, 0.25f, 0.5f, 0.25f, 0.125f, 0.5f, 0.375f), 2, 3);
  const cx whole = cx_array(float, 30, 9);
  INTEGERS(cx_multinomial(cx_key(6), cx_cast(whole, CX_BF16),
                          cx_cast(parts, CX_BF16), CX_BF16, 2, 3),
           8, 14, 8, 0, 8, 1);
  INTEGERS(cx_multinomial(cx_key(6), cx_cast(whole, CX_F16),
                          cx_cast(parts, CX_F16), CX_F16, 2, 3),
           10, 10, 10, 1, 4, 4);
}
static void numbers_of_jax(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = key7();
  const cx mean = cx_array(float, 1, -1);
  const cx cov = cx_reshape(cx_array(float, 2, 0.5, 0.5, 1), 2, 2);
  CLOSE(cx_multivariate_normal(k, mean, cov, 3), 1.63814282, 0.986821771,
        0.269927144, -1.31435585, 1.87044382, -0.469664633);
  CLOSE(cx_orthogonal(k, CX_F32, 3, 2), 0.489735126, 0.869762003, -0.560285628,
        0.367217392, 0.668011665, -0.329644382);
  CLOSE(cx_orthogonal(k, CX_F32, 2, 3), 0.489735126, -0.560285628, 0.668011665,
        0.869762003, 0.367217392, -0.329644382);
  CLOSE(cx_ball(k, 3, CX_F32, 3, 2), -0.357359797, 0.406620264, 0.110027604,
        -0.485757709, 0.263923228, -0.268253922);
  CLOSE(cx_ball(k, 1, CX_F32, 2, 3), -0.353564143, 0.232713118, 0.171319261,
        -0.480379879, 0.050048165, -0.0995365083);
  CLOSE(cx_f(k, 3, 5, CX_F32, 4), 0.483843207, 1.10760665, 1.64770091,
        0.654494762);
  CLOSE(cx_wald(k, 2, CX_F32, 3), 0.47095108, 2.44271636, 0.970577955);
  CLOSE(cx_maxwell(k, CX_F32, 3), 2.07028675, 0.714470327, 1.49997962);
  CLOSE(cx_double_sided_maxwell(k, 1, 2, CX_F32, 3), -1.47719097, -4.17010546,
        3.76034451);
  CLOSE(cx_triangular(k, -1, 0.5, 2, CX_F32, 3), 0.788969278, 1.6620295,
        0.167388558);
  CLOSE(cx_lognormal(k, 0.5, CX_F32, 3), 1.25309634, 2.65574551, 0.77250272);
  CLOSE(cx_chisquare(k, 3, CX_F32, 3), 3.02206659, 1.04379094, 1.15568233);
  CLOSE(cx_generalized_normal(k, 1.5, CX_F32, 3), -0.113148823, -0.786064863,
        0.0586738139);
  CLOSE(cx_loggamma(k, 0.7, CX_F32, 3), -5.71528578, -0.813169718, -4.07840061);
  INTEGERS(cx_rademacher(k, CX_I32, 8), -1, -1, 1, 1, -1, -1, 1, 1);
}
static void words_of_keys(void **state) {
  (void)state;
  CX_SCOPE;
  uint32_t got[8];
  static const uint32_t want[8] = { 3625411723u, 1954958720u, 195045567u,
                                    4062205631u, 966301609u,  1948237315u,
                                    276534068u,  1641862660u };
  const cx keys = cx_split_n(key7(), 2, 2), words = cx_key_data(keys);
  cx_read(cx_reshape(words, -1), got, 8);
  assert_true(cx_ok());
  assert_memory_equal(got, want, sizeof got);
  const cx again = cx_wrap_key_data(words);
  assert_int_equal(cx_type(again), CX_KEY);
  cx_assert(cx_check_close(again, keys));
  cx x = cx_key_data(words);
  cx_assert(cx_check_error(CX_EDTYPE, "key_data: needs a random key"));
  x = cx_wrap_key_data(cx_zeros(CX_I32, 2));
  cx_assert(cx_check_error(CX_EDTYPE, "wrap_key_data: needs u32"));
  x = cx_wrap_key_data(cx_zeros(CX_U32, 3));
  cx_assert(cx_check_error(CX_ESHAPE, "wrap_key_data: needs words (..., 2)"));
  x = cx_split_n(key7(), -1, 2);
  cx_assert(cx_check_error(CX_ESHAPE, "split: no such shape"));
  (void)x;
}

/* -- laws ------------------------------------------------------------------ */

CX_DEF(order_of_four, k) {
  const cx order = cx_permutation(k, 4);
  return cx_sum(cx_mul(order, cx_array(int, 64, 16, 4, 1)));
}
/* An order is written in digits to base 4. */
static double is_an_order(int code) {
  int seen = 0;
  for (int i = 0; i < 4; i++) seen |= 1 << (code >> 2 * i & 3);
  return seen == 15 ? 1 / 24.0 : 0;
}
CX_DEF(two_of_four, k, p) {
  const cx two = cx_choice(k, 4, 2, .p = p, .without_replacement = true);
  return cx_add(cx_mul(cx_index(two, 0), 4), cx_index(two, 1));
}
CX_DEF(two_classes, k, p) {
  const cx two = cx_categorical(k, cx_log(p), .draws = CX_SHAPE(2),
                                .without_replacement = true);
  return cx_add(cx_mul(cx_index(two, 0), 4), cx_index(two, 1));
}
/* The first by its probability, the second by its share of the others. */
static double ordered_pair(int code) {
  const int a = code / 4, b = code % 4;
  const double p = (a + 1) / 10.0, q = (b + 1) / 10.0;
  return a == b ? 0 : p * q / (1 - p);
}
static double tenth(int i) {
  return (i + 1) / 10.0;
}
static void orders_and_choices(void **state) {
  (void)state;
  for (cx_dtype t = CX_F32; t <= CX_F64; t++) {
    CX_SCOPE;
    const cx keys = cx_split_n(cx_key(11), 4800), p = tenths(t);
    check_counts("permutation", cx_call(cx_vmap(CX_FN(order_of_four)), keys),
                 256, is_an_order);
    const cx_fn each = cx_vmap(CX_FN(two_of_four), .in = { 0, CX_NONE });
    check_counts("choice", cx_call(each, keys, p), 16, ordered_pair);
    const cx_fn other = cx_vmap(CX_FN(two_classes), .in = { 0, CX_NONE });
    check_counts("categorical", cx_call(other, keys, p), 16, ordered_pair);
    check_counts("choice with p", cx_choice(cx_key(3), 4, 5000, .p = p), 4,
                 tenth);
  }
}
static double rate, chance;
static int trials;
static double poisson(int k) {
  return exp(k * log(rate) - rate - lgamma(k + 1));
}
static double binomial(int k) {
  const double ways =
      lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1);
  return exp(ways + k * log(chance) + (trials - k) * log1p(-chance));
}
static void counts(void **state) {
  (void)state;
  static const double rates[] = { 0.3, 3.7, 9.99, 10, 47, 200 };
  for (int i = 0; i < 6; i++) {
    CX_SCOPE;
    rate = rates[i];
    check_counts("poisson", cx_poisson(cx_key(5), rate, CX_I16, 20000), 400,
                 poisson);
    check_counts("poisson", cx_poisson(cx_key(6), rate, CX_U64, 200, 100), 400,
                 poisson);
  }
  static const struct {
    int n;
    double p;
  } cases[] = { { 25, 0.3 }, { 60, 0.35 },  { 60, 0.8 },
                { 9, 0.5 },  { 400, 0.02 }, { 400, 0.5 } };
  for (int i = 0; i < 6; i++)
    for (cx_dtype t = CX_F16; t <= CX_F64; t++) {
      CX_SCOPE;
      trials = cases[i].n, chance = cases[i].p;
      if (t == CX_BF16 && trials > 256) continue; /* rounds them */
      check_counts("binomial", cx_binomial(cx_key(5), trials, chance, t, 20000),
                   trials + 1, binomial);
    }
  trials = 30, chance = 0.3;
  const cx parts =
      cx_multinomial(cx_key(8), 30, tenths(CX_F32), CX_F32, 5000, 4);
  check_counts("multinomial", cx_index(parts, CX_ALL, 2), 31, binomial);
  const cx sums = cx_sum(parts, -1);
  assert_true(cx_item(cx_min(sums)) == 30 && cx_item(cx_max(sums)) == 30);
}
static double law_radius2(double r2) { /* 2 degrees of freedom */
  return -expm1(-r2 / 2);
}
static double law_normal(double x) {
  return erfc(-x / M_SQRT2) / 2;
}
static double law_flat(double x) {
  return x;
}
static void vectors(void **state) {
  (void)state;
  for (cx_dtype t = CX_F32; t <= CX_F64; t++)
    for (cx_normal_method m = CX_BY_CHOLESKY; m <= CX_BY_SVD; m++) {
      CX_SCOPE;
      const cx mean = cx_cast(cx_array(float, 1, -1), t);
      const cx cov =
          cx_cast(cx_reshape(cx_array(float, 2, 0.5, 0.5, 1), 2, 2), t);
      const cx x =
          cx_multivariate_normal(cx_key(4), mean, cov, 4000, .method = m);
      const cx d = cx_sub(x, mean);
      check_law("multivariate_normal",
                cx_sum(cx_mul(d, cx_matmul(d, cx_inv(cov))), -1), law_radius2);
      check_law("one of its numbers", cx_index(d, CX_ALL, 1), law_normal);
    }
}
/* A coordinate of a uniform point on the sphere in 3 dimensions is uniform in
 * [-1, 1], a power of the radius in the ball uniform in [0, 1]. */
static void directions(void **state) {
  (void)state;
  for (cx_dtype t = CX_F32; t <= CX_F64; t++) {
    CX_SCOPE;
    const double tol = t == CX_F64 ? 1e-14 : 1e-6;
    const cx q = cx_orthogonal(cx_key(2), t, 2000, 3, 3);
    const cx one = cx_matmul(cx_swap_axes(q, 1, 2), q);
    cx_assert(cx_check_close(one, cx_broadcast_to(cx_eye(t, 3), 2000, 3, 3),
                             .rtol = tol, .atol = tol));
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        check_law("orthogonal",
                  cx_mul(cx_add(cx_index(q, CX_ALL, i, j), 1), 0.5), law_flat);
    const cx wide = cx_orthogonal(cx_key(2), t, 2, 4);
    cx_assert(cx_check_close(cx_matmul(wide, cx_t(wide)), cx_eye(t, 2),
                             .rtol = tol, .atol = tol));
    const cx x = cx_ball(cx_key(2), 2, t, 4000, 3);
    const cx size = cx_sqrt(cx_sum(cx_square(x), -1));
    check_law("ball", cx_power(size, 3), law_flat);
    check_law("its direction",
              cx_mul(cx_add(cx_div(cx_index(x, CX_ALL, 1), size), 1), 0.5),
              law_flat);
    const cx cross = cx_ball(cx_key(2), 1, t, 4000, 2);
    check_law("ball of |x| + |y|", cx_square(cx_sum(cx_abs(cross), -1)),
              law_flat);
  }
}

/* -- edges, transforms, wrong use ------------------------------------------ */

static void edges(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = key7();
  cx n = cx_array(float, -1, 5, 5, INFINITY, 3, 3, NAN);
  cx p = cx_array(float, 0.5, 1.5, NAN, 0.5, 0, 1, 0.5);
  const cx x = cx_binomial(k, n, p, CX_F32, 7);
  cx_assert(cx_check_close(
      x, cx_array(float, NAN, NAN, NAN, INFINITY, 0, 3, NAN), .rtol = 1e-30));
  n = cx_array(float, INFINITY, INFINITY);
  p = cx_array(float, 0, 1);
  cx_assert(cx_check_close(cx_binomial(k, n, p, CX_F32, 2),
                           cx_full(INFINITY, CX_F32, 2), .rtol = 1e-30));
  INTEGERS(cx_poisson(k, cx_array(float, NAN, -3, 0), CX_I8, 3), -1, -1, 0);
  /* empty draws of anything, and none of nothing */
  assert_int_equal(cx_dim(cx_permutation(k, 0), 0), 0);
  assert_int_equal(cx_dim(cx_permutation(k, cx_zeros(CX_I8, 0, 3)), 1), 3);
  assert_int_equal(cx_dim(cx_choice(k, cx_zeros(CX_F16, 0), 0), 0), 0);
  assert_int_equal(cx_dim(cx_poisson(k, 3, CX_I32, 0), 0), 0);
  assert_int_equal(cx_dim(cx_binomial(k, 3, 0.5, CX_F32, 2, 0), 1), 0);
  assert_int_equal(
      cx_dim(cx_multinomial(k, 3, cx_zeros(CX_F32, 0), CX_F32, 0), 0), 0);
  assert_int_equal(cx_dim(cx_ball(k, 2, CX_F32, 0, 3), 1), 3);
  assert_int_equal(cx_dim(cx_orthogonal(k, CX_F32, 0, 3), 1), 3);
  /* every dtype is moved, keys too */
  for (cx_dtype t = CX_BOOL; t <= CX_F64; t++) {
    const cx moved = cx_permutation(k, table(t));
    assert_int_equal(cx_type(moved), t);
    cx_assert(
        cx_check_close(moved, cx_take(table(t), cx_permutation(k, 3), 0)));
  }
  const cx keys = cx_split_n(k, 5);
  cx_assert(
      cx_check_close(cx_key_data(cx_permutation(k, keys)),
                     cx_take(cx_key_data(keys), cx_permutation(k, 5), 0)));
  assert_true(cx_ok());
}
CX_DEF(weighted, k, x) {
  const cx y = cx_permutation(k, x, .axis = 1, .independent = true);
  const cx z = cx_choice(k, y, 3, .axis = 1);
  return cx_sum(cx_mul(cx_sin(z), cx_permutation(k, z)));
}
CX_DEF(some_counts, k, lam) {
  const cx a = cx_poisson(k, lam, CX_I32, 2, 3);
  const cx b = cx_binomial(k, 30, cx_sigmoid(lam), CX_F32, 2, 3);
  const cx c = cx_multinomial(k, 20, cx_softmax(lam, -1), CX_F32, 2, 3);
  return cx_add(cx_cast(a, CX_F32), b, c);
}
CX_DEF(counted, k, lam) {
  return cx_sum(some_counts(k, lam));
}
CX_DEF(some_numbers, k, a) {
  const cx cov = cx_add(cx_matmul(a, cx_t(a)), cx_eye(CX_F64, 3));
  const cx x = cx_multivariate_normal(k, cx_index(a, 0), cov, 2);
  return cx_sum(cx_sin(x));
}
CX_DEF(some_shapes, k) {
  return cx_tuple(cx_orthogonal(k, CX_F32, 3, 2), cx_ball(k, 1.5, CX_F32, 3, 2),
                  cx_permutation(k, 7), cx_categorical(k, log_weights()));
}
static void under_transforms(void **state) {
  (void)state;
  CX_SCOPE;
  const cx keys = cx_split_n(cx_key(3), 3), k = cx_key(9);
  const cx lam = cx_random_like(cx_spec(CX_F32, 3, 2, 3), 1);
  const cx large = cx_mul(cx_abs(lam), 30);
  cx_assert(cx_check_vmap(CX_FN(some_counts), (keys, large)));
  cx_assert(cx_check_jit(CX_FN(some_counts), (k, cx_index(large, 0))));
  cx_assert(cx_check_vmap(CX_FN(weighted), (keys, lam)));
  cx_assert(cx_check_jit(CX_FN(weighted), (k, cx_index(lam, 0))));
  cx_assert(cx_check_vmap(CX_FN(some_shapes), (keys)));
  cx_assert(cx_check_jit(CX_FN(some_shapes), (k)));
  const cx a = cx_random_like(cx_spec(CX_F64, 3, 3), 2);
  cx_assert(cx_check_grads(CX_FN(some_numbers), (k, a)));
  cx_assert(cx_check_grads(CX_FN(weighted),
                           (k, cx_cast(cx_index(lam, 0), CX_F64)), .order = 2));
  const cx slope = cx_call(cx_grad(CX_FN(counted), .wrt = CX_ARGS(1)), k,
                           cx_index(large, 0));
  assert_true(cx_item(cx_max(cx_abs(slope))) == 0);
  assert_true(cx_ok());
}
static void wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  const cx k = key7(), f = cx_ones(CX_F32, 3), i = cx_ones(CX_I32, 3);
  const cx c = cx_eye(CX_F32, 3);
#define WRONG(call, code, text)              \
  do {                                       \
    const cx x = (call);                     \
    (void)x;                                 \
    cx_assert(cx_check_error((code), text)); \
  } while (0)
  WRONG(cx_permutation(f, 3), CX_EDTYPE, "permutation: needs a random key");
  WRONG(cx_permutation(cx_split_n(k, 2), 3), CX_ESHAPE, "needs one key");
  WRONG(cx_permutation(k, -1), CX_ESHAPE, "permutation: 0..n-1 with n = -1");
  WRONG(cx_permutation(k, 5, .axis = 1), CX_EINDEX, "along axis 1");
  WRONG(cx_permutation(k, f, .axis = 1), CX_EINDEX, "permutation");
  WRONG(cx_permutation(k, 0.5), CX_ESHAPE, "needs an axis or a C number");
  WRONG(cx_choice(k, f, 4, .without_replacement = true), CX_ESHAPE,
        "choice: 4 different ones of 3");
  WRONG(cx_choice(k, cx_zeros(CX_F32, 0), 1), CX_ESHAPE, "choice: 1 of 0");
  WRONG(cx_choice(k, 4, 2, .p = f), CX_ESHAPE, "a probability of each of 4");
  WRONG(cx_choice(k, 3, 2, .p = i), CX_EDTYPE, "choice: p must be floating");
  WRONG(cx_choice(k, f, CX_SHAPE(1, 1, 1, 1, -1)), CX_ESHAPE, "no such shape");
  WRONG(cx_categorical(k, i), CX_EDTYPE, "categorical: needs floating logits");
  WRONG(cx_categorical(k, cx_scalar(1, CX_F32)), CX_ESHAPE, "categorical");
  WRONG(cx_categorical_along(k, f, 1), CX_EINDEX, "categorical");
  WRONG(cx_categorical(k, f, .draws = CX_SHAPE(2, 2),
                       .without_replacement = true),
        CX_ESHAPE, "categorical: draws [2,2] without replacement");
  WRONG(cx_categorical(k, cx_zeros(CX_F32, 2, 0)), CX_ESHAPE, "categorical");
  WRONG(cx_poisson(k, 1, CX_F32, 2), CX_EDTYPE, "needs an integer dtype");
  WRONG(cx_poisson(k, f, CX_I32, 2), CX_ESHAPE, "poisson: a parameter must");
  WRONG(cx_binomial(k, 3, 0.5, CX_I32, 2), CX_EDTYPE, "needs a floating dtype");
  WRONG(cx_binomial(k, 3, i, CX_F32, 3), CX_EDTYPE, "p must be floating");
  WRONG(cx_binomial(k, k, f, CX_F32, 3), CX_EDTYPE, "binomial: a parameter");
  WRONG(cx_multinomial(k, 3, f, CX_F32, CX_SCALAR), CX_ESHAPE, "needs a shape");
  WRONG(cx_multinomial(k, 3, f, CX_F32, 2), CX_ESHAPE, "multinomial");
  WRONG(cx_multivariate_normal(k, f, cx_eye(CX_F32, 2), 2), CX_ESHAPE,
        "needs a mean (..., n)");
  WRONG(cx_multivariate_normal(k, f, cx_eye(CX_F64, 3), 2), CX_EDTYPE,
        "multivariate_normal");
  WRONG(cx_multivariate_normal(k, f, c, 2, .method = (cx_normal_method)7),
        CX_EUSER, "no method 7");
  WRONG(cx_orthogonal(k, CX_F32, 3), CX_ESHAPE, "orthogonal: needs a shape");
  WRONG(cx_ball(k, f, CX_F32, 3), CX_ESHAPE, "ball: a parameter must");
  WRONG(cx_ball(k, 2, CX_F32, CX_SCALAR), CX_ESHAPE, "ball: needs a shape");
  WRONG(cx_rademacher(k, CX_U8, 2), CX_EDTYPE, "rademacher");
#undef WRONG
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(orders_of_jax),
    cmocka_unit_test(choices_of_jax),
    cmocka_unit_test(counts_of_jax),
    cmocka_unit_test(counts_of_jax_in_16_bits),
    cmocka_unit_test(numbers_of_jax),
    cmocka_unit_test(words_of_keys),
    cmocka_unit_test(orders_and_choices),
    cmocka_unit_test(counts),
    cmocka_unit_test(vectors),
    cmocka_unit_test(directions),
    cmocka_unit_test(edges),
    cmocka_unit_test(under_transforms),
    cmocka_unit_test(wrong_use),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
