/* simplify.c - the same bits with fewer equations.
 *
 * A walk forwards rewrites sub-programs, forwards what an equation's result
 * is already (simplify_rules.c) and takes the results of an equal equation
 * before; then what became dead goes (narrow.c). Results of a barrier are
 * values of their own, so that nothing is merged across one. */
#include "transforms/simplify.h"

#include <string.h>

typedef struct simplification {
  cxi_task *task;
  cxi_walk w;
  cxi_builder b;
  uint32_t *slots, mask; /* equations of b, plus 1, by hash */
} simplification;

/* -- equal equations ------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

static uint64_t hash_bytes(uint64_t h, const void *at, size_t n) {
  return mix(h, cxi_hash_bytes(at, n).lo);
}

static uint64_t hash_field(uint64_t h, const cxi_field *field, const void *at) {
  switch (field->kind) {
  case CXI_FIELD_int:
  case CXI_FIELD_real:
    return hash_bytes(h, at, sizeof(int64_t));
  case CXI_FIELD_bool:
    return mix(h, *(const bool *)at);
  case CXI_FIELD_dims: {
    const cx_dims *dims = at;
    h = mix(h, (uint64_t)dims->n);
    for (int i = 0; i < dims->n; i++) h = mix(h, (uint64_t)dims->d[i]);
    return h;
  }
  case CXI_FIELD_ints: {
    const cxi_ints *list = at;
    for (uint32_t i = 0; i < list->n; i++) h = mix(h, (uint64_t)list->d[i]);
    return h;
  }
  case CXI_FIELD_dtype:
    return mix(h, *(const cx_dtype *)at);
  case CXI_FIELD_mode:
    return mix(h, *(const cx_mode *)at);
  case CXI_FIELD_name:
    return mix(h, *(const cxi_name *)at);
  case CXI_FIELD_program:
    return mix(h, (uint64_t)(uintptr_t) * (const cxi_program *const *)at);
  case CXI_FIELD_names:
  case CXI_FIELD_axis_names:
  case CXI_FIELD_programs:
    return h;
  }
  return h;
}

static uint64_t hash_equation(cxi_prim prim, const void *params, uint32_t n,
                              const cx *in) {
  uint64_t h = mix(n, (uint64_t)prim);
  for (uint32_t i = 0; i < n; i++) h = mix(h, in[i].index);
  const cxi_field *field = cxi_schema_of(prim)->fields;
  for (; field->name; field++)
    h = hash_field(h, field, cxi_field_at(params, field));
  return h;
}

static bool equal(const simplification *s, const cxi_equation *e, cxi_prim prim,
                  const void *params, uint32_t n, const cx *in) {
  if (e->prim != prim || e->n_in != n) return false;
  for (uint32_t i = 0; i < n; i++)
    if (s->b.operands[e->in + i] != in[i].index - 1) return false;
  return cxi_params_equal(prim, e->params, params);
}

/* The slot of an equal equation, or the free one for it. */
static uint32_t *slot_of(simplification *s, cxi_prim prim, const void *params,
                         uint32_t n, const cx *in) {
  uint32_t i = (uint32_t)hash_equation(prim, params, n, in) & s->mask;
  while (s->slots[i] &&
         !equal(s, &s->b.equations[s->slots[i] - 1], prim, params, n, in))
    i = (i + 1) & s->mask;
  return &s->slots[i];
}

/* Regions that are computed again are not looked at; neither are effects. */
static bool may_merge(const cxi_equation *e) {
  if (e->effects) return false;
  if (e->prim == CXI_PRIM_optimization_barrier) return false;
  return e->prim != CXI_PRIM_checkpoint ||
         !((const cxi_checkpoint_params *)e->params)->differentiated;
}

static void emit_once(simplification *s, const cxi_equation *e,
                      const void *params) {
  const cxi_prim prim = (cxi_prim)e->prim;
  cx *out = s->w.env + e->out;
  uint32_t *slot = NULL;
  if (may_merge(e)) {
    slot = slot_of(s, prim, params, e->n_in, s->w.args);
    if (*slot) {
      const cxi_equation *first = &s->b.equations[*slot - 1];
      for (uint32_t k = 0; k < e->n_out; k++)
        out[k] = (cx){ first->out + k + 1, s->b.serial };
      return;
    }
  }
  if (cxi_emit(prim, params, e->n_in, s->w.args, e->n_out, out) && slot)
    *slot = s->b.n_equations;
}

/* -- sub-programs --------------------------------------------------------- */

static bool simplify_list(simplification *s, cxi_programs *list) {
  const cxi_program **items =
      cxi_walk_scratch(list->n, sizeof(const cxi_program *));
  for (uint32_t i = 0; items && i < list->n; i++) {
    items[i] = cxi_simplify(list->d[i], s->task->error);
    if (!items[i]) return false;
  }
  list->d = items;
  return items != NULL;
}

/* The parameters with their programs simplified; NULL if that failed. */
static const void *simplify_params(simplification *s, const cxi_equation *e) {
  const cxi_schema *schema = cxi_schema_of((cxi_prim)e->prim);
  const cxi_field *field = schema->fields;
  while (field->name && field->kind != CXI_FIELD_program &&
         field->kind != CXI_FIELD_programs)
    field++;
  if (!field->name) return e->params;
  char *params = cxi_walk_scratch(1, schema->size);
  if (!params) return NULL;
  memcpy(params, e->params, schema->size);
  for (; field->name; field++) {
    void *at = params + field->offset;
    if (field->kind == CXI_FIELD_programs && !simplify_list(s, at)) return NULL;
    if (field->kind != CXI_FIELD_program) continue;
    const cxi_program **program = at;
    if (*program && !(*program = cxi_simplify(*program, s->task->error)))
      return NULL;
  }
  return params;
}

/* -- the walk ------------------------------------------------------------- */

static bool simplify_equation(simplification *s, uint32_t i) {
  const cxi_equation *e = cxi_walk_at(&s->w, i);
  const void *params = simplify_params(s, e);
  if (!params) return false;
  if (e->n_out == 1) {
    const cxi_simplify_site site = { &s->b,     (cxi_prim)e->prim,
                                     params,    e->n_in,
                                     s->w.args, s->w.p->values[e->out].type };
    const cx is = cxi_simplify_equation(&site);
    s->w.env[e->out] = is;
    if (cxi_given(is)) return true;
  }
  emit_once(s, e, params);
  return true;
}

static bool walk(simplification *s) {
  const cxi_program *p = s->w.p;
  bool ok = true;
  for (uint32_t i = 0; ok && i < p->n_equations; i++) {
    const cxi_mark mark = cxi_scratch_mark();
    ok = simplify_equation(s, i) && !cxi_walk_failed(&s->w);
    cxi_scratch_reset(mark);
  }
  cxi_walk_end(&s->w);
  return ok;
}

/* A table with room for every equation. */
static bool open_table(simplification *s, uint32_t n) {
  uint32_t slots = 8;
  while (slots < 2 * (size_t)n) slots *= 2;
  s->mask = slots - 1;
  s->slots = cxi_walk_scratch(slots, sizeof *s->slots);
  return s->slots != NULL;
}

static const cxi_program *rewrite(cxi_task *task) {
  const cxi_program *p = task->p;
  simplification s = { .task = task };
  cxi_builder_open(&s.b);
  cx *out = cxi_walk_scratch(p->n_out, sizeof *out);
  bool ok = out && open_table(&s, p->n_equations) &&
            cxi_walk_begin(&s.w, p, &s.b.error, NULL);
  for (uint32_t i = 0; ok && i < p->n_in; i++)
    s.w.env[i] = cxi_builder_input(&s.b, p->values[i].type);
  ok = ok && walk(&s);
  for (uint32_t i = 0; ok && i < p->n_out; i++) out[i] = s.w.env[p->outputs[i]];
  if (ok)
    return cxi_task_finish(task, &s.b, "", p->n_in, s.w.env, p->n_out, out);
  cxi_error_set(task->error, s.b.error.code ? s.b.error.code : CX_EMEMORY, "%s",
                s.b.error.code ? s.b.error.text : "simplify: no memory");
  cxi_builder_abandon(&s.b);
  return NULL;
}

static const cxi_program *simplify(cxi_task *task) {
  const cxi_program *q = rewrite(task);
  if (!q) return NULL;
  const cxi_program *narrow = cxi_narrow(q, NULL, NULL, task->error);
  cxi_program_release(q);
  return narrow ? cxi_program_retain(narrow) : NULL;
}

const cxi_program *cxi_simplify(const cxi_program *p, cxi_error *error) {
  cxi_task task;
  cxi_task_begin(&task, CXI_SIMPLIFY, p, NULL, 0, error);
  if (!cxi_task_found(&task)) {
    task.memo.a = simplify(&task);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}
