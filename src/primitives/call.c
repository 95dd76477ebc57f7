/* call.c - jit, a function applied, and optimization_barrier. */
#include "primitives/call.h"

#include <string.h>

#include "ops/lax.h"

void *cxi_call_array(size_t n, size_t size) {
  void *items = cxi_scratch((n ? n : 1) * size);
  if (!items) cxi_fail(CX_EMEMORY, "no memory for a rule");
  return items;
}

const cxi_program *cxi_call_finish(cxi_builder *b, cxi_name name, uint32_t n_in,
                                   const cx *in, uint32_t n_out,
                                   const cx *out) {
  cxi_error error = { 0 };
  const cxi_program *p =
      cxi_builder_finish(b, name, n_in, in, n_out, out, &error);
  const cxi_program *held = cxi_hold(p);
  cxi_program_release(p);
  if (!held)
    cxi_fail(error.code ? error.code : CX_EMEMORY, "%s",
             error.code ? error.text : "no memory to hold a program");
  return held;
}

/* -- infer and evaluate --------------------------------------------------- */

bool cxi_call_infer(cxi_infer *c, const cxi_program *body) {
  if (!body) return cxi_infer_fail(c, CX_ETREE, "no body");
  if (c->n_in != body->n_in)
    return cxi_infer_fail(c, CX_ETREE, "%u operands, the body takes %u",
                          c->n_in, body->n_in);
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (c->in[i] == body->values[i].type) continue;
    char is[96], wants[96];
    cxi_aval_print(is, sizeof is, cxi_type_aval(c->in[i]));
    cxi_aval_print(wants, sizeof wants, cxi_type_aval(body->values[i].type));
    return cxi_infer_fail(c, CX_ESHAPE, "operand %u is %s, the body takes %s",
                          i, is, wants);
  }
  for (uint32_t i = 0; i < body->n_out; i++)
    if (!cxi_infer_result(c, cxi_output_type(body, i))) return false;
  return true;
}

static bool is_operand(const cxi_eval *c, const cxi_view *in,
                       const void *data) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (in[i].data == data) return true;
  return false;
}

bool cxi_call_evaluate(cxi_eval *c, const cxi_program *body, const cxi_view *in,
                       cxi_view *out) {
  const cxi_mark mark = cxi_scratch_mark();
  cxi_view *results = cxi_scratch((c->n_out + (size_t)1) * sizeof *results);
  bool *give = cxi_scratch(c->n_in + (size_t)1);
  bool ok = results && give;
  if (ok)
    ok = c->run(c, body, in, give, results);
  else
    cxi_error_set(c->error, CX_EMEMORY, "no memory for a call");
  for (uint32_t i = 0; ok && i < c->n_out; i++) {
    cxi_view_copy(&out[i], &results[i]);
    if (!is_operand(c, in, results[i].data)) c->release(c, &results[i]);
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- calling only what there is to compute -------------------------------- */

static bool emit_call(const cxi_checkpoint_params *like,
                      const cxi_program *body, const cx *in, cx *out) {
  if (!like) return cxi_call(body, in, out);
  cxi_checkpoint_params params = *like;
  params.body = body;
  return cxi_emit(CXI_PRIM_checkpoint, &params, body->n_in, in, body->n_out,
                  out);
}

/* The literal that fills output i, or n_values. */
static uint32_t filling(const cxi_program *p, uint32_t i) {
  const uint32_t v = p->outputs[i];
  if (cxi_is_literal(p, v)) return v;
  if (!cxi_is_equation(p->values[v].source)) return p->n_values;
  const cxi_equation *e = &p->equations[p->values[v].source];
  if (e->prim != CXI_PRIM_broadcast_in_dim) return p->n_values;
  const uint32_t from = cxi_operands_of(p, e)[0];
  return cxi_is_literal(p, from) ? from : p->n_values;
}

bool cxi_call_is_zero(const cxi_program *body, uint32_t output) {
  const uint32_t literal = filling(body, output);
  return literal < body->n_values && cxi_literal_bits_of(body, literal) == 0;
}

/* Where output i can be had without the call. */
static bool forward(const cxi_program *p, uint32_t i, const cx *in, cx *out) {
  const uint32_t v = p->outputs[i], literal = filling(p, i);
  if (v < p->n_in) {
    *out = in[v];
    return true;
  }
  if (literal == p->n_values) return false;
  *out =
      cxi_broadcast_scalar(cxi_literal_bits(cxi_type_dtype(p->values[v].type),
                                            cxi_literal_bits_of(p, literal)),
                           *cxi_type_shape(p->values[v].type));
  return true;
}

/* Calls the body for the outputs in `used`, n of them. */
static bool call_for(const cxi_transforms *t, const cxi_checkpoint_params *like,
                     const cxi_program *body, const bool *used, uint32_t n,
                     const cx *in, cx *out) {
  bool *used_in = cxi_call_array(body->n_in, sizeof *used_in);
  cx *args = cxi_call_array(body->n_in, sizeof *args);
  cx *results = cxi_call_array(n, sizeof *results);
  if (!used_in || !args || !results) return false;
  const cxi_program *part = t->narrow(body, used, used_in);
  if (!part) return false;
  uint32_t n_args = 0, k = 0;
  for (uint32_t i = 0; i < body->n_in; i++)
    if (used_in[i]) args[n_args++] = in[i];
  if (!emit_call(like, part, args, results)) return false;
  for (uint32_t i = 0; i < body->n_out; i++)
    if (used[i]) out[i] = results[k++];
  return true;
}

/* first[i]: the first output that is the same value as output i. */
static bool find_equal(const cxi_program *p, uint32_t *first) {
  const uint32_t few = 16;
  uint32_t *place = NULL;
  if (p->n_out > few) {
    place = cxi_call_array(p->n_values, sizeof *place);
    if (!place) return false;
  }
  for (uint32_t i = 0; i < p->n_out; i++) {
    uint32_t j = 0;
    if (place) {
      uint32_t *known = &place[p->outputs[i]];
      if (!*known) *known = i + 1;
      j = *known - 1;
    } else {
      while (p->outputs[j] != p->outputs[i]) j++;
    }
    first[i] = j;
  }
  return true;
}

bool cxi_call_apply(const cxi_transforms *t, const cxi_checkpoint_params *like,
                    const cxi_program *body, const cx *in, cx *out) {
  bool *used = cxi_call_array(body->n_out, sizeof *used);
  uint32_t *first = cxi_call_array(body->n_out, sizeof *first);
  if (!used || !first || !find_equal(body, first)) return false;
  uint32_t n = 0;
  for (uint32_t i = 0; i < body->n_out; i++) {
    used[i] = first[i] == i && !forward(body, i, in, &out[i]);
    n += used[i];
  }
  if (n > 0 || body->effects) {
    const bool whole = n == body->n_out;
    if (!(whole ? emit_call(like, body, in, out)
                : call_for(t, like, body, used, n, in, out)))
      return false;
  }
  for (uint32_t i = 0; i < body->n_out; i++) out[i] = out[first[i]];
  return true;
}

/* -- rules of a call ------------------------------------------------------ */

void cxi_call_jvp(const cxi_rule *r, const cxi_checkpoint_params *like,
                  const cxi_program *body, const cx *in, const cx *dx, cx *out,
                  cx *dout) {
  const uint32_t n = r->n_in, m = r->n_out;
  bool *nonzero = cxi_call_array(n, sizeof *nonzero);
  bool *nonzero_out = cxi_call_array(m, sizeof *nonzero_out);
  cx *args = cxi_call_array(2 * (size_t)n, sizeof *args);
  cx *results = cxi_call_array(2 * (size_t)m, sizeof *results);
  if (!nonzero || !nonzero_out || !args || !results) return;
  uint32_t k = n, at = m;
  for (uint32_t i = 0; i < n; i++) {
    args[i] = in[i];
    nonzero[i] = cxi_given(dx[i]);
    if (nonzero[i]) args[k++] = dx[i];
  }
  const cxi_program *q =
      r->transforms->jvp(body, nonzero, NULL, r->linearizing, nonzero_out);
  if (!q || !cxi_call_apply(r->transforms, like, q, args, results)) return;
  for (uint32_t i = 0; i < m; i++) {
    out[i] = results[i];
    if (nonzero_out[i]) dout[i] = results[at++];
  }
}

void cxi_call_transpose(const cxi_rule *r, const cxi_checkpoint_params *like,
                        const cxi_program *body, const cx *in, const cx *ct,
                        cx *acc) {
  const uint32_t n = r->n_in, m = r->n_out;
  bool *linear = cxi_call_array(n, sizeof *linear);
  bool *acc_in = cxi_call_array(n, sizeof *acc_in);
  bool *ct_out = cxi_call_array(m, sizeof *ct_out);
  cx *args = cxi_call_array(2 * (size_t)n + m, sizeof *args);
  cx *results = cxi_call_array(n, sizeof *results);
  if (!linear || !acc_in || !ct_out || !args || !results) return;
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) {
    linear[i] = cx_is_none(in[i]);
    if (!linear[i]) args[k++] = in[i];
  }
  for (uint32_t i = 0; i < m; i++) {
    ct_out[i] = cxi_given(ct[i]);
    if (ct_out[i]) args[k++] = ct[i];
  }
  for (uint32_t i = 0; i < n; i++) {
    acc_in[i] = linear[i] && cxi_given(acc[i]);
    if (acc_in[i]) args[k++] = acc[i];
  }
  const cxi_program *q = r->transforms->transpose(body, linear, ct_out, acc_in);
  if (!q || !cxi_call_apply(r->transforms, like, q, args, results)) return;
  for (uint32_t i = 0, j = 0; i < n; i++) {
    if (!linear[i]) continue;
    if (!cxi_call_is_zero(q, j)) acc[i] = results[j];
    j++;
  }
}

cx *cxi_call_to_front(const cxi_rule *r, const cx *in, const int *axis) {
  cx *args = cxi_call_array(r->n_in, sizeof *args);
  for (uint32_t i = 0; args && i < r->n_in; i++)
    args[i] = axis[i] > 0 ? cxi_move_axis(in[i], axis[i], 0) : in[i];
  return args;
}

void cxi_call_batch(const cxi_rule *r, const cxi_checkpoint_params *like,
                    const cxi_program *body, const cx *in, const int *axis,
                    int64_t size, cx *out, int *out_axis) {
  bool *batched = cxi_call_array(r->n_in, sizeof *batched);
  bool *batched_out = cxi_call_array(r->n_out, sizeof *batched_out);
  const cx *args = cxi_call_to_front(r, in, axis);
  if (!batched || !batched_out || !args) return;
  for (uint32_t i = 0; i < r->n_in; i++) batched[i] = axis[i] >= 0;
  const cxi_program *q =
      r->transforms->batch(body, batched, size, NULL, batched_out);
  if (!q || !cxi_call_apply(r->transforms, like, q, args, out)) return;
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = batched_out[i] ? 0 : -1;
}

void cxi_call_dce(const cxi_rule *r, const cxi_checkpoint_params *like,
                  const cxi_program *body, const cx *in, const bool *used,
                  cx *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < r->n_out; i++) n += used[i];
  call_for(r->transforms, like, body, used, n, in, out);
}

/* -- jit(operands; body): a function applied ------------------------------ */

static const cxi_program *body_of(const cxi_rule *r) {
  return ((const cxi_jit_params *)r->params)->body;
}

static bool jit_infer(cxi_infer *c) {
  return cxi_call_infer(c, ((const cxi_jit_params *)c->params)->body);
}

static void jit_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  cxi_call_jvp(r, NULL, body_of(r), in, dx, out, dout);
}

static void jit_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  cxi_call_transpose(r, NULL, body_of(r), in, ct, acc);
}

static void jit_batch(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  cxi_call_batch(r, NULL, body_of(r), in, axis, size, out, out_axis);
}

static void jit_dce(const cxi_rule *r, const cx *in, const bool *used,
                    cx *out) {
  cxi_call_dce(r, NULL, body_of(r), in, used, out);
}

static bool jit_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, ((const cxi_jit_params *)c->params)->body, in,
                           out);
}

/* A call of the known part and one of the unknown part. What a residual is
 * already, an input or another output, cxi_call_apply finds. */
static void jit_partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                             const cx *unknown, cx *known_out,
                             cx *unknown_out) {
  const cxi_transforms *t = r->transforms;
  const uint32_t n = r->n_in, m = r->n_out;
  bool *unknown_in = cxi_call_array(n, sizeof *unknown_in);
  bool *later = cxi_call_array(m, sizeof *later);
  if (!unknown_in || !later) return;
  for (uint32_t i = 0; i < n; i++) unknown_in[i] = cxi_given(unknown[i]);
  cxi_partial cut;
  if (!t->partial_eval(body_of(r), unknown_in, NULL, &cut, later)) return;
  cx *now_args = cxi_call_array(n, sizeof *now_args);
  cx *args = cxi_call_array(n + (size_t)cut.n_residuals, sizeof *args);
  cx *now = cxi_call_array(cut.known->n_out, sizeof *now);
  cx *results = cxi_call_array(m, sizeof *results);
  if (!now_args || !args || !now || !results) return;
  uint32_t n_now = 0, k = 0, a = 0, b = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (unknown_in[i])
      args[k++] = unknown[i];
    else
      now_args[n_now++] = known[i];
  }
  t->into_known(s);
  if (!cxi_call_apply(t, NULL, cut.known, now_args, now)) return;
  const cx *residuals = now + (cut.known->n_out - cut.n_residuals);
  for (uint32_t i = 0; i < cut.n_residuals; i++)
    args[k++] = t->residual(s, residuals[i]);
  t->into_unknown(s);
  if (!cxi_call_apply(t, NULL, cut.unknown, args, results)) return;
  for (uint32_t i = 0; i < m; i++) {
    if (later[i])
      unknown_out[i] = results[b++];
    else
      known_out[i] = now[a++];
  }
}

static const char *const jit_examples[] = {
  "program @f(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  return %3, %0, %3\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3], %3: f64[3], %4: f64[3] = jit[body=@f] %0, %1\n"
  "  %5: f64[3], %6: f64[3], %7: f64[3] = jit[body=@f] %2, %3\n"
  "  return %4, %5\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_jit = {
  .prim = CXI_PRIM_jit,
  .form = CXI_FORM_CALL,
  .formula = "body(x, ...)",
  .infer = jit_infer,
  .jvp = jit_jvp,
  .jvp_emits = true,
  .transpose = jit_transpose,
  .batch = jit_batch,
  .partial_eval = jit_partial_eval,
  .dce = jit_dce,
  .evaluate = jit_evaluate,
  .examples = jit_examples,
};

/* -- optimization_barrier: the operands, all of them before any result ---- */

static bool barrier_infer(cxi_infer *c) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!cxi_infer_result(c, c->in[i])) return false;
  return true;
}

/* The given handles through one barrier; the others stay none. */
static void barrier_given(uint32_t n, const cx *x, cx *out) {
  cx *given = cxi_call_array(n, sizeof *given);
  uint32_t k = 0;
  if (!given) return;
  for (uint32_t i = 0; i < n; i++)
    if (cxi_given(x[i])) given[k++] = x[i];
  if (k > 0) cxi_optimization_barrier(k, given, given);
  k = 0;
  for (uint32_t i = 0; i < n; i++)
    out[i] = cxi_given(x[i]) ? given[k++] : cx_none();
}

static void barrier_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                        cx *dout) {
  (void)in, (void)out;
  barrier_given(r->n_in, dx, dout);
}

static void barrier_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  cx *passed = cxi_call_array(r->n_in, sizeof *passed);
  if (!passed) return;
  barrier_given(r->n_in, ct, passed);
  for (uint32_t i = 0; i < r->n_in; i++)
    if (cx_is_none(in[i])) acc[i] = cxi_sum_given(acc[i], passed[i]);
}

static void barrier_batch(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  (void)size;
  cxi_optimization_barrier(r->n_in, in, out);
  for (uint32_t i = 0; i < r->n_in; i++) out_axis[i] = axis[i];
}

static void barrier_partial_eval(const cxi_rule *r, cxi_split *s,
                                 const cx *known, const cx *unknown,
                                 cx *known_out, cx *unknown_out) {
  r->transforms->into_known(s);
  barrier_given(r->n_in, known, known_out);
  r->transforms->into_unknown(s);
  barrier_given(r->n_in, unknown, unknown_out);
}

static void barrier_dce(const cxi_rule *r, const cx *in, const bool *used,
                        cx *out) {
  cx *kept = cxi_call_array(r->n_in, sizeof *kept);
  uint32_t k = 0;
  if (!kept) return;
  for (uint32_t i = 0; i < r->n_in; i++)
    if (used[i]) kept[k++] = in[i];
  cxi_optimization_barrier(k, kept, kept);
  k = 0;
  for (uint32_t i = 0; i < r->n_in; i++)
    if (used[i]) out[i] = kept[k++];
}

static bool barrier_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  for (uint32_t i = 0; i < c->n_in; i++) cxi_view_copy(&out[i], &in[i]);
  return true;
}

static const char *const barrier_examples[] = {
  "program @main(%0: f64[3], %1: f64[2,2], %2: i32[]) {\n"
  "  %3: f64[3], %4: f64[2,2], %5: i32[] = optimization_barrier %0, %1, %2\n"
  "  return %3, %4, %5\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_optimization_barrier = {
  .prim = CXI_PRIM_optimization_barrier,
  .form = CXI_FORM_MOVE,
  .formula = "x, ...",
  .infer = barrier_infer,
  .jvp = barrier_jvp,
  .transpose = barrier_transpose,
  .batch = barrier_batch,
  .partial_eval = barrier_partial_eval,
  .dce = barrier_dce,
  .evaluate = barrier_evaluate,
  .examples = barrier_examples,
};
