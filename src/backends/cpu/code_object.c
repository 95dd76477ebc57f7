/* code_object.c - code as bytes, as memory that runs, and its table. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "backends/cpu/code_object.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/kernels.h"
#include "base/alloc.h"
#include "lower/loop.h"

/* -- as bytes -------------------------------------------------------------- */

typedef struct lengths {
  uint64_t code, entry, report;
  uint64_t imports; /* how many */
} lengths;

void cxi_object_write(cxi_bytes *out, const cxi_object *object) {
  const char *report = object->report ? object->report : "";
  const lengths l = { object->bytes, object->entry, strlen(report) + 1,
                      object->n_imports };
  cxi_bytes_add(out, &l, sizeof l);
  if (l.imports)
    cxi_bytes_add(out, object->imports, l.imports * sizeof *object->imports);
  cxi_bytes_add(out, report, l.report);
  if (l.code) cxi_bytes_add(out, object->code, l.code);
}

/* Takes `n` bytes off what is left. */
static const unsigned char *take(const unsigned char **at, size_t *left,
                                 uint64_t n) {
  if (n > *left) return NULL;
  const unsigned char *taken = *at;
  *at += n;
  *left -= n;
  return taken;
}

bool cxi_object_read(const unsigned char *bytes, size_t n, cxi_object *out) {
  lengths l;
  *out = (cxi_object){ 0 };
  const unsigned char *at = take(&bytes, &n, sizeof l);
  if (!at) return false;
  memcpy(&l, at, sizeof l);
  if (l.imports > n / sizeof *out->imports) return false;
  const unsigned char *imports =
      take(&bytes, &n, l.imports * sizeof *out->imports);
  const unsigned char *report = take(&bytes, &n, l.report);
  if (!imports || !report || l.report == 0 || report[l.report - 1] != 0 ||
      l.code != n || (l.code ? l.entry >= l.code : l.imports != 0))
    return false;
  *out = (cxi_object){ .code = l.code ? bytes : NULL,
                       .bytes = l.code,
                       .entry = l.entry,
                       .n_imports = (uint32_t)l.imports,
                       .imports = (const cxi_import *)(const void *)imports,
                       .report = (const char *)report };
  return true;
}

/* -- as memory that runs --------------------------------------------------- */

bool cxi_object_load(const cxi_object *object, cxi_loaded *out,
                     const char **why) {
  *out = (cxi_loaded){ .n_imports = object->n_imports };
  *why = "no memory for code";
  if (!object->code) return true;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t size = (object->bytes + page - 1) / page * page;
  const size_t imports = object->n_imports * sizeof *out->imports;
  out->imports = cxi_alloc(imports + 1);
  if (!out->imports) return false;
  if (imports) memcpy(out->imports, object->imports, imports);
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) {
    out->pages = pages;
    out->bytes = size;
    memcpy(pages, object->code, object->bytes);
    __builtin___clear_cache((char *)pages, (char *)pages + size);
    *why = "the system lets no memory become code";
    if (!mprotect(pages, size, PROT_READ | PROT_EXEC)) {
      out->entry =
          (cxi_code_entry *)(uintptr_t)((unsigned char *)pages + object->entry);
      return true;
    }
  }
  cxi_loaded_free(out);
  return false;
}

void cxi_loaded_free(cxi_loaded *loaded) {
  if (loaded->pages) munmap(loaded->pages, loaded->bytes);
  cxi_free(loaded->imports);
  *loaded = (cxi_loaded){ 0 };
}

/* -- its table ------------------------------------------------------------- */

static const void *kernel_of(const cxi_import *import) {
  cx_dtype in[3];
  bool wide;
  if (import->a == 0 || import->a >= CXI_N_PRIMS || import->b > 3) return NULL;
  for (uint32_t k = 0; k <= import->b; k++)
    if (import->types[k] >= CXI_N_DTYPES) return NULL;
  for (uint32_t k = 0; k < import->b; k++)
    in[k] = (cx_dtype)import->types[1 + k];
  return (const void *)(uintptr_t)cxi_cpu_find_kernel(
      cxi_cpu_kernels_now(), (cxi_prim)import->a, import->b, in,
      (cx_dtype)import->types[0], &wide);
}

/* False: there is nothing such. */
static bool resolve(const cxi_import *import, const cxi_plans *plans,
                    const void **out) {
  const cxi_plan *plan = import->a < plans->n ? plans->d[import->a] : NULL;
  const cxi_thunk *thunk =
      plan && import->b < plan->n_thunks ? &plan->thunks[import->b] : NULL;
  switch (import->kind) {
  case CXI_IMPORT_RUN:
    if (thunk) *out = (const void *)(uintptr_t)thunk->run;
    return thunk != NULL;
  case CXI_IMPORT_STATE:
    if (thunk) *out = thunk->state;
    return thunk != NULL;
  case CXI_IMPORT_CONSTANTS:
    if (plan) *out = plan->constants;
    return plan != NULL;
  case CXI_IMPORT_COPY:
    *out = (const void *)(uintptr_t)memcpy;
    return true;
  case CXI_IMPORT_KERNEL:
    *out = kernel_of(import);
    return *out != NULL;
  default:
    return false;
  }
}

const void **cxi_loaded_table(const cxi_loaded *loaded,
                              const struct cxi_unit *unit) {
  cxi_plans plans = { 0 };
  const void **table =
      cxi_alloc((loaded->n_imports + (size_t)1) * sizeof *table);
  if (!table ||
      (unit->kind != CXI_UNIT_FUSED && !cxi_loop_plans(unit, &plans))) {
    cxi_free(table);
    return NULL;
  }
  bool ok = true;
  for (uint32_t i = 0; ok && i < loaded->n_imports; i++)
    ok = resolve(&loaded->imports[i], &plans, &table[i]);
  cxi_free(plans.d);
  if (ok) return table;
  cxi_free(table);
  return NULL;
}
