/* ops_test.c - public operations against plain loops and written-out values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "calx/testing.h"
#include "support/group.h"

/* -- einsum: every specification against a loop over all labels ----------- */

enum { MOST = 8 };
static const int sizes[26] = { 2, 3, 4, 2, 3 }; /* of a, b, c, d, e */

static cx_dims shape_for(const char *letters, size_t n) {
  cx_dims s = { .n = (int)n };
  for (size_t i = 0; i < n; i++) s.d[i] = sizes[letters[i] - 'a'];
  return s;
}
/* The element of an operand at the labels' values. */
static double at(const double *x, const char *letters, size_t n,
                 const int *value) {
  int64_t k = 0;
  for (size_t i = 0; i < n; i++)
    k = k * sizes[letters[i] - 'a'] + value[letters[i] - 'a'];
  return x[k];
}
static void check_einsum(const char *spec) {
  CX_SCOPE;
  const char *arrow = strstr(spec, "->"), *comma = strchr(spec, ',');
  size_t n0 = (size_t)((comma ? comma : arrow) - spec);
  size_t n1 = comma ? (size_t)(arrow - comma) - 1 : 0,
         n_out = strlen(arrow + 2);
  const char *second = comma ? comma + 1 : arrow;
  double a[512], b[512], got[512], want[512] = { 0 };
  cx x = cx_random_like(cx_spec(CX_F64, shape_for(spec, n0)), 1);
  cx y = cx_random_like(cx_spec(CX_F64, shape_for(second, n1)), 2);
  cx_read(x, a, 512), cx_read(y, b, 512);
  cx r = comma ? cx_einsum(spec, x, y) : cx_einsum(spec, x);
  if (!cx_read(r, got, 512)) {
    const char *message;
    cx_error(&message);
    fail_msg("%s: %s", spec, message);
  }
  int value[26] = { 0 };
  for (;;) {
    int64_t k = 0;
    for (size_t i = 0; i < n_out; i++)
      k = k * sizes[arrow[2 + i] - 'a'] + value[arrow[2 + i] - 'a'];
    /* labels that no operand has are walked once */
    bool skip = false;
    for (int c = 0; c < 5; c++)
      skip =
          skip || (value[c] && !memchr(spec, 'a' + c, (size_t)(arrow - spec)));
    if (!skip)
      want[k] +=
          at(a, spec, n0, value) * (comma ? at(b, second, n1, value) : 1);
    int c = 4;
    while (c >= 0 && ++value[c] == sizes[c]) value[c--] = 0;
    if (c < 0) break;
  }
  for (int64_t i = 0; i < cx_size(r); i++)
    if (fabs(got[i] - want[i]) > 1e-12)
      fail_msg("%s: element %lld is %g, wanted %g", spec, (long long)i, got[i],
               want[i]);
}
static void einsum(void **state) {
  (void)state;
  static const char *const specs[] = {
    "ab,bc->ac",   "ab,bc->ca",    "abc,acd->abd",  "abc,dc->abd",
    "ab,ab->",     "ab,ab->ab",    "a,b->ab",       "a,b->ba",
    "ab->ba",      "abc->b",       "abc->",         "aad,ad->a",
    "aa->",        "aa->a",        "abcd,abce->de", "bqd,bkd->bqk",
    "abc,cba->",   "ab,cd->acbd",  "ab,cd->",       "abc,ade->bcde",
    "ace,bce->ab", "cab,cad->cbd", "ab,a->b",       "a,ab->ba",
  };
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
    if (!strchr(specs[i], 'q') && !strchr(specs[i], 'k'))
      check_einsum(specs[i]);
  CX_SCOPE;
  cx x = cx_random_like(cx_spec(CX_F64, 2, 3, 4), 1);
  cx y = cx_random_like(cx_spec(CX_F64, 5, 4), 2);
  cx_assert(
      cx_check_close(cx_einsum("...i,oi->...o", x, y), cx_matmul(x, cx_t(y))));
  cx_assert(
      cx_check_close(cx_einsum("ij,jk,kl->il", cx_index(x, 0), cx_t(y), y),
                     cx_matmul(cx_matmul(cx_index(x, 0), cx_t(y)), y)));
  cx_assert(cx_check_close(cx_einsum("ba", y), cx_t(y)));
  cx_assert(cx_check_close(
      cx_einsum("...,...->...", cx_ones(CX_F64, 2, 1, 4), x), x));
  cx bad = cx_einsum("ij,jk->il", y, y);
  (void)bad;
  cx_assert(cx_check_error(CX_ESHAPE, "einsum"));
  bad = cx_einsum("ij->ik", y);
  cx_assert(cx_check_error(CX_EUSER, "the result's labels"));
}

/* -- subscripts: x is 0, 1, 2, ... of (2, 3, 4) --------------------------- */

static void expect(int line, cx got, cx_dims shape, const int *want) {
  int32_t v[64];
  cx_dims own = cx_shape(got);
  if (!cx_ok()) {
    const char *message;
    cx_error(&message);
    fail_msg("line %d: %s", line, message);
  }
  if (own.n != shape.n || memcmp(own.d, shape.d, sizeof *own.d * (size_t)own.n))
    fail_msg("line %d: the shape is %s", line, cx_show(got));
  assert_true(cx_read(got, v, 64));
  for (int64_t i = 0; i < cx_size(got); i++)
    if (v[i] != want[i])
      fail_msg("line %d: element %lld is %d, wanted %d", line, (long long)i,
               v[i], want[i]);
}
#define EXPECT(got, shape, ...) \
  expect(__LINE__, (got), (shape), (const int[]){ __VA_ARGS__ })

static cx counting(void) {
  return cx_reshape(cx_arange(0, 24, 1, CX_I32), 2, 3, 4);
}
static void basic_subscripts(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = counting();
  EXPECT(cx_index(x, 1, 2), CX_SHAPE(4), 20, 21, 22, 23);
  EXPECT(cx_index(x, -1, CX_ALL, 3), CX_SHAPE(3), 15, 19, 23);
  EXPECT(cx_index(x, CX_DOTS, 0), CX_SHAPE(2, 3), 0, 4, 8, 12, 16, 20);
  EXPECT(cx_index(x, 0, CX_FROM(1), CX_TO(2)), CX_SHAPE(2, 2), 4, 5, 8, 9);
  EXPECT(cx_index(x, 1, 0, CX_STEP(2)), CX_SHAPE(2), 12, 14);
  EXPECT(cx_index(x, 0, 0, CX_STEP(-1)), CX_SHAPE(4), 3, 2, 1, 0);
  EXPECT(cx_index(x, 0, 0, CX_SLICE(3, 0, -2)), CX_SHAPE(2), 3, 1);
  EXPECT(cx_index(x, 0, CX_RANGE(-2, -1), CX_FROM(-1)), CX_SHAPE(1, 1), 7);
  EXPECT(cx_index(x, 0, 0, CX_RANGE(5, 9)), CX_SHAPE(0), 0);
  EXPECT(cx_index(x, CX_NEW, 1, 2, CX_NEW), CX_SHAPE(1, 1, 4), 20, 21, 22, 23);
  EXPECT(cx_index(x, 1, CX_NEW, 2, CX_TO(2)), CX_SHAPE(1, 2), 20, 21);
  cx r = cx_index(x, 2);
  (void)r;
  cx_assert(cx_check_error(CX_EINDEX, "index 2 is out of range for axis 0"));
  r = cx_index(x, 0, 0, 0, 0);
  cx_assert(cx_check_error(CX_EINDEX, "too many indices"));
}
static void array_subscripts(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = counting(), i = cx_array(int32_t, 1, 0), j = cx_array(int32_t, 2, -1);
  EXPECT(cx_index(x, i, 0, 0), CX_SHAPE(2), 12, 0);
  EXPECT(cx_index(x, 0, 0, j), CX_SHAPE(2), 2, 3);
  EXPECT(cx_index(x, 0, j, CX_TO(1)), CX_SHAPE(2, 1), 8, 8);
  EXPECT(cx_index(x, i, j, 3), CX_SHAPE(2), 23, 11);
  /* arrays apart: their axis goes to the front */
  EXPECT(cx_index(x, i, CX_FROM(1), j), CX_SHAPE(2, 2), 18, 22, 7, 11);
  /* side by side: in their place */
  EXPECT(cx_index(x, CX_TO(1), i, j), CX_SHAPE(1, 2), 6, 3);
  EXPECT(cx_index(x, cx_scalar(1, CX_I32), cx_scalar(-1, CX_I32)), CX_SHAPE(4),
         20, 21, 22, 23);
  /* clamped, as JAX reads */
  EXPECT(cx_index(x, cx_scalar(9, CX_I32), 0, 0), CX_SCALAR, 12);
  EXPECT(cx_index(x, 0, cx_array(int32_t, 7, 0), 0), CX_SHAPE(2), 8, 0);
  cx rows = cx_take(cx_cast(x, CX_F32), cx_array(int32_t, 0, 5), 1);
  assert_true(isnan(cx_item(cx_index(rows, 0, 1, 0))));
  EXPECT(cx_take(x, cx_array(uint8_t, 1), 0), CX_SHAPE(1, 3, 4), 12, 13, 14, 15,
         16, 17, 18, 19, 20, 21, 22, 23);
  EXPECT(cx_pick(cx_index(x, 0), cx_array(int32_t, 3, 0, 1)), CX_SHAPE(3), 3, 4,
         9);
  EXPECT(cx_take_along(cx_index(x, 0),
                       cx_reshape(cx_array(int32_t, 2, 0), 1, 2), 1),
         CX_SHAPE(3, 2), 2, 0, 6, 4, 10, 8);
  EXPECT(cx_dynamic_slice(cx_index(x, 0, 0), cx_scalar(3, CX_I32), 2, 0),
         CX_SHAPE(2), 2, 3);
}
static void updates(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_arange(0, 6, 1, CX_I32), m = cx_reshape(x, 2, 3);
  EXPECT(cx_at_set(x, (2), 9), CX_SHAPE(6), 0, 1, 9, 3, 4, 5);
  EXPECT(cx_at_add(x, (CX_FROM(-2)), 10), CX_SHAPE(6), 0, 1, 2, 3, 14, 15);
  EXPECT(cx_at_mul(x, (CX_STEP(2)), -1), CX_SHAPE(6), 0, 1, -2, 3, -4, 5);
  EXPECT(cx_at_set(x, (CX_SLICE(4, 0, -2)), cx_array(int32_t, 7, 8)),
         CX_SHAPE(6), 0, 1, 8, 3, 7, 5);
  EXPECT(cx_at_max(x, (CX_TO(3)), 1), CX_SHAPE(6), 1, 1, 2, 3, 4, 5);
  EXPECT(cx_at_set(m, (CX_ALL, 1), cx_array(int32_t, 7, 8)), CX_SHAPE(2, 3), 0,
         7, 2, 3, 8, 5);
  EXPECT(cx_at_add(m, (1, CX_ALL), cx_array(int32_t, 1, 2, 3)), CX_SHAPE(2, 3),
         0, 1, 2, 4, 6, 8);
  cx i = cx_array(int32_t, 0, 4, 0, 9, -1);
  /* equal indices meet in order; out of bounds drops; -1 is the last */
  EXPECT(cx_at_add(x, (i), 1), CX_SHAPE(6), 2, 1, 2, 3, 5, 6);
  EXPECT(cx_at_set(x, (i), cx_array(int32_t, 1, 2, 3, 4, 5)), CX_SHAPE(6), 3, 1,
         2, 3, 2, 5);
  EXPECT(cx_at_add(x, (cx_array(int32_t, 9)), 1, .mode = CX_CLIP), CX_SHAPE(6),
         0, 1, 2, 3, 4, 6);
  EXPECT(cx_at_min(x, (cx_array(int32_t, 5, 3)), 1, .unique = true),
         CX_SHAPE(6), 0, 1, 2, 1, 4, 1);
  EXPECT(cx_at_set(m, (cx_array(int32_t, 1, 0), cx_array(int32_t, 2, 0)), 9),
         CX_SHAPE(2, 3), 9, 1, 2, 3, 4, 9);
  EXPECT(cx_at_set(m, (cx_array(int32_t, 1), CX_FROM(1)), 9), CX_SHAPE(2, 3), 0,
         1, 2, 3, 9, 9);
  EXPECT(cx_at_set(x, (cx_gt(x, 3)), 0), CX_SHAPE(6), 0, 1, 2, 3, 0, 0);
  EXPECT(cx_dynamic_update(x, cx_array(int32_t, 8, 9), cx_scalar(5, CX_I32), 0),
         CX_SHAPE(6), 0, 1, 2, 3, 8, 9);
  cx r = cx_at_set(x, (0), cx_array(int32_t, 1, 2));
  (void)r;
  cx_assert(
      cx_check_error(CX_ESHAPE, "at_set: the value i32[2] does not fit []"));
}

CX_DEF(product_of_rows, v) {
  return cx_sum(cx_at_mul(cx_ones(CX_F32, 3), (cx_array(int32_t, 1, 1)), v));
}

/* Updates by index arrays that meet, in the order of the index. */
static void updates_that_meet(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_arange(0, 6, 1, CX_I32), m = cx_reshape(x, 2, 3);
  cx i = cx_array(int32_t, 1, 4, 1, 9, -1),
     v = cx_array(int32_t, 2, 3, -5, 7, 4);
  EXPECT(cx_at_mul(x, (i), v), CX_SHAPE(6), 0, -10, 2, 3, 12, 20);
  EXPECT(cx_at_min(x, (i), v), CX_SHAPE(6), 0, -5, 2, 3, 3, 4);
  EXPECT(cx_at_max(x, (i), v), CX_SHAPE(6), 0, 2, 2, 3, 4, 5);
  EXPECT(cx_at_sub(x, (i), v), CX_SHAPE(6), 0, 4, 2, 3, 1, 1);
  EXPECT(cx_at_div(cx_add(x, 20), (i), v), CX_SHAPE(6), 20, -2, 22, 23, 8, 6);
  EXPECT(cx_at_mul(x, (i), v, .mode = CX_CLIP), CX_SHAPE(6), 0, -10, 2, 3, 12,
         140);
  EXPECT(cx_at_max(m, (cx_array(int32_t, 1, 1), CX_STEP(2)), 4), CX_SHAPE(2, 3),
         0, 1, 2, 4, 4, 5);
  EXPECT(cx_at_sub(m, (CX_ALL, 0), 1), CX_SHAPE(2, 3), -1, 1, 2, 2, 4, 5);
  EXPECT(cx_at_div(m, (1), 2), CX_SHAPE(2, 3), 0, 1, 2, 1, 2, 2);
  cx u = cx_array(uint8_t, 3, 1);
  u = cx_at_sub(u, (cx_array(int32_t, 1, 1)), 1);
  EXPECT(cx_cast(u, CX_I32), CX_SHAPE(2), 3, 255);
  const cx_gather_dims rows = { .collapsed = { .n = 1 },
                                .start_map = { .n = 1 } };
  cx starts = cx_reshape(cx_array(int32_t, 2, 2, 7), 3, 1);
  EXPECT(cx_scatter_general(CX_AT_MAX, x, starts, cx_array(int32_t, 8, 6, 7),
                            rows, (cx_at_opt){ 0 }),
         CX_SHAPE(6), 0, 1, 8, 3, 4, 5);
  EXPECT(cx_scatter_general(CX_AT_SUB, x, starts, cx_array(int32_t, 8, 6, 7),
                            rows, (cx_at_opt){ .mode = CX_CLIP }),
         CX_SHAPE(6), 0, 1, -12, 3, 4, -2);
  cx r =
      cx_scatter_general((cx_at_kind)99, x, starts, x, rows, (cx_at_opt){ 0 });
  cx_assert(cx_check_error(CX_EUSER, "no update has number 99"));
  r = cx_call(cx_grad(CX_FN(product_of_rows)), cx_ones(CX_F32, 2));
  (void)r;
  cx_assert(cx_check_error(CX_ENORULE, ".unique"));
}
static void get_and_put(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_arange(0, 6, 1, CX_I32), m = cx_reshape(x, 2, 3);
  cx i = cx_array(int32_t, 4, 7, -1);
  EXPECT(cx_at_get(x, (i)), CX_SHAPE(3), 4, 5, 5);
  EXPECT(cx_at_get(x, (i), .mode = CX_FILL), CX_SHAPE(3), 4, INT32_MIN, 5);
  EXPECT(cx_at_get(x, (CX_FROM(4))), CX_SHAPE(2), 4, 5);
  EXPECT(cx_put_along(m, cx_reshape(cx_array(int32_t, 2, -3), 2, 1), 9, 1),
         CX_SHAPE(2, 3), 0, 1, 9, 9, 4, 5);
  EXPECT(cx_put_along(m, cx_reshape(cx_array(int32_t, 1, 1, 5), 1, 3),
                      cx_reshape(cx_array(int32_t, 7, 8), 2, 1), 1),
         CX_SHAPE(2, 3), 0, 7, 2, 3, 8, 5);
  EXPECT(cx_put_along(m, cx_reshape(cx_array(int32_t, 1), 1, 1),
                      cx_reshape(cx_array(int32_t, 6, 7, 8), 1, 3), 0),
         CX_SHAPE(2, 3), 0, 1, 2, 6, 7, 8);
  cx r = cx_at_get(x, (i), .mode = (cx_mode)77);
  cx_assert(cx_check_error(CX_EINDEX, "mode"));
  r = cx_at_get(x, (0), .mode = (cx_mode)77);
  cx_assert(cx_check_error(CX_EINDEX, "at_get: no .mode has number 77"));
  r = cx_at_set(x, (0), 9, .mode = (cx_mode)77);
  cx_assert(cx_check_error(CX_EINDEX, "at_set: no .mode has number 77"));
  r = cx_dynamic_update(x, cx_array(int32_t, 7), 1.5, 0);
  cx_assert(cx_check_error(CX_EDTYPE, "dynamic_update: indices must be"));
  r = cx_put_along(m, i, 1, 1);
  cx_assert(cx_check_error(CX_ESHAPE, "put_along"));
  r = cx_put_along(m, cx_ones(CX_F32, 2, 1), 1, 1);
  cx_assert(cx_check_error(CX_EDTYPE, "integers"));
  r = cx_put_along(m, cx_reshape(i, 1, 3), 1, 2);
  (void)r;
  cx_assert(cx_check_error(CX_EINDEX, "axis"));
}

/* -- promotion and reductions --------------------------------------------- */

static void numbers(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 1, 2), i = cx_array(int32_t, 7, -7),
     u = cx_array(uint8_t, 3);
  assert_int_equal(cx_type(cx_add(x, 1)), CX_F32);
  assert_int_equal(cx_type(cx_mul(2, u)), CX_U8);
  EXPECT(cx_floor_divide(i, 2), CX_SHAPE(2), 3, -4);
  EXPECT(cx_mod(i, 3), CX_SHAPE(2), 1, 2);
  EXPECT(cx_div(i, 2), CX_SHAPE(2), 3, -3);
  EXPECT(cx_rem(i, 3), CX_SHAPE(2), 1, -1);
  EXPECT(cx_power(i, 2), CX_SHAPE(2), 49, 49);
  EXPECT(cx_power(i, cx_array(int32_t, 3, 0)), CX_SHAPE(2), 343, 1);
  EXPECT(cx_clip(i, -1, 5), CX_SHAPE(2), 5, -1);
  EXPECT(cx_where(cx_gt(i, 0), i, 0), CX_SHAPE(2), 7, 0);
  assert_true(cx_item(cx_cast(cx_lit_f(0.1), CX_F64)) == 0.1);
  cx r = cx_add(x, i);
  (void)r;
  cx_assert(cx_check_error(CX_EDTYPE, "dtypes differ: f32[2] and i32[2]"));
  r = cx_add(i, 0.5);
  cx_assert(cx_check_error(CX_EDTYPE, "0.5"));
  r = cx_add(u, 300);
  cx_assert(cx_check_error(CX_EDTYPE, "300 does not fit u8"));
  cx_promotion(CX_PROMOTE_JAX);
  assert_int_equal(cx_type(cx_add(x, i)), CX_F32);
  assert_int_equal(cx_type(cx_add(i, 0.5)), CX_F32);
  cx_promotion(CX_PROMOTE_STRICT);
}
static void reductions(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = counting(), f = cx_cast(x, CX_F64);
  EXPECT(cx_sum(x, 0, .keepdims = true), CX_SHAPE(1, 3, 4), 12, 14, 16, 18, 20,
         22, 24, 26, 28, 30, 32, 34);
  EXPECT(cx_sum(x, CX_AXES(0, -1)), CX_SHAPE(3), 60, 92, 124);
  EXPECT(cx_max(x, CX_AXES(1, 2)), CX_SHAPE(2), 11, 23);
  EXPECT(cx_argmax(x), CX_SCALAR, 23);
  EXPECT(cx_argmin(x, 1), CX_SHAPE(2, 4), 0, 0, 0, 0, 0, 0, 0, 0);
  EXPECT(cx_sum(cx_gt(x, 20)), CX_SCALAR, 3);
  EXPECT(cx_sum(x, CX_ALL_AXES, .where = cx_lt(x, 4)), CX_SCALAR, 6);
  assert_int_equal(cx_type(cx_sum(cx_ones(CX_U8, 3))), CX_U32);
  assert_true(cx_item(cx_mean(f)) == 11.5);
  assert_true(fabs(cx_item(cx_var(f)) - 575.0 / 12) < 1e-12);
  assert_true(fabs(cx_item(cx_std(f, CX_ALL_AXES, .ddof = 1)) - sqrt(50)) <
              1e-12);
  assert_true(fabs(cx_item(cx_norm(f)) - sqrt(4324)) < 1e-12);
  assert_true(cx_item(cx_any(cx_gt(x, 22))) == 1 &&
              cx_item(cx_all(cx_gt(x, 0))) == 0);
  cx none = cx_full(-INFINITY, CX_F64, 3);
  assert_true(cx_item(cx_logsumexp(none)) == -INFINITY);
  cx r = cx_max(cx_ones(CX_F32, 0));
  (void)r;
  cx_assert(cx_check_error(CX_ESHAPE, "no element to choose from"));
}
static void losses(void **state) {
  (void)state;
  CX_SCOPE;
  cx logits = cx_random_like(cx_spec(CX_F64, 4, 5), 1);
  cx labels = cx_array(int32_t, 2, -100, 0, 4);
  cx by_hand = cx_neg(cx_pick(cx_log_softmax(logits), cx_maximum(labels, 0)));
  cx kept = cx_ne(labels, -100);
  by_hand = cx_div(cx_sum(cx_where(kept, by_hand, 0.0)), 3.0);
  cx_assert(cx_check_close(cx_cross_entropy(logits, labels, -100), by_hand));
  cx x = cx_random_like(cx_spec(CX_F64, 3, 7), 2);
  cx centred = cx_sub(x, cx_mean(x, -1, .keepdims = true));
  cx normal =
      cx_div(centred, cx_sqrt(cx_add(cx_var(x, -1, .keepdims = true), 1e-5)));
  cx_assert(cx_check_close(cx_layer_norm(x, cx_none(), cx_none()), normal));
  cx_assert(cx_check_close(cx_sum(cx_softmax(x, 0), 0), cx_ones(CX_F64, 7)));
  cx_assert(cx_check_close(cx_exp(cx_log_softmax(x)), cx_softmax(x)));
  cx q = cx_random_like(cx_spec(CX_F64, 2, 3, 2, 4), 3);
  cx a = cx_attention(q, q, q, .causal = true);
  cx_assert(cx_check_close(cx_index(a, 0, 0), cx_index(q, 0, 0)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(einsum),
    cmocka_unit_test(basic_subscripts),
    cmocka_unit_test(array_subscripts),
    cmocka_unit_test(updates),
    cmocka_unit_test(updates_that_meet),
    cmocka_unit_test(get_and_put),
    cmocka_unit_test(numbers),
    cmocka_unit_test(reductions),
    cmocka_unit_test(losses),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
