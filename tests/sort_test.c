/* sort_test.c - sort and top_k: the order of every dtype, ties, several keys,
 * long lines, derivatives, wrong use; operations on bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const row_values values[] = {
  { "program @m(%0: f32[7]) { %1: f32[7] = sort[axis=0, n_keys=1, stable=true] "
    "%0 return %1 }",
    "nan 2 -inf 0 inf -3 1", "-inf -3 0 1 2 inf nan" },
  /* -0 is equal to 0: they stay as they are */
  { "program @m(%0: f32[4]) { %1: f32[4] = sort[axis=0, n_keys=1, stable=true] "
    "%0 %2: u32[4] = bitcast[type=u32] %1 return %2 }",
    "0 -0 1 -0", "0 2147483648 2147483648 1065353216" },
  { "program @m(%0: f16[4]) { %1: f16[4] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "1 nan -1 0.5", "-1 0.5 1 nan" },
  { "program @m(%0: bf16[4]) { %1: bf16[4] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "1 nan -1 0.5", "-1 0.5 1 nan" },
  { "program @m(%0: i8[4]) { %1: i8[4] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "3 -128 127 -1", "-128 -1 3 127" },
  { "program @m(%0: u8[3]) { %1: u8[3] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "3 255 127", "3 127 255" },
  { "program @m(%0: i64[3]) { %1: i64[3] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "3 -4000000000 5", "-4000000000 3 5" },
  { "program @m(%0: bool[4]) { %1: bool[4] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "1 0 1 0", "0 0 1 1" },
  { "program @m(%0: i32[2,3]) { %1: i32[2,3] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "4 2 6 1 5 3", "1 2 3 4 5 6" },
  /* the second key decides between equal first ones, the third is carried */
  { "program @m(%0: i32[5], %1: f32[5], %2: i16[5]) { %3: i32[5], %4: f32[5], "
    "%5: i16[5] = sort[axis=0, n_keys=2, stable=true] %0, %1, %2 "
    "return %3, %4, %5 }",
    "2 1 2 1 2; 5 nan 4 0 4; 1 2 3 4 5", "1 1 2 2 2; 0 nan 4 4 5; 4 2 3 5 1" },
  { "program @m(%0: f32[6]) { %1: f32[4], %2: i32[4] = top_k[k=4, axis=0] %0 "
    "return %1, %2 }",
    "1 nan 7 -2 7 nan", "nan nan 7 7; 1 5 2 4" },
  /* top_k goes by the sign first, of NaNs and zeros too */
  { "program @m(%0: f32[7]) { %1: f32[7], %2: i32[7] = top_k[k=7, axis=0] %0 "
    "return %2 }",
    "inf nan -nan -0 -inf 0 3", "1 0 6 5 3 4 2" },
  { "program @m(%0: bf16[40]) { %1: bf16[40], %2: i32[40] = top_k[k=40, "
    "axis=0] "
    "%0 %3: i32[3] = slice[start=(0), limit=(3), strides=(1)] %2 return %3 }",
    "-0 -nan 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 "
    "-1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
    "2 0 3" },
  { "program @m(%0: u8[2,3]) { %1: u8[1,3], %2: i32[1,3] = top_k[k=1, axis=0] "
    "%0 return %1, %2 }",
    "1 200 3 1 5 6", "1 200 6; 0 0 1" },
  { "program @m(%0: i32[5]) { %1: i32[5] = population_count %0 "
    "%2: i32[5] = clz %0 return %1, %2 }",
    "0 1 -1 255 -2147483648", "0 1 32 8 1; 32 31 0 24 0" },
  { "program @m(%0: u8[3]) { %1: u8[3] = population_count %0 "
    "%2: u8[3] = clz %0 return %1, %2 }",
    "0 255 20", "0 8 2; 8 0 3" },
  { "program @m(%0: i8[3], %1: i8[3]) { %2: i8[3] = mulhi %0, %1 return %2 }",
    "-128 100 -1; -128 100 1", "64 39 -1" },
  { "program @m(%0: u64[2], %1: u64[2]) { %2: u64[2] = mulhi %0, %1 "
    "return %2 }",
    "9223372036854775808 3; 4 4", "2 0" },
  { "program @m(%0: i64[2], %1: i64[2]) { %2: i64[2] = mulhi %0, %1 "
    "return %2 }",
    "-4611686018427387904 -3; 8 5", "-2 -1" },
  { "program @m(%0: f16[5], %1: f16[5]) { %2: f16[5] = nextafter %0, %1 "
    "%3: u16[5] = bitcast[type=u16] %2 return %3 }",
    "0 1 1 65504 -0; -1 2 0 inf 0", "32769 15361 15359 31744 0" },
  { "program @m(%0: f32[3], %1: f32[3]) { %2: f32[3] = nextafter %0, %1 "
    "return %2 }",
    "nan 1 -inf; 1 nan -inf", "nan nan -inf" },
  /* of f16's format: ties to even, overflow, no denormals */
  { "program @m(%0: f32[6]) { %1: f32[6] = reduce_precision[exponent_bits=5, "
    "mantissa_bits=10] %0 return %1 }",
    "1.00048828125 1.00146484375 65519 65520 0.00001 nan",
    "1 1.001953125 65504 inf 0 nan" },
  { "program @m(%0: f32[4]) { %1: f32[4] = reduce_precision[exponent_bits=5, "
    "mantissa_bits=0] %0 return %1 }",
    "-1.25 3 -0.5 nan", "-1 2 -0.5 inf" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[2]) { %1: f32[2] = sort[axis=1, n_keys=1, "
    "stable=true] %0 return %1 }",
    "sort: axis 1 is not one of 1" },
  { "program @m(%0: f32[2]) { %1: f32[2] = sort[axis=0, n_keys=2, "
    "stable=true] %0 return %1 }",
    "2 keys of 1 operands" },
  { "program @m(%0: f32[2], %1: f32[3]) { %2: f32[2], %3: f32[3] = "
    "sort[axis=0, n_keys=1, stable=true] %0, %1 return %2, %3 }",
    "f32[3] beside f32[2]" },
  { "program @m(%0: key[2]) { %1: key[2] = sort[axis=0, n_keys=1, "
    "stable=true] %0 return %1 }",
    "got key[2]" },
  { "program @m(%0: f32[2]) { %1: f32[3], %2: i32[3] = top_k[k=3, axis=0] %0 "
    "return %1, %2 }",
    "the greatest 3 of axis 0 of f32[2]" },
  { "program @m(%0: f32[2]) { %1: f32[2] = clz %0 return %1 }", "got f32[2]" },
  { "program @m(%0: f32[2]) { %1: f32[2] = reduce_precision["
    "exponent_bits=0, mantissa_bits=3] %0 return %1 }",
    "exponents of 0 bits" },
};

static const cxi_prim rows[] = { CXI_PRIM_sort, CXI_PRIM_top_k };

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* -- short and long lines, against the C library's sort ------------------- */

typedef struct pair {
  double x;
  int64_t index;
} pair;

/* NaN last; equal ones in the order in which they stood. */
static int compare(const void *a, const void *b) {
  const pair *p = a, *q = b;
  const bool p_nan = isnan(p->x), q_nan = isnan(q->x);
  if (p_nan != q_nan) return p_nan - q_nan;
  if (!p_nan && p->x != q->x) return p->x < q->x ? -1 : 1;
  return p->index < q->index ? -1 : 1;
}

/* Few values, so that many are equal, some of them special. */
static double drawn(uint64_t *state) {
  const uint64_t bits = random_next(state) >> 33;
  if (bits % 31 == 0) return NAN;
  if (bits % 37 == 0) return bits & 64 ? INFINITY : -INFINITY;
  return ((double)(bits % 401) - 200) / 4;
}

enum { LONG = 1000 };

static void check_lines(const char *type, int n) {
  const int k = n > 200 ? 70 : 9; /* those that a list has room for, or not */
  char text[400];
  snprintf(text, sizeof text,
           "program @m(%%0: %s[%d]) { %%1: i32[%d] = iota[type=i32, "
           "shape=(%d), axis=0] %%2: %s[%d], %%3: i32[%d] = sort[axis=0, "
           "n_keys=1, stable=true] %%0, %%1 %%4: %s[%d], %%5: i32[%d] = "
           "top_k[k=%d, axis=0] %%0 %%6: %s[%d], %%7: i32[%d] = top_k[k=%d, "
           "axis=0] %%0 return %%2, %%3, %%4, %%5, %%6, %%7 }",
           type, n, n, n, type, n, n, type, n, n, n, type, k, k, k);
  const cx_dtype dtype = cxi_dtype_parse(type, strlen(type));
  uint64_t state = 7 + (uint64_t)n;
  cxi_view x = array_random((cx_aval){ dtype, { 1, { n } } }, &state);
  static pair up[LONG], down[LONG];
  for (int i = 0; i < n; i++) {
    const double number = drawn(&state);
    const bool whole = !cxi_dtype_is_float(dtype);
    char *at = (char *)x.data + (size_t)i * cxi_dtype_bytes(dtype);
    cxi_element_set(dtype, at, whole && isnan(number) ? 0 : number);
    up[i] = (pair){ cxi_element_get(dtype, at), i };
    down[i] = (pair){ -up[i].x, i };
  }
  qsort(up, (size_t)n, sizeof *up, compare);
  qsort(down, (size_t)n, sizeof *down, compare);
  int nans = 0;
  while (nans < n && isnan(down[n - 1 - nans].x)) nans++;
  cxi_view out[6];
  run_text(text, &x, out);
  for (int i = 0; i < n; i++) {
    /* The greatest first: NaN comes before all. */
    const int j = i < nans ? n - nans + i : i - nans;
    assert_int_equal((int)array_get(&out[1], i), (int)up[i].index);
    assert_int_equal((int)array_get(&out[3], i), (int)down[j].index);
    if (i < k) assert_int_equal((int)array_get(&out[5], i), (int)down[j].index);
    const double sorted = array_get(&out[0], i), top = array_get(&out[2], i);
    assert_true(sorted == up[i].x || (isnan(sorted) && isnan(up[i].x)));
    assert_true(top == -down[j].x || (isnan(top) && isnan(down[j].x)));
  }
  for (int i = 0; i < 6; i++) array_free(&out[i]);
  array_free(&x);
}

static void test_lines(void **state) {
  (void)state;
  static const char *const types[] = { "bool", "i8",  "u8",  "i16", "u16",
                                       "i32",  "u32", "i64", "u64", "f16",
                                       "bf16", "f32", "f64" };
  for (size_t i = 0; i < COUNT(types); i++) {
    for (int n = 9; n < 70; n++) check_lines(types[i], n);
    check_lines(types[i], LONG);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
