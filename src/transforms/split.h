/* split.h - the splitting emitter: two programs written side by side.
 *
 * An equation goes to the unknown program if an operand lives there, else to
 * the known one. A known value that the unknown program needs crosses as a
 * residual, once: an output of the known program, an input of the unknown
 * one. Literals and what is made of literals alone are written again. */
#ifndef CXI_SPLIT_H
#define CXI_SPLIT_H

#include "transforms/walk.h"

typedef struct cxi_residual {
  cx known, unknown; /* the value, the input it becomes */
} cxi_residual;

struct cxi_split {
  cxi_emitter emitter; /* first, so that a pointer converts */
  cxi_builder *known, own, unknown; /* own: what known is if it is made here */
  cx *crossed; /* by known value: its handle in `unknown` */
  cxi_residual *residuals;
  uint32_t n_residuals, cap_residuals, cap_crossed;
};

/* Opens it and makes it the current emitter. The known side is written into
 * `known`, the builder that is the current emitter; NULL: one of its own. */
void cxi_split_open(cxi_split *s, cxi_builder *known);
static inline bool cxi_split_is_unknown(const cxi_split *s, cx a) {
  return cxi_builder_owns(&s->unknown, a);
}
/* The handle in `unknown` of a known value; any other handle as it is. */
cx cxi_split_residual(cxi_split *s, cx a);
void cxi_split_into_known(cxi_split *s);
void cxi_split_into_unknown(cxi_split *s);
/* Finishes both programs: known(known_in) -> (known_out, residuals) and
 * unknown(unknown_in, residuals) -> unknown_out, into task->memo. */
bool cxi_split_finish(cxi_split *s, cxi_task *task, uint32_t n_known_in,
                      const cx *known_in, uint32_t n_unknown_in,
                      const cx *unknown_in, uint32_t n_known_out,
                      const cx *known_out, uint32_t n_unknown_out,
                      const cx *unknown_out);
/* Of a split into another's builder: finishes the unknown program alone, and
 * says which values of that builder its residuals are (scratch memory). NULL
 * with the error of either side in task->error and in both builders. */
const cxi_program *cxi_split_finish_unknown(cxi_split *s, cxi_task *task,
                                            uint32_t n_in, const cx *in,
                                            uint32_t n_out, const cx *out,
                                            const cx **out_residuals,
                                            uint32_t *out_n_residuals);

/* -- walks through a split ------------------------------------------------ */

/* The jvp walk of p on the primals `in`, of the known side. Appends an input of
 * the unknown side for each nonzero tangent to dx, and to dout the tangents of
 * the outputs in nonzero_out, which it sets; gives out. Returns how many those
 * tangents are. */
uint32_t cxi_linearize_walk(cxi_split *s, const cxi_program *p,
                            const bool *nonzero_in, const cx *in, cx *dx,
                            cx *out, cx *dout, bool *nonzero_out);

#endif
