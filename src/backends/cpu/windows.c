/* windows.c - gather and the scatters: windows of an array at computed places.
 *
 * The positions of a gather are shared out among threads. Those of a scatter
 * keep their order wherever they meet: each task walks all of them, and takes
 * its columns of each window, or the windows that begin at its places of one
 * axis. */
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/windows.h"
#include "base/pool.h"
#include "base/view.h"

enum {
  TASK = 1 << 15,     /* bytes of a task at least */
  TASKS_A_THREAD = 2, /* of a scatter: places are not used evenly */
  ACROSS = 256,       /* positions of a task that takes them side by side */
  COPY = 1 << 18,     /* bytes of a task that copies */
  SHARED = 1 << 24,   /* bytes of an array that several tasks scatter to */
  LINE = 64           /* bytes that no two tasks share */
};

typedef struct running {
  const indexed *x;
  char *whole, *slices;
  const char *indices, *source;
  int64_t chunk; /* positions, columns or places of a task */
} running;

/* -- one window ------------------------------------------------------------- */

static void copy_line(const indexed *x, int64_t n, char *to, int64_t to_step,
                      const char *from, int64_t from_step) {
  if (n > 1)
    x->kernels->line[x->size](n, to, to_step, from, from_step);
  else
    memcpy(to, from, (size_t)1 << x->size);
}

static void do_line(const indexed *x, int64_t n, char *whole, char *slice) {
  const int last = x->axes - 1;
  if (x->combine)
    x->combine(n, whole, whole, slice, NULL, 0);
  else if (x->w.gathers)
    copy_line(x, n, slice, x->slice_line[last], whole, x->whole_line[last]);
  else
    copy_line(x, n, whole, x->whole_line[last], slice, x->slice_line[last]);
}

/* n elements of each line. */
static void do_window(const indexed *x, int64_t n, char *whole, char *slice) {
  do_line(x, n, whole, slice);
  for (int64_t i = 1; i < x->lines; i++) {
    int64_t w, s;
    line_at(x, i, &w, &s);
    do_line(x, n, whole + w * (1 << x->size), slice + s * (1 << x->size));
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

static inline int64_t read_item(const indexed *x, const char *indices,
                                int64_t at) {
  if (x->index_type == CX_I32) {
    int32_t i;
    memcpy(&i, indices + 4 * at, sizeof i);
    return i;
  }
  const int64_t bytes = (int64_t)cxi_dtype_bytes(x->index_type);
  return cxi_read_index(x->index_type, indices + at * bytes);
}

/* Where the window of a position begins, in elements of the whole; false if it
 * is filled or dropped. *cut: its start on the axis that is shared out. */
static inline bool find_window(const running *r, const place *p,
                               int64_t *offset, int64_t *cut) {
  const indexed *x = r->x;
  int64_t sum = p->whole;
  for (int k = 0; k < x->w.n_items; k++) {
    const int64_t last = x->w.items[k].last;
    int64_t start = read_item(x, r->indices, p->index + k * x->w.item_step);
    if (!x->w.drops)
      start = cxi_clamp_start(start, 1, last + 1);
    else if (!cxi_start_inside(start, 1, last + 1))
      return false;
    if (k == x->cut) *cut = start;
    sum += start * x->w.items[k].stride;
  }
  *offset = sum;
  return true;
}

static void gather_task(void *argument, int64_t task) {
  const running *r = argument;
  const indexed *x = r->x;
  const int64_t first = task * r->chunk;
  const int64_t n = cxi_least(r->chunk, x->n - first);
  if (x->by_elements) {
    cxi_cpu_places_run(x, first, n, r->whole, r->slices, r->indices);
    return;
  }
  place p = place_of(x, first);
  for (int64_t i = 0; i < n; i++) {
    int64_t offset, cut;
    char *slice = r->slices + p.slice * (1 << x->size);
    if (find_window(r, &p, &offset, &cut))
      do_window(x, x->sizes[x->axes - 1], r->whole + offset * (1 << x->size),
                slice);
    else
      fill_window(x, slice);
    advance(x, &p, 1);
  }
}

/* All positions, but of their windows' lines only some columns: what is read
 * and written then lies side by side for each task. */
static void columns_task(void *argument, int64_t task) {
  const running *r = argument;
  const indexed *x = r->x;
  const int last = x->axes - 1;
  const int64_t first = task * r->chunk,
                n = cxi_least(r->chunk, x->sizes[last] - first);
  char *whole = r->whole + first * x->whole_line[last] * (1 << x->size),
       *slices = r->slices + first * x->slice_line[last] * (1 << x->size);
  place p = place_of(x, 0);
  for (int64_t i = 0; i < x->n; i++) {
    int64_t offset, cut;
    if (find_window(r, &p, &offset, &cut))
      do_window(x, n, whole + offset * (1 << x->size),
                slices + p.slice * (1 << x->size));
    advance(x, &p, 1);
  }
}

/* All positions, but only windows that begin in some of the places. */
static void places_task(void *argument, int64_t task) {
  const running *r = argument;
  const indexed *x = r->x;
  const int64_t n = x->sizes[x->axes - 1], first = task * r->chunk,
                end = first + r->chunk;
  place p = place_of(x, 0);
  for (int64_t i = 0; i < x->n; i++) {
    int64_t offset, cut = -1;
    if (find_window(r, &p, &offset, &cut) && cut >= first && cut < end)
      do_window(x, n, r->whole + offset * (1 << x->size),
                r->slices + p.slice * (1 << x->size));
    advance(x, &p, 1);
  }
}

/* An array that fits the caches of one core goes faster through them than
 * between two: there its lines would wander from one to the other. */
static bool is_shared(const indexed *x, int threads) {
  return threads > 1 && x->whole_count << x->size >= SHARED &&
         x->n * x->count << x->size > 2 * TASK;
}

static void scatter(running *r, int threads) {
  const indexed *x = r->x;
  const int64_t line = x->sizes[x->axes - 1], columns = LINE >> x->size;
  void (*task)(void *, int64_t) = columns_task;
  int64_t n = line;
  r->chunk = line;
  if (!is_shared(x, threads)) {
    if (x->by_elements) {
      cxi_cpu_places_run(x, 0, x->n, r->whole, r->slices, r->indices);
      return;
    }
  } else {
    if (!x->line_moves && line >= 2 * columns) {
      r->chunk = cxi_divide_up(cxi_divide_up(line, columns), threads) * columns;
    } else if (x->cut >= 0) {
      task = places_task;
      n = x->w.items[x->cut].last + 1;
      r->chunk = cxi_divide_up(n, (int64_t)threads * TASKS_A_THREAD);
    }
  }
  cxi_parallel(threads, cxi_divide_up(n, r->chunk), task, r);
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
  if (x->w.gathers) {
    r.chunk = cxi_divide_up(TASK, bytes);
    if (x->by_elements && r.chunk < ACROSS)
      r.chunk = threads > 1 ? ACROSS : TASK;
    const int64_t tasks = cxi_divide_up(x->n, r.chunk);
    cxi_parallel(threads, tasks, gather_task, &r);
    return true;
  }
  r.source = cxi_at(bases, x->source);
  if (r.source != r.whole)
    cxi_parallel(threads, cxi_divide_up(x->whole_count << x->size, COPY),
                 copy_task, &r);
  scatter(&r, threads);
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

/* Does an index move windows along the axis with this step? */
static bool is_moved(const cxi_index_walk *w, int64_t step) {
  for (int i = 0; i < w->n_items; i++)
    if (w->items[i].stride == step && w->items[i].size > 1) return true;
  return false;
}

/* Joins axes of a window that are one on both sides. */
static void set_lines(indexed *x) {
  const cxi_index_walk *w = &x->w;
  x->count = cxi_dims_count(&w->window);
  for (int i = 0; i < w->window.n; i++) {
    const int64_t size = w->window.d[i];
    const int last = x->axes - 1;
    if (size == 1) continue;
    const bool moves = is_moved(w, w->whole_line[i]);
    if (x->axes && x->slice_line[last] == w->slice_line[i] * size &&
        x->whole_line[last] == w->whole_line[i] * size) {
      x->sizes[last] *= size;
      x->slice_line[last] = w->slice_line[i];
      x->whole_line[last] = w->whole_line[i];
      x->line_moves |= moves;
      continue;
    }
    x->line_moves = moves;
    x->sizes[x->axes] = size;
    x->slice_line[x->axes] = w->slice_line[i];
    x->whole_line[x->axes++] = w->whole_line[i];
  }
  if (x->axes == 0) {
    x->sizes[0] = x->slice_line[0] = x->whole_line[0] = 1;
    x->axes = 1;
  }
  x->lines = x->count ? x->count / x->sizes[x->axes - 1] : 0;
}

/* The longest axis on which windows are one element wide. */
static int find_cut(const cxi_index_walk *w) {
  int cut = -1;
  for (int i = 0; i < w->n_items; i++)
    if (w->items[i].size == 1 &&
        (cut < 0 || w->items[i].last > w->items[cut].last))
      cut = i;
  return cut;
}

/* False: the unit is not for here. */
static bool describe(const cxi_unit *u, indexed *x) {
  *x = (indexed){ .kernels = cxi_cpu_kernels_now() };
  if (!cxi_index_walk_of(u, &x->w)) return false;
  const cx_dtype type = x->w.whole->type.type;
  x->n = cxi_dims_count(&x->w.positions);
  x->cut = find_cut(&x->w);
  x->index_type = x->w.indices->type.type;
  x->size = cxi_cpu_log2_bytes(type);
  x->whole = x->w.whole->at;
  x->slices = x->w.slices->at;
  x->indices = x->w.indices->at;
  x->source = u->operands[0].at;
  x->whole_count = cxi_dims_count(&x->w.whole->type.shape);
  set_lines(x);
  if (x->n == 0 || x->count == 0) return false;
  if (x->w.gathers)
    x->fill =
        cxi_element_fill(type, ((const cxi_gather_params *)u->params)->fill);
  cxi_prim joins;
  if (!combining(u->row->prim, &joins)) {
    cxi_cpu_places_find(x);
    return true;
  }
  /* Sums of f16 and bf16 are kept in f32: evaluate.c. Kernels go side by
   * side. */
  bool wide;
  const cx_dtype types[] = { type, type };
  x->combine = cxi_cpu_find_kernel(x->kernels, joins, 2, types, type, &wide);
  if (x->kernels->join[type]) x->join = x->kernels->join[type][joins];
  cxi_cpu_places_find(x);
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
