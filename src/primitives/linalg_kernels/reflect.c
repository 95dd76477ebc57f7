/* reflect.c - Householder's reflectors: QR. */
#include <math.h>
#include <string.h>

#include "primitives/linalg_kernels/rows.h"

/* The norm of n numbers `stride` apart, scaled so that no square overflows. */
static double norm_of(int64_t n, const double *x, int64_t stride) {
  double most = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double size = fabs(x[i * stride]);
    if (!(size <= most)) most = size; /* a NaN stays */
  }
  if (most == 0 || !isfinite(most)) return most;
  for (int64_t i = 0; i < n; i++) {
    const double part = x[i * stride] / most;
    sum += part * part;
  }
  return most * sqrt(sum);
}

/* H = I - tau v v' with H x = (beta, 0, ...), for x of n numbers `stride`
 * apart: x becomes (beta, v[1], v[2], ...); v[0] is 1. Returns tau. Golub & Van
 * Loan, Matrix Computations, algorithm 5.1.1, with LAPACK's sign of beta. */
static double reflector(int64_t n, double *x, int64_t stride) {
  const double rest = norm_of(n - 1, x + stride, stride);
  if (rest == 0) return 0;
  const double alpha = x[0], both[2] = { alpha, rest };
  const double beta = -copysign(norm_of(2, both, 1), alpha);
  for (int64_t i = 1; i < n; i++) x[i * stride] /= alpha - beta;
  x[0] = beta;
  return (beta - alpha) / beta;
}

/* Rows 0..m-1 of q (stride `row`, c columns) become (I - tau v v') q;
 * v[0] = 1, the others `stride` apart from v + stride on. */
static void apply_reflector(int64_t m, const double *v, int64_t stride,
                            double tau, int64_t c, double *q, int64_t row,
                            double *work) {
  if (tau == 0 || c <= 0) return;
  memcpy(work, q, (size_t)c * sizeof *q);
  for (int64_t i = 1; i < m; i++)
    add_scaled(c, work, v[i * stride], q + i * row);
  for (int64_t i = 0; i < m; i++)
    add_scaled(c, q + i * row, i ? -tau * v[i * stride] : -tau, work);
}

/* The first of the longest columns from row and column k on. */
static int64_t longest(int64_t m, int64_t n, const double *a, int64_t k) {
  int64_t best = k;
  double most = -1;
  for (int64_t j = k; j < n; j++) {
    const double size = norm_of(m - k, a + k * n + j, n);
    if (size > most) most = size, best = j;
  }
  return best;
}

static void reflect(int64_t m, int64_t n, double *a, double *tau, double *order,
                    double *work) {
  for (int64_t j = 0; order && j < n; j++) order[j] = (double)j;
  for (int64_t k = 0; k < m && k < n; k++) {
    const int64_t first = order ? longest(m, n, a, k) : k;
    if (first != k) {
      swap_columns(m, n, a, first, k);
      swap_rows(1, order + first, order + k);
    }
    double *at = a + k * n + k;
    tau[k] = reflector(m - k, at, n);
    apply_reflector(m - k, at, n, tau[k], n - k - 1, at + 1, n, work);
  }
}

static void apply_reflectors(int64_t m, int64_t n, const double *a,
                             const double *tau, int64_t c, double *q,
                             double *work) {
  for (int64_t k = (m < n ? m : n) - 1; k >= 0; k--)
    apply_reflector(m - k, a + k * n + k, n, tau[k], c, q + k * c, c, work);
}

void CXI_FOR_ISA(cxi_linalg_set_reflect)(cxi_linalg_kernels *set) {
  set->reflect = reflect;
  set->apply_reflectors = apply_reflectors;
}
