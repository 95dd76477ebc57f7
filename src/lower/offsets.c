/* offsets.c - buffers in one slab: the largest first, each in the tightest
 * gap that those alive at the same time leave. That compares each buffer with
 * all before it; of many, the small ones go above the others instead, and of
 * very many the smaller ones, in the order of time, which is O(n log n). */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/alloc.h"
#include "lower/plan.h"

enum { MOST_BY_SIZE = 4096, MOST_SMALL = 512, SMALL_BYTES = 4096 };

/* Larger first; then longer-lived; then earlier: an order without ties. */
static int compare(const void *a, const void *b) {
  const cxi_interval *x = *(cxi_interval *const *)a,
                     *y = *(cxi_interval *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  const uint32_t long_x = x->last - x->first, long_y = y->last - y->first;
  if (long_x != long_y) return long_x < long_y ? 1 : -1;
  return x < y ? -1 : x > y;
}

/* The offset of the tightest gap among those placed, in order of offset. */
static size_t find_gap(cxi_interval *const *placed, uint32_t n,
                       const cxi_interval *interval) {
  size_t end = 0, best = SIZE_MAX, best_room = SIZE_MAX;
  for (uint32_t i = 0; i < n; i++) {
    const cxi_interval *other = placed[i];
    if (other->last < interval->first || interval->last < other->first)
      continue;
    if (other->offset > end) {
      const size_t room = other->offset - end;
      if (room >= interval->bytes && room < best_room) {
        best = end;
        best_room = room;
      }
    }
    const size_t after = cxi_aligned(other->offset + other->bytes);
    if (after > end) end = after;
  }
  return best == SIZE_MAX ? end : best;
}

static void insert(cxi_interval **placed, uint32_t n, cxi_interval *interval) {
  uint32_t i = n;
  for (; i > 0 && placed[i - 1]->offset > interval->offset; i--)
    placed[i] = placed[i - 1];
  placed[i] = interval;
}

static size_t place_by_size(cxi_interval **order, uint32_t n,
                            cxi_interval **placed) {
  size_t end = 0;
  for (uint32_t i = 0; i < n; i++) {
    order[i]->offset = find_gap(placed, i, order[i]);
    insert(placed, i, order[i]);
    const size_t top = order[i]->offset + order[i]->bytes;
    if (top > end) end = top;
  }
  return end;
}

/* -- in the order of time -------------------------------------------------- */

typedef struct block {
  size_t offset, bytes;
} block;

/* The slab while time goes by: gaps in order of offset, no two adjacent; the
 * buffers alive, a heap with the one that ends first on top. */
typedef struct slab {
  size_t end;
  uint32_t n_gaps, n_alive;
  block *gaps;
  cxi_interval **alive;
} slab;

static int compare_start(const void *a, const void *b) {
  const cxi_interval *x = *(cxi_interval *const *)a,
                     *y = *(cxi_interval *const *)b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x < y ? -1 : x > y;
}

static void heap_push(slab *s, cxi_interval *interval) {
  uint32_t i = s->n_alive++;
  for (; i > 0 && s->alive[(i - 1) / 2]->last > interval->last; i = (i - 1) / 2)
    s->alive[i] = s->alive[(i - 1) / 2];
  s->alive[i] = interval;
}

static cxi_interval *heap_pop(slab *s) {
  cxi_interval *top = s->alive[0], *moved = s->alive[--s->n_alive];
  uint32_t i = 0, child;
  for (; (child = 2 * i + 1) < s->n_alive; i = child) {
    if (child + 1 < s->n_alive &&
        s->alive[child + 1]->last < s->alive[child]->last)
      child++;
    if (s->alive[child]->last >= moved->last) break;
    s->alive[i] = s->alive[child];
  }
  s->alive[i] = moved;
  return top;
}

static void remove_gap(slab *s, uint32_t i) {
  memmove(s->gaps + i, s->gaps + i + 1, (--s->n_gaps - i) * sizeof *s->gaps);
}

static void release(slab *s, block b) {
  uint32_t low = 0, high = s->n_gaps; /* the first gap above b */
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (s->gaps[middle].offset < b.offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < s->n_gaps && s->gaps[low].offset == b.offset + b.bytes) {
    b.bytes += s->gaps[low].bytes;
    remove_gap(s, low);
  }
  if (low > 0 && s->gaps[low - 1].offset + s->gaps[low - 1].bytes == b.offset) {
    s->gaps[low - 1].bytes += b.bytes;
    return;
  }
  memmove(s->gaps + low + 1, s->gaps + low,
          (s->n_gaps++ - low) * sizeof *s->gaps);
  s->gaps[low] = b;
}

/* The tightest gap; else the end, less a gap that lies there. */
static size_t acquire(slab *s, size_t bytes) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < s->n_gaps; i++)
    if (s->gaps[i].bytes >= bytes &&
        (best == UINT32_MAX || s->gaps[i].bytes < s->gaps[best].bytes))
      best = i;
  if (best == UINT32_MAX) {
    size_t offset = s->end;
    if (s->n_gaps) {
      const block last = s->gaps[s->n_gaps - 1];
      if (last.offset + last.bytes == s->end) {
        offset = last.offset;
        s->n_gaps--;
      }
    }
    s->end = offset + bytes;
    return offset;
  }
  const size_t offset = s->gaps[best].offset;
  s->gaps[best].offset += bytes;
  s->gaps[best].bytes -= bytes;
  if (s->gaps[best].bytes == 0) remove_gap(s, best);
  return offset;
}

/* Above `base`; room for n + 1 gaps and n pointers. */
static size_t place_in_time(cxi_interval **order, uint32_t n, size_t base,
                            block *gaps, cxi_interval **alive) {
  slab s = { .end = base, .gaps = gaps, .alive = alive };
  qsort(order, n, sizeof *order, compare_start);
  for (uint32_t i = 0; i < n; i++) {
    while (s.n_alive && s.alive[0]->last < order[i]->first) {
      const cxi_interval *over = heap_pop(&s);
      release(&s, (block){ over->offset, cxi_aligned(over->bytes) });
    }
    if (order[i]->bytes == 0) {
      order[i]->offset = base;
      continue;
    }
    order[i]->offset = acquire(&s, cxi_aligned(order[i]->bytes));
    heap_push(&s, order[i]);
  }
  return s.end;
}

size_t cxi_place_intervals(cxi_interval *intervals, uint32_t n) {
  const cxi_mark mark = cxi_scratch_mark();
  const size_t room = n + (size_t)1;
  cxi_interval **order = cxi_scratch(room * sizeof *order);
  cxi_interval **placed = cxi_scratch(room * sizeof *placed);
  block *gaps = cxi_scratch_raw(room * sizeof *gaps);
  size_t end = SIZE_MAX;
  if (order && placed && gaps) {
    for (uint32_t i = 0; i < n; i++) order[i] = &intervals[i];
    qsort(order, n, sizeof *order, compare);
    uint32_t large = n < MOST_SMALL ? n : MOST_SMALL;
    while (large < n && large < MOST_BY_SIZE &&
           order[large]->bytes > SMALL_BYTES)
      large++;
    end = place_by_size(order, large, placed);
    if (large < n)
      end = place_in_time(order + large, n - large, cxi_aligned(end), gaps,
                          placed);
  }
  cxi_scratch_reset(mark);
  return end;
}
