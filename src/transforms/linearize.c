/* linearize.c - the jvp walk through the splitting emitter: what depends on
 * a tangent is linear in it and becomes the unknown program. */
#include <assert.h>

#include "transforms/split.h"

uint32_t cxi_linearize_walk(cxi_split *s, const cxi_program *p,
                            const bool *nonzero_in, const cx *in, cx *dx,
                            cx *out, cx *dout, bool *nonzero_out) {
  cx *all_dx = cxi_walk_scratch(p->n_in, sizeof *all_dx);
  cx *all_dout = cxi_walk_scratch(p->n_out, sizeof *all_dout);
  uint32_t n = 0, n_given = 0;
  for (uint32_t i = 0; i < p->n_out; i++) nonzero_out[i] = false;
  if (!all_dx || !all_dout) return 0;
  for (uint32_t i = 0; i < p->n_in; i++) {
    all_dx[i] = cx_none();
    if (nonzero_in && nonzero_in[i])
      all_dx[i] = dx[n_given++] =
          cxi_builder_input(&s->unknown, p->values[i].type);
  }
  cxi_jvp_walk(p, &s->known->error, &s->unknown.error, in, all_dx, true, out,
               all_dout);
  for (uint32_t i = 0; i < p->n_out; i++) {
    nonzero_out[i] = cxi_given(all_dout[i]);
    if (nonzero_out[i]) dout[n++] = cxi_split_residual(s, all_dout[i]);
  }
  return n;
}

static bool linearize(cxi_task *task, const bool *nonzero_in,
                      bool *nonzero_out) {
  const cxi_program *p = task->p;
  cxi_split s;
  cxi_split_open(&s, NULL);
  cx *in = cxi_walk_scratch(2 * (size_t)p->n_in, sizeof *in), *dx = NULL;
  cx *out = cxi_walk_scratch(2 * (size_t)p->n_out, sizeof *out), *dout = NULL;
  uint32_t n_dx = 0, n_dout = 0;
  if (in && out) {
    dx = in + p->n_in, dout = out + p->n_out;
    for (uint32_t i = 0; i < p->n_in; i++) {
      in[i] = cxi_builder_input(s.known, p->values[i].type);
      n_dx += nonzero_in && nonzero_in[i];
    }
    n_dout =
        cxi_linearize_walk(&s, p, nonzero_in, in, dx, out, dout, nonzero_out);
  }
  return cxi_split_finish(&s, task, p->n_in, in, n_dx, dx, p->n_out, out,
                          n_dout, dout);
}

bool cxi_linearize(const cxi_program *p, const bool *nonzero_in,
                   cxi_partial *out, bool *nonzero_out, cxi_error *error) {
  for (uint32_t i = 0; nonzero_in && i < p->n_in; i++)
    assert(!nonzero_in[i] || cxi_type_is_float(p->values[i].type));
  cxi_task task;
  cxi_task_begin(&task, CXI_LINEARIZE, p, nonzero_out, p->n_out, error);
  cxi_memo_key_mask(&task.key, nonzero_in, p->n_in);
  if (!cxi_task_found(&task))
    cxi_task_keep(&task, linearize(&task, nonzero_in, nonzero_out));
  const bool ok = cxi_task_end(&task);
  *out = (cxi_partial){ task.memo.a, task.memo.b, task.memo.n };
  return ok;
}
