/* custom.h - what the rows with derivatives of their own share. */
#ifndef CXI_CUSTOM_H
#define CXI_CUSTOM_H

#include "primitives/call.h"

/* A function with a program for its reverse mode:
 *   fwd: x -> (y, residuals)
 *   bwd: (residuals, cotangents of floating y) -> cotangents of floating x
 * fwd and bwd may both be NULL. */
typedef struct cxi_custom {
  const cxi_program *body, *fwd, *bwd;
  cxi_name name; /* of the function, for errors */
} cxi_custom;

uint32_t cxi_count_floats(uint32_t n, const cxi_type *types);
/* Checks p against its ends: n_in inputs and the first n_out outputs. */
bool cxi_custom_infer_program(cxi_infer *c, const char *what,
                              const cxi_program *p, uint32_t n_in,
                              const cxi_type *in, uint32_t n_out,
                              const cxi_type *out);
bool cxi_custom_infer(cxi_infer *c, const cxi_custom *f);
/* fwd called, and custom_lin of its residuals and the tangents. */
void cxi_custom_jvp(const cxi_rule *r, const cxi_custom *f, const cx *in,
                    const cx *dx, cx *out, cx *dout);
/* The programs batched, with one answer about which results are; false after
 * reporting. */
bool cxi_custom_batch(const cxi_rule *r, const cxi_custom *f, const int *axis,
                      int64_t size, cxi_custom *out, bool *batched_out);

#endif
