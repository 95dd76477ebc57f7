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

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lattice),
    cmocka_unit_test(strict_pairs),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
