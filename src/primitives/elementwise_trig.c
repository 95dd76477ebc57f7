/* elementwise_trig.c - rows of the tangent and the inverse trigonometric
 * functions. */
#include "primitives/families.h"
#include "primitives/kernels.h"

static cx squared(cx x) {
  return cxi_unary(CXI_PRIM_square, x);
}
/* 1 / sqrt(1 - x^2) */
static cx inverse_cosine(cx x) {
  return cxi_unary(CXI_PRIM_rsqrt, cxi_sub(cxi_number_like(x, 1), squared(x)));
}

/* -- tan: tan(x) ----------------------------------------------------------- */
static void jvp_tan(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)in;
  const cx slope = cxi_offset(squared(out[0]), 1);
  dout[0] = cxi_mul(dx[0], slope);
}
static const char *const examples_tan[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = tan %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = tan %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = tan %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = tan %0 return %1 }", NULL
};
const cxi_row cxi_row_tan = {
  .prim = CXI_PRIM_tan,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "tan(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_tan,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_tan,
  .lo = -1.4,
  .hi = 1.4,
};

/* -- asin: the angle in [-pi/2, pi/2] whose sine is x ---------------------- */
static void jvp_asin(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], inverse_cosine(in[0]));
}
static const char *const examples_asin[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = asin %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = asin %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = asin %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = asin %0 return %1 }", NULL
};
const cxi_row cxi_row_asin = {
  .prim = CXI_PRIM_asin,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the angle in [-pi/2, pi/2] whose sine is x",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_asin,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_asin,
  .lo = -0.9,
  .hi = 0.9,
};

/* -- acos: the angle in [0, pi] whose cosine is x -------------------------- */
static void jvp_acos(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_neg(inverse_cosine(in[0])));
}
static const char *const examples_acos[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = acos %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = acos %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = acos %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = acos %0 return %1 }", NULL
};
const cxi_row cxi_row_acos = {
  .prim = CXI_PRIM_acos,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the angle in [0, pi] whose cosine is x",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_acos,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_acos,
  .lo = -0.9,
  .hi = 0.9,
};

/* -- atan: the angle in [-pi/2, pi/2] whose tangent is x ------------------- */
static void jvp_atan(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_div(dx[0], cxi_offset(squared(in[0]), 1));
}
static const char *const examples_atan[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = atan %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = atan %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = atan %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = atan %0 return %1 }", NULL
};
const cxi_row cxi_row_atan = {
  .prim = CXI_PRIM_atan,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the angle in [-pi/2, pi/2] whose tangent is x",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_atan,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_atan,
};

/* -- atan2: the angle of the point (y, x) ---------------------------------- */
static void jvp_atan2(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r, (void)out;
  cx term[2] = { cx_none(), cx_none() };
  const cx square = cxi_add(squared(in[0]), squared(in[1]));
  if (!cx_is_none(dx[0])) term[0] = cxi_mul(dx[0], cxi_div(in[1], square));
  if (!cx_is_none(dx[1]))
    term[1] = cxi_mul(dx[1], cxi_neg(cxi_div(in[0], square)));
  dout[0] = cxi_sum_given(term[0], term[1]);
}
static const char *const examples_atan2[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = atan2 %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { "
  "%2: f32[4] = atan2 %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { "
  "%2: f64[3] = atan2 %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = atan2 %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = atan2 %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_atan2 = {
  .prim = CXI_PRIM_atan2,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the angle of the point (y, x)",
  .infer = cxi_infer_binary_float,
  .jvp = jvp_atan2,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_atan2,
  .lo = 0.3,
  .hi = 2.5,
};
