/* machine.c - from a module to code that lies anywhere: targets, passes.
 *
 * LLVM writes an object, and its linker puts the sections side by side into
 * memory of ours and resolves what they say of each other. This is done twice,
 * at two addresses: code that is the same both times holds no address. A name
 * of something outside is an error of the linker, which knows none. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "backends/llvm/machine.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/OrcEE.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* For loops: variables to registers, the same address once, constants out of
 * loops. None of these changes what an operation on numbers gives. */
static const char passes[] =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
    "fixpoint>,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

static cxi_target target;
static LLVMOrcLLJITRef jit;
static char version[32];

/* What threads share: machines that none uses, and the linker. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { MOST_MACHINES = 8 };
static LLVMTargetMachineRef idle[MOST_MACHINES];
static int n_idle;

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

/* -- where the linker puts sections ---------------------------------------- */

/* Pages that are filled from the start; the linker, used by one thread at a
 * time, fills those at `filling`. */
typedef struct region {
  unsigned char *base;
  size_t size, used;
} region;
static region *filling;

static void *enter(void *unused) {
  (void)unused;
  return filling;
}

static void leave(void *unused) {
  (void)unused;
}

static unsigned char *place(region *r, uintptr_t size, unsigned alignment) {
  const size_t mask = alignment ? alignment - 1u : 0;
  const size_t at = (r->used + mask) & ~mask;
  if (at > r->size || size > r->size - at) return NULL;
  r->used = at + size;
  return r->base + at;
}

static uint8_t *place_code(void *to, uintptr_t size, unsigned alignment,
                           unsigned id, const char *name) {
  (void)id, (void)name;
  return place(to, size, alignment);
}

static uint8_t *place_data(void *to, uintptr_t size, unsigned alignment,
                           unsigned id, const char *name, LLVMBool constant) {
  (void)id, (void)name, (void)constant;
  return place(to, size, alignment);
}

static LLVMBool finish(void *to, char **out_text) {
  (void)to, (void)out_text;
  return 0;
}

static LLVMOrcObjectLayerRef make_layer(void *unused,
                                        LLVMOrcExecutionSessionRef session,
                                        const char *triple) {
  (void)unused, (void)triple;
  return LLVMOrcCreateRTDyldObjectLinkingLayerWithMCJITMemoryManagerLikeCallbacks(
      session, NULL, enter, leave, place_code, place_data, finish, leave);
}

/* Its words are for nobody: what cannot be linked is refused. */
static void take_error(void *unused, LLVMErrorRef error) {
  (void)unused;
  LLVMConsumeError(error);
}

bool cxi_machine_open(const cxi_target *wanted, const char **out_why) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  snprintf(version, sizeof version, "%u.%u.%u", major, minor, patch);
  target = *wanted;
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  *out_why = "LLVM has no code for this machine";
  idle[0] = make_machine(&target);
  if (!idle[0]) return false;
  n_idle = 1;
  *out_why = "LLVM cannot link code";
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, make_layer, NULL);
  if (failed(LLVMOrcCreateLLJIT(&jit, builder))) return false;
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(jit),
                                          take_error, NULL);
  *out_why = "";
  return true;
}

const char *cxi_machine_version(void) {
  return version;
}

static LLVMTargetMachineRef take_machine(void) {
  pthread_mutex_lock(&lock);
  LLVMTargetMachineRef machine = n_idle ? idle[--n_idle] : NULL;
  pthread_mutex_unlock(&lock);
  return machine ? machine : make_machine(&target);
}

static void give_machine(LLVMTargetMachineRef machine) {
  pthread_mutex_lock(&lock);
  const bool keep = n_idle < MOST_MACHINES;
  if (keep) idle[n_idle++] = machine;
  pthread_mutex_unlock(&lock);
  if (!keep) LLVMDisposeTargetMachine(machine);
}

/* -- passes ---------------------------------------------------------------- */

static void aim(LLVMModuleRef module, LLVMTargetMachineRef for_machine) {
  char *triple = LLVMGetTargetMachineTriple(for_machine);
  LLVMSetTarget(module, triple);
  LLVMDisposeMessage(triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(for_machine);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
}

static bool optimise(LLVMModuleRef module, LLVMTargetMachineRef for_machine) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  const bool good =
      !failed(LLVMRunPasses(module, passes, for_machine, options));
  LLVMDisposePassBuilderOptions(options);
  return good;
}

/* -- code that lies anywhere ----------------------------------------------- */

/* Links a copy of the object into the region, and forgets the object. */
static bool link_into(region *r, LLVMMemoryBufferRef object, const char *name,
                      size_t *out_entry) {
  LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(
      LLVMGetBufferStart(object), LLVMGetBufferSize(object), name);
  LLVMOrcExecutorAddress address = 0;
  pthread_mutex_lock(&lock);
  filling = r;
  LLVMOrcResourceTrackerRef tracker =
      LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit));
  const bool good =
      !failed(LLVMOrcLLJITAddObjectFileWithRT(jit, tracker, copy)) &&
      !failed(LLVMOrcLLJITLookup(jit, &address, name));
  failed(LLVMOrcResourceTrackerRemove(tracker));
  LLVMOrcReleaseResourceTracker(tracker);
  pthread_mutex_unlock(&lock);
  *out_entry = (size_t)(address - (uintptr_t)r->base);
  return good && *out_entry < r->used;
}

static bool open_region(region *r, size_t size) {
  void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *r = (region){ base == MAP_FAILED ? NULL : base, size, 0 };
  return r->base != NULL;
}

static void close_region(region *r) {
  if (r->base) munmap(r->base, r->size);
}

/* Sections are no larger than their object but for stubs and padding. */
static bool link_object(LLVMMemoryBufferRef object, const char *name,
                        cxi_machine_code *out, const char **why) {
  const size_t size = 4 * LLVMGetBufferSize(object) + ((size_t)1 << 20);
  region first, second = { 0 };
  size_t entry = 0, again = 0;
  *why = "no memory for code";
  bool good = open_region(&first, size) && open_region(&second, size);
  if (good) {
    *why = "code that refers to something outside";
    good = link_into(&first, object, name, &entry) &&
           link_into(&second, object, name, &again);
  }
  if (good) {
    *why = "code that holds addresses";
    good = first.used == second.used && entry == again &&
           memcmp(first.base, second.base, first.used) == 0;
  }
  close_region(&second);
  if (good)
    *out = (cxi_machine_code){ first.base, first.used, entry, first.size };
  else
    close_region(&first);
  return good;
}

bool cxi_machine_make(LLVMModuleRef module, bool is_final, const char *name,
                      cxi_machine_code *out, const char **why) {
  LLVMMemoryBufferRef object;
  char *text = NULL;
  *why = "LLVM makes no code of it";
  LLVMTargetMachineRef machine = take_machine();
  if (!machine) return false;
  aim(module, machine);
  bool good = is_final || optimise(module, machine);
  if (good && LLVMTargetMachineEmitToMemoryBuffer(
                  machine, module, LLVMObjectFile, &text, &object)) {
    LLVMDisposeMessage(text);
    good = false;
  }
  give_machine(machine);
  if (!good) return false;
  good = link_object(object, name, out, why);
  LLVMDisposeMemoryBuffer(object);
  return good;
}

void cxi_machine_free(cxi_machine_code *code) {
  if (code->bytes) munmap(code->bytes, code->pages);
  *code = (cxi_machine_code){ 0 };
}

/* -- code for elsewhere ---------------------------------------------------- */

char *cxi_machine_assemble(LLVMModuleRef module, bool is_final,
                           const cxi_target *wanted) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMTargetMachineRef other = make_machine(wanted);
  LLVMMemoryBufferRef buffer;
  char *text = NULL;
  if (!other) return NULL;
  aim(module, other);
  if (!(is_final || optimise(module, other)) ||
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
