/* custom_vmap.c - a function with a batching rule of its own, and derivatives
 * of it that keep the rule.
 *
 *   custom_vmap(x)              vmap ->  rule(size, x) in place of body(x)
 *   custom_vmap(x)              jvp ->   dy = custom_vmap_derivative(x, dx)
 *   custom_vmap_derivative(...) vmap ->  the derivative of the rule
 *
 * A derivative is body, by which it runs, and the equation whose derivative it
 * is, alone in a program: under vmap that program is batched, which asks the
 * rule, and then differentiated. So the order of vmap and derivatives does not
 * matter, to any depth. The price is that a derivative computes from the
 * function's operands: what the body has in between is not what the rule has
 * in between, so that neither can be kept for the other. */
#include <string.h>

#include "ir/batching.h"
#include "ops/lax.h"
#include "primitives/control.h"
#include "primitives/custom.h"

const cxi_batching *cxi_batching_installed;

/* -- what a derivative is made of ----------------------------------------- */

/* (ins, tangents of those in wrt) -> a tangent of each floating result of p. */
static const cxi_program *tangents_of(const cxi_transforms *t,
                                      const cxi_program *p, const bool *wrt,
                                      bool linearizing) {
  bool *floats = cxi_call_array(p->n_out, sizeof *floats);
  bool *made = cxi_call_array(p->n_out, sizeof *made);
  uint32_t *place = cxi_call_array(p->n_out, sizeof *place);
  if (!floats || !made || !place) return NULL;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_out; i++) {
    floats[i] = cxi_type_is_float(cxi_output_type(p, i));
    if (floats[i]) place[n] = p->n_out + n, n++;
  }
  const cxi_program *q = t->jvp(p, wrt, floats, linearizing, made);
  return q ? t->select(q, NULL, n, place) : NULL;
}

/* The derivative of the equation of rule r, whose program is `body`, with
 * respect to the operands in wrt; on `args`, a result for each of `out`. */
static bool emit_derivative(const cxi_rule *r, const cxi_program *body,
                            bool transposed, const bool *wrt, uint32_t n_args,
                            const cx *args, uint32_t n_out, cx *out) {
  const cxi_transforms *t = r->transforms;
  int64_t *marks = cxi_call_array(r->n_in, sizeof *marks);
  if (!marks) return false;
  for (uint32_t i = 0; i < r->n_in; i++) marks[i] = wrt[i];
  const cxi_custom_vmap_derivative_params p = {
    .body = transposed ? t->transpose_part(body, wrt)
                       : tangents_of(t, body, wrt, r->linearizing),
    .of = cxi_rule_alone(r),
    .transposed = transposed,
    .wrt = { r->n_in, marks },
    .linearizing = r->linearizing,
  };
  return p.body && p.of &&
         cxi_emit(CXI_PRIM_custom_vmap_derivative, &p, n_args, args, n_out,
                  out);
}

static void derive_jvp(const cxi_rule *r, const cxi_program *body, const cx *in,
                       const cx *dx, cx *dout) {
  bool *wrt = cxi_call_array(r->n_in, sizeof *wrt);
  cx *args = cxi_call_array(2 * (size_t)r->n_in, sizeof *args);
  cx *made = cxi_call_array(r->n_out, sizeof *made);
  if (!wrt || !args || !made) return;
  uint32_t n = r->n_in, at = 0;
  for (uint32_t i = 0; i < r->n_in; i++) {
    args[i] = in[i];
    wrt[i] = cxi_given(dx[i]);
    if (wrt[i]) args[n++] = dx[i];
  }
  const uint32_t n_floats = cxi_count_floats(r->n_out, r->out_types);
  if (n_floats == 0 ||
      !emit_derivative(r, body, false, wrt, n, args, n_floats, made))
    return;
  for (uint32_t i = 0; i < r->n_out; i++)
    if (cxi_type_is_float(r->out_types[i])) dout[i] = made[at++];
}

static void derive_transpose(const cxi_rule *r, const cxi_program *body,
                             const cx *in, const cx *ct, cx *acc) {
  bool *wrt = cxi_call_array(r->n_in, sizeof *wrt);
  cx *args = cxi_call_array(r->n_in + (size_t)r->n_out, sizeof *args);
  cx *made = cxi_call_array(r->n_in, sizeof *made);
  if (!wrt || !args || !made) return;
  uint32_t n = 0, n_made = 0, at = 0;
  for (uint32_t i = 0; i < r->n_in; i++) {
    wrt[i] = cx_is_none(in[i]);
    n_made += wrt[i];
    if (!wrt[i]) args[n++] = in[i];
  }
  for (uint32_t i = 0; i < r->n_out; i++)
    if (cxi_type_is_float(r->out_types[i]))
      args[n++] = cxi_given(ct[i]) ? ct[i] : cxi_zeros(r->out_types[i]);
  if (!emit_derivative(r, body, true, wrt, n, args, n_made, made)) return;
  for (uint32_t i = 0; i < r->n_in; i++)
    if (wrt[i]) acc[i] = cxi_sum_given(acc[i], made[at++]);
}

/* -- custom_vmap(x; body, rule) ------------------------------------------- */

static const cxi_program *body_of(const cxi_rule *r) {
  return ((const cxi_custom_vmap_params *)r->params)->body;
}

static bool vmap_infer(cxi_infer *c) {
  const cxi_custom_vmap_params *p = c->params;
  if (!cxi_call_infer(c, p->body)) return false;
  if (p->rule != 0 && p->rule != CXI_RULE_ELSEWHERE &&
      !(cxi_batching_installed &&
        cxi_batching_installed->fits(p->rule, p->body)))
    return cxi_infer_fail(
        c, CX_EUSER, "this process has no batching rule %lld for such a body",
        (long long)p->rule);
  return true;
}

static void vmap_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  (void)out;
  derive_jvp(r, body_of(r), in, dx, dout);
}

static void vmap_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                           cx *acc) {
  derive_transpose(r, body_of(r), in, ct, acc);
}

static void batch_by_rule(const cxi_rule *r, int64_t rule, const cx *in,
                          const int *axis, int64_t size, cx *out,
                          int *out_axis) {
  bool *batched = cxi_call_array(r->n_in, sizeof *batched);
  bool *batched_out = cxi_call_array(r->n_out, sizeof *batched_out);
  cx *args = cxi_call_array(r->n_in, sizeof *args);
  if (!batched || !batched_out || !args) return;
  for (uint32_t i = 0; i < r->n_in; i++) batched[i] = axis[i] >= 0;
  uint32_t skip;
  const cxi_program *q =
      cxi_batching_installed->program(rule, size, batched, batched_out, &skip);
  if (!q) return;
  for (uint32_t i = 0; i < r->n_in; i++)
    args[i] = batched[i] ? cxi_batched_at(in[i], axis[i], size, 0) : in[i];
  if (!cxi_call_apply(r->transforms, NULL, q, args + skip, out)) return;
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = batched_out[i] ? 0 : -1;
}

static void vmap_batch(const cxi_rule *r, const cx *in, const int *axis,
                       int64_t size, cx *out, int *out_axis) {
  const cxi_custom_vmap_params *p = r->params;
  bool any = false;
  for (uint32_t i = 0; i < r->n_in; i++) any = any || axis[i] >= 0;
  if (!any) /* the body asks for the axis by its name */
    cxi_call_batch(r, NULL, p->body, in, axis, size, out, out_axis);
  else if (p->rule == CXI_RULE_ELSEWHERE)
    cxi_fail(CX_ENORULE,
             "vmap of \"%s\": its batching rule (custom_vmap) is not part of "
             "the program; export its jax.vmap, where JAX has applied the "
             "rule, or its .fun, which has none",
             cxi_name_text(p->name));
  else if (p->rule)
    batch_by_rule(r, p->rule, in, axis, size, out, out_axis);
  else
    cxi_batch_lanes(r, in, axis, size, out, out_axis);
}

static bool vmap_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, ((const cxi_custom_vmap_params *)c->params)->body,
                           in, out);
}

static const char *const vmap_examples[] = {
  "program @f(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  return %3, %2\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3], %3: f64[3] = custom_vmap[body=@f, rule=0, name=\"f\"] %0, %1\n"
  "  %4: f64[3] = add %2, %3\n"
  "  return %4\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_custom_vmap = {
  .prim = CXI_PRIM_custom_vmap,
  .form = CXI_FORM_CALL,
  .formula = "body(x, ...); under vmap what the rule makes of all lanes",
  .infer = vmap_infer,
  .jvp = vmap_jvp,
  .transpose = vmap_transpose,
  .batch = vmap_batch,
  .evaluate = vmap_evaluate,
  .examples = vmap_examples,
};

/* -- custom_vmap_derivative(x, dx, ...; body, of) ------------------------- */

typedef cxi_custom_vmap_derivative_params derivative;

static const cxi_program *derivative_body(const cxi_rule *r) {
  return ((const derivative *)r->params)->body;
}

static bool derivative_infer(cxi_infer *c) {
  const derivative *p = c->params;
  if (!p->of) return cxi_infer_fail(c, CX_ETREE, "no equation");
  if (p->wrt.n != p->of->n_in)
    return cxi_infer_fail(c, CX_ETREE, "wrt has %u marks for %u operands",
                          p->wrt.n, p->of->n_in);
  uint32_t n = p->of->n_in, n_wrt = 0, n_floats = 0;
  for (uint32_t i = 0; i < p->of->n_in; i++) n_wrt += p->wrt.d[i] != 0;
  for (uint32_t i = 0; i < p->of->n_out; i++)
    n_floats += cxi_type_is_float(cxi_output_type(p->of, i));
  n = p->transposed ? n - n_wrt + n_floats : n + n_wrt;
  if (c->n_in != n)
    return cxi_infer_fail(c, CX_ETREE, "%u operands instead of %u", c->n_in, n);
  const uint32_t n_out = p->transposed ? n_wrt : n_floats;
  if (p->body && p->body->n_out != n_out)
    return cxi_infer_fail(c, CX_ETREE, "a body with %u results instead of %u",
                          p->body->n_out, n_out);
  return cxi_call_infer(c, p->body);
}

static void derivative_jvp(const cxi_rule *r, const cx *in, const cx *dx,
                           cx *out, cx *dout) {
  (void)out;
  derive_jvp(r, derivative_body(r), in, dx, dout);
}

static void derivative_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                                 cx *acc) {
  derive_transpose(r, derivative_body(r), in, ct, acc);
}

/* The marks of wrt, and which of the equation's operands are batched: for
 * tangents one that is or whose tangent is; for the transpose, whose results
 * all are, every operand that it is linear in. */
static void masks_of(const cxi_rule *r, const int *axis, bool *wrt,
                     bool *batched) {
  const derivative *p = r->params;
  uint32_t at = p->transposed ? 0 : p->of->n_in;
  for (uint32_t i = 0; i < p->of->n_in; i++) {
    wrt[i] = p->wrt.d[i] != 0;
    if (p->transposed) {
      batched[i] = wrt[i] || axis[at++] >= 0;
    } else {
      const bool tangent = wrt[i] && axis[at++] >= 0;
      batched[i] = axis[i] >= 0 || tangent;
    }
  }
}

/* Operands as the derivative of the batched equation takes them. */
static void place_operands(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, const bool *wrt, const bool *batched,
                           cx *args) {
  const derivative *p = r->params;
  uint32_t at = 0;
  for (uint32_t i = 0; i < p->of->n_in; i++) {
    if (p->transposed && wrt[i]) continue;
    args[at] = batched[i] ? cxi_batched_at(in[at], axis[at], size, 0) : in[at];
    at++;
  }
  for (uint32_t i = 0; at < r->n_in; i++) {
    if (!p->transposed && !wrt[i]) continue;
    const bool here = p->transposed || batched[i];
    args[at] = here ? cxi_batched_at(in[at], axis[at], size, 0) : in[at];
    at++;
  }
}

static void derivative_batch(const cxi_rule *r, const cx *in, const int *axis,
                             int64_t size, cx *out, int *out_axis) {
  const cxi_transforms *t = r->transforms;
  const derivative *p = r->params;
  bool *wrt = cxi_call_array(p->of->n_in, sizeof *wrt);
  bool *batched = cxi_call_array(p->of->n_in, sizeof *batched);
  bool *force = cxi_call_array(p->of->n_out, sizeof *force);
  bool *batched_out = cxi_call_array(p->of->n_out, sizeof *batched_out);
  cx *args = cxi_call_array(r->n_in, sizeof *args);
  if (!wrt || !batched || !force || !batched_out || !args) return;
  masks_of(r, axis, wrt, batched);
  for (uint32_t i = 0; i < p->of->n_out; i++) force[i] = p->transposed;
  const cxi_program *q = t->batch(p->of, batched, size, force, batched_out);
  if (q)
    q = p->transposed ? t->transpose_part(q, wrt)
                      : tangents_of(t, q, wrt, p->linearizing);
  if (!q) return;
  place_operands(r, in, axis, size, wrt, batched, args);
  if (!cxi_call_apply(t, NULL, q, args, out)) return;
  for (uint32_t i = 0, k = 0; i < r->n_out; i++) {
    out_axis[i] = 0;
    if (p->transposed) continue;
    while (!cxi_type_is_float(cxi_output_type(p->of, k))) k++;
    out_axis[i] = batched_out[k++] ? 0 : -1;
  }
}

static bool derivative_evaluate(cxi_eval *c, const cxi_view *in,
                                cxi_view *out) {
  return cxi_call_evaluate(c, ((const derivative *)c->params)->body, in, out);
}

static const char *const derivative_examples[] = {
  "program @f(%0: f64[3]) {\n"
  "  %1: f64[3] = sin %0\n"
  "  return %1\n"
  "}\n"
  "program @df(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = cos %0\n"
  "  %3: f64[3] = mul %1, %2\n"
  "  return %3\n"
  "}\n"
  "program @of(%0: f64[3]) {\n"
  "  %1: f64[3] = custom_vmap[body=@f, rule=0, name=\"f\"] %0\n"
  "  return %1\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = custom_vmap_derivative[body=@df, of=@of, transposed=false, "
  "wrt=(1), linearizing=true] %0, %1\n"
  "  %3: f64[3] = custom_vmap_derivative[body=@df, of=@of, transposed=false, "
  "wrt=(1), linearizing=false] %2, %1\n"
  "  return %3\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_custom_vmap_derivative = {
  .prim = CXI_PRIM_custom_vmap_derivative,
  .form = CXI_FORM_CALL,
  .formula = "tangents of, or the transpose of, a custom_vmap",
  .infer = derivative_infer,
  .jvp = derivative_jvp,
  .transpose = derivative_transpose,
  .batch = derivative_batch,
  .evaluate = derivative_evaluate,
  .examples = derivative_examples,
};
