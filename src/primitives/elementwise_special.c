/* elementwise_special.c - rows of Bessel functions and of the incomplete beta
 * function. */
#include "ops/ops.h"
#include "primitives/families.h"
#include "primitives/kernels.h"

/* The distance from 1 to the next number. */
static double epsilon(cx_dtype type) {
  return type == CX_F64   ? 0x1p-52
         : type == CX_F32 ? 0x1p-23
         : type == CX_F16 ? 0x1p-10
                          : 0x1p-7;
}

/* -- bessel_i0e: exp(-|x|) I0(x) ------------------------------------------- */
static void jvp_bessel_i0e(const cxi_rule *r, const cx *in, const cx *dx,
                           cx *out, cx *dout) {
  (void)r;
  const cx sign = cxi_unary(CXI_PRIM_sign, in[0]);
  const cx other = cxi_unary(CXI_PRIM_bessel_i1e, in[0]);
  dout[0] = cxi_mul(dx[0], cxi_sub(other, cxi_mul(sign, out[0])));
}
static const char *const examples_bessel_i0e[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = bessel_i0e %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = bessel_i0e %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = bessel_i0e %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = bessel_i0e %0 return %1 }", NULL
};
const cxi_row cxi_row_bessel_i0e = {
  .prim = CXI_PRIM_bessel_i0e,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "exp(-|x|) I0(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_bessel_i0e,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_bessel_i0e,
};

/* -- bessel_i1e: exp(-|x|) I1(x) ------------------------------------------- */
/* I1' = I0 - I1 / x; at 0 the slope is 1/2. */
static void jvp_bessel_i1e(const cxi_rule *r, const cx *in, const cx *dx,
                           cx *out, cx *dout) {
  (void)r;
  const cx eps = cxi_number_like(in[0], epsilon(cxi_dtype_at(in[0])));
  const cx size = cxi_unary(CXI_PRIM_abs, in[0]);
  const cx tiny = cxi_compare(CXI_PRIM_le, size, eps);
  const cx x = cxi_select(tiny, in[0], cxi_full(cxi_type_at(in[0]), 1));
  const cx falls =
      cxi_add(cxi_unary(CXI_PRIM_sign, x), cxi_div(cxi_number_like(x, 1), x));
  const cx slope =
      cxi_sub(cxi_unary(CXI_PRIM_bessel_i0e, x), cxi_mul(out[0], falls));
  const cx half = cxi_full(cxi_type_at(in[0]), 0.5);
  dout[0] = cxi_mul(dx[0], cxi_select(tiny, slope, half));
}
static const char *const examples_bessel_i1e[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = bessel_i1e %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = bessel_i1e %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = bessel_i1e %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = bessel_i1e %0 return %1 }", NULL
};
const cxi_row cxi_row_bessel_i1e = {
  .prim = CXI_PRIM_bessel_i1e,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "exp(-|x|) I1(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_bessel_i1e,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_bessel_i1e,
};

/* -- regularized_incomplete_beta: I_x(a, b); a, b, x ----------------------- */
static bool infer_beta(cxi_infer *c) {
  return cxi_infer_elementwise(c, 3, CXI_ACCEPT_FLOAT, 0);
}
/* x^(a - 1) (1 - x)^(b - 1) / B(a, b) */
static void jvp_regularized_incomplete_beta(const cxi_rule *r, const cx *in,
                                            const cx *dx, cx *out, cx *dout) {
  (void)r, (void)out;
  if (!cx_is_none(dx[0]) || !cx_is_none(dx[1])) {
    dout[0] =
        cxi_fail(CX_ENORULE, "regularized_incomplete_beta: no derivative with "
                             "respect to a and b; stop_gradient them");
    return;
  }
  const cx one = cxi_number_like(in[2], 1);
  const cx norm = cxi_sub(cxi_unary(CXI_PRIM_lgamma, cxi_add(in[0], in[1])),
                          cxi_add(cxi_unary(CXI_PRIM_lgamma, in[0]),
                                  cxi_unary(CXI_PRIM_lgamma, in[1])));
  const cx left = cxi_special_binary(CX_OP_XLOGY, cxi_sub(in[0], one), in[2]);
  const cx right =
      cxi_special_binary(CX_OP_XLOG1PY, cxi_sub(in[1], one), cxi_neg(in[2]));
  const cx exponent = cxi_add(cxi_add(left, right), norm);
  dout[0] = cxi_mul(dx[2], cxi_unary(CXI_PRIM_exp, exponent));
}
static const char *const examples_regularized_incomplete_beta[] = {
  "program @f(%0: f32[3]) { "
  "%1: f32[3] = iota[type=f32, shape=(3), axis=0] "
  "%2: f32[3] = add %1, 1.5:f32 "
  "%3: f32[3] = regularized_incomplete_beta %2, 0.5:f32, %0 return %3 }",
  "program @f(%0: bf16[2], %1: bf16[2], %2: bf16[2]) { "
  "%3: bf16[2] = regularized_incomplete_beta %0, %1, %2 return %3 }",
  "program @f(%0: f16[], %1: f16[], %2: f16[4]) { "
  "%3: f16[4] = regularized_incomplete_beta %0, %1, %2 return %3 }",
  "program @f(%0: f16[0,2], %1: f16[], %2: f16[]) { "
  "%3: f16[0,2] = regularized_incomplete_beta %0, %1, %2 return %3 }",
  NULL
};
const cxi_row cxi_row_regularized_incomplete_beta = {
  .prim = CXI_PRIM_regularized_incomplete_beta,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "I_x(a, b); a, b, x",
  .infer = infer_beta,
  .jvp = jvp_regularized_incomplete_beta,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_regularized_incomplete_beta,
  .lo = 0.1,
  .hi = 0.9,
};
