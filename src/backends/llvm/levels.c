/* levels.c - the values of one body, and its units in order. */
#include <string.h>

#include "backends/llvm/emit.h"
#include "base/dtype.h"

static const cxi_graph *graph_of(const cxi_level *l) {
  return &l->s->graph;
}

static const cx_aval *type_of(const cxi_level *l, uint32_t value) {
  return l->type(graph_of(l)->values[value].type);
}

static bool is_small(const cx_aval *type) {
  return cxi_dims_count(&type->shape) <= CXI_SMALL;
}

const cx_aval *cxi_level_input(const cxi_level *l, uint32_t i) {
  return type_of(l, i);
}

const cx_aval *cxi_level_output(const cxi_level *l, uint32_t j) {
  return type_of(l, graph_of(l)->outputs[j]);
}

bool cxi_level_is_small(const cxi_level *l, uint32_t i) {
  return is_small(type_of(l, i));
}

LLVMValueRef *cxi_values(cxi_codegen *e, uint32_t n) {
  LLVMValueRef *values = cxi_scratch((n + (size_t)1) * sizeof *values);
  if (!values) e->short_of_memory = true;
  return values;
}

/* -- where values lie ------------------------------------------------------ */

/* An address of the plan. */
static LLVMValueRef resolve(cxi_codegen *e, const cxi_level *l, cxi_ref at) {
  if (at.base == CXI_BASE_SLAB)
    return cxi_after(e, l->memory, (int64_t)l->plan->slab_offset + at.offset);
  const uint32_t i = at.base - CXI_BASE_FIRST;
  return cxi_after(e, i < l->plan->n_in ? l->in[i] : l->out[i - l->plan->n_in],
                   at.offset);
}

/* Is it in a variable, rather than where the plan puts it? */
static bool is_local(const cxi_level *l, uint32_t root) {
  const uint32_t source = graph_of(l)->values[root].source;
  return source == CXI_LITERAL ||
         (cxi_is_equation(source) && !l->touched[root] &&
          is_small(type_of(l, root)));
}

static LLVMValueRef make_local(cxi_codegen *e, cxi_level *l, uint32_t root) {
  const cxi_graph_value *v = &graph_of(l)->values[root];
  const cx_aval *type = type_of(l, root);
  const LLVMValueRef at =
      cxi_local(e, type->type, cxi_dims_count(&type->shape));
  if (v->source == CXI_LITERAL) {
    const unsigned bits = 8 * (unsigned)cxi_dtype_bytes(type->type);
    LLVMBuildStore(
        e->locals,
        LLVMConstInt(LLVMIntTypeInContext(e->c, bits), v->bits, false), at);
  }
  return at;
}

LLVMValueRef cxi_root_pointer(cxi_codegen *e, cxi_level *l, uint32_t root) {
  if (graph_of(l)->values[root].source == CXI_INPUT) return l->in[root];
  if (!is_local(l, root)) return resolve(e, l, l->at[root]);
  if (!l->local[root]) l->local[root] = make_local(e, l, root);
  return l->local[root];
}

LLVMValueRef cxi_operand_pointer(cxi_codegen *e, cxi_level *l,
                                 const cxi_operand *o) {
  const cx_dtype type = type_of(l, o->root)->type;
  return cxi_after(e, cxi_root_pointer(e, l, o->root),
                   o->offset * (int64_t)cxi_dtype_bytes(type));
}

/* The plan's address of what is not in a variable. */
static bool planned(const cxi_level *l, uint32_t root, cxi_ref *out) {
  if (graph_of(l)->values[root].source == CXI_INPUT) {
    *out = (cxi_ref){ CXI_BASE_FIRST + root, 0 };
    return true;
  }
  *out = l->at[root];
  return !is_local(l, root);
}

bool cxi_same_place(cxi_codegen *e, cxi_level *l, uint32_t a, uint32_t b) {
  (void)e;
  cxi_ref x, y;
  return planned(l, a, &x) && planned(l, b, &y) && x.base == y.base &&
         x.offset == y.offset;
}

/* -- opening --------------------------------------------------------------- */

static void note_places(cxi_codegen *e, cxi_level *l) {
  const cxi_schedule *s = l->s;
  for (uint32_t u = 0; u < s->n_units; u++) {
    const cxi_unit *unit = &s->units[u];
    for (uint32_t k = 0; k < unit->n_results; k++)
      l->at[unit->results[k].root] = unit->results[k].at;
    if (unit->kind == CXI_UNIT_NONE || cxi_family_of(e, unit)) continue;
    l->calls = true;
    for (uint32_t k = 0; k < unit->n_operands; k++)
      l->touched[unit->operands[k].root] = true;
    for (uint32_t k = 0; k < unit->n_results; k++)
      l->touched[unit->results[k].root] = true;
  }
}

static uint32_t number_of(const cxi_codegen *e, const cxi_plan *plan) {
  uint32_t i = 0;
  while (e->plans.d[i] != plan) i++;
  return i;
}

cxi_level *cxi_level_open(cxi_codegen *e, const cxi_plan *plan,
                          LLVMValueRef memory) {
  const size_t n = plan->schedule->graph.n_values + (size_t)1;
  cxi_level *l = cxi_scratch(sizeof *l);
  if (l) {
    l->plan = plan;
    l->number = number_of(e, plan);
    l->s = plan->schedule;
    l->memory = memory;
    l->type = e->host->type;
    l->in = cxi_values(e, plan->n_in);
    l->out = cxi_values(e, plan->n_out);
    l->local = cxi_values(e, (uint32_t)n);
    l->at = cxi_scratch(n * sizeof *l->at);
    l->touched = cxi_scratch(n);
  }
  if (!l || !l->in || !l->out || !l->local || !l->at || !l->touched) {
    e->short_of_memory = true;
    return NULL;
  }
  note_places(e, l);
  return l;
}

/* -- units ----------------------------------------------------------------- */

/* The bases that thunks read. */
static void store_bases(cxi_codegen *e, const cxi_level *l) {
  const cxi_plan *p = l->plan;
  const int64_t size = (int64_t)sizeof(char *);
  LLVMBuildStore(e->b, cxi_after(e, l->memory, (int64_t)p->slab_offset),
                 cxi_after(e, l->memory, CXI_BASE_SLAB * size));
  LLVMBuildStore(
      e->b,
      cxi_table_entry(
          e, (cxi_import){ CXI_IMPORT_CONSTANTS, l->number, 0, { 0 } }),
      cxi_after(e, l->memory, CXI_BASE_CONSTANTS * size));
  for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
    LLVMBuildStore(
        e->b, i < p->n_in ? l->in[i] : l->out[i - p->n_in],
        cxi_after(e, l->memory, (CXI_BASE_FIRST + (int64_t)i) * size));
}

/* Runs a thunk; the function ends if that fails. */
static void emit_call(cxi_codegen *e, const cxi_level *l, uint32_t thunk) {
  LLVMTypeRef types[] = { e->ptr, e->ptr, e->ptr };
  const cxi_import state = { CXI_IMPORT_STATE, l->number, thunk, { 0 } };
  const cxi_import function = { CXI_IMPORT_RUN, l->number, thunk, { 0 } };
  LLVMValueRef in[] = { cxi_table_entry(e, state), l->memory, e->running };
  const LLVMValueRef run = cxi_table_entry(e, function);
  const LLVMValueRef good = LLVMBuildTrunc(
      e->b,
      LLVMBuildCall2(e->b, LLVMFunctionType(e->i8, types, 3, false), run, in, 3,
                     ""),
      e->i1, "");
  const LLVMBasicBlockRef fails = cxi_block(e, "fails"),
                          after = cxi_block(e, "after");
  LLVMBuildCondBr(e->b, good, after, fails);
  LLVMPositionBuilderAtEnd(e->b, fails);
  LLVMBuildRet(e->b, LLVMConstInt(e->i8, 0, false));
  LLVMPositionBuilderAtEnd(e->b, after);
}

/* Results that lie elsewhere go where the outputs are wanted. */
static void emit_outputs(cxi_codegen *e, cxi_level *l) {
  const cxi_graph *g = graph_of(l);
  for (uint32_t j = 0; j < l->plan->n_out; j++) {
    const uint32_t root = cxi_graph_root(g, g->outputs[j]);
    const cx_aval *type = cxi_level_output(l, j);
    cxi_ref at;
    if (planned(l, root, &at) && g->values[root].source != CXI_INPUT) continue;
    cxi_copy_elements(e, type->type, l->out[j], cxi_root_pointer(e, l, root),
                      cxi_dims_count(&type->shape));
  }
}

void cxi_level_emit(cxi_codegen *e, cxi_level *l) {
  if (l->calls) store_bases(e, l);
  uint32_t thunk = 0;
  for (uint32_t u = 0; u < l->s->n_units && !e->short_of_memory; u++) {
    const cxi_unit *unit = &l->s->units[u];
    if (unit->kind == CXI_UNIT_NONE) continue;
    const cxi_family *family = cxi_family_of(e, unit);
    cxi_note(e, unit, family ? family->name : "tier 0");
    if (family)
      family->emit(e, l, unit);
    else
      emit_call(e, l, thunk);
    thunk++;
  }
  emit_outputs(e, l);
}
