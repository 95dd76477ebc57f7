/* transforms_test.c - derivatives against differences, batches against loops,
 * memos, growth, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>

#include "ops/lax.h"
#include "support/derivatives.h"
#include "support/texts.h"

static void check_text(const char *text, int order, bool forward) {
  cxi_hold_enter();
  const cxi_program *p = parse(text);
  check_derivatives(p, order, forward);
  cxi_program_release(p);
  cxi_hold_leave();
}

static void test_plain(void **state) {
  (void)state;
  check_text(plain, 3, true);
}
static void test_forwarding(void **state) {
  (void)state;
  check_text(forwarding, 3, true);
}
static void test_calls(void **state) {
  (void)state;
  check_text(calls, 3, true);
}
static void test_loop(void **state) {
  (void)state;
  check_text(loop, 2, true);
}
static void test_branches(void **state) {
  (void)state;
  check_text(branches, 2, true);
}
/* <u, H v> = <v, H u> for H of a scalar function: forward over reverse. */
static void check_symmetric(const char *text) {
  cxi_hold_enter();
  const cxi_program *p = parse(text);
  bool *wrt = float_inputs(p), ct[8] = { true }, *nonzero;
  cxi_error error = { 0 };
  const cxi_program *g = cxi_vjp(p, wrt, ct, &error);
  assert_non_null(g);
  bool *moved = calloc(g->n_in, 1);
  memcpy(moved, wrt, p->n_in);
  nonzero = calloc(g->n_out, 1);
  const cxi_program *h = cxi_jvp(g, moved, NULL, false, nonzero, &error);
  assert_non_null(h);
  cxi_view *in = inputs_of(g, 1), *d[2] = { inputs_of(p, 2), inputs_of(p, 3) };
  *(double *)in[p->n_in].data = 1;
  double product[2] = { 0, 0 };
  for (int k = 0; k < 2; k++) {
    cxi_view *args = join(g->n_in, in, p->n_in, d[k]), *out = run(h, args);
    uint32_t at = g->n_out;
    for (uint32_t i = 0; i < p->n_out; i++) at += nonzero[i];
    for (uint32_t i = 0, o = p->n_out; i < p->n_in; i++)
      if (wrt[i] && nonzero[o++]) product[k] += dot(&out[at++], &d[1 - k][i]);
    free_views(out, h->n_out);
    free(args);
  }
  assert_near(product[0], product[1], 1e-12, p, "the Hessian both ways");
  free_views(in, g->n_in);
  free_views(d[0], p->n_in);
  free_views(d[1], p->n_in);
  free(wrt);
  free(moved);
  free(nonzero);
  cxi_program_release(p);
  cxi_hold_leave();
}

static void test_symmetric(void **state) {
  (void)state;
  check_symmetric(plain);
  check_symmetric("program @f(%0: f64[2,2], %1: f64[2]) {\n"
                  "  %2: f64[2] = " DOT " %0, %1\n"
                  "  %3: f64[2] = tanh %2\n"
                  "  return %3\n"
                  "}\n"
                  "program @main(%0: f64[2,2], %1: f64[2]) {\n"
                  "  %2: f64[2] = jit[body=@f] %0, %1\n"
                  "  %3: f64[2] = checkpoint[body=@f, policy=\"nothing\", "
                  "names=(), differentiated=false] %0, %2\n"
                  "  %4: f64[2] = mul %3, %1\n"
                  "  %5: f64[] = reduce_sum[axes=(0)] %4\n"
                  "  return %5\n"
                  "}\n");
}

/* -- batches -------------------------------------------------------------- */

static void check_batch_text(const char *text) {
  cxi_hold_enter();
  const cxi_program *p = parse(text);
  check_batches(p, 3);
  check_batches(vjp_of(p), 3);
  cxi_program_release(p);
  cxi_hold_leave();
}

static void test_batch(void **state) {
  (void)state;
  check_batch_text(plain);
  check_batch_text(forwarding);
  check_batch_text(calls);
  check_batch_text(loop);
  check_batch_text(branches);
}

static void test_batch_force(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse(forwarding);
  const bool batched[2] = { false, true }, force[5] = { true, true, 0, 0, 1 };
  bool out[5];
  cxi_error error = { 0 };
  const cxi_program *q = cxi_batch(p, batched, 7, force, out, &error);
  assert_non_null(q);
  assert_true(out[0] && out[1] && out[2] && !out[3] && out[4]);
  assert_int_equal(cxi_type_shape(cxi_output_type(q, 4))->d[0], 7);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* -- partial evaluation --------------------------------------------------- */

static void test_partial_eval(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p =
      parse("program @main(%0: f64[3], %1: f64[3]) {\n"
            "  %2: f64[3] = broadcast_in_dim[shape=(3), map=()] 2.0:f64\n"
            "  %3: f64[3] = sin %0\n"
            "  %4: f64[3] = mul %3, %2\n"
            "  %5: f64[3] = mul %1, %2\n"
            "  %6: f64[3] = mul %5, %3\n"
            "  %7: f64[3] = mul %6, %3\n"
            "  %8: f64[3] = add %7, %0\n"
            "  return %4, %8, %3\n"
            "}\n");
  const bool unknown[2] = { false, true }, force[3] = { false, false, true };
  bool out[3];
  cxi_partial cut;
  cxi_error error = { 0 };
  assert_true(cxi_partial_eval(p, unknown, force, &cut, out, &error));
  assert_true(!out[0] && out[1] && out[2]);
  /* sin x and x cross, each once; the filled array does not */
  assert_int_equal(cut.n_residuals, 2);
  assert_int_equal(cut.known->n_out, 3);
  assert_int_equal(cut.unknown->n_in, 3);
  assert_int_equal(cut.unknown->n_out, 2);
  assert_int_equal(count_prim(cut.unknown, CXI_PRIM_sin), 0);
  assert_int_equal(count_prim(cut.unknown, CXI_PRIM_broadcast_in_dim), 1);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* A residual of a call that is an operand is not returned by it. */
static void test_forwarded_residuals(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse("program @f(%0: f64[3], %1: f64[3]) {\n"
                               "  %2: f64[3] = mul %0, %1\n"
                               "  %3: f64[3] = exp %2\n"
                               "  return %3\n"
                               "}\n"
                               "program @main(%0: f64[3], %1: f64[3]) {\n"
                               "  %2: f64[3] = jit[body=@f] %0, %1\n"
                               "  return %2\n"
                               "}\n");
  const bool nonzero[2] = { true, true };
  bool out[1];
  cxi_partial cut;
  cxi_error error = { 0 };
  assert_true(cxi_linearize(p, nonzero, &cut, out, &error));
  assert_int_equal(cut.n_residuals, 3); /* x, y, exp(x y) */
  assert_int_equal(cut.known->n_equations, 1);
  assert_int_equal(cut.known->equations[0].n_out, 1);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* -- memos ---------------------------------------------------------------- */

static char *layers_text(int n) {
  char *text = malloc(4096);
  int at = sprintf(text, "program @layer(%%0: f64[2,2], %%1: f64[2,2]) {\n"
                         "  %%2: f64[2,2] = " DOT " %%0, %%1\n"
                         "  %%3: f64[2,2] = tanh %%2\n"
                         "  return %%3\n"
                         "}\n"
                         "program @main(%%0: f64[2,2], %%1: f64[2,2]) {\n");
  for (int i = 0; i < n; i++)
    at += sprintf(text + at, "  %%%d: f64[2,2] = jit[body=@layer] %%%d, %%1\n",
                  i + 2, i ? i + 1 : 0);
  sprintf(text + at, "  return %%%d\n}\n", n + 1);
  return text;
}

/* Twelve equal layers are differentiated once per mask: the first layer has a
 * tangent of x alone if only x is differentiated, of both otherwise. */
static void test_shared_layers(void **state) {
  (void)state;
  cxi_hold_enter();
  cxi_memos_clear();
  char *text = layers_text(12);
  const cxi_program *p = parse(text);
  const uint64_t jvps = cxi_memos_now("jvp").misses;
  const uint64_t cuts = cxi_memos_now("partial_eval").misses;
  const uint64_t transposes = cxi_memos_now("transpose").misses;
  bool wrt[2] = { true, true }, ct[1] = { true };
  cxi_error error = { 0 };
  assert_non_null(cxi_vjp(p, wrt, ct, &error));
  assert_int_equal(cxi_memos_now("jvp").misses - jvps, 1);
  assert_int_equal(cxi_memos_now("partial_eval").misses - cuts, 1);
  /* main, the last layer without accumulators, the others with one */
  assert_int_equal(cxi_memos_now("transpose").misses - transposes, 3);
  wrt[0] = false;
  assert_non_null(cxi_vjp(p, wrt, ct, &error));
  assert_int_equal(cxi_memos_now("jvp").misses - jvps, 2);
  assert_non_null(cxi_vjp(p, wrt, ct, &error));
  assert_int_equal(cxi_memos_now("jvp").misses - jvps, 2);
  const uint64_t batches = cxi_memos_now("batch").misses;
  const bool batched[2] = { true, false };
  bool out[1];
  assert_non_null(cxi_batch(p, batched, 4, NULL, out, &error));
  assert_int_equal(cxi_memos_now("batch").misses - batches, 2);
  cxi_program_release(p);
  free(text);
  cxi_hold_leave();
}

static void test_memo_limit(void **state) {
  (void)state;
  cxi_hold_enter();
  cxi_memos_clear();
  cxi_memos_limit(3);
  const cxi_program *p = parse(calls);
  vjp_of(p);
  assert_int_equal(cxi_memos_now(NULL).entries, 3);
  vjp_of(vjp_of(p));
  cxi_memos_limit(0);
  assert_int_equal(cxi_memos_now(NULL).entries, 0);
  vjp_of(p);
  cxi_memos_limit(16384);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* -- growth --------------------------------------------------------------- */

/* s = sin(s) * x[i] + x[i], unrolled. */
static const cxi_program *unrolled(int64_t n) {
  cxi_builder b;
  cxi_builder_open(&b);
  const cx x =
      cxi_builder_input(&b, cxi_type_make(CX_F64, (cx_dims){ 1, { n } }));
  cx s = cxi_number(CX_F64, 0.5);
  for (int64_t i = 0; i < n; i++) {
    const cx_dims one = { 1, { 1 } };
    const cx at = cxi_reshape(
        cxi_slice(x, (cx_dims){ 1, { i } }, (cx_dims){ 1, { i + 1 } }, one),
        (cx_dims){ 0 });
    s = cxi_add(cxi_mul(cxi_unary(CXI_PRIM_sin, s), at), at);
  }
  cxi_error error = { 0 };
  const cxi_program *p = cxi_builder_finish(&b, 0, 1, &x, 1, &s, &error);
  assert_non_null(p);
  return p;
}

/* Equations of the gradient, and bytes its run allocates. */
static void measure(int64_t n, uint64_t *equations, uint64_t *bytes) {
  const cxi_program *p = unrolled(n), *q = vjp_of(p);
  cxi_view *in = inputs_of(q, 3);
  cxi_buffers_reset();
  cxi_view *out = run(q, in);
  *bytes = cxi_buffers_now().allocated;
  *equations = q->n_equations;
  free_views(in, q->n_in);
  free_views(out, q->n_out);
  cxi_program_release(p);
}

static void test_linear_growth(void **state) {
  (void)state;
  cxi_hold_enter();
  uint64_t equations[2], bytes[2];
  measure(100, &equations[0], &bytes[0]);
  measure(400, &equations[1], &bytes[1]);
  assert_in_range(equations[1], 3 * equations[0], 5 * equations[0]);
  assert_in_range(bytes[1], 3 * bytes[0], 5 * bytes[0]);
  cxi_hold_leave();
}

/* A step reads at one place and writes at another, so that the cotangent of
 * its carry comes from both. A gradient, and the gradient of that, allocate
 * some bytes for a step, not an array. */
static uint64_t bytes_of_updates(int64_t n) {
  char text[1024];
  cxi_error error = { 0 };
  snprintf(text, sizeof text,
           "program @step(%%0: f64[4096], %%1: i32[]) {"
           " %%2: f64[1] = dynamic_slice[sizes=(1)] %%0, %%1"
           " %%3: f64[1] = sin %%2"
           " %%4: i32[] = add %%1, 1:i32"
           " %%5: f64[4096] = dynamic_update_slice %%0, %%3, %%4"
           " return %%5, %%4 }"
           "program @main(%%0: f64[4096]) {"
           " %%1: f64[4096], %%2: i32[] = scan[body=@step, length=%lld,"
           " reverse=false, unroll=1, n_consts=0, n_carry=2] %%0, 0:i32"
           " %%3: f64[] = reduce_sum[axes=(0)] %%1"
           " return %%3 }",
           (long long)n);
  const cxi_program *p = parse(text);
  bool all[4] = { true, true, true, true };
  const cxi_program *q = cxi_vjp(p, all, all, &error);
  const cxi_program *twice = q ? cxi_vjp(q, all, all, &error) : NULL;
  if (!twice) fail_msg("%s", error.text);
  cxi_view *in = inputs_of(twice, 3);
  cxi_buffers_reset();
  cxi_view *out = run(twice, in);
  const uint64_t bytes = cxi_buffers_now().allocated;
  free_views(in, twice->n_in);
  free_views(out, twice->n_out);
  cxi_program_release(p);
  return bytes;
}

static void test_growth_of_updates(void **state) {
  (void)state;
  cxi_hold_enter();
  const uint64_t few = bytes_of_updates(100), many = bytes_of_updates(200);
  assert_in_range(many - few, 1, 100 * 4096);
  cxi_hold_leave();
}

/* -- errors --------------------------------------------------------------- */

static void expect_error(const char *text, cx_code code, const char *part) {
  cxi_hold_enter();
  const cxi_program *p = parse(text);
  bool *wrt = float_inputs(p), *ct = float_outputs(p);
  cxi_error error = { 0 };
  const uint64_t entries = cxi_memos_now("vjp").entries;
  assert_null(cxi_vjp(p, wrt, ct, &error));
  assert_int_equal(error.code, code);
  if (!strstr(error.text, part)) fail_msg("%s", error.text);
  assert_int_equal(cxi_memos_now("vjp").entries, entries);
  free(wrt);
  free(ct);
  cxi_program_release(p);
  cxi_hold_leave();
}

static void test_errors(void **state) {
  (void)state;
  /* a while has no transpose; the message comes out of a nested call */
  expect_error("program @less(%0: f64[]) {\n"
               "  %1: bool[] = lt %0, 9.0:f64\n"
               "  return %1\n"
               "}\n"
               "program @step(%0: f64[]) {\n"
               "  %1: f64[] = mul %0, 2.0:f64\n"
               "  return %1\n"
               "}\n"
               "program @f(%0: f64[]) {\n"
               "  %1: f64[] = while[cond=@less, body=@step, n_cond_consts=0, "
               "n_body_consts=0] %0\n"
               "  return %1\n"
               "}\n"
               "program @main(%0: f64[]) {\n"
               "  %1: f64[] = jit[body=@f] %0\n"
               "  return %1\n"
               "}\n",
               CX_ENORULE, "while");
}

/* The error names the line inside the nested call. */
static void test_error_site(void **state) {
  (void)state;
  cxi_hold_enter();
  cxi_builder b;
  cxi_error error = { 0 };
  const cxi_type type = cxi_type_scalar(CX_F64);
  const cxi_program *p = parse("program @f(%0: f64[]) {\n"
                               "  %1: f64[] = sin %0\n"
                               "  return %1\n"
                               "}\n");
  bool linear[1] = { true }, ct[1] = { true };
  for (int i = 0; i < 2; i++) {
    cxi_builder_open(&b);
    cx x = cxi_builder_input(&b, type), y = { 0 };
    const cxi_name before =
        cxi_site_use(cxi_name_of(i ? "outer.c:7" : "inner.c:3"));
    if (i)
      cxi_call(p, &x, &y);
    else
      y = cxi_unary(CXI_PRIM_sin, x);
    cxi_site_use(before);
    const cxi_program *q = cxi_builder_finish(&b, 0, 1, &x, 1, &y, &error);
    assert_non_null(q);
    cxi_program_release(p);
    p = q;
  }
  assert_null(cxi_transpose_program(p, linear, ct, NULL, &error));
  assert_int_equal(error.code, CX_ENORULE);
  assert_string_equal(cxi_name_text(cxi_transform_error_site()), "inner.c:3");
  cxi_program_release(p);
  cxi_hold_leave();
}

/* Threads that ask for the same get the same program. */
static void *differentiate(void *p) {
  cxi_hold_enter();
  const cxi_program *q = vjp_of(vjp_of(p));
  cxi_program_retain(q);
  cxi_hold_leave();
  cxi_scratch_free();
  return (void *)(uintptr_t)q;
}

static void test_threads(void **state) {
  (void)state;
  const cxi_program *p = parse(calls), *first = NULL;
  pthread_t thread[4];
  cxi_memos_clear();
  for (int i = 0; i < 4; i++)
    assert_int_equal(
        pthread_create(&thread[i], NULL, differentiate, (void *)(uintptr_t)p),
        0);
  for (int i = 0; i < 4; i++) {
    void *q = NULL;
    pthread_join(thread[i], &q);
    if (i == 0) first = q;
    assert_ptr_equal(q, first);
    cxi_program_release(q);
  }
  cxi_program_release(p);
}

/* Calls nested deeper than the limit are refused, not run into the stack. */
static void test_depth(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse("program @f(%0: f64[]) {\n"
                               "  %1: f64[] = sin %0\n"
                               "  return %1\n"
                               "}\n");
  for (int i = 0; i < 10000; i++) {
    cxi_builder b;
    cxi_error error = { 0 };
    cxi_builder_open(&b);
    cx x = cxi_builder_input(&b, p->values[0].type), y = { 0 };
    cxi_call(p, &x, &y);
    const cxi_program *q = cxi_builder_finish(&b, 0, 1, &x, 1, &y, &error);
    assert_non_null(q);
    cxi_program_release(p);
    p = q;
  }
  const bool wrt[1] = { true };
  bool out[1];
  cxi_error error = { 0 };
  assert_null(cxi_jvp(p, wrt, NULL, false, out, &error));
  assert_int_equal(error.code, CX_ETRACE);
  assert_non_null(strstr(error.text, "nest"));
  cxi_program_release(p);
  cxi_hold_leave();
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain),
    cmocka_unit_test(test_forwarding),
    cmocka_unit_test(test_calls),
    cmocka_unit_test(test_loop),
    cmocka_unit_test(test_branches),
    cmocka_unit_test(test_symmetric),
    cmocka_unit_test(test_batch),
    cmocka_unit_test(test_batch_force),
    cmocka_unit_test(test_partial_eval),
    cmocka_unit_test(test_forwarded_residuals),
    cmocka_unit_test(test_shared_layers),
    cmocka_unit_test(test_memo_limit),
    cmocka_unit_test(test_linear_growth),
    cmocka_unit_test(test_growth_of_updates),
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_error_site),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_depth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
