/* random_matrix.c - random vectors and matrices with a law of their own. */
#include "calx/elementwise.h"
#include "ops/axes.h"
#include "ops/matrix.h"
#include "ops/random.h"

static cx root(cx x) {
  return cxi_unary(CXI_PRIM_sqrt, x);
}

/* -- multivariate normal --------------------------------------------------- */

/* f (..., n, n) with f f' = cov */
static cx factor(cx cov, cx_normal_method method) {
  cx out[3];
  if (method == CX_BY_CHOLESKY)
    return cxi_cholesky_of(
        cxi_scale(cxi_add(cov, cxi_matrix_transpose(cov)), 0.5));
  if (method == CX_BY_EIGH) {
    cxi_eigh_of(cxi_scale(cxi_add(cov, cxi_matrix_transpose(cov)), 0.5), true,
                out);
    return cxi_mul(out[0], cxi_columns_of(root(out[1]), out[0]));
  }
  cxi_svd_of(cov, false, out);
  return cxi_mul(out[1], cxi_columns_of(root(out[0]), out[1]));
}
/* Whether mean (..., n), cov (..., n, n) and the shape fit together. */
static bool normal_fits(cx mean, cx cov, cx_dims shape) {
  const cx_dims m = cxi_shape_at(mean), c = cxi_shape_at(cov);
  if (m.n < 1 || c.n < 2 || shape.n >= CX_MAX_DIMS) return false;
  const int64_t n = m.d[m.n - 1];
  bool ok = c.d[c.n - 1] == n && c.d[c.n - 2] == n && m.n - 1 <= shape.n &&
            c.n - 2 <= shape.n;
  for (int i = 1; ok && i < m.n; i++)
    ok = m.d[m.n - 1 - i] == 1 || m.d[m.n - 1 - i] == shape.d[shape.n - i];
  for (int i = 1; ok && i < c.n - 1; i++)
    ok = c.d[c.n - 2 - i] == 1 || c.d[c.n - 2 - i] == shape.d[shape.n - i];
  return ok;
}
/* mean + f z, z (shape, n) */
static cx shifted(cx mean, cx f, cx z) {
  const cx_dims shape = cxi_shape_at(z);
  cx in[2] = { f, z };
  if (cxi_rank_at(f) > 2) {
    if (shape.n == CX_MAX_DIMS)
      return cxi_fail(CX_ESHAPE,
                      "multivariate_normal: draws %s of a batch of "
                      "covariances: at most %d axes",
                      cxi_shown_dims(shape).text, CX_MAX_DIMS - 1);
    in[0] = cxi_broadcast_to(f, cxi_dims_append(shape, shape.d[shape.n - 1]));
  }
  const cx moved = cxi_einsum(
      cxi_rank_at(f) > 2 ? "...ij,...j->...i" : "ij,...j->...i", 2, in);
  return cxi_add(cxi_broadcast_to(mean, shape), moved);
}
cx cx_multivariate_normal_(cx key, cx mean, cx cov, cx_dims shape,
                           cx_multivariate_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, in[2] = { mean, cov };
  if (!cxi_promote("multivariate_normal", 2, in, &poison))
    return cxi_leave(before, poison);
  const cx_dtype t = cxi_dtype_at(in[0]);
  if (!cxi_random_draw("multivariate_normal", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  if (!normal_fits(in[0], in[1], shape))
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "multivariate_normal: needs a mean (..., "
                                      "n) and a covariance (..., n, n) for "
                                      "draws %s, got %s and %s",
                                      cxi_shown_dims(shape).text,
                                      cxi_shown_of(in[0]).text,
                                      cxi_shown_of(in[1]).text));
  if ((unsigned)opt.method > CX_BY_SVD)
    return cxi_leave(before,
                     cxi_fail(CX_EUSER, "multivariate_normal: no method %d",
                              (int)opt.method));
  const cx_dims own = cxi_shape_at(in[0]);
  const cx z =
      cx_normal_(key, t, cxi_dims_append(shape, own.d[own.n - 1]), NULL);
  return cxi_leave(before, shifted(in[0], factor(in[1], opt.method), z));
}

/* -- orthogonal ------------------------------------------------------------ */

/* The factor q of normal numbers, with r's diagonal made positive. */
cx cx_orthogonal_(cx key, cx_dtype t, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, out[3];
  if (!cxi_random_draw("orthogonal", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  if (shape.n < 2)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "orthogonal: needs a shape (..., n, m), "
                                      "got %s",
                                      cxi_shown_dims(shape).text));
  const int64_t n = shape.d[shape.n - 2], m = shape.d[shape.n - 1];
  shape.d[shape.n - 2] = n > m ? n : m;
  shape.d[shape.n - 1] = n > m ? m : n;
  cxi_qr_of(cx_normal_(key, t, shape, NULL), false, false, out);
  const cx sign = cxi_unary(CXI_PRIM_sign, cxi_matrix_diagonal(out[1]));
  const cx q = cxi_mul(out[0], cxi_columns_of(sign, out[0]));
  return cxi_leave(before, n < m ? cxi_matrix_transpose(q) : q);
}

/* -- ball ------------------------------------------------------------------ */

/* g / (sum |g|^p + e)^(1/p), g with the density exp(-|g|^p), e exponential. */
cx cx_ball_(cx key, cx p, cx_dtype t, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, a, b;
  if (!cxi_random_draw("ball", &key, t, shape, &poison) ||
      !cxi_random_parameter("ball", p, t, CX_SCALAR, &p, &poison))
    return cxi_leave(before, poison);
  if (shape.n == 0)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "ball: needs a shape (..., d)"));
  cx_dims across = { .n = shape.n - 1 };
  for (int i = 0; i < across.n; i++) across.d[i] = i;
  const cx_dims rows = cxi_dims_without(shape, shape.n - 1);
  cx_split_(key, (cx *[]){ &a, &b, NULL }, NULL);
  const cx g = cx_draw_(CX_DRAW_GENERALIZED_NORMAL, a, 1, &p, t, shape, NULL);
  const cx e = cx_draw_(CX_DRAW_EXPONENTIAL, b, 0, NULL, t, rows, NULL);
  const cx power = cxi_binary(CXI_PRIM_pow, cxi_unary(CXI_PRIM_abs, g), p);
  const cx sum = cxi_add(cxi_reduce_sum(power, cx_dims_one_(across.n)), e);
  const cx size = cxi_binary(CXI_PRIM_pow, sum, cxi_div(cxi_number(t, 1), p));
  return cxi_leave(before,
                   cxi_div(g, cxi_broadcast_in_dim(size, shape, across)));
}
