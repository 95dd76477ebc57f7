/* matrix.c - operations on the matrices in the last two axes. */
#include "ops/matrix.h"

#include "ops/axes.h"
#include "ops/ops.h"

cx cxi_matrix_transpose(cx a) {
  const int n = cxi_rank_at(a);
  return n < 2 ? a : cxi_move_axis(a, n - 1, n - 2);
}

cx cxi_matrix_product(cx a, cx b) {
  const int n = cxi_rank_at(a);
  if (n < 2) return cxi_is_poison(a) ? a : b;
  const cx_dims batch = cxi_dims_range(0, n - 2);
  const cxi_dot_general_params p = {
    .lhs_contract = cxi_dims_range(n - 1, n),
    .rhs_contract = cxi_dims_range(n - 2, n - 1),
    .lhs_batch = batch,
    .rhs_batch = batch,
    .type = cxi_dtype_at(a),
  };
  return cxi_dot_general(a, b, (cx){ 0 }, &p);
}

/* Where row and column are equal, as bools of a's shape. */
static cx on_diagonal(cx a) {
  const cx_dims shape = cxi_shape_at(a);
  return cxi_compare(CXI_PRIM_eq, cxi_iota(CX_I32, shape, shape.n - 2),
                     cxi_iota(CX_I32, shape, shape.n - 1));
}

cx cxi_matrix_diagonal(cx a) {
  if (!cxi_given(a)) return a;
  const int n = cxi_rank_at(a);
  const cx kept = cxi_select(on_diagonal(a), cxi_zeros(cxi_type_at(a)), a);
  return cxi_reduce_sum(kept, cxi_dims_range(n - 1, n));
}

cx cxi_identity_like(cx a) {
  if (!cxi_given(a)) return a;
  return cxi_convert(on_diagonal(a), cxi_dtype_at(a));
}

static cx beside(cx s, cx a, int axis) {
  if (!cxi_given(s) || !cxi_given(a)) return cxi_given(s) ? a : s;
  const cx_dims shape = cxi_shape_at(a);
  cx_dims map = cxi_dims_range(0, shape.n - 2);
  return cxi_broadcast_in_dim(s, shape, cxi_dims_append(map, shape.n + axis));
}

cx cxi_rows_of(cx s, cx a) {
  return beside(s, a, -2);
}

cx cxi_columns_of(cx s, cx a) {
  return beside(s, a, -1);
}

cx cxi_symmetric(cx a, bool lower) {
  if (!cxi_given(a)) return a;
  const cx with = cxi_triangle(lower, a, 0);
  const cx without = cxi_triangle(lower, a, lower ? -1 : 1);
  return cxi_add(with, cxi_matrix_transpose(without));
}

/* -- factorisations ------------------------------------------------------- */

cx cxi_cholesky_of(cx a) {
  return cxi_unary(CXI_PRIM_cholesky, a);
}

cx cxi_triangular_solve(cx a, cx b, const cxi_triangular_solve_params *params) {
  return cxi_emit1(CXI_PRIM_triangular_solve, params, 2, (cx[]){ a, b });
}

void cxi_lu_of(cx a, cx out[3]) {
  const cxi_lu_params p = { 0 };
  cxi_emit(CXI_PRIM_lu, &p, 1, &a, 3, out);
}

void cxi_qr_of(cx a, bool full, bool pivoting, cx out[3]) {
  const cxi_qr_params p = { .full = full, .pivoting = pivoting };
  cxi_emit(CXI_PRIM_qr, &p, 1, &a, pivoting ? 3 : 2, out);
}

void cxi_eigh_of(cx a, bool lower, cx out[2]) {
  const cxi_eigh_params p = { .lower = lower };
  cxi_emit(CXI_PRIM_eigh, &p, 1, &a, 2, out);
}

void cxi_svd_of(cx a, bool full, cx out[3]) {
  const cxi_svd_params p = { .full = full, .vectors = true };
  cxi_emit(CXI_PRIM_svd, &p, 1, &a, 3, out);
}

cx cxi_singular_values(cx a) {
  const cxi_svd_params p = { .vectors = false };
  return cxi_emit1(CXI_PRIM_svd, &p, 1, &a);
}

cx cxi_permuted_rows(cx x, cx perm) {
  const cx_dims shape = cxi_shape_at(x);
  if (!cxi_given(x) || !cxi_given(perm)) return cxi_given(x) ? perm : x;
  const int batch = shape.n - 2;
  if (shape.d[batch] == 0) return x; /* no window fits into no rows */
  cx_dims sizes = cxi_dims_repeat(shape.n, 1);
  sizes.d[batch + 1] = shape.d[batch + 1];
  const cxi_gather_params p = {
    .offset = cxi_dims_range(batch + 1, batch + 2),
    .collapsed = cxi_dims_range(batch, batch + 1),
    .start_map = cxi_dims_range(batch, batch + 1),
    .operand_batch = cxi_dims_range(0, batch),
    .index_batch = cxi_dims_range(0, batch),
    .sizes = sizes,
    .mode = CX_IN_BOUNDS,
    .fill = 0,
    .unique = true,
  };
  const cx at = cxi_expand_dims(perm, cxi_dims_range(batch + 1, batch + 2));
  return cxi_gather(x, at, &p);
}

cx cxi_solve_by_lu(const cx lu[3], cx b) {
  const cxi_triangular_solve_params lower = { .left = true,
                                              .lower = true,
                                              .unit = true };
  const cxi_triangular_solve_params upper = { .left = true };
  const cx y = cxi_triangular_solve(lu[0], cxi_permuted_rows(b, lu[2]), &lower);
  return cxi_triangular_solve(lu[0], y, &upper);
}

/* -- determinants --------------------------------------------------------- */

cx cxi_parity(cx pivots, cx_dtype type) {
  if (!cxi_given(pivots)) return pivots;
  const cx_dims s = cxi_shape_at(pivots), last = cxi_dims_range(s.n - 1, s.n);
  const cx moved =
      cxi_compare(CXI_PRIM_ne, pivots, cxi_iota(CX_I32, s, s.n - 1));
  const cx count = cxi_reduce_sum(cxi_convert(moved, CX_I32), last);
  const cx odd = cxi_binary(CXI_PRIM_and, count, cxi_integer(CX_I32, 1));
  return cxi_offset(cxi_scale(cxi_convert(odd, type), -2), 1);
}

/* The element in row i and column j. */
static cx element(cx a, int64_t i, int64_t j) {
  const int n = cxi_rank_at(a);
  const cx row = cxi_slice_axis(a, n - 2, i, i + 1);
  return cxi_squeeze(cxi_slice_axis(row, n - 1, j, j + 1),
                     cxi_dims_range(n - 2, n));
}
static cx minor_of(cx a, int64_t row, int64_t i, int64_t j) {
  return cxi_sub(cxi_mul(element(a, row, i), element(a, row + 1, j)),
                 cxi_mul(element(a, row, j), element(a, row + 1, i)));
}

cx cxi_small_determinant(cx a) {
  cx_dims shape = cxi_shape_at(a);
  if (!cxi_given(a)) return a;
  const int64_t n = shape.d[shape.n - 1];
  shape.n -= 2;
  if (n == 0) return cxi_full(cxi_type_make(cxi_dtype_at(a), shape), 1);
  if (n == 1) return element(a, 0, 0);
  if (n == 2) return minor_of(a, 0, 0, 1);
  const cx first = cxi_mul(element(a, 0, 0), minor_of(a, 1, 1, 2));
  const cx second = cxi_mul(element(a, 0, 1), minor_of(a, 1, 0, 2));
  const cx third = cxi_mul(element(a, 0, 2), minor_of(a, 1, 0, 1));
  return cxi_add(cxi_sub(first, second), third);
}
