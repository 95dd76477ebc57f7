/* reduce.c - reductions that are not fused: of leading axes, whose results
 * lie side by side, and of very long rows. */
#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/pool.h"

enum { COLUMNS = 64 };

typedef struct reduction {
  const cxi_cpu_kernels *kernels;
  cxi_cpu_row_kernel rows;
  cxi_cpu_column_kernel columns; /* else rows */
  cx_dtype from, type;
  size_t bytes;               /* of an operand's element */
  cxi_pattern outer, reduced; /* outer: the results but for the columns */
  int64_t n, width, blocks;   /* of a row; columns, and blocks of them */
  int64_t tasks;
  cxi_ref in, out;
} reduction;

typedef struct running {
  const reduction *r;
  char *const *bases;
} running;

static cxi_pattern of_axes(const cxi_operand *o, const cx_dims *axes,
                           bool listed) {
  cx_dims sizes = { 0 };
  int64_t strides[CX_MAX_DIMS];
  for (int i = 0; i < o->type.shape.n; i++) {
    if (cxi_dims_has(axes, i) != listed) continue;
    strides[sizes.n] = o->strides[i];
    sizes.d[sizes.n++] = o->type.shape.d[i];
  }
  return cxi_pattern_of(&sizes, strides);
}

/* The axes, counted from 0; false if the primitive has none of that kind. */
static bool axes_of(const cxi_unit *unit, cx_dims *out) {
  switch (unit->row->prim) {
  case CXI_PRIM_reduce_sum:
  case CXI_PRIM_reduce_max:
  case CXI_PRIM_reduce_min:
  case CXI_PRIM_reduce_and:
  case CXI_PRIM_reduce_or:
  case CXI_PRIM_reduce_prod:
  case CXI_PRIM_reduce_xor:
    *out = ((const cxi_reduce_sum_params *)unit->params)->axes;
    break;
  default:
    return false;
  }
  for (int i = 0; i < out->n; i++)
    if (out->d[i] < 0) out->d[i] += unit->operands[0].type.shape.n;
  return true;
}

static bool layout(const cxi_unit *unit, reduction *r) {
  cx_dims axes;
  const cxi_operand *o = &unit->operands[0];
  const cx_dtype from = o->type.type, type = unit->results[0].type.type;
  *r = (reduction){ .kernels = cxi_cpu_kernels_now(),
                    .from = from,
                    .type = type,
                    .bytes = cxi_dtype_bytes(from),
                    .in = o->at,
                    .out = unit->results[0].at };
  if (from != type || !axes_of(unit, &axes) || r->kernels->reduce[from] == NULL)
    return false;
  r->outer = of_axes(o, &axes, false);
  r->reduced = of_axes(o, &axes, true);
  r->rows = r->kernels->reduce[from][unit->row->prim];
  r->n = cxi_pattern_count(&r->reduced);
  if (!r->rows || r->n == 0 || cxi_pattern_count(&r->outer) == 0) return false;
  const int last = r->outer.n - 1;
  if (r->reduced.n == 1 && r->reduced.strides[0] == 1) {
    r->tasks = cxi_pattern_count(&r->outer);
    return true;
  }
  if (last < 0 || r->outer.strides[last] != 1) return false;
  r->columns = r->kernels->reduce_columns[from][unit->row->prim];
  r->width = r->outer.sizes[last];
  r->outer.n--;
  r->blocks = cxi_divide_up(r->width, COLUMNS);
  r->tasks = cxi_pattern_count(&r->outer) * r->blocks;
  return r->columns != NULL;
}

bool cxi_cpu_reduce_takes(const cxi_unit *unit) {
  reduction r;
  return layout(unit, &r);
}

static void run_task(void *argument, int64_t i) {
  const running *a = argument;
  const reduction *r = a->r;
  const char *in = cxi_at(a->bases, r->in);
  char *out = cxi_at(a->bases, r->out);
  const int64_t bytes = (int64_t)r->bytes;
  if (!r->columns) {
    r->rows(1, r->n, out + i * bytes,
            in + cxi_pattern_offset(&r->outer, i) * bytes, 0);
    return;
  }
  const int64_t item = i / r->blocks, first = i % r->blocks * COLUMNS;
  const int64_t left = r->width - first;
  r->columns(&r->reduced, left < COLUMNS ? left : COLUMNS,
             out + (item * r->width + first) * bytes,
             in + (cxi_pattern_offset(&r->outer, item) + first) * bytes);
}

static bool run(const void *state, char *const *bases, cxi_running *running_) {
  running a = { state, bases };
  const int64_t work = a.r->tasks * a.r->n * (a.r->columns ? COLUMNS : 1);
  cxi_parallel(work < 1 << 16 ? 1 : running_->threads, a.r->tasks, run_task,
               &a);
  return true;
}

bool cxi_cpu_reduce(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                    cxi_error *error) {
  reduction *r = cxi_arena_alloc(arena, sizeof *r);
  if (!r) return cxi_cpu_no_memory(error);
  layout(unit, r);
  *out = (cxi_thunk){ run, r };
  return true;
}
