/* machine.c - from a module to code in memory: targets, passes, objects. */
#include "backends/llvm/machine.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* Variables to registers, the same address once, constants out of loops. None
 * of these changes what an operation on numbers gives. */
static const char passes[] =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
    "fixpoint>,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

static cxi_target target;
static LLVMTargetMachineRef machine;
static LLVMOrcLLJITRef jit;

static bool failed(LLVMErrorRef error) {
  if (error) LLVMConsumeError(error);
  return error != NULL;
}

/* -- targets --------------------------------------------------------------- */

static LLVMTargetMachineRef make_machine(const cxi_target *t) {
  char *triple =
      t->triple ? LLVMCreateMessage(t->triple) : LLVMGetDefaultTargetTriple();
  char *text = NULL;
  LLVMTargetRef found;
  LLVMTargetMachineRef made = NULL;
  if (!LLVMGetTargetFromTriple(triple, &found, &text))
    made = LLVMCreateTargetMachine(found, triple, t->cpu, "",
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                   LLVMCodeModelDefault);
  else
    LLVMDisposeMessage(text);
  LLVMDisposeMessage(triple);
  return made;
}

bool cxi_machine_open(const cxi_target *wanted, const char **out_why) {
  target = *wanted;
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  machine = make_machine(&target);
  *out_why = "LLVM has no code for this machine";
  if (!machine) return false;
  *out_why = "LLVM cannot load code into this process";
  if (failed(LLVMOrcCreateLLJIT(&jit, NULL))) return false;
  LLVMOrcDefinitionGeneratorRef process;
  if (failed(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
          &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL)))
    return false;
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), process);
  return true;
}

const cxi_target *cxi_machine_target(void) {
  return &target;
}

/* -- passes ---------------------------------------------------------------- */

static bool optimise(LLVMModuleRef module, LLVMTargetMachineRef for_machine) {
  char *triple = LLVMGetTargetMachineTriple(for_machine);
  LLVMSetTarget(module, triple);
  LLVMDisposeMessage(triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(for_machine);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  const bool good =
      !failed(LLVMRunPasses(module, passes, for_machine, options));
  LLVMDisposePassBuilderOptions(options);
  return good;
}

/* -- code in this process -------------------------------------------------- */

void *cxi_machine_load(LLVMModuleRef module, const char *name,
                       void **out_owner) {
  LLVMMemoryBufferRef object;
  char *text = NULL;
  if (!optimise(module, machine)) return NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile,
                                          &text, &object)) {
    LLVMDisposeMessage(text);
    return NULL;
  }
  LLVMOrcResourceTrackerRef tracker =
      LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit));
  LLVMOrcExecutorAddress address = 0;
  if (failed(LLVMOrcLLJITAddObjectFileWithRT(jit, tracker, object)) ||
      failed(LLVMOrcLLJITLookup(jit, &address, name))) {
    cxi_machine_unload(tracker);
    return NULL;
  }
  *out_owner = tracker;
  return (void *)(uintptr_t)address;
}

void cxi_machine_unload(void *owner) {
  LLVMOrcResourceTrackerRef tracker = owner;
  failed(LLVMOrcResourceTrackerRemove(tracker));
  LLVMOrcReleaseResourceTracker(tracker);
}

/* -- code for elsewhere ---------------------------------------------------- */

char *cxi_machine_assemble(LLVMModuleRef module, const cxi_target *wanted) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMTargetMachineRef other = make_machine(wanted);
  LLVMMemoryBufferRef buffer;
  char *text = NULL;
  if (!other) return NULL;
  if (!optimise(module, other) ||
      LLVMTargetMachineEmitToMemoryBuffer(other, module, LLVMAssemblyFile,
                                          &text, &buffer)) {
    if (text) LLVMDisposeMessage(text);
    text = NULL;
  } else {
    text = LLVMCreateMessage(LLVMGetBufferStart(buffer));
    LLVMDisposeMemoryBuffer(buffer);
  }
  LLVMDisposeTargetMachine(other);
  return text;
}
