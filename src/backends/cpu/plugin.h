/* plugin.h - the library that generates code, as the CPU backend sees it.
 *
 * It is opened with dlopen when a unit first deserves code. One symbol,
 * cxi_plugin_table, is a function that returns the table below. Both sides were
 * compiled from one source tree: that is what `signature` is compared for. */
#ifndef CXI_PLUGIN_H
#define CXI_PLUGIN_H

#include "backends/cpu/kernels.h"
#include "lower/code.h"
#include "lower/plan.h"

enum { CXI_PLUGIN_VERSION = 3 };

/* What code is made for. */
typedef struct cxi_target {
  const char *triple;   /* NULL: of this process */
  const char *cpu;      /* as LLVM names it */
  int64_t vector_bytes; /* of the registers to be used */
} cxi_target;

/* What the library is given. */
typedef struct cxi_plugin_host {
  cxi_target target;
  const cxi_cpu_kernels *kernels; /* called where nothing better is known */
  /* What the library would have a table of its own for. */
  const cx_aval *(*type)(cxi_type type);
  const char *(*prim_name)(cxi_prim prim);
} cxi_plugin_host;

typedef struct cxi_plugin {
  uint32_t version;
  uint64_t signature;
  const char *build; /* cxi_build_id of the sources it is of */
  const char *llvm;  /* the version of LLVM that it runs with */
  /* Once, before the rest. False with text. */
  bool (*open)(const cxi_plugin_host *host, const char **out_why);
  /* Code for a scan or while whose bodies keep their schedules, or for a fused
   * unit; from several threads at once. False if it could not be made; *why
   * says in what way. What would gain nothing has none, and a report that says
   * why. */
  bool (*generate)(const cxi_unit *unit, cxi_object *out, const char **why);
  void (*release)(cxi_object *object);
  /* The unit as assembly for another target, to be freed with `free_text`;
   * NULL: it cannot be made. */
  char *(*assemble)(const cxi_unit *unit, const cxi_target *target);
  void (*free_text)(char *text);
} cxi_plugin;

typedef const cxi_plugin *cxi_plugin_entry(void);

/* The layouts that both sides must share, as a number. */
static inline uint64_t cxi_plugin_signature(void) {
  const uint64_t sizes[] = {
    sizeof(cxi_unit),        sizeof(cxi_plan),  sizeof(cxi_schedule),
    sizeof(cxi_graph_value), sizeof(cxi_op),    sizeof(cxi_operand),
    sizeof(cxi_row),         sizeof(cxi_thunk), sizeof(cxi_object),
    sizeof(cxi_cpu_kernels), CXI_N_PRIMS,       CXI_N_DTYPES,
    sizeof(cxi_plugin_host)
  };
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    hash = (hash ^ sizes[i]) * UINT64_C(1099511628211);
  return hash;
}

#endif
