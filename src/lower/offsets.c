/* offsets.c - buffers in one slab: the largest first, each in the tightest
 * gap that those alive at the same time leave. */
#include <stdlib.h>

#include "base/arena.h"
#include "lower/plan.h"

enum { ALIGNMENT = 64 };

static size_t aligned(size_t bytes) {
  return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

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
    const size_t after = aligned(other->offset + other->bytes);
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

size_t cxi_place_intervals(cxi_interval *intervals, uint32_t n) {
  const cxi_mark mark = cxi_scratch_mark();
  cxi_interval **order = cxi_scratch((n + (size_t)1) * sizeof *order);
  cxi_interval **placed = cxi_scratch((n + (size_t)1) * sizeof *placed);
  size_t end = order && placed ? 0 : SIZE_MAX;
  for (uint32_t i = 0; end != SIZE_MAX && i < n; i++) order[i] = &intervals[i];
  if (end != SIZE_MAX) qsort(order, n, sizeof *order, compare);
  for (uint32_t i = 0; end != SIZE_MAX && i < n; i++) {
    order[i]->offset = find_gap(placed, i, order[i]);
    insert(placed, i, order[i]);
    const size_t top = order[i]->offset + order[i]->bytes;
    if (top > end) end = top;
  }
  cxi_scratch_reset(mark);
  return end;
}
