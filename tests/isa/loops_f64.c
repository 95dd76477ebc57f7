/* loops_f64.c - a loop over each f64 function that calls no library. */
#include "loops.h"

#include <stddef.h>

#include "base/isa.h"
#include "base/math.h"

#define UNARY(name)                                                       \
  static void name##_(const double *x, double *restrict out, int64_t n) { \
    for (int64_t i = 0; i < n; i++) out[i] = cxi_##name##_f64(x[i]);      \
  }
#define ENTRY(name) { #name, name##_ },

UNARY(exp)
UNARY(expm1)
UNARY(logistic)
UNARY(tanh)
UNARY(sinh)
UNARY(cosh)

const loop_f64 CXI_FOR_ISA(loops_f64)[] = {
  /* clang-format off */
  ENTRY(exp) ENTRY(expm1) ENTRY(logistic) ENTRY(tanh) ENTRY(sinh) ENTRY(cosh)
  /* clang-format on */
  { NULL, NULL },
};
