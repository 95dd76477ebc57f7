/* other_build.c - a library that fits in all but the sources it is of. */
#include "backends/cpu/plugin.h"

static bool open(const cxi_plugin_host *host, const char **why) {
  (void)host;
  *why = "opened in spite of its build";
  return false;
}

__attribute__((visibility("default"))) const cxi_plugin *cxi_plugin_table(void);
const cxi_plugin *cxi_plugin_table(void) {
  static cxi_plugin table;
  table = (cxi_plugin){ .version = CXI_PLUGIN_VERSION,
                        .signature = cxi_plugin_signature(),
                        .build = "00000000000000000000000000000000",
                        .llvm = "19.1.0",
                        .open = open };
  return &table;
}
