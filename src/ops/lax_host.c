/* lax_host.c - functions of the host. */
#include "ops/lax.h"

bool cxi_callback(const cxi_callback_params *params, uint32_t n_in,
                  const cx *in, uint32_t n_out, cx *out) {
  return cxi_emit(CXI_PRIM_callback, params, n_in, in, n_out, out);
}

bool cxi_debug_print(cxi_name format, uint32_t n, const cx *in) {
  const cxi_debug_print_params p = { .format = format };
  return cxi_emit(CXI_PRIM_debug_print, &p, n, in, 0, NULL);
}

bool cxi_check(cxi_name message, uint32_t n, const cx *in) {
  const cxi_check_params p = { .message = message };
  return cxi_emit(CXI_PRIM_check, &p, n, in, 0, NULL);
}
