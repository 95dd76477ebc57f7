/* take.h - the product that a factorisation takes from what is left.
 *
 * Each element of c becomes c - a[k] b[k] for k in order, with a rounding of
 * the product and one of the difference: what a loop over rows does. So blocks
 * and registers do not show in the bits. */
#ifndef CXI_LINALG_TAKE_H
#define CXI_LINALG_TAKE_H

#include "primitives/linalg_kernels/rows.h"

/* c (rows, columns) with elements of a row side by side, a (rows, k) at
 * a[i a_row + q a_k], b (k, columns) at b[q b_k + j]; a step may be negative. */
typedef struct taken {
  int64_t rows, columns, k;
  const double *a;
  int64_t a_row, a_k;
  const double *b;
  int64_t b_k;
  double *c;
  int64_t c_row;
} taken;

#if defined __AVX512F__
#define V vector_8
#define ROWS 4
#define VECTORS 3
#define TAKE take_8x3
#define TAKE_TILE tile_8x3
#include "primitives/linalg_kernels/take.inc"
#define V vector_8
#define ROWS 8
#define VECTORS 1
#define TAKE take_8
#define TAKE_TILE tile_8
#include "primitives/linalg_kernels/take.inc"
#endif
#if defined __AVX__ && !defined __AVX512F__
#define V vector_4
#define ROWS 4
#define VECTORS 2
#define TAKE take_4x2
#define TAKE_TILE tile_4x2
#include "primitives/linalg_kernels/take.inc"
#endif
#if defined __AVX__
#define V vector_4
#define ROWS 8
#define VECTORS 1
#define TAKE take_4
#define TAKE_TILE tile_4
#include "primitives/linalg_kernels/take.inc"
#endif
#if !defined __AVX__
#define V vector_2
#define ROWS 4
#define VECTORS 2
#define TAKE take_2x2
#define TAKE_TILE tile_2x2
#include "primitives/linalg_kernels/take.inc"
#endif
#define V vector_2
#define ROWS 8
#define VECTORS 1
#define TAKE take_2
#define TAKE_TILE tile_2
#include "primitives/linalg_kernels/take.inc"
#define V double
#define ROWS 8
#define VECTORS 1
#define TAKE take_1
#define TAKE_TILE tile_1
#include "primitives/linalg_kernels/take.inc"

static inline void take_product(const taken *p) {
  if (p->rows <= 0 || p->k <= 0) return;
#if defined __AVX512F__
  int64_t j = take_8(p, take_8x3(p, 0));
  j = take_4(p, j);
#elif defined __AVX__
  int64_t j = take_4(p, take_4x2(p, 0));
#else
  int64_t j = take_2x2(p, 0);
#endif
  j = take_2(p, j);
  take_1(p, j);
}

#endif
