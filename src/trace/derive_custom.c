/* derive_custom.c - custom_jvp and custom_vjp: functions as rules.
 *
 * The equation's operands are the extras (constants) of all its functions,
 * then the leaves of the arguments; each function's program is wrapped to take
 * those. Constants have no tangents of interest: their cotangents are zeros. */
#include <string.h>

#include "trace/derive.h"

/* The functions of one rule, resolved, and the operands they share. */
typedef struct custom {
  cxi_request *q;
  uint32_t n_functions;
  cxi_entry *entry[3]; /* references */
  uint32_t first[3];   /* of its extras among the operands */
  uint32_t n_extras, n_leaves, n_in;
  cxi_item *extras;
  cxi_type *types; /* of the operands */
  cxi_error error;
} custom;

static cxi_entry *end(custom *c, cxi_entry *result) {
  for (uint32_t i = 0; i < c->n_functions; i++) cxi_entry_release(c->entry[i]);
  return result;
}

static cxi_entry *fail(custom *c) {
  return end(c, cxi_request_error(c->q, &c->error));
}

static bool no_memory(custom *c) {
  return cxi_error_set(&c->error, CX_EMEMORY, "out of memory");
}

static bool check_captures(cxi_request *q) {
  if (q->n_captures == 0) return true;
  cxi_request_fail(q, CX_ETREE,
                   "%s: a function with a rule of its own may not"
                   " capture arrays: pass them as arguments",
                   q->code->name);
  return false;
}

/* Resolves function i; the request's captures are none. */
static bool add_function(custom *c, uint32_t n_args, const cxi_sig *args) {
  const uint32_t i = c->n_functions;
  cxi_request inner = { .code = c->q->code->inner[i],
                        .n_args = n_args,
                        .args = args };
  cxi_entry *entry = cxi_resolve(&inner);
  if (!entry) {
    c->q->poison = inner.poison;
    return false;
  }
  c->entry[i] = entry;
  c->first[i] = c->n_extras;
  c->n_extras += entry->n_extras;
  c->n_functions++;
  return true;
}

static bool fill_operands(custom *c) {
  const cxi_request *q = c->q;
  c->n_leaves = 0;
  for (uint32_t i = 0; i < q->n_args; i++)
    c->n_leaves += cxi_sig_leaves(q->args[i]);
  c->n_in = c->n_extras + c->n_leaves;
  c->extras = cxi_scratch(c->n_extras * sizeof *c->extras + 1);
  c->types = cxi_scratch(c->n_in * sizeof *c->types + 1);
  if (!c->extras || !c->types) return no_memory(c);
  for (uint32_t i = 0; i < c->n_functions; i++)
    for (uint32_t k = 0; k < c->entry[i]->n_extras; k++) {
      c->extras[c->first[i] + k] = c->entry[i]->extras[k];
      c->types[c->first[i] + k] = c->entry[i]->extras[k].type;
    }
  cxi_type *at = c->types + c->n_extras;
  for (uint32_t i = 0; i < q->n_args; i++) {
    cxi_sig_types(q->args[i], at);
    at += cxi_sig_leaves(q->args[i]);
  }
  return true;
}

/* Emits function i's program; its arguments' leaves are in `leaves`. */
static void replay(const custom *c, uint32_t i, const cx *extras,
                   const cx *leaves, cx *out) {
  const cxi_entry *e = c->entry[i];
  const uint32_t n = e->program->n_in;
  cx *in = cxi_scratch(n * sizeof *in + 1);
  if (!in) {
    const cx poison = cxi_fail(CX_EMEMORY, "out of memory");
    for (uint32_t k = 0; k < e->program->n_out; k++) out[k] = poison;
    return;
  }
  for (uint32_t k = 0; k < n; k++)
    in[k] = k < e->n_extras ? extras[c->first[i] + k] : leaves[k - e->n_extras];
  cxi_replay(e->program, in, out);
}

/* Function 0 on all operands. */
static const cxi_program *plain_body(custom *c) {
  cxi_builder b;
  const uint32_t n_out = c->entry[0]->program->n_out;
  cx *in = cxi_scratch(c->n_in * sizeof *in + 1);
  cx *out = cxi_scratch(n_out * sizeof *out + 1);
  if (!in || !out) return no_memory(c), NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n_in; i++)
    in[i] = cxi_builder_input(&b, c->types[i]);
  replay(c, 0, in, in + c->n_extras, out);
  return cxi_builder_finish(&b, c->entry[0]->program->name, c->n_in, in, n_out,
                            out, &c->error);
}

/* A structure with none for its integer leaves. */
static cxi_sig floats_of(cxi_sig sig) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  if (!types) return 0;
  cxi_sig_types(sig, types);
  for (uint32_t i = 0; i < n; i++)
    if (!cxi_type_is_float(types[i])) types[i] = 0;
  return cxi_sig_with_types(sig, types);
}

/* The equation, as a program of the arguments. Takes what the programs in
 * the parameters hold: the caller releases them. */
static cxi_entry *write(custom *c, cxi_prim prim, const void *params) {
  cxi_builder b;
  const uint32_t n_out = c->entry[0]->program->n_out;
  cx *in = cxi_scratch(c->n_in * sizeof *in + 1);
  cx *out = cxi_scratch(n_out * sizeof *out + 1);
  if (!in || !out) {
    no_memory(c);
    return fail(c);
  }
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n_in; i++)
    in[i] = cxi_builder_input(&b, c->types[i]);
  cxi_emit(prim, params, c->n_in, in, n_out, out);
  const cxi_program *p = cxi_builder_finish(&b, cxi_name_of(c->q->code->name),
                                            c->n_in, in, n_out, out, &c->error);
  if (!p) return fail(c);
  return end(
      c, cxi_entry_make(c->q, p, c->entry[0]->out, 0, c->n_extras, c->extras));
}

/* -- custom_jvp: rule(primals, tangents) -> (out, dout) ------------------- */

/* Where the rule's (out, dout) has the tangent of each floating result; false
 * after failing the request. */
static bool match_rule(custom *c, int64_t *place) {
  const cxi_entry *f = c->entry[0], *rule = c->entry[1];
  const cxi_structure *s =
      cxi_sig_is_leaf(rule->out) ? NULL : cxi_structure_of(rule->out);
  char want[160], got[160];
  if (s && s->n == 2 && !s->is_dict && s->items[0] == f->out)
    return cxi_match_tangents(c->q, "tangent", f->out, s->items[1], place);
  cxi_sig_print(want, sizeof want, f->out);
  cxi_sig_print(got, sizeof got, rule->out);
  cxi_request_fail(c->q, CX_ETREE,
                   "%s: the rule %s must return (out, dout)"
                   " with out %s, got %s",
                   c->q->code->name, c->q->code->inner[1]->name, want, got);
  return false;
}

/* (operands, tangents of the floating ones) -> (outs, tangents). */
static const cxi_program *rule_program(custom *c, const int64_t *place) {
  cxi_builder b;
  const cxi_program *f = c->entry[0]->program, *r = c->entry[1]->program;
  cx *in = cxi_scratch(2 * c->n_in * sizeof *in + 1);
  cx *leaves = cxi_scratch(2 * c->n_leaves * sizeof *leaves + 1);
  cx *made = cxi_scratch(r->n_out * sizeof *made + 1);
  cx *out = cxi_scratch(2 * f->n_out * sizeof *out + 1);
  if (!in || !leaves || !made || !out) return no_memory(c), NULL;
  cxi_builder_open(&b);
  uint32_t n_in = 0, n_leaves = 0, n_out = 0;
  for (; n_in < c->n_in; n_in++)
    in[n_in] = cxi_builder_input(&b, c->types[n_in]);
  for (; n_leaves < c->n_leaves; n_leaves++)
    leaves[n_leaves] = in[c->n_extras + n_leaves];
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!cxi_type_is_float(c->types[i])) continue;
    in[n_in] = cxi_builder_input(&b, c->types[i]);
    if (i >= c->n_extras) leaves[n_leaves++] = in[n_in];
    n_in++;
  }
  replay(c, 1, in, leaves, made);
  for (uint32_t i = 0; i < f->n_out; i++) out[n_out++] = made[i];
  for (uint32_t i = 0; i < f->n_out; i++) {
    const cxi_type type = cxi_output_type(f, i);
    if (!cxi_type_is_float(type)) continue;
    out[n_out++] = place[i] >= 0 ? made[f->n_out + place[i]] : cxi_zeros(type);
  }
  return cxi_builder_finish(&b, r->name, n_in, in, n_out, out, &c->error);
}

cxi_entry *cxi_derive_custom_jvp(cxi_request *q) {
  custom c = { .q = q };
  if (!check_captures(q) || !add_function(&c, q->n_args, q->args))
    return end(&c, NULL);
  cxi_sig args[2];
  args[0] = cxi_sig_tuple(q->n_args, q->args);
  args[1] = args[0] ? floats_of(args[0]) : 0;
  if (!add_function(&c, 2, args)) return end(&c, NULL);
  int64_t *place = cxi_scratch(c.entry[0]->program->n_out * sizeof *place + 1);
  if (!place || !fill_operands(&c)) return no_memory(&c), fail(&c);
  if (!match_rule(&c, place)) return end(&c, NULL);
  cxi_custom_jvp_params params = { .body = plain_body(&c) };
  params.rule = params.body ? rule_program(&c, place) : NULL;
  cxi_entry *entry =
      params.rule ? write(&c, CXI_PRIM_custom_jvp, &params) : fail(&c);
  cxi_program_release(params.body);
  cxi_program_release(params.rule);
  return entry;
}

/* -- custom_vjp: fwd(args) -> (out, residuals); bwd(residuals, ct) -> cts */

static bool check_fwd(custom *c, cxi_sig *out_residuals) {
  const cxi_entry *f = c->entry[0], *fwd = c->entry[1];
  const cxi_structure *s =
      cxi_sig_is_leaf(fwd->out) ? NULL : cxi_structure_of(fwd->out);
  char want[160], got[160];
  if (s && s->n == 2 && !s->is_dict && s->items[0] == f->out) {
    *out_residuals = s->items[1];
    return true;
  }
  cxi_sig_print(want, sizeof want, f->out);
  cxi_sig_print(got, sizeof got, fwd->out);
  cxi_request_fail(c->q, CX_ETREE,
                   "%s: %s must return (out, residuals) with"
                   " out %s, got %s",
                   c->q->code->name, c->q->code->inner[1]->name, want, got);
  return false;
}

/* bwd's tuple of cotangents beside the arguments. */
static bool match_bwd(custom *c, int64_t *place) {
  const cxi_request *q = c->q;
  const cxi_entry *bwd = c->entry[2];
  const cxi_sig args = cxi_sig_tuple(q->n_args, q->args);
  const cxi_structure *s =
      cxi_sig_is_leaf(bwd->out) ? NULL : cxi_structure_of(bwd->out);
  if (!args) {
    c->q->poison = cxi_report_memory();
    return false;
  }
  if (s && !s->is_dict && !s->is_none && s->n == q->n_args)
    return cxi_match_tangents(c->q, "cotangent", args, bwd->out, place);
  char got[160];
  cxi_sig_print(got, sizeof got, bwd->out);
  cxi_request_fail(c->q, CX_ETREE,
                   "%s: %s must return a tuple of %u cotangents,"
                   " one per argument, got %s",
                   q->code->name, q->code->inner[2]->name, q->n_args, got);
  return false;
}

/* operands -> (outs, residuals, bwd's constants). */
static const cxi_program *fwd_program(custom *c) {
  cxi_builder b;
  const cxi_program *f = c->entry[1]->program;
  const uint32_t n_constants = c->entry[2]->n_extras;
  cx *in = cxi_scratch(c->n_in * sizeof *in + 1);
  cx *out = cxi_scratch((f->n_out + n_constants) * sizeof *out + 1);
  if (!in || !out) return no_memory(c), NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n_in; i++)
    in[i] = cxi_builder_input(&b, c->types[i]);
  replay(c, 1, in, in + c->n_extras, out);
  for (uint32_t i = 0; i < n_constants; i++)
    out[f->n_out + i] = in[c->first[2] + i];
  return cxi_builder_finish(&b, f->name, c->n_in, in, f->n_out + n_constants,
                            out, &c->error);
}

/* (residuals, bwd's constants, floating cotangents) -> a cotangent for each
 * floating operand. */
static const cxi_program *bwd_program(custom *c, const int64_t *place) {
  cxi_builder b;
  const cxi_program *f = c->entry[0]->program, *r = c->entry[2]->program;
  const cxi_program *fwd = c->entry[1]->program;
  const uint32_t n_residuals = fwd->n_out - f->n_out;
  const uint32_t n_constants = c->entry[2]->n_extras;
  const uint32_t most = n_residuals + n_constants + f->n_out;
  cx *in = cxi_scratch(most * sizeof *in + 1);
  cx *leaves = cxi_scratch((n_residuals + f->n_out) * sizeof *leaves + 1);
  cx *extras = cxi_scratch(c->n_extras * sizeof *extras + 1);
  cx *made = cxi_scratch(r->n_out * sizeof *made + 1);
  cx *out = cxi_scratch(c->n_in * sizeof *out + 1);
  if (!in || !leaves || !extras || !made || !out) return no_memory(c), NULL;
  cxi_builder_open(&b);
  uint32_t n_in = 0, n_leaves = 0, n_out = 0;
  for (uint32_t i = 0; i < n_residuals; i++)
    leaves[n_leaves++] = in[n_in++] =
        cxi_builder_input(&b, cxi_output_type(fwd, f->n_out + i));
  for (uint32_t i = 0; i < n_constants; i++)
    extras[c->first[2] + i] = in[n_in++] =
        cxi_builder_input(&b, c->types[c->first[2] + i]);
  for (uint32_t i = 0; i < f->n_out; i++)
    if (cxi_type_is_float(cxi_output_type(f, i)))
      leaves[n_leaves++] = in[n_in++] =
          cxi_builder_input(&b, cxi_output_type(f, i));
  replay(c, 2, extras, leaves, made);
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!cxi_type_is_float(c->types[i])) continue;
    const int64_t at = i < c->n_extras ? -1 : place[i - c->n_extras];
    out[n_out++] = at >= 0 ? made[at] : cxi_zeros(c->types[i]);
  }
  return cxi_builder_finish(&b, r->name, n_in, in, n_out, out, &c->error);
}

cxi_entry *cxi_derive_custom_vjp(cxi_request *q) {
  custom c = { .q = q };
  cxi_sig args[2];
  if (!check_captures(q) || !add_function(&c, q->n_args, q->args) ||
      !add_function(&c, q->n_args, q->args) || !check_fwd(&c, &args[0]))
    return end(&c, NULL);
  args[1] = floats_of(c.entry[0]->out);
  if (!add_function(&c, 2, args)) return end(&c, NULL);
  int64_t *place = NULL;
  if (fill_operands(&c)) place = cxi_scratch(c.n_leaves * sizeof *place + 1);
  if (!place) return no_memory(&c), fail(&c);
  if (!match_bwd(&c, place)) return end(&c, NULL);
  cxi_custom_vjp_params params = { .body = plain_body(&c),
                                   .name =
                                       cxi_name_of(q->code->inner[0]->name) };
  params.fwd = params.body ? fwd_program(&c) : NULL;
  params.bwd = params.fwd ? bwd_program(&c, place) : NULL;
  cxi_entry *entry =
      params.bwd ? write(&c, CXI_PRIM_custom_vjp, &params) : fail(&c);
  cxi_program_release(params.body);
  cxi_program_release(params.fwd);
  cxi_program_release(params.bwd);
  return entry;
}
