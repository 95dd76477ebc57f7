/* loop.c - scan, while and cond over compiled bodies. */
#include "lower/loop.h"

#include <string.h>

/* A carry: where it comes from, where it must end, and the buffer it swaps
 * with unless the body updates it in place. */
typedef struct carry {
  cxi_ref from, to, spare;
  size_t bytes;
  bool in_place;
} carry;

/* A row of a stacked array per step. */
typedef struct rows {
  cxi_ref at;
  int64_t bytes;
} rows;

typedef struct loop {
  const cxi_backend *backend;
  const cxi_plan *body, *cond;
  cxi_hot *hot; /* NULL: no code is made of it */
  cxi_ref body_memory, cond_memory, verdict;
  int64_t length;
  bool reverse;
  uint32_t n_consts, n_cond_consts, n_carry, n_xs, n_ys;
  const cxi_ref *consts, *cond_consts;
  const carry *carries;
  const rows *xs, *ys;
} loop;

typedef struct branches {
  uint32_t n, n_in, n_out;
  const cxi_plan *const *plans;
  cxi_ref index, memory;
  const cxi_ref *in, *out;
} branches;

/* -- running --------------------------------------------------------------- */

/* The pointers of a body's inputs and outputs are set anew at each step. */
typedef struct bound {
  char **in, **out;
} bound;

static bound bind(const cxi_plan *plan, void *memory) {
  char **bases = cxi_plan_bases(plan, memory);
  return (bound){ bases + CXI_BASE_FIRST, bases + CXI_BASE_FIRST + plan->n_in };
}

static void bind_consts(char **in, const cxi_ref *consts, uint32_t n,
                        char *const *bases) {
  for (uint32_t i = 0; i < n; i++) in[i] = cxi_at(bases, consts[i]);
}

/* Carries that swap: the first step reads where they come from and writes so
 * that after `length` steps they end where they must, at once if it is odd. */
static void start_carries(const loop *l, char *const *bases, char **in,
                          char **out, bool odd) {
  for (uint32_t k = 0; k < l->n_carry; k++) {
    const carry *c = &l->carries[k];
    char *from = cxi_at(bases, c->from), *to = cxi_at(bases, c->to);
    if (c->in_place) {
      if (from != to) l->backend->copy(to, from, c->bytes);
      in[k] = out[k] = to;
    } else {
      in[k] = from;
      out[k] = odd ? to : cxi_at(bases, c->spare);
    }
  }
}

/* Where carry k is written in the step after this one. */
static char *next_place(const carry *c, char *const *bases,
                        const char *written) {
  char *to = cxi_at(bases, c->to);
  return written == to ? cxi_at(bases, c->spare) : to;
}

static void swap_carries(const loop *l, char *const *bases, char **in,
                         char **out) {
  for (uint32_t k = 0; k < l->n_carry; k++) {
    const carry *c = &l->carries[k];
    if (c->in_place) continue;
    in[k] = out[k];
    out[k] = next_place(c, bases, in[k]);
  }
}

/* Puts carries where they must end; in[] is where they are. */
static void finish_carries(const loop *l, char *const *bases, char **in) {
  for (uint32_t k = 0; k < l->n_carry; k++) {
    char *to = cxi_at(bases, l->carries[k].to);
    if (in[k] != to) l->backend->copy(to, in[k], l->carries[k].bytes);
  }
}

static void bind_rows(char **to, const rows *r, uint32_t n, char *const *bases,
                      int64_t i) {
  for (uint32_t k = 0; k < n; k++)
    to[k] = (char *)cxi_at(bases, r[k].at) + i * r[k].bytes;
}

static void advance_rows(char **to, const rows *r, uint32_t n, int64_t step) {
  for (uint32_t k = 0; k < n; k++) to[k] += step * r[k].bytes;
}

/* Generated code, if it is there or due; `steps` more are counted. */
static const cxi_code *look(const loop *l, int64_t steps,
                            const cxi_running *running) {
  const int64_t step = l->body->n_thunks + (l->cond ? l->cond->n_thunks : 0);
  return l->hot ? cxi_hot_code(l->hot, steps * step, running) : NULL;
}

/* All steps that are left. */
static bool run_code(const loop *l, const cxi_code *code, char *const *bases,
                     int64_t steps, cxi_running *running) {
  char **body = cxi_at(bases, l->body_memory);
  char **cond = l->cond ? cxi_at(bases, l->cond_memory) : NULL;
  char *other[l->n_carry + 1];
  for (uint32_t k = 0; k < l->n_carry; k++)
    other[k] = next_place(&l->carries[k], bases,
                          body[CXI_BASE_FIRST + l->body->n_in + k]);
  cxi_code_run *run = (cxi_code_run *)code->entry;
  return run(body, cond, other, steps, running, code->table);
}

static bool run_scan(const void *state, char *const *bases,
                     cxi_running *running) {
  const loop *l = state;
  void *memory = cxi_at(bases, l->body_memory);
  const bound b = bind(l->body, memory);
  char **carry_in = b.in + l->n_consts, **x = carry_in + l->n_carry;
  char **y = b.out + l->n_carry;
  bind_consts(b.in, l->consts, l->n_consts, bases);
  start_carries(l, bases, carry_in, b.out, l->length % 2 == 1);
  const int64_t step = l->reverse ? -1 : 1;
  const int64_t start = l->reverse ? l->length - 1 : 0;
  bind_rows(x, l->xs, l->n_xs, bases, start);
  bind_rows(y, l->ys, l->n_ys, bases, start);
  for (int64_t i = 0; i < l->length; i++) {
    const int64_t left = l->length - i; /* counted as they begin */
    const cxi_code *code =
        i % CXI_HOT_STEPS
            ? NULL
            : look(l, left < CXI_HOT_STEPS ? left : CXI_HOT_STEPS, running);
    if (code) {
      if (!run_code(l, code, bases, left, running)) return false;
      break;
    }
    if (!cxi_plan_run(l->body, memory, running)) return false;
    swap_carries(l, bases, carry_in, b.out);
    advance_rows(x, l->xs, l->n_xs, step);
    advance_rows(y, l->ys, l->n_ys, step);
  }
  finish_carries(l, bases, carry_in);
  return true;
}

static bool run_while(const void *state, char *const *bases,
                      cxi_running *running) {
  const loop *l = state;
  void *memory = cxi_at(bases, l->body_memory);
  void *cond_memory = cxi_at(bases, l->cond_memory);
  const bound b = bind(l->body, memory), c = bind(l->cond, cond_memory);
  char **carry_in = b.in + l->n_consts, **tested = c.in + l->n_cond_consts;
  bind_consts(b.in, l->consts, l->n_consts, bases);
  bind_consts(c.in, l->cond_consts, l->n_cond_consts, bases);
  uint8_t *verdict = cxi_at(bases, l->verdict);
  c.out[0] = (char *)verdict;
  start_carries(l, bases, carry_in, b.out, true);
  for (int64_t i = 0;; i++) {
    const cxi_code *code =
        i % CXI_HOT_STEPS ? NULL : look(l, i ? CXI_HOT_STEPS : 0, running);
    if (code) {
      if (!run_code(l, code, bases, 0, running)) return false;
      break;
    }
    for (uint32_t k = 0; k < l->n_carry; k++) tested[k] = carry_in[k];
    if (!cxi_plan_run(l->cond, cond_memory, running)) return false;
    if (!*verdict) {
      look(l, i % CXI_HOT_STEPS, running); /* for later runs */
      break;
    }
    if (!cxi_plan_run(l->body, memory, running)) return false;
    swap_carries(l, bases, carry_in, b.out);
  }
  finish_carries(l, bases, carry_in);
  return true;
}

static bool run_cond(const void *state, char *const *bases,
                     cxi_running *running) {
  const branches *s = state;
  int32_t index;
  memcpy(&index, cxi_at(bases, s->index), sizeof index);
  const cxi_plan *plan = s->plans[index < 0                ? 0
                                  : (uint32_t)index < s->n ? (uint32_t)index
                                                           : s->n - 1];
  void *memory = cxi_at(bases, s->memory);
  const bound b = bind(plan, memory);
  bind_consts(b.in, s->in, s->n_in, bases);
  bind_consts(b.out, s->out, s->n_out, bases);
  return cxi_plan_run(plan, memory, running);
}

/* -- compiling ------------------------------------------------------------- */

static size_t bytes_of(const cxi_operand *o) {
  return (size_t)cxi_aval_bytes(&o->type);
}

static cxi_ref *refs_of(const cxi_operand *operands, uint32_t n,
                        cxi_arena *arena) {
  cxi_ref *refs = cxi_arena_alloc(arena, (n + (size_t)1) * sizeof *refs);
  for (uint32_t i = 0; refs && i < n; i++) refs[i] = operands[i].at;
  return refs;
}

static rows *rows_of(const cxi_operand *operands, uint32_t n, int64_t length,
                     cxi_arena *arena) {
  rows *r = cxi_arena_alloc(arena, (n + (size_t)1) * sizeof *r);
  for (uint32_t i = 0; r && i < n; i++)
    r[i] = (rows){ operands[i].at,
                   length > 0 ? (int64_t)bytes_of(&operands[i]) / length : 0 };
  return r;
}

/* A piece of the unit's workspace. */
static cxi_ref piece(const cxi_unit *unit, size_t at) {
  return (cxi_ref){ unit->workspace.base,
                    unit->workspace.offset + (int64_t)at };
}

static const carry *carries_of(const cxi_unit *unit, const size_t *spare,
                               cxi_arena *arena) {
  const uint32_t n = cxi_loop_carries(unit), first = cxi_loop_first_carry(unit);
  carry *c = cxi_arena_alloc(arena, (n + (size_t)1) * sizeof *c);
  for (uint32_t k = 0; c && k < n; k++) {
    c[k].from = unit->operands[first + k].at;
    c[k].to = unit->results[k].at;
    c[k].bytes = bytes_of(&unit->results[k]);
    c[k].in_place = cxi_loop_carry_in_place(unit, k);
    if (!c[k].in_place) c[k].spare = piece(unit, spare[k]);
  }
  return c;
}

static bool compile_scan(const cxi_unit *unit, loop *l, cxi_arena *arena) {
  const cxi_scan_params *s = unit->params;
  l->length = s->length;
  l->reverse = s->reverse;
  l->n_consts = (uint32_t)s->n_consts;
  l->n_xs = unit->n_operands - l->n_consts - l->n_carry;
  l->n_ys = unit->n_results - l->n_carry;
  l->body = unit->bodies[0];
  l->consts = refs_of(unit->operands, l->n_consts, arena);
  l->xs = rows_of(unit->operands + l->n_consts + l->n_carry, l->n_xs, s->length,
                  arena);
  l->ys = rows_of(unit->results + l->n_carry, l->n_ys, s->length, arena);
  return l->consts && l->xs && l->ys;
}

static bool compile_while(const cxi_unit *unit, loop *l, cxi_arena *arena) {
  const cxi_while_params *w = unit->params;
  l->n_cond_consts = (uint32_t)w->n_cond_consts;
  l->n_consts = (uint32_t)w->n_body_consts;
  l->cond = unit->bodies[0];
  l->body = unit->bodies[1];
  l->cond_consts = refs_of(unit->operands, l->n_cond_consts, arena);
  l->consts = refs_of(unit->operands + l->n_cond_consts, l->n_consts, arena);
  return l->cond_consts && l->consts;
}

static bool compile_cond(const cxi_unit *unit, cxi_arena *arena,
                         cxi_thunk *out) {
  branches *s = cxi_arena_alloc(arena, sizeof *s);
  const cxi_plan **plans = cxi_arena_copy(
      arena, unit->bodies, unit->n_bodies * sizeof *unit->bodies);
  if (!s || !plans) return false;
  *s = (branches){ .n = unit->n_bodies,
                   .n_in = unit->n_operands - 1,
                   .n_out = unit->n_results,
                   .plans = plans,
                   .index = unit->operands[0].at,
                   .memory = unit->workspace,
                   .in =
                       refs_of(unit->operands + 1, unit->n_operands - 1, arena),
                   .out = refs_of(unit->results, unit->n_results, arena) };
  *out = (cxi_thunk){ run_cond, s };
  return s->in && s->out;
}

static bool compile_loop(const cxi_unit *unit, const cxi_backend *backend,
                         cxi_arena *arena, cxi_hot **hots, cxi_thunk *out) {
  const bool scans = unit->row->prim == CXI_PRIM_scan;
  const uint32_t n = cxi_loop_carries(unit);
  loop *l = cxi_arena_alloc(arena, sizeof *l);
  cxi_loop_parts parts = { .spare = cxi_arena_alloc(
                               arena, (n + (size_t)1) * sizeof(size_t)) };
  if (!l || !parts.spare) return false;
  cxi_loop_layout(unit, &parts);
  l->backend = backend;
  l->n_carry = n;
  l->body_memory = piece(unit, parts.body);
  l->cond_memory = piece(unit, parts.cond);
  l->verdict = piece(unit, parts.verdict);
  l->carries = carries_of(unit, parts.spare, arena);
  if (!l->carries || !(scans ? compile_scan : compile_while)(unit, l, arena))
    return false;
  *out = (cxi_thunk){ scans ? run_scan : run_while, l };
  if (!backend->coder) return true;
  l->hot = cxi_hot_make(unit, backend->coder, arena, hots);
  return l->hot != NULL;
}

bool cxi_loop_compile(const cxi_unit *unit, const cxi_backend *backend,
                      cxi_arena *arena, cxi_hot **hots, cxi_thunk *out,
                      cxi_error *error) {
  const bool ok = unit->row->prim == CXI_PRIM_cond
                      ? compile_cond(unit, arena, out)
                      : compile_loop(unit, backend, arena, hots, out);
  return ok || cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}
