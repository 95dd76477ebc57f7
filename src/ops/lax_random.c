/* lax_random.c - the random operations of rules. */
#include "ops/lax.h"

cx cxi_random_seed(cx seed) {
  return cxi_unary(CXI_PRIM_random_seed, seed);
}

cx cxi_random_wrap(cx words) {
  return cxi_unary(CXI_PRIM_random_wrap, words);
}

cx cxi_random_unwrap(cx keys) {
  return cxi_unary(CXI_PRIM_random_unwrap, keys);
}

cx cxi_random_split(cx key, cx_dims shape) {
  const cxi_random_split_params p = { .shape = shape };
  return cxi_emit1(CXI_PRIM_random_split, &p, 1, &key);
}

cx cxi_random_fold_in(cx keys, cx data) {
  return cxi_binary(CXI_PRIM_random_fold_in, keys, data);
}

cx cxi_random_bits(cx keys, cx_dtype type, cx_dims shape) {
  const cxi_random_bits_params p = { .type = type, .shape = shape };
  return cxi_emit1(CXI_PRIM_random_bits, &p, 1, &keys);
}

void cxi_threefry2x32(const cx in[4], cx out[2]) {
  static const cxi_threefry2x32_params p;
  cxi_emit(CXI_PRIM_threefry2x32, &p, 4, in, 2, out);
}

void cxi_iota_2x32(cx_dims shape, cx out[2]) {
  const cxi_iota_2x32_params p = { .shape = shape };
  cxi_emit(CXI_PRIM_iota_2x32, &p, 0, NULL, 2, out);
}
