/* linalg_forms_test.c - determinants of any rank, exponentials, orders of
 * columns, systems by given factors, matrices of a given form. */
#include <float.h>
#include <math.h>

#include "calx/testing.h"
#include "support/calls.h"

static cx t(cx a) {
  return cx_swap_axes(a, -1, -2);
}
static cx random(cx_dtype type, cx_dims shape, uint64_t seed) {
  return cx_random_like(cx_spec(type, shape), seed);
}
static void close_to(cx got, cx want, double rtol) {
  cx_assert(cx_check_close(got, want, .rtol = rtol, .atol = rtol));
}

/* -- determinants ---------------------------------------------------------- */

/* By the first row and what is left without it and a column. */
static cx by_minors(cx a) {
  const int64_t n = cx_dim(a, -1);
  if (n <= 3) return cx_det(a);
  const cx below = cx_index(a, CX_FROM(1), CX_ALL);
  cx sum = cx_none();
  for (int64_t j = 0; j < n; j++) {
    const cx left = cx_index(below, CX_ALL, CX_TO(j));
    const cx right = cx_index(below, CX_ALL, CX_FROM(j + 1));
    const cx term = cx_mul(cx_index(a, 0, j), j % 2 ? -1 : 1,
                           by_minors(cx_concat(1, left, right)));
    sum = cx_is_none(sum) ? term : cx_add(sum, term);
  }
  return sum;
}
CX_DEF(det_by_minors, a) {
  return by_minors(a);
}
CX_DEF(det, a) {
  return cx_det(a);
}

/* A derivative of f, of a weighted sum of the elements of the one before; bit i
 * of modes: step i is forwards. */
CX_STRUCT(sum_env, (cx_fn, f));
CX_DEF_ENV(weighted, sum_env, e, a) {
  const cx y = cx_call(e->f, a);
  const cx weights = cx_arange(1, cx_size(y) + 1, 1, cx_type(y));
  return cx_sum(cx_mul(cx_reshape(weights, cx_shape(y)), y));
}
static cx_fn derivative(cx_fn f, int order, int modes) {
  for (int i = 0; i < order; i++) {
    const cx_fn sum = CX_BIND(weighted, .f = f);
    f = modes >> i & 1 ? cx_jacfwd(sum) : cx_grad(sum);
  }
  return f;
}

/* Whole numbers, so that a matrix of rank r is one exactly. */
static cx of_rank(int64_t n, int64_t r, uint64_t seed) {
  const cx left = random(CX_I32, CX_SHAPE(n, r), seed);
  const cx right = random(CX_I32, CX_SHAPE(r, n), seed + 1);
  return cx_cast(cx_matmul(cx_sub(left, 4), cx_sub(right, 5)), CX_F64);
}

static void check_determinant(cx a) {
  const cx most = cx_max(cx_abs(a));
  const cx scaled = cx_div(a, cx_maximum(most, 1));
  for (int order = 0; order <= 3; order++)
    for (int modes = 0; modes < 1 << order; modes += order < 3 ? 1 : 5)
      close_to(cx_call(derivative(CX_FN(det), order, modes), scaled),
               cx_call(derivative(CX_FN(det_by_minors), order, modes), scaled),
               1e-9);
}

static void determinants(void **state) {
  (void)state;
  for (int64_t n = 4; n <= 5; n++)
    for (int64_t r = 0; r <= n; r++) {
      CX_SCOPE;
      check_determinant(of_rank(n, r, (uint64_t)(10 * n + r)));
    }
  CX_SCOPE;
  check_determinant(cx_eye(CX_F64, 4));
  check_determinant(cx_ones(CX_F64, 4, 4));
  /* what partial pivoting meets first is the zero */
  check_determinant(cx_pad(cx_eye(CX_F64, 3), 0, (0, 1), (1, 0)));
  assert_good();
}

static void determinants_of_all_kinds(void **state) {
  (void)state;
  CX_SCOPE;
  const cx many = cx_stack(0, of_rank(4, 4, 1), of_rank(4, 3, 2),
                           of_rank(4, 1, 3), cx_zeros(CX_F64, 4, 4));
  const cx_fn slope = cx_grad(CX_FN(det));
  cx_assert(cx_check_vmap(CX_FN(det), (many)));
  cx_assert(cx_check_vmap(slope, (many)));
  cx_assert(cx_check_jit(slope, (cx_index(many, 1))));
  cx_assert(cx_check_remat(CX_FN(det), (cx_index(many, 1))));
  assert_same_bits(cx_det(many), cx_call(cx_vmap(CX_FN(det)), many));
  const cx_dtype types[] = { CX_F16, CX_BF16, CX_F32, CX_F64 };
  for (int i = 0; i < 4; i++) {
    assert_true(cx_item(cx_det(cx_mul(cx_eye(types[i], 5), 2))) == 32);
    assert_true(cx_item(cx_det(cx_zeros(types[i], 0, 0))) == 1);
    assert_int_equal(cx_type(cx_det(cx_eye(types[i], 4))), types[i]);
  }
  const cx bad = cx_full(NAN, CX_F64, 5, 5),
           far = cx_full(INFINITY, CX_F64, 5, 5);
  assert_true(isnan(cx_item(cx_det(bad))) && isnan(cx_item(cx_det(far))));
  assert_good();
  /* log |det| of a singular matrix: no derivative, as in JAX */
  cx sign, log;
  cx_unpack(cx_slogdet(cx_ones(CX_F64, 4, 4)), &sign, &log);
  assert_true(cx_item(sign) == 0 && cx_item(log) == -INFINITY);
  assert_good();
}

/* -- exponentials ---------------------------------------------------------- */

CX_DEF(exponential, a) {
  return cx_expm(a);
}
/* exp of [a b; 0 a] has the derivative in the direction b beside exp(a). */
CX_DEF(by_blocks, a, b) {
  const int64_t n = cx_dim(a, -1);
  const cx top = cx_concat(1, a, b), low = cx_concat(1, cx_zeros_like(a), a);
  return cx_index(cx_expm(cx_concat(0, top, low)), CX_TO(n), CX_FROM(n));
}
static cx three(void) {
  return cx_reshape(cx_array(double, 1, 2, -1, 0.5, -3, 4, 2, 1, 0.25), 3, 3);
}
static void exponentials(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = three();
  /* by JAX 0.10.2 */
  close_to(cx_expm(a),
           cx_reshape(cx_array(double, 3.8719446952437693, 1.8194061915035278,
                               1.2416172366150469, 4.630943957764392,
                               2.2579043897584152, 2.879522853936417,
                               5.8689503465469315, 2.8079269184283597,
                               3.284578564563776),
                      3, 3),
           1e-14);
  const cx ten = cx_expm(cx_mul(a, 10));
  cx_assert(
      cx_check_close(cx_index(ten, 0),
                     cx_array(double, 1.1387935112567110e+09,
                              5.4317925970380735e+08, 5.3583677873112941e+08),
                     .rtol = 1e-12));
  for (double scale = 1e-3; scale < 1e3; scale *= 10) {
    const cx x = cx_mul(a, scale);
    if (scale < 2)
      close_to(cx_matmul(cx_expm(x), cx_expm(cx_neg(x))), cx_eye(CX_F64, 3),
               1e-11);
    const cx d = cx_array(double, -1, 0.5, 0.25);
    cx_assert(cx_check_close(cx_expm(cx_diag(cx_mul(d, scale))),
                             cx_diag(cx_exp(cx_mul(d, scale))), .rtol = 1e-11,
                             .atol = 1e-300));
  }
  /* nilpotent: the series ends */
  const cx n = cx_reshape(cx_array(double, 0, 3, 5, 0, 0, 7, 0, 0, 0), 3, 3);
  close_to(cx_expm(n), cx_add(cx_eye(CX_F64, 3), n, cx_div(cx_matmul(n, n), 2)),
           1e-14);
  cx_assert(cx_check_grads(CX_FN(exponential), (a), .order = 2));
  cx_assert(
      cx_check_grads(CX_FN(exponential), (cx_zeros(CX_F64, 2, 2)), .order = 2));
  cx_assert(cx_check_grads(CX_FN(exponential), (cx_mul(a, 3)), .rtol = 1e-4));
  const cx b = random(CX_F64, CX_SHAPE(3, 3), 5);
  close_to(
      cx_nth(cx_call(cx_jvp(CX_FN(exponential)), cx_tuple(a), cx_tuple(b)), 1),
      by_blocks(a, b), 1e-12);
  assert_good();
}

static void exponentials_of_all_kinds(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = three();
  const cx many = cx_stack(0, a, cx_mul(a, 9), cx_zeros_like(a), cx_neg(a));
  cx_assert(cx_check_vmap(CX_FN(exponential), (many)));
  cx_assert(cx_check_jit(CX_FN(exponential), (many)));
  cx_assert(cx_check_remat(CX_FN(exponential), (a)));
  assert_same_bits(cx_index(cx_expm(many), 1), cx_expm(cx_mul(a, 9)));
  const cx_dtype types[] = { CX_F16, CX_BF16, CX_F32 };
  const double eps[] = { 0x1p-10, 0x1p-7, 0x1p-19 };
  for (int i = 0; i < 3; i++) {
    const cx got = cx_expm(cx_cast(a, types[i]));
    assert_int_equal(cx_type(got), types[i]);
    close_to(cx_cast(got, CX_F64), cx_expm(a), 4 * eps[i]);
  }
  assert_int_equal(cx_size(cx_expm(cx_zeros(CX_F32, 2, 0, 0))), 0);
  close_to(cx_expm(cx_reshape(cx_array(double, 2), 1, 1)),
           cx_reshape(cx_array(double, exp(2)), 1, 1), 1e-14);
  const cx bad[] = { cx_full(NAN, CX_F64, 3, 3),
                     cx_full(INFINITY, CX_F64, 3, 3), cx_mul(a, 1e9) };
  for (int i = 0; i < 3; i++)
    assert_true(cx_item(cx_all(cx_is_nan(cx_expm(bad[i])))));
  /* far on the negative side: nothing is left, with squarings enough */
  const cx far = cx_mul(cx_eye(CX_F64, 2), -1e7);
  assert_true(isnan(cx_item(cx_max(cx_expm(far)))));
  close_to(cx_expm(far, .max_squarings = 30), cx_zeros(CX_F64, 2, 2), 1e-300);
  assert_good();
}

/* -- qr with an order of the columns --------------------------------------- */

CX_DEF(pivoted, a) {
  cx q, r, order;
  cx_unpack(cx_qr(a, .pivoting = true), &q, &r, &order);
  return cx_add(cx_sum(cx_sin(q)), cx_sum(cx_mul(r, r, r)));
}
static void check_pivoted(cx a, bool full) {
  cx q, r, order;
  cx_unpack(cx_qr(a, .full = full, .pivoting = true), &q, &r, &order);
  const cx sorted = cx_take_along(a, cx_expand(order, -2), -1);
  close_to(cx_matmul(q, r), sorted, 1e-12);
  const cx gram = cx_matmul(t(q), q);
  close_to(gram, cx_broadcast_to(cx_eye(CX_F64, cx_dim(q, -1)), cx_shape(gram)),
           1e-12);
  const cx d = cx_abs(cx_diagonal(r, 0));
  const int64_t k = cx_dim(d, -1);
  if (k > 1)
    assert_true(cx_item(cx_min(cx_sub(cx_index(d, CX_DOTS, CX_TO(k - 1)),
                                      cx_index(d, CX_DOTS, CX_FROM(1))))) >=
                -1e-12);
  assert_good();
}
static void orders_of_columns(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_dims shapes[] = { { 2, { 1, 1 } },
                             { 2, { 4, 3 } },
                             { 2, { 3, 5 } },
                             { 3, { 2, 6, 6 } },
                             { 4, { 2, 2, 3, 2 } } };
  for (int i = 0; i < 5; i++)
    for (int full = 0; full < 2; full++)
      check_pivoted(random(CX_F64, shapes[i], 3), full);
  check_pivoted(of_rank(5, 2, 7), true);
  check_pivoted(cx_zeros(CX_F64, 3, 2), false);
  const cx a = random(CX_F64, CX_SHAPE(4, 3), 8);
  cx_assert(cx_check_grads(CX_FN(pivoted), (a), .order = 2));
  cx_assert(cx_check_grads(CX_FN(pivoted), (t(a)), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(pivoted), (cx_stack(0, a, cx_flip(a, 1)))));
  cx_assert(cx_check_jit(CX_FN(pivoted), (a)));
  /* by JAX 0.10.2: (i^2 - 7 i mod 5) */
  const cx i = cx_arange(0, 12, 1, CX_F64);
  const cx b = cx_reshape(cx_sub(cx_mul(i, i), cx_mod(cx_mul(i, 7), 5)), 4, 3);
  cx q, r, order;
  cx_unpack(cx_qr(b, .pivoting = true), &q, &r, &order);
  close_to(cx_diagonal(r, 0),
           cx_array(double, -136.94889557787604, 10.10112821696988,
                    -1.213467657566745),
           1e-12);
  assert_same_bits(order, cx_array(int, 2, 1, 0));
  cx_unpack(cx_qr(cx_full(NAN, CX_F64, 3, 3), .pivoting = true), &q, &r,
            &order);
  assert_true(cx_item(cx_any(cx_is_nan(r))));
  assert_good();
}

/* -- systems by given factors ---------------------------------------------- */

CX_DEF(by_cholesky, a, b) {
  const cx s = cx_add(cx_matmul(a, t(a)), cx_eye(CX_F64, cx_dim(a, -1)));
  const cx low = cx_cho_solve(cx_cholesky(s), b);
  return cx_add(low,
                cx_cho_solve(cx_cholesky(s, .upper = true), b, .upper = true));
}
CX_DEF(by_factors, a, b) {
  const cx lu = cx_lu(a);
  return cx_add(cx_lu_solve(lu, b), cx_lu_solve(lu, b, .transpose = true));
}
static void given_factors(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = random(CX_F64, CX_SHAPE(2, 4, 4), 11);
  const cx b = random(CX_F64, CX_SHAPE(2, 4, 3), 12);
  const cx s = cx_add(cx_matmul(a, t(a)), cx_eye(CX_F64, 4));
  close_to(by_cholesky(a, b), cx_mul(cx_solve(s, b), 2), 1e-10);
  close_to(by_factors(a, b), cx_add(cx_solve(a, b), cx_solve(t(a), b)), 1e-10);
  const cx one = cx_index(a, 0), v = cx_index(b, 0, CX_ALL, 0);
  assert_int_equal(cx_ndim(by_factors(one, v)), 1);
  cx_assert(cx_check_grads(CX_FN(by_cholesky), (one, v), .order = 2));
  cx_assert(
      cx_check_grads(CX_FN(by_factors), (one, v), .order = 2, .rtol = 1e-3));
  cx_assert(cx_check_vmap(CX_FN(by_factors), (a, b)));
  cx_assert(cx_check_jit(CX_FN(by_cholesky), (a, b)));
  assert_good();
}

/* -- the pseudoinverse ----------------------------------------------------- */

CX_DEF(pseudoinverse, a) {
  return cx_pinv(a);
}
CX_DEF(pinv_of_product, b, c) {
  return cx_pinv(cx_matmul(b, c), .rtol = 1e-8);
}
CX_DEF(least_squares, a, b) {
  return cx_nth(cx_lstsq(a, b), 0);
}
/* Equal singular values are no corner of it. */
static void pseudoinverses(void **state) {
  (void)state;
  CX_SCOPE;
  const cx one = cx_eye(CX_F64, 3), tall = cx_index(one, CX_ALL, CX_TO(2));
  cx_assert(cx_check_grads(CX_FN(pseudoinverse), (one), .order = 2));
  cx_assert(cx_check_grads(CX_FN(pseudoinverse), (tall), .order = 2));
  cx_assert(cx_check_grads(CX_FN(pseudoinverse), (t(tall)), .order = 2));
  const cx b = random(CX_F64, CX_SHAPE(4, 2), 1);
  const cx c = random(CX_F64, CX_SHAPE(2, 3), 2);
  cx_assert(cx_check_grads(CX_FN(pinv_of_product), (b, c), .order = 2));
  const cx y = random(CX_F64, CX_SHAPE(3), 4);
  cx_assert(cx_check_grads(CX_FN(least_squares), (tall, y), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(pseudoinverse), (cx_stack(0, b, b))));
  cx_assert(cx_check_jit(CX_FN(pinv_of_product), (b, c)));
  assert_int_equal(cx_size(cx_pinv(cx_zeros(CX_F32, 2, 0))), 0);
  assert_good();
}

/* -- condition, tensors, forms --------------------------------------------- */

static void conditions(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = three();
  const cx_norm_order orders[] = { CX_NORM_2,        CX_NORM_MINUS_2,
                                   CX_NORM_1,        CX_NORM_MINUS_1,
                                   CX_NORM_INF,      CX_NORM_MINUS_INF,
                                   CX_NORM_FROBENIUS };
  const double want[] = {
    17.065528963673085, 0.058597656253648635, 25.5, 5.25, 24.375, 8.125,
    19.144588985476794
  }; /* by JAX */
  for (int i = 0; i < 7; i++)
    close_to(cx_matrix_cond(a, orders[i]), cx_scalar(want[i], CX_F64), 1e-12);
  assert_true(cx_item(cx_matrix_cond(cx_ones(CX_F64, 2, 2), CX_NORM_1)) ==
              INFINITY);
  assert_true(isnan(
      cx_item(cx_matrix_cond(cx_full(NAN, CX_F64, 2, 2), CX_NORM_FROBENIUS))));
  const cx nuclear = cx_matrix_cond(cx_eye(CX_F32, 3), CX_NORM_NUCLEAR);
  assert_true(fabs(cx_item(nuclear) - 9) < 1e-5);
  assert_int_equal(cx_ndim(cx_matrix_cond(cx_ones(CX_F32, 2, 3, 2), CX_NORM_2)),
                   1);
  assert_good();
}

CX_DEF(both_tensors, a, b) {
  const cx x = cx_tensorsolve(a, b), y = cx_tensorinv(a, 1);
  return cx_add(x, cx_einsum("abc,c->ab", y, b));
}
static void tensors(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = random(CX_F64, CX_SHAPE(6, 2, 3), 9);
  const cx b = random(CX_F64, CX_SHAPE(6), 10);
  const cx x = cx_tensorsolve(a, b);
  close_to(cx_einsum("abc,bc->a", a, x), b, 1e-10);
  close_to(cx_einsum("abc,bcd->ad", a, cx_tensorinv(a, 1)), cx_eye(CX_F64, 6),
           1e-10);
  cx_assert(
      cx_check_grads(CX_FN(both_tensors), (a, b), .order = 2, .rtol = 1e-3));
  assert_good();
}

CX_DEF(forms, a, b) {
  const cx v = cx_reshape(a, -1), k = cx_kron(a, b);
  return cx_tuple(k, cx_block_diag(a, v, b), cx_toeplitz(v, cx_reshape(b, -1)),
                  cx_vander(v, 4, false));
}
static void matrices_of_a_form(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_reshape(cx_array(double, 1, 2, 3, 4), 2, 2);
  const cx b = cx_reshape(cx_array(double, 0, 5, 6, 7, 8, 9), 2, 3);
  close_to(cx_kron(a, b), cx_reshape(cx_einsum("ab,cd->acbd", a, b), 4, 6), 0);
  assert_same_bits(cx_kron(cx_array(int, 1, 2), cx_array(int, 3, 4)),
                   cx_array(int, 3, 4, 6, 8));
  close_to(cx_kron(a, cx_array(double, 1, 10)),
           cx_reshape(cx_array(double, 1, 10, 2, 20, 3, 30, 4, 40), 2, 4), 0);
  assert_same_bits(
      cx_block_diag(cx_array(int, 1, 2), cx_reshape(cx_array(int, 3, 4), 2, 1)),
      cx_reshape(cx_array(int, 1, 2, 0, 0, 0, 3, 0, 0, 4), 3, 3));
  assert_same_bits(
      cx_toeplitz(cx_array(int, 1, 2, 3), cx_array(int, 9, 4, 5, 6)),
      cx_reshape(cx_array(int, 1, 4, 5, 6, 2, 1, 4, 5, 3, 2, 1, 4), 3, 4));
  assert_same_bits(cx_vander(cx_array(int, 2, -3), 3, true),
                   cx_reshape(cx_array(int, 1, 2, 4, 1, -3, 9), 2, 3));
  assert_same_bits(cx_vander(cx_array(int, 2, -3), 3, false),
                   cx_reshape(cx_array(int, 4, 2, 1, 9, -3, 1), 2, 3));
  assert_int_equal(cx_size(cx_vander(cx_array(int, 2), 0, true)), 0);
  assert_int_equal(
      cx_dim(cx_block_diag(cx_zeros(CX_F32, 0, 2), cx_ones(CX_F32, 1, 1)), 1),
      3);
  assert_int_equal(
      cx_size(cx_toeplitz(cx_zeros(CX_F32, 0), cx_zeros(CX_F32, 3))), 0);
  cx_assert(cx_check_grads(CX_FN(forms), (a, b), .order = 2));
  cx_assert(
      cx_check_vmap(CX_FN(forms), (cx_stack(0, a, a), cx_stack(0, b, b))));
  cx_assert(cx_check_jit(CX_FN(forms), (a, b)));
  assert_good();
}

/* Sums beyond the range, whose means are not. */
static void great_symmetric_matrices(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_dtype types[] = { CX_F16, CX_BF16, CX_F32, CX_F64 };
  const double most[] = { 60000, 3e38, 3e38, 1e308 };
  for (int i = 0; i < 4; i++) {
    const cx a = cx_mul(cx_eye(types[i], 2), most[i]);
    const double got = cx_item(cx_max(cx_eigvalsh(a)));
    assert_true(fabs(got / most[i] - 1) < 0x1p-6);
    const double root = cx_item(cx_max(cx_cholesky(a)));
    assert_true(fabs(root / sqrt(most[i]) - 1) < 0x1p-6);
  }
  const cx least = cx_mul(cx_eye(CX_F16, 1), 3 * 0x1p-24);
  assert_same_bits(cx_eigvalsh(least), cx_reshape(least, 1));
  assert_good();
}

/* -- wrong use ------------------------------------------------------------- */

static cx ignored;
static void wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  const cx v = cx_ones(CX_F32, 3), a = cx_ones(CX_F32, 2, 3);
  const cx square = cx_ones(CX_F32, 3, 3);
  ignored = cx_expm(a);
  assert_error(CX_ESHAPE, "expm: needs square matrices, got f32[2,3]");
  ignored = cx_expm(cx_ones(CX_I32, 2, 2));
  assert_error(CX_EDTYPE, "expm: needs a floating dtype");
  ignored = cx_expm(square, .max_squarings = -1);
  assert_error(CX_EUSER, "expm: .max_squarings -1");
  ignored = cx_cho_solve(a, v);
  assert_error(CX_ESHAPE, "cho_solve: needs square matrices");
  ignored = cx_lu_solve(square, v);
  assert_error(CX_ETREE, "lu_solve: the first argument is not what cx_lu");
  ignored = cx_lu_solve(cx_tuple(square, v, v), v);
  assert_error(CX_ETREE, "lu_solve: f32[3] is no permutation");
  ignored = cx_lu_solve(cx_lu(square), cx_ones(CX_F32, 2));
  assert_error(CX_ESHAPE, "lu_solve: f32[2] does not go with f32[3,3]");
  ignored = cx_matrix_cond(a, CX_NORM_1);
  assert_error(CX_ESHAPE, "matrix_cond: needs square matrices");
  ignored = cx_matrix_cond(cx_zeros(CX_F32, 0, 3), CX_NORM_2);
  assert_error(CX_ESHAPE, "matrix_cond: f32[0,3] has no elements");
  ignored = cx_tensorinv(a, 1);
  assert_error(CX_ESHAPE, "tensorinv: the first 1 axes of f32[2,3]");
  ignored = cx_tensorinv(square, 0);
  assert_error(CX_ESHAPE, "tensorinv: the first 0 axes");
  ignored = cx_tensorsolve(a, v);
  assert_error(CX_ESHAPE, "tensorsolve: f32[2,3] does not go with f32[3]");
  ignored = cx_kron(cx_ones(CX_F32, 1, 1, 1, 1, 1), v);
  assert_error(CX_ESHAPE, "kron: up to 4 axes");
  ignored = cx_kron(v, cx_ones(CX_I32, 3));
  assert_error(CX_EDTYPE, "kron");
  ignored = cx_block_diag(a, cx_ones(CX_F32, 1, 1, 1));
  assert_error(CX_ESHAPE, "block_diag: operand 1 is f32[1,1,1]");
  ignored = cx_toeplitz(v, a);
  assert_error(CX_ESHAPE, "toeplitz: wants two vectors");
  ignored = cx_vander(a, 2, true);
  assert_error(CX_ESHAPE, "vander: wants a vector of numbers");
  ignored = cx_vander(v, -1, true);
  assert_error(CX_ESHAPE, "vander: wants a vector of numbers");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(determinants),
    cmocka_unit_test(determinants_of_all_kinds),
    cmocka_unit_test(exponentials),
    cmocka_unit_test(exponentials_of_all_kinds),
    cmocka_unit_test(orders_of_columns),
    cmocka_unit_test(given_factors),
    cmocka_unit_test(pseudoinverses),
    cmocka_unit_test(conditions),
    cmocka_unit_test(tensors),
    cmocka_unit_test(matrices_of_a_form),
    cmocka_unit_test(great_symmetric_matrices),
    cmocka_unit_test(wrong_use),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
