/* remat_region.c - what a policy keeps of a program, what runs again. */
#include "primitives/remat_region.h"

#include <string.h>

#include "ops/lax.h"

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

/* -- opening -------------------------------------------------------------- */

static bool is_looked_into(const cxi_equation *e) {
  return (e->prim == CXI_PRIM_scan || e->prim == CXI_PRIM_cond) && !e->effects;
}

/* Looks into all loops and branches and numbers what they hand out. */
static bool look_inside(cxi_region *m, int depth) {
  enum { DEEPEST = 500 };
  const cxi_program *p = m->p;
  m->inside = cxi_call_array(p->n_equations, sizeof *m->inside);
  m->extra = cxi_call_array(p->n_equations, sizeof *m->extra);
  if (!m->inside || !m->extra) return false;
  for (uint32_t i = 0; i < p->n_equations && depth < DEEPEST; i++) {
    const cxi_equation *e = &p->equations[i];
    m->extra[i] = m->n_values;
    if (!is_looked_into(e)) continue;
    if (!cxi_region_look_inside(m->r, p, e, depth + 1, &m->inside[i]))
      return false;
    m->n_values += m->inside[i].n_extra;
  }
  return true;
}

/* The value that is result k of equation i. */
static uint32_t value_of(const cxi_region *m, uint32_t i, uint32_t k) {
  const cxi_equation *e = &m->p->equations[i];
  return k < e->n_out ? e->out + k : m->extra[i] + (k - e->n_out);
}

bool cxi_region_open(const cxi_rule *r, const cxi_program *p, cxi_looks looks,
                     int depth, cxi_region *out) {
  *out = (cxi_region){ .r = r, .p = looks ? inline_calls(p) : p };
  p = out->p;
  if (!p) return false;
  out->n_values = p->n_values;
  if (looks == CXI_LOOKS_INSIDE && !look_inside(out, depth)) return false;
  const uint32_t n = out->n_values;
  out->types = cxi_call_array(n, sizeof *out->types);
  out->kept = cxi_call_array(n, sizeof *out->kept);
  out->need = cxi_call_array(n, sizeof *out->need);
  out->saved = cxi_call_array(n, sizeof *out->saved);
  out->again = cxi_call_array(p->n_equations, sizeof *out->again);
  out->env = cxi_call_array(n, sizeof *out->env);
  if (!out->types || !out->kept || !out->need || !out->saved || !out->again ||
      !out->env)
    return false;
  for (uint32_t v = 0; v < p->n_values; v++) out->types[v] = p->values[v].type;
  if (looks != CXI_LOOKS_INSIDE) return true;
  cxi_remat_mark_kept(r->params, p, out->kept);
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_inside *x = &out->inside[i];
    for (uint32_t k = 0; k < x->n_extra; k++)
      out->types[out->extra[i] + k] = x->types[k];
    for (uint32_t k = 0; k < x->n_kept; k++)
      out->kept[value_of(out, i, x->kept[k])] = true;
  }
  return true;
}

/* -- the walk back -------------------------------------------------------- */

static bool hands_out(const cxi_region *m, uint32_t i) {
  return m->inside && m->inside[i].n_kept > 0;
}

/* What a loop or branch needs to run again for what is wanted of it. */
static bool need_inside(cxi_region *m, uint32_t i) {
  const cxi_equation *e = &m->p->equations[i];
  const uint32_t *operands = cxi_operands_of(m->p, e);
  cxi_inside *x = &m->inside[i];
  bool *wanted = cxi_call_array(e->n_out, sizeof *wanted);
  x->used = cxi_call_array(x->again->n_in, sizeof *x->used);
  if (!wanted || !x->used) return false;
  for (uint32_t k = 0; k < e->n_out; k++)
    wanted[k] = m->need[e->out + k] && !m->kept[e->out + k];
  x->part = m->r->transforms->narrow(x->again, wanted, x->used);
  if (!x->part) return false;
  for (uint32_t k = 0; k < e->n_in; k++)
    if (x->used[k]) m->need[operands[k]] = true;
  for (uint32_t k = 0; k < x->n_kept; k++)
    if (x->used[e->n_in + k]) m->saved[value_of(m, i, x->kept[k])] = true;
  return true;
}

bool cxi_region_walk_back(cxi_region *m) {
  const cxi_program *p = m->p;
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
    if (hands_out(m, i)) {
      if (!need_inside(m, i)) return false;
      continue;
    }
    for (uint32_t k = 0; k < e->n_in; k++)
      m->need[cxi_operands_of(p, e)[k]] = true;
  }
  return true;
}

void cxi_region_start_over(cxi_region *m) {
  memset(m->need, 0, m->n_values * sizeof *m->need);
  memset(m->saved, 0, m->n_values * sizeof *m->saved);
  memset(m->again, 0, m->p->n_equations * sizeof *m->again);
}

uint32_t cxi_region_count_saved(const cxi_region *m) {
  uint32_t n = 0;
  for (uint32_t v = 0; v < m->n_values; v++) n += m->saved[v];
  return n;
}

/* -- emitting ------------------------------------------------------------- */

/* The equation with its extra results. */
static bool emit_more(cxi_region *m, uint32_t i, const cx *args) {
  const cxi_equation *e = &m->p->equations[i];
  const cxi_inside *x = &m->inside[i];
  const uint32_t n = e->n_out + x->n_extra;
  cx *out = cxi_call_array(n, sizeof *out);
  const void *params = e->prim == CXI_PRIM_scan ? (const void *)&x->scan
                                                : (const void *)&x->cond;
  if (!out || !cxi_emit((cxi_prim)e->prim, params, e->n_in, args, n, out))
    return false;
  for (uint32_t k = 0; k < n; k++) m->env[value_of(m, i, k)] = out[k];
  return true;
}

/* What is wanted of it, from what is kept of it. */
static bool emit_part(cxi_region *m, uint32_t i, const cx *args) {
  const cxi_equation *e = &m->p->equations[i];
  const cxi_inside *x = &m->inside[i];
  cx *in = cxi_call_array(x->part->n_in, sizeof *in);
  cx *out = cxi_call_array(x->part->n_out, sizeof *out);
  uint32_t n = 0, at = 0;
  if (!in || !out) return false;
  for (uint32_t k = 0; k < e->n_in; k++)
    if (x->used[k]) in[n++] = args[k];
  for (uint32_t k = 0; k < x->n_kept; k++)
    if (x->used[e->n_in + k]) in[n++] = m->env[value_of(m, i, x->kept[k])];
  if (!cxi_replay(x->part, in, out)) return false;
  for (uint32_t v = e->out; v < e->out + e->n_out; v++)
    if (m->need[v] && !m->kept[v]) m->env[v] = out[at++];
  return true;
}

static bool emit_plain(cxi_region *m, uint32_t i, const cx *args, bool all) {
  const cxi_equation *e = &m->p->equations[i];
  cx *out = cxi_call_array(e->n_out, sizeof *out);
  if (!out ||
      !cxi_emit((cxi_prim)e->prim, e->params, e->n_in, args, e->n_out, out))
    return false;
  /* a saved value is an input, also where its equation runs again */
  for (uint32_t k = 0; k < e->n_out; k++)
    if (all || !m->saved[e->out + k]) m->env[e->out + k] = out[k];
  return true;
}

bool cxi_region_emit(cxi_region *m, bool all) {
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
    ok = args != NULL;
    for (uint32_t k = 0; ok && k < e->n_in; k++)
      args[k] = m->env[cxi_operands_of(p, e)[k]];
    cxi_site_use(e->site);
    cxi_scope_use(e->scope);
    if (ok)
      ok = !hands_out(m, i) ? emit_plain(m, i, args, all)
           : all            ? emit_more(m, i, args)
                            : emit_part(m, i, args);
    cxi_scratch_reset(mark);
  }
  cxi_site_use(site);
  cxi_scope_use(scope);
  return ok;
}

uint32_t cxi_region_hand_out(const cxi_region *m, cx *out) {
  uint32_t n = 0;
  for (uint32_t v = 0; v < m->n_values; v++)
    if (m->saved[v]) out[n++] = m->env[v];
  return n;
}

uint32_t cxi_region_take_in(cxi_region *m, cxi_builder *b, cx *in) {
  uint32_t n = 0;
  for (uint32_t v = 0; v < m->n_values; v++)
    if (m->saved[v]) m->env[v] = in[n++] = cxi_builder_input(b, m->types[v]);
  return n;
}
