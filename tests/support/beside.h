/* beside.h - a function with something beside its result, for tests of reverse
 * mode: doubled twice, 4 x; what is computed beside has an infinite factor and
 * no cotangent, where one of zeros would give NaN. */
#ifndef TEST_BESIDE_H
#define TEST_BESIDE_H

#include <math.h>

#include "calx.h"

CX_DEF(double_beside, c, x) {
  (void)x;
  cx aside = cx_mul(cx_nth(c, 1), INFINITY);
  return cx_tuple(cx_tuple(cx_mul(cx_nth(c, 0), 2), aside), cx_none());
}
CX_DEF(beside, x) {
  cx r = cx_scan(CX_FN(double_beside), cx_tuple(x, x), cx_none(), .length = 2);
  return cx_nth(cx_nth(r, 0), 0);
}

#endif
