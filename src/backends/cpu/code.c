/* code.c - opens the library that generates code, on the first need. */
#define _GNU_SOURCE /* dladdr */
#include "backends/cpu/code.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/plugin.h"
#include "base/isa.h"

/* Thunks that a loop runs before it gets code: at about 0.1 us each, what it
 * takes to open LLVM once. */
enum { PATIENCE = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const cxi_plugin *plugin;
static bool tried;
static const char *why = "";
static cxi_plugin_host host;
static atomic_int chosen = -1;
static atomic_uint_fast64_t loops, refused;

/* -- when ------------------------------------------------------------------ */

static cxi_code_when of_environment(void) {
  const char *text = getenv("CALX_LLVM");
  if (text && strcmp(text, "off") == 0) return CXI_CODE_OFF;
  if (text && strcmp(text, "now") == 0) return CXI_CODE_NOW;
  return CXI_CODE_AUTO;
}

static cxi_code_when when_now(void) {
  int now = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (now < 0) {
    now = (int)of_environment();
    atomic_store(&chosen, now);
  }
  return (cxi_code_when)now;
}

cxi_code_when cxi_code_set(cxi_code_when when) {
  const cxi_code_when before = when_now();
  atomic_store(&chosen, (int)when);
  return before;
}

static int64_t patience(void) {
  switch (when_now()) {
  case CXI_CODE_OFF:
    return INT64_MAX;
  case CXI_CODE_NOW:
    return 0;
  default:
    return PATIENCE;
  }
}

/* -- opening --------------------------------------------------------------- */

static const cx_aval *type_of(cxi_type type) {
  return cxi_type_aval(type);
}

static const char *name_of(cxi_prim prim) {
  return cxi_prim_name(prim);
}

static void prepare_host(void) {
  host.type = type_of;
  host.prim_name = name_of;
  host.kernels = cxi_cpu_kernels_now();
  switch (cxi_isa_now()) {
  case CXI_ISA_AVX512:
    host.target = (cxi_target){ NULL, "x86-64-v4", 64 };
    break;
  case CXI_ISA_AVX2:
    host.target = (cxi_target){ NULL, "x86-64-v3", 32 };
    break;
  default:
    host.target = (cxi_target){ NULL, "generic", 16 };
  }
}

/* Beside this library or program, or where libraries of its prefix are. */
static void *open_beside(void) {
  static const char *const folders[] = { "", "../lib/", "../../lib/" };
  Dl_info own;
  char path[4096];
  if (!dladdr((const void *)(uintptr_t)&cxi_code_open, &own) || !own.dli_fname)
    return NULL;
  const char *slash = strrchr(own.dli_fname, '/');
  const int length = slash ? (int)(slash - own.dli_fname) + 1 : 0;
  void *library = NULL;
  for (size_t i = 0; !library && i < sizeof folders / sizeof *folders; i++) {
    snprintf(path, sizeof path, "%.*s%slibcalx_llvm.so", length, own.dli_fname,
             folders[i]);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return library;
}

/* CALX_LLVM_LIBRARY names it; else beside, else where the linker looks. */
static void *open_library(void) {
  const char *named = getenv("CALX_LLVM_LIBRARY");
  if (named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  void *library = open_beside();
  return library ? library : dlopen("libcalx_llvm.so", RTLD_NOW | RTLD_LOCAL);
}

static void take_lock(void) {
  pthread_mutex_lock(&lock);
}

static void give_lock(void) {
  pthread_mutex_unlock(&lock);
}

/* A fork waits for code that is being made: its child, which has no thread
 * that would give the lock back, could not release code otherwise. */
static void open_plugin(void) {
  tried = true;
  pthread_atfork(take_lock, give_lock, give_lock);
  void *library = open_library();
  if (!library) {
    why = "libcalx_llvm.so is not there";
    return;
  }
  cxi_plugin_entry *entry;
  *(void **)&entry = dlsym(library, "cxi_plugin_table");
  const cxi_plugin *found = entry ? entry() : NULL;
  if (!found || found->version != CXI_PLUGIN_VERSION ||
      found->signature != cxi_plugin_signature()) {
    why = "libcalx_llvm.so is of another version of Calx";
    dlclose(library);
    return;
  }
  prepare_host();
  if (found->open(&host, &why)) plugin = found;
}

/* -- the coder ------------------------------------------------------------- */

bool cxi_code_open(const char **out_why) {
  pthread_mutex_lock(&lock);
  if (!tried) open_plugin();
  *out_why = why;
  const bool there = plugin != NULL;
  pthread_mutex_unlock(&lock);
  return there;
}

/* CX_DUMP=code: what became of each unit of a loop. */
static void dump(const cxi_code *code) {
  const char *list = getenv("CX_DUMP");
  if (!list || !strstr(list, "code")) return;
  fprintf(stderr, "code: %s\n%s", code->run ? "generated" : "none",
          code->report ? code->report : "");
}

/* Without waiting: whoever finds the lock taken goes on without code. */
static bool generate(const cxi_unit *loop, cxi_code *out) {
  if (pthread_mutex_trylock(&lock)) return false;
  if (!tried) open_plugin();
  bool done = true;
  if (plugin) done = plugin->generate(loop, out);
  if (done) dump(out);
  pthread_mutex_unlock(&lock);
  if (done) atomic_fetch_add(out->run ? &loops : &refused, 1);
  return done;
}

static void release(cxi_code *code) {
  if (!code->owner) return;
  pthread_mutex_lock(&lock);
  plugin->release(code);
  pthread_mutex_unlock(&lock);
}

const cxi_coder cxi_cpu_coder = { patience, generate, release };

cxi_code_stats cxi_code_now(void) {
  return (cxi_code_stats){ atomic_load(&loops), atomic_load(&refused) };
}
