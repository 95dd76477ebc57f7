/* generate_elementwise.c - elementwise equations that have parameters, or whose
 * operands depend on each other. */
#include "support/generate.h"

static bool some_pow(gen *g, cxi_prim prim) {
  const cxi_integer_pow_params p = { .y = (int64_t)gen_draw(g, 9) - 3 };
  const cx x = gen_pick(g, CXI_ACCEPT_NUMBER, 0);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_round(gen *g, cxi_prim prim) {
  const cxi_round_params p = { .away = gen_draw(g, 2) };
  const cx x = gen_pick(g, CXI_ACCEPT_FLOAT, 0);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_precision(gen *g, cxi_prim prim) {
  const cxi_reduce_precision_params p = { .exponent_bits =
                                              1 + (int64_t)gen_draw(g, 11),
                                          .mantissa_bits = gen_draw(g, 53) };
  const cx x = gen_pick(g, CXI_ACCEPT_FLOAT, 0);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_convert(gen *g, cxi_prim prim) {
  const cxi_convert_params p = { .type = gen_dtype(g, CXI_ACCEPT_ORDERED) };
  const cx x = gen_pick(g, CXI_ACCEPT_ORDERED, 0);
  return gen_emit(g, prim, &p, 1, &x);
}

/* The bits of a NaN are nobody's promise: there are none here. */
static bool some_bitcast(gen *g, cxi_prim prim) {
  const cxi_bitcast_params p = { .type = gen_dtype(g, CXI_ACCEPT_NUMBER) };
  cx x = gen_pick(g, CXI_ACCEPT_NUMBER, 0);
  if (cxi_type_is_float(cxi_type_at(x)))
    x = cxi_select(cxi_compare(CXI_PRIM_eq, x, x), cxi_number_like(x, 1), x);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_name(gen *g, cxi_prim prim) {
  const cxi_name_params p = { .name = cxi_name_of("kept") };
  const cx x = gen_pick(g, CXI_ACCEPT_ANY, 0);
  return gen_emit(g, prim, &p, 1, &x);
}

/* Strictly between its bounds or beyond one: at a tie there is no derivative
 * to compare. */
static bool some_clamp(gen *g, cxi_prim prim) {
  const cx x = gen_pick(g, CXI_ACCEPT_NUMBER, 0);
  const cx_dims shape = gen_draw(g, 2) ? cxi_shape_at(x) : (cx_dims){ 0 };
  const cx lo = gen_of(g, cxi_dtype_at(x), shape);
  if (!cxi_type_is_float(cxi_type_at(x)))
    return gen_emit(g, prim, NULL, 3, (const cx[]){ lo, x, cxi_max(lo, lo) });
  const cx in[3] = { lo, cxi_offset(cxi_scale(x, 1.375), 0.0625),
                     cxi_offset(lo, 0.5) };
  return gen_emit(g, prim, NULL, 3, in);
}

gen_maker *gen_elementwise_of(cxi_prim prim) {
  static gen_maker *const makers[CXI_N_PRIMS] = {
    [CXI_PRIM_integer_pow] = some_pow,
    [CXI_PRIM_round] = some_round,
    [CXI_PRIM_reduce_precision] = some_precision,
    [CXI_PRIM_convert] = some_convert,
    [CXI_PRIM_bitcast] = some_bitcast,
    [CXI_PRIM_clamp] = some_clamp,
    [CXI_PRIM_name] = some_name,
  };
  return makers[prim];
}
