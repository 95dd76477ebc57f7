/* pieces_test.c - functions of some elements, choices, signs, bits,
 * activations: values, derivatives, wrong use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
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
    if (is[i] == want[i] && signbit(is[i]) == signbit(want[i])) continue;
    if (!(want[i] != 0 && fabs(is[i] - want[i]) <= 1e-6 * fabs(want[i])))
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

/* -- at_apply -------------------------------------------------------------- */

CX_DEF(squared, x) {
  return cx_square(x);
}
CX_DEF(doubled, x) {
  return cx_add(x, x);
}
CX_DEF(flipped, x) {
  return cx_not(x);
}
CX_DEF(nine, x) {
  return cx_scalar(9, cx_type(x));
}
CX_STRUCT(scale_env, (cx, by));
CX_DEF_ENV(scaled, scale_env, e, x) {
  return cx_mul(x, e->by);
}

static void test_apply(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2, 3, 4);
  const cx ids = cx_array(int, 1, 3, 1), rows = cx_array(int, 1, -1, 5, 1);
  const cx_fn f = CX_FN(squared);
  CHECK(cx_at_apply(x, (2), f), 1, 2, 9, 4);
  CHECK(cx_at_apply(x, (CX_STEP(2)), f), 1, 2, 9, 4);
  CHECK(cx_at_apply(x, (CX_STEP(-1)), f), 1, 4, 9, 16);
  CHECK(cx_at_apply(x, (ids), f), 1, 16, 3, 16); /* twice, once */
  CHECK(cx_at_apply(x, (cx_array(int, 0, 3)), f, .unique = true), 1, 2, 3, 16);
  CHECK(cx_at_apply(x, (cx_array(int, 2)), f), 1, 2, 9, 4);
  CHECK(cx_at_apply(x, (cx_array(bool, 1, 0, 0, 1)), CX_FN(doubled)), 2, 2, 3,
        8);
  CHECK(cx_at_apply(x, (cx_array(int, 9, -9, 1)), f), 1, 4, 3, 4);
  CHECK(cx_at_apply(x, (cx_array(int, 9, 1)), f, .mode = CX_CLIP), 1, 4, 3, 16);
  const cx table = cx_reshape(cx_arange(0, 6, 1, CX_F32), 3, 2);
  CHECK(cx_at_apply(table, (rows), CX_FN(doubled)), 0, 1, 8, 12, 8, 10);
  CHECK(cx_at_apply(table, (CX_ALL, cx_array(int, 1, 1)), CX_FN(doubled)), 0, 4,
        2, 12, 4, 20);
  CHECK(cx_at_apply(table, (cx_array(int, 0, 2, 0), cx_array(int, 1, 0, 1)),
                    CX_FN(doubled)),
        0, 4, 2, 3, 8, 5);
  CHECK(cx_at_apply(table, (CX_FROM(1), 0), CX_FN(nine)), 0, 1, 9, 3, 9, 5);
  CHECK(cx_at_apply(cx_array(bool, 1, 0, 1), (cx_array(int, 0, 0, 2)),
                    CX_FN(flipped)),
        1, 0, 0);
  const cx none = cx_zeros(CX_I32, 0), empty = cx_zeros(CX_F32, 0, 2);
  CHECK(cx_at_apply(x, (none), f), 1, 2, 3, 4);
  assert_int_equal(cx_size(cx_at_apply(empty, (ids), f)), 0);
  assert_int_equal(cx_type(cx_at_apply(cx_ones(CX_BF16, 3), (ids), f)),
                   CX_BF16);
  cx_assert(cx_ok() ? NULL : "an error");
}

CX_DEF(repeated, x, by) {
  const cx ids = cx_array(int, 2, 0, 2, 7, 2);
  return cx_at_apply(x, (ids), CX_BIND(scaled, .by = by));
}
CX_DEF(rows_and_columns, x) {
  cx y = cx_at_apply(x, (cx_array(int, 1, 0), CX_ALL), CX_FN(squared),
                     .unique = true);
  y = cx_at_apply(y, (CX_ALL, cx_array(int, 1, 1, 2)), CX_FN(squared));
  return cx_at_apply(y, (CX_FROM(1), CX_STEP(2)), CX_FN(squared));
}
CX_DEF(traced_index, x, ids) {
  return cx_at_apply(x, (ids), CX_FN(squared));
}

static void test_apply_transforms(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(double, 0.5, -1.25, 0.75), by = cx_scalar(1.5, CX_F64);
  CHECK(cx_call(CX_FN(repeated), x, by), 0.75, -1.25, 2.53125);
  cx_assert(cx_check_grads(CX_FN(repeated), (x, by), .order = 2));
  cx_assert(cx_check_jit(CX_FN(repeated), (x, by)));
  cx_assert(cx_check_remat(CX_FN(repeated), (x, by)));
  const cx table =
      cx_reshape(cx_array(double, 0.5, -1.25, 0.75, 0.1, 0.9, -0.3), 2, 3);
  cx_assert(cx_check_grads(CX_FN(rows_and_columns), (table), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(rows_and_columns),
                          (cx_stack(0, table, cx_neg(table)))));
  /* each example its own indices */
  const cx ids = cx_reshape(cx_array(int, 0, 0, 2, 1, 1, 1), 2, 3);
  CHECK(cx_call(cx_vmap(CX_FN(traced_index)), table, ids), 0.0625, -1.25,
        0.5625, 0.1, pow(0.9, 8), -0.3);
  cx_assert(cx_check_vmap(CX_FN(traced_index), (table, ids)));
}

CX_DEF(wider, x) {
  return cx_cast(x, CX_F64);
}
CX_DEF(summed, x) {
  return cx_reshape(cx_sum(x), 1);
}
CX_DEF(pair, x) {
  return cx_tuple(x, x);
}

static void test_apply_errors(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2, 3), ids = cx_array(int, 0, 0);
  check_error(cx_at_apply(x, (ids), CX_FN(wider)), CX_EDTYPE,
              "but gives f64[]");
  check_error(cx_at_apply(x, (CX_ALL), CX_FN(summed)), CX_ESHAPE,
              "must give what it gets, f32[3], but gives f32[1]");
  check_error(cx_at_apply(x, (0), CX_FN(pair)), CX_ETREE, "a tree");
  check_error(cx_at_apply(x, (0), NULL), CX_EUSER, "no function");
  check_error(cx_at_apply(x, (7), CX_FN(squared)), CX_EINDEX, "out of range");
  check_error(cx_at_apply(x, (cx_array(float, 1)), CX_FN(squared)), CX_EDTYPE,
              "must be integers");
  check_error(cx_at_apply(x, (cx_ones(CX_BOOL, 2)), CX_FN(squared)), CX_ESHAPE,
              "a mask needs the leading axes");
  check_error(cx_at_apply(x, (ids), CX_FN(squared), .mode = (cx_mode)77),
              CX_EINDEX, "no .mode has number 77");
}

/* -- choices, signs, bits -------------------------------------------------- */

static void test_choices(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_array(float, 1, 2, 3), b = cx_array(float, 10, 20, 30);
  CHECK(cx_select_n(cx_array(int, 0, 2, 1), a, b, 7), 1, 7, 30);
  CHECK(cx_select_n(cx_array(int, -5, 9, 1), a, b, 7), 1, 7, 30);
  CHECK(cx_select_n(cx_array(bool, 0, 1, 0), a, b), 1, 20, 3);
  CHECK(cx_select_n(cx_scalar(1, CX_U8), a, b), 10, 20, 30);
  CHECK(cx_select_n(cx_array(int64_t, INT64_MAX, 0, INT64_MIN), a, b), 10, 2,
        3);
  CHECK(cx_select_n(cx_array(int, 1, 0, 9), a), 1, 2, 3);
  check_error(cx_select_n(a, a, b), CX_EDTYPE, "chosen by integers or bool");
  check_error(cx_select_n(cx_ones(CX_BOOL, 3), a, b, a), CX_EDTYPE,
              "3 cases are chosen by integers, got bool[3]");
  check_error(cx_select_n(cx_ones(CX_I32, 3), a, cx_ones(CX_I32, 3)), CX_EDTYPE,
              "select_n");
  check_error(cx_select_n(cx_ones(CX_I32, 2), a, b), CX_ESHAPE, "select_n");
  CHECK(
      cx_fmax(cx_array(float, NAN, 1, NAN, 3), cx_array(float, 1, NAN, NAN, 2)),
      1, 1, NAN, 3);
  CHECK(cx_fmin(cx_array(float, NAN, 1, 0.0, -0.0),
                cx_array(float, 1, NAN, -0.0, 0.0)),
        1, 1, -0.0, 0);
  CHECK(cx_fmax(cx_array(int, 1, 5), cx_array(int, 3, 2)), 3, 5);
  CHECK(cx_fmin(cx_array(bool, 1, 1), cx_array(bool, 0, 1)), 0, 1);
  CHECK(cx_heaviside(cx_array(float, -2, 0, -0.0, 3, NAN), 0.5), 0, 0.5, 0.5, 1,
        NAN);
}

CX_DEF(chosen, which, a, b, c) {
  return cx_add(cx_select_n(which, a, b, c), cx_fmax(a, b), cx_fmin(b, c),
                cx_copysign(a, b), cx_heaviside(a, b));
}

static void test_choice_derivatives(void **state) {
  (void)state;
  CX_SCOPE;
  const cx which = cx_array(int, 0, 2, 1, 1);
  const cx a = cx_array(double, 1.5, -2.5, 3, -0.5);
  const cx b = cx_array(double, -1, -2, 0.5, 4);
  const cx c = cx_array(double, 2, -7, 1, 1);
  cx_assert(cx_check_grads(CX_FN(chosen), (which, a, b, c), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(chosen), (which, a, b, c)));
  cx_assert(cx_check_jit(CX_FN(chosen), (which, a, b, c)));
}

static void test_bits(void **state) {
  (void)state;
  CX_SCOPE;
  CHECK(cx_population_count(cx_array(int8_t, 0, -1, 5)), 0, 8, 2);
  CHECK(cx_clz(cx_array(uint16_t, 0, 1, 65535)), 16, 15, 0);
  CHECK(cx_mulhi(cx_array(uint32_t, 4294967295u, 2),
                 cx_array(uint32_t, 4294967295u, 2)),
        4294967294.0, 0);
  CHECK(cx_mulhi(cx_array(int8_t, -128, 100), cx_array(int8_t, -128, -3)), 64,
        -2);
  CHECK(cx_shr_logical(cx_array(int8_t, -128, 64), 1), 64, 32);
  CHECK(cx_shr_arithmetic(cx_array(uint8_t, 128, 64), 1), 192, 32);
  CHECK(cx_shr_logical(cx_array(int, -1), 32), 0);
  CHECK(cx_sign_bit(cx_array(float, -0.0, 0, -NAN, -INFINITY)), 1, 0, 1, 1);
  CHECK(cx_sign_bit(cx_cast(cx_array(float, -0.0, 2), CX_BF16)), 1, 0);
  CHECK(cx_copysign(cx_array(float, 1, -2, 0, INFINITY),
                    cx_array(float, -0.0, 3, -1, -1)),
        -1, 2, -0.0, -INFINITY);
  CHECK(
      cx_nextafter(cx_array(double, 1, 1, 0, 5), cx_array(double, 2, 0, -1, 5)),
      1 + 0x1p-52, 1 - 0x1p-53, -0x1p-1074, 5);
  CHECK(cx_round_away(cx_array(float, 0.5, -0.5, 2.5, -0.25)), 1, -1, 3, -0.0);
  CHECK(cx_reduce_precision(cx_array(float, 1.0078125f, 3e38f, 1e-6f), 5, 10),
        1.0078125, INFINITY, 0);
  const cx x = cx_array(float, 0.1f, -7.77f);
  cx_assert(cx_check_close(cx_reduce_precision(x, 8, 7),
                           cx_cast(cx_cast(x, CX_BF16), CX_F32)));
  check_error(cx_population_count(x), CX_EDTYPE, "population_count");
  check_error(cx_clz(cx_ones(CX_BOOL, 2)), CX_EDTYPE, "clz");
  check_error(cx_mulhi(x, x), CX_EDTYPE, "mulhi");
  check_error(cx_shr_logical(x, x), CX_EDTYPE, "shift_right_logical");
  check_error(cx_copysign(cx_ones(CX_I32, 2), 1), CX_EDTYPE, "copysign");
  check_error(cx_sign_bit(cx_ones(CX_I32, 2)), CX_EDTYPE, "sign_bit");
  check_error(cx_nextafter(x, cx_ones(CX_F32, 3)), CX_ESHAPE, "nextafter");
  check_error(cx_reduce_precision(x, 0, 3), CX_EUSER, "exponent bits >= 1");
  check_error(cx_reduce_precision(x, 3, -1), CX_EUSER, "mantissa bits >= 0");
  check_error(cx_reduce_precision(cx_ones(CX_I32, 2), 3, 3), CX_EDTYPE,
              "reduce_precision");
}

/* -- rows that have no other name ------------------------------------------ */

CX_DEF(affine, a, b) {
  return cx_add(a, b, cx_mul(a, b));
}
CX_DEF(greater, a, b) {
  return cx_maximum(a, b);
}
CX_DEF(windows, x) {
  return cx_reduce_window_by(CX_FN(affine), x, 0.5, CX_SHAPE(2, 2),
                             .strides = CX_SHAPE(1, 2), .padding = "0,1;1,0");
}
CX_DEF(guarded, x) {
  const cx two = cx_optimization_barrier(cx_tuple(cx_sin(x), cx_copy(x)));
  return cx_mul(cx_nth(two, 0), cx_nth(two, 1));
}

static void test_reductions(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_reshape(cx_array(int, 12, 10, 7, 5, 3, 1), 2, 3);
  CHECK(cx_reduce_and(x, 1), 0, 1);
  CHECK(cx_reduce_or(x, 0), 13, 11, 7);
  CHECK(cx_reduce_xor(x), 12 ^ 10 ^ 7 ^ 5 ^ 3 ^ 1);
  CHECK(cx_reduce_xor(x, 1, .keepdims = true, .where = cx_array(bool, 1, 0, 1)),
        11, 4);
  CHECK(cx_reduce_and(x, 0, .where = cx_array(bool, 0, 1, 1)), -1, 2, 1);
  CHECK(cx_reduce_and(cx_zeros(CX_U8, 0)), 255);
  CHECK(cx_reduce_xor(cx_array(bool, 1, 1, 1)), 1);
  check_error(cx_reduce_or(cx_ones(CX_F32, 2)), CX_EDTYPE, "reduce_or");
  check_error(cx_reduce_xor(x, 2), CX_EINDEX, "reduce_xor");
  const cx y = cx_reshape(cx_array(float, 1, 5, 2, 4, 3, 6), 2, 3);
  CHECK(cx_reduce_window_by(CX_FN(greater), y, -INFINITY, CX_SHAPE(1, 2)), 5, 5,
        4, 6);
  const cx z =
      cx_reshape(cx_array(double, 0.1, -0.4, 0.7, 0.3, 0.9, 0.2), 2, 3);
  cx_assert(cx_check_grads(CX_FN(windows), (z), .order = 2));
  cx_assert(cx_check_jit(CX_FN(windows), (z)));
  check_error(cx_reduce_window_by(CX_FN(greater), y, 0.0, CX_SHAPE(2)),
              CX_ESHAPE, "reduce_window: window");
  check_error(
      cx_reduce_window_by(CX_FN(greater), cx_tuple(y, y), 0.0, CX_SHAPE(1, 2)),
      CX_ETREE, "2 arrays, 1 starts");
}

static void test_rest(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(double, 0.3, -2, 1.5);
  cx_assert(cx_check_grads(CX_FN(guarded), (x), .order = 2));
  CHECK(cx_copy(cx_array(int, 1, 2)), 1, 2);
  assert_int_equal(cx_len(cx_optimization_barrier(cx_tuple(x, 1, x))), 3);
  assert_true(cx_is_none(cx_optimization_barrier(cx_none())));
  /* the example of random123's known answers, of zeros */
  const cx words = cx_threefry2x32(0u, 0u, 0u, cx_array(uint32_t, 0));
  CHECK(cx_nth(words, 0), 0x6b200159);
  CHECK(cx_nth(words, 1), 0x99ba4efe);
  const cx places = cx_iota_2x32(2, 2);
  CHECK(cx_nth(places, 0), 0, 0, 0, 0);
  CHECK(cx_nth(places, 1), 0, 1, 2, 3);
  check_error(cx_threefry2x32(0u, 0u, 0u, x), CX_EDTYPE, "needs u32");
  check_error(cx_threefry2x32(cx_ones(CX_U32, 2), 0u, 0u, cx_ones(CX_U32, 3)),
              CX_ESHAPE, "threefry2x32");
  check_error(cx_iota_2x32(-1), CX_ESHAPE, "iota_2x32");
}

/* -- activations ----------------------------------------------------------- */

CX_DEF(all_activations, x) {
  cx sum = cx_add(cx_elu(x), cx_selu(x), cx_celu(x), cx_leaky_relu(x),
                  cx_log_sigmoid(x), cx_relu6(x), cx_hard_tanh(x));
  return cx_add(sum, cx_hard_sigmoid(x), cx_hard_silu(x), cx_soft_sign(x),
                cx_mish(x), cx_squareplus(x), cx_sparse_plus(x),
                cx_sparse_sigmoid(x));
}

static void test_activations(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, -100, -0.5, 0, 2, 9);
  CHECK(cx_elu(x), -1, expm1(-0.5), 0, 2, 9);
  CHECK(cx_celu(x), -1, expm1(-0.5), 0, 2, 9);
  CHECK(cx_selu(cx_array(float, 1, -INFINITY)), 1.05070098735, -1.75809934085);
  CHECK(cx_leaky_relu(x), -1, -0.005, 0, 2, 9);
  CHECK(cx_log_sigmoid(x), -100, -log1p(exp(0.5)), -log(2.), -log1p(exp(-2)),
        -log1p(exp(-9)));
  CHECK(cx_relu6(x), 0, 0, 0, 2, 6);
  CHECK(cx_hard_tanh(x), -1, -0.5, 0, 1, 1);
  CHECK(cx_hard_sigmoid(x), 0, 2.5 / 6, 0.5, 5 / 6., 1);
  CHECK(cx_hard_silu(x), -0.0, -1.25 / 6, 0, 10 / 6., 9);
  CHECK(cx_soft_sign(x), -100 / 101., -1 / 3., 0, 2 / 3., 0.9);
  CHECK(cx_mish(cx_array(float, 0, 1)), 0, tanh(log1p(exp(1))));
  CHECK(cx_squareplus(cx_array(float, 0, 1.5)), 1, 2);
  CHECK(cx_sparse_plus(x), 0, 0.0625, 0.25, 2, 9);
  CHECK(cx_sparse_sigmoid(x), 0, 0.25, 0.5, 1, 1);
  const cx far = cx_array(double, -7.3, -1.7, -0.4, 0.3, 1.9, 7.7);
  cx_assert(cx_check_grads(CX_FN(all_activations), (far), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(all_activations), (far)));
  assert_int_equal(cx_type(cx_mish(cx_ones(CX_F16, 2))), CX_F16);
  check_error(cx_elu(cx_ones(CX_I32, 2)), CX_EDTYPE, "elu");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_apply),
    cmocka_unit_test(test_apply_transforms),
    cmocka_unit_test(test_apply_errors),
    cmocka_unit_test(test_choices),
    cmocka_unit_test(test_choice_derivatives),
    cmocka_unit_test(test_bits),
    cmocka_unit_test(test_reductions),
    cmocka_unit_test(test_rest),
    cmocka_unit_test(test_activations),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
