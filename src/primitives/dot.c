/* dot.c - dot_general. */
#include "primitives/dot.h"

#include <inttypes.h>

#include "primitives/moves.h"

typedef cxi_dot_general_params params;

/* -- dot_general(a, b [, addend]): sums of products over the contracted axes;
 *    result axes: batch, free of a, free of b ------------------------------ */

static cx_dims free_axes(int rank, const cx_dims *contract,
                         const cx_dims *batch) {
  return cxi_axes_rest(rank, contract, batch);
}

/* -- infer ----------------------------------------------------------------- */

static bool infer_side(cxi_infer *c, uint32_t side, const cx_dims *contract,
                       const cx_dims *batch) {
  const int rank = cxi_type_rank(c->in[side]);
  bool valid = cxi_axes_valid(contract, rank) && cxi_axes_valid(batch, rank);
  for (int i = 0; valid && i < batch->n; i++)
    valid = !cxi_dims_has(contract, batch->d[i]);
  if (valid) return true;
  return cxi_infer_fail(c, CX_ESHAPE,
                        "contracted axes %s and batch axes %s are not "
                        "distinct axes of %s",
                        cxi_show_list(contract).s, cxi_show_list(batch).s,
                        cxi_show_type(c->in[side]).s);
}

/* Pairs of axes have one size. */
static bool infer_pairs(cxi_infer *c, const char *what, const cx_dims *lhs,
                        const cx_dims *rhs) {
  if (lhs->n != rhs->n)
    return cxi_infer_fail(c, CX_ESHAPE, "%s axes %s and %s: want as many", what,
                          cxi_show_list(lhs).s, cxi_show_list(rhs).s);
  for (int i = 0; i < lhs->n; i++) {
    const int64_t m = cxi_type_shape(c->in[0])->d[lhs->d[i]];
    const int64_t n = cxi_type_shape(c->in[1])->d[rhs->d[i]];
    if (!cxi_size_equal(m, n))
      return cxi_infer_fail(
          c, CX_ESHAPE,
          "%s and %s: %s axes %" PRId64 " and %" PRId64 " differ in size",
          cxi_show_type(c->in[0]).s, cxi_show_type(c->in[1]).s, what, lhs->d[i],
          rhs->d[i]);
  }
  return true;
}

bool cxi_dot_infer_dtypes(cxi_infer *c, cx_dtype type) {
  if (!cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED) ||
      !cxi_infer_one_dtype(c, 0, 2))
    return false;
  const cx_dtype from = cxi_type_dtype(c->in[0]);
  const bool valid = cxi_dtype_valid((int)type) && type != CX_KEY;
  const bool same = valid &&
                    cxi_dtype_is_float(from) == cxi_dtype_is_float(type) &&
                    (from == CX_BOOL) == (type == CX_BOOL);
  if (same) return true;
  return cxi_infer_fail(c, CX_EDTYPE, "products of %s are not summed to %s",
                        cxi_dtype_name(from), cxi_dtype_name(type));
}

static cx_dims result_shape(const params *p, const cx_dims *a,
                            const cx_dims *b) {
  const cx_dims lhs = free_axes(a->n, &p->lhs_contract, &p->lhs_batch);
  const cx_dims rhs = free_axes(b->n, &p->rhs_contract, &p->rhs_batch);
  cx_dims shape = { 0 };
  if (p->lhs_batch.n + lhs.n + rhs.n > CX_MAX_DIMS) return (cx_dims){ .n = -1 };
  for (int i = 0; i < p->lhs_batch.n; i++)
    shape.d[shape.n++] = a->d[p->lhs_batch.d[i]];
  for (int i = 0; i < lhs.n; i++) shape.d[shape.n++] = a->d[lhs.d[i]];
  for (int i = 0; i < rhs.n; i++) shape.d[shape.n++] = b->d[rhs.d[i]];
  return shape;
}

static bool infer_dot_general(cxi_infer *c) {
  const params *p = c->params;
  if (c->n_in != 2 && c->n_in != 3)
    return cxi_infer_fail(c, CX_ESHAPE, "takes 2 or 3 operands, not %u",
                          c->n_in);
  if (!cxi_dot_infer_dtypes(c, p->type) ||
      !infer_side(c, 0, &p->lhs_contract, &p->lhs_batch) ||
      !infer_side(c, 1, &p->rhs_contract, &p->rhs_batch) ||
      !infer_pairs(c, "contracted", &p->lhs_contract, &p->rhs_contract) ||
      !infer_pairs(c, "batch", &p->lhs_batch, &p->rhs_batch))
    return false;
  const cx_dims shape =
      result_shape(p, cxi_type_shape(c->in[0]), cxi_type_shape(c->in[1]));
  if (shape.n < 0)
    return cxi_infer_fail(c, CX_ESHAPE, "%s and %s: more than %d dimensions",
                          cxi_show_type(c->in[0]).s, cxi_show_type(c->in[1]).s,
                          CX_MAX_DIMS);
  const cxi_type type = cxi_type_make(p->type, shape);
  if (c->n_in == 3 && c->in[2] != type)
    return cxi_infer_fail(c, CX_ESHAPE, "the addend is %s, the product %s",
                          cxi_show_type(c->in[2]).s, cxi_show_type(type).s);
  return cxi_infer_result(c, type);
}

/* -- derivatives ----------------------------------------------------------- */

static void jvp_dot_general(const cxi_rule *r, const cx *in, const cx *dx,
                            cx *out, cx *dout) {
  (void)out;
  cx sum = r->n_in == 3 ? dx[2] : cx_none();
  if (!cx_is_none(dx[0]))
    sum =
        cxi_sum_given(sum, cxi_dot_general(dx[0], in[1], (cx){ 0 }, r->params));
  if (!cx_is_none(dx[1]))
    sum =
        cxi_sum_given(sum, cxi_dot_general(in[0], dx[1], (cx){ 0 }, r->params));
  dout[0] = sum;
}

/* The equation seen from the operand that gets a cotangent. */
typedef struct side {
  cx_dims contract, batch, free;                   /* of this operand */
  cx_dims other_contract, other_batch, other_free; /* of the other */
  cx_dims ct_other; /* axes of ct that are other_free */
  cx_dtype type;    /* of this operand */
} side;

static side side_of(const cxi_rule *r, bool left) {
  const params *p = r->params;
  side s = { .contract = left ? p->lhs_contract : p->rhs_contract,
             .batch = left ? p->lhs_batch : p->rhs_batch,
             .other_contract = left ? p->rhs_contract : p->lhs_contract,
             .other_batch = left ? p->rhs_batch : p->lhs_batch };
  const cxi_type mine = r->in_types[left ? 0 : 1];
  const cxi_type other = r->in_types[left ? 1 : 0];
  s.free = free_axes(cxi_type_rank(mine), &s.contract, &s.batch);
  s.other_free =
      free_axes(cxi_type_rank(other), &s.other_contract, &s.other_batch);
  const int first = s.batch.n + (left ? s.free.n : 0);
  s.ct_other = cxi_dims_range(first, first + s.other_free.n);
  s.type = cxi_type_dtype(mine);
  return s;
}

/* The result axis of each axis of this operand in (batch, free, contracted)
 * or, other first, (batch, contracted, free); the contracted ones stand in
 * the order they have in the other operand. */
static cx_dims places(const side *s, bool other_first) {
  const int nb = s->batch.n, nf = s->free.n, nc = s->contract.n;
  cx_dims at = { .n = nb + nf + nc };
  for (int i = 0; i < nb; i++) at.d[s->batch.d[i]] = i;
  for (int i = 0; i < nf; i++)
    at.d[s->free.d[i]] = nb + i + (other_first ? nc : 0);
  for (int i = 0; i < nc; i++)
    at.d[s->contract.d[i]] =
        nb + cxi_axes_below(&s->other_contract, s->other_contract.d[i]) +
        (other_first ? 0 : nf);
  return at;
}

/* ct and the other operand contracted over what this operand lacks. */
static cx product(const side *s, bool other_first, cx ct, cx other, cx addend) {
  const cx_dims batch = cxi_dims_range(0, s->batch.n);
  const params p = {
    .lhs_contract = other_first ? s->other_free : s->ct_other,
    .rhs_contract = other_first ? s->ct_other : s->other_free,
    .lhs_batch = other_first ? s->other_batch : batch,
    .rhs_batch = other_first ? batch : s->other_batch,
    .type = s->type,
  };
  return cxi_dot_general(other_first ? other : ct, other_first ? ct : other,
                         addend, &p);
}

cx_dtype cxi_dot_common_float(cx_dtype a, cx_dtype b) {
  if (a == b) return a;
  return a == CX_F64 || b == CX_F64 ? CX_F64 : CX_F32;
}

/* The accumulator is the product's addend if either order of the two factors
 * gives the operand's axes in order. */
static cx cotangent_of(const side *s, cx ct, cx other, cx acc) {
  const cx none = { 0 }, addend = cx_is_none(acc) ? none : acc;
  const cx_dims plain = places(s, false), swapped = places(s, true);
  if (cxi_axes_identity(&plain)) return product(s, false, ct, other, addend);
  if (cxi_axes_identity(&swapped)) return product(s, true, ct, other, addend);
  const cx y = product(s, false, ct, other, none);
  return cxi_sum_given(acc, cxi_transpose(y, plain));
}

static void transpose_dot_general(const cxi_rule *r, const cx *in, const cx *ct,
                                  cx *acc) {
  for (int i = 0; i < 2; i++) {
    if (!cx_is_none(in[i])) continue;
    const side s = side_of(r, i == 0);
    const cx_dtype dtype = cxi_dot_common_float(
        cxi_type_dtype(r->in_types[1 - i]), cxi_type_dtype(r->out_types[0]));
    acc[i] = cotangent_of(&s, cxi_convert(ct[0], dtype),
                          cxi_convert(in[1 - i], dtype), acc[i]);
  }
  if (r->n_in == 3 && cx_is_none(in[2])) cxi_accumulate(r, 2, ct[0], acc);
}

/* -- batch ----------------------------------------------------------------- */

/* Only the addend has a batch: one product for all, added as the equation
 * does, in the wide dtype. */
static cx add_to_each(const cxi_rule *r, const cx *in, int axis, int64_t size) {
  params p = *(const params *)r->params;
  const cx_dtype type = p.type;
  if (cxi_dtype_is_float(type))
    p.type = cxi_dot_wide(cxi_type_dtype(r->in_types[0]), type);
  const cx y = cxi_dot_general(in[0], in[1], (cx){ 0 }, &p);
  const cx addend = cxi_convert(in[2], p.type);
  return cxi_convert(cxi_add(addend, cxi_insert_axis(y, axis, size)), type);
}

/* The place among the result's axes of a batch axis that only one side has:
 * it is free there. */
static int free_place(const params *p, const cxi_rule *r, bool left, int at) {
  const cx_dims lhs = free_axes(cxi_type_rank(r->in_types[0]) + left,
                                &p->lhs_contract, &p->lhs_batch);
  const cx_dims rhs = free_axes(cxi_type_rank(r->in_types[1]) + !left,
                                &p->rhs_contract, &p->rhs_batch);
  return p->lhs_batch.n +
         (left ? cxi_axes_below(&lhs, at) : lhs.n + cxi_axes_below(&rhs, at));
}

static void batch_dot_general(const cxi_rule *r, const cx *in, const int *axis,
                              int64_t size, cx *out, int *out_axis) {
  const bool added = r->n_in == 3, left = axis[0] >= 0, right = axis[1] >= 0;
  params p = *(const params *)r->params;
  if (!left && !right) {
    out[0] = add_to_each(r, in, axis[2], size);
    out_axis[0] = axis[2];
    return;
  }
  p.lhs_contract = cxi_axes_shift(p.lhs_contract, axis[0]);
  p.lhs_batch = cxi_axes_shift(p.lhs_batch, axis[0]);
  p.rhs_contract = cxi_axes_shift(p.rhs_contract, axis[1]);
  p.rhs_batch = cxi_axes_shift(p.rhs_batch, axis[1]);
  if (left && right) {
    p.lhs_batch = cxi_dims_insert(p.lhs_batch, 0, axis[0]);
    p.rhs_batch = cxi_dims_insert(p.rhs_batch, 0, axis[1]);
    out_axis[0] = 0;
  } else {
    out_axis[0] = free_place(&p, r, left, axis[left ? 0 : 1]);
  }
  const cx addend =
      added ? cxi_batch_to(in[2], axis[2], out_axis[0], size) : (cx){ 0 };
  out[0] = cxi_dot_general(in[0], in[1], addend, &p);
}

/* -- the row --------------------------------------------------------------- */

static bool evaluate_dot_general(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out) {
  cxi_dot_evaluate(e->params, &in[0], &in[1], e->n_in == 3 ? &in[2] : NULL,
                   &out[0], e->workspace);
  return true;
}

static int64_t workspace_dot_general(const cxi_eval *e, const cxi_view *in,
                                     const cxi_view *out) {
  (void)out;
  return cxi_dot_workspace(e->params, &in[0], &in[1]);
}

/* A multiplication and an addition for each product. */
static double flops_dot_general(const cxi_rule *r) {
  const params *p = r->params;
  const cx_dims *a = cxi_type_shape(r->in_types[0]);
  double flops = 2 * (double)cxi_dims_count(cxi_type_shape(r->out_types[0]));
  for (int i = 0; i < p->lhs_contract.n; i++)
    flops *= (double)a->d[p->lhs_contract.d[i]];
  return flops;
}

static const char *const examples_dot_general[] = {
  /* matrix times matrix, all four layouts */
  "program @main(%0: f32[2,3], %1: f32[3,4]) { %2: f32[2,4] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[2,3], %1: f32[4,3]) { %2: f32[2,4] = dot_general["
  "lhs_contract=(1), rhs_contract=(1), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[3,2], %1: f32[3,4]) { %2: f32[2,4] = dot_general["
  "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[3,2], %1: f32[4,3]) { %2: f32[2,4] = dot_general["
  "lhs_contract=(0), rhs_contract=(1), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  /* with an addend */
  "program @main(%0: f32[2,3], %1: f32[3,4], %2: f32[2,4]) { %3: f32[2,4] = "
  "dot_general[lhs_contract=(1), rhs_contract=(0), lhs_batch=(), "
  "rhs_batch=(), type=f32] %0, %1, %2 return %3 }",
  /* batch axes in odd order, several contracted axes in another order */
  "program @main(%0: f32[2,3,4,2], %1: f32[4,2,3,2,3]) { %2: f32[4,3,3,3] = "
  "dot_general[lhs_contract=(0,3), rhs_contract=(3,1), lhs_batch=(2), "
  "rhs_batch=(0), type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[3,2,2], %1: f32[2,2,3]) { %2: f32[3,2,2,2] = "
  "dot_general[lhs_contract=(), rhs_contract=(), lhs_batch=(0,1), "
  "rhs_batch=(2,0), type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[2,3,4], %1: f32[4,3,2]) { %2: f32[2,2] = dot_general["
  "lhs_contract=(1,2), rhs_contract=(1,0), lhs_batch=(), rhs_batch=(), "
  "type=f32] %0, %1 return %2 }",
  /* vectors, scalars, empty sums, empty results */
  "program @main(%0: f32[3], %1: f32[3]) { %2: f32[] = dot_general["
  "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[], %1: f32[2]) { %2: f32[2] = dot_general["
  "lhs_contract=(), rhs_contract=(), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[2,0], %1: f32[0,3]) { %2: f32[2,3] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[0,2], %1: f32[2,3]) { %2: f32[0,3] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  /* one operand twice */
  "program @main(%0: f32[3,3]) { %1: f32[3,3] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %0 return %1 }",
  /* other dtypes */
  "program @main(%0: bf16[2,3], %1: bf16[3,2]) { %2: f32[2,2] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
  "%0, %1 return %2 }",
  "program @main(%0: f16[2,3], %1: f16[3,2], %2: f16[2,2]) { %3: f16[2,2] = "
  "dot_general[lhs_contract=(1), rhs_contract=(0), lhs_batch=(), "
  "rhs_batch=(), type=f16] %0, %1, %2 return %3 }",
  "program @main(%0: i8[2,3], %1: i8[3,2]) { %2: i32[2,2] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=i32] "
  "%0, %1 return %2 }",
  "program @main(%0: bool[2,3], %1: bool[3,2]) { %2: bool[2,2] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=bool] "
  "%0, %1 return %2 }",
  "program @main(%0: f64[2,3], %1: f64[3,2]) { %2: f64[2,2] = dot_general["
  "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f64] "
  "%0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_dot_general = {
  .prim = CXI_PRIM_dot_general,
  .form = CXI_FORM_PRODUCT,
  .formula = "y[b, i, j] = addend[b, i, j] + sum_k a[b, i, k] b[b, k, j]",
  .infer = infer_dot_general,
  .jvp = jvp_dot_general,
  .transpose = transpose_dot_general,
  .batch = batch_dot_general,
  .evaluate = evaluate_dot_general,
  .workspace = workspace_dot_general,
  .flops = flops_dot_general,
  .in_place = 3,
  .examples = examples_dot_general,
};
