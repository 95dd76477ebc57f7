/* evaluate.c - units without kernels: the reference of the row itself. */
#include "backends/cpu/cpu.h"

#include "base/alloc.h"

#include <string.h>

typedef struct evaluation {
  const cxi_row *row;
  const void *params;
  uint32_t n_in, n_out;
  const cxi_view *views; /* operands, then results; data is set per run */
  const cxi_ref *refs;
  cxi_ref memory; /* for the views of a run */
} evaluation;

/* The views of a run, then the row's workspace. */
static size_t views_bytes(size_t n) {
  return cxi_aligned(n * sizeof(cxi_view));
}

static cxi_view view_of(const cxi_operand *o) {
  cxi_view view = { .type = o->type };
  memcpy(view.strides, o->strides, sizeof o->strides);
  return view;
}

size_t cxi_cpu_evaluate_workspace(const cxi_unit *unit) {
  const size_t n = unit->n_operands + (size_t)unit->n_results;
  if (!unit->row->workspace) return views_bytes(n);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_view *views = cxi_scratch((n + 1) * sizeof *views);
  int64_t bytes = -1;
  if (views) {
    for (uint32_t i = 0; i < unit->n_operands; i++)
      views[i] = view_of(&unit->operands[i]);
    for (uint32_t i = 0; i < unit->n_results; i++)
      views[unit->n_operands + i] = view_of(&unit->results[i]);
    const cxi_eval eval = { .row = unit->row,
                            .params = unit->params,
                            .n_in = unit->n_operands,
                            .n_out = unit->n_results };
    bytes = unit->row->workspace(&eval, views, views + unit->n_operands);
  }
  cxi_scratch_reset(mark);
  return bytes < 0 ? CXI_NO_WORKSPACE : views_bytes(n) + (size_t)bytes;
}

/* Only loops and branches run sub-programs, and those are compiled. */
static bool no_bodies(cxi_eval *eval, const cxi_program *p, const cxi_view *in,
                      const bool *give, cxi_view *out) {
  (void)p, (void)in, (void)give, (void)out;
  return cxi_error_set(eval->error, CX_ENORULE, "%s: no program can run here",
                       cxi_prim_name(eval->row->prim));
}

static void release_nothing(cxi_eval *eval, cxi_view *owned) {
  (void)eval, (void)owned;
}

static bool run(const void *state, char *const *bases, cxi_running *running) {
  const evaluation *e = state;
  cxi_view *views = cxi_at(bases, e->memory);
  memcpy(views, e->views, (e->n_in + (size_t)e->n_out) * sizeof *views);
  for (uint32_t i = 0; i < e->n_in + e->n_out; i++)
    views[i].data = cxi_at(bases, e->refs[i]);
  cxi_error failure; /* field by field: the text is long */
  failure.code = CX_OK;
  failure.text[0] = 0;
  cxi_eval eval = { .row = e->row,
                    .params = e->params,
                    .n_in = e->n_in,
                    .n_out = e->n_out,
                    .run = no_bodies,
                    .release = release_nothing,
                    .workspace =
                        (char *)views + views_bytes(e->n_in + (size_t)e->n_out),
                    .error = &failure };
  if (e->row->evaluate(&eval, views, views + e->n_in)) return true;
  return cxi_error_set(running->error, failure.code ? failure.code : CX_EMEMORY,
                       "%s", failure.text);
}

bool cxi_cpu_by_evaluate(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                         cxi_error *error) {
  if (!unit->row->evaluate)
    return cxi_error_set(error, CX_ENORULE, "%s cannot be run",
                         cxi_prim_name(unit->row->prim));
  const size_t n = unit->n_operands + (size_t)unit->n_results;
  evaluation *e = cxi_arena_alloc(arena, sizeof *e);
  cxi_view *views = cxi_arena_alloc(arena, (n + 1) * sizeof *views);
  cxi_ref *refs = cxi_arena_alloc(arena, (n + 1) * sizeof *refs);
  if (!e || !views || !refs) return cxi_cpu_no_memory(error);
  for (uint32_t i = 0; i < n; i++) {
    const cxi_operand *o = i < unit->n_operands
                               ? &unit->operands[i]
                               : &unit->results[i - unit->n_operands];
    views[i] = view_of(o);
    refs[i] = o->at;
  }
  *e = (evaluation){ unit->row, unit->params, unit->n_operands, unit->n_results,
                     views,     refs,         unit->workspace };
  *out = (cxi_thunk){ run, e };
  return true;
}
