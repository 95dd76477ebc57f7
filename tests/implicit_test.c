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
CX_DEF(by_solve, a, b) {
  return cx_solve(a, b);
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

/* x of one dtype in a tree: x + y = p, x y = q. The matrix of all elements. */
CX_DEF(pair_equations, pq, xy) {
  const cx x = cx_nth(xy, 0), y = cx_nth(xy, 1);
  return cx_tuple(cx_sub(cx_add(x, y), cx_nth(pq, 0)),
                  cx_sub(cx_mul(x, y), cx_nth(pq, 1)));
}
CX_DEF(pair_closed, pq, guess) {
  (void)guess;
  const cx p = cx_nth(pq, 0), q = cx_nth(pq, 1);
  const cx root = cx_sqrt(cx_sub(cx_mul(p, p), cx_mul(4, q)));
  return cx_tuple(cx_div(cx_add(p, root), 2), cx_div(cx_sub(p, root), 2));
}
CX_DEF(pair_by_rule, p, q) {
  const cx pq = cx_tuple(p, q);
  const cx xy = cx_custom_root(CX_FN(pair_equations), CX_FN(pair_closed), pq,
                               cx_tuple(cx_zeros_like(p), cx_zeros_like(p)));
  return cx_sub(cx_nth(xy, 0), cx_mul(2, cx_nth(xy, 1)));
}
CX_DEF(pair_plain, p, q) {
  const cx xy = pair_closed(cx_tuple(p, q), cx_none());
  return cx_sub(cx_nth(xy, 0), cx_mul(2, cx_nth(xy, 1)));
}

/* Derivatives of f with respect to the first argument, one of the sum of the
 * sines of the one before; bit i of modes: step i is forwards. */
CX_STRUCT(sum_env, (cx_fn, f));
CX_DEF_ENV(sum_of, sum_env, e, x, y) {
  return cx_sum(cx_sin(cx_call(e->f, x, y)));
}
static cx_fn derivative(cx_fn f, int order, int modes) {
  for (int i = 0; i < order; i++) {
    const cx_fn sum = CX_BIND(sum_of, .f = f);
    f = modes >> i & 1 ? cx_jacfwd(sum) : cx_grad(sum);
  }
  return f;
}

static void third_order(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = matrix(), b = cx_array(double, 1, 2, 3);
  const cx p = cx_array(double, 5, 7), q = cx_array(double, 2, 3);
  for (int modes = 0; modes < 8; modes++) {
    cx_assert(
        cx_check_close(cx_call(derivative(CX_FN(by_rule), 3, modes), a, b),
                       cx_call(derivative(CX_FN(by_solve), 3, modes), a, b),
                       .rtol = 1e-9, .atol = 1e-10));
    cx_assert(
        cx_check_close(cx_call(derivative(CX_FN(pair_by_rule), 3, modes), p, q),
                       cx_call(derivative(CX_FN(pair_plain), 3, modes), p, q),
                       .rtol = 1e-9, .atol = 1e-10));
  }
}

/* -- what the functions capture, and what they return beside x ------------- */

CX_STRUCT(held_env, (cx, a));
CX_DEF_ENV(held_matvec, held_env, e, nothing, x) {
  (void)nothing;
  return cx_matmul(e->a, x);
}
CX_DEF_ENV(held_solve, held_env, e, nothing, b) {
  (void)nothing;
  return cx_tuple(cx_solve(e->a, b), cx_scalar(7, CX_I32));
}
CX_DEF(by_capture, a, b) {
  const cx both = cx_custom_linear_solve(CX_BIND(held_matvec, .a = a),
                                         CX_BIND(held_solve, .a = a), cx_none(),
                                         b, .has_aux = true);
  return cx_mul(cx_nth(both, 0), cx_cast(cx_nth(both, 1), CX_F64));
}
CX_DEF(by_capture_plain, a, b) {
  return cx_mul(cx_solve(a, b), 7);
}

/* A system whose matrix is the solution of another. */
CX_DEF(nested, a, b) {
  const cx x = by_rule(a, b);
  const cx outer = cx_add(a, cx_mul(cx_expand(x, 0), cx_expand(cx_sin(x), 1)));
  return by_rule(outer, by_capture(a, x));
}
CX_DEF(nested_plain, a, b) {
  const cx x = cx_solve(a, b);
  const cx outer = cx_add(a, cx_mul(cx_expand(x, 0), cx_expand(cx_sin(x), 1)));
  return cx_solve(outer, by_capture_plain(a, x));
}

/* Newton's method for the root of a cubic whose own coefficient is a root. */
CX_DEF(root_of_root, a, b) {
  const cx first = cx_custom_root(CX_FN(cubic), CX_FN(newton), cx_tuple(a, b),
                                  cx_zeros_like(a));
  return cx_custom_root(CX_FN(cubic), CX_FN(newton),
                        cx_tuple(cx_exp(first), cx_mul(a, b)),
                        cx_zeros_like(a));
}

static void transforms(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = matrix(), b = cx_array(double, 1, 2, 3);
  const cx p = cx_array(double, 1, 2), q = cx_array(double, 2, 12);
  cx_assert(cx_check_grads(CX_FN(by_rule), (a, b), .order = 2));
  cx_assert(cx_check_grads(CX_FN(by_capture), (a, b), .order = 2));
  cx_assert(cx_check_grads(CX_FN(nested), (a, b), .order = 2));
  cx_assert(cx_check_grads(CX_FN(root_of_root), (p, q), .order = 2));
  cx_assert(cx_check_close(by_capture(a, b), by_capture_plain(a, b)));
  cx_assert(cx_check_close(nested(a, b), nested_plain(a, b)));
  cx_assert(cx_check_close(cx_call(cx_jacrev(CX_FN(nested)), a, b),
                           cx_call(cx_jacfwd(CX_FN(nested_plain)), a, b),
                           .rtol = 1e-10, .atol = 1e-10));
  const cx many_a = cx_stack(0, a, cx_swap_axes(a, 0, 1));
  const cx many_b = cx_stack(0, b, cx_neg(b));
  const cx_fn fns[] = { CX_FN(by_rule), CX_FN(by_capture), CX_FN(nested),
                        CX_FN(loss_by_cg) };
  for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
    cx_assert(cx_check_vmap(fns[i], (many_a, many_b)));
    cx_assert(cx_check_jit(fns[i], (a, b)));
    cx_assert(cx_check_remat(fns[i], (a, b)));
    const cx_fn slope =
        cx_grad(CX_BIND(sum_of, .f = fns[i]), .wrt = CX_ARGS(0, 1));
    cx_assert(cx_check_vmap(slope, (many_a, many_b)));
    cx_assert(cx_check_jit(slope, (a, b)));
    /* one operand batched, the other not: the rows of the full batch */
    cx part = cx_call(cx_vmap(slope, .in = { CX_NONE, 0 }), a, many_b);
    cx_assert(cx_check_close(cx_index(cx_nth(part, 0), 1),
                             cx_nth(cx_call(slope, a, cx_neg(b)), 0),
                             .rtol = 1e-15));
    part = cx_call(cx_vmap(slope, .in = { 0, CX_NONE }), many_a, b);
    cx_assert(cx_check_close(cx_index(cx_nth(part, 1), 1),
                             cx_nth(cx_call(slope, cx_index(many_a, 1), b), 1),
                             .rtol = 1e-15));
  }
  cx_assert(cx_check_vmap(CX_FN(root_of_root),
                          (cx_stack(0, p, q), cx_stack(0, q, p))));
  cx_assert(cx_check_jit(CX_FN(root_of_root), (p, q)));
  cx_assert(cx_check_remat(CX_FN(root_of_root), (p, q)));
}

/* -- wrong use ------------------------------------------------------------ */

CX_DEF(same, a, b) {
  (void)a;
  return b;
}
CX_DEF(halved, a, b) {
  (void)a;
  return cx_take(b, cx_array(int, 0, 1), 0);
}
CX_DEF(three_halved, a, x, b) {
  (void)x;
  return halved(a, b);
}
/* Jacobi's method, without its transpose. */
CX_STRUCT(jacobi_env, (cx, a), (cx, b));
CX_DEF_ENV(jacobi_goes_on, jacobi_env, e, x) {
  const cx rest = cx_sub(cx_matmul(e->a, x), e->b);
  return cx_gt(cx_max(cx_abs(rest)), 1e-12);
}
CX_DEF_ENV(jacobi_step, jacobi_env, e, x) {
  const cx rest = cx_sub(e->b, cx_matmul(e->a, x));
  return cx_add(x, cx_div(rest, cx_diagonal(e->a, 0)));
}
CX_DEF(jacobi, a, b) {
  return cx_while(CX_BIND(jacobi_goes_on, .a = a, .b = b),
                  CX_BIND(jacobi_step, .a = a, .b = b), cx_zeros_like(b));
}
CX_DEF(loss_by_loop, a, b) {
  return cx_sum(cx_custom_linear_solve(CX_FN(matvec), CX_FN(jacobi), a, b));
}
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
  ignored = cx_custom_linear_solve(CX_FN(matvec), CX_FN(solve), a, (cx){ 0 });
  assert_error(CX_ETREE, "custom_linear_solve");
  ignored =
      cx_custom_linear_solve(CX_FN(same), CX_FN(same), a, cx_array(int, 1, 2));
  assert_error(CX_EDTYPE, "linear_solve");
  ignored = cx_custom_linear_solve(CX_FN(matvec), CX_FN(halved), a, b);
  assert_error(CX_ETREE, "custom_linear_solve: solve (halved) must return "
                         "f64[3], got f64[2]");
  ignored = cx_custom_linear_solve(CX_FN(matvec), CX_FN(solve), a, b,
                                   .has_aux = true);
  assert_error(CX_ETREE, "must return a tuple of f64[3] and something");
  ignored = cx_custom_root(CX_FN(halved), CX_FN(solve), a, b);
  assert_error(CX_ETREE, "custom_root: f (halved) must return f64[3]");
  ignored = cx_custom_root(CX_FN(matvec), CX_FN(solve), a, b,
                           .tangent_solve = CX_FN(three_halved));
  assert_error(CX_ETREE, "custom_root: tangent_solve (three_halved) must");
  ignored = cx_call(cx_grad(CX_FN(loss_by_loop)), a, b);
  assert_error(CX_ENORULE, "give .transpose_solve or .symmetric");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(linear_systems), cmocka_unit_test(conjugate_gradients),
    cmocka_unit_test(roots),          cmocka_unit_test(third_order),
    cmocka_unit_test(transforms),     cmocka_unit_test(wrong_use),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
