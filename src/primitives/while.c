/* while.c - a loop with a predicate: the row, jvp, partial evaluation. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

cxi_while_sizes cxi_while_sizes_of(const cxi_while_params *p) {
  cxi_while_sizes n = { .cond_consts = (uint32_t)p->n_cond_consts,
                        .body_consts = (uint32_t)p->n_body_consts,
                        .carry = p->body->n_out,
                        .body_in = p->body->n_in };
  n.start_carry = n.cond_consts + n.body_consts;
  n.in = n.start_carry + n.carry;
  return n;
}

/* -- infer ---------------------------------------------------------------- */

static bool infer_sizes(cxi_infer *c, const cxi_while_params *p) {
  if (!p->cond || !p->body)
    return cxi_infer_fail(c, CX_ETREE, "no %s", p->cond ? "body" : "predicate");
  const int64_t carry = p->body->n_out, n_in = c->n_in;
  if (p->n_cond_consts < 0 || p->n_cond_consts > n_in || p->n_body_consts < 0 ||
      p->n_body_consts > n_in ||
      p->n_cond_consts + p->n_body_consts + carry != n_in)
    return cxi_infer_fail(c, CX_ETREE,
                          "%u operands for %lld + %lld constants and %lld "
                          "carries",
                          c->n_in, (long long)p->n_cond_consts,
                          (long long)p->n_body_consts, (long long)carry);
  const long long of_body = p->n_body_consts + carry;
  const long long of_cond = p->n_cond_consts + carry;
  if (p->body->n_in != of_body)
    return cxi_infer_fail(c, CX_ETREE, "the body takes %u operands, not %lld",
                          p->body->n_in, of_body);
  if (p->cond->n_in != of_cond)
    return cxi_infer_fail(c, CX_ETREE,
                          "the predicate takes %u operands, not %lld",
                          p->cond->n_in, of_cond);
  if (p->cond->n_out != 1 ||
      cxi_output_type(p->cond, 0) != cxi_type_scalar(CX_BOOL))
    return cxi_infer_fail(c, CX_ESHAPE, "the predicate must give one bool[]");
  return true;
}

/* Operands first.. against inputs of the program from input `at` on. */
static bool infer_operands(cxi_infer *c, const cxi_program *p, const char *who,
                           uint32_t first, uint32_t n, uint32_t at) {
  for (uint32_t i = 0; i < n; i++) {
    const cxi_type is = c->in[first + i], want = p->values[at + i].type;
    if (is == want) continue;
    char text[96], wants[96];
    cxi_aval_print(text, sizeof text, cxi_type_aval(is));
    cxi_aval_print(wants, sizeof wants, cxi_type_aval(want));
    return cxi_infer_fail(c, CX_ESHAPE, "operand %u is %s, the %s takes %s",
                          first + i, text, who, wants);
  }
  return true;
}

static bool infer(cxi_infer *c) {
  const cxi_while_params *p = c->params;
  if (!infer_sizes(c, p)) return false;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  if (!cxi_infer_carries(c, p->body, n.body_consts, n.carry) ||
      !infer_operands(c, p->cond, "predicate", 0, n.cond_consts, 0) ||
      !infer_operands(c, p->body, "body", n.cond_consts,
                      n.body_consts + n.carry, 0) ||
      !infer_operands(c, p->cond, "predicate", n.start_carry, n.carry,
                      n.cond_consts))
    return false;
  for (uint32_t i = 0; i < n.carry; i++)
    if (!cxi_infer_result(c, c->in[n.start_carry + i])) return false;
  return true;
}

/* -- jvp ------------------------------------------------------------------ */

/* The predicate for carries that are followed by n_more others. */
static const cxi_program *widen_cond(const cxi_program *cond, uint32_t n_more,
                                     const cxi_type *more) {
  bool ok = true;
  const uint32_t n = cond->n_in + n_more;
  uint32_t *place = cxi_array(n, sizeof *place, &ok);
  cxi_type *types = cxi_array(n, sizeof *types, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  for (uint32_t i = 0; i < n; i++) {
    const bool own = i < cond->n_in;
    place[i] = own ? i : CXI_IGNORED;
    types[i] = own ? cond->values[i].type : more[i - cond->n_in];
  }
  return cxi_body_fit(cond, n, place, types);
}

/* The predicate sees primals only; a carry that leaves a step with a tangent
 * enters with one. body'(consts, dconsts, carry, dcarry) -> carry, dcarry */
static void jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                cx *dout) {
  const cxi_while_params *p = r->params;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  bool ok = true;
  bool *nonzero = cxi_array(n.body_in, sizeof *nonzero, &ok);
  bool *nonzero_out = cxi_array(n.carry, sizeof *nonzero_out, &ok);
  cxi_type *types = cxi_array(n.carry, sizeof *types, &ok);
  cx *results = cxi_array(2 * (size_t)n.carry, sizeof *results, &ok);
  cxi_wires w = cxi_wires_new(n.cond_consts + 2 * (size_t)n.body_in, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.carry, out);
    return;
  }
  const cx *body_in = in + n.cond_consts, *body_dx = dx + n.cond_consts;
  const cxi_type *body_types = r->in_types + n.cond_consts;
  cxi_while_params s = *p;
  for (uint32_t i = 0; i < n.body_in; i++) nonzero[i] = cxi_given(body_dx[i]);
  do {
    s.body = r->transforms->jvp(p->body, nonzero, nonzero + n.body_consts,
                                r->linearizing, nonzero_out);
    if (!s.body) {
      cxi_rule_stop(n.carry, out);
      return;
    }
  } while (cxi_join(n.carry, nonzero + n.body_consts, nonzero_out));

  for (uint32_t i = 0; i < n.cond_consts; i++) cxi_wire(&w, in[i], 0);
  const uint32_t cut[] = { 0, n.body_consts, n.body_in };
  uint32_t tangent = n.body_in, n_tangents = 0;
  for (int part = 0; part < 2; part++) {
    for (uint32_t i = cut[part]; i < cut[part + 1]; i++)
      cxi_wire(&w, body_in[i], i);
    for (uint32_t i = cut[part]; i < cut[part + 1]; i++) {
      if (!nonzero[i]) continue;
      const cx t =
          cxi_given(body_dx[i]) ? body_dx[i] : cxi_zeros(body_types[i]);
      cxi_wire(&w, t, tangent++);
      if (part == 1) types[n_tangents++] = body_types[i];
    }
  }
  s.n_body_consts = (int64_t)w.n - n.cond_consts - n.carry - n_tangents;
  s.body = r->transforms->select(s.body, w.places + n.cond_consts,
                                 s.body->n_out, NULL);
  s.cond = widen_cond(p->cond, n_tangents, types);
  if (!s.body || !s.cond) {
    cxi_rule_stop(n.carry, out);
    return;
  }
  cxi_while(&s, w.args, results);
  for (uint32_t i = 0, k = n.carry; i < n.carry; i++) {
    out[i] = results[i];
    if (nonzero_out[i]) dout[i] = results[k++];
  }
}

/* -- partial evaluation --------------------------------------------------- */

/* The loop of the carries in `keep`, with only the operands that it needs:
 * cond and body are narrowed, what they need is in cond_need and body_need. */
static bool emit_part(const cxi_while_params *p, const cxi_program *cond,
                      const bool *cond_need, const cxi_program *body,
                      const bool *body_need, const bool *keep, const cx *in,
                      cx *out) {
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  bool ok = true;
  uint32_t *cond_place = cxi_array(p->cond->n_in, sizeof *cond_place, &ok);
  uint32_t *body_place = cxi_array(n.body_in, sizeof *body_place, &ok);
  cx *results = cxi_array(n.carry, sizeof *results, &ok);
  cxi_wires c = cxi_wires_new(p->cond->n_in, &ok);
  cxi_wires b = cxi_wires_new(n.body_in, &ok);
  cx *args = cxi_array(n.in, sizeof *args, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  cxi_places(p->cond->n_in, cond_need, cond_place);
  cxi_places(n.body_in, body_need, body_place);
  for (uint32_t i = 0; i < n.cond_consts; i++)
    if (cond_need[i])
      cxi_wire_typed(&c, in[i], cond_place[i], p->cond->values[i].type);
  for (uint32_t i = 0; i < n.body_consts; i++)
    if (body_need[i])
      cxi_wire_typed(&b, in[n.cond_consts + i], body_place[i],
                     p->body->values[i].type);
  cxi_while_params s = { .n_cond_consts = c.n, .n_body_consts = b.n };
  for (uint32_t i = 0; i < n.carry; i++) {
    if (!keep[i]) continue;
    const uint32_t in_cond = n.cond_consts + i, in_body = n.body_consts + i;
    const cxi_type type = p->body->values[in_body].type;
    cxi_wire_typed(&c, cx_none(), cond_place[in_cond], type);
    cxi_wire_typed(&b, in[n.start_carry + i], body_place[in_body], type);
  }
  memcpy(args, c.args, (size_t)s.n_cond_consts * sizeof *args);
  memcpy(args + s.n_cond_consts, b.args, b.n * sizeof *args);
  s.cond = cxi_body_fit(cond, c.n, c.places, c.types);
  s.body = cxi_body_fit(body, b.n, b.places, b.types);
  if (!s.cond || !s.body) return false;
  cxi_while(&s, args, results);
  for (uint32_t i = 0, k = 0; i < n.carry; i++)
    if (keep[i]) out[i] = results[k++];
  return true;
}

/* -- partial evaluation --------------------------------------------------- */

/* Emits a loop of the known carries alone. part.known: known ins -> known
 * carries, residuals; the residuals are dropped. */
static bool emit_known(const cxi_rule *r, const cxi_partial *part,
                       const cxi_program *cond, const bool *cond_need,
                       const cx *known, const bool *unknown_body,
                       cx *known_out) {
  const cxi_while_sizes n = cxi_while_sizes_of(r->params);
  const uint32_t n_out = part->known->n_out;
  bool ok = true;
  bool *used = cxi_array(n_out, sizeof *used, &ok);
  bool *known_need = cxi_array(part->known->n_in, sizeof *known_need, &ok);
  bool *need = cxi_array(n.body_in, sizeof *need, &ok);
  bool *keep = cxi_array(n.carry, sizeof *keep, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  for (uint32_t i = 0; i < n_out - part->n_residuals; i++) used[i] = true;
  const cxi_program *body =
      r->transforms->narrow(part->known, used, known_need);
  if (!body) return false;
  for (uint32_t i = 0, k = 0; i < n.body_in; i++)
    if (!unknown_body[i]) need[i] = known_need[k++];
  for (uint32_t i = 0; i < n.carry; i++)
    keep[i] = !unknown_body[n.body_consts + i];
  return emit_part(r->params, cond, cond_need, body, need, keep, known,
                   known_out);
}

/* The loop of the unknown side beside the known one, whose effects it does not
 * repeat. False after reporting. */
static bool loop_again(const cxi_rule *r, const cxi_partial *part,
                       cxi_while_params *out) {
  if (!(part->known->effects | out->cond->effects)) return true;
  if (!part->unknown->effects) {
    out->body = r->transforms->narrow_quiet(out->body, NULL, NULL);
    out->cond = r->transforms->narrow_quiet(out->cond, NULL, NULL);
    if (!out->body || !out->cond) return false;
    if (!(out->body->effects | out->cond->effects)) return true;
  }
  cxi_fail(CX_ENORULE, "while: an effect would happen twice");
  return false;
}

/* The known carries get a loop of their own; the unknown side repeats the
 * whole, since nothing can be kept of a number of steps that is not known. */
static void partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                         const cx *unknown, cx *known_out, cx *unknown_out) {
  const cxi_while_params *p = r->params;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  bool ok = true;
  bool *unknown_body = cxi_array(n.body_in, sizeof *unknown_body, &ok);
  bool *cond_need = cxi_array(p->cond->n_in, sizeof *cond_need, &ok);
  bool *left = cxi_array(n.carry, sizeof *left, &ok);
  cx *args = cxi_array(n.in, sizeof *args, &ok);
  cx *results = cxi_array(n.carry, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.carry, unknown_out);
    return;
  }
  bool *unknown_carry = unknown_body + n.body_consts;
  const cxi_program *cond = r->transforms->narrow(p->cond, NULL, cond_need);
  cxi_partial part;
  for (uint32_t i = 0; i < n.body_in; i++)
    unknown_body[i] = cxi_given(unknown[n.cond_consts + i]);
  do {
    if (!cond || !r->transforms->partial_eval(p->body, unknown_body,
                                              unknown_carry, &part, left)) {
      cxi_rule_stop(n.carry, unknown_out);
      return;
    }
  } while (cxi_join(n.carry, unknown_carry, left));
  bool whole = false; /* the predicate depends on something unknown */
  for (uint32_t i = 0; i < p->cond->n_in; i++)
    if (cond_need[i])
      whole = whole || (i < n.cond_consts ? cxi_given(unknown[i])
                                          : unknown_carry[i - n.cond_consts]);
  for (uint32_t i = 0; whole && i < n.carry; i++) unknown_carry[i] = true;
  const uint32_t n_unknown = cxi_count(n.carry, unknown_carry);
  if (n_unknown < n.carry) {
    r->transforms->into_known(s);
    ok = emit_known(r, &part, cond, cond_need, known, unknown_body, known_out);
  }
  cxi_while_params again = *p;
  if (ok && n_unknown && n_unknown < n.carry) ok = loop_again(r, &part, &again);
  if (!ok) cxi_rule_stop(n.carry, unknown_out);
  if (!ok || !n_unknown) return;
  r->transforms->into_unknown(s);
  for (uint32_t i = 0; i < n.in; i++)
    args[i] = cxi_given(unknown[i]) ? unknown[i]
                                    : r->transforms->residual(s, known[i]);
  cxi_while(&again, args, results);
  for (uint32_t i = 0; i < n.carry; i++)
    if (unknown_carry[i]) unknown_out[i] = results[i];
}

/* -- dce ------------------------------------------------------------------ */

/* A carry stays if it is used, or if the predicate or a carry that stays needs
 * it. */
static void dce(const cxi_rule *r, const cx *in, const bool *used, cx *out) {
  const cxi_while_params *p = r->params;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  bool ok = true;
  bool *keep = cxi_array(n.carry, sizeof *keep, &ok);
  bool *need = cxi_array(n.body_in, sizeof *need, &ok);
  bool *cond_need = cxi_array(p->cond->n_in, sizeof *cond_need, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.carry, out);
    return;
  }
  if (!cxi_count(n.carry, used) && !(p->body->effects | p->cond->effects))
    return;
  const cxi_program *body = NULL;
  const cxi_program *cond = r->transforms->narrow(p->cond, NULL, cond_need);
  memcpy(keep, used, n.carry * sizeof *keep);
  cxi_join(n.carry, keep, cond_need + n.cond_consts);
  do {
    body = cond ? r->transforms->narrow(p->body, keep, need) : NULL;
  } while (body && cxi_join(n.carry, keep, need + n.body_consts));
  if (!body || !emit_part(p, cond, cond_need, body, need, keep, in, out))
    cxi_rule_stop(n.carry, out);
}

/* -- evaluate ------------------------------------------------------------- */

/* Whether another step follows. */
static bool evaluate_cond(cxi_eval *c, const cxi_view *arg, bool *out_more) {
  const cxi_while_params *p = c->params;
  cxi_view more;
  if (!c->run(c, p->cond, arg, NULL, &more)) return false;
  *out_more = *(const uint8_t *)more.data != 0;
  c->release(c, &more);
  return true;
}

static bool evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  const cxi_while_params *p = c->params;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  const cxi_mark mark = cxi_scratch_mark();
  bool ok = true, more = false;
  cxi_view *cond_arg = cxi_array(p->cond->n_in, sizeof *cond_arg, &ok);
  cxi_view *arg = cxi_array(n.body_in, sizeof *arg, &ok);
  bool *give = cxi_array(n.body_in, sizeof *give, &ok);
  if (!ok) {
    cxi_scratch_reset(mark);
    return cxi_error_set(c->error, CX_EMEMORY, "no memory for a loop");
  }
  memcpy(cond_arg, in, n.cond_consts * sizeof *in);
  memcpy(arg, in + n.cond_consts, n.body_in * sizeof *in);
  cxi_view *carry = arg + n.body_consts;
  bool *owned = give + n.body_consts;
  for (;;) {
    memcpy(cond_arg + n.cond_consts, carry, n.carry * sizeof *carry);
    ok = evaluate_cond(c, cond_arg, &more);
    if (!ok || !more) break;
    ok = c->run(c, p->body, arg, give, carry);
    for (uint32_t i = 0; i < n.carry; i++)
      owned[i] = ok; /* a failed run has freed what it was given */
    if (!ok) break;
  }
  for (uint32_t i = 0; i < n.carry; i++) {
    if (ok) cxi_view_copy(&out[i], &carry[i]);
    if (owned[i]) c->release(c, &carry[i]);
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- the row -------------------------------------------------------------- */

static const char *const examples[] = {
  /* a counter and a value; a constant of each program */
  "program @less(%0: i32[], %1: i32[], %2: f64[3]) {\n"
  "  %3: bool[] = lt %1, %0\n"
  "  return %3\n"
  "}\n"
  "program @step(%0: f64[3], %1: i32[], %2: f64[3]) {\n"
  "  %3: i32[] = add %1, 1:i32\n"
  "  %4: f64[3] = mul %2, %0\n"
  "  %5: f64[3] = sin %4\n"
  "  return %3, %5\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: i32[], %3: f64[3] = while[cond=@less, body=@step, n_cond_consts=1,"
  " n_body_consts=1] 4:i32, %0, 0:i32, %1\n"
  "  return %2, %3\n"
  "}\n",
  /* a predicate on the values: halved until all are small */
  "program @large(%0: f32[2], %1: f32[]) {\n"
  "  %2: f32[2] = abs %0\n"
  "  %3: f32[] = reduce_max[axes=(0)] %2\n"
  "  %4: bool[] = gt %3, 1.0:f32\n"
  "  return %4\n"
  "}\n"
  "program @halve(%0: f32[2], %1: f32[]) {\n"
  "  %2: f32[2] = mul %0, 0.5:f32\n"
  "  %3: f32[] = add %1, 1.0:f32\n"
  "  return %2, %3\n"
  "}\n"
  "program @main(%0: f32[2]) {\n"
  "  %1: f32[2] = tanh %0\n"
  "  %2: f32[2] = mul %1, 40.0:f32\n"
  "  %3: f32[2], %4: f32[] = while[cond=@large, body=@halve,"
  " n_cond_consts=0, n_body_consts=0] %2, 0.0:f32\n"
  "  return %3, %4\n"
  "}\n",
  /* never entered */
  "program @never(%0: f64[2]) {\n"
  "  return false:bool\n"
  "}\n"
  "program @step(%0: f64[2]) {\n"
  "  %1: f64[2] = exp %0\n"
  "  return %1\n"
  "}\n"
  "program @main(%0: f64[2]) {\n"
  "  %1: f64[2] = while[cond=@never, body=@step, n_cond_consts=0,"
  " n_body_consts=0] %0\n"
  "  return %1\n"
  "}\n",
  NULL
};

const cxi_row cxi_row_while = {
  .prim = CXI_PRIM_while,
  .form = CXI_FORM_CONTROL,
  .formula = "while cond(consts, carry): carry = body(consts, carry)",
  .infer = infer,
  .jvp = jvp,
  .jvp_emits = true,
  .no_transpose = "the number of steps is not known when it runs backwards; "
                  "use a scan, or a while with .max_steps",
  .batch = cxi_while_batch,
  .partial_eval = partial_eval,
  .dce = dce,
  .evaluate = evaluate,
  .examples = examples,
};
