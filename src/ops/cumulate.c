/* cumulate.c - prefixes along an axis. */
#include "ops/ops.h"

#include "calx/reduce.h"

/* NULL: there is no such operation. */
static const char *name_of(cx_red kind, cxi_prim *out_prim) {
  switch (kind) {
  case CX_RED_SUM:
    return *out_prim = CXI_PRIM_cumsum, "cumsum";
  case CX_RED_PROD:
    return *out_prim = CXI_PRIM_cumprod, "cumprod";
  case CX_RED_MAX:
    return *out_prim = CXI_PRIM_cummax, "cummax";
  case CX_RED_MIN:
    return *out_prim = CXI_PRIM_cummin, "cummin";
  case CX_RED_LOGSUMEXP:
    return *out_prim = CXI_PRIM_cumlogsumexp, "cumlogsumexp";
  default:
    return NULL;
  }
}

cx cx_cumulate_(cx_red kind, cx a, int axis, cx_cum_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cxi_prim prim = CXI_PRIM_NONE;
  const char *op = name_of(kind, &prim);
  cx poison;
  if (!op)
    return cxi_leave(
        before, cxi_fail(CX_EUSER, "no cumulation has number %d", (int)kind));
  if (!cxi_operand(op, &a, &poison) || !cxi_axis(op, a, &axis, &poison))
    return cxi_leave(before, poison);
  cx_dtype type = opt.type ? opt.type : cxi_dtype_at(a);
  if (kind == CX_RED_LOGSUMEXP && type != CX_KEY && !cxi_dtype_is_float(type))
    type = CX_F32;
  if (type == CX_BOOL) type = CX_I32;
  return cxi_leave(before,
                   cxi_cumulate(prim, cxi_convert(a, type), axis, opt.reverse));
}
