/* simplify_rules.c - forwarding and algebra that keep every bit.
 *
 * x * 1, x / 1, x + (-0.0) and x - 0.0 are x for all x, also infinities and
 * signed zeros; x + 0.0 is not (x = -0.0). stop_gradient and name stay: they
 * mean something to later transforms. */
#include "ops/lax.h"
#include "transforms/simplify.h"

static const cx no_rule = { 0, 0 };

/* The equation that makes x, if it is one of `prim`. */
static const cxi_equation *made_by(const cxi_builder *b, cxi_prim prim, cx x) {
  const cxi_builder_value *v = cxi_builder_value_of(b, x);
  if (!v || !cxi_is_equation(v->source)) return NULL;
  const cxi_equation *e = &b->equations[v->source];
  return e->prim == prim ? e : NULL;
}

static cx operand(const cxi_builder *b, const cxi_equation *e, uint32_t k) {
  return (cx){ b->operands[e->in + k] + 1, b->serial };
}

static bool same(cx a, cx b) {
  return a.index == b.index && a.generation == b.generation;
}

static bool has_type(cx x, cxi_type type) {
  return cxi_type_at(x) == type;
}

/* The literal that x is or is filled with. */
static bool filled_with(const cxi_builder *b, cx x, uint64_t *bits) {
  const cxi_equation *e = made_by(b, CXI_PRIM_broadcast_in_dim, x);
  const cxi_builder_value *v =
      cxi_builder_value_of(b, e ? operand(b, e, 0) : x);
  if (!v || v->source != CXI_LITERAL) return false;
  *bits = v->bits;
  return true;
}

static bool is_number(const cxi_builder *b, cx x, double number) {
  const cx_dtype dtype = cxi_dtype_at(x);
  uint64_t bits, want = 0;
  if (!dtype || dtype == CX_KEY || !filled_with(b, x, &bits)) return false;
  cxi_element_set(dtype, &want, number);
  return bits == want;
}

/* x for `x op number` where that changes nothing and x has the type. */
static cx neutral(const cxi_builder *b, cx x, cx other, double number,
                  cxi_type type) {
  return has_type(x, type) && is_number(b, other, number) ? x : no_rule;
}

static cx either_neutral(const cxi_builder *b, const cx *in, double number,
                         cxi_type type) {
  const cx x = neutral(b, in[0], in[1], number, type);
  return cxi_given(x) ? x : neutral(b, in[1], in[0], number, type);
}

/* -- rules by family ------------------------------------------------------ */

static cx arithmetic(const cxi_builder *b, cxi_prim prim, const cx *in,
                     cxi_type type) {
  const bool floating = cxi_type_is_float(type);
  switch (prim) {
  case CXI_PRIM_add:
    return either_neutral(b, in, floating ? -0.0 : 0, type);
  case CXI_PRIM_sub:
    return neutral(b, in[0], in[1], 0, type);
  case CXI_PRIM_mul:
    return either_neutral(b, in, 1, type);
  case CXI_PRIM_div:
    return neutral(b, in[0], in[1], 1, type);
  default:
    return no_rule;
  }
}

/* f(f(x)) = x. */
static cx involution(const cxi_builder *b, cxi_prim prim, cx x) {
  const cxi_equation *e = made_by(b, prim, x);
  return e ? operand(b, e, 0) : no_rule;
}

static cx select_(const cx *in, uint32_t n_in, cxi_type type) {
  for (uint32_t i = 2; i < n_in; i++)
    if (!same(in[1], in[i])) return no_rule;
  return has_type(in[1], type) ? in[1] : no_rule;
}

static cx reshape(const cxi_builder *b, cx x, cxi_type type) {
  const cxi_equation *e = made_by(b, CXI_PRIM_reshape, x);
  if (has_type(x, type)) return x;
  return e ? cxi_reshape(operand(b, e, 0), *cxi_type_shape(type)) : no_rule;
}

static bool is_identity(const cx_dims *axes) {
  for (int i = 0; i < axes->n; i++)
    if (axes->d[i] != i) return false;
  return true;
}

static cx transpose(const cxi_builder *b, const cxi_transpose_params *p, cx x) {
  const cxi_equation *e = made_by(b, CXI_PRIM_transpose, x);
  cx_dims order = p->permutation;
  if (e) {
    const cxi_transpose_params *first = e->params;
    for (int i = 0; i < order.n; i++)
      order.d[i] = first->permutation.d[p->permutation.d[i]];
    return cxi_transpose(operand(b, e, 0), order);
  }
  return is_identity(&order) ? x : no_rule;
}

static cx broadcast(const cxi_builder *b, const cxi_broadcast_in_dim_params *p,
                    cx x, cxi_type type) {
  const cxi_equation *e = made_by(b, CXI_PRIM_broadcast_in_dim, x);
  if (has_type(x, type) && is_identity(&p->map)) return x;
  if (!e) return no_rule;
  const cxi_broadcast_in_dim_params *first = e->params;
  cx_dims map = first->map;
  for (int i = 0; i < map.n; i++) map.d[i] = p->map.d[first->map.d[i]];
  return cxi_broadcast_in_dim(operand(b, e, 0), p->shape, map);
}

static bool all_zero(const cx_dims *dims) {
  for (int i = 0; i < dims->n; i++)
    if (dims->d[i] != 0) return false;
  return true;
}

cx cxi_simplify_equation(const cxi_builder *b, cxi_prim prim,
                         const void *params, uint32_t n_in, const cx *in,
                         cxi_type type) {
  switch (prim) {
  case CXI_PRIM_add:
  case CXI_PRIM_sub:
  case CXI_PRIM_mul:
  case CXI_PRIM_div:
    return arithmetic(b, prim, in, type);
  case CXI_PRIM_neg:
  case CXI_PRIM_not:
    return involution(b, prim, in[0]);
  case CXI_PRIM_and:
  case CXI_PRIM_or:
  case CXI_PRIM_max:
  case CXI_PRIM_min:
    return same(in[0], in[1]) ? in[0] : no_rule;
  case CXI_PRIM_select:
    return select_(in, n_in, type);
  case CXI_PRIM_convert:
  case CXI_PRIM_bitcast:
  case CXI_PRIM_squeeze:
    return has_type(in[0], type) ? in[0] : no_rule;
  case CXI_PRIM_reshape:
    return reshape(b, in[0], type);
  case CXI_PRIM_transpose:
    return transpose(b, params, in[0]);
  case CXI_PRIM_broadcast_in_dim:
    return broadcast(b, params, in[0], type);
  case CXI_PRIM_slice:
    return has_type(in[0], type) ? in[0] : no_rule;
  case CXI_PRIM_pad: {
    const cxi_pad_params *p = params;
    return all_zero(&p->low) && all_zero(&p->high) && all_zero(&p->interior)
               ? in[0]
               : no_rule;
  }
  case CXI_PRIM_rev:
    return ((const cxi_rev_params *)params)->axes.n == 0 ? in[0] : no_rule;
  case CXI_PRIM_reduce_sum:
  case CXI_PRIM_reduce_max:
  case CXI_PRIM_reduce_min:
  case CXI_PRIM_reduce_prod:
    return has_type(in[0], type) ? in[0] : no_rule;
  default:
    return no_rule;
  }
}
