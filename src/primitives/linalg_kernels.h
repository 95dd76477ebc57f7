/* linalg_kernels.h - factorisations of one matrix of f64 in rows.
 *
 * Sizes may be 0. Each element is made by one order of operations that the
 * sizes fix; what is not finite passes through or makes NaN. The files of
 * linalg_kernels/ are compiled once per instruction set: the same bits. */
#ifndef CXI_LINALG_KERNELS_H
#define CXI_LINALG_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* op(a) x = b in place, x (n, columns); op: a or a transposed. */
typedef struct cxi_triangle_of {
  int64_t n;
  const double *a;
  bool lower, transpose, unit;
} cxi_triangle_of;

enum { CXI_LU_PANEL = 16, CXI_REFLECT_PANEL = 16 }; /* columns */
enum { CXI_REFLECT_FEW = 32 }; /* reflectors that are applied one by one */

typedef struct cxi_linalg_kernels {
  /* (m, n) to (n, m). */
  void (*transpose)(int64_t m, int64_t n, const double *from, double *to);

  /* l = the factor of a's lower triangle, zeros above; all NaN there and below
   * unless a is positive definite. l and a may not overlap; work: n n. */
  void (*cholesky)(int64_t n, const double *a, double *l, double *work);
  void (*solve_triangle)(const cxi_triangle_of *t, int64_t columns, double *x);

  /* a (m, n) becomes its factors; pivot[k] is the row exchanged with row k <
   * min(m, n), the first of the greatest. work: m CXI_LU_PANEL, unless n is at
   * most that. */
  void (*lu)(int64_t m, int64_t n, double *a, double *pivot, double *work);
  /* perm[0..m-1] = 0, 1, ... after the exchanges of n pivots. */
  void (*permute)(int64_t m, int64_t n, const double *pivot, double *perm);

  /* The determinant of a (n, n), which is destroyed, by elimination with
   * complete pivoting. rows, columns (n): orders, even together, in which the
   * leading blocks of a are as far from singular as they can be. */
  double (*determinant)(int64_t n, double *a, double *rows, double *columns);

  /* Householder, of a (m, n) given as a' (n, m): its columns become those of
   * R, with the reflectors below its diagonal and their factors in
   * tau[0..min(m,n)-1]. As in LAPACK, a column that has nothing below the
   * diagonal is not reflected. With `order` (n), not NULL, the column that is
   * the longest from row k on comes first at each k, as order then says.
   * work: CXI_REFLECT_PANEL (2 m + 2 n + CXI_REFLECT_PANEL), unless m or n is
   * at most CXI_REFLECT_FEW. */
  void (*reflect)(int64_t m, int64_t n, double *a, double *tau, double *order,
                  double *work);
  /* q (m, c), given as q' (c, m), becomes H0 H1 ... q for the reflectors of a
   * (m, n). identity: q is the identity's first columns. work: as above, with
   * c for n. */
  void (*apply_reflectors)(int64_t m, int64_t n, const double *a,
                           const double *tau, int64_t c, double *q,
                           bool identity, double *work);

  /* The symmetric s (n, n), destroyed, = v diag(w) v', w ascending; false (and
   * nothing to be used) if it does not converge. vt: v transposed; work: 2 n. */
  bool (*eigh)(int64_t n, double *s, double *w, double *vt, double *work);

  /* Rows of r (n, n) made orthogonal by rotations, which jt (NULL, or the
   * identity) gets too; their norms, descending, in s. The rows of r become
   * orthonormal if jt is given. False if it does not converge. */
  bool (*orthogonalise)(int64_t n, double *r, double *jt, double *s);
} cxi_linalg_kernels;

/* Those of the best instruction set of this machine. */
const cxi_linalg_kernels *cxi_linalg_now(void);

#endif
