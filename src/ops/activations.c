/* activations.c - activation functions made of the elementary ones.
 *
 * Where two pieces meet, the one that holds there decides the derivative, as
 * in jax.nn; the piece that is not taken sees a harmless operand. */
#include "ops/ops.h"

static cx unary(cxi_prim prim, cx x) {
  return cxi_unary(prim, x);
}
static cx like(cx x, double number) {
  return cxi_full(cxi_type_at(x), number);
}
static cx compare(cxi_prim prim, cx x, double number) {
  return cxi_compare(prim, x, cxi_number_like(x, number));
}

/* x above 0, else scale (e^x - 1): Clevert et al. 2015, arXiv:1511.07289 */
static cx elu(cx x, double scale) {
  cx above = compare(CXI_PRIM_gt, x, 0);
  cx below = unary(CXI_PRIM_expm1, cxi_select(above, x, like(x, 0)));
  return cxi_select(above, cxi_scale(below, scale), x);
}
/* max(x, 0) + min(0, e^x - 1): Barron 2017, arXiv:1704.07483, alpha 1 */
static cx celu(cx x) {
  cx zero = cxi_number_like(x, 0);
  return cxi_add(cxi_max(x, zero), unary(CXI_PRIM_expm1, cxi_min(x, zero)));
}
static cx softplus(cx x) {
  return cxi_op_unary(CX_OP_SOFTPLUS, x);
}
static cx leaky_relu(cx x) {
  return cxi_select(compare(CXI_PRIM_ge, x, 0), cxi_scale(x, 0.01), x);
}
static cx relu6(cx x) {
  x = cxi_max(x, cxi_number_like(x, 0));
  return cxi_min(x, cxi_number_like(x, 6));
}
static cx hard_tanh(cx x) {
  x = cxi_select(compare(CXI_PRIM_lt, x, -1), x, like(x, -1));
  return cxi_select(compare(CXI_PRIM_gt, x, 1), x, like(x, 1));
}
static cx hard_sigmoid(cx x) {
  return cxi_div(relu6(cxi_offset(x, 3)), cxi_number_like(x, 6));
}
static cx soft_sign(cx x) {
  return cxi_div(x, cxi_offset(unary(CXI_PRIM_abs, x), 1));
}
static cx squareplus(cx x) {
  cx root = unary(CXI_PRIM_sqrt, cxi_offset(unary(CXI_PRIM_square, x), 4));
  return cxi_div(cxi_add(x, root), cxi_number_like(x, 2));
}
static cx sparse_plus(cx x) {
  cx middle = cxi_scale(unary(CXI_PRIM_square, cxi_offset(x, 1)), 0.25);
  cx from_one = cxi_select(compare(CXI_PRIM_ge, x, 1), middle, x);
  return cxi_select(compare(CXI_PRIM_le, x, -1), from_one, like(x, 0));
}
static cx sparse_sigmoid(cx x) {
  cx sum = cxi_offset(x, 1);
  cx clipped = cxi_clamp(cxi_number_like(x, 0), sum, cxi_number_like(x, 2));
  return cxi_scale(clipped, 0.5);
}

cx cxi_activation(cx_op op, cx x) {
  switch (op) {
  case CX_OP_ELU:
    return elu(x, 1);
  case CX_OP_SELU: /* Klambauer et al. 2017, arXiv:1706.02515, eq. 14 */
    return cxi_scale(elu(x, 1.6732632423543772), 1.0507009873554805);
  case CX_OP_CELU:
    return celu(x);
  case CX_OP_LOG_SIGMOID:
    return cxi_neg(softplus(cxi_neg(x)));
  case CX_OP_LEAKY_RELU:
    return leaky_relu(x);
  case CX_OP_RELU6:
    return relu6(x);
  case CX_OP_HARD_TANH:
    return hard_tanh(x);
  case CX_OP_HARD_SIGMOID:
    return hard_sigmoid(x);
  case CX_OP_HARD_SILU:
    return cxi_mul(x, hard_sigmoid(x));
  case CX_OP_SOFT_SIGN:
    return soft_sign(x);
  case CX_OP_MISH: /* Misra 2019, arXiv:1908.08681 */
    return cxi_mul(x, unary(CXI_PRIM_tanh, softplus(x)));
  case CX_OP_SQUAREPLUS: /* Barron 2021, arXiv:2112.11687 */
    return squareplus(x);
  case CX_OP_SPARSE_PLUS:
    return sparse_plus(x);
  case CX_OP_SPARSE_SIGMOID:
    return sparse_sigmoid(x);
  default:
    return cxi_fail(CX_ENORULE, "%s: no such operation", cxi_op_name(op));
  }
}
