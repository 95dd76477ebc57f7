/* checkpoint_test.c - what a checkpoint keeps, that it changes no bit, and what
 * happens when memory runs out on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ops/lax.h"
#include "support/derivatives.h"

#define DOT                                                        \
  "dot_general[lhs_contract=(1), rhs_contract=(0), lhs_batch=(), " \
  "rhs_batch=(), type=f64]"

static const char remat[] =
    "program @inner(%0: f64[2,2], %1: f64[2,2]) {\n"
    "  %2: f64[2,2] = " DOT " %0, %1\n"
    "  %3: f64[2,2] = tanh %2\n"
    "  return %3\n"
    "}\n"
    "program @layer(%0: f64[2,2], %1: f64[2,2]) {\n"
    "  %2: f64[2,2] = checkpoint[body=@inner, policy=\"nothing\", names=(), "
    "differentiated=false] %0, %1\n"
    "  %3: f64[2,2] = sin %2\n"
    "  %4: f64[2,2] = " DOT " %3, %0\n"
    "  return %4, %0\n"
    "}\n"
    "program @main(%0: f64[2,2], %1: f64[2,2]) {\n"
    "  %2: f64[2,2], %3: f64[2,2] = checkpoint[body=@layer, policy=\"dots\", "
    "names=(), differentiated=false] %0, %1\n"
    "  %4: f64[2,2], %5: f64[2,2] = checkpoint[body=@layer, policy=\"dots\", "
    "names=(), differentiated=false] %2, %1\n"
    "  %6: f64[2,2] = mul %4, %3\n"
    "  return %6\n"
    "}\n";

/* scan of a checkpoint, in a checkpoint */
static const char remat_loop[] =
    "program @inner(%0: f64[2,2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2] = " DOT " %0, %1\n"
    "  %4: f64[2] = add %3, %2\n"
    "  %5: f64[2] = tanh %4\n"
    "  %6: f64[2] = mul %5, %2\n"
    "  return %5, %6\n"
    "}\n"
    "program @step(%0: f64[2,2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2], %4: f64[2] = checkpoint[body=@inner, policy=\"nothing\", "
    "names=(), differentiated=false] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n"
    "program @loop(%0: f64[2,2], %1: f64[2], %2: f64[4,2]) {\n"
    "  %3: f64[2], %4: f64[4,2] = scan[body=@step, length=4, reverse=false, "
    "unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n"
    "program @main(%0: f64[2,2], %1: f64[2], %2: f64[4,2]) {\n"
    "  %3: f64[2], %4: f64[4,2] = checkpoint[body=@loop, policy=\"nothing\", "
    "names=(), differentiated=false] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n";

/* -- derivatives ---------------------------------------------------------- */

static void check_text(const char *text, int order) {
  cxi_hold_enter();
  const cxi_program *p = parse(text);
  check_derivatives(p, order, true);
  check_batches(p, 2);
  check_batches(vjp_of(p), 2);
  cxi_program_release(p);
  cxi_hold_leave();
}

static void test_nested(void **state) {
  (void)state;
  check_text(remat, 3);
}
static void test_loops(void **state) {
  (void)state;
  check_text(remat_loop, 2);
}

/* -- bits ----------------------------------------------------------------- */

static const char *const policies[] = {
  "nothing",       "everything",  "dots",     "dots_no_batch", "names",
  "all_but_names", "other_names", "budget:1", "budget:200",    "budget:1000000"
};
enum { N_POLICIES = sizeof policies / sizeof *policies };

/* A body with a call, products, a tag; @main applies it through `how`. */
static const cxi_program *with_body(const char *how) {
  static const char body[] =
      "program @act(%0: f64[2,3]) {\n"
      "  %1: f64[2,3] = tanh %0\n"
      "  %2: f64[2,3] = mul %1, %0\n"
      "  return %2\n"
      "}\n"
      "program @body(%0: f64[2,2], %1: f64[2,3], %2: i32[]) {\n"
      "  %3: f64[2,3] = " DOT " %0, %1\n"
      "  %4: f64[2,3] = jit[body=@act] %3\n"
      "  %5: f64[2,3] = name[name=\"hidden\"] %4\n"
      "  %6: f64[2,3] = mul %5, %5\n"
      "  %7: f64[2,3,3] = dot_general[lhs_contract=(), rhs_contract=(), "
      "lhs_batch=(0), rhs_batch=(0), type=f64] %6, %1\n"
      "  %8: f64[2,3,3] = exp %7\n"
      "  return %8, %2, %5\n"
      "}\n"
      "program @main(%0: f64[2,2], %1: f64[2,3], %2: i32[]) {\n"
      "  %3: f64[2,2] = cos %0\n"
      "  %4: f64[2,3,3], %5: i32[], %6: f64[2,3] = ";
  char text[2048];
  snprintf(text, sizeof text, "%s%s %%3, %%1, %%2\n  return %%4, %%5, %%6\n}\n",
           body, how);
  return parse(text);
}

static const cxi_program *with_policy(const char *policy) {
  char how[128];
  snprintf(how, sizeof how,
           "checkpoint[body=@body, policy=\"%s\", names=(%s), "
           "differentiated=false]",
           policy, strstr(policy, "names") ? "\"hidden\"" : "");
  return with_body(how);
}

static void assert_same_runs(const cxi_program *p, const cxi_program *q) {
  cxi_view *in = inputs_of(p, 9), *a = run(p, in), *b = run(q, in);
  assert_int_equal(p->n_out, q->n_out);
  for (uint32_t i = 0; i < p->n_out; i++)
    if (!same_bits(&a[i], &b[i])) {
      print_program(p);
      print_program(q);
      fail_msg("output %u differs", i);
    }
  free_views(in, p->n_in);
  free_views(a, p->n_out);
  free_views(b, p->n_out);
}

static void test_same_bits(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *plain = with_body("jit[body=@body]");
  for (int i = 0; i < N_POLICIES; i++) {
    const cxi_program *p = with_policy(policies[i]);
    cxi_error error = { 0 };
    assert_same_runs(plain, p);
    assert_same_runs(vjp_of(plain), vjp_of(p));
    assert_same_runs(vjp_of(plain), cxi_simplify(vjp_of(p), &error));
    check_derivatives(p, 2, true);
    cxi_program_release(p);
  }
  cxi_program_release(plain);
  cxi_hold_leave();
}

/* -- residuals by policy -------------------------------------------------- */

/* Residuals that are not inputs of the known part, by how many elements. */
typedef struct kept {
  uint32_t total, computed, of_6, of_18;
} kept;

static kept kept_of(const cxi_program *p) {
  bool *nonzero = float_inputs(p);
  bool *out = calloc(p->n_out + (size_t)1, 1);
  cxi_partial cut;
  cxi_error error = { 0 };
  assert_true(cxi_linearize(p, nonzero, &cut, out, &error));
  kept k = { .total = cut.n_residuals };
  const cxi_program *known = cut.known;
  for (uint32_t i = known->n_out - cut.n_residuals; i < known->n_out; i++) {
    const cxi_type type = cxi_output_type(known, i);
    const int64_t n = cxi_dims_count(cxi_type_shape(type));
    if (known->outputs[i] < known->n_in) continue;
    k.computed++;
    k.of_6 += n == 6;
    k.of_18 += n == 18;
  }
  free(nonzero);
  free(out);
  return k;
}

/* Of 6 elements: the product, tanh, its slope, hidden, its square; of 18: the
 * exponential, or what is below it. */
static void test_policies(void **state) {
  (void)state;
  static const struct {
    const char *policy;
    uint32_t of_6, of_18;
  } cases[] = {
    { "nothing", 0, 0 }, { "dots", 1, 1 },       { "dots_no_batch", 1, 0 },
    { "names", 1, 0 },   { "everything", 5, 1 }, { "all_but_names", 4, 1 },
  };
  cxi_hold_enter();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const cxi_program *p = with_policy(cases[i].policy);
    const kept k = kept_of(p);
    if (k.of_6 != cases[i].of_6 || k.of_18 != cases[i].of_18)
      fail_msg("%s keeps %u and %u", cases[i].policy, k.of_6, k.of_18);
    cxi_program_release(p);
  }
  cxi_hold_leave();
}

static void test_unknown_policy(void **state) {
  (void)state;
  char text[1024];
  snprintf(text, sizeof text,
           "program @f(%%0: f64[]) {\n  return %%0\n}\n"
           "program @main(%%0: f64[]) {\n"
           "  %%1: f64[] = checkpoint[body=@f, policy=\"dot\", names=(), "
           "differentiated=false] %%0\n  return %%1\n}\n");
  cxi_error error = { 0 };
  assert_null(cxi_program_parse(text, strlen(text), &error));
  assert_non_null(strstr(error.text, "policy"));
}

/* -- memory --------------------------------------------------------------- */

/* 8 blocks of 8 steps each. */
static const cxi_program *blocks(const char *how) {
  char text[4096];
  int at = sprintf(text, "program @block(%%0: f64[512]) {\n");
  for (int i = 1; i <= 8; i++)
    at += sprintf(text + at, "  %%%d: f64[512] = tanh %%%d\n", i, i - 1);
  at += sprintf(text + at, "  return %%8\n}\nprogram @main(%%0: f64[512]) {\n");
  for (int i = 1; i <= 8; i++)
    at += sprintf(text + at, "  %%%d: f64[512] = %s %%%d\n", i, how, i - 1);
  sprintf(text + at, "  return %%8\n}\n");
  return parse(text);
}

static uint64_t peak_of(const cxi_program *p) {
  cxi_view *in = inputs_of(p, 3);
  cxi_buffers_reset();
  const uint64_t before = cxi_buffers_now().live;
  cxi_view *out = run(p, in);
  const uint64_t peak = cxi_buffers_now().peak - before;
  free_views(in, p->n_in);
  free_views(out, p->n_out);
  return peak;
}

static void test_memory(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = blocks("jit[body=@block]");
  const cxi_program *q =
      blocks("checkpoint[body=@block, policy=\"nothing\", names=(), "
             "differentiated=false]");
  const cxi_program *gradient = vjp_of(q);
  cxi_error error = { 0 };
  assert_same_runs(vjp_of(p), gradient);
  assert_true(2 * peak_of(gradient) < peak_of(vjp_of(p)));
  const cxi_program *simple = cxi_simplify(gradient, &error);
  assert_non_null(simple);
  assert_true(2 * peak_of(simple) < peak_of(vjp_of(p)));
  /* each region waits for its cotangent */
  assert_int_equal(count_prim(simple, CXI_PRIM_optimization_barrier), 8);
  assert_int_equal(count_prim(simple, CXI_PRIM_checkpoint), 8);
  cxi_program_release(p);
  cxi_program_release(q);
  cxi_hold_leave();
}

/* -- no memory ------------------------------------------------------------ */

/* The gradient, batched, simplified, of a program; NULL with error. */
static const cxi_program *pipeline(const cxi_program *p, cxi_error *error) {
  const bool wrt[3] = { true, true, false }, ct[2] = { true, true };
  const bool batched[5] = { false, true, true, true, true };
  bool out[4];
  const cxi_program *q = cxi_vjp(p, wrt, ct, error);
  if (q) q = cxi_batch(q, batched, 3, NULL, out, error);
  return q ? cxi_simplify(q, error) : NULL;
}

/* Whatever allocation fails, the result is the error, and nothing is left.
 * Every one of the first, then more and more sparsely. */
static void test_no_memory(void **state) {
  (void)state;
  const cxi_program *p = parse(remat_loop);
  cxi_error error = { 0 };
  size_t before = 0;
  bool done = false;
  for (uint64_t n = UINT64_MAX; !done;
       n = n == UINT64_MAX ? 0 : n + 1 + n / 200) {
    error = (cxi_error){ 0 };
    cxi_hold_enter();
    cxi_alloc_fail_after(n);
    const cxi_program *q = pipeline(p, &error);
    cxi_alloc_fail_after(UINT64_MAX);
    cxi_hold_leave();
    cxi_memos_clear();
    cxi_scratch_free();
    done = q && n != UINT64_MAX;
    if (!q && error.code != CX_EMEMORY)
      fail_msg("%d: %s", (int)error.code, error.text);
    if (n == UINT64_MAX) before = cxi_alloc_now().live_bytes;
    assert_int_equal(cxi_alloc_now().live_bytes, before);
  }
  cxi_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nested),         cmocka_unit_test(test_loops),
    cmocka_unit_test(test_same_bits),      cmocka_unit_test(test_policies),
    cmocka_unit_test(test_unknown_policy), cmocka_unit_test(test_memory),
    cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
