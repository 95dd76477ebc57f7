/* joined.h - what the rows that join elements by a function share. */
#ifndef CXI_JOINED_H
#define CXI_JOINED_H

#include "primitives/moves.h"

/* Operands x..., start..., half each: the x of one shape, which goes to *out,
 * each start of the dtype of its x; the body on scalars of these dtypes,
 * twice, gives one of each. */
bool cxi_infer_joined(cxi_infer *c, const cxi_program *body,
                      const cx_dims **out);
/* The program takes and gives scalars of these dtypes. */
bool cxi_infer_scalars(cxi_infer *c, const char *what, const cxi_program *p,
                       uint32_t n_in, const cx_dtype *in, uint32_t n_out,
                       const cx_dtype *out);
/* start, of rank 0 or of the result's shape. */
bool cxi_infer_start(cxi_infer *c, uint32_t operand, const cx_dims *result);
/* The results of shape `result`, of the dtypes of the x, from their starts. */
bool cxi_infer_from_starts(cxi_infer *c, const cx_dims *result);
cx cxi_start_full(cx start, const cx_dims *result);
/* A start whose result is batched at `to`. */
cx cxi_batch_start(cx start, int axis, int to, int64_t size,
                   const cx_dims *result);

#endif
