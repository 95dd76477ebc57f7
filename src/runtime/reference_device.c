/* reference_device.c - the device that runs every program by the rows' plain
 * C: the oracle, chosen as "reference" or by CX_DISABLE_JIT=1. */
#include <string.h>

#include "backends/cpu/code.h"
#include "backends/reference/reference.h"
#include "runtime/devices.h"

static bool run_nothing(cxi_eval *eval, const cxi_program *p,
                        const cxi_view *in, const bool *give, cxi_view *out) {
  (void)p, (void)in, (void)give, (void)out;
  return cxi_error_set(eval->error, CX_ETRACE, "a program needs to be run");
}

static void release_nothing(cxi_eval *eval, cxi_view *owned) {
  (void)eval, (void)owned;
}

bool cxi_reference_apply(cx_ctx *ctx, cxi_prim prim, const void *params,
                         uint32_t n_in, const cxi_view *in, uint32_t n_out,
                         cxi_view *out, cxi_error *error) {
  (void)ctx;
  cxi_eval eval = { .row = cxi_row_of(prim),
                    .params = params,
                    .n_in = n_in,
                    .n_out = n_out,
                    .run = run_nothing,
                    .release = release_nothing,
                    .error = error };
  return cxi_evaluate(&eval, in, out);
}

static cxi_array *array_of(cx_ctx *ctx, const cxi_view *view) {
  cxi_array *a = cxi_array_make(cxi_type_of(&view->type), ctx->account);
  if (a && cxi_array_bytes(a)) memcpy(a->data, view->data, cxi_array_bytes(a));
  return a;
}

bool cxi_reference_run_arrays(cx_ctx *ctx, const cxi_program *p,
                              const cxi_view *in, cxi_array **out,
                              cxi_error *error) {
  const cxi_mark mark = cxi_scratch_mark();
  cxi_view *views = cxi_scratch(p->n_out * sizeof *views + 1);
  bool good = views && cxi_reference_run(p, in, NULL, views, error);
  if (!views) cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (good) {
    bool all = true;
    for (uint32_t i = 0; i < p->n_out; i++) {
      out[i] = array_of(ctx, &views[i]);
      all &= out[i] != NULL;
      cxi_buffer_free(views[i].data);
    }
    if (!all) {
      for (uint32_t i = 0; i < p->n_out; i++) cxi_array_release(out[i]);
      good = cxi_error_set(error, CX_EMEMORY, "out of memory");
    }
  }
  cxi_scratch_reset(mark);
  return good;
}

const cxi_device cxi_reference_device = { "reference", cxi_reference_apply,
                                          NULL,        cxi_reference_run_arrays,
                                          NULL,        cxi_code_settle };
