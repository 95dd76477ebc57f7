/* spectral.c - eigenvalues of symmetric matrices, singular values. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "primitives/linalg_kernels/rows.h"

enum { STEPS = 60 }; /* of an iteration that needs about 2, or 8 */

/* The caller has scaled the greatest element to about 1: what has a square next
 * to underflow is nothing beside it, and that square has lost its digits. */
static const double nothing = 1e-290;

static void swap_numbers(double *x, double *y) {
  const double t = *x;
  *x = *y, *y = t;
}

/* x becomes c x - s y, y becomes s x + c y. */
static void rotate(int64_t n, double *x, double *y, double c, double s) {
  for (int64_t i = 0; i < n; i++) {
    const double a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

/* -- symmetric matrices ---------------------------------------------------- */

/* One step of Householder's reduction: row and column k of s beyond the
 * second diagonal vanish; row k holds the reflector from column k + 1 on, with
 * v[0] = 1. Returns its factor; *out_e the entry of the second diagonal.
 * Golub & Van Loan, algorithm 8.3.1. */
static double reduce_step(int64_t n, double *s, int64_t k, double *p,
                          double *out_e) {
  const int64_t left = n - k - 1;
  double *v = s + k * n + k + 1;
  const double alpha = v[0];
  const double square = inner(left - 1, v + 1, v + 1);
  *out_e = alpha;
  if (square < nothing) return 0;
  const double rest = sqrt(square);
  const double beta = -copysign(sqrt(alpha * alpha + rest * rest), alpha);
  const double tau = (beta - alpha) / beta;
  *out_e = beta;
  for (int64_t i = 1; i < left; i++) v[i] /= alpha - beta;
  v[0] = 1;
  memset(p, 0, (size_t)left * sizeof *p);
  for (int64_t i = 0; i < left; i++)
    add_scaled(left, p, tau * v[i], s + (k + 1 + i) * n + k + 1);
  add_scaled(left, p, -tau / 2 * inner(left, p, v), v);
  for (int64_t i = 0; i < left; i++) {
    double *row = s + (k + 1 + i) * n + k + 1;
    for (int64_t j = 0; j < left; j++) row[j] -= v[i] * p[j] + p[i] * v[j];
  }
  return tau;
}

/* s = q t q' with t tridiagonal: its diagonals in d and e[0..n-2], q
 * transposed in qt. The factors of the reflectors wait in qt's first row. */
static void tridiagonalise(int64_t n, double *s, double *d, double *e,
                           double *qt) {
  double *tau = qt, *p = qt + n;
  for (int64_t k = 0; k + 2 < n; k++) tau[k] = reduce_step(n, s, k, p, &e[k]);
  if (n > 1) e[n - 2] = s[(n - 2) * n + n - 1];
  for (int64_t i = 0; i < n; i++) d[i] = s[i * n + i];
  /* The reflectors to the diagonal's column, to make room in qt. */
  for (int64_t k = 0; k + 2 < n; k++) s[k * n + k] = tau[k];
  memset(qt, 0, (size_t)(n * n) * sizeof *qt);
  for (int64_t i = 0; i < n; i++) qt[i * n + i] = 1;
  /* q' = ... H1 H0: from the right, on rows of q' from k + 1 on. */
  for (int64_t k = n - 3; k >= 0; k--) {
    const double *v = s + k * n + k + 1, factor = s[k * n + k];
    const int64_t left = n - k - 1;
    for (int64_t i = k + 1; i < n; i++) {
      double *row = qt + i * n + k + 1;
      add_scaled(left, row, -factor * inner(left, row, v), v);
    }
  }
}

/* The first m >= l below which the second diagonal is negligible. */
static int64_t block_end(int64_t n, int64_t l, const double *d,
                         const double *e) {
  for (int64_t m = l; m + 1 < n; m++)
    if (e[m] * e[m] < nothing ||
        fabs(e[m]) <= DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])))
      return m;
  return n - 1;
}

/* sqrt(x^2 + y^2), where the squares are next to underflow too. */
static double length(double x, double y) {
  const double square = x * x + y * y;
  if (square >= nothing) return sqrt(square);
  x *= 0x1p500, y *= 0x1p500;
  return sqrt(x * x + y * y) * 0x1p-500;
}

/* One implicit QL step with Wilkinson's shift on rows l..m. Golub & Van Loan,
 * section 8.3, from the bottom up. */
static void ql_step(int64_t n, int64_t l, int64_t m, double *d, double *e,
                    double *qt) {
  const double half = (d[l + 1] - d[l]) / (2 * e[l]);
  const double root = copysign(sqrt(half * half + 1), half);
  double g = d[m] - d[l] + e[l] / (half + root), s = 1, c = 1, p = 0;
  for (int64_t i = m - 1; i >= l; i--) {
    const double f = s * e[i], b = c * e[i], r = length(f, g);
    e[i + 1] = r;
    if (r == 0) { /* the block falls apart here */
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r, c = g / r;
    g = d[i + 1] - p;
    const double t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    rotate(n, qt + i * n, qt + (i + 1) * n, c, s);
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

static bool eigh(int64_t n, double *s, double *w, double *vt, double *work) {
  double *e = work;
  e[n > 0 ? n - 1 : 0] = 0;
  tridiagonalise(n, s, w, e, vt);
  for (int64_t l = 0; l < n; l++) {
    int step = 0;
    for (int64_t m; (m = block_end(n, l, w, e)) != l; step++) {
      if (step == STEPS) return false;
      ql_step(n, l, m, w, e, vt);
    }
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t least = i;
    for (int64_t k = i + 1; k < n; k++)
      if (w[k] < w[least]) least = k;
    if (least == i) continue;
    swap_numbers(&w[i], &w[least]);
    for (int64_t k = 0; k < n; k++)
      swap_numbers(&vt[i * n + k], &vt[least * n + k]);
  }
  return true;
}

/* -- singular values ------------------------------------------------------- */

/* Rows that depend on others shrink to nothing, by a rounding error with each
 * rotation. */
static bool is_nothing(int64_t n, double *row, double square) {
  if (square >= nothing) return false;
  memset(row, 0, (size_t)n * sizeof *row);
  return true;
}

/* The same as rotate, with the squares of the rows' norms then: the sums of
 * `inner`. */
static void rotate_measured(int64_t n, double *x, double *y, double c, double s,
                            double *xx, double *yy) {
  vector_8 sum_x = { 0 }, sum_y = { 0 };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const vector_8 a = *(vector_8 *)(x + i), b = *(vector_8 *)(y + i);
    const vector_8 p = c * a - s * b, q = s * a + c * b;
    *(vector_8 *)(x + i) = p;
    *(vector_8 *)(y + i) = q;
    sum_x += p * p;
    sum_y += q * q;
  }
  double lanes_x[8], lanes_y[8];
  *(vector_8 *)lanes_x = sum_x;
  *(vector_8 *)lanes_y = sum_y;
  rotate(n - i, x + i, y + i, c, s);
  for (int k = 0; i < n; i++, k++) {
    lanes_x[k] += x[i] * x[i];
    lanes_y[k] += y[i] * y[i];
  }
  *xx = join_lanes(lanes_x);
  *yy = join_lanes(lanes_y);
}

/* Rotates rows x and y so that they are orthogonal; false if they are. The
 * squares of all rows' norms are kept. The one-sided Jacobi method: Hestenes
 * 1958; Demmel & Veselic 1992, SIAM J. Matrix Anal. Appl. 13. */
static bool rotate_pair(int64_t n, double *r, double *jt, double *squares,
                        int64_t x, int64_t y) {
  double *a = r + x * n, *b = r + y * n;
  const double aa = squares[x], bb = squares[y];
  if (is_nothing(n, a, aa)) {
    squares[x] = 0;
    return false;
  }
  if (is_nothing(n, b, bb)) {
    squares[y] = 0;
    return false;
  }
  const double ab = inner(n, a, b);
  const double small = (double)(n > 2 ? n : 2) * DBL_EPSILON / 2;
  if (fabs(ab) <= small * sqrt(aa) * sqrt(bb)) return false;
  const double z = (bb - aa) / (2 * ab);
  const double size = fabs(z); /* its square may overflow */
  const double root = size < 0x1p500 ? sqrt(1 + z * z) : size;
  const double t = copysign(1, z) / (size + root);
  const double c = 1 / sqrt(1 + t * t), s = c * t;
  rotate_measured(n, a, b, c, s, &squares[x], &squares[y]);
  if (jt) rotate(n, jt + x * n, jt + y * n, c, s);
  return true;
}

/* A row for a singular value of 0: the unit vector that the rows before `i`
 * span least, made orthogonal to them, twice for the rounding. */
static void complete_row(int64_t n, double *r, int64_t i) {
  double *row = r + i * n, least = INFINITY;
  int64_t best = 0;
  for (int64_t j = 0; j < n; j++) {
    double spanned = 0;
    for (int64_t k = 0; k < i; k++) spanned += r[k * n + j] * r[k * n + j];
    if (spanned < least) least = spanned, best = j;
  }
  memset(row, 0, (size_t)n * sizeof *row);
  row[best] = 1;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t k = 0; k < i; k++)
      add_scaled(n, row, -inner(n, row, r + k * n), r + k * n);
  const double norm = sqrt(inner(n, row, row));
  for (int64_t j = 0; j < n; j++) row[j] /= norm;
}

static void sort_descending(int64_t n, double *r, double *jt, double *s) {
  for (int64_t i = 0; i < n; i++) {
    int64_t most = i;
    for (int64_t k = i + 1; k < n; k++)
      if (s[k] > s[most]) most = k;
    if (most == i) continue;
    swap_numbers(&s[i], &s[most]);
    for (int64_t k = 0; k < n; k++) {
      swap_numbers(&r[i * n + k], &r[most * n + k]);
      if (jt) swap_numbers(&jt[i * n + k], &jt[most * n + k]);
    }
  }
}

static bool orthogonalise(int64_t n, double *r, double *jt, double *s) {
  bool turned = true;
  for (int64_t i = 0; i < n; i++) s[i] = inner(n, r + i * n, r + i * n);
  for (int sweep = 0; turned; sweep++) {
    if (sweep == STEPS) return false;
    turned = false;
    for (int64_t x = 0; x < n; x++)
      for (int64_t y = x + 1; y < n; y++)
        if (rotate_pair(n, r, jt, s, x, y)) turned = true;
  }
  for (int64_t i = 0; i < n; i++)
    s[i] = is_nothing(n, r + i * n, s[i]) ? 0 : sqrt(s[i]);
  sort_descending(n, r, jt, s);
  for (int64_t i = 0; jt && i < n; i++) {
    if (s[i] == 0)
      complete_row(n, r, i);
    else
      for (int64_t k = 0; k < n; k++) r[i * n + k] /= s[i];
  }
  return true;
}

void CXI_FOR_ISA(cxi_linalg_set_spectral)(cxi_linalg_kernels *set) {
  set->eigh = eigh;
  set->orthogonalise = orthogonalise;
}
