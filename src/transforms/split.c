/* split.c - the splitting emitter. */
#include "transforms/split.h"

#include <string.h>

#include "base/alloc.h"

static cxi_split *split_of(cxi_emitter *e) {
  return (cxi_split *)(void *)e;
}

static cxi_emitter *side_of(cxi_split *s, cx a) {
  return cxi_split_is_unknown(s, a) ? &s->unknown.emitter : &s->known->emitter;
}

static bool info(cxi_emitter *e, cx a, cxi_info *out) {
  cxi_emitter *to = side_of(split_of(e), a);
  return to->info(to, a, out);
}

static cx literal(cxi_emitter *e, cx_dtype dtype, bool weak, uint64_t bits) {
  cxi_emitter *to = &split_of(e)->known->emitter;
  return to->literal(to, dtype, weak, bits);
}

static cx fail(cxi_emitter *e, cx_code code, const char *text) {
  cxi_emitter *to = &split_of(e)->known->emitter;
  return to->fail(to, code, text);
}

void cxi_split_into_known(cxi_split *s) {
  cxi_emitter_use(&s->known->emitter);
}
void cxi_split_into_unknown(cxi_split *s) {
  cxi_emitter_use(&s->unknown.emitter);
}

/* -- residuals ------------------------------------------------------------ */

/* Writes a value made of literals alone again; false if it is not one. */
static bool write_again(cxi_split *s, const cxi_builder_value *v, cx *out) {
  cxi_emitter *u = &s->unknown.emitter;
  if (v->source == CXI_LITERAL) {
    *out = u->literal(u, cxi_type_dtype(v->type), v->weak, v->bits);
    return true;
  }
  if (!cxi_is_equation(v->source)) return false;
  const cxi_equation *e = &s->known->equations[v->source];
  if (e->prim != CXI_PRIM_broadcast_in_dim && e->prim != CXI_PRIM_iota)
    return false;
  cx in = { 0 };
  if (e->n_in == 1) {
    const cxi_builder_value *x = &s->known->values[s->known->operands[e->in]];
    if (x->source != CXI_LITERAL) return false;
    in = u->literal(u, cxi_type_dtype(x->type), x->weak, x->bits);
  }
  const cxi_name site = cxi_site_use(e->site), scope = cxi_scope_use(e->scope);
  u->emit(u, (cxi_prim)e->prim, e->params, e->n_in, &in, 1, out);
  cxi_site_use(site);
  cxi_scope_use(scope);
  return true;
}

static cx no_memory(cxi_split *s) {
  cxi_emitter *u = &s->unknown.emitter;
  return u->fail(u, CX_EMEMORY, "no memory to split a program");
}

/* Makes s->crossed reach to known value `id`. */
static bool reach(cxi_split *s, uint32_t id) {
  const uint32_t before = s->cap_crossed;
  if (id < before) return true;
  if (!cxi_grow(&s->crossed, &s->cap_crossed, id + (size_t)1,
                sizeof *s->crossed))
    return false;
  memset(s->crossed + before, 0,
         (s->cap_crossed - before) * sizeof *s->crossed);
  return true;
}

cx cxi_split_residual(cxi_split *s, cx a) {
  if (!cxi_builder_owns(s->known, a)) return a;
  const uint32_t id = a.index - 1;
  if (!reach(s, id)) return no_memory(s);
  if (cxi_given(s->crossed[id])) return s->crossed[id];
  const cxi_builder_value v = *cxi_builder_value_of(s->known, a);
  cx crossed;
  if (!write_again(s, &v, &crossed)) {
    if (!cxi_grow(&s->residuals, &s->cap_residuals, s->n_residuals + (size_t)1,
                  sizeof *s->residuals))
      return no_memory(s);
    crossed = cxi_builder_input(&s->unknown, v.type);
    s->residuals[s->n_residuals++] = (cxi_residual){ a, crossed };
  }
  return s->crossed[id] = crossed;
}

/* -- equations ------------------------------------------------------------ */

/* The equation as it is, on the unknown side. */
static bool emit_unknown(cxi_split *s, cxi_prim prim, const void *params,
                         uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  cxi_emitter *u = &s->unknown.emitter;
  const cxi_mark mark = cxi_scratch_mark();
  cx *operands = cxi_walk_scratch(n_in, sizeof *operands);
  bool ok = operands != NULL;
  for (uint32_t i = 0; ok && i < n_in; i++)
    operands[i] = cxi_split_residual(s, in[i]);
  for (uint32_t i = 0; !ok && i < n_out; i++) out[i] = no_memory(s);
  ok = ok && u->emit(u, prim, params, n_in, operands, n_out, out);
  cxi_scratch_reset(mark);
  return ok;
}

static const cx poison = { 0, 1 };

/* Lets the row cut the equation; `c` has its types. */
static bool cut(cxi_split *s, const cxi_row *row, const cxi_infer *c,
                const cx *in, cx *out) {
  const uint32_t n = c->n_in, m = c->n_out;
  cx *known = cxi_walk_scratch(2 * (size_t)n, sizeof *known);
  cx *known_out = cxi_walk_scratch(2 * (size_t)m, sizeof *known_out);
  if (!known || !known_out) {
    for (uint32_t i = 0; i < m; i++) out[i] = poison;
    return false;
  }
  cx *unknown = known + n, *unknown_out = known_out + m;
  for (uint32_t i = 0; i < n; i++) {
    const bool there = cxi_split_is_unknown(s, in[i]);
    known[i] = there ? cx_none() : in[i];
    unknown[i] = there ? in[i] : cx_none();
  }
  for (uint32_t i = 0; i < m; i++) { /* out may be in */
    out[i] = poison;
    known_out[i] = unknown_out[i] = cx_none();
  }
  const cxi_rule rule = { .transforms = &cxi_transforms_table,
                          .row = row,
                          .params = c->params,
                          .n_in = n,
                          .n_out = m,
                          .in_types = c->in,
                          .out_types = c->out };
  cxi_emitter *before = cxi_emitter_now();
  row->partial_eval(&rule, s, known, unknown, known_out, unknown_out);
  cxi_emitter_use(before);
  for (uint32_t i = 0; i < m; i++) {
    const cx result = cxi_given(unknown_out[i]) ? unknown_out[i] : known_out[i];
    if (cxi_given(result)) out[i] = result;
  }
  return s->known->error.code == CX_OK && s->unknown.error.code == CX_OK;
}

static bool emit(cxi_emitter *em, cxi_prim prim, const void *params,
                 uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  cxi_split *s = split_of(em);
  cxi_emitter *k = &s->known->emitter;
  bool any_unknown = false;
  for (uint32_t i = 0; i < n_in; i++)
    any_unknown = any_unknown || cxi_split_is_unknown(s, in[i]);
  const cxi_row *row = cxi_row_of(prim);
  /* what cannot run by itself may have more to say of known operands */
  if (!any_unknown && !(row->form == CXI_FORM_NEVER && row->partial_eval))
    return k->emit(k, prim, params, n_in, in, n_out, out);
  if (!row->partial_eval)
    return emit_unknown(s, prim, params, n_in, in, n_out, out);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_type *types = cxi_walk_scratch(n_in, sizeof *types);
  cxi_infer c = { .params = params, .n_in = n_in, .in = types };
  bool ok = types != NULL;
  for (uint32_t i = 0; ok && i < n_in; i++) {
    cxi_info x;
    ok = info(em, in[i], &x);
    if (ok) types[i] = x.type;
  }
  ok = ok && cxi_params_valid(prim, params, &c.error) && row->infer(&c) &&
       c.n_out == n_out;
  if (ok) {
    ok = cut(s, row, &c, in, out);
  } else if (!types || c.error.code == CX_EMEMORY) {
    for (uint32_t i = 0; i < n_out; i++) out[i] = no_memory(s);
  } else { /* the builder says why */
    ok = emit_unknown(s, prim, params, n_in, in, n_out, out);
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- opening and finishing ------------------------------------------------ */

void cxi_split_open(cxi_split *s, cxi_builder *known) {
  *s = (cxi_split){ .emitter = { info, literal, emit, fail, NULL, NULL } };
  s->known = known ? known : &s->own;
  if (!known) cxi_builder_open(&s->own);
  s->emitter.outer = known ? &known->emitter : s->own.emitter.outer;
  cxi_builder_open(&s->unknown);
  cxi_emitter_use(&s->emitter);
}

/* first[0..n-1] and then one handle of each residual; NULL without memory, also
 * for first. */
static cx *with_residuals(const cxi_split *s, uint32_t n, const cx *first,
                          bool known) {
  cx *all = cxi_walk_scratch(n + (size_t)s->n_residuals, sizeof *all);
  if (!all || (n > 0 && !first)) return NULL;
  for (uint32_t i = 0; i < n; i++) all[i] = first[i];
  for (uint32_t i = 0; i < s->n_residuals; i++)
    all[n + i] = known ? s->residuals[i].known : s->residuals[i].unknown;
  return all;
}

/* An error of either side is one of both. */
static void share_error(cxi_builder *a, cxi_builder *b) {
  if (a->error.code == CX_OK || b->error.code != CX_OK) return;
  b->error = a->error;
  b->error_site = a->error_site;
}

static void share_errors(cxi_split *s) {
  share_error(s->known, &s->unknown);
  share_error(&s->unknown, s->known);
}

static void close_split(cxi_split *s) {
  cxi_emitter_use(s->emitter.outer);
  cxi_free(s->crossed);
  cxi_free(s->residuals);
}

bool cxi_split_finish(cxi_split *s, cxi_task *task, uint32_t n_known_in,
                      const cx *known_in, uint32_t n_unknown_in,
                      const cx *unknown_in, uint32_t n_known_out,
                      const cx *known_out, uint32_t n_unknown_out,
                      const cx *unknown_out) {
  cxi_memo *made = &task->memo;
  const uint32_t n = s->n_residuals;
  const cx *out = with_residuals(s, n_known_out, known_out, true);
  const cx *in = with_residuals(s, n_unknown_in, unknown_in, false);
  share_errors(s);
  made->n = n;
  made->b = cxi_task_finish(task, &s->unknown, "_unknown", n_unknown_in + n, in,
                            n_unknown_out, unknown_out);
  made->a = cxi_task_finish(task, s->known, "_known", n_known_in, known_in,
                            n_known_out + n, out);
  close_split(s);
  return made->a && made->b;
}

const cxi_program *cxi_split_finish_unknown(cxi_split *s, cxi_task *task,
                                            uint32_t n_in, const cx *in,
                                            uint32_t n_out, const cx *out,
                                            const cx **out_residuals,
                                            uint32_t *out_n_residuals) {
  const uint32_t n = s->n_residuals;
  const cx *known = with_residuals(s, 0, NULL, true);
  const cx *all = with_residuals(s, n_in, in, false);
  share_errors(s);
  const cxi_program *p =
      cxi_task_finish(task, &s->unknown, "_unknown", n_in + n, all, n_out, out);
  close_split(s);
  *out_residuals = known;
  *out_n_residuals = n;
  return p;
}
