/* builder.c - appends equations to a program that is being written. */
#include "ir/builder.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/finish.h"
#include "ir/row.h"

enum { FEW = 16 }; /* operands whose types need no scratch memory */

static cxi_builder *builder_of(cxi_emitter *e) {
  return (cxi_builder *)e;
}

/* -- errors --------------------------------------------------------------- */

static cx report(cxi_emitter *e, cx_code code, const char *text) {
  cxi_builder *b = builder_of(e);
  if (b->error.code == CX_OK) b->error_site = cxi_site_now();
  cxi_error_set(&b->error, code, "%s", text);
  return (cx){ 0, 1 };
}

static cx out_of_memory(cxi_builder *b) {
  return report(&b->emitter, CX_EMEMORY, "out of memory");
}

static cx report_in(cxi_builder *b, cxi_prim prim, const cxi_error *error) {
  char text[sizeof error->text];
  if (error->code == CX_EMEMORY) return out_of_memory(b);
  int n = snprintf(text, sizeof text, "%s: ", cxi_prim_name(prim));
  snprintf(text + n, sizeof text - (size_t)n, "%s", error->text);
  return report(&b->emitter, error->code, text);
}

const char *cxi_builder_misuse(cx a) {
  if (cxi_is_poison(a)) return "poison";
  if (cx_is_none(a)) return "none";
  if (a.index == 0) return "not given";
  return "a value of another program";
}

static cx report_operand(cxi_builder *b, cxi_prim prim, uint32_t i, cx a) {
  cxi_error error = { 0 };
  cxi_error_set(&error, CX_ETRACE, "operand %u is %s", (unsigned)i,
                cxi_builder_misuse(a));
  return report_in(b, prim, &error);
}

/* -- values --------------------------------------------------------------- */

/* Room for `more` items, with a first size that suits a small program. */
static inline bool have_room(void *items, uint32_t n, uint32_t *cap,
                             uint32_t more, size_t size) {
  if (n + (uint64_t)more <= *cap) return true;
  return cxi_grow(items, cap, n + (size_t)more + (n ? 0 : 32), size);
}

bool cxi_builder_owns(const cxi_builder *b, cx a) {
  return a.generation == b->serial && a.index - 1 < b->n_values;
}

const cxi_builder_value *cxi_builder_value_of(const cxi_builder *b, cx a) {
  return cxi_builder_owns(b, a) ? &b->values[a.index - 1] : NULL;
}

static cx append_value(cxi_builder *b, cxi_builder_value value) {
  if (!have_room(&b->values, b->n_values, &b->cap_values, 1, sizeof *b->values))
    return out_of_memory(b);
  b->values[b->n_values++] = value;
  return (cx){ b->n_values, b->serial };
}

cx cxi_builder_input(cxi_builder *b, cxi_type type) {
  if (!type)
    return report(&b->emitter, CX_ESHAPE, "an input has no valid type");
  return append_value(b, (cxi_builder_value){ type, CXI_INPUT, false, 0 });
}

static cx literal(cxi_emitter *e, cx_dtype dtype, bool weak, uint64_t bits) {
  cxi_type type = cxi_type_scalar(dtype);
  if (!type) return report(e, CX_EDTYPE, "a literal has no valid dtype");
  size_t n = cxi_dtype_bytes(dtype);
  if (n < 8) bits &= (UINT64_C(1) << 8 * n) - 1;
  if (dtype == CX_BOOL) bits = bits != 0;
  return append_value(builder_of(e),
                      (cxi_builder_value){ type, CXI_LITERAL, weak, bits });
}

static bool info(cxi_emitter *e, cx a, cxi_info *out) {
  const cxi_builder_value *v = cxi_builder_value_of(builder_of(e), a);
  if (!v) {
    if (cxi_given(a))
      report(e, CX_ETRACE, "a value of another program is used");
    return false;
  }
  *out = (cxi_info){ v->type, v->source == CXI_LITERAL, v->weak, v->bits };
  return true;
}

/* -- equations ------------------------------------------------------------ */

/* Retains a sub-program and collects its effects. */
static void adopt(const cxi_program *p, void *effects) {
  cxi_program_retain(p);
  *(uint16_t *)effects |= p->effects;
}

static void disown(const cxi_program *p, void *unused) {
  (void)unused;
  cxi_program_release(p);
}

/* The builder's own parameters; NULL without memory. */
static const void *keep_params(cxi_builder *b, cxi_prim prim,
                               const void *params) {
  static const char no_fields[8];
  if (!cxi_schema_of(prim)->fields->name) return no_fields;
  return cxi_params_copy(prim, params, &b->arena);
}

/* Appends the operands' numbers and gives their types; poison or what is not
 * valid is returned, {0} if all are good. */
static cx append_operands(cxi_builder *b, cxi_prim prim, uint32_t n,
                          const cx *in, cxi_type *out_types) {
  if (n == 0) return (cx){ 0, 0 };
  if (!have_room(&b->operands, b->n_operands, &b->cap_operands, n,
                 sizeof *b->operands))
    return out_of_memory(b);
  uint32_t *operands = b->operands + b->n_operands;
  for (uint32_t i = 0; i < n; i++) {
    if (!cxi_builder_owns(b, in[i])) {
      for (uint32_t k = i; k < n; k++)
        if (cxi_is_poison(in[k])) return in[k];
      return report_operand(b, prim, i, in[i]);
    }
    operands[i] = in[i].index - 1;
    out_types[i] = b->values[operands[i]].type;
  }
  return (cx){ 0, 0 };
}

/* The result types, in c; false if reported. */
static bool infer(cxi_builder *b, cxi_prim prim, uint32_t n_out, cxi_infer *c) {
  const cxi_row *row = cxi_row_of(prim);
  bool ok = cxi_params_valid(prim, c->params, &c->error) && row->infer(c);
  if (!ok && c->error.code == CX_OK)
    cxi_error_set(&c->error, CX_ESHAPE, "the operands do not fit");
  if (ok && c->n_out != n_out) {
    cxi_error_set(&c->error, CX_ETRACE, "has %u results, not %u",
                  (unsigned)c->n_out, (unsigned)n_out);
    ok = false;
  }
  if (!ok) report_in(b, prim, &c->error);
  return ok;
}

/* Appends an equation, whose operands are the last n_in and whose parameters
 * become the builder's own, with results of these types. */
static bool append_equation(cxi_builder *b, cxi_equation e,
                            const cxi_type *types, cx *out) {
  const cxi_prim prim = (cxi_prim)e.prim;
  e.params = keep_params(b, prim, e.params);
  if (!e.params ||
      !have_room(&b->equations, b->n_equations, &b->cap_equations, 1,
                 sizeof *b->equations) ||
      !have_room(&b->values, b->n_values, &b->cap_values, e.n_out,
                 sizeof *b->values)) {
    out_of_memory(b);
    return false;
  }
  if (cxi_schema_has_programs(cxi_schema_of(prim))) {
    cxi_params_each_program(prim, e.params, adopt, &e.effects);
    b->has_parts = true;
  }
  e.in = b->n_operands;
  e.out = b->n_values;
  e.site = cxi_site_now();
  e.scope = cxi_scope_now();
  b->equations[b->n_equations] = e;
  b->n_operands += e.n_in;
  for (uint32_t i = 0; i < e.n_out; i++) {
    b->values[b->n_values++] =
        (cxi_builder_value){ types[i], b->n_equations, false, 0 };
    out[i] = (cx){ b->n_values, b->serial };
  }
  b->n_equations++;
  return true;
}

static bool append_inferred(cxi_builder *b, cxi_prim prim, const cxi_infer *c,
                            cx *out) {
  const cxi_row *row = cxi_row_of(prim);
  const cxi_equation e = {
    .prim = (uint16_t)prim,
    .effects = row->effects ? row->effects(c->params) : CXI_EFFECT_NONE,
    .n_in = c->n_in,
    .n_out = c->n_out,
    .params = c->params,
  };
  return append_equation(b, e, c->out, out);
}

static bool again(cxi_emitter *emitter, const cxi_program *p,
                  const cxi_equation *e, const cx *in, cx *out) {
  cxi_builder *b = builder_of(emitter);
  const uint32_t *from = cxi_operands_of(p, e);
  cxi_type few[FEW];
  if (e->n_out > FEW ||
      !have_room(&b->operands, b->n_operands, &b->cap_operands, e->n_in,
                 sizeof *b->operands))
    return false;
  uint32_t *operands = b->operands + b->n_operands;
  for (uint32_t i = 0; i < e->n_in; i++) {
    if (!cxi_builder_owns(b, in[i])) return false;
    operands[i] = in[i].index - 1;
    if (b->values[operands[i]].type != p->values[from[i]].type) return false;
  }
  for (uint32_t i = 0; i < e->n_out; i++) few[i] = p->values[e->out + i].type;
  return append_equation(b, *e, few, out);
}

static bool emit(cxi_emitter *e, cxi_prim prim, const void *params,
                 uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  assert(prim > CXI_PRIM_NONE && prim < CXI_N_PRIMS);
  cxi_builder *b = builder_of(e);
  cxi_mark mark = cxi_scratch_mark();
  cxi_type few_in[FEW], few_out[FEW];
  cxi_type *types = n_in <= FEW ? few_in : cxi_scratch(n_in * sizeof *types);
  cx poison =
      types ? append_operands(b, prim, n_in, in, types) : out_of_memory(b);
  bool ok = false;
  if (!cxi_is_poison(poison)) {
    cxi_infer c; /* field by field: the text of the error is long */
    c.params = params;
    c.n_in = n_in;
    c.in = types;
    c.n_out = 0;
    c.cap_out = FEW;
    c.out = few_out;
    c.error.code = CX_OK;
    c.error.text[0] = 0;
    ok = infer(b, prim, n_out, &c) && append_inferred(b, prim, &c, out);
    poison = (cx){ 0, 1 };
  }
  for (uint32_t i = 0; !ok && i < n_out; i++) out[i] = poison;
  cxi_scratch_reset(mark);
  return ok;
}

/* -- open and close ------------------------------------------------------- */

void cxi_builder_open(cxi_builder *b) {
  memset(b, 0, sizeof *b);
  b->emitter = (cxi_emitter){ info, literal, emit, report, NULL, again };
  b->serial = cxi_serial_next();
  b->emitter.outer = cxi_emitter_use(&b->emitter);
}

void cxi_builder_abandon(cxi_builder *b) {
  cxi_emitter_use(b->emitter.outer);
  for (uint32_t i = 0; b->has_parts && i < b->n_equations; i++)
    cxi_params_each_program((cxi_prim)b->equations[i].prim,
                            b->equations[i].params, disown, NULL);
  cxi_free(b->values);
  cxi_free(b->equations);
  cxi_free(b->operands);
  cxi_arena_free(&b->arena);
  b->values = NULL;
  b->equations = NULL;
  b->operands = NULL;
  b->n_values = b->cap_values = b->n_equations = b->cap_equations = 0;
  b->n_operands = b->cap_operands = 0;
}

/* The inputs are inputs of this builder, the outputs values of it. */
static void check_ends(cxi_builder *b, const char *name, uint32_t n_in,
                       const cx *in, uint32_t n_out, const cx *out) {
  char text[sizeof b->error.text];
  for (uint32_t i = 0; i < n_in && b->error.code == CX_OK; i++) {
    const cxi_builder_value *v = cxi_builder_value_of(b, in[i]);
    if (v && v->source == CXI_INPUT) continue;
    snprintf(text, sizeof text, "%s: input %u is %s", name, (unsigned)i,
             v ? "not an input" : cxi_builder_misuse(in[i]));
    report(&b->emitter, CX_ETRACE, text);
  }
  for (uint32_t i = 0; i < n_out && b->error.code == CX_OK; i++) {
    if (cxi_builder_owns(b, out[i])) continue;
    snprintf(text, sizeof text, "%s: output %u is %s", name, (unsigned)i,
             cxi_builder_misuse(out[i]));
    report(&b->emitter, CX_ETRACE, text);
  }
}

const cxi_program *cxi_builder_finish(cxi_builder *b, cxi_name name,
                                      uint32_t n_in, const cx *in,
                                      uint32_t n_out, const cx *out,
                                      cxi_error *error) {
  const cxi_program *p = NULL;
  if (b->error.code == CX_OK)
    check_ends(b, cxi_name_text(name), n_in, in, n_out, out);
  if (b->error.code == CX_OK)
    p = cxi_builder_order(b, name, n_in, in, n_out, out);
  if (!p && b->error.code == CX_OK) out_of_memory(b);
  if (!p) cxi_error_set(error, b->error.code, "%s", b->error.text);
  cxi_builder_abandon(b);
  return p;
}
