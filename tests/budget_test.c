/* budget_test.c - a checkpoint with a budget: what it keeps is within it, and
 * no bit changes. */
#include "calx/testing.h"
#include "support/calls.h"

CX_DEF(deep, w, x) {
  for (int i = 0; i < 6; i++) x = cx_tanh(cx_matmul(x, w));
  return cx_sum(cx_square(x));
}
CX_STRUCT(within, (size_t, bytes));
CX_DEF_ENV(block, within, e, w, x) {
  return cx_call(cx_checkpoint(CX_FN(deep), .budget = e->bytes), w, x);
}
CX_DEF_ENV(step, within, e, x, w) {
  return cx_tuple(
      cx_call(cx_checkpoint(CX_OP(tanh), .budget = e->bytes), cx_matmul(x, w)),
      cx_none());
}
CX_DEF_ENV(looped, within, e, w, x) {
  cx last, none;
  cx_unpack(cx_scan(CX_BIND_TO(step, e), x, cx_stack(0, w, w, w)), &last,
            &none);
  return cx_sum(last);
}

/* The bytes of the arrays of f32[n,m] and f32 that lie between the passes, the
 * arguments w f32[8,8] and x f32[4,8] not counted. */
static double kept_bytes(const char *text) {
  double bytes = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    long n = 1, m = 1;
    if (sscanf(line, "f32[%ld,%ld]", &n, &m) == 2 && !(n == 8 && m == 8))
      bytes += 4. * (double)n * (double)m;
  }
  return bytes;
}

static cx operand(int n, int m, uint64_t seed) {
  return cx_mul(0.3, cx_normal(cx_key(seed), CX_F32, n, m));
}

static void budgets_are_kept(void **state) {
  (void)state;
  CX_SCOPE;
  const cx w = operand(8, 8, 1), x = operand(4, 8, 2);
  const cx_fn plain = cx_value_and_grad(CX_FN(deep), .wrt = CX_ARGS(0, 1));
  double before = -1;
  const size_t budgets[] = { 1, 128, 300, 512, 1 << 20 };
  for (int i = 0; i < 5; i++) {
    const cx_fn f = CX_BIND(block, .bytes = budgets[i]);
    const double kept = kept_bytes(cx_saved_residuals(f, w, x)) - 4 * 4 * 8;
    assert_good();
    assert_true(kept <= (double)budgets[i]);
    assert_true(kept >= before); /* more room is not left empty */
    before = kept;
    const cx_fn g = cx_value_and_grad(f, .wrt = CX_ARGS(0, 1));
    cx_assert(
        cx_check_close(cx_call(g, w, x), cx_call(plain, w, x), .rtol = 1e-30));
    cx_assert(cx_check_jit(g, (w, x)));
    cx_assert(cx_check_vmap(g, (cx_stack(0, w, w), cx_stack(0, x, x))));
  }
  assert_true(before > 4 * 4 * 8); /* all that is needed, at last */
}

static void budgets_inside_loops(void **state) {
  (void)state;
  CX_SCOPE;
  const cx w = operand(8, 8, 1), x = operand(4, 8, 2);
  for (size_t bytes = 1; bytes < 100000; bytes *= 200)
    cx_assert(cx_check_grads(CX_BIND(looped, .bytes = bytes), (w, x)));
}

static void one_of_them_decides(void **state) {
  (void)state;
  CX_SCOPE;
  assert_null(cx_checkpoint(CX_FN(deep), .budget = 8, .policy = CX_SAVE_DOTS));
  assert_error(CX_EUSER,
               "checkpoint: .budget and .policy are given, one decides");
  assert_null(cx_checkpoint(CX_FN(deep), .policy = (cx_policy)77));
  assert_error(CX_EUSER, "checkpoint: there is no policy 77");
}

/* In a program's text a budget is digits alone. */
static void as_text(void **state) {
  (void)state;
  static const char *const budgets[] = { "budget:4096", "budget:", "budget:1e5",
                                         "budget:0x10", "budget:-1" };
  for (int i = 0; i < 5; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "program @f(%%0: f32[]) { %%1: f32[] = sin %%0 return %%1 }\n"
             "program @main(%%0: f32[]) { %%1: f32[] = checkpoint[body=@f, "
             "policy=\"%s\", names=(), differentiated=false] %%0 return %%1 }",
             budgets[i]);
    cx_program *p = cx_program_parse(text);
    assert_int_equal(p != NULL, i == 0);
    if (!p) assert_error(CX_ENORULE, "no policy is named");
    cx_program_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(budgets_are_kept),
    cmocka_unit_test(budgets_inside_loops),
    cmocka_unit_test(one_of_them_decides),
    cmocka_unit_test(as_text),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
