/* jvp.c - forward mode: a walk that carries a tangent, or none, for each
 * value.
 *
 *   y = f(x)   ->   y = f(x), dy = f'(x) dx
 *
 * The walk emits each primal equation and asks the row for the tangents of
 * its results; rows with sub-programs emit both. Only floating values have
 * tangents. Run through the splitting emitter (split.h), the same walk
 * linearizes. */
#include <assert.h>

#include "ops/lax.h"
#include "transforms/walk.h"

static bool any_given(uint32_t n, const cx *handles) {
  for (uint32_t i = 0; i < n; i++)
    if (cxi_given(handles[i])) return true;
  return false;
}

static bool any_float(const cxi_rule *rule) {
  for (uint32_t i = 0; i < rule->n_out; i++)
    if (cxi_type_is_float(rule->out_types[i])) return true;
  return false;
}

/* Results that are not floating lose what the rule gave them; the others must
 * have the type of their primal. */
static void check_tangents(const cxi_rule *rule, cx *dout) {
  for (uint32_t i = 0; i < rule->n_out; i++) {
    if (!cxi_type_is_float(rule->out_types[i])) dout[i] = cx_none();
    if (cxi_given(dout[i]) && cxi_type_at(dout[i]) != rule->out_types[i])
      cxi_walk_wrong_type("jvp", rule, "tangent", i, dout[i],
                          rule->out_types[i]);
  }
}

/* One equation; dx are the tangents of its operands, in w->args. */
static void jvp_equation(cxi_walk *w, const cxi_equation *e, const cx *dx,
                         bool linearizing, cx *dout) {
  cxi_rule rule = cxi_walk_rule(w, e);
  rule.linearizing = linearizing;
  for (uint32_t k = 0; k < e->n_out; k++) dout[k] = cx_none();
  if (!any_given(e->n_in, dx) || !any_float(&rule)) {
    cxi_walk_emit(w, e);
    return;
  }
  if (!rule.row->jvp) {
    uint32_t k = 0;
    while (!cxi_given(dx[k])) k++;
    cxi_walk_no_rule("jvp", &rule, k, rule.row->no_jvp);
    return;
  }
  if (!rule.row->jvp_emits) cxi_walk_emit(w, e);
  rule.row->jvp(&rule, w->args, dx, w->env + e->out, dout);
  check_tangents(&rule, dout);
}

void cxi_jvp_walk(const cxi_program *p, const cxi_error *watch,
                  const cxi_error *watch_too, const cx *in, const cx *dx,
                  bool linearizing, cx *out, cx *dout) {
  cxi_walk w;
  cx *tangents = cxi_walk_scratch(p->n_values, sizeof *tangents);
  if (!tangents || !cxi_walk_begin(&w, p, watch, watch_too)) return;
  for (uint32_t v = 0; v < p->n_values; v++)
    tangents[v] = v < p->n_in ? dx[v] : cx_none();
  for (uint32_t v = 0; v < p->n_in; v++) w.env[v] = in[v];
  for (uint32_t i = 0; i < p->n_equations && !cxi_walk_failed(&w); i++) {
    const cxi_mark mark = cxi_scratch_mark();
    const cxi_equation *e = cxi_walk_at(&w, i);
    const uint32_t *operands = cxi_operands_of(p, e);
    cx *da = cxi_walk_scratch(e->n_in, sizeof *da);
    if (!da) break;
    for (uint32_t k = 0; k < e->n_in; k++) da[k] = tangents[operands[k]];
    jvp_equation(&w, e, da, linearizing, tangents + e->out);
    cxi_scratch_reset(mark);
  }
  cxi_walk_end(&w);
  for (uint32_t i = 0; i < p->n_out; i++) {
    out[i] = w.env[p->outputs[i]];
    dout[i] = tangents[p->outputs[i]];
  }
}

/* Zeros for the tangents that the caller wants in any case. */
static void instantiate_tangents(const cxi_program *p, const bool *instantiate,
                                 cx *dout) {
  for (uint32_t i = 0; instantiate && i < p->n_out; i++)
    if (instantiate[i] && !cxi_given(dout[i]) &&
        cxi_type_is_float(cxi_output_type(p, i)))
      dout[i] = cxi_zeros(cxi_output_type(p, i));
}

/* A linear map of the tangents is zero where it does not depend on them; left
 * to itself, a custom_lin of such zeros would have to run. Inputs n_primals to
 * n_in of b are the tangents. */
static void drop_constant_tangents(const cxi_builder *b, uint32_t n_primals,
                                   uint32_t n_in, uint32_t n_out, cx *dout) {
  bool *depends = cxi_walk_scratch(b->n_values, sizeof *depends);
  if (!depends) return;
  for (uint32_t v = n_primals; v < n_in; v++) depends[v] = true;
  for (uint32_t i = 0; i < b->n_equations; i++) {
    const cxi_equation *e = &b->equations[i];
    bool any = false;
    for (uint32_t k = 0; k < e->n_in; k++)
      any = any || depends[b->operands[e->in + k]];
    for (uint32_t k = 0; k < e->n_out; k++) depends[e->out + k] = any;
  }
  for (uint32_t i = 0; i < n_out; i++)
    if (cxi_given(dout[i]) && cxi_builder_owns(b, dout[i]) &&
        !depends[cxi_builder_value_of(b, dout[i]) - b->values])
      dout[i] = cx_none();
}

static const cxi_program *jvp(cxi_task *task, const bool *nonzero_in,
                              const bool *instantiate, bool linearizing,
                              bool *nonzero_out) {
  const cxi_program *p = task->p;
  cxi_builder b;
  cxi_builder_open(&b);
  cx *in = cxi_walk_scratch(2 * (size_t)p->n_in, sizeof *in);
  cx *dx = cxi_walk_scratch(p->n_in, sizeof *dx);
  cx *out = cxi_walk_scratch(2 * (size_t)p->n_out, sizeof *out);
  cx *dout = cxi_walk_scratch(p->n_out, sizeof *dout);
  uint32_t n_in = p->n_in, n_out = p->n_out;
  if (in && dx && out && dout) {
    for (uint32_t i = 0; i < p->n_in; i++)
      in[i] = cxi_builder_input(&b, p->values[i].type);
    for (uint32_t i = 0; i < p->n_in; i++)
      dx[i] = nonzero_in && nonzero_in[i]
                  ? (in[n_in++] = cxi_builder_input(&b, p->values[i].type))
                  : cx_none();
    cxi_jvp_walk(p, &b.error, NULL, in, dx, linearizing, out, dout);
    if (linearizing) drop_constant_tangents(&b, p->n_in, n_in, p->n_out, dout);
    instantiate_tangents(p, instantiate, dout);
    for (uint32_t i = 0; i < p->n_out; i++) {
      nonzero_out[i] = cxi_given(dout[i]);
      if (nonzero_out[i]) out[n_out++] = dout[i];
    }
  }
  return cxi_task_finish(task, &b, "_jvp", n_in, in, n_out, out);
}

const cxi_program *cxi_jvp(const cxi_program *p, const bool *nonzero_in,
                           const bool *instantiate_out, bool linearizing,
                           bool *nonzero_out, cxi_error *error) {
  for (uint32_t i = 0; nonzero_in && i < p->n_in; i++)
    assert(!nonzero_in[i] || cxi_type_is_float(p->values[i].type));
  cxi_task task;
  cxi_task_begin(&task, CXI_JVP, p, nonzero_out, p->n_out, error);
  cxi_memo_key_mask(&task.key, nonzero_in, p->n_in);
  cxi_memo_key_mask(&task.key, instantiate_out, p->n_out);
  cxi_memo_key_mask(&task.key, &linearizing, 1);
  if (!cxi_task_found(&task)) {
    task.memo.a =
        jvp(&task, nonzero_in, instantiate_out, linearizing, nonzero_out);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}
