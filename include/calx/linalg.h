/* linalg.h - linear algebra. */
#ifndef CALX_LINALG_H
#define CALX_LINALG_H

#include "calx/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 22. Linear algebra ------------------------------------------------------
 * Matrices stand in the last two axes, (..., m, n); the axes before them are a
 * batch. Floating dtypes: all compute in f64 and round once. All have
 * derivatives, of any order where the result is smooth.
 *   CX_ESHAPE: less than two axes, not square where it must be, sizes that do
 *   not fit. CX_EDTYPE: not floating, or dtypes that differ.
 * Singular or indefinite matrices and what is not finite give infinities and
 * NaN, as in JAX, not errors.
 */
#define CX_LA(fn, T, a, ...) fn(CX_A(a), CX_OPT(T, __VA_ARGS__), CX_AT)

typedef struct cx_triangular_opt {
  CX_OPTIONS;
  bool lower;              /* a's lower triangle is read; else its upper one */
  bool transpose;          /* a transposed in a's place */
  bool unit;               /* ones for a's diagonal, which is not read */
  bool right;              /* x a = b instead of a x = b */
} cx_triangular_opt;
typedef struct cx_factor_opt {
  CX_OPTIONS;
  bool full;               /* qr, svd: square q, u and vt */
  bool upper;              /* cholesky: the upper factor */
  bool pivoting;           /* qr: a third result, the order of the columns */
} cx_factor_opt;
typedef struct cx_expm_opt {
  CX_OPTIONS;
  int max_squarings;       /* 0: 16; a matrix that needs more is NaN */
} cx_expm_opt;
typedef struct cx_rank_opt {
  CX_OPTIONS;
  double rtol;             /* times the greatest singular value; 0: the dtype's
                              epsilon times the greater size */
} cx_rank_opt;

/* cx_cholesky(a): l (..., n, n), zeros above the diagonal, l l' = (a + a') / 2;
 * NaN unless that is positive definite. .upper: l'. */
#define cx_cholesky(...) CX_LA(cx_cholesky_, cx_factor_opt, __VA_ARGS__, )
/* cx_solve_triangular(a, b, .lower = true): x of a x = b; b (..., n, k), or (n)
 * if a is (n, n). */
#define cx_solve_triangular(...) \
  CX_AB(cx_solve_triangular_, cx_triangular_opt, __VA_ARGS__, )
/* cx_lu(a): a tuple (lu, pivots, permutation): l below the diagonal of lu, with
 * ones on it, u on and above it; l u = a's rows in the order of permutation
 * (..., m); row k was exchanged with row pivots[k]. Both are i32. */
#define cx_lu(a) cx_lu_(CX_A(a), CX_AT)
/* 0..n-1 after the exchanges of pivots i32 (..., k): i32 (..., n). */
#define cx_lu_pivots_to_permutation(pivots, n) \
  cx_lu_pivots_to_permutation_(CX_A(pivots), (n), CX_AT)
/* cx_qr(a): a tuple (q, r), q (..., m, k) with orthonormal columns and r (..., k,
 * n) upper triangular, k = min(m, n), q r = a; .full: k = m. .pivoting: a third
 * result p, i32 (..., n); q r = a's columns in that order, in which |r[i][i]|
 * falls. */
#define cx_qr(...) CX_LA(cx_qr_, cx_factor_opt, __VA_ARGS__, )
/* cx_eigh(a): a tuple (w, v) with s v = v diag(w) for s = (a + a') / 2: w (...,
 * n) ascending, v (..., n, n) with orthonormal columns. cx_eigvalsh: w alone,
 * whose derivative is finite for equal eigenvalues too. */
#define cx_eigh(a) cx_eigh_(CX_A(a), CX_AT)
#define cx_eigvalsh(a) cx_eigvalsh_(CX_A(a), CX_AT)
/* cx_svd(a): a tuple (u, s, vt) with u diag(s) vt = a: s (..., k) descending, u
 * (..., m, k), vt (..., k, n), k = min(m, n); .full: u (..., m, m), vt (..., n,
 * n). cx_svdvals: s alone. */
#define cx_svd(...) CX_LA(cx_svd_, cx_factor_opt, __VA_ARGS__, )
#define cx_svdvals(a) cx_svdvals_(CX_A(a), CX_AT)
CX_API CX_USED cx cx_cholesky_(cx a, cx_factor_opt opt, const char *at);
CX_API CX_USED cx cx_solve_triangular_(const cx *two, cx_triangular_opt opt,
                                      const char *at);
CX_API CX_USED cx cx_lu_(cx a, const char *at);
CX_API CX_USED cx cx_lu_pivots_to_permutation_(cx pivots, int64_t n,
                                              const char *at);
CX_API CX_USED cx cx_qr_(cx a, cx_factor_opt opt, const char *at);
CX_API CX_USED cx cx_eigh_(cx a, const char *at);
CX_API CX_USED cx cx_eigvalsh_(cx a, const char *at);
CX_API CX_USED cx cx_svd_(cx a, cx_factor_opt opt, const char *at);
CX_API CX_USED cx cx_svdvals_(cx a, const char *at);

/* x of a x = b by LU: a (..., n, n), b (..., n, k), or (n) if a is (n, n). */
#define cx_solve(a, b) \
  cx_solve_((const struct cx[]){ CX_A(a), CX_A(b) }, CX_AT)
/* cx_cho_solve(l, b), of l l' x = b; .upper: of l' l x = b. */
#define cx_cho_solve(...) CX_AB(cx_cho_solve_, cx_factor_opt, __VA_ARGS__, )
/* cx_lu_solve(cx_lu(a), b), of a x = b; .transpose: of a' x = b. */
#define cx_lu_solve(...) CX_AB(cx_lu_solve_, cx_triangular_opt, __VA_ARGS__, )
#define cx_inv(a) cx_inv_(CX_A(a), CX_AT)
/* Its gradient is that of a polynomial, at singular matrices too; so are its
 * derivatives up to the third. */
#define cx_det(a) cx_det_(CX_A(a), CX_AT)
/* A tuple (sign, log |det|); (0, -inf) of a singular matrix. */
#define cx_slogdet(a) cx_slogdet_(CX_A(a), CX_AT)
/* a a ... a, n times; of the inverse for n < 0; the identity for 0. */
#define cx_matrix_power(a, n) cx_matrix_power_(CX_A(a), (n), CX_AT)
/* cx_expm(a): I + a + a a / 2 + ... by scaling and squaring. Higham 2005. */
#define cx_expm(...) CX_LA(cx_expm_, cx_expm_opt, __VA_ARGS__, )
/* The pseudoinverse; singular values up to .rtol count as 0. Differentiated as
 * if the rank stayed. */
#define cx_pinv(...) CX_LA(cx_pinv_, cx_rank_opt, __VA_ARGS__, )
/* The number of singular values beyond .rtol, i32. */
#define cx_matrix_rank(...) CX_LA(cx_matrix_rank_, cx_rank_opt, __VA_ARGS__, )
/* cx_lstsq(a, b): a tuple (x, residuals, rank, s): the least x that makes |a x -
 * b| least, the squares of those norms (..., k), a's rank and singular
 * values. b: as for cx_solve. */
#define cx_lstsq(...) CX_AB(cx_lstsq_, cx_rank_opt, __VA_ARGS__, )
typedef enum cx_norm_order {
  CX_NORM_FROBENIUS = 1,   /* sqrt(sum a a) */
  CX_NORM_NUCLEAR,         /* the sum of the singular values */
  CX_NORM_1, CX_NORM_MINUS_1,     /* the greatest, least sum |a| of a column */
  CX_NORM_INF, CX_NORM_MINUS_INF, /* ... of a row */
  CX_NORM_2, CX_NORM_MINUS_2      /* the greatest, least singular value */
} cx_norm_order;
/* A norm of each matrix; of vectors: cx_norm. */
#define cx_matrix_norm(a, order) cx_matrix_norm_(CX_A(a), (order), CX_AT)
/* The condition |a| |a^-1|, with CX_NORM_2 and CX_NORM_MINUS_2 of any shape; inf
 * of a singular matrix. */
#define cx_matrix_cond(a, order) cx_matrix_cond_(CX_A(a), (order), CX_AT)
/* x with x . a the identity of the first `ind` axes: those are the last of x. */
#define cx_tensorinv(a, ind) cx_tensorinv_(CX_A(a), (ind), CX_AT)
/* x of a . x = b: a has b's axes, then those of x. */
#define cx_tensorsolve(a, b) \
  cx_tensorsolve_((const struct cx[]){ CX_A(a), CX_A(b) }, CX_AT)
/* cx_multi_dot(a, b, c): the product in the order that costs least; the first
 * may be a row (n), the last a column (n). */
#define cx_multi_dot(...) cx_multi_dot_(CX_AS(__VA_ARGS__), CX_AT)
/* (..., k), the elements a[i][i + offset]; of any dtype. Their sum. */
#define cx_diagonal(a, offset) cx_diagonal_(CX_A(a), (offset), CX_AT)
#define cx_matrix_trace(a) cx_matrix_trace_(CX_A(a), CX_AT)
/* (..., n) to (..., n, n) with these elements on the diagonal, else zeros. */
#define cx_diag(v) cx_diag_(CX_A(v), CX_AT)
/* Of any dtype. Every element of a times b, up to 4 axes. */
#define cx_kron(a, b) \
  cx_kron_((const struct cx[]){ CX_A(a), CX_A(b) }, CX_AT)
/* cx_block_diag(a, b, ...): matrices down the diagonal, zeros around; a vector
 * is a row. */
#define cx_block_diag(...) cx_block_diag_(CX_AS(__VA_ARGS__), CX_AT)
/* (m, n) with the first column c (m) and row r (n), constant along diagonals;
 * r[0] is not read. */
#define cx_toeplitz(c, r) \
  cx_toeplitz_((const struct cx[]){ CX_A(c), CX_A(r) }, CX_AT)
/* (m, n) of x (m): x^(n-1), ..., x, 1 in each row; increasing: 1, x, ... */
#define cx_vander(x, n, increasing) \
  cx_vander_(CX_A(x), (n), (increasing), CX_AT)
CX_API CX_USED cx cx_solve_(const cx *two, const char *at);
CX_API CX_USED cx cx_cho_solve_(const cx *two, cx_factor_opt opt,
                               const char *at);
CX_API CX_USED cx cx_lu_solve_(const cx *two, cx_triangular_opt opt,
                              const char *at);
CX_API CX_USED cx cx_expm_(cx a, cx_expm_opt opt, const char *at);
CX_API CX_USED cx cx_inv_(cx a, const char *at);
CX_API CX_USED cx cx_det_(cx a, const char *at);
CX_API CX_USED cx cx_slogdet_(cx a, const char *at);
CX_API CX_USED cx cx_matrix_power_(cx a, int64_t n, const char *at);
CX_API CX_USED cx cx_pinv_(cx a, cx_rank_opt opt, const char *at);
CX_API CX_USED cx cx_matrix_rank_(cx a, cx_rank_opt opt, const char *at);
CX_API CX_USED cx cx_lstsq_(const cx *two, cx_rank_opt opt, const char *at);
CX_API CX_USED cx cx_matrix_norm_(cx a, cx_norm_order order, const char *at);
CX_API CX_USED cx cx_matrix_cond_(cx a, cx_norm_order order, const char *at);
CX_API CX_USED cx cx_tensorinv_(cx a, int ind, const char *at);
CX_API CX_USED cx cx_tensorsolve_(const cx *two, const char *at);
CX_API CX_USED cx cx_kron_(const cx *two, const char *at);
CX_API CX_USED cx cx_block_diag_(int n, const cx *operands, const char *at);
CX_API CX_USED cx cx_toeplitz_(const cx *two, const char *at);
CX_API CX_USED cx cx_vander_(cx x, int64_t n, bool increasing, const char *at);
CX_API CX_USED cx cx_multi_dot_(int n, const cx *operands, const char *at);
CX_API CX_USED cx cx_diagonal_(cx a, int64_t offset, const char *at);
CX_API CX_USED cx cx_matrix_trace_(cx a, const char *at);
CX_API CX_USED cx cx_diag_(cx v, const char *at);

#ifdef __cplusplus
}
#endif
#endif
