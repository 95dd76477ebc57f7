/* cond_partial_eval.c - a cond cut into a known one and the rest.
 *
 * The rest may read three kinds of known values, numbered in one row: the
 * known operands (forwarded), the results of the known cond that the equation
 * returns anyway, and slots, further results of the known cond. A slot has a
 * type; each branch puts a residual of that type into it, or zeros. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

typedef struct cut {
  const cxi_rule *r;
  cxi_programs branches;
  uint32_t n, m; /* operands without the index; results */
  bool *unknown_in, *unknown_out;
  uint32_t n_known, n_known_out, n_unknown;
  cxi_partial *part; /* of each branch */
  uint32_t **source; /* of each branch's residuals: a known value */
  uint32_t n_slots;
  cxi_type *slot_type;
  bool *read; /* of the known values: by the rest */
} cut;

static uint32_t first_slot(const cut *c) {
  return c->n_known + c->n_known_out;
}

static bool cut_open(cut *c, const cx *unknown) {
  bool ok = true;
  c->unknown_in = cxi_array(c->n, sizeof *c->unknown_in, &ok);
  c->unknown_out = cxi_array(c->m, sizeof *c->unknown_out, &ok);
  c->part = cxi_array(c->branches.n, sizeof *c->part, &ok);
  c->source = cxi_array(c->branches.n, sizeof *c->source, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  for (uint32_t i = 0; i < c->n; i++)
    c->unknown_in[i] = cxi_given(unknown[i + 1]);
  c->n_unknown = cxi_count(c->n, c->unknown_in);
  c->n_known = c->n - c->n_unknown;
  return true;
}

/* A result that is unknown in one branch is forced in all. */
static bool cut_branches(cut *c) {
  bool ok = true;
  bool *left = cxi_array(c->m, sizeof *left, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  for (int round = 0; round < 2; round++)
    for (uint32_t k = 0; k < c->branches.n; k++) {
      if (!c->r->transforms->partial_eval(c->branches.d[k], c->unknown_in,
                                          c->unknown_out, &c->part[k], left))
        return false;
      cxi_join(c->m, c->unknown_out, left);
    }
  c->n_known_out = c->m - cxi_count(c->m, c->unknown_out);
  return true;
}

/* The first slot of this type that the branch has not filled. */
static uint32_t take_slot(cut *c, cxi_type type, bool *filled) {
  uint32_t s = 0;
  while (s < c->n_slots && (filled[s] || c->slot_type[s] != type)) s++;
  if (s == c->n_slots) c->slot_type[c->n_slots++] = type;
  filled[s] = true;
  return first_slot(c) + s;
}

static uint32_t source_of(cut *c, const cxi_program *known, uint32_t residual,
                          bool *filled) {
  const uint32_t v = known->outputs[c->n_known_out + residual];
  if (v < known->n_in) return v;
  for (uint32_t i = 0; i < c->n_known_out; i++)
    if (known->outputs[i] == v) return c->n_known + i;
  return take_slot(c, known->values[v].type, filled);
}

static bool place_residuals(cut *c) {
  size_t room = 0;
  bool ok = true;
  for (uint32_t k = 0; k < c->branches.n; k++) room += c->part[k].n_residuals;
  c->slot_type = cxi_array(room, sizeof *c->slot_type, &ok);
  c->read = cxi_array(first_slot(c) + room, sizeof *c->read, &ok);
  bool *filled = cxi_array(room, sizeof *filled, &ok);
  for (uint32_t k = 0; ok && k < c->branches.n; k++) {
    const uint32_t n = c->part[k].n_residuals;
    c->source[k] = cxi_array(n, sizeof *c->source[k], &ok);
    if (!ok) break;
    memset(filled, 0, room * sizeof *filled);
    for (uint32_t j = 0; j < n; j++) {
      c->source[k][j] = source_of(c, c->part[k].known, j, filled);
      c->read[c->source[k][j]] = true;
    }
  }
  if (!ok) cxi_rule_no_memory(0, NULL);
  return ok;
}

/* Branch k of the known cond: known operands -> known results, slots. */
static const cxi_program *known_branch(const cut *c, uint32_t k) {
  const cxi_program *p = c->part[k].known;
  const uint32_t n_out = c->n_known_out + c->n_slots;
  bool ok = true;
  cx *in = cxi_array(p->n_in, sizeof *in, &ok);
  cx *results = cxi_array(p->n_out, sizeof *results, &ok);
  cx *out = cxi_array(n_out, sizeof *out, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_replay(p, in, results);
  memcpy(out, results, c->n_known_out * sizeof *out);
  for (uint32_t j = 0; j < c->part[k].n_residuals; j++)
    if (c->source[k][j] >= first_slot(c))
      out[c->source[k][j] - c->n_known] = results[c->n_known_out + j];
  for (uint32_t s = 0; s < c->n_slots; s++)
    if (!cxi_given(out[c->n_known_out + s]))
      out[c->n_known_out + s] = cxi_zeros(c->slot_type[s]);
  return cxi_body_finish(&b, p, p->n_in, in, n_out, out);
}

/* Emits the known cond; values[0..] become the known values of the row. */
static bool emit_known(const cut *c, const cx *known, cx *values) {
  bool ok = true;
  uint16_t effects = CXI_EFFECT_NONE;
  const cxi_program **bodies = cxi_array(c->branches.n, sizeof *bodies, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  for (uint32_t i = 0, k = 0; i < c->n; i++)
    if (!c->unknown_in[i]) values[k++] = known[i + 1];
  for (uint32_t k = 0; k < c->branches.n; k++) {
    bodies[k] = known_branch(c, k);
    if (!bodies[k]) return false;
    effects |= bodies[k]->effects;
  }
  if (c->n_known_out + c->n_slots || effects)
    cxi_cond((cxi_programs){ c->branches.n, bodies }, known[0], values,
             values + c->n_known);
  return true;
}

/* Branch k of the rest: unknown operands, the known values that are read ->
 * unknown results. types: of those values. */
static const cxi_program *rest_branch(const cut *c, uint32_t k, uint32_t n_in,
                                      const cxi_type *types,
                                      const uint32_t *place) {
  const cxi_program *p = c->part[k].unknown;
  bool ok = true;
  cx *in = cxi_array(n_in, sizeof *in, &ok);
  cx *args = cxi_array(p->n_in, sizeof *args, &ok);
  cx *out = cxi_array(p->n_out, sizeof *out, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n_in; i++) {
    in[i] = cxi_builder_input(&b, types[i]);
    if (i < c->n_unknown) args[i] = in[i];
  }
  for (uint32_t j = 0; j < c->part[k].n_residuals; j++)
    args[c->n_unknown + j] = in[place[c->source[k][j]]];
  cxi_replay(p, args, out);
  return cxi_body_finish(&b, p, n_in, in, p->n_out, out);
}

/* values: the known ones, handed over. */
static bool emit_rest(const cut *c, cxi_split *s, const cx *known,
                      const cx *unknown, const cx *values, cx *unknown_out) {
  const cxi_transforms *t = c->r->transforms;
  const uint32_t n_values = first_slot(c) + c->n_slots;
  const uint32_t n_in = c->n_unknown + cxi_count(n_values, c->read);
  bool ok = true;
  cx *args = cxi_array(n_in, sizeof *args, &ok);
  cx *results = cxi_array(c->m, sizeof *results, &ok);
  cxi_type *types = cxi_array(n_in, sizeof *types, &ok);
  uint32_t *place = cxi_array(n_values, sizeof *place, &ok);
  const cxi_program **bodies = cxi_array(c->branches.n, sizeof *bodies, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  uint32_t n_args = 0;
  for (uint32_t i = 0; i < c->n; i++)
    if (c->unknown_in[i]) args[n_args++] = unknown[i + 1];
  for (uint32_t v = 0; v < n_values; v++) {
    if (!c->read[v]) continue;
    place[v] = n_args;
    args[n_args++] = t->residual(s, values[v]);
  }
  for (uint32_t i = 0; i < n_in; i++) types[i] = cxi_type_at(args[i]);
  for (uint32_t k = 0; k < c->branches.n; k++) {
    bodies[k] = rest_branch(c, k, n_in, types, place);
    if (!bodies[k]) return false;
  }
  cxi_cond((cxi_programs){ c->branches.n, bodies }, t->residual(s, known[0]),
           args, results);
  for (uint32_t i = 0, k = 0; i < c->m; i++)
    if (c->unknown_out[i]) unknown_out[i] = results[k++];
  return true;
}

/* Which branch runs is unknown, hence all results. */
static void all_unknown(const cxi_rule *r, cxi_split *s, const cx *known,
                        const cx *unknown, cx *unknown_out) {
  bool ok = true;
  cx *args = cxi_array(r->n_in, sizeof *args, &ok);
  if (!ok) {
    cxi_rule_no_memory(r->n_out, unknown_out);
    return;
  }
  r->transforms->into_unknown(s);
  for (uint32_t i = 0; i < r->n_in; i++)
    args[i] = cxi_given(unknown[i]) ? unknown[i]
                                    : r->transforms->residual(s, known[i]);
  cxi_emit(CXI_PRIM_cond, r->params, r->n_in, args, r->n_out, unknown_out);
}

void cxi_cond_partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                           const cx *unknown, cx *known_out, cx *unknown_out) {
  if (cxi_given(unknown[0])) {
    all_unknown(r, s, known, unknown, unknown_out);
    return;
  }
  cut c = { .r = r,
            .branches = ((const cxi_cond_params *)r->params)->branches,
            .n = r->n_in - 1,
            .m = r->n_out };
  if (!cut_open(&c, unknown) || !cut_branches(&c) || !place_residuals(&c)) {
    cxi_rule_stop(c.m, unknown_out);
    return;
  }
  bool ok = true;
  cx *values = cxi_array(first_slot(&c) + c.n_slots, sizeof *values, &ok);
  if (!ok) {
    cxi_rule_no_memory(c.m, unknown_out);
    return;
  }
  r->transforms->into_known(s);
  ok = emit_known(&c, known, values);
  for (uint32_t i = 0, k = c.n_known; ok && i < c.m; i++)
    if (!c.unknown_out[i]) known_out[i] = values[k++];
  if (ok && c.n_known_out < c.m) {
    r->transforms->into_unknown(s);
    ok = emit_rest(&c, s, known, unknown, values, unknown_out);
  }
  if (!ok) cxi_rule_stop(c.m, unknown_out);
}
