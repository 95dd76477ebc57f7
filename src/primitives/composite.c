/* composite.c - composite, a body with a name that backends know, and
 * custom_jvp, a body with a forward mode of its own. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/custom.h"

/* -- composite(x; name, body, fwd, bwd) -----------------------------------------
 *
 * Reverse mode takes fwd and bwd if there are any; forward mode sees the body.
 * A batched composite keeps its name: the name must say the same of it, so
 * axes count from the end and backends look at the operands' shapes. */

static cxi_custom composite_of(const void *params) {
  const cxi_composite_params *p = params;
  return (cxi_custom){ p->body, p->fwd, p->bwd, p->name };
}

static bool composite_infer(cxi_infer *c) {
  const cxi_custom f = composite_of(c->params);
  return f.fwd || f.bwd ? cxi_custom_infer(c, &f) : cxi_call_infer(c, f.body);
}

static void composite_jvp(const cxi_rule *r, const cx *in, const cx *dx,
                          cx *out, cx *dout) {
  const cxi_custom f = composite_of(r->params);
  if (r->linearizing && f.fwd)
    cxi_custom_jvp(r, &f, in, dx, out, dout);
  else
    cxi_call_jvp(r, NULL, f.body, in, dx, out, dout);
}

static void composite_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                                cx *acc) {
  cxi_call_transpose(r, NULL, composite_of(r->params).body, in, ct, acc);
}

static void composite_batch(const cxi_rule *r, const cx *in, const int *axis,
                            int64_t size, cx *out, int *out_axis) {
  const cxi_custom f = composite_of(r->params);
  const cx *args = cxi_call_to_front(r, in, axis);
  bool *batched_out = cxi_call_array(r->n_out, sizeof *batched_out);
  cxi_custom q;
  if (!args || !batched_out ||
      !cxi_custom_batch(r, &f, axis, size, &q, batched_out))
    return;
  cxi_composite_params params = *(const cxi_composite_params *)r->params;
  params.body = q.body;
  params.fwd = q.fwd;
  params.bwd = q.bwd;
  cxi_emit(CXI_PRIM_composite, &params, r->n_in, args, r->n_out, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = batched_out[i] ? 0 : -1;
}

static bool composite_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, composite_of(c->params).body, in, out);
}

static const char *const composite_examples[] = {
  "program @soft(%0: f64[2,3]) {\n"
  "  %1: f64[2,3] = exp %0\n"
  "  %2: f64[2] = reduce_sum[axes=(1)] %1\n"
  "  %3: f64[2,3] = broadcast_in_dim[shape=(2,3), map=(0)] %2\n"
  "  %4: f64[2,3] = div %1, %3\n"
  "  return %4\n"
  "}\n"
  "program @main(%0: f64[2,3]) {\n"
  "  %1: f64[2,3] = composite[name=\"soft\", body=@soft, fwd=none, bwd=none, "
  "number=0.0] %0\n"
  "  return %1\n"
  "}\n",
  "program @square(%0: f64[3]) {\n"
  "  %1: f64[3] = mul %0, %0\n"
  "  return %1\n"
  "}\n"
  "program @square_fwd(%0: f64[3]) {\n"
  "  %1: f64[3] = mul %0, %0\n"
  "  return %1, %0\n"
  "}\n"
  "program @square_bwd(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = mul %0, 2.0:f64\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  return %3\n"
  "}\n"
  "program @main(%0: f64[3]) {\n"
  "  %1: f64[3] = composite[name=\"square\", body=@square, fwd=@square_fwd, "
  "bwd=@square_bwd, number=0.0] %0\n"
  "  return %1\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_composite = {
  .prim = CXI_PRIM_composite,
  .form = CXI_FORM_CALL,
  .formula = "body(x, ...), known to backends by a name",
  .infer = composite_infer,
  .jvp = composite_jvp,
  .jvp_emits = true,
  .transpose = composite_transpose,
  .batch = composite_batch,
  .evaluate = composite_evaluate,
  .examples = composite_examples,
};

/* -- custom_jvp(x; body, rule) ----------------------------------------------------
 *
 *   rule: (x, dx of floating x) -> (y, dy of floating y)
 *
 * Without a rule the function has no derivative: so ends a recorded rule that
 * calls its own function. */

static bool jvp_infer(cxi_infer *c) {
  const cxi_custom_jvp_params *p = c->params;
  if (!cxi_call_infer(c, p->body)) return false;
  if (!p->rule) return true;
  const size_t n = 2 * ((size_t)c->n_in + c->n_out) + 1;
  cxi_type *in = cxi_scratch(n * sizeof *in);
  if (!in) return cxi_infer_fail(c, CX_EMEMORY, "no memory");
  cxi_type *out = in + 2 * (size_t)c->n_in;
  uint32_t n_in = 0, n_out = 0;
  for (uint32_t i = 0; i < c->n_in; i++) in[n_in++] = c->in[i];
  for (uint32_t i = 0; i < c->n_in; i++)
    if (cxi_type_is_float(c->in[i])) in[n_in++] = c->in[i];
  for (uint32_t i = 0; i < c->n_out; i++) out[n_out++] = c->out[i];
  for (uint32_t i = 0; i < c->n_out; i++)
    if (cxi_type_is_float(c->out[i])) out[n_out++] = c->out[i];
  if (p->rule->n_out != n_out)
    return cxi_infer_fail(c, CX_ETREE, "the rule returns %u values, not %u",
                          p->rule->n_out, n_out);
  return cxi_custom_infer_program(c, "the rule", p->rule, n_in, in, n_out, out);
}

/* Whether result m of the rule depends on a tangent that is given. What only
 * the zeros reach is zero: it is then none, or a derivative inside would be
 * asked for a tangent that no linear part has. */
static bool is_reached(const cxi_rule *r, const cxi_program *rule, const cx *dx,
                       uint32_t m) {
  bool *used_out = cxi_call_array(rule->n_out, sizeof *used_out);
  bool *used_in = cxi_call_array(rule->n_in, sizeof *used_in);
  if (!used_out || !used_in) return true;
  used_out[m] = true;
  if (!r->transforms->narrow(rule, used_out, used_in)) return true;
  for (uint32_t i = 0, k = r->n_in; i < r->n_in; i++)
    if (cxi_type_is_float(r->in_types[i]) && used_in[k++] && cxi_given(dx[i]))
      return true;
  return false;
}

/* Tangents that are none enter the rule as zeros. */
static void jvp_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  const cxi_custom_jvp_params *p = r->params;
  if (!p->rule) {
    cxi_fail(CX_ENORULE, "custom_jvp: a derivative of this order of a function "
                         "whose rule calls the function itself was not "
                         "recorded");
    return;
  }
  cx *args = cxi_call_array(2 * (size_t)r->n_in, sizeof *args);
  cx *results = cxi_call_array(2 * (size_t)r->n_out, sizeof *results);
  if (!args || !results) return;
  uint32_t n = r->n_in, m = r->n_out;
  bool all = true; /* tangents are given */
  memcpy(args, in, r->n_in * sizeof *args);
  for (uint32_t i = 0; i < r->n_in; i++) {
    if (!cxi_type_is_float(r->in_types[i])) continue;
    all = all && cxi_given(dx[i]);
    args[n++] = cxi_given(dx[i]) ? dx[i] : cxi_zeros(r->in_types[i]);
  }
  if (!cxi_call_apply(r->transforms, NULL, p->rule, args, results)) return;
  for (uint32_t i = 0; i < r->n_out; i++) {
    out[i] = results[i];
    if (!cxi_type_is_float(r->out_types[i])) continue;
    if (!cxi_call_is_zero(p->rule, m) && (all || is_reached(r, p->rule, dx, m)))
      dout[i] = results[m];
    m++;
  }
}

static void jvp_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  cxi_call_transpose(r, NULL, ((const cxi_custom_jvp_params *)r->params)->body,
                     in, ct, acc);
}

/* For the results and then the tangents of the floating ones: the mask of the
 * results alone; grown where the mask of both says more. */
static bool join_masks(const cxi_rule *r, const bool *both, bool *mask) {
  uint32_t m = r->n_out;
  bool grown = false;
  for (uint32_t i = 0; i < r->n_out; i++) {
    bool here = both[i];
    if (cxi_type_is_float(r->out_types[i])) here = both[m++] || here;
    grown = grown || (here && !mask[i]);
    mask[i] = mask[i] || here;
  }
  return grown;
}

static void spread_mask(uint32_t n, const cxi_type *types, const bool *mask,
                        bool *both) {
  uint32_t m = n;
  memcpy(both, mask, n);
  for (uint32_t i = 0; i < n; i++)
    if (cxi_type_is_float(types[i])) both[m++] = mask[i];
}

/* body and rule batched until results and tangents agree. */
static bool batch_rule(const cxi_rule *r, const int *axis, int64_t size,
                       cxi_custom_jvp_params *out, bool *batched_out) {
  const cxi_custom_jvp_params *p = r->params;
  const cxi_transforms *t = r->transforms;
  bool *batched = cxi_call_array(3 * (size_t)r->n_in, sizeof *batched);
  bool *force = cxi_call_array(5 * (size_t)r->n_out, sizeof *force);
  if (!batched || !force) return false;
  bool *rule_in = batched + r->n_in, *rule_force = force + r->n_out;
  bool *rule_out = rule_force + 2 * (size_t)r->n_out;
  for (uint32_t i = 0; i < r->n_in; i++) batched[i] = axis[i] >= 0;
  spread_mask(r->n_in, r->in_types, batched, rule_in);
  do {
    out->body = t->batch(p->body, batched, size, force, batched_out);
    if (!out->body) return false;
    if (!p->rule) return true;
    memcpy(force, batched_out, r->n_out);
    spread_mask(r->n_out, r->out_types, force, rule_force);
    out->rule = t->batch(p->rule, rule_in, size, rule_force, rule_out);
    if (!out->rule) return false;
  } while (join_masks(r, rule_out, force));
  return true;
}

static void jvp_batch(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  const cx *args = cxi_call_to_front(r, in, axis);
  bool *batched_out = cxi_call_array(r->n_out, sizeof *batched_out);
  cxi_custom_jvp_params q = { 0 };
  if (!args || !batched_out || !batch_rule(r, axis, size, &q, batched_out))
    return;
  cxi_emit(CXI_PRIM_custom_jvp, &q, r->n_in, args, r->n_out, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = batched_out[i] ? 0 : -1;
}

static bool jvp_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, ((const cxi_custom_jvp_params *)c->params)->body,
                           in, out);
}

static const char *const jvp_examples[] = {
  "program @f(%0: f64[3], %1: i32[]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  return %2, %1\n"
  "}\n"
  "program @f_jvp(%0: f64[3], %1: i32[], %2: f64[3]) {\n"
  "  %3: f64[3] = sin %0\n"
  "  %4: f64[3] = cos %0\n"
  "  %5: f64[3] = mul %4, %2\n"
  "  return %3, %1, %5\n"
  "}\n"
  "program @main(%0: f64[3], %1: i32[]) {\n"
  "  %2: f64[3], %3: i32[] = custom_jvp[body=@f, rule=@f_jvp] %0, %1\n"
  "  return %2, %3\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_custom_jvp = {
  .prim = CXI_PRIM_custom_jvp,
  .form = CXI_FORM_CALL,
  .formula = "body(x, ...); dy = rule(x, dx)",
  .infer = jvp_infer,
  .jvp = jvp_jvp,
  .jvp_emits = true,
  .transpose = jvp_transpose,
  .batch = jvp_batch,
  .evaluate = jvp_evaluate,
  .examples = jvp_examples,
};
