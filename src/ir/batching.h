/* batching.h - batching rules that users give, by number.
 *
 * Programs hold a number, so that text which is read back cannot name a place
 * in memory. What makes a program of a rule traces its C function, so it lives
 * in trace/ and is installed here with the first rule; 0 is no rule: the
 * lanes one after the other. */
#ifndef CXI_BATCHING_H
#define CXI_BATCHING_H

#include "ir/program.h"

/* A rule that stayed where the program was exported from: it may not vanish,
 * so batching is an error. */
enum { CXI_RULE_ELSEWHERE = -1 };

typedef struct cxi_batching {
  /* Whether the process has a rule of that number, for functions of the types
   * of body. */
  bool (*fits)(int64_t rule, const cxi_program *body);
  /* The rule's program for a batch of that size: from the operands after the
   * first *out_skip, those in `batched` with the batch at axis 0, to the
   * results, those in batched_out with it. `batched` grows where the rule is
   * handed more operands with the batch. Held; NULL after reporting to the
   * current emitter. */
  const cxi_program *(*program)(int64_t rule, int64_t size, bool *batched,
                                bool *batched_out, uint32_t *out_skip);
} cxi_batching;
extern const cxi_batching *cxi_batching_installed; /* NULL: none yet */

#endif
