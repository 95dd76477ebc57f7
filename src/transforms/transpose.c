/* transpose.c - reverse mode: a walk backwards over a linear program, with
 * accumulators.
 *
 *   y = A x   ->   ct x += A' ct y
 *
 * Equations that do not depend on a linear input are emitted again, forwards,
 * before the walk. An accumulator is what reached a value so far; the rule
 * adds to it, so that the gradient of a loop over x[i] adds into one array. */
#include "ops/lax.h"
#include "transforms/walk.h"

typedef struct transposition {
  cxi_walk w;
  bool *linear; /* by value */
  cx *ct;       /* by value: what reached it, or none */
} transposition;

static bool begin(transposition *t, const cxi_program *p,
                  const cxi_error *watch) {
  t->linear = cxi_walk_scratch(p->n_values, sizeof *t->linear);
  t->ct = cxi_walk_scratch(p->n_values, sizeof *t->ct);
  if (!t->linear || !t->ct) return false;
  for (uint32_t v = 0; v < p->n_values; v++) t->ct[v] = cx_none();
  return cxi_walk_begin(&t->w, p, watch, NULL);
}

/* Emits what is not linear, and finds out what is. */
static void walk_forwards(transposition *t) {
  const cxi_program *p = t->w.p;
  for (uint32_t i = 0; i < p->n_equations && !cxi_walk_failed(&t->w); i++) {
    const cxi_equation *e = cxi_walk_at(&t->w, i);
    const uint32_t *operands = cxi_operands_of(p, e);
    bool linear = false;
    for (uint32_t k = 0; k < e->n_in; k++)
      linear = linear || t->linear[operands[k]];
    for (uint32_t k = 0; k < e->n_out; k++) t->linear[e->out + k] = linear;
    if (!linear) cxi_walk_emit(&t->w, e);
  }
}

static bool wanted(const transposition *t, const cxi_equation *e) {
  bool linear = false, reached = false;
  for (uint32_t k = 0; k < e->n_out; k++) {
    linear = linear || t->linear[e->out + k];
    reached = reached || cxi_given(t->ct[e->out + k]);
  }
  return linear && reached;
}

static void transpose_equation(transposition *t, const cxi_equation *e) {
  const uint32_t *operands = cxi_operands_of(t->w.p, e);
  const cxi_rule rule = cxi_walk_rule(&t->w, e);
  cx *acc = cxi_walk_scratch(e->n_in, sizeof *acc), *in = t->w.args;
  if (!acc) return;
  uint32_t first = e->n_in;
  for (uint32_t k = 0; k < e->n_in; k++) {
    const uint32_t v = operands[k];
    acc[k] = cx_none();
    if (!t->linear[v]) continue;
    if (first == e->n_in) first = k;
    /* a value that is several operands: the first gets the accumulator */
    in[k] = cx_none();
    acc[k] = t->ct[v];
    t->ct[v] = cx_none();
  }
  if (!rule.row->transpose) {
    cxi_walk_no_rule("transpose", &rule, first, rule.row->no_transpose);
    return;
  }
  rule.row->transpose(&rule, in, t->ct + e->out, acc);
  for (uint32_t k = 0; k < e->n_in; k++) {
    const uint32_t v = operands[k];
    if (!t->linear[v] || !cxi_given(acc[k])) continue;
    if (cxi_type_at(acc[k]) != rule.in_types[k]) {
      cxi_walk_wrong_type("transpose", &rule, "the cotangent of operand", k,
                          acc[k], rule.in_types[k]);
      return;
    }
    t->ct[v] = cxi_sum_given(t->ct[v], acc[k]);
  }
}

static void walk_backwards(transposition *t) {
  for (uint32_t i = t->w.p->n_equations; i-- > 0 && !cxi_walk_failed(&t->w);) {
    if (!wanted(t, &t->w.p->equations[i])) continue;
    const cxi_mark mark = cxi_scratch_mark();
    transpose_equation(t, cxi_walk_at(&t->w, i));
    cxi_scratch_reset(mark);
  }
}

static bool marked(const bool *mask, uint32_t i) {
  return mask && mask[i];
}

bool cxi_transpose_into(const cxi_builder *b, const cxi_program *p,
                        const bool *linear_in, const bool *cotangent_out,
                        const bool *accumulator_in, const cx *in, cx *out) {
  transposition t;
  if (!begin(&t, p, &b->error)) return false;
  for (uint32_t i = 0; i < p->n_in; i++) {
    t.linear[i] = marked(linear_in, i);
    if (!t.linear[i]) t.w.env[i] = *in++;
  }
  for (uint32_t i = 0; i < p->n_out; i++) {
    cx *ct = &t.ct[p->outputs[i]];
    if (marked(cotangent_out, i)) *ct = cxi_sum_given(*ct, *in++);
  }
  for (uint32_t i = 0; i < p->n_in; i++)
    if (marked(accumulator_in, i)) t.ct[i] = cxi_sum_given(*in++, t.ct[i]);
  walk_forwards(&t);
  walk_backwards(&t);
  cxi_walk_end(&t.w);
  for (uint32_t i = 0; i < p->n_in; i++)
    if (t.linear[i])
      *out++ = cxi_given(t.ct[i]) ? t.ct[i] : cxi_zeros(p->values[i].type);
  return b->error.code == CX_OK;
}

static const cxi_program *transpose(cxi_task *task, const bool *linear_in,
                                    const bool *cotangent_out,
                                    const bool *accumulator_in) {
  const cxi_program *p = task->p;
  cxi_builder b;
  cxi_builder_open(&b);
  cx *in = cxi_walk_scratch(2 * (size_t)p->n_in + p->n_out, sizeof *in);
  cx *out = cxi_walk_scratch(p->n_in, sizeof *out);
  uint32_t n_in = 0, n_out = 0;
  if (in && out) {
    for (uint32_t i = 0; i < p->n_in; i++) {
      if (marked(linear_in, i))
        n_out++;
      else
        in[n_in++] = cxi_builder_input(&b, p->values[i].type);
    }
    for (uint32_t i = 0; i < p->n_out; i++)
      if (marked(cotangent_out, i))
        in[n_in++] = cxi_builder_input(&b, cxi_output_type(p, i));
    for (uint32_t i = 0; i < p->n_in; i++)
      if (marked(accumulator_in, i))
        in[n_in++] = cxi_builder_input(&b, p->values[i].type);
    cxi_transpose_into(&b, p, linear_in, cotangent_out, accumulator_in, in,
                       out);
  }
  return cxi_task_finish(task, &b, "_transpose", n_in, in, n_out, out);
}

const cxi_program *cxi_transpose_program(const cxi_program *p,
                                         const bool *linear_in,
                                         const bool *cotangent_out,
                                         const bool *accumulator_in,
                                         cxi_error *error) {
  cxi_task task;
  cxi_task_begin(&task, CXI_TRANSPOSE, p, NULL, 0, error);
  cxi_memo_key_mask(&task.key, linear_in, p->n_in);
  cxi_memo_key_mask(&task.key, cotangent_out, p->n_out);
  cxi_memo_key_mask(&task.key, accumulator_in, p->n_in);
  if (!cxi_task_found(&task)) {
    task.memo.a = transpose(&task, linear_in, cotangent_out, accumulator_in);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}
