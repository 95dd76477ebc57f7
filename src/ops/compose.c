/* compose.c - functions of NumPy made of the public operations. */
#include "calx/compose.h"

#include <math.h>

#include "calx/array.h"
#include "calx/index.h"
#include "calx/product.h"
#include "calx/reduce.h"
#include "calx/shape.h"
#include "calx/tree.h"
#include "ops/ops.h"
#include "ops/subscript.h"

static cx one(cx_op op, cx a) {
  return cx_unary_(op, a, NULL);
}
static cx two(cx_op op, cx a, cx b) {
  return cx_fold_(op, 2, (const cx[]){ a, b }, NULL);
}
static cx choose(cx condition, cx a, cx b) {
  return cx_where_(3, (const cx[]){ condition, a, b }, NULL);
}
static cx number(double x) {
  return cx_lit_f(x);
}
static cx sum(cx a, int axis) {
  return cx_reduce_(CX_RED_SUM, a, (cx_dims){ .n = 1, .d = { axis } },
                    (cx_reduce_opt){ .size_ = sizeof(cx_reduce_opt) }, NULL);
}

/* -- integers and bools as floats, as JAX has them ------------------------ */

static bool is_whole(cx a) {
  if (!cxi_given(a)) return false;
  const cxi_kind kind = cxi_dtype_kind(cxi_dtype_at(a));
  return kind == CXI_BOOLEAN || kind == CXI_UNSIGNED || kind == CXI_SIGNED;
}
static cx as_float(cx a) {
  return is_whole(a) ? cxi_convert(a, cxi_inexact_jax(cxi_dtype_at(a))) : a;
}

static cx with_type(cx a, bool weak, cx_dtype type) {
  return weak ? cxi_strong("convert", a, type) : cxi_convert(a, type);
}

/* Integers and C numbers take the other one's float, or that of both; two
 * arrays of floats are for the promotion rule. */
static void both_float(cx *a, cx *b) {
  cx_dtype type;
  cx poison;
  if (!cxi_given(*a) || !cxi_given(*b)) return;
  if (!is_whole(*a) && !is_whole(*b) && !cxi_is_weak(*a) && !cxi_is_weak(*b)) return;
  if (cxi_is_weak(*a) && cxi_is_weak(*b) &&
      (!cxi_operand("numbers", a, &poison) ||
       !cxi_operand("numbers", b, &poison)))
    return;
  const bool weak_a = cxi_is_weak(*a), weak_b = cxi_is_weak(*b);
  const cx_dtype type_a = cxi_inexact_jax(cxi_dtype_at(*a));
  const cx_dtype type_b = cxi_inexact_jax(cxi_dtype_at(*b));
  if (weak_b || (!is_whole(*a) && !weak_a))
    type = type_a;
  else if (weak_a || !is_whole(*b))
    type = type_b;
  else
    type = cxi_promote_jax(type_a, type_b);
  if (is_whole(*a) || weak_a) *a = with_type(*a, weak_a, type);
  if (is_whole(*b) || weak_b) *b = with_type(*b, weak_b, type);
}

/* f of each leaf. */
static cx each(cx a, cx (*f)(cx)) {
  if (!cxi_is_tree(a)) return f(a);
  const cxi_mark mark = cxi_scratch_mark();
  const int n = cx_leaf_count(a);
  cx *leaves = cxi_scratch(((size_t)n + 1) * sizeof *leaves);
  for (int i = 0; leaves && i < n; i++) leaves[i] = f(cx_leaf_(a, i, NULL));
  const cx made = leaves ? cx_unflatten_(NULL, a, n, leaves)
                         : cxi_fail(CX_EMEMORY, "no memory for a tree");
  cxi_scratch_reset(mark);
  return made;
}

/* -- elementwise ---------------------------------------------------------- */

cx cx_is_inf_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  a = each(a, as_float);
  const cx finite = one(CX_OP_IS_FINITE, a), nan = one(CX_OP_IS_NAN, a);
  return cxi_leave(before, one(CX_OP_NOT, two(CX_OP_OR, finite, nan)));
}

static cx nan_to_num(cx a) {
  if (is_whole(a)) return a;
  const cx infinite = cx_full_like_(a, number(INFINITY), NULL);
  const cx most = two(CX_OP_NEXTAFTER, infinite, number(0));
  const cx clear = choose(one(CX_OP_IS_NAN, a), number(0), a);
  return cx_clip_(3, (const cx[]){ clear, one(CX_OP_NEG, most), most }, NULL);
}

cx cx_nan_to_num_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  return cxi_leave(before, each(a, nan_to_num));
}

/* Two formulas, each where it is exact; the other sees a harmless number.
 * Maechler 2012, "Accurately computing log(1 - exp(-|a|))". */
cx cx_log1mexp_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  a = each(a, as_float);
  const cx small = two(CX_OP_LT, a, number(M_LN2));
  const cx near = choose(small, a, number(1));
  const cx far = choose(small, number(1), a);
  const cx low =
      one(CX_OP_LOG, one(CX_OP_NEG, one(CX_OP_EXPM1, one(CX_OP_NEG, near))));
  const cx high =
      one(CX_OP_LOG1P, one(CX_OP_NEG, one(CX_OP_EXP, one(CX_OP_NEG, far))));
  return cxi_leave(before, choose(small, low, high));
}

/* Item i of a tree; a leaf stands beside each. */
static cx leaf_beside(cx a, int i) {
  return cxi_is_tree(a) ? cx_leaf_(a, i, NULL) : a;
}

/* both_float of the leaves of two trees, or of a tree and an array beside each
 * of its leaves. Of trees that differ the operation will say so. */
static void trees_float(cx *a, cx *b) {
  const cx like_a = *a, like_b = *b;
  const bool tree_a = cxi_is_tree(like_a), tree_b = cxi_is_tree(like_b);
  const int n = cx_leaf_count(tree_a ? like_a : like_b);
  if (tree_a && tree_b && cx_leaf_count(like_b) != n) {
    *a = each(like_a, as_float), *b = each(like_b, as_float);
    return;
  }
  const cxi_mark mark = cxi_scratch_mark();
  cx *of_a = cxi_scratch(((size_t)n + 1) * sizeof *of_a);
  cx *of_b = cxi_scratch(((size_t)n + 1) * sizeof *of_b);
  for (int i = 0; of_a && of_b && i < n; i++) {
    of_a[i] = leaf_beside(like_a, i), of_b[i] = leaf_beside(like_b, i);
    both_float(&of_a[i], &of_b[i]);
  }
  if (of_a && of_b) {
    *a = cx_unflatten_(NULL, tree_a ? like_a : like_b, n, of_a);
    *b = cx_unflatten_(NULL, tree_b ? like_b : like_a, n, of_b);
  } else {
    *a = *b = cxi_fail(CX_EMEMORY, "no memory for a tree");
  }
  cxi_scratch_reset(mark);
}

cx cx_is_close_(cx a, cx b, double rtol, double atol, const char *at) {
  const cxi_name before = cxi_enter(at);
  if (cxi_is_tree(a) || cxi_is_tree(b))
    trees_float(&a, &b);
  else
    both_float(&a, &b);
  const cx size = one(CX_OP_ABS, b);
  const cx room =
      two(CX_OP_ADD, two(CX_OP_MUL, number(rtol), size), number(atol));
  const cx near = two(CX_OP_LE, one(CX_OP_ABS, two(CX_OP_SUB, a, b)), room);
  const cx finite = two(CX_OP_AND, near, one(CX_OP_IS_FINITE, b));
  return cxi_leave(before, two(CX_OP_OR, two(CX_OP_EQ, a, b), finite));
}

cx cx_is_in_(cx a, cx values, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cx_dims last = { .n = 1, .d = { -1 } };
  cx poison;
  if (!cxi_operand("is_in", &a, &poison)) return cxi_leave(before, poison);
  if (cxi_is_weak(values)) {
    if (cxi_dtype_at(a) == CX_BOOL) a = cxi_convert(a, CX_I32);
    values = cxi_strong("is_in", values, cxi_dtype_at(a));
  }
  const cx list = cx_reshape_(values, last, NULL);
  const cx equal = two(CX_OP_EQ, cx_expand_(a, last, NULL), list);
  return cxi_leave(before,
                   cx_reduce_(CX_RED_ANY, equal, last,
                              (cx_reduce_opt){ .size_ = sizeof(cx_reduce_opt) },
                              NULL));
}

cx cx_glu_(cx a, int axis, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("glu", &a, &poison) || !cxi_axis("glu", a, &axis, &poison))
    return cxi_leave(before, poison);
  const int64_t n = cxi_shape_at(a).d[axis];
  if (n % 2)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE,
                              "glu: the extent %lld of axis %d of %s "
                              "is odd",
                              (long long)n, axis, cxi_shown_of(a).text));
  const cx gate = one(CX_OP_SIGMOID, cxi_slice_axis(a, axis, n / 2, n));
  return cxi_leave(before,
                   two(CX_OP_MUL, cxi_slice_axis(a, axis, 0, n / 2), gate));
}

/* -- along an axis -------------------------------------------------------- */

cx cx_move_axis_(cx a, int from, int to, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("move_axis", &a, &poison) ||
      !cxi_axis("move_axis", a, &from, &poison) ||
      !cxi_axis("move_axis", a, &to, &poison))
    return cxi_leave(before, poison);
  cx_dims order = { .n = cxi_rank_at(a) };
  for (int i = 0, next = 0; i < order.n; i++) {
    next += next == from;
    order.d[i] = i == to ? from : next++;
  }
  return cxi_leave(before, cxi_transpose(a, order));
}

cx cx_diff_(cx a, int axis, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("diff", &a, &poison) || !cxi_axis("diff", a, &axis, &poison))
    return cxi_leave(before, poison);
  const int64_t n = cxi_shape_at(a).d[axis];
  const cx_op op = cxi_dtype_at(a) == CX_BOOL ? CX_OP_NE : CX_OP_SUB;
  if (n == 0) return cxi_leave(before, a);
  return cxi_leave(before, two(op, cxi_slice_axis(a, axis, 1, n),
                               cxi_slice_axis(a, axis, 0, n - 1)));
}

cx cx_trapezoid_(cx y, cx x, int axis, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("trapezoid", &y, &poison) ||
      !cxi_operand("trapezoid", &x, &poison) ||
      !cxi_axis("trapezoid", y, &axis, &poison))
    return cxi_leave(before, poison);
  const int64_t n = cxi_shape_at(y).d[axis];
  const cx_dims own = cxi_shape_at(x), all = cxi_shape_at(y);
  both_float(&y, &x);
  if (own.n == 1 ? own.d[0] != n : !cxi_dims_equal(&own, &all))
    return cxi_leave(
        before,
        cxi_fail(CX_ESHAPE, "trapezoid: positions %s do not fit axis %d of %s",
                 cxi_shown_of(x).text, axis, cxi_shown_of(y).text));
  if (own.n > 1) x = cx_move_axis_(x, axis, -1, NULL);
  y = cx_move_axis_(y, axis, -1, NULL);
  const int last = all.n - 1;
  const cx pairs = two(CX_OP_ADD, cxi_slice_axis(y, last, n > 0, n),
                       cxi_slice_axis(y, last, 0, n - (n > 0)));
  const cx area = two(CX_OP_MUL, pairs, cx_diff_(x, -1, NULL));
  return cxi_leave(before, two(CX_OP_MUL, number(0.5), sum(area, -1)));
}

cx cx_meshgrid_(int n, const cx *arrays, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx items[CX_MAX_DIMS], poison = { 0, 0 };
  cx_dims shape = { .n = n };
  if (!cxi_list_given("meshgrid", n, arrays, &poison))
    return cxi_leave(before, poison);
  if (n > CX_MAX_DIMS)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "meshgrid: %d arrays, at most "
                                      "%d",
                                      n, CX_MAX_DIMS));
  for (int i = 0; i < n; i++) {
    items[i] = arrays[i];
    if (!cxi_operand("meshgrid", &items[i], &poison))
      return cxi_leave(before, poison);
    if (cxi_rank_at(items[i]) != 1)
      return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                        "meshgrid: item %d is %s, not of "
                                        "rank 1",
                                        i, cxi_shown_of(items[i]).text));
    shape.d[i] = cxi_shape_at(items[i]).d[0];
  }
  for (int i = 0; i < n; i++)
    items[i] =
        cxi_broadcast_in_dim(items[i], shape, (cx_dims){ .n = 1, .d = { i } });
  return cxi_leave(before, cx_tuple_(n, items, NULL));
}

/* -- products ------------------------------------------------------------- */

cx cx_tensordot_(cx a, cx b, int n, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("tensordot", &a, &poison) ||
      !cxi_operand("tensordot", &b, &poison))
    return cxi_leave(before, poison);
  const int rank = cxi_rank_at(a);
  if (n < 0 || n > rank || n > cxi_rank_at(b))
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "tensordot: %d axes of %s and %s", n,
                              cxi_shown_of(a).text, cxi_shown_of(b).text));
  const cx_dot_dims dims = { .contract_a = cxi_dims_range(rank - n, rank),
                             .contract_b = cxi_dims_range(0, n) };
  return cxi_leave(
      before, cx_dot_general_(NULL, a, b, dims,
                              (cx_dot_opt){ .size_ = sizeof(cx_dot_opt) }));
}

static bool is_vector_of_three(cx a) {
  const cx_dims shape = cxi_shape_at(a);
  return shape.n > 0 && shape.d[shape.n - 1] == 3;
}

/* a[i+1] b[i+2] - a[i+2] b[i+1], indices modulo 3 */
cx cx_cross_(cx a, cx b, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("cross", &a, &poison) || !cxi_operand("cross", &b, &poison))
    return cxi_leave(before, poison);
  if (!is_vector_of_three(a) || !is_vector_of_three(b))
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE,
                              "cross: the last axes have 3 items, got %s and "
                              "%s",
                              cxi_shown_of(a).text, cxi_shown_of(b).text));
  const cx first =
      two(CX_OP_MUL, cx_roll_(a, -1, -1, NULL), cx_roll_(b, -2, -1, NULL));
  const cx second =
      two(CX_OP_MUL, cx_roll_(a, -2, -1, NULL), cx_roll_(b, -1, -1, NULL));
  return cxi_leave(before, two(CX_OP_SUB, first, second));
}

cx cx_polyval_(cx p, cx x, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("polyval", &p, &poison)) return cxi_leave(before, poison);
  if (cxi_rank_at(p) < 1)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "polyval: coefficients (k), got %s",
                              cxi_shown_of(p).text));
  const int64_t k = cxi_shape_at(p).d[0];
  cx both[2] = { p, x };
  if (!cxi_is_tree(x)) {
    if (!cxi_promote("polyval", 2, both, &poison))
      return cxi_leave(before, poison);
    p = both[0], x = both[1];
  }
  const cx_dims front = { .n = 1, .d = { 0 } };
  cx value = cx_full_like_(x, cx_lit_i(0), NULL);
  if (k == 0) /* of no coefficients: 0, of the shape that others would give */
    return cxi_leave(before,
                     two(CX_OP_ADD, value,
                         cx_full_(cx_lit_i(0), cxi_dtype_at(p),
                                  cxi_dims_without(cxi_shape_at(p), 0), NULL)));
  for (int64_t i = 0; i < k; i++) {
    const cx c = cx_squeeze_(cxi_slice_axis(p, 0, i, i + 1), front, NULL);
    value = two(CX_OP_ADD, two(CX_OP_MUL, value, x), c);
  }
  return cxi_leave(before, value);
}

cx cx_cov_(cx a, double ddof, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("cov", &a, &poison)) return cxi_leave(before, poison);
  const int rank = cxi_rank_at(a);
  if (rank > 2)
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "cov: wants (n, m), got %s",
                                      cxi_shown_of(a).text));
  a = as_float(a);
  if (rank < 2) a = cx_reshape_(a, (cx_dims){ .n = 2, .d = { 1, -1 } }, NULL);
  const double m = (double)cxi_shape_at(a).d[1];
  const cx mean = cx_reduce_(
      CX_RED_MEAN, a, (cx_dims){ .n = 1, .d = { 1 } },
      (cx_reduce_opt){ .size_ = sizeof(cx_reduce_opt), .keepdims = true },
      NULL);
  const cx rest = two(CX_OP_SUB, a, mean);
  const cx products =
      cx_einsum_("ik,jk->ij", 2, (const cx[]){ rest, rest }, NULL);
  const cx made = two(CX_OP_DIV, products, number(fmax(m - ddof, 0)));
  return cxi_leave(
      before, rank < 2 ? cx_reshape_(made, (cx_dims){ .n = 0 }, NULL) : made);
}

cx cx_segment_sum_(cx a, cx ids, int64_t segments, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("segment_sum", &a, &poison) ||
      !cxi_integer_operand("segment_sum", &ids, &poison))
    return cxi_leave(before, poison);
  cx_dims shape = cxi_shape_at(a);
  const cx_dims own = cxi_shape_at(ids);
  if (shape.n < 1 || own.n != 1 || own.d[0] != shape.d[0] || segments < 0)
    return cxi_leave(
        before,
        cxi_fail(CX_ESHAPE, "segment_sum: %s by the ids %s into %lld segments",
                 cxi_shown_of(a).text, cxi_shown_of(ids).text,
                 (long long)segments));
  shape.d[0] = segments;
  const cx zeros = cx_full_(cx_lit_i(0), cxi_dtype_at(a), shape, NULL);
  if (segments == 0) return cxi_leave(before, zeros);
  const cx_at_opt opt = { .size_ = sizeof opt };
  /* Negative indices would count from the end; past it they are dropped. */
  const cx negative = two(CX_OP_LT, ids, cx_lit_i(0));
  const bool fit = cxi_dtype_at(ids) == CX_I32 && segments <= INT32_MAX;
  const cx wide = fit ? ids : cx_cast_(ids, CX_I64, NULL);
  const cx places = choose(negative, cx_lit_i(segments), wide);
  return cxi_leave(before, cx_update_(CX_AT_ADD, zeros, 1,
                                      (const cx_ix[]){ cx_ix_array_(places) },
                                      a, opt, NULL));
}
