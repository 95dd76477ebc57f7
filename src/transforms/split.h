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
  cxi_builder known, unknown;
  cx *crossed; /* by known value: its handle in `unknown` */
  cxi_residual *residuals;
  uint32_t n_residuals, cap_residuals, cap_crossed;
};

/* Opens it and makes it the current emitter. */
void cxi_split_open(cxi_split *s);
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

#endif
