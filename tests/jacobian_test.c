/* jacobian_test.c - Jacobians and Hessians of trees, with aux; jvp and vjp with
 * aux; linearize and pullback; linear_transpose. */
#include <math.h>

#include "calx/testing.h"
#include "support/beside.h"
#include "support/wrong.h"

static cx x_of(void) {
  return cx_array(double, 0.3, -1.2, 0.7);
}
static cx w_of(void) {
  return cx_reshape(cx_array(double, 1, 2, -1, 0.5, 3, -2), 2, 3);
}

/* y = { a: W sin x (2), b: (x . x) }; aux: an integer and a float */
CX_DEF(f, n, x, w) {
  cx y = cx_dict("a", cx_matmul(w, cx_sin(x)), "b", cx_sum(cx_square(x)));
  (void)n;
  return y;
}
CX_DEF(f_aux, n, x, w) {
  return cx_tuple(f(n, x, w), cx_tuple(cx_add(n, 1), cx_exp(x)));
}

static void close_to(cx got, cx want) {
  cx_assert(cx_check_close(got, want, .rtol = 1e-12, .atol = 1e-12));
}

static void by_two(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), w = w_of(), n = cx_scalar(4, CX_I32);
  const cx da_dx = cx_mul(w, cx_cos(x));
  const cx eye = cx_eye(CX_F64, 2);
  const cx da_dw = cx_mul(cx_reshape(eye, 2, 2, 1), cx_sin(x));
  const cx want = cx_dict("a", cx_tuple(da_dx, da_dw), "b",
                          cx_tuple(cx_mul(x, 2), cx_zeros(CX_F64, 2, 3)));
  const cx aux = cx_tuple(cx_scalar(5, CX_I32), cx_exp(x));
  for (int jit = 0; jit < 2; jit++) {
    const cx_fn fs[] = {
      cx_jacfwd(CX_FN(f), .wrt = CX_ARGS(1, 2)),
      cx_jacrev(CX_FN(f), .wrt = CX_ARGS(1, 2)),
    };
    for (int i = 0; i < 2; i++)
      close_to(cx_call(jit ? cx_jit(fs[i]) : fs[i], n, x, w), want);
    const cx_fn with_aux[] = {
      cx_jacfwd(CX_FN(f_aux), .wrt = CX_ARGS(1, 2), .has_aux = true),
      cx_jacrev(CX_FN(f_aux), .wrt = CX_ARGS(1, 2), .has_aux = true),
    };
    for (int i = 0; i < 2; i++) {
      const cx got = cx_call(jit ? cx_jit(with_aux[i]) : with_aux[i], n, x, w);
      close_to(cx_nth(got, 0), want);
      assert_same_bits(cx_nth(got, 1), aux);
    }
  }
  close_to(cx_call(cx_jacrev(CX_FN(f), .wrt = CX_ARGS(1)), n, x, w),
           cx_dict("a", da_dx, "b", cx_mul(x, 2)));
  const cx_fn each = cx_vmap(cx_jacfwd(CX_FN(f), .wrt = CX_ARGS(1)),
                             .in = { CX_NONE, 0, CX_NONE });
  const cx rows = cx_call(each, n, cx_stack(0, x, cx_neg(x)), w);
  assert_same_bits(
      cx_index(cx_get(rows, "a"), 0),
      cx_get(cx_call(cx_jacfwd(CX_FN(f), .wrt = CX_ARGS(1)), n, x, w), "a"));
}

/* -- Hessians ---------------------------------------------------------------- */

CX_DEF(quadratic, p, q) { /* p'Ap/2 + p.B q, q a dict */
  cx a = cx_reshape(cx_array(double, 2, 1, 1, 3), 2, 2);
  cx u = cx_get(q, "u"), v = cx_get(q, "v");
  cx s = cx_mul(0.5, cx_sum(cx_mul(p, cx_matmul(a, p))));
  s = cx_add(s, cx_mul(cx_index(p, 0), u), cx_mul(cx_index(p, 1), v));
  return cx_add(s, cx_mul(cx_square(u), v));
}
CX_DEF(quadratic_aux, p, q) {
  return cx_tuple(quadratic(p, q), cx_mul(p, 2));
}

static void hessians(void **state) {
  (void)state;
  CX_SCOPE;
  const cx p = cx_array(double, 1, -2);
  const cx u = cx_scalar(3, CX_F64), v = cx_scalar(5, CX_F64);
  const cx q = cx_dict("u", u, "v", v);
  const cx a = cx_reshape(cx_array(double, 2, 1, 1, 3), 2, 2);
  const cx e0 = cx_array(double, 1, 0), e1 = cx_array(double, 0, 1);
  const cx pp_pq = cx_tuple(a, cx_dict("u", e0, "v", e1));
  const cx six = cx_scalar(6, CX_F64), ten = cx_scalar(10, CX_F64);
  const cx zero = cx_scalar(0, CX_F64);
  const cx qp_qq = cx_dict("u", cx_tuple(e0, cx_dict("u", ten, "v", six)), "v",
                           cx_tuple(e1, cx_dict("u", six, "v", zero)));
  const cx want = cx_tuple(pp_pq, qp_qq);
  const cx_fn h = cx_hessian(CX_FN(quadratic), .wrt = CX_ARGS(0, 1));
  close_to(cx_call(h, p, q), want);
  close_to(cx_call(cx_jit(h), p, q), want);
  const cx got = cx_call(
      cx_hessian(CX_FN(quadratic_aux), .wrt = CX_ARGS(0, 1), .has_aux = true),
      p, q);
  close_to(cx_nth(got, 0), want);
  assert_same_bits(cx_nth(got, 1), cx_mul(p, 2));
  close_to(cx_call(cx_hessian(CX_FN(quadratic)), p, q), a);
}

/* -- jvp and vjp with aux ------------------------------------------------------ */

static void with_aux(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), w = w_of(), n = cx_scalar(4, CX_I32);
  const cx aux = cx_tuple(cx_scalar(5, CX_I32), cx_exp(x));
  const cx primals = cx_tuple(n, x, w);
  const cx tangents = cx_tuple(cx_none(), cx_ones_like(x), cx_none());
  const cx plain = cx_call(cx_jvp(CX_FN(f)), primals, tangents);
  const cx got =
      cx_call(cx_jvp(CX_FN(f_aux), .has_aux = true), primals, tangents);
  assert_int_equal(cx_len(got), 3);
  assert_same_bits(cx_tuple(cx_nth(got, 0), cx_nth(got, 1)), plain);
  assert_same_bits(cx_nth(got, 2), aux);
  const cx ct =
      cx_dict("a", cx_array(double, 1, -1), "b", cx_ones(CX_F64, CX_SCALAR));
  const cx back = cx_call(cx_vjp(CX_FN(f)), primals, ct);
  const cx back_aux =
      cx_call(cx_jit(cx_vjp(CX_FN(f_aux), .has_aux = true)), primals, ct);
  assert_same_bits(cx_tuple(cx_nth(back_aux, 0), cx_nth(back_aux, 1)), back);
  assert_same_bits(cx_nth(back_aux, 2), aux);
}

/* -- linear_transpose ----------------------------------------------------------- */

CX_DEF(linear, x, y) {
  cx w = cx_reshape(cx_array(double, 1, 2, -1, 0.5, 3, -2), 2, 3);
  return cx_dict("m", cx_matmul(w, x), "s", cx_sub(cx_sum(x), cx_mul(y, 4)));
}
CX_DEF(scanned, xs) {
  return cx_cumsum(cx_mul(xs, 2), 0);
}
static void transposes(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_fn t = cx_linear_transpose(
      CX_FN(linear), cx_tuple(cx_spec(CX_F64, 3), cx_spec(CX_F64, CX_SCALAR)));
  assert_good();
  const cx m = cx_array(double, 3, -1), s = cx_scalar(0.5, CX_F64);
  const cx ct = cx_dict("m", m, "s", s);
  const cx want =
      cx_tuple(cx_add(cx_matmul(m, w_of()), 0.5), cx_scalar(-2, CX_F64));
  close_to(cx_call(t, ct), want);
  close_to(cx_call(cx_jit(t), ct), want);
  /* The transpose of the transpose, and its batch. */
  const cx_fn back = cx_linear_transpose(t, cx_tuple(ct));
  assert_good();
  const cx again = cx_call(back, cx_tuple(x_of(), s));
  close_to(cx_nth(again, 0), linear(x_of(), s));
  const cx cts =
      cx_dict("m", cx_stack(0, m, cx_neg(m)), "s", cx_stack(0, s, s));
  close_to(cx_index(cx_nth(cx_call(cx_vmap(t), cts), 0), 0), cx_nth(want, 0));
  const cx_fn sums =
      cx_linear_transpose(CX_FN(scanned), cx_tuple(cx_spec(CX_F64, 4)));
  close_to(cx_nth(cx_call(sums, cx_array(double, 1, 2, 3, 4)), 0),
           cx_array(double, 20, 18, 14, 8));
}

/* beside(), and twice that in a cond. */
CX_DEF(pair_beside, x) {
  return cx_tuple(beside(x), cx_mul(x, INFINITY));
}
CX_DEF(chosen_beside, x) {
  cx yes = cx_scalar(true, CX_BOOL);
  return cx_nth(cx_cond(yes, CX_FN(pair_beside), CX_FN(pair_beside), x), 0);
}
static void nothing_has_no_cotangent(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_fn fns[] = { CX_FN(beside), CX_FN(chosen_beside),
                        cx_jit(CX_FN(chosen_beside)) };
  cx one = cx_scalar(1, CX_F64), four = cx_scalar(4, CX_F64), y;
  for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
    close_to(cx_call(cx_grad(fns[i]), one), four);
    close_to(cx_call(cx_pullback(fns[i], cx_tuple(one), &y), one),
             cx_tuple(four));
    close_to(cx_call(cx_linear_transpose(fns[i], cx_tuple(one)), one),
             cx_tuple(four));
  }
}

/* -- wrong uses ------------------------------------------------------------------ */

CX_DEF(rounds, x) {
  return cx_cast(x, CX_I32);
}
CX_DEF(squares, x) {
  return cx_square(x);
}
static cx refused(cx_fn made) {
  if (made) cx_fail(CX_EUSER, "it was taken");
  return cx_none();
}
static cx not_linear(void) {
  return refused(cx_linear_transpose(CX_FN(squares), cx_tuple(x_of())));
}
static cx not_floating(void) {
  return refused(cx_linear_transpose(CX_FN(rounds), cx_tuple(x_of())));
}
static cx no_tuple(void) {
  return refused(cx_linear_transpose(CX_FN(squares), x_of()));
}
static cx no_aux(void) {
  return cx_call(cx_jacrev(CX_FN(squares), .has_aux = true), x_of());
}
static cx no_aux_jvp(void) {
  return cx_call(cx_jvp(CX_FN(squares), .has_aux = true), cx_tuple(x_of()),
                 cx_tuple(x_of()));
}
static cx wrt_too_many(void) {
  return cx_call(cx_hessian(CX_FN(squares), .wrt = CX_ARGS(0, 1)), x_of());
}
static cx wrt_integer(void) {
  return cx_call(cx_jacfwd(CX_FN(f)), cx_scalar(1, CX_I32), x_of(), w_of());
}
static const wrong wrong_calls[] = {
  { not_linear, CX_ENORULE, "linear_transpose(squares): " },
  { not_floating, CX_EDTYPE,
    "linear_transpose(rounds): result i32[3] has no cotangent" },
  { no_tuple, CX_ETREE, "linear_transpose: the primals are one tuple" },
  { no_aux, CX_ETREE, "jacrev(squares): must return (y, aux), got f64[3]" },
  { no_aux_jvp, CX_ETREE, "jvp(squares): must return (y, aux), got f64[3]" },
  { wrt_too_many, CX_ETREE, ".wrt names an argument that squares does not" },
  { wrt_integer, CX_EDTYPE, "jacfwd(f): argument 0: i32[] has no derivative" },
};

static void wrong_uses(void **state) {
  (void)state;
  CHECK(wrong_calls);
}

/* -- linearize, pullback --------------------------------------------------- */

CX_DEF(wave, x, y) {
  cx z = cx_add(cx_sin(x), cx_mul(y, 0.5));
  return cx_sum(cx_mul(z, cx_exp(cx_neg(cx_square(z)))));
}

static void linear_functions_keep_residuals(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_normal(cx_key(1), CX_F64, 5), y = cx_normal(cx_key(2), CX_F64, 5);
  cx value, primals = cx_tuple(x, y);
  cx_fn pull = cx_pullback(CX_FN(wave), primals, &value);
  cx both = cx_call(pull, cx_scalar(1, CX_F64));
  cx want = cx_call(cx_grad(CX_FN(wave), .wrt = CX_ARGS(0, 1)), x, y);
  assert_true(cx_item(cx_global_norm(cx_sub(both, want))) < 1e-14);
  assert_true(cx_item(value) == cx_item(wave(x, y)));
  cx_fn push = cx_linearize(CX_FN(wave), primals, &value);
  cx dx = cx_ones_like(x), dy = cx_zeros_like(y);
  cx jvp = cx_nth(cx_call(cx_jvp(CX_FN(wave)), primals, cx_tuple(dx, dy)), 1);
  cx out = cx_call(cx_jit(push), cx_tuple(dx, dy));
  assert_true(fabs(cx_item(out) - cx_item(jvp)) < 1e-14);
  cx many = cx_call(cx_vmap(push),
                    cx_tuple(cx_eye(CX_F64, 5), cx_zeros(CX_F64, 5, 5)));
  assert_true(cx_item(cx_max(cx_abs(cx_sub(many, cx_nth(want, 0))))) < 1e-14);
  assert_good();
}

/* (y, aux), aux with a derivative of its own that is not wanted. */
CX_DEF(wave_and_more, x, y) {
  return cx_tuple(wave(x, y),
                  cx_dict("n", cx_scalar(7, CX_I32), "s", cx_sin(x)));
}

static void linear_functions_with_aux(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_normal(cx_key(1), CX_F64, 5), y = cx_normal(cx_key(2), CX_F64, 5);
  cx value, plain, primals = cx_tuple(x, y);
  cx dx = cx_tuple(cx_ones_like(x), y);
  const cx_fn push = cx_linearize(CX_FN(wave), primals, &plain);
  const cx_fn pull = cx_pullback(CX_FN(wave), primals, NULL);
  cx_fn f =
      cx_linearize(CX_FN(wave_and_more), primals, &value, .has_aux = true);
  assert_true(cx_item(cx_call(f, dx)) == cx_item(cx_call(push, dx)));
  assert_true(cx_item(cx_nth(value, 0)) == cx_item(plain));
  assert_true(cx_item(cx_get(value, "1.n")) == 7);
  f = cx_pullback(CX_FN(wave_and_more), primals, &value, .has_aux = true);
  cx one = cx_scalar(1, CX_F64);
  cx difference = cx_sub(cx_call(f, one), cx_call(pull, one));
  assert_true(cx_item(cx_global_norm(difference)) == 0);
  assert_true(
      cx_item(cx_max(cx_abs(cx_sub(cx_get(value, "1.s"), cx_sin(x))))) == 0);
  assert_good();
  assert_null(cx_linearize(CX_FN(wave), primals, &value, .has_aux = true));
  assert_int_equal(cx_error(NULL), CX_ETREE);
}

/* Linear in x, of which a call, a loop, a branch, a barrier or a checkpoint
 * computes a part beside what is not: sin(c) x each. */
CX_STRUCT(beside_env, (cx, c));
CX_DEF(sine_and, c, x) {
  return cx_tuple(cx_sin(c), cx_mul(x, 1.0));
}
CX_DEF(sine_times, c, x) {
  return cx_mul(cx_sin(c), x);
}
CX_DEF(sine_step, s, x) {
  (void)x;
  return cx_tuple(cx_tuple(cx_sin(cx_nth(s, 0)), cx_nth(s, 1)), cx_none());
}
static cx product(cx pair) {
  return cx_mul(cx_nth(pair, 0), cx_nth(pair, 1));
}
CX_DEF_ENV(by_call, beside_env, e, x) {
  return product(cx_call(cx_jit(CX_FN(sine_and)), e->c, x));
}
CX_DEF_ENV(by_loop, beside_env, e, x) {
  return product(cx_nth(
      cx_scan(CX_FN(sine_step), cx_tuple(e->c, x), cx_none(), .length = 1), 0));
}
CX_DEF_ENV(by_branch, beside_env, e, x) {
  return product(cx_cond(cx_gt(cx_sum(e->c), 0), CX_FN(sine_and),
                         CX_FN(sine_and), e->c, x));
}
CX_DEF_ENV(by_barrier, beside_env, e, x) {
  return product(cx_optimization_barrier(cx_tuple(cx_sin(e->c), x)));
}
CX_DEF_ENV(by_checkpoint, beside_env, e, x) {
  return cx_call(cx_checkpoint(CX_FN(sine_times)), e->c, x);
}
static void mixtures_are_transposed(void **state) {
  (void)state;
  CX_SCOPE;
  const cx c = x_of(), x = cx_tuple(cx_mul(c, 2)), ct = cx_exp(c);
  const cx_fn fs[] = { CX_BIND(by_call, .c = c), CX_BIND(by_loop, .c = c),
                       CX_BIND(by_branch, .c = c), CX_BIND(by_barrier, .c = c),
                       CX_BIND(by_checkpoint, .c = c) };
  for (int i = 0; i < 5; i++) {
    cx_fn t = cx_linear_transpose(fs[i], x);
    close_to(cx_nth(cx_call(t, ct), 0), cx_mul(cx_sin(c), ct));
    /* and again, to what it was */
    cx_fn back = cx_linear_transpose(t, cx_tuple(ct));
    cx got = cx_nth(cx_call(cx_jit(back), x), 0);
    close_to(got, cx_mul(cx_sin(c), cx_nth(x, 0)));
    assert_good();
  }
}

/* Functions with a backward of their own: linearize gives tangents. */
CX_DEF(composites, x) {
  cx y = cx_layer_norm(x, cx_sin(x), cx_cos(x));
  return cx_add(cx_softmax(y), cx_gelu(x));
}
CX_DEF(own_backward_fwd, x) {
  return cx_tuple(cx_sin(x), x);
}
CX_DEF(own_backward_bwd, x, ct) {
  return cx_tuple(cx_mul(cx_cos(x), ct));
}
CX_DEF(own_backward, x) {
  return cx_call(cx_custom_vjp(CX_FN(composites), CX_FN(own_backward_fwd),
                               CX_FN(own_backward_bwd)),
                 x);
}
CX_DEF(in_loop, c, x) {
  (void)x;
  return cx_tuple(composites(c), cx_sum(c));
}
CX_DEF(looped, x) {
  return cx_scan(CX_FN(in_loop), x, cx_none(), .length = 3);
}
static void linearized_as_forward_mode(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_tuple(x_of()), dx = cx_tuple(cx_exp(x_of()));
  const cx_fn fs[] = { CX_FN(composites), cx_jit(CX_FN(composites)),
                       cx_checkpoint(CX_FN(composites)), CX_FN(looped) };
  for (int i = 0; i < 4; i++) {
    cx value, both = cx_call(cx_jvp(fs[i]), x, dx);
    cx_fn push = cx_linearize(fs[i], x, &value);
    assert_same_bits(cx_tuple(value, cx_call(push, dx)), both);
    assert_same_bits(cx_call(cx_jit(push), dx), cx_nth(both, 1));
    cx_fn pull = cx_pullback(fs[i], x, &value);
    cx_fn t = cx_linear_transpose(push, cx_tuple(dx));
    close_to(cx_nth(cx_call(t, value), 0), cx_call(pull, value));
    assert_good();
  }
  /* with a backward alone it has no tangents, but cotangents */
  cx_fn push = cx_linearize(CX_FN(own_backward), x, NULL);
  cx r = cx_call(cx_linear_transpose(push, cx_tuple(dx)), x_of());
  close_to(cx_nth(cx_nth(r, 0), 0), cx_mul(cx_cos(x_of()), x_of()));
  r = cx_call(push, dx);
  assert_error(CX_ENORULE, "forward mode through the custom_vjp of");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(by_two),
    cmocka_unit_test(hessians),
    cmocka_unit_test(with_aux),
    cmocka_unit_test(transposes),
    cmocka_unit_test(nothing_has_no_cotangent),
    cmocka_unit_test(wrong_uses),
    cmocka_unit_test(linear_functions_keep_residuals),
    cmocka_unit_test(linear_functions_with_aux),
    cmocka_unit_test(mixtures_are_transposed),
    cmocka_unit_test(linearized_as_forward_mode),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
