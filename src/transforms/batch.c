/* batch.c - a walk that carries a batch axis, or none, for each value. What
 * does not depend on the batch is emitted as it is. */
#include "ops/axes.h"
#include "ops/lax.h"
#include "transforms/walk.h"

/* The name of the axis that this thread batches: rules batch sub-programs with
 * it, and collectives that have it are resolved. 0: it has none. */
static _Thread_local cxi_name axis_name;

/* Whether a batch axis more is a type: not beyond the most axes or elements. */
static bool has_room(const char *what, cxi_type type, int64_t size) {
  const cx_dims shape = cxi_dims_insert(*cxi_type_shape(type), 0, size);
  const cx_aval wider = { cxi_type_dtype(type), shape };
  if (shape.n > 0 && cxi_aval_bytes(&wider) >= 0) return true;
  char text[96];
  cxi_aval_print(text, sizeof text, cxi_type_aval(type));
  cxi_fail(CX_ESHAPE, "vmap: %s %s has no room for a batch of %lld", what, text,
           (long long)size);
  return false;
}

/* x with the batch at axis 0; repeated if it has none. */
static cx to_front(cx x, int axis, int64_t size) {
  return axis < 0 ? cxi_insert_axis(x, 0, size) : cxi_move_axis(x, axis, 0);
}

static void note_name(cxi_name name, void *found) {
  *(bool *)found |= name == axis_name;
}

/* Whether the equation has something to do with the axis by its name. */
static bool names_axis(const cxi_walk *w, const cxi_equation *e) {
  bool found = false;
  if (axis_name && cxi_names_have(&w->p->axes, axis_name))
    cxi_params_each_axis((cxi_prim)e->prim, e->params, note_name, &found);
  return found;
}

static void batch_equation(cxi_walk *w, const cxi_equation *e, const int *axis,
                           int64_t size, int *out_axis) {
  uint32_t k = 0;
  while (k < e->n_in && axis[k] < 0) k++;
  for (uint32_t i = 0; i < e->n_out; i++) out_axis[i] = -1;
  if (k == e->n_in && !names_axis(w, e)) {
    cxi_walk_emit(w, e);
    return;
  }
  cxi_rule rule = cxi_walk_rule(w, e);
  rule.axis_name = axis_name;
  if (!rule.row->batch) {
    cxi_walk_no_rule("vmap", &rule, k, rule.row->no_batch);
    return;
  }
  cx *out = w->env + e->out;
  for (uint32_t i = 0; i < e->n_out; i++)
    if (!has_room(cxi_prim_name((cxi_prim)e->prim), rule.out_types[i], size))
      return;
  rule.row->batch(&rule, w->args, axis, size, out, out_axis);
  for (uint32_t i = 0; i < e->n_out; i++) {
    const cx_dims shape = *cxi_type_shape(rule.out_types[i]);
    const cxi_type want =
        out_axis[i] < 0
            ? rule.out_types[i]
            : cxi_type_with_shape(rule.out_types[i],
                                  cxi_dims_with(shape, out_axis[i], size));
    if (cxi_given(out[i]) && cxi_type_at(out[i]) != want)
      cxi_walk_wrong_type("vmap", &rule, "result", i, out[i], want);
  }
}

static void walk(cxi_walk *w, int *axis, int64_t size) {
  const cxi_program *p = w->p;
  for (uint32_t i = 0; i < p->n_equations && !cxi_walk_failed(w); i++) {
    const cxi_mark mark = cxi_scratch_mark();
    const cxi_equation *e = cxi_walk_at(w, i);
    const uint32_t *operands = cxi_operands_of(p, e);
    int *in_axis = cxi_walk_scratch(e->n_in, sizeof *in_axis);
    if (!in_axis) break;
    for (uint32_t k = 0; k < e->n_in; k++) in_axis[k] = axis[operands[k]];
    batch_equation(w, e, in_axis, size, axis + e->out);
    cxi_scratch_reset(mark);
  }
  cxi_walk_end(w);
}

/* The type with the batch at axis 0. */
static cxi_type batched(cxi_type type, int64_t size) {
  return cxi_type_with_shape(type,
                             cxi_dims_with(*cxi_type_shape(type), 0, size));
}

static bool fits(const cxi_program *p, const bool *batched_in, int64_t size) {
  for (uint32_t i = 0; i < p->n_in; i++) {
    if (!batched_in || !batched_in[i]) continue;
    if (!has_room("input", p->values[i].type, size)) return false;
  }
  return true;
}

static const cxi_program *batch(cxi_task *task, const bool *batched_in,
                                int64_t size, const bool *force,
                                bool *batched_out) {
  const cxi_program *p = task->p;
  cxi_builder b;
  cxi_builder_open(&b);
  cx *out = cxi_walk_scratch(p->n_out, sizeof *out);
  cx *in = cxi_walk_scratch(p->n_in, sizeof *in);
  int *axis = cxi_walk_scratch(p->n_values, sizeof *axis);
  cxi_walk w;
  if (out && in && axis && fits(p, batched_in, size) &&
      cxi_walk_begin(&w, p, &b.error, NULL)) {
    for (uint32_t v = 0; v < p->n_values; v++) axis[v] = -1;
    for (uint32_t i = 0; i < p->n_in; i++) {
      const cxi_type type = p->values[i].type;
      const bool here = batched_in && batched_in[i];
      axis[i] = here ? 0 : -1;
      in[i] = w.env[i] =
          cxi_builder_input(&b, here ? batched(type, size) : type);
    }
    walk(&w, axis, size);
    for (uint32_t i = 0; i < p->n_out && !cxi_walk_failed(&w); i++) {
      const uint32_t v = p->outputs[i];
      batched_out[i] = axis[v] >= 0 || (force && force[i]);
      if (batched_out[i] && !has_room("result", p->values[v].type, size)) break;
      out[i] = batched_out[i] ? to_front(w.env[v], axis[v], size) : w.env[v];
    }
  }
  return cxi_task_finish(task, &b, "_batch", p->n_in, in, p->n_out, out);
}

const cxi_program *cxi_batch_within(const cxi_program *p,
                                    const bool *batched_in, int64_t size,
                                    const bool *force_out, bool *batched_out,
                                    cxi_error *error) {
  cxi_task task;
  cxi_task_begin(&task, CXI_BATCH, p, batched_out, p->n_out, error);
  cxi_memo_key_mask(&task.key, batched_in, p->n_in);
  cxi_memo_key_mask(&task.key, force_out, p->n_out);
  cxi_bytes_add_u64(&task.key, (uint64_t)size);
  cxi_bytes_add_u32(&task.key,
                    cxi_names_have(&p->axes, axis_name) ? axis_name : 0);
  if (!cxi_task_found(&task)) {
    task.memo.a = batch(&task, batched_in, size, force_out, batched_out);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}

const cxi_program *cxi_batch_named(const cxi_program *p, cxi_name name,
                                   const bool *batched_in, int64_t size,
                                   const bool *force_out, bool *batched_out,
                                   cxi_error *error) {
  const cxi_name before = axis_name;
  axis_name = name;
  const cxi_program *q =
      cxi_batch_within(p, batched_in, size, force_out, batched_out, error);
  axis_name = before;
  return q;
}

const cxi_program *cxi_batch(const cxi_program *p, const bool *batched_in,
                             int64_t size, const bool *force_out,
                             bool *batched_out, cxi_error *error) {
  return cxi_batch_named(p, 0, batched_in, size, force_out, batched_out, error);
}
