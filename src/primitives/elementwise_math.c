/* elementwise_math.c - rows of the elementary functions.
 *
 * Derivatives are written so that what depends on x alone is a factor of its
 * own: the tangent is multiplied once, and the factor is what reverse mode
 * keeps. */
#include "primitives/families.h"
#include "primitives/kernels.h"

static const double TWO_OVER_SQRT_PI = 1.1283791670955126;
static const double LN_2 = 0.69314718055994531;
static const double HALF_SQRT_PI = 0.88622692545275801;

static cx squared(cx x) {
  return cxi_unary(CXI_PRIM_square, x);
}

/* -- exp: exp(x) ----------------------------------------------------------- */
static void jvp_exp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)in;
  dout[0] = cxi_mul(dx[0], out[0]);
}
static const char *const examples_exp[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = exp %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = exp %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = exp %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = exp %0 return %1 }", NULL
};
const cxi_row cxi_row_exp = {
  .prim = CXI_PRIM_exp,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "exp(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_exp,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_exp,
};

/* -- expm1: exp(x) - 1 ----------------------------------------------------- */
static void jvp_expm1(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r, (void)out;
  /* Not y + 1, which is 0 where y rounds to -1. */
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_exp, in[0]));
}
static const char *const examples_expm1[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = expm1 %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = expm1 %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = expm1 %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = expm1 %0 return %1 }", NULL
};
const cxi_row cxi_row_expm1 = {
  .prim = CXI_PRIM_expm1,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "exp(x) - 1",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_expm1,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_expm1,
};

/* -- log: log(x) ----------------------------------------------------------- */
static void jvp_log(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_div(dx[0], in[0]);
}
static const char *const examples_log[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = log %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = log %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = log %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = log %0 return %1 }", NULL
};
const cxi_row cxi_row_log = {
  .prim = CXI_PRIM_log,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_log,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_log,
  .lo = 0.1,
  .hi = 4,
};

/* -- exp2: 2^x ------------------------------------------------------------- */
static void jvp_exp2(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)in;
  dout[0] = cxi_mul(dx[0], cxi_scale(out[0], LN_2));
}
static const char *const examples_exp2[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = exp2 %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = exp2 %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = exp2 %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = exp2 %0 return %1 }", NULL
};
const cxi_row cxi_row_exp2 = {
  .prim = CXI_PRIM_exp2,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "2^x",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_exp2,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_exp2,
};

/* -- log2: log(x) / log(2) ------------------------------------------------- */
static void jvp_log2(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_div(dx[0], cxi_scale(in[0], LN_2));
}
static const char *const examples_log2[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = log2 %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = log2 %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = log2 %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = log2 %0 return %1 }", NULL
};
const cxi_row cxi_row_log2 = {
  .prim = CXI_PRIM_log2,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log(x) / log(2)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_log2,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_log2,
  .lo = 0.1,
  .hi = 4,
};

/* -- log1p: log(1 + x) ----------------------------------------------------- */
static void jvp_log1p(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_div(dx[0], cxi_offset(in[0], 1));
}
static const char *const examples_log1p[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = log1p %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = log1p %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = log1p %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = log1p %0 return %1 }", NULL
};
const cxi_row cxi_row_log1p = {
  .prim = CXI_PRIM_log1p,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "log(1 + x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_log1p,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_log1p,
  .lo = -0.5,
  .hi = 4,
};

/* -- logistic: 1 / (1 + exp(-x)) ------------------------------------------- */
static void jvp_logistic(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                         cx *dout) {
  (void)r, (void)in;
  const cx one = cxi_number_like(out[0], 1);
  dout[0] = cxi_mul(dx[0], cxi_mul(out[0], cxi_sub(one, out[0])));
}
static const char *const examples_logistic[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = logistic %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = logistic %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = logistic %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = logistic %0 return %1 }", NULL
};
const cxi_row cxi_row_logistic = {
  .prim = CXI_PRIM_logistic,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "1 / (1 + exp(-x))",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_logistic,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_logistic,
};

/* -- sin: sin(x) ----------------------------------------------------------- */
static void jvp_sin(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_unary(CXI_PRIM_cos, in[0]));
}
static const char *const examples_sin[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = sin %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = sin %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = sin %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = sin %0 return %1 }", NULL
};
const cxi_row cxi_row_sin = {
  .prim = CXI_PRIM_sin,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "sin(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_sin,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_sin,
};

/* -- cos: cos(x) ----------------------------------------------------------- */
static void jvp_cos(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  dout[0] = cxi_mul(dx[0], cxi_neg(cxi_unary(CXI_PRIM_sin, in[0])));
}
static const char *const examples_cos[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = cos %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = cos %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = cos %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = cos %0 return %1 }", NULL
};
const cxi_row cxi_row_cos = {
  .prim = CXI_PRIM_cos,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "cos(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_cos,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_cos,
};

/* -- tanh: tanh(x) --------------------------------------------------------- */
static void jvp_tanh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)in;
  /* (1 - y) (1 + y): exact where y is near 1 or -1, 0 where it is there, as
   * are the derivatives of this. */
  const cx one = cxi_number_like(out[0], 1);
  dout[0] = cxi_mul(dx[0], cxi_mul(cxi_sub(one, out[0]), cxi_add(one, out[0])));
}
static const char *const examples_tanh[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = tanh %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = tanh %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = tanh %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = tanh %0 return %1 }", NULL
};
const cxi_row cxi_row_tanh = {
  .prim = CXI_PRIM_tanh,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "tanh(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_tanh,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_tanh,
};

/* -- erf: erf(x) ----------------------------------------------------------- */
static void jvp_erf(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  const cx bell = cxi_unary(CXI_PRIM_exp, cxi_neg(squared(in[0])));
  dout[0] = cxi_mul(dx[0], cxi_scale(bell, TWO_OVER_SQRT_PI));
}
static const char *const examples_erf[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = erf %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = erf %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = erf %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = erf %0 return %1 }", NULL
};
const cxi_row cxi_row_erf = {
  .prim = CXI_PRIM_erf,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "erf(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_erf,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_erf,
};

/* -- erfc: 1 - erf(x) ------------------------------------------------------ */
static void jvp_erfc(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)out;
  const cx density =
      cxi_unary(CXI_PRIM_exp, cxi_neg(squared(in[0])));
  dout[0] = cxi_mul(dx[0], cxi_scale(density, -TWO_OVER_SQRT_PI));
}
static const char *const examples_erfc[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = erfc %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = erfc %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = erfc %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = erfc %0 return %1 }", NULL
};
const cxi_row cxi_row_erfc = {
  .prim = CXI_PRIM_erfc,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "1 - erf(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_erfc,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_erfc,
};

/* -- erf_inv: the inverse of erf ------------------------------------------- */
static void jvp_erf_inv(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                        cx *dout) {
  (void)r, (void)in;
  const cx bell = cxi_unary(CXI_PRIM_exp, squared(out[0]));
  dout[0] = cxi_mul(dx[0], cxi_scale(bell, HALF_SQRT_PI));
}
static const char *const examples_erf_inv[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = erf_inv %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = erf_inv %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = erf_inv %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = erf_inv %0 return %1 }", NULL
};
const cxi_row cxi_row_erf_inv = {
  .prim = CXI_PRIM_erf_inv,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the inverse of erf",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_erf_inv,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_erf_inv,
  .lo = -0.9,
  .hi = 0.9,
};

/* -- cbrt: the real number whose cube is x --------------------------------- */
static void jvp_cbrt(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)in;
  const cx slope = cxi_scale(cxi_integer_pow(out[0], -2), 1.0 / 3.0);
  dout[0] = cxi_mul(dx[0], slope);
}
static const char *const examples_cbrt[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = cbrt %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = cbrt %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = cbrt %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = cbrt %0 return %1 }", NULL
};
const cxi_row cxi_row_cbrt = {
  .prim = CXI_PRIM_cbrt,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the real number whose cube is x",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_cbrt,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_cbrt,
  .lo = 0.1,
  .hi = 4,
};

/* -- sqrt: sqrt(x) --------------------------------------------------------- */
static void jvp_sqrt(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r, (void)in;
  dout[0] = cxi_mul(dx[0], cxi_div(cxi_number_like(out[0], 0.5), out[0]));
}
static const char *const examples_sqrt[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = sqrt %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = sqrt %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = sqrt %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = sqrt %0 return %1 }", NULL
};
const cxi_row cxi_row_sqrt = {
  .prim = CXI_PRIM_sqrt,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "sqrt(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_sqrt,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_sqrt,
  .lo = 0.1,
  .hi = 4,
};

/* -- rsqrt: 1 / sqrt(x) ---------------------------------------------------- */
static void jvp_rsqrt(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)r;
  dout[0] = cxi_mul(dx[0], cxi_scale(cxi_div(out[0], in[0]), -0.5));
}
static const char *const examples_rsqrt[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = rsqrt %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = rsqrt %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = rsqrt %0 return %1 }",
  "program @f(%0: f16[0,2]) { %1: f16[0,2] = rsqrt %0 return %1 }", NULL
};
const cxi_row cxi_row_rsqrt = {
  .prim = CXI_PRIM_rsqrt,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "1 / sqrt(x)",
  .infer = cxi_infer_unary_float,
  .jvp = jvp_rsqrt,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_rsqrt,
  .lo = 0.1,
  .hi = 4,
};
