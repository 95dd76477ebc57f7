/* product.h - the kernels of matrix products.
 *
 * Every element of a product is summed as base/chain.h says; tiles only
 * interleave chains. So any blocking, order of tasks and instruction set gives
 * the same bits. Those of a convolution are one chain, which goes on from what
 * the part before stored. */
#ifndef CXI_CPU_PRODUCT_H
#define CXI_CPU_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* c (rows, columns) of sums over k. a (rows, k) is read at
 * a[i a_row + p a_k], or, packed, in panels of `mr` rows; b (k, columns) in
 * rows at b[p b_k + j], or, packed, in panels of `nr` columns. */
typedef struct cxi_tile {
  int64_t rows, columns, k;
  const void *a, *b;
  int64_t a_row, a_k;
  int64_t a_panel; /* elements from panel to panel; 0: not packed */
  int64_t b_k;
  int64_t b_panel;
  void *c;
  int64_t c_row, c_column;
  bool first;         /* else what c holds comes before */
  bool goes_on;       /* as the beginning of one chain; else as whole chains */
  const void *addend; /* the sums end here: added; laid out as c */
} cxi_tile;

typedef struct cxi_product_kernels {
  int64_t mr, nr, lanes; /* of a panel, a vector; 0: no kernels */
  void (*multiply)(const cxi_tile *tile);
  /* (k, count) at from[p step_k + i step] as a panel of `width`: k rows of
   * width elements, the last width - count of them 0. */
  void (*pack)(int64_t k, int64_t count, int64_t width, const void *from,
               int64_t step_k, int64_t step, void *to);
  /* out[i], at most `lanes` of them, from k elements at a[i], a_k apart, and k
   * at b[i]; with addend[i], if there is any, added at the end. */
  void (*dots)(int64_t n, int64_t k, const void *const *a, int64_t a_k,
               const void *const *b, int64_t b_k, void *out,
               const void *addend);
  /* out[0] the same way, several of its chains at once. */
  void (*dot)(int64_t k, const void *a, int64_t a_k, const void *b, int64_t b_k,
              void *out, const void *addend);
} cxi_product_kernels;

#endif
