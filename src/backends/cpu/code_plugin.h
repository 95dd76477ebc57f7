/* code_plugin.h - the library that generates code, opened on the first need. */
#ifndef CXI_CPU_CODE_PLUGIN_H
#define CXI_CPU_CODE_PLUGIN_H

#include "backends/cpu/plugin.h"

/* NULL, and why, if it cannot be had; for good. From any thread. */
const cxi_plugin *cxi_code_plugin(const char **out_why);
/* The version of LLVM: that of the open library, else what this build found. */
const char *cxi_code_llvm(void);

#endif
