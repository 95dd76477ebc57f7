/* product.c - matrix products. */
#include "calx/product.h"

#include "ops/ops.h"

static cx_dims list(int n, int64_t first) {
  return cxi_dims_range(first, first + n);
}
static cx_dtype result_type(cx a, cx_dot_opt opt) {
  return opt.out ? opt.out : cxi_dtype_at(a);
}

/* A vector is a row on the left, a column on the right. */
static bool as_matrices(cx *a, cx *b, bool *row, bool *column, cx *out_poison) {
  cx shown_a = *a, shown_b = *b;
  *row = cxi_rank_at(*a) == 1, *column = cxi_rank_at(*b) == 1;
  if (cxi_rank_at(*a) == 0 || cxi_rank_at(*b) == 0) {
    *out_poison =
        cxi_fail(CX_ESHAPE, "matmul: needs at least one axis: %s @ %s",
                 cxi_shown_of(*a).text, cxi_shown_of(*b).text);
    return false;
  }
  if (*row) *a = cxi_expand_dims(*a, list(1, 0));
  if (*column) *b = cxi_expand_dims(*b, list(1, 1));
  if (cxi_is_poison(*a) || cxi_is_poison(*b)) {
    *out_poison = cxi_is_poison(*a) ? *a : *b;
    return false;
  }
  cx_dims s = cxi_shape_at(*a), t = cxi_shape_at(*b);
  if (s.d[s.n - 1] == t.d[t.n - 2]) return true;
  *out_poison =
      cxi_fail(CX_ESHAPE, "matmul: inner sizes differ: %s @ %s",
               cxi_shown_of(shown_a).text, cxi_shown_of(shown_b).text);
  return false;
}
/* The leading axes of both broadcast to one shape. */
static bool batch_shape(cx a, cx b, cx_dims *out, cx *out_poison) {
  cx_dims s = cxi_shape_at(a), t = cxi_shape_at(b);
  cx_dims longer = s.n >= t.n ? s : t;
  *out = (cx_dims){ .n = longer.n - 2 };
  for (int i = 0; i < out->n; i++) {
    int p = s.n - longer.n + i, q = t.n - longer.n + i;
    int64_t d = p < 0 ? 1 : s.d[p], e = q < 0 ? 1 : t.d[q];
    if (d != e && d != 1 && e != 1) {
      *out_poison = cxi_fail(CX_ESHAPE, "matmul: leading axes differ: %s @ %s",
                             cxi_shown_of(a).text, cxi_shown_of(b).text);
      return false;
    }
    out->d[i] = d == 1 ? e : d;
  }
  return true;
}
static cx with_batch(cx a, cx_dims batch) {
  cx_dims s = cxi_shape_at(a), shape = batch;
  shape = cxi_dims_append(shape, s.d[s.n - 2]);
  return cxi_broadcast_to(a, cxi_dims_append(shape, s.d[s.n - 1]));
}
static cx product(cx a, cx b, cx_dtype type, cx *out_poison) {
  int ra = cxi_rank_at(a), rb = cxi_rank_at(b);
  cxi_dot_general_params p = { .lhs_contract = list(1, ra - 1), .type = type };
  cx_dims batch;
  if (rb == 2) { /* the rows of a are all free */
    p.rhs_contract = list(1, 0);
    return cxi_dot_general(a, b, (cx){ 0, 0 }, &p);
  }
  if (ra == 2) { /* (m, batch..., n) -> (batch..., m, n) */
    p.rhs_contract = list(1, rb - 2);
    return cxi_move_axis(cxi_dot_general(a, b, (cx){ 0, 0 }, &p), 0, rb - 2);
  }
  if (!batch_shape(a, b, &batch, out_poison)) return *out_poison;
  p.lhs_contract = list(1, batch.n + 1), p.rhs_contract = list(1, batch.n);
  p.lhs_batch = p.rhs_batch = list(batch.n, 0);
  return cxi_dot_general(with_batch(a, batch), with_batch(b, batch),
                         (cx){ 0, 0 }, &p);
}
cx cx_matmul_(const cx *two, cx_dot_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  cx ab[2], poison;
  bool row, column;
  if (!cxi_list_given("matmul", 2, two, &poison))
    return cxi_leave(before, poison);
  ab[0] = two[0], ab[1] = two[1];
  if (!cxi_promote("matmul", 2, ab, &poison) ||
      !as_matrices(&ab[0], &ab[1], &row, &column, &poison))
    return cxi_leave(before, poison);
  cx y = product(ab[0], ab[1], result_type(ab[0], opt), &poison);
  int n = cxi_rank_at(y);
  cx_dims drop = { .n = 0 };
  if (row) drop = cxi_dims_append(drop, n - 2);
  if (column) drop = cxi_dims_append(drop, n - 1);
  return cxi_leave(before, drop.n && cxi_given(y) ? cxi_squeeze(y, drop) : y);
}
cx cx_dot_general_(const char *at, cx a, cx b, cx_dot_dims dims,
                   cx_dot_opt opt) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx ab[2] = { a, b }, poison;
  if (!cxi_promote("dot_general", 2, ab, &poison)) return poison;
  cxi_dot_general_params p = {
    .lhs_contract = cxi_dims_given(dims.contract_a),
    .rhs_contract = cxi_dims_given(dims.contract_b),
    .lhs_batch = cxi_dims_given(dims.batch_a),
    .rhs_batch = cxi_dims_given(dims.batch_b),
    .type = result_type(ab[0], opt),
  };
  return cxi_dot_general(ab[0], ab[1], (cx){ 0, 0 }, &p);
}
