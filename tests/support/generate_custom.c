/* generate_custom.c - functions with rules of their own.
 *
 * A rule is the function's derivative, made in one of several ways, or bent:
 * not its derivative, but still linear where it has to be. Bodies and rules
 * have integer, boolean and empty operands like all others, and functions with
 * rules inside. */
#include <string.h>

#include "ops/lax.h"
#include "support/batching.h"
#include "support/generate.h"
#include "support/verdict.h"
#include "transforms/transforms.h"

static void all_floats(const cxi_program *p, bool *in, bool *out) {
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_type_is_float(p->values[i].type);
  for (uint32_t i = 0; i < p->n_out; i++)
    out[i] = cxi_type_is_float(cxi_output_type(p, i));
}

/* An equation with rules for some body, on operands in[]. */
typedef bool emitter(gen *g, cxi_prim prim, const cxi_program *body, uint32_t n,
                     const cx *in);
static bool with_body(gen *g, cxi_prim prim, emitter *emit) {
  cx in[GEN_FEW];
  uint32_t n;
  const cxi_program *body = gen_some_body(g, 1 + gen_draw(g, 3), &n, in);
  if (!body) return false;
  cxi_hold_enter();
  const bool ok = emit(g, prim, body, n, in);
  cxi_hold_leave();
  cxi_program_release(body);
  return ok;
}

/* -- rules that are not the derivative ------------------------------------ */

/* Room for the inputs or outputs of a rule: the function's, and as many more
 * tangents, cotangents or residuals. */
enum { MANY = 8 * GEN_FEW };

typedef struct bending {
  uint32_t first_in, first_out; /* what comes before stays */
  bool linear;                  /* in what may be bent */
  bool bent;                    /* some are */
} bending;

static cx bend_input(gen *g, bending *s, cx x) {
  if (!cxi_type_is_float(cxi_type_at(x)) || gen_draw(g, 4)) return x;
  s->bent = true;
  return cxi_zeros(cxi_type_at(x));
}

static cx bend_output(gen *g, bending *s, cx x) {
  if (!cxi_type_is_float(cxi_type_at(x))) return x;
  const uint32_t how = gen_draw(g, s->linear ? 5 : 7);
  if (how < 3) return x;
  s->bent = true;
  if (how == 3) return cxi_zeros(cxi_type_at(x));
  if (how == 4) return cxi_scale(x, 0.5);
  return cxi_clamp(cxi_number_like(x, -0.25), x, cxi_number_like(x, 0.75));
}

/* p with some inputs taken as zeros and some results changed. */
static const cxi_program *bend(gen *g, const cxi_program *p, bending *s) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[MANY], args[MANY], out[MANY];
  if (p->n_in > MANY || p->n_out > MANY) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++) {
    in[i] = cxi_builder_input(&b, p->values[i].type);
    args[i] = i < s->first_in ? in[i] : bend_input(g, s, in[i]);
  }
  cxi_replay(p, args, out);
  for (uint32_t i = s->first_out; i < p->n_out; i++)
    out[i] = bend_output(g, s, out[i]);
  const cxi_program *q =
      cxi_builder_finish(&b, p->name, p->n_in, in, p->n_out, out, &error);
  return q ? cxi_hold(q) : NULL;
}

static const cxi_program *renamed(const cxi_program *p, const char *name) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[MANY], out[MANY];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_replay(p, in, out);
  const cxi_program *q = cxi_builder_finish(&b, cxi_name_of(name), p->n_in, in,
                                            p->n_out, out, &error);
  return q ? cxi_hold(q) : NULL;
}

/* -- custom_jvp ----------------------------------------------------------- */

static bool emit_jvp(gen *g, cxi_prim prim, const cxi_program *body, uint32_t n,
                     const cx *in) {
  bool wrt[GEN_FEW], outs[GEN_FEW], nonzero[GEN_FEW];
  cxi_error error = { 0 };
  cxi_custom_jvp_params p = { .body = body };
  all_floats(body, wrt, outs);
  p.rule = cxi_jvp(body, wrt, outs, false, nonzero, &error);
  if (!p.rule || has_primitive(p.rule, CXI_PRIM_custom_lin)) return false;
  bending s = { body->n_in, body->n_out, .linear = true };
  if (gen_one_in(g, 2)) p.rule = bend(g, p.rule, &s);
  if (s.bent) p.body = renamed(body, GENERATED_BENT);
  return p.rule && p.body && gen_emit(g, prim, &p, n, in);
}

bool gen_custom_jvp(gen *g, cxi_prim prim) {
  return with_body(g, prim, emit_jvp);
}

/* -- custom_vjp ----------------------------------------------------------- */

typedef struct pair {
  const cxi_program *fwd, *bwd; /* held; NULL: none */
} pair;

/* x -> (ys, xs) */
static const cxi_program *fwd_with_inputs(const cxi_program *body) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[GEN_FEW], out[2 * GEN_FEW];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < body->n_in; i++)
    in[i] = cxi_builder_input(&b, body->values[i].type);
  cxi_replay(body, in, out);
  memcpy(out + body->n_out, in, body->n_in * sizeof *in);
  const cxi_program *p =
      cxi_builder_finish(&b, cxi_name_of("fwd"), body->n_in, in,
                         body->n_out + body->n_in, out, &error);
  return p ? cxi_hold(p) : NULL;
}

/* The residuals are the inputs: bwd computes the rest again. */
static pair pair_of_inputs(const cxi_program *body, const bool *wrt,
                           const bool *outs) {
  uint32_t keep[GEN_FEW], n = 0;
  cxi_error error = { 0 };
  const cxi_program *vjp = cxi_vjp(body, wrt, outs, &error);
  if (!vjp) return (pair){ 0 };
  for (uint32_t i = body->n_out; i < vjp->n_out; i++) keep[n++] = i;
  return (pair){ fwd_with_inputs(body),
                 cxi_select_program(vjp, NULL, n, keep, &error) };
}

/* (residuals, cts of all floating ys) -> cts of all floating xs, from the
 * transpose of the linear part, which knows only some of the ys. */
static const cxi_program *bwd_of_parts(const cxi_program *body,
                                       const cxi_partial *parts,
                                       const bool *nonzero) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[MANY], args[MANY], out[MANY];
  bool linear[MANY] = { false }, all[GEN_FEW];
  const cxi_program *f = parts->unknown, *back = NULL;
  const uint32_t n_wrt = f->n_in - parts->n_residuals;
  if (f->n_in > MANY || parts->n_residuals + body->n_out > MANY) return NULL;
  for (uint32_t i = 0; i < n_wrt; i++) linear[i] = true;
  for (uint32_t i = 0; i < f->n_out; i++) all[i] = true;
  if (f->n_out > 0 &&
      !(back = cxi_transpose_program(f, linear, all, NULL, &error)))
    return NULL;
  uint32_t n = 0, n_args = 0, n_out = 0;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < parts->n_residuals; i++)
    args[n_args++] = in[n++] = cxi_builder_input(&b, f->values[n_wrt + i].type);
  for (uint32_t i = 0; i < body->n_out; i++) {
    const cxi_type type = cxi_output_type(body, i);
    if (!cxi_type_is_float(type)) continue;
    in[n] = cxi_builder_input(&b, type);
    if (nonzero[i]) args[n_args++] = in[n];
    n++;
  }
  if (back) cxi_replay(back, args, out);
  for (uint32_t i = 0; i < body->n_in; i++) {
    if (!cxi_type_is_float(body->values[i].type)) continue;
    if (!back) out[n_out] = cxi_zeros(body->values[i].type);
    n_out++;
  }
  const cxi_program *p =
      cxi_builder_finish(&b, cxi_name_of("bwd"), n, in, n_out, out, &error);
  return p ? cxi_hold(p) : NULL;
}

/* The residuals are what the linear part needs. */
static pair pair_of_parts(const cxi_program *body, const bool *wrt) {
  bool nonzero[GEN_FEW];
  cxi_error error = { 0 };
  cxi_partial parts;
  if (!cxi_linearize(body, wrt, &parts, nonzero, &error)) return (pair){ 0 };
  return (pair){ parts.known, bwd_of_parts(body, &parts, nonzero) };
}

static bool emit_vjp(gen *g, cxi_prim prim, const cxi_program *body, uint32_t n,
                     const cx *in) {
  bool wrt[GEN_FEW], outs[GEN_FEW];
  all_floats(body, wrt, outs);
  pair f = gen_one_in(g, 2) ? pair_of_inputs(body, wrt, outs)
                            : pair_of_parts(body, wrt);
  if (prim == CXI_PRIM_composite) {
    const bool plain = !f.fwd || !f.bwd || gen_draw(g, 2);
    const cxi_composite_params p = { .name = cxi_name_of("whole"),
                                     .body = body,
                                     .fwd = plain ? NULL : f.fwd,
                                     .bwd = plain ? NULL : f.bwd,
                                     .number = 0.5 };
    return gen_emit(g, prim, &p, n, in);
  }
  if (!f.fwd || !f.bwd) return false;
  bending s = { .first_in = f.fwd->n_out - body->n_out };
  if (gen_one_in(g, 2)) f.bwd = bend(g, f.bwd, &s);
  const cxi_custom_vjp_params p = {
    .body = body, .fwd = f.fwd, .bwd = f.bwd, .name = cxi_name_of("ruled")
  };
  return f.bwd && gen_emit(g, prim, &p, n, in);
}

bool gen_custom_vjp(gen *g, cxi_prim prim) {
  return with_body(g, prim, emit_vjp);
}

/* -- custom_vmap ---------------------------------------------------------- */

bool gen_custom_vmap(gen *g, cxi_prim prim) {
  cx in[GEN_FEW];
  uint32_t n;
  cxi_custom_vmap_params p = { .name = cxi_name_of("mapped") };
  p.body = gen_some_body(g, 1 + gen_draw(g, 3), &n, in);
  if (!p.body) return false;
  batching_install();
  if (gen_draw(g, 4))
    p.rule = batching_number(p.body, (int)gen_draw(g, BATCHING_MANNERS));
  const bool ok = gen_emit(g, prim, &p, n, in);
  cxi_program_release(p.body);
  return ok;
}
