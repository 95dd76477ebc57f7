/* cpu_device.c - the CPU: single equations by its kernels, programs compiled
 * for tier 0 and kept. */
#include "backends/cpu/code.h"
#include "backends/cpu/cpu.h"
#include "runtime/devices.h"
#include "runtime/executables.h"

static bool apply(cx_ctx *ctx, cxi_prim prim, const void *params, uint32_t n_in,
                  const cxi_view *in, uint32_t n_out, cxi_view *out,
                  cxi_error *error) {
  return cxi_cpu_evaluate(cxi_row_of(prim), params, n_in, in, n_out, out,
                          ctx->threads) ||
         cxi_reference_apply(ctx, prim, params, n_in, in, n_out, out, error);
}

static bool run(cx_ctx *ctx, const cxi_program *p, const cxi_view *in,
                cxi_array **out, cxi_error *error) {
  const cxi_mark mark = cxi_scratch_mark();
  const void **data = cxi_scratch(p->n_in * sizeof *data + 1);
  cxi_executable *exe =
      data ? cxi_executable_for(p, &cxi_cpu_backend, NULL, NULL, error) : NULL;
  bool good = false, started;
  if (!data) cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (exe) {
    for (uint32_t i = 0; i < p->n_in; i++) data[i] = in[i].data;
    good = cxi_executable_call(ctx, exe, data, NULL, out, &started, error);
  }
  cxi_executable_release(exe);
  cxi_scratch_reset(mark);
  return good;
}

const cxi_device cxi_cpu_device = { "cpu", apply, run, &cxi_cpu_backend,
                                    cxi_code_settle };
