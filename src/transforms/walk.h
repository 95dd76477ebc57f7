/* walk.h - what the walks over programs share: the task around a walk, the
 * environment it carries, the rule it hands to a row. */
#ifndef CXI_WALK_H
#define CXI_WALK_H

#include "base/arena.h"
#include "transforms/memo.h"
#include "transforms/transforms.h"

/* -- a task: one transform of one program --------------------------------- */

typedef struct cxi_task {
  cxi_transform transform;
  const cxi_program *p;
  cxi_error *error;
  cxi_bytes key;
  cxi_mark mark; /* scratch memory goes with the task */
  bool deep;     /* it was refused */
  cxi_memo memo; /* the result, with references once made */
} cxi_task;

/* Starts a task; the caller appends to task.key what else decides the result.
 * The mask is the transform's answer, n_mask long; may be NULL. */
void cxi_task_begin(cxi_task *task, cxi_transform transform,
                    const cxi_program *p, bool *mask, uint32_t n_mask,
                    cxi_error *error);
/* True if there is nothing left to do: found, or refused. */
bool cxi_task_found(cxi_task *task);
/* Finishes a builder into a program named after p and the suffix: dumps and
 * checks it. NULL with task->error. */
const cxi_program *cxi_task_finish(cxi_task *task, cxi_builder *b,
                                   const char *suffix, uint32_t n_in,
                                   const cx *in, uint32_t n_out, const cx *out);
/* A failure of what was written into b: task->error says it. */
bool cxi_task_failed(cxi_task *task, const cxi_builder *b);
/* Takes over the references to a result that was made; keeps it if `ok`. */
void cxi_task_keep(cxi_task *task, bool ok);
/* Ends the task; true if memo.a (and b) are there, held. */
bool cxi_task_end(cxi_task *task);

/* Scratch memory for n items; reports to the current emitter without. */
void *cxi_walk_scratch(size_t n, size_t size);

/* -- a walk: equation by equation ----------------------------------------- */

typedef struct cxi_walk {
  const cxi_program *p;
  const cxi_error *watch[2]; /* the builders' errors; [1] may be NULL */
  cx *env;                   /* by value */
  cx *args;                  /* room for the operands of any equation */
  cxi_type *types;           /* and for the types of its operands, results */
  cxi_name site, scope;      /* before the walk */
} cxi_walk;

/* Fills env with literals; inputs are the caller's to set. */
bool cxi_walk_begin(cxi_walk *w, const cxi_program *p, const cxi_error *watch,
                    const cxi_error *watch_too);
static inline bool cxi_walk_failed(const cxi_walk *w) {
  return w->watch[0]->code != CX_OK ||
         (w->watch[1] && w->watch[1]->code != CX_OK);
}
/* Sets site and scope of equation i and gathers its operands in args. */
const cxi_equation *cxi_walk_at(cxi_walk *w, uint32_t i);
cxi_rule cxi_walk_rule(cxi_walk *w, const cxi_equation *e);
/* Emits the equation as it is, on args. */
void cxi_walk_emit(cxi_walk *w, const cxi_equation *e);
void cxi_walk_end(cxi_walk *w);

/* Reports that a primitive lacks a rule, or that a rule gave x a type that is
 * not `want`; `i` is the operand or result. */
void cxi_walk_no_rule(const char *transform, const cxi_rule *rule, uint32_t i,
                      const char *reason);
void cxi_walk_wrong_type(const char *transform, const cxi_rule *rule,
                         const char *what, uint32_t i, cx x, cxi_type want);

/* -- walks that others run ------------------------------------------------ */

/* The jvp walk, into the current emitter. dx[i] is none where there is none;
 * so is dout[i] afterwards. */
void cxi_jvp_walk(const cxi_program *p, const cxi_error *watch,
                  const cxi_error *watch_too, const cx *in, const cx *dx,
                  bool linearizing, cx *out, cx *dout);
/* The transposition of p into b, the current emitter: `in` has the ins that are
 * not linear, the cotangents, the accumulators; out gets a cotangent for each
 * linear in. False with b's error. */
bool cxi_transpose_into(const cxi_builder *b, const cxi_program *p,
                        const bool *linear_in, const bool *cotangent_out,
                        const bool *accumulator_in, const cx *in, cx *out);

#endif
