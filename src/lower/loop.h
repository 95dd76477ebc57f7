/* loop.h - scan, while and cond: bodies compiled once, run in place.
 *
 * A loop owns the workspace of its body and a spare buffer for each carry that
 * the body does not update in place; those swap at every step. Rows of xs are
 * read and rows of ys written where they lie. */
#ifndef CXI_LOOP_H
#define CXI_LOOP_H

#include "lower/hot.h"
#include "lower/plan.h"

bool cxi_is_loop(cxi_prim prim);

/* The bodies of the primitive: how many, each program, and which of its
 * inputs are carries (-1: none) as a range that leaves as outputs 0.. */
uint32_t cxi_loop_bodies(cxi_prim prim, const void *params);
const cxi_program *cxi_loop_body(cxi_prim prim, const void *params, uint32_t i,
                                 int64_t *out_carry, int64_t *out_n_carry);

size_t cxi_loop_workspace(const cxi_unit *unit);
/* Where in its workspace the parts of a scan or while lie: the memory of its
 * bodies, the verdict of a condition, and the spare buffer of carry k, to be
 * filled by the caller's array of as many as there are carries. */
typedef struct cxi_loop_parts {
  size_t body, cond, verdict;
  size_t *spare;
} cxi_loop_parts;
void cxi_loop_layout(const cxi_unit *unit, cxi_loop_parts *parts);
/* The carries: how many, which operand is the first; is carry k updated in
 * place by the body? */
uint32_t cxi_loop_carries(const cxi_unit *unit);
uint32_t cxi_loop_first_carry(const cxi_unit *unit);
bool cxi_loop_carry_in_place(const cxi_unit *unit, uint32_t k);
/* May result r be in operand k's buffer? */
bool cxi_loop_in_place(const cxi_unit *unit, uint32_t r, uint32_t k);
/* The plans of its bodies, of theirs and so on: each loop's or branch's side by
 * side, the outer ones first. To be freed with cxi_free(out->d); false without
 * memory, or if one keeps no schedule. */
typedef struct cxi_plans {
  uint32_t n, cap;
  const cxi_plan **d;
} cxi_plans;
bool cxi_loop_plans(const cxi_unit *loop, cxi_plans *out);
/* Its `hot` goes before *hots. */
bool cxi_loop_compile(const cxi_unit *unit, const cxi_backend *backend,
                      cxi_arena *arena, cxi_hot **hots, cxi_thunk *out,
                      cxi_error *error);

#endif
