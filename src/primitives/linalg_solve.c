/* linalg_solve.c - cholesky, triangular_solve. */
#include "ops/ops.h"
#include "primitives/linalg.h"
#include "primitives/linalg_kernels.h"

/* -- cholesky: a = l l' for the symmetric a that has the lower triangle --- */

static bool infer_cholesky(cxi_infer *c) {
  return cxi_infer_matrices(c, 1) && cxi_infer_square(c, 0) &&
         cxi_infer_result(c, c->in[0]);
}

/* x with op(a) x = b, or x op(a) = b. */
static cx solve(cx a, cx b, bool left, bool lower, bool transpose, bool unit) {
  const cxi_triangular_solve_params p = {
    .left = left, .lower = lower, .transpose = transpose, .unit = unit
  };
  return cxi_emit1(CXI_PRIM_triangular_solve, &p, 2, (cx[]){ a, b });
}

/* dl = l phi(l^-1 da l^-T), phi the lower triangle with half its diagonal.
 * Murray 2016, arXiv:1602.07527, eq. 8. */
static void jvp_cholesky(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                         cx *dout) {
  (void)r, (void)in;
  const cx l = out[0], da = cxi_symmetric(dx[0], true);
  const cx right = solve(l, da, false, true, true, false);
  const cx both = solve(l, right, true, true, false, false);
  if (!cxi_given(both)) {
    dout[0] = both;
    return;
  }
  const cx phi = cxi_scale(
      cxi_add(cxi_triangle(true, both, 0), cxi_triangle(true, both, -1)), 0.5);
  dout[0] = cxi_matrix_product(l, phi);
}

static void run_cholesky(const void *params, const cxi_block *in,
                         const cxi_block *out, double *work) {
  (void)params;
  cxi_linalg_now()->cholesky(in->m, in->at, out->at, work);
}

static bool evaluate_cholesky(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_cholesky);
}

static int64_t workspace_cholesky(const cxi_eval *e, const cxi_view *in,
                                  const cxi_view *out) {
  const cx_dims *s = &in->type.shape;
  const int64_t n = s->d[s->n - 1];
  return cxi_blocks_workspace(e, in, out, 2, cxi_size_mul(n, n));
}

static const char *const examples_cholesky[] = {
  /* of 3 I + x: positive definite for elements in [-1, 1] */
  "program @main(%0: f32[3,3]) { %1: i32[3,3] = iota[type=i32, shape=(3,3), "
  "axis=0] %2: i32[3,3] = iota[type=i32, shape=(3,3), axis=1] "
  "%3: bool[3,3] = eq %1, %2 %4: f32[3,3] = convert[type=f32] %3 "
  "%5: f32[3,3] = mul %4, 3:f32 %6: f32[3,3] = add %5, %0 "
  "%7: f32[3,3] = cholesky %6 return %7 }",
  "program @main(%0: f64[2,1,1]) { %1: f64[2,1,1] = exp %0 "
  "%2: f64[2,1,1] = cholesky %1 return %2 }",
  "program @main(%0: bf16[2,2]) { %1: bf16[2,2] = cholesky %0 return %1 }",
  "program @main(%0: f16[1,1]) { %1: f16[1,1] = cholesky %0 return %1 }",
  "program @main(%0: f32[2,0,0]) { %1: f32[2,0,0] = cholesky %0 return %1 }",
  NULL
};

const cxi_row cxi_row_cholesky = {
  .prim = CXI_PRIM_cholesky,
  .form = CXI_FORM_PRODUCT,
  .formula = "lower triangular l with l l' = a, read from its lower triangle",
  .infer = infer_cholesky,
  .jvp = jvp_cholesky,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_cholesky,
  .workspace = workspace_cholesky,
  .no_transpose = "not linear",
  .examples = examples_cholesky,
};

/* -- triangular_solve(a, b): op(a) x = b, or x op(a) = b ------------------ */

typedef cxi_triangular_solve_params params;

static bool infer_triangular_solve(cxi_infer *c) {
  const params *p = c->params;
  if (!cxi_infer_matrices(c, 2) || !cxi_infer_square(c, 0)) return false;
  const cx_dims *a = cxi_type_shape(c->in[0]), *b = cxi_type_shape(c->in[1]);
  const int axis = b->n - (p->left ? 2 : 1);
  if (cxi_size_equal(a->d[a->n - 1], b->d[axis]))
    return cxi_infer_result(c, c->in[1]);
  return cxi_infer_fail(c, CX_ESHAPE,
                        "a of %s against b of %s: want as many %s of b",
                        cxi_show_type(c->in[0]).s, cxi_show_type(c->in[1]).s,
                        p->left ? "rows" : "columns");
}

/* From op(a) x = b: op(a) dx = db - op(da) x, da the triangle that is read. */
static void jvp_triangular_solve(const cxi_rule *r, const cx *in, const cx *dx,
                                 cx *out, cx *dout) {
  const params *p = r->params;
  cx db = dx[1];
  if (!cx_is_none(dx[0]) && cxi_given(dx[0])) {
    const int k = p->unit ? 1 : 0;
    cx da = cxi_triangle(p->lower, dx[0], p->lower ? -k : k);
    if (p->transpose) da = cxi_matrix_transpose(da);
    const cx moved = p->left ? cxi_matrix_product(da, out[0])
                             : cxi_matrix_product(out[0], da);
    db = cxi_sum_given(db, cxi_neg(moved));
  }
  dout[0] = solve(in[0], db, p->left, p->lower, p->transpose, p->unit);
}

/* Linear in b: its cotangent solves with op(a) transposed. */
static void transpose_triangular_solve(const cxi_rule *r, const cx *in,
                                       const cx *ct, cx *acc) {
  const params *p = r->params;
  if (!cx_is_none(in[1])) return;
  acc[1] = cxi_sum_given(
      acc[1], solve(in[0], ct[0], p->left, p->lower, !p->transpose, p->unit));
}

/* From the right on the transposed: x op(a) = b is op(a)' x' = b'. */
static void run_triangular_solve(const void *rule, const cxi_block *in,
                                 const cxi_block *out, double *work) {
  const params *p = rule;
  const cxi_block *b = &in[1];
  const cxi_triangle_of t = { in[0].m, in[0].at, p->lower,
                              p->left == p->transpose, p->unit };
  if (p->left) {
    for (int64_t i = 0; i < b->m * b->n; i++) out->at[i] = b->at[i];
    cxi_linalg_now()->solve_triangle(&t, b->n, out->at);
  } else {
    cxi_linalg_now()->transpose(b->m, b->n, b->at, work);
    cxi_linalg_now()->solve_triangle(&t, b->m, work);
    cxi_linalg_now()->transpose(b->n, b->m, work, out->at);
  }
}

static bool evaluate_triangular_solve(cxi_eval *e, const cxi_view *in,
                                      cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_triangular_solve);
}

static int64_t workspace_triangular_solve(const cxi_eval *e, const cxi_view *in,
                                          const cxi_view *out) {
  const cx_dims *s = &in[1].type.shape;
  return cxi_blocks_workspace(e, in, out, 2,
                              cxi_size_mul(s->d[s->n - 1], s->d[s->n - 2]));
}

/* A multiplication and a subtraction for half of a, each column of b. */
static double flops_triangular_solve(const cxi_rule *r) {
  const cx_dims *a = cxi_type_shape(r->in_types[0]);
  return (double)cxi_dims_count(cxi_type_shape(r->in_types[1])) *
         (double)a->d[a->n - 1];
}

static const char *const examples_triangular_solve[] = {
  "program @main(%0: f32[3,3], %1: f32[3,2]) { %2: f32[3,2] = "
  "triangular_solve[left=true, lower=true, transpose=false, unit=false] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[3,3], %1: f32[3,2]) { %2: f32[3,2] = "
  "triangular_solve[left=true, lower=false, transpose=true, unit=true] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[3,3], %1: f32[3,2]) { %2: f32[3,2] = "
  "triangular_solve[left=true, lower=true, transpose=true, unit=true] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[2,2,2], %1: f32[2,3,2]) { %2: f32[2,3,2] = "
  "triangular_solve[left=false, lower=true, transpose=false, unit=true] "
  "%0, %1 return %2 }",
  "program @main(%0: f64[2,2], %1: f64[3,2]) { %2: f64[3,2] = "
  "triangular_solve[left=false, lower=false, transpose=true, unit=false] "
  "%0, %1 return %2 }",
  "program @main(%0: f64[2,2], %1: f64[3,2]) { %2: f64[3,2] = "
  "triangular_solve[left=false, lower=false, transpose=false, unit=true] "
  "%0, %1 return %2 }",
  "program @main(%0: bf16[2,2], %1: bf16[2,1]) { %2: bf16[2,1] = "
  "triangular_solve[left=true, lower=false, transpose=false, unit=false] "
  "%0, %1 return %2 }",
  "program @main(%0: f16[2,2], %1: f16[2,0]) { %2: f16[2,0] = "
  "triangular_solve[left=true, lower=false, transpose=false, unit=false] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[0,0], %1: f32[0,2]) { %2: f32[0,2] = "
  "triangular_solve[left=true, lower=false, transpose=false, unit=false] "
  "%0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_triangular_solve = {
  .prim = CXI_PRIM_triangular_solve,
  .form = CXI_FORM_PRODUCT,
  .formula = "x with op(a) x = b (left), or x op(a) = b",
  .infer = infer_triangular_solve,
  .jvp = jvp_triangular_solve,
  .transpose = transpose_triangular_solve,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_triangular_solve,
  .workspace = workspace_triangular_solve,
  .flops = flops_triangular_solve,
  .examples = examples_triangular_solve,
};
