/* remat_inside.c - loops and branches that hand out what a policy keeps inside
 * them, and run again with it.
 *
 * Of a scan, a value that is kept in a step is stacked over the steps as one
 * more y; the loop that runs again reads it as one more xs, and computes only
 * what it does not tell. Of a cond, the values that its branches keep share
 * places by their types, zero in the other branches. A while can hand out
 * nothing: nobody knows how many steps there will be. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/remat_region.h"

/* -- a body --------------------------------------------------------------- */

/* A body in two: now(ins) -> outs, saved, in which what is an out anyhow is
 * not returned twice; again(ins, saved) -> outs. */
typedef struct pieces {
  const cxi_program *now, *again;
  uint32_t n_saved;
  cxi_type *types; /* of the saved values */
  uint32_t *place; /* of each: the output of `now` that it is */
} pieces;

/* The output, from `first` on, that value v is; n_out if none is. */
static uint32_t output_of(const cxi_program *p, uint32_t first, uint32_t v) {
  uint32_t k = first;
  while (k < p->n_out && p->outputs[k] != v) k++;
  return k;
}

static const cxi_program *write_now(cxi_region *m, uint32_t first,
                                    pieces *out) {
  const cxi_program *p = m->p;
  cx *results =
      cxi_call_array(p->n_out + (size_t)out->n_saved, sizeof *results);
  if (!results) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    m->env[i] = cxi_builder_input(&b, m->types[i]);
  cxi_region_emit(m, true);
  uint32_t n = p->n_out, k = 0;
  for (uint32_t i = 0; i < p->n_out; i++) results[i] = m->env[p->outputs[i]];
  for (uint32_t v = 0; v < m->n_values; v++) {
    if (!m->saved[v]) continue;
    const uint32_t there = output_of(p, first, v);
    out->types[k] = m->types[v];
    out->place[k++] = there < p->n_out ? there : n;
    if (there == p->n_out) results[n++] = m->env[v];
  }
  return cxi_call_finish(&b, p->name, p->n_in, m->env, n, results);
}

static const cxi_program *write_again(cxi_region *m, uint32_t n_saved) {
  const cxi_program *p = m->p;
  cx *in = cxi_call_array(p->n_in + (size_t)n_saved, sizeof *in);
  cx *results = cxi_call_array(p->n_out, sizeof *results);
  if (!in || !results) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    m->env[i] = in[i] = cxi_builder_input(&b, m->types[i]);
  cxi_region_take_in(m, &b, in + p->n_in);
  cxi_region_emit(m, false);
  for (uint32_t i = 0; i < p->n_out; i++) results[i] = m->env[p->outputs[i]];
  return cxi_call_finish(&b, p->name, p->n_in + n_saved, in, p->n_out, results);
}

/* Outputs from `first` on may stand for a saved value. */
static bool cut_body(const cxi_rule *r, const cxi_program *body, uint32_t first,
                     int depth, pieces *out) {
  cxi_region m;
  if (!cxi_region_open(r, body, CXI_LOOKS_INSIDE, depth, &m)) return false;
  for (uint32_t i = 0; i < m.p->n_out; i++) m.need[m.p->outputs[i]] = true;
  if (!cxi_region_walk_back(&m)) return false;
  *out = (pieces){ .n_saved = cxi_region_count_saved(&m) };
  if (out->n_saved == 0) return true;
  out->types = cxi_call_array(out->n_saved, sizeof *out->types);
  out->place = cxi_call_array(out->n_saved, sizeof *out->place);
  if (!out->types || !out->place) return false;
  out->now = write_now(&m, first, out);
  out->again = out->now ? write_again(&m, out->n_saved) : NULL;
  return out->again != NULL;
}

/* -- running again -------------------------------------------------------- */

/* Inputs for the operands of e, then for what is kept of it. */
static cx *open_again(cxi_builder *b, const cxi_program *p,
                      const cxi_equation *e, const cxi_inside *x) {
  cx *in = cxi_call_array(e->n_in + (size_t)x->n_kept, sizeof *in);
  if (!in) return NULL;
  cxi_builder_open(b);
  for (uint32_t k = 0; k < e->n_in; k++)
    in[k] = cxi_builder_input(b, p->values[cxi_operands_of(p, e)[k]].type);
  for (uint32_t k = 0; k < x->n_kept; k++)
    in[e->n_in + k] = cxi_builder_input(
        b, x->kept[k] < e->n_out ? p->values[e->out + x->kept[k]].type
                                 : x->types[x->kept[k] - e->n_out]);
  return in;
}

/* -- scan ----------------------------------------------------------------- */

static const cxi_program *scan_again(const cxi_program *p,
                                     const cxi_equation *e, const cxi_inside *x,
                                     const cxi_program *body) {
  cxi_scan_params s = x->scan;
  cxi_builder b;
  s.body = body;
  cx *out = cxi_call_array(e->n_out, sizeof *out);
  cx *in = out ? open_again(&b, p, e, x) : NULL;
  if (!in) return NULL;
  cxi_scan(&s, in, out);
  /* what a step only hands on is there already */
  for (uint32_t k = (uint32_t)s.n_carry; k < e->n_out; k++)
    if (body->outputs[k] >= e->n_in && body->outputs[k] < body->n_in)
      out[k] = in[body->outputs[k]];
  return cxi_call_finish(&b, body->name, e->n_in + x->n_kept, in, e->n_out,
                         out);
}

static bool look_into_scan(const cxi_rule *r, const cxi_program *p,
                           const cxi_equation *e, int depth, cxi_inside *x) {
  const cxi_scan_params *s = e->params;
  pieces body;
  if (!cut_body(r, s->body, (uint32_t)s->n_carry, depth, &body)) return false;
  if (body.n_saved == 0) return true;
  x->scan = *s;
  x->scan.body = body.now;
  x->kept = body.place;
  x->types = cxi_call_array(body.n_saved, sizeof *x->types);
  if (!x->types) return false;
  for (uint32_t k = 0; k < body.n_saved; k++) {
    if (body.place[k] < e->n_out) continue;
    const cx_dims shape =
        cxi_dims_with(*cxi_type_shape(body.types[k]), 0, s->length);
    if (shape.n < 0) return *x = (cxi_inside){ 0 }, true; /* too many axes */
    x->types[x->n_extra++] = cxi_type_with_shape(body.types[k], shape);
  }
  x->n_kept = body.n_saved;
  x->again = scan_again(p, e, x, body.again);
  return x->again != NULL;
}

/* -- cond ----------------------------------------------------------------- */

/* The places that branches share, and where each keeps its values. */
typedef struct places {
  uint32_t n;
  cxi_type *types;
  uint32_t **of; /* by branch and saved value */
} places;

/* The next place of the type that the branch has not taken; a new one. */
static uint32_t take_place(places *to, bool *taken, cxi_type type) {
  uint32_t k = 0;
  while (k < to->n && (taken[k] || to->types[k] != type)) k++;
  if (k == to->n) to->types[to->n++] = type;
  taken[k] = true;
  return k;
}

static bool share_places(uint32_t n, const pieces *branch, places *out) {
  size_t most = 0;
  for (uint32_t i = 0; i < n; i++) most += branch[i].n_saved;
  *out = (places){ .types = cxi_call_array(most, sizeof *out->types),
                   .of = cxi_call_array(n, sizeof *out->of) };
  if (!out->types || !out->of) return false;
  for (uint32_t i = 0; i < n; i++) {
    bool *taken = cxi_call_array(most, sizeof *taken);
    out->of[i] = cxi_call_array(branch[i].n_saved, sizeof **out->of);
    if (!taken || !out->of[i]) return false;
    for (uint32_t k = 0; k < branch[i].n_saved; k++)
      out->of[i][k] = take_place(out, taken, branch[i].types[k]);
  }
  return true;
}

/* (operands) -> outs, places */
static const cxi_program *branch_now(const cxi_program *body, const pieces *own,
                                     const places *to, const uint32_t *place) {
  const cxi_program *now = own->n_saved ? own->now : body;
  const uint32_t n_out = body->n_out;
  cx *in = cxi_call_array(body->n_in, sizeof *in);
  cx *made = cxi_call_array(now->n_out, sizeof *made);
  cx *out = cxi_call_array(n_out + (size_t)to->n, sizeof *out);
  if (!in || !made || !out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < body->n_in; i++)
    in[i] = cxi_builder_input(&b, body->values[i].type);
  cxi_replay(now, in, made);
  for (uint32_t i = 0; i < n_out; i++) out[i] = made[i];
  for (uint32_t k = 0; k < own->n_saved; k++)
    out[n_out + place[k]] = made[own->place[k]];
  for (uint32_t k = 0; k < to->n; k++)
    if (cxi_left_out(out[n_out + k])) out[n_out + k] = cxi_zeros(to->types[k]);
  return cxi_call_finish(&b, body->name, body->n_in, in, n_out + to->n, out);
}

/* (operands, places) -> outs */
static const cxi_program *branch_again(const cxi_program *body,
                                       const pieces *own, const places *to,
                                       const uint32_t *place) {
  const cxi_program *again = own->n_saved ? own->again : body;
  cx *in = cxi_call_array(body->n_in + (size_t)to->n, sizeof *in);
  cx *args = cxi_call_array(again->n_in, sizeof *args);
  cx *out = cxi_call_array(body->n_out, sizeof *out);
  if (!in || !args || !out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < body->n_in; i++)
    args[i] = in[i] = cxi_builder_input(&b, body->values[i].type);
  for (uint32_t k = 0; k < to->n; k++)
    in[body->n_in + k] = cxi_builder_input(&b, to->types[k]);
  for (uint32_t k = 0; k < own->n_saved; k++)
    args[body->n_in + k] = in[body->n_in + place[k]];
  cxi_replay(again, args, out);
  return cxi_call_finish(&b, body->name, body->n_in + to->n, in, body->n_out,
                         out);
}

static bool look_into_cond(const cxi_rule *r, const cxi_program *p,
                           const cxi_equation *e, int depth, cxi_inside *x) {
  const cxi_programs old = ((const cxi_cond_params *)e->params)->branches;
  pieces *own = cxi_call_array(old.n, sizeof *own);
  const cxi_program **now = cxi_call_array(old.n, sizeof *now);
  const cxi_program **again = cxi_call_array(old.n, sizeof *again);
  cx *out = cxi_call_array(e->n_out, sizeof *out);
  places to;
  if (!own || !now || !again || !out) return false;
  for (uint32_t i = 0; i < old.n; i++)
    if (!cut_body(r, old.d[i], old.d[i]->n_out, depth, &own[i])) return false;
  if (!share_places(old.n, own, &to)) return false;
  if (to.n == 0) return true;
  for (uint32_t i = 0; i < old.n; i++) {
    now[i] = branch_now(old.d[i], &own[i], &to, to.of[i]);
    again[i] = now[i] ? branch_again(old.d[i], &own[i], &to, to.of[i]) : NULL;
    if (!again[i]) return false;
  }
  x->cond.branches = (cxi_programs){ old.n, now };
  x->n_extra = x->n_kept = to.n;
  x->types = to.types;
  x->kept = cxi_call_array(to.n, sizeof *x->kept);
  if (!x->kept) return false;
  for (uint32_t k = 0; k < to.n; k++) x->kept[k] = e->n_out + k;
  cxi_builder b;
  cx *in = open_again(&b, p, e, x);
  if (!in) return false;
  cxi_cond((cxi_programs){ old.n, again }, in[0], in + 1, out);
  x->again = cxi_call_finish(&b, old.d[0]->name, e->n_in + x->n_kept, in,
                             e->n_out, out);
  return x->again != NULL;
}

bool cxi_region_look_inside(const cxi_rule *r, const cxi_program *p,
                            const cxi_equation *e, int depth, cxi_inside *out) {
  return e->prim == CXI_PRIM_scan ? look_into_scan(r, p, e, depth, out)
                                  : look_into_cond(r, p, e, depth, out);
}
