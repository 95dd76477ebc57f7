/* fused.c - fused units: block by block, on all threads. */
#include "backends/cpu/fused.h"

#include <stdatomic.h>

#include "base/pool.h"

/* One run of a unit. */
typedef struct running {
  const cxi_pass *f;
  char *const *bases;
  const cxi_code *code; /* NULL: by its steps */
  char *const *at;      /* for the code */
  atomic_bool failed;
  cxi_error error; /* the first */
} running;

/* The block at hand. */
typedef struct block {
  int64_t row, column, rows, n; /* n elements of each of `rows` rows */
  char **at;                    /* by slot */
  char *workspace;              /* of what evaluates */
} block;

static void set_block(const cxi_pass *f, int64_t i, block *b) {
  if (f->n_blocks == 1) {
    b->row = b->column = 0;
    b->rows = f->rows;
    b->n = f->n;
  } else if (f->block_n < f->n) {
    const int64_t per_row = cxi_divide_up(f->n, f->block_n);
    b->row = i / per_row;
    b->column = i % per_row * f->block_n;
    b->rows = 1;
    b->n = f->n - b->column < f->block_n ? f->n - b->column : f->block_n;
  } else {
    b->row = i * f->block_rows;
    b->column = 0;
    b->rows =
        f->rows - b->row < f->block_rows ? f->rows - b->row : f->block_rows;
    b->n = f->n;
  }
}

static void set_slots(const cxi_pass *f, char *const *bases, block *b) {
  const int64_t element = b->row * f->n + b->column;
  for (uint32_t s = 0; s < f->n_slots; s++) {
    const cxi_slot *slot = &f->slots[s];
    if (slot->kind == CXI_SLOT_REGISTER) continue;
    const int64_t i = slot->kind == CXI_SLOT_ELEMENTS  ? element
                      : slot->kind == CXI_SLOT_ROWS    ? b->row
                      : slot->kind == CXI_SLOT_COLUMNS ? b->column
                                                       : 0;
    b->at[s] = (char *)cxi_at(bases, slot->at) + i * (int64_t)slot->bytes;
  }
}

static void fail(running *r, const cxi_error *error) {
  if (!atomic_exchange(&r->failed, true)) r->error = *error;
}

static void evaluate(running *r, const cxi_step *step, const block *b) {
  const cxi_slot *slots = r->f->slots;
  cxi_view in[CXI_FUSED_OPERANDS], out;
  const cx_dims elements = { 1, { b->rows * b->n } }, rows = { 1, { b->rows } };
  const cx_dims table = { 2, { b->rows, b->n } };
  for (uint32_t k = 0; k < step->n_in; k++)
    in[k] = cxi_view_dense(
        (cx_aval){ slots[step->in[k]].type, step->reduces   ? table
                                            : step->per_row ? rows
                                                            : elements },
        b->at[step->in[k]]);
  out = cxi_view_dense(
      (cx_aval){ slots[step->out].type, step->per_row ? rows : elements },
      b->at[step->out]);
  cxi_error error = { 0 };
  cxi_eval eval = { .row = step->row,
                    .params = step->params,
                    .n_in = step->n_in,
                    .n_out = 1,
                    .workspace = b->workspace,
                    .error = &error };
  if (!step->row->evaluate(&eval, in, &out)) fail(r, &error);
}

/* The place of the block's first element, or row. */
static int64_t first_of(const running *r, const cxi_step *step,
                        const block *b) {
  return step->per_row ? b->row : b->row * r->f->n + b->column;
}

static void run_step(running *r, const cxi_step *step, const block *b) {
  const cxi_cpu_kernels *kernels = r->f->kernels;
  char *out = b->at[step->out], *in = b->at[step->in[0]];
  const int64_t n = step->per_row ? b->rows : b->rows * b->n;
  switch (step->kind) {
  case CXI_STEP_KERNEL:
    step->kernel(n, out, in, b->at[step->in[1]], b->at[step->in[2]],
                 step->number);
    break;
  case CXI_STEP_REDUCE:
    step->reduce(b->rows, b->n, out, in, step->number);
    break;
  case CXI_STEP_FILL:
    kernels->fill[step->size](n, out, in);
    break;
  case CXI_STEP_SPREAD:
    kernels->spread[step->size](b->rows, b->n, out, in);
    break;
  case CXI_STEP_GATHER:
    kernels->gather[step->size](
        step->pattern, step->once ? 0 : first_of(r, step, b), n, out, in);
    break;
  case CXI_STEP_IOTA:
    step->iota(first_of(r, step, b), n, out, &step->index);
    break;
  case CXI_STEP_BITS:
    kernels->bits[step->size](first_of(r, step, b), n, out, in);
    break;
  default:
    evaluate(r, step, b);
  }
}

/* Sends for the memory of a block while the one before computes. A pass of a
 * single step only streams: there this costs more than it brings. */
static void fetch_block(const cxi_pass *f, char *const *bases, int64_t i) {
  block b;
  set_block(f, i, &b);
  const int64_t element = b.row * f->n + b.column, n = b.rows * b.n;
  for (uint32_t s = 0; s < f->n_slots; s++) {
    const cxi_slot *slot = &f->slots[s];
    if (slot->kind != CXI_SLOT_ELEMENTS) continue;
    const char *p = (char *)cxi_at(bases, slot->at) + element * slot->bytes;
    for (int64_t k = 0; k < n * slot->bytes; k += 64)
      __builtin_prefetch(p + k, 0, 2);
  }
}

static void run_blocks(running *r, int64_t first, int64_t last, char *scratch) {
  const cxi_pass *f = r->f;
  char *at[f->n_slots];
  block b = { .at = at, .workspace = scratch + f->workspace };
  for (uint32_t s = 0; s < f->n_slots; s++)
    at[s] = scratch + f->slots[s].offset;
  for (int64_t i = first; i < last; i++) {
    set_block(f, i, &b);
    set_slots(f, r->bases, &b);
    if (i + 1 < last && f->n_steps - f->n_once > 1)
      fetch_block(f, r->bases, i + 1);
    if (i == first && f->n_once > 0) {
      block whole = b;
      whole.rows = f->block_rows;
      whole.n = f->block_n;
      for (uint32_t s = 0; s < f->n_once; s++)
        run_step(r, &f->steps[s], &whole);
    }
    for (uint32_t s = f->n_once; s < f->n_steps; s++)
      run_step(r, &f->steps[s], &b);
  }
}

/* Blocks first .. last - 1 as ranges: rows as a whole, or parts of each, of so
 * few columns that 32 bits count them. */
enum { RANGE_BLOCKS = 1 << 20 };
static void run_code(const running *r, int64_t first, int64_t last,
                     char *room) {
  const cxi_pass *f = r->f;
  cxi_code_range *run = (cxi_code_range *)r->code->entry;
  while (first < last) {
    block from, to;
    int64_t end = last;
    set_block(f, first, &from);
    if (f->block_n < f->n) { /* no further than this row */
      const int64_t per_row = cxi_divide_up(f->n, f->block_n);
      end = cxi_least(last, first - first % per_row + per_row);
      end = cxi_least(end, first + RANGE_BLOCKS);
    }
    set_block(f, end - 1, &to);
    run(r->at, f->n, from.row, to.row + to.rows, from.column, to.column + to.n,
        room, r->code->table);
    first = end;
  }
}

static void run_task(void *argument, int64_t i) {
  running *r = argument;
  const cxi_pass *f = r->f;
  const int64_t first = i * f->task_blocks;
  const int64_t last = first + f->task_blocks < f->n_blocks
                           ? first + f->task_blocks
                           : f->n_blocks;
  if (r->code) {
    _Alignas(64) char room[CXI_STACK_SCRATCH];
    run_code(r, first, last, room);
  } else if (f->scratch_bytes > CXI_STACK_SCRATCH) {
    run_blocks(r, first, last,
               (char *)cxi_at(r->bases, f->scratch) +
                   (size_t)i * f->scratch_bytes);
  } else {
    _Alignas(64) char scratch[CXI_STACK_SCRATCH];
    run_blocks(r, first, last, scratch);
  }
}

bool cxi_pass_run(const void *state, char *const *bases, cxi_running *run) {
  running r; /* the error is set only with `failed` */
  r.f = state;
  r.bases = bases;
  r.code = r.f->hot ? cxi_hot_code(r.f->hot, r.f->thunks, run) : NULL;
  char *at[r.f->n_refs + 1];
  for (uint32_t i = 0; r.code && i < r.f->n_refs; i++)
    at[i] = cxi_at(bases, r.f->refs[i]);
  r.at = at;
  atomic_init(&r.failed, false);
  if (r.f->n_tasks == 1)
    run_task(&r, 0);
  else
    cxi_parallel(run->threads, r.f->n_tasks, run_task, &r);
  if (!atomic_load(&r.failed)) return true;
  return cxi_error_set(run->error, r.error.code ? r.error.code : CX_EMEMORY,
                       "%s", r.error.text);
}

size_t cxi_cpu_fused_workspace(cxi_unit *unit, cxi_arena *arena) {
  const cxi_pass *f = unit->prepared = cxi_pass_build(unit, arena);
  return f && f->scratch_bytes > CXI_STACK_SCRATCH
             ? f->scratch_bytes * (size_t)f->n_tasks
             : 0;
}

/* Its generated code, if it comes to that. */
static bool set_hot(cxi_pass *f, const cxi_unit *unit, cxi_arena *arena) {
  const uint32_t n = unit->n_operands + unit->n_results;
  cxi_ref *refs = cxi_arena_alloc(arena, (n + (size_t)1) * sizeof *refs);
  for (uint32_t i = 0; refs && i < n; i++)
    refs[i] = i < unit->n_operands ? unit->operands[i].at
                                   : unit->results[i - unit->n_operands].at;
  f->hot = unit->hot;
  f->thunks = f->rows * f->n / CXI_HOT_ELEMENTS * f->n_steps + 1;
  f->n_refs = n;
  f->refs = refs;
  return refs != NULL;
}

bool cxi_cpu_fused(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                   cxi_error *error) {
  cxi_pass *f = unit->prepared;
  if (!f) return cxi_cpu_no_memory(error);
  cxi_pass_place(f, unit);
  if (unit->hot && !set_hot(f, unit, arena)) return cxi_cpu_no_memory(error);
  *out = (cxi_thunk){ cxi_pass_run, f };
  return true;
}
