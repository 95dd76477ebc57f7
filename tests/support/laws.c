/* laws.c - the tests of Kolmogorov and Smirnov, and of Pearson. */
#include "support/laws.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double *numbers(const char *what, cx draws, int64_t *out_n) {
  const cx flat = cx_cast(cx_reshape(draws, -1), CX_F64);
  const char *text = "";
  if (cx_error(&text)) fail_msg("%s: %s", what, text);
  *out_n = cx_dim(flat, 0);
  double *x = malloc((size_t)*out_n * sizeof *x);
  assert_non_null(x);
  cx_read(flat, x, *out_n);
  return x;
}

void check_law(const char *what, cx draws, double (*law)(double)) {
  CX_SCOPE;
  int64_t n;
  double worst = 0, *x = numbers(what, draws, &n);
  qsort(x, (size_t)n, sizeof *x, by_size);
  for (int64_t i = 0; i < n; i++) {
    const double p = law(x[i]), size = (double)n;
    worst = fmax(worst, fmax(p - (double)i / size, (double)(i + 1) / size - p));
  }
  free(x);
  if (!(worst < 2.3 / sqrt((double)n)))
    fail_msg("%s: distance %g", what, worst);
}

void check_counts(const char *what, cx draws, int n, double (*p)(int)) {
  CX_SCOPE;
  int64_t total;
  double *x = numbers(what, draws, &total), chi = 0, cells = 0;
  double expected = 0, seen = 0, rest = (double)total;
  for (int k = 0; k < n; k++) {
    expected += p(k) * (double)total;
    for (int64_t i = 0; i < total; i++) seen += x[i] == k;
    if (k < n - 1 && (expected < 5 || rest - expected < 5)) continue;
    chi += (seen - expected) * (seen - expected) / expected;
    rest -= expected;
    cells++, expected = 0, seen = 0;
  }
  free(x);
  /* a normal number 4.5 deviations above, by Wilson and Hilferty */
  const double d = fmax(cells - 1, 1), z = cbrt(chi / d) - (1 - 2 / (9 * d));
  if (!(z / sqrt(2 / (9 * d)) < 4.5))
    fail_msg("%s: chi square %g of %g", what, chi, d);
}
