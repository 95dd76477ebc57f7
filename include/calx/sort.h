/* sort.h - sorting, searching, counting. */
#ifndef CALX_SORT_H
#define CALX_SORT_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 24. Sorting --------------------------------------------------------------
 * Order: bools and numbers ascending, -0 equal to 0, NaN after all others and
 * equal to itself. What is equal stays in its order. Indices are i32. The
 * number of results is fixed by the shapes: where values decide on it, `size`
 * says how many there are.
 *   CX_EINDEX: no such axis. CX_EDTYPE: the dtype is not taken, or two differ.
 *   CX_ESHAPE: ranks or sizes do not fit. CX_EUSER: an option out of its range.
 */
/* cx_sort(x, axis, .descending = true): x's shape and dtype. cx_argsort: the
 * indices that sort x. Descending is the other way round, NaN first. */
typedef struct cx_sort_opt {
  CX_OPTIONS;
  bool descending;
} cx_sort_opt;
#define cx_sort(...) CX_SORT_(cx_sort_, __VA_ARGS__, )
#define cx_argsort(...) CX_SORT_(cx_argsort_, __VA_ARGS__, )
#define CX_SORT_(fn, a, axis, ...) \
  fn((a), (axis), CX_OPT(cx_sort_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_sort_(cx a, int axis, cx_sort_opt opt, const char *at);
CX_API CX_USED cx cx_argsort_(cx a, int axis, cx_sort_opt opt, const char *at);
/* The indices that sort by several keys of one shape along the axis, the last
 * key the most significant: cx_lexsort(axis, second, first). */
#define cx_lexsort(...) cx_lexsort_(CX_WITH_SOME(__VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_lexsort_(int axis, int n, const cx *keys, const char *at);
/* cx_top_k(x, k), cx_top_k(x, k, axis): (values, indices) of the k greatest
 * along the axis (the last one), the greatest first, in IEEE 754's total order:
 * NaN before all, 0 before -0, a NaN of negative sign behind all. Of equal ones
 * the first comes first. */
#define cx_top_k(...) CX_TOP_K(__VA_ARGS__, -1, )
#define CX_TOP_K(a, k, axis, ...) cx_top_k_((a), (k), (axis), CX_AT)
CX_API CX_USED cx cx_top_k_(cx a, int64_t k, int axis, const char *at);

/* Quantiles over axes: q in 0..1 (percentiles: 0..100), a number or an array
 * whose axes come first in the result; .method says what lies between two
 * elements. Of integers: f32. NaN if there is one among the elements.
 *   cx_quantile(x, 0.9, CX_ALL_AXES), cx_percentile(x, q, -1,
 *   .method = CX_QUANTILE_LOWER); cx_median(x, axes, .keepdims = true) is the
 *   mean of the two in the middle. CX_ESHAPE for an extent of 0. */
typedef enum cx_quantile_method {
  CX_QUANTILE_LINEAR, CX_QUANTILE_LOWER, CX_QUANTILE_HIGHER,
  CX_QUANTILE_MIDPOINT, CX_QUANTILE_NEAREST /* of two as near: the lower */
} cx_quantile_method;
typedef struct cx_quantile_opt {
  CX_OPTIONS;
  cx_quantile_method method;
  bool keepdims;
} cx_quantile_opt;
#define cx_quantile(...) CX_QUANTILE_(1, __VA_ARGS__, )
#define cx_percentile(...) CX_QUANTILE_(100, __VA_ARGS__, )
#define CX_QUANTILE_(whole, a, q, axes, ...)                   \
  cx_quantile_((a), CX_A(q), whole, CX_DIMS_1(axes),           \
               CX_OPT(cx_quantile_opt, __VA_ARGS__), CX_AT)
#define cx_median(...) CX_MEDIAN(__VA_ARGS__, )
#define CX_MEDIAN(a, axes, ...)                                \
  cx_quantile_((a), cx_lit_f(0.5), 1, CX_DIMS_1(axes),         \
               CX_OPT(cx_quantile_opt,                         \
                      __VA_ARGS__ .method = CX_QUANTILE_MIDPOINT), CX_AT)
CX_API CX_USED cx cx_quantile_(cx a, cx q, double whole, cx_dims axes,
                               cx_quantile_opt opt, const char *at);

/* Where each element of v would go into the ascending array (n): before its
 * equals, with .right after them. v's shape, 0..n.
 *   cx_digitize(x, bins): the number of the bin of each x, bins ascending or
 * descending; bin i is bins[i-1] <= x < bins[i], with .right the other end
 * belongs to it. */
typedef struct cx_search_opt {
  CX_OPTIONS;
  bool right;
} cx_search_opt;
#define cx_searchsorted(...) CX_SEARCH_(cx_searchsorted_, __VA_ARGS__, )
#define cx_digitize(...) CX_SEARCH_(cx_digitize_, __VA_ARGS__, )
#define CX_SEARCH_(fn, a, b, ...) \
  fn(CX_A(a), CX_A(b), CX_OPT(cx_search_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_searchsorted_(cx sorted, cx v, cx_search_opt opt,
                                   const char *at);
CX_API CX_USED cx cx_digitize_(cx x, cx bins, cx_search_opt opt,
                               const char *at);
/* The line through the points (xp, fp), xp (n) ascending, at each x; beyond
 * its ends fp[0] and fp[n-1], or .left and .right, numbers or arrays of rank 0:
 * .left = cx_lit_f(0); .extrapolate: the first and the last segment go on. With
 * a .period x and xp count modulo that, xp in any order. Floats of one dtype;
 * x's shape. CX_EUSER: a period that is not positive, or with ends. */
typedef struct cx_interp_opt {
  CX_OPTIONS;
  cx left, right;
  bool extrapolate;
  double period;
} cx_interp_opt;
#define cx_interp(x, xp, ...) CX_INTERP(x, xp, __VA_ARGS__, )
#define CX_INTERP(x, xp, fp, ...)   \
  cx_interp_(CX_A(x), (xp), (fp), CX_OPT(cx_interp_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_interp_(cx x, cx xp, cx fp, cx_interp_opt opt,
                             const char *at);

/* How often 0, 1, .. length-1 are among the integers x, an i32 array (length);
 * negative ones count as 0, greater ones not at all. .weights of x's shape are
 * summed instead. */
typedef struct cx_count_opt {
  CX_OPTIONS;
  cx weights;
  bool density;            /* cx_histogram: the sum over bins times width is 1 */
  double range[2];         /* ... of n bins; both 0: x's least and greatest */
} cx_count_opt;
#define cx_bincount(...) CX_COUNT_(cx_bincount_, __VA_ARGS__, )
#define CX_COUNT_(fn, a, n, ...) \
  fn((a), (n), CX_OPT(cx_count_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_bincount_(cx x, int64_t length, cx_count_opt opt,
                               const char *at);
/* cx_histogram(x, edges, .weights, .density): floats, how many x lie in each
 * bin, edges (n + 1) ascending; the last bin has both its ends. A C number n of
 * bins, cx_histogram(x, 10, .range = { 0, 1 }): n of equal width over the range,
 * one of width 1 about a range without width. cx_histogram_bin_edges: its
 * edges, floats (n + 1). */
#define cx_histogram(...) CX_HISTOGRAM(__VA_ARGS__, )
#define CX_HISTOGRAM(a, edges, ...) \
  cx_histogram_((a), CX_A(edges), CX_OPT(cx_count_opt, __VA_ARGS__), CX_AT)
#define cx_histogram_bin_edges(...) CX_BIN_EDGES(__VA_ARGS__, )
#define CX_BIN_EDGES(a, n, ...) \
  cx_bin_edges_((a), (n), CX_OPT(cx_count_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_bin_edges_(cx x, int64_t n, cx_count_opt opt,
                                const char *at);
CX_API CX_USED cx cx_histogram_(cx x, cx edges, cx_count_opt opt,
                                const char *at);

/* The indices where the mask is true (numbers: not 0), a tuple of one array
 * (size) for each axis; `fill` where there are no more. */
#define cx_nonzero(mask, size, fill) \
  cx_nonzero_((mask), (size), (fill), CX_AT)
CX_API CX_USED cx cx_nonzero_(cx mask, int64_t size, int64_t fill,
                              const char *at);
/* The same as one array (size, axes), and as indices (size) in row-major
 * order. */
#define cx_argwhere(mask, size, fill) \
  cx_argwhere_((mask), (size), (fill), CX_AT)
#define cx_flatnonzero(mask, size, fill) \
  cx_flatnonzero_((mask), (size), (fill), CX_AT)
CX_API CX_USED cx cx_argwhere_(cx mask, int64_t size, int64_t fill,
                               const char *at);
CX_API CX_USED cx cx_flatnonzero_(cx mask, int64_t size, int64_t fill,
                                  const char *at);
/* a[mask]: (size, ...), what a has where the mask, of a's shape or its first
 * axes', is true; `fill`, a number or an array of rank 0, where there is no
 * more. cx_compress: the slices along the axis that the mask (n) tells, n up to
 * the extent there. Differentiable with respect to a and fill. */
#define cx_extract(mask, a, size, fill) \
  cx_extract_((mask), (a), (size), CX_A(fill), CX_AT)
#define cx_compress(mask, a, axis, size, fill) \
  cx_compress_((mask), (a), (axis), (size), CX_A(fill), CX_AT)
CX_API CX_USED cx cx_extract_(cx mask, cx a, int64_t size, cx fill,
                              const char *at);
CX_API CX_USED cx cx_compress_(cx mask, cx a, int axis, int64_t size, cx fill,
                               const char *at);
/* The different elements of x, ascending: (values, indices, inverse, counts).
 * values (size), the least again, or .fill, where there are no more; indices
 * (size) of the first of each in x in row-major order; inverse of x's shape
 * says which value each element is; counts (size). NaN is one value.
 * .fill: a number or an array of rank 0, cx_unique(x, 9, .fill = cx_lit_i(-1)).
 * cx_unique_along: the different slices along an axis of n, ordered by their
 * first elements, then by the next; inverse (n). */
typedef struct cx_unique_opt {
  CX_OPTIONS;
  cx fill;
} cx_unique_opt;
#define cx_unique(a, ...) CX_UNIQUE(a, __VA_ARGS__, )
#define CX_UNIQUE(a, size, ...) \
  cx_unique_((a), (size), CX_OPT(cx_unique_opt, __VA_ARGS__), CX_AT)
#define cx_unique_along(a, axis, ...) CX_UNIQUE_ALONG(a, axis, __VA_ARGS__, )
#define CX_UNIQUE_ALONG(a, axis, size, ...) \
  cx_unique_along_((a), (axis), (size),     \
                   CX_OPT(cx_unique_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_unique_(cx a, int64_t size, cx_unique_opt opt,
                             const char *at);
CX_API CX_USED cx cx_unique_along_(cx a, int axis, int64_t size,
                                   cx_unique_opt opt, const char *at);

#ifdef __cplusplus
}
#endif
#endif
