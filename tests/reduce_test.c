/* reduce_test.c - reductions: values, errors, rules, the order of sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const row_values values[] = {
  { "program @m(%0: f32[2,3]) { %1: f32[2] = reduce_sum[axes=(1)] %0 %2: "
    "f32[3] "
    "= reduce_sum[axes=(0)] %0 %3: f32[] = reduce_sum[axes=(1,0)] %0 return "
    "%1, %2, %3 }",
    "1 2 3 4 5 6", "6 15; 5 7 9; 21" },
  { "program @m(%0: f32[0,2]) { %1: f32[2] = reduce_sum[axes=(0)] %0 %2: "
    "f32[2] "
    "= reduce_max[axes=(0)] %0 %3: f32[2] = reduce_min[axes=(0)] %0 return "
    "%1, %2, %3 }",
    "", "0 0; -inf -inf; inf inf" },
  { "program @m(%0: f32[2]) { %1: f32[] = reduce_sum[axes=(0)] %0 return %1 }",
    "-0.0 -0.0", "-0.0" },
  { "program @m(%0: i8[0]) { %1: i8[] = reduce_sum[axes=(0)] %0 %2: i8[] = "
    "reduce_max[axes=(0)] %0 %3: i8[] = reduce_min[axes=(0)] %0 return "
    "%1, %2, %3 }",
    "", "0; -128; 127" },
  { "program @m(%0: u16[0]) { %1: u16[] = reduce_max[axes=(0)] %0 %2: u16[] = "
    "reduce_min[axes=(0)] %0 return %1, %2 }",
    "", "0; 65535" },
  { "program @m(%0: bool[0]) { %1: bool[] = reduce_max[axes=(0)] %0 %2: bool[] "
    "= reduce_min[axes=(0)] %0 %3: bool[] = reduce_and[axes=(0)] %0 %4: bool[] "
    "= reduce_or[axes=(0)] %0 return %1, %2, %3, %4 }",
    "", "0; 1; 1; 0" },
  { "program @m(%0: i8[3]) { %1: i8[] = reduce_sum[axes=(0)] %0 return %1 }",
    "100 100 100", "44" },
  { "program @m(%0: i32[3]) { %1: i32[] = reduce_max[axes=(0)] %0 %2: i32[] = "
    "reduce_min[axes=(0)] %0 return %1, %2 }",
    "-3 5 -7", "5; -7" },
  { "program @m(%0: f32[3]) { %1: f32[] = reduce_max[axes=(0)] %0 %2: f32[] = "
    "reduce_min[axes=(0)] %0 return %1, %2 }",
    "1 nan 3", "nan; nan" },
  { "program @m(%0: f16[2]) { %1: f16[] = reduce_max[axes=(0)] %0 %2: f16[] = "
    "reduce_min[axes=(0)] %0 return %1, %2 }",
    "0.0 -0.0", "0.0; -0.0" },
  { "program @m(%0: u8[3]) { %1: u8[] = reduce_and[axes=(0)] %0 %2: u8[] = "
    "reduce_or[axes=(0)] %0 return %1, %2 }",
    "7 6 14", "6; 15" },
  { "program @m(%0: bool[2,2]) { %1: bool[2] = reduce_and[axes=(1)] %0 %2: "
    "bool[2] = reduce_or[axes=(1)] %0 return %1, %2 }",
    "1 1 0 1", "1 0; 1 1" },
  /* the first of equals; the first NaN */
  { "program @m(%0: f32[3,3]) { %1: i32[3] = argmax[axis=1, type=i32] %0 "
    "%2: i32[3] = argmin[axis=1, type=i32] %0 return %1, %2 }",
    "1 3 3 nan 9 nan 2 2 nan", "1 0 2; 0 0 2" },
  { "program @m(%0: i8[4]) { %1: u8[] = argmax[axis=0, type=u8] %0 %2: i64[] = "
    "argmin[axis=0, type=i64] %0 return %1, %2 }",
    "3 -1 3 -1", "0; 1" },
  { "program @m(%0: u32[2]) { %1: i32[] = argmax[axis=0, type=i32] %0 return "
    "%1 }",
    "1 4294967295", "1" },
  { "program @m(%0: bool[2]) { %1: i32[] = argmax[axis=0, type=i32] %0 return "
    "%1 }",
    "0 1", "1" },
};

static const row_values products[] = {
  { "program @m(%0: f32[2,3]) { %1: f32[2] = reduce_prod[axes=(1)] %0 %2: "
    "f32[3] = reduce_prod[axes=(0)] %0 %3: f32[] = reduce_prod[axes=(1,0)] %0 "
    "return %1, %2, %3 }",
    "1 2 3 4 5 6", "6 120; 4 10 18; 720" },
  { "program @m(%0: f32[0,2]) { %1: f32[2] = reduce_prod[axes=(0)] %0 "
    "return %1 }",
    "", "1 1" },
  { "program @m(%0: i8[3]) { %1: i8[] = reduce_prod[axes=(0)] %0 return %1 }",
    "16 8 3", "-128" },
  /* beyond f16 in between: the product runs in f32 */
  { "program @m(%0: f16[3]) { %1: f16[] = reduce_prod[axes=(0)] %0 return %1 }",
    "2048 64 0.03125", "4096" },
  { "program @m(%0: u8[3]) { %1: u8[] = reduce_xor[axes=(0)] %0 return %1 }",
    "12 10 1", "7" },
  { "program @m(%0: bool[2,3]) { %1: bool[2] = reduce_xor[axes=(1)] %0 "
    "return %1 }",
    "1 1 0 1 1 1", "0 1" },
};

static const row_error errors[] = {
  { "program @m(%0: bool[2]) { %1: bool[] = reduce_prod[axes=(0)] %0 "
    "return %1 }",
    "needs an integer or floating dtype, got bool[2]" },
  { "program @m(%0: f32[2]) { %1: f32[] = reduce_xor[axes=(0)] %0 return %1 }",
    "needs a bool or integer dtype" },
  { "program @m(%0: f32[2,3]) { %1: f32[2] = reduce_sum[axes=(2)] %0 "
    "return %1 }",
    "reduce_sum: axes (2): not distinct axes of f32[2,3]" },
  { "program @m(%0: bool[2]) { %1: bool[] = reduce_sum[axes=(0)] %0 "
    "return %1 }",
    "needs an integer or floating dtype, got bool[2]" },
  { "program @m(%0: f32[2]) { %1: f32[] = reduce_and[axes=(0)] %0 return %1 }",
    "needs a bool or integer dtype" },
  { "program @m(%0: key[2]) { %1: key[] = reduce_max[axes=(0)] %0 return %1 }",
    "got key[2]" },
  { "program @m(%0: f32[0]) { %1: i32[] = argmax[axis=0, type=i32] %0 "
    "return %1 }",
    "argmax: axis 0 of f32[0] is empty" },
  { "program @m(%0: f32[300]) { %1: i8[] = argmax[axis=0, type=i8] %0 "
    "return %1 }",
    "i8 does not hold the indices of axis 0 of f32[300]" },
  { "program @m(%0: f32[3]) { %1: f32[] = argmin[axis=0, type=f32] %0 "
    "return %1 }",
    "f32 does not hold the indices" },
};

static void test_products(void **state) {
  (void)state;
  check_values(products, COUNT(products));
}

static const cxi_prim rows[] = {
  CXI_PRIM_reduce_sum, CXI_PRIM_reduce_max,  CXI_PRIM_reduce_min,
  CXI_PRIM_reduce_and, CXI_PRIM_reduce_or,   CXI_PRIM_argmax,
  CXI_PRIM_argmin,     CXI_PRIM_reduce_prod, CXI_PRIM_reduce_xor,
};

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* A half that grows by ones does not stop at its last odd integer. */
static void test_half_sums(void **state) {
  (void)state;
  static const char *const texts[] = {
    "program @m() { %0: bf16[1024] = broadcast_in_dim[shape=(1024), map=()] "
    "1.0:bf16 %1: bf16[] = reduce_sum[axes=(0)] %0 return %1 }",
    "program @m() { %0: f16[4096] = broadcast_in_dim[shape=(4096), map=()] "
    "1.0:f16 %1: f16[] = reduce_sum[axes=(0)] %0 return %1 }",
  };
  static const double wanted[] = { 1024, 4096 };
  for (size_t i = 0; i < COUNT(texts); i++) {
    cxi_view out;
    run_text(texts[i], NULL, &out);
    assert_true(array_get(&out, 0) == wanted[i]);
    array_free(&out);
  }
}

/* The bits of a sum depend on its elements in order alone: not on what is
 * kept, nor on how they lie in memory. */
static void test_order(void **state) {
  (void)state;
  uint64_t seed = 7;
  cxi_view x = array_random((cx_aval){ CX_F32, { 2, { 333, 5 } } }, &seed);
  cxi_view out[2];
  run_text("program @m(%0: f32[333,5]) { %1: f32[5] = reduce_sum[axes=(0)] %0 "
           "%2: f32[5,333] = transpose[permutation=(1,0)] %0 %3: f32[5,9,37] = "
           "reshape[shape=(5,9,37)] %2 %4: f32[5] = reduce_sum[axes=(2,1)] %3 "
           "return %1, %4 }",
           &x, out);
  assert_memory_equal(out[0].data, out[1].data, 5 * sizeof(float));
  for (int column = 0; column < 5; column++) {
    double sum = 0, size = 0;
    for (int i = 0; i < 333; i++) {
      sum += array_get(&x, i * 5 + column);
      size += fabs(array_get(&x, i * 5 + column));
    }
    assert_true(fabs(array_get(&out[0], column) - sum) <= 1e-6 * size);
  }
  array_free(&x);
  array_free(&out[0]);
  array_free(&out[1]);
}

/* 64 lanes, then pairs; absent lanes stay out, so that -0 survives. */
static float lanes_sum(const float *x, int n) {
  float lane[64];
  int present = n < 64 ? n : 64;
  if (n == 0) return 0;
  for (int i = 0; i < n; i++)
    lane[i % 64] = i < 64 ? x[i] : lane[i % 64] + x[i];
  for (int half = 32; half > 0; half /= 2)
    for (int i = 0; i < half; i++)
      if (i + half < present) lane[i] += lane[i + half];
  return lane[0];
}

static void test_lanes(void **state) {
  (void)state;
  static const int sizes[] = { 0, 1, 2, 33, 63, 64, 65, 100, 128, 1000 };
  uint64_t seed = 9;
  for (size_t c = 0; c < COUNT(sizes); c++) {
    char text[128];
    snprintf(text, sizeof text,
             "program @m(%%0: f32[%d]) { %%1: f32[] = reduce_sum[axes=(0)] %%0 "
             "return %%1 }",
             sizes[c]);
    cxi_view x = array_random((cx_aval){ CX_F32, { 1, { sizes[c] } } }, &seed);
    cxi_view y;
    run_text(text, &x, &y);
    const float wanted = lanes_sum(x.data, sizes[c]);
    assert_memory_equal(y.data, &wanted, sizeof wanted);
    array_free(&x);
    array_free(&y);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test(test_products),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_half_sums),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_lanes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
