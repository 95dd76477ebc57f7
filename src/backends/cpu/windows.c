/* windows.c - gather and the scatters: windows of an array at computed places.
 *
 * The positions of a gather are shared out among threads. Those of a scatter
 * keep their order wherever they meet: the places of one indexed axis are
 * shared out, and each task walks all positions and takes those that begin in
 * its places. */
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/pool.h"
#include "primitives/index.h"
#include "primitives/index_window.h"

enum {
  TASK = 1 << 15,     /* bytes of a task at least */
  TASKS_A_THREAD = 2, /* of a scatter: places are not used evenly */
  COPY = 1 << 18      /* bytes of a task that copies */
};

/* An item of an index: the axis that it moves along. */
typedef struct item {
  int64_t last, stride; /* the greatest start; elements of a step */
} item;

typedef struct indexed {
  const cxi_cpu_kernels *kernels;
  bool gathers, drops; /* drops: what does not lie inside; else it is moved */
  int size;            /* log2 of the element's bytes */
  cxi_cpu_kernel combine; /* NULL: windows are replaced */
  int64_t number;
  uint64_t fill;
  /* positions: their sizes; elements of a step among the indices, the slices
   * and, of an axis that is a batch's, the whole */
  cx_dims positions;
  int64_t n, index_step[CX_MAX_DIMS], slice_step[CX_MAX_DIMS],
      whole_step[CX_MAX_DIMS];
  cx_dtype index_type;
  int n_items;
  int64_t item_step; /* among the indices */
  item items[CX_MAX_DIMS];
  int cut; /* the item whose places are shared out; -1: none */
  /* a window: axes with steps among the slices and in the whole; the last one
   * is a line */
  int axes;
  int64_t sizes[CX_MAX_DIMS], slice_line[CX_MAX_DIMS], whole_line[CX_MAX_DIMS];
  int64_t count, lines;                   /* elements and lines of a window */
  cxi_ref source, indices, slices, whole; /* source: of a scatter */
  int64_t whole_count;
} indexed;

typedef struct running {
  const indexed *x;
  char *whole, *slices;
  const char *indices, *source;
  int64_t chunk, parts; /* positions of a task; tasks */
} running;

/* -- one window ------------------------------------------------------------- */

static void copy_line(const indexed *x, int64_t n, char *to, int64_t to_step,
                      const char *from, int64_t from_step) {
  if (n > 1)
    x->kernels->line[x->size](n, to, to_step, from, from_step);
  else
    memcpy(to, from, (size_t)1 << x->size);
}

static void do_line(const indexed *x, char *whole, char *slice) {
  const int last = x->axes - 1;
  const int64_t n = x->sizes[last];
  if (x->combine)
    x->combine(n, whole, whole, slice, NULL, x->number);
  else if (x->gathers)
    copy_line(x, n, slice, x->slice_line[last], whole, x->whole_line[last]);
  else
    copy_line(x, n, whole, x->whole_line[last], slice, x->slice_line[last]);
}

/* Line i of the window: elements from its beginning, on both sides. */
static void line_at(const indexed *x, int64_t i, int64_t *whole,
                    int64_t *slice) {
  *whole = *slice = 0;
  for (int axis = x->axes - 2; axis >= 0; axis--) {
    *whole += i % x->sizes[axis] * x->whole_line[axis];
    *slice += i % x->sizes[axis] * x->slice_line[axis];
    i /= x->sizes[axis];
  }
}

static void do_window(const indexed *x, char *whole, char *slice) {
  do_line(x, whole, slice);
  for (int64_t i = 1; i < x->lines; i++) {
    int64_t w, s;
    line_at(x, i, &w, &s);
    do_line(x, whole + w * (1 << x->size), slice + s * (1 << x->size));
  }
}

static void fill_window(const indexed *x, char *slice) {
  const int last = x->axes - 1;
  for (int64_t i = 0; i < x->lines; i++) {
    int64_t w, s;
    line_at(x, i, &w, &s);
    copy_line(x, x->sizes[last], slice + s * (1 << x->size),
              x->slice_line[last], (const char *)&x->fill, 0);
  }
}

/* -- positions -------------------------------------------------------------- */

typedef struct place {
  int64_t at[CX_MAX_DIMS];
  int64_t index, slice, whole; /* elements */
} place;

static place place_of(const indexed *x, int64_t position) {
  place p = { .index = 0 };
  for (int i = x->positions.n - 1; i >= 0; i--) {
    p.at[i] = position % x->positions.d[i];
    position /= x->positions.d[i];
    p.index += p.at[i] * x->index_step[i];
    p.slice += p.at[i] * x->slice_step[i];
    p.whole += p.at[i] * x->whole_step[i];
  }
  return p;
}

static void next_place(const indexed *x, place *p) {
  for (int i = x->positions.n - 1; i >= 0; i--) {
    p->index += x->index_step[i];
    p->slice += x->slice_step[i];
    p->whole += x->whole_step[i];
    if (++p->at[i] < x->positions.d[i]) return;
    p->index -= p->at[i] * x->index_step[i];
    p->slice -= p->at[i] * x->slice_step[i];
    p->whole -= p->at[i] * x->whole_step[i];
    p->at[i] = 0;
  }
}

static inline int64_t read_item(const indexed *x, const char *indices,
                                int64_t at) {
  if (x->index_type == CX_I32) {
    int32_t i;
    memcpy(&i, indices + 4 * at, sizeof i);
    return i;
  }
  return cxi_read_index(x->index_type,
                        indices + at * (int64_t)cxi_dtype_bytes(x->index_type));
}

/* Where the window of a position begins, in elements of the whole; false if it
 * is filled or dropped. *cut: its start on the axis that is shared out. */
static inline bool find_window(const running *r, const place *p,
                               int64_t *offset, int64_t *cut) {
  const indexed *x = r->x;
  int64_t sum = p->whole;
  for (int k = 0; k < x->n_items; k++) {
    const int64_t last = x->items[k].last;
    int64_t start = read_item(x, r->indices, p->index + k * x->item_step);
    if (x->drops) {
      if (start < 0 || start > last) return false;
    } else {
      start = start > last ? last : start;
      start = start < 0 ? 0 : start;
    }
    if (k == x->cut) *cut = start;
    sum += start * x->items[k].stride;
  }
  *offset = sum;
  return true;
}

static void gather_task(void *argument, int64_t task) {
  const running *r = argument;
  const indexed *x = r->x;
  const int64_t first = task * r->chunk;
  const int64_t n = cxi_least(r->chunk, x->n - first);
  place p = place_of(x, first);
  for (int64_t i = 0; i < n; i++) {
    int64_t offset, cut;
    char *slice = r->slices + p.slice * (1 << x->size);
    if (find_window(r, &p, &offset, &cut))
      do_window(x, r->whole + offset * (1 << x->size), slice);
    else
      fill_window(x, slice);
    next_place(x, &p);
  }
}

static void scatter_task(void *argument, int64_t task) {
  const running *r = argument;
  const indexed *x = r->x;
  const int64_t places = x->cut < 0 ? 1 : x->items[x->cut].last + 1;
  const int64_t first = places * task / r->parts,
                end = places * (task + 1) / r->parts;
  place p = place_of(x, 0);
  for (int64_t i = 0; i < x->n; i++) {
    int64_t offset, cut = 0;
    if (find_window(r, &p, &offset, &cut) && cut >= first && cut < end)
      do_window(x, r->whole + offset * (1 << x->size),
                r->slices + p.slice * (1 << x->size));
    next_place(x, &p);
  }
}

static void copy_task(void *argument, int64_t task) {
  const running *r = argument;
  const int64_t first = task * COPY, bytes = r->x->whole_count << r->x->size;
  memcpy(r->whole + first, r->source + first,
         (size_t)cxi_least(COPY, bytes - first));
}

static bool run(const void *state, char *const *bases, cxi_running *running_) {
  const indexed *x = state;
  const int threads = running_->threads;
  running r = { .x = x,
                .whole = cxi_at(bases, x->whole),
                .slices = cxi_at(bases, x->slices),
                .indices = cxi_at(bases, x->indices) };
  const int64_t bytes = x->count << x->size;
  if (x->gathers) {
    r.chunk = cxi_divide_up(TASK, bytes);
    const int64_t tasks = cxi_divide_up(x->n, r.chunk);
    cxi_parallel(threads, tasks, gather_task, &r);
    return true;
  }
  r.source = cxi_at(bases, x->source);
  if (r.source != r.whole)
    cxi_parallel(threads, cxi_divide_up(x->whole_count << x->size, COPY),
                 copy_task, &r);
  r.parts = 1;
  if (x->cut >= 0 && threads > 1 && x->n * bytes > 2 * TASK)
    r.parts =
        cxi_least((int64_t)threads * TASKS_A_THREAD, x->items[x->cut].last + 1);
  cxi_parallel(threads, r.parts, scatter_task, &r);
  return true;
}

/* -- compiling -------------------------------------------------------------- */

/* The primitive that joins an update with what is there. */
static bool combining(cxi_prim prim, cxi_prim *out) {
  switch (prim) {
  case CXI_PRIM_scatter_add:
    *out = CXI_PRIM_add;
    return true;
  case CXI_PRIM_scatter_mul:
    *out = CXI_PRIM_mul;
    return true;
  case CXI_PRIM_scatter_min:
    *out = CXI_PRIM_min;
    return true;
  case CXI_PRIM_scatter_max:
    *out = CXI_PRIM_max;
    return true;
  default:
    return false;
  }
}

static cxi_type type_of(const cxi_operand *o) {
  return cxi_type_make(o->type.type, o->type.shape);
}

/* Joins axes of a window that are one on both sides. */
static void set_window(indexed *x, const cx_dims *shape, const int64_t *slice,
                       const int64_t *whole) {
  x->count = cxi_dims_count(shape);
  for (int i = 0; i < shape->n; i++) {
    const int64_t size = shape->d[i];
    const int last = x->axes - 1;
    if (size == 1) continue;
    if (x->axes && x->slice_line[last] == slice[i] * size &&
        x->whole_line[last] == whole[i] * size) {
      x->sizes[last] *= size;
      x->slice_line[last] = slice[i];
      x->whole_line[last] = whole[i];
      continue;
    }
    x->sizes[x->axes] = size;
    x->slice_line[x->axes] = slice[i];
    x->whole_line[x->axes++] = whole[i];
  }
  if (x->axes == 0) {
    x->sizes[0] = x->slice_line[0] = x->whole_line[0] = 1;
    x->axes = 1;
  }
  x->lines = x->count / x->sizes[x->axes - 1];
}

static void set_geometry(indexed *x, const cxi_windows *w,
                         const cxi_operand *whole, const cxi_operand *slices,
                         const cxi_operand *indices) {
  const cx_dims kept =
      cxi_axes_rest(whole->type.shape.n, &w->dropped, &w->operand_batch);
  const cx_dims places = cxi_axes_rest(slices->type.shape.n, &w->window, NULL);
  int64_t whole_line[CX_MAX_DIMS], slice_line[CX_MAX_DIMS];
  for (int i = 0; i < kept.n; i++) {
    whole_line[i] = whole->strides[kept.d[i]];
    slice_line[i] = slices->strides[w->window.d[i]];
  }
  const cx_dims shape = cxi_dims_pick(&w->sizes, &kept);
  set_window(x, &shape, slice_line, whole_line);
  x->positions = cxi_dims_pick(&slices->type.shape, &places);
  x->n = cxi_dims_count(&x->positions);
  for (int i = 0; i < places.n; i++) {
    x->index_step[i] = indices->strides[i];
    x->slice_step[i] = slices->strides[places.d[i]];
  }
  for (int i = 0; i < w->operand_batch.n; i++)
    x->whole_step[w->index_batch.d[i]] = whole->strides[w->operand_batch.d[i]];
  x->index_type = indices->type.type;
  x->item_step = indices->strides[places.n];
  x->n_items = w->start_map.n;
  x->cut = -1;
  for (int i = 0; i < x->n_items; i++) {
    const int64_t axis = w->start_map.d[i];
    x->items[i] = (item){ whole->type.shape.d[axis] - w->sizes.d[axis],
                          whole->strides[axis] };
    if (w->sizes.d[axis] == 1 &&
        (x->cut < 0 || x->items[i].last > x->items[x->cut].last))
      x->cut = i;
  }
}

/* False: the unit is not for here. */
static bool describe(const cxi_unit *u, indexed *x) {
  if (u->kind != CXI_UNIT_ONE) return false;
  const cxi_prim prim = u->row->prim;
  cxi_prim joins = CXI_PRIM_NONE;
  *x = (indexed){ .kernels = cxi_cpu_kernels_now(),
                  .gathers = prim == CXI_PRIM_gather };
  const cxi_operand *slices = &u->results[0], *whole = &u->operands[0];
  const cx_dtype type = whole->type.type;
  cxi_windows w;
  if (x->gathers) {
    const cxi_gather_params *p = u->params;
    w = cxi_gather_windows(p);
    x->drops = p->mode == CX_FILL;
    x->fill = cxi_element_fill(type, p->fill);
  } else if (prim == CXI_PRIM_scatter || combining(prim, &joins)) {
    slices = &u->operands[2];
    w = cxi_scatter_windows(u->params, type_of(whole), type_of(slices));
    x->drops = ((const cxi_scatter_params *)u->params)->mode != CX_CLIP;
    x->source = whole->at;
    whole = &u->results[0];
  } else {
    return false;
  }
  set_geometry(x, &w, whole, slices, &u->operands[1]);
  x->size = cxi_cpu_log2_bytes(type);
  x->whole = whole->at;
  x->slices = slices->at;
  x->indices = u->operands[1].at;
  x->whole_count = cxi_dims_count(&whole->type.shape);
  if (x->n == 0 || x->count == 0) return false;
  if (joins == CXI_PRIM_NONE) return true;
  /* Sums of f16 and bf16 are kept in f32: evaluate.c. Kernels go side by
   * side. */
  bool wide;
  const cx_dtype types[] = { type, type };
  x->combine = cxi_cpu_find_kernel(x->kernels, joins, 2, types, type, &wide);
  x->number = cxi_cpu_kernel_number(joins, NULL);
  const int last = x->axes - 1;
  return x->combine && !cxi_cpu_is_half(type) && x->whole_line[last] == 1 &&
         x->slice_line[last] == 1;
}

bool cxi_cpu_windows_takes(const cxi_unit *unit) {
  indexed x;
  return describe(unit, &x);
}

bool cxi_cpu_windows(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                     cxi_error *error) {
  indexed *x = cxi_arena_alloc(arena, sizeof *x);
  if (!x) return cxi_cpu_no_memory(error);
  describe(unit, x);
  *out = (cxi_thunk){ run, x };
  return true;
}
