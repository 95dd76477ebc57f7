/* implicit_test.c - custom_linear_solve, custom_root, cg. */
#include "calx/testing.h"
#include "support/calls.h"

static double apart(cx a, cx b) {
  const double d = cx_item(cx_max(cx_abs(cx_sub(a, b))));
  assert_good();
  return d;
}

/* -- linear systems -------------------------------------------------------- */

CX_DEF(matvec, a, x) {
  return cx_matmul(a, x);
}
CX_DEF(solve, a, b) {
  return cx_solve(a, b);
}
CX_DEF(solve_transposed, a, b) {
  return cx_solve(cx_swap_axes(a, 0, 1), b);
}
CX_DEF(by_rule, a, b) {
  return cx_custom_linear_solve(CX_FN(matvec), CX_FN(solve), a, b,
                                .transpose_solve = CX_FN(solve_transposed));
}
CX_DEF(loss_by_rule, a, b) {
  return cx_sum(cx_sin(by_rule(a, b)));
}
CX_DEF(loss_plain, a, b) {
  return cx_sum(cx_sin(cx_solve(a, b)));
}
/* A gradient of a gradient. */
CX_DEF(slope_by_rule, a, b) {
  return cx_sum(cx_sin(cx_call(cx_grad(CX_FN(loss_by_rule)), a, b)));
}
CX_DEF(slope_plain, a, b) {
  return cx_sum(cx_sin(cx_call(cx_grad(CX_FN(loss_plain)), a, b)));
}
static cx matrix(void) {
  return cx_reshape(cx_array(double, 4, 1, -1, 2, 5, 1, 0, 1, 3), 3, 3);
}
static void linear_systems(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = matrix(), b = cx_array(double, 1, 2, 3);
  assert_same_bits(by_rule(a, b), cx_solve(a, b));
  const cx_fn pairs[][2] = { { CX_FN(loss_by_rule), CX_FN(loss_plain) },
                             { CX_FN(slope_by_rule), CX_FN(slope_plain) } };
  for (int i = 0; i < 2; i++) {
    const cx got = cx_call(cx_grad(pairs[i][0], .wrt = CX_ARGS(0, 1)), a, b);
    const cx want = cx_call(cx_grad(pairs[i][1], .wrt = CX_ARGS(0, 1)), a, b);
    assert_true(apart(cx_nth(got, 0), cx_nth(want, 0)) < 1e-12);
    assert_true(apart(cx_nth(got, 1), cx_nth(want, 1)) < 1e-12);
  }
  const cx rows = cx_stack(0, b, cx_neg(b));
  const cx_fn each = cx_vmap(CX_FN(by_rule), .in = { CX_NONE, 0 });
  const cx batch = cx_call(each, a, rows);
  assert_same_bits(cx_index(batch, 1), by_rule(a, cx_neg(b)));
}

/* -- conjugate gradients -------------------------------------------------- */

CX_DEF(definite, a, x) {
  return cx_add(cx_matmul(cx_swap_axes(a, 0, 1), cx_matmul(a, x)), x);
}
CX_DEF(loss_by_cg, a, b) {
  return cx_sum(cx_sin(cx_cg(CX_FN(definite), a, b, .tol = 1e-13)));
}
CX_DEF(loss_direct, a, b) {
  const cx whole =
      cx_add(cx_matmul(cx_swap_axes(a, 0, 1), a), cx_eye(CX_F64, 3));
  return cx_sum(cx_sin(cx_solve(whole, b)));
}
CX_DEF(twice, nothing, x) {
  (void)nothing;
  return cx_mul(x, 2);
}
static void conjugate_gradients(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = matrix(), b = cx_array(double, 1, 2, 3);
  assert_true(apart(loss_by_cg(a, b), loss_direct(a, b)) < 1e-12);
  const cx_args both = CX_ARGS(0, 1);
  const cx got = cx_call(cx_grad(CX_FN(loss_by_cg), .wrt = both), a, b);
  const cx want = cx_call(cx_grad(CX_FN(loss_direct), .wrt = both), a, b);
  assert_true(apart(cx_nth(got, 0), cx_nth(want, 0)) < 1e-11);
  assert_true(apart(cx_nth(got, 1), cx_nth(want, 1)) < 1e-11);
  assert_true(apart(cx_cg(CX_FN(twice), cx_none(), b), cx_div(b, 2)) < 1e-15);
  assert_true(apart(cx_cg(CX_FN(twice), cx_none(), cx_zeros_like(b)),
                    cx_zeros_like(b)) == 0);
}

/* -- roots ---------------------------------------------------------------- */

/* x^3 + a x = b, by Newton's method. */
CX_DEF(cubic, ab, x) {
  const cx ax = cx_mul(cx_nth(ab, 0), x);
  return cx_sub(cx_add(cx_mul(x, x, x), ax), cx_nth(ab, 1));
}
CX_STRUCT(newton_env, (cx, ab));
CX_DEF_ENV(newton_step, newton_env, e, i, x) {
  (void)i;
  const cx slope = cx_add(cx_mul(3, x, x), cx_nth(e->ab, 0));
  return cx_sub(x, cx_div(cubic(e->ab, x), slope));
}
CX_DEF(newton, ab, x0) {
  return cx_fori(0, 40, CX_BIND(newton_step, .ab = ab), x0);
}
CX_DEF(root_of, ab) {
  return cx_sum(cx_custom_root(CX_FN(cubic), CX_FN(newton), ab,
                               cx_zeros_like(cx_nth(ab, 0))));
}
static void roots(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_array(double, 1, 2), b = cx_array(double, 2, 12);
  const cx ab = cx_tuple(a, b), x = cx_array(double, 1, 2);
  const cx g = cx_call(cx_grad(CX_FN(root_of)), ab);
  /* dx/da = -x / (3 x^2 + a), dx/db = 1 / (3 x^2 + a) */
  const cx slope = cx_add(cx_mul(3, x, x), a);
  assert_true(apart(cx_nth(g, 0), cx_neg(cx_div(x, slope))) < 1e-14);
  assert_true(apart(cx_nth(g, 1), cx_div(1, slope)) < 1e-14);
}

/* -- wrong use ------------------------------------------------------------ */

static cx ignored;
static void wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = matrix(), b = cx_array(double, 1, 2, 3);
  ignored = cx_custom_linear_solve(NULL, CX_FN(solve), a, b);
  assert_error(CX_ETREE, "custom_linear_solve: needs the functions");
  ignored = cx_custom_root(CX_FN(cubic), NULL, a, b);
  assert_error(CX_ETREE, "custom_root: needs the functions");
  ignored = cx_cg(NULL, a, b);
  assert_error(CX_ETREE, "cg: no function matvec");
  ignored = cx_cg(CX_FN(matvec), a, cx_array(int, 1));
  assert_error(CX_EDTYPE, "cg: needs");
  ignored = cx_cg(CX_FN(matvec), a, b, .tol = -1);
  assert_error(CX_EUSER, ".tol -1");
  ignored = cx_cg(CX_FN(matvec), a, b, .max_steps = -1);
  assert_error(CX_EUSER, ".max_steps -1");
  ignored = cx_custom_linear_solve(CX_FN(matvec), CX_FN(solve), a, b);
  assert_error(CX_ETREE, ".transpose_solve or .symmetric");
  ignored = cx_call(cx_jvp(CX_FN(by_rule)), cx_tuple(a, b), cx_tuple(a, b));
  assert_error(CX_ENORULE, "forward");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(linear_systems),
    cmocka_unit_test(conjugate_gradients),
    cmocka_unit_test(roots),
    cmocka_unit_test(wrong_use),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
