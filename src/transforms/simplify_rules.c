/* simplify_rules.c - forwarding and algebra that keep every bit: a table.
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

/* The only operand of the equation that makes x, if it is one of `prim`. */
static cx under(const cxi_builder *b, cxi_prim prim, cx x) {
  const cxi_equation *e = made_by(b, prim, x);
  return e ? operand(b, e, 0) : no_rule;
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

static bool is_identity(const cx_dims *axes) {
  for (int i = 0; i < axes->n; i++)
    if (axes->d[i] != i) return false;
  return true;
}

static bool all_zero(const cx_dims *dims) {
  for (int i = 0; i < dims->n; i++)
    if (dims->d[i] != 0) return false;
  return true;
}

/* -- arithmetic ----------------------------------------------------------- */

typedef cxi_simplify_site site;

static double zero_of(const site *s) {
  return cxi_type_is_float(s->type) ? -0.0 : 0;
}

/* x for `x op number` where that changes nothing and x has the type. */
static cx neutral(const site *s, double number) {
  return has_type(s->in[0], s->type) && is_number(s->b, s->in[1], number)
             ? s->in[0]
             : no_rule;
}

static cx either_neutral(const site *s, double number) {
  const cx x = neutral(s, number);
  if (cxi_given(x)) return x;
  return has_type(s->in[1], s->type) && is_number(s->b, s->in[0], number)
             ? s->in[1]
             : no_rule;
}

static cx add_zero(const site *s) {
  return either_neutral(s, zero_of(s));
}
static cx sub_zero(const site *s) {
  return neutral(s, 0);
}
static cx mul_one(const site *s) {
  return either_neutral(s, 1);
}
static cx div_one(const site *s) {
  return neutral(s, 1);
}

static bool is_signed_type(cxi_type type) {
  const cx_dtype d = cxi_type_dtype(type);
  return cxi_type_is_float(type) || d == CX_I8 || d == CX_I16 || d == CX_I32 ||
         d == CX_I64;
}

/* mul's and div's rounding is the same on both sides of zero. */
static cx by_minus_one(const site *s) {
  const bool negates = is_signed_type(s->type) &&
                       (s->prim == CXI_PRIM_mul || cxi_type_is_float(s->type));
  return negates && cxi_given(neutral(s, -1))
             ? cxi_unary(CXI_PRIM_neg, s->in[0])
             : no_rule;
}

static cx add_neg(const site *s) {
  const cx y = under(s->b, CXI_PRIM_neg, s->in[1]);
  return cxi_given(y) ? cxi_binary(CXI_PRIM_sub, s->in[0], y) : no_rule;
}
static cx sub_neg(const site *s) {
  const cx y = under(s->b, CXI_PRIM_neg, s->in[1]);
  return cxi_given(y) ? cxi_binary(CXI_PRIM_add, s->in[0], y) : no_rule;
}
static cx negs(const site *s) {
  const cx x = under(s->b, CXI_PRIM_neg, s->in[0]);
  const cx y = under(s->b, CXI_PRIM_neg, s->in[1]);
  return cxi_given(x) && cxi_given(y) && cxi_type_is_float(s->type)
             ? cxi_binary(s->prim, x, y)
             : no_rule;
}

static cx involution(const site *s) {
  return under(s->b, s->prim, s->in[0]);
}
static cx of_itself(const site *s) {
  return made_by(s->b, s->prim, s->in[0]) ? s->in[0] : no_rule;
}
static cx abs_neg(const site *s) {
  const cx x = under(s->b, CXI_PRIM_neg, s->in[0]);
  return cxi_given(x) ? cxi_unary(CXI_PRIM_abs, x) : no_rule;
}
static cx twice(const site *s) {
  return same(s->in[0], s->in[1]) ? s->in[0] : no_rule;
}

/* -- choice --------------------------------------------------------------- */

static cx select_same(const site *s) {
  for (uint32_t i = 2; i < s->n_in; i++)
    if (!same(s->in[1], s->in[i])) return no_rule;
  return has_type(s->in[1], s->type) ? s->in[1] : no_rule;
}

static cx select_known(const site *s) {
  uint64_t which;
  if (cxi_dtype_at(s->in[0]) != CX_BOOL || s->n_in != 3 ||
      !filled_with(s->b, s->in[0], &which))
    return no_rule;
  const cx chosen = s->in[which ? 2 : 1];
  return has_type(chosen, s->type) ? chosen : no_rule;
}

/* -- conversion ----------------------------------------------------------- */

static cx unchanged(const site *s) {
  return has_type(s->in[0], s->type) ? s->in[0] : no_rule;
}

/* How many bits: of an integer its width, of a float its precision where the
 * exponents fit too; 0: none of the kind asked for. */
static int signed_bits(cx_dtype d) {
  return d == CX_I8    ? 8
         : d == CX_I16 ? 16
         : d == CX_I32 ? 32
         : d == CX_I64 ? 64
                       : 0;
}
static int unsigned_bits(cx_dtype d) {
  return d == CX_U8    ? 8
         : d == CX_U16 ? 16
         : d == CX_U32 ? 32
         : d == CX_U64 ? 64
                       : 0;
}
static int float_bits(cx_dtype d) {
  return d == CX_F16 || d == CX_BF16 ? 16
         : d == CX_F32               ? 32
         : d == CX_F64               ? 64
                                     : 0;
}

/* f(from) < f(to) and `end` is of the kind as well. */
static bool widens(int (*bits)(cx_dtype), cx_dtype from, cx_dtype to,
                   cx_dtype end) {
  return bits(from) && bits(from) < bits(to) && bits(end);
}

/* A step in between that loses nothing is left out. */
static cx convert_convert(const site *s) {
  const cx x = under(s->b, CXI_PRIM_convert, s->in[0]);
  if (!cxi_given(x)) return no_rule;
  const cx_dtype from = cxi_dtype_at(x), to = cxi_dtype_at(s->in[0]);
  const cx_dtype end = cxi_type_dtype(s->type);
  if (!widens(float_bits, from, to, end) &&
      !widens(signed_bits, from, to, end) &&
      !widens(unsigned_bits, from, to, end))
    return no_rule;
  return has_type(x, s->type) ? x : cxi_convert(x, end);
}

/* -- movement ------------------------------------------------------------- */

static cx reshape_reshape(const site *s) {
  const cx x = under(s->b, CXI_PRIM_reshape, s->in[0]);
  return cxi_given(x) ? cxi_reshape(x, *cxi_type_shape(s->type)) : no_rule;
}

/* The shape back: reshape, squeeze and what they undo. */
static cx shape_back(const site *s) {
  cx x = under(s->b, CXI_PRIM_reshape, s->in[0]);
  if (!cxi_given(x)) x = under(s->b, CXI_PRIM_squeeze, s->in[0]);
  return cxi_given(x) && has_type(x, s->type) ? x : no_rule;
}

static cx transpose_transpose(const site *s) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_transpose, s->in[0]);
  if (!e) return no_rule;
  const cxi_transpose_params *first = e->params, *p = s->params;
  cx_dims order = p->permutation;
  for (int i = 0; i < order.n; i++)
    order.d[i] = first->permutation.d[p->permutation.d[i]];
  return is_identity(&order) ? operand(s->b, e, 0)
                             : cxi_transpose(operand(s->b, e, 0), order);
}

static cx transpose_nothing(const site *s) {
  const cxi_transpose_params *p = s->params;
  return is_identity(&p->permutation) ? s->in[0] : no_rule;
}

static cx broadcast_nothing(const site *s) {
  const cxi_broadcast_in_dim_params *p = s->params;
  return has_type(s->in[0], s->type) && is_identity(&p->map) ? s->in[0]
                                                             : no_rule;
}

static cx broadcast_broadcast(const site *s) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_broadcast_in_dim, s->in[0]);
  if (!e) return no_rule;
  const cxi_broadcast_in_dim_params *first = e->params, *p = s->params;
  cx_dims map = first->map;
  for (int i = 0; i < map.n; i++) map.d[i] = p->map.d[first->map.d[i]];
  return cxi_broadcast_in_dim(operand(s->b, e, 0), p->shape, map);
}

/* However its elements move, all are the one number. */
static cx move_filled(const site *s) {
  const cx x = under(s->b, CXI_PRIM_broadcast_in_dim, s->in[0]);
  if (!cxi_given(x) || cxi_shape_at(x).n != 0) return no_rule;
  return cxi_broadcast_in_dim(x, *cxi_type_shape(s->type), (cx_dims){ 0 });
}

static cx pad_nothing(const site *s) {
  const cxi_pad_params *p = s->params;
  return all_zero(&p->low) && all_zero(&p->high) && all_zero(&p->interior)
             ? s->in[0]
             : no_rule;
}

static cx rev_nothing(const site *s) {
  return ((const cxi_rev_params *)s->params)->axes.n == 0 ? s->in[0] : no_rule;
}

static cx rev_rev(const site *s) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_rev, s->in[0]);
  return e && cxi_params_equal(CXI_PRIM_rev, e->params, s->params)
             ? operand(s->b, e, 0)
             : no_rule;
}

static cx join_one(const site *s) {
  return s->n_in == 1 ? s->in[0] : no_rule;
}

static cx slice_slice(const site *s) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_slice, s->in[0]);
  if (!e) return no_rule;
  const cxi_slice_params *first = e->params, *p = s->params;
  cx_dims start = p->start, limit = p->limit, strides = p->strides;
  for (int i = 0; i < start.n; i++) {
    const int64_t n = cxi_type_shape(s->type)->d[i];
    if (n == 0) return no_rule;
    start.d[i] = first->start.d[i] + p->start.d[i] * first->strides.d[i];
    strides.d[i] = n == 1 ? 1 : first->strides.d[i] * p->strides.d[i];
    limit.d[i] = start.d[i] + (n - 1) * strides.d[i] + 1;
  }
  return cxi_slice(operand(s->b, e, 0), start, limit, strides);
}

/* What is cut from one of the parts that were joined. Of many parts it would
 * take long to find which. */
enum { PARTS = 32 };
static cx slice_join(const site *s) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_concatenate, s->in[0]);
  if (!e || e->n_in > PARTS) return no_rule;
  const int axis = (int)((const cxi_concatenate_params *)e->params)->axis;
  const cxi_slice_params *p = s->params;
  int64_t before = 0;
  for (uint32_t i = 0; i < e->n_in; i++) {
    const cx part = operand(s->b, e, i);
    const int64_t n = cxi_shape_at(part).d[axis];
    if (p->start.d[axis] >= before && p->limit.d[axis] <= before + n &&
        p->start.d[axis] < p->limit.d[axis]) {
      if (has_type(part, s->type)) return part;
      cx_dims start = p->start, limit = p->limit;
      start.d[axis] -= before;
      limit.d[axis] -= before;
      return cxi_slice(part, start, limit, p->strides);
    }
    before += n;
  }
  return no_rule;
}

/* -- reductions and products ---------------------------------------------- */

/* The most of equal elements is each of them. */
static cx reduce_broadcast(const site *s) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_broadcast_in_dim, s->in[0]);
  if (!e || !has_type(operand(s->b, e, 0), s->type)) return no_rule;
  const cxi_broadcast_in_dim_params *p = e->params;
  const cx_dims axes = s->prim == CXI_PRIM_reduce_max
                           ? ((const cxi_reduce_max_params *)s->params)->axes
                           : ((const cxi_reduce_min_params *)s->params)->axes;
  for (int i = 0; i < axes.n; i++) {
    if (p->shape.d[axes.d[i]] == 0) return no_rule;
    for (int k = 0; k < p->map.n; k++)
      if (p->map.d[k] == axes.d[i]) return no_rule;
  }
  for (int k = 1; k < p->map.n; k++)
    if (p->map.d[k] <= p->map.d[k - 1]) return no_rule;
  return operand(s->b, e, 0);
}

static bool is_in(const cx_dims *list, int64_t axis) {
  for (int i = 0; i < list->n; i++)
    if (list->d[i] == axis) return true;
  return false;
}

/* The operand under the transpose, its axes renamed; {0} unless the axes that
 * stay keep their order. */
static cx untransposed(const site *s, cx x, cx_dims *contract, cx_dims *batch) {
  const cxi_equation *e = made_by(s->b, CXI_PRIM_transpose, x);
  if (!e) return no_rule;
  const cx_dims *order =
      &((const cxi_transpose_params *)e->params)->permutation;
  int64_t last = -1;
  for (int i = 0; i < order->n; i++) {
    if (is_in(contract, i) || is_in(batch, i)) continue;
    if (order->d[i] < last) return no_rule;
    last = order->d[i];
  }
  for (int i = 0; i < contract->n; i++)
    contract->d[i] = order->d[contract->d[i]];
  for (int i = 0; i < batch->n; i++) batch->d[i] = order->d[batch->d[i]];
  return operand(s->b, e, 0);
}

/* The lists name the axes in the same order: K is walked as before. */
static cx dot_transpose(const site *s) {
  cxi_dot_general_params p = *(const cxi_dot_general_params *)s->params;
  const cx a = untransposed(s, s->in[0], &p.lhs_contract, &p.lhs_batch);
  const cx b = untransposed(s, s->in[1], &p.rhs_contract, &p.rhs_batch);
  if (!cxi_given(a) && !cxi_given(b)) return no_rule;
  return cxi_dot_general(cxi_given(a) ? a : s->in[0],
                         cxi_given(b) ? b : s->in[1],
                         s->n_in == 3 ? s->in[2] : no_rule, &p);
}

/* -- the table ------------------------------------------------------------ */

#define RULE(prim, name, apply) \
  { CXI_PRIM_##prim, name, apply }
const cxi_simplify_rule cxi_simplify_rules[] = {
  RULE(add, "x + (-0.0) = x; of integers x + 0 = x", add_zero),
  RULE(add, "x + (-y) = x - y", add_neg),
  RULE(sub, "x - 0.0 = x", sub_zero),
  RULE(sub, "x - (-y) = x + y", sub_neg),
  RULE(mul, "x * 1 = x", mul_one),
  RULE(mul, "x * -1 = -x", by_minus_one),
  RULE(mul, "(-x) * (-y) = x * y", negs),
  RULE(div, "x / 1 = x", div_one),
  RULE(div, "x / -1 = -x", by_minus_one),
  RULE(div, "(-x) / (-y) = x / y", negs),
  RULE(neg, "-(-x) = x", involution),
  RULE(not, "not not x = x", involution),
  RULE(abs, "abs of abs", of_itself),
  RULE(abs, "abs(-x) = abs x", abs_neg),
  RULE(floor, "floor of floor", of_itself),
  RULE(ceil, "ceil of ceil", of_itself),
  RULE(sign, "sign of sign", of_itself),
  RULE(and, "x and x = x", twice),
  RULE(or, "x or x = x", twice),
  RULE(max, "max(x, x) = x", twice),
  RULE(min, "min(x, x) = x", twice),
  RULE(select, "select of equal cases", select_same),
  RULE(select, "select by a constant", select_known),
  RULE(convert, "convert to the same dtype", unchanged),
  RULE(convert, "convert of a convert that loses nothing", convert_convert),
  RULE(bitcast, "bitcast to the same dtype", unchanged),
  RULE(squeeze, "squeeze of nothing", unchanged),
  RULE(squeeze, "squeeze back", shape_back),
  RULE(squeeze, "squeeze of a filled array", move_filled),
  RULE(reshape, "reshape to the same shape", unchanged),
  RULE(reshape, "reshape back", shape_back),
  RULE(reshape, "reshape of reshape", reshape_reshape),
  RULE(reshape, "reshape of a filled array", move_filled),
  RULE(transpose, "transpose of nothing", transpose_nothing),
  RULE(transpose, "transpose of transpose", transpose_transpose),
  RULE(transpose, "transpose of a filled array", move_filled),
  RULE(broadcast_in_dim, "broadcast to the same shape", broadcast_nothing),
  RULE(broadcast_in_dim, "broadcast of broadcast", broadcast_broadcast),
  RULE(slice, "slice of the whole", unchanged),
  RULE(slice, "slice of a filled array", move_filled),
  RULE(slice, "slice of slice", slice_slice),
  RULE(slice, "slice of a part of a concatenation", slice_join),
  RULE(concatenate, "concatenation of one", join_one),
  RULE(pad, "pad by nothing", pad_nothing),
  RULE(rev, "rev of no axes", rev_nothing),
  RULE(rev, "rev of rev", rev_rev),
  RULE(rev, "rev of a filled array", move_filled),
  RULE(reduce_sum, "sum over nothing", unchanged),
  RULE(reduce_prod, "product over nothing", unchanged),
  RULE(reduce_max, "max over nothing", unchanged),
  RULE(reduce_max, "max over broadcast axes", reduce_broadcast),
  RULE(reduce_min, "min over nothing", unchanged),
  RULE(reduce_min, "min over broadcast axes", reduce_broadcast),
  RULE(dot_general, "product of a transposed operand", dot_transpose),
};
const uint32_t cxi_n_simplify_rules =
    sizeof cxi_simplify_rules / sizeof *cxi_simplify_rules;
#undef RULE

cx cxi_simplify_equation(const cxi_simplify_site *s) {
  for (uint32_t i = 0; i < cxi_n_simplify_rules; i++) {
    const cxi_simplify_rule *rule = &cxi_simplify_rules[i];
    const cx is = rule->prim == s->prim ? rule->apply(s) : no_rule;
    if (cxi_given(is)) return is;
  }
  return no_rule;
}
