/* einsum_path.h - in which order the operands of einsum are joined. */
#ifndef CXI_EINSUM_PATH_H
#define CXI_EINSUM_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* Terms a and b are joined to the next one: the n operands are terms 0..n-1,
 * the results of the steps n, n + 1, ... */
typedef struct cxi_join {
  int a, b;
} cxi_join;

/* Fills the n - 1 steps. `labels` are the sets of the operands' labels, `out`
 * that of the result, size[label] how long each is. Up to 10 operands: the
 * least number of multiplications, no term with more than CX_MAX_DIMS labels if
 * that can be, the order from the left among equals; beyond: from the left.
 * False without memory. */
bool cxi_einsum_path(int n, const uint64_t *labels, uint64_t out,
                     const double *size, cxi_join *steps);

#endif
