/* cumulate_test.c - cumsum and its like, products: values, rules, derivatives
 * at zeros and ties, wrong use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calx/testing.h"
#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const row_values values[] = {
  { "program @m(%0: f32[4]) { %1: f32[4] = cumsum[axis=0, reverse=false] %0 "
    "%2: f32[4] = cumsum[axis=0, reverse=true] %0 return %1, %2 }",
    "1 2 3 4", "1 3 6 10; 10 9 7 4" },
  { "program @m(%0: f32[2,3]) { %1: f32[2,3] = cumprod[axis=0, reverse=false] "
    "%0 %2: f32[2,3] = cumprod[axis=1, reverse=true] %0 return %1, %2 }",
    "1 2 3 4 5 6", "1 2 3 4 10 18; 6 6 3 120 30 6" },
  { "program @m(%0: f32[5]) { %1: f32[5] = cummax[axis=0, reverse=false] %0 "
    "%2: f32[5] = cummin[axis=0, reverse=true] %0 return %1, %2 }",
    "1 -2 nan 4 3", "1 1 nan nan nan; nan nan nan 3 3" },
  { "program @m(%0: i8[3]) { %1: i8[3] = cumsum[axis=0, reverse=false] %0 "
    "%2: i8[3] = cummin[axis=0, reverse=false] %0 return %1, %2 }",
    "100 100 -3", "100 -56 -59; 100 100 -3" },
  /* nine lines behind each other, eight of them at once; forwards, backwards */
  { "program @m(%0: i32[9,2]) { %1: i32[9,2] = cumsum[axis=1, reverse=false] "
    "%0 %2: i32[9,2] = cumsum[axis=1, reverse=true] %0 return %1, %2 }",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
    "1 3 3 7 5 11 7 15 9 19 11 23 13 27 15 31 17 35; "
    "3 2 7 4 11 6 15 8 19 10 23 12 27 14 31 16 35 18" },
  { "program @m(%0: u64[3]) { %1: u64[3] = cummax[axis=0, reverse=false] %0 "
    "return %1 }",
    "3 2 5", "3 3 5" },
  /* 2049 is no f16, the sum of three is: it runs in f32 */
  { "program @m(%0: f16[3]) { %1: f16[3] = cumsum[axis=0, reverse=false] %0 "
    "return %1 }",
    "2048 1 1", "2048 2048 2050" },
  { "program @m(%0: f64[6]) { %1: f64[6] = cumlogsumexp[axis=0, "
    "reverse=false] %0 return %1 }",
    "-inf -inf 5 inf inf nan", "-inf -inf 5 inf inf nan" },
  { "program @m(%0: f32[3]) { %1: f32[3] = cumlogsumexp[axis=0, "
    "reverse=true] %0 return %1 }",
    "inf 1000 -1000", "inf 1000 -1000" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[2]) { %1: f32[2] = cumsum[axis=1, reverse=false] %0 "
    "return %1 }",
    "cumsum: axis 1 is not one of 1" },
  { "program @m(%0: bool[2]) { %1: bool[2] = cummax[axis=0, reverse=false] %0 "
    "return %1 }",
    "needs an integer or floating dtype, got bool[2]" },
  { "program @m(%0: i32[2]) { %1: i32[2] = cumlogsumexp[axis=0, "
    "reverse=false] %0 return %1 }",
    "needs a floating dtype, got i32[2]" },
};

static const cxi_prim rows[] = { CXI_PRIM_cumsum, CXI_PRIM_cumprod,
                                 CXI_PRIM_cummax, CXI_PRIM_cummin,
                                 CXI_PRIM_cumlogsumexp };

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* -- derivatives where a formula may fail ---------------------------------- */

CX_DEF(product, x) {
  return cx_prod(x);
}
CX_DEF(products, x) {
  return cx_sum(cx_mul(cx_cumprod(x, 0), cx_cumprod(x, 0, .reverse = true)));
}
CX_DEF(greatest, x) {
  return cx_sum(cx_cummax(x, 0));
}
CX_DEF(logs, x) {
  return cx_nth(cx_unstack(cx_cumlogsumexp(x, 0), 0), 2);
}

static void check_array(cx got, int n, const double *want) {
  double is[64];
  assert_true(cx_read(got, is, 64));
  for (int i = 0; i < n; i++)
    if (fabs(is[i] - want[i]) > 1e-12)
      fail_msg("element %d is %.17g, not %.17g", i, is[i], want[i]);
}

/* With zeros, first and second order. */
static void test_zeros(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(double, 2, 0, 3, 4);
  check_array(cx_call(cx_grad(CX_FN(product)), x), 4,
              (const double[]){ 0, 24, 0, 0 });
  check_array(
      cx_call(cx_hessian(CX_FN(product)), x), 16,
      (const double[]){ 0, 12, 0, 0, 12, 0, 8, 6, 0, 8, 0, 0, 0, 6, 0, 0 });
  cx two = cx_array(double, 0, 5, 0);
  check_array(cx_call(cx_hessian(CX_FN(product)), two), 9,
              (const double[]){ 0, 0, 5, 0, 0, 0, 5, 0, 0 });
  cx_assert(cx_check_grads(CX_FN(products), (x), .order = 2));
  cx_assert(cx_check_jit(CX_FN(products), (x)));
  cx_assert(cx_check_remat(CX_FN(products), (x)));
}

static void test_ties(void **state) {
  (void)state;
  CX_SCOPE;
  check_array(cx_call(cx_grad(CX_FN(greatest)), cx_array(double, 1, 1, 0)), 3,
              (const double[]){ 2, 1, 0 });
  const double nothing = -INFINITY;
  check_array(
      cx_call(cx_grad(CX_FN(logs)), cx_array(double, nothing, nothing, 1.0)), 3,
      (const double[]){ 0, 0, 1 });
}

/* Every length has its own tree. */
static void test_lengths(void **state) {
  (void)state;
  for (int n = 1; n < 12; n++) {
    CX_SCOPE;
    cx x = cx_random_like(cx_spec(CX_F64, n), (uint64_t)n);
    cx_assert(cx_check_grads(CX_FN(products), (x)));
    cx_assert(cx_check_grads(CX_FN(product), (x), .order = 2));
  }
}

/* -- the public operations ------------------------------------------------ */

static void test_types(void **state) {
  (void)state;
  CX_SCOPE;
  cx truth = cx_cast(cx_array(int32_t, 1, 0, 1), CX_BOOL);
  assert_int_equal(cx_type(cx_cumsum(truth, 0)), CX_I32);
  assert_int_equal(cx_type(cx_prod(truth)), CX_I32);
  cx small = cx_cast(truth, CX_I8);
  assert_int_equal(cx_type(cx_cumsum(small, -1)), CX_I8);
  assert_int_equal(cx_type(cx_cumsum(small, 0, .type = CX_F64)), CX_F64);
  assert_int_equal(cx_type(cx_cumlogsumexp(small, 0)), CX_F32);
  cx x = cx_reshape(cx_arange(0, 6, 1, CX_F64), 2, 3);
  check_array(cx_cummin(x, -1, .reverse = true), 6,
              (const double[]){ 0, 1, 2, 3, 4, 5 });
  check_array(cx_prod(x, 0, .keepdims = true), 3, (const double[]){ 0, 4, 10 });
  check_array(cx_prod(x, 1, .where = cx_gt(x, 0)), 2,
              (const double[]){ 2, 60 });
}

static void test_wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 1, 2), y;
  y = cx_cumsum(x, 1);
  cx_assert(cx_check_error(CX_EINDEX, "cumsum"));
  y = cx_cumprod(cx_key(1), 0);
  cx_assert(cx_check_error(CX_EINDEX, "cumprod"));
  y = cx_cummax(cx_split_n(cx_key(1), 2), 0);
  cx_assert(cx_check_error(CX_EDTYPE, "cummax"));
  y = cx_cumulate_(CX_RED_MEAN, x, 0, (cx_cum_opt){ 0 }, NULL);
  cx_assert(cx_check_error(CX_EUSER, "no cumulation"));
  (void)y;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_zeros),
    cmocka_unit_test(test_ties),
    cmocka_unit_test(test_lengths),
    cmocka_unit_test(test_types),
    cmocka_unit_test(test_wrong_use),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
