/* wrong_plugin.c - a library such as an older Calx would have brought. */
#include "backends/cpu/plugin.h"

__attribute__((visibility("default"))) const cxi_plugin *cxi_plugin_table(void);
const cxi_plugin *cxi_plugin_table(void) {
  static const cxi_plugin table = { .version = 0 };
  return &table;
}
