/* index.h - what the rows that index share when they run. */
#ifndef CXI_INDEX_H
#define CXI_INDEX_H

#include "ir/row.h"

/* An integer of any dtype; a u64 that does not fit becomes the greatest. */
int64_t cxi_read_index(cx_dtype type, const void *at);

/* start, moved so that start..start+window-1 lies in 0..size-1. */
static inline int64_t cxi_clamp_start(int64_t start, int64_t window,
                                      int64_t size) {
  if (start > size - window) start = size - window;
  return start < 0 ? 0 : start;
}
/* Whether it lies there without being moved. */
static inline bool cxi_start_inside(int64_t start, int64_t window,
                                    int64_t size) {
  return start >= 0 && start <= size - window;
}

/* The `valid` of all rows with indices. */
cx cxi_valid_indices(const cxi_rule *r, const cx *in);

/* The window of v that begins at `start`. */
cxi_view cxi_view_window(const cxi_view *v, const int64_t *start,
                         cx_dims sizes);

/* to += from, one shape and dtype: integers wrap, f16 and bf16 round once.
 * With f32 sums of f16 or bf16, `to` may be f32. */
void cxi_view_add(const cxi_view *to, const cxi_view *from);

#endif
