/* linalg.h - what the rows of matrix factorisations share.
 *
 * The matrices of a batch are computed one by one, in f64 whatever their
 * dtype, in plain loops whose order depends on their sizes alone; each result
 * is rounded once. */
#ifndef CXI_LINALG_H
#define CXI_LINALG_H

#include "ops/axes.h"
#include "ops/matrix.h"
#include "primitives/families.h"

/* -- infer ----------------------------------------------------------------- */

/* n operands of one floating dtype whose last two axes are matrices; the
 * batch axes before them are those of operand 0. */
bool cxi_infer_matrices(cxi_infer *c, uint32_t n);
bool cxi_infer_square(cxi_infer *c, uint32_t operand);
/* Appends a result of operand 0's batch axes and `rank` (1 or 2) more. */
bool cxi_infer_block(cxi_infer *c, cx_dtype type, int rank, int64_t m,
                     int64_t n);

/* -- batch and evaluate --------------------------------------------------- */

/* Every batch axis goes to the front, before the matrices' own. */
void cxi_batch_linalg(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis);

/* A matrix (m, n) in rows; a vector is (m, 1). */
typedef struct cxi_block {
  int64_t m, n;
  double *at;
} cxi_block;
typedef void cxi_block_rule(const void *params, const cxi_block *in,
                            const cxi_block *out, double *work);
/* Runs f on each matrix. Operand 0 has `rank` axes that are not of the batch. */
bool cxi_evaluate_blocks(cxi_eval *e, const cxi_view *in, cxi_view *out,
                         int rank, cxi_block_rule *f);
/* The row's workspace: `work` numbers are f's to use (-1: more than there can
 * be). */
int64_t cxi_blocks_workspace(const cxi_eval *e, const cxi_view *in,
                             const cxi_view *out, int rank, int64_t work);

/* The numbers that `reflect` and `apply_reflectors` need for the reflectors of
 * (m, n), applied to c columns at most; -1: more than there can be. */
int64_t cxi_reflect_work(int64_t m, int64_t n, int64_t c);

#endif
