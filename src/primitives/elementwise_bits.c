/* elementwise_bits.c - rows of operations on the bits of bools and integers. */
#include "primitives/families.h"
#include "primitives/kernels.h"

/* -- and: x & y ------------------------------------------------------------ */
static const char *const examples_and[] = {
  "program @f(%0: bool[2,3], %1: bool[2,3]) { "
  "%2: bool[2,3] = and %0, %1 return %2 }",
  "program @f(%0: i32[], %1: i32[4]) { %2: i32[4] = and %0, %1 return %2 }",
  "program @f(%0: u8[3], %1: u8[]) { %2: u8[3] = and %0, %1 return %2 }",
  "program @f(%0: u64[0], %1: u64[0]) { %2: u64[0] = and %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_and = {
  .prim = CXI_PRIM_and,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x & y",
  .infer = cxi_infer_binary_bits,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_and,
};

/* -- or: x | y ------------------------------------------------------------- */
static const char *const examples_or[] = {
  "program @f(%0: bool[2,3], %1: bool[2,3]) { "
  "%2: bool[2,3] = or %0, %1 return %2 }",
  "program @f(%0: i32[], %1: i32[4]) { %2: i32[4] = or %0, %1 return %2 }",
  "program @f(%0: u8[3], %1: u8[]) { %2: u8[3] = or %0, %1 return %2 }",
  "program @f(%0: u64[0], %1: u64[0]) { %2: u64[0] = or %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_or = {
  .prim = CXI_PRIM_or,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x | y",
  .infer = cxi_infer_binary_bits,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_or,
};

/* -- xor: x ^ y ------------------------------------------------------------ */
static const char *const examples_xor[] = {
  "program @f(%0: bool[2,3], %1: bool[2,3]) { "
  "%2: bool[2,3] = xor %0, %1 return %2 }",
  "program @f(%0: i32[], %1: i32[4]) { %2: i32[4] = xor %0, %1 return %2 }",
  "program @f(%0: u8[3], %1: u8[]) { %2: u8[3] = xor %0, %1 return %2 }",
  "program @f(%0: u64[0], %1: u64[0]) { %2: u64[0] = xor %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_xor = {
  .prim = CXI_PRIM_xor,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x ^ y",
  .infer = cxi_infer_binary_bits,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_xor,
};

/* -- shift_left: x << y; 0 if y is not below the width --------------------- */
static const char *const examples_shift_left[] = {
  "program @f(%0: i32[2,3], %1: i32[2,3]) { "
  "%2: i32[2,3] = shift_left %0, %1 return %2 }",
  "program @f(%0: u32[], %1: u32[4]) { "
  "%2: u32[4] = shift_left %0, %1 return %2 }",
  "program @f(%0: i8[3], %1: i8[]) { "
  "%2: i8[3] = shift_left %0, %1 return %2 }",
  "program @f(%0: u64[0], %1: u64[0]) { "
  "%2: u64[0] = shift_left %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_shift_left = {
  .prim = CXI_PRIM_shift_left,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x << y; 0 if y is not below the width",
  .infer = cxi_infer_binary_integer,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_shift_left,
};

/* -- shift_right_logical: x >> y, filled with 0 ---------------------------- */
static const char *const examples_shift_right_logical[] = {
  "program @f(%0: i32[2,3], %1: i32[2,3]) { "
  "%2: i32[2,3] = shift_right_logical %0, %1 return %2 }",
  "program @f(%0: u32[], %1: u32[4]) { "
  "%2: u32[4] = shift_right_logical %0, %1 return %2 }",
  "program @f(%0: i8[3], %1: i8[]) { "
  "%2: i8[3] = shift_right_logical %0, %1 return %2 }",
  "program @f(%0: u64[0], %1: u64[0]) { "
  "%2: u64[0] = shift_right_logical %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_shift_right_logical = {
  .prim = CXI_PRIM_shift_right_logical,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x >> y, filled with 0",
  .infer = cxi_infer_binary_integer,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_shift_right_logical,
};

/* -- shift_right_arithmetic: x >> y, filled with the sign ------------------ */
static const char *const examples_shift_right_arithmetic[] = {
  "program @f(%0: i32[2,3], %1: i32[2,3]) { "
  "%2: i32[2,3] = shift_right_arithmetic %0, %1 return %2 }",
  "program @f(%0: u32[], %1: u32[4]) { "
  "%2: u32[4] = shift_right_arithmetic %0, %1 return %2 }",
  "program @f(%0: i8[3], %1: i8[]) { "
  "%2: i8[3] = shift_right_arithmetic %0, %1 return %2 }",
  "program @f(%0: u64[0], %1: u64[0]) { "
  "%2: u64[0] = shift_right_arithmetic %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_shift_right_arithmetic = {
  .prim = CXI_PRIM_shift_right_arithmetic,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x >> y, filled with the sign",
  .infer = cxi_infer_binary_integer,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_shift_right_arithmetic,
};
