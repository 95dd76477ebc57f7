/* custom_test.c - functions with derivatives of their own, alone and inside
 * calls, loops, branches, checkpoints and batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/derivatives.h"

/* sin(x) y, its reverse mode by hand. */
#define FUNCTION                                      \
  "program @f(%0: f64[3], %1: f64[3], %2: i32[]) {\n" \
  "  %3: f64[3] = sin %0\n"                           \
  "  %4: f64[3] = mul %3, %1\n"                       \
  "  return %4, %2\n"                                 \
  "}\n"
#define RULES                                                        \
  "program @fwd(%0: f64[3], %1: f64[3], %2: i32[]) {\n"              \
  "  %3: f64[3] = sin %0\n"                                          \
  "  %4: f64[3] = mul %3, %1\n"                                      \
  "  %5: f64[3] = cos %0\n"                                          \
  "  return %4, %2, %5, %3, %1\n"                                    \
  "}\n"                                                              \
  "program @bwd(%0: f64[3], %1: f64[3], %2: f64[3], %3: f64[3]) {\n" \
  "  %4: f64[3] = mul %3, %2\n"                                      \
  "  %5: f64[3] = mul %4, %0\n"                                      \
  "  %6: f64[3] = mul %3, %1\n"                                      \
  "  return %5, %6\n"                                                \
  "}\n"
#define FORWARD                                                   \
  "program @rule(%0: f64[3], %1: f64[3], %2: i32[], %3: f64[3], " \
  "%4: f64[3]) {\n"                                               \
  "  %5: f64[3] = sin %0\n"                                       \
  "  %6: f64[3] = mul %5, %1\n"                                   \
  "  %7: f64[3] = cos %0\n"                                       \
  "  %8: f64[3] = mul %7, %1\n"                                   \
  "  %9: f64[3] = mul %8, %3\n"                                   \
  "  %10: f64[3] = mul %5, %4\n"                                  \
  "  %11: f64[3] = add %9, %10\n"                                 \
  "  return %6, %2, %11\n"                                        \
  "}\n"
#define VJP "custom_vjp[body=@f, fwd=@fwd, bwd=@bwd, name=\"f\"]"
#define JVP "custom_jvp[body=@f, rule=@rule]"
#define NAMED \
  "composite[name=\"sin_mul\", body=@f, fwd=@fwd, bwd=@bwd, number=0.0]"
#define BARE \
  "composite[name=\"sin_mul\", body=@f, fwd=none, bwd=none, number=0.0]"

/* What surrounds the call; APPLY stands for it. */
#define IN_PLACE(apply)                                  \
  "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n" \
  "  %3: f64[3], %4: i32[] = " apply " %0, %1, %2\n"     \
  "  %5: f64[3] = tanh %3\n"                             \
  "  %6: f64[3], %7: i32[] = " apply " %5, %1, %4\n"     \
  "  return %6, %3\n"                                    \
  "}\n"
#define IN_CALL(how, apply)                              \
  "program @g(%0: f64[3], %1: f64[3], %2: i32[]) {\n"    \
  "  %3: f64[3] = exp %0\n"                              \
  "  %4: f64[3], %5: i32[] = " apply " %3, %1, %2\n"     \
  "  %6: f64[3] = mul %4, %3\n"                          \
  "  return %6\n"                                        \
  "}\n"                                                  \
  "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n" \
  "  %3: f64[3] = " how " %0, %1, %2\n"                  \
  "  %4: f64[3] = " how " %3, %1, %2\n"                  \
  "  return %4\n"                                        \
  "}\n"
#define REMAT \
  "checkpoint[body=@g, policy=\"nothing\", names=(), differentiated=false]"
#define IN_LOOP(apply)                                                 \
  "program @step(%0: f64[3], %1: i32[], %2: f64[3], %3: f64[3]) {\n"   \
  "  %4: f64[3], %5: i32[] = " apply " %2, %0, %1\n"                   \
  "  %6: f64[3] = add %4, %3\n"                                        \
  "  return %6, %4\n"                                                  \
  "}\n"                                                                \
  "program @main(%0: f64[3], %1: i32[], %2: f64[3], %3: f64[4,3]) {\n" \
  "  %4: f64[3], %5: f64[4,3] = scan[body=@step, length=4, "           \
  "reverse=false, unroll=1, n_consts=2, n_carry=1] %0, %1, %2, %3\n"   \
  "  return %4, %5\n"                                                  \
  "}\n"
#define IN_BRANCH(apply)                                   \
  "program @a(%0: f64[3], %1: f64[3], %2: i32[]) {\n"      \
  "  %3: f64[3], %4: i32[] = " apply " %0, %1, %2\n"       \
  "  return %3\n"                                          \
  "}\n"                                                    \
  "program @b(%0: f64[3], %1: f64[3], %2: i32[]) {\n"      \
  "  %3: f64[3] = mul %1, 2.0:f64\n"                       \
  "  return %3\n"                                          \
  "}\n"                                                    \
  "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n"   \
  "  %3: i32[] = clamp 0:i32, %2, 1:i32\n"                 \
  "  %4: f64[3] = cond[branches=(@a,@b)] %3, %0, %1, %2\n" \
  "  return %4\n"                                          \
  "}\n"

/* Derivatives; batches of the program, of its gradient, and the gradients of
 * its batches, in which unbatched inputs get the sum over the batch. */
static void check(const char *text, int order, bool forward) {
  cxi_hold_enter();
  const cxi_program *p = parse(text);
  check_derivatives(p, order, forward);
  check_batches(p, 3);
  check_batches(vjp_of(p), 3);
  for (uint32_t mask = 1; mask < 1u << p->n_in; mask++) {
    bool batched[8], out[8];
    cxi_error error = { 0 };
    for (uint32_t i = 0; i < p->n_in; i++) batched[i] = mask >> i & 1;
    const cxi_program *q = cxi_batch(p, batched, 2, NULL, out, &error);
    assert_non_null(q);
    check_derivatives(q, order, forward);
  }
  cxi_program_release(p);
  cxi_hold_leave();
}

/* The reverse mode is a program like any other: it has both modes. */
static void test_second_order(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse(FUNCTION RULES IN_PLACE(VJP));
  check_derivatives(vjp_of(p), 2, true);
  cxi_program_release(p);
  p = parse(FUNCTION RULES IN_LOOP(VJP));
  check_derivatives(vjp_of(p), 1, true);
  cxi_program_release(p);
  cxi_hold_leave();
}

static void test_custom_vjp(void **state) {
  (void)state;
  check(FUNCTION RULES IN_PLACE(VJP), 1, false);
  check(FUNCTION RULES IN_CALL("jit[body=@g]", VJP), 1, false);
  check(FUNCTION RULES IN_CALL(REMAT, VJP), 1, false);
}
static void test_custom_vjp_control(void **state) {
  (void)state;
  check(FUNCTION RULES IN_LOOP(VJP), 1, false);
  check(FUNCTION RULES IN_BRANCH(VJP), 1, false);
}
static void test_custom_jvp(void **state) {
  (void)state;
  check(FUNCTION FORWARD IN_PLACE(JVP), 2, true);
  check(FUNCTION FORWARD IN_CALL("jit[body=@g]", JVP), 2, true);
  check(FUNCTION FORWARD IN_CALL(REMAT, JVP), 2, true);
}
static void test_custom_jvp_control(void **state) {
  (void)state;
  check(FUNCTION FORWARD IN_LOOP(JVP), 1, true);
  check(FUNCTION FORWARD IN_BRANCH(JVP), 1, true);
}
static void test_composite(void **state) {
  (void)state;
  check(FUNCTION RULES IN_PLACE(NAMED), 2, true);
  check(FUNCTION IN_PLACE(BARE), 2, true);
  check(FUNCTION RULES IN_CALL(REMAT, NAMED), 1, true);
  check(FUNCTION RULES IN_LOOP(NAMED), 1, true);
}

/* fwd with a factor that the body lacks: shows which of the two ran. */
#define MARKED                               \
  "program @f(%0: f64[3]) {\n"               \
  "  %1: f64[3] = mul %0, %0\n"              \
  "  return %1\n"                            \
  "}\n"                                      \
  "program @fwd(%0: f64[3]) {\n"             \
  "  %1: f64[3] = mul %0, %0\n"              \
  "  return %1, %0\n"                        \
  "}\n"                                      \
  "program @bwd(%0: f64[3], %1: f64[3]) {\n" \
  "  %2: f64[3] = mul %1, 7.0:f64\n"         \
  "  return %2\n"                            \
  "}\n"

/* Reverse mode takes the composite's bwd, forward mode its body. */
static void test_composite_modes(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse(
      MARKED "program @main(%0: f64[3]) {\n"
             "  %1: f64[3] = composite[name=\"square\", body=@f, fwd=@fwd, "
             "bwd=@bwd, number=0.0] %0\n"
             "  return %1\n"
             "}\n");
  bool nonzero[1];
  const cxi_program *back = vjp_of(p), *forth = jvp_of(p, nonzero);
  cxi_view *in = inputs_of(back, 1);
  cxi_view *a = run(back, in), *b = run(forth, in);
  for (int64_t i = 0; i < 3; i++) {
    const double x = element(&in[0], i), d = element(&in[1], i);
    assert_near(7 * d, element(&a[1], i), 1e-12, back, "bwd");
    assert_near(2 * x * d, element(&b[1], i), 1e-12, forth, "body");
  }
  free_views(in, 2);
  free_views(a, 2);
  free_views(b, 2);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* Only what is differentiated is asked of bwd. */
static void test_partial_tangents(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse(FUNCTION RULES IN_PLACE(VJP));
  const bool wrt[3] = { false, true, false }, ct[2] = { true, false };
  cxi_error error = { 0 };
  const cxi_program *q = cxi_vjp(p, wrt, ct, &error), *whole = vjp_of(p);
  assert_non_null(q);
  cxi_view *in = inputs_of(whole, 2);
  memset(in[4].data, 0, (size_t)cxi_aval_bytes(&in[4].type));
  cxi_view *a = run(q, in), *b = run(whole, in);
  assert_true(same_bits(&a[2], &b[3]));
  free_views(in, whole->n_in);
  free_views(a, q->n_out);
  free_views(b, whole->n_out);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* A tangent of custom_jvp that only zeros reach is none: it asks no custom_vjp
 * after it for a tangent that no linear part has. */
static void test_unreached_tangent(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse(
      "program @first(%0: f64[3], %1: f64[3]) { return %0 }"
      "program @rule(%0: f64[3], %1: f64[3], %2: f64[3], %3: f64[3]) {"
      " return %0, %2 }"
      "program @f(%0: f64[3], %1: f64[3]) { %2: f64[3] = mul %0, %1 return %2 }"
      "program @fwd(%0: f64[3], %1: f64[3]) { %2: f64[3] = mul %0, %1"
      " return %2, %0, %1 }"
      "program @bwd(%0: f64[3], %1: f64[3], %2: f64[3]) { return %0, %1 }"
      "program @kept(%0: f64[3]) { %1: f64[3] = custom_vjp[body=@f, fwd=@fwd,"
      " bwd=@bwd, name=\"f\"] %0, %0 return %1 }"
      "program @main(%0: f64[3]) {"
      " %1: f64[3] = broadcast_in_dim[shape=(3), map=()] 2.0:f64"
      " %2: f64[3] = custom_jvp[body=@first, rule=@rule] %1, %0"
      " %3: f64[3] = checkpoint[body=@kept, policy=\"everything\", names=(),"
      " differentiated=false] %2 return %3 }");
  const bool wrt[1] = { true }, ct[1] = { true };
  cxi_error error = { 0 };
  const cxi_program *q = cxi_vjp(p, wrt, ct, &error);
  if (!q) fail_msg("%s", error.text);
  cxi_view *in = inputs_of(q, 2), *out = run(q, in);
  for (int64_t i = 0; i < 3; i++) {
    assert_true(element(&out[0], i) == 4);
    assert_true(element(&out[1], i) == 0);
  }
  free_views(in, q->n_in);
  free_views(out, q->n_out);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* Forward mode through a custom_vjp: an error that names the function, and
 * only where it is run. */
static void test_forward_error(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p = parse(FUNCTION RULES IN_CALL("jit[body=@g]", VJP));
  bool nonzero[1], again[2];
  const cxi_program *q = jvp_of(p, nonzero);
  cxi_view *in = inputs_of(q, 2);
  cxi_view *out = calloc(q->n_out, sizeof *out);
  cxi_error error = { 0 };
  assert_false(cxi_reference_run(q, in, NULL, out, &error));
  assert_int_equal(error.code, CX_ENORULE);
  assert_non_null(strstr(error.text, "custom_vjp of \"f\""));
  assert_non_null(strstr(error.text, "custom_jvp"));
  /* forward mode of that forward mode: the same, at once */
  bool *mask = float_inputs(q);
  error = (cxi_error){ 0 };
  assert_null(cxi_jvp(q, mask, NULL, false, again, &error));
  assert_int_equal(error.code, CX_ENORULE);
  assert_non_null(strstr(error.text, "custom_vjp of \"f\""));
  free(mask);
  free_views(in, q->n_in);
  free(out);
  cxi_program_release(p);
  cxi_hold_leave();
}

/* Rules whose ends do not fit are refused when they are emitted. */
static void test_wrong_rules(void **state) {
  (void)state;
  static const char *const texts[] = {
    FUNCTION RULES "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n"
                   "  %3: f64[3], %4: i32[] = custom_vjp[body=@f, fwd=@f, "
                   "bwd=@bwd, name=\"f\"] %0, %1, "
                   "%2\n  return %3\n}\n",
    FUNCTION RULES "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n"
                   "  %3: f64[3], %4: i32[] = custom_vjp[body=@f, fwd=@fwd, "
                   "bwd=none, name=\"f\"] %0, "
                   "%1, %2\n  return %3\n}\n",
    FUNCTION RULES
    "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n"
    "  %3: f64[3], %4: i32[] = custom_jvp[body=@f, rule=@f] %0, %1, %2\n"
    "  return %3\n}\n",
    FUNCTION RULES
    "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n"
    "  %3: f64[3] = custom_lin[bwd=@bwd, n_residuals=2, name=\"f\", "
    "linearizing=false] %0, %1, "
    "%0, %1\n  return %3\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cxi_error error = { 0 };
    assert_null(cxi_program_parse(texts[i], strlen(texts[i]), &error));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_second_order),
    cmocka_unit_test(test_custom_vjp),
    cmocka_unit_test(test_custom_vjp_control),
    cmocka_unit_test(test_custom_jvp),
    cmocka_unit_test(test_custom_jvp_control),
    cmocka_unit_test(test_composite),
    cmocka_unit_test(test_composite_modes),
    cmocka_unit_test(test_partial_tangents),
    cmocka_unit_test(test_unreached_tangent),
    cmocka_unit_test(test_forward_error),
    cmocka_unit_test(test_wrong_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
