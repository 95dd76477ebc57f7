/* tracer.c - a C function being recorded: the emitter over a builder. */
#include "trace/tracer.h"

#include <string.h>

#include "base/alloc.h"

static cxi_trace *trace_of(cxi_emitter *e) {
  return (cxi_trace *)e;
}

void cxi_trace_fail(cxi_trace *t, cx poison) {
  if (!t || t->failed) return;
  t->poison = poison;
  t->failed = true;
}

static cx fail_with(cxi_trace *t, cx poison) {
  cxi_trace_fail(t, poison);
  return poison;
}

/* -- values from outside -------------------------------------------------- */

bool cxi_trace_find(const cxi_trace *t, cx a, cxi_item *out) {
  for (; t; t = t->outer) {
    const cxi_builder_value *v = cxi_builder_value_of(&t->builder, a);
    if (!v) continue;
    *out = (cxi_item){ .kind = CXI_ITEM_TRACER, .type = v->type };
    out->as.handle = a;
    return true;
  }
  return false;
}

static bool same_extra(cxi_item a, cxi_item b) {
  if (a.kind != b.kind) return false;
  if (a.kind == CXI_ITEM_ARRAY) return a.as.array == b.as.array;
  return a.as.handle.index == b.as.handle.index &&
         a.as.handle.generation == b.as.handle.generation;
}

static cx extra_input(cxi_trace *t, cxi_item item) {
  for (uint32_t i = 0; i < t->n_extras; i++)
    if (same_extra(t->extras[i].item, item)) return t->extras[i].input;
  if (!cxi_grow(&t->extras, &t->cap_extras, t->n_extras + 1u,
                sizeof *t->extras))
    return fail_with(t, cxi_report_memory());
  const cx input = cxi_builder_input(&t->builder, item.type);
  if (cxi_is_poison(input)) return fail_with(t, cxi_report_memory());
  t->extras[t->n_extras++] = (cxi_extra){ cxi_item_retain(item), input };
  return input;
}

cx cxi_trace_constant(cxi_trace *t, cxi_array *array) {
  cxi_item item = { .kind = CXI_ITEM_ARRAY, .type = array->type };
  item.as.array = array;
  return extra_input(t, item);
}

static cx report_foreign(cxi_trace *t, cxi_item item) {
  char type[128];
  cxi_aval_print(type, sizeof type, cxi_type_aval(item.type));
  return fail_with(
      t, cxi_reportf(CX_ETRACE,
                     "%s is used by %s but is neither its argument nor in its"
                     " environment: pass it",
                     type, t->name));
}

cx cxi_trace_adopt_item(cxi_trace *t, cxi_item a) {
  switch (a.kind) {
  case CXI_ITEM_NOTHING:
    return (cx){ 0, 0 };
  case CXI_ITEM_POISON:
    return fail_with(t, a.as.handle);
  case CXI_ITEM_NONE:
    return cx_none();
  case CXI_ITEM_NUMBER:
    a = cxi_number_strong(a);
    return t->builder.emitter.literal(&t->builder.emitter,
                                      cxi_type_dtype(a.type), false, a.as.bits);
  case CXI_ITEM_TRACER:
    if (cxi_builder_owns(&t->builder, a.as.handle)) return a.as.handle;
    return extra_input(t, a);
  case CXI_ITEM_TREE:
    return fail_with(t, cxi_report_tree(cxi_operation_now(), a));
  default:
    return report_foreign(t, a);
  }
}

cx cxi_trace_adopt(cxi_trace *t, cx a) {
  if (cxi_builder_owns(&t->builder, a)) return a;
  return cxi_trace_adopt_item(t, cxi_item_of(a));
}

/* -- the emitter ---------------------------------------------------------- */

static bool info(cxi_emitter *e, cx a, cxi_info *out) {
  cxi_trace *t = trace_of(e);
  const cxi_builder_value *v = cxi_builder_value_of(&t->builder, a);
  if (v) {
    *out = (cxi_info){ v->type, v->source == CXI_LITERAL, v->weak, v->bits };
    return true;
  }
  const cxi_item item = cxi_item_for(cxi_operation_now(), a);
  switch (item.kind) {
  case CXI_ITEM_NUMBER:
    *out = (cxi_info){ item.type, true, item.weak, item.as.bits };
    return true;
  case CXI_ITEM_TRACER:
    *out = (cxi_info){ .type = item.type };
    return true;
  case CXI_ITEM_NOTHING:
  case CXI_ITEM_NONE:
    return false;
  default:
    cxi_trace_adopt_item(t, item);
    return false;
  }
}

static cx literal(cxi_emitter *e, cx_dtype dtype, bool weak, uint64_t bits) {
  cxi_trace *t = trace_of(e);
  if (weak) return cxi_number_weak(dtype, bits);
  return t->builder.emitter.literal(&t->builder.emitter, dtype, false, bits);
}

static cx fail(cxi_emitter *e, cx_code code, const char *text) {
  return fail_with(trace_of(e), cxi_report(code, text));
}

/* The builder has an error of its own or met poison; the results say which. */
static void settle(cxi_trace *t, uint32_t n_out, cx *out) {
  if (t->builder.error.code == CX_OK) return;
  const cx poison =
      fail_with(t, cxi_report(t->builder.error.code, t->builder.error.text));
  for (uint32_t i = 0; i < n_out; i++) out[i] = poison;
  t->builder.error.code = CX_OK;
}

static bool emit(cxi_emitter *e, cxi_prim prim, const void *params,
                 uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  cxi_trace *t = trace_of(e);
  uint32_t own = 0;
  while (own < n_in && cxi_builder_owns(&t->builder, in[own])) own++;
  const cxi_mark mark = cxi_scratch_mark();
  const cx *operands = in;
  if (own < n_in) {
    cx *adopted = cxi_scratch(n_in * sizeof *adopted);
    if (!adopted) {
      const cx poison = fail_with(t, cxi_report_memory());
      for (uint32_t i = 0; i < n_out; i++) out[i] = poison;
      return false;
    }
    for (uint32_t i = 0; i < n_in; i++) adopted[i] = cxi_trace_adopt(t, in[i]);
    operands = adopted;
  }
  const bool ok = t->builder.emitter.emit(&t->builder.emitter, prim, params,
                                          n_in, operands, n_out, out);
  if (!ok) settle(t, n_out, out);
  cxi_scratch_reset(mark);
  return ok;
}

/* -- life ----------------------------------------------------------------- */

bool cxi_trace_open(cxi_trace *t, cx_ctx *ctx, const char *name) {
  *t = (cxi_trace){ .emitter = { info, literal, emit, fail, NULL, NULL },
                    .ctx = ctx,
                    .outer = ctx->trace,
                    .name = name };
  t->scope = cxi_scope_push(ctx, CXI_SCOPE_TRACE, name);
  if (!t->scope) {
    cxi_report_memory();
    return false;
  }
  cxi_builder_open(&t->builder);
  t->emitter.outer = t->builder.emitter.outer;
  cxi_emitter_use(&t->emitter);
  ctx->trace = t;
  t->site = cxi_site_use(0);
  t->outer_scope = cxi_scope_use(0);
  return true;
}

void cxi_trace_close(cxi_trace *t) {
  t->ctx->trace = t->outer;
  cxi_emitter_use(&t->builder.emitter);
  cxi_site_use(t->site);
  cxi_scope_use(t->outer_scope);
  cxi_scope_pop(t->ctx, t->scope);
  cxi_ended_add(t->ctx, t->builder.serial, CXI_SCOPE_TRACE, t->name);
}

void cxi_trace_free(cxi_trace *t) {
  for (uint32_t i = 0; i < t->n_extras; i++)
    cxi_item_release(t->extras[i].item);
  cxi_free(t->extras);
}
