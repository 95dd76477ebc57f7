/* reduce.c - reductions that are not fused: of leading axes, whose results
 * lie side by side, of very long rows, and of rows whose elements lie apart. */
#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/lanes.h"
#include "base/pool.h"

enum { COLUMNS = 64, PART = 1024, TASK = 1 << 14 };

typedef struct reduction {
  const cxi_cpu_kernels *kernels;
  cxi_cpu_reduction by;
  enum { BY_ROWS, BY_COLUMNS, BY_PARTS } way;
  cx_dtype type;
  int size;                   /* log2 of an operand's element's bytes */
  int64_t out_bytes;          /* of a result's */
  cxi_pattern outer, reduced; /* outer: the results but for the columns */
  int64_t n, width, blocks;   /* of a row; columns, and blocks of them */
  int64_t rows, together;     /* BY_ROWS: those of one task, side by side */
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
  case CXI_PRIM_argmax:
  case CXI_PRIM_argmin:
    *out = (cx_dims){ 1, { ((const cxi_argmax_params *)unit->params)->axis } };
    break;
  default:
    return false;
  }
  for (int i = 0; i < out->n; i++)
    if (out->d[i] < 0) out->d[i] += unit->operands[0].type.shape.n;
  return true;
}

/* Which kernel goes over the elements; false: none does. */
static bool find_way(reduction *r) {
  const int last = r->outer.n - 1;
  if (r->reduced.n == 1 && r->reduced.strides[0] == 1) {
    r->way = BY_ROWS;
  } else if (last >= 0 && r->outer.strides[last] == 1 && r->by.columns &&
             r->n <= INT32_MAX) {
    r->way = BY_COLUMNS;
    r->width = r->outer.sizes[last];
    r->outer.n--;
    r->blocks = cxi_divide_up(r->width, COLUMNS);
  } else {
    r->way = r->n == 1 ? BY_ROWS : BY_PARTS;
    if (r->way == BY_PARTS && !r->by.part) return false;
  }
  r->rows = r->tasks = cxi_pattern_count(&r->outer);
  if (r->way == BY_COLUMNS) r->tasks *= r->blocks;
  r->together = 1;
  if (r->way == BY_ROWS && r->outer.n == 1 && r->outer.strides[0] == r->n) {
    r->together = cxi_divide_up(TASK, r->n);
    r->tasks = cxi_divide_up(r->rows, r->together);
  }
  return true;
}

static bool layout(const cxi_unit *unit, reduction *r) {
  cx_dims axes;
  const cxi_operand *o = &unit->operands[0];
  const cx_dtype from = o->type.type, type = unit->results[0].type.type;
  *r = (reduction){ .kernels = cxi_cpu_kernels_now(),
                    .type = type,
                    .size = cxi_cpu_log2_bytes(from),
                    .out_bytes = (int64_t)cxi_dtype_bytes(type),
                    .in = o->at,
                    .out = unit->results[0].at };
  if (!axes_of(unit, &axes) || r->kernels->reduce[from] == NULL) return false;
  r->by = r->kernels->reduce[from][unit->row->prim];
  if (!r->by.rows || (r->by.part && from != type)) return false;
  r->outer = of_axes(o, &axes, false);
  r->reduced = of_axes(o, &axes, true);
  r->n = cxi_pattern_count(&r->reduced);
  if (r->n == 0 || cxi_pattern_count(&r->outer) == 0) return false;
  return find_way(r);
}

bool cxi_cpu_reduce_takes(const cxi_unit *unit) {
  reduction r;
  return layout(unit, &r);
}

/* A row whose elements lie apart, by parts side by side. */
static void run_parts(const reduction *r, const char *in, char *out) {
  uint64_t lanes[CXI_LANES], part[PART];
  for (int64_t i = 0; i < r->n; i += PART) {
    const int64_t n = cxi_least(PART, r->n - i);
    r->kernels->gather[r->size](&r->reduced, i, n, part, in);
    r->by.part(n, lanes, part, i == 0, i + n == r->n ? out : NULL);
  }
}

static void run_task(void *argument, int64_t i) {
  const running *a = argument;
  const reduction *r = a->r;
  const char *in = cxi_at(a->bases, r->in);
  char *out = cxi_at(a->bases, r->out);
  if (r->way == BY_COLUMNS) {
    const int64_t item = i / r->blocks, first = i % r->blocks * COLUMNS;
    const int64_t from = cxi_pattern_offset(&r->outer, item) + first;
    r->by.columns(&r->reduced, cxi_least(COLUMNS, r->width - first),
                  out + (item * r->width + first) * r->out_bytes,
                  in + from * (1 << r->size), r->type);
    return;
  }
  const int64_t row = i * r->together;
  in += cxi_pattern_offset(&r->outer, row) * (1 << r->size);
  out += row * r->out_bytes;
  if (r->way == BY_ROWS)
    r->by.rows(cxi_least(r->together, r->rows - row), r->n, out, in, r->type);
  else
    run_parts(r, in, out);
}

static bool run(const void *state, char *const *bases, cxi_running *running_) {
  running a = { state, bases };
  const int64_t work = a.r->tasks * a.r->together * a.r->n *
                       (a.r->way == BY_COLUMNS ? COLUMNS : 1);
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
