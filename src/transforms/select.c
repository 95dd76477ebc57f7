/* select.c - the same program with inputs and outputs in another order. */
#include "transforms/walk.h"

static const cxi_program *select_(cxi_task *task, const uint32_t *in,
                                  uint32_t n_out, const uint32_t *out) {
  const cxi_program *p = task->p;
  cxi_builder b;
  cxi_builder_open(&b);
  cx *inputs = cxi_walk_scratch(2 * (size_t)p->n_in, sizeof *inputs);
  cx *outputs = cxi_walk_scratch((size_t)p->n_out + n_out, sizeof *outputs);
  cx *picked = NULL;
  if (inputs && outputs) {
    cx *args = inputs + p->n_in;
    picked = outputs + p->n_out;
    for (uint32_t i = 0; i < p->n_in; i++) {
      const uint32_t from = in ? in[i] : i;
      inputs[i] = args[from] = cxi_builder_input(&b, p->values[from].type);
    }
    cxi_replay(p, args, outputs);
    for (uint32_t i = 0; i < n_out; i++) picked[i] = outputs[out ? out[i] : i];
  }
  return cxi_task_finish(task, &b, "", p->n_in, inputs, n_out, picked);
}

static bool in_order(const uint32_t *list, uint32_t n) {
  for (uint32_t i = 0; list && i < n; i++)
    if (list[i] != i) return false;
  return true;
}

static void key_list(cxi_bytes *key, const uint32_t *list, uint32_t n) {
  cxi_bytes_add_u32(key, n);
  for (uint32_t i = 0; i < n; i++) cxi_bytes_add_u32(key, list ? list[i] : i);
}

const cxi_program *cxi_select_program(const cxi_program *p, const uint32_t *in,
                                      uint32_t n_out, const uint32_t *out,
                                      cxi_error *error) {
  if (!out) n_out = p->n_out;
  if (n_out == p->n_out && in_order(in, p->n_in) && in_order(out, n_out)) {
    if (cxi_hold(p)) return p;
    cxi_error_set(error, CX_EMEMORY, "select: no memory");
    return NULL;
  }
  cxi_task task;
  cxi_task_begin(&task, CXI_SELECT, p, NULL, 0, error);
  key_list(&task.key, in, p->n_in);
  key_list(&task.key, out, n_out);
  if (!cxi_task_found(&task)) {
    task.memo.a = select_(&task, in, n_out, out);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}
