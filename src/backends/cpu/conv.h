/* conv.h - a convolution laid out for the CPU: conv_layout.c says how it is
 * cut, conv_patches.c what a block reads, conv.c runs it. */
#ifndef CXI_CPU_CONV_H
#define CXI_CPU_CONV_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "ir/conv.h"

/* The widest panel of a product, the most positions of a block. */
enum { CXI_CONV_PANEL = 64, CXI_CONV_BLOCK = 512 };

typedef struct cxi_conv_cut_phase {
  cxi_conv_phase lines;
  int64_t blocks;
  int64_t kernel; /* its place in the packed kernel of a group, in elements */
} cxi_conv_cut_phase;

typedef struct cxi_conv_cut {
  const cxi_cpu_kernels *kernels;
  const cxi_product_kernels *product;
  cx_dtype number, type; /* computed in; of the result */
  size_t width;          /* bytes of `number` */
  double flops;
  cxi_conv conv;
  cxi_conv_strides x, w, y; /* of what the patches, the packing, the end see */
  bool positions_are_rows;  /* of the tiles; else columns */
  bool batch_inner;         /* the batch is what lies side by side */
  cxi_operand lhs, rhs;
  cxi_ref result, memory;
  bool lhs_copied, rhs_copied; /* to `dense` first */
  cxi_pattern lhs_source, rhs_source;
  const cxi_conv_cut_phase *phases;
  int64_t kernel_panel, kernel_of_group;
  int64_t block, blocks, blocks_of_group, n_slots, k_part, sums_row;
  size_t patch_bytes, sums_bytes; /* of a slot */
  /* places in the workspace */
  size_t lhs_dense, rhs_dense, kernel, slots, bytes;
} cxi_conv_cut;

typedef struct cxi_conv_block {
  const cxi_conv_cut *p;
  const cxi_conv_phase *phase;
  const char *x;    /* the group's first element of the operand */
  int64_t first, n; /* positions */
  int64_t k0, k;    /* the part of k */
  char *patches, *sums;
} cxi_conv_block;

/* Position m of the phase: its batch item and where it is along each line; the
 * one after it. */
void cxi_conv_place_of(const cxi_conv_cut *p, const cxi_conv_phase *phase,
                       int64_t m, int64_t *batch, int64_t *at);
void cxi_conv_advance(const cxi_conv_cut *p, const cxi_conv_phase *phase,
                      int64_t *batch, int64_t *at);

/* Elements one after the other, `step` apart, from `from` on; -1: zeros. */
typedef struct cxi_conv_stretch {
  int64_t n, from, step;
} cxi_conv_stretch;
/* The offsets as stretches; returns their number. */
int64_t cxi_conv_find_stretches(const int64_t *offsets, int64_t n,
                                cxi_conv_stretch *out);

/* Panels of the patches for the block's part of k. */
void cxi_conv_make_patches(const cxi_conv_block *b);

bool cxi_cpu_conv_run(const void *state, char *const *bases,
                      cxi_running *running);

#endif
