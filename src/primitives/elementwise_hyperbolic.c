/* elementwise_hyperbolic.c - rows of the hyperbolic functions and their
 * inverses. */
#include "primitives/families.h"
#include "primitives/kernels.h"

/* -- sinh: (exp(x) - exp(-x)) / 2 ------------------------------------------ */
static void jvp_sinh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_cosh, in[0]));
}
static const char *const examples_sinh[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = sinh %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = sinh %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = sinh %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = sinh %0 return %1 }", NULL
};
const cxi_row cxi_row_sinh = {
  .prim = CXI_PRIM_sinh,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "(exp(x) - exp(-x)) / 2",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_sinh,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_sinh,
};

/* -- cosh: (exp(x) + exp(-x)) / 2 ------------------------------------------ */
static void jvp_cosh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_sinh, in[0]));
}
static const char *const examples_cosh[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = cosh %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = cosh %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = cosh %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = cosh %0 return %1 }", NULL
};
const cxi_row cxi_row_cosh = {
  .prim = CXI_PRIM_cosh,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "(exp(x) + exp(-x)) / 2",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_cosh,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_cosh,
};

/* -- asinh: log(x + sqrt(x^2 + 1)) ----------------------------------------- */
static void jvp_asinh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r, (void)out;
  const cx square = cxi_unary(CXI_PRIM_square, in[0]);
  const cx slope = cxi_unary(CXI_PRIM_rsqrt, cxi_offset(square, 1));
  dout[0] = cxi_mul(dx[0], slope);
}
static const char *const examples_asinh[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = asinh %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = asinh %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = asinh %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = asinh %0 return %1 }", NULL
};
const cxi_row cxi_row_asinh = {
  .prim = CXI_PRIM_asinh,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log(x + sqrt(x^2 + 1))",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_asinh,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_asinh,
};

/* -- acosh: log(x + sqrt(x^2 - 1)) ----------------------------------------- */
static void jvp_acosh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r, (void)out;
  const cx square = cxi_mul(cxi_offset(in[0], -1), cxi_offset(in[0], 1));
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_rsqrt, square));
}
static const char *const examples_acosh[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = acosh %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = acosh %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = acosh %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = acosh %0 return %1 }", NULL
};
const cxi_row cxi_row_acosh = {
  .prim = CXI_PRIM_acosh,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log(x + sqrt(x^2 - 1))",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_acosh,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_acosh,
  .lo = 1.2,
  .hi = 4,
};

/* -- atanh: log((1 + x) / (1 - x)) / 2 ------------------------------------- */
static void jvp_atanh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r, (void)out;
  const cx one = cxi_number_like(in[0], 1);
  const cx square = cxi_mul(cxi_sub(one, in[0]), cxi_add(one, in[0]));
  dout[0] = cxi_div(dx[0], square);
}
static const char *const examples_atanh[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = atanh %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = atanh %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = atanh %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = atanh %0 return %1 }", NULL
};
const cxi_row cxi_row_atanh = {
  .prim = CXI_PRIM_atanh,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log((1 + x) / (1 - x)) / 2",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_atanh,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_atanh,
  .lo = -0.8,
  .hi = 0.8,
};
