/* partial_eval.c - a replay through the splitting emitter: what depends on an
 * unknown input is the unknown program, the rest the known one. */
#include "transforms/split.h"

static bool partial_eval(cxi_task *task, const bool *unknown_in,
                         const bool *force, bool *unknown_out) {
  const cxi_program *p = task->p;
  cxi_split s;
  cxi_split_open(&s, NULL);
  cx *in = cxi_walk_scratch(3 * (size_t)p->n_in, sizeof *in);
  cx *out = cxi_walk_scratch(3 * (size_t)p->n_out, sizeof *out);
  cx *known_in = NULL, *waiting = NULL, *known_out = NULL, *later = NULL;
  uint32_t n_known = 0, n_waiting = 0, n_known_out = 0, n_later = 0;
  if (in && out) {
    known_in = in + p->n_in, waiting = known_in + p->n_in;
    known_out = out + p->n_out, later = known_out + p->n_out;
    for (uint32_t i = 0; i < p->n_in; i++) {
      const cxi_type type = p->values[i].type;
      if (unknown_in && unknown_in[i])
        in[i] = waiting[n_waiting++] = cxi_builder_input(&s.unknown, type);
      else
        in[i] = known_in[n_known++] = cxi_builder_input(s.known, type);
    }
    cxi_replay(p, in, out);
    for (uint32_t i = 0; i < p->n_out; i++) {
      unknown_out[i] = cxi_split_is_unknown(&s, out[i]) || (force && force[i]);
      if (unknown_out[i])
        later[n_later++] = cxi_split_residual(&s, out[i]);
      else
        known_out[n_known_out++] = out[i];
    }
  }
  return cxi_split_finish(&s, task, n_known, known_in, n_waiting, waiting,
                          n_known_out, known_out, n_later, later);
}

bool cxi_partial_eval(const cxi_program *p, const bool *unknown_in,
                      const bool *force_unknown_out, cxi_partial *out,
                      bool *unknown_out, cxi_error *error) {
  cxi_task task;
  cxi_task_begin(&task, CXI_PARTIAL_EVAL, p, unknown_out, p->n_out, error);
  cxi_memo_key_mask(&task.key, unknown_in, p->n_in);
  cxi_memo_key_mask(&task.key, force_unknown_out, p->n_out);
  if (!cxi_task_found(&task))
    cxi_task_keep(
        &task, partial_eval(&task, unknown_in, force_unknown_out, unknown_out));
  const bool ok = cxi_task_end(&task);
  *out = (cxi_partial){ task.memo.a, task.memo.b, task.memo.n };
  return ok;
}
