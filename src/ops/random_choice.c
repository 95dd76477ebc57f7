/* random_choice.c - orders and choices at random, bit for bit those of JAX. */
#include <math.h>

#include "calx/index.h"
#include "calx/sort.h"
#include "ops/axes.h"
#include "ops/random.h"

/* -- orders ---------------------------------------------------------------- */

/* So many sorts by 32 random bits that two of n elements hardly have the same
 * ones in all of them: 3 log n / log(2^32 - 1). */
static int rounds_of(int64_t n) {
  return n > 1 ? (int)ceil(3 * log((double)n) / log((double)UINT32_MAX)) : 0;
}
/* Indices i32 along the axis in a random order, another in each line. */
static cx random_order(cx key, cx_dims shape, int axis) {
  const cxi_sort_params by = { .axis = axis, .n_keys = 1, .stable = true };
  cx order = cxi_iota(CX_I32, shape, axis);
  for (int i = rounds_of(cxi_dims_count(&shape)); i > 0; i--) {
    cx bits_key, sorted[2];
    cx_split_(key, (cx *[]){ &key, &bits_key, NULL }, NULL);
    const cx in[2] = { cxi_random_bits(bits_key, CX_U32, shape), order };
    if (!cxi_sort(&by, 2, in, sorted)) return sorted[1];
    order = sorted[1];
  }
  return order;
}

/* What is drawn from: *out_n slices of a along the axis, or 0..n-1, which a
 * becomes if `made`. False with *out_poison. */
static bool population(const char *op, cx *a, int *axis, int64_t *out_n,
                       cx *out_poison) {
  if (cxi_is_count(*a, out_n)) {
    const cx_dims shape = { 1, { *out_n } };
    if (*out_n < 0 || *out_n > INT32_MAX || *axis < -1 || *axis > 0) {
      *out_poison = cxi_fail(*axis < -1 || *axis > 0 ? CX_EINDEX : CX_ESHAPE,
                             "%s: 0..n-1 with n = %lld along axis %d", op,
                             (long long)*out_n, *axis);
      return false;
    }
    *a = cxi_iota(CX_I32, shape, 0);
    *axis = 0;
    return true;
  }
  if (!cxi_operand(op, a, out_poison)) return false;
  const cx_dims shape = cxi_shape_at(*a);
  if (shape.n == 0) {
    *out_poison = cxi_fail(CX_ESHAPE, "%s: needs an axis or a C number, got %s",
                           op, cxi_shown_of(*a).text);
    return false;
  }
  if (!cxi_axis(op, *a, axis, out_poison)) return false;
  *out_n = shape.d[*axis];
  if (cxi_dims_count(&shape) <= INT32_MAX || *out_n <= INT32_MAX) return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: axis %d of %s has no i32 indices", op,
                         *axis, cxi_shown_of(*a).text);
  return false;
}

cx cx_permutation_(cx key, cx a, cx_permutation_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  int64_t n;
  int axis = opt.axis;
  if (!cxi_random_key("permutation", &key, &poison) ||
      !population("permutation", &a, &axis, &n, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(a);
  if (cxi_dims_count(&shape) == 0) return cxi_leave(before, a);
  if (opt.independent)
    return cxi_leave(before,
                     cxi_gather_along(a, random_order(key, shape, axis), axis));
  const cx order = random_order(key, cx_dims_one_(n), 0);
  return cxi_leave(before, cx_take_(a, order, axis, NULL));
}

/* -- choices --------------------------------------------------------------- */

/* Of the sums of p up to each place, the first that reaches a uniform part of
 * the whole. */
static cx by_probability(cx key, cx p, cx_dims shape) {
  const cx_dtype t = cxi_dtype_at(p);
  const int64_t n = cxi_shape_at(p).d[0];
  const cx sums = cxi_cumulate(CXI_PRIM_cumsum, p, 0, false);
  const cx whole =
      cxi_squeeze(cxi_slice_axis(sums, 0, n - 1, n), cx_dims_one_(0));
  const cx u =
      cxi_random_uniform(key, t, shape, cxi_number(t, 0), cxi_number(t, 1));
  const cx part = cxi_mul(whole, cxi_sub(cxi_number(t, 1), u));
  const cx_search_opt left = { .size_ = sizeof left };
  return cx_searchsorted_(sums, part, left, NULL);
}
/* The places of the k greatest logits + Gumbel noise. */
static cx greatest(cx key, cx logits, int64_t k) {
  const cx_dims shape = cxi_shape_at(logits);
  cx top[2];
  cx noise = cxi_random_gumbel(key, cxi_dtype_at(logits), shape);
  if (!cxi_top_k(cxi_add(noise, logits), k, shape.n - 1, top)) return top[1];
  return top[1];
}
/* p as floats (n). */
static bool probabilities(cx given, int64_t n, cx *out, cx *out_poison) {
  *out = given;
  if (!cxi_operand("choice", out, out_poison)) return false;
  const cx_dims shape = cxi_shape_at(*out);
  if (!cxi_dtype_is_float(cxi_dtype_at(*out))) {
    *out_poison = cxi_fail(CX_EDTYPE, "choice: p must be floating, got %s",
                           cxi_shown_of(*out).text);
    return false;
  }
  if (shape.n == 1 && shape.d[0] == n) return true;
  *out_poison = cxi_fail(CX_ESHAPE,
                         "choice: p must be a probability of each of %lld, "
                         "got %s",
                         (long long)n, cxi_shown_of(*out).text);
  return false;
}
static cx chosen(cx key, cx_dims shape, int64_t n, cx p,
                 bool without_replacement) {
  const int64_t draws = cxi_dims_count(&shape);
  cx index;
  if (!without_replacement)
    return cxi_given(p)
               ? by_probability(key, p, shape)
               : cx_randint_(key, cx_lit_i(0), cx_lit_i(n), shape, NULL);
  if (cxi_given(p))
    index = greatest(key, cxi_unary(CXI_PRIM_log, p), draws);
  else
    index = cxi_slice_axis(random_order(key, cx_dims_one_(n), 0), 0, 0, draws);
  return cxi_reshape(index, shape);
}
/* The sizes beside the axis, with the shape in its place. */
static bool choice_shape(cx a, int axis, cx_dims shape, cx_dims *out) {
  const cx_dims own = cxi_shape_at(a);
  *out = (cx_dims){ .n = 0 };
  for (int i = 0; i < axis; i++) *out = cxi_dims_append(*out, own.d[i]);
  for (int i = 0; i < shape.n; i++) *out = cxi_dims_append(*out, shape.d[i]);
  for (int i = axis + 1; i < own.n; i++) *out = cxi_dims_append(*out, own.d[i]);
  return own.n - 1 + shape.n <= CX_MAX_DIMS && cxi_dims_count(out) >= 0;
}
cx cx_choice_(cx key, cx a, cx_dims shape, cx_choice_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison, p = opt.p;
  int64_t n;
  int axis = opt.axis;
  cx_dims result;
  if (!cxi_random_key("choice", &key, &poison) ||
      !population("choice", &a, &axis, &n, &poison) ||
      !cxi_random_shape("choice", shape, &poison) ||
      (!cxi_left_out(p) && !probabilities(p, n, &p, &poison)))
    return cxi_leave(before, poison);
  const int64_t draws = cxi_dims_count(&shape);
  if (!choice_shape(a, axis, shape, &result))
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "choice: %s of %s",
                                      cxi_shown_dims(shape).text,
                                      cxi_shown_of(a).text));
  if (cxi_dims_count(&result) == 0)
    return cxi_leave(before, cxi_zeros(cxi_type_make(cxi_dtype_at(a), result)));
  if (n == 0 || (opt.without_replacement && draws > n))
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE, "choice: %lld %sof %lld", (long long)draws,
                         opt.without_replacement ? "different ones " : "",
                         (long long)n));
  const cx index = chosen(key, shape, n, p, opt.without_replacement);
  return cxi_leave(before, cx_take_(a, index, axis, NULL));
}

/* -- categorical ----------------------------------------------------------- */

/* The classes with the largest logits + Gumbel noise. */
static cx categories(cx key, cx logits, int axis, cx_dims draws) {
  const cx_dims own = cxi_shape_at(logits);
  cx_dims shape = draws;
  for (int i = 0; i < own.n; i++) shape = cxi_dims_append(shape, own.d[i]);
  const cx noise = cxi_random_gumbel(key, cxi_dtype_at(logits), shape);
  const cx noisy = cxi_add(noise, cxi_broadcast_to(logits, shape));
  return cxi_argmax(noisy, draws.n + axis, CX_I32);
}
/* (draws, ...), in each line no class twice. Noise is drawn for the logits as
 * they lie. */
static cx different(cx key, cx logits, int axis, cx_dims draws) {
  const cx_dims own = cxi_shape_at(logits);
  cx_dims shape = draws;
  cx top[2];
  for (int i = 0; i < own.n; i++)
    if (i != axis) shape = cxi_dims_append(shape, own.d[i]);
  const cx noise = cxi_random_gumbel(key, cxi_dtype_at(logits), own);
  const cx noisy = cxi_move_axis(cxi_add(logits, noise), axis, own.n - 1);
  if (!cxi_top_k(noisy, cxi_dims_count(&draws), own.n - 1, top)) return top[1];
  return cxi_reshape(cxi_move_axis(top[1], own.n - 1, 0), shape);
}
cx cx_categorical_(cx key, cx logits, int axis, cx_categorical_opt opt,
                   const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  const cx_dims draws = opt.draws;
  if (!cxi_random_key("categorical", &key, &poison) ||
      !cxi_operand("categorical", &logits, &poison) ||
      !cxi_random_shape("categorical", draws, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(logits);
  if (!cxi_dtype_is_float(cxi_dtype_at(logits)) || shape.n == 0)
    return cxi_leave(before,
                     cxi_fail(shape.n ? CX_EDTYPE : CX_ESHAPE,
                              "categorical: needs floating logits (..., n), "
                              "got %s",
                              cxi_shown_of(logits).text));
  if (!cxi_axis("categorical", logits, &axis, &poison))
    return cxi_leave(before, poison);
  const int64_t n = shape.d[axis];
  const int64_t least = opt.without_replacement ? cxi_dims_count(&draws) : 1;
  if (n < least || shape.n + draws.n > CX_MAX_DIMS)
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE,
                         "categorical: draws %s%s along axis %d "
                         "of %s",
                         cxi_shown_dims(draws).text,
                         opt.without_replacement ? " without replacement" : "",
                         axis, cxi_shown_of(logits).text));
  return cxi_leave(before, opt.without_replacement
                               ? different(key, logits, axis, draws)
                               : categories(key, logits, axis, draws));
}
