/* remat.c - a cut made again under a policy: which values of the known part
 * are kept for the unknown part, which are computed again there.
 *
 * A walk back from the residuals stops at inputs, at literals and at values
 * that the policy keeps; the equations it passes are computed again. Calls
 * are inlined first, since the policy looks at primitives; loops and branches
 * are not looked into. */
#include "primitives/remat.h"

#include <stdlib.h>
#include <string.h>

#include "ops/lax.h"

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
  "nothing", "everything", "dots", "dots_no_batch", "names", "all_but_names",
  "other_names",
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

/* Marks the values that carry a listed tag, or one that is not listed. A tag and the value it names have
 * the same bits; only the latter is marked, and the tag made again from it. */
static void mark_tagged(const cxi_program *p, const cxi_names *list,
                        bool listed, bool *tagged) {
  for (uint32_t i = p->n_equations; i-- > 0;) {
    const cxi_equation *e = &p->equations[i];
    if (e->prim != CXI_PRIM_name) continue;
    const cxi_name name = ((const cxi_name_params *)e->params)->name;
    if (cxi_names_have(list, name) == listed || tagged[e->out])
      tagged[cxi_operands_of(p, e)[0]] = true;
  }
}

/* Marks what may be kept. */
static void mark_kept(const cxi_checkpoint_params *params, const cxi_program *p,
                      bool *kept) {
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

/* -- inlining ------------------------------------------------------------- */

/* p with the bodies of its jit calls in their place, level by level; names
 * that only tag a value keep their equation. Held. */
static const cxi_program *inline_once(const cxi_program *p, bool *changed) {
  const cxi_mark mark = cxi_scratch_mark();
  cx *env = cxi_call_array(p->n_values, sizeof *env);
  cx *outputs = cxi_call_array(p->n_out, sizeof *outputs);
  const cxi_name site = cxi_site_now(), scope = cxi_scope_now();
  const cxi_program *q = NULL;
  if (env && outputs) {
    cxi_builder b;
    cxi_builder_open(&b);
    for (uint32_t v = 0; v < p->n_in; v++)
      env[v] = cxi_builder_input(&b, p->values[v].type);
    for (uint32_t v = p->n_in; v < p->n_in + p->n_literals; v++)
      env[v] = cxi_literal_bits(cxi_type_dtype(p->values[v].type),
                                cxi_literal_bits_of(p, v));
    for (uint32_t i = 0; i < p->n_equations; i++) {
      const cxi_equation *e = &p->equations[i];
      const cxi_mark inner = cxi_scratch_mark();
      cx *args = cxi_call_array(e->n_in, sizeof *args);
      if (!args) break;
      for (uint32_t k = 0; k < e->n_in; k++)
        args[k] = env[cxi_operands_of(p, e)[k]];
      cxi_site_use(e->site);
      cxi_scope_use(e->scope);
      if (e->prim == CXI_PRIM_jit) {
        *changed = true;
        cxi_replay(((const cxi_jit_params *)e->params)->body, args,
                   env + e->out);
      } else {
        cxi_emit((cxi_prim)e->prim, e->params, e->n_in, args, e->n_out,
                 env + e->out);
      }
      cxi_scratch_reset(inner);
    }
    cxi_site_use(site);
    cxi_scope_use(scope);
    for (uint32_t i = 0; i < p->n_out; i++) outputs[i] = env[p->outputs[i]];
    q = cxi_call_finish(&b, p->name, p->n_in, env, p->n_out, outputs);
  }
  cxi_scratch_reset(mark);
  return q;
}

static const cxi_program *inline_calls(const cxi_program *p) {
  bool changed = true;
  while (p && changed) {
    changed = false;
    for (uint32_t i = 0; i < p->n_equations && !changed; i++)
      changed = p->equations[i].prim == CXI_PRIM_jit;
    if (changed) p = inline_once(p, &changed);
  }
  return p;
}

/* -- the cut -------------------------------------------------------------- */

typedef struct remat {
  const cxi_program *p; /* the known part, inlined */
  const cxi_program *unknown;
  uint32_t n_residuals, n_outs; /* p's outputs: outs, then residuals */
  bool *kept;                   /* by value: the policy keeps it */
  bool *need, *saved;           /* by value */
  bool *again;                  /* by equation */
  double *flops;                /* by equation, of a budget */
  cx *env;
} remat;

/* Marks what the residuals need: saved values, inputs, equations. */
static bool walk_back(remat *m) {
  const cxi_program *p = m->p;
  for (uint32_t i = 0; i < m->n_residuals; i++)
    m->need[p->outputs[m->n_outs + i]] = true;
  for (uint32_t i = p->n_equations; i-- > 0;) {
    const cxi_equation *e = &p->equations[i];
    for (uint32_t v = e->out; v < e->out + e->n_out; v++) {
      if (!m->need[v]) continue;
      if (m->kept[v])
        m->saved[v] = true;
      else
        m->again[i] = true;
    }
    if (!m->again[i]) continue;
    if (e->effects & CXI_EFFECT_ORDERED) {
      cxi_fail(CX_ETRACE,
               "checkpoint: %s has an ordered effect and cannot be "
               "run again",
               cxi_prim_name((cxi_prim)e->prim));
      return false;
    }
    for (uint32_t k = 0; k < e->n_in; k++)
      m->need[cxi_operands_of(p, e)[k]] = true;
  }
  return true;
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
static uint32_t candidates_of(const remat *m, candidate *out) {
  const cxi_program *p = m->p;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    if (!m->again[i] || e->prim == CXI_PRIM_name) continue;
    candidate c = { i, 0, m->flops[i] };
    for (uint32_t v = e->out; v < e->out + e->n_out; v++)
      if (m->need[v]) c.bytes += bytes_of(p, v);
    if (c.flops > 0) out[n++] = c;
  }
  return n;
}

static void start_over(remat *m) {
  memset(m->need, 0, m->p->n_values * sizeof *m->need);
  memset(m->saved, 0, m->p->n_values * sizeof *m->saved);
  memset(m->again, 0, m->p->n_equations * sizeof *m->again);
}

/* Keeps what fits, then again with the bytes of values that turned out not to
 * be needed beside others; a few rounds find nearly all. Walked back at the
 * end. */
static bool keep_within(remat *m, double budget) {
  enum { ROUNDS = 8 };
  const cxi_program *p = m->p;
  candidate *list = cxi_call_array(p->n_equations, sizeof *list);
  m->flops = cxi_call_array(p->n_equations, sizeof *m->flops);
  if (!list || !m->flops) return false;
  if (!cxi_program_flops(p, m->flops)) {
    cxi_fail(CX_EMEMORY, "checkpoint: out of memory");
    return false;
  }
  if (!walk_back(m)) return false;
  for (int round = 0; round < ROUNDS; round++) {
    double room = budget;
    bool more = false;
    for (uint32_t v = 0; v < p->n_values; v++) {
      m->kept[v] = m->saved[v];
      if (m->saved[v]) room -= bytes_of(p, v);
    }
    const uint32_t n = candidates_of(m, list);
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
    start_over(m);
    if (!walk_back(m)) return false;
  }
  return true;
}

/* Emits the equations of the known part, all or those in `again`. */
static bool emit_known(remat *m, bool all) {
  const cxi_program *p = m->p;
  const cxi_name site = cxi_site_now(), scope = cxi_scope_now();
  for (uint32_t v = p->n_in; v < p->n_in + p->n_literals; v++)
    m->env[v] = cxi_literal_bits(cxi_type_dtype(p->values[v].type),
                                 cxi_literal_bits_of(p, v));
  bool ok = true;
  for (uint32_t i = 0; ok && i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    if (!all && !m->again[i]) continue;
    const cxi_mark mark = cxi_scratch_mark();
    cx *args = cxi_call_array(e->n_in, sizeof *args);
    cx *out = cxi_call_array(e->n_out, sizeof *out);
    ok = args && out;
    for (uint32_t k = 0; ok && k < e->n_in; k++)
      args[k] = m->env[cxi_operands_of(p, e)[k]];
    cxi_site_use(e->site);
    cxi_scope_use(e->scope);
    ok = ok &&
         cxi_emit((cxi_prim)e->prim, e->params, e->n_in, args, e->n_out, out);
    /* a saved value is an input, also where its equation runs again */
    for (uint32_t k = 0; ok && k < e->n_out; k++)
      if (all || !m->saved[e->out + k]) m->env[e->out + k] = out[k];
    cxi_scratch_reset(mark);
  }
  cxi_site_use(site);
  cxi_scope_use(scope);
  return ok;
}

/* now(known ins) -> known outs, saved */
static const cxi_program *write_now(remat *m, uint32_t n_saved) {
  const cxi_program *p = m->p;
  cx *out = cxi_call_array((size_t)m->n_outs + n_saved, sizeof *out);
  if (!out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    m->env[i] = cxi_builder_input(&b, p->values[i].type);
  emit_known(m, true);
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->n_outs; i++) out[n++] = m->env[p->outputs[i]];
  for (uint32_t v = 0; v < p->n_values; v++)
    if (m->saved[v]) out[n++] = m->env[v];
  return cxi_call_finish(&b, p->name, p->n_in, m->env, n, out);
}

/* again(needed known ins, saved, unknown ins) -> unknown outs */
static const cxi_program *write_again(remat *m, uint32_t n_saved,
                                      const bool *needs) {
  const cxi_program *p = m->p, *u = m->unknown;
  const uint32_t n_unknown = u->n_in - m->n_residuals;
  cx *in = cxi_call_array((size_t)p->n_in + n_saved + n_unknown, sizeof *in);
  cx *args = cxi_call_array(u->n_in, sizeof *args);
  cx *out = cxi_call_array(u->n_out, sizeof *out);
  if (!in || !args || !out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (needs[i])
      m->env[i] = in[n++] = cxi_builder_input(&b, p->values[i].type);
  for (uint32_t v = 0; v < p->n_values; v++)
    if (m->saved[v])
      m->env[v] = in[n++] = cxi_builder_input(&b, p->values[v].type);
  for (uint32_t i = 0; i < n_unknown; i++)
    args[i] = in[n++] = cxi_builder_input(&b, u->values[i].type);
  emit_known(m, false);
  for (uint32_t i = 0; i < m->n_residuals; i++)
    args[n_unknown + i] = m->env[p->outputs[m->n_outs + i]];
  cxi_replay(u, args, out);
  return cxi_call_finish(&b, u->name, n, in, u->n_out, out);
}

bool cxi_remat_cut(const cxi_checkpoint_params *params, const cxi_partial *cut,
                   cxi_remat *out) {
  const saving policy = policy_of(params->policy);
  const bool looks =
      (policy != NOTHING || params->names.n) && policy != EVERYTHING;
  remat m = { .p = looks ? inline_calls(cut->known) : cut->known,
              .unknown = cut->unknown,
              .n_residuals = cut->n_residuals };
  if (!m.p) return false;
  const cxi_program *p = m.p;
  m.n_outs = p->n_out - m.n_residuals;
  m.kept = cxi_call_array(p->n_values, sizeof *m.kept);
  m.need = cxi_call_array(p->n_values, sizeof *m.need);
  m.saved = cxi_call_array(p->n_values, sizeof *m.saved);
  m.again = cxi_call_array(p->n_equations, sizeof *m.again);
  m.env = cxi_call_array(p->n_values, sizeof *m.env);
  bool *needs = cxi_call_array(p->n_in, sizeof *needs);
  if (!m.kept || !m.need || !m.saved || !m.again || !m.env || !needs)
    return false;
  double budget;
  if (budget_of(params->policy, &budget)) {
    if (!keep_within(&m, budget)) return false;
  } else {
    mark_kept(params, p, m.kept);
    if (!walk_back(&m)) return false;
  }
  *out = (cxi_remat){ .needs = needs };
  for (uint32_t v = 0; v < p->n_values; v++) out->n_saved += m.saved[v];
  for (uint32_t i = 0; i < p->n_in; i++) needs[i] = m.need[i];
  for (uint32_t i = 0; i < p->n_equations; i++)
    out->recomputes = out->recomputes || m.again[i];
  out->now = write_now(&m, out->n_saved);
  out->again = out->now ? write_again(&m, out->n_saved, needs) : NULL;
  return out->again != NULL;
}
