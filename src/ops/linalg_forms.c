/* linalg_forms.c - systems by given factors, tensors as matrices, matrices of a
 * given form. */
#include <math.h>

#include "calx/linalg.h"
#include "calx/tree.h"
#include "ops/linalg.h"
#include "ops/matrix.h"
#include "ops/ops.h"

/* -- systems by given factors --------------------------------------------- */

static cx without_column(cx x, bool column) {
  const int n = cxi_rank_at(x);
  return column ? cxi_squeeze(x, cxi_dims_range(n - 1, n)) : x;
}

cx cx_cho_solve_(const cx *two, cx_factor_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_triangular_solve_params first = { .left = true,
                                              .lower = !opt.upper,
                                              .transpose = opt.upper };
  const cxi_triangular_solve_params second = { .left = true,
                                               .lower = !opt.upper,
                                               .transpose = !opt.upper };
  cx l, b, poison;
  bool column;
  if (!cxi_system("cho_solve", two, true, false, &l, &b, &column, &poison))
    return cxi_leave(before, poison);
  const cx y = cxi_triangular_solve(l, b, &first);
  return cxi_leave(before,
                   without_column(cxi_triangular_solve(l, y, &second), column));
}

/* p' of a permutation p (..., n): the places of 0, 1, ... */
static cx inverse_order(cx order) {
  const cx_dims shape = cxi_shape_at(order);
  const cxi_sort_params p = { .axis = shape.n - 1,
                              .n_keys = 1,
                              .stable = true };
  const cx in[2] = { order, cxi_iota(CX_I32, shape, shape.n - 1) };
  cx out[2];
  return cxi_sort(&p, 2, in, out) ? out[1] : out[0];
}

/* a' x = b: a' = u' l' p. */
static cx solve_transposed(const cx lu[3], cx b) {
  const cxi_triangular_solve_params upper = { .left = true, .transpose = true };
  const cxi_triangular_solve_params lower = {
    .left = true, .lower = true, .transpose = true, .unit = true
  };
  const cx y = cxi_triangular_solve(lu[0], b, &upper);
  return cxi_permuted_rows(cxi_triangular_solve(lu[0], y, &lower),
                           inverse_order(lu[2]));
}

cx cx_lu_solve_(const cx *two, cx_triangular_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx lu[3], b, poison;
  bool column;
  if (cxi_is_poison(two[0])) return cxi_leave(before, two[0]);
  if (cx_len(two[0]) != 3)
    return cxi_leave(before, cxi_fail(CX_ETREE, "lu_solve: the first argument "
                                                "is not what cx_lu returns"));
  for (int i = 0; i < 3; i++) lu[i] = cx_nth(two[0], i);
  const cx system[2] = { lu[0], two[1] };
  if (!cxi_system("lu_solve", system, true, false, &lu[0], &b, &column,
                  &poison))
    return cxi_leave(before, poison);
  if (cxi_dtype_at(lu[2]) != CX_I32 ||
      cxi_rank_at(lu[2]) != cxi_rank_at(lu[0]) - 1)
    return cxi_leave(before, cxi_fail(CX_ETREE,
                                      "lu_solve: %s is no "
                                      "permutation of the rows of "
                                      "%s",
                                      cxi_shown_of(lu[2]).text,
                                      cxi_shown_of(lu[0]).text));
  const cx x = opt.transpose ? solve_transposed(lu, b) : cxi_solve_by_lu(lu, b);
  return cxi_leave(before, without_column(x, column));
}

/* -- condition ------------------------------------------------------------- */

/* The greatest singular value over the least, or the other way. */
static cx ratio(cx s, bool inverse) {
  const cx_dims shape = cxi_shape_at(s);
  if (!cxi_given(s)) return s;
  const int last = shape.n - 1;
  const int64_t k = shape.d[last];
  const cx_dims axis = cxi_dims_range(last, last + 1);
  const cx most = cxi_squeeze(cxi_slice_axis(s, last, 0, 1), axis);
  const cx least = cxi_squeeze(cxi_slice_axis(s, last, k - 1, k), axis);
  return inverse ? cxi_div(least, most) : cxi_div(most, least);
}

/* NaN of a matrix without NaN becomes an infinity. */
static cx without_nan(cx a, cx condition) {
  const int n = cxi_rank_at(a);
  const cx bad = cxi_reduce(CXI_PRIM_reduce_or, cxi_compare(CXI_PRIM_ne, a, a),
                            cxi_dims_range(n - 2, n));
  if (!cxi_given(bad) || !cxi_given(condition)) return condition;
  const cx undefined = cxi_compare(CXI_PRIM_ne, condition, condition);
  const cx infinite =
      cxi_binary(CXI_PRIM_and, undefined, cxi_unary(CXI_PRIM_not, bad));
  return cxi_select(infinite, condition,
                    cxi_full(cxi_type_at(condition), INFINITY));
}

cx cx_matrix_cond_(cx a, cx_norm_order order, const char *at) {
  const cxi_name before = cxi_enter(at);
  const bool by_values = order == CX_NORM_2 || order == CX_NORM_MINUS_2;
  cx poison;
  if (!cxi_matrices("matrix_cond", &a, !by_values, &poison))
    return cxi_leave(before, poison);
  const cx_dims s = cxi_shape_at(a);
  if (s.d[s.n - 1] == 0 || s.d[s.n - 2] == 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "matrix_cond: %s has no "
                                      "elements",
                                      cxi_shown_of(a).text));
  const cx condition =
      by_values ? ratio(cxi_singular_values(a), order == CX_NORM_MINUS_2)
                : cxi_mul(cx_matrix_norm_(a, order, NULL),
                          cx_matrix_norm_(cx_inv_(a, NULL), order, NULL));
  return cxi_leave(before, without_nan(a, condition));
}

/* -- tensors as matrices --------------------------------------------------- */

static int64_t product(const cx_dims *s, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n = cxi_size_mul(n, s->d[i]);
  return n;
}

cx cx_tensorinv_(cx a, int ind, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("tensorinv", &a, &poison)) return cxi_leave(before, poison);
  const cx_dims s = cxi_shape_at(a);
  const int64_t n = ind > 0 && ind < s.n ? product(&s, 0, ind) : -1;
  if (n < 0 || n != product(&s, ind, s.n))
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE,
                         "tensorinv: the first %d axes of %s do not have as "
                         "many elements as the others",
                         ind, cxi_shown_of(a).text));
  cx_dims turned = { .n = 0 };
  for (int i = 0; i < s.n; i++)
    turned = cxi_dims_append(turned, s.d[(i + ind) % s.n]);
  const cx inverse = cx_inv_(cxi_reshape(a, (cx_dims){ 2, { n, n } }), NULL);
  return cxi_leave(before, cxi_reshape(inverse, turned));
}

cx cx_tensorsolve_(const cx *two, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx a = two[0], b = two[1], poison;
  if (!cxi_operand("tensorsolve", &a, &poison) ||
      !cxi_operand("tensorsolve", &b, &poison))
    return cxi_leave(before, poison);
  const cx_dims s = cxi_shape_at(a), t = cxi_shape_at(b);
  bool fits = s.n >= t.n;
  for (int i = 0; fits && i < t.n; i++) fits = s.d[i] == t.d[i];
  const int64_t n = product(&t, 0, t.n);
  if (!fits || product(&s, t.n, s.n) != n)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE,
                              "tensorsolve: %s does not go with %s: want b's "
                              "axes, then as many elements",
                              cxi_shown_of(a).text, cxi_shown_of(b).text));
  cx_dims shape = { .n = 0 };
  for (int i = t.n; i < s.n; i++) shape = cxi_dims_append(shape, s.d[i]);
  const cx ab[2] = { cxi_reshape(a, (cx_dims){ 2, { n, n } }),
                     cxi_reshape(b, (cx_dims){ 1, { n } }) };
  return cxi_leave(before, cxi_reshape(cx_solve_(ab, NULL), shape));
}

/* -- matrices of a given form --------------------------------------------- */

/* Axes of size 1 at the odd places, or at the even ones. */
static cx spread(cx a, int rank, bool first) {
  const cx_dims s = cxi_shape_at(a);
  cx_dims shape = { .n = 0 };
  for (int i = 0; i < rank; i++) {
    const int axis = i - (rank - s.n);
    const int64_t size = axis < 0 ? 1 : s.d[axis];
    shape = cxi_dims_append(shape, first ? size : 1);
    shape = cxi_dims_append(shape, first ? 1 : size);
  }
  return cxi_reshape(a, shape);
}

cx cx_kron_(const cx *two, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx ab[2] = { two[0], two[1] }, poison;
  if (!cxi_list_given("kron", 2, two, &poison) ||
      !cxi_promote("kron", 2, ab, &poison))
    return cxi_leave(before, poison);
  const int m = cxi_rank_at(ab[0]), n = cxi_rank_at(ab[1]);
  const int rank = m > n ? m : n;
  if (2 * rank > CX_MAX_DIMS)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "kron: up to %d axes, got %s and %s",
                              CX_MAX_DIMS / 2, cxi_shown_of(ab[0]).text,
                              cxi_shown_of(ab[1]).text));
  const cx a = spread(ab[0], rank, true), b = spread(ab[1], rank, false);
  if (!cxi_given(a) || !cxi_given(b))
    return cxi_leave(before, cxi_given(a) ? b : a);
  const cx_dims s = cxi_shape_at(a), t = cxi_shape_at(b);
  cx_dims both = { .n = 0 }, joined = { .n = 0 };
  for (int i = 0; i < s.n; i++)
    both = cxi_dims_append(both, i % 2 ? t.d[i] : s.d[i]);
  for (int i = 0; i < both.n; i += 2)
    joined = cxi_dims_append(joined, cxi_size_mul(both.d[i], both.d[i + 1]));
  const cx_dims all = cxi_dims_range(0, both.n);
  const cx outer = cxi_mul(cxi_broadcast_in_dim(a, both, all),
                           cxi_broadcast_in_dim(b, both, all));
  return cxi_leave(before, cxi_reshape(outer, joined));
}

cx cx_block_diag_(int n, const cx *operands, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx items[CX_MAX_ARGS], poison;
  int64_t rows = 0, columns = 0;
  for (int i = 0; i < n; i++) items[i] = operands[i];
  if (!cxi_list_given("block_diag", n, operands, &poison) ||
      !cxi_promote("block_diag", n, items, &poison))
    return cxi_leave(before, poison);
  for (int i = 0; i < n; i++) {
    const cx_dims s = cxi_shape_at(items[i]);
    if (s.n > 2)
      return cxi_leave(before,
                       cxi_fail(CX_ESHAPE,
                                "block_diag: operand %d is %s: want up to two "
                                "axes",
                                i, cxi_shown_of(items[i]).text));
    items[i] = cxi_reshape(
        items[i],
        (cx_dims){ 2, { s.n == 2 ? s.d[0] : 1, s.n == 0 ? 1 : s.d[s.n - 1] } });
    if (!cxi_given(items[i])) return cxi_leave(before, items[i]);
    rows = cxi_size_add(rows, cxi_shape_at(items[i]).d[0]);
    columns = cxi_size_add(columns, cxi_shape_at(items[i]).d[1]);
  }
  int64_t right = 0;
  for (int i = 0; i < n; i++) {
    const int64_t wide = cxi_shape_at(items[i]).d[1];
    const cx zero = cxi_zeros(cxi_type_scalar(cxi_dtype_at(items[i])));
    items[i] = cxi_pad(items[i], zero, (cx_dims){ 2, { 0, right } },
                       (cx_dims){ 2, { 0, columns - right - wide } },
                       (cx_dims){ 2, { 0, 0 } });
    right += wide;
  }
  return cxi_leave(before, cxi_concatenate(0, (uint32_t)n, items));
}

/* The element |i - j| of c on and below the diagonal, of r above it: element
 * m - 1 - i + j of (c reversed, r without its first). */
cx cx_toeplitz_(const cx *two, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx cr[2] = { two[0], two[1] }, poison;
  if (!cxi_list_given("toeplitz", 2, two, &poison) ||
      !cxi_promote("toeplitz", 2, cr, &poison))
    return cxi_leave(before, poison);
  const cx_dims s = cxi_shape_at(cr[0]), t = cxi_shape_at(cr[1]);
  if (s.n != 1 || t.n != 1)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "toeplitz: wants two vectors, got %s and "
                                      "%s",
                                      cxi_shown_of(cr[0]).text,
                                      cxi_shown_of(cr[1]).text));
  const int64_t m = s.d[0], n = t.d[0];
  const cx_dims shape = { 2, { m, n } };
  if (m == 0 || n == 0)
    return cxi_leave(before,
                     cxi_zeros(cxi_type_make(cxi_dtype_at(cr[0]), shape)));
  const cx line[2] = { cxi_rev(cr[0], cxi_dims_range(0, 1)),
                       cxi_slice_axis(cr[1], 0, 1, n) };
  const cx whole = cxi_concatenate(0, 2, line);
  const cx down = cxi_iota(CX_I32, shape, 0),
           right = cxi_iota(CX_I32, shape, 1);
  const cx place = cxi_offset(cxi_sub(right, down), (double)(m - 1));
  return cxi_leave(before, cxi_element(whole, place));
}

/* Powers 0, 1, ... of each element, as products. */
cx cx_vander_(cx x, int64_t n, bool increasing, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("vander", &x, &poison)) return cxi_leave(before, poison);
  const cx_dims s = cxi_shape_at(x);
  if (s.n != 1 || n < 0 || cxi_dtype_at(x) == CX_BOOL ||
      cxi_dtype_at(x) == CX_KEY)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE,
                              "vander: wants a vector of numbers and a number "
                              "of columns, got %s and %lld",
                              cxi_shown_of(x).text, (long long)n));
  const cxi_type type =
      cxi_type_make(cxi_dtype_at(x), (cx_dims){ 2, { s.d[0], n } });
  if (n == 0) return cxi_leave(before, cxi_zeros(type));
  const cx items[2] = {
    cxi_full(cxi_type_make(cxi_dtype_at(x), (cx_dims){ 2, { s.d[0], 1 } }), 1),
    cxi_insert_axis(x, 1, n - 1)
  };
  const cx powers =
      cxi_cumulate(CXI_PRIM_cumprod, cxi_concatenate(1, 2, items), 1, false);
  return cxi_leave(before,
                   increasing ? powers : cxi_rev(powers, cxi_dims_range(1, 2)));
}
