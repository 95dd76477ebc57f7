/* elementwise_unary.c - rows of exact functions of one number. */
#include <inttypes.h>

#include "ops/axes.h"
#include "primitives/families.h"
#include "primitives/kernels.h"

/* -- neg: -x --------------------------------------------------------------- */
static void transpose_neg(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  (void)in;
  if (!cx_is_none(ct[0])) cxi_accumulate(r, 0, cxi_neg(ct[0]), acc);
}
static const char *const examples_neg[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = neg %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = neg %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = neg %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = neg %0 return %1 }",
  "program @f(%0: i32[3]) { %1: i32[3] = neg %0 return %1 }",
  "program @f(%0: u8[2,2]) { %1: u8[2,2] = neg %0 return %1 }",
  NULL
};
const cxi_row cxi_row_neg = {
  .prim = CXI_PRIM_neg,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "-x",
  .infer = cxi_infer_unary_number,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_neg,
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_neg,
};

/* -- abs: |x| -------------------------------------------------------------- */
static void jvp_abs(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_sign, in[0]));
}
static const char *const examples_abs[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = abs %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = abs %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = abs %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = abs %0 return %1 }",
  "program @f(%0: i64[3]) { %1: i64[3] = abs %0 return %1 }",
  NULL
};
const cxi_row cxi_row_abs = {
  .prim = CXI_PRIM_abs,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "|x|",
  .infer = cxi_infer_unary_signed,
  .jvp = jvp_abs,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_abs,
};

/* -- sign: x / |x|, x for zeros and NaN ------------------------------------ */
static const char *const examples_sign[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = sign %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = sign %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = sign %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = sign %0 return %1 }",
  "program @f(%0: i8[3]) { %1: i8[3] = sign %0 return %1 }",
  "program @f(%0: u32[2]) { %1: u32[2] = sign %0 return %1 }",
  NULL
};
const cxi_row cxi_row_sign = {
  .prim = CXI_PRIM_sign,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x / |x|, x for zeros and NaN",
  .infer = cxi_infer_unary_number,
  .jvp = cxi_jvp_none,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_sign,
};

/* -- floor: the largest integer <= x --------------------------------------- */
static const char *const examples_floor[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = floor %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = floor %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = floor %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = floor %0 return %1 }", NULL
};
const cxi_row cxi_row_floor = {
  .prim = CXI_PRIM_floor,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the largest integer <= x",
  .infer = cxi_infer_unary_float,
  .jvp = cxi_jvp_none,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_floor,
};

/* -- ceil: the smallest integer >= x --------------------------------------- */
static const char *const examples_ceil[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = ceil %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = ceil %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = ceil %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = ceil %0 return %1 }", NULL
};
const cxi_row cxi_row_ceil = {
  .prim = CXI_PRIM_ceil,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the smallest integer >= x",
  .infer = cxi_infer_unary_float,
  .jvp = cxi_jvp_none,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_ceil,
};

/* -- round: the nearest integer, ties to even or away from 0 --------------- */
static const char *const examples_round[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = round[away=false] %0 return %1 }",
  "program @f(%0: f64[4]) { %1: f64[4] = round[away=true] %0 return %1 }",
  "program @f(%0: f16[]) { %1: f16[] = round[away=true] %0 return %1 }",
  "program @f(%0: bf16[0]) { %1: bf16[0] = round[away=false] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_round = {
  .prim = CXI_PRIM_round,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the nearest integer, ties to even or away from 0",
  .infer = cxi_infer_unary_float,
  .jvp = cxi_jvp_none,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_round,
};

/* -- square: x x ----------------------------------------------------------- */
static void jvp_square(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_scale(in[0], 2));
}
static const char *const examples_square[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = square %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = square %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = square %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = square %0 return %1 }",
  "program @f(%0: i32[3]) { %1: i32[3] = square %0 return %1 }",
  "program @f(%0: u8[2]) { %1: u8[2] = square %0 return %1 }",
  NULL
};
const cxi_row cxi_row_square = {
  .prim = CXI_PRIM_square,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x x",
  .infer = cxi_infer_unary_number,
  .jvp = jvp_square,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_square,
};

/* -- integer_pow: x^y, y an integer constant ------------------------------- */
static bool infer_integer_pow(cxi_infer *c) {
  const cxi_integer_pow_params *p = c->params;
  if (!cxi_infer_unary_number(c)) return false;
  if (p->y >= 0 || cxi_type_is_float(c->in[0])) return true;
  return cxi_infer_fail(c, CX_EDTYPE,
                        "an integer has no power %" PRId64 ", got %s", p->y,
                        cxi_show_type(c->in[0]).s);
}
static void jvp_integer_pow(const cxi_rule *r, const cx *in, const cx *dx,
                            cx *out, cx *dout) {
  (void)out;
  const int64_t y = ((const cxi_integer_pow_params *)r->params)->y;
  if (y == 0) return;
  const cx power = cxi_integer_pow(in[0], y - 1);
  dout[0] = y == 1 ? dx[0] : cxi_mul(dx[0], cxi_scale(power, (double)y));
}
static const char *const examples_integer_pow[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = integer_pow[y=3] %0 return %1 }",
  "program @f(%0: f64[4]) { %1: f64[4] = integer_pow[y=-2] %0 return %1 }",
  "program @f(%0: f32[]) { %1: f32[] = integer_pow[y=0] %0 return %1 }",
  "program @f(%0: f16[3]) { %1: f16[3] = integer_pow[y=2] %0 return %1 }",
  "program @f(%0: bf16[0]) { %1: bf16[0] = integer_pow[y=1] %0 return %1 }",
  "program @f(%0: i32[3]) { %1: i32[3] = integer_pow[y=5] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_integer_pow = {
  .prim = CXI_PRIM_integer_pow,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x^y, y an integer constant",
  .infer = infer_integer_pow,
  .jvp = jvp_integer_pow,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_integer_pow,
  .lo = 0.3,
  .hi = 2,
};

/* -- is_finite: neither infinite nor NaN ----------------------------------- */
static bool infer_is_finite(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_FLOAT, CX_BOOL);
}
static const char *const examples_is_finite[] = {
  "program @f(%0: f32[2,3]) { %1: bool[2,3] = is_finite %0 return %1 }",
  "program @f(%0: f64[]) { %1: bool[] = is_finite %0 return %1 }",
  "program @f(%0: f16[3]) { %1: bool[3] = is_finite %0 return %1 }",
  "program @f(%0: bf16[0]) { %1: bool[0] = is_finite %0 return %1 }", NULL
};
const cxi_row cxi_row_is_finite = {
  .prim = CXI_PRIM_is_finite,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "neither infinite nor NaN",
  .infer = infer_is_finite,
  .jvp = cxi_jvp_none,
  .no_transpose = "bool result",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .examples = examples_is_finite,
};

/* -- not: each bit flipped ------------------------------------------------- */
static bool infer_not(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_BITS, 0);
}
static const char *const examples_not[] = {
  "program @f(%0: bool[2,3]) { %1: bool[2,3] = not %0 return %1 }",
  "program @f(%0: i32[]) { %1: i32[] = not %0 return %1 }",
  "program @f(%0: u8[4]) { %1: u8[4] = not %0 return %1 }",
  "program @f(%0: i64[0]) { %1: i64[0] = not %0 return %1 }", NULL
};
const cxi_row cxi_row_not = {
  .prim = CXI_PRIM_not,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "each bit flipped",
  .infer = infer_not,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_not,
};
