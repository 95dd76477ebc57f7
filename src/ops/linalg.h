/* linalg.h - how the operations of linear algebra read their operands. */
#ifndef CXI_OPS_LINALG_H
#define CXI_OPS_LINALG_H

#include "ops/lax.h"

/* Whether *a is an array (..., m, n), floating, square if it must be; a weak
 * number becomes an array. False with *out_poison. */
bool cxi_matrices(const char *op, cx *a, bool square, cx *out_poison);
/* The two of a x = b (right: x a = b): a (..., m, n) and b (..., m, k); a vector
 * b becomes a matrix, *column. */
bool cxi_system(const char *op, const cx *two, bool square, bool right, cx *a,
                cx *b, bool *column, cx *out_poison);
/* The pseudoinverse from singular values and vectors. */
cx cxi_pinv_by_svd(cx a, double rtol);

#endif
