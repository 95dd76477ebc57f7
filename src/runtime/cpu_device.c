/* cpu_device.c - the CPU: single equations by its kernels, or, if they are
 * large, as programs; programs compiled for tier 0 and kept. */
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

/* Elements of operands and results from which the plain evaluation of an
 * equation costs more than compiling it. */
enum { LARGE = 1 << 11 };
/* For so many there is no memory, which the plain way says at once. */
#define MOST (INT64_C(1) << 48)

static int64_t add_elements(int64_t n, const cx_dims *shape) {
  const int64_t more = cxi_dims_count(shape);
  return n < MOST && more < MOST ? n + more : MOST;
}

static bool as_program(cxi_prim prim, uint32_t n_in, const cxi_view *in,
                       uint32_t n_out, const cxi_type *out) {
  const cxi_row *row = cxi_row_of(prim);
  int64_t n = 0;
  for (uint32_t k = 0; k < n_in; k++) n = add_elements(n, &in[k].type.shape);
  for (uint32_t k = 0; k < n_out; k++)
    n = add_elements(n, &cxi_type_aval(out[k])->shape);
  return n >= LARGE && n < MOST && row->form != CXI_FORM_HOST &&
         row->form != CXI_FORM_NEVER &&
         !(n_out == 1 &&
           cxi_cpu_evaluates(row, n_in, in, n_out, cxi_type_aval(out[0])));
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

const cxi_device cxi_cpu_device = {
  "cpu", apply, as_program, run, &cxi_cpu_backend, cxi_code_settle
};
