/* trace_function.c - runs a C function once on tracers. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/ops.h"
#include "trace/call.h"
#include "trace/record.h"
#include "trace/tracer.h"

/* -- inputs --------------------------------------------------------------- */

/* The trace's inputs for trees of these structures, as items. */
typedef struct inputs {
  uint32_t n;      /* leaves */
  cx *handles;     /* scratch */
  cxi_item *items; /* own references; one per structure */
} inputs;

static uint32_t count_leaves(uint32_t n, const cxi_sig *sigs) {
  uint32_t leaves = 0;
  for (uint32_t i = 0; i < n; i++) leaves += cxi_sig_leaves(sigs[i]);
  return leaves;
}

static bool make_inputs(cxi_trace *t, uint32_t n, const cxi_sig *sigs,
                        inputs *out) {
  out->n = count_leaves(n, sigs);
  out->handles = cxi_scratch(out->n * sizeof *out->handles + 1);
  out->items = cxi_scratch(n * sizeof *out->items + 1);
  cxi_item *leaves = cxi_scratch(out->n * sizeof *leaves + 1);
  cxi_type *types = cxi_scratch(out->n * sizeof *types + 1);
  if (!out->handles || !out->items || !leaves || !types) return false;
  uint32_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t k = cxi_sig_leaves(sigs[i]);
    cxi_sig_types(sigs[i], types + at);
    for (uint32_t j = at; j < at + k; j++) {
      out->handles[j] = cxi_builder_input(&t->builder, types[j]);
      if (cxi_is_poison(out->handles[j])) return false;
      leaves[j] = (cxi_item){ .kind = CXI_ITEM_TRACER, .type = types[j] };
      leaves[j].as.handle = out->handles[j];
    }
    out->items[i] = cxi_item_build(sigs[i], leaves + at);
    if (out->items[i].kind == CXI_ITEM_NOTHING) return false;
    at += k;
  }
  return true;
}

/* -- running the function ------------------------------------------------- */

static cx call_op(cx_op op, uint32_t n, const cx *args) {
  return cxi_op_arity(op) == 1 && n == 1 ? cx_unary_(op, args[0], NULL)
                                         : cx_fold_(op, (int)n, args, NULL);
}

/* Arguments become handles of the trace, which takes the items. */
static bool make_handles(inputs *in, uint32_t n, cx *out) {
  bool good = true;
  for (uint32_t i = 0; i < n; i++) {
    out[i] = cxi_handle(in->items[i]);
    in->items[i].kind = CXI_ITEM_NOTHING;
    good &= !cxi_is_poison(out[i]);
  }
  return good;
}

static void release_items(inputs *in, uint32_t n) {
  for (uint32_t i = 0; in->items && i < n; i++) cxi_item_release(in->items[i]);
}

/* The user's function; it must leave in the context in which it was entered. */
static cx call_user(cxi_trace *t, const cx_def *def, const cx *args,
                    const void *env) {
  const cx result = def->call(args, env);
  if (cxi_context_now() == t->ctx && t->ctx->trace == t) return result;
  cx_use(t->ctx);
  return cxi_reportf(CX_ETRACE,
                     "%s returned in another context: cx_use the"
                     " one that it was called in",
                     t->name);
}

static cx call_def(cxi_trace *t, const cxi_request *q, inputs *captured,
                   const cx *args) {
  const cx_def *def = q->code->def;
  if (!def->env) return call_user(t, def, args, NULL);
  void *env = cxi_alloc(def->env->size);
  if (!env) return cxi_report_memory();
  memcpy(env, q->code->env, def->env->size);
  cx result = { 0, 1 };
  if (cxi_record_thaw(def->env, env, captured->items, q->n_captures))
    result = call_user(t, def, args, env);
  cxi_free(env);
  return result;
}

/* -- results -------------------------------------------------------------- */

typedef struct results {
  cxi_sig sig;
  uint32_t n;
  cx *handles; /* scratch */
  bool *weak;  /* NULL: none is */
} results;

static bool collect(cxi_trace *t, cx result, results *out) {
  const cxi_item item = cxi_item_for(t->name, result);
  if (item.kind == CXI_ITEM_POISON) return false;
  if (item.kind == CXI_ITEM_NOTHING) {
    cxi_reportf(CX_ETREE, "%s returned nothing ({0})", t->name);
    return false;
  }
  out->n = cxi_item_leaves(item);
  out->handles = cxi_scratch(out->n * sizeof *out->handles + 1);
  cxi_item *leaves = cxi_scratch(out->n * sizeof *leaves + 1);
  if (!out->handles || !leaves || !(out->sig = cxi_sig_of(item))) {
    cxi_report_memory();
    return false;
  }
  cxi_item_flatten(item, leaves);
  for (uint32_t i = 0; i < out->n; i++) {
    out->handles[i] = cxi_trace_adopt_item(t, leaves[i]);
    if (leaves[i].kind != CXI_ITEM_NUMBER ||
        !(leaves[i].weak || leaves[i].was_weak))
      continue;
    if (!out->weak) out->weak = cxi_scratch(out->n * sizeof *out->weak);
    if (out->weak) out->weak[i] = true;
  }
  return !t->failed;
}

/* -- the whole ------------------------------------------------------------ */

static bool check_arity(cxi_request *q) {
  const cxi_code *code = q->code;
  if (code->kind == CXI_CODE_OP) {
    const uint32_t n = (uint32_t)cxi_op_arity(code->op);
    if (q->n_args == n || (n == 2 && q->n_args > 2)) return true;
    cxi_request_fail(q, CX_ETREE, "%s takes %u argument%s, got %u", code->name,
                     n, n == 1 ? "" : "s", q->n_args);
    return false;
  }
  const uint32_t n = (uint32_t)code->def->n_args;
  if (q->n_args == n) return true;
  cxi_request_fail(q, CX_ETREE, "%s takes %u argument%s (%s), got %u",
                   code->name, n, n == 1 ? "" : "s", code->def->args,
                   q->n_args);
  return false;
}

static const cxi_program *finish(cxi_trace *t, const inputs *captured,
                                 const inputs *args, const results *r,
                                 cxi_error *error) {
  const uint32_t n = captured->n + t->n_extras + args->n;
  cx *in = cxi_scratch(n * sizeof *in + 1), *at = in;
  if (!in) {
    cxi_builder_abandon(&t->builder);
    cxi_error_set(error, CX_EMEMORY, "out of memory");
    return NULL;
  }
  for (uint32_t i = 0; i < captured->n; i++) *at++ = captured->handles[i];
  for (uint32_t i = 0; i < t->n_extras; i++) *at++ = t->extras[i].input;
  for (uint32_t i = 0; i < args->n; i++) *at++ = args->handles[i];
  return cxi_builder_finish(&t->builder, cxi_name_of(t->name), n, in, r->n,
                            r->handles, error);
}

static cxi_entry *make_entry(cxi_request *q, cxi_trace *t, const cxi_program *p,
                             uint32_t n_lead, const results *r) {
  cxi_item *extras = cxi_scratch(t->n_extras * sizeof *extras + 1);
  if (!extras) {
    cxi_program_release(p);
    return q->poison = cxi_report_memory(), NULL;
  }
  for (uint32_t i = 0; i < t->n_extras; i++) extras[i] = t->extras[i].item;
  cxi_entry *entry = cxi_entry_make(q, p, r->sig, n_lead, t->n_extras, extras);
  if (!entry || !r->weak) return entry;
  entry->weak_out = cxi_alloc(r->n * sizeof *r->weak);
  if (entry->weak_out) memcpy(entry->weak_out, r->weak, r->n * sizeof *r->weak);
  return entry;
}

/* Records; false with the trace's builder abandoned. */
static bool record(cxi_request *q, cxi_trace *t, inputs *captured, inputs *args,
                   results *r) {
  cx *handles = cxi_scratch(q->n_args * sizeof *handles + 1);
  bool good = handles && make_inputs(t, q->n_captures, q->captures, captured) &&
              make_inputs(t, q->n_args, q->args, args);
  if (!good) q->poison = cxi_report_memory();
  good = good && make_handles(args, q->n_args, handles);
  if (good) {
    const cx result = q->code->kind == CXI_CODE_OP
                          ? call_op(q->code->op, q->n_args, handles)
                          : call_def(t, q, captured, handles);
    good = !t->failed && collect(t, result, r);
    if (!good)
      q->poison = t->failed               ? t->poison
                  : cxi_is_poison(result) ? result
                                          : cxi_poison_last();
    if (!good && cx_ok())
      q->poison = cxi_reportf(CX_ETRACE,
                              "%s failed, and the error was taken (cx_error)"
                              " inside it or kept by another context",
                              t->name);
  }
  release_items(captured, q->n_captures);
  release_items(args, q->n_args);
  return good;
}

static cxi_entry *trace_code(cxi_request *q) {
  cxi_trace t;
  inputs captured = { 0 }, args = { 0 };
  results r = { 0 };
  cxi_error error = { 0 };
  if (!check_arity(q)) return NULL;
  if (!cxi_trace_open(&t, cxi_context_now(), q->code->name)) {
    q->poison = cxi_poison_last();
    return NULL;
  }
  const bool good = record(q, &t, &captured, &args, &r);
  cxi_trace_close(&t);
  cxi_entry *entry = NULL;
  if (good) {
    const cxi_program *p = finish(&t, &captured, &args, &r, &error);
    entry =
        p ? make_entry(q, &t, p, captured.n, &r) : cxi_request_error(q, &error);
  } else {
    /* The function that called this one may ignore the poison; its trace must
     * not be kept all the same. */
    cxi_trace_fail(t.outer, q->poison);
    cxi_builder_abandon(&t.builder);
  }
  cxi_trace_free(&t);
  return entry;
}

/* -- programs as functions ------------------------------------------------ */

static cxi_entry *apply_program(cxi_request *q) {
  const cxi_code *code = q->code;
  char got[160], want[160];
  if (q->n_args != code->n_args)
    return cxi_request_fail(q, CX_ETREE, "%s takes %u argument%s, got %u",
                            code->name, code->n_args,
                            code->n_args == 1 ? "" : "s", q->n_args);
  for (uint32_t i = 0; i < q->n_args; i++) {
    if (q->args[i] == code->args[i]) continue;
    cxi_sig_print(got, sizeof got, q->args[i]);
    cxi_sig_print(want, sizeof want, code->args[i]);
    const cxi_argument name = cxi_argument_name(code, i);
    return cxi_request_fail(q, CX_ESHAPE, "%s: argument %u%s%s is %s, not %s",
                            code->name, i, *name.name ? " " : "",
                            name.name, got, want);
  }
  return cxi_entry_make(q, cxi_program_retain(code->program), code->out,
                        count_leaves(q->n_captures, q->captures), 0, NULL);
}

cxi_entry *cxi_trace_function(cxi_request *q) {
  if (q->code->kind == CXI_CODE_PROGRAM) return apply_program(q);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_entry *entry = trace_code(q);
  cxi_scratch_reset(mark);
  return entry;
}
