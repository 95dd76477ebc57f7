/* cpu.c - which unit goes to which family of kernels. */
#include "backends/cpu/cpu.h"

#include <string.h>

#include "backends/cpu/code.h"
#include "base/alloc.h"
#include "base/size.h"

/* The addend of a product is dense, so is what a kernel is moved over. */
static bool reads_views(const cxi_row *row, uint32_t k) {
  switch (row->prim) {
  case CXI_PRIM_copy:
  case CXI_PRIM_concatenate:
  case CXI_PRIM_stack:
  case CXI_PRIM_pad:
    return true;
  case CXI_PRIM_dynamic_slice:
    return k == 0;
  case CXI_PRIM_dynamic_update_slice:
    return k == 1;
  case CXI_PRIM_dot_general:
    return k < 2;
  case CXI_PRIM_conv_general_dilated:
    return k == 1;
  default:
    return row->form == CXI_FORM_ELEMENTWISE || row->form == CXI_FORM_REDUCE;
  }
}

static bool is_product(const cxi_unit *unit) {
  return unit->row->prim == CXI_PRIM_dot_general && cxi_cpu_product_takes(unit);
}

static bool is_convolution(const cxi_unit *unit) {
  return unit->row->prim == CXI_PRIM_conv_general_dilated &&
         cxi_cpu_conv_takes(unit);
}

static bool is_reduction(const cxi_unit *unit) {
  return unit->row->form == CXI_FORM_REDUCE && cxi_cpu_reduce_takes(unit);
}

static size_t workspace(cxi_unit *unit, cxi_arena *arena) {
  if (cxi_cpu_move_takes(unit) || cxi_cpu_windows_takes(unit)) return 0;
  if (unit->kind == CXI_UNIT_FUSED) return cxi_cpu_fused_workspace(unit, arena);
  if (is_product(unit)) return cxi_cpu_product_workspace(unit);
  if (is_convolution(unit)) return cxi_cpu_conv_workspace(unit);
  if (is_reduction(unit) || cxi_cpu_reduce_window_takes(unit)) return 0;
  return cxi_cpu_evaluate_workspace(unit);
}

static bool in_place(const cxi_unit *unit, uint32_t k) {
  (void)k;
  return !is_product(unit) || cxi_cpu_product_in_place(unit);
}

static bool compile(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                    cxi_error *error) {
  if (cxi_cpu_move_takes(unit)) return cxi_cpu_move(unit, arena, out, error);
  if (cxi_cpu_windows_takes(unit))
    return cxi_cpu_windows(unit, arena, out, error);
  if (unit->kind == CXI_UNIT_FUSED)
    return cxi_cpu_fused(unit, arena, out, error);
  if (is_product(unit)) return cxi_cpu_product(unit, arena, out, error);
  if (is_convolution(unit)) return cxi_cpu_conv(unit, arena, out, error);
  if (is_reduction(unit)) return cxi_cpu_reduce(unit, arena, out, error);
  if (cxi_cpu_reduce_window_takes(unit))
    return cxi_cpu_reduce_window(unit, arena, out, error);
  return cxi_cpu_by_evaluate(unit, arena, out, error);
}

size_t cxi_cpu_take(size_t *bytes, int64_t count, size_t width) {
  const size_t at = *bytes;
  const int64_t more = cxi_size_mul(count, (int64_t)width);
  /* half of what a size_t holds, so that the sum of two fits */
  const bool fits =
      more >= 0 && more <= INT64_MAX - CXI_ALIGNMENT && at <= (size_t)INT64_MAX;
  *bytes = fits ? at + cxi_aligned((size_t)more) : CXI_NO_WORKSPACE;
  return at;
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
  .coder = &cxi_cpu_coder,
};
