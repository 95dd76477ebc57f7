/* sort.h - what the rows that order elements share. */
#ifndef CXI_SORT_H
#define CXI_SORT_H

#include "ir/row.h"

/* The order of a dtype: bools and integers as numbers; floats likewise, with
 * -0 equal to 0 and NaN, all equal, above infinity. Both rows keep the order
 * of equal elements. */
bool cxi_evaluate_sort(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_sort_workspace(const cxi_eval *e, const cxi_view *in,
                           const cxi_view *out);
bool cxi_evaluate_top_k(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_top_k_workspace(const cxi_eval *e, const cxi_view *in,
                            const cxi_view *out);

#endif
