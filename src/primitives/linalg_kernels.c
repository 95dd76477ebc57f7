/* linalg_kernels.c - triangular systems and factorisations in plain loops over
 * rows. */
#include "primitives/linalg_kernels.h"

#include <math.h>
#include <string.h>

/* -- pieces ---------------------------------------------------------------- */

void cxi_add_scaled(int64_t n, double *y, double factor, const double *x) {
  for (int64_t i = 0; i < n; i++) y[i] += factor * x[i];
}

/* Eight lanes, joined in pairs. */
double cxi_inner(int64_t n, const double *x, const double *y) {
  double lane[8] = { 0 };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) lane[k] += x[i + k] * y[i + k];
  for (int k = 0; i < n; i++, k++) lane[k] += x[i] * y[i];
  for (int half = 4; half > 0; half /= 2)
    for (int k = 0; k < half; k++) lane[k] += lane[k + half];
  return lane[0];
}

void cxi_transpose_block(int64_t m, int64_t n, const double *from, double *to) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) to[j * m + i] = from[i * n + j];
}

static void swap_rows(int64_t n, double *x, double *y) {
  for (int64_t i = 0; i < n; i++) {
    const double t = x[i];
    x[i] = y[i], y[i] = t;
  }
}

/* Of a (m, n). */
static void swap_columns(int64_t m, int64_t n, double *a, int64_t i,
                         int64_t j) {
  for (int64_t k = 0; k < m; k++) {
    const double t = a[k * n + i];
    a[k * n + i] = a[k * n + j], a[k * n + j] = t;
  }
}

/* -- Cholesky -------------------------------------------------------------- */

/* By rows of the upper factor u = l': each row, when it is done, is taken from
 * those below it. */
void cxi_cholesky(int64_t n, const double *a, double *l, double *work) {
  double *u = work;
  cxi_transpose_block(n, n, a, u);
  bool positive = true;
  for (int64_t k = 0; k < n && positive; k++) {
    double *row = u + k * n;
    positive = row[k] > 0;
    if (!positive) break;
    const double root = sqrt(row[k]);
    row[k] = root;
    for (int64_t j = k + 1; j < n; j++) row[j] /= root;
    for (int64_t i = k + 1; i < n; i++)
      cxi_add_scaled(n - i, u + i * n + i, -row[i], row + i);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      l[i * n + j] = j > i ? 0 : positive ? u[j * n + i] : NAN;
}

/* -- triangular systems ---------------------------------------------------- */

void cxi_solve_triangle(const cxi_triangle_of *t, int64_t columns, double *x) {
  const int64_t n = t->n;
  const bool forward = t->lower != t->transpose;
  for (int64_t step = 0; step < n; step++) {
    const int64_t i = forward ? step : n - 1 - step;
    double *row = x + i * columns;
    for (int64_t before = 0; before < step; before++) {
      const int64_t k = forward ? before : n - 1 - before;
      const double factor = t->transpose ? t->a[k * n + i] : t->a[i * n + k];
      cxi_add_scaled(columns, row, -factor, x + k * columns);
    }
    if (t->unit) continue;
    const double diagonal = t->a[i * n + i];
    for (int64_t j = 0; j < columns; j++) row[j] /= diagonal;
  }
}

/* -- LU -------------------------------------------------------------------- */

static int64_t greatest_below(int64_t m, int64_t n, const double *a,
                              int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < m; i++)
    if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
  return best;
}

void cxi_lu(int64_t m, int64_t n, double *a, double *pivot) {
  for (int64_t k = 0; k < m && k < n; k++) {
    const int64_t p = greatest_below(m, n, a, k);
    double *row = a + k * n;
    pivot[k] = (double)p;
    if (p != k) swap_rows(n, row, a + p * n);
    /* A column of zeros has nothing to eliminate. */
    for (int64_t i = k + 1; i < m && row[k] != 0; i++) {
      double *below = a + i * n;
      below[k] /= row[k];
      cxi_add_scaled(n - k - 1, below + k + 1, -below[k], row + k + 1);
    }
  }
}

void cxi_permute(int64_t m, int64_t n, const double *pivot, double *perm) {
  for (int64_t i = 0; i < m; i++) perm[i] = (double)i;
  for (int64_t k = 0; k < n && k < m; k++) {
    const int64_t p = (int64_t)pivot[k];
    if (p < 0 || p >= m) continue;
    const double t = perm[k];
    perm[k] = perm[p], perm[p] = t;
  }
}

/* -- determinant ----------------------------------------------------------- */

/* The greatest of the rows and columns from k on; a NaN is greater. */
static void greatest_of(int64_t n, const double *a, int64_t k, int64_t *out_i,
                        int64_t *out_j) {
  double most = fabs(a[k * n + k]);
  *out_i = *out_j = k;
  for (int64_t i = k; i < n; i++)
    for (int64_t j = k; j < n; j++) {
      const double size = fabs(a[i * n + j]);
      if (size <= most || isnan(most)) continue;
      most = size, *out_i = i, *out_j = j;
    }
}

double cxi_determinant(int64_t n, double *a, double *rows, double *columns) {
  double product = 1;
  bool odd = false;
  for (int64_t i = 0; i < n; i++) rows[i] = columns[i] = (double)i;
  for (int64_t k = 0; k < n; k++) {
    int64_t i, j;
    greatest_of(n, a, k, &i, &j);
    if (i != k) swap_rows(n, a + i * n, a + k * n);
    if (i != k) swap_rows(1, rows + i, rows + k);
    if (j != k) swap_columns(n, n, a, j, k);
    if (j != k) swap_rows(1, columns + j, columns + k);
    odd = odd != ((i != k) != (j != k));
    const double *row = a + k * n;
    product *= row[k];
    if (row[k] == 0) break; /* so is all that is left */
    for (i = k + 1; i < n; i++) {
      double *below = a + i * n;
      cxi_add_scaled(n - k - 1, below + k + 1, -(below[k] / row[k]),
                     row + k + 1);
    }
  }
  if (odd) swap_rows(1, columns + n - 2, columns + n - 1);
  return odd ? -product : product;
}

/* -- QR -------------------------------------------------------------------- */

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
    cxi_add_scaled(c, work, v[i * stride], q + i * row);
  for (int64_t i = 0; i < m; i++)
    cxi_add_scaled(c, q + i * row, i ? -tau * v[i * stride] : -tau, work);
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

void cxi_reflect(int64_t m, int64_t n, double *a, double *tau, double *order,
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

void cxi_apply_reflectors(int64_t m, int64_t n, const double *a,
                          const double *tau, int64_t c, double *q,
                          double *work) {
  for (int64_t k = (m < n ? m : n) - 1; k >= 0; k--)
    apply_reflector(m - k, a + k * n + k, n, tau[k], c, q + k * c, c, work);
}
