/* factor.c - Cholesky, triangular systems, LU by blocks of rows, and the
 * determinant. Each element is made by one order of operations, that of plain
 * loops over rows. */
#include <math.h>

#include "primitives/linalg_kernels/rows.h"
#include "primitives/linalg_kernels/take.h"

enum {
  BLOCK = 8,           /* rows */
  PANEL = CXI_LU_PANEL /* columns */
};

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void transpose(int64_t m, int64_t n, const double *from, double *to) {
  for (int64_t i0 = 0; i0 < m; i0 += BLOCK)
    for (int64_t j0 = 0; j0 < n; j0 += BLOCK)
      for (int64_t j = j0; j < lesser(n, j0 + BLOCK); j++)
        for (int64_t i = i0; i < lesser(m, i0 + BLOCK); i++)
          to[j * m + i] = from[i * n + j];
}

/* -- Cholesky -------------------------------------------------------------- */

/* Rows k0 to k1 - 1 of u, from which those before have been taken. */
static bool factor_rows(int64_t n, double *u, int64_t k0, int64_t k1) {
  for (int64_t k = k0; k < k1; k++) {
    double *row = u + k * n;
    if (!(row[k] > 0)) return false;
    const double root = sqrt(row[k]);
    row[k] = root;
    for (int64_t j = k + 1; j < n; j++) row[j] /= root;
    for (int64_t i = k + 1; i < k1; i++)
      add_scaled(n - i, u + i * n + i, -row[i], row + i);
  }
  return true;
}

/* By rows of the upper factor u = l'. */
static void cholesky(int64_t n, const double *a, double *l, double *work) {
  double *u = work;
  transpose(n, n, a, u);
  bool positive = true;
  for (int64_t k = 0; k < n && positive; k += BLOCK) {
    const int64_t end = lesser(n, k + BLOCK);
    take_product(&(taken){ .rows = end - k,
                           .columns = n - k,
                           .k = k,
                           .a = u + k,
                           .a_row = 1,
                           .a_k = n,
                           .b = u + k,
                           .b_k = n,
                           .c = u + k * n + k,
                           .c_row = n });
    positive = factor_rows(n, u, k, end);
  }
  transpose(n, n, u, l);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i && !positive; j++) l[i * n + j] = NAN;
    for (int64_t j = i + 1; j < n; j++) l[i * n + j] = 0;
  }
}

/* -- triangular systems ---------------------------------------------------- */

/* Steps `from` to `to` - 1 of x, from which those before have been taken. */
static void solve_steps(const cxi_triangle_of *t, bool forward, int64_t columns,
                        double *x, int64_t from, int64_t to) {
  const int64_t n = t->n;
  for (int64_t step = from; step < to; step++) {
    const int64_t i = forward ? step : n - 1 - step;
    double *row = x + i * columns;
    for (int64_t before = from; before < step; before++) {
      const int64_t k = forward ? before : n - 1 - before;
      const double factor = t->transpose ? t->a[k * n + i] : t->a[i * n + k];
      add_scaled(columns, row, -factor, x + k * columns);
    }
    if (t->unit) continue;
    const double diagonal = t->a[i * n + i];
    for (int64_t j = 0; j < columns; j++) row[j] /= diagonal;
  }
}

static void solve_triangle(const cxi_triangle_of *t, int64_t columns,
                           double *x) {
  const int64_t n = t->n;
  const bool forward = t->lower != t->transpose;
  const int64_t down = t->transpose ? 1 : n, right = t->transpose ? n : 1;
  const int64_t first = forward ? 0 : n - 1, step = forward ? 1 : -1;
  for (int64_t from = 0; from < n; from += BLOCK) {
    const int64_t to = lesser(n, from + BLOCK);
    const int64_t row = forward ? from : n - to;
    take_product(&(taken){ .rows = to - from,
                           .columns = columns,
                           .k = from,
                           .a = t->a + row * down + first * right,
                           .a_row = down,
                           .a_k = step * right,
                           .b = x + first * columns,
                           .b_k = step * columns,
                           .c = x + row * columns,
                           .c_row = columns });
    solve_steps(t, forward, columns, x, from, to);
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

/* The panel (m, n) becomes its factors; false if a pivot is 0: a column of
 * zeros has nothing to eliminate. */
static bool factor_panel(int64_t m, int64_t n, double *a, double *pivot) {
  bool whole = true;
  for (int64_t k = 0; k < m && k < n; k++) {
    const int64_t p = greatest_below(m, n, a, k);
    double *row = a + k * n;
    pivot[k] = (double)p;
    if (p != k) swap_rows(n, row, a + p * n);
    if (row[k] == 0) whole = false;
    for (int64_t i = k + 1; i < m && row[k] != 0; i++) {
      double *below = a + i * n;
      below[k] /= row[k];
      add_scaled(n - k - 1, below + k + 1, -below[k], row + k + 1);
    }
  }
  return whole;
}

static void copy_panel(int64_t m, int64_t n, const double *from, int64_t step,
                       double *to, int64_t to_step) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) to[i * to_step + j] = from[i * step + j];
}

/* The columns right of a panel (m, n) at `a`: row by row, but for the pivots
 * that are 0. */
static void eliminate_rows(int64_t m, int64_t n, int64_t columns, double *a,
                           int64_t step) {
  for (int64_t k = 0; k < m && k < n; k++)
    for (int64_t i = k + 1; i < m && a[k * step + k] != 0; i++)
      add_scaled(columns, a + i * step + n, -a[i * step + k], a + k * step + n);
}

/* The same by blocks: the panel's own rows, then those below. */
static void eliminate(int64_t m, int64_t n, int64_t columns, double *a,
                      int64_t step) {
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++)
      add_scaled(columns, a + i * step + n, -a[i * step + k], a + k * step + n);
  take_product(&(taken){ .rows = m - n,
                         .columns = columns,
                         .k = n,
                         .a = a + n * step,
                         .a_row = step,
                         .a_k = 1,
                         .b = a + n,
                         .b_k = step,
                         .c = a + n * step + n,
                         .c_row = step });
}

static void lu(int64_t m, int64_t n, double *a, double *pivot, double *work) {
  if (n <= PANEL) {
    factor_panel(m, n, a, pivot);
    return;
  }
  for (int64_t k = 0; k < m && k < n; k += PANEL) {
    const int64_t width = lesser(PANEL, n - k);
    const int64_t rows = m - k, pivots = lesser(width, rows);
    double *at = a + k * n + k;
    copy_panel(rows, width, at, n, work, width);
    const bool whole = factor_panel(rows, width, work, pivot + k);
    for (int64_t i = 0; i < pivots; i++) {
      const int64_t p = k + (int64_t)pivot[k + i];
      pivot[k + i] = (double)p;
      if (p != k + i) swap_rows(n, a + (k + i) * n, a + p * n);
    }
    copy_panel(rows, width, work, width, at, n);
    if (whole && rows >= width)
      eliminate(rows, width, n - k - width, at, n);
    else
      eliminate_rows(rows, width, n - k - width, at, n);
  }
}

static void permute(int64_t m, int64_t n, const double *pivot, double *perm) {
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

static double determinant(int64_t n, double *a, double *rows, double *columns) {
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
      add_scaled(n - k - 1, below + k + 1, -(below[k] / row[k]), row + k + 1);
    }
  }
  if (odd) swap_rows(1, columns + n - 2, columns + n - 1);
  return odd ? -product : product;
}

void CXI_FOR_ISA(cxi_linalg_set_factor)(cxi_linalg_kernels *set) {
  set->transpose = transpose;
  set->cholesky = cholesky;
  set->solve_triangle = solve_triangle;
  set->lu = lu;
  set->permute = permute;
  set->determinant = determinant;
}
