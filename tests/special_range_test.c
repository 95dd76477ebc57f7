/* special_range_test.c - special functions of very large operands, against
 * mpmath with 45 digits, and densities at the ends of their support. */
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

enum { IGAMMA, IGAMMAC, BETAINC, POLYGAMMA };

static void large_operands(void **state) {
  (void)state;
  static const struct {
    int what;
    double a, b, x, value;
  } known[] = {
    { IGAMMA, 2e6, 0, 1990000, 7.071094761752726e-13 },
    { IGAMMAC, 2e6, 0, 2004000, 0.0023509355615282043 },
    { IGAMMA, 2e6, 0, 2e6, 0.5000940315975192 },
    { IGAMMAC, 5e6, 0, 5060000, 1.1620911986592244e-157 },
    { BETAINC, 1e6, 1e6, 0.4985, 1.1044804636424807e-05 },
    { BETAINC, 5e7, 3e8, 0.1428384384665512, 0.15865525345127723 },
    { BETAINC, 1.5e8, 2e9, 0.0697, 5.887975672687149e-35 },
    { BETAINC, 1e12, 1e12, 0.4999985, 1.1045248500572477e-05 },
    { BETAINC, 1e14, 3e14, 0.2499999783493649, 0.1586552539796609 },
    { BETAINC, 20, 1e13, 2.894427190993233e-12, 0.9666504985836307 },
    { BETAINC, 1e4, 1e12, 1.0199999897e-08, 0.9767126778744973 },
    { POLYGAMMA, 1754, 0, 700, -1.536192155040445e-63 },
    { POLYGAMMA, 1800, 0, 660, -65.7595266444222 },
    { POLYGAMMA, 3000, 0, 1100, -2678.682531992995 },
    { POLYGAMMA, 1e5, 0, 36780, -55262184.8907782 },
    { POLYGAMMA, 2000, 0, 5, -INFINITY },
    { POLYGAMMA, 2001, 0, INFINITY, 0 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    CX_SCOPE;
    const cx a = cx_scalar(known[i].a, CX_F64),
             b = cx_scalar(known[i].b, CX_F64);
    const cx x = cx_scalar(known[i].x, CX_F64);
    const int what = known[i].what;
    const cx got = what == IGAMMA    ? cx_igamma(a, x)
                   : what == IGAMMAC ? cx_igammac(a, x)
                   : what == BETAINC ? cx_betainc(a, b, x)
                                     : cx_polygamma(a, x);
    cx_assert(cx_check_close(got, cx_scalar(known[i].value, CX_F64),
                             .rtol = 1e-13, .atol = 1e-300));
  }
}

/* The slopes along x are the densities of gamma and beta numbers. */
CX_DEF(gamma_law, x, a) {
  return cx_sum(cx_igamma(a, x));
}
CX_DEF(gamma_tail, x, a) {
  return cx_sum(cx_igammac(a, x));
}
CX_DEF(beta_law, x, a, b) {
  return cx_sum(cx_betainc(a, b, x));
}
static void ends_of_support(void **state) {
  (void)state;
  for (cx_dtype t = CX_F16; t <= CX_F64; t++) {
    CX_SCOPE;
    cx a = cx_cast(cx_array(float, 0.5, 1, 2, 1, 2), t);
    cx x = cx_cast(cx_array(float, 0, 0, 0, INFINITY, INFINITY), t);
    const cx density = cx_array(float, INFINITY, 1, 0, 0, 0);
    cx_assert(cx_check_close(
        cx_cast(cx_call(cx_grad(CX_FN(gamma_law)), x, a), CX_F32), density,
        .rtol = 1e-30));
    cx_assert(cx_check_close(
        cx_cast(cx_call(cx_grad(CX_FN(gamma_tail)), x, a), CX_F32),
        cx_neg(density), .rtol = 1e-30));
    a = cx_cast(cx_array(float, 1, 1, 2, 2, 0.5), t);
    const cx b = cx_cast(cx_array(float, 1, 1, 1, 2, 1), t);
    x = cx_cast(cx_array(float, 0, 1, 1, 1, 0), t);
    cx_assert(cx_check_close(
        cx_cast(cx_call(cx_grad(CX_FN(beta_law)), x, a, b), CX_F32),
        cx_array(float, 1, 1, 2, 0, INFINITY), .rtol = 2e-3));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(large_operands),
    cmocka_unit_test(ends_of_support),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
