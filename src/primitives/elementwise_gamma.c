/* elementwise_gamma.c - rows of the gamma function and its kin. */
#include <math.h>

#include "ops/ops.h"
#include "primitives/families.h"
#include "primitives/kernels.h"

static cx no_slope(const char *name, const char *operand) {
  return cxi_fail(CX_ENORULE,
                  "%s: no derivative with respect to %s; stop_gradient it",
                  name, operand);
}

/* d igamma(a, x): along x the density x^(a - 1) e^-x / Gamma(a), which at 0 is
 * 1 for a = 1 and at infinity 0. */
static cx incomplete_slope(const cx *in, const cx *dx) {
  cx term[2] = { cx_none(), cx_none() };
  if (!cx_is_none(dx[0])) {
    const cx slope = cxi_binary(CXI_PRIM_igamma_grad_a, in[0], in[1]);
    term[0] = cxi_mul(dx[0], slope);
  }
  if (!cx_is_none(dx[1])) {
    const cx power =
        cxi_special_binary(CX_OP_XLOGY, cxi_offset(in[0], -1), in[1]);
    const cx norm = cxi_unary(CXI_PRIM_lgamma, in[0]);
    const cx exponent = cxi_sub(cxi_sub(power, in[1]), norm);
    const cx density = cxi_unary(CXI_PRIM_exp, exponent);
    const cx end = cxi_compare(CXI_PRIM_eq, in[1],
                               cxi_number_like(in[1], (double)INFINITY));
    const cx zero = cxi_zeros(cxi_type_at(density));
    const cx ends = cxi_broadcast_to(end, cxi_shape_at(density));
    term[1] = cxi_mul(dx[1], cxi_select(ends, density, zero));
  }
  return cxi_sum_given(term[0], term[1]);
}

/* -- lgamma: log |Gamma(x)| ------------------------------------------------ */
static void jvp_lgamma(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_digamma, in[0]));
}
static const char *const examples_lgamma[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = lgamma %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = lgamma %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = lgamma %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = lgamma %0 return %1 }", NULL
};
const cxi_row cxi_row_lgamma = {
  .prim = CXI_PRIM_lgamma,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log |Gamma(x)|",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_lgamma,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_lgamma,
  .lo = 0.3,
  .hi = 4,
};

/* -- digamma: d lgamma(x) / dx --------------------------------------------- */
static void jvp_digamma(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                        cx *dout) {
  (void)r, (void)out;
  const cx slope =
      cxi_binary(CXI_PRIM_polygamma, cxi_number_like(in[0], 1), in[0]);
  dout[0] = cxi_mul(dx[0], slope);
}
static const char *const examples_digamma[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = digamma %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = digamma %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = digamma %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = digamma %0 return %1 }", NULL
};
const cxi_row cxi_row_digamma = {
  .prim = CXI_PRIM_digamma,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "d lgamma(x) / dx",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_digamma,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_digamma,
  .lo = 0.3,
  .hi = 4,
};

/* -- polygamma: the n-th derivative of digamma at x; n, x ------------------ */
static void jvp_polygamma(const cxi_rule *r, const cx *in, const cx *dx,
                          cx *out, cx *dout) {
  (void)r, (void)out;
  if (!cx_is_none(dx[0])) {
    dout[0] = no_slope("polygamma", "the order n");
    return;
  }
  const cx order = cxi_offset(in[0], 1);
  const cx slope = cxi_binary(CXI_PRIM_polygamma, order, in[1]);
  dout[0] = cxi_mul(dx[1], slope);
}
static const char *const examples_polygamma[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: f32[2,3] = polygamma 1:f32, %0 return %1 }",
  "program @f(%0: f64[]) { "
  "%1: f64[] = polygamma 1:f64, %0 return %1 }",
  "program @f(%0: bf16[5]) { "
  "%1: bf16[5] = polygamma 1:bf16, %0 return %1 }",
  "program @f(%0: f16[0,2]) { "
  "%1: f16[0,2] = polygamma 1:f16, %0 return %1 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = polygamma %0, %1 return %2 }",
  "program @f(%0: f16[], %1: f16[0,2]) { "
  "%2: f16[0,2] = polygamma %0, %1 return %2 }",
  "program @f(%0: f16[3], %1: f16[]) { "
  "%2: f16[3] = polygamma %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_polygamma = {
  .prim = CXI_PRIM_polygamma,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the n-th derivative of digamma at x; n, x",
  .infer = cxi_infer_binary_float,
  .jvp = jvp_polygamma,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_polygamma,
  .lo = 0.6,
  .hi = 4,
};

/* -- zeta: the sum of (q + k)^-s, k = 0, 1, ...; s, q ---------------------- */
static void jvp_zeta(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  if (!cx_is_none(dx[0])) {
    dout[0] = no_slope("zeta", "the exponent s");
    return;
  }
  const cx next = cxi_binary(CXI_PRIM_zeta, cxi_offset(in[0], 1), in[1]);
  dout[0] = cxi_mul(dx[1], cxi_mul(cxi_neg(in[0]), next));
}
static const char *const examples_zeta[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: f32[2,3] = zeta 2.5:f32, %0 return %1 }",
  "program @f(%0: f64[]) { "
  "%1: f64[] = zeta 2.5:f64, %0 return %1 }",
  "program @f(%0: bf16[5]) { "
  "%1: bf16[5] = zeta 2.5:bf16, %0 return %1 }",
  "program @f(%0: f16[0,2]) { "
  "%1: f16[0,2] = zeta 2.5:f16, %0 return %1 }",
  "program @f(%0: f32[3]) { "
  "%1: f32[3] = iota[type=f32, shape=(3), axis=0] "
  "%2: f32[3] = add %1, 1.5:f32 "
  "%3: f32[3] = zeta %2, %0 return %3 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = zeta %0, %1 return %2 }",
  "program @f(%0: f16[], %1: f16[0,2]) { "
  "%2: f16[0,2] = zeta %0, %1 return %2 }",
  "program @f(%0: f16[3], %1: f16[]) { "
  "%2: f16[3] = zeta %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_zeta = {
  .prim = CXI_PRIM_zeta,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the sum of (q + k)^-s, k = 0, 1, ...; s, q",
  .infer = cxi_infer_binary_float,
  .jvp = jvp_zeta,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_zeta,
  .lo = 1.3,
  .hi = 4,
};

/* -- igamma: the regularized lower incomplete gamma function; a, x --------- */
static void jvp_igamma(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  (void)r, (void)out;
  dout[0] = incomplete_slope(in, dx);
}
static const char *const examples_igamma[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: f32[2,3] = igamma 1.5:f32, %0 return %1 }",
  "program @f(%0: f64[]) { "
  "%1: f64[] = igamma 1.5:f64, %0 return %1 }",
  "program @f(%0: bf16[5]) { "
  "%1: bf16[5] = igamma 1.5:bf16, %0 return %1 }",
  "program @f(%0: f16[0,2]) { "
  "%1: f16[0,2] = igamma 1.5:f16, %0 return %1 }",
  "program @f(%0: f32[3]) { "
  "%1: f32[3] = iota[type=f32, shape=(3), axis=0] "
  "%2: f32[3] = add %1, 1.5:f32 "
  "%3: f32[3] = igamma %2, %0 return %3 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = igamma %0, %1 return %2 }",
  "program @f(%0: f16[], %1: f16[0,2]) { "
  "%2: f16[0,2] = igamma %0, %1 return %2 }",
  "program @f(%0: f16[3], %1: f16[]) { "
  "%2: f16[3] = igamma %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_igamma = {
  .prim = CXI_PRIM_igamma,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the regularized lower incomplete gamma function; a, x",
  .infer = cxi_infer_binary_float,
  .jvp = jvp_igamma,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_igamma,
  .lo = 0.3,
  .hi = 4,
};

/* -- igammac: the regularized upper incomplete gamma function; a, x -------- */
static void jvp_igammac(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                        cx *dout) {
  (void)r, (void)out;
  const cx slope = incomplete_slope(in, dx);
  dout[0] = cxi_neg(slope);
}
static const char *const examples_igammac[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: f32[2,3] = igammac 1.5:f32, %0 return %1 }",
  "program @f(%0: f64[]) { "
  "%1: f64[] = igammac 1.5:f64, %0 return %1 }",
  "program @f(%0: bf16[5]) { "
  "%1: bf16[5] = igammac 1.5:bf16, %0 return %1 }",
  "program @f(%0: f16[0,2]) { "
  "%1: f16[0,2] = igammac 1.5:f16, %0 return %1 }",
  "program @f(%0: f32[3]) { "
  "%1: f32[3] = iota[type=f32, shape=(3), axis=0] "
  "%2: f32[3] = add %1, 1.5:f32 "
  "%3: f32[3] = igammac %2, %0 return %3 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = igammac %0, %1 return %2 }",
  "program @f(%0: f16[], %1: f16[0,2]) { "
  "%2: f16[0,2] = igammac %0, %1 return %2 }",
  "program @f(%0: f16[3], %1: f16[]) { "
  "%2: f16[3] = igammac %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_igammac = {
  .prim = CXI_PRIM_igammac,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the regularized upper incomplete gamma function; a, x",
  .infer = cxi_infer_binary_float,
  .jvp = jvp_igammac,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_igammac,
  .lo = 0.3,
  .hi = 4,
};

/* -- igamma_grad_a: d igamma(a, x) / da ------------------------------------ */
static const char *const examples_igamma_grad_a[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = igamma_grad_a %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { "
  "%2: f32[4] = igamma_grad_a %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { "
  "%2: f64[3] = igamma_grad_a %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = igamma_grad_a %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = igamma_grad_a %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_igamma_grad_a = {
  .prim = CXI_PRIM_igamma_grad_a,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "d igamma(a, x) / da",
  .infer = cxi_infer_binary_float,
  .no_jvp = "a second derivative with respect to a is not there",
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_igamma_grad_a,
  .lo = 0.3,
  .hi = 4,
};

/* -- random_gamma_grad: dx / da of a gamma variate x: a, x ----------------- */
static const char *const examples_random_gamma_grad[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = random_gamma_grad %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { "
  "%2: f32[4] = random_gamma_grad %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { "
  "%2: f64[3] = random_gamma_grad %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = random_gamma_grad %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = random_gamma_grad %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_random_gamma_grad = {
  .prim = CXI_PRIM_random_gamma_grad,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "dx / da of a gamma variate x: a, x",
  .infer = cxi_infer_binary_float,
  .no_jvp = "a second derivative with respect to a is not there",
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_random_gamma_grad,
  .lo = 0.3,
  .hi = 4,
};
