/* linearize.c - cx_linearize and cx_pullback: the primal part runs now, the
 * residuals become captures of the linear function that is returned. */
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "trace/body.h"
#include "trace/derive.h"
#include "trace/tracer.h"

typedef struct cut {
  cxi_body body;
  cxi_sig primals;           /* the tuple */
  const cxi_structure *args; /* its structure */
  cxi_sig y;                 /* f's result, less aux */
  uint32_t n_primals, n_out, n_y;
  cxi_type *primal_types, *out_types;
  bool *nonzero_out;
  cxi_partial partial; /* programs with references */
} cut;

/* The linear function of p: a program of (residuals, argument), on an argument
 * of structure `arg`. */
static cx_fn linear_fn(const cxi_program *p, const char *name, uint32_t n,
                       const cx *residuals, cxi_sig arg, cxi_sig out) {
  cxi_item *captures = cxi_scratch(n * sizeof *captures + 1);
  if (!captures) return cxi_report_memory(), NULL;
  for (uint32_t i = 0; i < n; i++) captures[i] = cxi_item_of(residuals[i]);
  return cxi_fn_of_program(p, name, n, captures, 1, NULL, &arg, out);
}

static cxi_sig floats_of(cxi_sig sig, const cxi_type *types) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_type *floats = cxi_scratch(n * sizeof *floats + 1);
  if (!floats) return 0;
  for (uint32_t i = 0; i < n; i++)
    floats[i] = cxi_type_is_float(types[i]) ? types[i] : 0;
  return cxi_sig_with_types(sig, floats);
}

/* With aux: f's result is (y, aux), and aux is no function of the primals. */
static bool leave_aux(cut *c, const char *what, cx *out_poison) {
  const cxi_sig out = c->body.entry->out;
  const cxi_structure *s = cxi_sig_is_leaf(out) ? NULL : cxi_structure_of(out);
  if (!s || s->is_none || s->is_dict || s->n != 2) {
    char got[160];
    cxi_sig_print(got, sizeof got, out);
    *out_poison = cxi_reportf(CX_ETREE,
                              "%s(%.120s): must return (y, aux), got "
                              "%s",
                              what, c->body.f->code->name, got);
    return false;
  }
  const cxi_program *p = c->body.p;
  cx *in = cxi_scratch(p->n_in * sizeof *in + 1);
  cx *results = cxi_scratch(p->n_out * sizeof *results + 1);
  if (!in || !results) return *out_poison = cxi_report_memory(), false;
  cxi_builder b;
  cxi_error error = { 0 };
  c->y = s->items[0];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_replay(p, in, results);
  for (uint32_t i = cxi_sig_leaves(c->y); i < p->n_out; i++)
    results[i] = cxi_stop_gradient(results[i]);
  const cxi_program *made =
      cxi_builder_finish(&b, p->name, p->n_in, in, p->n_out, results, &error);
  if (!made) {
    *out_poison = cxi_report_error(c->body.f->code->name, &error);
    return false;
  }
  if (c->body.converted) cxi_program_release(p);
  c->body.p = made;
  c->body.converted = true;
  return true;
}

/* Forward mode, split: the tangents are asked for, so that a function with a
 * backward of its own (a composite) takes the way that has tangents. */
static bool cut_forward(cut *c, const bool *nonzero, cxi_error *error) {
  const cxi_program *p = c->body.p;
  const cxi_program *q =
      cxi_jvp(p, nonzero, NULL, false, c->nonzero_out, error);
  if (!q) return false;
  bool *unknown = cxi_scratch(q->n_in + (size_t)1);
  bool *later = cxi_scratch(q->n_out + (size_t)1);
  bool *made = cxi_scratch(q->n_out + (size_t)1);
  if (!unknown || !later || !made) {
    cxi_error_set(error, CX_EMEMORY, "linearize: no memory");
    return false;
  }
  for (uint32_t i = p->n_in; i < q->n_in; i++) unknown[i] = true;
  for (uint32_t i = p->n_out; i < q->n_out; i++) later[i] = true;
  return cxi_partial_eval(q, unknown, later, &c->partial, made, error);
}

static bool cut_primals(cut *c, bool pulls, cx_fn f, cx primals, bool has_aux,
                        cx *out_poison) {
  const char *what = pulls ? "pullback" : "linearize";
  const cxi_item item = cxi_number_strong(cxi_item_for(what, primals));
  if (item.kind == CXI_ITEM_POISON) return *out_poison = item.as.handle, false;
  c->primals = cxi_sig_of(item);
  if (!c->primals && item.kind == CXI_ITEM_TREE)
    return *out_poison = cxi_report_memory(), false;
  c->args = item.kind == CXI_ITEM_TREE && c->primals
                ? cxi_structure_of(c->primals)
                : NULL;
  if (!c->args || c->args->is_dict) {
    *out_poison =
        cxi_reportf(CX_ETREE, "%s: the primals are one tuple, this is %s", what,
                    cx_show(primals));
    return false;
  }
  if (!cxi_body_resolve(&c->body, f, c->args->n, c->args->items, out_poison))
    return false;
  c->y = c->body.entry->out;
  if (has_aux && !leave_aux(c, what, out_poison)) return false;
  const cxi_program *p = c->body.p;
  c->n_y = cxi_sig_leaves(c->y);
  c->n_primals = c->args->n_leaves;
  c->n_out = p->n_out;
  c->primal_types = cxi_scratch(c->n_primals * sizeof *c->primal_types + 1);
  c->out_types = cxi_scratch(c->n_out * sizeof *c->out_types + 1);
  c->nonzero_out = cxi_scratch(c->n_out + 1u);
  bool *nonzero = cxi_scratch(p->n_in + 1u);
  if (!c->primal_types || !c->out_types || !c->nonzero_out || !nonzero)
    return *out_poison = cxi_report_memory(), false;
  cxi_sig_types(c->primals, c->primal_types);
  cxi_sig_types(c->body.entry->out, c->out_types);
  for (uint32_t i = 0; i < c->n_primals; i++)
    nonzero[c->body.n_consts + i] = cxi_type_is_float(c->primal_types[i]);
  cxi_error error = { 0 };
  if (pulls ? cxi_linearize(p, nonzero, &c->partial, c->nonzero_out, &error)
            : cut_forward(c, nonzero, &error))
    return true;
  *out_poison = cxi_report_error(f->code->name, &error);
  return false;
}

/* Runs the known part: outs, then residuals, as handles. */
static bool run_known(const cut *c, cx primals, cx *out, cx *out_poison) {
  const cxi_program *known = c->partial.known;
  cx *in = cxi_scratch(known->n_in * sizeof *in + 1);
  if (!in) return *out_poison = cxi_report_memory(), false;
  cxi_body_consts(&c->body, in);
  cxi_leaf_operands(cxi_number_strong(cxi_item_of(primals)),
                    in + c->body.n_consts);
  if (cxi_call(known, in, out)) return true;
  *out_poison = known->n_out ? out[0] : cxi_poison_last();
  return false;
}

/* (residuals, tangents of the floats) -> a tangent of each floating result. */
static const cxi_program *forward(const cut *c, cxi_error *error) {
  const cxi_program *u = c->partial.unknown;
  const uint32_t n_residuals = c->partial.n_residuals;
  const uint32_t n_tangents = u->n_in - n_residuals;
  cxi_builder b;
  cx *in = cxi_scratch(u->n_in * sizeof *in + 1);
  cx *own = cxi_scratch(u->n_in * sizeof *own + 1);
  cx *made = cxi_scratch(u->n_out * sizeof *made + 1);
  cx *out = cxi_scratch(c->n_out * sizeof *out + 1);
  if (!in || !own || !made || !out) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < u->n_in; i++) {
    const uint32_t to = i < n_residuals ? n_tangents + i : i - n_residuals;
    own[to] = in[i] = cxi_builder_input(&b, u->values[to].type);
  }
  cxi_replay(u, own, made);
  uint32_t n_out = 0, at = 0;
  for (uint32_t i = 0; i < c->n_y; i++) {
    if (!cxi_type_is_float(c->out_types[i])) continue;
    out[n_out++] = c->nonzero_out[i] ? made[at++] : cxi_zeros(c->out_types[i]);
  }
  return cxi_builder_finish(&b, u->name, u->n_in, in, n_out, out, error);
}

/* (residuals, cotangents of the floats) -> a cotangent of each floating
 * primal. */
static const cxi_program *backward(const cut *c, cxi_error *error) {
  const cxi_program *u = c->partial.unknown;
  const uint32_t n_residuals = c->partial.n_residuals;
  const uint32_t n_tangents = u->n_in - n_residuals;
  cx *in = cxi_scratch((n_residuals + c->n_out) * sizeof *in + 1);
  cx *own = cxi_scratch((n_residuals + c->n_out) * sizeof *own + 1);
  cx *out = cxi_scratch(n_tangents * sizeof *out + 1);
  if (!in || !own || !out) return NULL;
  const cxi_program *t = cxi_transpose_linear(u, n_tangents, NULL, error);
  if (!t) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  uint32_t n_in = 0, n_own = 0;
  for (; n_in < n_residuals; n_in++)
    own[n_own++] = in[n_in] =
        cxi_builder_input(&b, u->values[n_tangents + n_in].type);
  for (uint32_t i = 0; i < c->n_y; i++) {
    if (!cxi_type_is_float(c->out_types[i])) continue;
    in[n_in] = cxi_builder_input(&b, c->out_types[i]);
    if (c->nonzero_out[i]) own[n_own++] = in[n_in];
    n_in++;
  }
  cxi_replay(t, own, out);
  return cxi_builder_finish(&b, u->name, n_in, in, n_tangents, out, error);
}

static cx_fn finish(const cut *c, bool pulls, const cx *known) {
  cxi_error error = { 0 };
  const cxi_program *p = pulls ? backward(c, &error) : forward(c, &error);
  const cxi_sig x = floats_of(c->primals, c->primal_types);
  const cxi_sig y = floats_of(c->y, c->out_types);
  char name[160];
  snprintf(name, sizeof name, "%s(%.120s)", pulls ? "pullback" : "linearize",
           c->body.f->code->name);
  cx_fn f = NULL;
  if (!p || !x || !y)
    cxi_report_error(name, &error);
  else
    f = linear_fn(p, name, c->partial.n_residuals, known + c->n_out,
                  pulls ? y : x, pulls ? x : y);
  cxi_program_release(p);
  return f;
}

static cx_fn linearize(cx_fn f, cx primals, cx *out_value, bool has_aux,
                       bool pulls) {
  cut c = { 0 };
  cx poison = { 0, 1 }, value = poison;
  cx_fn made = NULL;
  const cxi_mark mark = cxi_scratch_mark();
  cxi_hold_enter();
  if (cut_primals(&c, pulls, f, primals, has_aux, &poison)) {
    cx *known = cxi_scratch(c.partial.known->n_out * sizeof *known + 1);
    if (!known)
      poison = cxi_report_memory();
    else if (run_known(&c, primals, known, &poison)) {
      made = finish(&c, pulls, known);
      value = cxi_tree_of_handles(c.body.entry->out, known);
    }
  }
  cxi_body_end(&c.body);
  cxi_hold_leave();
  cxi_scratch_reset(mark);
  if (out_value) *out_value = made ? value : poison;
  return made;
}

cx_fn cx_linearize_(cx_fn f, cx primals, cx *out_value, cx_aux_opt opt,
                    const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (f && cxi_context_need())
    return linearize(f, primals, out_value, opt.has_aux, false);
  if (out_value) *out_value = cxi_poison_last();
  return NULL;
}

cx_fn cx_pullback_(cx_fn f, cx primals, cx *out_value, cx_aux_opt opt,
                   const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (f && cxi_context_need())
    return linearize(f, primals, out_value, opt.has_aux, true);
  if (out_value) *out_value = cxi_poison_last();
  return NULL;
}

/* -- linear_transpose ------------------------------------------------------ */

/* Whether all leaves are floating; else false after reporting. */
static bool all_floating(cx_fn f, const char *what, uint32_t n,
                         const cxi_type *types) {
  for (uint32_t i = 0; i < n; i++) {
    if (cxi_type_is_float(types[i])) continue;
    char text[128];
    cxi_aval_print(text, sizeof text, cxi_type_aval(types[i]));
    cxi_reportf(CX_EDTYPE, "linear_transpose(%.120s): %s %s has no cotangent",
                f->code->name, what, text);
    return false;
  }
  return true;
}

static cx_fn transpose(cx_fn f, const cxi_body *body, cxi_sig primals,
                       uint32_t n) {
  const cxi_program *p = body->p;
  bool *linear = cxi_scratch(p->n_in + 1u);
  cxi_type *in = cxi_scratch(n * sizeof *in + 1);
  cxi_type *out = cxi_scratch(p->n_out * sizeof *out + 1);
  cx *consts = cxi_scratch(body->n_consts * sizeof *consts + 1);
  if (!linear || !in || !out || !consts) return cxi_report_memory(), NULL;
  cxi_sig_types(primals, in);
  cxi_sig_types(body->entry->out, out);
  if (!all_floating(f, "argument", n, in) ||
      !all_floating(f, "result", p->n_out, out))
    return NULL;
  for (uint32_t i = body->n_consts; i < p->n_in; i++) linear[i] = true;
  char name[160];
  snprintf(name, sizeof name, "linear_transpose(%.120s)", f->code->name);
  cxi_error error = { 0 };
  const cxi_program *t = cxi_transpose_part(p, linear, &error);
  if (!t) {
    const cxi_name site = cxi_transform_error_site();
    const cxi_name before = site ? cxi_site_use(site) : cxi_site_now();
    cxi_report_error(name, &error);
    cxi_site_use(before);
    return NULL;
  }
  cxi_body_consts(body, consts);
  return linear_fn(t, name, body->n_consts, consts, body->entry->out, primals);
}

cx_fn cx_linear_transpose_(cx_fn f, cx primals, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!f || !cxi_context_need()) return NULL;
  const cxi_item item =
      cxi_number_strong(cxi_item_for("linear_transpose", primals));
  if (item.kind == CXI_ITEM_POISON) return NULL;
  const cxi_sig sig = cxi_sig_of(item);
  const cxi_structure *s =
      item.kind == CXI_ITEM_TREE && sig ? cxi_structure_of(sig) : NULL;
  if (!s || s->is_dict) {
    cxi_reportf(CX_ETREE,
                "linear_transpose: the primals are one tuple, this is "
                "%s",
                cx_show(primals));
    return NULL;
  }
  const cxi_mark mark = cxi_scratch_mark();
  cxi_body body = { 0 };
  cx poison;
  cx_fn made = NULL;
  cxi_hold_enter();
  if (cxi_body_resolve(&body, f, s->n, s->items, &poison))
    made = transpose(f, &body, sig, s->n_leaves);
  cxi_body_end(&body);
  cxi_hold_leave();
  cxi_scratch_reset(mark);
  return made;
}
