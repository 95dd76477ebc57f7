/* cond.c - one of several branches: the row, derivatives, batching. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

static uint32_t n_branches(const cxi_rule *r) {
  return ((const cxi_cond_params *)r->params)->branches.n;
}
static const cxi_program *branch(const cxi_rule *r, uint32_t k) {
  return ((const cxi_cond_params *)r->params)->branches.d[k];
}

/* -- infer ---------------------------------------------------------------- */

static bool infer_branch(cxi_infer *c, const cxi_program *first,
                         const cxi_program *b, uint32_t k) {
  char is[96], want[96];
  if (!b) return cxi_infer_fail(c, CX_ETREE, "branch %u is missing", k);
  if (b->n_in != c->n_in - 1)
    return cxi_infer_fail(c, CX_ETREE, "branch %u takes %u operands, not %u", k,
                          b->n_in, c->n_in - 1);
  if (b->n_out != first->n_out)
    return cxi_infer_fail(c, CX_ETREE,
                          "branch %u gives %u outputs, branch 0 "
                          "gives %u",
                          k, b->n_out, first->n_out);
  for (uint32_t i = 0; i < b->n_in; i++) {
    if (b->values[i].type == c->in[i + 1]) continue;
    cxi_aval_print(is, sizeof is, cxi_type_aval(c->in[i + 1]));
    cxi_aval_print(want, sizeof want, cxi_type_aval(b->values[i].type));
    return cxi_infer_fail(c, CX_ESHAPE, "operand %u is %s, branch %u takes %s",
                          i, is, k, want);
  }
  for (uint32_t i = 0; i < b->n_out; i++) {
    if (cxi_output_type(b, i) == cxi_output_type(first, i)) continue;
    cxi_aval_print(is, sizeof is, cxi_type_aval(cxi_output_type(b, i)));
    cxi_aval_print(want, sizeof want, cxi_type_aval(cxi_output_type(first, i)));
    return cxi_infer_fail(c, CX_ESHAPE,
                          "output %u of branch %u is %s, that of branch 0 %s",
                          i, k, is, want);
  }
  return true;
}

static bool infer(cxi_infer *c) {
  const cxi_programs b = ((const cxi_cond_params *)c->params)->branches;
  if (!b.n) return cxi_infer_fail(c, CX_ETREE, "no branches");
  if (!c->n_in) return cxi_infer_fail(c, CX_ETREE, "no index");
  if (c->in[0] != cxi_type_scalar(CX_I32)) {
    char is[96];
    cxi_aval_print(is, sizeof is, cxi_type_aval(c->in[0]));
    return cxi_infer_fail(c, CX_ESHAPE, "the index is %s, not i32[]", is);
  }
  for (uint32_t k = 0; k < b.n; k++)
    if (!infer_branch(c, b.d[0], b.d[k], k)) return false;
  for (uint32_t i = 0; i < b.d[0]->n_out; i++)
    if (!cxi_infer_result(c, cxi_output_type(b.d[0], i))) return false;
  return true;
}

/* -- jvp ------------------------------------------------------------------ */

/* A result that has a tangent in one branch has one in all. */
static void jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                cx *dout) {
  const uint32_t n = r->n_in - 1, m = r->n_out, branches = n_branches(r);
  bool ok = true;
  bool *nonzero = cxi_array(n, sizeof *nonzero, &ok);
  bool *nonzero_out = cxi_array(m, sizeof *nonzero_out, &ok);
  bool *left = cxi_array(m, sizeof *left, &ok);
  const cxi_program **bodies = cxi_array(branches, sizeof *bodies, &ok);
  cx *args = cxi_array(2 * (size_t)n, sizeof *args, &ok);
  cx *results = cxi_array(2 * (size_t)m, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(m, out);
    return;
  }
  uint32_t n_args = 0;
  for (uint32_t i = 0; i < n; i++) args[n_args++] = in[i + 1];
  for (uint32_t i = 0; i < n; i++) {
    nonzero[i] = cxi_given(dx[i + 1]);
    if (nonzero[i]) args[n_args++] = dx[i + 1];
  }
  for (int round = 0; round < 2; round++)
    for (uint32_t k = 0; k < branches; k++) {
      bodies[k] = r->transforms->jvp(branch(r, k), nonzero, nonzero_out,
                                     r->linearizing, left);
      if (!bodies[k]) {
        cxi_rule_stop(m, out);
        return;
      }
      cxi_join(m, nonzero_out, left);
    }
  cxi_cond((cxi_programs){ branches, bodies }, in[0], args, results);
  for (uint32_t i = 0, k = m; i < m; i++) {
    out[i] = results[i];
    if (nonzero_out[i]) dout[i] = results[k++];
  }
}

/* -- transpose ------------------------------------------------------------ */

static void transpose(const cxi_rule *r, const cx *in, const cx *ct, cx *acc) {
  const uint32_t n = r->n_in - 1, m = r->n_out, branches = n_branches(r);
  bool ok = true;
  bool *linear = cxi_array(n, sizeof *linear, &ok);
  bool *has_acc = cxi_array(n, sizeof *has_acc, &ok);
  bool *has_ct = cxi_array(m, sizeof *has_ct, &ok);
  const cxi_program **bodies = cxi_array(branches, sizeof *bodies, &ok);
  cx *args = cxi_array(2 * (size_t)n + m, sizeof *args, &ok);
  cx *results = cxi_array(n, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return;
  }
  uint32_t n_args = 0;
  for (uint32_t i = 0; i < n; i++) {
    linear[i] = cx_is_none(in[i + 1]);
    if (!linear[i]) args[n_args++] = in[i + 1];
  }
  for (uint32_t i = 0; i < m; i++) {
    has_ct[i] = cxi_given(ct[i]);
    if (has_ct[i]) args[n_args++] = ct[i];
  }
  for (uint32_t i = 0; i < n; i++) {
    has_acc[i] = linear[i] && cxi_given(acc[i + 1]);
    if (has_acc[i]) args[n_args++] = acc[i + 1];
  }
  for (uint32_t k = 0; k < branches; k++) {
    bodies[k] = r->transforms->transpose(branch(r, k), linear, has_ct, has_acc);
    if (!bodies[k]) return;
  }
  cxi_cond((cxi_programs){ branches, bodies }, in[0], args, results);
  for (uint32_t i = 0, k = 0; i < n; i++)
    if (linear[i]) acc[i + 1] = results[k++];
}

/* -- batch ---------------------------------------------------------------- */

/* Every branch batched with one mask; a result that is batched in one is
 * batched in all. False after reporting. */
static bool batch_branches(const cxi_rule *r, const bool *batched, int64_t size,
                           bool *batched_out, const cxi_program **bodies) {
  bool ok = true;
  bool *left = cxi_array(r->n_out, sizeof *left, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  for (int round = 0; round < 2; round++)
    for (uint32_t k = 0; k < n_branches(r); k++) {
      bodies[k] =
          r->transforms->batch(branch(r, k), batched, size, batched_out, left);
      if (!bodies[k]) return false;
      cxi_join(r->n_out, batched_out, left);
    }
  return true;
}

static void follow_taken(cx taken, uint32_t n, const bool *batched, cx *args) {
  if (cxi_shape_at(taken).d[0] == 0) return; /* no lane */
  const cx lane = cxi_argmax(taken, 0, CX_I32);
  for (uint32_t i = 0; i < n; i++)
    if (batched[i])
      args[i] = cxi_select(cxi_per_lane(taken, args[i]),
                           cxi_repeat_lane(args[i], lane), args[i]);
}

/* A branch with a loop in it might not end on the operands of lanes that do
 * not take it. They repeat those of a lane that does; if there is none, the
 * branch does not run. */
static void run_guarded(const cxi_program *body, cx taken, const bool *batched,
                        cx *args, cx *out) {
  bool ok = true;
  const uint32_t n = body->n_in, m = body->n_out;
  cxi_type *types = cxi_array(n, sizeof *types, &ok);
  cx *in = cxi_array(n, sizeof *in, &ok);
  cx *zeros = cxi_array(m, sizeof *zeros, &ok);
  if (!ok) {
    cxi_rule_no_memory(m, out);
    return;
  }
  follow_taken(taken, n, batched, args);
  for (uint32_t i = 0; i < n; i++) types[i] = cxi_type_at(args[i]);
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++) in[i] = cxi_builder_input(&b, types[i]);
  for (uint32_t j = 0; j < m; j++)
    zeros[j] = cxi_zeros(cxi_output_type(body, j));
  const cxi_program *skip = cxi_body_finish(&b, body, n, in, m, zeros);
  const cxi_program *const bodies[2] = { skip, body };
  if (!skip) {
    cxi_rule_stop(m, out);
    return;
  }
  const cx any = cxi_reduce(CXI_PRIM_reduce_or, taken, cxi_dims_range(0, 1));
  cxi_cond((cxi_programs){ 2, bodies }, cxi_convert(any, CX_I32), args, out);
}

/* Evaluates all branches and selects. A branch sees an operand that has
 * derivatives through select(taken, x, stop_gradient(x)): the cotangents of
 * lanes that do not take it are then exactly zero. */
static void batch_by_lane(const cxi_rule *r, cx index, const bool *batched,
                          const cx *args, const cxi_program *const *bodies,
                          cx *out) {
  const uint32_t n = r->n_in - 1, m = r->n_out, branches = n_branches(r);
  bool ok = true;
  cx *guarded = cxi_array(n, sizeof *guarded, &ok);
  cx *results = cxi_array((size_t)branches * m, sizeof *results, &ok);
  cx *cases = cxi_array(branches, sizeof *cases, &ok);
  if (!ok) {
    cxi_rule_no_memory(m, out);
    return;
  }
  index = cxi_clamp(cxi_integer(CX_I32, 0), index,
                    cxi_integer(CX_I32, (int64_t)branches - 1));
  for (uint32_t k = 0; k < branches; k++) {
    cx *res = results + (size_t)k * m;
    const cx taken =
        cxi_compare(CXI_PRIM_eq, index, cxi_integer(CX_I32, (int64_t)k));
    for (uint32_t i = 0; i < n; i++)
      guarded[i] = branches > 1 && cxi_type_is_float(r->in_types[i + 1])
                       ? cxi_select(cxi_per_lane(taken, args[i]),
                                    cxi_stop_gradient(args[i]), args[i])
                       : args[i];
    const bool guard = branches > 1 && cxi_may_not_end(bodies[k], &ok);
    if (guard && cxi_names_have(&branch(r, k)->axes, r->axis_name)) {
      cxi_fail(CX_ENORULE,
               "cond: the lanes along \"%.60s\" take branches of their own, so "
               "no while inside one may join them",
               cxi_name_text(r->axis_name));
      cxi_rule_stop(m, out);
      return;
    }
    if (guard)
      run_guarded(bodies[k], taken, batched, guarded, res);
    else
      cxi_replay(bodies[k], guarded, res);
  }
  if (!ok) {
    cxi_rule_no_memory(m, out);
    return;
  }
  for (uint32_t j = 0; j < m; j++) {
    for (uint32_t k = 0; k < branches; k++)
      cases[k] = results[(size_t)k * m + j];
    out[j] = branches > 1
                 ? cxi_select_n(cxi_per_lane(index, cases[0]), branches, cases)
                 : cases[0];
  }
}

static void batch(const cxi_rule *r, const cx *in, const int *axis,
                  int64_t size, cx *out, int *out_axis) {
  const uint32_t n = r->n_in - 1, m = r->n_out;
  const bool by_lane = axis[0] >= 0;
  bool ok = true;
  bool *batched = cxi_array(n, sizeof *batched, &ok);
  bool *batched_out = cxi_array(m, sizeof *batched_out, &ok);
  const cxi_program **bodies = cxi_array(n_branches(r), sizeof *bodies, &ok);
  cx *args = cxi_array(n, sizeof *args, &ok);
  if (!ok) {
    cxi_rule_no_memory(m, out);
    return;
  }
  uint16_t effects = CXI_EFFECT_NONE;
  for (uint32_t k = 0; k < n_branches(r); k++) effects |= branch(r, k)->effects;
  if (by_lane && effects) {
    cxi_fail(CX_ENORULE, "cond: an index that depends on the batch runs every "
                         "branch, so none may have an effect");
    cxi_rule_stop(m, out);
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    batched[i] =
        axis[i + 1] >= 0 || (by_lane && cxi_type_is_float(r->in_types[i + 1]));
    args[i] = batched[i] ? cxi_batched_at(in[i + 1], axis[i + 1], size, 0)
                         : in[i + 1];
  }
  for (uint32_t j = 0; j < m; j++) batched_out[j] = by_lane;
  if (!batch_branches(r, batched, size, batched_out, bodies)) {
    cxi_rule_stop(m, out);
    return;
  }
  if (by_lane)
    batch_by_lane(r, in[0], batched, args, bodies, out);
  else
    cxi_cond((cxi_programs){ n_branches(r), bodies }, in[0], args, out);
  for (uint32_t j = 0; j < m; j++) out_axis[j] = batched_out[j] ? 0 : -1;
}

/* -- dce ------------------------------------------------------------------ */

static void dce(const cxi_rule *r, const cx *in, const bool *used, cx *out) {
  const uint32_t n = r->n_in - 1, m = r->n_out, branches = n_branches(r);
  bool ok = true;
  bool *need = cxi_array(n, sizeof *need, &ok);
  bool *needs = cxi_array((size_t)branches * n, sizeof *needs, &ok);
  uint32_t *place = cxi_array(n, sizeof *place, &ok);
  const cxi_program **bodies = cxi_array(branches, sizeof *bodies, &ok);
  cx *results = cxi_array(m, sizeof *results, &ok);
  cxi_wires w = cxi_wires_new(n, &ok);
  if (!ok) {
    cxi_rule_no_memory(m, out);
    return;
  }
  uint16_t effects = CXI_EFFECT_NONE;
  for (uint32_t k = 0; ok && k < branches; k++) {
    bool *needs_k = needs + (size_t)k * n;
    bodies[k] = r->transforms->narrow(branch(r, k), used, needs_k);
    ok = bodies[k] != NULL;
    if (!ok) break;
    cxi_join(n, need, needs_k);
    effects |= bodies[k]->effects;
  }
  for (uint32_t k = 0; ok && k < branches; k++) {
    cxi_places(n, needs + (size_t)k * n, place);
    w.n = 0;
    for (uint32_t i = 0; i < n; i++)
      if (need[i]) cxi_wire_typed(&w, in[i + 1], place[i], r->in_types[i + 1]);
    bodies[k] = cxi_body_fit(bodies[k], w.n, w.places, w.types);
    ok = bodies[k] != NULL;
  }
  if (!ok) {
    cxi_rule_stop(m, out);
    return;
  }
  if (bodies[0]->n_out || effects)
    cxi_cond((cxi_programs){ branches, bodies }, in[0], w.args, results);
  for (uint32_t i = 0, k = 0; i < m; i++)
    if (used[i]) out[i] = results[k++];
}

/* -- evaluate ------------------------------------------------------------- */

static bool evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  const cxi_programs b = ((const cxi_cond_params *)c->params)->branches;
  const int32_t index = *(const int32_t *)in[0].data;
  const uint32_t k = index < 0                ? 0
                     : (uint32_t)index >= b.n ? b.n - 1
                                              : (uint32_t)index;
  const cxi_mark mark = cxi_scratch_mark();
  bool ok = true;
  cxi_view *results = cxi_array(c->n_out, sizeof *results, &ok);
  if (!ok) {
    cxi_scratch_reset(mark);
    return cxi_error_set(c->error, CX_EMEMORY, "no memory for a branch");
  }
  ok = c->run(c, b.d[k], in + 1, NULL, results);
  for (uint32_t j = 0; ok && j < c->n_out; j++) {
    cxi_view_copy(&out[j], &results[j]);
    c->release(c, &results[j]);
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- the row -------------------------------------------------------------- */

static const char *const examples[] = {
  /* three branches; a result that has no tangent in one of them */
  "program @sine(%0: f64[3], %1: f64[]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = mul %2, %1\n"
  "  return %3, %1\n"
  "}\n"
  "program @square(%0: f64[3], %1: f64[]) {\n"
  "  %2: f64[3] = mul %0, %0\n"
  "  %3: f64[] = exp %1\n"
  "  return %2, %3\n"
  "}\n"
  "program @same(%0: f64[3], %1: f64[]) {\n"
  "  return %0, 2.0:f64\n"
  "}\n"
  "program @main(%0: i32[], %1: f64[3], %2: f64[]) {\n"
  "  %3: f64[3], %4: f64[] = cond[branches=(@sine,@square,@same)] %0, %1, %2\n"
  "  return %3, %4\n"
  "}\n",
  /* operands without elements, an integer result */
  "program @left(%0: f32[0,2], %1: i32[2]) {\n"
  "  return %0, %1\n"
  "}\n"
  "program @right(%0: f32[0,2], %1: i32[2]) {\n"
  "  %2: f32[0,2] = cos %0\n"
  "  %3: i32[2] = neg %1\n"
  "  return %2, %3\n"
  "}\n"
  "program @main(%0: i32[], %1: f32[0,2], %2: i32[2]) {\n"
  "  %3: f32[0,2], %4: i32[2] = cond[branches=(@left,@right)] %0, %1, %2\n"
  "  return %3, %4\n"
  "}\n",
  /* one branch */
  "program @only(%0: f64[2]) {\n"
  "  %1: f64[2] = tanh %0\n"
  "  return %1\n"
  "}\n"
  "program @main(%0: i32[], %1: f64[2]) {\n"
  "  %2: f64[2] = cond[branches=(@only)] %0, %1\n"
  "  return %2\n"
  "}\n",
  NULL
};

const cxi_row cxi_row_cond = {
  .prim = CXI_PRIM_cond,
  .form = CXI_FORM_CONTROL,
  .formula = "the branch with the number index, on operands",
  .infer = infer,
  .jvp = jvp,
  .jvp_emits = true,
  .transpose = transpose,
  .batch = batch,
  .partial_eval = cxi_cond_partial_eval,
  .dce = dce,
  .evaluate = evaluate,
  .examples = examples,
};
