/* machine.h - from a module to code that lies anywhere: targets, passes. */
#ifndef CXI_MACHINE_H
#define CXI_MACHINE_H

#include <llvm-c/Core.h>

#include "backends/cpu/plugin.h"

/* Opens LLVM for code of this machine; false with a reason. Once. */
bool cxi_machine_open(const cxi_target *target, const char **out_why);
const char *cxi_machine_version(void); /* of LLVM, "19.1.7" */

/* Code with its constants. */
typedef struct cxi_machine_code {
  unsigned char *bytes; /* pages of their own */
  size_t size, entry, pages;
} cxi_machine_code;
/* The function `name` of the module as code that holds no address and refers
 * to nothing outside; false if LLVM cannot, *why says what. LLVM's passes run
 * over it, unless it `is_final`. The module is not consumed. From several
 * threads at once. */
bool cxi_machine_make(LLVMModuleRef module, bool is_final, const char *name,
                      cxi_machine_code *out, const char **why);
void cxi_machine_free(cxi_machine_code *code);

/* The module as assembly for a target, to be freed with LLVMDisposeMessage;
 * NULL if LLVM has none such. */
char *cxi_machine_assemble(LLVMModuleRef module, bool is_final,
                           const cxi_target *target);

#endif
