/* body.c - functions as bodies of loops and branches. */
#include "trace/body.h"

#include "ir/builder.h"
#include "trace/tracer.h"

bool cxi_body_resolve(cxi_body *b, cx_fn f, uint32_t n_args,
                      const cxi_sig *args, cx *out_poison) {
  *b = (cxi_body){ .f = f };
  if (!f) {
    *out_poison = cx_ok() ? cxi_report(CX_ETREE, "no function is given")
                          : cxi_poison_last();
    return false;
  }
  if (!cxi_context_need() || !cxi_fn_check(f)) {
    *out_poison = cxi_poison_last();
    return false;
  }
  if (f->poison.generation) return *out_poison = f->poison, false;
  cxi_sig *captures = cxi_scratch(f->n_captures * sizeof *captures + 1);
  if (!captures) return *out_poison = cxi_report_memory(), false;
  for (uint32_t i = 0; i < f->n_captures; i++)
    captures[i] = cxi_sig_of(f->captures[i]);
  cxi_request q = { .code = f->code,
                    .n_captures = f->n_captures,
                    .n_args = n_args,
                    .captures = captures,
                    .args = args };
  b->entry = cxi_resolve(&q);
  *out_poison = q.poison;
  if (!b->entry) return false;
  b->p = b->entry->program;
  b->n_consts = b->entry->n_lead + b->entry->n_extras;
  return true;
}

void cxi_body_end(cxi_body *b) {
  if (b->converted) cxi_program_release(b->p);
  cxi_entry_release(b->entry);
  *b = (cxi_body){ 0 };
}

cx cxi_leaf_operand(cxi_item leaf) {
  cxi_trace *t = cxi_context_now()->trace;
  if (t) return cxi_trace_adopt_item(t, leaf);
  return cxi_handle(cxi_item_retain(cxi_number_strong(leaf)));
}

void cxi_leaf_operands(cxi_item item, cx *out) {
  const uint32_t n = cxi_item_leaves(item);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_item *leaves = cxi_scratch(n * sizeof *leaves + 1);
  if (leaves) cxi_item_flatten(item, leaves);
  for (uint32_t i = 0; i < n; i++)
    out[i] = leaves ? cxi_leaf_operand(leaves[i]) : cxi_report_memory();
  cxi_scratch_reset(mark);
}

void cxi_body_consts(const cxi_body *b, cx *out) {
  cxi_trace *t = cxi_context_now()->trace;
  for (uint32_t i = 0; i < b->f->n_captures; i++) {
    cxi_leaf_operands(b->f->captures[i], out);
    out += cxi_item_leaves(b->f->captures[i]);
  }
  for (uint32_t i = 0; i < b->entry->n_extras; i++) {
    const cxi_item extra = b->entry->extras[i];
    *out++ = t && extra.kind == CXI_ITEM_ARRAY
                 ? cxi_trace_constant(t, extra.as.array)
                 : cxi_leaf_operand(extra);
  }
}

cx cxi_tree_of_handles(cxi_sig sig, const cx *leaves) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_item *items = cxi_scratch(n * sizeof *items + 1);
  if (!items) return cxi_report_memory();
  for (uint32_t i = 0; i < n; i++) {
    items[i] = cxi_item_of(leaves[i]);
    if (items[i].kind == CXI_ITEM_POISON) return items[i].as.handle;
  }
  for (uint32_t i = 0; i < n; i++) cxi_item_retain(items[i]);
  const cxi_item tree = cxi_item_build(sig, items);
  if (tree.kind == CXI_ITEM_NOTHING) return cxi_report_memory();
  return cxi_handle(tree);
}

static bool needs_conversion(const cxi_body *b, uint32_t i, cxi_type type) {
  return b->entry->weak_out && b->entry->weak_out[i] &&
         cxi_output_type(b->p, i) != type;
}

bool cxi_body_convert(cxi_body *b, uint32_t n, const cxi_type *types,
                      cx *out_poison) {
  const cxi_program *p = b->p;
  bool any = false;
  for (uint32_t i = 0; i < n; i++) any |= needs_conversion(b, i, types[i]);
  if (!any) return true;
  cxi_builder builder;
  cxi_error error = { 0 };
  cx *in = cxi_scratch(p->n_in * sizeof *in + 1);
  cx *out = cxi_scratch(p->n_out * sizeof *out + 1);
  if (!in || !out) return *out_poison = cxi_report_memory(), false;
  cxi_builder_open(&builder);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&builder, p->values[i].type);
  cxi_replay(p, in, out);
  for (uint32_t i = 0; i < n; i++)
    if (needs_conversion(b, i, types[i]))
      out[i] = cxi_convert(out[i], cxi_type_dtype(types[i]));
  const cxi_program *made =
      cxi_builder_finish(&builder, p->name, p->n_in, in, p->n_out, out, &error);
  if (!made) {
    *out_poison = cxi_report_error(b->f->code->name, &error);
    return false;
  }
  if (b->converted) cxi_program_release(b->p);
  b->p = made;
  b->converted = true;
  return true;
}
