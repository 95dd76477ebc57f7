/* compare.c - rows of comparisons: bool results without derivatives. */
#include "primitives/families.h"
#include "primitives/kernels.h"

/* -- eq: x == y ------------------------------------------------------------ */
static const char *const examples_eq[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: bool[2,3] = eq %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { %2: bool[4] = eq %0, %1 return %2 }",
  "program @f(%0: bf16[0], %1: bf16[]) { "
  "%2: bool[0] = eq %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: bool[3] = eq %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[]) { "
  "%2: bool[3] = eq %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_eq = {
  .prim = CXI_PRIM_eq,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x == y",
  .infer = cxi_infer_compare,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_eq,
};

/* -- ne: x != y ------------------------------------------------------------ */
static const char *const examples_ne[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: bool[2,3] = ne %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { %2: bool[4] = ne %0, %1 return %2 }",
  "program @f(%0: bf16[0], %1: bf16[]) { "
  "%2: bool[0] = ne %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: bool[3] = ne %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[]) { "
  "%2: bool[3] = ne %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_ne = {
  .prim = CXI_PRIM_ne,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x != y",
  .infer = cxi_infer_compare,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_ne,
};

/* -- lt: x < y ------------------------------------------------------------- */
static const char *const examples_lt[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: bool[2,3] = lt %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { %2: bool[4] = lt %0, %1 return %2 }",
  "program @f(%0: bf16[0], %1: bf16[]) { "
  "%2: bool[0] = lt %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: bool[3] = lt %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[]) { "
  "%2: bool[3] = lt %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_lt = {
  .prim = CXI_PRIM_lt,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x < y",
  .infer = cxi_infer_compare,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_lt,
};

/* -- le: x <= y ------------------------------------------------------------ */
static const char *const examples_le[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: bool[2,3] = le %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { %2: bool[4] = le %0, %1 return %2 }",
  "program @f(%0: bf16[0], %1: bf16[]) { "
  "%2: bool[0] = le %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: bool[3] = le %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[]) { "
  "%2: bool[3] = le %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_le = {
  .prim = CXI_PRIM_le,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x <= y",
  .infer = cxi_infer_compare,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_le,
};

/* -- gt: x > y ------------------------------------------------------------- */
static const char *const examples_gt[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: bool[2,3] = gt %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { %2: bool[4] = gt %0, %1 return %2 }",
  "program @f(%0: bf16[0], %1: bf16[]) { "
  "%2: bool[0] = gt %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: bool[3] = gt %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[]) { "
  "%2: bool[3] = gt %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_gt = {
  .prim = CXI_PRIM_gt,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x > y",
  .infer = cxi_infer_compare,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_gt,
};

/* -- ge: x >= y ------------------------------------------------------------ */
static const char *const examples_ge[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: bool[2,3] = ge %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { %2: bool[4] = ge %0, %1 return %2 }",
  "program @f(%0: bf16[0], %1: bf16[]) { "
  "%2: bool[0] = ge %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: bool[3] = ge %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[]) { "
  "%2: bool[3] = ge %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_ge = {
  .prim = CXI_PRIM_ge,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x >= y",
  .infer = cxi_infer_compare,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_ge,
};
