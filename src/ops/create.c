/* create.c - arrays made from numbers: full, arange, linspace, iota, eye. */
#include <math.h>

#include "calx/array.h"
#include "ops/ops.h"

static bool check_type(const char *op, cx_dtype type, cx_dims shape,
                       cx *out_poison) {
  cx_aval aval = { type, shape };
  if (!cxi_dtype_valid(type))
    *out_poison =
        cxi_fail(CX_EDTYPE, "%s: unsupported dtype %d", op, (int)type);
  else if (shape.n < 0)
    *out_poison = cxi_fail(CX_ESHAPE, "%s: a shape has at most %d sizes", op,
                           CX_MAX_DIMS);
  else if (!cxi_dims_valid(&shape))
    *out_poison = cxi_fail(CX_ESHAPE, "%s: a negative size in %s", op,
                           cxi_shown_dims(shape).text);
  else if (cxi_aval_bytes(&aval) < 0)
    *out_poison = cxi_fail(CX_ESHAPE, "%s: %s has too many elements", op,
                           cxi_shown_dims(shape).text);
  else
    return true;
  return false;
}
cx cx_full_(cx value, cx_dtype t, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (cxi_is_poison(value)) return cxi_leave(before, value);
  if (!check_type("full", t, shape, &poison)) return cxi_leave(before, poison);
  if (t == CX_KEY) return cxi_leave(before, cxi_zeros(cxi_type_make(t, shape)));
  value = cxi_strong("full", value, t);
  if (!cxi_operand("full", &value, &poison)) return cxi_leave(before, poison);
  if (cxi_rank_at(value) != 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "full: the value must be a number, got "
                                      "%s",
                                      cxi_shown_of(value).text));
  return cxi_leave(before, cxi_broadcast_scalar(cxi_convert(value, t), shape));
}

/* A C number, which arange and linspace need for their shapes and values. */
static bool number(const char *op, cx a, double *out, cx *out_poison) {
  cxi_info info;
  cxi_emitter *e = cxi_emitter_now();
  if (cxi_is_poison(a)) return *out_poison = a, false;
  if (!cxi_given(a) || !e->info(e, a, &info) || !info.literal) {
    *out_poison =
        cxi_fail(CX_ETRACE, "%s: bounds and step must be C numbers", op);
    return false;
  }
  *out = cxi_element_get(cxi_type_dtype(info.type), &info.bits);
  return true;
}
/* lo + i * step, i = 0, 1, ... below hi. */
cx cx_arange_(cx lo, cx hi, cx step, cx_dtype t, const char *at) {
  cxi_name before = cxi_enter(at);
  double from, to, by;
  cx poison;
  if (!number("arange", lo, &from, &poison) ||
      !number("arange", hi, &to, &poison) ||
      !number("arange", step, &by, &poison))
    return cxi_leave(before, poison);
  double n = ceil((to - from) / by);
  if (by == 0 || !(n < 9e15))
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "arange: no length for %g to %g by %g",
                              from, to, by));
  cx_dims shape = { .n = 1, .d = { n > 0 ? (int64_t)n : 0 } };
  if (!check_type("arange", t, shape, &poison))
    return cxi_leave(before, poison);
  if (t == CX_BOOL || t == CX_KEY)
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "arange: needs a number type, "
                                      "got %s",
                                      cxi_dtype_name(t)));
  /* An unsigned type has no negative step: what is added stays positive. */
  cx x = cxi_iota(t, shape, 0);
  if (fabs(by) != 1) x = cxi_mul(x, cxi_number(t, fabs(by)));
  if (by < 0) x = cxi_sub(cxi_number(t, from), x);
  else if (from != 0) x = cxi_add(x, cxi_number(t, from));
  return cxi_leave(before, x);
}
/* n numbers from lo to hi, both included. */
cx cx_linspace_(cx lo, cx hi, int64_t n, cx_dtype t, const char *at) {
  cxi_name before = cxi_enter(at);
  double from, to;
  cx poison;
  cx_dims shape = { .n = 1, .d = { n } };
  if (!number("linspace", lo, &from, &poison) ||
      !number("linspace", hi, &to, &poison) ||
      !check_type("linspace", t, shape, &poison))
    return cxi_leave(before, poison);
  if (!cxi_dtype_is_float(t))
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "linspace: needs a floating "
                                      "dtype, got %s",
                                      cxi_dtype_name(t)));
  if (n < 2) return cxi_leave(before, cxi_full(cxi_type_make(t, shape), from));
  cx i = cxi_iota(t, shape, 0);
  cx up = cxi_div(i, cxi_number(t, (double)(n - 1)));
  cx down = cxi_sub(cxi_number(t, 1), up);
  cx x = cxi_add(cxi_scale(down, from), cxi_scale(up, to));
  cx is_last = cxi_compare(CXI_PRIM_eq, i, cxi_number(t, (double)(n - 1)));
  return cxi_leave(before, cxi_select(is_last, x, cxi_number(t, to)));
}
cx cx_iota_(cx_dtype t, int axis, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!check_type("iota", t, shape, &poison)) return cxi_leave(before, poison);
  int i = axis < 0 ? axis + shape.n : axis;
  if (i < 0 || i >= shape.n || t == CX_KEY)
    return cxi_leave(before,
                     cxi_fail(CX_EINDEX, "iota: axis %d of %s%s", axis,
                              cxi_dtype_name(t), cxi_shown_dims(shape).text));
  return cxi_leave(before, cxi_iota(t, shape, i));
}
/* 1 where the column is the row + k. */
static cx diagonal_mask(cx_dims shape, cxi_prim comparison, int64_t k) {
  cx row = cxi_iota(CX_I32, shape, shape.n - 2);
  cx column = cxi_iota(CX_I32, shape, shape.n - 1);
  if (k) row = cxi_add(row, cxi_integer(CX_I32, k));
  return cxi_compare(comparison, column, row);
}
cx cx_eye_(cx_dtype t, int64_t n, int64_t m, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  cx_dims shape = { .n = 2, .d = { n, m } };
  if (!check_type("eye", t, shape, &poison)) return cxi_leave(before, poison);
  if (t == CX_KEY)
    return cxi_leave(before, cxi_fail(CX_EDTYPE, "eye: needs a number type"));
  return cxi_leave(before,
                   cxi_convert(diagonal_mask(shape, CXI_PRIM_eq, 0), t));
}
/* Keeps what lies on or below (above) the k-th diagonal of the last axes. */
cx cxi_triangle(bool lower, cx a, int64_t k) {
  cx_dims shape = cxi_shape_at(a);
  if (!cxi_given(a)) return a;
  cx_dims plane = { .n = 2,
                    .d = { shape.d[shape.n - 2], shape.d[shape.n - 1] } };
  cx mask = diagonal_mask(plane, lower ? CXI_PRIM_le : CXI_PRIM_ge, k);
  return cxi_select(cxi_broadcast_to(mask, shape), cxi_zeros(cxi_type_at(a)),
                    a);
}
