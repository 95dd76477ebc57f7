/* devices.h - the devices of this build. */
#ifndef CXI_DEVICES_H
#define CXI_DEVICES_H

#include "ir/row.h"
#include "trace/device.h"

extern const cxi_device cxi_reference_device, cxi_cpu_device;

bool cxi_reference_apply(cx_ctx *ctx, cxi_prim prim, const void *params,
                         uint32_t n_in, const cxi_view *in, uint32_t n_out,
                         cxi_view *out, cxi_error *error);
bool cxi_reference_run_arrays(cx_ctx *ctx, const cxi_program *p,
                              const cxi_view *in, cxi_array **out,
                              cxi_error *error);

#endif
