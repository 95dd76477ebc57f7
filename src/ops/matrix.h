/* matrix.h - operations on the matrices in the last two axes.
 *
 * Without promotion and broadcasting, as those of lax.h, for rules and
 * compositions. */
#ifndef CXI_MATRIX_H
#define CXI_MATRIX_H

#include "ops/lax.h"

cx cxi_matrix_transpose(cx a);
cx cxi_matrix_product(cx a, cx b); /* equal batch axes */
cx cxi_matrix_diagonal(cx a);      /* (..., k, k) -> (..., k) */
/* The vector s (..., k) beside a matrix like `a` (..., k, k): s[i] in row i,
 * or s[j] in column j. */
cx cxi_rows_of(cx s, cx a);
cx cxi_columns_of(cx s, cx a);
cx cxi_identity_like(cx a); /* of a's type (..., k, k) */
/* The symmetric matrix with a's lower or upper triangle. */
cx cxi_symmetric(cx a, bool lower);

/* The factorisations; out: as many as the primitive has results. */
cx cxi_cholesky_of(cx a);
cx cxi_triangular_solve(cx a, cx b, const cxi_triangular_solve_params *params);
void cxi_lu_of(cx a, cx out[3]); /* lu, pivots, permutation */
/* q, r, and with pivoting the order of the columns */
void cxi_qr_of(cx a, bool full, bool pivoting, cx out[3]);
void cxi_eigh_of(cx a, bool lower, cx out[2]); /* v, w */
void cxi_svd_of(cx a, bool full, cx out[3]);   /* s, u, vt */
cx cxi_singular_values(cx a);
/* The rows of x (..., m, n) in the order perm i32 (..., k). */
cx cxi_permuted_rows(cx x, cx perm);
/* a^-1 b by the factors of cxi_lu_of(a). */
cx cxi_solve_by_lu(const cx lu[3], cx b);
/* -1 for an odd number of exchanges, of the pivots' batch. */
cx cxi_parity(cx pivots, cx_dtype type);
/* Of a (..., n, n), n up to 3, by the definition: a polynomial. */
cx cxi_small_determinant(cx a);

#endif
