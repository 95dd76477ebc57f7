/* walk.c - the task around a walk and the environment in it. */
#include "transforms/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/text.h"

/* Each level of sub-programs is a level of C calls. */
enum { MAX_DEPTH = 500 };
static _Thread_local uint32_t depth;
static _Thread_local cxi_name error_site;

cxi_name cxi_transform_error_site(void) {
  return error_site;
}

/* -- tasks ---------------------------------------------------------------- */

void cxi_task_begin(cxi_task *task, cxi_transform transform,
                    const cxi_program *p, bool *mask, uint32_t n_mask,
                    cxi_error *error) {
  *task = (cxi_task){ .transform = transform, .p = p, .error = error };
  task->memo.mask = mask;
  task->memo.n_mask = n_mask;
  task->mark = cxi_scratch_mark();
  task->deep = depth >= MAX_DEPTH;
  cxi_memo_key(&task->key, transform, p);
  cxi_hold_enter();
  depth++;
  if (depth == 1) error_site = 0;
}

bool cxi_task_found(cxi_task *task) {
  if (task->deep) {
    cxi_error_set(task->error, CX_ETRACE,
                  "%s: functions nest more than %d deep at \"%s\"",
                  cxi_transform_name(task->transform), MAX_DEPTH,
                  cxi_name_text(task->p->name));
    return true;
  }
  return cxi_memo_find(&task->key, &task->memo);
}

/* The program's name with what was done to it: "layer" to "layer_jvp". */
static cxi_name name_with(cxi_name name, const char *suffix) {
  char text[96];
  snprintf(text, sizeof text, "%.80s%s", cxi_name_text(name), suffix);
  return cxi_name_of(text);
}

/* CX_DUMP=jvp,simplify: a list of transforms to print the results of. */
static bool is_dumped(const char *transform) {
  const char *list = getenv("CX_DUMP");
  const size_t n = strlen(transform);
  while (list && *list) {
    const size_t length = strcspn(list, ",");
    if (length == n && memcmp(list, transform, n) == 0) return true;
    list += length + (list[length] == ',');
  }
  return false;
}

static void dump(const cxi_task *task, const cxi_program *p) {
  const char *transform = cxi_transform_name(task->transform);
  if (!is_dumped(transform)) return;
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  fprintf(stderr, "// %s of @%s\n%s\n", transform, cxi_name_text(task->p->name),
          text ? text : "(no memory)");
  cxi_free(text);
}

#ifndef NDEBUG
static bool check(const cxi_task *task, const cxi_program *p) {
  cxi_error wrong = { 0 };
  if (cxi_program_check(p, &wrong)) return true;
  if (wrong.code == CX_EMEMORY)
    return cxi_error_set(task->error, CX_EMEMORY, "%.400s", wrong.text);
  return cxi_error_set(task->error, CX_ETRACE,
                       "%s made a program that does not check: %.400s",
                       cxi_transform_name(task->transform), wrong.text);
}
#else
static bool check(const cxi_task *task, const cxi_program *p) {
  (void)task, (void)p;
  return true;
}
#endif

bool cxi_task_failed(cxi_task *task, const cxi_builder *b) {
  error_site = b->error_site;
  return cxi_error_set(task->error, b->error.code, "%s", b->error.text);
}

const cxi_program *cxi_task_finish(cxi_task *task, cxi_builder *b,
                                   const char *suffix, uint32_t n_in,
                                   const cx *in, uint32_t n_out,
                                   const cx *out) {
  if (b->error.code != CX_OK) error_site = b->error_site;
  const cxi_program *p = cxi_builder_finish(b, name_with(task->p->name, suffix),
                                            n_in, in, n_out, out, task->error);
  if (!p) return NULL;
  dump(task, p);
  if (check(task, p)) return p;
  cxi_program_release(p);
  return NULL;
}

void cxi_task_keep(cxi_task *task, bool ok) {
  cxi_memo *made = &task->memo;
  const cxi_program *a = made->a, *b = made->b;
  if (ok) cxi_memo_keep(&task->key, made);
  if (a && !cxi_hold(a)) ok = false;
  if (b && !cxi_hold(b)) ok = false;
  cxi_program_release(a);
  cxi_program_release(b);
  if (ok) return;
  cxi_error_set(task->error, CX_EMEMORY, "%s: no memory",
                cxi_transform_name(task->transform));
  made->a = made->b = NULL;
}

/* What is held goes at the end of the outermost walk; if that is this one, the
 * result is held beyond it, until the next. */
bool cxi_task_end(cxi_task *task) {
  const cxi_program *a = task->memo.a, *b = task->memo.b;
  if (depth == 1) {
    if (a) cxi_program_retain(a);
    if (b) cxi_program_retain(b);
  }
  cxi_bytes_free(&task->key);
  cxi_scratch_reset(task->mark);
  cxi_hold_leave();
  if (depth == 1) {
    if ((a && !cxi_hold(a)) || (b && !cxi_hold(b))) {
      cxi_error_set(task->error, CX_EMEMORY, "no memory to hold a program");
      task->memo.a = NULL;
    }
    cxi_program_release(a);
    cxi_program_release(b);
  }
  depth--;
  return task->memo.a != NULL;
}

void *cxi_walk_scratch(size_t n, size_t size) {
  void *memory = cxi_scratch(n * size + 1);
  if (!memory) cxi_fail(CX_EMEMORY, "no memory for a transform");
  return memory;
}

/* -- walks ---------------------------------------------------------------- */

bool cxi_walk_begin(cxi_walk *w, const cxi_program *p, const cxi_error *watch,
                    const cxi_error *watch_too) {
  *w = (cxi_walk){ .p = p, .watch = { watch, watch_too } };
  uint32_t widest = 0, operands = 0;
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    if (e->n_in > operands) operands = e->n_in;
    if (e->n_in + e->n_out > widest) widest = e->n_in + e->n_out;
  }
  w->site = cxi_site_now();
  w->scope = cxi_scope_now();
  w->env = cxi_walk_scratch(p->n_values, sizeof *w->env);
  w->args = cxi_walk_scratch(operands, sizeof *w->args);
  w->types = cxi_walk_scratch(widest, sizeof *w->types);
  if (!w->env || !w->args || !w->types) return false;
  for (uint32_t v = p->n_in; v < p->n_in + p->n_literals; v++)
    w->env[v] = cxi_literal_bits(cxi_type_dtype(p->values[v].type),
                                 cxi_literal_bits_of(p, v));
  return true;
}

const cxi_equation *cxi_walk_at(cxi_walk *w, uint32_t i) {
  const cxi_equation *e = &w->p->equations[i];
  const uint32_t *operands = cxi_operands_of(w->p, e);
  cxi_site_use(e->site);
  cxi_scope_use(e->scope);
  for (uint32_t k = 0; k < e->n_in; k++) w->args[k] = w->env[operands[k]];
  return e;
}

cxi_rule cxi_walk_rule(cxi_walk *w, const cxi_equation *e) {
  const cxi_program *p = w->p;
  const uint32_t *operands = cxi_operands_of(p, e);
  cxi_type *in = w->types, *out = in + e->n_in;
  for (uint32_t k = 0; k < e->n_in; k++) in[k] = p->values[operands[k]].type;
  for (uint32_t k = 0; k < e->n_out; k++) out[k] = p->values[e->out + k].type;
  return (cxi_rule){ .transforms = &cxi_transforms_table,
                     .row = cxi_row_of((cxi_prim)e->prim),
                     .params = e->params,
                     .n_in = e->n_in,
                     .n_out = e->n_out,
                     .in_types = in,
                     .out_types = out };
}

void cxi_walk_emit(cxi_walk *w, const cxi_equation *e) {
  cxi_emit((cxi_prim)e->prim, e->params, e->n_in, w->args, e->n_out,
           w->env + e->out);
}

void cxi_walk_end(cxi_walk *w) {
  cxi_site_use(w->site);
  cxi_scope_use(w->scope);
}

/* -- messages ------------------------------------------------------------- */

void cxi_walk_no_rule(const char *transform, const cxi_rule *rule, uint32_t i,
                      const char *reason) {
  char type[96];
  cxi_aval_print(type, sizeof type, cxi_type_aval(rule->in_types[i]));
  cxi_fail(CX_ENORULE, "%s: %s has no rule for operand %u, %s: %s", transform,
           cxi_prim_name(rule->row->prim), i, type,
           reason ? reason : "none was given");
}

void cxi_walk_wrong_type(const char *transform, const cxi_rule *rule,
                         const char *what, uint32_t i, cx x, cxi_type want) {
  char got[96], expected[96];
  cxi_aval_print(got, sizeof got, cxi_type_aval(cxi_type_at(x)));
  cxi_aval_print(expected, sizeof expected, cxi_type_aval(want));
  cxi_fail(CX_ETRACE, "%s: the rule of %s gave %s %u the type %s instead of %s",
           transform, cxi_prim_name(rule->row->prim), what, i, got, expected);
}
