/* axes.h - lists of axes as rules and operations need them.
 *
 * Lists that would hold more than CX_MAX_DIMS items become n = -1, which
 * cxi_dims_valid refuses and operations report. */
#ifndef CXI_AXES_H
#define CXI_AXES_H

#include "ir/row.h"

/* `size` inserted before item `at`; n = -1 if there is no room. */
cx_dims cxi_dims_insert(cx_dims dims, int at, int64_t size);

/* In range of a shape of `rank`, none twice; ascending as well. */
bool cxi_axes_valid(const cx_dims *axes, int rank);
bool cxi_axes_sorted(const cx_dims *axes, int rank);
bool cxi_axes_identity(const cx_dims *axes); /* 0, 1, 2, ... */

/* The axes after a new axis was inserted before axis `at` (< 0: none). */
int cxi_axis_shift(int axis, int at);
cx_dims cxi_axes_shift(cx_dims axes, int at);
/* Those of 0..rank-1 that are in neither list (NULL: empty), ascending. */
cx_dims cxi_axes_rest(int rank, const cx_dims *a, const cx_dims *b);
/* How many items are less than `axis`. */
int cxi_axes_below(const cx_dims *axes, int64_t axis);
/* shape[axes[0]], shape[axes[1]], ... */
cx_dims cxi_dims_pick(const cx_dims *shape, const cx_dims *axes);
/* axes[inverse[i]] = i */
cx_dims cxi_axes_inverse(const cx_dims *axes);
cx_dims cxi_dims_repeat(int n, int64_t value);

/* For error texts: "f32[2,3]"; "(2,3)". */
typedef struct cxi_words {
  char s[224];
} cxi_words;
cxi_words cxi_show_type(cxi_type type);
cxi_words cxi_show_list(const cx_dims *list);

#endif
