/* scan.c - a loop over axis 0 of arrays: the row, evaluation, batching. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

cxi_scan_sizes cxi_scan_sizes_of(const cxi_scan_params *p) {
  const uint32_t consts = (uint32_t)p->n_consts, carry = (uint32_t)p->n_carry;
  const uint32_t in = p->body->n_in, out = p->body->n_out;
  return (cxi_scan_sizes){ .consts = consts,
                           .carry = carry,
                           .xs = in - consts - carry,
                           .ys = out - carry,
                           .start_xs = consts + carry,
                           .in = in,
                           .out = out };
}

/* -- infer ---------------------------------------------------------------- */

/* The type of `length` values of type t, one after the other; 0: no such. */
static cxi_type stacked(cxi_type t, int64_t length) {
  const cx_dims shape = *cxi_type_shape(t);
  if (shape.n == CX_MAX_DIMS) return 0;
  return cxi_type_with_shape(t, cxi_dims_with(shape, 0, length));
}

static bool infer_sizes(cxi_infer *c, const cxi_scan_params *p) {
  const cxi_program *b = p->body;
  if (!b) return cxi_infer_fail(c, CX_ETREE, "no body");
  if (p->length < 0)
    return cxi_infer_fail(c, CX_ESHAPE, "length %lld is negative",
                          (long long)p->length);
  if (c->n_in != b->n_in)
    return cxi_infer_fail(c, CX_ETREE, "%u operands, the body takes %u",
                          c->n_in, b->n_in);
  if (p->n_consts < 0 || p->n_consts > b->n_in || p->n_carry < 0 ||
      p->n_carry > b->n_in - p->n_consts || p->n_carry > b->n_out)
    return cxi_infer_fail(c, CX_ETREE,
                          "%lld constants and %lld carries do not fit a body "
                          "with %u inputs and %u outputs",
                          (long long)p->n_consts, (long long)p->n_carry,
                          b->n_in, b->n_out);
  return true;
}

static bool infer_operand(cxi_infer *c, const cxi_scan_params *p, uint32_t i) {
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  const cxi_type inside = p->body->values[i].type;
  const cxi_type want = i < n.start_xs ? inside : stacked(inside, p->length);
  if (c->in[i] == want && want) return true;
  char is[96], wants[96];
  cxi_aval_print(is, sizeof is, cxi_type_aval(c->in[i]));
  cxi_aval_print(wants, sizeof wants, cxi_type_aval(inside));
  if (i < n.consts)
    return cxi_infer_fail(c, CX_ESHAPE, "constant %u is %s, the body takes %s",
                          i, is, wants);
  if (i < n.start_xs)
    return cxi_infer_fail(c, CX_ESHAPE, "carry %u is %s, the body takes %s",
                          i - n.consts, is, wants);
  return cxi_infer_fail(c, CX_ESHAPE,
                        "xs %u is %s, the body takes %s in each of %lld steps",
                        i - n.start_xs, is, wants, (long long)p->length);
}

static bool infer(cxi_infer *c) {
  const cxi_scan_params *p = c->params;
  if (!infer_sizes(c, p)) return false;
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!infer_operand(c, p, i)) return false;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  if (!cxi_infer_carries(c, p->body, n.consts, n.carry)) return false;
  for (uint32_t i = 0; i < p->body->n_out; i++) {
    const cxi_type inside = cxi_output_type(p->body, i);
    const cxi_type type = i < p->n_carry ? inside : stacked(inside, p->length);
    if (!type)
      return cxi_infer_fail(c, CX_ESHAPE,
                            "y %u cannot be stacked: too many dimensions, or "
                            "too large",
                            i - (uint32_t)p->n_carry);
    if (!cxi_infer_result(c, type)) return false;
  }
  return true;
}

/* -- batch ---------------------------------------------------------------- */

/* A carry that leaves a step batched enters batched. */
void cxi_scan_batch(const cxi_rule *r, const cx *in, const int *axis,
                    int64_t size, cx *out, int *out_axis) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  bool *batched = cxi_array(n.in, sizeof *batched, &ok);
  bool *batched_out = cxi_array(n.out, sizeof *batched_out, &ok);
  bool *force = cxi_array(n.out, sizeof *force, &ok);
  cx *args = cxi_array(n.in, sizeof *args, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.out, out);
    return;
  }
  for (uint32_t i = 0; i < n.in; i++) batched[i] = axis[i] >= 0;
  cxi_scan_params s = *p;
  do {
    memcpy(force, batched + n.consts, n.carry * sizeof *force);
    s.body = r->transforms->batch(p->body, batched, size, force, batched_out);
    if (!s.body) {
      cxi_rule_stop(n.out, out);
      return;
    }
  } while (cxi_join(n.carry, batched + n.consts, batched_out));
  for (uint32_t i = 0; i < n.in; i++)
    args[i] = batched[i] ? cxi_batched_at(in[i], axis[i], size, i >= n.start_xs)
                         : in[i];
  cxi_scan(&s, args, out);
  for (uint32_t i = 0; i < n.out; i++)
    out_axis[i] = !batched_out[i] ? -1 : i < n.carry ? 0 : 1;
}

/* -- dce ------------------------------------------------------------------ */

/* The body without the outputs that are not in `keep`, which grows by the
 * carries that the rest needs; `need` says which inputs are left. */
static const cxi_program *shrink(const cxi_rule *r, const bool *same,
                                 bool *keep, bool *need) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  const cxi_program *body;
  bool grown;
  do {
    body = r->transforms->narrow(p->body, keep, need);
    if (!body) return NULL;
    grown = false;
    for (uint32_t i = 0; i < n.carry; i++) {
      if (!need[n.consts + i] || keep[i] || same[i]) continue;
      keep[i] = true;
      grown = true;
    }
  } while (grown);
  return body;
}

/* A carry stays if it is used or something that stays needs it; one that every
 * step hands on unchanged becomes a constant. */
static void dce(const cxi_rule *r, const cx *in, const bool *used, cx *out) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  bool *keep = cxi_array(n.out, sizeof *keep, &ok);
  bool *need = cxi_array(n.in, sizeof *need, &ok);
  bool *same = cxi_array(n.carry, sizeof *same, &ok);
  uint32_t *place = cxi_array(n.in, sizeof *place, &ok);
  cx *results = cxi_array(n.out, sizeof *results, &ok);
  cxi_wires w = cxi_wires_new(n.in, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.out, out);
    return;
  }
  for (uint32_t i = 0; i < n.carry; i++)
    same[i] = p->body->outputs[i] == n.consts + i;
  for (uint32_t i = 0; i < n.out; i++)
    keep[i] = used[i] && !(i < n.carry && same[i]);
  const cxi_program *body = shrink(r, same, keep, need);
  if (!body) {
    cxi_rule_stop(n.out, out);
    return;
  }
  cxi_places(n.in, need, place);
  cxi_scan_params s = *p;
  for (uint32_t i = 0; i < n.start_xs; i++)
    if ((i < n.consts || same[i - n.consts]) && need[i])
      cxi_wire_typed(&w, in[i], place[i], p->body->values[i].type);
  s.n_consts = w.n;
  for (uint32_t i = n.consts; i < n.start_xs; i++)
    if (keep[i - n.consts])
      cxi_wire_typed(&w, in[i], place[i], p->body->values[i].type);
  s.n_carry = w.n - s.n_consts;
  for (uint32_t i = n.start_xs; i < n.in; i++)
    if (need[i]) cxi_wire_typed(&w, in[i], place[i], p->body->values[i].type);
  if (body->n_out || body->effects) {
    s.body = cxi_body_fit(body, w.n, w.places, w.types);
    if (!s.body) {
      cxi_rule_stop(n.out, out);
      return;
    }
    cxi_scan(&s, w.args, results);
  }
  for (uint32_t i = 0, k = 0; i < n.out; i++)
    if (keep[i]) out[i] = results[k++];
  for (uint32_t i = 0; i < n.carry; i++)
    if (used[i] && same[i]) out[i] = in[n.consts + i];
}

/* -- evaluate ------------------------------------------------------------- */

/* One step: arg's carries are replaced by what the body makes of them, the
 * old ones given to it so that it may work in place. */
static bool step(cxi_eval *c, const cxi_scan_sizes *n, int64_t i,
                 const cxi_view *in, cxi_view *arg, bool *give, cxi_view *res,
                 cxi_view *out) {
  const cxi_scan_params *p = c->params;
  for (uint32_t x = n->start_xs; x < n->in; x++)
    arg[x] = cxi_view_at(&in[x], 0, i);
  const bool ok = c->run(c, p->body, arg, give, res);
  for (uint32_t j = 0; j < n->carry; j++) {
    if (ok) arg[n->consts + j] = res[j];
    give[n->consts + j] = ok; /* a failed run has freed what it was given */
  }
  for (uint32_t j = n->carry; ok && j < n->out; j++) {
    const cxi_view y = cxi_view_at(&out[j], 0, i);
    cxi_view_copy(&y, &res[j]);
    c->release(c, &res[j]);
  }
  return ok;
}

static bool evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  const cxi_scan_params *p = c->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  const cxi_mark mark = cxi_scratch_mark();
  bool ok = true;
  cxi_view *arg = cxi_array(n.in, sizeof *arg, &ok);
  cxi_view *res = cxi_array(n.out, sizeof *res, &ok);
  bool *give = cxi_array(n.in, sizeof *give, &ok);
  if (!ok) {
    cxi_scratch_reset(mark);
    return cxi_error_set(c->error, CX_EMEMORY, "no memory for a loop");
  }
  memcpy(arg, in, n.in * sizeof *arg);
  for (int64_t k = 0; ok && k < p->length; k++)
    ok = step(c, &n, p->reverse ? p->length - 1 - k : k, in, arg, give, res,
              out);
  for (uint32_t j = 0; j < n.carry; j++) {
    cxi_view *carry = &arg[n.consts + j];
    if (ok) cxi_view_copy(&out[j], carry);
    if (give[n.consts + j]) c->release(c, carry);
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- the row -------------------------------------------------------------- */

static const char *const examples[] = {
  /* a recurrent net: a constant, a value to hoist, an indexed row */
  "program @step(%0: f64[3,3], %1: f64[3], %2: f64[5,3], %3: f64[3],"
  " %4: i32[], %5: f64[3]) {\n"
  "  %6: f64[3] = exp %1\n"
  "  %7: f64[3] = dot_general[lhs_contract=(1), rhs_contract=(0),"
  " lhs_batch=(), rhs_batch=(), type=f64] %0, %3\n"
  "  %8: f64[1,3] = dynamic_slice[sizes=(1,3)] %2, %4, 0:i32\n"
  "  %9: f64[3] = reshape[shape=(3)] %8\n"
  "  %10: f64[3] = mul %9, %6\n"
  "  %11: f64[3] = add %7, %10\n"
  "  %12: f64[3] = add %11, %5\n"
  "  %13: f64[3] = tanh %12\n"
  "  %14: i32[] = add %4, 1:i32\n"
  "  %15: f64[3] = mul %13, %5\n"
  "  return %13, %14, %15\n"
  "}\n"
  "program @main(%0: f64[3,3], %1: f64[3], %2: f64[5,3], %3: f64[3],"
  " %4: f64[5,3]) {\n"
  "  %5: f64[3], %6: i32[], %7: f64[5,3] = scan[body=@step, length=5,"
  " reverse=false, unroll=1, n_consts=3, n_carry=2] %0, %1, %2, %3, 0:i32,"
  " %4\n"
  "  return %5, %7\n"
  "}\n",
  /* backwards, two carries that change places */
  "program @step(%0: f32[2], %1: f32[2], %2: f32[2]) {\n"
  "  %3: f32[2] = mul %1, %2\n"
  "  %4: f32[2] = sin %0\n"
  "  %5: f32[2] = add %3, %4\n"
  "  return %5, %0, %4\n"
  "}\n"
  "program @main(%0: f32[2], %1: f32[2], %2: f32[4,2]) {\n"
  "  %3: f32[2], %4: f32[2], %5: f32[4,2] = scan[body=@step, length=4,"
  " reverse=true, unroll=2, n_consts=0, n_carry=2] %0, %1, %2\n"
  "  return %3, %4, %5\n"
  "}\n",
  /* no steps */
  "program @step(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
  "  %3: f64[2] = mul %0, %1\n"
  "  %4: f64[2] = add %3, %2\n"
  "  return %4, %3\n"
  "}\n"
  "program @main(%0: f64[2], %1: f64[2], %2: f64[0,2]) {\n"
  "  %3: f64[2], %4: f64[0,2] = scan[body=@step, length=0, reverse=false,"
  " unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
  "  return %3, %4\n"
  "}\n",
  /* no carry: a map; and one carry that never changes */
  "program @step(%0: f64[], %1: f64[2]) {\n"
  "  %2: f64[2] = mul %1, %0\n"
  "  %3: f64[2] = exp %2\n"
  "  return %0, %3, %0\n"
  "}\n"
  "program @main(%0: f64[], %1: f64[3,2]) {\n"
  "  %2: f64[], %3: f64[3,2], %4: f64[3] = scan[body=@step, length=3,"
  " reverse=false, unroll=1, n_consts=0, n_carry=1] %0, %1\n"
  "  return %2, %3, %4\n"
  "}\n",
  /* a loop in a loop */
  "program @inner(%0: f64[2], %1: f64[2], %2: f64[]) {\n"
  "  %3: f64[2] = mul %0, %2\n"
  "  %4: f64[2] = cos %1\n"
  "  %5: f64[2] = add %3, %4\n"
  "  return %5, %4\n"
  "}\n"
  "program @outer(%0: f64[2], %1: f64[2], %2: f64[3]) {\n"
  "  %3: f64[2], %4: f64[3,2] = scan[body=@inner, length=3, reverse=false,"
  " unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
  "  %5: f64[2] = reduce_sum[axes=(0)] %4\n"
  "  return %3, %5\n"
  "}\n"
  "program @main(%0: f64[2], %1: f64[2], %2: f64[2,3]) {\n"
  "  %3: f64[2], %4: f64[2,2] = scan[body=@outer, length=2, reverse=true,"
  " unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
  "  return %3, %4\n"
  "}\n",
  /* a branch in a loop */
  "program @halve(%0: f64[2]) {\n"
  "  %1: f64[2] = mul %0, 0.5:f64\n"
  "  return %1\n"
  "}\n"
  "program @bend(%0: f64[2]) {\n"
  "  %1: f64[2] = sin %0\n"
  "  return %1\n"
  "}\n"
  "program @step(%0: f64[2], %1: i32[], %2: f64[2]) {\n"
  "  %3: f64[2] = add %0, %2\n"
  "  %4: i32[] = rem %1, 2:i32\n"
  "  %5: f64[2] = cond[branches=(@halve,@bend)] %4, %3\n"
  "  %6: i32[] = add %1, 1:i32\n"
  "  return %5, %6\n"
  "}\n"
  "program @main(%0: f64[2], %1: f64[4,2]) {\n"
  "  %2: f64[2], %3: i32[] = scan[body=@step, length=4, reverse=false,"
  " unroll=1, n_consts=0, n_carry=2] %0, 0:i32, %1\n"
  "  return %2\n"
  "}\n",
  NULL
};

const cxi_row cxi_row_scan = {
  .prim = CXI_PRIM_scan,
  .form = CXI_FORM_CONTROL,
  .formula = "carry, y[i] = body(consts, carry, x[i]) for each i",
  .infer = infer,
  .jvp = cxi_scan_jvp,
  .jvp_emits = true,
  .transpose = cxi_scan_transpose,
  .batch = cxi_scan_batch,
  .partial_eval = cxi_scan_partial_eval,
  .dce = dce,
  .evaluate = evaluate,
  .examples = examples,
};
