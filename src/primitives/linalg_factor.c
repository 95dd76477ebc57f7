/* linalg_factor.c - lu, lu_pivots_to_permutation, qr. */
#include <inttypes.h>
#include <string.h>

#include "ops/ops.h"
#include "primitives/linalg.h"
#include "primitives/linalg_kernels.h"

static int64_t rows_of(cxi_type type) {
  const cx_dims *s = cxi_type_shape(type);
  return s->d[s->n - 2];
}
static int64_t columns_of(cxi_type type) {
  const cx_dims *s = cxi_type_shape(type);
  return s->d[s->n - 1];
}
static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* a with zeros to m rows and n columns. */
static cx padded(cx a, int64_t m, int64_t n) {
  const cx_dims shape = cxi_shape_at(a), none = cxi_dims_repeat(shape.n, 0);
  cx_dims high = none;
  if (!cxi_given(a)) return a;
  high.d[shape.n - 2] = m - shape.d[shape.n - 2];
  high.d[shape.n - 1] = n - shape.d[shape.n - 1];
  return cxi_pad(a, cxi_number_like(a, 0), none, high, none);
}

static cx solve_upper(cx a, cx b) { /* x a = b */
  const cxi_triangular_solve_params p = { .left = false };
  return cxi_emit1(CXI_PRIM_triangular_solve, &p, 2, (cx[]){ a, b });
}
static cx solve_unit_lower(cx a, cx b) { /* a x = b */
  const cxi_triangular_solve_params p = { .left = true,
                                          .lower = true,
                                          .unit = true };
  return cxi_emit1(CXI_PRIM_triangular_solve, &p, 2, (cx[]){ a, b });
}

/* -- lu: a with its rows permuted is l u; both in one array, without l's ones -- */

static bool infer_lu(cxi_infer *c) {
  if (!cxi_infer_matrices(c, 1)) return false;
  const int64_t m = rows_of(c->in[0]), n = columns_of(c->in[0]);
  if (m > INT32_MAX || n > INT32_MAX)
    return cxi_infer_fail(c, CX_ESHAPE, "i32 does not hold the rows of %s",
                          cxi_show_type(c->in[0]).s);
  return cxi_infer_result(c, c->in[0]) &&
         cxi_infer_block(c, CX_I32, 1, lesser(m, n), 0) &&
         cxi_infer_block(c, CX_I32, 1, m, 0);
}

/* With x = da permuted and z = l^-1 x u^-1: l^-1 dl is z's strictly lower
 * part, du u^-1 its upper one. De Hoog, Anderssen & Lukas 2011, ANZIAM J. 52.
 * l is completed to (m, m) and u to (n, n) by the identity. */
static void jvp_lu(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                   cx *dout) {
  (void)in;
  const int64_t m = rows_of(r->in_types[0]), n = columns_of(r->in_types[0]);
  const int64_t k = lesser(m, n);
  const int last = cxi_type_rank(r->in_types[0]) - 1;
  const cx x = cxi_permuted_rows(dx[0], out[2]);
  cx l = cxi_slice_axis(out[0], last, 0, k);
  cx u = cxi_slice_axis(out[0], last - 1, 0, k);
  if (!cxi_given(x) || !cxi_given(l) || !cxi_given(u)) {
    dout[0] = cxi_given(x) ? out[0] : x;
    return;
  }
  l = padded(cxi_triangle(true, l, -1), m, m);
  l = cxi_add(l, cxi_identity_like(l));
  const cx corner = cxi_triangle(false, u, 0);
  u = padded(corner, n, n);
  if (n > k) { /* ones below u's last row */
    const cx ones = cxi_identity_like(u);
    const cx below = cxi_slice_axis(ones, last - 1, k, n);
    u = cxi_concatenate(last - 1, 2, (cx[]){ corner, below });
  }
  const cx z = solve_upper(u, solve_unit_lower(l, x));
  if (!cxi_given(z)) {
    dout[0] = z;
    return;
  }
  dout[0] = cxi_add(cxi_matrix_product(l, cxi_triangle(true, z, -1)),
                    cxi_matrix_product(cxi_triangle(false, z, 0), u));
}

static void run_lu(const void *params, const cxi_block *in,
                   const cxi_block *out, double *work) {
  (void)params;
  const int64_t m = in->m, n = in->n;
  memcpy(out[0].at, in->at, (size_t)(m * n) * sizeof(double));
  cxi_linalg_now()->lu(m, n, out[0].at, out[1].at, work);
  cxi_linalg_now()->permute(m, lesser(m, n), out[1].at, out[2].at);
}

static bool evaluate_lu(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_lu);
}

static int64_t workspace_lu(const cxi_eval *e, const cxi_view *in,
                            const cxi_view *out) {
  const cx_dims *s = &in->type.shape;
  const int64_t m = s->d[s->n - 2], n = s->d[s->n - 1];
  return cxi_blocks_workspace(
      e, in, out, 2, n > CXI_LU_PANEL ? cxi_size_mul(m, CXI_LU_PANEL) : 0);
}

static const char *const examples_lu[] = {
  "program @main(%0: f32[3,3]) { %1: f32[3,3], %2: i32[3], %3: i32[3] = lu %0 "
  "return %1, %2, %3 }",
  "program @main(%0: f64[2,3,2]) { %1: f64[2,3,2], %2: i32[2,2], %3: i32[2,3] "
  "= lu %0 return %1, %3 }",
  "program @main(%0: f32[2,3]) { %1: f32[2,3], %2: i32[2], %3: i32[2] = lu %0 "
  "return %1, %2 }",
  "program @main(%0: bf16[2,2]) { %1: bf16[2,2], %2: i32[2], %3: i32[2] = "
  "lu %0 return %1, %2, %3 }",
  "program @main(%0: f16[1,2]) { %1: f16[1,2], %2: i32[1], %3: i32[1] = "
  "lu %0 return %1, %2, %3 }",
  "program @main(%0: f32[3,0]) { %1: f32[3,0], %2: i32[0], %3: i32[3] = lu %0 "
  "return %1, %2, %3 }",
  NULL
};

const cxi_row cxi_row_lu = {
  .prim = CXI_PRIM_lu,
  .form = CXI_FORM_PRODUCT,
  .formula = "l u = a's rows permuted: l and u in one array, the row exchanged "
             "with each, the permutation",
  .infer = infer_lu,
  .jvp = jvp_lu,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_lu,
  .workspace = workspace_lu,
  .no_transpose = "not linear",
  .examples = examples_lu,
};

/* -- lu_pivots_to_permutation: 0, 1, ... after the exchanges -------------- */

static bool infer_pivots(cxi_infer *c) {
  const cxi_lu_pivots_to_permutation_params *p = c->params;
  if (!cxi_infer_count(c, 1)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (cxi_type_dtype(c->in[0]) != CX_I32 || shape.n < 1)
    return cxi_infer_fail(c, CX_EDTYPE, "needs pivots i32[..., k], got %s",
                          cxi_show_type(c->in[0]).s);
  if (p->size < shape.d[shape.n - 1] || p->size > INT32_MAX)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "%" PRId64 " rows for the pivots %s: fewer, or more "
                          "than i32 holds",
                          p->size, cxi_show_type(c->in[0]).s);
  shape.d[shape.n - 1] = p->size;
  return cxi_infer_result(c, cxi_type_make(CX_I32, shape));
}

static void run_pivots(const void *params, const cxi_block *in,
                       const cxi_block *out, double *work) {
  (void)params, (void)work;
  cxi_linalg_now()->permute(out->m, in->m, in->at, out->at);
}

static bool evaluate_pivots(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 1, run_pivots);
}

static int64_t workspace_pivots(const cxi_eval *e, const cxi_view *in,
                                const cxi_view *out) {
  return cxi_blocks_workspace(e, in, out, 1, 0);
}

static const char *const examples_pivots[] = {
  "program @main(%0: i32[2,3]) { %1: i32[2,4] = "
  "lu_pivots_to_permutation[size=4] %0 return %1 }",
  "program @main(%0: i32[0]) { %1: i32[3] = "
  "lu_pivots_to_permutation[size=3] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_lu_pivots_to_permutation = {
  .prim = CXI_PRIM_lu_pivots_to_permutation,
  .form = CXI_FORM_INDEX,
  .formula = "0, 1, ... after exchanging k with pivots[k] for each k",
  .infer = infer_pivots,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_pivots,
  .workspace = workspace_pivots,
  .no_jvp = "not differentiable: integers",
  .no_transpose = "not linear",
  .examples = examples_pivots,
};

/* -- qr: a = q r, q with orthonormal columns, r upper triangular ---------- */

typedef cxi_qr_params params;

static bool infer_qr(cxi_infer *c) {
  const params *p = c->params;
  if (!cxi_infer_matrices(c, 1)) return false;
  const int64_t m = rows_of(c->in[0]), n = columns_of(c->in[0]);
  const int64_t k = p->full ? m : lesser(m, n);
  const cx_dtype type = cxi_type_dtype(c->in[0]);
  if (p->pivoting && n > INT32_MAX)
    return cxi_infer_fail(c, CX_ESHAPE, "i32 does not hold the columns of %s",
                          cxi_show_type(c->in[0]).s);
  return cxi_infer_block(c, type, 2, m, k) &&
         cxi_infer_block(c, type, 2, k, n) &&
         (!p->pivoting || cxi_infer_block(c, CX_I32, 1, n, 0));
}

/* Of a square or tall a: with z = q' da r^-1 and its skew part w, built from
 * z's strictly lower part, dq = q (w - z) + da r^-1 and dr = (z - w) r. */
static void jvp_tall(cx q, cx r, cx da, cx *dq, cx *dr) {
  const cx x = solve_upper(r, da);
  const cx z = cxi_matrix_product(cxi_matrix_transpose(q), x);
  if (!cxi_given(z)) {
    *dq = *dr = z;
    return;
  }
  const cx lower = cxi_triangle(true, z, -1);
  const cx w = cxi_sub(lower, cxi_matrix_transpose(lower));
  *dq = cxi_add(cxi_matrix_product(q, cxi_sub(w, z)), x);
  *dr = cxi_triangle(false, cxi_matrix_product(cxi_sub(z, w), r), 0);
}

/* a with its columns in the order of the third result, if there is one. */
static cx ordered(const params *p, cx a, const cx *out) {
  if (!p->pivoting) return a;
  return cxi_matrix_transpose(
      cxi_permuted_rows(cxi_matrix_transpose(a), out[2]));
}

static void jvp_qr(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                   cx *dout) {
  const params *p = r->params;
  const int64_t m = rows_of(r->in_types[0]), n = columns_of(r->in_types[0]);
  const int last = cxi_type_rank(r->in_types[0]) - 1;
  if (p->full && m > n) {
    dout[0] = dout[1] =
        cxi_fail(CX_ENORULE,
                 "qr: no derivative of all %" PRId64 " columns of q for %s: "
                 "those beyond %" PRId64 " are not unique (leave out .full)",
                 m, cxi_show_type(r->in_types[0]).s, n);
    return;
  }
  const cx x = ordered(p, in[0], out), dx0 = ordered(p, dx[0], out);
  if (m >= n) {
    jvp_tall(out[0], out[1], dx0, &dout[0], &dout[1]);
    return;
  }
  /* Wide: the first m columns make q; the others of r are q' a. */
  cx dr;
  jvp_tall(out[0], cxi_slice_axis(out[1], last, 0, m),
           cxi_slice_axis(dx0, last, 0, m), &dout[0], &dr);
  const cx a = cxi_slice_axis(x, last, m, n);
  const cx da = cxi_slice_axis(dx0, last, m, n);
  const cx rest = cxi_add(cxi_matrix_product(cxi_matrix_transpose(dout[0]), a),
                          cxi_matrix_product(cxi_matrix_transpose(out[0]), da));
  dout[1] = cxi_concatenate(last, 2, (cx[]){ dr, rest });
}

/* work: a and q, both transposed, the reflectors' factors, room for them. */
static void run_qr(const void *rule, const cxi_block *in, const cxi_block *out,
                   double *work) {
  const params *p = rule;
  const int64_t m = in->m, n = in->n, k = out->n;
  const cxi_linalg_kernels *kernels = cxi_linalg_now();
  double *r = out[1].at, *a = work, *q = a + m * n, *tau = q + m * k;
  double *room = tau + lesser(m, n);
  kernels->transpose(m, n, in->at, a);
  kernels->reflect(m, n, a, tau, p->pivoting ? out[2].at : NULL, room);
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++)
      r[i * n + j] = j < i || i >= m ? 0 : a[j * m + i];
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < m; j++) q[i * m + j] = i == j;
  kernels->apply_reflectors(m, n, a, tau, k, q, true, room);
  kernels->transpose(k, m, q, out[0].at);
}

static bool evaluate_qr(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_qr);
}

static int64_t workspace_qr(const cxi_eval *e, const cxi_view *in,
                            const cxi_view *out) {
  const cx_dims *s = &in->type.shape;
  const int64_t m = s->d[s->n - 2], n = s->d[s->n - 1];
  const int64_t k = out->type.shape.d[out->type.shape.n - 1];
  const int64_t both = cxi_size_add(cxi_size_mul(m, n), cxi_size_mul(m, k));
  const int64_t room = cxi_size_add(lesser(m, n), cxi_reflect_work(m, n, k));
  return cxi_blocks_workspace(e, in, out, 2, cxi_size_add(both, room));
}

static const char *const examples_qr[] = {
  "program @main(%0: f32[3,3]) { %1: f32[3,3], %2: f32[3,3] = qr[full=true, "
  "pivoting=false] "
  "%0 return %1, %2 }",
  "program @main(%0: f64[2,3,2]) { %1: f64[2,3,2], %2: f64[2,2,2] = "
  "qr[full=false, pivoting=false] %0 return %1, %2 }",
  "program @main(%0: f32[2,4]) { %1: f32[2,2], %2: f32[2,4] = qr[full=false, "
  "pivoting=false] "
  "%0 return %1, %2 }",
  "program @main(%0: bf16[3,2]) { %1: bf16[3,3], %2: bf16[3,2] = "
  "qr[full=true, pivoting=false] %0 return %1, %2 }",
  "program @main(%0: f16[2,0]) { %1: f16[2,2], %2: f16[2,0] = qr[full=true, "
  "pivoting=false] %0 "
  "return %1, %2 }",
  "program @main(%0: f32[0,2]) { %1: f32[0,0], %2: f32[0,2] = qr[full=false, "
  "pivoting=false] "
  "%0 return %1, %2 }",
  "program @main(%0: f64[2,4,3]) { %1: f64[2,4,3], %2: f64[2,3,3], %3: "
  "i32[2,3] "
  "= qr[full=false, pivoting=true] %0 return %1, %2, %3 }",
  "program @main(%0: f64[2,4]) { %1: f64[2,2], %2: f64[2,4], %3: i32[4] = "
  "qr[full=true, pivoting=true] %0 return %1, %2 }",
  NULL
};

const cxi_row cxi_row_qr = {
  .prim = CXI_PRIM_qr,
  .form = CXI_FORM_PRODUCT,
  .formula = "q r = a: q with orthonormal columns, r upper triangular; with "
             "pivoting a's columns in an order in which r's diagonal falls",
  .infer = infer_qr,
  .jvp = jvp_qr,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_qr,
  .workspace = workspace_qr,
  .no_transpose = "not linear",
  .examples = examples_qr,
};
