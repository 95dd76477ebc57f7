/* linalg_kernels_test.c - factorisations by blocks have the bits of plain
 * loops over rows, on every instruction set. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/isa.h"
#include "primitives/linalg_kernels.h"

enum { MOST = 70 };

/* Around blocks of 8 rows, panels of 16 columns and tiles of 24. */
static const int64_t sizes[] = { 0,  1,  2,  7,  8,  9,  15, 16,  17,
                                 23, 24, 25, 31, 33, 48, 57, MOST };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static uint64_t seed = 7;

/* In [-1, 1). */
static double draw(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)((int64_t)(seed >> 40) - (1 << 23)) * 0x1p-23;
}

static void fill(int64_t n, double *x) {
  for (int64_t i = 0; i < n; i++) x[i] = draw();
}

static void assert_bits(int64_t n, const double *got, const double *want) {
  for (int64_t i = 0; i < n; i++) {
    if (isnan(got[i]) && isnan(want[i])) continue;
    if (memcmp(&got[i], &want[i], sizeof *got) != 0)
      fail_msg("element %d: %a, by rows %a", (int)i, got[i], want[i]);
  }
}

/* -- by rows --------------------------------------------------------------- */

static void add_scaled(int64_t n, double *y, double factor, const double *x) {
  for (int64_t i = 0; i < n; i++) y[i] += factor * x[i];
}

static void cholesky_by_rows(int64_t n, const double *a, double *l) {
  static double u[MOST * MOST];
  bool positive = true;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) u[j * n + i] = a[i * n + j];
  for (int64_t k = 0; k < n && positive; k++) {
    double *row = u + k * n;
    positive = row[k] > 0;
    row[k] = sqrt(row[k]);
    for (int64_t j = k + 1; j < n; j++) row[j] /= row[k];
    for (int64_t i = k + 1; i < n; i++)
      add_scaled(n - i, u + i * n + i, -row[i], row + i);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      l[i * n + j] = j > i ? 0 : positive ? u[j * n + i] : NAN;
}

static void solve_by_rows(const cxi_triangle_of *t, int64_t columns,
                          double *x) {
  const int64_t n = t->n;
  const bool forward = t->lower != t->transpose;
  for (int64_t step = 0; step < n; step++) {
    const int64_t i = forward ? step : n - 1 - step;
    double *row = x + i * columns;
    for (int64_t before = 0; before < step; before++) {
      const int64_t k = forward ? before : n - 1 - before;
      add_scaled(columns, row, -t->a[t->transpose ? k * n + i : i * n + k],
                 x + k * columns);
    }
    for (int64_t j = 0; j < columns && !t->unit; j++) row[j] /= t->a[i * n + i];
  }
}

static void lu_by_rows(int64_t m, int64_t n, double *a, double *pivot) {
  for (int64_t k = 0; k < m && k < n; k++) {
    int64_t p = k;
    for (int64_t i = k + 1; i < m; i++)
      if (fabs(a[i * n + k]) > fabs(a[p * n + k])) p = i;
    pivot[k] = (double)p;
    for (int64_t j = 0; j < n && p != k; j++) {
      const double t = a[k * n + j];
      a[k * n + j] = a[p * n + j], a[p * n + j] = t;
    }
    for (int64_t i = k + 1; i < m && a[k * n + k] != 0; i++) {
      a[i * n + k] /= a[k * n + k];
      add_scaled(n - k - 1, a + i * n + k + 1, -a[i * n + k],
                 a + k * n + k + 1);
    }
  }
}

/* -- the same -------------------------------------------------------------- */

static double a[MOST * MOST], got[MOST * MOST], want[MOST * MOST];
static double work[MOST * MOST], pivot[MOST], want_pivot[MOST];

static void check_cholesky(int64_t n) {
  cxi_linalg_now()->cholesky(n, a, got, work);
  cholesky_by_rows(n, a, want);
  assert_bits(n * n, got, want);
}

static void test_cholesky(void **state) {
  (void)state;
  for (int s = 0; s < N_SIZES; s++) {
    const int64_t n = sizes[s];
    fill(n * n, a);
    for (int64_t i = 0; i < n; i++) a[i * n + i] = 8 + draw();
    check_cholesky(n);
    if (n == 0) continue;
    a[(n - 1) * n] = INFINITY;
    check_cholesky(n);
    a[(n - 1) * n] = NAN;
    check_cholesky(n);
    a[(n - 1) * n] = -0.0;
    a[n * n / 2 / (n + 1) * (n + 1)] = -1; /* not positive definite */
    check_cholesky(n);
  }
}

static void test_triangles(void **state) {
  (void)state;
  static const int64_t columns[] = { 0, 1, 2, 3, 7, 8, 24, 29, 48 };
  for (int s = 0; s < N_SIZES; s++)
    for (int form = 0; form < 8; form++)
      for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const int64_t n = sizes[s], size = n * columns[c];
        fill(n * n, a);
        for (int64_t i = 0; i < n; i++) a[i * n + i] += 4;
        if (n > 9 && c == 3) a[9 * n + 9] = 0;
        if (n > 2 && c == 4) a[2 * n] = INFINITY;
        fill(size, got);
        if (size > 5) got[5] = -0.0;
        if (size > 6 && c == 2) got[6] = NAN;
        memcpy(want, got, (size_t)size * sizeof *got);
        const cxi_triangle_of t = { n, a, form & 1, (form & 2) != 0,
                                    (form & 4) != 0 };
        cxi_linalg_now()->solve_triangle(&t, columns[c], got);
        solve_by_rows(&t, columns[c], want);
        assert_bits(size, got, want);
      }
}

static void check_lu(int64_t m, int64_t n) {
  const int64_t k = m < n ? m : n;
  memcpy(got, a, (size_t)(m * n) * sizeof *a);
  memcpy(want, a, (size_t)(m * n) * sizeof *a);
  cxi_linalg_now()->lu(m, n, got, pivot, work);
  lu_by_rows(m, n, want, want_pivot);
  assert_bits(m * n, got, want);
  assert_bits(k, pivot, want_pivot);
}

static void test_lu(void **state) {
  (void)state;
  for (int s = 0; s < N_SIZES; s++)
    for (int t = 0; t < N_SIZES; t++) {
      const int64_t m = sizes[s], n = sizes[t];
      fill(m * n, a);
      check_lu(m, n);
      if (m * n == 0) continue;
      a[m * n / 2] = INFINITY;
      check_lu(m, n);
      a[m * n / 2] = NAN;
      check_lu(m, n);
      /* columns of zeros and of -0 below others that are not finite */
      fill(m * n, a);
      for (int64_t i = 0; i < m; i++) a[i * n + n / 2] = i % 2 ? -0.0 : 0;
      a[n - 1] = INFINITY;
      check_lu(m, n);
      for (int64_t i = 0; i < m * n; i++) a[i] = (double)(i % n); /* rank 1 */
      check_lu(m, n);
    }
}

static void test_transpose(void **state) {
  (void)state;
  for (int s = 0; s < N_SIZES; s++) {
    const int64_t m = sizes[s], n = sizes[(s * 5) % N_SIZES];
    fill(m * n, a);
    cxi_linalg_now()->transpose(m, n, a, got);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) want[j * m + i] = a[i * n + j];
    assert_bits(m * n, got, want);
  }
}

/* -- orders of their own: those of the base set --------------------------- */

void cxi_linalg_set_reflect_base(cxi_linalg_kernels *set);
void cxi_linalg_set_spectral_base(cxi_linalg_kernels *set);

/* The reflectors of a and what they make of it, one after the other in out. */
static void reflect_all(const cxi_linalg_kernels *set, int64_t m, int64_t n,
                        bool pivoting, double *out) {
  static double order[MOST];
  const int64_t k = m < n ? m : n;
  memcpy(out, a, (size_t)(m * n) * sizeof *a);
  set->reflect(m, n, out, out + m * n, pivoting ? order : NULL, work);
  double *q = out + m * n + k;
  memcpy(q, a, (size_t)(m * n) * sizeof *a);
  set->apply_reflectors(m, n, out, out + m * n, n, q, false, work);
}

/* q r is a, and q' q the identity, whether reflectors go one by one or not. */
static void test_factors(void **state) {
  (void)state;
  static double tau[MOST];
  for (int s = 0; s < N_SIZES; s++)
    for (int t = 0; t <= s; t++) {
      const int64_t m = sizes[s], n = sizes[t];
      fill(m * n, a);
      memcpy(want, a, (size_t)(m * n) * sizeof *a);
      cxi_linalg_now()->reflect(m, n, a, tau, NULL, work);
      for (int64_t i = 0; i < n * m; i++) got[i] = i % (m + 1) == 0;
      cxi_linalg_now()->apply_reflectors(m, n, a, tau, n, got, true, work);
      for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
          double sum = 0;
          for (int64_t k = 0; k <= j; k++) sum += got[k * m + i] * a[j * m + k];
          assert_true(fabs(sum - want[j * m + i]) < 1e-13);
        }
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
          double sum = 0;
          for (int64_t k = 0; k < m; k++)
            sum += got[i * m + k] * got[j * m + k];
          assert_true(fabs(sum - (i == j)) < 1e-13);
        }
    }
}

/* Zeros that are known to stay are the same as those computed. */
static void test_identity(void **state) {
  (void)state;
  static double tau[MOST];
  for (int s = 0; s < N_SIZES; s++)
    for (int t = 0; t < N_SIZES; t++)
      for (int finite = 0; finite < 2; finite++) {
        const int64_t m = sizes[s], n = sizes[t];
        fill(m * n, a);
        if (!finite && m * n > 0) a[m * n / 2] = INFINITY;
        cxi_linalg_now()->reflect(m, n, a, tau, NULL, work);
        for (int64_t i = 0; i < m * m; i++) got[i] = want[i] = i % (m + 1) == 0;
        cxi_linalg_now()->apply_reflectors(m, n, a, tau, m, got, true, work);
        cxi_linalg_now()->apply_reflectors(m, n, a, tau, m, want, false, work);
        assert_bits(m * m, got, want);
      }
}

static void test_reflectors(void **state) {
  (void)state;
  static double here[3 * MOST * MOST], there[3 * MOST * MOST];
  cxi_linalg_kernels base;
  cxi_linalg_set_reflect_base(&base);
  for (int s = 0; s < N_SIZES; s++)
    for (int t = 0; t < N_SIZES; t++) {
      const int64_t m = sizes[s], n = sizes[t], k = m < n ? m : n;
      fill(m * n, a);
      for (int pivoting = 0; pivoting < 2; pivoting++) {
        reflect_all(cxi_linalg_now(), m, n, pivoting, here);
        reflect_all(&base, m, n, pivoting, there);
        assert_bits(2 * m * n + k, here, there);
      }
    }
}

static void test_spectra(void **state) {
  (void)state;
  static double here[MOST], there[MOST], vt[MOST * MOST], wt[MOST * MOST];
  cxi_linalg_kernels base;
  cxi_linalg_set_spectral_base(&base);
  for (int s = 0; s < N_SIZES; s++) {
    const int64_t n = sizes[s];
    fill(n * n, a);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < i; j++) a[i * n + j] = a[j * n + i];
    memcpy(got, a, sizeof a);
    memcpy(want, a, sizeof a);
    assert_true(cxi_linalg_now()->eigh(n, got, here, vt, work));
    assert_true(base.eigh(n, want, there, wt, work));
    assert_bits(n, here, there);
    assert_bits(n * n, vt, wt);
    fill(n * n, got);
    for (int64_t i = 0; i < n && n > 8; i++)
      got[3 * n + i] = got[i]; /* of rank n - 1 */
    memcpy(want, got, sizeof got);
    for (int64_t i = 0; i < n * n; i++) vt[i] = wt[i] = i % (n + 1) == 0;
    assert_true(cxi_linalg_now()->orthogonalise(n, got, vt, here));
    assert_true(base.orthogonalise(n, want, wt, there));
    assert_bits(n, here, there);
    assert_bits(n * n, got, want);
    assert_bits(n * n, vt, wt);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cholesky),   cmocka_unit_test(test_triangles),
    cmocka_unit_test(test_lu),         cmocka_unit_test(test_transpose),
    cmocka_unit_test(test_reflectors), cmocka_unit_test(test_factors),
    cmocka_unit_test(test_identity),   cmocka_unit_test(test_spectra),
  };
  print_message("instruction set: %s\n", cxi_isa_name(cxi_isa_now()));
  return cmocka_run_group_tests_name("linalg_kernels", tests, NULL, NULL);
}
