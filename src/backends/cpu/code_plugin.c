/* code_plugin.c - opens the library that generates code, on the first need. */
#define _GNU_SOURCE /* dladdr, secure_getenv */
#include "backends/cpu/code_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/code_worker.h"
#include "base/build.h"
#include "base/isa.h"
#include "base/mutex.h"

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static bool tried;
static const char *why = "";
static const cxi_plugin *plugin;
static _Atomic(const char *) version = cxi_build_llvm;
static cxi_plugin_host host;

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
  if (!dladdr((const void *)(uintptr_t)&cxi_code_plugin, &own) ||
      !own.dli_fname)
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
  const char *named = secure_getenv("CALX_LLVM_LIBRARY");
  if (named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  void *library = open_beside();
  return library ? library : dlopen("libcalx_llvm.so", RTLD_NOW | RTLD_LOCAL);
}

static bool fits(const cxi_plugin *found) {
  return found && found->version == CXI_PLUGIN_VERSION &&
         found->signature == cxi_plugin_signature() &&
         strcmp(found->build, cxi_build_id) == 0;
}

static void open_plugin(void) {
  void *library = open_library();
  if (!library) {
    why = "libcalx_llvm.so is not there";
    return;
  }
  cxi_plugin_entry *entry;
  *(void **)&entry = dlsym(library, "cxi_plugin_table");
  const cxi_plugin *found = entry ? entry() : NULL;
  if (!fits(found)) {
    why = "libcalx_llvm.so is of another version of Calx";
    dlclose(library);
    return;
  }
  prepare_host();
  if (!found->open(&host, &why)) return;
  atomic_store(&version, found->llvm);
  plugin = found;
}

const cxi_plugin *cxi_code_plugin(const char **out_why) {
  cxi_mutex_lock(&lock);
  const bool first = !tried;
  if (first) open_plugin();
  tried = true;
  *out_why = why;
  const cxi_plugin *found = plugin;
  cxi_mutex_unlock(&lock);
  if (first && found) cxi_code_watch_exit();
  return found;
}

const char *cxi_code_llvm(void) {
  return atomic_load(&version);
}
