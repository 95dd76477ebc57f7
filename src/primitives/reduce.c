/* reduce.c - reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and,
 * reduce_or, reduce_xor. */
#include "primitives/reduce.h"

#include "primitives/expand.h"
#include "primitives/moves.h"

/* -- shared rules: the axes go, the others keep their order ---------------- */

/* All reduce_* have this one parameter. */
typedef cxi_reduce_sum_params params;

static cx_dims kept_axes(const cx_dims *axes, int rank) {
  return cxi_axes_rest(rank, axes, NULL);
}

static bool infer_reduce(cxi_infer *c, unsigned accept) {
  const params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_kind(c, 0, accept) ||
      !cxi_infer_axes(c, "axes", &p->axes))
    return false;
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  const cx_dims kept = kept_axes(&p->axes, shape->n);
  return cxi_infer_moved(c, cxi_dims_pick(shape, &kept));
}

static bool infer_number(cxi_infer *c) {
  return infer_reduce(c, CXI_ACCEPT_NUMBER);
}

static bool infer_ordered(cxi_infer *c) {
  return infer_reduce(c, CXI_ACCEPT_ORDERED);
}

static bool infer_bits(cxi_infer *c) {
  return infer_reduce(c, CXI_ACCEPT_BITS);
}

static void batch_reduce(const cxi_rule *r, const cx *in, const int *axis,
                         int64_t size, cx *out, int *out_axis) {
  (void)size;
  const params *p = r->params;
  const cx_dims axes = cxi_axes_shift(p->axes, axis[0]);
  out[0] = cxi_reduce(r->row->prim, in[0], axes);
  out_axis[0] = axis[0] - cxi_axes_below(&axes, axis[0]);
}

/* A result of r, repeated along the reduced axes. */
static cx repeated(const cxi_rule *r, cx y) {
  const params *p = r->params;
  const cx_dims shape = *cxi_type_shape(r->in_types[0]);
  return cxi_broadcast_in_dim(y, shape, kept_axes(&p->axes, shape.n));
}

/* -- reduce_sum(x; axes) --------------------------------------------------- */

static void transpose_reduce_sum(const cxi_rule *r, const cx *in, const cx *ct,
                                 cx *acc) {
  (void)in;
  cxi_accumulate(r, 0, repeated(r, ct[0]), acc);
}

static const char *const examples_reduce_sum[] = {
  "program @main(%0: f32[2,3]) { %1: f32[2] = reduce_sum[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3]) { %1: f32[3] = reduce_sum[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[3] = reduce_sum[axes=(2,0)] %0 "
  "return %1 }",
  "program @main(%0: f32[150]) { %1: f32[] = reduce_sum[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[3] = reduce_sum[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[0] = reduce_sum[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3]) { %1: f32[2,3] = reduce_sum[axes=()] %0 "
  "return %1 }",
  "program @main(%0: bf16[2,70]) { %1: bf16[2] = reduce_sum[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: u8[3,2]) { %1: u8[2] = reduce_sum[axes=(0)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_sum = {
  .prim = CXI_PRIM_reduce_sum,
  .form = CXI_FORM_REDUCE,
  .formula = "sum of x over axes",
  .infer = infer_number,
  .jvp = cxi_jvp_move,
  .transpose = transpose_reduce_sum,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .examples = examples_reduce_sum,
};

/* -- reduce_prod(x; axes) -------------------------------------------------- */

static bool times(void *user, const cx *a, const cx *b, cx *out) {
  (void)user;
  out[0] = cxi_mul(a[0], b[0]);
  return true;
}

/* A tree of products, whose derivative never divides: right at zeros, and
 * again when it is differentiated. f16 and bf16 in f32, as the row itself. */
static void tree_of_products(const cxi_rule *r, const cx *in, cx *out) {
  const params *p = r->params;
  const cx_dtype type = cxi_type_dtype(r->in_types[0]);
  const bool half = type == CX_F16 || type == CX_BF16;
  const cx_dims kept = kept_axes(&p->axes, cxi_rank_at(in[0]));
  const cx_dims shape = cxi_shape_at(in[0]);
  cx_dims order = cxi_axes_rest(shape.n, &kept, NULL);
  int64_t n = 1;
  for (int i = 0; i < order.n; i++) n *= shape.d[order.d[i]];
  for (int i = 0; i < kept.n; i++) order.d[order.n++] = kept.d[i];
  const cx_dims result = cxi_dims_pick(&shape, &kept);
  if (n == 0) {
    out[0] = cxi_full(r->out_types[0], 1);
    return;
  }
  cx x = cxi_convert(in[0], half ? CX_F32 : type), y = x;
  x = cxi_transpose(x, order);
  const int64_t width = cxi_dims_count(&result);
  x = cxi_reshape(x, (cx_dims){ 2, { n, width } });
  if (!cxi_associative_fold(times, NULL, 1, &x, 0, &y)) return;
  out[0] = cxi_convert(cxi_reshape(y, result), type);
}

static void jvp_reduce_prod(const cxi_rule *r, const cx *in, const cx *dx,
                            cx *out, cx *dout) {
  (void)out;
  cxi_jvp_through(r, tree_of_products, in, dx, NULL, dout);
}

static const char *const examples_reduce_prod[] = {
  "program @main(%0: f32[2,3]) { %1: f32[2] = reduce_prod[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[3] = reduce_prod[axes=(2,0)] %0 "
  "return %1 }",
  "program @main(%0: f64[7]) { %1: f64[] = reduce_prod[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[3] = reduce_prod[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[0] = reduce_prod[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3]) { %1: f32[2,3] = reduce_prod[axes=()] %0 "
  "return %1 }",
  "program @main(%0: f16[2,5]) { %1: f16[2] = reduce_prod[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: bf16[70]) { %1: bf16[] = reduce_prod[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: u8[3,2]) { %1: u8[2] = reduce_prod[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: i64[4]) { %1: i64[] = reduce_prod[axes=(0)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_prod = {
  .prim = CXI_PRIM_reduce_prod,
  .form = CXI_FORM_REDUCE,
  .formula = "product of x over axes",
  .infer = infer_number,
  .jvp = jvp_reduce_prod,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .no_transpose = "not linear",
  .examples = examples_reduce_prod,
};

/* -- reduce_max, reduce_min: NaN if one is NaN; -0 is below +0 ------------- */

/* Ties share the derivative: the mean of the tangents where x is the result.
 * Over no elements the result is a constant. */
static void jvp_extremum(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                         cx *dout) {
  const params *p = r->params;
  const cxi_type type = r->in_types[0];
  if (cxi_dims_count(cxi_type_shape(type)) == 0) return;
  const cx here = cxi_compare(CXI_PRIM_eq, in[0], repeated(r, out[0]));
  const cx ties =
      cxi_reduce_sum(cxi_convert(here, cxi_type_dtype(type)), p->axes);
  const cx tangents = cxi_select(here, cxi_zeros(type), dx[0]);
  dout[0] = cxi_div(cxi_reduce_sum(tangents, p->axes), ties);
}

static const char *const examples_reduce_max[] = {
  "program @main(%0: f32[2,3]) { %1: f32[2] = reduce_max[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[3] = reduce_max[axes=(2,0)] %0 "
  "return %1 }",
  "program @main(%0: f32[3,0]) { %1: f32[0] = reduce_max[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[3] = reduce_max[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3]) { %1: f32[2,3] = reduce_max[axes=()] %0 "
  "return %1 }",
  "program @main(%0: f16[5]) { %1: f16[] = reduce_max[axes=(0)] %0 return %1 }",
  "program @main(%0: u8[3,0]) { %1: u8[3] = reduce_max[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: bool[3,2]) { %1: bool[3] = reduce_max[axes=(1)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_max = {
  .prim = CXI_PRIM_reduce_max,
  .form = CXI_FORM_REDUCE,
  .formula = "greatest of x over axes",
  .infer = infer_ordered,
  .jvp = jvp_extremum,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .no_transpose = "not linear",
  .examples = examples_reduce_max,
};

static const char *const examples_reduce_min[] = {
  "program @main(%0: f32[2,3]) { %1: f32[3] = reduce_min[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[2] = reduce_min[axes=(1,2)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[3] = reduce_min[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: bf16[5]) { %1: bf16[] = reduce_min[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: i64[3,0]) { %1: i64[3] = reduce_min[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: bool[3,2]) { %1: bool[2] = reduce_min[axes=(0)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_min = {
  .prim = CXI_PRIM_reduce_min,
  .form = CXI_FORM_REDUCE,
  .formula = "least of x over axes",
  .infer = infer_ordered,
  .jvp = jvp_extremum,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .no_transpose = "not linear",
  .examples = examples_reduce_min,
};

/* -- reduce_and, reduce_or, reduce_xor: of bools, or of the bits of integers  */

static const char *const examples_reduce_and[] = {
  "program @main(%0: bool[2,3]) { %1: bool[2] = reduce_and[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: bool[0,3]) { %1: bool[3] = reduce_and[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: i8[2,3]) { %1: i8[] = reduce_and[axes=(0,1)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_and = {
  .prim = CXI_PRIM_reduce_and,
  .form = CXI_FORM_REDUCE,
  .formula = "and of x over axes",
  .infer = infer_bits,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .no_jvp = "not differentiable: no floating operand",
  .no_transpose = "not linear",
  .examples = examples_reduce_and,
};

static const char *const examples_reduce_or[] = {
  "program @main(%0: bool[2,3]) { %1: bool[3] = reduce_or[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: bool[2,0]) { %1: bool[2] = reduce_or[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: u32[2,3]) { %1: u32[2] = reduce_or[axes=(1)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_or = {
  .prim = CXI_PRIM_reduce_or,
  .form = CXI_FORM_REDUCE,
  .formula = "or of x over axes",
  .infer = infer_bits,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .no_jvp = "not differentiable: no floating operand",
  .no_transpose = "not linear",
  .examples = examples_reduce_or,
};

static const char *const examples_reduce_xor[] = {
  "program @main(%0: bool[2,3]) { %1: bool[3] = reduce_xor[axes=(0)] %0 "
  "return %1 }",
  "program @main(%0: bool[2,0]) { %1: bool[2] = reduce_xor[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: u32[2,3]) { %1: u32[2] = reduce_xor[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: i8[3,2]) { %1: i8[2] = reduce_xor[axes=(0)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_xor = {
  .prim = CXI_PRIM_reduce_xor,
  .form = CXI_FORM_REDUCE,
  .formula = "exclusive or of x over axes",
  .infer = infer_bits,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce,
  .workspace = cxi_reduce_workspace,
  .no_jvp = "not differentiable: no floating operand",
  .no_transpose = "not linear",
  .examples = examples_reduce_xor,
};
