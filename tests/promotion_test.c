/* promotion_test.c - the lattice of dtypes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calx/calx.h"
#include "calx/testing.h"
#include "support/group.h"

/* Entry by entry JAX's recorded table is checked by calx conform. */

/* The lattice is commutative and idempotent; promotion is the cast of both
 * operands. */
static void lattice(void **state) {
  (void)state;
  for (cx_dtype a = CX_BOOL; a <= CX_F64; a++)
    for (cx_dtype b = CX_BOOL; b <= CX_F64; b++) {
      const cx_dtype both = cx_promote_types(a, b);
      assert_int_equal(both, cx_promote_types(b, a));
      assert_int_equal(cx_promote_types(both, both), both);
      CX_SCOPE;
      cx x = cx_ones(a, 3), y = cx_ones(b, 3);
      cx_promotion(CX_PROMOTE_JAX);
      cx mixed = cx_maximum(x, y);
      cx_promotion(CX_PROMOTE_STRICT);
      cx cast = cx_maximum(cx_cast(x, both), cx_cast(y, both));
      cx_assert(cx_check_close(mixed, cast, .rtol = 1e-30));
    }
  assert_int_equal(cx_promote_types(CX_KEY, CX_KEY), CX_KEY);
  assert_int_equal(cx_promote_types(CX_KEY, CX_F32), 0);
  assert_int_equal(cx_promote_types(CX_F32, (cx_dtype)99), 0);
}
/* Without the switch, every pair of different dtypes is refused. */
static void strict_pairs(void **state) {
  (void)state;
  for (cx_dtype a = CX_BOOL; a <= CX_F64; a++)
    for (cx_dtype b = CX_BOOL; b <= CX_F64; b++) {
      CX_SCOPE;
      cx r = cx_maximum(cx_zeros(a, 2), cx_zeros(b, 2));
      if (a == b)
        assert_int_equal(cx_type(r), a);
      else
        cx_assert(cx_check_error(CX_EDTYPE, "dtypes differ"));
    }
}
/* Several C numbers before the first array are of its dtype, as those after
 * it are. */
static void numbers_first(void **state) {
  (void)state;
  double f;
  int64_t i;
  cx y = cx_mul(0.1, 0.2, cx_ones(CX_F64));
  assert_int_equal(cx_type(y), CX_F64);
  assert_true(cx_read(y, &f, 1));
  assert_true(f == 0.1 * 0.2);
  y = cx_add(2000000000, 2000000000, cx_zeros(CX_I64));
  assert_int_equal(cx_type(y), CX_I64);
  assert_true(cx_read(y, &i, 1));
  assert_true(i == INT64_C(4000000000));
  for (cx_dtype t = CX_I8; t <= CX_F64; t++) {
    cx x = cx_full(3, t, 2);
    y = cx_add(1, 2, x, 4);
    assert_int_equal(cx_type(y), t);
    cx_assert(cx_check_close(y, cx_add(x, 1, 2, 4), .rtol = 1e-30));
  }
  y = cx_add(1, 0.5, cx_ones(CX_I32, 2));
  cx_assert(cx_check_error(CX_EDTYPE, "add: the number 0.5"));
  cx_promotion(CX_PROMOTE_JAX);
  y = cx_add(1, 0.5, cx_ones(CX_I32, 2));
  cx_promotion(CX_PROMOTE_STRICT);
  assert_int_equal(cx_type(y), CX_F32);
  cx_assert(cx_check_close(y, cx_full(2.5, CX_F32, 2), .rtol = 1e-30));
  y = cx_add(1, 2, 3); /* none but numbers */
  assert_int_equal(cx_type(y), CX_I32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lattice),
    cmocka_unit_test(strict_pairs),
    cmocka_unit_test(numbers_first),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
