/* reduce_window.c - sums and extrema of windows, line by line.
 *
 * A line is the results along one axis: the last one, and those before it that
 * lie side by side with it in windows one step apart. Each place of the window
 * is a stretch of the operand along that axis, which a kernel joins with the
 * line. Places come in row-major order, as in the reference. */
#include <math.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/pool.h"
#include "base/size.h"

enum { ROOM = 1024, TASK = 1 << 15 };

/* One axis of operand, window and result. */
typedef struct axis {
  int64_t size, count; /* of the operand, of the result */
  int64_t window, stride, low, dilation;
  int64_t step; /* of the operand, in elements */
} axis;

typedef struct windows {
  const cxi_cpu_kernels *kernels;
  cxi_cpu_kernel join;
  int size;         /* log2 of an element's bytes */
  uint64_t neutral; /* what joins to x */
  int n;            /* axes but for the line's */
  axis axes[CX_MAX_DIMS], line;
  int64_t lines, places, together; /* lines of a task */
  cxi_ref in, out;
} windows;

typedef struct running {
  const windows *w;
  const char *in;
  char *out;
} running;

/* -- one line --------------------------------------------------------------- */

/* The results first to last - 1 that have an element at place k. */
static void find_stretch(const axis *a, int64_t k, int64_t *first,
                         int64_t *last) {
  const int64_t shift = k * a->dilation - a->low;
  *first = shift >= 0 ? 0 : cxi_divide_up(-shift, a->stride);
  const int64_t room = a->size - 1 - shift; /* for o stride */
  *last = room < 0 ? 0 : cxi_least(a->count, room / a->stride + 1);
}

/* Joins place k along the line; `in` is the element 0 of the line's axis. */
static void join_place(const windows *w, const char *in, int64_t k, char *out) {
  const axis *a = &w->line;
  int64_t first, last;
  find_stretch(a, k, &first, &last);
  if (first >= last) return;
  const int64_t step = a->stride * a->step;
  const int64_t from = first * a->stride + k * a->dilation - a->low;
  in += from * a->step * (1 << w->size);
  out += first << w->size;
  if (step == 1) {
    w->join(last - first, out, out, in, NULL, 0);
    return;
  }
  uint64_t room[ROOM];
  for (int64_t n; first < last; first += n) {
    n = cxi_least(ROOM, last - first);
    w->kernels->line[w->size](n, room, 1, in, step);
    w->join(n, out, out, room, NULL, 0);
    in += n * step * (1 << w->size);
    out += n << w->size;
  }
}

/* Where place `at` of the other axes lies for a line's results; false: outside.
 * The line's own place is the last. */
static bool find_place(const windows *w, const int64_t *result,
                       const int64_t *at, int64_t *offset) {
  int64_t sum = 0;
  for (int i = 0; i < w->n; i++) {
    const axis *a = &w->axes[i];
    const int64_t element =
        result[i] * a->stride + at[i] * a->dilation - a->low;
    if (element < 0 || element >= a->size) return false;
    sum += element * a->step;
  }
  *offset = sum;
  return true;
}

static void next(const windows *w, int64_t *at, bool of_window) {
  for (int i = w->n - 1; i >= 0; i--) {
    if (++at[i] < (of_window ? w->axes[i].window : w->axes[i].count)) return;
    at[i] = 0;
  }
}

static void run_line(const running *r, const int64_t *result, char *out) {
  const windows *w = r->w;
  int64_t at[CX_MAX_DIMS] = { 0 };
  w->kernels->fill[w->size](w->line.count, out, &w->neutral);
  for (int64_t i = 0; i < w->places; i++, next(w, at, true)) {
    int64_t offset;
    if (!find_place(w, result, at, &offset)) continue;
    const char *in = r->in + offset * (1 << w->size);
    for (int64_t k = 0; k < w->line.window; k++) join_place(w, in, k, out);
  }
}

static void run_lines(void *argument, int64_t task) {
  const running *r = argument;
  const windows *w = r->w;
  const int64_t first = task * w->together;
  const int64_t last = cxi_least(w->lines, first + w->together);
  int64_t result[CX_MAX_DIMS], rest = first;
  for (int i = w->n - 1; i >= 0; i--) {
    result[i] = rest % w->axes[i].count;
    rest /= w->axes[i].count;
  }
  for (int64_t i = first; i < last; i++, next(w, result, false))
    run_line(r, result, r->out + ((i * w->line.count) << w->size));
}

static bool run(const void *state, char *const *bases, cxi_running *running_) {
  const windows *w = state;
  running r = { w, cxi_at(bases, w->in), cxi_at(bases, w->out) };
  cxi_parallel(running_->threads, cxi_divide_up(w->lines, w->together),
               run_lines, &r);
  return true;
}

/* -- compiling -------------------------------------------------------------- */

/* The primitive that joins two elements. */
static bool joining(cxi_prim prim, cxi_prim *out) {
  switch (prim) {
  case CXI_PRIM_reduce_window_sum:
    *out = CXI_PRIM_add;
    return true;
  case CXI_PRIM_reduce_window_max:
    *out = CXI_PRIM_max;
    return true;
  case CXI_PRIM_reduce_window_min:
    *out = CXI_PRIM_min;
    return true;
  default:
    return false;
  }
}

/* 0, or what is never greater (max) or less (min). */
static uint64_t neutral_of(cxi_prim join, cx_dtype type) {
  if (join == CXI_PRIM_add) return 0;
  const bool least = join == CXI_PRIM_max;
  uint64_t bits = 0;
  if (cxi_dtype_is_float(type)) {
    cxi_element_set(type, &bits, least ? -(double)INFINITY : (double)INFINITY);
    return bits;
  }
  const int width = 8 * (int)cxi_dtype_bytes(type);
  const uint64_t all = UINT64_MAX >> (64 - width);
  const bool is_signed = cxi_dtype_kind(type) == CXI_SIGNED;
  if (!is_signed) return least ? 0 : all;
  return least ? all ^ (all >> 1) : all >> 1;
}

/* Whether the axis outside goes on where the inner one ends; padding that is
 * out of all proportion may have no number of elements. */
static bool joins(const axis *outer, const axis *inner) {
  const int64_t low = outer->low < 0 ? -outer->low : outer->low;
  const int64_t reach = (outer->window - 1) * outer->dilation;
  return cxi_size_mul(cxi_size_add(low, reach), inner->size) >= 0 &&
         inner->window == 1 && inner->stride == 1 && inner->low == 0 &&
         inner->count == inner->size && outer->stride == 1 &&
         outer->step == inner->size * inner->step;
}

static void set_axes(const cxi_unit *unit, windows *w) {
  const cxi_reduce_window_sum_params *p = unit->params;
  const cxi_operand *in = &unit->operands[0];
  w->line = (axis){ 1, 1, 1, 1, 0, 1, 1 };
  for (int i = 0; i < in->type.shape.n; i++) {
    const int64_t count = unit->results[0].type.shape.d[i];
    w->axes[w->n++] =
        (axis){ .size = in->type.shape.d[i],
                .count = count,
                .window = p->window.d[i],
                .stride =
                    count == 1 ? 1 : p->strides.d[i], /* any, of a single one */
                .low = p->low.d[i],
                .dilation = p->window.d[i] == 1 ? 1 : p->window_dilation.d[i],
                .step = in->strides[i] };
  }
  /* the last one with several elements or places is the line's */
  while (w->n > 0) {
    const axis *last = &w->axes[--w->n];
    if (last->size == 1 && last->count == 1 && last->window == 1 &&
        last->low == 0)
      continue;
    w->line = *last;
    break;
  }
  for (; w->n > 0 && joins(&w->axes[w->n - 1], &w->line); w->n--) {
    const axis outer = w->axes[w->n - 1];
    const int64_t inner = w->line.size;
    w->line = (axis){ .size = outer.size * inner,
                      .count = outer.count * inner,
                      .window = outer.window,
                      .stride = 1,
                      .low = outer.low * inner,
                      .dilation = outer.dilation * inner,
                      .step = w->line.step };
  }
}

/* False: the unit is not for here. f16 and bf16 are joined in f32. */
static bool describe(const cxi_unit *unit, windows *w) {
  const cx_dtype type = unit->operands[0].type.type;
  *w = (windows){ .kernels = cxi_cpu_kernels_now(),
                  .size = cxi_cpu_log2_bytes(type),
                  .in = unit->operands[0].at,
                  .out = unit->results[0].at };
  cxi_prim join;
  if (!joining(unit->row->prim, &join) || type == CX_BOOL ||
      cxi_cpu_is_half(type) || !w->kernels->elementwise[type])
    return false;
  w->join = w->kernels->elementwise[type][join];
  w->neutral = neutral_of(join, type);
  const cxi_reduce_window_sum_params *p = unit->params;
  for (int i = 0; i < p->base_dilation.n; i++)
    if (p->base_dilation.d[i] != 1) return false;
  if (!w->join || cxi_dims_count(&unit->operands[0].type.shape) == 0 ||
      cxi_dims_count(&unit->results[0].type.shape) == 0)
    return false;
  set_axes(unit, w);
  w->lines = w->places = 1;
  for (int i = 0; i < w->n; i++) {
    w->lines *= w->axes[i].count;
    w->places *= w->axes[i].window;
  }
  const double work =
      (double)w->places * (double)w->line.window * (double)w->line.count;
  w->together = work < TASK ? (int64_t)(TASK / work) + 1 : 1;
  return true;
}

bool cxi_cpu_reduce_window_takes(const cxi_unit *unit) {
  windows w;
  return describe(unit, &w);
}

bool cxi_cpu_reduce_window(const cxi_unit *unit, cxi_arena *arena,
                           cxi_thunk *out, cxi_error *error) {
  windows *w = cxi_arena_alloc(arena, sizeof *w);
  if (!w) return cxi_cpu_no_memory(error);
  describe(unit, w);
  *out = (cxi_thunk){ run, w };
  return true;
}
