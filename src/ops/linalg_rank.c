/* linalg_rank.c - what follows from singular values; diagonals; norms. */
#include <math.h>

#include "calx/linalg.h"
#include "ops/linalg.h"
#include "ops/matrix.h"
#include "ops/ops.h"

static cx_dims last_axes(cx a, int from, int to) {
  const int n = cxi_rank_at(a);
  return cxi_dims_range(n - from, n - to);
}

/* -- rank, pseudoinverse, least squares ----------------------------------- */

static double epsilon_of(cx_dtype type) {
  return type == CX_F64    ? 0x1p-52
         : type == CX_F32  ? 0x1p-23
         : type == CX_BF16 ? 0x1p-7
                           : 0x1p-10;
}

/* Where the singular values s (..., k) of a count as more than 0. */
static cx counted(cx a, cx s, double rtol) {
  const cx_dims shape = cxi_shape_at(a), of_s = cxi_shape_at(s);
  const int64_t m = shape.d[shape.n - 2], n = shape.d[shape.n - 1];
  if (!cxi_given(s)) return s;
  if (rtol == 0) rtol = epsilon_of(cxi_dtype_at(a)) * (double)(m > n ? m : n);
  const cx greatest = cxi_reduce(CXI_PRIM_reduce_max, s, last_axes(s, 1, 0));
  const cx least = cxi_broadcast_in_dim(cxi_scale(greatest, rtol), of_s,
                                        cxi_dims_range(0, of_s.n - 1));
  return cxi_compare(CXI_PRIM_gt, s, least);
}

/* How many of each row are true. */
static cx number_of(cx which) {
  return cxi_reduce_sum(cxi_convert(which, CX_I32), last_axes(which, 1, 0));
}

static bool check_rtol(const char *op, double rtol, cx *out_poison) {
  if (rtol >= 0) return true;
  *out_poison =
      cxi_fail(CX_EUSER, "%s: .rtol = %g: want a number from 0 on", op, rtol);
  return false;
}

cx cx_matrix_rank_(cx a, cx_rank_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("matrix_rank", &a, false, &poison) ||
      !check_rtol("matrix_rank", opt.rtol, &poison))
    return cxi_leave(before, poison);
  const cx s = cxi_singular_values(a);
  return cxi_leave(before, number_of(counted(a, s, opt.rtol)));
}

/* 1 / s where it counts, else 0. */
static cx inverse_values(cx s, cx which) {
  const cx safe = cxi_select(which, cxi_number_like(s, 1), s);
  return cxi_select(which, cxi_number_like(s, 0),
                    cxi_div(cxi_number_like(s, 1), safe));
}

/* The columns of a times s. */
static cx scale_columns(cx a, cx s) {
  return cxi_mul(a, cxi_columns_of(s, a));
}

cx cxi_pinv_by_svd(cx a, double rtol) {
  cx usv[3];
  cxi_svd_of(a, false, usv);
  const cx v = cxi_matrix_transpose(usv[2]), s = usv[0];
  const cx scaled = scale_columns(v, inverse_values(s, counted(a, s, rtol)));
  return cxi_matrix_product(scaled, cxi_matrix_transpose(usv[1]));
}

static cx pinv_of(cx a, double rtol) {
  const cxi_pinv_params p = { .rtol = rtol };
  return cxi_emit1(CXI_PRIM_pinv, &p, 1, &a);
}

cx cx_pinv_(cx a, cx_rank_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_matrices("pinv", &a, false, &poison) ||
      !check_rtol("pinv", opt.rtol, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, pinv_of(a, opt.rtol));
}

cx cx_lstsq_(const cx *two, cx_rank_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx a, b, poison;
  bool column;
  if (!cxi_system("lstsq", two, false, false, &a, &b, &column, &poison) ||
      !check_rtol("lstsq", opt.rtol, &poison))
    return cxi_leave(before, poison);
  cx x = cxi_matrix_product(pinv_of(a, opt.rtol), b);
  const cx rest = cxi_sub(cxi_matrix_product(a, x), b);
  cx squares =
      cxi_reduce_sum(cxi_unary(CXI_PRIM_square, rest), last_axes(rest, 2, 1));
  const cx s = cxi_singular_values(a);
  const cx rank = number_of(counted(a, s, opt.rtol));
  if (column) {
    x = cxi_squeeze(x, last_axes(x, 1, 0));
    squares = cxi_squeeze(squares, last_axes(squares, 1, 0));
  }
  return cxi_leave(before, cx_tuple_(4, (cx[]){ x, squares, rank, s }, NULL));
}

/* -- norms ---------------------------------------------------------------- */

/* The greatest or least of each row of sizes; the greatest of none is 0. */
static cx extreme(cx a, bool greatest) {
  if (!cxi_given(a)) return a;
  cx_dims rows = cxi_shape_at(a);
  const int64_t n = rows.d[--rows.n];
  if (greatest && n == 0)
    return cxi_zeros(cxi_type_make(cxi_dtype_at(a), rows));
  return cxi_reduce(greatest ? CXI_PRIM_reduce_max : CXI_PRIM_reduce_min, a,
                    last_axes(a, 1, 0));
}

/* The greatest or least sum of sizes along an axis: 2 columns, 1 rows. */
static cx sums(cx a, int axis, bool greatest) {
  const cx sum =
      cxi_reduce_sum(cxi_unary(CXI_PRIM_abs, a), last_axes(a, axis, axis - 1));
  return extreme(sum, greatest);
}

cx cx_matrix_norm_(cx a, cx_norm_order order, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx result;
  if (!cxi_matrices("matrix_norm", &a, false, &result))
    return cxi_leave(before, result);
  switch (order) {
  case CX_NORM_FROBENIUS:
    result = cxi_reduce_sum(cxi_unary(CXI_PRIM_square, a), last_axes(a, 2, 0));
    result = cxi_unary(CXI_PRIM_sqrt, result);
    break;
  case CX_NORM_NUCLEAR:
    result = cxi_singular_values(a);
    result = cxi_reduce_sum(result, last_axes(result, 1, 0));
    break;
  case CX_NORM_1:
  case CX_NORM_MINUS_1:
    result = sums(a, 2, order == CX_NORM_1);
    break;
  case CX_NORM_INF:
  case CX_NORM_MINUS_INF:
    result = sums(a, 1, order == CX_NORM_INF);
    break;
  case CX_NORM_2:
  case CX_NORM_MINUS_2:
    result = extreme(cxi_singular_values(a), order == CX_NORM_2);
    break;
  default:
    result = cxi_fail(CX_EUSER, "matrix_norm: %d is not one of cx_norm_order",
                      (int)order);
  }
  return cxi_leave(before, result);
}

/* -- diagonals ------------------------------------------------------------ */

static bool number_matrices(const char *op, cx *a, cx *out_poison) {
  if (!cxi_operand(op, a, out_poison)) return false;
  if (cxi_dtype_at(*a) != CX_KEY && cxi_rank_at(*a) >= 2) return true;
  *out_poison =
      cxi_fail(cxi_rank_at(*a) < 2 ? CX_ESHAPE : CX_EDTYPE,
               "%s: needs a matrix of numbers in the last two axes, got %s", op,
               cxi_shown_of(*a).text);
  return false;
}

/* The square whose diagonal it is, then that. */
static cx diagonal(cx a, int64_t offset) {
  const cx_dims s = cxi_shape_at(a);
  const int64_t m = s.d[s.n - 2], n = s.d[s.n - 1];
  const int64_t top = offset >= 0 ? 0 : offset < -m ? m : -offset;
  const int64_t left = offset <= 0 ? 0 : offset > n ? n : offset;
  const int64_t k = m - top < n - left ? m - top : n - left;
  const cx rows = cxi_slice_axis(a, s.n - 2, top, top + k);
  const cx square = cxi_slice_axis(rows, s.n - 1, left, left + k);
  if (cxi_dtype_at(a) != CX_BOOL) return cxi_matrix_diagonal(square);
  const cx bytes = cxi_matrix_diagonal(cxi_convert(square, CX_U8));
  return cxi_convert(bytes, CX_BOOL);
}

cx cx_diagonal_(cx a, int64_t offset, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!number_matrices("diagonal", &a, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, diagonal(a, offset));
}

cx cx_matrix_trace_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!number_matrices("matrix_trace", &a, &poison))
    return cxi_leave(before, poison);
  if (cxi_dtype_at(a) == CX_BOOL) a = cxi_convert(a, CX_I32);
  const cx d = diagonal(a, 0);
  return cxi_leave(before, cxi_reduce_sum(d, last_axes(d, 1, 0)));
}

cx cx_diag_(cx v, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("diag", &v, &poison)) return cxi_leave(before, poison);
  const cx_dims s = cxi_shape_at(v);
  if (s.n < 1 || s.n == CX_MAX_DIMS)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "diag: needs 1 to %d axes, got %s",
                              CX_MAX_DIMS - 1, cxi_shown_of(v).text));
  const cx rows = cxi_insert_axis(v, s.n, s.d[s.n - 1]);
  if (!cxi_given(rows)) return cxi_leave(before, rows);
  const cx_dims full = cxi_shape_at(rows);
  const cx on = cxi_compare(CXI_PRIM_eq, cxi_iota(CX_I32, full, s.n - 1),
                            cxi_iota(CX_I32, full, s.n));
  return cxi_leave(before, cxi_select(on, cxi_zeros(cxi_type_at(rows)), rows));
}

/* -- products of many ----------------------------------------------------- */

/* "a,ab,bc->c", with letters for the n + 1 sizes of the chain. */
cx cx_multi_dot_(int n, const cx *operands, const char *at) {
  const cxi_name before = cxi_enter(at);
  char spec[4 * CX_MAX_ARGS], *to = spec;
  int64_t inner = 0; /* the last size of the operand before */
  cx poison;
  if (n < 2 || n > 26)
    return cxi_leave(
        before, cxi_fail(CX_EUSER, "multi_dot: 2 to 26 operands, got %d", n));
  if (!cxi_list_given("multi_dot", n, operands, &poison))
    return cxi_leave(before, poison);
  for (int i = 0; i < n; i++) {
    cx x = operands[i];
    if (!cxi_operand("multi_dot", &x, &poison))
      return cxi_leave(before, poison);
    const int rank = cxi_rank_at(x);
    if (rank != 2 && !(rank == 1 && (i == 0 || i == n - 1)))
      return cxi_leave(before,
                       cxi_fail(CX_ESHAPE,
                                "multi_dot: operand %d is %s: want a matrix, "
                                "first and last perhaps a vector",
                                i, cxi_shown_of(x).text));
    const int64_t first = cxi_shape_at(x).d[0];
    if (i > 0 && first != inner)
      return cxi_leave(
          before, cxi_fail(CX_ESHAPE,
                           "multi_dot: operands %d and %d do not fit: %s @ %s",
                           i - 1, i, cxi_shown_of(operands[i - 1]).text,
                           cxi_shown_of(x).text));
    inner = cxi_shape_at(x).d[rank - 1];
    if (i > 0) *to++ = ',';
    if (i > 0 || rank == 2) *to++ = (char)('a' + i);
    if (i < n - 1 || rank == 2) *to++ = (char)(i == 25 ? 'A' : 'b' + i);
  }
  *to++ = '-', *to++ = '>';
  if (cxi_rank_at(operands[0]) == 2) *to++ = 'a';
  if (cxi_rank_at(operands[n - 1]) == 2)
    *to++ = (char)(n == 26 ? 'A' : 'a' + n);
  *to = 0;
  return cxi_leave(before, cxi_einsum(spec, n, operands));
}
