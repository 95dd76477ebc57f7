/* window.h - what the rows over windows share.
 *
 * Element k of the window of result o lies, along each axis, at place
 *   p = o stride + k window_dilation - low
 * of the operand dilated: at its element p / base_dilation, if that is whole
 * and inside; elsewhere there is nothing, and nothing takes part. */
#ifndef CXI_WINDOW_H
#define CXI_WINDOW_H

#include "ops/axes.h"
#include "ops/lax.h"

/* Validates the window for this operand; its result's shape. */
bool cxi_infer_window(cxi_infer *c, uint32_t operand, cx_dims *out);
/* The window with one more axis at `at`, along which nothing is joined. */
cxi_window cxi_window_batched(const cxi_window *w, int at);

/* All pairs of a result and an element of its window, in runs along the last
 * axis. For each result its elements come in row-major order of the window. */
typedef struct cxi_window_walk {
  const cxi_window *w;
  cx_dims operand, result;    /* their shapes */
  int64_t at[CX_MAX_DIMS];    /* in the window */
  cx_dims box;                /* results that have an element there */
  int64_t index[CX_MAX_DIMS]; /* the next run of the box */
  bool left;                  /* runs of the box */
  bool done;
  int64_t first_out[CX_MAX_DIMS], first_in[CX_MAX_DIMS];
  int64_t step_out[CX_MAX_DIMS], step_in[CX_MAX_DIMS];
  /* the run: places in row-major order */
  int64_t n, out, in, out_step, in_step;
} cxi_window_walk;
cxi_window_walk cxi_window_start(const cxi_window *w, const cx_dims *operand,
                                 const cx_dims *result);
bool cxi_window_next(cxi_window_walk *walk);

bool cxi_evaluate_reduce_window(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_reduce_window_workspace(const cxi_eval *e, const cxi_view *in,
                                    const cxi_view *out);
bool cxi_evaluate_select_gather(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_select_gather_workspace(const cxi_eval *e, const cxi_view *in,
                                    const cxi_view *out);
int64_t cxi_select_scatter_workspace(const cxi_eval *e, const cxi_view *in,
                                     const cxi_view *out);
bool cxi_evaluate_select_scatter(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out);

#endif
