/* inspect.c - what a function records, saves and holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "calx/inspect.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "runtime/calls.h"
#include "runtime/devices.h"
#include "runtime/executables.h"
#include "trace/call.h"
#include "transforms/transforms.h"

/* Text of any length that lives until the scope ends; frees it. NULL: what
 * makes it ran out of memory, unless it has told of another error. */
static const char *taken(char *text) {
  if (!text && cx_ok()) cxi_report_memory();
  const char *shown = text ? cxi_string(text) : "";
  cxi_free(text);
  return shown;
}

typedef char *describe(const cxi_invocation *call);

/* Resolves f and has it described; "" after an error. */
static const char *inspect(cx_fn f, int n, const cx *args, const char *at,
                           describe *d) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_invocation c;
  const char *text = "";
  if (cxi_invoke(&c, f, n, args)) text = taken(d(&c));
  cxi_invocation_end(&c);
  cxi_scratch_reset(mark);
  cxi_site_use(before);
  return text;
}

static char *program_text(const cxi_invocation *c) {
  return cxi_program_print(c->entry->program, (cxi_text_options){ 0 });
}

const char *cx_jaxpr_(cx_fn f, int n, const cx *args, const char *at) {
  return inspect(f, n, args, at, program_text);
}

/* -- residuals ------------------------------------------------------------ */

/* A value within a program, followed into the calls, loops and branches that
 * make it. */
typedef struct origin {
  const cxi_program *p;
  uint32_t value;
  const char *of; /* " of each step": of a part of the value; else "" */
} origin;

/* The branch whose output k is not a filled array: the others hand out zeros in
 * its place. */
static const cxi_program *branch_of(const cxi_cond_params *c, uint32_t k) {
  for (uint32_t i = 0; i < c->branches.n; i++) {
    const cxi_program *p = c->branches.d[i];
    const uint32_t source = p->values[p->outputs[k]].source;
    if (cxi_is_equation(source) &&
        p->equations[source].prim != CXI_PRIM_broadcast_in_dim)
      return p;
  }
  return NULL;
}

/* The body that makes result k of an equation; NULL: the equation does. */
static const cxi_program *body_of(const cxi_equation *e, uint32_t k,
                                  const char **of) {
  if (e->prim == CXI_PRIM_jit) return ((const cxi_jit_params *)e->params)->body;
  if (e->prim == CXI_PRIM_cond) {
    *of = " of a branch";
    return branch_of(e->params, k);
  }
  if (e->prim != CXI_PRIM_scan) return NULL;
  const cxi_scan_params *scan = e->params;
  if (k < scan->n_carry) return NULL;
  *of = " of each step";
  return scan->body;
}

static origin origin_of(const cxi_program *p, uint32_t value) {
  origin o = { p, value, "" };
  for (;;) {
    const uint32_t source = o.p->values[o.value].source;
    if (!cxi_is_equation(source)) return o;
    const cxi_equation *e = &o.p->equations[source];
    const uint32_t k = o.value - e->out;
    const char *of = o.of;
    const cxi_program *body = body_of(e, k, &of);
    if (!body) return o;
    const uint32_t within = body->outputs[k];
    if (e->prim == CXI_PRIM_jit && body->values[within].source == CXI_INPUT)
      o.value = cxi_operands_of(o.p, e)[within];
    else if (cxi_is_equation(body->values[within].source))
      o = (origin){ body, within, of };
    else
      return o;
  }
}

/* Where a residual of the known program arises: an input by its argument, a
 * result by its equation's line. */
static size_t print_origin(char *out, size_t room, const cxi_invocation *c,
                           const cxi_program *known, origin o) {
  const uint32_t source = o.p->values[o.value].source;
  const uint32_t n_leading = c->entry->n_lead + c->entry->n_extras;
  if (cxi_is_equation(source)) {
    const cxi_equation *e = &o.p->equations[source];
    return (size_t)snprintf(out, room, "from %s%s at %s%s%s",
                            cxi_prim_name((cxi_prim)e->prim), o.of,
                            cxi_name_text(e->site), e->scope ? " in " : "",
                            cxi_name_text(e->scope));
  }
  if (source != CXI_INPUT || o.p != known)
    return (size_t)snprintf(out, room, "%s",
                            source == CXI_INPUT ? "from a call" : "literal");
  if (o.value < n_leading) return (size_t)snprintf(out, room, "captured");
  const cxi_leaf_name name = cxi_leaf_name_of(
      c->f->code, c->n_args, c->sigs + c->f->n_captures, o.value - n_leading);
  return (size_t)snprintf(out, room, "from %s", name.text);
}

/* The first equation that reads the value, looked for inside calls; NULL: it
 * is handed on. */
static const cxi_equation *first_use(const cxi_program *p, uint32_t value) {
  uint32_t i = 0;
  while (i < p->n_equations) {
    const cxi_equation *e = &p->equations[i++];
    const uint32_t *operands = cxi_operands_of(p, e);
    uint32_t k = 0;
    while (k < e->n_in && operands[k] != value) k++;
    if (k == e->n_in) continue;
    const cxi_program *body = cxi_params_body((cxi_prim)e->prim, e->params);
    if (!body) return e;
    p = body;
    value = k;
    i = 0;
  }
  return NULL;
}

static size_t print_residual(char *out, size_t room, const cxi_invocation *c,
                             const cxi_partial *cut, uint32_t k,
                             int64_t *bytes) {
  const cxi_program *known = cut->known, *u = cut->unknown;
  const uint32_t first = known->n_out - cut->n_residuals;
  const origin o = origin_of(known, known->outputs[first + k]);
  const cx_aval *type = cxi_type_aval(cxi_output_type(known, first + k));
  const cxi_equation *use = first_use(u, u->n_in - cut->n_residuals + k);
  char text[128];
  cxi_aval_print(text, sizeof text, type);
  size_t n = (size_t)snprintf(out, room, "%s ", text);
  n += print_origin(out + n, room - n, c, known, o);
  n += (size_t)snprintf(out + n, room - n, ", %lld bytes",
                        (long long)cxi_aval_bytes(type));
  if (use)
    n += (size_t)snprintf(out + n, room - n, ", for %s at %s",
                          cxi_prim_name((cxi_prim)use->prim),
                          cxi_name_text(use->site));
  *bytes += cxi_aval_bytes(type);
  return n + (size_t)snprintf(out + n, room - n, "\n");
}

static char *residuals(const cxi_invocation *c) {
  const cxi_program *p = c->entry->program;
  const uint32_t n_leading = c->entry->n_lead + c->entry->n_extras;
  bool *nonzero = cxi_scratch(p->n_in + 1u), *made = cxi_scratch(p->n_out + 1u);
  cxi_partial cut;
  cxi_error error = { 0 };
  char *text = NULL;
  if (!nonzero || !made) return NULL;
  for (uint32_t i = n_leading; i < p->n_in; i++)
    nonzero[i] = cxi_type_is_float(p->values[i].type);
  cxi_hold_enter();
  if (cxi_linearize(p, nonzero, &cut, made, &error)) {
    const size_t room = (size_t)cut.n_residuals * 1200 + 64;
    size_t n = 0;
    int64_t bytes = 0;
    text = cxi_alloc(room);
    for (uint32_t i = 0; text && i < cut.n_residuals; i++)
      n += print_residual(text + n, room - n, c, &cut, i, &bytes);
    if (text)
      snprintf(text + n, room - n, "%lld bytes in all\n", (long long)bytes);
  } else {
    cxi_report_error(c->f->code->name, &error);
  }
  cxi_hold_leave();
  return text;
}

const char *cx_saved_residuals_(cx_fn f, int n, const cx *args,
                                const char *at) {
  return inspect(f, n, args, at, residuals);
}

/* -- the plan ------------------------------------------------------------- */

static char *plan(const cxi_invocation *c) {
  cxi_error error = { 0 };
  const struct cxi_backend *backend = cxi_context_now()->device->backend;
  if (!backend) return cxi_copy_string("the reference device plans nothing\n");
  const bool jit = c->f->code->kind == CXI_CODE_JIT;
  const bool donates = jit && c->f->code->as.jit.donate;
  const bool *donate = donates ? cxi_calls_donation(c) : NULL;
  if (donates && !donate) return NULL;
  cxi_executable *exe = cxi_calls_kept(c);
  if (!exe)
    exe = cxi_executable_for(c->entry->program, backend, donate, NULL, &error);
  if (!exe) cxi_report_error(c->f->code->name, &error);
  cxi_arena arena = { 0 };
  const char *text = exe ? cxi_executable_report(exe, &arena) : NULL;
  char *copy = text ? cxi_copy_string(text) : NULL;
  cxi_arena_free(&arena);
  cxi_executable_release(exe);
  return copy;
}

const char *cx_plan_(cx_fn f, int n, const cx *args, const char *at) {
  return inspect(f, n, args, at, plan);
}

/* -- live arrays ---------------------------------------------------------- */

typedef struct live {
  uint32_t n, cap;
  const cxi_array **arrays;
  bool failed;
} live;

static void add_item(live *l, cxi_item item) {
  if (item.kind == CXI_ITEM_TREE) {
    for (uint32_t i = 0; i < item.as.tree->n; i++)
      add_item(l, item.as.tree->items[i]);
    return;
  }
  if (item.kind != CXI_ITEM_ARRAY || !item.as.array->data) return;
  if (!cxi_grow(&l->arrays, &l->cap, l->n + 1u, sizeof *l->arrays)) {
    l->failed = true;
    return;
  }
  l->arrays[l->n++] = item.as.array;
}

/* All that handles of the context hold, by address. */
static void collect(live *l, const cx_ctx *ctx) {
  for (uint32_t i = 0; i < ctx->n_slots; i++) add_item(l, ctx->slots[i].item);
  for (uint32_t i = 0; i < ctx->n_kept; i++)
    if (ctx->kept[i].serial) add_item(l, ctx->kept[i].item);
  for (uint32_t i = 0; i < ctx->n_scopes; i++)
    for (const struct cx_fn_ *f = ctx->scopes[i].functions; f; f = f->next)
      for (uint32_t k = 0; k < f->n_captures; k++) add_item(l, f->captures[k]);
}

static int by_address(const void *a, const void *b) {
  const cxi_array *const *x = a, *const *y = b;
  return *x < *y ? -1 : *x > *y;
}

static int by_site(const void *a, const void *b) {
  const cxi_array *const *x = a, *const *y = b;
  const int c = (*x)->site < (*y)->site ? -1 : (*x)->site > (*y)->site;
  return c ? c : (*x)->type < (*y)->type ? -1 : (*x)->type > (*y)->type;
}

static void print_live(live *l, char *text, size_t room) {
  size_t bytes = 0, at = 0;
  uint32_t n = 0;
  qsort(l->arrays, l->n, sizeof *l->arrays, by_address);
  for (uint32_t i = 0; i < l->n; i++)
    if (i == 0 || l->arrays[i] != l->arrays[n - 1])
      l->arrays[n++] = l->arrays[i];
  qsort(l->arrays, n, sizeof *l->arrays, by_site);
  for (uint32_t i = 0; i < n; i++) bytes += cxi_array_bytes(l->arrays[i]);
  at = (size_t)snprintf(text, room, "%u arrays, %zu bytes\n", n, bytes);
  for (uint32_t i = 0, k; i < n && at < room; i = k) {
    const cxi_array *a = l->arrays[i];
    char type[128];
    for (k = i; k < n && l->arrays[k]->site == a->site &&
                l->arrays[k]->type == a->type;)
      k++;
    cxi_aval_print(type, sizeof type, cxi_type_aval(a->type));
    at += (size_t)snprintf(text + at, room - at, "%s: %u of %s, %zu bytes\n",
                           a->site ? cxi_name_text(a->site) : "?", k - i, type,
                           (k - i) * cxi_array_bytes(a));
  }
}

const char *cx_live_report(void) {
  const cx_ctx *ctx = cxi_context_need();
  live l = { 0 };
  if (!ctx) return "";
  collect(&l, ctx);
  const size_t room = (size_t)l.n * 700 + 128;
  char *text = l.failed ? NULL : cxi_alloc(room);
  if (text && l.n)
    print_live(&l, text, room);
  else if (text)
    snprintf(text, room, "0 arrays, 0 bytes\n");
  else
    cxi_report_memory();
  cxi_free(l.arrays);
  return taken(text);
}
