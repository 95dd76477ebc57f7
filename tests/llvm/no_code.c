/* no_code.c - a library of this build that never makes any code. */
#include "backends/cpu/plugin.h"
#include "base/build.h"

static bool open(const cxi_plugin_host *host, const char **why) {
  (void)host;
  *why = "";
  return true;
}

static bool generate(const cxi_unit *loop, cxi_object *out, const char **why) {
  (void)loop;
  *out = (cxi_object){ 0 };
  *why = "none today";
  return false;
}

__attribute__((visibility("default"))) const cxi_plugin *cxi_plugin_table(void);
const cxi_plugin *cxi_plugin_table(void) {
  static cxi_plugin table;
  table = (cxi_plugin){ .version = CXI_PLUGIN_VERSION,
                        .signature = cxi_plugin_signature(),
                        .build = cxi_build_id,
                        .llvm = cxi_build_llvm,
                        .open = open,
                        .generate = generate };
  return &table;
}
