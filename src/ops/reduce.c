/* reduce.c - sums, extremes, means and their like over axes. */
#include "ops/ops.h"

#include "calx/reduce.h"

static const char *const names[] = {
  [CX_RED_SUM] = "sum",       [CX_RED_PROD] = "prod",
  [CX_RED_MAX] = "max",       [CX_RED_MIN] = "min",
  [CX_RED_MEAN] = "mean",     [CX_RED_VAR] = "var",
  [CX_RED_STD] = "std",       [CX_RED_ANY] = "any",
  [CX_RED_ALL] = "all",       [CX_RED_ARGMAX] = "argmax",
  [CX_RED_ARGMIN] = "argmin", [CX_RED_LOGSUMEXP] = "logsumexp",
  [CX_RED_NORM] = "norm",     [CX_RED_AND] = "reduce_and",
  [CX_RED_OR] = "reduce_or",  [CX_RED_XOR] = "reduce_xor",
};

/* The reduction's operand, its axes, the shape with them kept as 1, and how
 * many elements meet in one result. */
typedef struct reduction {
  const char *name;
  cx x, where;
  cx_dims axes, kept;
  double count;
} reduction;

static bool is_float(cx a) {
  return cxi_dtype_is_float(cxi_dtype_at(a));
}
static cx keep(const reduction *r, cx result) {
  return cxi_reshape(result, r->kept);
}
static cx back(const reduction *r, cx kept) {
  return cxi_broadcast_to(kept, cxi_shape_at(r->x));
}
/* x where the mask holds, `neutral` elsewhere. */
static cx masked(const reduction *r, cx x, double neutral) {
  if (!cxi_given(r->where)) return x;
  return cxi_select(r->where, cxi_full(cxi_type_at(x), neutral), x);
}

/* bool and small integers sum in i32, as JAX does. */
static cx widened(cx x) {
  cx_dtype type = cxi_dtype_at(x);
  if (cxi_dtype_is_float(type) || type == CX_KEY) return x;
  if (type == CX_BOOL) return cxi_convert(x, CX_I32);
  if (cxi_dtype_bytes(type) >= 4) return x;
  return cxi_convert(x, cxi_dtype_kind(type) == CXI_SIGNED ? CX_I32 : CX_U32);
}
static cx sum(const reduction *r, cx x) {
  return cxi_reduce_sum(masked(r, widened(x), 0), r->axes);
}
static cx prod(const reduction *r) {
  return cxi_reduce(CXI_PRIM_reduce_prod, masked(r, widened(r->x), 1), r->axes);
}
/* The number of elements: a constant, or a sum of the mask. */
static cx count(const reduction *r, cx like) {
  if (!cxi_given(r->where)) return cxi_number_like(like, r->count);
  return cxi_reduce_sum(cxi_convert(r->where, cxi_dtype_at(like)), r->axes);
}
static cx floating(cx x) {
  return is_float(x) ? x : cxi_convert(x, CX_F32);
}
static cx mean(const reduction *r, cx x) {
  cx total = cxi_reduce_sum(masked(r, floating(x), 0), r->axes);
  return cxi_div(total, count(r, total));
}
static cx variance(const reduction *r, double ddof) {
  cx x = floating(r->x);
  cx centred = cxi_sub(x, back(r, keep(r, mean(r, x))));
  cx total = cxi_reduce_sum(masked(r, cxi_unary(CXI_PRIM_square, centred), 0),
                            r->axes);
  cx n = count(r, total);
  return cxi_div(total, ddof == 0 ? n : cxi_offset(n, -ddof));
}
/* log of the sum of exp(x), the maximum (0 if it is not finite) taken out. */
static cx logsumexp(const reduction *r) {
  cx x = floating(r->x);
  cx top =
      cxi_reduce(CXI_PRIM_reduce_max, masked(r, x, -__builtin_inf()), r->axes);
  cx finite = cxi_unary(CXI_PRIM_is_finite, top);
  top = cxi_stop_gradient(cxi_select(finite, cxi_zeros(cxi_type_at(top)), top));
  cx e = cxi_unary(CXI_PRIM_exp, cxi_sub(x, back(r, keep(r, top))));
  cx total = cxi_reduce_sum(masked(r, e, 0), r->axes);
  return cxi_add(cxi_unary(CXI_PRIM_log, total), top);
}
static cx extreme(const reduction *r, cxi_prim prim) {
  bool is_max = prim == CXI_PRIM_reduce_max;
  if (r->count == 0)
    return cxi_fail(CX_ESHAPE, "%s: no element to choose from in %s", r->name,
                    cxi_shown_of(r->x).text);
  double least = is_max ? -__builtin_inf() : __builtin_inf();
  if (cxi_dtype_at(r->x) == CX_BOOL)
    return cxi_reduce(is_max ? CXI_PRIM_reduce_or : CXI_PRIM_reduce_and,
                      masked(r, r->x, is_max ? 0 : 1), r->axes);
  return cxi_reduce(prim, masked(r, r->x, least), r->axes);
}
static cx truth(const reduction *r, cxi_prim prim) {
  cx x = r->x;
  if (cxi_dtype_at(x) != CX_BOOL)
    x = cxi_compare(CXI_PRIM_ne, x, cxi_number_like(x, 0));
  return cxi_reduce(prim, masked(r, x, prim == CXI_PRIM_reduce_and), r->axes);
}
static cx joined_bits(const reduction *r, cxi_prim prim) {
  cx x = r->x;
  if (cxi_given(r->where)) {
    const cx none = cxi_zeros(cxi_type_at(x));
    const bool is_and = prim == CXI_PRIM_reduce_and;
    x = cxi_select(r->where, is_and ? cxi_unary(CXI_PRIM_not, none) : none, x);
  }
  return cxi_reduce(prim, x, r->axes);
}
/* Over several axes: over all of them, flattened, as NumPy counts. */
static cx position(const reduction *r, bool largest, cx_dtype type) {
  cx x = r->x;
  int axis = r->axes.n == 1 ? (int)r->axes.d[0] : 0;
  if (r->count == 0)
    return cxi_fail(CX_ESHAPE, "%s: no element to choose from in %s", r->name,
                    cxi_shown_of(x).text);
  if (r->axes.n != 1) {
    if (r->axes.n != cxi_rank_at(x))
      return cxi_fail(CX_EINDEX, "%s: one axis or all of them, not %d of %d",
                      r->name, r->axes.n, cxi_rank_at(x));
    x = cxi_reshape(x, (cx_dims){ .n = 1, .d = { (int64_t)r->count } });
  }
  return largest ? cxi_argmax(x, axis, type) : cxi_argmin(x, axis, type);
}

static cx reduce(cx_red kind, const reduction *r, cx_reduce_opt opt) {
  switch (kind) {
  case CX_RED_SUM:
    return sum(r, r->x);
  case CX_RED_PROD:
    return prod(r);
  case CX_RED_MEAN:
    return mean(r, r->x);
  case CX_RED_VAR:
    return variance(r, opt.ddof);
  case CX_RED_STD:
    return cxi_unary(CXI_PRIM_sqrt, variance(r, opt.ddof));
  case CX_RED_MAX:
    return extreme(r, CXI_PRIM_reduce_max);
  case CX_RED_MIN:
    return extreme(r, CXI_PRIM_reduce_min);
  case CX_RED_ANY:
    return truth(r, CXI_PRIM_reduce_or);
  case CX_RED_ALL:
    return truth(r, CXI_PRIM_reduce_and);
  case CX_RED_ARGMAX:
  case CX_RED_ARGMIN:
    return position(r, kind == CX_RED_ARGMAX, opt.type ? opt.type : CX_I32);
  case CX_RED_LOGSUMEXP:
    return logsumexp(r);
  case CX_RED_NORM:
    return cxi_unary(CXI_PRIM_sqrt,
                     sum(r, cxi_unary(CXI_PRIM_square, floating(r->x))));
  case CX_RED_AND:
    return joined_bits(r, CXI_PRIM_reduce_and);
  case CX_RED_OR:
    return joined_bits(r, CXI_PRIM_reduce_or);
  case CX_RED_XOR:
    return joined_bits(r, CXI_PRIM_reduce_xor);
  default:
    return cxi_fail(CX_EUSER, "no reduction has number %d", (int)kind);
  }
}

static bool prepare(reduction *r, cx_dims axes, cx where, cx *out_poison) {
  if (!cxi_operand(r->name, &r->x, out_poison) ||
      !cxi_axes(r->name, r->x, axes, &r->axes, out_poison))
    return false;
  r->kept = cxi_shape_at(r->x), r->count = 1;
  for (int i = 0; i < r->axes.n; i++) {
    r->count *= (double)r->kept.d[r->axes.d[i]];
    r->kept.d[r->axes.d[i]] = 1;
  }
  if (cxi_left_out(where)) return true;
  if (!cxi_operand(r->name, &where, out_poison)) return false;
  cx two[2] = { r->x, where };
  cx_dims shape;
  if (!cxi_broadcast_shape(r->name, 2, two, &shape, out_poison)) return false;
  cx_dims own = cxi_shape_at(r->x);
  if (cxi_dtype_at(where) != CX_BOOL || !cxi_dims_equal(&shape, &own)) {
    *out_poison = cxi_fail(
        CX_ESHAPE, "%s: .where must be bool and broadcast to %s, got %s",
        r->name, cxi_shown_of(r->x).text, cxi_shown_of(where).text);
    return false;
  }
  r->where = cxi_broadcast_to(where, shape);
  return true;
}

cx cx_reduce_(cx_red kind, cx a, cx_dims axes, cx_reduce_opt opt,
              const char *at) {
  cxi_name before = cxi_enter(at);
  if ((int)kind < 0 || kind >= sizeof names / sizeof *names)
    return cxi_leave(
        before, cxi_fail(CX_EUSER, "no reduction has number %d", (int)kind));
  reduction r = { .name = names[kind], .x = a };
  cx result;
  if (!prepare(&r, axes, opt.where, &result)) return cxi_leave(before, result);
  if (opt.type && kind != CX_RED_ARGMAX && kind != CX_RED_ARGMIN)
    r.x = cxi_convert(r.x, opt.type);
  result = reduce(kind, &r, opt);
  if (opt.keepdims && r.axes.n) result = keep(&r, result);
  return cxi_leave(before, result);
}
