/* lax_elementwise.c - the elementwise operations of rules. */
#include "ops/lax.h"

/* What primitives without parameters are given. */
static const cxi_neg_params no_params;

cx cxi_unary(cxi_prim prim, cx x) {
  return cxi_emit1(prim, &no_params, 1, &x);
}

cx cxi_binary(cxi_prim prim, cx a, cx b) {
  return cxi_emit1(prim, &no_params, 2, (cx[]){ a, b });
}

cx cxi_compare(cxi_prim prim, cx a, cx b) {
  return cxi_binary(prim, a, b);
}

cx cxi_select(cx which, cx if_false, cx if_true) {
  return cxi_select_n(which, 2, (cx[]){ if_false, if_true });
}

cx cxi_select_n(cx which, uint32_t n, const cx *cases) {
  cxi_mark mark = cxi_scratch_mark();
  cx *in = cxi_scratch((n + 1) * sizeof *in);
  if (!in) return cxi_fail(CX_EMEMORY, "no memory for the cases of a select");
  in[0] = which;
  for (uint32_t i = 0; i < n; i++) in[i + 1] = cases[i];
  cx out = cxi_emit1(CXI_PRIM_select, &no_params, n + 1, in);
  cxi_scratch_reset(mark);
  return out;
}

cx cxi_clamp(cx lo, cx x, cx hi) {
  return cxi_emit1(CXI_PRIM_clamp, &no_params, 3, (cx[]){ lo, x, hi });
}

cx cxi_integer_pow(cx x, int64_t y) {
  if (y == 1) return x;
  cxi_integer_pow_params params = { .y = y };
  return cxi_emit1(CXI_PRIM_integer_pow, &params, 1, &x);
}

cx cxi_round(cx x, bool away) {
  cxi_round_params params = { .away = away };
  return cxi_emit1(CXI_PRIM_round, &params, 1, &x);
}

cx cxi_reduce_precision(cx x, int64_t exponent_bits, int64_t mantissa_bits) {
  const cxi_reduce_precision_params params = {
    .exponent_bits = exponent_bits,
    .mantissa_bits = mantissa_bits,
  };
  return cxi_emit1(CXI_PRIM_reduce_precision, &params, 1, &x);
}

cx cxi_convert(cx x, cx_dtype type) {
  if (cxi_given(x) && cxi_dtype_at(x) == type) return x;
  cxi_convert_params params = { .type = type };
  return cxi_emit1(CXI_PRIM_convert, &params, 1, &x);
}

/* Not x even where it has the type: it passes no derivative. */
cx cxi_bitcast(cx x, cx_dtype type) {
  cxi_bitcast_params params = { .type = type };
  return cxi_emit1(CXI_PRIM_bitcast, &params, 1, &x);
}

cx cxi_scale(cx x, double factor) {
  return factor == 1 ? x : cxi_mul(x, cxi_number_like(x, factor));
}

cx cxi_offset(cx x, double term) {
  return cxi_add(x, cxi_number_like(x, term));
}

cx cxi_number_like(cx x, double number) {
  return cxi_given(x) ? cxi_number(cxi_dtype_at(x), number) : x;
}

cx cxi_stop_gradient(cx x) {
  return cxi_unary(CXI_PRIM_stop_gradient, x);
}

cx cxi_sum_given(cx a, cx b) {
  if (cx_is_none(a)) return b;
  if (cx_is_none(b)) return a;
  return cxi_add(a, b);
}

cx cxi_unbroadcast(cx ct, cxi_type operand) {
  if (!cxi_given(ct) || cxi_type_rank(operand) > 0) return ct;
  return cxi_reduce_sum(ct, cxi_dims_range(0, cxi_rank_at(ct)));
}
