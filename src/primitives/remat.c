/* remat.c - a cut made again under a policy: which values of the known part
 * are kept for the unknown part, which are computed again there. */
#include "primitives/remat.h"

#include <stdlib.h>
#include <string.h>

#include "ops/lax.h"
#include "primitives/remat_region.h"

/* -- policies ------------------------------------------------------------- */

typedef enum saving {
  NOTHING,
  EVERYTHING,
  DOTS,
  DOTS_NO_BATCH,
  NAMES,
  ALL_BUT_NAMES,
  OTHER_NAMES,
  N_POLICIES
} saving;

static const char *const policy_names[N_POLICIES] = {
  "nothing", "everything",    "dots",        "dots_no_batch",
  "names",   "all_but_names", "other_names",
};

static saving policy_of(cxi_name name) {
  for (int i = 0; i < N_POLICIES; i++)
    if (strcmp(cxi_name_text(name), policy_names[i]) == 0) return (saving)i;
  return N_POLICIES;
}

/* "budget:4096": the bytes; false of all other policies. */
static bool budget_of(cxi_name policy, double *out_bytes) {
  const char *text = cxi_name_text(policy), start[] = "budget:";
  if (strncmp(text, start, sizeof start - 1) != 0) return false;
  text += sizeof start - 1;
  *out_bytes = strtod(text, NULL);
  return *text && !text[strspn(text, "0123456789")];
}

bool cxi_remat_policy_valid(cxi_name name) {
  double bytes;
  return policy_of(name) != N_POLICIES || budget_of(name, &bytes);
}

/* The tag of another checkpoint's own policy. */
static bool is_own_tag(cxi_name name) {
  return strncmp(cxi_name_text(name), CXI_SAVED_TAG,
                 sizeof CXI_SAVED_TAG - 1) == 0;
}

/* Marks the values that carry a listed tag, or one that is not listed. A tag and the value it names have
 * the same bits; only the latter is marked, and the tag made again from it. */
static void mark_tagged(const cxi_program *p, const cxi_names *list,
                        bool listed, bool *tagged) {
  for (uint32_t i = p->n_equations; i-- > 0;) {
    const cxi_equation *e = &p->equations[i];
    if (e->prim != CXI_PRIM_name) continue;
    const cxi_name name = ((const cxi_name_params *)e->params)->name;
    if (!listed && is_own_tag(name) && !tagged[e->out]) continue;
    if (cxi_names_have(list, name) == listed || tagged[e->out])
      tagged[cxi_operands_of(p, e)[0]] = true;
  }
}

void cxi_remat_mark_kept(const cxi_checkpoint_params *params,
                         const cxi_program *p, bool *kept) {
  const saving policy = policy_of(params->policy);
  if (policy != EVERYTHING)
    mark_tagged(p, &params->names, policy != OTHER_NAMES, kept);
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    const cxi_dot_general_params *dot =
        e->prim == CXI_PRIM_dot_general ? e->params : NULL;
    for (uint32_t v = e->out; v < e->out + e->n_out; v++) {
      if (policy == EVERYTHING) kept[v] = true;
      if (policy == DOTS && e->prim == CXI_PRIM_conv_general_dilated)
        kept[v] = true;
      if (policy == DOTS && dot) kept[v] = true;
      if (policy == DOTS_NO_BATCH && dot && dot->lhs_batch.n == 0)
        kept[v] = true;
      if (policy == ALL_BUT_NAMES) kept[v] = !kept[v];
      if (policy != EVERYTHING && e->prim == CXI_PRIM_name) kept[v] = false;
    }
  }
}

/* -- walking back from the residuals -------------------------------------- */

/* Marks the residuals and what they need. */
static bool walk_back(cxi_region *m, uint32_t n_outs) {
  for (uint32_t i = n_outs; i < m->p->n_out; i++)
    m->need[m->p->outputs[i]] = true;
  return cxi_region_walk_back(m);
}

/* -- a budget ------------------------------------------------------------- */

typedef struct candidate {
  uint32_t equation;
  double bytes, flops;
} candidate;

/* The most operations a byte first, then the later equation: it spares the
 * earlier ones too. */
static int compare_candidates(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  const double p = x->flops * y->bytes, q = y->flops * x->bytes;
  if (p > q || p < q) return p > q ? -1 : 1;
  return x->equation > y->equation ? -1 : 1;
}

static double bytes_of(const cxi_program *p, uint32_t value) {
  return (double)cxi_aval_bytes(cxi_type_aval(p->values[value].type));
}

/* The equations that would run again; moves, which cost no operations, are no
 * candidates. */
static uint32_t candidates_of(const cxi_region *m, const double *flops,
                              candidate *out) {
  const cxi_program *p = m->p;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    if (!m->again[i] || e->prim == CXI_PRIM_name) continue;
    candidate c = { i, 0, flops[i] };
    for (uint32_t v = e->out; v < e->out + e->n_out; v++)
      if (m->need[v]) c.bytes += bytes_of(p, v);
    if (c.flops > 0) out[n++] = c;
  }
  return n;
}

/* Keeps what fits, then again with the bytes of values that turned out not to
 * be needed beside others; a few rounds find nearly all. Walked back at the
 * end. */
static bool keep_within(cxi_region *m, uint32_t n_outs, double budget) {
  enum { ROUNDS = 8 };
  const cxi_program *p = m->p;
  candidate *list = cxi_call_array(p->n_equations, sizeof *list);
  double *flops = cxi_call_array(p->n_equations, sizeof *flops);
  if (!list || !flops) return false;
  if (!cxi_program_flops(p, flops)) {
    cxi_fail(CX_EMEMORY, "checkpoint: out of memory");
    return false;
  }
  if (!walk_back(m, n_outs)) return false;
  for (int round = 0; round < ROUNDS; round++) {
    double room = budget;
    bool more = false;
    for (uint32_t v = 0; v < p->n_values; v++) {
      m->kept[v] = m->saved[v];
      if (m->saved[v]) room -= bytes_of(p, v);
    }
    const uint32_t n = candidates_of(m, flops, list);
    qsort(list, n, sizeof *list, compare_candidates);
    for (uint32_t i = 0; i < n; i++) {
      const cxi_equation *e = &p->equations[list[i].equation];
      if (list[i].bytes > room) continue;
      for (uint32_t v = e->out; v < e->out + e->n_out; v++)
        if (m->need[v]) m->kept[v] = true;
      room -= list[i].bytes;
      more = true;
    }
    if (!more) break;
    cxi_region_start_over(m);
    if (!walk_back(m, n_outs)) return false;
  }
  return true;
}

/* -- the cut -------------------------------------------------------------- */

/* now(known ins) -> known outs, saved */
static const cxi_program *write_now(cxi_region *m, uint32_t n_outs,
                                    uint32_t n_saved) {
  const cxi_program *p = m->p;
  cx *out = cxi_call_array((size_t)n_outs + n_saved, sizeof *out);
  if (!out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    m->env[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_region_emit(m, true);
  for (uint32_t i = 0; i < n_outs; i++) out[i] = m->env[p->outputs[i]];
  cxi_region_hand_out(m, out + n_outs);
  return cxi_call_finish(&b, p->name, p->n_in, m->env, n_outs + n_saved, out);
}

/* again(needed known ins, saved, unknown ins) -> unknown outs */
static const cxi_program *write_again(cxi_region *m, const cxi_partial *cut,
                                      uint32_t n_outs, uint32_t n_saved) {
  const cxi_program *p = m->p, *u = cut->unknown;
  const uint32_t n_unknown = u->n_in - cut->n_residuals;
  cx *in = cxi_call_array((size_t)p->n_in + n_saved + n_unknown, sizeof *in);
  cx *args = cxi_call_array(u->n_in, sizeof *args);
  cx *out = cxi_call_array(u->n_out, sizeof *out);
  if (!in || !args || !out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (m->need[i])
      m->env[i] = in[n++] = cxi_builder_input(&b, p->values[i].type);
  n += cxi_region_take_in(m, &b, in + n);
  for (uint32_t i = 0; i < n_unknown; i++)
    args[i] = in[n++] = cxi_builder_input(&b, u->values[i].type);
  cxi_region_emit(m, false);
  for (uint32_t i = 0; i < cut->n_residuals; i++)
    args[n_unknown + i] = m->env[p->outputs[n_outs + i]];
  cxi_replay(u, args, out);
  return cxi_call_finish(&b, u->name, n, in, u->n_out, out);
}

/* Without what loops and branches hand out and nobody wants, and without
 * effects that happened before. */
static bool narrow(const cxi_transforms *t, bool inside, bool quiet,
                   cxi_remat *out) {
  if (inside) out->now = t->narrow(out->now, NULL, NULL);
  if (out->now && quiet)
    out->again = t->narrow_quiet(out->again, NULL, NULL);
  else if (out->now && inside)
    out->again = t->narrow(out->again, NULL, NULL);
  return out->now && out->again;
}

/* Whether effects of the known part would happen again. */
static bool repeats(const cxi_region *m) {
  for (uint32_t i = 0; i < m->p->n_equations; i++)
    if (m->again[i] && m->p->equations[i].effects) return true;
  return false;
}

static bool write(cxi_region *m, const cxi_partial *cut, uint32_t n_outs,
                  cxi_remat *out) {
  *out = (cxi_remat){ .needs = m->need, .n_saved = cxi_region_count_saved(m) };
  for (uint32_t i = 0; i < m->p->n_equations; i++)
    out->recomputes = out->recomputes || m->again[i];
  out->now = write_now(m, n_outs, out->n_saved);
  out->again = out->now ? write_again(m, cut, n_outs, out->n_saved) : NULL;
  return out->again && narrow(m->r->transforms, m->n_values != m->p->n_values,
                              repeats(m) && !cut->unknown->effects, out);
}

/* What an effect returned is wanted: it is kept, as the effect does not happen
 * again. */
static bool keep_effects(cxi_region *m, uint32_t n_outs) {
  for (uint32_t i = 0; i < m->p->n_equations; i++) {
    const cxi_equation *e = &m->p->equations[i];
    for (uint32_t k = 0; e->effects && k < e->n_out; k++)
      m->kept[e->out + k] = true;
  }
  cxi_region_start_over(m);
  return walk_back(m, n_outs);
}

/* How the policy looks at the known part. */
static cxi_looks looks_of(const cxi_checkpoint_params *params) {
  double budget;
  const saving policy = policy_of(params->policy);
  if (budget_of(params->policy, &budget)) return CXI_LOOKS_AT_CALLS;
  const bool at_all =
      (policy != NOTHING || params->names.n) && policy != EVERYTHING;
  return at_all ? CXI_LOOKS_INSIDE : CXI_LOOKS_NOWHERE;
}

bool cxi_remat_cut(const cxi_rule *r, const cxi_partial *cut, cxi_remat *out) {
  const cxi_checkpoint_params *params = r->params;
  const uint32_t n_outs = cut->known->n_out - cut->n_residuals;
  cxi_region m;
  double budget;
  if (!cxi_region_open(r, cut->known, looks_of(params), 0, &m)) return false;
  if (policy_of(params->policy) == EVERYTHING)
    cxi_remat_mark_kept(params, m.p, m.kept);
  if (!(budget_of(params->policy, &budget) ? keep_within(&m, n_outs, budget)
                                           : walk_back(&m, n_outs)))
    return false;
  if (!write(&m, cut, n_outs, out)) return false;
  return !repeats(&m) || !out->again->effects ||
         (keep_effects(&m, n_outs) && write(&m, cut, n_outs, out));
}
