/* custom.c - custom_vjp and custom_lin: a function with a reverse mode of its
 * own, and the linear map that stands for its derivative until transposed.
 *
 *   custom_vjp(x)      jvp ->  y, residuals = fwd(x)
 *                              dy = custom_lin(residuals, dx)
 *   custom_lin(r, dx)  transpose ->  ct x += bwd(r, ct y)
 *
 * custom_lin cannot be run: nobody said what the map is, only what its
 * transpose does. Where one is left when a program runs, forward mode was
 * asked of the function. */
#include "primitives/custom.h"

#include <string.h>

#include "ops/lax.h"

uint32_t cxi_count_floats(uint32_t n, const cxi_type *types) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += cxi_type_is_float(types[i]);
  return count;
}

/* The floating ones of the types; how many, or false after failing. */
static bool floats_of(cxi_infer *c, uint32_t n, const cxi_type *types,
                      cxi_type **out, uint32_t *n_out) {
  *out = cxi_scratch((n + (size_t)1) * sizeof **out);
  *n_out = 0;
  if (!*out) return cxi_infer_fail(c, CX_EMEMORY, "no memory");
  for (uint32_t i = 0; i < n; i++)
    if (cxi_type_is_float(types[i])) (*out)[(*n_out)++] = types[i];
  return true;
}

/* -- infer ---------------------------------------------------------------- */

static bool infer_end(cxi_infer *c, const char *what, const char *end,
                      uint32_t i, cxi_type is, cxi_type want) {
  char got[96], expected[96];
  if (is == want) return true;
  cxi_aval_print(got, sizeof got, cxi_type_aval(is));
  cxi_aval_print(expected, sizeof expected, cxi_type_aval(want));
  return cxi_infer_fail(c, CX_ESHAPE, "%s %u of %s is %s, it should be %s", end,
                        i, what, got, expected);
}

bool cxi_custom_infer_program(cxi_infer *c, const char *what,
                              const cxi_program *p, uint32_t n_in,
                              const cxi_type *in, uint32_t n_out,
                              const cxi_type *out) {
  if (!p) return cxi_infer_fail(c, CX_ETREE, "no %s", what);
  if (p->n_in != n_in || p->n_out < n_out)
    return cxi_infer_fail(c, CX_ETREE,
                          "%s takes %u and returns %u values, not %u and %u",
                          what, p->n_in, p->n_out, n_in, n_out);
  for (uint32_t i = 0; i < n_in; i++)
    if (!infer_end(c, what, "input", i, p->values[i].type, in[i])) return false;
  for (uint32_t i = 0; i < n_out; i++)
    if (!infer_end(c, what, "output", i, cxi_output_type(p, i), out[i]))
      return false;
  return true;
}

/* bwd: the residuals, which are fwd's further outputs, and cotangents. */
static bool infer_bwd(cxi_infer *c, const cxi_custom *f) {
  const uint32_t n_residuals = f->fwd->n_out - c->n_out;
  cxi_type *ct_y, *ct_x, *in;
  uint32_t n_y, n_x;
  if (!floats_of(c, c->n_out, c->out, &ct_y, &n_y) ||
      !floats_of(c, c->n_in, c->in, &ct_x, &n_x))
    return false;
  in = cxi_scratch((n_residuals + (size_t)n_y + 1) * sizeof *in);
  if (!in) return cxi_infer_fail(c, CX_EMEMORY, "no memory");
  for (uint32_t i = 0; i < n_residuals; i++)
    in[i] = cxi_output_type(f->fwd, c->n_out + i);
  memcpy(in + n_residuals, ct_y, n_y * sizeof *in);
  if (f->bwd && f->bwd->n_out != n_x)
    return cxi_infer_fail(c, CX_ETREE, "bwd returns %u cotangents, not %u",
                          f->bwd->n_out, n_x);
  return cxi_custom_infer_program(c, "bwd", f->bwd, n_residuals + n_y, in, n_x,
                                  ct_x);
}

bool cxi_custom_infer(cxi_infer *c, const cxi_custom *f) {
  return cxi_call_infer(c, f->body) &&
         cxi_custom_infer_program(c, "fwd", f->fwd, c->n_in, c->in, c->n_out,
                                  c->out) &&
         infer_bwd(c, f);
}

/* -- jvp ------------------------------------------------------------------ */

/* custom_lin of the residuals and of the tangents that are given; dout is
 * that of the floating results. bwd is narrowed to their cotangents. */
static void emit_lin(const cxi_rule *r, const cxi_custom *f,
                     uint32_t n_residuals, const cx *residuals, const cx *dx,
                     cx *dout) {
  const uint32_t n_y = cxi_count_floats(r->n_out, r->out_types);
  cx *args = cxi_call_array((size_t)n_residuals + r->n_in, sizeof *args);
  cx *results = cxi_call_array(n_y, sizeof *results);
  uint32_t *wanted = cxi_call_array(r->n_in, sizeof *wanted);
  if (!args || !results || !wanted) return;
  uint32_t n = 0;
  memcpy(args, residuals, n_residuals * sizeof *args);
  for (uint32_t i = 0, at = 0; i < r->n_in; i++) {
    if (!cxi_type_is_float(r->in_types[i])) continue;
    if (cxi_given(dx[i])) {
      args[n_residuals + n] = dx[i];
      wanted[n++] = at;
    }
    at++;
  }
  const cxi_custom_lin_params params = {
    .bwd = r->transforms->select(f->bwd, NULL, n, wanted),
    .n_residuals = n_residuals,
    .name = f->name,
    .linearizing = r->linearizing,
  };
  if (!params.bwd || !cxi_emit(CXI_PRIM_custom_lin, &params, n_residuals + n,
                               args, n_y, results))
    return;
  for (uint32_t i = 0, at = 0; i < r->n_out; i++)
    if (cxi_type_is_float(r->out_types[i])) dout[i] = results[at++];
}

void cxi_custom_jvp(const cxi_rule *r, const cxi_custom *f, const cx *in,
                    const cx *dx, cx *out, cx *dout) {
  cx *results = cxi_call_array(f->fwd->n_out, sizeof *results);
  if (!results || !cxi_call_apply(r->transforms, NULL, f->fwd, in, results))
    return;
  memcpy(out, results, r->n_out * sizeof *out);
  emit_lin(r, f, f->fwd->n_out - r->n_out, results + r->n_out, dx, dout);
}

/* -- batch ---------------------------------------------------------------- */

/* p with those outputs summed over the batch, axis 0, that are batched but
 * should not be. */
static const cxi_program *sum_outputs(const cxi_program *p, const bool *batched,
                                      const bool *should) {
  cx *in = cxi_call_array(p->n_in, sizeof *in);
  cx *out = cxi_call_array(p->n_out, sizeof *out);
  bool any = false;
  for (uint32_t i = 0; i < p->n_out; i++)
    any = any || (batched[i] && !should[i]);
  if (!any || !in || !out) return any ? NULL : p;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_replay(p, in, out);
  for (uint32_t i = 0; i < p->n_out; i++)
    if (batched[i] && !should[i])
      out[i] = cxi_reduce_sum(out[i], (cx_dims){ .n = 1, .d = { 0 } });
  return cxi_call_finish(&b, p->name, p->n_in, in, p->n_out, out);
}

/* bwd batched: its cotangents are batched exactly where `should` says. */
static const cxi_program *batch_bwd(const cxi_transforms *t,
                                    const cxi_program *bwd, const bool *in,
                                    int64_t size, const bool *should) {
  bool *batched = cxi_call_array(bwd->n_out, sizeof *batched);
  if (!batched) return NULL;
  const cxi_program *q = t->batch(bwd, in, size, should, batched);
  return q ? sum_outputs(q, batched, should) : NULL;
}

/* body and fwd batched until they agree on the results. */
static bool batch_fwd(const cxi_rule *r, const cxi_custom *f,
                      const bool *batched, int64_t size, cxi_custom *out,
                      bool *batched_out, bool *fwd_out) {
  const cxi_transforms *t = r->transforms;
  bool *force = cxi_call_array(f->fwd->n_out, sizeof *force), grown = true;
  if (!force) return false;
  while (grown) {
    grown = false;
    out->body = t->batch(f->body, batched, size, force, batched_out);
    if (!out->body) return false;
    memcpy(force, batched_out, r->n_out);
    out->fwd = t->batch(f->fwd, batched, size, force, fwd_out);
    if (!out->fwd) return false;
    for (uint32_t i = 0; i < r->n_out; i++) {
      grown = grown || fwd_out[i] != batched_out[i];
      force[i] = fwd_out[i];
    }
  }
  return true;
}

bool cxi_custom_batch(const cxi_rule *r, const cxi_custom *f, const int *axis,
                      int64_t size, cxi_custom *out, bool *batched_out) {
  bool *batched = cxi_call_array(r->n_in, sizeof *batched);
  if (!batched) return false;
  for (uint32_t i = 0; i < r->n_in; i++) batched[i] = axis[i] >= 0;
  *out = *f;
  if (!f->fwd) {
    out->body = r->transforms->batch(f->body, batched, size, NULL, batched_out);
    return out->body != NULL;
  }
  bool *fwd_out = cxi_call_array(f->fwd->n_out, sizeof *fwd_out);
  bool *bwd_in = cxi_call_array(f->bwd->n_in, sizeof *bwd_in);
  bool *should = cxi_call_array(f->bwd->n_out, sizeof *should);
  if (!fwd_out || !bwd_in || !should ||
      !batch_fwd(r, f, batched, size, out, batched_out, fwd_out))
    return false;
  uint32_t n = 0, m = 0;
  for (uint32_t i = r->n_out; i < f->fwd->n_out; i++) bwd_in[n++] = fwd_out[i];
  for (uint32_t i = 0; i < r->n_out; i++)
    if (cxi_type_is_float(r->out_types[i])) bwd_in[n++] = batched_out[i];
  for (uint32_t i = 0; i < r->n_in; i++)
    if (cxi_type_is_float(r->in_types[i])) should[m++] = batched[i];
  out->bwd = batch_bwd(r->transforms, f->bwd, bwd_in, size, should);
  return out->bwd != NULL;
}

/* -- custom_vjp(x; body, fwd, bwd) ---------------------------------------- */

static cxi_custom vjp_of(const void *params) {
  const cxi_custom_vjp_params *p = params;
  return (cxi_custom){ p->body, p->fwd, p->bwd, p->name };
}

static bool vjp_infer(cxi_infer *c) {
  const cxi_custom f = vjp_of(c->params);
  return cxi_custom_infer(c, &f);
}

static void vjp_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  const cxi_custom f = vjp_of(r->params);
  cxi_custom_jvp(r, &f, in, dx, out, dout);
}

static void vjp_batch(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  const cxi_custom f = vjp_of(r->params);
  const cx *args = cxi_call_to_front(r, in, axis);
  bool *batched_out = cxi_call_array(r->n_out, sizeof *batched_out);
  cxi_custom q;
  if (!args || !batched_out ||
      !cxi_custom_batch(r, &f, axis, size, &q, batched_out))
    return;
  const cxi_custom_vjp_params params = {
    .body = q.body, .fwd = q.fwd, .bwd = q.bwd, .name = f.name
  };
  cxi_emit(CXI_PRIM_custom_vjp, &params, r->n_in, args, r->n_out, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = batched_out[i] ? 0 : -1;
}

static bool vjp_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, vjp_of(c->params).body, in, out);
}

static const char *const vjp_examples[] = {
  "program @f(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  return %3\n"
  "}\n"
  "program @fwd(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  %4: f64[3] = cos %0\n"
  "  return %3, %4, %2, %1\n"
  "}\n"
  "program @bwd(%0: f64[3], %1: f64[3], %2: f64[3], %3: f64[3]) {\n"
  "  %4: f64[3] = mul %3, %2\n"
  "  %5: f64[3] = mul %4, %0\n"
  "  %6: f64[3] = mul %3, %1\n"
  "  return %5, %6\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = custom_vjp[body=@f, fwd=@fwd, bwd=@bwd, "
  "name=\"f\"] %0, %1\n"
  "  return %2\n"
  "}\n",
  NULL,
};

const cxi_row cxi_row_custom_vjp = {
  .prim = CXI_PRIM_custom_vjp,
  .form = CXI_FORM_CALL,
  .formula = "body(x, ...); ct x = bwd(residuals of fwd, ct y)",
  .infer = vjp_infer,
  .jvp = vjp_jvp,
  .jvp_emits = true,
  .no_transpose = "a function with a custom_vjp is applied to something "
                  "linear",
  .batch = vjp_batch,
  .evaluate = vjp_evaluate,
  .examples = vjp_examples,
};

/* -- custom_lin(residuals, dx; bwd): the map whose transpose is bwd ------- */

static bool lin_infer(cxi_infer *c) {
  const cxi_custom_lin_params *p = c->params;
  if (!p->bwd) return cxi_infer_fail(c, CX_ETREE, "no bwd");
  if (p->n_residuals < 0 || p->n_residuals > p->bwd->n_in ||
      p->n_residuals + p->bwd->n_out != c->n_in)
    return cxi_infer_fail(c, CX_ETREE,
                          "%u operands do not fit a bwd with %lld residuals "
                          "and %u cotangents",
                          c->n_in, (long long)p->n_residuals, p->bwd->n_out);
  const uint32_t n = (uint32_t)p->n_residuals;
  for (uint32_t i = 0; i < n; i++)
    if (!infer_end(c, "bwd", "residual", i, p->bwd->values[i].type, c->in[i]))
      return false;
  for (uint32_t i = 0; i < p->bwd->n_out; i++)
    if (!infer_end(c, "bwd", "cotangent", i, cxi_output_type(p->bwd, i),
                   c->in[n + i]))
      return false;
  for (uint32_t i = n; i < p->bwd->n_in; i++)
    if (!cxi_infer_result(c, p->bwd->values[i].type)) return false;
  return true;
}

static const char advice[] =
    "forward mode through the custom_vjp of \"%s\": only reverse mode (grad, "
    "vjp) is defined; give the function a custom_jvp instead";

static void lin_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  const cxi_custom_lin_params *p = r->params;
  (void)in, (void)dx, (void)out, (void)dout;
  cxi_fail(CX_ENORULE, advice, cxi_name_text(p->name));
}

/* Cotangents that are none enter bwd as zeros. */
static void lin_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  const cxi_custom_lin_params *p = r->params;
  const uint32_t n = (uint32_t)p->n_residuals;
  cx *args = cxi_call_array(p->bwd->n_in, sizeof *args);
  cx *results = cxi_call_array(p->bwd->n_out, sizeof *results);
  if (!args || !results) return;
  memcpy(args, in, n * sizeof *args);
  for (uint32_t i = 0; i < r->n_out; i++)
    args[n + i] = cxi_given(ct[i]) ? ct[i] : cxi_zeros(r->out_types[i]);
  if (!cxi_call_apply(r->transforms, NULL, p->bwd, args, results)) return;
  for (uint32_t i = 0; i < p->bwd->n_out; i++)
    if (cx_is_none(in[n + i]) && !cxi_call_is_zero(p->bwd, i))
      acc[n + i] = cxi_sum_given(acc[n + i], results[i]);
}

/* Results are batched; the cotangents of tangents that are not, summed. */
static void lin_batch(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  const cxi_custom_lin_params *p = r->params;
  const uint32_t n = (uint32_t)p->n_residuals;
  const cx *args = cxi_call_to_front(r, in, axis);
  bool *bwd_in = cxi_call_array(p->bwd->n_in, sizeof *bwd_in);
  bool *should = cxi_call_array(p->bwd->n_out, sizeof *should);
  if (!args || !bwd_in || !should) return;
  for (uint32_t i = 0; i < p->bwd->n_in; i++)
    bwd_in[i] = i >= n || axis[i] >= 0;
  for (uint32_t i = 0; i < p->bwd->n_out; i++) should[i] = axis[n + i] >= 0;
  cxi_custom_lin_params params = *p;
  params.bwd = batch_bwd(r->transforms, p->bwd, bwd_in, size, should);
  if (!params.bwd) return;
  cxi_emit(CXI_PRIM_custom_lin, &params, r->n_in, args, r->n_out, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = 0;
}

/* While a function is linearized, what is known of the tangents does not
 * depend on the tangents of its arguments: it is zero. */
static void lin_partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                             const cx *unknown, cx *known_out,
                             cx *unknown_out) {
  const cxi_transforms *t = r->transforms;
  const cxi_custom_lin_params *p = r->params;
  const uint32_t n = (uint32_t)p->n_residuals;
  cx *args = cxi_call_array(r->n_in, sizeof *args);
  bool any = false, tangent = false;
  if (!args) return;
  for (uint32_t i = 0; i < r->n_in; i++) {
    any = any || cxi_given(unknown[i]);
    tangent = tangent || (i >= n && cxi_given(unknown[i]));
  }
  if (!tangent && p->linearizing) {
    t->into_known(s);
    for (uint32_t i = 0; i < r->n_out; i++)
      known_out[i] = cxi_zeros(r->out_types[i]);
    return;
  }
  if (!any) {
    t->into_known(s);
    cxi_emit(CXI_PRIM_custom_lin, p, r->n_in, known, r->n_out, known_out);
    return;
  }
  for (uint32_t i = 0; i < r->n_in; i++)
    args[i] = cxi_given(unknown[i]) ? unknown[i] : t->residual(s, known[i]);
  t->into_unknown(s);
  cxi_emit(CXI_PRIM_custom_lin, p, r->n_in, args, r->n_out, unknown_out);
}

static bool lin_evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  const cxi_custom_lin_params *p = c->params;
  (void)in, (void)out;
  return cxi_error_set(c->error, CX_ENORULE, advice, cxi_name_text(p->name));
}

static const char *const lin_examples[] = { NULL };

const cxi_row cxi_row_custom_lin = {
  .prim = CXI_PRIM_custom_lin,
  .form = CXI_FORM_NEVER,
  .formula = "the map whose transpose is bwd(residuals, ct)",
  .infer = lin_infer,
  .jvp = lin_jvp,
  .partial_eval = lin_partial_eval,
  .transpose = lin_transpose,
  .batch = lin_batch,
  .evaluate = lin_evaluate,
  .examples = lin_examples,
};
