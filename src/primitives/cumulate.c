/* cumulate.c - cumsum, cumprod, cummax, cummin, cumlogsumexp. */
#include "primitives/cumulate.h"

#include <math.h>

#include "primitives/expand.h"
#include "primitives/moves.h"

/* -- shared rules ---------------------------------------------------------- */

/* All cum* have these parameters. */
typedef cxi_cumsum_params params;

static bool infer_cumulate(cxi_infer *c, unsigned accept) {
  const params *p = c->params;
  return cxi_infer_count(c, 1) && cxi_infer_kind(c, 0, accept) &&
         cxi_infer_axis(c, p->axis, cxi_type_rank(c->in[0])) &&
         cxi_infer_result(c, c->in[0]);
}

static bool infer_number(cxi_infer *c) {
  return infer_cumulate(c, CXI_ACCEPT_NUMBER);
}

static bool infer_float(cxi_infer *c) {
  return infer_cumulate(c, CXI_ACCEPT_FLOAT);
}

static void batch_cumulate(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, cx *out, int *out_axis) {
  (void)size;
  const params *p = r->params;
  out[0] = cxi_cumulate(r->row->prim, in[0],
                        cxi_axis_shift((int)p->axis, axis[0]), p->reverse);
  out_axis[0] = axis[0];
}

/* log(e^a + e^b), with a derivative that is finite where a and b are -inf. */
static cx log_add_exp(cx a, cx b) {
  const cxi_type type = cxi_type_at(a);
  const cx zeros = cxi_zeros(type);
  const cx top = cxi_max(a, b);
  const cx finite = cxi_unary(CXI_PRIM_is_finite, top);
  const cx m = cxi_stop_gradient(cxi_select(finite, zeros, top));
  const cx sum = cxi_add(cxi_unary(CXI_PRIM_exp, cxi_sub(a, m)),
                         cxi_unary(CXI_PRIM_exp, cxi_sub(b, m)));
  const cx none = cxi_compare(CXI_PRIM_eq, sum, zeros);
  const cx some = cxi_select(none, sum, cxi_full(type, 1));
  const cx log = cxi_add(cxi_unary(CXI_PRIM_log, some), m);
  return cxi_select(none, log, cxi_full(type, -INFINITY));
}

static bool join(void *user, const cx *a, const cx *b, cx *out) {
  switch (*(const cxi_prim *)user) {
  case CXI_PRIM_cumprod:
    out[0] = cxi_mul(a[0], b[0]);
    return true;
  case CXI_PRIM_cummax:
    out[0] = cxi_max(a[0], b[0]);
    return true;
  case CXI_PRIM_cummin:
    out[0] = cxi_min(a[0], b[0]);
    return true;
  default:
    out[0] = log_add_exp(a[0], b[0]);
    return true;
  }
}

/* A tree of the operation itself, whose derivative is taken instead: it does
 * not divide by elements that may be 0, and ties go as they do for max. f16
 * and bf16 in f32, as the row itself. */
static void tree_of_prefixes(const cxi_rule *r, const cx *in, cx *out) {
  const params *p = r->params;
  cxi_prim prim = r->row->prim;
  const cx_dtype type = cxi_type_dtype(r->in_types[0]);
  const bool half = type == CX_F16 || type == CX_BF16;
  const cx x = cxi_convert(in[0], half ? CX_F32 : type);
  if (cxi_associative_scan(join, &prim, 1, &x, (int)p->axis, p->reverse, out))
    out[0] = cxi_convert(out[0], type);
}

static void jvp_by_tree(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                        cx *dout) {
  (void)out;
  cxi_jvp_through(r, tree_of_prefixes, in, dx, NULL, dout);
}

/* -- cumsum: linear -------------------------------------------------------- */

static void transpose_cumsum(const cxi_rule *r, const cx *in, const cx *ct,
                             cx *acc) {
  (void)in;
  const params *p = r->params;
  cxi_accumulate(
      r, 0, cxi_cumulate(CXI_PRIM_cumsum, ct[0], (int)p->axis, !p->reverse),
      acc);
}

static const char *const examples_cumsum[] = {
  "program @main(%0: f32[5]) { %1: f32[5] = cumsum[axis=0, reverse=false] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[2,3,4] = cumsum[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: f64[3,300]) { %1: f64[3,300] = cumsum[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f16[4,3]) { %1: f16[4,3] = cumsum[axis=1, reverse=true] "
  "%0 return %1 }",
  "program @main(%0: bf16[6]) { %1: bf16[6] = cumsum[axis=0, reverse=false] "
  "%0 return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[0,3] = cumsum[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: i8[2,5]) { %1: i8[2,5] = cumsum[axis=1, reverse=false] "
  "%0 return %1 }",
  "program @main(%0: u64[5]) { %1: u64[5] = cumsum[axis=0, reverse=true] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_cumsum = {
  .prim = CXI_PRIM_cumsum,
  .form = CXI_FORM_REDUCE,
  .formula = "y[i] = x[0] + .. + x[i]",
  .infer = infer_number,
  .jvp = cxi_jvp_move,
  .transpose = transpose_cumsum,
  .batch = batch_cumulate,
  .evaluate = cxi_evaluate_cumulate,
  .examples = examples_cumsum,
};

/* -- cumprod --------------------------------------------------------------- */

static const char *const examples_cumprod[] = {
  "program @main(%0: f32[5]) { %1: f32[5] = cumprod[axis=0, reverse=false] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[2,3,4] = cumprod[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: f64[1,2]) { %1: f64[1,2] = cumprod[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f16[4,3]) { %1: f16[4,3] = cumprod[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: f32[3,0]) { %1: f32[3,0] = cumprod[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f32[3,0]) { %1: f32[3,0] = cumprod[axis=1, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: u16[2,5]) { %1: u16[2,5] = cumprod[axis=1, "
  "reverse=false] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_cumprod = {
  .prim = CXI_PRIM_cumprod,
  .form = CXI_FORM_REDUCE,
  .formula = "y[i] = x[0] .. x[i]",
  .infer = infer_number,
  .jvp = jvp_by_tree,
  .batch = batch_cumulate,
  .evaluate = cxi_evaluate_cumulate,
  .no_transpose = "not linear",
  .examples = examples_cumprod,
};

/* -- cummax, cummin: NaN from the first one on ----------------------------- */

static const char *const examples_cummax[] = {
  "program @main(%0: f32[5]) { %1: f32[5] = cummax[axis=0, reverse=false] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[2,3,4] = cummax[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: bf16[4,3]) { %1: bf16[4,3] = cummax[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: i32[2,5]) { %1: i32[2,5] = cummax[axis=1, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f64[2,0]) { %1: f64[2,0] = cummax[axis=1, "
  "reverse=false] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_cummax = {
  .prim = CXI_PRIM_cummax,
  .form = CXI_FORM_REDUCE,
  .formula = "y[i] = greatest of x[0], .., x[i]",
  .infer = infer_number,
  .jvp = jvp_by_tree,
  .batch = batch_cumulate,
  .evaluate = cxi_evaluate_cumulate,
  .no_transpose = "not linear",
  .examples = examples_cummax,
};

static const char *const examples_cummin[] = {
  "program @main(%0: f32[5]) { %1: f32[5] = cummin[axis=0, reverse=true] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[2,3,4] = cummin[axis=2, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f16[4,3]) { %1: f16[4,3] = cummin[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: u32[2,5]) { %1: u32[2,5] = cummin[axis=1, "
  "reverse=false] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_cummin = {
  .prim = CXI_PRIM_cummin,
  .form = CXI_FORM_REDUCE,
  .formula = "y[i] = least of x[0], .., x[i]",
  .infer = infer_number,
  .jvp = jvp_by_tree,
  .batch = batch_cumulate,
  .evaluate = cxi_evaluate_cumulate,
  .no_transpose = "not linear",
  .examples = examples_cummin,
};

/* -- cumlogsumexp ---------------------------------------------------------- */

static const char *const examples_cumlogsumexp[] = {
  "program @main(%0: f32[5]) { %1: f32[5] = cumlogsumexp[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[2,3,4] = cumlogsumexp[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: bf16[4,3]) { %1: bf16[4,3] = cumlogsumexp[axis=1, "
  "reverse=true] %0 return %1 }",
  "program @main(%0: f16[3]) { %1: f16[3] = cumlogsumexp[axis=0, "
  "reverse=false] %0 return %1 }",
  "program @main(%0: f64[2,0]) { %1: f64[2,0] = cumlogsumexp[axis=0, "
  "reverse=false] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_cumlogsumexp = {
  .prim = CXI_PRIM_cumlogsumexp,
  .form = CXI_FORM_REDUCE,
  .formula = "y[i] = log(e^x[0] + .. + e^x[i])",
  .infer = infer_float,
  .jvp = jvp_by_tree,
  .batch = batch_cumulate,
  .evaluate = cxi_evaluate_cumulate,
  .no_transpose = "not linear",
  .examples = examples_cumlogsumexp,
};
