/* linalg_pinv.c - pinv. */
#include "ops/linalg.h"
#include "primitives/expand.h"
#include "primitives/linalg.h"

static bool infer_pinv(cxi_infer *c) {
  const cxi_pinv_params *p = c->params;
  if (!cxi_infer_matrices(c, 1)) return false;
  if (!(p->rtol >= 0))
    return cxi_infer_fail(c, CX_EUSER, "rtol %g: want a number from 0 on",
                          p->rtol);
  const cx_dims *s = cxi_type_shape(c->in[0]);
  return cxi_infer_block(c, cxi_type_dtype(c->in[0]), 2, s->d[s->n - 1],
                         s->d[s->n - 2]);
}

/* I - x */
static cx complement(cx x) {
  return cxi_given(x) ? cxi_sub(cxi_identity_like(x), x) : x;
}

/* Where the rank is constant, with p the result:
 *   dp = -p da p + p p' da' (I - a p) + (I - p a) da' p' p
 * Golub & Pereyra 1973, SIAM J. Numer. Anal. 10, eq. 4.12. Unlike the vectors,
 * p is smooth where singular values are equal. */
static void jvp_pinv(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)r;
  const cx a = in[0], p = out[0], da = dx[0];
  const cx pt = cxi_matrix_transpose(p), dat = cxi_matrix_transpose(da);
  const cx beside_rows = complement(cxi_matrix_product(a, p));
  const cx beside_columns = complement(cxi_matrix_product(p, a));
  const cx inner = cxi_matrix_product(cxi_matrix_product(p, da), p);
  const cx left = cxi_matrix_product(
      cxi_matrix_product(cxi_matrix_product(p, pt), dat), beside_rows);
  const cx right = cxi_matrix_product(cxi_matrix_product(beside_columns, dat),
                                      cxi_matrix_product(pt, p));
  dout[0] = cxi_sub(cxi_add(left, right), inner);
}

static void expand_pinv(const cxi_rule *r, const cx *in, cx *out) {
  const cxi_pinv_params *p = r->params;
  out[0] = cxi_pinv_by_svd(in[0], p->rtol);
}

static const char *const examples_pinv[] = {
  "program @main(%0: f64[3,2]) { %1: f64[2,3] = pinv[rtol=0.0] %0 return %1 }",
  "program @main(%0: f64[2,2,4]) { %1: f64[2,4,2] = pinv[rtol=1e-06] %0 return "
  "%1 }",
  "program @main(%0: f32[2,2]) { %1: f32[2,2] = pinv[rtol=0.0] %0 return %1 }",
  "program @main(%0: bf16[2,3]) { %1: bf16[3,2] = pinv[rtol=0.0] %0 return %1 "
  "}",
  "program @main(%0: f16[1,2]) { %1: f16[2,1] = pinv[rtol=0.0] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_pinv = {
  .prim = CXI_PRIM_pinv,
  .form = CXI_FORM_CALL,
  .formula = "the pseudoinverse of a; singular values up to rtol times the "
             "greatest count as 0",
  .infer = infer_pinv,
  .jvp = jvp_pinv,
  .batch = cxi_batch_linalg,
  .expand = expand_pinv,
  .evaluate = cxi_evaluate_expansion,
  .no_transpose = "not linear",
  .examples = examples_pinv,
};
