/* machine.h - from a module to code in memory: targets, passes, objects. */
#ifndef CXI_MACHINE_H
#define CXI_MACHINE_H

#include <llvm-c/Core.h>

#include "backends/cpu/plugin.h"

/* Opens LLVM for code of this process; false with a reason. Once. */
bool cxi_machine_open(const cxi_target *target, const char **out_why);
const cxi_target *cxi_machine_target(void);

/* The function `name` of the module as code of this process, and a handle to
 * give back; NULL if LLVM cannot. The module is not consumed. */
void *cxi_machine_load(LLVMModuleRef module, const char *name,
                       void **out_owner);
void cxi_machine_unload(void *owner);

/* The module as assembly for a target, to be freed with LLVMDisposeMessage;
 * NULL if LLVM has none such. */
char *cxi_machine_assemble(LLVMModuleRef module, const cxi_target *target);

#endif
