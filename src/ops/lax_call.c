/* lax_call.c - calls and what holds equations in their place. */
#include "ops/lax.h"

bool cxi_call(const cxi_program *body, const cx *in, cx *out) {
  const cxi_jit_params p = { .body = body };
  return cxi_emit(CXI_PRIM_jit, &p, body->n_in, in, body->n_out, out);
}

void cxi_optimization_barrier(uint32_t n, const cx *in, cx *out) {
  if (n > 0) cxi_emit(CXI_PRIM_optimization_barrier, NULL, n, in, n, out);
}
