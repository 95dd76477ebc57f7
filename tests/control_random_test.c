/* control_random_test.c - random programs of loops and branches.
 *
 * The seed of a failing program is printed, its text by the check that fails;
 * CX_SEED=17 runs that one alone, CX_SEEDS=1000 as many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "ops/lax.h"
#include "support/execute.h"
#include "support/programs.h"

/* Values are of three types; the floating ones stay in [-1, 1], so that
 * differences are good. */
enum { SCALAR, VECTOR, INTEGER, N_KINDS };
static cxi_type type_of(int kind) {
  return kind == SCALAR   ? cxi_type_scalar(CX_F64)
         : kind == VECTOR ? cxi_type_make(CX_F64, cxi_dims_range(2, 3))
                          : cxi_type_scalar(CX_I32);
}

typedef struct random_state {
  uint64_t state;
  bool whiles; /* forward mode only */
} random_state;

static uint32_t draw(random_state *r, uint32_t n) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(r->state >> 33) % n;
}

/* -- a body being written ------------------------------------------------- */

enum { ROOM = 64, FEW = 12 };
typedef struct pool {
  cxi_builder builder;
  uint32_t n[N_KINDS];
  cx values[N_KINDS][ROOM];
} pool;

static void put(pool *p, int kind, cx value) {
  if (p->n[kind] < ROOM) p->values[kind][p->n[kind]++] = value;
}

static cx pick(pool *p, random_state *r, int kind) {
  const uint32_t n = p->n[kind], late = draw(r, 2) && n > 2 ? n - 2 : 0;
  if (n && draw(r, 16)) return p->values[kind][late + draw(r, n - late)];
  if (kind == INTEGER) return cxi_integer(CX_I32, draw(r, 3));
  return cxi_full(type_of(kind), 0.25 * draw(r, 5));
}

static void random_kinds(random_state *r, uint32_t n, int *kinds) {
  for (uint32_t i = 0; i < n; i++) kinds[i] = (int)draw(r, N_KINDS);
}

static const cxi_program *random_body(random_state *r, uint32_t n_in,
                                      const int *in, uint32_t n_out,
                                      const int *out, int depth);

static void put_elementwise(pool *p, random_state *r) {
  const int kind = (int)draw(r, 2);
  const cx x = pick(p, r, kind), y = pick(p, r, draw(r, 3) ? kind : SCALAR);
  switch (draw(r, 5)) {
  case 0:
    put(p, kind, cxi_mul(x, y));
    break;
  case 1:
    put(p, kind, cxi_scale(cxi_add(x, y), 0.5));
    break;
  case 2:
    put(p, kind, cxi_unary(CXI_PRIM_tanh, x));
    break;
  case 3:
    put(p, kind, cxi_unary(CXI_PRIM_cos, x));
    break;
  default:
    put(p, kind, cxi_unary(CXI_PRIM_sin, cxi_mul(x, y)));
  }
}

static void put_other(pool *p, random_state *r) {
  const cx i = pick(p, r, INTEGER), v = pick(p, r, VECTOR);
  const cx starts[1] = { i };
  switch (draw(r, 5)) {
  case 0:
    put(p, SCALAR, cxi_scale(cxi_reduce_sum(v, cxi_dims_range(0, 1)), 0.5));
    break;
  case 1:
    put(p, SCALAR,
        cxi_reshape(cxi_dynamic_slice(v, starts, cxi_dims_range(1, 2)),
                    (cx_dims){ .n = 0 }));
    break;
  case 2:
    put(p, VECTOR,
        cxi_dynamic_update_slice(
            v, cxi_reshape(pick(p, r, SCALAR), cxi_dims_range(1, 2)), starts));
    break;
  case 3:
    put(p, INTEGER, cxi_add(i, cxi_integer(CX_I32, 1)));
    break;
  default:
    put(p, INTEGER,
        cxi_convert(cxi_compare(CXI_PRIM_gt, pick(p, r, SCALAR),
                                cxi_number(CX_F64, 0.1)),
                    CX_I32));
  }
}

/* Takes what the body returned into the pool. */
static void put_results(pool *p, uint32_t n, const int *kinds, const cx *out) {
  for (uint32_t i = 0; i < n; i++) put(p, kinds[i], out[i]);
}

static void put_scan(pool *p, random_state *r, int depth) {
  const uint32_t consts = draw(r, 3), carry = draw(r, 3), xs = draw(r, 3);
  const uint32_t ys = draw(r, 3), length = draw(r, 4);
  int in[FEW], out[FEW];
  cx args[FEW], items[4], res[FEW];
  random_kinds(r, consts + carry + xs, in);
  memcpy(out, in + consts, carry * sizeof *out);
  random_kinds(r, ys, out + carry);
  const cxi_program *body =
      random_body(r, consts + carry + xs, in, carry + ys, out, depth - 1);
  for (uint32_t i = 0; i < consts + carry; i++) args[i] = pick(p, r, in[i]);
  for (uint32_t i = consts + carry; i < consts + carry + xs; i++) {
    for (uint32_t k = 0; k < length; k++) items[k] = pick(p, r, in[i]);
    const cx_dims shape = cxi_dims_with(*cxi_type_shape(type_of(in[i])), 0, 0);
    args[i] = length ? cxi_stack(0, length, items)
                     : cxi_zeros(cxi_type_with_shape(type_of(in[i]), shape));
  }
  const cxi_scan_params s = { .body = body,
                              .length = length,
                              .reverse = draw(r, 2),
                              .unroll = 1,
                              .n_consts = consts,
                              .n_carry = carry };
  cxi_scan(&s, args, res);
  put_results(p, carry, out, res);
  for (uint32_t i = carry; i < carry + ys; i++) {
    if (out[i] != INTEGER)
      put(p, out[i],
          cxi_scale(cxi_reduce_sum(res[i], cxi_dims_range(0, 1)), 0.25));
    else if (length)
      put(p, INTEGER,
          cxi_squeeze(cxi_slice_axis(res[i], 0, 0, 1), cxi_dims_range(0, 1)));
  }
  cxi_program_release(body);
}

static void put_cond(pool *p, random_state *r, int depth) {
  const uint32_t n = draw(r, 4), m = 1 + draw(r, 3), branches = 1 + draw(r, 3);
  int in[FEW], out[FEW];
  cx args[FEW], res[FEW];
  const cxi_program *bodies[3];
  random_kinds(r, n, in);
  random_kinds(r, m, out);
  for (uint32_t k = 0; k < branches; k++)
    bodies[k] = random_body(r, n, in, m, out, depth - 1);
  for (uint32_t i = 0; i < n; i++) args[i] = pick(p, r, in[i]);
  cxi_cond((cxi_programs){ branches, bodies }, pick(p, r, INTEGER), args, res);
  put_results(p, m, out, res);
  for (uint32_t k = 0; k < branches; k++) cxi_program_release(bodies[k]);
}

/* (limit, carries with a counter first) -> counter < limit, at most 3 */
static const cxi_program *counting(uint32_t n, const int *kinds) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[FEW];
  cxi_builder_open(&b);
  in[0] = cxi_builder_input(&b, type_of(INTEGER));
  for (uint32_t i = 0; i < n; i++)
    in[i + 1] = cxi_builder_input(&b, type_of(kinds[i]));
  const cx limit = cxi_min(in[0], cxi_integer(CX_I32, 3));
  const cx more = cxi_compare(CXI_PRIM_lt, in[1], limit);
  const cxi_program *p = cxi_builder_finish(&b, 0, n + 1, in, 1, &more, &error);
  check_ok(p != NULL, &error, NULL);
  return p;
}

/* body's first carry replaced by a counter */
static const cxi_program *with_counter(const cxi_program *body, uint32_t at) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[FEW], out[FEW];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < body->n_in; i++)
    in[i] = cxi_builder_input(&b, body->values[i].type);
  cxi_replay(body, in, out);
  out[0] = cxi_add(in[at], cxi_integer(CX_I32, 1));
  const cxi_program *p =
      cxi_builder_finish(&b, 0, body->n_in, in, body->n_out, out, &error);
  check_ok(p != NULL, &error, body);
  return p;
}

static void put_while(pool *p, random_state *r, int depth) {
  const uint32_t consts = draw(r, 3), carry = 1 + draw(r, 3);
  int kinds[FEW];
  cx args[FEW], res[FEW];
  random_kinds(r, consts + carry, kinds);
  kinds[consts] = INTEGER;
  const cxi_program *body =
      random_body(r, consts + carry, kinds, carry, kinds + consts, depth - 1);
  const cxi_program *counted = with_counter(body, consts);
  const cxi_while_params w = { .cond = counting(carry, kinds + consts),
                               .body = counted,
                               .n_cond_consts = 1,
                               .n_body_consts = consts };
  args[0] = pick(p, r, INTEGER);
  for (uint32_t i = 0; i < consts + carry; i++)
    args[i + 1] = pick(p, r, kinds[i]);
  args[consts + 1] = cxi_integer(CX_I32, 0);
  if (r->whiles)
    cxi_while(&w, args, res);
  else
    cxi_bounded_while(&w, 3, args, res);
  put_results(p, carry, kinds + consts, res);
  cxi_program_release(w.cond);
  cxi_program_release(counted);
  cxi_program_release(body);
}

static void put_call(pool *p, random_state *r, int depth) {
  const uint32_t n = draw(r, 4), m = 1 + draw(r, 3);
  int in[FEW], out[FEW];
  cx args[FEW], res[FEW];
  random_kinds(r, n, in);
  random_kinds(r, m, out);
  const cxi_program *body = random_body(r, n, in, m, out, depth - 1);
  for (uint32_t i = 0; i < n; i++) args[i] = pick(p, r, in[i]);
  const cxi_checkpoint_params again = { .body = body,
                                        .policy = cxi_name_of("nothing") };
  if (draw(r, 2))
    cxi_call(body, args, res);
  else
    cxi_emit(CXI_PRIM_checkpoint, &again, n, args, m, res);
  put_results(p, m, out, res);
  cxi_program_release(body);
}

static const cxi_program *random_body(random_state *r, uint32_t n_in,
                                      const int *in, uint32_t n_out,
                                      const int *out, int depth) {
  pool *p = calloc(1, sizeof *p);
  assert_non_null(p);
  cx inputs[FEW], outputs[FEW];
  cxi_error error = { 0 };
  cxi_builder_open(&p->builder);
  for (uint32_t i = 0; i < n_in; i++) {
    inputs[i] = cxi_builder_input(&p->builder, type_of(in[i]));
    put(p, in[i], inputs[i]);
  }
  for (uint32_t k = 0; k < 8; k++) {
    const uint32_t what = draw(r, depth > 0 ? 9 : 5);
    if (what < 3)
      put_elementwise(p, r);
    else if (what < 5)
      put_other(p, r);
    else if (what == 5)
      put_scan(p, r, depth);
    else if (what == 6)
      put_cond(p, r, depth);
    else if (what == 7)
      put_while(p, r, depth);
    else
      put_call(p, r, depth);
  }
  for (uint32_t i = 0; i < n_out; i++) {
    const uint32_t n = p->n[out[i]];
    outputs[i] =
        n && draw(r, 2) ? p->values[out[i]][n - 1] : pick(p, r, out[i]);
  }
  const cxi_program *q =
      cxi_builder_finish(&p->builder, 0, n_in, inputs, n_out, outputs, &error);
  free(p);
  check_ok(q != NULL, &error, NULL);
  return q;
}

/* -- what must hold ------------------------------------------------------- */

static const cxi_program *batch_of(const cxi_program *p) {
  cxi_error error = { 0 };
  bool all[FEW], batched_out[FEW];
  for (int i = 0; i < FEW; i++) all[i] = true;
  const cxi_program *q = cxi_batch(p, all, 2, NULL, batched_out, &error);
  check_ok(q != NULL, &error, p);
  return cxi_program_retain(q);
}

/* Dead code gone, or simplified: the same bits. */
static void check_same(const cxi_program *p, const cxi_program *q,
                       const cxi_error *error, const arrays *in) {
  check_ok(q != NULL, error, p);
  cxi_program_retain(q);
  arrays a = program_run(p, in), b = program_run(q, in);
  assert_true(arrays_same_bits(&a, &b));
  arrays_free(&a);
  arrays_free(&b);
  cxi_program_release(q);
}

/* Compiled, on one thread and on three. */
static void check_compiled(const cxi_program *p, const arrays *in) {
  arrays want = program_run(p, in);
  const execution x = { p, in->at, want.at };
  for (int threads = 1; threads <= 3; threads += 2) {
    const char *difference = execution_compare(&x, threads, 0);
    if (!difference) continue;
    char *text = program_text(p);
    print_error("%s\n%s\n", difference, text);
    cxi_free(text);
    fail();
  }
  arrays_free(&want);
}

/* p and, at first order, what becomes of it under one more transform. */
static void check_all(const cxi_program *p, bool reverse, int order) {
  arrays in = arrays_random(p, 3, 3);
  check_derivatives(p, &in, reverse, 1e-5);
  cxi_error error = { 0 };
  check_same(p, cxi_narrow(p, NULL, NULL, &error), &error, &in);
  check_same(p, cxi_simplify(p, &error), &error, &in);
  check_compiled(p, &in);
  arrays_free(&in);
  check_batch(p, 5, 3, 3);
  if (!order) return;
  const cxi_program *jvp = program_jvp(p), *batch = batch_of(p);
  check_all(jvp, reverse, order - 1);
  check_all(batch, reverse, order - 1);
  cxi_program_release(jvp);
  cxi_program_release(batch);
  if (!reverse) return;
  const cxi_program *vjp = program_vjp(p);
  check_all(vjp, reverse, order - 1);
  cxi_program_release(vjp);
}

static void check_seed(uint64_t seed) {
  static const int in[4] = { SCALAR, VECTOR, INTEGER, VECTOR };
  static const int out[3] = { SCALAR, VECTOR, INTEGER };
  random_state r = { seed * 0x9e3779b97f4a7c15u, seed % 4 == 3 };
  const cxi_program *p = random_body(&r, 4, in, 3, out, 2);
  check_all(p, !r.whiles, 1);
  cxi_program_release(p);
  cxi_memos_clear();
}

static uint64_t last_seed;
static void test_random(void **state) {
  (void)state;
  const char *one = getenv("CX_SEED"), *many = getenv("CX_SEEDS");
  const uint64_t n = many ? strtoull(many, NULL, 10) : 40;
  last_seed = one ? strtoull(one, NULL, 10) : 1;
  do check_seed(last_seed);
  while (!one && last_seed++ < n);
  last_seed = 0;
}

static int print_seed(void **state) {
  (void)state;
  if (last_seed) print_error("CX_SEED=%llu\n", (unsigned long long)last_seed);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_random, print_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
