/* branch.c - cond and switch: branches over one list of operands. */
#include <stdio.h>
#include <string.h>

#include "calx/control.h"
#include "ir/builder.h"
#include "ops/ops.h"
#include "trace/body.h"

typedef struct branches {
  const char *name; /* "cond" or "switch" */
  uint32_t n, n_resolved;
  cxi_body *bodies;  /* scratch */
  uint32_t n_consts; /* of all of them */
  uint32_t n_leaves;
  cxi_type *types;              /* of the leaves */
  const cxi_program **programs; /* references, as many as made */
  uint32_t n_programs;
} branches;

static void branches_end(branches *b) {
  for (uint32_t i = 0; i < b->n_programs; i++)
    cxi_program_release(b->programs[i]);
  for (uint32_t i = 0; i < b->n_resolved; i++) cxi_body_end(&b->bodies[i]);
}

static bool resolve_all(branches *b, const cx_fn *fns, uint32_t n,
                        const cxi_sig *args, cx *out_poison) {
  for (; b->n_resolved < b->n; b->n_resolved++) {
    cxi_body *body = &b->bodies[b->n_resolved];
    if (!cxi_body_resolve(body, fns[b->n_resolved], n, args, out_poison)) {
      cxi_body_end(body);
      return false;
    }
    b->n_consts += body->n_consts;
  }
  return true;
}

/* All branches return what the first does; C numbers take its dtypes. */
static bool agree(branches *b, cx *out_poison) {
  const cxi_entry *first = b->bodies[0].entry;
  const uint32_t n = first->program->n_out;
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  cxi_type *other = cxi_scratch(n * sizeof *other + 1);
  if (!types || !other) return *out_poison = cxi_report_memory(), false;
  cxi_sig_types(first->out, types);
  for (uint32_t k = 1; k < b->n && first->weak_out; k++) {
    const cxi_entry *e = b->bodies[k].entry;
    if (cxi_sig_leaves(e->out) != n) continue;
    cxi_sig_types(e->out, other);
    for (uint32_t i = 0; i < n; i++)
      if (first->weak_out[i] && !(e->weak_out && e->weak_out[i]) &&
          cxi_type_rank(other[i]) == 0)
        types[i] = other[i];
  }
  for (uint32_t k = 0; k < b->n; k++) {
    const cxi_entry *e = b->bodies[k].entry;
    bool fits = cxi_sig_leaves(e->out) == n;
    if (fits) {
      cxi_sig_types(e->out, other);
      for (uint32_t i = 0; i < n; i++)
        if (e->weak_out && e->weak_out[i] && cxi_type_rank(types[i]) == 0)
          other[i] = types[i];
      const cxi_sig mine = cxi_sig_with_types(e->out, other);
      const cxi_sig common = cxi_sig_with_types(first->out, types);
      if (!mine || !common) return *out_poison = cxi_report_memory(), false;
      fits = mine == common;
    }
    if (!fits) {
      char a[160], c[160];
      cxi_sig_print(a, sizeof a, first->out);
      cxi_sig_print(c, sizeof c, e->out);
      *out_poison = cxi_reportf(CX_ETREE, "%s: %s returns %s, %s returns %s",
                                b->name, b->bodies[0].f->code->name, a,
                                b->bodies[k].f->code->name, c);
      return false;
    }
    if (!cxi_body_convert(&b->bodies[k], n, types, out_poison)) return false;
  }
  return true;
}

/* Branch k on (the constants of all branches, the leaves). */
static const cxi_program *wrap(const branches *b, uint32_t k,
                               cxi_error *error) {
  const cxi_body *body = &b->bodies[k];
  const cxi_program *p = body->p;
  const uint32_t n_in = b->n_consts + b->n_leaves;
  cxi_builder builder;
  cx *in = cxi_scratch(n_in * sizeof *in + 1);
  cx *own = cxi_scratch(p->n_in * sizeof *own + 1);
  cx *out = cxi_scratch(p->n_out * sizeof *out + 1);
  if (!in || !own || !out) return NULL;
  cxi_builder_open(&builder);
  uint32_t at = 0;
  for (uint32_t i = 0; i < b->n; i++)
    for (uint32_t j = 0; j < b->bodies[i].n_consts; j++, at++) {
      in[at] = cxi_builder_input(&builder, b->bodies[i].p->values[j].type);
      if (i == k) own[j] = in[at];
    }
  for (uint32_t j = 0; j < b->n_leaves; j++, at++) {
    in[at] = cxi_builder_input(&builder, b->types[j]);
    own[body->n_consts + j] = in[at];
  }
  cxi_replay(p, own, out);
  return cxi_builder_finish(&builder, p->name, n_in, in, p->n_out, out, error);
}

static bool wrap_all(branches *b, cx *out_poison) {
  cxi_error error = { 0 };
  for (; b->n_programs < b->n; b->n_programs++) {
    b->programs[b->n_programs] = wrap(b, b->n_programs, &error);
    if (b->programs[b->n_programs]) continue;
    *out_poison = cxi_report_error(b->name, &error);
    return false;
  }
  return true;
}

/* An index in range: a predicate picks the second branch, which is "then". */
static cx index_of(const branches *b, bool is_cond, cx which) {
  cx poison = { 0, 0 };
  if (!cxi_operand(b->name, &which, &poison)) return poison;
  const cxi_kind kind = cxi_dtype_kind(cxi_dtype_at(which));
  const bool whole = kind == CXI_SIGNED || kind == CXI_UNSIGNED;
  if (cxi_rank_at(which) != 0 || !(whole || (is_cond && kind == CXI_BOOLEAN)))
    return cxi_reportf(CX_EDTYPE, "%s: the %s is %s, not %s", b->name,
                       is_cond ? "predicate" : "index", cx_show(which),
                       is_cond ? "bool[]" : "an integer of rank 0");
  if (is_cond) {
    if (whole)
      which = cxi_compare(CXI_PRIM_ne, which, cxi_number_like(which, 0));
    return cxi_convert(which, CX_I32);
  }
  which = cxi_clamp(cxi_number_like(which, 0), which,
                    cxi_number_like(which, (double)(b->n - 1)));
  return cxi_convert(which, CX_I32);
}

static cx emit(branches *b, cx index, uint32_t n, const cxi_item *args) {
  const uint32_t n_in = b->n_consts + b->n_leaves;
  cx *in = cxi_scratch(n_in * sizeof *in + 1), *at = in;
  cx *out = cxi_scratch(b->programs[0]->n_out * sizeof *out + 1);
  cxi_type *types = cxi_scratch(b->programs[0]->n_out * sizeof *types + 1);
  if (!in || !out || !types) return cxi_report_memory();
  for (uint32_t i = 0; i < b->n; i++) {
    cxi_body_consts(&b->bodies[i], at);
    at += b->bodies[i].n_consts;
  }
  for (uint32_t i = 0; i < n; i++) {
    cxi_leaf_operands(args[i], at);
    at += cxi_item_leaves(args[i]);
  }
  const cxi_programs programs = { b->n, b->programs };
  if (!cxi_cond(programs, index, in, out))
    return b->programs[0]->n_out ? out[0] : cxi_poison_last();
  for (uint32_t i = 0; i < b->programs[0]->n_out; i++)
    types[i] = cxi_output_type(b->programs[0], i);
  const cxi_sig sig = cxi_sig_with_types(b->bodies[0].entry->out, types);
  return sig ? cxi_tree_of_handles(sig, out) : cxi_report_memory();
}

static cx choose(branches *b, bool is_cond, cx which, const cx_fn *fns,
                 uint32_t n, const cx *operands) {
  cx result = { 0, 0 };
  cxi_item *args = cxi_scratch(n * sizeof *args + 1);
  cxi_sig *sigs = cxi_scratch(n * sizeof *sigs + 1);
  b->bodies = cxi_scratch(b->n * sizeof *b->bodies + 1);
  b->programs = cxi_scratch(b->n * sizeof *b->programs + 1);
  if (!args || !sigs || !b->bodies || !b->programs) return cxi_report_memory();
  for (uint32_t i = 0; i < n; i++) {
    args[i] = cxi_number_strong(cxi_item_for(b->name, operands[i]));
    if (args[i].kind == CXI_ITEM_POISON) return args[i].as.handle;
    sigs[i] = cxi_sig_of(args[i]);
    if (!sigs[i] && args[i].kind != CXI_ITEM_NOTHING)
      return cxi_report_memory();
    if (!sigs[i])
      return cxi_reportf(CX_ETREE, "%s: an operand is not given", b->name);
    b->n_leaves += cxi_sig_leaves(sigs[i]);
  }
  b->types = cxi_scratch(b->n_leaves * sizeof *b->types + 1);
  if (!b->types) return cxi_report_memory();
  uint32_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    cxi_sig_types(sigs[i], b->types + at);
    at += cxi_sig_leaves(sigs[i]);
  }
  if (!resolve_all(b, fns, n, sigs, &result) || !agree(b, &result) ||
      !wrap_all(b, &result))
    return result;
  const cx index = index_of(b, is_cond, which);
  return cxi_is_poison(index) ? index : emit(b, index, n, args);
}

cx cx_switch_(bool is_cond, cx which, int n_fns, const cx_fn *fns, int n,
              const cx *operands, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  branches b = { .name = is_cond ? "cond" : "switch", .n = (uint32_t)n_fns };
  cx result;
  if (!cxi_context_need())
    result = cxi_poison_last();
  else if (n_fns < 1 || !fns)
    result = cxi_report(CX_ETREE, "switch: no function");
  else if (cxi_is_poison(which))
    result = which;
  else if (cxi_list_given(b.name, n, operands, &result))
    result = choose(&b, is_cond, which, fns, (uint32_t)n, operands);
  branches_end(&b);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
