/* narrow.c - dead code: what the wanted outputs and the effects do not need
 * goes, in sub-programs too.
 *
 * A walk backwards finds what is needed. A row with sub-programs shrinks its
 * equation by itself (dce): its rule writes a small program in the equation's
 * place, whose unused inputs are operands that are not needed. A walk forwards
 * then writes what is left. A quiet walk leaves out effects too, whose results
 * nobody wants: what is computed again prints nothing again. */
#include "transforms/walk.h"

typedef struct narrowing {
  const cxi_program *p;
  bool quiet;                 /* effects are no reason to stay */
  bool *live;                 /* by value */
  const cxi_program **shrunk; /* by equation: what stands in its place */
} narrowing;

static bool any_live(const narrowing *n, const cxi_equation *e) {
  for (uint32_t k = 0; k < e->n_out; k++)
    if (n->live[e->out + k]) return true;
  return !n->quiet && e->effects != CXI_EFFECT_NONE;
}

/* The equation without the results that are not live, as a program from its
 * operands to the live results. */
static const cxi_program *shrink(cxi_task *task, narrowing *n,
                                 const cxi_equation *e) {
  const uint32_t *operands = cxi_operands_of(n->p, e);
  cxi_builder b;
  cxi_builder_open(&b);
  const cxi_name site = cxi_site_use(e->site), scope = cxi_scope_use(e->scope);
  const size_t m = (size_t)e->n_in + e->n_out;
  cx *in = cxi_walk_scratch(e->n_in, sizeof *in);
  cx *out = cxi_walk_scratch(e->n_out, sizeof *out);
  cxi_type *types = cxi_walk_scratch(m, sizeof *types);
  uint32_t n_out = 0;
  if (in && out && types) {
    for (uint32_t k = 0; k < e->n_in; k++) {
      types[k] = n->p->values[operands[k]].type;
      in[k] = cxi_builder_input(&b, types[k]);
    }
    for (uint32_t k = 0; k < e->n_out; k++)
      types[e->n_in + k] = n->p->values[e->out + k].type;
    const cxi_rule rule = { .transforms = n->quiet ? &cxi_transforms_quiet
                                                   : &cxi_transforms_table,
                            .row = cxi_row_of((cxi_prim)e->prim),
                            .params = e->params,
                            .n_in = e->n_in,
                            .n_out = e->n_out,
                            .in_types = types,
                            .out_types = types + e->n_in };
    rule.row->dce(&rule, in, n->live + e->out, out);
    for (uint32_t k = 0; k < e->n_out; k++)
      if (n->live[e->out + k]) out[n_out++] = out[k];
  }
  cxi_site_use(site);
  cxi_scope_use(scope);
  return cxi_builder_finish(&b, 0, e->n_in, in, n_out, out, task->error);
}

/* Marks the operands of the equation that `shrunk` (NULL: all) reads. */
static void mark_operands(narrowing *n, const cxi_equation *e,
                          const cxi_program *shrunk) {
  const uint32_t *operands = cxi_operands_of(n->p, e);
  if (!shrunk) {
    for (uint32_t k = 0; k < e->n_in; k++) n->live[operands[k]] = true;
    return;
  }
  for (uint32_t i = 0; i < shrunk->n_operands; i++)
    if (shrunk->operands[i] < e->n_in)
      n->live[operands[shrunk->operands[i]]] = true;
  for (uint32_t i = 0; i < shrunk->n_out; i++)
    if (shrunk->outputs[i] < e->n_in)
      n->live[operands[shrunk->outputs[i]]] = true;
}

static bool walk_backwards(cxi_task *task, narrowing *n) {
  for (uint32_t i = n->p->n_equations; i-- > 0;) {
    const cxi_equation *e = &n->p->equations[i];
    if (!any_live(n, e)) continue;
    if (cxi_row_of((cxi_prim)e->prim)->dce) {
      const cxi_mark mark = cxi_scratch_mark();
      const cxi_program *shrunk = shrink(task, n, e);
      cxi_scratch_reset(mark);
      n->shrunk[i] = cxi_hold(shrunk);
      cxi_program_release(shrunk);
      if (!n->shrunk[i])
        return cxi_error_set(task->error, CX_EMEMORY, "narrow: no memory");
    }
    mark_operands(n, e, n->shrunk[i]);
  }
  return true;
}

static void walk_forwards(cxi_walk *w, const narrowing *n) {
  for (uint32_t i = 0; i < n->p->n_equations && !cxi_walk_failed(w); i++) {
    if (!any_live(n, &n->p->equations[i])) continue;
    const cxi_equation *e = cxi_walk_at(w, i);
    if (!n->shrunk[i]) {
      cxi_walk_emit(w, e);
      continue;
    }
    const cxi_mark mark = cxi_scratch_mark();
    cx *out = cxi_walk_scratch(e->n_out, sizeof *out);
    if (!out) return;
    cxi_replay(n->shrunk[i], w->args, out);
    for (uint32_t k = 0, j = 0; k < e->n_out; k++)
      if (n->live[e->out + k]) w->env[e->out + k] = out[j++];
    cxi_scratch_reset(mark);
  }
  cxi_walk_end(w);
}

static const cxi_program *write(cxi_task *task, const narrowing *n,
                                const bool *used_out, const bool *used_in) {
  const cxi_program *p = task->p;
  cxi_builder b;
  cxi_builder_open(&b);
  cx *in = cxi_walk_scratch(p->n_in, sizeof *in);
  cx *out = cxi_walk_scratch(p->n_out, sizeof *out);
  uint32_t n_in = 0, n_out = 0;
  cxi_walk w;
  if (in && out && cxi_walk_begin(&w, p, &b.error, NULL)) {
    for (uint32_t i = 0; i < p->n_in; i++)
      if (!used_in || used_in[i])
        in[n_in++] = w.env[i] = cxi_builder_input(&b, p->values[i].type);
    walk_forwards(&w, n);
    for (uint32_t i = 0; i < p->n_out; i++)
      if (!used_out || used_out[i]) out[n_out++] = w.env[p->outputs[i]];
  }
  return cxi_task_finish(task, &b, "", n_in, in, n_out, out);
}

/* Whether p is what is wanted of it already. */
static bool is_narrow(const narrowing *n, const bool *used_out,
                      const bool *used_in) {
  const cxi_program *p = n->p;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (used_out && !used_out[i]) return false;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (used_in && !used_in[i]) return false;
  for (uint32_t i = 0; i < p->n_equations; i++)
    if (n->shrunk[i] || !any_live(n, &p->equations[i])) return false;
  return true;
}

static const cxi_program *narrow(cxi_task *task, bool quiet,
                                 const bool *used_out, bool *used_in) {
  const cxi_program *p = task->p;
  narrowing n = { .p = p, .quiet = quiet };
  n.live = cxi_scratch(p->n_values + (size_t)1);
  n.shrunk =
      cxi_scratch((p->n_equations + (size_t)1) * sizeof(const cxi_program *));
  if (!n.live || !n.shrunk) {
    cxi_error_set(task->error, CX_EMEMORY, "narrow: no memory");
    return NULL;
  }
  for (uint32_t i = 0; i < p->n_out; i++)
    if (!used_out || used_out[i]) n.live[p->outputs[i]] = true;
  if (!walk_backwards(task, &n)) return NULL;
  for (uint32_t i = 0; used_in && i < p->n_in; i++) used_in[i] = n.live[i];
  if (is_narrow(&n, used_out, used_in)) return cxi_program_retain(p);
  return write(task, &n, used_out, used_in);
}

static const cxi_program *narrow_task(const cxi_program *p, bool quiet,
                                      const bool *used_out, bool *used_in,
                                      cxi_error *error) {
  const bool drops_inputs = used_in != NULL;
  cxi_task task;
  cxi_task_begin(&task, CXI_NARROW, p, used_in, used_in ? p->n_in : 0, error);
  for (uint32_t i = 0; i < p->n_out; i++)
    cxi_memo_key_mask(&task.key, &(bool){ !used_out || used_out[i] }, 1);
  cxi_memo_key_mask(&task.key, &drops_inputs, 1);
  cxi_memo_key_mask(&task.key, &quiet, 1);
  if (!cxi_task_found(&task)) {
    task.memo.a = narrow(&task, quiet, used_out, used_in);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}

const cxi_program *cxi_narrow(const cxi_program *p, const bool *used_out,
                              bool *used_in, cxi_error *error) {
  return narrow_task(p, false, used_out, used_in, error);
}

const cxi_program *cxi_narrow_quiet(const cxi_program *p, const bool *used_out,
                                    bool *used_in, cxi_error *error) {
  const bool quiet = p->effects != CXI_EFFECT_NONE; /* else both are the same */
  return narrow_task(p, quiet, used_out, used_in, error);
}

const cxi_program *cxi_live_part(const cxi_program *p, cxi_error *error) {
  return cxi_narrow(p, NULL, NULL, error);
}
