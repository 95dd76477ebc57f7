/* sort_api_test.c - sorting, searching and counting as users call them:
 * NumPy's results, under jit, vmap and grad, wrong use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calx/testing.h"
#include "support/group.h"

static void check(cx got, int n, const double *want) {
  double is[64];
  got = cx_cast(got, CX_F64);
  assert_int_equal(cx_size(got), n);
  assert_true(n == 0 || cx_read(got, is, 64));
  for (int i = 0; i < n; i++) {
    if (isnan(want[i]) && isnan(is[i])) continue;
    if (isinf(want[i]) && is[i] == want[i]) continue;
    if (!(fabs(is[i] - want[i]) <= 1e-6))
      fail_msg("element %d is %.9g, not %.9g", i, is[i], want[i]);
  }
}
#define CHECK(got, ...)                                                   \
  check((got), (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), \
        (const double[]){ __VA_ARGS__ })

static void check_error(cx got, cx_code code, const char *text) {
  (void)got;
  cx_assert(cx_check_error(code, text));
}

static void test_sort(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 3, 1, 2, 1);
  CHECK(cx_sort(x, 0), 1, 1, 2, 3);
  CHECK(cx_sort(x, -1, .descending = true), 3, 2, 1, 1);
  CHECK(cx_argsort(x, 0), 1, 3, 2, 0);
  CHECK(cx_argsort(x, 0, .descending = true), 0, 2, 1, 3);
  CHECK(cx_argsort(cx_array(float, 1, NAN, 0), 0, .descending = true), 1, 0, 2);
  CHECK(cx_lexsort(0, cx_array(int, 2, 1, 0, 1), cx_array(int, 1, 1, 0, 0)), 2,
        3, 1, 0);
  cx rows = cx_reshape(cx_array(int, 4, 6, 5, 1, 2, 3), 2, 3);
  CHECK(cx_sort(rows, 0), 1, 2, 3, 4, 6, 5);
  cx top = cx_top_k(rows, 2);
  CHECK(cx_nth(top, 0), 6, 5, 3, 2);
  CHECK(cx_nth(top, 1), 1, 2, 2, 1);
  CHECK(cx_nth(cx_top_k(rows, 1, 0), 1), 0, 0, 0);
  check_error(cx_sort(x, 1), CX_EINDEX, "sort");
  check_error(cx_top_k(x, 5), CX_ESHAPE, "the greatest 5");
  check_error(cx_lexsort(0, x, rows), CX_ESHAPE, "sort");
}

static void test_quantile(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 4, 1, 3, 2);
  CHECK(cx_median(x, 0), 2.5);
  CHECK(cx_median(cx_array(int, 5, 1, 9), CX_ALL_AXES, .keepdims = true), 5);
  CHECK(cx_quantile(x, cx_array(float, 0, 0.4, 1), 0), 1, 2.2, 4);
  CHECK(cx_quantile(x, 0.4, 0, .method = CX_QUANTILE_LOWER), 2);
  CHECK(cx_quantile(x, 0.4, 0, .method = CX_QUANTILE_HIGHER), 3);
  CHECK(cx_quantile(x, 0.4, 0, .method = CX_QUANTILE_MIDPOINT), 2.5);
  CHECK(cx_quantile(x, 0.5, 0, .method = CX_QUANTILE_NEAREST), 2);
  CHECK(cx_percentile(x, 25, 0), 1.75);
  CHECK(cx_quantile(cx_array(float, 1, NAN), 0, 0), NAN);
  cx far = cx_array(float, INFINITY, 2, -INFINITY);
  CHECK(cx_quantile(far, cx_array(float, 0, 0.25, 0.5, 1), 0), -INFINITY,
        -INFINITY, 2, INFINITY);
  cx rows = cx_reshape(cx_array(double, 1, 2, 3, 5, 7, 9), 2, 3);
  CHECK(cx_median(rows, 1), 2, 7);
  CHECK(cx_median(rows, 0), 3, 4.5, 6);
  CHECK(cx_quantile(rows, 0.5, CX_AXES(0, 1)), 4);
  CHECK(cx_quantile(rows, cx_array(float, 0, 1), 1), 1, 5, 3, 9);
  check_error(cx_median(cx_zeros(CX_F32, 0), 0), CX_ESHAPE, "quantile");
  check_error(cx_quantile(x, cx_array(int, 1), 0), CX_EDTYPE, "floating q");
  check_error(cx_quantile(x, 0.5, 0, .method = 9), CX_EUSER, "no method 9");
  check_error(cx_quantile(x, 0.5, 0, .method = -1), CX_EUSER, "no method -1");
}

static void test_search(void **state) {
  (void)state;
  CX_SCOPE;
  cx a = cx_array(float, 1, 2, 2, 5);
  cx v = cx_array(float, 0, 1, 2, 3, 5, 9, NAN);
  CHECK(cx_searchsorted(a, v), 0, 0, 1, 3, 3, 4, 4);
  CHECK(cx_searchsorted(a, v, .right = true), 0, 1, 3, 3, 4, 4, 4);
  CHECK(cx_searchsorted(cx_array(int, 1, 3, 5), 4), 2);
  CHECK(cx_searchsorted(cx_zeros(CX_F32, 0), v), 0, 0, 0, 0, 0, 0, 0);
  CHECK(cx_digitize(v, a), 0, 1, 3, 3, 4, 4, 4);
  CHECK(cx_digitize(cx_array(int, 0, 5, 9), cx_array(int, 9, 5, 1)), 3, 1, 0);
  CHECK(cx_digitize(cx_array(int, 5, 1), cx_array(int, 9, 5, 1), .right = true),
        2, 3);
  cx xp = cx_array(float, 1, 2, 4), fp = cx_array(float, 3, 5, 1);
  CHECK(cx_interp(cx_array(float, 0, 1, 1.5, 3, 4, 8), xp, fp), 3, 3, 4, 3, 1,
        1);
  check_error(cx_searchsorted(cx_zeros(CX_F32, 2, 2), v), CX_ESHAPE,
              "one axis");
  check_error(cx_interp(v, xp, cx_array(float, 1, 2)), CX_ESHAPE, "points");
}

static void test_counts(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(int, 1, 0, 1, 7, -3);
  CHECK(cx_bincount(x, 3), 2, 2, 0);
  CHECK(cx_bincount(x, 2, .weights = cx_array(float, 1, 2, 0.5, 9, 4)), 6, 1.5);
  cx y = cx_array(float, 0, 0.5, 1, 2, 3, -1, NAN),
     e = cx_array(float, 0, 1, 2);
  CHECK(cx_histogram(y, e), 2, 2);
  CHECK(cx_histogram(y, cx_array(float, 0, 1, 3), .density = true), 0.4, 0.3);
  check_error(cx_bincount(y, 3), CX_EDTYPE, "integers");
  check_error(cx_bincount(x, -1), CX_ESHAPE, "length");
  check_error(cx_bincount(x, 2, .weights = e), CX_ESHAPE, "weights");
}

static void test_places(void **state) {
  (void)state;
  CX_SCOPE;
  cx m = cx_reshape(cx_array(int, 0, 1, 0, 2, 0, 3), 2, 3);
  cx places = cx_nonzero(m, 4, -1);
  CHECK(cx_nth(places, 0), 0, 1, 1, -1);
  CHECK(cx_nth(places, 1), 1, 0, 2, -1);
  CHECK(cx_nth(cx_nonzero(m, 2, 0), 1), 1, 0);
  cx u = cx_unique(cx_array(float, 3, 1, NAN, 3, NAN, 1, 1), 4);
  CHECK(cx_nth(u, 0), 1, 3, NAN, 1);
  CHECK(cx_nth(u, 1), 1, 0, 2, 1);
  CHECK(cx_nth(u, 2), 1, 0, 2, 1, 2, 0, 0);
  CHECK(cx_nth(u, 3), 3, 2, 2, 0);
  CHECK(cx_nth(cx_unique(cx_array(int, 5, 4, 5), 1), 3), 1);
  check_error(cx_unique(cx_zeros(CX_F32, 0), 2), CX_ESHAPE, "nothing");
  check_error(cx_nonzero(m, -1, 0), CX_ESHAPE, "nonzero");
}

/* -- under transforms ----------------------------------------------------- */

CX_DEF(ordered, x) {
  return cx_sum(
      cx_mul(cx_sort(x, 0, .descending = true), cx_array(double, 1, 2, 3, 4)));
}
CX_DEF(greatest, x) {
  return cx_sum(cx_square(cx_nth(cx_top_k(x, 2), 0)));
}
CX_DEF(middle, x) {
  return cx_quantile(x, 0.3, 0);
}
CX_DEF(line, x) {
  return cx_sum(
      cx_interp(x, cx_cast(cx_arange(0, 5, 1, CX_I32), CX_F64), cx_square(x)));
}

static void test_transforms(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(double, 0.3, 3.1, 1.2, 2.4);
  CHECK(cx_call(cx_grad(CX_FN(ordered)), x), 4, 1, 3, 2);
  const cx_fn fs[] = { CX_FN(ordered), CX_FN(greatest), CX_FN(middle) };
  for (int i = 0; i < 3; i++) {
    cx_assert(cx_check_grads(fs[i], (x), .order = 2));
    cx_assert(cx_check_jit(fs[i], (x)));
  }
  cx rows = cx_stack(0, x, cx_neg(x), cx_square(x));
  cx each = cx_call(cx_vmap(CX_FN(middle)), rows);
  CHECK(cx_sub(each, cx_quantile(rows, 0.3, 1)), 0, 0, 0);
  cx five = cx_array(double, 0.3, 3.1, 1.2, 2.4, 3.7);
  cx_assert(cx_check_grads(CX_FN(line), (five)));
  cx_assert(cx_check_jit(CX_FN(line), (five)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sort),   cmocka_unit_test(test_quantile),
    cmocka_unit_test(test_search), cmocka_unit_test(test_counts),
    cmocka_unit_test(test_places), cmocka_unit_test(test_transforms),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
