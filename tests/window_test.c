/* window_test.c - reductions of windows against loops over every element,
 * the choice within windows, errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define PLAIN "base_dilation=(1), window_dilation=(1)"

static const row_values values[] = {
  { "program @m(%0: f32[5]) { %1: f32[3] = reduce_window_sum[window=(3), "
    "strides=(2), low=(1), high=(1), " PLAIN "] %0 %2: f32[3] = "
    "reduce_window_max[window=(3), strides=(2), low=(1), high=(1), " PLAIN "] "
    "%0 %3: f32[3] = reduce_window_min[window=(3), strides=(2), low=(1), "
    "high=(1), " PLAIN "] %0 return %1, %2, %3 }",
    "1 2 3 4 5", "3 9 9; 2 4 5; 1 2 4" },
  /* windows that hold nothing */
  { "program @m(%0: i8[1]) { %1: i8[3] = reduce_window_max[window=(1), "
    "strides=(1), low=(1), high=(1), " PLAIN "] %0 %2: i8[3] = "
    "reduce_window_min[window=(1), strides=(1), low=(1), high=(1), " PLAIN "] "
    "%0 %3: i8[3] = reduce_window_sum[window=(1), strides=(1), low=(1), "
    "high=(1), " PLAIN "] %0 return %1, %2, %3 }",
    "7", "-128 7 -128; 127 7 127; 0 7 0" },
  { "program @m(%0: f32[1]) { %1: f32[2] = reduce_window_max[window=(1), "
    "strides=(1), low=(1), high=(0), " PLAIN "] %0 %2: f32[2] = "
    "select_and_gather_add[window=(1), strides=(1), low=(1), high=(0), " PLAIN
    ", least=false] %0, %0 return %1, %2 }",
    "7", "-inf 7; 0 7" },
  { "program @m(%0: bool[4]) { %1: bool[2] = reduce_window_max[window=(2), "
    "strides=(2), low=(0), high=(0), " PLAIN "] %0 %2: bool[2] = "
    "reduce_window_min[window=(2), strides=(2), low=(0), high=(0), " PLAIN "] "
    "%0 return %1, %2 }",
    "1 0 0 0", "1 0; 0 0" },
  /* f16 runs in f32 */
  { "program @m(%0: f16[3]) { %1: f16[1] = reduce_window_sum[window=(3), "
    "strides=(1), low=(0), high=(0), " PLAIN "] %0 return %1 }",
    "2048 1 1", "2050" },
  /* the first of equal ones; NaN gives way and takes over */
  { "program @m(%0: f32[3], %1: f32[3]) { %2: f32[1] = "
    "select_and_gather_add[window=(3), strides=(1), low=(0), high=(0), " PLAIN
    ", least=false] %0, %1 %3: f32[1] = select_and_gather_add[window=(3), "
    "strides=(1), low=(0), high=(0), " PLAIN ", least=true] %0, %1 "
    "return %2, %3 }",
    "10 20 30; 2 1 2", "10; 20" },
  { "program @m(%0: f32[3], %1: f32[3]) { %2: f32[1] = "
    "select_and_gather_add[window=(3), strides=(1), low=(0), high=(0), " PLAIN
    ", least=false] %0, %1 return %2 }",
    "10 20 30; 2 nan 1", "30" },
  /* one element chosen by two windows */
  { "program @m(%0: f32[2], %1: f32[3]) { %2: f32[3] = "
    "select_and_scatter_add[window=(2), strides=(1), low=(0), high=(0), " PLAIN
    ", least=false] %0, %1 return %2 }",
    "10 20; 1 3 2", "0 30 0" },
  { "program @m(%0: bool[3], %1: bool[4]) { %2: bool[4] = "
    "select_and_scatter_add[window=(2), strides=(1), low=(0), high=(0), " PLAIN
    ", least=false] %0, %1 %3: bool[3] = select_and_gather_add[window=(2), "
    "strides=(1), low=(0), high=(0), " PLAIN ", least=false] %2, %1 "
    "return %2, %3 }",
    "1 1 1; 0 1 0 0", "0 1 1 0; 1 1 1" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[5]) { %1: f32[5] = reduce_window_sum[window=(0), "
    "strides=(1), low=(0), high=(0), " PLAIN "] %0 return %1 }",
    "reduce_window_sum: window (0), strides (1)" },
  { "program @m(%0: f32[5]) { %1: f32[5] = reduce_window_max[window=(1,1), "
    "strides=(1), low=(0), high=(0), " PLAIN "] %0 return %1 }",
    "of f32[5]: needs one number for each axis" },
  { "program @m(%0: key[5]) { %1: key[5] = reduce_window_max[window=(1), "
    "strides=(1), low=(0), high=(0), " PLAIN "] %0 return %1 }",
    "got key[5]" },
  { "program @m(%0: bool[5]) { %1: bool[5] = reduce_window_sum[window=(1), "
    "strides=(1), low=(0), high=(0), " PLAIN "] %0 return %1 }",
    "got bool[5]" },
  { "program @m(%0: f32[5]) { %1: f32[5] = reduce_window_sum[window="
    "(4611686018427387904), strides=(1), low=(0), high=(0), "
    "base_dilation=(4611686018427387904), window_dilation=(4)] %0 return %1 }",
    "reduce_window_sum: window (4611686018427387904)" },
  { "program @m(%0: f32[4]) { %1: f32[3] = reduce_window_sum[window=(1), "
    "strides=(1), low=(-9223372036854775808), "
    "high=(9223372036854775807), " PLAIN "] %0 return %1 }",
    "strides (1), low (-9223372036854775808)" },
  { "program @m(%0: f32[4], %1: f32[5]) { %2: f32[5] = "
    "select_and_scatter_add[window=(2), strides=(2), low=(0), high=(0), " PLAIN
    ", least=false] %0, %1 return %2 }",
    "select_and_scatter_add: the windows of f32[5] are (2), got f32[4]" },
};

static const cxi_prim rows[] = {
  CXI_PRIM_reduce_window_sum,      CXI_PRIM_reduce_window_max,
  CXI_PRIM_reduce_window_min,      CXI_PRIM_select_and_gather_add,
  CXI_PRIM_select_and_scatter_add,
};

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* -- against the definition, along one axis of two ------------------------- */

typedef struct geometry {
  int size, window, stride, low, high, base, dilation;
} geometry;

/* Of column c, result o: the sum or the greatest. */
static double by_definition(const geometry *g, const cxi_view *x, int c, int o,
                            bool sum) {
  double y = sum ? 0 : -INFINITY;
  for (int k = 0; k < g->window; k++) {
    const int p = o * g->stride + k * g->dilation - g->low;
    if (p < 0 || p % g->base || p / g->base >= g->size) continue;
    const double e = array_get(x, p / g->base * 3 + c);
    y = sum ? y + e : e > y ? e : y;
  }
  return y;
}

static void check_geometry(const geometry *g, uint64_t *seed) {
  char text[512];
  const int padded = (g->size - 1) * g->base + 1 + g->low + g->high;
  const int span = (g->window - 1) * g->dilation + 1;
  const int n = padded < span ? 0 : (padded - span) / g->stride + 1;
  cxi_view x = array_random((cx_aval){ CX_F64, { 2, { g->size, 3 } } }, seed);
  for (int sum = 0; sum < 2; sum++) {
    cxi_view y;
    snprintf(text, sizeof text,
             "program @m(%%0: f64[%d,3]) { %%1: f64[%d,3] = reduce_window_%s["
             "window=(%d,1), strides=(%d,1), low=(%d,0), high=(%d,0), "
             "base_dilation=(%d,1), window_dilation=(%d,1)] %%0 return %%1 }",
             g->size, n, sum ? "sum" : "max", g->window, g->stride, g->low,
             g->high, g->base, g->dilation);
    run_text(text, &x, &y);
    for (int i = 0; i < n * 3; i++) {
      const double want = by_definition(g, &x, i % 3, i / 3, sum);
      if (array_get(&y, i) != want)
        fail_msg("%s\nelement %d is %g, not %g", text, i, array_get(&y, i),
                 want);
    }
    array_free(&y);
  }
  array_free(&x);
}

static void test_geometries(void **state) {
  (void)state;
  uint64_t seed = 3;
  for (int i = 0; i < 300; i++) {
    const geometry g = {
      1 + (int)(random_next(&seed) % 7), 1 + (int)(random_next(&seed) % 4),
      1 + (int)(random_next(&seed) % 4), (int)(random_next(&seed) % 6) - 2,
      (int)(random_next(&seed) % 6) - 2, 1 + (int)(random_next(&seed) % 4),
      1 + (int)(random_next(&seed) % 3)
    };
    check_geometry(&g, &seed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_geometries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
