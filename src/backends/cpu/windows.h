/* windows.h - gathers and scatters of the CPU backend: what its two ways of
 * running them share. */
#ifndef CXI_CPU_WINDOWS_H
#define CXI_CPU_WINDOWS_H

#include "backends/cpu/kernels.h"
#include "lower/windows.h"

typedef struct indexed {
  const cxi_cpu_kernels *kernels;
  cxi_index_walk w; /* its operands are not kept */
  cx_dtype index_type;
  int size;               /* log2 of the element's bytes */
  cxi_cpu_kernel combine; /* NULL: windows are replaced */
  cxi_cpu_join join;      /* the same for single elements; may be NULL */
  uint64_t fill;
  int64_t n; /* positions */
  int cut;   /* the item whose places are shared out; -1: none */
  /* The axes of a window, joined; the last one is a line. */
  int axes;
  int64_t sizes[CX_MAX_DIMS], slice_line[CX_MAX_DIMS], whole_line[CX_MAX_DIMS];
  bool line_moves;      /* windows begin at different places of it */
  int64_t count, lines; /* elements and lines of a window */
  cxi_ref source, indices, slices, whole; /* source: of a scatter */
  int64_t whole_count;
  bool by_elements; /* places.c takes it */
} indexed;

/* -- positions -------------------------------------------------------------- */

typedef struct place {
  int64_t at[CX_MAX_DIMS];
  int64_t index, slice, whole; /* elements */
} place;

static inline place place_of(const indexed *x, int64_t position) {
  place p = { .index = 0 };
  for (int i = x->w.positions.n - 1; i >= 0; i--) {
    p.at[i] = position % x->w.positions.d[i];
    position /= x->w.positions.d[i];
    p.index += p.at[i] * x->w.index_step[i];
    p.slice += p.at[i] * x->w.slice_step[i];
    p.whole += p.at[i] * x->w.whole_step[i];
  }
  return p;
}

/* m positions on, along the last of their axes at most to its end. */
static inline void advance(const indexed *x, place *p, int64_t m) {
  for (int i = x->w.positions.n - 1; i >= 0; i--, m = 1) {
    p->index += m * x->w.index_step[i];
    p->slice += m * x->w.slice_step[i];
    p->whole += m * x->w.whole_step[i];
    p->at[i] += m;
    if (p->at[i] < x->w.positions.d[i]) return;
    p->index -= p->at[i] * x->w.index_step[i];
    p->slice -= p->at[i] * x->w.slice_step[i];
    p->whole -= p->at[i] * x->w.whole_step[i];
    p->at[i] = 0;
  }
}

/* Where line i of a window lies: elements from its beginning, on both sides. */
static inline void line_at(const indexed *x, int64_t i, int64_t *whole,
                           int64_t *slice) {
  *whole = *slice = 0;
  for (int axis = x->axes - 2; axis >= 0; axis--) {
    *whole += i % x->sizes[axis] * x->whole_line[axis];
    *slice += i % x->sizes[axis] * x->slice_line[axis];
    i /= x->sizes[axis];
  }
}

/* -- places.c: by blocks of positions, whose places are found at once -------- */

/* Sets by_elements: whether this way is there, and the faster one. */
void cxi_cpu_places_find(indexed *x);
/* n positions from `first` on: read from the whole, or put into it in their
 * order. */
void cxi_cpu_places_run(const indexed *x, int64_t first, int64_t n, char *whole,
                        char *slices, const char *indices);

#endif
