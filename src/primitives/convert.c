/* convert.c - rows that change the dtype, and rows that change nothing. */
#include "ops/axes.h"
#include "primitives/convert.h"
#include "primitives/families.h"

static bool infer_target(cxi_infer *c, cx_dtype type) {
  if (cxi_dtype_valid(type) && type != CX_KEY) return true;
  return cxi_infer_fail(c, CX_EDTYPE, "to %s is not possible",
                        cxi_dtype_name(type));
}

/* -- convert: x as another dtype ------------------------------------------- */
static bool infer_convert(cxi_infer *c) {
  const cxi_convert_params *p = c->params;
  return cxi_infer_count(c, 1) && cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED) &&
         infer_target(c, p->type) &&
         cxi_infer_result(c, cxi_type_with_dtype(c->in[0], p->type));
}
static void jvp_convert(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                        cx *dout) {
  (void)in, (void)out;
  const cxi_convert_params *p = r->params;
  if (cxi_dtype_is_float(p->type)) dout[0] = cxi_convert(dx[0], p->type);
}
static void transpose_convert(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  (void)in;
  if (cx_is_none(ct[0])) return;
  cxi_accumulate(r, 0, cxi_convert(ct[0], cxi_type_dtype(r->in_types[0])), acc);
}

static bool evaluate_convert(cxi_eval *eval, const cxi_view *in,
                             cxi_view *out) {
  (void)eval;
  cxi_convert_view(&in[0], &out[0]);
  return true;
}
static const char *const examples_convert[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: f64[2,3] = convert[type=f64] %0 return %1 }",
  "program @f(%0: f64[2,3]) { "
  "%1: f32[2,3] = convert[type=f32] %0 return %1 }",
  "program @f(%0: f32[2,3]) { "
  "%1: bf16[2,3] = convert[type=bf16] %0 return %1 }",
  "program @f(%0: f16[2,3]) { "
  "%1: f32[2,3] = convert[type=f32] %0 return %1 }",
  "program @f(%0: f32[2,3]) { "
  "%1: i32[2,3] = convert[type=i32] %0 return %1 }",
  "program @f(%0: i32[2,3]) { "
  "%1: f32[2,3] = convert[type=f32] %0 return %1 }",
  "program @f(%0: bool[2,3]) { "
  "%1: f32[2,3] = convert[type=f32] %0 return %1 }",
  "program @f(%0: f32[2,3]) { "
  "%1: bool[2,3] = convert[type=bool] %0 return %1 }",
  "program @f(%0: i64[2,3]) { %1: u8[2,3] = convert[type=u8] %0 return %1 }",
  "program @f(%0: u64[2,3]) { "
  "%1: f16[2,3] = convert[type=f16] %0 return %1 }",
  "program @f(%0: bf16[]) { %1: f16[] = convert[type=f16] %0 return %1 }",
  "program @f(%0: f32[0]) { %1: f64[0] = convert[type=f64] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_convert = {
  .prim = CXI_PRIM_convert,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x as another dtype",
  .infer = infer_convert,
  .jvp = jvp_convert,
  .transpose = transpose_convert,
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_convert,
  .examples = examples_convert,
};

/* -- bitcast: the bits of x as another dtype ------------------------------- */
/* A narrower dtype adds a last axis of the parts, low bytes first; a wider one
 * takes the last axis away. */
static bool infer_bitcast(cxi_infer *c) {
  const cxi_bitcast_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !infer_target(c, p->type)) return false;
  const cx_dtype is = cxi_type_dtype(c->in[0]);
  if (is == p->type) return cxi_infer_result(c, c->in[0]);
  if (!cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER)) return false;
  if (p->type == CX_BOOL)
    return cxi_infer_fail(c, CX_EDTYPE, "to bool is not possible");
  const int64_t from = (int64_t)cxi_dtype_bytes(is);
  const int64_t to = (int64_t)cxi_dtype_bytes(p->type);
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (from > to) {
    shape = cxi_dims_insert(shape, shape.n, from / to);
  } else if (from < to) {
    if (shape.n == 0 || shape.d[shape.n - 1] != to / from)
      return cxi_infer_fail(
          c, CX_ESHAPE, "to %s needs a last axis of %d, got %s",
          cxi_dtype_name(p->type), (int)(to / from), cxi_show_type(c->in[0]).s);
    shape = cxi_dims_without(shape, shape.n - 1);
  }
  return cxi_infer_result(c, cxi_type_make(p->type, shape));
}

/* The last axis is not the batch's. */
static void batch_bitcast(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_bitcast_params *p = r->params;
  out[0] = cxi_bitcast(cxi_move_axis(in[0], axis[0], 0), p->type);
  out_axis[0] = 0;
}

static bool evaluate_bitcast(cxi_eval *eval, const cxi_view *in,
                             cxi_view *out) {
  (void)eval;
  const cxi_view same = cxi_view_dense(in[0].type, out[0].data);
  cxi_view_copy(&same, &in[0]);
  return true;
}
static const char *const examples_bitcast[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: i32[2,3] = bitcast[type=i32] %0 return %1 }",
  "program @f(%0: u64[3]) { %1: u32[3,2] = bitcast[type=u32] %0 return %1 }",
  "program @f(%0: u8[3,4]) { %1: f32[3] = bitcast[type=f32] %0 return %1 }",
  "program @f(%0: bf16[]) { %1: i16[] = bitcast[type=i16] %0 return %1 }",
  "program @f(%0: f64[0]) { %1: i64[0] = bitcast[type=i64] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_bitcast = {
  .prim = CXI_PRIM_bitcast,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the bits of x as another dtype",
  .infer = infer_bitcast,
  .jvp = cxi_jvp_none,
  .no_transpose = "bits have no cotangent",
  .batch = batch_bitcast,
  .evaluate = evaluate_bitcast,
  .examples = examples_bitcast,
};

/* -- copy: x --------------------------------------------------------------- */
static bool evaluate_same(cxi_eval *eval, const cxi_view *in, cxi_view *out) {
  (void)eval;
  if (out[0].data != in[0].data) cxi_view_copy(&out[0], &in[0]);
  return true;
}

static const char *const examples_copy[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = copy %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = copy %0 return %1 }",
  "program @f(%0: bf16[0,2]) { %1: bf16[0,2] = copy %0 return %1 }",
  "program @f(%0: f16[2]) { %1: f16[2] = copy %0 return %1 }",
  "program @f(%0: i32[4]) { %1: i32[4] = copy %0 return %1 }",
  "program @f(%0: bool[3]) { %1: bool[3] = copy %0 return %1 }",
  "program @f(%0: key[2]) { %1: key[2] = copy %0 return %1 }",
  NULL
};
const cxi_row cxi_row_copy = {
  .prim = CXI_PRIM_copy,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x",
  .infer = cxi_infer_identity,
  .jvp = cxi_jvp_pass,
  .transpose = cxi_transpose_pass,
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_same,
  .in_place = 1,
  .examples = examples_copy,
};

/* -- stop_gradient: x, as a constant --------------------------------------- */
static const char *const examples_stop_gradient[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = stop_gradient %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = stop_gradient %0 return %1 }",
  "program @f(%0: bf16[0,2]) { %1: bf16[0,2] = stop_gradient %0 return %1 }",
  "program @f(%0: f16[2]) { %1: f16[2] = stop_gradient %0 return %1 }",
  "program @f(%0: i32[4]) { %1: i32[4] = stop_gradient %0 return %1 }",
  "program @f(%0: bool[3]) { %1: bool[3] = stop_gradient %0 return %1 }",
  "program @f(%0: key[2]) { %1: key[2] = stop_gradient %0 return %1 }",
  NULL
};
/* Among linear values only where a derivative rule stops one: nothing goes
 * back. */
static void transpose_nothing(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  (void)r, (void)in, (void)ct, (void)acc;
}

const cxi_row cxi_row_stop_gradient = {
  .prim = CXI_PRIM_stop_gradient,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x, as a constant",
  .infer = cxi_infer_identity,
  .jvp = cxi_jvp_none,
  .transpose = transpose_nothing,
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_same,
  .in_place = 1,
  .examples = examples_stop_gradient,
};

/* -- name: x, with a name for policies ------------------------------------- */
static const char *const examples_name[] = {
  "program @f(%0: f32[2,3]) { "
  "%1: f32[2,3] = name[name=\"activation\"] %0 return %1 }",
  "program @f(%0: f64[]) { "
  "%1: f64[] = name[name=\"activation\"] %0 return %1 }",
  "program @f(%0: bf16[0,2]) { "
  "%1: bf16[0,2] = name[name=\"activation\"] %0 return %1 }",
  "program @f(%0: f16[2]) { "
  "%1: f16[2] = name[name=\"activation\"] %0 return %1 }",
  "program @f(%0: i32[4]) { "
  "%1: i32[4] = name[name=\"activation\"] %0 return %1 }",
  "program @f(%0: bool[3]) { "
  "%1: bool[3] = name[name=\"activation\"] %0 return %1 }",
  "program @f(%0: key[2]) { "
  "%1: key[2] = name[name=\"activation\"] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_name = {
  .prim = CXI_PRIM_name,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x, with a name for policies",
  .infer = cxi_infer_identity,
  .jvp = cxi_jvp_pass,
  .transpose = cxi_transpose_pass,
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_same,
  .in_place = 1,
  .examples = examples_name,
};
