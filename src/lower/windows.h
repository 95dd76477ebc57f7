/* windows.h - a gather or scatter as steps: which elements of one array go
 * with which of the other, once the indices are known. */
#ifndef CXI_WINDOWS_H
#define CXI_WINDOWS_H

#include "lower/schedule.h"

/* An item of an index vector moves windows along one axis of the whole. */
typedef struct cxi_index_item {
  int64_t last, stride; /* the greatest start; elements of a step */
  int64_t size;         /* of a window on that axis */
} cxi_index_item;

/* Of the whole, the array that is gathered from or scattered to, windows go to
 * or come from the slices: a gather's result, a scatter's updates. Steps are
 * in elements. */
typedef struct cxi_index_walk {
  bool gathers;
  bool drops; /* windows not inside the whole; else they are moved inside */
  const cxi_operand *whole, *slices, *indices;
  cx_dims positions; /* the leading axes of the indices; for each the steps: */
  int64_t index_step[CX_MAX_DIMS], slice_step[CX_MAX_DIMS],
      whole_step[CX_MAX_DIMS]; /* of batch axes; else 0 */
  int n_items;
  int64_t item_step; /* among the indices */
  cxi_index_item items[CX_MAX_DIMS];
  cx_dims window; /* without the axes that the slices lack; its steps: */
  int64_t slice_line[CX_MAX_DIMS], whole_line[CX_MAX_DIMS];
} cxi_index_walk;
/* False if the unit is none of gather, scatter, scatter_add, _mul, _min, _max.
 */
bool cxi_index_walk_of(const cxi_unit *unit, cxi_index_walk *out);

#endif
