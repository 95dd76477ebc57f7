/* shape_test.c - the rows that move elements: values, errors, rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const row_values values[] = {
  { "program @m(%0: f32[2]) { %1: f32[2,3] = broadcast_in_dim[shape=(2,3), "
    "map=(0)] %0 return %1 }",
    "1 2", "1 1 1 2 2 2" },
  { "program @m(%0: f32[1,2]) { %1: f32[2,2] = broadcast_in_dim[shape=(2,2), "
    "map=(0,1)] %0 return %1 }",
    "1 2", "1 2 1 2" },
  { "program @m(%0: i8[2,3]) { %1: i8[3,2] = reshape[shape=(3,2)] %0 "
    "return %1 }",
    "1 2 3 4 5 6", "1 2 3 4 5 6" },
  { "program @m(%0: f64[2,3]) { %1: f64[3,2] = transpose[permutation=(1,0)] %0 "
    "return %1 }",
    "1 2 3 4 5 6", "1 4 2 5 3 6" },
  { "program @m(%0: f32[2,1]) { %1: f32[2] = squeeze[axes=(1)] %0 return %1 }",
    "1 2", "1 2" },
  { "program @m(%0: bf16[2,2], %1: bf16[2,1]) { %2: bf16[2,3] = "
    "concatenate[axis=1] %0, %1 return %2 }",
    "1 2 3 4; 5 6", "1 2 5 3 4 6" },
  { "program @m(%0: u16[2], %1: u16[2]) { %2: u16[2,2] = stack[axis=1] %0, %1 "
    "return %2 }",
    "1 2; 3 4", "1 3 2 4" },
  { "program @m(%0: f32[2,2]) { %1: f32[2], %2: f32[2] = unstack[axis=1] %0 "
    "return %1, %2 }",
    "1 2 3 4", "1 3; 2 4" },
  { "program @m(%0: f16[4]) { %1: f16[1], %2: f16[3] = split[sizes=(1,3), "
    "axis=0] %0 return %1, %2 }",
    "1 2 3 4", "1; 2 3 4" },
  { "program @m(%0: f32[3,3]) { %1: f32[2,1] = slice[start=(0,1), limit=(3,2), "
    "strides=(2,1)] %0 return %1 }",
    "1 2 3 4 5 6 7 8 9", "2 8" },
  { "program @m(%0: i32[3], %1: i32[]) { %2: i32[7] = pad[low=(1), high=(1), "
    "interior=(1)] %0, %1 return %2 }",
    "1 2 3; 9", "9 1 9 2 9 3 9" },
  { "program @m(%0: f32[4], %1: f32[]) { %2: f32[3] = pad[low=(-2), high=(-2), "
    "interior=(1)] %0, %1 return %2 }",
    "1 2 3 4; 9", "2 9 3" },
  { "program @m(%0: f32[2], %1: f32[]) { %2: f32[2] = pad[low=(3), high=(-3), "
    "interior=(0)] %0, %1 return %2 }",
    "1 2; -0.0", "-0.0 -0.0" },
  { "program @m(%0: bool[3]) { %1: bool[3] = rev[axes=(0)] %0 return %1 }",
    "1 1 0", "0 1 1" },
  /* reversing four times is the array again */
  { "program @m(%0: f32[3]) { %1: f32[3] = rev[axes=(0)] %0 %2: f32[3] = "
    "rev[axes=(0)] %1 %3: f32[3] = rev[axes=(0)] %2 %4: f32[3] = rev[axes=(0)] "
    "%3 return %3, %4 }",
    "1 2 3", "3 2 1; 1 2 3" },
  { "program @m() { %0: f16[2,3] = iota[type=f16, shape=(2,3), axis=1] %1: "
    "u64[2,2] = iota[type=u64, shape=(2,2), axis=0] return %0, %1 }",
    "", "0 1 2 0 1 2; 0 0 1 1" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[2]) { %1: f32[3] = broadcast_in_dim[shape=(3), "
    "map=(0)] %0 return %1 }",
    "broadcast_in_dim: axis 0 of f32[2]: size 2 does not become 3" },
  { "program @m(%0: f32[2,2]) { %1: f32[2,2] = broadcast_in_dim[shape=(2,2), "
    "map=(1,0)] %0 return %1 }",
    "map (1,0): wants an ascending axis of the result (2,2)" },
  { "program @m(%0: f32[2]) { %1: f32[2] = broadcast_in_dim[shape=(2), "
    "map=(1)] %0 return %1 }",
    "map (1)" },
  { "program @m(%0: f32[]) { %1: f32[2] = broadcast_in_dim["
    "shape=(4611686018427387904,4), map=()] %0 return %1 }",
    "its size overflows" },
  { "program @m(%0: f32[2,3]) { %1: f32[4,2] = reshape[shape=(4,2)] %0 "
    "return %1 }",
    "reshape: f32[2,3] has 6 elements, (4,2) wants 8" },
  { "program @m(%0: f32[2]) { %1: f32[2] = reshape[shape=(-2)] %0 return %1 }",
    "none negative" },
  { "program @m(%0: f32[2,3]) { %1: f32[2,3] = transpose[permutation=(0,0)] %0 "
    "return %1 }",
    "(0,0) is not a permutation of the axes of f32[2,3]" },
  { "program @m(%0: f32[2,1]) { %1: f32[2] = squeeze[axes=(0)] %0 return %1 }",
    "squeeze: axis 0 of f32[2,1] is not 1" },
  { "program @m(%0: f32[1]) { %1: f32[] = squeeze[axes=(-1)] %0 return %1 }",
    "axes (-1): not distinct axes of f32[1]" },
  { "program @m(%0: f32[2,3], %1: f32[4,3]) { %2: f32[2,6] = concatenate["
    "axis=1] %0, %1 return %2 }",
    "concatenate: axis 1: f32[2,3] and f32[4,3]" },
  { "program @m(%0: f32[2], %1: f32[2,1]) { %2: f32[4] = concatenate[axis=0] "
    "%0, %1 return %2 }",
    "f32[2] and f32[2,1]" },
  { "program @m(%0: f32[2], %1: f64[2]) { %2: f32[4] = concatenate[axis=0] %0, "
    "%1 return %2 }",
    "f32 and f64" },
  { "program @m() { %0: f32[4] = concatenate[axis=0] return %0 }",
    "at least one operand" },
  { "program @m(%0: f32[2]) { %1: f32[2,1] = stack[axis=2] %0 return %1 }",
    "axis 2 is not one of 2" },
  { "program @m(%0: f32[1,1,1,1,1,1,1,1]) { %1: f32[1] = stack[axis=0] %0 "
    "return %1 }",
    "stack: more than 8 dimensions" },
  { "program @m(%0: f32[5]) { %1: f32[2], %2: f32[2] = split[sizes=(2,2), "
    "axis=0] %0 return %1, %2 }",
    "do not add up" },
  { "program @m(%0: f32[5]) { %1: f32[6], %2: f32[2] = split[sizes=(6,-1), "
    "axis=0] %0 return %1, %2 }",
    "do not add up" },
  { "program @m(%0: f32[0,9000000000000]) { %1: f32[0] = unstack[axis=1] %0 "
    "return %1 }",
    "more than 1048576 results" },
  { "program @m(%0: f32[5]) { %1: f32[2] = slice[start=(4), limit=(6), "
    "strides=(1)] %0 return %1 }",
    "slice: axis 0 of f32[5]: 4:6:1 does not lie inside" },
  { "program @m(%0: f32[5]) { %1: f32[2] = slice[start=(1), limit=(3), "
    "strides=(0)] %0 return %1 }",
    "1:3:0 does not lie inside" },
  { "program @m(%0: f32[5]) { %1: f32[2] = slice[start=(1,1), limit=(3), "
    "strides=(1)] %0 return %1 }",
    "want one item per axis" },
  { "program @m(%0: f32[5], %1: f32[]) { %2: f32[2] = pad[low=(-6), high=(0), "
    "interior=(0)] %0, %1 return %2 }",
    "pad: axis 0 of f32[5] by low -6, high 0, interior 0 has no valid size" },
  { "program @m(%0: f32[5], %1: f32[]) { %2: f32[2] = pad["
    "low=(-9223372036854775808), high=(9223372036854775807), interior=(0)] %0, "
    "%1 return %2 }",
    "has no valid size" },
  { "program @m(%0: f32[5], %1: f32[]) { %2: f32[2] = pad[low=(0), high=(0), "
    "interior=(9223372036854775807)] %0, %1 return %2 }",
    "has no valid size" },
  { "program @m(%0: f32[5], %1: f32[1]) { %2: f32[5] = pad[low=(0), high=(0), "
    "interior=(0)] %0, %1 return %2 }",
    "the value is f32[1], not a scalar" },
  { "program @m(%0: f32[5]) { %1: f32[5] = rev[axes=(0,0)] %0 return %1 }",
    "axes (0,0)" },
  { "program @m() { %0: key[2] = iota[type=key, shape=(2), axis=0] return %0 }",
    "integers or floats, not key" },
  { "program @m() { %0: f32[2] = iota[type=f32, shape=(2), axis=1] return %0 }",
    "axis 1 is not one of 1" },
};

static const cxi_prim rows[] = {
  CXI_PRIM_broadcast_in_dim,
  CXI_PRIM_reshape,
  CXI_PRIM_transpose,
  CXI_PRIM_squeeze,
  CXI_PRIM_rev,
  CXI_PRIM_concatenate,
  CXI_PRIM_split,
  CXI_PRIM_stack,
  CXI_PRIM_unstack,
  CXI_PRIM_slice,
  CXI_PRIM_pad,
  CXI_PRIM_iota,
};

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* Every dtype moves, by its size. */
static void test_dtypes(void **state) {
  (void)state;
  static const char *const names[] = { "bool", "i8",  "u8",  "i16", "u16",
                                       "i32",  "u32", "i64", "u64", "f16",
                                       "bf16", "f32", "f64", "key" };
  uint64_t seed = 1;
  for (int type = CX_BOOL; type <= CX_KEY; type++) {
    char text[512];
    const char *name = names[type - 1];
    snprintf(text, sizeof text,
             "program @m(%%0: %s[3,2]) { %%1: %s[2,3] = transpose["
             "permutation=(1,0)] %%0 %%2: %s[2,3] = rev[axes=(0,1)] %%1 "
             "%%3: %s[1,2] = slice[start=(1,0), limit=(2,3), strides=(1,2)] "
             "%%2 return %%3 }",
             name, name, name, name);
    cxi_view in =
        array_random((cx_aval){ (cx_dtype)type, { 2, { 3, 2 } } }, &seed);
    cxi_view out;
    run_text(text, &in, &out);
    /* x^T backwards: row 1 is column 0 from the end */
    const size_t bytes = cxi_dtype_bytes((cx_dtype)type);
    const char *x = in.data, *y = out.data;
    assert_memory_equal(y, x + 4 * bytes, bytes);
    assert_memory_equal(y + bytes, x, bytes);
    array_free(&in);
    array_free(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_dtypes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
