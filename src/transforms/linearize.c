/* linearize.c - the jvp walk through the splitting emitter: what depends on
 * a tangent is linear in it and becomes the unknown program. */
#include <assert.h>

#include "transforms/split.h"

static bool linearize(cxi_task *task, const bool *nonzero_in,
                      bool *nonzero_out) {
  const cxi_program *p = task->p;
  cxi_split s;
  cxi_split_open(&s);
  cx *in = cxi_walk_scratch(3 * (size_t)p->n_in, sizeof *in);
  cx *out = cxi_walk_scratch(3 * (size_t)p->n_out, sizeof *out);
  cx *dx = NULL, *given = NULL, *dout = NULL, *linear = NULL;
  uint32_t n_given = 0, n_linear = 0;
  if (in && out) {
    dx = in + p->n_in, given = dx + p->n_in;
    dout = out + p->n_out, linear = dout + p->n_out;
    for (uint32_t i = 0; i < p->n_in; i++) {
      const cxi_type type = p->values[i].type;
      in[i] = cxi_builder_input(&s.known, type);
      dx[i] = cx_none();
      if (nonzero_in && nonzero_in[i])
        dx[i] = given[n_given++] = cxi_builder_input(&s.unknown, type);
    }
    cxi_jvp_walk(p, &s.known.error, &s.unknown.error, in, dx, true, out, dout);
    for (uint32_t i = 0; i < p->n_out; i++) {
      nonzero_out[i] = cxi_given(dout[i]);
      if (nonzero_out[i]) linear[n_linear++] = cxi_split_residual(&s, dout[i]);
    }
  }
  return cxi_split_finish(&s, task, p->n_in, in, n_given, given, p->n_out, out,
                          n_linear, linear);
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
