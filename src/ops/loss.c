/* loss.c - cross entropy of logits and integer labels. */
#include "calx/nn.h"
#include "ops/composite.h"

static cx_dims last_axis(cx x) {
  return (cx_dims){ .n = 1, .d = { cxi_rank_at(x) - 1 } };
}
static cx along_rows(cx row, cx x) {
  cx_dims shape = cxi_shape_at(x);
  return cxi_broadcast_in_dim(row, shape, cxi_dims_range(0, shape.n - 1));
}
static cx sum_all(cx x) {
  return cxi_reduce_sum(x, cxi_dims_range(0, cxi_rank_at(x)));
}
static cx is_valid(cx labels, double ignore) {
  return cxi_compare(CXI_PRIM_ne, labels,
                     cxi_integer(cxi_dtype_at(labels), (int64_t)ignore));
}
/* logits (..., n), labels (...) -> mean over valid labels of
 * log(sum(exp(logits))) - logits[label].
 * Residuals: logits, labels, log of the sums, number of valid labels. */
static void forward(const cx *in, double ignore, cx *out) {
  cx x = in[0], labels = in[1];
  cx top = cxi_stop_gradient(cxi_reduce(CXI_PRIM_reduce_max, x, last_axis(x)));
  cx e = cxi_unary(CXI_PRIM_exp, cxi_sub(x, along_rows(top, x)));
  cx sums = cxi_reduce_sum(e, last_axis(e));
  cx log_sum = cxi_add(cxi_unary(CXI_PRIM_log, sums), top);
  cx valid = is_valid(labels, ignore);
  cx safe = cxi_select(valid, cxi_zeros(cxi_type_at(labels)), labels);
  cx each = cxi_sub(log_sum, cxi_pick(x, safe));
  each = cxi_select(valid, cxi_zeros(cxi_type_at(each)), each);
  cx count = sum_all(cxi_convert(valid, cxi_dtype_at(x)));
  out[0] = cxi_div(sum_all(each), count);
  out[1] = x, out[2] = labels, out[3] = log_sum, out[4] = count;
}
/* (softmax(logits) - one_hot(label)) ct / count in the valid rows */
static void backward(const cx *r, cx ct, double ignore, cx *ct_in) {
  cx x = r[0], labels = r[1], log_sum = r[2], count = r[3];
  cx_dims shape = cxi_shape_at(x);
  cx p = cxi_unary(CXI_PRIM_exp, cxi_sub(x, along_rows(log_sum, x)));
  cx hit = cxi_compare(CXI_PRIM_eq, along_rows(labels, x),
                       cxi_iota(cxi_dtype_at(labels), shape, shape.n - 1));
  cx g = cxi_mul(cxi_sub(p, cxi_convert(hit, cxi_dtype_at(x))),
                 cxi_div(ct, count));
  ct_in[0] = cxi_select(along_rows(is_valid(labels, ignore), x),
                        cxi_zeros(cxi_type_at(x)), g);
}
cx cx_cross_entropy_(cx logits, cx labels, int64_t ignore, const char *at) {
  cxi_name before = cxi_enter(at);
  cx in[2] = { logits, labels }, poison;
  if (!cxi_operand("cross_entropy", &in[0], &poison) ||
      !cxi_operand("cross_entropy", &in[1], &poison))
    return cxi_leave(before, poison);
  cx_dims rows = cxi_shape_at(in[0]), own = cxi_shape_at(in[1]);
  rows.n--;
  cx_dtype type = cxi_dtype_at(in[0]), label_type = cxi_dtype_at(in[1]);
  cxi_kind kind = cxi_dtype_kind(label_type);
  if (rows.n < 0 || !cxi_dims_equal(&rows, &own) || !cxi_dtype_is_float(type) ||
      (kind != CXI_SIGNED && kind != CXI_UNSIGNED))
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE,
                         "cross_entropy: needs floating logits "
                         "(..., n) and integer labels (...), got %s and %s",
                         cxi_shown_of(in[0]).text, cxi_shown_of(in[1]).text));
  if (cxi_dtype_bytes(type) == 2) in[0] = cxi_convert(in[0], CX_F32);
  if (cxi_dtype_bytes(label_type) < 4) in[1] = cxi_convert(in[1], CX_I32);
  const cxi_composite c = { "cross_entropy", (double)ignore, 2, 4,
                            forward,         backward };
  return cxi_leave(before, cxi_convert(cxi_composite_emit(&c, in), type));
}
