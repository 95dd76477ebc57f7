/* index_scatter.h - what the scatters share. */
#ifndef CXI_INDEX_SCATTER_H
#define CXI_INDEX_SCATTER_H

#include "primitives/index_window.h"

/* All scatters have the fields of cxi_scatter_params. */
bool cxi_infer_scatter(cxi_infer *c);
void cxi_batch_scatter(const cxi_rule *r, const cx *in, const int *axis,
                       int64_t size, cx *out, int *out_axis);

/* Where the updates of equation r go, the windows of x there; `fill` (NaN: the
 * dtype's default) for dropped ones. */
cx cxi_scatter_windows_of(const cxi_rule *r, cx x, cx indices, double fill);
/* Whether two updates can meet at one place: neither promised not to, nor one
 * alone, or one in each place of a batch. */
bool cxi_scatter_may_meet(const cxi_scatter_params *p, const cx_dims *indices);

/* -- running --------------------------------------------------------------- */

typedef void cxi_scatter_put(void *user, const cxi_view *window,
                             const cxi_view *update);
/* Calls put(user, window of x, update) for each update that is not dropped,
 * in the order of the positions. */
void cxi_scatter_each(const cxi_scatter_params *p, const cxi_view *x,
                      const cxi_view *indices, const cxi_view *updates,
                      cxi_scatter_put *put, void *user);
/* The same for a dense x of f16 or bf16 where places may repeat: put sees
 * windows of f32, which are rounded once at the end. */
void cxi_scatter_in_f32(const cxi_scatter_params *p, const cxi_view *x,
                        const cxi_view *indices, const cxi_view *updates,
                        cxi_scatter_put *put, void *user, void *workspace);
int64_t cxi_scatter_workspace(const cxi_eval *e, const cxi_view *in,
                              const cxi_view *out);

#endif
