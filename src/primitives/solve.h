/* solve.h - what the rows share whose derivative is that of an equation.
 *
 * Operands are consts, which the equation depends on, then m floating arrays,
 * one vector of the space in which the solution lies. The parts of the row are
 * programs of the consts and of one or two such vectors to one. */
#ifndef CXI_SOLVE_H
#define CXI_SOLVE_H

#include "primitives/call.h"

typedef struct cxi_solve_part {
  const char *what;     /* for errors */
  const cxi_program *p; /* NULL: not given */
  uint32_t n_vectors;   /* that it takes */
  bool optional;
  bool exact;           /* it makes a vector and nothing beside it */
} cxi_solve_part;

/* Checks the parts against the operands; the results are those of `solve`,
 * which begin with a vector. */
bool cxi_solve_infer(cxi_infer *c, const cxi_solve_part *parts, uint32_t n,
                     uint32_t m, const cxi_program *solve);
/* The parts batched into out[], with one answer about which arrays of a vector
 * are; out_axis is of the results of parts[0]. Returns the operands for them,
 * NULL after reporting. */
cx *cxi_solve_batch(const cxi_rule *r, const cxi_solve_part *parts, uint32_t n,
                    uint32_t m, const cx *in, const int *axis, int64_t size,
                    const cxi_program **out, int *out_axis);
/* Emits the row with what is used beside the first m results, which are kept
 * together; *solve is a field of its params, a copy. */
void cxi_solve_dce(const cxi_rule *r, const void *params,
                   const cxi_program **solve, uint32_t m, const cx *in,
                   const bool *used, cx *out);

/* rhs[i] becomes rhs[i] (or 0) - d p, of the tangents dx of p's consts at the
 * vector x; true if anything is not none afterwards. */
bool cxi_solve_right_side(const cxi_rule *r, const cxi_program *p, uint32_t m,
                          const cx *in, const cx *dx, const cx *x, cx *rhs);
/* The solution dx of the linear system with this right side, none in it: 0. */
void cxi_solve_linear(const cxi_rule *r, const cxi_linear_solve_params *params,
                      uint32_t n_consts, const cx *consts, uint32_t m,
                      const cx *rhs, cx *out);

#endif
