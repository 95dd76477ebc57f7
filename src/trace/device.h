/* device.h - what runs programs; runtime/ implements it. */
#ifndef CXI_DEVICE_H
#define CXI_DEVICE_H

#include "base/view.h"
#include "trace/context.h"

struct cxi_device {
  const char *name;
  /* One equation at once: out[] are dense views to be filled. */
  bool (*apply)(cx_ctx *, cxi_prim, const void *params, uint32_t n_in,
                const cxi_view *in, uint32_t n_out, cxi_view *out,
                cxi_error *error);
  /* Is it faster as a program? Asked of what is large; NULL: never. */
  bool (*as_program)(cxi_prim, uint32_t n_in, const cxi_view *in,
                     uint32_t n_out, const cxi_type *out);
  /* A program at once; out[i] becomes a new array. */
  bool (*run)(cx_ctx *, const cxi_program *, const cxi_view *in,
              cxi_array **out, cxi_error *error);
  const struct cxi_backend *backend; /* NULL: it does not compile */
  void (*settle)(void); /* the last context was closed; NULL: nothing to do */
};

/* While cx_checks is on, called with the results of p: false, with the poison
 * of the report, if an equation makes a NaN that is in the results while no
 * input has one, or has an index that is out of range; the report names the
 * first such equation, at its source line. runtime/checks.c */
bool cxi_check_results(cx_ctx *ctx, const cxi_program *p, const void *const *in,
                       cxi_array *const *out, cx *out_poison);
bool cxi_has_nan(cxi_type type, const void *data);

/* The emitter of plain operations: infer, then the device's apply, or its run
 * of a program of the one equation. */
void cxi_eager_emitter(cxi_emitter *out);

/* The device called `name` of this process, or NULL with *error. */
const cxi_device *cxi_device_find(const char *name, cxi_error *error);

#endif
