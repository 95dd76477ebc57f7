/* linalg.c - factorisations and what follows from one: systems, inverses,
 * determinants. */
#include "calx/linalg.h"

#include "ops/matrix.h"
#include "ops/ops.h"
#include "ops/linalg.h"

bool cxi_matrices(const char *op, cx *a, bool square, cx *out_poison) {
  if (!cxi_operand(op, a, out_poison)) return false;
  const cx_dims s = cxi_shape_at(*a);
  if (!cxi_dtype_is_float(cxi_dtype_at(*a)))
    *out_poison = cxi_fail(CX_EDTYPE, "%s: needs a floating dtype, got %s", op,
                           cxi_shown_of(*a).text);
  else if (s.n < 2)
    *out_poison =
        cxi_fail(CX_ESHAPE, "%s: needs a matrix in the last two axes, got %s",
                 op, cxi_shown_of(*a).text);
  else if (square && s.d[s.n - 1] != s.d[s.n - 2])
    *out_poison = cxi_fail(CX_ESHAPE, "%s: needs square matrices, got %s", op,
                           cxi_shown_of(*a).text);
  else
    return true;
  return false;
}

static int64_t rows_of(cx a) {
  const cx_dims s = cxi_shape_at(a);
  return s.d[s.n - 2];
}
static cx_dims axis_from_end(cx a, int i) {
  return cxi_dims_range(cxi_rank_at(a) - i, cxi_rank_at(a) - i + 1);
}
/* (a + a') / 2; where that sum leaves the range, a / 2 + a' / 2. */
static cx symmetric_part(cx a) {
  const cx t = cxi_matrix_transpose(a);
  const cx mean = cxi_scale(cxi_add(a, t), 0.5);
  const cx halves = cxi_add(cxi_scale(a, 0.5), cxi_scale(t, 0.5));
  return cxi_select(cxi_unary(CXI_PRIM_is_finite, mean), halves, mean);
}

/* -- factorisations ------------------------------------------------------- */

cx cx_cholesky_(cx a, cx_factor_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("cholesky", &a, true, &poison))
    return cxi_leave(before, poison);
  const cx l = cxi_cholesky_of(symmetric_part(a));
  return cxi_leave(before, opt.upper ? cxi_matrix_transpose(l) : l);
}

cx cx_lu_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx out[3];
  if (!cxi_matrices("lu", &a, false, &out[0])) return cxi_leave(before, out[0]);
  cxi_lu_of(a, out);
  return cxi_leave(before, cx_tuple_(3, out, NULL));
}

cx cx_lu_pivots_to_permutation_(cx pivots, int64_t n, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_lu_pivots_to_permutation_params p = { .size = n };
  cx poison;
  if (!cxi_operand("lu_pivots_to_permutation", &pivots, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(
      before, cxi_emit1(CXI_PRIM_lu_pivots_to_permutation, &p, 1, &pivots));
}

cx cx_qr_(cx a, cx_factor_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx out[3];
  if (!cxi_matrices("qr", &a, false, &out[0])) return cxi_leave(before, out[0]);
  cxi_qr_of(a, opt.full, opt.pivoting, out);
  return cxi_leave(before, cx_tuple_(opt.pivoting ? 3 : 2, out, NULL));
}

cx cx_eigh_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx out[2];
  if (!cxi_matrices("eigh", &a, true, &out[0]))
    return cxi_leave(before, out[0]);
  cxi_eigh_of(symmetric_part(a), true, out);
  return cxi_leave(before, cx_tuple_(2, (cx[]){ out[1], out[0] }, NULL));
}

cx cx_eigvalsh_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx out[2];
  if (!cxi_matrices("eigvalsh", &a, true, &out[0]))
    return cxi_leave(before, out[0]);
  cxi_eigh_of(symmetric_part(a), true, out);
  return cxi_leave(before, out[1]);
}

cx cx_svd_(cx a, cx_factor_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx out[3];
  if (!cxi_matrices("svd", &a, false, &out[0]))
    return cxi_leave(before, out[0]);
  cxi_svd_of(a, opt.full, out);
  return cxi_leave(before,
                   cx_tuple_(3, (cx[]){ out[1], out[0], out[2] }, NULL));
}

cx cx_svdvals_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("svdvals", &a, false, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_singular_values(a));
}

/* -- systems -------------------------------------------------------------- */

bool cxi_system(const char *op, const cx *two, bool square, bool right, cx *a,
                cx *b, bool *column, cx *out_poison) {
  cx ab[2];
  if (!cxi_list_given(op, 2, two, out_poison)) return false;
  ab[0] = two[0], ab[1] = two[1];
  if (!cxi_promote(op, 2, ab, out_poison) ||
      !cxi_matrices(op, &ab[0], square, out_poison))
    return false;
  const cx_dims s = cxi_shape_at(ab[0]), t = cxi_shape_at(ab[1]);
  *column = s.n == 2 && t.n == 1;
  *a = ab[0];
  *b = *column ? cxi_expand_dims(ab[1],
                                 cxi_dims_range(right ? 0 : 1, right ? 1 : 2))
               : ab[1];
  const cx_dims u = cxi_shape_at(*b);
  bool fits = u.n == s.n && cxi_given(*b);
  for (int i = 0; fits && i < s.n - 2; i++) fits = u.d[i] == s.d[i];
  fits = fits && u.d[u.n - (right ? 1 : 2)] == s.d[s.n - 2];
  if (fits) return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: %s does not go with %s: want %s", op,
                         cxi_shown_of(ab[1]).text, cxi_shown_of(ab[0]).text,
                         right ? "(..., k, n) for (..., n, n)"
                               : "(..., m, k), or (m), for (..., m, n)");
  return false;
}

cx cx_solve_triangular_(const cx *two, cx_triangular_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_triangular_solve_params p = { .left = !opt.right,
                                          .lower = opt.lower,
                                          .transpose = opt.transpose,
                                          .unit = opt.unit };
  cx a, b, poison;
  bool column;
  if (!cxi_system("solve_triangular", two, true, opt.right, &a, &b, &column,
                  &poison))
    return cxi_leave(before, poison);
  const cx x = cxi_triangular_solve(a, b, &p);
  return cxi_leave(
      before, column ? cxi_squeeze(x, axis_from_end(x, opt.right ? 2 : 1)) : x);
}

cx cx_solve_(const cx *two, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx a, b, lu[3], poison;
  bool column;
  if (!cxi_system("solve", two, true, false, &a, &b, &column, &poison))
    return cxi_leave(before, poison);
  cxi_lu_of(a, lu);
  const cx x = cxi_solve_by_lu(lu, b);
  return cxi_leave(before, column ? cxi_squeeze(x, axis_from_end(x, 1)) : x);
}

static cx inverse(cx a) {
  cx lu[3];
  cxi_lu_of(a, lu);
  return cxi_solve_by_lu(lu, cxi_identity_like(a));
}

cx cx_inv_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("inv", &a, true, &poison)) return cxi_leave(before, poison);
  return cxi_leave(before, inverse(a));
}

/* -- determinants --------------------------------------------------------- */

/* Up to 3 rows by the definition, beyond by its own primitive. */
static cx determinant(cx a) {
  cx out[3];
  if (rows_of(a) <= 3) return cxi_small_determinant(a);
  cxi_emit(CXI_PRIM_det, NULL, 1, &a, 3, out);
  return out[0];
}

cx cx_det_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("det", &a, true, &poison)) return cxi_leave(before, poison);
  return cxi_leave(before, determinant(a));
}

cx cx_slogdet_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx lu[3], poison;
  if (!cxi_matrices("slogdet", &a, true, &poison))
    return cxi_leave(before, poison);
  cxi_lu_of(a, lu);
  const cx diagonal = cxi_matrix_diagonal(lu[0]);
  const cx_dims last = axis_from_end(diagonal, 1);
  const cx signs = cxi_reduce(CXI_PRIM_reduce_prod,
                              cxi_unary(CXI_PRIM_sign, diagonal), last);
  const cx logs = cxi_unary(CXI_PRIM_log, cxi_unary(CXI_PRIM_abs, diagonal));
  const cx both[2] = { cxi_mul(cxi_parity(lu[1], cxi_dtype_at(a)), signs),
                       cxi_reduce_sum(logs, last) };
  return cxi_leave(before, cx_tuple_(2, both, NULL));
}

/* By squaring: the bits of n from the lowest. */
cx cx_matrix_power_(cx a, int64_t n, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("matrix_power", &a, true, &poison))
    return cxi_leave(before, poison);
  if (n < 0) a = inverse(a);
  uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
  if (left == 0) return cxi_leave(before, cxi_identity_like(a));
  cx power = cx_none();
  for (; cxi_given(a); a = cxi_matrix_product(a, a)) {
    if (left & 1) power = cx_is_none(power) ? a : cxi_matrix_product(power, a);
    left >>= 1;
    if (!left) break;
  }
  return cxi_leave(before, cxi_given(a) ? power : a);
}
