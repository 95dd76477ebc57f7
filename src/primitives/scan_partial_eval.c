/* scan_partial_eval.c - a scan cut into a known loop and the rest.
 *
 * docs/partial-evaluation.md says which residual goes where. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

/* How a value of the known body depends on the loop. */
typedef enum dependence {
  VARIES,    /* with the step */
  INVARIANT, /* on constants alone: computed once */
  FREE       /* on literals alone, and cheap: written twice */
} dependence;

/* The cut under construction. Inputs and outputs of part.known, the known
 * body: (consts, carry, xs) -> (carry, ys, residuals). */
typedef struct cut {
  const cxi_rule *r;
  const cxi_scan_params *p;
  cxi_scan_sizes n; /* of the whole */
  cxi_partial part;
  const cxi_program *known;         /* part.known */
  uint32_t consts, carry, start_xs; /* of the known body */
  uint32_t n_out;                   /* of the known body, without residuals */
  cx *in;                           /* the known operands */
  uint8_t *depends;                 /* a dependence for each value */
  cx *outside; /* invariant and free values, before the loop */
  /* of each residual: its value outside, and whether the rest reads it as a
   * constant; the known loop's output that stacks it, or NOT_STACKED */
  cx *residual;
  bool *constant;
  uint32_t *stacked_at;
} cut;
static const uint32_t NOT_STACKED = UINT32_MAX;

/* -- what is known -------------------------------------------------------- */

static bool find_unknown(cut *c, bool *unknown_in, bool *unknown_out) {
  const cxi_scan_sizes n = c->n;
  bool ok = true;
  bool *force = cxi_array(n.out, sizeof *force, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  do {
    memcpy(force, unknown_in + n.consts, n.carry * sizeof *force);
    if (!c->r->transforms->partial_eval(c->p->body, unknown_in, force, &c->part,
                                        unknown_out))
      return false;
  } while (cxi_join(n.carry, unknown_in + n.consts, unknown_out));
  return true;
}

static bool cut_open(cut *c, const cx *known, const bool *unknown_in,
                     const bool *unknown_out) {
  const cxi_scan_sizes n = c->n;
  bool ok = true;
  c->known = c->part.known;
  c->in = cxi_array(n.in, sizeof *c->in, &ok);
  c->depends = cxi_array(c->known->n_values, sizeof *c->depends, &ok);
  c->outside = cxi_array(c->known->n_values, sizeof *c->outside, &ok);
  c->residual = cxi_array(c->part.n_residuals, sizeof *c->residual, &ok);
  c->constant = cxi_array(c->part.n_residuals, sizeof *c->constant, &ok);
  c->stacked_at = cxi_array(c->part.n_residuals, sizeof *c->stacked_at, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  uint32_t k = 0;
  for (uint32_t i = 0; i < n.in; i++)
    if (!unknown_in[i]) c->in[k++] = known[i];
  c->consts = n.consts - cxi_count(n.consts, unknown_in);
  c->carry = n.carry - cxi_count(n.carry, unknown_in + n.consts);
  c->start_xs = c->consts + c->carry;
  c->n_out = n.out - cxi_count(n.out, unknown_out);
  return true;
}

/* -- hoisting ------------------------------------------------------------- */

/* A carry that every step hands on. */
static bool unchanged(const cut *c, uint32_t carry) {
  return c->known->outputs[carry] == c->consts + carry;
}

static dependence dependence_of(const cut *c, const cxi_equation *e) {
  const uint32_t *operands = cxi_operands_of(c->known, e);
  bool free = e->prim == CXI_PRIM_broadcast_in_dim || e->prim == CXI_PRIM_iota;
  if (e->effects) return VARIES;
  for (uint32_t k = 0; k < e->n_in; k++) {
    if (c->depends[operands[k]] == VARIES) return VARIES;
    free = free && c->depends[operands[k]] == FREE;
  }
  return free ? FREE : INVARIANT;
}

/* Emits p's equation e where the handles of its operands are in env. */
static void emit_into(const cxi_program *p, const cxi_equation *e, cx *env) {
  const uint32_t *operands = cxi_operands_of(p, e);
  const cxi_mark mark = cxi_scratch_mark();
  bool ok = true;
  cx *args = cxi_array(e->n_in, sizeof *args, &ok);
  if (!ok) {
    cxi_rule_no_memory(e->n_out, env + e->out);
    return;
  }
  const cxi_name site = cxi_site_use(e->site), scope = cxi_scope_use(e->scope);
  for (uint32_t k = 0; k < e->n_in; k++) args[k] = env[operands[k]];
  cxi_emit((cxi_prim)e->prim, e->params, e->n_in, args, e->n_out, env + e->out);
  cxi_site_use(site);
  cxi_scope_use(scope);
  cxi_scratch_reset(mark);
}

static void enter_literals(const cxi_program *p, cx *env) {
  for (uint32_t v = p->n_in; v < p->n_in + p->n_literals; v++)
    env[v] = cxi_literal_bits(cxi_type_dtype(p->values[v].type),
                              cxi_literal_bits_of(p, v));
}

/* Computes what is invariant before the loop; marks each value. */
static void hoist(cut *c) {
  const cxi_program *b = c->known;
  for (uint32_t i = 0; i < c->start_xs; i++)
    if (i < c->consts || unchanged(c, i - c->consts)) {
      c->depends[i] = INVARIANT;
      c->outside[i] = c->in[i];
    }
  memset(c->depends + b->n_in, FREE, b->n_literals);
  enter_literals(b, c->outside);
  for (uint32_t i = 0; i < b->n_equations; i++) {
    const cxi_equation *e = &b->equations[i];
    const dependence d = dependence_of(c, e);
    memset(c->depends + e->out, (int)d, e->n_out);
    if (d != VARIES) emit_into(b, e, c->outside);
  }
}

/* -- the known loop ------------------------------------------------------- */

/* Where each residual comes from; which outputs the loop must have: `keep` has
 * an item for each output of the known body. */
static void place_residuals(cut *c, bool *keep) {
  const cxi_program *b = c->known;
  for (uint32_t i = 0; i < c->n_out; i++)
    keep[i] =
        i < c->carry ? !unchanged(c, i) : c->depends[b->outputs[i]] == VARIES;
  for (uint32_t j = 0; j < c->part.n_residuals; j++) {
    const uint32_t v = b->outputs[c->n_out + j];
    c->stacked_at[j] = NOT_STACKED;
    c->constant[j] = c->depends[v] != VARIES;
    if (c->constant[j]) {
      c->residual[j] = c->outside[v];
      continue;
    }
    if (v >= c->start_xs && v < b->n_in) {
      c->residual[j] = c->in[v];
      continue;
    }
    c->stacked_at[j] = c->n_out + j;
    for (uint32_t y = c->carry; y < c->n_out; y++)
      if (b->outputs[y] == v) c->stacked_at[j] = y;
    keep[c->stacked_at[j]] = true;
  }
}

/* The handle of value v inside the new body; what was hoisted becomes an input
 * when it is first met. */
static void bring_in(cut *c, cxi_builder *b, uint32_t v, cx *inside,
                     cxi_wires *consts, cx *inputs) {
  if (cxi_given(inside[v]) || c->depends[v] != INVARIANT) return;
  inside[v] = cxi_builder_input(b, c->known->values[v].type);
  inputs[consts->n] = inside[v];
  cxi_wire(consts, c->outside[v], v);
}

/* The known body without what is invariant, with the outputs to keep. Fills
 * `w` with the operands of its loop; NULL after reporting. */
static const cxi_program *shrink(cut *c, const bool *keep, cxi_scan_params *s,
                                 cxi_wires *w) {
  const cxi_program *p = c->known;
  bool ok = true;
  cx *inside = cxi_array(p->n_values, sizeof *inside, &ok);
  cx *inputs = cxi_array(p->n_values, sizeof *inputs, &ok);
  cx *outs = cxi_array(p->n_out, sizeof *outs, &ok);
  uint32_t n_outs = 0;
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = c->consts; i < p->n_in; i++)
    if (c->depends[i] == VARIES)
      inside[i] = cxi_builder_input(&b, p->values[i].type);
  enter_literals(p, inside);
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    const uint32_t *operands = cxi_operands_of(p, e);
    if (e->n_out && c->depends[e->out] == INVARIANT) continue;
    for (uint32_t k = 0; k < e->n_in; k++)
      bring_in(c, &b, operands[k], inside, w, inputs);
    emit_into(p, e, inside);
  }
  for (uint32_t i = 0; i < p->n_out; i++) {
    if (!keep[i]) continue;
    bring_in(c, &b, p->outputs[i], inside, w, inputs);
    outs[n_outs++] = inside[p->outputs[i]];
  }
  s->n_consts = w->n;
  for (uint32_t i = c->consts; i < p->n_in; i++) {
    if (c->depends[i] != VARIES) continue;
    inputs[w->n] = inside[i];
    cxi_wire(w, c->in[i], i);
    s->n_carry += i < c->start_xs;
  }
  return cxi_body_finish(&b, p, w->n, inputs, n_outs, outs);
}

/* Emits the known loop, if it has anything to do; `results` gets a value for
 * each output of the known body that is kept. */
static bool emit_known(cut *c, const bool *keep, cx *results) {
  const uint32_t n_keep = cxi_count(c->known->n_out, keep);
  if (!n_keep && !c->known->effects) return true;
  bool ok = true;
  cx *kept = cxi_array(n_keep, sizeof *kept, &ok);
  cxi_wires w = cxi_wires_new(c->known->n_values, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  cxi_scan_params s = *c->p;
  s.n_carry = 0;
  s.body = shrink(c, keep, &s, &w);
  if (!s.body) return false;
  cxi_scan(&s, w.args, kept);
  for (uint32_t i = 0, k = 0; i < c->known->n_out; i++)
    if (keep[i]) results[i] = kept[k++];
  return true;
}

/* The results that are known: from the loop, or without one. */
static void hand_out_known(const cut *c, const cx *results,
                           const bool *unknown_out, cx *known_out) {
  for (uint32_t i = 0, k = 0; i < c->n.out; i++) {
    if (unknown_out[i]) continue;
    const uint32_t at = k++, v = c->known->outputs[at];
    if (cxi_given(results[at]))
      known_out[i] = results[at];
    else if (at < c->carry)
      known_out[i] = c->in[c->consts + at];
    else
      known_out[i] = cxi_insert_axis(c->outside[v], 0, c->p->length);
  }
}

/* -- the rest ------------------------------------------------------------- */

static void rest_add(cxi_scan_rest *rest, uint32_t *places, uint32_t from,
                     cx known, uint32_t place) {
  rest->from[rest->n_in] = from;
  rest->known[rest->n_in] = known;
  places[rest->n_in++] = place;
}

static void add_residuals(const cut *c, bool constant, uint32_t first,
                          cxi_scan_rest *rest, uint32_t *places) {
  for (uint32_t j = 0; j < c->part.n_residuals; j++)
    if (c->constant[j] == constant)
      rest_add(rest, places, CXI_NOT_FROM, c->residual[j], first + j);
}

/* [consts, constant residuals] [carry] [xs, stacked residuals] */
static bool describe_rest(const cut *c, const cx *known, const bool *unknown_in,
                          cxi_scan_rest *rest) {
  const cxi_scan_sizes n = c->n;
  const size_t room = n.in + (size_t)c->part.n_residuals;
  const cxi_program *body = c->part.unknown;
  bool ok = true;
  uint32_t *places = cxi_array(room, sizeof *places, &ok);
  *rest = (cxi_scan_rest){ .params = *c->p };
  rest->from = cxi_array(room, sizeof *rest->from, &ok);
  rest->known = cxi_array(room, sizeof *rest->known, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  const uint32_t first = cxi_count(n.in, unknown_in); /* residual's place */
  uint32_t place = 0;
  for (uint32_t i = 0; i < n.consts; i++)
    if (unknown_in[i]) rest_add(rest, places, i, cx_none(), place++);
  add_residuals(c, true, first, rest, places);
  rest->params.n_consts = rest->n_in;
  for (uint32_t i = n.consts; i < n.start_xs; i++) {
    if (!unknown_in[i]) continue;
    const bool starts_known = cxi_given(known[i]);
    rest_add(rest, places, starts_known ? CXI_NOT_FROM : i, known[i], place++);
  }
  rest->params.n_carry = rest->n_in - rest->params.n_consts;
  for (uint32_t i = n.start_xs; i < n.in; i++)
    if (unknown_in[i]) rest_add(rest, places, i, cx_none(), place++);
  add_residuals(c, false, first, rest, places);
  rest->params.body = c->r->transforms->select(body, places, body->n_out, NULL);
  return rest->params.body != NULL;
}

bool cxi_scan_cut(const cxi_rule *r, const cx *known, bool *unknown_in,
                  cx *known_out, bool *unknown_out, cxi_scan_rest *rest) {
  const cxi_scan_params *p = r->params;
  cut c = { .r = r, .p = p, .n = cxi_scan_sizes_of(p) };
  if (!find_unknown(&c, unknown_in, unknown_out) ||
      !cut_open(&c, known, unknown_in, unknown_out))
    return false;
  bool ok = true;
  bool *keep = cxi_array(c.known->n_out, sizeof *keep, &ok);
  cx *results = cxi_array(c.known->n_out, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  hoist(&c);
  place_residuals(&c, keep);
  if (!emit_known(&c, keep, results)) return false;
  for (uint32_t j = 0; j < c.part.n_residuals; j++)
    if (c.stacked_at[j] != NOT_STACKED)
      c.residual[j] = results[c.stacked_at[j]];
  hand_out_known(&c, results, unknown_out, known_out);
  return describe_rest(&c, known, unknown_in, rest);
}

/* -- the rule ------------------------------------------------------------- */

void cxi_scan_partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                           const cx *unknown, cx *known_out, cx *unknown_out) {
  const cxi_scan_sizes n = cxi_scan_sizes_of(r->params);
  bool ok = true;
  bool *unknown_in = cxi_array(n.in, sizeof *unknown_in, &ok);
  bool *is_unknown = cxi_array(n.out, sizeof *is_unknown, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.out, unknown_out);
    return;
  }
  for (uint32_t i = 0; i < n.in; i++) unknown_in[i] = cxi_given(unknown[i]);
  cxi_scan_rest rest;
  r->transforms->into_known(s);
  if (!cxi_scan_cut(r, known, unknown_in, known_out, is_unknown, &rest)) {
    cxi_rule_stop(n.out, unknown_out);
    return;
  }
  if (!cxi_count(n.out, is_unknown)) return;
  cx *args = cxi_array(rest.n_in, sizeof *args, &ok);
  cx *results = cxi_array(n.out, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.out, unknown_out);
    return;
  }
  r->transforms->into_unknown(s);
  for (uint32_t i = 0; i < rest.n_in; i++)
    args[i] = rest.from[i] == CXI_NOT_FROM
                  ? r->transforms->residual(s, rest.known[i])
                  : unknown[rest.from[i]];
  cxi_scan(&rest.params, args, results);
  for (uint32_t i = 0, k = 0; i < n.out; i++)
    if (is_unknown[i]) unknown_out[i] = results[k++];
}
