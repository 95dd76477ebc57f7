/* index.h - what the rows that index share when they run. */
#ifndef CXI_INDEX_H
#define CXI_INDEX_H

#include "ir/row.h"

/* The `valid` of all rows with indices. */
cx cxi_valid_indices(const cxi_rule *r, const cx *in);

/* The window of v that begins at `start`. */
cxi_view cxi_view_window(const cxi_view *v, const int64_t *start,
                         cx_dims sizes);

/* to += from, one shape and dtype: integers wrap, f16 and bf16 round once.
 * With f32 sums of f16 or bf16, `to` may be f32. */
void cxi_view_add(const cxi_view *to, const cxi_view *from);

#endif
