/* kernels.h - loops over elements: how elementwise rows are evaluated.
 *
 * A kernel handles one run of elements of one dtype. The driver cuts strided
 * views into runs; dense and scalar operands make one run. */
#ifndef CXI_KERNELS_H
#define CXI_KERNELS_H

#include "ir/row.h"

enum { CXI_KERNEL_OPERANDS = 3 };

typedef struct cxi_run {
  int64_t n;
  void *out; /* n results side by side */
  const void *in[CXI_KERNEL_OPERANDS];
  int64_t step[CXI_KERNEL_OPERANDS]; /* elements apart; 0: a scalar */
  const void *params;
} cxi_run;
typedef void (*cxi_kernel)(const cxi_run *run);

/* The kernel of a primitive for operands of a dtype, or NULL. */
cxi_kernel cxi_kernel_of(cxi_prim prim, cx_dtype type);
/* Its parts: the table of a dtype by primitive. NULL: of another kind. */
const cxi_kernel *cxi_float_kernels(cx_dtype type);
const cxi_kernel *cxi_integer_kernels(cx_dtype type); /* bool too */

/* Runs a kernel over views of the shape of `out`, which is dense, or of rank
 * 0. `out` may be the buffer of an operand of its type. */
void cxi_kernel_run(cxi_kernel kernel, const void *params, uint32_t n_in,
                    const cxi_view *in, const cxi_view *out);

/* The `evaluate` of rows that have kernels. */
bool cxi_evaluate_elementwise(cxi_eval *eval, const cxi_view *in,
                              cxi_view *out);

#endif
