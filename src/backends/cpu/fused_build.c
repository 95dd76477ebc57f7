/* fused_build.c - the equations of a fused unit as steps over blocks. */
#include <string.h>

#include "backends/cpu/fused.h"

#include "base/alloc.h"

enum { BLOCK = 1024, MAX_TASKS_WITH_MEMORY = 16, TASK_WORK = 1 << 17 };
static const uint32_t NONE = UINT32_MAX;

/* The slots of a value: as it is stored, and f16, bf16 as f32. By row or by
 * element, since an operand may be read on both levels. */
typedef struct forms {
  uint32_t plain, wide;
} forms;

typedef struct building {
  const cxi_unit *unit;
  const cxi_cpu_kernels *kernels;
  cxi_arena *arena;
  cxi_pass *f;
  bool rows_only;              /* no columns: one level */
  forms *operands[2], *ops[2]; /* by level (1: rows) and index */
  cxi_slot *slots;
  cxi_step *steps;
  uint32_t n_slots, cap_slots, n_steps, cap_steps;
  bool short_of_memory;
  size_t workspace_bytes; /* of the evaluation that needs the most */
} building;

/* -- slots and steps ------------------------------------------------------- */

/* The arrays are made large enough beforehand. */
static uint32_t add_slot(building *b, cxi_slot slot) {
  b->slots[b->n_slots] = slot;
  b->slots[b->n_slots].bytes = (uint32_t)cxi_dtype_bytes(slot.type);
  return b->n_slots++;
}

static uint32_t add_register(building *b, cx_dtype type, bool per_row) {
  return add_slot(b, (cxi_slot){ .kind = CXI_SLOT_REGISTER,
                                 .type = type,
                                 .per_row = per_row });
}

static cxi_step *add_step(building *b, cxi_step step) {
  b->steps[b->n_steps] = step;
  return &b->steps[b->n_steps++];
}

static void add_kernel(building *b, cxi_cpu_kernel kernel, uint32_t out,
                       uint32_t in, bool per_row) {
  add_step(b, (cxi_step){ .kind = CXI_STEP_KERNEL,
                          .kernel = kernel,
                          .per_row = per_row,
                          .n_in = 1,
                          .in = { in },
                          .out = out });
}

/* -- operands -------------------------------------------------------------- */

static void find_geometry(building *b) {
  const cxi_unit *u = b->unit;
  cxi_pass *f = b->f;
  cxi_unit_extents(u, &f->rows, &f->n);
  bool whole_rows = false;
  for (uint32_t i = 0; i < u->n_ops && u->n > 0; i++)
    whole_rows |= u->ops[i].per_row;
  b->rows_only = u->n == 0;
  f->block_n = whole_rows || f->n <= BLOCK ? f->n : BLOCK;
  f->block_rows = f->block_n < f->n || f->n >= BLOCK ? 1 : BLOCK / f->n;
  if (f->block_rows > f->rows) f->block_rows = f->rows;
  f->n_blocks = f->block_n < f->n ? f->rows * cxi_divide_up(f->n, f->block_n)
                                  : cxi_divide_up(f->rows, f->block_rows);
}

static uint32_t memory_slot(building *b, const cxi_operand *o,
                            cxi_slot_kind kind) {
  return add_slot(b, (cxi_slot){ .kind = kind,
                                 .type = o->type.type,
                                 .per_row = kind == CXI_SLOT_ROWS,
                                 .operand = o });
}

/* A register filled from memory by a step of movement. */
static uint32_t moved(building *b, const cxi_operand *o, cxi_step_kind kind,
                      cxi_slot_kind from, bool once, bool per_row,
                      const cxi_pattern *pattern) {
  const uint32_t in = memory_slot(b, o, from);
  const uint32_t out = add_register(b, o->type.type, per_row);
  cxi_pattern *kept = NULL;
  if (kind == CXI_STEP_GATHER) {
    kept = cxi_arena_copy(b->arena, pattern, sizeof *pattern);
    b->short_of_memory |= !kept;
  }
  add_step(b, (cxi_step){ .kind = kind,
                          .once = once,
                          .per_row = per_row,
                          .n_in = 1,
                          .in = { in },
                          .out = out,
                          .size = cxi_cpu_log2_bytes(o->type.type),
                          .pattern = kept });
  return out;
}

static uint32_t load(building *b, const cxi_operand *o, bool per_row) {
  const cxi_pass *f = b->f;
  const cxi_pattern p = cxi_pattern_of(&o->type.shape, o->strides);
  switch (cxi_operand_cover(o, per_row, f->rows, f->n)) {
  case CXI_COVER_FULL:
    return memory_slot(b, o, per_row ? CXI_SLOT_ROWS : CXI_SLOT_ELEMENTS);
  case CXI_COVER_SCALAR:
    return moved(b, o, CXI_STEP_FILL, CXI_SLOT_FIXED, true, per_row, NULL);
  case CXI_COVER_ROW:
    if (f->block_rows == 1) return memory_slot(b, o, CXI_SLOT_COLUMNS);
    return moved(b, o, CXI_STEP_GATHER, CXI_SLOT_FIXED, true, false, &p);
  case CXI_COVER_COLUMN:
    return moved(b, o, CXI_STEP_SPREAD, CXI_SLOT_ROWS, false, false, NULL);
  default:
    return moved(b, o, CXI_STEP_GATHER, CXI_SLOT_FIXED, false, per_row, &p);
  }
}

/* -- values ---------------------------------------------------------------- */

/* The level on which a plain pass works is that of elements here. */
static bool level_of(const building *b, bool per_row) {
  return per_row && !b->rows_only;
}

/* The forms of operand k of an equation on the level on which it reads it. */
static forms *forms_of(building *b, const cxi_op *op, uint32_t k) {
  const cxi_source *s = &b->unit->sources[op->in + k];
  const bool reads_rows = level_of(b, op->per_row) && !op->reduces;
  forms *at = s->fused ? &b->ops[reads_rows][s->index]
                       : &b->operands[reads_rows][s->index];
  if (at->plain != NONE || at->wide != NONE) return at;
  if (!s->fused) {
    at->plain = load(b, &b->unit->operands[s->index], reads_rows);
    return at;
  }
  /* a value per row, repeated along the row */
  const forms *row = &b->ops[1][s->index];
  const bool wide = row->wide != NONE;
  const cx_dtype type = wide ? CX_F32 : b->unit->ops[s->index].type;
  const uint32_t out = add_register(b, type, false);
  add_step(b, (cxi_step){ .kind = CXI_STEP_SPREAD,
                          .n_in = 1,
                          .in = { wide ? row->wide : row->plain },
                          .out = out,
                          .size = cxi_cpu_log2_bytes(type) });
  *(wide ? &at->wide : &at->plain) = out;
  return at;
}

static uint32_t plain_form(building *b, const cxi_op *op, uint32_t k) {
  forms *v = forms_of(b, op, k);
  if (v->plain == NONE) {
    const cx_dtype type = cxi_source_type(b->unit, op, k);
    const bool rows = b->slots[v->wide].per_row;
    v->plain = add_register(b, type, rows);
    add_kernel(b, b->kernels->narrow[type], v->plain, v->wide, rows);
  }
  return v->plain;
}

/* As f32 if it is f16 or bf16. */
static uint32_t wide_form(building *b, const cxi_op *op, uint32_t k) {
  const cx_dtype type = cxi_source_type(b->unit, op, k);
  if (!cxi_cpu_is_half(type)) return plain_form(b, op, k);
  forms *v = forms_of(b, op, k);
  if (v->wide == NONE) {
    const bool rows = b->slots[v->plain].per_row;
    v->wide = add_register(b, CX_F32, rows);
    add_kernel(b, b->kernels->widen[type], v->wide, v->plain, rows);
  }
  return v->wide;
}

/* -- equations ------------------------------------------------------------- */

/* Where the equation's plain result goes: to memory if it leaves the unit. */
static uint32_t result_slot(building *b, const cxi_op *op) {
  const bool rows = level_of(b, op->per_row);
  if (op->result < 0) return add_register(b, op->type, rows);
  return memory_slot(b, &b->unit->results[op->result],
                     rows ? CXI_SLOT_ROWS : CXI_SLOT_ELEMENTS);
}

/* The wide result is in v->wide, not yet rounded. */
static void finish_wide(building *b, const cxi_op *op, forms *v) {
  const bool rows = level_of(b, op->per_row);
  add_kernel(b, b->kernels->round[op->type], v->wide, v->wide, rows);
  if (op->result < 0) return;
  v->plain = result_slot(b, op);
  add_kernel(b, b->kernels->narrow[op->type], v->plain, v->wide, rows);
}

/* The reduction of the last axis of (rows, n). */
static const void *row_params(building *b, const cxi_op *op) {
  if (op->row->prim == CXI_PRIM_argmax || op->row->prim == CXI_PRIM_argmin) {
    cxi_argmax_params *p =
        cxi_arena_copy(b->arena, op->params, sizeof(cxi_argmax_params));
    if (p) p->axis = 1;
    return p;
  }
  cxi_reduce_sum_params *p =
      cxi_arena_copy(b->arena, op->params, sizeof(cxi_reduce_sum_params));
  if (p) p->axes = (cx_dims){ 1, { 1 } };
  return p;
}

/* The workspace of an evaluation of the largest block. */
static void reserve_workspace(building *b, const cxi_op *op,
                              const cxi_step *step) {
  const cxi_pass *f = b->f;
  const cx_dims rows = { 1, { f->block_rows } };
  const cx_dims elements = { 1, { f->block_rows * f->block_n } };
  const cx_dims table = { 2, { f->block_rows, f->block_n } };
  cxi_view in[CXI_FUSED_OPERANDS];
  if (!op->row->workspace) return;
  for (uint32_t k = 0; k < step->n_in; k++)
    in[k] = cxi_view_dense((cx_aval){ cxi_source_type(b->unit, op, k),
                                      step->reduces   ? table
                                      : step->per_row ? rows
                                                      : elements },
                           NULL);
  const cxi_view out = cxi_view_dense(
      (cx_aval){ op->type, step->per_row ? rows : elements }, NULL);
  const cxi_eval e = {
    .row = op->row, .params = step->params, .n_in = step->n_in, .n_out = 1
  };
  const int64_t bytes = op->row->workspace(&e, in, &out);
  b->short_of_memory |= bytes < 0;
  if (bytes > 0 && (size_t)bytes > b->workspace_bytes)
    b->workspace_bytes = (size_t)bytes;
}

/* By the row's evaluate: into a register, since it may not work in place. */
static bool add_evaluation(building *b, const cxi_op *op, forms *v) {
  const bool rows = level_of(b, op->per_row);
  cxi_step step = { .kind = CXI_STEP_EVALUATE,
                    .per_row = rows,
                    .reduces = op->reduces,
                    .n_in = op->n_in,
                    .row = op->row,
                    .params = op->params };
  for (uint32_t k = 0; k < op->n_in; k++) step.in[k] = plain_form(b, op, k);
  if (op->reduces && !(step.params = row_params(b, op))) return false;
  reserve_workspace(b, op, &step);
  step.out = add_register(b, op->type, rows);
  add_step(b, step);
  v->plain = step.out;
  if (op->result < 0) return true;
  const uint32_t to = result_slot(b, op);
  add_kernel(b, b->kernels->copy[cxi_cpu_log2_bytes(op->type)], to, step.out,
             rows);
  return true;
}

static bool add_reduction(building *b, const cxi_op *op, forms *v) {
  const cx_dtype from = cxi_source_type(b->unit, op, 0);
  const cx_dtype number = cxi_cpu_is_half(from) ? CX_F32 : from;
  const cxi_cpu_row_kernel kernel =
      b->kernels->reduce[number]
          ? b->kernels->reduce[number][op->row->prim].rows
          : NULL;
  const bool arg =
      op->row->prim == CXI_PRIM_argmax || op->row->prim == CXI_PRIM_argmin;
  if (!kernel || (!arg && op->type != from)) return add_evaluation(b, op, v);
  cxi_step step = { .kind = CXI_STEP_REDUCE,
                    .per_row = true,
                    .reduces = true,
                    .n_in = 1,
                    .in = { wide_form(b, op, 0) },
                    .reduce = kernel,
                    .number = op->type };
  const bool wide = cxi_cpu_is_half(op->type);
  step.out = wide ? add_register(b, CX_F32, true) : result_slot(b, op);
  *(wide ? &v->wide : &v->plain) = step.out;
  add_step(b, step);
  if (wide) finish_wide(b, op, v);
  return true;
}

/* An index or random bits: they read nothing element by element. */
static void add_generator(building *b, const cxi_op *op, forms *v) {
  cxi_step step = { .per_row = level_of(b, op->per_row),
                    .size = cxi_cpu_log2_bytes(op->type) };
  if (op->row->prim == CXI_PRIM_iota) {
    const cxi_iota_params *p = op->params;
    step.kind = CXI_STEP_IOTA;
    step.iota = b->kernels->iota[op->type];
    step.index = (cxi_cpu_index){ 1, p->shape.d[p->axis] };
    for (int i = (int)p->axis + 1; i < p->shape.n; i++)
      step.index.inner *= p->shape.d[i];
  } else {
    const cxi_source *key = &b->unit->sources[op->in];
    step.kind = CXI_STEP_BITS;
    step.n_in = 1;
    step.in[0] = memory_slot(b, &b->unit->operands[key->index], CXI_SLOT_FIXED);
  }
  step.out = v->plain = result_slot(b, op);
  add_step(b, step);
}

static bool add_equation(building *b, uint32_t i) {
  const cxi_op *op = &b->unit->ops[i];
  forms *v = &b->ops[level_of(b, op->per_row)][i];
  if (op->reduces) return add_reduction(b, op, v);
  if (cxi_generates(op)) {
    add_generator(b, op, v);
    return true;
  }
  cx_dtype types[CXI_FUSED_OPERANDS];
  for (uint32_t k = 0; k < op->n_in; k++)
    types[k] = cxi_source_type(b->unit, op, k);
  bool wide;
  const cxi_cpu_kernel kernel = cxi_cpu_find_kernel(
      b->kernels, op->row->prim, op->n_in, types, op->type, &wide);
  if (!kernel) return add_evaluation(b, op, v);
  cxi_step step = { .kind = CXI_STEP_KERNEL,
                    .kernel = kernel,
                    .per_row = level_of(b, op->per_row),
                    .n_in = op->n_in,
                    .number =
                        cxi_cpu_kernel_number(op->row->prim, op->params) };
  for (uint32_t k = 0; k < op->n_in; k++)
    step.in[k] = wide ? wide_form(b, op, k) : plain_form(b, op, k);
  if (wide && cxi_cpu_is_half(op->type)) {
    step.out = v->wide = add_register(b, CX_F32, step.per_row);
    add_step(b, step);
    finish_wide(b, op, v);
  } else {
    step.out = v->plain = result_slot(b, op);
    add_step(b, step);
  }
  return true;
}

/* -- registers ------------------------------------------------------------- */

static size_t register_bytes(const cxi_pass *f, const cxi_slot *slot) {
  const int64_t n = slot->per_row ? f->block_rows : f->block_rows * f->block_n;
  return cxi_aligned((size_t)n * slot->bytes);
}

/* Each register gets a piece of the scratch buffer from its first step to its
 * last use; those filled once keep theirs. */
static bool place_registers(building *b) {
  cxi_pass *f = b->f;
  uint32_t *last = cxi_scratch((b->n_slots + (size_t)1) * sizeof *last);
  uint32_t *spare = cxi_scratch((b->n_slots + (size_t)1) * sizeof *spare);
  bool *placed = cxi_scratch(b->n_slots + (size_t)1);
  uint32_t n_spare = 0;
  if (!last || !spare || !placed) return false;
  for (uint32_t s = 0; s < b->n_steps; s++) {
    last[b->steps[s].out] = s;
    for (uint32_t k = 0; k < b->steps[s].n_in; k++) last[b->steps[s].in[k]] = s;
  }
  for (uint32_t s = 0; s < b->n_steps; s++)
    if (b->steps[s].once) last[b->steps[s].out] = NONE;
  for (uint32_t s = 0; s < b->n_steps; s++) {
    const cxi_step *step = &b->steps[s];
    cxi_slot *out = &b->slots[step->out];
    if (out->kind == CXI_SLOT_REGISTER && !placed[step->out]) {
      const size_t bytes = register_bytes(f, out);
      uint32_t i = 0;
      while (i < n_spare && register_bytes(f, &b->slots[spare[i]]) != bytes)
        i++;
      if (i < n_spare && !step->once) {
        out->offset = b->slots[spare[i]].offset;
        spare[i] = spare[--n_spare];
      } else {
        out->offset = f->scratch_bytes;
        f->scratch_bytes += bytes;
      }
      placed[step->out] = true;
    }
    for (uint32_t k = 0; k < step->n_in; k++) {
      const uint32_t in = step->in[k];
      bool again = false;
      for (uint32_t j = 0; j < k; j++) again |= step->in[j] == in;
      if (last[in] == s && !again && in != step->out &&
          b->slots[in].kind == CXI_SLOT_REGISTER)
        spare[n_spare++] = in;
    }
  }
  f->workspace = f->scratch_bytes;
  f->scratch_bytes += cxi_aligned(b->workspace_bytes);
  return true;
}

/* -- tasks ----------------------------------------------------------------- */

/* Tasks of about equal work, from the sizes alone. */
static void find_tasks(cxi_pass *f) {
  const int64_t work = f->block_rows * f->block_n * (f->n_steps + 1);
  f->task_blocks = cxi_divide_up(TASK_WORK, work);
  if (f->scratch_bytes > CXI_STACK_SCRATCH &&
      f->n_blocks > f->task_blocks * MAX_TASKS_WITH_MEMORY)
    f->task_blocks = cxi_divide_up(f->n_blocks, MAX_TASKS_WITH_MEMORY);
  f->n_tasks = cxi_divide_up(f->n_blocks, f->task_blocks);
}

/* Those done once come first; the order is kept otherwise. */
static void sort_steps(building *b, cxi_step *sorted) {
  uint32_t n = 0;
  for (int once = 1; once >= 0; once--) {
    for (uint32_t s = 0; s < b->n_steps; s++)
      if (b->steps[s].once == once) sorted[n++] = b->steps[s];
    if (once) b->f->n_once = n;
  }
}

static bool make_room(building *b) {
  const cxi_unit *u = b->unit;
  size_t n_in = 0;
  for (uint32_t i = 0; i < u->n_ops; i++) n_in += u->ops[i].n_in;
  /* an operand: its load, its form, its repetition; a result: rounded, kept */
  const size_t slots = 6 * n_in + 6 * u->n_ops + 6;
  b->slots = cxi_scratch_raw(slots * sizeof *b->slots);
  b->steps = cxi_scratch_raw(slots * sizeof *b->steps);
  for (int level = 0; level < 2; level++) {
    const size_t n = u->n_operands + (size_t)1, m = u->n_ops + (size_t)1;
    b->operands[level] = cxi_scratch(n * sizeof(forms));
    b->ops[level] = cxi_scratch(m * sizeof(forms));
    if (!b->operands[level] || !b->ops[level]) return false;
    memset(b->operands[level], 0xff, n * sizeof(forms));
    memset(b->ops[level], 0xff, m * sizeof(forms));
  }
  return b->slots && b->steps;
}

static bool build(building *b) {
  cxi_pass *f = b->f;
  f->kernels = b->kernels;
  find_geometry(b);
  if (!make_room(b)) return false;
  for (uint32_t i = 0; i < b->unit->n_ops; i++)
    if (!add_equation(b, i)) return false;
  if (b->short_of_memory || !place_registers(b)) return false;
  cxi_step *steps =
      cxi_arena_alloc(b->arena, (b->n_steps + (size_t)1) * sizeof *steps);
  f->slots = cxi_arena_copy(b->arena, b->slots, b->n_slots * sizeof *b->slots);
  if (!steps || !f->slots) return false;
  sort_steps(b, steps);
  f->steps = steps;
  f->n_slots = b->n_slots;
  f->n_steps = b->n_steps;
  find_tasks(f);
  return true;
}

cxi_pass *cxi_pass_build(const cxi_unit *unit, cxi_arena *arena) {
  const cxi_mark mark = cxi_scratch_mark();
  building b = { .unit = unit,
                 .arena = arena,
                 .kernels = cxi_cpu_kernels_now(),
                 .f = cxi_arena_alloc(arena, sizeof(cxi_pass)) };
  const bool ok = b.f && build(&b);
  cxi_scratch_reset(mark);
  return ok ? b.f : NULL;
}

void cxi_pass_place(cxi_pass *pass, const cxi_unit *unit) {
  for (uint32_t i = 0; i < pass->n_slots; i++) {
    cxi_slot *slot = &pass->slots[i];
    if (slot->operand) slot->at = slot->operand->at;
    slot->operand = NULL;
  }
  pass->scratch = unit->workspace;
}
