/* compose.h - what NumPy has beside its elementary functions. */
#ifndef CALX_COMPOSE_H
#define CALX_COMPOSE_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 25. Compositions --------------------------------------------------------
 * Functions of jax.numpy, jax.nn and jax.ops that are made of those above. As
 * compositions they differentiate and batch. Elementwise ones map over trees.
 *   CX_EDTYPE: the dtype is not taken. CX_EINDEX: no such axis.
 */
/* bool: +inf or -inf; false of integers and bools. */
#define cx_is_inf(a) cx_is_inf_(CX_A(a), CX_AT)
/* NaN becomes 0, infinities the greatest and the least finite number; integers
 * and bools stay. */
#define cx_nan_to_num(a) cx_nan_to_num_(CX_A(a), CX_AT)
/* log(1 - e^-a) for a > 0, also near 0; of integers as f32 (f64 of 64 bits). */
#define cx_log1mexp(a) cx_log1mexp_(CX_A(a), CX_AT)
CX_API CX_USED cx cx_is_inf_(cx a, const char *at);
CX_API CX_USED cx cx_nan_to_num_(cx a, const char *at);
CX_API CX_USED cx cx_log1mexp_(cx a, const char *at);
/* bool: |a - b| <= atol + rtol |b|, or equal (infinities); NaN is close to
 * nothing. Integers and bools are compared as floats: as those of the other
 * operand, else f32 (f64 of 64 bits); of trees leaf by leaf. NumPy's defaults
 * are rtol 1e-5, atol 1e-8. */
#define cx_is_close(a, b, rtol, atol) \
  cx_is_close_(CX_A(a), CX_A(b), (rtol), (atol), CX_AT)
CX_API CX_USED cx cx_is_close_(cx a, cx b, double rtol, double atol,
                               const char *at);
/* bool, of a's shape: whether it is one of the values (any shape). Each is
 * compared with each. */
#define cx_is_in(a, values) cx_is_in_(CX_A(a), CX_A(values), CX_AT)
CX_API CX_USED cx cx_is_in_(cx a, cx values, const char *at);
/* a split in two along the axis: the first half times sigmoid of the second.
 * CX_ESHAPE if its extent is odd. */
#define cx_glu(a, axis) cx_glu_((a), (axis), CX_AT)
CX_API CX_USED cx cx_glu_(cx a, int axis, const char *at);

/* The axis `from` is put at `to`, the others keep their order. */
#define cx_move_axis(a, from, to) cx_move_axis_((a), (from), (to), CX_AT)
/* a[i + 1] - a[i] along the axis, one fewer, none of none; of bools whether
 * they differ. */
#define cx_diff(a, axis) cx_diff_((a), (axis), CX_AT)
/* The integral of y over the axis by trapezoids; x has the positions: (n), or
 * the shape of y. Integers and bools count as floats, as in cx_is_close. */
#define cx_trapezoid(y, x, axis) \
  cx_trapezoid_((y), (x), (axis), CX_AT)
CX_API CX_USED cx cx_move_axis_(cx a, int from, int to, const char *at);
CX_API CX_USED cx cx_diff_(cx a, int axis, const char *at);
CX_API CX_USED cx cx_trapezoid_(cx y, cx x, int axis, const char *at);
/* Arrays of rank 1, (n0), (n1), ... -> a tuple of arrays (n0, n1, ...), item i
 * with arrays[i] along axis i (NumPy's indexing="ij"). At most 8. */
#define cx_meshgrid(...) cx_meshgrid_(CX_AS(__VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_meshgrid_(int n, const cx *arrays, const char *at);

/* Sums over the last n axes of a with the first n of b. */
#define cx_tensordot(a, b, n) cx_tensordot_((a), (b), (n), CX_AT)
/* Of vectors of three in the last axis. CX_ESHAPE for another extent. */
#define cx_cross(a, b) cx_cross_((a), (b), CX_AT)
/* p[0] x^(k-1) + ... + p[k-1] by Horner's rule, p (k, ...) coefficients; x an
 * array or a number. */
#define cx_polyval(p, x) cx_polyval_((p), CX_A(x), CX_AT)
/* Covariances of the rows of a (n, m): (n, n), divided by m - ddof, or 0 if
 * that is less; of a (m): its variance, rank 0. NumPy's default is ddof 1.
 * Integers and bools count as f32 (f64 of 64 bits). */
#define cx_cov(a, ddof) cx_cov_((a), (ddof), CX_AT)
/* Sums of a (n, ...) by segment, ids integers (n): (segments, ...). Ids out of
 * range, negative ones too, are dropped. */
#define cx_segment_sum(a, ids, segments) \
  cx_segment_sum_((a), (ids), (segments), CX_AT)
CX_API CX_USED cx cx_tensordot_(cx a, cx b, int n, const char *at);
CX_API CX_USED cx cx_cross_(cx a, cx b, const char *at);
CX_API CX_USED cx cx_polyval_(cx p, cx x, const char *at);
CX_API CX_USED cx cx_cov_(cx a, double ddof, const char *at);
CX_API CX_USED cx cx_segment_sum_(cx a, cx ids, int64_t segments,
                                  const char *at);

#ifdef __cplusplus
}
#endif
#endif
