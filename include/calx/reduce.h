/* reduce.h - reductions. */
#ifndef CALX_REDUCE_H
#define CALX_REDUCE_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 12. Reductions ---------------------------------------------------------
 * cx_sum(x) over all axes, cx_sum(x, -1), cx_sum(x, CX_AXES(0, 2)),
 * cx_sum(x, -1, .keepdims = true), cx_sum(x, CX_ALL_AXES, .where = m).
 * Sums of f16 and bf16 run in f32 and round once; the order of a sum depends
 * on the number of its elements alone.
 *   CX_EINDEX: no such axis. CX_EDTYPE: the dtype is not taken.
 */
typedef struct cx_reduce_opt {
  CX_OPTIONS;
  bool keepdims;
  cx where;
  double ddof;             /* var, std */
  cx_dtype type;           /* of the result */
} cx_reduce_opt;
typedef enum cx_red {
  CX_RED_SUM, CX_RED_PROD, CX_RED_MAX, CX_RED_MIN, CX_RED_MEAN, CX_RED_VAR,
  CX_RED_STD, CX_RED_ANY, CX_RED_ALL, CX_RED_ARGMAX, CX_RED_ARGMIN,
  CX_RED_LOGSUMEXP, CX_RED_NORM, CX_RED_AND, CX_RED_OR, CX_RED_XOR
} cx_red;
CX_API CX_USED cx cx_reduce_(cx_red kind, cx a, cx_dims axes, cx_reduce_opt opt,
                            const char *at);
#define CX_R(kind, ...) \
  CX_CAT(CX_R_, CX_MANY(__VA_ARGS__))(kind, __VA_ARGS__, )
#define CX_R_1(kind, a, ...) \
  cx_reduce_(kind, CX_A(a), CX_ALL_AXES, CX_OPT(cx_reduce_opt, ), CX_AT)
#define CX_R_2_OR_MORE(kind, a, axes, ...)           \
  cx_reduce_(kind, CX_A(a), CX_DIMS_1(axes),  \
             CX_OPT(cx_reduce_opt, __VA_ARGS__), CX_AT)
/* Bools and integers narrower than 32 bits sum in i32 or u32. */
#define cx_sum(...) CX_R(CX_RED_SUM, __VA_ARGS__)
/* Widened as a sum is. Its gradient does not divide: it is right at zeros. */
#define cx_prod(...) CX_R(CX_RED_PROD, __VA_ARGS__)
/* NaN if there is one; the gradient is split evenly over ties. CX_ESHAPE for an
 * extent of 0. */
#define cx_max(...) CX_R(CX_RED_MAX, __VA_ARGS__)
#define cx_min(...) CX_R(CX_RED_MIN, __VA_ARGS__)
/* Of integers: f32. The divisor of cx_var is n - .ddof. */
#define cx_mean(...) CX_R(CX_RED_MEAN, __VA_ARGS__)
#define cx_var(...) CX_R(CX_RED_VAR, __VA_ARGS__)
#define cx_std(...) CX_R(CX_RED_STD, __VA_ARGS__)
/* bool; of numbers: "not 0" */
#define cx_any(...) CX_R(CX_RED_ANY, __VA_ARGS__)
#define cx_all(...) CX_R(CX_RED_ALL, __VA_ARGS__)
/* i32: the first of the greatest or least, the first NaN before them; over all
 * axes the index into x in row-major order. */
#define cx_argmax(...) CX_R(CX_RED_ARGMAX, __VA_ARGS__)
#define cx_argmin(...) CX_R(CX_RED_ARGMIN, __VA_ARGS__)
/* The bits of integers joined by and, or, exclusive or; of bools the truth. Of
 * nothing: all bits set, none, none. */
#define cx_reduce_and(...) CX_R(CX_RED_AND, __VA_ARGS__)
#define cx_reduce_or(...) CX_R(CX_RED_OR, __VA_ARGS__)
#define cx_reduce_xor(...) CX_R(CX_RED_XOR, __VA_ARGS__)
/* log(sum(e^x)) without overflow */
#define cx_logsumexp(...) CX_R(CX_RED_LOGSUMEXP, __VA_ARGS__)
/* sqrt(sum(x x)); its gradient at 0 is NaN */
#define cx_norm(...) CX_R(CX_RED_NORM, __VA_ARGS__)

/* cx_cumsum(x, axis), cx_cumsum(x, axis, .reverse = true): element i of the
 * result is the sum of elements 0 to i along the axis, or of those from i to
 * the end. The shape is that of x; so is the dtype, but bools become i32 and
 * integers f32 for cx_cumlogsumexp; .type converts x before. One element is
 * taken after the other; f16 and bf16 run in f32.
 *   CX_EINDEX: no such axis. CX_EDTYPE: the dtype is not taken. */
typedef struct cx_cum_opt {
  CX_OPTIONS;
  bool reverse;
  cx_dtype type;           /* of the result */
} cx_cum_opt;
#define cx_cumsum(...) CX_CUM(CX_RED_SUM, __VA_ARGS__, )
/* Its gradient does not divide: it is right at zeros. */
#define cx_cumprod(...) CX_CUM(CX_RED_PROD, __VA_ARGS__, )
/* NaN from the first one on. */
#define cx_cummax(...) CX_CUM(CX_RED_MAX, __VA_ARGS__, )
#define cx_cummin(...) CX_CUM(CX_RED_MIN, __VA_ARGS__, )
/* log(sum(e^x)) without overflow */
#define cx_cumlogsumexp(...) CX_CUM(CX_RED_LOGSUMEXP, __VA_ARGS__, )
#define CX_CUM(kind, a, axis, ...)         \
  cx_cumulate_(kind, CX_A(a), (axis),      \
               CX_OPT(cx_cum_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_cumulate_(cx_red kind, cx a, int axis, cx_cum_opt opt,
                               const char *at);

#ifdef __cplusplus
}
#endif
#endif
