/* plan.h - where every buffer lies, and a program ready to run. */
#ifndef CXI_PLAN_H
#define CXI_PLAN_H

#include "lower/schedule.h"

/* A program compiled. Immutable; its memory is an arena's. */
typedef struct cxi_plan {
  uint32_t n_in, n_out, n_thunks;
  const cxi_thunk *thunks;
  const uint64_t *constants;
  const int32_t *alias; /* by output: the input whose buffer it takes,
                                 or -1: it has its own */
  size_t slab_offset;   /* in the workspace, after the bases */
  size_t bytes;         /* of the workspace */
  size_t peak_bytes;    /* of the slab */
  const char *report;
  const cxi_schedule *schedule; /* of a loop's body, kept for generated code;
                                   NULL: not kept */
} cxi_plan;

/* Which inputs the program may overwrite after their last use. */
typedef struct cxi_donation {
  const bool *inputs; /* NULL: none */
  int64_t first;      /* output j may only take input first + j;
                                 -1: any */
} cxi_donation;

/* Makes each output a buffer of its own: appends copies of what is an input,
 * a literal, a view, or an output already. */
bool cxi_plan_outputs(cxi_graph *g, const cxi_donation *donation);

/* Places all buffers of the schedule: sets the operands' and results' `at`
 * and the units' `workspace`, and the plan but for its thunks. */
bool cxi_plan_buffers(cxi_schedule *s, const cxi_backend *backend,
                      const cxi_donation *donation, cxi_arena *arena,
                      cxi_plan *out, cxi_error *error);

/* Does each unit find what it reads where the unit before has left it, and write
 * only what the plan may? False with *error, which tells where not. */
bool cxi_plan_check(const cxi_schedule *s, const cxi_plan *plan,
                    const cxi_donation *donation, cxi_error *error);

/* The bases of a run, at the start of the workspace (64-byte aligned). Those
 * of inputs and outputs are CXI_BASE_FIRST + i and CXI_BASE_FIRST + n_in + j;
 * the caller fills them. */
char **cxi_plan_bases(const cxi_plan *plan, void *workspace);
static inline bool cxi_plan_run(const cxi_plan *plan, char *const *bases,
                                cxi_running *running) {
  for (uint32_t i = 0; i < plan->n_thunks; i++)
    if (!plan->thunks[i].run(plan->thunks[i].state, bases, running))
      return false;
  return true;
}

/* offsets.c: buffers that are alive at the same time get disjoint ranges. */
typedef struct cxi_interval {
  uint32_t first, last; /* alive from unit to unit, both included */
  size_t bytes, offset;
} cxi_interval;
/* Sets the offsets, multiples of 64; returns the end of the highest, or
 * SIZE_MAX without memory. */
size_t cxi_place_intervals(cxi_interval *intervals, uint32_t n);

#endif
