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

bool cxi_is_loop(cxi_prim prim) {
  return prim == CXI_PRIM_scan || prim == CXI_PRIM_while ||
         prim == CXI_PRIM_cond;
}

uint32_t cxi_loop_bodies(cxi_prim prim, const void *params) {
  switch (prim) {
  case CXI_PRIM_scan:
    return 1;
  case CXI_PRIM_while:
    return 2;
  case CXI_PRIM_cond:
    return ((const cxi_cond_params *)params)->branches.n;
  default:
    return 0;
  }
}

const cxi_program *cxi_loop_body(cxi_prim prim, const void *params, uint32_t i,
                                 int64_t *out_carry, int64_t *out_n_carry) {
  *out_carry = -1;
  *out_n_carry = 0;
  if (prim == CXI_PRIM_cond)
    return ((const cxi_cond_params *)params)->branches.d[i];
  if (prim == CXI_PRIM_scan) {
    const cxi_scan_params *s = params;
    *out_carry = s->n_consts;
    *out_n_carry = s->n_carry;
    return s->body;
  }
  const cxi_while_params *w = params;
  if (i == 0) return w->cond;
  *out_carry = w->n_body_consts;
  *out_n_carry = (int64_t)w->body->n_in - w->n_body_consts;
  return w->body;
}

static size_t bytes_of(const cxi_operand *o) {
  return (size_t)cxi_aval_bytes(&o->type);
}

/* The place among the unit's operands of the first carry; results are the
 * carries first. */
static uint32_t first_carry(const cxi_unit *unit) {
  if (unit->row->prim == CXI_PRIM_scan)
    return (uint32_t)((const cxi_scan_params *)unit->params)->n_consts;
  const cxi_while_params *w = unit->params;
  return (uint32_t)(w->n_cond_consts + w->n_body_consts);
}

static uint32_t count_carries(const cxi_unit *unit) {
  return unit->row->prim == CXI_PRIM_scan
             ? (uint32_t)((const cxi_scan_params *)unit->params)->n_carry
             : unit->n_results;
}

static const cxi_plan *body_of(const cxi_unit *unit) {
  return unit->bodies[unit->row->prim == CXI_PRIM_while ? 1 : 0];
}

static bool carry_in_place(const cxi_unit *unit, uint32_t k) {
  return body_of(unit)->alias[k] >= 0;
}

bool cxi_loop_in_place(const cxi_unit *unit, uint32_t r, uint32_t k) {
  return unit->row->prim != CXI_PRIM_cond && r < count_carries(unit) &&
         k == first_carry(unit) + r && carry_in_place(unit, r);
}

size_t cxi_loop_workspace(const cxi_unit *unit) {
  size_t bytes = 0;
  if (unit->row->prim == CXI_PRIM_cond) {
    for (uint32_t i = 0; i < unit->n_bodies; i++)
      if (unit->bodies[i]->bytes > bytes) bytes = unit->bodies[i]->bytes;
    return bytes;
  }
  for (uint32_t i = 0; i < unit->n_bodies; i++)
    bytes += cxi_aligned(unit->bodies[i]->bytes);
  for (uint32_t k = 0; k < count_carries(unit); k++)
    if (!carry_in_place(unit, k))
      bytes += cxi_aligned(bytes_of(&unit->results[k]));
  return bytes + CXI_ALIGNMENT; /* the verdict of a condition */
}

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

static void swap_carries(const loop *l, char *const *bases, char **in,
                         char **out) {
  for (uint32_t k = 0; k < l->n_carry; k++) {
    const carry *c = &l->carries[k];
    if (c->in_place) continue;
    char *to = cxi_at(bases, c->to), *written = out[k];
    out[k] = written == to ? cxi_at(bases, c->spare) : to;
    in[k] = written;
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
  for (;;) {
    for (uint32_t k = 0; k < l->n_carry; k++) tested[k] = carry_in[k];
    if (!cxi_plan_run(l->cond, cond_memory, running)) return false;
    if (!*verdict) break;
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
static cxi_ref take(cxi_ref *memory, size_t bytes) {
  const cxi_ref at = *memory;
  memory->offset += (int64_t)cxi_aligned(bytes);
  return at;
}

static const carry *carries_of(const cxi_unit *unit, cxi_ref *memory,
                               cxi_arena *arena) {
  const uint32_t n = count_carries(unit), first = first_carry(unit);
  carry *c = cxi_arena_alloc(arena, (n + (size_t)1) * sizeof *c);
  for (uint32_t k = 0; c && k < n; k++) {
    c[k].from = unit->operands[first + k].at;
    c[k].to = unit->results[k].at;
    c[k].bytes = bytes_of(&unit->results[k]);
    c[k].in_place = carry_in_place(unit, k);
    if (!c[k].in_place) c[k].spare = take(memory, c[k].bytes);
  }
  return c;
}

static bool compile_scan(const cxi_unit *unit, loop *l, cxi_arena *arena,
                         cxi_ref *memory) {
  const cxi_scan_params *s = unit->params;
  l->length = s->length;
  l->reverse = s->reverse;
  l->n_consts = (uint32_t)s->n_consts;
  l->n_xs = unit->n_operands - l->n_consts - l->n_carry;
  l->n_ys = unit->n_results - l->n_carry;
  l->body = unit->bodies[0];
  l->body_memory = take(memory, l->body->bytes);
  l->consts = refs_of(unit->operands, l->n_consts, arena);
  l->xs = rows_of(unit->operands + l->n_consts + l->n_carry, l->n_xs, s->length,
                  arena);
  l->ys = rows_of(unit->results + l->n_carry, l->n_ys, s->length, arena);
  return l->consts && l->xs && l->ys;
}

static bool compile_while(const cxi_unit *unit, loop *l, cxi_arena *arena,
                          cxi_ref *memory) {
  const cxi_while_params *w = unit->params;
  l->n_cond_consts = (uint32_t)w->n_cond_consts;
  l->n_consts = (uint32_t)w->n_body_consts;
  l->cond = unit->bodies[0];
  l->body = unit->bodies[1];
  l->cond_memory = take(memory, l->cond->bytes);
  l->body_memory = take(memory, l->body->bytes);
  l->verdict = take(memory, 1);
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

bool cxi_loop_compile(const cxi_unit *unit, const cxi_backend *backend,
                      cxi_arena *arena, cxi_thunk *out, cxi_error *error) {
  const cxi_prim prim = unit->row->prim;
  bool ok;
  if (prim == CXI_PRIM_cond) {
    ok = compile_cond(unit, arena, out);
  } else {
    loop *l = cxi_arena_alloc(arena, sizeof *l);
    cxi_ref memory = unit->workspace;
    ok = l != NULL;
    if (ok) {
      l->backend = backend;
      l->n_carry = count_carries(unit);
      ok = prim == CXI_PRIM_scan ? compile_scan(unit, l, arena, &memory)
                                 : compile_while(unit, l, arena, &memory);
    }
    if (ok) {
      l->carries = carries_of(unit, &memory, arena);
      ok = l->carries != NULL;
      *out = (cxi_thunk){ prim == CXI_PRIM_scan ? run_scan : run_while, l };
    }
  }
  return ok || cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}
