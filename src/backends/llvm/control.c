/* control.c - the steps of scan and while, and the branches of cond.
 *
 * Carries of few elements are variables across steps; larger ones are updated
 * in place or swap between two buffers, as on tier 0 (lower/loop.c). */
#include "backends/llvm/emit.h"
#include "base/dtype.h"

/* -- carries --------------------------------------------------------------- */

typedef struct carrying {
  cxi_codegen *e;
  const cxi_steps *s;
  cxi_level *body;
  uint32_t n, first; /* carries; the body's first among its inputs */
  /* by carry: variables of small ones; of swapped ones, of the pointers */
  LLVMValueRef *now, *next, *at, *to;
} carrying;

static bool small(const carrying *c, uint32_t k) {
  return cxi_level_is_small(c->body, c->first + k);
}

static bool swaps(const carrying *c, uint32_t k) {
  return !small(c, k) && !cxi_loop_carry_in_place(c->s->unit, k);
}

static void copy_carry(const carrying *c, uint32_t k, LLVMValueRef to,
                       LLVMValueRef from) {
  const cx_aval *type = cxi_level_input(c->body, c->first + k);
  cxi_copy_elements(c->e, type->type, to, from, cxi_dims_count(&type->shape));
}

static LLVMValueRef variable_for(const carrying *c, uint32_t k) {
  const cx_aval *type = cxi_level_input(c->body, c->first + k);
  return cxi_local(c->e, type->type, cxi_dims_count(&type->shape));
}

/* Before the first step. */
static void open_carries(carrying *c) {
  cxi_codegen *e = c->e;
  for (uint32_t k = 0; k < c->n; k++) {
    if (small(c, k)) {
      c->now[k] = variable_for(c, k);
      c->next[k] = cxi_loop_carry_in_place(c->s->unit, k) ? c->now[k]
                                                          : variable_for(c, k);
      copy_carry(c, k, c->now[k], c->s->from[k]);
    } else if (swaps(c, k)) {
      c->at[k] = cxi_local_of(e, e->ptr);
      c->to[k] = cxi_local_of(e, e->ptr);
      LLVMBuildStore(e->b, c->s->from[k], c->at[k]);
      LLVMBuildStore(e->b, c->s->to[k], c->to[k]);
    }
  }
}

/* At the beginning of a step: where the body reads and writes. */
static void bind_carries(const carrying *c) {
  cxi_codegen *e = c->e;
  for (uint32_t k = 0; k < c->n; k++) {
    LLVMValueRef in = c->s->from[k], out = in;
    if (small(c, k)) {
      in = c->now[k];
      out = c->next[k];
    } else if (swaps(c, k)) {
      in = LLVMBuildLoad2(e->b, e->ptr, c->at[k], "");
      out = LLVMBuildLoad2(e->b, e->ptr, c->to[k], "");
    }
    c->body->in[c->first + k] = in;
    c->body->out[k] = out;
  }
}

static void step_carries(const carrying *c) {
  cxi_codegen *e = c->e;
  for (uint32_t k = 0; k < c->n; k++) {
    if (small(c, k)) {
      copy_carry(c, k, c->now[k], c->next[k]);
    } else if (swaps(c, k)) {
      const LLVMValueRef written = c->body->out[k];
      const LLVMValueRef was_first =
          LLVMBuildICmp(e->b, LLVMIntEQ, written, c->s->to[k], "");
      LLVMBuildStore(e->b, written, c->at[k]);
      LLVMBuildStore(
          e->b,
          LLVMBuildSelect(e->b, was_first, c->s->other[k], c->s->to[k], ""),
          c->to[k]);
    }
  }
}

/* After the last step: from[k] is where carry k lies. */
static void close_carries(const carrying *c) {
  cxi_codegen *e = c->e;
  for (uint32_t k = 0; k < c->n; k++) {
    if (small(c, k)) {
      copy_carry(c, k, c->s->to[k], c->now[k]);
      c->s->from[k] = c->s->to[k];
    } else if (swaps(c, k)) {
      c->s->from[k] = LLVMBuildLoad2(e->b, e->ptr, c->at[k], "");
    }
  }
}

/* -- steps ----------------------------------------------------------------- */

/* Inputs that stay the same: small ones are copied to variables. */
static void bind_consts(cxi_codegen *e, cxi_level *l, const LLVMValueRef *from,
                        uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    l->in[i] = from[i];
    if (!cxi_level_is_small(l, i)) continue;
    const cx_aval *type = cxi_level_input(l, i);
    const int64_t count = cxi_dims_count(&type->shape);
    l->in[i] = cxi_local(e, type->type, count);
    cxi_copy_elements(e, type->type, l->in[i], from[i], count);
  }
}

/* The row of step i. */
static LLVMValueRef row_at(cxi_codegen *e, LLVMValueRef first,
                           const cx_aval *type, LLVMValueRef i, bool reverse) {
  const int64_t bytes = cxi_aval_bytes(type);
  LLVMValueRef by =
      LLVMBuildMul(e->b, i, cxi_int(e, reverse ? -bytes : bytes), "");
  return LLVMBuildGEP2(e->b, e->i8, first, &by, 1, "");
}

static void bind_rows(cxi_codegen *e, const carrying *c, LLVMValueRef i) {
  const cxi_scan_params *p = c->s->unit->params;
  cxi_level *l = c->body;
  const uint32_t first = c->first + c->n;
  for (uint32_t x = 0; first + x < l->plan->n_in; x++) {
    const cx_aval *type = cxi_level_input(l, first + x);
    const LLVMValueRef row = row_at(e, c->s->xs[x], type, i, p->reverse);
    l->in[first + x] = row;
    if (!cxi_level_is_small(l, first + x)) continue;
    const int64_t count = cxi_dims_count(&type->shape);
    l->in[first + x] = cxi_local(e, type->type, count);
    cxi_copy_elements(e, type->type, l->in[first + x], row, count);
  }
  for (uint32_t y = 0; c->n + y < l->plan->n_out; y++)
    l->out[c->n + y] =
        row_at(e, c->s->ys[y], cxi_level_output(l, c->n + y), i, p->reverse);
}

/* Whether there is another step: of a scan by the count, of a while by its
 * condition, which sees the carries where the body does. */
static LLVMValueRef emit_test(cxi_codegen *e, const carrying *c,
                              cxi_level *cond, LLVMValueRef i) {
  if (!cond) return LLVMBuildICmp(e->b, LLVMIntSLT, i, c->s->steps, "");
  const uint32_t first = cond->plan->n_in - c->n;
  for (uint32_t k = 0; k < c->n; k++)
    cond->in[first + k] = c->body->in[c->first + k];
  cond->out[0] = cxi_local(e, CX_BOOL, 1);
  cxi_level_emit(e, cond);
  return cxi_load(e, CX_BOOL, cond->out[0], 1);
}

static void emit_loop(cxi_codegen *e, carrying *c, cxi_level *cond) {
  const LLVMBasicBlockRef test = cxi_block(e, "test"),
                          step = cxi_block(e, "step"),
                          done = cxi_block(e, "done");
  const LLVMValueRef count = cxi_local_of(e, e->i64);
  LLVMBuildStore(e->b, cxi_int(e, 0), count);
  LLVMBuildBr(e->b, test);
  LLVMPositionBuilderAtEnd(e->b, test);
  const LLVMValueRef i = LLVMBuildLoad2(e->b, e->i64, count, "");
  bind_carries(c);
  LLVMBuildCondBr(e->b, emit_test(e, c, cond, i), step, done);
  LLVMPositionBuilderAtEnd(e->b, step);
  if (!cond) bind_rows(e, c, i);
  cxi_level_emit(e, c->body);
  step_carries(c);
  LLVMBuildStore(e->b, LLVMBuildAdd(e->b, i, cxi_int(e, 1), ""), count);
  LLVMBuildBr(e->b, test);
  LLVMPositionBuilderAtEnd(e->b, done);
}

void cxi_steps_emit(cxi_codegen *e, cxi_steps *s) {
  const cxi_unit *u = s->unit;
  const bool scans = u->row->prim == CXI_PRIM_scan;
  cxi_level *body = cxi_level_open(e, u->bodies[scans ? 0 : 1], s->body_memory);
  cxi_level *cond =
      scans ? NULL : cxi_level_open(e, u->bodies[0], s->cond_memory);
  if (e->short_of_memory) return;
  const uint32_t n = cxi_loop_carries(u);
  const uint32_t consts =
      scans ? (uint32_t)((const cxi_scan_params *)u->params)->n_consts
            : body->plan->n_in - n;
  carrying c = { .e = e,
                 .s = s,
                 .body = body,
                 .n = n,
                 .first = consts,
                 .now = cxi_values(e, n),
                 .next = cxi_values(e, n),
                 .at = cxi_values(e, n),
                 .to = cxi_values(e, n) };
  if (e->short_of_memory) return;
  bind_consts(e, body, s->consts, consts);
  if (cond) bind_consts(e, cond, s->cond_consts, cond->plan->n_in - n);
  open_carries(&c);
  emit_loop(e, &c, cond);
  close_carries(&c);
}

/* -- loops within a body --------------------------------------------------- */

static LLVMValueRef *pointers(cxi_codegen *e, cxi_level *l,
                              const cxi_operand *operands, uint32_t n) {
  LLVMValueRef *p = cxi_values(e, n);
  for (uint32_t i = 0; p && i < n; i++)
    p[i] = cxi_operand_pointer(e, l, &operands[i]);
  return p;
}

/* The unit's workspace, in the slab of the level. */
static LLVMValueRef workspace(cxi_codegen *e, const cxi_level *l,
                              const cxi_unit *u, size_t at) {
  return cxi_after(e, l->memory,
                   (int64_t)l->plan->slab_offset + u->workspace.offset +
                       (int64_t)at);
}

/* Rows of the first step of a scan that goes backwards are the last. */
static void find_last_rows(cxi_codegen *e, const cxi_unit *u,
                           const cxi_operand *operands, LLVMValueRef *rows,
                           uint32_t n) {
  const cxi_scan_params *p = u->params;
  if (!p->reverse || p->length == 0) return;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t all = cxi_aval_bytes(&operands[i].type);
    rows[i] = cxi_after(e, rows[i], all - all / p->length);
  }
}

/* Carries that a nested loop leaves elsewhere go to its results. */
static void settle(cxi_codegen *e, const cxi_unit *u, uint32_t k,
                   LLVMValueRef to, LLVMValueRef from) {
  const cxi_operand *o = &u->results[k];
  const LLVMBasicBlockRef moves = cxi_block(e, "moves"),
                          after = cxi_block(e, "after");
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, to, from, ""), after,
                  moves);
  LLVMPositionBuilderAtEnd(e->b, moves);
  cxi_copy_elements(e, o->type.type, to, from, cxi_count(o));
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, after);
}

static void emit_nested(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const bool scans = u->row->prim == CXI_PRIM_scan;
  const uint32_t n = cxi_loop_carries(u), first = cxi_loop_first_carry(u);
  cxi_loop_parts parts = { .spare = cxi_scratch((n + (size_t)1) *
                                                sizeof *parts.spare) };
  cxi_steps s = { .unit = u,
                  .from = pointers(e, l, u->operands + first, n),
                  .to = cxi_values(e, n),
                  .other = cxi_values(e, n) };
  LLVMValueRef *results = pointers(e, l, u->results, u->n_results);
  if (!parts.spare) e->short_of_memory = true;
  if (e->short_of_memory) return;
  cxi_loop_layout(u, &parts);
  s.body_memory = workspace(e, l, u, parts.body);
  s.cond_memory = workspace(e, l, u, parts.cond);
  const uint32_t tested =
      scans ? 0
            : (uint32_t)((const cxi_while_params *)u->params)->n_cond_consts;
  s.cond_consts = pointers(e, l, u->operands, tested);
  s.consts = pointers(e, l, u->operands + tested, first - tested);
  if (scans) {
    const uint32_t n_xs = u->n_operands - first - n;
    s.steps = cxi_int(e, ((const cxi_scan_params *)u->params)->length);
    s.xs = pointers(e, l, u->operands + first + n, n_xs);
    s.ys = results + n;
    if (e->short_of_memory) return;
    find_last_rows(e, u, u->operands + first + n, s.xs, n_xs);
    find_last_rows(e, u, u->results + n, s.ys, u->n_results - n);
  }
  for (uint32_t k = 0; k < n; k++) {
    s.to[k] = results[k];
    s.other[k] = workspace(e, l, u, parts.spare[k]);
    if (cxi_count(&u->results[k]) <= CXI_SMALL ||
        !cxi_loop_carry_in_place(u, k))
      continue;
    if (!cxi_same_place(e, l, u->operands[first + k].root, u->results[k].root))
      cxi_copy_elements(e, u->results[k].type.type, results[k], s.from[k],
                        cxi_count(&u->results[k]));
    s.from[k] = results[k];
  }
  cxi_steps_emit(e, &s);
  for (uint32_t k = 0; k < n && !e->short_of_memory; k++)
    if (s.from[k] != results[k]) settle(e, u, k, results[k], s.from[k]);
}

/* -- branches -------------------------------------------------------------- */

static void emit_branch(cxi_codegen *e, cxi_level *l, const cxi_unit *u,
                        const cxi_plan *plan) {
  cxi_level *branch = cxi_level_open(e, plan, workspace(e, l, u, 0));
  if (!branch) return;
  for (uint32_t i = 0; i < plan->n_in; i++)
    branch->in[i] = cxi_operand_pointer(e, l, &u->operands[1 + i]);
  for (uint32_t j = 0; j < plan->n_out; j++)
    branch->out[j] = cxi_operand_pointer(e, l, &u->results[j]);
  cxi_level_emit(e, branch);
}

static void emit_cond(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const LLVMValueRef index =
      cxi_load(e, u->operands[0].type.type,
               cxi_operand_pointer(e, l, &u->operands[0]), 1);
  const LLVMTypeRef type = LLVMTypeOf(index);
  const LLVMBasicBlockRef after = cxi_block(e, "joined");
  LLVMBasicBlockRef last = cxi_block(e, "last");
  /* below 0: the first; beyond: the last */
  LLVMValueRef in[] = { index, LLVMConstNull(type) };
  const LLVMValueRef at = cxi_intrinsic(e, "llvm.smax", type, in, 2);
  const LLVMValueRef choice = LLVMBuildSwitch(e->b, at, last, u->n_bodies - 1);
  for (uint32_t i = 0; i < u->n_bodies && !e->short_of_memory; i++) {
    LLVMBasicBlockRef block = last;
    if (i + 1 < u->n_bodies) {
      block = cxi_block(e, "branch");
      LLVMAddCase(choice, LLVMConstInt(type, i, false), block);
    }
    LLVMPositionBuilderAtEnd(e->b, block);
    emit_branch(e, l, u, u->bodies[i]);
    LLVMBuildBr(e->b, after);
  }
  LLVMPositionBuilderAtEnd(e->b, after);
}

static bool takes(const cxi_codegen *e, const cxi_unit *u) {
  (void)e;
  if (u->kind != CXI_UNIT_ONE || !cxi_is_loop(u->row->prim)) return false;
  for (uint32_t i = 0; i < u->n_bodies; i++)
    if (!u->bodies[i]->schedule) return false;
  return true;
}

static void emit(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  e->depth++;
  (u->row->prim == CXI_PRIM_cond ? emit_cond : emit_nested)(e, l, u);
  e->depth--;
}

const cxi_family cxi_family_control = { "loop or branch", takes, emit };
