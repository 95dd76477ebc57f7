/* elementwise_binary.c - rows of arithmetic of two numbers and of bits. */
#include "primitives/convert.h"
#include "primitives/families.h"
#include "primitives/kernels.h"

/* -- add: x + y ------------------------------------------------------------ */
static void jvp_add(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)in, (void)out;
  dout[0] = cxi_fit(r, cxi_sum_given(dx[0], dx[1]));
}
static void transpose_add(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  for (uint32_t i = 0; i < 2; i++)
    if (cx_is_none(in[i])) cxi_accumulate(r, i, ct[0], acc);
}
static const char *const examples_add[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = add %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = add %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = add %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = add %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = add %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = add %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = add %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_add = {
  .prim = CXI_PRIM_add,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x + y",
  .infer = cxi_infer_binary_number,
  .jvp = jvp_add,
  .transpose = transpose_add,
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_add,
};

/* -- sub: x - y ------------------------------------------------------------ */
static void jvp_sub(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)in, (void)out;
  cx dz = dx[0];
  if (cx_is_none(dz))
    dz = cxi_neg(dx[1]);
  else if (!cx_is_none(dx[1]))
    dz = cxi_sub(dz, dx[1]);
  dout[0] = cxi_fit(r, dz);
}
static void transpose_sub(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  if (cx_is_none(ct[0])) return;
  if (cx_is_none(in[0])) cxi_accumulate(r, 0, ct[0], acc);
  if (cx_is_none(in[1])) cxi_accumulate(r, 1, cxi_neg(ct[0]), acc);
}
static const char *const examples_sub[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = sub %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = sub %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = sub %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = sub %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = sub %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = sub %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = sub %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_sub = {
  .prim = CXI_PRIM_sub,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x - y",
  .infer = cxi_infer_binary_number,
  .jvp = jvp_sub,
  .transpose = transpose_sub,
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_sub,
};

/* -- mul: x y -------------------------------------------------------------- */
static void transpose_mul(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  if (cx_is_none(ct[0])) return;
  const uint32_t i = cx_is_none(in[0]) ? 0 : 1;
  cxi_accumulate(r, i, cxi_mul(ct[0], in[1 - i]), acc);
}
static const char *const examples_mul[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = mul %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = mul %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = mul %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = mul %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = mul %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = mul %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = mul %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_mul = {
  .prim = CXI_PRIM_mul,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x y",
  .infer = cxi_infer_binary_number,
  .jvp = cxi_jvp_bilinear,
  .transpose = transpose_mul,
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_mul,
};

/* No divisor is zero. */
static cx valid_divisor(const cxi_rule *r, const cx *in) {
  (void)r;
  const cx good =
      cxi_compare(CXI_PRIM_ne, in[1], cxi_number_like(in[1], 0));
  return cxi_reduce(CXI_PRIM_reduce_and, good,
                    cxi_dims_range(0, cxi_rank_at(good)));
}

/* -- div: x / y; integers truncate, x / 0 is -1 ---------------------------- */
static void jvp_div(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r;
  cx term[2] = { cx_none(), cx_none() };
  if (!cx_is_none(dx[0])) term[0] = cxi_div(dx[0], in[1]);
  if (!cx_is_none(dx[1]))
    term[1] = cxi_mul(dx[1], cxi_neg(cxi_div(out[0], in[1])));
  dout[0] = cxi_sum_given(term[0], term[1]);
}
static void transpose_div(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  if (cx_is_none(ct[0])) return;
  cxi_accumulate(r, 0, cxi_div(ct[0], in[1]), acc);
}
static const char *const examples_div[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = div %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = div %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = div %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = div %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = div %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = div %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = div %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_div = {
  .prim = CXI_PRIM_div,
  .valid = valid_divisor,
  .invalid = "division by zero",
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x / y; integers truncate, x / 0 is -1",
  .infer = cxi_infer_binary_number,
  .jvp = jvp_div,
  .transpose = transpose_div,
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_div,
  .lo = 0.5,
  .hi = 3,
};

/* -- rem: x - y trunc(x / y) ----------------------------------------------- */
/* trunc(x / y): the quotient towards zero. */
static cx whole_quotient(cx x, cx y) {
  const cx q = cxi_div(x, y);
  const cx size = cxi_unary(CXI_PRIM_floor, cxi_unary(CXI_PRIM_abs, q));
  return cxi_mul(cxi_unary(CXI_PRIM_sign, q), size);
}
static void jvp_rem(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)out;
  cx term = cx_none();
  if (!cx_is_none(dx[1]))
    term = cxi_mul(dx[1], cxi_neg(whole_quotient(in[0], in[1])));
  dout[0] = cxi_fit(r, cxi_sum_given(dx[0], term));
}
static const char *const examples_rem[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = rem %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = rem %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = rem %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = rem %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = rem %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = rem %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = rem %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_rem = {
  .prim = CXI_PRIM_rem,
  .valid = valid_divisor,
  .invalid = "division by zero",
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x - y trunc(x / y)",
  .infer = cxi_infer_binary_number,
  .jvp = jvp_rem,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_rem,
  .lo = 0.5,
  .hi = 3,
};

/* -- pow: x^y; y may be an integer array ----------------------------------- */
static bool infer_pow(cxi_infer *c) {
  cx_dims shape;
  if (!cxi_infer_count(c, 2) || !cxi_infer_kind(c, 0, CXI_ACCEPT_FLOAT) ||
      !cxi_infer_kind(c, 1, CXI_ACCEPT_NUMBER))
    return false;
  if (cxi_type_is_float(c->in[1]) && !cxi_infer_one_dtype(c, 0, 2))
    return false;
  return cxi_infer_shape(c, &shape) &&
         cxi_infer_result(c, cxi_type_with_shape(c->in[0], shape));
}

/* A number known while differentiating that is not 0. */
static bool is_nonzero_literal(cx y) {
  cxi_info info;
  cxi_emitter *now = cxi_emitter_now();
  return now->info(now, y, &info) && info.literal &&
         cxi_element_get(cxi_type_dtype(info.type), &info.bits) != 0;
}

/* d/dx: y x^(y - 1), and 0 where y is 0: there x^0 is the constant 1 also at
 * x = 0, where the formula would be 0 times infinity. With a floating exponent
 * only that point is taken out, so that the derivative of this with respect to
 * y stays 1 / x elsewhere. */
static cx slope_in_base(cx x, cx y) {
  cx at_zero = cx_none();
  if (!is_nonzero_literal(y))
    at_zero = cxi_compare(CXI_PRIM_eq, y, cxi_number_like(y, 0));
  if (!cx_is_none(at_zero) && cxi_type_is_float(cxi_type_at(y)))
    at_zero = cxi_binary(CXI_PRIM_and, at_zero,
                         cxi_compare(CXI_PRIM_eq, x, cxi_number_like(x, 0)));
  const cx base =
      cx_is_none(at_zero) ? x : cxi_select(at_zero, x, cxi_number_like(x, 1));
  const cx one_less = cxi_sub(y, cxi_number_like(y, 1));
  return cxi_mul(cxi_convert(y, cxi_dtype_at(x)),
                 cxi_binary(CXI_PRIM_pow, base, one_less));
}

/* d/dy: log(x) x^y, with log(1) at x = 0. */
static cx slope_in_exponent(cx x, cx z) {
  const cx zero = cxi_number_like(x, 0), one = cxi_number_like(x, 1);
  const cx positive = cxi_select(cxi_compare(CXI_PRIM_eq, x, zero), x, one);
  return cxi_mul(cxi_unary(CXI_PRIM_log, positive), z);
}

static void jvp_pow(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r;
  cx term[2] = { cx_none(), cx_none() };
  if (!cx_is_none(dx[0])) term[0] = cxi_mul(dx[0], slope_in_base(in[0], in[1]));
  if (!cx_is_none(dx[1]))
    term[1] = cxi_mul(dx[1], slope_in_exponent(in[0], out[0]));
  dout[0] = cxi_sum_given(term[0], term[1]);
}

/* An integer exponent is converted to the base's dtype first. */
static cx_aval converted_exponent(const cxi_view *in) {
  return (cx_aval){ in[0].type.type, in[1].type.shape };
}
static int64_t workspace_pow(const cxi_eval *eval, const cxi_view *in,
                             const cxi_view *out) {
  (void)eval, (void)out;
  const cx_aval exponent = converted_exponent(in);
  return in[1].type.type == exponent.type ? 0 : cxi_aval_bytes(&exponent);
}
static bool evaluate_pow(cxi_eval *eval, const cxi_view *in, cxi_view *out) {
  const cx_aval exponent = converted_exponent(in);
  if (in[1].type.type == exponent.type)
    return cxi_evaluate_elementwise(eval, in, out);
  const cxi_view converted[2] = { in[0],
                                  cxi_view_dense(exponent, eval->workspace) };
  cxi_convert_view(&in[1], &converted[1]);
  return cxi_evaluate_elementwise(eval, converted, out);
}
static const char *const examples_pow[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = pow %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = pow %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = pow %0, %1 return %2 }",
  "program @f(%0: f32[3], %1: i32[3]) { %2: f32[3] = pow %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: u8[]) { %2: bf16[2] = pow %0, %1 return %2 }",
  "program @f(%0: f16[0], %1: f16[]) { %2: f16[0] = pow %0, %1 return %2 }",
  "program @f(%0: f32[3]) { %1: f32[3] = pow %0, 2.5:f32 return %1 }",
  NULL
};
const cxi_row cxi_row_pow = {
  .prim = CXI_PRIM_pow,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x^y; y may be an integer array",
  .infer = infer_pow,
  .jvp = jvp_pow,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_pow,
  .workspace = workspace_pow,
  .in_place = 1,
  .examples = examples_pow,
  .lo = 0.3,
  .hi = 2.5,
};

/* The weight of x: 1 where it is the one taken, one half at a tie, 0 where the
 * other is taken or one is NaN. */
static cx share(cxi_prim wins, cx x, cx y) {
  const cx zero = cxi_number_like(x, 0), half = cxi_number_like(x, 0.5);
  const cx tie = cxi_select(cxi_compare(CXI_PRIM_eq, x, y), zero, half);
  return cxi_select(cxi_compare(wins, x, y), tie, cxi_number_like(x, 1));
}
static void jvp_extremum(cxi_prim wins, const cx *in, const cx *dx, cx *dout) {
  cx term[2] = { cx_none(), cx_none() };
  for (int i = 0; i < 2; i++)
    if (!cx_is_none(dx[i]))
      term[i] = cxi_mul(dx[i], share(wins, in[i], in[1 - i]));
  dout[0] = cxi_sum_given(term[0], term[1]);
}

/* -- max: the larger; NaN if one is; -0 < 0 -------------------------------- */
static void jvp_max(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  jvp_extremum(CXI_PRIM_gt, in, dx, dout);
}
static const char *const examples_max[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = max %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = max %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = max %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = max %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = max %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = max %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = max %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[3]) { "
  "%2: bool[3] = max %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_max = {
  .prim = CXI_PRIM_max,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the larger; NaN if one is; -0 < 0",
  .infer = cxi_infer_binary_ordered,
  .jvp = jvp_max,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_max,
};

/* -- min: the smaller; NaN if one is; -0 < 0 ------------------------------- */
static void jvp_min(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)r, (void)out;
  jvp_extremum(CXI_PRIM_lt, in, dx, dout);
}
static const char *const examples_min[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = min %0, %1 return %2 }",
  "program @f(%0: f32[], %1: f32[4]) { %2: f32[4] = min %0, %1 return %2 }",
  "program @f(%0: f64[3], %1: f64[]) { %2: f64[3] = min %0, %1 return %2 }",
  "program @f(%0: bf16[2], %1: bf16[2]) { "
  "%2: bf16[2] = min %0, %1 return %2 }",
  "program @f(%0: f16[0,2], %1: f16[]) { "
  "%2: f16[0,2] = min %0, %1 return %2 }",
  "program @f(%0: i32[3], %1: i32[3]) { %2: i32[3] = min %0, %1 return %2 }",
  "program @f(%0: u8[2], %1: u8[]) { %2: u8[2] = min %0, %1 return %2 }",
  "program @f(%0: bool[3], %1: bool[3]) { "
  "%2: bool[3] = min %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_min = {
  .prim = CXI_PRIM_min,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the smaller; NaN if one is; -0 < 0",
  .infer = cxi_infer_binary_ordered,
  .jvp = jvp_min,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_min,
};
