/* create_test.c - arrays made from numbers. */
#include "support/calls.h"

static void assert_values(cx a, int n, const double *want) {
  assert_int_equal(cx_size(a), n);
  for (int i = 0; i < n; i++) {
    double got = cx_item(cx_index(a, i));
    if (got != want[i]) fail_msg("%s at %d: %g", cx_show(a), i, got);
  }
  assert_good();
}
#define ASSERT_VALUES(a, ...)                                              \
  assert_values((a),                                                       \
                (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), \
                (const double[]){ __VA_ARGS__ })

static void arange_counts_up_and_down(void **state) {
  (void)state;
  CX_SCOPE;
  ASSERT_VALUES(cx_arange(0, 4, 1, CX_I32), 0, 1, 2, 3);
  ASSERT_VALUES(cx_arange(1, 2, 0.25, CX_F32), 1, 1.25, 1.5, 1.75);
  ASSERT_VALUES(cx_arange(4, -1, -1, CX_I8), 4, 3, 2, 1, 0);
  ASSERT_VALUES(cx_arange(4, -1, -2, CX_U8), 4, 2, 0); /* no sign, yet down */
  ASSERT_VALUES(cx_arange(1, -1, -0.5, CX_BF16), 1, 0.5, 0, -0.5);
  assert_int_equal(cx_size(cx_arange(3, 3, 1, CX_U32)), 0);
  assert_int_equal(cx_size(cx_arange(3, 5, -1, CX_F64)), 0);
  assert_good();
  cx bad = cx_arange(0, 1, 0, CX_F32);
  assert_error(CX_ESHAPE, "no length for 0 to 1 by 0");
  bad = cx_arange(0, cx_ones(CX_F32, 1), 1, CX_F32);
  assert_error(CX_ETRACE, "bounds and step must be C numbers");
  bad = cx_arange(0, 2, 1, CX_BOOL);
  assert_error(CX_EDTYPE, "needs a number type");
  (void)bad;
}

static void linspace_has_both_ends(void **state) {
  (void)state;
  CX_SCOPE;
  ASSERT_VALUES(cx_linspace(-1, 1, 5, CX_F64), -1, -0.5, 0, 0.5, 1);
  ASSERT_VALUES(cx_linspace(3, 9, 1, CX_F32), 3);
  ASSERT_VALUES(cx_index(cx_linspace(0, 0.1, 7, CX_F32), CX_FROM(-1)), 0.1f);
  cx bad = cx_linspace(0, 1, 3, CX_I32);
  assert_error(CX_EDTYPE, "needs a floating dtype");
  (void)bad;
}

static void filled_arrays(void **state) {
  (void)state;
  CX_SCOPE;
  ASSERT_VALUES(cx_full(-2, CX_I16, 3), -2, -2, -2);
  ASSERT_VALUES(cx_full_like(cx_ones(CX_U8, 2), 7), 7, 7);
  ASSERT_VALUES(cx_reshape(cx_eye(CX_F32, 2), 4), 1, 0, 0, 1);
  ASSERT_VALUES(cx_reshape(cx_iota(CX_I32, -1, 2, 2), 4), 0, 1, 0, 1);
  assert_string_equal(cx_show(cx_zeros(CX_BF16, 0, 3)), "bf16[0,3]");
  cx bad = cx_zeros(CX_F32, -1);
  assert_error(CX_ESHAPE, "negative size");
  bad = cx_iota(CX_I32, 2, 2, 2);
  assert_error(CX_EINDEX, "axis 2");
  (void)bad;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(arange_counts_up_and_down),
    cmocka_unit_test(linspace_has_both_ends),
    cmocka_unit_test(filled_arrays),
  };
  return cmocka_run_group_tests_name("create", tests, setup, teardown);
}
