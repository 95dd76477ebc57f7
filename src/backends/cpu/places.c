/* places.c - gathers and scatters by blocks of positions.
 *
 * First the places of a block's windows are found, one item of the index
 * vectors after the other, then elements move: in vectors, where a window at a
 * time would cost a call for each element. */
#include "backends/cpu/cpu.h"
#include "backends/cpu/windows.h"
#include "base/view.h"

enum { BLOCK = 1024 };

/* Position axes that are one for all sides. */
static void join_positions(indexed *x) {
  cxi_index_walk *w = &x->w;
  int n = 0;
  for (int i = 0; i < w->positions.n; i++) {
    const int64_t size = w->positions.d[i];
    const int last = n - 1;
    if (size == 1) continue;
    if (n && w->index_step[last] == w->index_step[i] * size &&
        w->slice_step[last] == w->slice_step[i] * size &&
        w->whole_step[last] == w->whole_step[i] * size) {
      w->positions.d[last] *= size;
    } else {
      w->positions.d[n++] = size;
    }
    w->index_step[n - 1] = w->index_step[i];
    w->slice_step[n - 1] = w->slice_step[i];
    w->whole_step[n - 1] = w->whole_step[i];
  }
  w->positions.n = n;
}

/* Single elements; or windows read to where those of neighbouring positions
 * lie side by side: then each of their elements is one of many. */
void cxi_cpu_places_find(indexed *x) {
  join_positions(x);
  const int last = x->w.positions.n - 1;
  const bool across = x->w.gathers && last >= 0 && x->w.slice_step[last] == 1;
  x->by_elements =
      (x->count == 1 || across) && x->whole_count <= INT32_MAX &&
      (!x->combine || x->join) &&
      (x->index_type == CX_I32 || x->kernels->indices[x->index_type]);
}

/* n items as i32, *step apart. */
static const int32_t *items_of(const indexed *x, const char *indices,
                               int64_t first, int64_t n, int64_t *step,
                               int32_t *room) {
  if (x->index_type == CX_I32) return (const int32_t *)indices + first;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(x->index_type);
  x->kernels->indices[x->index_type](n, room, indices + first * bytes, *step);
  *step = 1;
  return room;
}

/* The places of n positions of one line from p on. */
static void locate(const indexed *x, const char *indices, const place *p,
                   int64_t n, int32_t *places) {
  const int last = x->w.positions.n - 1;
  const int64_t whole_step = last < 0 ? 0 : x->w.whole_step[last];
  int32_t room[BLOCK];
  x->kernels->ramp(n, places, p->whole, whole_step);
  for (int k = 0; k < x->w.n_items; k++) {
    int64_t step = last < 0 ? 1 : x->w.index_step[last];
    const int32_t *items =
        items_of(x, indices, p->index + k * x->w.item_step, n, &step, room);
    x->kernels->locate(n, places, items, step,
                       (cxi_cpu_item){ .last = (int32_t)x->w.items[k].last,
                                       .stride = (int32_t)x->w.items[k].stride,
                                       .drops = x->w.drops });
  }
}

/* Every element of the windows of n positions of one line from p on. */
static void move(const indexed *x, char *whole, char *slices, const place *p,
                 int64_t n, const int32_t *places) {
  const int last = x->w.positions.n - 1, axis = x->axes - 1;
  const int64_t step = last < 0 ? 1 : x->w.slice_step[last];
  char *to = slices + p->slice * (1 << x->size);
  if (!x->w.gathers) {
    const cxi_cpu_join put = x->combine ? x->join : x->kernels->put[x->size];
    put(n, whole, places, to, step);
    return;
  }
  for (int64_t i = 0; i < x->lines; i++) {
    int64_t w, s;
    line_at(x, i, &w, &s);
    for (int64_t k = 0; k < x->sizes[axis]; k++) {
      x->kernels->pick[x->size](n, to + s * (1 << x->size), step,
                                whole + w * (1 << x->size), places, &x->fill);
      w += x->whole_line[axis];
      s += x->slice_line[axis];
    }
  }
}

void cxi_cpu_places_run(const indexed *x, int64_t first, int64_t n, char *whole,
                        char *slices, const char *indices) {
  const int last = x->w.positions.n - 1;
  int32_t places[BLOCK];
  place p = place_of(x, first);
  for (int64_t m; n > 0; n -= m) {
    const int64_t line = last < 0 ? 1 : x->w.positions.d[last] - p.at[last];
    m = cxi_least(cxi_least(n, BLOCK), line);
    locate(x, indices, &p, m, places);
    move(x, whole, slices, &p, m, places);
    advance(x, &p, m);
  }
}
