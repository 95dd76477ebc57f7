/* elementwise_derivative_test.c - derivatives where a formula may fail: far
 * arguments, singular points, ties, branches not taken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/programs.h"

/* The `order`-th derivative of a function of one f64 at x, by reverse mode. */
static double derivative(const char *text, int order, double x) {
  cxi_hold_enter();
  const cxi_program *p = program_parse(text);
  for (int i = 0; i < order; i++) {
    /* (x, ct) -> (y, ct x): the cotangent 1, the second result */
    cxi_error error = { CX_OK, "" };
    const cxi_program *vjp =
        cxi_vjp(p, (bool[]){ true }, (bool[]){ true }, &error);
    check_ok(vjp != NULL, &error, p);
    cxi_builder b;
    cxi_builder_open(&b);
    const cx in = cxi_builder_input(&b, cxi_type_scalar(CX_F64));
    cx out[2];
    cxi_replay(vjp, (cx[]){ in, cxi_number(CX_F64, 1) }, out);
    const cxi_program *next =
        cxi_builder_finish(&b, vjp->name, 1, &in, 1, &out[1], &error);
    check_ok(next != NULL, &error, vjp);
    cxi_program_release(p);
    p = next;
  }
  arrays in = arrays_new(1);
  in.at[0] = array_zeros(&(cx_aval){ CX_F64, { 0 } });
  *(double *)in.at[0].data = x;
  arrays out = program_run(p, &in);
  const double y = *(double *)out.at[0].data;
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
  cxi_hold_leave();
  return y;
}

static double derivative_of(const char *op, int order, double x) {
  char text[128];
  snprintf(text, sizeof text,
           "program @f(%%0: f64[]) { %%1: f64[] = %s %%0 return %%1 }", op);
  return derivative(text, order, x);
}

static void test_far_arguments(void **state) {
  (void)state;
  assert_true(derivative_of("tanh", 1, 200) == 0);
  assert_true(derivative_of("tanh", 1, -1e6) == 0);
  assert_true(derivative_of("tanh", 1, 0) == 1);
  assert_true(derivative_of("tanh", 2, 200) == 0);
  assert_true(derivative_of("logistic", 1, -800) == 0);
  assert_true(derivative_of("logistic", 1, 0) == 0.25);
  assert_true(fabs(derivative_of("expm1", 1, -40) / exp(-40) - 1) < 1e-14);
  assert_true(derivative_of("erf", 1, 1e200) == 0);
  /* tanh(u) u u with u = 1e4 x, at a saturated point: 2e8 */
  assert_true(fabs(derivative("program @f(%0: f64[]) { "
                              "%1: f64[] = mul %0, 10000.0:f64 "
                              "%2: f64[] = tanh %1 %3: f64[] = mul %2, %1 "
                              "%4: f64[] = mul %3, %1 return %4 }",
                              2, -1) +
                   2e8) < 1);
}

static void test_singular_points(void **state) {
  (void)state;
  assert_true(derivative_of("abs", 1, 0) == 0);
  assert_true(isinf(derivative_of("sqrt", 1, 0)));
  assert_true(derivative_of("integer_pow[y=0]", 1, 0) == 0);
  assert_true(derivative_of("integer_pow[y=2]", 1, 0) == 0);
  assert_true(derivative_of("integer_pow[y=-1]", 1, 2) == -0.25);
  assert_true(derivative_of("sign", 1, 3) == 0);
  static const char power[] = "program @f(%%0: f64[]) { "
                              "%%1: f64[] = pow %s return %%1 }";
  static const struct {
    const char *operands;
    double x, want;
  } cases[] = {
    { "%0, 2.0:f64", 0, 0 },
    { "%0, 1.0:f64", 0, 1 },
    { "%0, 0.5:f64", 0, INFINITY },
    { "%0, -1.0:f64", 0, -INFINITY },
    { "%0, 0.0:f64", 0, 0 },
    { "%0, 0:i32", 0, 0 },
    { "%0, 3:i32", 2, 12 },
    { "%0, 0:u32", 5, 0 },
    { "0.0:f64, %0", 2, 0 },
    { "0.0:f64, %0", 0, 0 },
    { "2.0:f64, %0", 1, 2 * 0.69314718055994531 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    snprintf(text, sizeof text, power, cases[i].operands);
    const double is = derivative(text, 1, cases[i].x);
    if (!(is == cases[i].want || fabs(is - cases[i].want) < 1e-12))
      fail_msg("pow %s: %g", cases[i].operands, is);
  }
  /* d2 x^y / dx dy = x^(y - 1) (1 + y log x) at y = 0 is 1 / x. */
  const double mixed =
      derivative("program @f(%0: f64[]) { %1: f64[] = sub %0, 4.0:f64 "
                 "%2: f64[] = pow %0, %1 return %2 }",
                 2, 4);
  /* x^(x - 4) at 4: f'' = f (g'^2 + g''), g = (x - 4) log x */
  assert_true(fabs(mixed - (log(4) * log(4) + 0.5)) < 1e-12);
}

static void test_ties(void **state) {
  (void)state;
  static const char text[] = "program @f(%%0: f64[]) { %%1: f64[] = %s "
                             "return %%1 }";
  static const struct {
    const char *equation;
    double x, want;
  } cases[] = {
    { "max %0, 1.0:f64", 1, 0.5 },
    { "max %0, 1.0:f64", 2, 1 },
    { "max %0, 1.0:f64", 0, 0 },
    { "min 1.0:f64, %0", 1, 0.5 },
    { "max %0, %0", 3, 1 },
    { "clamp -1.0:f64, %0, 1.0:f64", 1, 0 },
    { "clamp %0, 0.0:f64, 1.0:f64", 0.5, 1 },
    { "clamp -1.0:f64, 3.0:f64, %0", 0.5, 1 },
    { "clamp -1.0:f64, %0, 1.0:f64", 0.5, 1 },
    { "max %0, nan:f64", 1, 0 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char program[128];
    snprintf(program, sizeof program, text, cases[i].equation);
    const double is = derivative(program, 1, cases[i].x);
    if (is != cases[i].want) fail_msg("%s: %g", cases[i].equation, is);
  }
}

/* A select never multiplies: what is not taken cannot spoil the gradient. */
static void test_select_blocks_nan(void **state) {
  (void)state;
  assert_true(derivative("program @f(%0: f64[]) { %1: bool[] = gt %0, 0.0:f64 "
                         "%2: f64[] = select %1, 1.0:f64, %0 "
                         "%3: f64[] = sqrt %2 "
                         "%4: f64[] = select %1, 0.0:f64, %3 return %4 }",
                         1, 0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_far_arguments),
    cmocka_unit_test(test_singular_points),
    cmocka_unit_test(test_ties),
    cmocka_unit_test(test_select_blocks_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
