/* reflect.c - Householder's reflectors: QR. Matrices are given transposed, so
 * that the elements of a column lie side by side. */
#include <math.h>
#include <string.h>

#include "primitives/linalg_kernels/rows.h"
#include "primitives/linalg_kernels/take.h"

enum { PANEL = CXI_REFLECT_PANEL, FEW = CXI_REFLECT_FEW };

/* The norm of n numbers, scaled so that no square overflows; the sum of the
 * squares in eight lanes. */
static double norm_of(int64_t n, const double *x) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    const double size = fabs(x[i]);
    if (!(size <= most)) most = size; /* a NaN stays */
  }
  if (most == 0 || !isfinite(most)) return most;
  double lane[8] = { 0 };
  int64_t i = 0;
  vector_8 sum = { 0 };
  for (; i + 8 <= n; i += 8) {
    const vector_8 part = *(const vector_8 *)(x + i) / most;
    sum += part * part;
  }
  *(vector_8 *)lane = sum;
  for (int k = 0; i < n; i++, k++) lane[k] += x[i] / most * (x[i] / most);
  return most * sqrt(join_lanes(lane));
}

/* H = I - tau v v' with H x = (beta, 0, ...), for x of n numbers: x becomes
 * (beta, v[1], v[2], ...); v[0] is 1. Returns tau. Golub & Van Loan, Matrix
 * Computations, algorithm 5.1.1, with LAPACK's sign of beta. */
static double reflector(int64_t n, double *x) {
  const double rest = norm_of(n - 1, x + 1);
  if (rest == 0) return 0;
  const double alpha = x[0], both[2] = { alpha, rest };
  const double beta = -copysign(norm_of(2, both), alpha);
  for (int64_t i = 1; i < n; i++) x[i] /= alpha - beta;
  x[0] = beta;
  return (beta - alpha) / beta;
}

/* n numbers of each of `rows` rows x become H x: x[0] and the others, with
 * v[1], v[2], ... in v. */
static inline __attribute__((always_inline)) void
reflect_rows(int rows, int64_t n, const double *v, double tau, double *x,
             int64_t step) {
  enum { MOST = 4 };
  vector_8 sum[MOST] = { { 0 } };
  int64_t whole = 1;
  for (; whole + 8 <= n; whole += 8) {
    const vector_8 part = *(const vector_8 *)(v + whole);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
      sum[r] += part * *(const vector_8 *)(x + r * step + whole);
  }
  for (int r = 0; r < rows; r++) {
    double *row = x + r * step, lane[8];
    *(vector_8 *)lane = sum[r];
    for (int64_t i = whole; i < n; i++) lane[i - whole] += v[i] * row[i];
    const double factor = -tau * (row[0] + join_lanes(lane));
    row[0] += factor;
    add_scaled(n - 1, row + 1, factor, v + 1);
  }
}

/* The same of c rows. */
static void apply_reflector(int64_t n, const double *v, double tau, int64_t c,
                            double *x, int64_t step) {
  if (tau == 0) return;
  for (; c >= 4; c -= 4, x += 4 * step) reflect_rows(4, n, v, tau, x, step);
  for (; c > 0; c--, x += step) reflect_rows(1, n, v, tau, x, step);
}

/* The first of the longest of rows k to n - 1, from element k on. */
static int64_t longest(int64_t m, int64_t n, const double *a, int64_t k) {
  int64_t best = k;
  double most = -1;
  for (int64_t j = k; j < n; j++) {
    const double size = norm_of(m - k, a + j * m + k);
    if (size > most) most = size, best = j;
  }
  return best;
}

/* Reflectors k0 to k1 - 1 of a (m, n), applied to columns up to `end`. */
static void reflect_panel(int64_t m, int64_t k0, int64_t k1, int64_t end,
                          double *a, double *tau) {
  for (int64_t k = k0; k < k1; k++) {
    double *at = a + k * m + k;
    tau[k] = reflector(m - k, at);
    apply_reflector(m - k, at, tau[k], end - k - 1, at + m, m);
  }
}

static void reflect_longest(int64_t m, int64_t n, double *a, double *tau,
                            double *order) {
  for (int64_t j = 0; j < n; j++) order[j] = (double)j;
  for (int64_t k = 0; k < m && k < n; k++) {
    const int64_t first = longest(m, n, a, k);
    if (first != k) {
      swap_rows(m, a + first * m, a + k * m);
      swap_rows(1, order + first, order + k);
    }
    reflect_panel(m, k, k + 1, n, a, tau);
  }
}

/* -- several at once -------------------------------------------------------- */

/* The product H = I - V t V' of k reflectors of n rows. Schreiber & Van Loan
 * 1989, SIAM J. Sci. Stat. Comput. 10. */
typedef struct joined {
  int64_t n, k;
  double *rows, *columns; /* V' (k, n) and V (n, k) */
  double *t;              /* (k, k), upper; or its transpose */
  double *room;           /* for twice as many products as there are rows */
} joined;

/* Of the reflectors k0 on; `turned`: with t'. */
static joined join_reflectors(int64_t m, const double *a, const double *tau,
                              int64_t k0, int64_t k, bool turned,
                              double *work) {
  const int64_t n = m - k0;
  joined h = { n, k, work, work + n * k, work + 2 * n * k, NULL };
  h.room = h.t + k * k;
  for (int64_t j = 0; j < k; j++) {
    double *v = h.rows + j * n;
    memset(v, 0, (size_t)j * sizeof *v);
    v[j] = 1;
    memcpy(v + j + 1, a + (k0 + j) * m + k0 + j + 1,
           (size_t)(n - j - 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++) h.columns[i * k + j] = v[i];
  }
  memset(h.t, 0, (size_t)(k * k) * sizeof *h.t);
  const int64_t down = turned ? 1 : k, right = turned ? k : 1;
  /* within the loop, gcc 12 lets it share its memory with the lanes of inner */
  double along[PANEL];
  for (int64_t j = 0; j < k; j++) {
    for (int64_t i = 0; i < j; i++)
      along[i] = inner(n - j, h.rows + i * n + j, h.rows + j * n + j);
    for (int64_t i = 0; i < j; i++) {
      double sum = 0;
      for (int64_t l = i; l < j; l++)
        sum += h.t[i * down + l * right] * along[l];
      h.t[i * down + j * right] = -tau[k0 + j] * sum;
    }
    h.t[j * (k + 1)] = tau[k0 + j];
  }
  return h;
}

/* c rows x become x - x V t V'. */
static void apply_joined(const joined *h, int64_t c, double *x, int64_t step) {
  double *along = h->room, *factors = along + c * h->k;
  memset(along, 0, (size_t)(2 * c * h->k) * sizeof *along);
  take_product(
      &(taken){ c, h->k, h->n, x, step, 1, h->columns, h->k, along, h->k });
  take_product(
      &(taken){ c, h->k, h->k, along, h->k, 1, h->t, h->k, factors, h->k });
  take_product(
      &(taken){ c, h->n, h->k, factors, h->k, 1, h->rows, h->n, x, step });
}

static void reflect(int64_t m, int64_t n, double *a, double *tau, double *order,
                    double *work) {
  const int64_t all = m < n ? m : n;
  if (order) {
    reflect_longest(m, n, a, tau, order);
    return;
  }
  int64_t k = 0;
  for (; all > FEW && k < all; k += PANEL) {
    const int64_t width = all - k < PANEL ? all - k : PANEL, end = k + width;
    reflect_panel(m, k, end, end, a, tau);
    if (end == n) return;
    const joined h = join_reflectors(m, a, tau, k, width, false, work);
    apply_joined(&h, n - end, a + end * m + k, m);
  }
  if (k == 0) reflect_panel(m, 0, all, n, a, tau);
}

static void apply_reflectors(int64_t m, int64_t n, const double *a,
                             const double *tau, int64_t c, double *q,
                             bool identity, double *work) {
  const int64_t all = m < n ? m : n, width = all > FEW ? PANEL : 1;
  for (int64_t end = all; end > 0;) {
    const int64_t k = (end - 1) / width * width;
    /* zeros stay, but what is not finite spreads */
    bool zeros = identity;
    for (int64_t i = k; i < end; i++) zeros = zeros && isfinite(tau[i]);
    const int64_t first = !zeros ? 0 : k < c ? k : c;
    double *at = q + first * m + k;
    if (width == 1) {
      apply_reflector(m - k, a + k * m + k, tau[k], c - first, at, m);
    } else {
      const joined h = join_reflectors(m, a, tau, k, end - k, true, work);
      apply_joined(&h, c - first, at, m);
    }
    end = k;
  }
}

void CXI_FOR_ISA(cxi_linalg_set_reflect)(cxi_linalg_kernels *set) {
  set->reflect = reflect;
  set->apply_reflectors = apply_reflectors;
}
