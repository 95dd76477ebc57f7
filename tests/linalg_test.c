/* linalg_test.c - the operations of calx/linalg.h: what defines their results,
 * derivatives, batches, wrong use. */
#include <float.h>
#include <math.h>

#include "calx/testing.h"
#include "support/calls.h"

/* -- what defines a factorisation ------------------------------------------ */

/* The greatest difference of two arrays, in f64. */
static double apart(cx a, cx b) {
  const double d =
      cx_item(cx_max(cx_abs(cx_sub(cx_cast(a, CX_F64), cx_cast(b, CX_F64)))));
  assert_good();
  return d;
}
static cx t(cx a) {
  return cx_swap_axes(a, -1, -2);
}
static cx eye_of(cx a) { /* of a's last size */
  return cx_eye(cx_type(a), cx_dim(a, -1));
}
static void orthonormal(cx q, double tolerance) {
  const cx gram = cx_matmul(t(q), q);
  assert_true(apart(gram, cx_broadcast_to(eye_of(gram), cx_shape(gram))) <
              tolerance);
}
static cx random(cx_dtype type, cx_dims shape, uint64_t seed) {
  return cx_random_like(cx_spec(type, shape), seed);
}
static const cx_dims shapes[] = {
  { 2, { 1, 1 } }, { 2, { 2, 2 } },    { 2, { 5, 3 } },   { 2, { 3, 5 } },
  { 2, { 7, 7 } }, { 3, { 4, 6, 2 } }, { 2, { 40, 40 } }, { 4, { 2, 2, 3, 4 } },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static void check_qr(cx a, double tolerance) {
  for (int full = 0; full < 2; full++) {
    cx q, r;
    cx_unpack(cx_qr(a, .full = full), &q, &r);
    assert_true(apart(cx_matmul(q, r), a) < tolerance);
    orthonormal(q, tolerance);
    assert_true(apart(cx_triu(r, 0), r) == 0);
    assert_int_equal(cx_dim(r, -2), full || cx_dim(a, -2) < cx_dim(a, -1)
                                        ? cx_dim(a, -2)
                                        : cx_dim(a, -1));
  }
}
static void check_svd(cx a, double tolerance) {
  for (int full = 0; full < 2; full++) {
    cx u, s, vt;
    cx_unpack(cx_svd(a, .full = full), &u, &s, &vt);
    const int64_t k = cx_dim(s, -1);
    orthonormal(u, tolerance);
    orthonormal(t(vt), tolerance);
    const cx thin = cx_index(u, CX_DOTS, CX_TO(k));
    const cx rows = cx_index(vt, CX_DOTS, CX_TO(k), CX_ALL);
    const cx scaled = cx_mul(thin, cx_expand(s, -2));
    assert_true(apart(cx_matmul(scaled, rows), a) < tolerance);
    for (int64_t i = 0; i + 1 < k; i++)
      assert_true(cx_item(cx_min(cx_sub(cx_index(s, CX_DOTS, i),
                                        cx_index(s, CX_DOTS, i + 1)))) >= 0);
    assert_true(cx_item(cx_min(s)) >= 0);
    assert_same_bits(s, cx_svdvals(a));
  }
}
static void check_lu(cx a, double tolerance) {
  cx lu, pivots, order;
  cx_unpack(cx_lu(a), &lu, &pivots, &order);
  const int64_t m = cx_dim(a, -2), n = cx_dim(a, -1), k = m < n ? m : n;
  const cx left = cx_index(lu, CX_DOTS, CX_TO(k));
  const cx l = cx_add(cx_tril(left, -1), cx_eye_(cx_type(a), m, k, CX_AT));
  const cx u = cx_triu(cx_index(lu, CX_DOTS, CX_TO(k), CX_ALL), 0);
  const cx rows = cx_take_along(a, cx_expand(order, -1), -2);
  assert_true(apart(cx_matmul(l, u), rows) < tolerance);
  assert_true(cx_item(cx_max(cx_abs(l))) <= 1);
  assert_same_bits(cx_lu_pivots_to_permutation(pivots, m), order);
}
static void check_square(cx a, double tolerance) {
  cx w, v;
  const cx s = cx_div(cx_add(a, t(a)), 2);
  cx_unpack(cx_eigh(a), &w, &v);
  orthonormal(v, tolerance);
  assert_true(apart(cx_matmul(s, v), cx_mul(v, cx_expand(w, -2))) < tolerance);
  assert_same_bits(w, cx_eigvalsh(a));
  const cx definite = cx_add(cx_matmul(a, t(a)), eye_of(a));
  const cx l = cx_cholesky(definite);
  assert_true(apart(cx_matmul(l, t(l)), definite) <
              tolerance * (double)cx_dim(a, -1));
  assert_same_bits(cx_cholesky(definite, .upper = true), t(l));
  assert_true(apart(cx_tril(l, 0), l) == 0);
  const cx inverse = cx_inv(definite);
  const cx one = cx_matmul(inverse, definite);
  assert_true(apart(one, cx_broadcast_to(eye_of(a), cx_shape(one))) <
              tolerance * (double)cx_dim(a, -1));
}
static void definitions(void **state) {
  (void)state;
  for (int i = 0; i < N_SHAPES; i++)
    for (int wide = 0; wide < 2; wide++) {
      CX_SCOPE;
      const cx a = random(wide ? CX_F64 : CX_F32, shapes[i], 7);
      const double tolerance = wide ? 1e-12 : 3e-5;
      check_qr(a, tolerance);
      check_svd(a, tolerance);
      check_lu(a, tolerance);
      if (cx_dim(a, -1) == cx_dim(a, -2)) check_square(a, tolerance);
    }
}

/* Ranks below the size, equal values, great and small numbers. */
static void degenerate(void **state) {
  (void)state;
  CX_SCOPE;
  const cx thin = random(CX_F64, CX_SHAPE(6, 2), 1);
  const cx low = cx_matmul(thin, random(CX_F64, CX_SHAPE(2, 5), 2));
  check_svd(low, 1e-12);
  assert_int_equal(cx_item_int(cx_matrix_rank(low)), 2);
  check_svd(cx_zeros(CX_F64, 3, 4), 1e-12);
  check_svd(cx_ones(CX_F64, 4, 4), 1e-12);
  check_svd(cx_eye(CX_F64, 4), 1e-12);
  /* rows that depend on others are no reason to go on for ever */
  for (uint64_t seed = 0; seed < 20; seed++) {
    const cx row = random(CX_F64, CX_SHAPE(1, 6), seed);
    const cx column = random(CX_F64, CX_SHAPE(8, 1), seed + 50);
    check_svd(cx_matmul(column, row), 1e-12);
    check_svd(cx_add(cx_matmul(column, row), 1), 1e-12);
  }
  check_qr(cx_zeros(CX_F64, 4, 3), 1e-12);
  check_square(cx_eye(CX_F64, 5), 1e-12);
  check_square(cx_zeros(CX_F64, 5, 5), 1e-12);
  check_square(cx_matmul(low, t(low)), 1e-11);
  const cx great = cx_mul(thin, 1e300), small = cx_mul(thin, 1e-300);
  assert_true(apart(cx_div(cx_svdvals(great), 1e300), cx_svdvals(thin)) <
              1e-13);
  assert_true(apart(cx_mul(cx_svdvals(small), 1e300), cx_svdvals(thin)) <
              1e-13);
  /* 2^-40 beside 1: the relative accuracy of one-sided Jacobi */
  const cx graded = cx_array(double, 1, 1, 0x1p-40, -0x1p-40);
  const cx s = cx_svdvals(cx_reshape(graded, 2, 2));
  assert_true(fabs(cx_item(cx_index(s, 1)) / (M_SQRT2 * 0x1p-40) - 1) < 1e-14);
  assert_good();
}
/* Numbers whose squares under- or overflow beside the greatest: what rounding
 * leaves of equal rows gets there too. */
static void next_to_nothing(void **state) {
  (void)state;
  CX_SCOPE;
  check_svd(cx_reshape(cx_array(double, 1, 1e-12, 0, 1e-144), 2, 2), 1e-12);
  check_square(cx_ones(CX_F64, 200, 200), 1e-11);
  for (int power = 140; power <= 200; power += 4) {
    const cx least = cx_full(pow(10, -power), CX_F64, 6, 6);
    check_square(cx_add(cx_diag(cx_array(double, 1, 0, 0, 0, 0, 0)), least),
                 1e-12);
    check_square(cx_add(cx_diag(cx_array(double, 0, 0, 0, 0, 0, 1)), least),
                 1e-12);
    check_square(cx_add(cx_diag(cx_array(double, 0, 0, 1, 0, 0, 0)),
                        cx_mul(least, random(CX_F64, CX_SHAPE(6, 6), 3))),
                 1e-12);
  }
  assert_good();
}

/* -- solutions ------------------------------------------------------------ */

static void solutions(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_reshape(cx_array(double, 2, 1, 1, 3), 2, 2);
  const cx b = cx_array(double, 3, 5);
  const cx x = cx_array(double, 0.8, 1.4);
  assert_true(apart(cx_solve(a, b), x) < 1e-15);
  assert_true(apart(cx_matmul(a, cx_solve(a, a)), a) < 1e-14);
  assert_true(fabs(cx_item(cx_det(a)) - 5) < 1e-14);
  const cx lower = cx_tril(a, 0);
  assert_true(
      apart(cx_matmul(lower, cx_solve_triangular(lower, b, .lower = true)), b) <
      1e-14);
  assert_true(apart(cx_matmul(cx_solve_triangular(lower, b, .lower = true,
                                                  .right = true),
                              lower),
                    b) < 1e-14);
  cx sign, log, fit, rest, rank, s;
  cx_unpack(cx_slogdet(cx_neg(a)), &sign, &log);
  assert_true(cx_item(sign) == 1 && fabs(cx_item(log) - log1p(4)) < 1e-14);
  cx_unpack(cx_slogdet(cx_zeros(CX_F32, 2, 2)), &sign, &log);
  assert_true(cx_item(sign) == 0 && cx_item(log) == -INFINITY);
  assert_true(apart(cx_matrix_power(a, 3), cx_matmul(a, cx_matmul(a, a))) <
              1e-13);
  assert_true(apart(cx_matmul(cx_matrix_power(a, -2), cx_matmul(a, a)),
                    cx_eye(CX_F64, 2)) < 1e-13);
  assert_true(apart(cx_matrix_power(a, 0), cx_eye(CX_F64, 2)) == 0);
  /* 4 rows by the definition against the factors; an odd permutation */
  const cx big = random(CX_F64, CX_SHAPE(3, 5, 5), 3);
  cx_unpack(cx_slogdet(big), &sign, &log);
  assert_true(apart(cx_mul(sign, cx_exp(log)), cx_det(big)) < 1e-12);
  const cx swapped = cx_flip(cx_eye(CX_F64, 6), 0);
  assert_true(cx_item(cx_det(swapped)) == -1);
  /* a line through three points */
  const cx design = cx_reshape(cx_array(double, 1, 0, 1, 1, 1, 2), 3, 2);
  cx_unpack(cx_lstsq(design, cx_array(double, 1, 3, 4)), &fit, &rest, &rank,
            &s);
  assert_true(apart(fit, cx_array(double, 7. / 6, 1.5)) < 1e-14);
  assert_true(fabs(cx_item(rest) - 1. / 6) < 1e-14);
  assert_int_equal(cx_item_int(rank), 2);
  const cx p = cx_pinv(design);
  assert_true(apart(cx_matmul(p, design), cx_eye(CX_F64, 2)) < 1e-14);
  assert_good();
}

static void norms_and_diagonals(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_reshape(cx_array(double, 1, -2, 3, 4, 5, -6), 2, 3);
  static const struct {
    cx_norm_order order;
    double value;
  } norms[] = {
    { CX_NORM_1, 9 },
    { CX_NORM_MINUS_1, 5 },
    { CX_NORM_INF, 15 },
    { CX_NORM_MINUS_INF, 6 },
    { CX_NORM_FROBENIUS, 9.539392014169456 },
  };
  for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
    assert_true(fabs(cx_item(cx_matrix_norm(a, norms[i].order)) -
                     norms[i].value) < 1e-14);
  const cx s = cx_svdvals(a);
  assert_true(apart(cx_matrix_norm(a, CX_NORM_2), cx_index(s, 0)) == 0);
  assert_true(apart(cx_matrix_norm(a, CX_NORM_MINUS_2), cx_index(s, 1)) == 0);
  assert_true(apart(cx_matrix_norm(a, CX_NORM_NUCLEAR), cx_sum(s)) < 1e-15);
  for (int order = CX_NORM_1; order <= CX_NORM_2; order += 2) /* of nothing */
    assert_true(cx_item(cx_matrix_norm(cx_zeros(CX_F32, 0, 0), order)) == 0);
  assert_true(apart(cx_diagonal(a, 0), cx_array(double, 1, 5)) == 0);
  assert_true(apart(cx_diagonal(a, 1), cx_array(double, -2, -6)) == 0);
  assert_true(apart(cx_diagonal(a, -1), cx_array(double, 4)) == 0);
  assert_int_equal(cx_size(cx_diagonal(a, 9)), 0);
  assert_int_equal(cx_size(cx_diagonal(a, -9)), 0);
  assert_true(cx_item(cx_matrix_trace(a)) == 6);
  assert_int_equal(cx_item_int(cx_matrix_trace(cx_eye(CX_BOOL, 3))), 3);
  const cx d = cx_diag(cx_array(int, 1, 2));
  assert_same_bits(d, cx_reshape(cx_array(int, 1, 0, 0, 2), 2, 2));
  assert_same_bits(cx_diagonal(d, 0), cx_array(int, 1, 2));
  assert_good();
}

static void multi_dot(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = random(CX_F64, CX_SHAPE(10, 2), 1);
  const cx b = random(CX_F64, CX_SHAPE(2, 30), 2);
  const cx c = random(CX_F64, CX_SHAPE(30, 3), 3);
  const cx v = random(CX_F64, CX_SHAPE(10), 4);
  const cx want = cx_matmul(a, cx_matmul(b, c));
  assert_same_bits(cx_multi_dot(a, b, c), want); /* the cheaper order */
  assert_true(apart(cx_multi_dot(v, a, b, c), cx_matmul(v, want)) < 1e-12);
  assert_int_equal(cx_ndim(cx_multi_dot(v, v)), 0);
  assert_good();
}

/* -- derivatives, batches, jit -------------------------------------------- */

CX_DEF(factors, a) {
  const cx l = cx_cholesky(cx_add(cx_matmul(a, t(a)), eye_of(a)));
  cx q, r;
  cx_unpack(cx_qr(a), &q, &r);
  return cx_add(cx_mul(l, q), r);
}
CX_DEF(spectrum, a) {
  cx u, s, vt, w, v;
  cx_unpack(cx_svd(a), &u, &s, &vt);
  cx_unpack(cx_eigh(a), &w, &v);
  return cx_add(cx_mul(cx_square(u), w), cx_mul(cx_square(v), s));
}
CX_DEF(systems, a) {
  const cx x = cx_solve(a, cx_add(a, 1)), y = cx_inv(a);
  return cx_add(cx_matmul(x, y), cx_det(a), cx_sum(cx_svdvals(a)));
}
CX_DEF(fits, a) {
  const cx tall = cx_index(a, CX_DOTS, CX_TO(2));
  cx x, rest, rank, s;
  cx_unpack(cx_lstsq(tall, a), &x, &rest, &rank, &s);
  return cx_add(cx_matmul(x, cx_pinv(x)), cx_matrix_norm(tall, CX_NORM_2));
}
static void transforms(void **state) {
  (void)state;
  const cx_fn functions[] = { CX_FN(factors), CX_FN(spectrum), CX_FN(systems),
                              CX_FN(fits) };
  for (int i = 0; i < 4; i++) {
    CX_SCOPE;
    const cx a = cx_add(random(CX_F64, CX_SHAPE(3, 3), 21),
                        cx_mul(cx_eye(CX_F64, 3), 2));
    const cx wide = cx_cast(cx_stack(0, a, t(a), cx_mul(a, a)), CX_F32);
    cx_assert(cx_check_grads(functions[i], (a), .order = 2));
    cx_assert(cx_check_jit(functions[i], (a)));
    cx_assert(cx_check_vmap(functions[i], (wide)));
    cx_assert(cx_check_remat(functions[i], (a)));
  }
  assert_good();
}

/* A symmetric function of equal eigenvalues, a singular determinant. */
CX_DEF(sum_of_eigenvalues, a) {
  return cx_sum(cx_square(cx_eigvalsh(a)));
}
CX_DEF(determinant, a) {
  return cx_det(a);
}
static void gradients_at_corners(void **state) {
  (void)state;
  CX_SCOPE;
  const cx one = cx_eye(CX_F64, 3);
  const cx g = cx_call(cx_grad(CX_FN(sum_of_eigenvalues)), one);
  assert_true(apart(g, cx_mul(one, 2)) < 1e-14);
  const cx ones = cx_reshape(cx_array(double, 1, 2, 2, 4), 2, 2);
  const cx cofactors = cx_reshape(cx_array(double, 4, -2, -2, 1), 2, 2);
  assert_true(apart(cx_call(cx_grad(CX_FN(determinant)), ones), cofactors) ==
              0);
  assert_good();
}

/* -- wrong use ------------------------------------------------------------ */

CX_DEF(full_q, a) {
  return cx_sum(cx_nth(cx_qr(a, .full = true), 0));
}
static cx ignored;
static void wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  const cx v = cx_ones(CX_F32, 3), a = cx_ones(CX_F32, 2, 3);
  const cx square = cx_ones(CX_F32, 3, 3), whole = cx_ones(CX_I32, 3, 3);
  ignored = cx_cholesky(a);
  assert_error(CX_ESHAPE, "cholesky: needs square matrices, got f32[2,3]");
  ignored = cx_qr(v);
  assert_error(CX_ESHAPE, "qr: needs a matrix in the last two axes");
  ignored = cx_eigh(whole);
  assert_error(CX_EDTYPE, "eigh: needs a floating dtype, got i32[3,3]");
  ignored = cx_solve(square, cx_ones(CX_F32, 2));
  assert_error(CX_ESHAPE, "solve: f32[2] does not go with f32[3,3]");
  ignored = cx_solve(square, cx_ones(CX_F64, 3));
  assert_error(CX_EDTYPE, "solve");
  ignored = cx_solve_triangular(square, a);
  assert_error(CX_ESHAPE, "solve_triangular: f32[2,3] does not go with");
  ignored = cx_lu_pivots_to_permutation(v, 3);
  assert_error(CX_EDTYPE, "needs pivots i32");
  ignored = cx_pinv(a, .rtol = -1);
  assert_error(CX_EUSER, "pinv: .rtol = -1");
  ignored = cx_matrix_norm(a, (cx_norm_order)99);
  assert_error(CX_EUSER, "matrix_norm: 99");
  ignored = cx_multi_dot(a, v, a);
  assert_error(CX_ESHAPE, "multi_dot: operand 1 is f32[3]");
  ignored = cx_multi_dot(a, a);
  assert_error(CX_ESHAPE, "multi_dot: operands 0 and 1 do not fit");
  ignored = cx_diag(cx_ones(CX_F32, CX_SCALAR));
  assert_error(CX_ESHAPE, "diag: needs 1 to 7 axes");
  ignored = cx_diagonal(v, 0);
  assert_error(CX_ESHAPE, "diagonal: needs a matrix");
  ignored = cx_call(cx_grad(CX_FN(full_q)), t(a));
  assert_error(CX_ENORULE, "leave out .full");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(definitions),
    cmocka_unit_test(degenerate),
    cmocka_unit_test(next_to_nothing),
    cmocka_unit_test(solutions),
    cmocka_unit_test(norms_and_diagonals),
    cmocka_unit_test(multi_dot),
    cmocka_unit_test(transforms),
    cmocka_unit_test(gradients_at_corners),
    cmocka_unit_test(wrong_use),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
