/* simplify_test.c - the same bits with fewer equations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/derivatives.h"
#include "support/texts.h"

static void check_simplify(const cxi_program *p) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_simplify(p, &error);
  if (!q) fail_msg("%s", error.text);
  assert_true(q->n_equations <= p->n_equations);
  cxi_view *in = inputs_of(p, 4), *want = run(p, in), *got = run(q, in);
  for (uint32_t i = 0; i < p->n_out; i++)
    assert_true(same_bits(&want[i], &got[i]));
  free_views(in, p->n_in);
  free_views(want, p->n_out);
  free_views(got, p->n_out);
}

static void test_simplify_keeps_bits(void **state) {
  (void)state;
  static const char *const texts[] = { plain, forwarding, calls, loop,
                                       branches };
  cxi_hold_enter();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const cxi_program *p = parse(texts[i]);
    check_simplify(p);
    check_simplify(vjp_of(p));
    check_simplify(vjp_of(vjp_of(p)));
    cxi_program_release(p);
  }
  cxi_hold_leave();
}

static void test_simplify_rules(void **state) {
  (void)state;
  cxi_hold_enter();
  const cxi_program *p =
      parse("program @f(%0: f64[2,3], %1: f64[2,3], %2: f64[2,3]) {\n"
            "  %3: f64[2,3] = exp %1\n"
            "  %4: f64[2,3] = sin %0\n"
            "  return %3, %4, %2\n"
            "}\n"
            "program @main(%0: f64[2,3], %1: f64[2,3], %2: bool[]) {\n"
            "  %3: f64[2,3] = mul %0, 1.0:f64\n"
            "  %4: f64[2,3] = add %3, -0.0:f64\n"
            "  %5: f64[3,2] = transpose[permutation=(1,0)] %4\n"
            "  %6: f64[2,3] = transpose[permutation=(1,0)] %5\n"
            "  %7: f64[6] = reshape[shape=(6)] %6\n"
            "  %8: f64[2,3] = reshape[shape=(2,3)] %7\n"
            "  %9: f64[2,3] = neg %8\n"
            "  %10: f64[2,3] = neg %9\n"
            "  %11: f64[2,3] = select %2, %10, %10\n"
            "  %12: f64[2,3] = sin %11\n"
            "  %13: f64[2,3] = sin %0\n"
            "  %14: f64[2,3] = sub %12, %13\n"
            "  %15: f64[2,3] = add %14, 0.0:f64\n"
            "  %16: f64[2,3], %17: f64[2,3], %18: f64[2,3] = jit[body=@f] %0, "
            "%1, %1\n"
            "  return %15, %17\n"
            "}\n");
  check_simplify(p);
  cxi_error error = { 0 };
  const cxi_program *q = cxi_simplify(p, &error);
  assert_int_equal(q->n_in, 3);
  assert_int_equal(count_prim(q, CXI_PRIM_sin), 1);
  assert_int_equal(count_prim(q, CXI_PRIM_add), 1); /* + 0.0 is not nothing */
  assert_int_equal(q->n_equations, 4);
  const cxi_equation *call = &q->equations[3];
  assert_int_equal(call->prim, CXI_PRIM_jit);
  assert_int_equal(call->n_in, 1);
  assert_int_equal(call->n_out, 1);
  cxi_program_release(p);
  cxi_hold_leave();
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_simplify_keeps_bits),
    cmocka_unit_test(test_simplify_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
