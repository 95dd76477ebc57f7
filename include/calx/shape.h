/* shape.h - reshaping, joining, padding. */
#ifndef CALX_SHAPE_H
#define CALX_SHAPE_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 13. Shape --------------------------------------------------------------
 * cx_reshape(x, b, -1, h), cx_reshape(x, cx_shape(y)),
 * cx_transpose(x, 0, 2, 1). Negative axes count from the end.
 *   CX_ESHAPE: sizes do not fit. CX_EINDEX: no such axis, or one twice.
 */
/* Row-major order; one size may be -1: what is left. Without sizes: a scalar. */
#define cx_reshape(...) cx_reshape_(CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
/* Axis i of the result is axis axes[i] of a; without axes: all reversed. */
#define cx_transpose(...) \
  cx_transpose_(CX_THEN(CX_ALL_AXES, __VA_ARGS__), CX_AT)
#define cx_t(a) cx_transpose_((a), CX_ALL_AXES, CX_AT) /* all axes reversed */
#define cx_swap_axes(a, i, j) cx_swap_axes_((a), (i), (j), CX_AT)
/* NumPy's rule: sizes of 1, and axes in front, are repeated. */
#define cx_broadcast_to(...) \
  cx_broadcast_to_(CX_THEN_A(CX_SCALAR, __VA_ARGS__), CX_AT)
/* Axes of size 1 there in the result; taken away there, or all of them. */
#define cx_expand(...) \
  cx_expand_(CX_THEN(CX_AXES_ARE_MISSING, __VA_ARGS__), CX_AT)
#define cx_squeeze(...) cx_squeeze_(CX_THEN(CX_ALL_AXES, __VA_ARGS__), CX_AT)
/* Reversed along the axes, or all; repeated as a whole, one count for each
 * axis. */
#define cx_flip(...) cx_flip_(CX_THEN(CX_ALL_AXES, __VA_ARGS__), CX_AT)
#define cx_tile(...) \
  cx_tile_(CX_THEN(CX_COUNTS_ARE_MISSING, __VA_ARGS__), CX_AT)
/* cx_concat(axis, a, b, ...), cx_stack(axis, a, b, ...); with one tuple: its
 * items. cx_split_axis(a, n, axis) -> tuple of n. */
#define cx_concat(...) cx_concat_(CX_WITH_SOME(__VA_ARGS__), CX_AT)
#define cx_stack(...) cx_stack_(CX_WITH_SOME(__VA_ARGS__), CX_AT)
#define cx_split_axis(a, n, axis) cx_split_axis_((a), (n), (axis), CX_AT)
/* cx_pad(a, value, (lo, hi), (lo, hi), ...): one pair per axis */
#define cx_pad(a, ...) cx_pad_((a), CX_PADS(CX_A, __VA_ARGS__), CX_AT)
#define CX_PADS(as, ...) \
  CX_CAT(CX_PADS_, CX_MANY(__VA_ARGS__))(as, __VA_ARGS__)
#define CX_PADS_1(as, value) as(value), 0, CX_PAIRS_ARE_MISSING
#define CX_PADS_2_OR_MORE(as, value, ...) \
  as(value), CX_NARG(__VA_ARGS__),   \
      (const int64_t[][2]){ CX_MAP(CX_BRACES, __VA_ARGS__) }
#define CX_BRACES(p) { CX_ID p }
#define CX_ID(...) __VA_ARGS__
/* cx_pad_by(a, CX_PAD_REFLECT, (lo, hi), (lo, hi), ...): with what a holds, one
 * axis after the other, as numpy.pad: the edge; mirrored without and with the
 * edge; from the other end; from 0 to the edge; the greatest, mean or least
 * element along the axis. CX_ESHAPE: a negative size, or an empty axis. */
typedef enum cx_pad_mode {
  CX_PAD_EDGE, CX_PAD_REFLECT, CX_PAD_SYMMETRIC, CX_PAD_WRAP,
  CX_PAD_LINEAR_RAMP, CX_PAD_MAXIMUM, CX_PAD_MEAN, CX_PAD_MINIMUM
} cx_pad_mode;
#define cx_pad_by(a, ...) \
  cx_pad_mode_(CX_A(a), CX_PADS(CX_ID, __VA_ARGS__), CX_AT)
#define cx_unstack(a, axis) cx_unstack_((a), (axis), CX_AT) /* -> tuple */
/* Element i goes to i + by, round the end. */
#define cx_roll(a, by, axis) cx_roll_((a), (by), (axis), CX_AT)
/* Each element n times in a row. */
#define cx_repeat(a, n, axis) cx_repeat_((a), (n), (axis), CX_AT)
/* 0 above, or below, the diagonal of the last two axes, k to the right. */
#define cx_tril(a, k) cx_tri_(true, (a), (k), CX_AT)
#define cx_triu(a, k) cx_tri_(false, (a), (k), CX_AT)
CX_API CX_USED cx cx_reshape_(cx a, cx_dims shape, const char *at);
CX_API CX_USED cx cx_transpose_(cx a, cx_dims axes, const char *at);
CX_API CX_USED cx cx_swap_axes_(cx a, int i, int j, const char *at);
CX_API CX_USED cx cx_broadcast_to_(cx a, cx_dims shape, const char *at);
CX_API CX_USED cx cx_expand_(cx a, cx_dims axes, const char *at);
CX_API CX_USED cx cx_squeeze_(cx a, cx_dims axes, const char *at);
CX_API CX_USED cx cx_flip_(cx a, cx_dims axes, const char *at);
CX_API CX_USED cx cx_tile_(cx a, cx_dims reps, const char *at);
CX_API CX_USED cx cx_concat_(int axis, int n, const cx *items, const char *at);
CX_API CX_USED cx cx_stack_(int axis, int n, const cx *items, const char *at);
CX_API CX_USED cx cx_split_axis_(cx a, int n, int axis, const char *at);
CX_API CX_USED cx cx_pad_(cx a, cx value, int n, const int64_t (*pads)[2],
                         const char *at);
CX_API CX_USED cx cx_pad_mode_(cx a, cx_pad_mode mode, int n,
                               const int64_t (*pads)[2], const char *at);
CX_API CX_USED cx cx_unstack_(cx a, int axis, const char *at);
CX_API CX_USED cx cx_roll_(cx a, int64_t by, int axis, const char *at);
CX_API CX_USED cx cx_repeat_(cx a, int64_t n, int axis, const char *at);
CX_API CX_USED cx cx_tri_(bool lower, cx a, int k, const char *at);

#ifdef __cplusplus
}
#endif
#endif
