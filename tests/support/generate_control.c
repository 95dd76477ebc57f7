/* generate_control.c - calls, loops and branches with random bodies. */
#include "support/generate.h"

#include <string.h>

#include "transforms/transforms.h"

static cxi_type some_type(gen *g, unsigned accept) {
  return cxi_type_at(gen_pick(g, accept, 0));
}

/* Operands of the types. */
static void wanted(gen *g, uint32_t n, const cxi_type *types, cx *in) {
  for (uint32_t i = 0; i < n; i++) in[i] = gen_want(g, types[i]);
}

const cxi_program *gen_some_body(gen *g, uint32_t n_out, uint32_t *n, cx *in) {
  cxi_type types[GEN_FEW];
  *n = gen_draw(g, 3);
  for (uint32_t i = 0; i < *n; i++) types[i] = some_type(g, CXI_ACCEPT_ANY);
  const cxi_program *body = gen_body(g, n, types, n_out, NULL);
  if (body) wanted(g, *n, types, in);
  return body;
}

/* -- calls ---------------------------------------------------------------- */

static bool some_jit(gen *g, cxi_prim prim) {
  cx in[GEN_FEW];
  uint32_t n;
  cxi_jit_params p = { .body = gen_some_body(g, 1 + gen_draw(g, 3), &n, in) };
  if (!p.body) return false;
  bool ok = gen_emit(g, prim, &p, n, in);
  if (gen_one_in(g, 3)) ok = gen_emit(g, prim, &p, n, in) && ok;
  cxi_program_release(p.body);
  return ok;
}

static bool some_checkpoint(gen *g, cxi_prim prim) {
  static const char *const policies[] = { "nothing", "everything",
                                          "dots",    "dots_no_batch",
                                          "names",   "all_but_names" };
  cx in[GEN_FEW];
  uint32_t n;
  const cxi_name names[] = { cxi_name_of("kept") };
  const cxi_checkpoint_params p = {
    .body = gen_some_body(g, 1 + gen_draw(g, 3), &n, in),
    .policy = cxi_name_of(policies[gen_draw(g, 6)]),
    .names = { gen_draw(g, 2), names }
  };
  if (!p.body) return false;
  const bool ok = gen_emit(g, prim, &p, n, in);
  cxi_program_release(p.body);
  return ok;
}

/* -- scan ----------------------------------------------------------------- */

/* consts come last of what the body captures: they are moved to the front. */
static const cxi_program *consts_first(const cxi_program *body,
                                       uint32_t n_own) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[GEN_FEW], own[GEN_FEW], out[GEN_FEW];
  const uint32_t n = body->n_in, n_consts = n - n_own;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++)
    in[i] = cxi_builder_input(
        &b, body->values[i < n_consts ? n_own + i : i - n_consts].type);
  for (uint32_t i = 0; i < n; i++)
    own[i] = in[i < n_own ? n_consts + i : i - n_own];
  cxi_replay(body, own, out);
  return cxi_builder_finish(&b, body->name, n, in, body->n_out, out, &error);
}

static cxi_type element_of(cxi_type xs) {
  return cxi_type_with_shape(xs, cxi_dims_without(*cxi_type_shape(xs), 0));
}

static bool some_scan(gen *g, cxi_prim prim) {
  cxi_type types[GEN_FEW], out[GEN_FEW], xs_types[3];
  cx in[GEN_FEW];
  const uint32_t n_carry = gen_draw(g, 3), n_xs = gen_draw(g, 3);
  const int64_t length = gen_one_in(g, 12) ? 0 : 1 + (int64_t)gen_draw(g, 4);
  for (uint32_t i = 0; i < n_carry; i++)
    types[i] = out[i] = some_type(g, CXI_ACCEPT_ANY);
  for (uint32_t i = 0; i < n_xs; i++) {
    cx_dims shape = gen_shape(g, 1, 5);
    shape.d[0] = length;
    xs_types[i] = cxi_type_make(gen_dtype(g, CXI_ACCEPT_ANY), shape);
    types[n_carry + i] = element_of(xs_types[i]);
  }
  const uint32_t n_ys = gen_draw(g, 3), n_own = n_carry + n_xs;
  uint32_t n = n_own;
  for (uint32_t i = 0; i < n_ys; i++)
    out[n_carry + i] =
        cxi_type_make(gen_dtype(g, CXI_ACCEPT_ANY), gen_shape(g, 0, 4));
  const cxi_program *written = gen_body(g, &n, types, n_carry + n_ys, out);
  const cxi_program *body = written ? consts_first(written, n_own) : NULL;
  cxi_program_release(written);
  if (!body) return false;
  const cxi_scan_params p = { .body = body,
                              .length = length,
                              .reverse = gen_draw(g, 2),
                              .unroll = 1 + gen_draw(g, 3),
                              .n_consts = n - n_own,
                              .n_carry = n_carry };
  for (uint32_t i = 0; i < n - n_own; i++)
    in[i] = gen_want(g, types[n_own + i]);
  for (uint32_t i = 0; i < n_own; i++)
    in[n - n_own + i] =
        gen_want(g, i < n_carry ? types[i] : xs_types[i - n_carry]);
  const bool ok = gen_emit(g, prim, &p, n, in);
  cxi_program_release(body);
  return ok;
}

/* -- cond ----------------------------------------------------------------- */

/* Bodies with the same inputs: each takes the captures of all. */
static const cxi_program *widened(const cxi_program *body, uint32_t n_own,
                                  uint32_t first, uint32_t n,
                                  const cxi_type *types) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[2 * GEN_FEW], own[GEN_FEW], out[GEN_FEW];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++) in[i] = cxi_builder_input(&b, types[i]);
  for (uint32_t i = 0; i < body->n_in; i++)
    own[i] = in[i < n_own ? i : first + i - n_own];
  cxi_replay(body, own, out);
  return cxi_builder_finish(&b, body->name, n, in, body->n_out, out, &error);
}

static bool some_cond(gen *g, cxi_prim prim) {
  enum { BRANCHES = 3 };
  cxi_type types[GEN_FEW], all[2 * GEN_FEW], out[GEN_FEW];
  cx in[2 * GEN_FEW + 1];
  const cxi_program *body[BRANCHES] = { NULL }, *whole[BRANCHES] = { NULL };
  uint32_t first[BRANCHES], n = gen_draw(g, 3);
  const uint32_t n_own = n, n_out = 1 + gen_draw(g, 2);
  const uint32_t branches = 1 + gen_draw(g, BRANCHES);
  bool ok = true;
  for (uint32_t i = 0; i < n; i++) all[i] = some_type(g, CXI_ACCEPT_ANY);
  for (uint32_t i = 0; i < n_out; i++) out[i] = some_type(g, CXI_ACCEPT_ANY);
  for (uint32_t k = 0; ok && k < branches; k++) {
    uint32_t n_in = n_own;
    memcpy(types, all, n_own * sizeof *types);
    body[k] = gen_body(g, &n_in, types, n_out, out);
    ok = body[k] && n + n_in - n_own <= 2 * GEN_FEW;
    first[k] = n;
    for (uint32_t i = n_own; ok && i < n_in; i++) all[n++] = types[i];
  }
  for (uint32_t k = 0; ok && k < branches; k++) {
    whole[k] = widened(body[k], n_own, first[k], n, all);
    ok = whole[k] != NULL;
  }
  if (ok) {
    in[0] = cxi_clamp(cxi_integer(CX_I32, 0), gen_of(g, CX_I32, (cx_dims){ 0 }),
                      cxi_integer(CX_I32, branches - 1));
    wanted(g, n, all, in + 1);
    const cxi_cond_params p = { .branches = { branches, whole } };
    ok = gen_emit(g, prim, &p, n + 1, in);
  }
  for (uint32_t k = 0; k < branches; k++) {
    cxi_program_release(body[k]);
    cxi_program_release(whole[k]);
  }
  return ok;
}

/* -- while ---------------------------------------------------------------- */

/* (carries, the first a counter) -> counter < 3 */
static const cxi_program *counting(uint32_t n, const cxi_type *types) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[GEN_FEW];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++) in[i] = cxi_builder_input(&b, types[i]);
  const cx more = cxi_compare(CXI_PRIM_lt, in[0], cxi_integer(CX_I32, 3));
  return cxi_builder_finish(&b, cxi_name_of("cond"), n, in, 1, &more, &error);
}

static const cxi_program *with_counter(const cxi_program *body, uint32_t at) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[GEN_FEW], out[GEN_FEW];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < body->n_in; i++)
    in[i] = cxi_builder_input(&b, body->values[i].type);
  cxi_replay(body, in, out);
  out[0] = cxi_add(in[at], cxi_integer(CX_I32, 1));
  return cxi_builder_finish(&b, body->name, body->n_in, in, body->n_out, out,
                            &error);
}

static bool some_while(gen *g, cxi_prim prim) {
  cxi_type types[GEN_FEW];
  cx in[GEN_FEW];
  const uint32_t n_carry = 2 + gen_draw(g, 2);
  types[0] = cxi_type_scalar(CX_I32);
  for (uint32_t i = 1; i < n_carry; i++)
    types[i] = some_type(g, CXI_ACCEPT_ANY);
  uint32_t n = n_carry;
  const cxi_program *written = gen_body(g, &n, types, n_carry, types);
  const cxi_program *body = written ? consts_first(written, n_carry) : NULL;
  const uint32_t n_consts = n - n_carry;
  const cxi_program *counted = body ? with_counter(body, n_consts) : NULL;
  const cxi_while_params p = { .cond = counting(n_carry, types),
                               .body = counted,
                               .n_body_consts = n_consts };
  bool ok = p.cond && p.body;
  for (uint32_t i = 0; ok && i < n; i++)
    in[i] = gen_want(g, types[i < n_consts ? n_carry + i : i - n_consts]);
  if (ok && gen_draw(g, 4)) in[n_consts] = cxi_integer(CX_I32, 0);
  if (ok) in[n_consts] = cxi_max(in[n_consts], cxi_integer(CX_I32, -2));
  if (ok && gen_one_in(g, 2))
    ok = gen_emit(g, prim, &p, n, in);
  else if (ok) {
    cx out[GEN_FEW];
    ok = cxi_bounded_while(&p, 4, in, out);
    for (uint32_t i = 0; ok && i < n_carry; i++) gen_put(g, out[i]);
  }
  cxi_program_release(written);
  cxi_program_release(body);
  cxi_program_release(counted);
  cxi_program_release(p.cond);
  return ok;
}

gen_maker *gen_control_of(cxi_prim prim) {
  static gen_maker *const makers[CXI_N_PRIMS] = {
    [CXI_PRIM_jit] = some_jit,
    [CXI_PRIM_checkpoint] = some_checkpoint,
    [CXI_PRIM_custom_jvp] = gen_custom_jvp,
    [CXI_PRIM_custom_vjp] = gen_custom_vjp,
    [CXI_PRIM_custom_vmap] = gen_custom_vmap,
    [CXI_PRIM_composite] = gen_custom_vjp,
    [CXI_PRIM_scan] = some_scan,
    [CXI_PRIM_cond] = some_cond,
    [CXI_PRIM_while] = some_while,
  };
  return makers[prim];
}
