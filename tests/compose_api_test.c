/* compose_api_test.c - functions made of others: values, derivatives, errors. */
#include <math.h>

#include "support/calls.h"
#include "calx/testing.h"

static void assert_values(cx got, int n, const double *want) {
  assert_int_equal(cx_size(got), n);
  cx flat = cx_cast(cx_reshape(got, -1), CX_F64);
  for (int i = 0; i < n; i++) {
    const double x = cx_item(cx_index(flat, i));
    if (isnan(want[i]) ? !isnan(x)
                       : !(x == want[i] ||
                           fabs(x - want[i]) <= 1e-6 * (1 + fabs(want[i]))))
      fail_msg("element %d is %.9g, not %.9g", i, x, want[i]);
  }
  assert_good();
}
#define VALUES(got, ...)                                                 \
  assert_values(got, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), \
                (const double[]){ __VA_ARGS__ })

static void test_elementwise(void **state) {
  (void)state;
  cx x = cx_array(float, 1, INFINITY, -INFINITY, NAN);
  VALUES(cx_is_inf(x), 0, 1, 1, 0);
  VALUES(cx_nan_to_num(x), 1, 3.4028234663852886e38, -3.4028234663852886e38, 0);
  VALUES(cx_nan_to_num(cx_cast(x, CX_F16)), 1, 65504, -65504, 0);
  VALUES(cx_nth(cx_nan_to_num(cx_tuple(x, cx_array(float, NAN))), 1), 0);
  cx a = cx_array(double, 1e-10, 0.5, 3, 40);
  VALUES(cx_log1mexp(a), log(1e-10), -0.93275212956718857, -0.051069180942695,
         -4.248354255291589e-18);
  cx b = cx_array(float, 1, 1, NAN, INFINITY, INFINITY, 0);
  cx c = cx_array(float, 1.000001, 1.1, NAN, INFINITY, 1, 1e-9);
  VALUES(cx_is_close(b, c, 1e-5, 1e-8), 1, 0, 0, 1, 0, 1);
  cx i = cx_reshape(cx_array(int, 1, 2, 3, 4), 2, 2);
  VALUES(cx_is_in(i, cx_array(int, 4, 1, 9)), 1, 0, 0, 1);
  VALUES(cx_is_in(i, 3), 0, 0, 1, 0);
  cx g = cx_reshape(cx_array(double, 1, 2, 0, log(3)), 1, 4);
  VALUES(cx_glu(g, -1), 0.5, 1.5);
}

static void test_along_an_axis(void **state) {
  (void)state;
  cx x = cx_reshape(cx_arange(0, 24, 1, CX_F32), 2, 3, 4);
  assert_string_equal(cx_show(cx_move_axis(x, 0, -1)), "f32[3,4,2]");
  assert_string_equal(cx_show(cx_move_axis(x, 2, 0)), "f32[4,2,3]");
  assert_same_bits(cx_move_axis(x, 2, 0), cx_transpose(x, 2, 0, 1));
  assert_same_bits(cx_move_axis(x, 1, 1), x);
  cx squares = cx_array(float, 0, 1, 4, 9);
  VALUES(cx_diff(squares, 0), 1, 3, 5);
  VALUES(cx_diff(cx_expand(squares, 0), 1), 1, 3, 5);
  assert_int_equal(cx_size(cx_diff(cx_array(int, 5), -1)), 0);
  cx at = cx_array(float, 0, 1, 3, 3.5);
  VALUES(cx_trapezoid(squares, at, 0), 8.75);
  cx both = cx_stack(1, squares, cx_mul(squares, 2));
  VALUES(cx_trapezoid(both, at, 0), 8.75, 17.5);
  VALUES(cx_trapezoid(both, cx_stack(1, at, at), 0), 8.75, 17.5);
  cx grid = cx_meshgrid(cx_array(int, 1, 2), cx_array(float, 5, 6, 7));
  VALUES(cx_nth(grid, 0), 1, 1, 1, 2, 2, 2);
  VALUES(cx_nth(grid, 1), 5, 6, 7, 5, 6, 7);
}

static void test_products(void **state) {
  (void)state;
  cx a = cx_reshape(cx_arange(0, 24, 1, CX_F32), 2, 3, 4);
  cx b = cx_reshape(cx_arange(0, 60, 1, CX_F32), 3, 4, 5);
  assert_same_bits(cx_tensordot(a, b, 2), cx_einsum("ijk,jkl->il", a, b));
  assert_string_equal(cx_show(cx_tensordot(a, b, 0)), "f32[2,3,4,3,4,5]");
  cx small = cx_reshape(cx_array(int, 1, 2, 3, 4), 2, 2);
  VALUES(cx_kron(small, cx_array(int, 1, 10)), 1, 10, 2, 20, 3, 30, 4, 40);
  VALUES(cx_kron(cx_array(int, 1, 10), small), 1, 2, 10, 20, 3, 4, 30, 40);
  VALUES(cx_cross(cx_array(float, 1, 2, 3), cx_array(float, 4, 5, 6)), -3, 6,
         -3);
  cx rows = cx_reshape(cx_array(float, 1, 0, 0, 0, 1, 0), 2, 3);
  VALUES(cx_cross(rows, cx_array(float, 0, 0, 1)), 0, -1, 0, 1, 0, 0);
  VALUES(cx_polyval(cx_array(float, 2, 0, 1), cx_array(float, 3, -1)), 19, 3);
  VALUES(cx_polyval(cx_array(float, 2, 0, 1), 3.0), 19);
  cx x = cx_reshape(cx_array(double, 1, 2, 4, 7, 1, 0, 3, 2), 2, 4);
  VALUES(cx_cov(x, 1), 7, 2, 2, 1.6666666666666667);
  VALUES(cx_cov(x, 0), 5.25, 1.5, 1.5, 1.25);
  VALUES(
      cx_segment_sum(cx_array(float, 1, 2, 4, 8), cx_array(int, 0, 2, 0, 7), 3),
      5, 0, 2);
  cx ids = cx_array(int, -1, 0, -3, 2), of = cx_array(float, 1, 2, 4, 8);
  VALUES(cx_segment_sum(of, ids, 3), 2, 0, 8);
  VALUES(cx_segment_sum(of, cx_cast(ids, CX_I8), 3), 2, 0, 8);
  VALUES(cx_segment_sum(of, cx_cast(ids, CX_U32), 3), 2, 0, 8);
  VALUES(cx_sum(cx_segment_sum(of, cx_cast(ids, CX_I8), 300)), 10);
}

/* jax.numpy takes integers, bools and nothing at all. */
static void test_not_floats(void **state) {
  (void)state;
  cx i = cx_array(int, 3, 1, 4), b = cx_cast(cx_array(int, 1, 0, 0), CX_BOOL);
  cx wide = cx_cast(i, CX_I64), none = cx_zeros(CX_I32, 0);
  VALUES(cx_is_inf(i), 0, 0, 0);
  VALUES(cx_is_inf(3), 0);
  VALUES(cx_nth(cx_is_inf(cx_tuple(b, cx_array(float, INFINITY))), 1), 1);
  assert_same_bits(cx_nan_to_num(i), i);
  assert_same_bits(cx_nth(cx_nan_to_num(cx_tuple(i, b)), 1), b);
  VALUES(cx_is_close(i, cx_array(int, 3, 2, 9), 0, 1.5), 1, 1, 0);
  VALUES(cx_is_close(i, cx_array(double, 3, 1.1, 4), 1e-5, 0), 1, 0, 1);
  VALUES(cx_is_close(i, wide, 0, 0), 1, 1, 1);
  VALUES(cx_is_close(i, 3, 0, 1), 1, 0, 1);
  VALUES(cx_is_close(3, i, 0, 1), 1, 0, 1);
  VALUES(cx_is_close(1, 1.5, 0, 0.5), 1);
  VALUES(cx_is_close(cx_cast(cx_array(int, 1), CX_U8),
                     cx_cast(cx_array(int, 250), CX_U8), 0, 5),
         0);
  VALUES(cx_is_close(b, cx_array(int, 1, 1, 0), 0, 0), 1, 0, 1);
  VALUES(cx_nth(cx_is_close(cx_tuple(i), cx_tuple(i), 0, 0), 0), 1, 1, 1);
  /* Trees leaf by leaf: integers beside f64, beside an array, beside f16. */
  cx whole = cx_tuple(i, wide), doubles = cx_cast(i, CX_F64);
  cx floats = cx_tuple(doubles, cx_cast(i, CX_F16));
  VALUES(cx_nth(cx_is_close(whole, floats, 0, 0), 0), 1, 1, 1);
  VALUES(cx_nth(cx_is_close(floats, whole, 0, 0), 1), 1, 1, 1);
  VALUES(cx_nth(cx_is_close(cx_tuple(i, i), doubles, 0, 0), 1), 1, 1, 1);
  VALUES(cx_nth(cx_is_close(whole, 3, 0, 1), 0), 1, 0, 1);
  assert_good();
  cx wrong = cx_is_close(whole, cx_tuple(i), 0, 0);
  assert_error(CX_ETREE, "tree");
  (void)wrong;
  assert_string_equal(cx_show(cx_diff(b, 0)), "bool[2]");
  VALUES(cx_diff(b, 0), 1, 0);
  assert_string_equal(cx_show(cx_diff(none, 0)), "i32[0]");
  VALUES(cx_trapezoid(i, i, 0), -1.0 * 4 + 7.5);
  VALUES(cx_trapezoid(i, cx_array(double, 0, 1, 3), 0), 7);
  VALUES(cx_trapezoid(none, none, 0), 0);
  cx m = cx_reshape(cx_array(int, 1, 2, 4, 3, 3, 1), 2, 3);
  assert_string_equal(cx_show(cx_cov(m, 1)), "f32[2,2]");
  assert_string_equal(cx_show(cx_cov(cx_cast(m, CX_I64), 1)), "f64[2,2]");
  VALUES(cx_cov(m, 1), 7 / 3.0, -5 / 3.0, -5 / 3.0, 4 / 3.0);
}

/* C numbers beside arrays of any dtype; arrays without elements or axes. */
static void test_numbers_and_nothing(void **state) {
  (void)state;
  cx h = cx_cast(cx_array(float, 0.5, 1, 2.5), CX_F16), i = cx_array(int, 3, 1);
  cx d = cx_array(double, 0.1, 2.5), b = cx_cast(cx_array(int, 1, 0), CX_BOOL);
  VALUES(cx_is_close(h, 2.5, 0.1, 0), 0, 0, 1);
  VALUES(cx_is_close(2.5, h, 0.1, 0), 0, 0, 1);
  VALUES(cx_is_close(d, 2.5, 0, 0), 0, 1);
  VALUES(cx_is_close(d, 0.1, 0, 0), 1, 0);
  VALUES(cx_is_close(cx_cast(i, CX_I64), 1.5, 0.5, 0), 0, 1);
  VALUES(cx_is_in(h, 1), 0, 1, 0);
  VALUES(cx_is_in(d, 2.5), 0, 1);
  VALUES(cx_is_in(cx_cast(i, CX_U8), 3), 1, 0);
  VALUES(cx_is_in(b, 1), 1, 0);
  assert_int_equal(cx_size(cx_is_in(cx_zeros(CX_F32, 0), 1)), 0);
  assert_same_bits(cx_log1mexp(i), cx_log1mexp(cx_cast(i, CX_F32)));
  assert_string_equal(cx_show(cx_log1mexp(cx_cast(i, CX_I64))), "f64[2]");
  assert_string_equal(cx_show(cx_log1mexp(cx_zeros(CX_I32, 0))), "f32[0]");
  VALUES(cx_polyval(h, 2), 6.5);
  VALUES(cx_polyval(i, 2), 7);
  VALUES(cx_polyval(cx_array(float, 2, 3), 2.5), 8);
  assert_string_equal(cx_show(cx_polyval(h, 2.5)), "f16[]");
  assert_string_equal(cx_show(cx_polyval(cx_zeros(CX_F32, 0, 3), 2)), "f32[3]");
  cx r = cx_polyval(cx_zeros(CX_F32, 0, 3), cx_ones(CX_F32, 2));
  assert_error(CX_ESHAPE, "f32[2]");
  VALUES(cx_cov(i, 1), 2);
  VALUES(cx_cov(i, 0), 1);
  VALUES(cx_cov(cx_full(2, CX_F32), 0), 0);
  assert_true(isnan(cx_item(cx_cov(cx_full(2, CX_F32), 1))));
  assert_true(isnan(cx_item(cx_cov(cx_zeros(CX_F32, 0), 1))));
  assert_true(
      isnan(cx_item(cx_index(cx_cov(cx_zeros(CX_F32, 2, 0), 1), 0, 1))));
  r = cx_segment_sum(cx_ones(CX_F32, 2, 3), cx_array(int, 0, 1), 0);
  assert_string_equal(cx_show(r), "f32[0,3]");
  assert_good();
}

CX_DEF(sums, x, y) {
  cx a = cx_log1mexp(cx_add(cx_square(x), 0.1));
  cx b = cx_trapezoid(cx_glu(y, 0), cx_nan_to_num(x), 0);
  cx c = cx_cross(x, cx_diff(cx_index(y, CX_TO(4)), 0));
  cx d = cx_polyval(x, cx_sum(y));
  return cx_add(cx_sum(a), b, cx_sum(c), d,
                cx_sum(cx_cov(cx_stack(0, x, x), 1)), cx_sum(cx_kron(x, x)));
}

static void test_derivatives(void **state) {
  (void)state;
  cx x = cx_array(double, 0.3, -0.7, 1.1);
  cx y = cx_array(double, 0.2, 0.5, -0.4, 0.9, 1.3, -0.1);
  cx_assert(cx_check_grads(CX_FN(sums), (x, y)));
  cx_assert(cx_check_vmap(CX_FN(sums), (cx_stack(0, x, x), cx_stack(0, y, y))));
}

#define REFUSED(code, text, call) \
  do {                            \
    cx refused_ = (call);         \
    (void)refused_;               \
    assert_error(code, text);     \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  cx x = cx_zeros(CX_F32, 3), m = cx_zeros(CX_F32, 2, 3),
     s = cx_ones(CX_F32, 1);
  REFUSED(CX_ESHAPE, "glu: the extent 3 of axis 0 of f32[3] is odd",
          cx_glu(x, 0));
  REFUSED(CX_EINDEX, "move_axis", cx_move_axis(x, 0, 1));
  REFUSED(CX_EINDEX, "diff", cx_diff(x, 1));
  REFUSED(CX_ESHAPE,
          "trapezoid: positions f32[2,3] do not fit axis 0 of f32[3]",
          cx_trapezoid(x, m, 0));
  REFUSED(CX_ESHAPE, "meshgrid: item 1 is f32[2,3]", cx_meshgrid(x, m));
  REFUSED(CX_ESHAPE, "meshgrid: 9 arrays, at most 8",
          cx_meshgrid(s, s, s, s, s, s, s, s, s));
  REFUSED(CX_ESHAPE, "tensordot: 3 axes of f32[2,3] and f32[3]",
          cx_tensordot(m, x, 3));
  REFUSED(CX_ESHAPE, "kron: up to",
          cx_kron(x, cx_zeros(CX_F32, 1, 1, 1, 1, 1)));
  REFUSED(CX_ESHAPE, "cross: the last axes have 3 items, got f32[3] and f32[1]",
          cx_cross(x, s));
  REFUSED(CX_ESHAPE, "polyval: coefficients (k)",
          cx_polyval(cx_scalar(1, CX_F32), x));
  REFUSED(CX_ESHAPE, "cov: wants (n, m), got f32[1,1,3]",
          cx_cov(cx_reshape(x, 1, 1, 3), 1));
  REFUSED(CX_EDTYPE, "the number 2.5 is no i32",
          cx_polyval(cx_array(int, 1, 2), 2.5));
  REFUSED(CX_ESHAPE, "segment_sum: f32[2,3] by the ids i32[3] into 4",
          cx_segment_sum(m, cx_array(int, 0, 1, 2), 4));
  REFUSED(CX_EDTYPE, "segment_sum: indices must be integers, got f32[3]",
          cx_segment_sum(x, x, 4));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    TEST(test_elementwise),
    TEST(test_along_an_axis),
    TEST(test_products),
    TEST(test_not_floats),
    TEST(test_numbers_and_nothing),
    TEST(test_derivatives),
    TEST(test_refused),
#undef TEST
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
