/* index_window.h - the one geometry of gather and scatter.
 *
 * indices (.., index) hold, for each position of their leading axes, the
 * start of a window of the operand. An array of windows ("slices": the result
 * of a gather, the updates of a scatter) has the axes of the positions in
 * order and, at the places `window`, those of the window that are left after
 * the `dropped` ones and the batch axes, which have size 1.
 * As XLA defines them: openxla.org/xla/operation_semantics#gather. */
#ifndef CXI_INDEX_WINDOW_H
#define CXI_INDEX_WINDOW_H

#include "primitives/moves.h"

typedef struct cxi_windows {
  cx_dims window;             /* axes of the slices */
  cx_dims dropped;            /* axes of the operand */
  cx_dims start_map;          /* operand axis of item i of an index */
  cx_dims operand_batch, index_batch;
  cx_dims sizes;              /* of a window, one per operand axis */
} cxi_windows;
cxi_windows cxi_gather_windows(const cxi_gather_params *p);
/* Those of scatter and scatter_add, which have the same parameters; sizes
 * come from the updates. */
cxi_windows cxi_scatter_windows(const cxi_scatter_params *p, cxi_type operand,
                                cxi_type updates);
cxi_gather_params cxi_gather_params_of(const cxi_windows *w, cx_mode mode,
                                       bool sorted, bool unique);
cxi_scatter_params cxi_scatter_params_of(const cxi_windows *w, cx_mode mode,
                                         bool sorted, bool unique);

/* Validates all but the slices: false with an error text. */
bool cxi_infer_windows(cxi_infer *c, const cxi_windows *w);
/* The shape of the slices; n = -1: too many axes. */
cx_dims cxi_slices_shape(const cxi_windows *w, const cx_dims *indices);

/* -- batching: the windows with one more axis ------------------------------ */

/* A batched operand, axis `at`, and indices common to all: windows span the
 * axis. *place is the axis of the slices it becomes. */
cxi_windows cxi_windows_span(const cxi_windows *w, int at, int64_t size,
                             int *place);
/* Indices batched at axis `at` (not the last), one operand (operand_at < 0)
 * or one for each at axis `operand_at`. */
cxi_windows cxi_windows_each(const cxi_windows *w, int at, int operand_at,
                             int index_rank, int *place);

/* -- running --------------------------------------------------------------- */

typedef struct cxi_walk {
  cxi_windows w;
  cx_mode mode;
  const cxi_view *indices;
  cx_dims operand;            /* its shape */
  cx_dims positions;          /* leading axes of the indices */
  cx_dims place;              /* slices' axis of each */
  cx_dims kept;               /* operand axes in the window, in order */
  int64_t at[CX_MAX_DIMS];    /* the position */
  bool done;
} cxi_walk;
cxi_walk cxi_walk_start(const cxi_windows *w, cx_mode mode,
                        const cx_dims *operand, const cxi_view *indices);
/* The next position's window: its start in the operand, clamped; false in
 * *inside if it is to be filled or dropped. Returns false at the end. */
bool cxi_walk_next(cxi_walk *walk, int64_t *start, bool *inside);
/* Of the position returned last: the window in the operand without the axes
 * of size 1 that the slices lack, and its place among the slices. */
cxi_view cxi_walk_window(const cxi_walk *walk, const cxi_view *operand,
                         const int64_t *start);
cxi_view cxi_walk_slice(const cxi_walk *walk, const cxi_view *slices);

#endif
