/* code_pass.c - which passes may be worth generated code.
 *
 * Tier 0 takes a block through one kernel after the other, with what is between
 * them in L1; code keeps it in registers. So a single equation gains nothing.
 * What is refused here is known without LLVM, which then need not be opened. */
#include "backends/cpu/code.h"
#include "backends/cpu/fused.h"

enum {
  LEAST_ROW_REDUCED = 64, /* the lanes of a reduction */
  LEAST_ELEMENTS = 2048,  /* two blocks: below, a call's own cost counts */
  LEAST_ROW = 32          /* the registers that code fills at a time */
};

/* Reductions of a row: what waits for them must find its room. */
static bool fits_stages(const cxi_unit *u, int64_t n) {
  const cxi_mark mark = cxi_scratch_mark();
  uint32_t *stages = cxi_scratch(u->n_ops * sizeof *stages);
  uint32_t *crossing = cxi_scratch(u->n_ops * sizeof *crossing);
  bool fits = stages && crossing;
  if (fits) {
    uint32_t most;
    cxi_unit_stages(u, stages, crossing, &most);
    fits = (most == 0 || n <= CXI_STACK_SCRATCH / 8 / (int64_t)most) &&
           cxi_unit_stages_keep(u, stages);
  }
  cxi_scratch_reset(mark);
  return fits;
}

bool cxi_code_may_pay(const cxi_unit *pass, bool of_any_size) {
  int64_t rows, n;
  cxi_unit_extents(pass, &rows, &n);
  if (pass->n_ops < 2) return false;
  bool reduces = false;
  for (uint32_t i = 0; i < pass->n_ops; i++) {
    if (!cxi_reads_lines(pass, &pass->ops[i], rows, n)) return false;
    reduces |= pass->ops[i].reduces;
  }
  const int64_t least = reduces ? LEAST_ROW_REDUCED : LEAST_ROW;
  if (!of_any_size && (rows * n < LEAST_ELEMENTS || (rows > 1 && n < least)))
    return false;
  return !reduces || fits_stages(pass, n);
}
