/* linalg_det.c - det. */
#include <string.h>

#include "primitives/call.h"
#include "primitives/linalg.h"
#include "primitives/linalg_kernels.h"

static bool infer_det(cxi_infer *c) {
  if (!cxi_infer_matrices(c, 1) || !cxi_infer_square(c, 0)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  const int64_t n = shape.d[shape.n - 1];
  if (n > INT32_MAX)
    return cxi_infer_fail(c, CX_ESHAPE, "i32 does not hold the rows of %s",
                          cxi_show_type(c->in[0]).s);
  shape.n -= 2;
  const cxi_type det = cxi_type_make(cxi_type_dtype(c->in[0]), shape);
  return cxi_infer_result(c, det) && cxi_infer_block(c, CX_I32, 1, n, 0) &&
         cxi_infer_block(c, CX_I32, 1, n, 0);
}

/* -- jvp ------------------------------------------------------------------- */

enum { CORNER = 3 }; /* of a determinant by the definition */

/* Whether a factor on the diagonal of lu is 0, of the batch. */
static cx is_singular(cx lu) {
  const cx d = cxi_matrix_diagonal(lu);
  const int n = cxi_rank_at(d);
  if (!cxi_given(d)) return d;
  return cxi_reduce(CXI_PRIM_reduce_or,
                    cxi_compare(CXI_PRIM_eq, d, cxi_number_like(d, 0)),
                    cxi_dims_range(n - 1, n));
}

static cx of_batch(cx mask, cx a) {
  const cx_dims shape = cxi_shape_at(a);
  return cxi_broadcast_in_dim(mask, shape, cxi_dims_range(0, shape.n - 2));
}

/* The determinant again, in a form that has derivatives where it is 0: with the
 * rows and columns in the given orders,
 *
 *   det [b c; d e] = det b  det(e - d b^-1 c)
 *
 * for the leading block b, all but the last 3. That determinant is a polynomial,
 * and b is singular only if a lacks 4 of its ranks: then the determinant and its
 * derivatives to the third are 0. */
static cx smooth(cx a, cx rows, cx columns) {
  const cx by_rows = cxi_permuted_rows(a, rows);
  const cx x = cxi_matrix_transpose(
      cxi_permuted_rows(cxi_matrix_transpose(by_rows), columns));
  if (!cxi_given(x)) return x;
  const cx_dims shape = cxi_shape_at(x);
  const int i = shape.n - 2, j = shape.n - 1;
  const int64_t n = shape.d[j], k = n - CORNER;
  if (k <= 0) return cxi_small_determinant(x);
  const cx top = cxi_slice_axis(x, i, 0, k), low = cxi_slice_axis(x, i, k, n);
  const cx b = cxi_slice_axis(top, j, 0, k), c = cxi_slice_axis(top, j, k, n);
  const cx d = cxi_slice_axis(low, j, 0, k), e = cxi_slice_axis(low, j, k, n);
  cx lu[3];
  cxi_lu_of(b, lu);
  const cx singular = is_singular(lu[0]);
  cxi_lu_of(cxi_select(of_batch(singular, b), b, cxi_identity_like(b)), lu);
  const cx diagonal = cxi_matrix_diagonal(lu[0]);
  if (!cxi_given(diagonal)) return diagonal;
  const cx product =
      cxi_reduce(CXI_PRIM_reduce_prod, diagonal, cxi_dims_range(i, i + 1));
  const cx of_b = cxi_mul(cxi_parity(lu[1], cxi_dtype_at(a)), product);
  const cx rest = cxi_sub(e, cxi_matrix_product(d, cxi_solve_by_lu(lu, c)));
  const cx whole = cxi_mul(of_b, cxi_small_determinant(rest));
  if (!cxi_given(whole)) return whole;
  return cxi_select(singular, whole, cxi_zeros(cxi_type_at(whole)));
}

static const cxi_program *smooth_program(const cxi_rule *r) {
  cxi_builder b;
  cxi_builder_open(&b);
  const cx in[3] = { cxi_builder_input(&b, r->in_types[0]),
                     cxi_builder_input(&b, r->out_types[1]),
                     cxi_builder_input(&b, r->out_types[2]) };
  const cx out = smooth(in[0], in[1], in[2]);
  return cxi_call_finish(&b, 0, 3, in, 1, &out);
}

static void jvp_det(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  const bool nonzero[3] = { true }, all = true;
  const uint32_t tangent = 1;
  bool nonzero_out;
  const cxi_program *p = smooth_program(r);
  const cxi_program *q =
      p ? r->transforms->jvp(p, nonzero, &all, r->linearizing, &nonzero_out)
        : NULL;
  if (q) q = r->transforms->select(q, NULL, 1, &tangent);
  const cx args[4] = { in[0], out[1], out[2], dx[0] };
  if (q) cxi_call_apply(r->transforms, NULL, q, args, dout);
}

/* -- evaluate -------------------------------------------------------------- */

static void run_det(const void *params, const cxi_block *in,
                    const cxi_block *out, double *work) {
  (void)params;
  const int64_t n = in->m;
  memcpy(work, in->at, (size_t)(n * n) * sizeof(double));
  out[0].at[0] = cxi_linalg_now()->determinant(n, work, out[1].at, out[2].at);
}

static bool evaluate_det(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_det);
}
static int64_t workspace_det(const cxi_eval *e, const cxi_view *in,
                             const cxi_view *out) {
  const cx_dims *s = &in->type.shape;
  const int64_t n = s->d[s->n - 1];
  return cxi_blocks_workspace(e, in, out, 2, cxi_size_mul(n, n));
}

static const char *const examples_det[] = {
  "program @main(%0: f64[5,5]) { %1: f64[], %2: i32[5], %3: i32[5] = det %0 "
  "return %1, %2, %3 }",
  "program @main(%0: f64[2,4,4]) { %1: f64[2], %2: i32[2,4], %3: i32[2,4] = "
  "det %0 return %1 }",
  "program @main(%0: f32[4,4]) { %1: f32[], %2: i32[4], %3: i32[4] = det %0 "
  "return %1 }",
  "program @main(%0: f64[2,2]) { %1: f64[], %2: i32[2], %3: i32[2] = det %0 "
  "return %1 }",
  "program @main(%0: bf16[1,1]) { %1: bf16[], %2: i32[1], %3: i32[1] = det %0 "
  "return %1 }",
  "program @main(%0: f16[0,0]) { %1: f16[], %2: i32[0], %3: i32[0] = det %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_det = {
  .prim = CXI_PRIM_det,
  .form = CXI_FORM_PRODUCT,
  .formula = "the determinant of a; orders of its rows and columns, the best "
             "for elimination",
  .infer = infer_det,
  .jvp = jvp_det,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_det,
  .workspace = workspace_det,
  .no_transpose = "not linear",
  .examples = examples_det,
};
