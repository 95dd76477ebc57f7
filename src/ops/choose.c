/* choose.c - one of several arrays, element by element. */
#include "ops/ops.h"

/* The number of a case: bool stays, integers are clamped to 0 .. n - 1. */
static bool number_of(cx *which, int n, cx *out_poison) {
  if (!cxi_operand("select_n", which, out_poison)) return false;
  const cx_dtype type = cxi_dtype_at(*which);
  const cxi_kind kind = cxi_dtype_kind(type);
  if (type == CX_BOOL && n == 2) return true;
  if (kind != CXI_SIGNED && kind != CXI_UNSIGNED) {
    *out_poison =
        cxi_fail(CX_EDTYPE,
                 "select_n: %d cases are chosen by integers%s, got "
                 "%s",
                 n, n == 2 ? " or bool" : "", cxi_shown_of(*which).text);
    return false;
  }
  const int64_t most = type == CX_I8 && n > 127   ? 127
                       : type == CX_U8 && n > 255 ? 255
                                                  : n - 1;
  *which = cxi_clamp(cxi_integer(type, 0), *which, cxi_integer(type, most));
  *which = cxi_convert(*which, CX_I32);
  return true;
}

/* all: which, then the cases. */
static cx choose(int n, cx *all) {
  cx poison;
  cx_dims shape;
  if (!number_of(&all[0], n, &poison) ||
      !cxi_promote("select_n", n, all + 1, &poison) ||
      !cxi_broadcast_shape("select_n", n + 1, all, &shape, &poison))
    return poison;
  for (int i = 0; i <= n; i++) all[i] = cxi_broadcast_to(all[i], shape);
  return n == 1 ? all[1] : cxi_select_n(all[0], (uint32_t)n, all + 1);
}

cx cx_select_n_(cx which, int n, const cx *cases, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cx result;
  if (cxi_list_given("select_n", n, cases, &result)) {
    cx *all = n > 0 ? cxi_scratch(((size_t)n + 1) * sizeof *all) : NULL;
    if (n <= 0)
      result = cxi_fail(CX_ETREE, "select_n: has no cases");
    else if (!all)
      result = cxi_fail(CX_EMEMORY, "select_n: no memory for %d cases", n);
    else {
      all[0] = which;
      for (int i = 0; i < n; i++) all[i + 1] = cases[i];
      result = choose(n, all);
    }
  }
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
