/* rows.h - what the factorisations do to rows of f64. */
#ifndef CXI_LINALG_ROWS_H
#define CXI_LINALG_ROWS_H

#include <stdint.h>

#include "base/isa.h"
#include "primitives/linalg_kernels.h"

/* Numbers side by side, wherever they lie. */
#define VECTOR(bytes) \
  double __attribute__((vector_size(bytes), aligned(8), may_alias))
typedef VECTOR(16) vector_2;
typedef VECTOR(32) vector_4;
typedef VECTOR(64) vector_8;

/* y[i] += factor x[i] */
static inline void add_scaled(int64_t n, double *y, double factor,
                              const double *x) {
  for (int64_t i = 0; i < n; i++) y[i] += factor * x[i];
}

/* In pairs; the lanes are used up. */
static inline double join_lanes(double lane[8]) {
  for (int half = 4; half > 0; half /= 2)
    for (int k = 0; k < half; k++) lane[k] += lane[k + half];
  return lane[0];
}

/* The sum of products in eight lanes. */
static inline double inner(int64_t n, const double *x, const double *y) {
  vector_8 sum = { 0 };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    sum += *(const vector_8 *)(x + i) * *(const vector_8 *)(y + i);
  double lane[8];
  *(vector_8 *)lane = sum;
  for (int k = 0; i < n; i++, k++) lane[k] += x[i] * y[i];
  return join_lanes(lane);
}

static inline void swap_rows(int64_t n, double *x, double *y) {
  for (int64_t i = 0; i < n; i++) {
    const double t = x[i];
    x[i] = y[i], y[i] = t;
  }
}

/* Of a (m, n). */
static inline void swap_columns(int64_t m, int64_t n, double *a, int64_t i,
                                int64_t j) {
  for (int64_t k = 0; k < m; k++) {
    const double t = a[k * n + i];
    a[k * n + i] = a[k * n + j], a[k * n + j] = t;
  }
}

/* The parts of the set, one file each. */
void CXI_FOR_ISA(cxi_linalg_set_factor)(cxi_linalg_kernels *set);
void CXI_FOR_ISA(cxi_linalg_set_reflect)(cxi_linalg_kernels *set);
void CXI_FOR_ISA(cxi_linalg_set_spectral)(cxi_linalg_kernels *set);

#endif
