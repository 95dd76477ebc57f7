/* moves.h - rules shared by the rows that move elements. */
#ifndef CXI_MOVES_H
#define CXI_MOVES_H

#include "ops/axes.h"
#include "primitives/families.h"

/* f is linear in all its floating operands together: f(dx), with zeros for
 * tangents that are none and the other operands as they are. */
void cxi_jvp_move(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout);

/* The accumulator, or zeros to start from. */
cx cxi_begun(cx acc, cxi_type type);

/* Operand x with its batch axis at `to`: moved there from `axis`, or inserted
 * if it has none (axis < 0). */
cx cxi_batch_to(cx x, int axis, int to, int64_t size);
/* The batch axis of the first operand that has one; -1: none has. */
int cxi_first_batched(const int *axis, uint32_t n);

/* A number of equal handles, in scratch memory; NULL without it. */
cx *cxi_handles(uint32_t n, cx value);

/* infer: a list that names axes of operand 0, each once; an axis of `rank`; a
 * list of sizes. */
bool cxi_infer_axes(cxi_infer *c, const char *name, const cx_dims *axes);
bool cxi_infer_axis(cxi_infer *c, int64_t axis, int rank);
bool cxi_infer_sizes(cxi_infer *c, const char *name, const cx_dims *shape);
/* The one result: dtype of operand 0. */
bool cxi_infer_moved(cxi_infer *c, cx_dims shape);

#endif
