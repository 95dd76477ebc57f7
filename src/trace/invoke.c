/* invoke.c - cx_call: resolve, then apply: an equation, or a run. */
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "trace/call.h"
#include "trace/device.h"
#include "trace/tracer.h"

/* -- arguments ------------------------------------------------------------ */

static bool any_spec(cxi_item a) {
  if (a.kind != CXI_ITEM_TREE) return a.kind == CXI_ITEM_SPEC;
  for (uint32_t i = 0; i < a.as.tree->n; i++)
    if (any_spec(a.as.tree->items[i])) return true;
  return false;
}

/* "loss: argument 1: this handle's scope has ended" */
static cxi_item dead_argument(const cxi_invocation *c, uint32_t i, cx a) {
  char what[160];
  snprintf(what, sizeof what, "%.120s: argument %u", c->f->code->name, i);
  return cxi_item_for(what, a);
}

static bool fill_args(cxi_invocation *c, uint32_t n, const cx *args) {
  for (uint32_t i = 0; i < n; i++) {
    cxi_item item = cxi_number_strong(cxi_item_peek(args[i]));
    if (item.kind == CXI_ITEM_NOTHING && args[i].index)
      item = dead_argument(c, i, args[i]);
    if (item.kind == CXI_ITEM_POISON) {
      c->poison = item.as.handle;
      return false;
    }
    if (item.kind == CXI_ITEM_NOTHING) {
      c->poison = cxi_reportf(CX_ETREE, "%s: argument %u is not given",
                              c->f->code->name, i);
      return false;
    }
    c->args[i] = item;
    c->specs |= any_spec(item);
  }
  return true;
}

static void fill_operands(cxi_invocation *c) {
  cxi_item *at = c->operands;
  for (uint32_t i = 0; i < c->f->n_captures; i++) {
    cxi_item_flatten(c->f->captures[i], at);
    at += cxi_item_leaves(c->f->captures[i]);
  }
  for (uint32_t i = 0; i < c->entry->n_extras; i++) *at++ = c->entry->extras[i];
  for (uint32_t i = 0; i < c->n_args; i++) {
    cxi_item_flatten(c->args[i], at);
    at += cxi_item_leaves(c->args[i]);
  }
  for (uint32_t i = 0; i < c->n_operands; i++)
    c->operands[i] = cxi_number_strong(c->operands[i]);
}

static bool no_memory(cxi_invocation *c) {
  c->poison = cxi_report_memory();
  return false;
}

/* A function whose scope has ended has no captures left to look at. */
static bool check_function(cxi_invocation *c) {
  if (!c->f) {
    c->poison = cx_ok() ? cxi_report(CX_ETREE, "call: no function is given")
                        : cxi_poison_last();
    return false;
  }
  if (!cxi_context_need() || !cxi_fn_check(c->f)) {
    c->poison = cxi_poison_last();
    return false;
  }
  c->poison = c->f->poison;
  return !c->poison.generation;
}

bool cxi_invoke(cxi_invocation *c, cx_fn f, int n_args, const cx *args) {
  const uint32_t n = n_args > 0 ? (uint32_t)n_args : 0;
  *c = (cxi_invocation){ .f = f, .n_args = n };
  if (!check_function(c) || !cxi_list_given("call", n_args, args, &c->poison))
    return false;
  c->args = cxi_scratch(n * sizeof *c->args + 1);
  c->sigs = cxi_scratch((f->n_captures + n) * sizeof *c->sigs + 1);
  if (!c->args || !c->sigs) return no_memory(c);
  if (!fill_args(c, n, args)) return false;
  for (uint32_t i = 0; i < f->n_captures; i++)
    c->sigs[i] = cxi_sig_of(f->captures[i]);
  for (uint32_t i = 0; i < n; i++)
    c->sigs[f->n_captures + i] = cxi_sig_of(c->args[i]);
  cxi_request q = { .code = f->code,
                    .n_captures = f->n_captures,
                    .n_args = n,
                    .captures = c->sigs,
                    .args = c->sigs + f->n_captures };
  c->entry = cxi_resolve(&q);
  c->poison = q.poison;
  if (!c->entry) return false;
  c->n_operands = c->entry->program->n_in;
  c->operands = cxi_scratch(c->n_operands * sizeof *c->operands + 1);
  if (!c->operands) return no_memory(c);
  fill_operands(c);
  return true;
}

void cxi_invocation_end(cxi_invocation *c) {
  cxi_entry_release(c->entry);
  c->entry = NULL;
}

/* -- in a trace: an equation ---------------------------------------------- */

static cx adopt_operand(cxi_trace *t, cxi_item item, bool is_extra) {
  if (is_extra && item.kind == CXI_ITEM_ARRAY)
    return cxi_trace_constant(t, item.as.array);
  return cxi_trace_adopt_item(t, item);
}

/* extras: the operands [first, first + n) may be arrays. */
static bool emit_call(const cxi_program *p, const cxi_item *in, uint32_t first,
                      uint32_t n, cxi_item *out, cx *out_poison) {
  cxi_trace *t = cxi_context_now()->trace;
  cx *operands = cxi_scratch(p->n_in * sizeof *operands + 1);
  cx *results = cxi_scratch(p->n_out * sizeof *results + 1);
  if (!operands || !results) {
    *out_poison = cxi_report_memory();
    return false;
  }
  for (uint32_t i = 0; i < p->n_in; i++) {
    operands[i] = adopt_operand(t, in[i], i >= first && i - first < n);
    if (!cxi_is_poison(operands[i])) continue;
    *out_poison = operands[i];
    return false;
  }
  if (!cxi_call(p, operands, results)) {
    *out_poison = p->n_out ? results[0] : cxi_poison_last();
    return false;
  }
  for (uint32_t i = 0; i < p->n_out; i++) {
    out[i] =
        (cxi_item){ .kind = CXI_ITEM_TRACER, .type = cxi_output_type(p, i) };
    out[i].as.handle = results[i];
  }
  return true;
}

/* -- running at once ------------------------------------------------------ */

/* Releases the results if they are refused. */
static bool check_results(cx_ctx *ctx, const cxi_program *p,
                          const cxi_view *views, cxi_array **out,
                          cx *out_poison) {
  const void **in = cxi_scratch(p->n_in * sizeof *in + 1);
  bool good = in != NULL;
  if (!in) *out_poison = cxi_report_memory();
  for (uint32_t i = 0; in && i < p->n_in; i++) in[i] = views[i].data;
  good = good && cxi_check_results(ctx, p, in, out, out_poison);
  for (uint32_t i = 0; !good && i < p->n_out; i++) cxi_array_release(out[i]);
  return good;
}

bool cxi_run_program(const cxi_program *p, const cxi_item *in, cxi_item *out,
                     cx *out_poison) {
  cx_ctx *ctx = cxi_context_now();
  cxi_view *views = cxi_scratch(p->n_in * sizeof *views + 1);
  uint64_t *bits = cxi_scratch(p->n_in * sizeof *bits + 1);
  cxi_array **arrays = cxi_scratch(p->n_out * sizeof *arrays + 1);
  if (!views || !bits || !arrays) {
    *out_poison = cxi_report_memory();
    return false;
  }
  for (uint32_t i = 0; i < p->n_in; i++) {
    void *data = &bits[i];
    if (in[i].kind == CXI_ITEM_ARRAY) {
      if (!cxi_array_alive(in[i].as.array)) {
        *out_poison =
            cxi_report_donated(cxi_name_text(p->name), in[i].as.array);
        return false;
      }
      data = in[i].as.array->data;
    } else if (in[i].kind == CXI_ITEM_NUMBER) {
      bits[i] = in[i].as.bits;
    } else {
      *out_poison = cxi_reportf(CX_ETRACE, "%s: an operand has no value here",
                                cxi_name_text(p->name));
      return false;
    }
    views[i] = cxi_view_dense(*cxi_type_aval(in[i].type), data);
  }
  cxi_error error;
  error.code = CX_OK;
  if (!ctx->device->run(ctx, p, views, arrays, &error)) {
    *out_poison = cxi_report_error(cxi_name_text(p->name), &error);
    return false;
  }
  if (ctx->checks && !check_results(ctx, p, views, arrays, out_poison))
    return false;
  for (uint32_t i = 0; i < p->n_out; i++) {
    out[i] = (cxi_item){ .kind = CXI_ITEM_ARRAY, .type = arrays[i]->type };
    out[i].as.array = arrays[i];
  }
  return true;
}

bool cxi_apply_program(const cxi_program *p, const cxi_item *in, cxi_item *out,
                       cx *out_poison) {
  if (cxi_context_now()->trace) return emit_call(p, in, 0, 0, out, out_poison);
  return cxi_run_program(p, in, out, out_poison);
}

/* -- applying ------------------------------------------------------------- */

static cx tree_of(cxi_sig sig, const cxi_item *leaves) {
  const cxi_item item = cxi_item_build(sig, leaves);
  if (item.kind == CXI_ITEM_NOTHING) return cxi_report_memory();
  return cxi_handle(item);
}

cx cxi_invocation_apply(cxi_invocation *c) {
  const cxi_entry *e = c->entry;
  cxi_item *out = cxi_scratch(e->program->n_out * sizeof *out + 1);
  if (!out) return cxi_report_memory();
  bool good;
  if (cxi_context_now()->trace)
    good = emit_call(e->program, c->operands, e->n_lead, e->n_extras, out,
                     &c->poison);
  else if (c->f->code->kind == CXI_CODE_JIT)
    good = cxi_run_compiled(c, out, &c->poison);
  else
    good = cxi_run_program(e->program, c->operands, out, &c->poison);
  return good ? tree_of(e->out, out) : c->poison;
}

cx cxi_invocation_types(const cxi_invocation *c) {
  const cxi_program *p = c->entry->program;
  cxi_item *out = cxi_scratch(p->n_out * sizeof *out + 1);
  if (!out) return cxi_report_memory();
  for (uint32_t i = 0; i < p->n_out; i++)
    out[i] = (cxi_item){ .kind = CXI_ITEM_SPEC, .type = cxi_output_type(p, i) };
  return tree_of(c->entry->out, out);
}

cx cx_call_(cx_fn f, int n, const cx *args, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_invocation c;
  cx result;
  if (!cxi_invoke(&c, f, n, args))
    result = c.poison;
  else if (c.specs)
    result = cxi_invocation_types(&c);
  else
    result = cxi_invocation_apply(&c);
  cxi_invocation_end(&c);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
