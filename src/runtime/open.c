/* open.c - cx_open: devices by name. */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "runtime/devices.h"

static bool jit_disabled(void) {
  const char *value = getenv("CX_DISABLE_JIT");
  return value && value[0] && strcmp(value, "0") != 0;
}

const cxi_device *cxi_device_find(const char *name, cxi_error *error) {
  if (!name || !strcmp(name, "cpu") || !strcmp(name, "cpu:0"))
    return &cxi_cpu_device;
  if (!strcmp(name, "reference")) return &cxi_reference_device;
  if (!strncmp(name, "cuda", 4))
    cxi_error_set(error, CX_EDEVICE,
                  "open(\"%s\"): this build has no CUDA device", name);
  else
    cxi_error_set(error, CX_EDEVICE,
                  "open: no device is called \"%s\" (cpu, reference)", name);
  return NULL;
}

cx_ctx *cx_open_(const char *name, cx_open_opt opt) {
  cxi_error error = { 0 };
  if (jit_disabled() && name && !strncmp(name, "cpu", 3)) name = "reference";
  const cxi_device *device = cxi_device_find(name, &error);
  if (device && (opt.loops < CX_LOOPS_DEFAULT || opt.loops > CX_LOOPS_WAIT)) {
    cxi_error_set(&error, CX_EUSER, "open: .loops is %d, which is no cx_loops",
                  (int)opt.loops);
    device = NULL;
  }
  if (!device) {
    cxi_report_error(NULL, &error);
    return NULL;
  }
  if (opt.threads <= 0) opt.threads = cxi_pool_max_threads();
  cx_ctx *ctx = cxi_context_make(device, opt);
  if (ctx)
    cx_use(ctx);
  else
    cxi_report_memory();
  return ctx;
}
