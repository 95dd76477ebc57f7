/* linalg_eigen.c - eigh, svd. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "primitives/linalg.h"
#include "primitives/linalg_kernels.h"

/* Divides the n numbers by the power of two that brings the greatest to about
 * 1, so that no square overflows; returns it, or NaN if one is not finite. */
static double scale_down(int64_t n, double *x) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) return NAN;
    if (fabs(x[i]) > most) most = fabs(x[i]);
  }
  if (most == 0) return 1;
  int exponent;
  frexp(most, &exponent);
  if (exponent <= DBL_MIN_EXP) exponent = DBL_MIN_EXP;
  if (exponent >= DBL_MAX_EXP) exponent = DBL_MAX_EXP - 1;
  const double scale = ldexp(1, exponent);
  for (int64_t i = 0; i < n; i++) x[i] /= scale;
  return scale;
}

static void fill(const cxi_block *blocks, int n, double value) {
  for (int k = 0; k < n; k++)
    for (int64_t i = 0; i < blocks[k].m * blocks[k].n; i++)
      blocks[k].at[i] = value;
}

/* 1 where x is 0: what may divide. */
static cx without_zeros(cx x) {
  const cx zero = cxi_number_like(x, 0);
  return cxi_add(
      x, cxi_convert(cxi_compare(CXI_PRIM_eq, x, zero), cxi_dtype_at(x)));
}

/* 1 / x off the diagonal, 0 on it, where x is 0. */
static cx reciprocal_off_diagonal(cx x) {
  const cx one = cxi_identity_like(x);
  return cxi_sub(cxi_div(cxi_number_like(x, 1), cxi_add(x, one)), one);
}

/* -- eigh: a v = v diag(w) for the symmetric a that has the triangle ------ */

static bool infer_eigh(cxi_infer *c) {
  if (!cxi_infer_matrices(c, 1) || !cxi_infer_square(c, 0)) return false;
  const cx_dims *s = cxi_type_shape(c->in[0]);
  return cxi_infer_result(c, c->in[0]) &&
         cxi_infer_block(c, cxi_type_dtype(c->in[0]), 1, s->d[s->n - 1], 0);
}

/* With z = v' da v: dw is its diagonal, dv = v (z / (w[j] - w[i])), 0 on the
 * diagonal. Giles 2008, Collected matrix derivative results, section 3.1. */
static void jvp_eigh(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)in;
  const cxi_eigh_params *p = r->params;
  const cx v = out[0], w = out[1], da = cxi_symmetric(dx[0], p->lower);
  const cx z =
      cxi_matrix_product(cxi_matrix_product(cxi_matrix_transpose(v), da), v);
  const cx apart = cxi_sub(cxi_columns_of(w, z), cxi_rows_of(w, z));
  if (!cxi_given(apart)) {
    dout[0] = dout[1] = apart;
    return;
  }
  dout[0] = cxi_matrix_product(v, cxi_mul(reciprocal_off_diagonal(apart), z));
  dout[1] = cxi_matrix_diagonal(z);
}

/* work: the symmetric matrix, v transposed, two vectors. */
static void run_eigh(const void *params, const cxi_block *in,
                     const cxi_block *out, double *work) {
  const cxi_eigh_params *p = params;
  const int64_t n = in->m;
  double *s = work, *vt = s + n * n, *w = out[1].at;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const bool read = p->lower ? j <= i : j >= i;
      s[i * n + j] = read ? in->at[i * n + j] : in->at[j * n + i];
    }
  const double scale = scale_down(n * n, s);
  if (isnan(scale) || !cxi_linalg_now()->eigh(n, s, w, vt, vt + n * n)) {
    fill(out, 2, NAN);
    return;
  }
  for (int64_t i = 0; i < n; i++) w[i] *= scale;
  cxi_linalg_now()->transpose(n, n, vt, out[0].at);
}

static bool evaluate_eigh(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_eigh);
}

static int64_t workspace_eigh(const cxi_eval *e, const cxi_view *in,
                              const cxi_view *out) {
  const cx_dims *s = &in->type.shape;
  const int64_t n = s->d[s->n - 1];
  return cxi_blocks_workspace(
      e, in, out, 2,
      cxi_size_mul(2, cxi_size_add(cxi_size_mul(n, n), cxi_size_add(n, 1))));
}

static const char *const examples_eigh[] = {
  "program @main(%0: f32[3,3]) { %1: f32[3,3], %2: f32[3] = eigh[lower=true] "
  "%0 return %1, %2 }",
  "program @main(%0: f64[2,2,2]) { %1: f64[2,2,2], %2: f64[2,2] = "
  "eigh[lower=false] %0 return %1, %2 }",
  "program @main(%0: bf16[4,4]) { %1: bf16[4,4], %2: bf16[4] = "
  "eigh[lower=true] %0 return %1, %2 }",
  "program @main(%0: f16[1,1]) { %1: f16[1,1], %2: f16[1] = eigh[lower=true] "
  "%0 return %1, %2 }",
  "program @main(%0: f32[0,0]) { %1: f32[0,0], %2: f32[0] = eigh[lower=true] "
  "%0 return %1, %2 }",
  NULL
};

const cxi_row cxi_row_eigh = {
  .prim = CXI_PRIM_eigh,
  .form = CXI_FORM_PRODUCT,
  .formula = "v, w with a v = v diag(w): orthonormal columns, w ascending",
  .infer = infer_eigh,
  .jvp = jvp_eigh,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_eigh,
  .workspace = workspace_eigh,
  .no_transpose = "not linear",
  .examples = examples_eigh,
};

/* -- svd: a = u diag(s) vt ------------------------------------------------ */

typedef cxi_svd_params params;

static bool infer_svd(cxi_infer *c) {
  const params *p = c->params;
  if (!cxi_infer_matrices(c, 1)) return false;
  const cx_dims *s = cxi_type_shape(c->in[0]);
  const cx_dtype type = cxi_type_dtype(c->in[0]);
  const int64_t m = s->d[s->n - 2], n = s->d[s->n - 1], k = m < n ? m : n;
  if (!cxi_infer_block(c, type, 1, k, 0)) return false;
  return !p->vectors || (cxi_infer_block(c, type, 2, m, p->full ? m : k) &&
                         cxi_infer_block(c, type, 2, p->full ? n : k, n));
}

/* The parts of da outside the span of u: (da v - u u' da v) / s. */
static cx outside(cx u, cx dav, cx s) {
  const cx inside =
      cxi_matrix_product(u, cxi_matrix_product(cxi_matrix_transpose(u), dav));
  return cxi_div(cxi_sub(dav, inside), cxi_columns_of(s, dav));
}

/* With z = u' da v: ds is its diagonal; du = u (f (z s + s z')), dv = v (f (s z
 * + z' s)), f = 1 / (s[j]^2 - s[i]^2), and what lies outside the spans. Townsend
 * 2016, Differentiating the singular value decomposition. */
static void jvp_svd(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  const params *p = r->params;
  const cx_dims *shape = cxi_type_shape(r->in_types[0]);
  const int64_t m = shape->d[shape->n - 2], n = shape->d[shape->n - 1];
  cx usv[3];
  const params thin = { .vectors = true };
  cxi_emit(CXI_PRIM_svd, r->params, 1, in, r->n_out, out);
  if (p->vectors)
    memcpy(usv, out, sizeof usv);
  else
    cxi_emit(CXI_PRIM_svd, &thin, 1, in, 3, usv);
  if (p->vectors && p->full && m != n) {
    for (int i = 0; i < 3; i++)
      dout[i] = cxi_fail(CX_ENORULE,
                         "svd: no derivative of all vectors of %s: those "
                         "beyond the lesser size are not unique (leave out "
                         ".full)",
                         cxi_show_type(r->in_types[0]).s);
    return;
  }
  const cx s = usv[0], u = usv[1], v = cxi_matrix_transpose(usv[2]), da = dx[0];
  const cx dav = cxi_matrix_product(da, v);
  const cx z = cxi_matrix_product(cxi_matrix_transpose(u), dav);
  dout[0] = cxi_matrix_diagonal(z);
  if (!p->vectors || !cxi_given(z)) {
    for (uint32_t i = 1; i < r->n_out; i++) dout[i] = z;
    return;
  }
  const cx column = cxi_columns_of(s, z), row = cxi_rows_of(s, z);
  const cx f = reciprocal_off_diagonal(
      cxi_mul(cxi_add(column, row), cxi_sub(column, row)));
  const cx zs = cxi_mul(column, z), sz = cxi_mul(row, z);
  cx du =
      cxi_matrix_product(u, cxi_mul(f, cxi_add(zs, cxi_matrix_transpose(zs))));
  cx dv =
      cxi_matrix_product(v, cxi_mul(f, cxi_add(sz, cxi_matrix_transpose(sz))));
  const cx divisor = without_zeros(s);
  if (m > n) du = cxi_add(du, outside(u, dav, divisor));
  if (n > m)
    dv = cxi_add(dv, outside(v, cxi_matrix_product(cxi_matrix_transpose(da), u),
                             divisor));
  dout[1] = du;
  dout[2] = cxi_matrix_transpose(dv);
}

/* Columns of u, of a tall (p, q); without vectors there is none. */
static int64_t columns_of_u(const params *p, int64_t tall, int64_t least) {
  return !p->vectors ? 0 : p->full ? tall : least;
}

/* Where the parts of an svd lie in `work`, for a tall (p, q). */
typedef struct parts {
  int64_t p, q;
  double *a, *tau, *r, *jt, *u, *room; /* a and u transposed */
} parts;

static parts parts_at(double *work, int64_t p, int64_t q, int64_t columns) {
  parts w = { .p = p, .q = q, .a = work };
  w.tau = w.a + p * q;
  w.r = w.tau + q;
  w.jt = w.r + q * q;
  w.u = w.jt + q * q;
  w.room = w.u + p * columns;
  return w;
}

/* The tall a = Q R, rows of R = J S Y': u' = (Q J)' in (columns, p), Y' in
 * w.r. */
static bool tall_svd(const parts *w, bool vectors, int64_t columns, double *s) {
  const int64_t p = w->p, q = w->q;
  cxi_linalg_now()->reflect(p, q, w->a, w->tau, NULL, w->room);
  for (int64_t i = 0; i < q; i++)
    for (int64_t j = 0; j < q; j++) {
      w->r[i * q + j] = j < i ? 0 : w->a[j * p + i];
      w->jt[i * q + j] = i == j;
    }
  if (!cxi_linalg_now()->orthogonalise(q, w->r, vectors ? w->jt : NULL, s))
    return false;
  if (!vectors) return true;
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < p; i++)
      w->u[j * p + i] = i < q && j < q ? w->jt[j * q + i] : i == j;
  cxi_linalg_now()->apply_reflectors(p, q, w->a, w->tau, columns, w->u, false,
                                     w->room);
  return true;
}

static void run_svd(const void *rule, const cxi_block *in, const cxi_block *out,
                    double *work) {
  const params *p = rule;
  const int64_t m = in->m, n = in->n;
  const bool wide = m < n;
  const int64_t tall = wide ? n : m, least = wide ? m : n;
  const int64_t columns = columns_of_u(p, tall, least);
  const parts w = parts_at(work, tall, least, columns);
  if (wide)
    memcpy(w.a, in->at, (size_t)(m * n) * sizeof(double));
  else
    cxi_linalg_now()->transpose(m, n, in->at, w.a);
  const double scale = scale_down(m * n, w.a);
  if (isnan(scale) || !tall_svd(&w, p->vectors, columns, out[0].at)) {
    fill(out, p->vectors ? 3 : 1, NAN);
    return;
  }
  for (int64_t i = 0; i < w.q; i++) out[0].at[i] *= scale;
  if (!p->vectors) return;
  if (wide) { /* a' = u s y', so a = y s u' */
    cxi_linalg_now()->transpose(w.q, w.q, w.r, out[1].at);
    memcpy(out[2].at, w.u, (size_t)(w.p * columns) * sizeof(double));
  } else {
    cxi_linalg_now()->transpose(columns, w.p, w.u, out[1].at);
    memcpy(out[2].at, w.r, (size_t)(w.q * w.q) * sizeof(double));
  }
}

static bool evaluate_svd(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  return cxi_evaluate_blocks(e, in, out, 2, run_svd);
}

static int64_t workspace_svd(const cxi_eval *e, const cxi_view *in,
                             const cxi_view *out) {
  const params *p = e->params;
  const cx_dims *s = &in->type.shape;
  const int64_t m = s->d[s->n - 2], n = s->d[s->n - 1];
  const int64_t tall = m > n ? m : n, least = m > n ? n : m;
  const int64_t columns = columns_of_u(p, tall, least);
  int64_t work = cxi_size_mul(m, n);
  work = cxi_size_add(work, cxi_size_mul(2, cxi_size_mul(least, least)));
  work = cxi_size_add(work, cxi_size_mul(tall, columns));
  work = cxi_size_add(work, least);
  work = cxi_size_add(work, cxi_reflect_work(tall, least, columns));
  return cxi_blocks_workspace(e, in, out, 2, work);
}

static const char *const examples_svd[] = {
  "program @main(%0: f32[2,2]) { %1: f32[2], %2: f32[2,2], %3: f32[2,2] = "
  "svd[full=true, vectors=true] %0 return %1, %2, %3 }",
  "program @main(%0: f32[3,2]) { %1: f32[2], %2: f32[3,2], %3: f32[2,2] = "
  "svd[full=false, vectors=true] %0 return %1, %2, %3 }",
  "program @main(%0: f64[2,2,3]) { %1: f64[2,2], %2: f64[2,2,2], "
  "%3: f64[2,2,3] = svd[full=false, vectors=true] %0 return %1, %2, %3 }",
  "program @main(%0: f64[3,3]) { %1: f64[3] = svd[full=false, vectors=false] "
  "%0 return %1 }",
  "program @main(%0: bf16[3,2]) { %1: bf16[2], %2: bf16[3,3], %3: bf16[2,2] = "
  "svd[full=true, vectors=true] %0 return %1, %2, %3 }",
  "program @main(%0: f16[2,3]) { %1: f16[2], %2: f16[2,2], %3: f16[3,3] = "
  "svd[full=true, vectors=true] %0 return %1, %2, %3 }",
  "program @main(%0: f32[0,2]) { %1: f32[0], %2: f32[0,0], %3: f32[0,2] = "
  "svd[full=false, vectors=true] %0 return %1, %2, %3 }",
  NULL
};

const cxi_row cxi_row_svd = {
  .prim = CXI_PRIM_svd,
  .form = CXI_FORM_PRODUCT,
  .formula = "s, u, vt with u diag(s) vt = a: orthonormal, s descending",
  .infer = infer_svd,
  .jvp = jvp_svd,
  .jvp_emits = true,
  .batch = cxi_batch_linalg,
  .evaluate = evaluate_svd,
  .workspace = workspace_svd,
  .no_transpose = "not linear",
  .examples = examples_svd,
};
