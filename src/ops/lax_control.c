/* lax_control.c - loops and branches, and those made of others. */
#include <assert.h>
#include <string.h>

#include "ir/builder.h"
#include "ops/lax.h"

bool cxi_scan(const cxi_scan_params *params, const cx *in, cx *out) {
  const cxi_program *body = params->body;
  return cxi_emit(CXI_PRIM_scan, params, body->n_in, in, body->n_out, out);
}

bool cxi_while(const cxi_while_params *params, const cx *in, cx *out) {
  const uint32_t n_out = params->body->n_out;
  const uint32_t n_in =
      (uint32_t)(params->n_cond_consts + params->n_body_consts) + n_out;
  return cxi_emit(CXI_PRIM_while, params, n_in, in, n_out, out);
}

bool cxi_cond(cxi_programs branches, cx index, const cx *operands, cx *out) {
  const cxi_cond_params params = { .branches = branches };
  const uint32_t n = branches.d[0]->n_in, n_out = branches.d[0]->n_out;
  const cxi_mark mark = cxi_scratch_mark();
  cx *in = cxi_scratch((n + (size_t)1) * sizeof *in);
  bool ok = in != NULL;
  if (ok) {
    in[0] = index;
    if (n) memcpy(in + 1, operands, n * sizeof *in);
    ok = cxi_emit(CXI_PRIM_cond, &params, n + 1, in, n_out, out);
  } else {
    const cx poison = cxi_fail(CX_EMEMORY, "out of memory");
    for (uint32_t i = 0; i < n_out; i++) out[i] = poison;
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- bodies --------------------------------------------------------------- */

/* A program being written whose inputs have the types of given values. */
typedef struct writing {
  cxi_builder builder;
  cx *in, *out;
  uint32_t n_in, n_out;
  cxi_mark mark;
} writing;

/* False without memory: nothing is open. */
static bool body_open(writing *b, uint32_t n_in, const cxi_type *types,
                      uint32_t n_out) {
  b->mark = cxi_scratch_mark();
  b->n_in = n_in;
  b->n_out = n_out;
  b->in = cxi_scratch((n_in + (size_t)1) * sizeof *b->in);
  b->out = cxi_scratch((n_out + (size_t)1) * sizeof *b->out);
  if (!b->in || !b->out) {
    cxi_scratch_reset(b->mark);
    cxi_fail(CX_EMEMORY, "out of memory");
    return false;
  }
  cxi_builder_open(&b->builder);
  for (uint32_t i = 0; i < n_in; i++)
    b->in[i] = cxi_builder_input(&b->builder, types[i]);
  return true;
}

/* A program with a reference, or NULL after reporting. */
static const cxi_program *body_close(writing *b, cxi_name name) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_builder_finish(&b->builder, name, b->n_in, b->in,
                                            b->n_out, b->out, &error);
  cxi_scratch_reset(b->mark);
  if (!p) cxi_fail(error.code, "%s", error.text);
  return p;
}

/* Emits p with a first part of its operands and the rest from elsewhere. */
static void replay_parts(const cxi_program *p, const cx *first, uint32_t n,
                         const cx *rest, cx *out) {
  const cxi_mark mark = cxi_scratch_mark();
  cx *in = cxi_scratch((p->n_in + (size_t)1) * sizeof *in);
  if (in) {
    memcpy(in, first, n * sizeof *in);
    memcpy(in + n, rest, (p->n_in - n) * sizeof *in);
    cxi_replay(p, in, out);
  } else {
    const cx poison = cxi_fail(CX_EMEMORY, "out of memory");
    for (uint32_t i = 0; i < p->n_out; i++) out[i] = poison;
  }
  cxi_scratch_reset(mark);
}

/* Of f, by name. */
static const cxi_program *write_body(const char *name, cxi_write *f, void *user,
                                     uint32_t n_in, const cxi_type *types,
                                     uint32_t n_out) {
  writing b;
  if (!body_open(&b, n_in, types, n_out)) return NULL;
  f(user, b.in, b.out);
  return body_close(&b, cxi_name_of(name));
}

enum { FEW = 16 }; /* operands of the loops below, at most */

static bool poison_all(uint32_t n, cx *out) {
  for (uint32_t i = 0; i < n; i++) out[i] = (cx){ 0, 1 };
  return false;
}

bool cxi_while_of(const char *name, cxi_write *more, cxi_write *step,
                  void *user, uint32_t n_consts, uint32_t n_carry, const cx *in,
                  cx *out) {
  const uint32_t n_in = n_consts + n_carry;
  cxi_type types[FEW];
  assert(n_in <= FEW);
  for (uint32_t i = 0; i < n_in; i++) {
    if (!cxi_given(in[i])) return poison_all(n_carry, out);
    types[i] = cxi_type_at(in[i]);
  }
  cxi_while_params p = { .n_body_consts = n_consts };
  p.cond = write_body(name, more, user, n_carry, types + n_consts, 1);
  p.body = p.cond ? write_body(name, step, user, n_in, types, n_carry) : NULL;
  const bool ok = p.body && cxi_while(&p, in, out);
  cxi_program_release(p.cond);
  cxi_program_release(p.body);
  return ok || poison_all(n_carry, out);
}

bool cxi_scan_of(const cxi_loop *loop, cxi_write *step, void *user,
                 const cx *in, cx *out) {
  const uint32_t n_in = loop->n_carry + loop->n_xs;
  const uint32_t n_out = loop->n_carry + loop->n_ys;
  cxi_type types[FEW];
  assert(n_in <= FEW);
  for (uint32_t i = 0; i < n_in; i++) {
    if (!cxi_given(in[i])) return poison_all(n_out, out);
    types[i] = cxi_type_at(in[i]);
    if (i >= loop->n_carry)
      types[i] = cxi_type_make(cxi_type_dtype(types[i]),
                               cxi_dims_without(cxi_shape_at(in[i]), 0));
  }
  const cxi_scan_params p = {
    .body = write_body(loop->name, step, user, n_in, types, n_out),
    .length = loop->length,
    .unroll = 1,
    .n_carry = loop->n_carry,
  };
  const bool ok = p.body && cxi_scan(&p, in, out);
  cxi_program_release(p.body);
  return ok || poison_all(n_out, out);
}

/* -- bounded while -------------------------------------------------------- */

/* Its pieces see (cond consts, body consts, carry): `run` makes a step and
 * says whether another follows, `rest` hands the carry on, `step` chooses. */
typedef struct bounded {
  const cxi_while_params *p;
  uint32_t cond_consts, consts, carry, n_in;
  const cxi_type *types; /* of the operands, then bool[] */
} bounded;

static const cxi_program *write_run(const bounded *w) {
  writing b;
  if (!body_open(&b, w->n_in, w->types, w->carry + 1)) return NULL;
  replay_parts(w->p->body, b.in + w->cond_consts, w->consts - w->cond_consts,
               b.in + w->consts, b.out + 1);
  replay_parts(w->p->cond, b.in, w->cond_consts, b.out + 1, b.out);
  return body_close(&b, w->p->body->name);
}

static const cxi_program *write_rest(const bounded *w) {
  writing b;
  if (!body_open(&b, w->n_in, w->types, w->carry + 1)) return NULL;
  b.out[0] = cxi_integer(CX_BOOL, 0);
  memcpy(b.out + 1, b.in + w->consts, w->carry * sizeof(cx));
  return body_close(&b, w->p->body->name);
}

/* (consts, carry, running) -> (carry, running), a body for scan */
static const cxi_program *write_step(const bounded *w, const cxi_program *rest,
                                     const cxi_program *run) {
  writing b;
  if (!body_open(&b, w->n_in + 1, w->types, w->carry + 1)) return NULL;
  const cxi_programs branches = { 2, (const cxi_program *[]){ rest, run } };
  cxi_cond(branches, cxi_convert(b.in[w->n_in], CX_I32), b.in, b.out);
  const cx running = b.out[0]; /* last, as among the operands */
  memmove(b.out, b.out + 1, w->carry * sizeof(cx));
  b.out[w->carry] = running;
  return body_close(&b, w->p->body->name);
}

static bool emit_bounded(const bounded *w, int64_t max_steps, cx *operands,
                         cx *results) {
  const cxi_program *run = write_run(w), *rest = write_rest(w);
  const cxi_program *step = run && rest ? write_step(w, rest, run) : NULL;
  bool ok = false;
  if (step) {
    replay_parts(w->p->cond, operands, w->cond_consts, operands + w->consts,
                 &operands[w->n_in]);
    const cxi_scan_params s = { .body = step,
                                .length = max_steps,
                                .unroll = 1,
                                .n_consts = w->consts,
                                .n_carry = w->carry + (int64_t)1 };
    ok = cxi_scan(&s, operands, results);
  }
  cxi_program_release(step);
  cxi_program_release(run);
  cxi_program_release(rest);
  return ok;
}

bool cxi_bounded_while(const cxi_while_params *params, int64_t max_steps,
                       const cx *in, cx *out) {
  bounded w = { .p = params,
                .cond_consts = (uint32_t)params->n_cond_consts,
                .consts =
                    (uint32_t)(params->n_cond_consts + params->n_body_consts),
                .carry = params->body->n_out };
  w.n_in = w.consts + w.carry;
  const cxi_mark mark = cxi_scratch_mark();
  cxi_type *types = cxi_scratch((w.n_in + (size_t)1) * sizeof *types);
  cx *operands = cxi_scratch((w.n_in + (size_t)1) * sizeof *operands);
  cx *results = cxi_scratch((w.carry + (size_t)1) * sizeof *results);
  const bool memory = types && operands && results;
  bool ok = false;
  if (memory) {
    for (uint32_t i = 0; i < w.n_in; i++) {
      operands[i] = in[i];
      types[i] = cxi_type_at(in[i]);
    }
    types[w.n_in] = cxi_type_scalar(CX_BOOL);
    w.types = types;
    ok = emit_bounded(&w, max_steps, operands, results);
  }
  const cx poison =
      memory ? (cx){ 0, 1 } : cxi_fail(CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < w.carry; i++) out[i] = ok ? results[i] : poison;
  cxi_scratch_reset(mark);
  return ok;
}

/* -- fori ----------------------------------------------------------------- */

/* (consts, i, carry) -> (i + 1, carry) */
static const cxi_program *write_count(const cxi_program *p, uint32_t n_consts,
                                      const cxi_type *types) {
  writing b;
  if (!body_open(&b, p->n_in, types, p->n_out + 1)) return NULL;
  const cx i = b.in[n_consts];
  b.out[0] = cxi_add(i, cxi_integer(cxi_dtype_at(i), 1));
  cxi_replay(p, b.in, b.out + 1);
  return body_close(&b, p->name);
}

static bool emit_fori(const cxi_program *p, uint32_t n_consts, int64_t lo,
                      int64_t hi, const cx *in, cx *out) {
  cxi_type *types = cxi_scratch(p->n_in * sizeof *types);
  cx *operands = cxi_scratch(p->n_in * sizeof *operands);
  cx *results = cxi_scratch((p->n_out + (size_t)1) * sizeof *results);
  if (!types || !operands || !results) {
    cxi_fail(CX_EMEMORY, "out of memory");
    return false;
  }
  for (uint32_t i = 0; i < p->n_in; i++) types[i] = p->values[i].type;
  const cxi_program *body = write_count(p, n_consts, types);
  if (!body) return false;
  memcpy(operands, in, n_consts * sizeof *operands);
  operands[n_consts] = cxi_integer(cxi_type_dtype(types[n_consts]), lo);
  memcpy(operands + n_consts + 1, in + n_consts,
         (p->n_in - n_consts - 1) * sizeof *operands);
  const cxi_scan_params s = { .body = body,
                              .length = hi > lo ? hi - lo : 0,
                              .unroll = 1,
                              .n_consts = n_consts,
                              .n_carry = p->n_out + (int64_t)1 };
  const bool ok = cxi_scan(&s, operands, results);
  if (ok) memcpy(out, results + 1, p->n_out * sizeof *out);
  cxi_program_release(body);
  return ok;
}

bool cxi_fori(const cxi_program *body, uint32_t n_consts, int64_t lo,
              int64_t hi, const cx *in, cx *out) {
  const cxi_mark mark = cxi_scratch_mark();
  const bool fits = body->n_in == n_consts + 1 + body->n_out;
  if (!fits)
    cxi_fail(CX_ETREE, "fori: the body must take a counter and %u carries",
             body->n_out);
  const bool ok = fits && emit_fori(body, n_consts, lo, hi, in, out);
  for (uint32_t i = 0; !ok && i < body->n_out; i++) out[i] = (cx){ 0, 1 };
  cxi_scratch_reset(mark);
  return ok;
}
