/* product_layout.h - a product laid out for the CPU: product_layout.c says how
 * it is cut, product.c runs it. */
#ifndef CXI_CPU_PRODUCT_LAYOUT_H
#define CXI_CPU_PRODUCT_LAYOUT_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"

/* Multiply-adds that are worth a task. */
enum { CXI_PRODUCT_TASK = 1 << 16 };

/* An operand as (batch, free, k). */
typedef struct cxi_product_side {
  cxi_ref at;
  cx_dtype type;
  bool copied;        /* to `dense` first, as (batch, free, k) */
  cxi_pattern source; /* in that order, to copy it */
  cxi_pattern batch;
  int64_t count, free_stride, k_stride;
  bool packed;
  int64_t panel;        /* free elements of a panel */
  size_t dense, panels; /* places in the workspace */
} cxi_product_side;

typedef struct cxi_product_cut {
  const cxi_cpu_kernels *kernels;
  const cxi_product_kernels *product;
  cx_dtype number, type; /* computed in; of the result */
  int64_t batch, k, k_block;
  cxi_product_side rows, columns; /* the sides as the tiles see them */
  bool transposed;                /* rows are those of the second operand */
  bool dots;                      /* by several elements of the result */
  bool apart;                     /* each of them by itself */
  int64_t c_row, c_column;
  bool add;
  cxi_ref result, addend, memory;
  bool sums_apart; /* in the workspace, rounded at the end */
  size_t sums, bytes;
  int64_t row_block, column_block, row_blocks, column_blocks;
  int64_t items; /* of the batch in a task */
} cxi_product_cut;

/* False if there are no kernels for it. */
bool cxi_cpu_product_layout(const cxi_unit *unit, cxi_product_cut *p);

#endif
