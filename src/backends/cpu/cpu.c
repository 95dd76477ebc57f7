/* cpu.c - which unit goes to which family of kernels. */
#include "backends/cpu/cpu.h"

#include <string.h>

static bool reads_views(const cxi_row *row, uint32_t k) {
  (void)k;
  return row->form == CXI_FORM_ELEMENTWISE || row->prim == CXI_PRIM_copy;
}

static size_t workspace(const cxi_unit *unit) {
  if (unit->kind == CXI_UNIT_FUSED) return cxi_cpu_fused_workspace(unit);
  return cxi_cpu_evaluate_workspace(unit);
}

static bool in_place(const cxi_unit *unit, uint32_t k) {
  (void)unit, (void)k;
  return true;
}

static bool compile(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                    cxi_error *error) {
  if (unit->kind == CXI_UNIT_FUSED)
    return cxi_cpu_fused(unit, arena, out, error);
  return cxi_cpu_by_evaluate(unit, arena, out, error);
}

static void copy(void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
}

const cxi_backend cxi_cpu_backend = {
  .name = "cpu",
  .reads_views = reads_views,
  .row_limit = 65536,
  .workspace = workspace,
  .in_place = in_place,
  .compile = compile,
  .copy = copy,
};
