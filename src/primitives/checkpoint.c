/* checkpoint.c - a call whose intermediate values are computed again in the
 * backward pass instead of being kept.
 *
 *   linearized   known:    y, saved = jit(x)
 *                unknown:  dy = checkpoint[differentiated](x, saved, dx)
 *   transposed   x', saved', ct' = optimization_barrier(x, saved, ct)
 *                ct x = checkpoint[differentiated](x', saved', ct')
 *
 * The barrier makes what is computed again depend on the first cotangents
 * that arrive, so that it is neither merged with the forward pass nor
 * scheduled into it. */
#include "ops/lax.h"
#include "primitives/remat.h"

static const cxi_program *body_of(const cxi_rule *r) {
  return ((const cxi_checkpoint_params *)r->params)->body;
}

static bool infer(cxi_infer *c) {
  const cxi_checkpoint_params *p = c->params;
  if (!cxi_remat_policy_valid(p->policy))
    return cxi_infer_fail(c, CX_ENORULE, "no policy is named \"%s\"",
                          cxi_name_text(p->policy));
  return cxi_call_infer(c, p->body);
}

static void jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                cx *dout) {
  cxi_call_jvp(r, r->params, body_of(r), in, dx, out, dout);
}

static void batch(const cxi_rule *r, const cx *in, const int *axis,
                  int64_t size, cx *out, int *out_axis) {
  cxi_call_batch(r, r->params, body_of(r), in, axis, size, out, out_axis);
}

static void dce(const cxi_rule *r, const cx *in, const bool *used, cx *out) {
  cxi_call_dce(r, r->params, body_of(r), in, used, out);
}

static bool evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, ((const cxi_checkpoint_params *)c->params)->body,
                           in, out);
}

/* -- partial evaluation --------------------------------------------------- */

/* The unknown side: the recomputation and what depends on the unknown. */
static bool emit_again(const cxi_rule *r, cxi_split *s, const cxi_remat *remat,
                       uint32_t n_known, const cx *known, const cx *saved,
                       const cx *unknown, cx *results) {
  const cxi_transforms *t = r->transforms;
  cx *args = cxi_call_array(remat->again->n_in, sizeof *args);
  if (!args) return false;
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_known; i++)
    if (remat->needs[i]) args[n++] = t->residual(s, known[i]);
  for (uint32_t i = 0; i < remat->n_saved; i++)
    args[n++] = t->residual(s, saved[i]);
  for (uint32_t i = 0; i < r->n_in; i++)
    if (cxi_given(unknown[i])) args[n++] = unknown[i];
  cxi_checkpoint_params like = *(const cxi_checkpoint_params *)r->params;
  like.differentiated = true;
  t->into_unknown(s);
  return cxi_call_apply(t, remat->recomputes ? &like : NULL, remat->again, args,
                        results);
}

static void partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                         const cx *unknown, cx *known_out, cx *unknown_out) {
  const cxi_transforms *t = r->transforms;
  const uint32_t n = r->n_in, m = r->n_out;
  bool *unknown_in = cxi_call_array(n, sizeof *unknown_in);
  bool *later = cxi_call_array(m, sizeof *later);
  cx *args = cxi_call_array(n, sizeof *args);
  cx *results = cxi_call_array(m, sizeof *results);
  if (!unknown_in || !later || !args || !results) return;
  uint32_t n_known = 0;
  for (uint32_t i = 0; i < n; i++) {
    unknown_in[i] = cxi_given(unknown[i]);
    if (!unknown_in[i]) args[n_known++] = known[i];
  }
  cxi_partial cut;
  cxi_remat remat;
  if (!t->partial_eval(body_of(r), unknown_in, NULL, &cut, later) ||
      !cxi_remat_cut(r, &cut, &remat))
    return;
  cx *now = cxi_call_array(remat.now->n_out, sizeof *now);
  if (!now) return;
  const cx *saved = now + (remat.now->n_out - remat.n_saved);
  t->into_known(s);
  if (!cxi_call_apply(t, NULL, remat.now, args, now) ||
      !emit_again(r, s, &remat, n_known, args, saved, unknown, results))
    return;
  for (uint32_t i = 0, a = 0, b = 0; i < m; i++) {
    if (later[i])
      unknown_out[i] = results[b++];
    else
      known_out[i] = now[a++];
  }
}

/* -- transposition -------------------------------------------------------- */

/* The operands that are not linear and the cotangents, behind a barrier; a
 * region without such operands computes nothing again and needs none. */
static void hold_back(const cxi_rule *r, const cx *in, const cx *ct,
                      cx *held_in, cx *held_ct) {
  cx *all = cxi_call_array((size_t)r->n_in + r->n_out, sizeof *all);
  uint32_t n = 0, k = 0;
  for (uint32_t i = 0; i < r->n_in; i++) held_in[i] = in[i];
  for (uint32_t i = 0; i < r->n_out; i++) held_ct[i] = ct[i];
  if (!all) return;
  for (uint32_t i = 0; i < r->n_in; i++)
    if (!cx_is_none(in[i])) all[n++] = in[i];
  if (n == 0) return;
  for (uint32_t i = 0; i < r->n_out; i++)
    if (cxi_given(ct[i])) all[n++] = ct[i];
  cxi_optimization_barrier(n, all, all);
  for (uint32_t i = 0; i < r->n_in; i++)
    if (!cx_is_none(in[i])) held_in[i] = all[k++];
  for (uint32_t i = 0; i < r->n_out; i++)
    if (cxi_given(ct[i])) held_ct[i] = all[k++];
}

static void transpose(const cxi_rule *r, const cx *in, const cx *ct, cx *acc) {
  cxi_checkpoint_params like = *(const cxi_checkpoint_params *)r->params;
  cx *held_in = cxi_call_array(r->n_in, sizeof *held_in);
  cx *held_ct = cxi_call_array(r->n_out, sizeof *held_ct);
  if (!held_in || !held_ct) return;
  hold_back(r, in, ct, held_in, held_ct);
  like.differentiated = true;
  cxi_call_transpose(r, &like, body_of(r), held_in, held_ct, acc);
}

/* -- the row -------------------------------------------------------------- */

static const char *const examples[] = {
  "program @f(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  %4: f64[3] = tanh %3\n"
  "  return %4\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = checkpoint[body=@f, policy=\"nothing\", names=(), "
  "differentiated=false] %0, %1\n"
  "  %3: f64[3] = checkpoint[body=@f, policy=\"everything\", names=(), "
  "differentiated=false] %2, %1\n"
  "  return %3\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_checkpoint = {
  .prim = CXI_PRIM_checkpoint,
  .form = CXI_FORM_CALL,
  .formula = "body(x, ...), computed again in the backward pass",
  .infer = infer,
  .jvp = jvp,
  .jvp_emits = true,
  .transpose = transpose,
  .batch = batch,
  .partial_eval = partial_eval,
  .dce = dce,
  .evaluate = evaluate,
  .examples = examples,
};
