/* index.h - indexing and updates. */
#ifndef CALX_INDEX_H
#define CALX_INDEX_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 15. Indexing -----------------------------------------------------------
 * x[i, 1:, ::2, ..., None]   cx_index(x, i, CX_FROM(1), CX_STEP(2), CX_DOTS,
 *                                     CX_NEW)
 * An index is a C integer, one of the words below, an integer array (gather,
 * clamped as in JAX) or, in updates only, a bool array.
 * x.at[i, :].add(v)          cx_at_add(x, (i, CX_ALL), v)
 * returns a new array; out of bounds is dropped unless .mode says otherwise.
 * Updates that meet at one place take turns in the order of the index. Those
 * of a product have a derivative only where none meet (.unique). cx_at_div
 * divides by the product of the values of a place.
 * x.at[i].apply(f)           cx_at_apply(x, (i), CX_FN(f))
 * f: an array of x's dtype -> one of its type, element by element. A place
 * that is named k times gets f k times, in k turns of a loop over the indices;
 * with .unique there is one turn for all.
 * x.at[i].get(mode="fill")   cx_at_get(x, (i), .mode = CX_FILL)
 * reads like cx_index, and x[()] is cx_at_get(x, ()); CX_FILL gives NaN, the
 * least integer, the greatest unsigned one or true for what is out of bounds.
 */
typedef enum cx_ix_kind {
  CX_IX_INT, CX_IX_SLICE, CX_IX_NEW, CX_IX_DOTS, CX_IX_ARRAY
} cx_ix_kind;
typedef struct cx_ix {
  cx_ix_kind kind;
  int64_t lo, hi, step;
  cx array;
} cx_ix;
#define CX_END INT64_MIN
#define CX_SLICE(lo, hi, step) cx_ix_slice_((lo), (hi), (step))
#define CX_RANGE(lo, hi) cx_ix_slice_((lo), (hi), 1)      /* lo:hi */
#define CX_FROM(lo) cx_ix_slice_((lo), CX_END, 1)         /* lo:   */
#define CX_TO(hi) cx_ix_slice_(CX_END, (hi), 1)           /* :hi   */
#define CX_STEP(step) cx_ix_slice_(CX_END, CX_END, (step)) /* ::step */
#define CX_ALL cx_ix_slice_(CX_END, CX_END, 1)            /* :     */
#define CX_DOTS ((cx_ix){ .kind = CX_IX_DOTS })           /* ...   */
#define CX_NEW ((cx_ix){ .kind = CX_IX_NEW })             /* None  */
#ifndef __cplusplus
static inline cx_ix cx_ix_slice_(int64_t lo, int64_t hi, int64_t step) {
  return (cx_ix){ .kind = CX_IX_SLICE, .lo = lo, .hi = hi, .step = step };
}
static inline cx_ix cx_ix_int_(int64_t i) {
  return (cx_ix){ .kind = CX_IX_INT, .lo = i };
}
static inline cx_ix cx_ix_array_(cx a) {
  return (cx_ix){ .kind = CX_IX_ARRAY, .array = a };
}
static inline cx_ix cx_ix_same_(cx_ix ix) { return ix; }
#endif
#define CX_IX(x) CX_IX_(x, CX_CAT(cx_i_, __COUNTER__))
#define CX_IX_(x, v)                                                       \
  __extension__({                                                          \
    __auto_type v = (x);                                                   \
    _Generic(v, struct cx_ix: cx_ix_same_, struct cx: cx_ix_array_,        \
             default: cx_ix_int_)(v);                                      \
  })
#define CX_IXS(...) CX_CAT(CX_IXS_, CX_ANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_IXS_0(...) 0, NULL
#define CX_IXS_1_OR_MORE(...) \
  CX_NARG(__VA_ARGS__), (const cx_ix[]){ CX_MAP(CX_IX, __VA_ARGS__) }
typedef enum cx_mode {
  CX_DEFAULT, CX_CLIP, CX_DROP, CX_FILL, CX_IN_BOUNDS
} cx_mode;
typedef struct cx_at_opt {
  CX_OPTIONS;
  cx_mode mode;
  bool sorted, unique;     /* promises */
  cx fill;                 /* cx_at_get: a C number, .fill = cx_lit_f(-1), in
                              place of what CX_FILL gives; implies that mode */
} cx_at_opt;
typedef enum cx_at_kind {
  CX_AT_SET, CX_AT_ADD, CX_AT_MUL, CX_AT_MIN, CX_AT_MAX, CX_AT_SUB, CX_AT_DIV
} cx_at_kind;
#define cx_index(...) \
  cx_index_(CX_CAT(CX_INDEX_, CX_MANY(__VA_ARGS__))(__VA_ARGS__), CX_AT)
#define CX_INDEX_1(a) (a), 0, CX_INDICES_ARE_MISSING
#define CX_INDEX_2_OR_MORE(a, ...) (a), CX_IXS(__VA_ARGS__)
#define cx_at_set(...) CX_UPDATE(CX_AT_SET, __VA_ARGS__, )
#define cx_at_add(...) CX_UPDATE(CX_AT_ADD, __VA_ARGS__, )
#define cx_at_mul(...) CX_UPDATE(CX_AT_MUL, __VA_ARGS__, )
#define cx_at_min(...) CX_UPDATE(CX_AT_MIN, __VA_ARGS__, )
#define cx_at_max(...) CX_UPDATE(CX_AT_MAX, __VA_ARGS__, )
#define cx_at_sub(...) CX_UPDATE(CX_AT_SUB, __VA_ARGS__, )
#define cx_at_div(...) CX_UPDATE(CX_AT_DIV, __VA_ARGS__, )
#define cx_at_apply(...) CX_APPLY(__VA_ARGS__, )
#define CX_APPLY(a, ix, f, ...)                                         \
  cx_at_apply_(CX_A(a), CX_IXS ix, (f), CX_OPT(cx_at_opt, __VA_ARGS__), \
               CX_AT)
#define cx_at_get(...) CX_READ(__VA_ARGS__, )
#define CX_READ(a, ix, ...)                                            \
  cx_at_get_(CX_A(a), CX_IXS ix, CX_OPT(cx_at_opt, __VA_ARGS__), CX_AT)
#define CX_UPDATE(kind, a, ix, v, ...)                              \
  cx_update_(kind, CX_A(a), CX_IXS ix, CX_A(v),                     \
             CX_OPT(cx_at_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_index_(cx a, int n, const cx_ix *index, const char *at);
CX_API CX_USED cx cx_at_get_(cx a, int n, const cx_ix *index, cx_at_opt opt,
                            const char *at);
CX_API CX_USED cx cx_at_apply_(cx a, int n, const cx_ix *index, cx_fn f,
                               cx_at_opt opt, const char *at);
CX_API CX_USED cx cx_update_(cx_at_kind kind, cx a, int n, const cx_ix *index,
                            cx value, cx_at_opt opt, const char *at);

/* Rows of a table by an index array (embedding); one element per position. */
#define cx_take(a, indices, axis) cx_take_((a), CX_A(indices), (axis), CX_AT)
#define cx_take_along(a, indices, axis) \
  cx_take_along_((a), (indices), (axis), CX_AT)
/* a with values put where cx_take_along reads: values and indices broadcast
 * against each other and, beside the axis, to a; out of bounds is dropped, the
 * last of equal indices stays. CX_ESHAPE if they do not fit. */
#define cx_put_along(a, indices, values, axis) \
  cx_put_along_((a), CX_A(indices), CX_A(values), (axis), CX_AT)
#define cx_pick(a, labels) cx_pick_((a), CX_A(labels), CX_AT) /* a[..., i] */
/* Starts known only when running, as lax.dynamic_*. In all axes: a start for
 * each, (i, j, ...), or an i32 array of them, (starts);
 *   cx_dynamic_slice(a, (i, j), (m, n)): sizes (m, n) from there
 *   cx_dynamic_update(a, value, (i, j)): the value, of a's rank, there
 * In one axis, lax.dynamic_*_in_dim: along the others a slice is whole; a value
 * may be smaller, and starts at 0.
 *   cx_dynamic_slice(a, start, size, axis)
 *   cx_dynamic_update(a, value, start, axis)
 * A start below 0 counts from the end; then it is clamped so that all fits.
 *   CX_ESHAPE: sizes that do not fit, not as many starts as axes. CX_EDTYPE: a
 *   start is no integer. */
#define cx_dynamic_slice(a, ...)                          \
  CX_CAT(CX_DYNAMIC_SLICE_, CX_NARG(__VA_ARGS__))         \
  (a, __VA_ARGS__)
#define CX_DYNAMIC_SLICE_2(a, starts, sizes) \
  cx_dynamic_slice_all_((a), CX_AS starts, CX_DIMS sizes, CX_AT)
#define CX_DYNAMIC_SLICE_3(a, start, size, axis) \
  cx_dynamic_slice_((a), CX_A(start), (size), (axis), CX_AT)
#define cx_dynamic_update(a, value, ...)           \
  CX_CAT(CX_DYNAMIC_UPDATE_, CX_MANY(__VA_ARGS__)) \
  (a, value, __VA_ARGS__)
#define CX_DYNAMIC_UPDATE_1(a, value, starts) \
  cx_dynamic_update_all_((a), CX_A(value), CX_AS starts, CX_AT)
#define CX_DYNAMIC_UPDATE_2_OR_MORE(a, value, start, axis) \
  cx_dynamic_update_((a), CX_A(value), CX_A(start), (axis), CX_AT)
CX_API CX_USED cx cx_take_(cx a, cx indices, int axis, const char *at);
CX_API CX_USED cx cx_take_along_(cx a, cx indices, int axis, const char *at);
CX_API CX_USED cx cx_put_along_(cx a, cx indices, cx values, int axis,
                               const char *at);
CX_API CX_USED cx cx_pick_(cx a, cx labels, const char *at);
CX_API CX_USED cx cx_dynamic_slice_(cx a, cx start, int64_t size, int axis,
                                   const char *at);
CX_API CX_USED cx cx_dynamic_update_(cx a, cx value, cx start, int axis,
                                    const char *at);
CX_API CX_USED cx cx_dynamic_slice_all_(cx a, int n, const cx *starts,
                                       cx_dims sizes, const char *at);
CX_API CX_USED cx cx_dynamic_update_all_(cx a, cx value, int n,
                                        const cx *starts, const char *at);
/* lax.gather and lax.scatter, for importers: cx_gather_general(a, starts,
 * dims, opt), cx_scatter_general(kind, a, starts, value, dims, opt). */
typedef struct cx_gather_dims {
  cx_dims offset, collapsed, start_map, operand_batch, index_batch, sizes;
} cx_gather_dims;
#define cx_gather_general(...) cx_gather_general_(CX_AT, __VA_ARGS__)
#define cx_scatter_general(...) cx_scatter_general_(CX_AT, __VA_ARGS__)
CX_API CX_USED cx cx_gather_general_(const char *at, cx a, cx starts,
                                    cx_gather_dims dims, cx_at_opt opt);
CX_API CX_USED cx cx_scatter_general_(const char *at, cx_at_kind kind, cx a,
                                     cx starts, cx value, cx_gather_dims dims,
                                     cx_at_opt opt);
#ifdef __cplusplus
}
#endif
#endif
