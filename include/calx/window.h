/* window.h - reductions of windows, pooling. */
#ifndef CALX_WINDOW_H
#define CALX_WINDOW_H

#include "calx/function.h"
#include "calx/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- Windows -----------------------------------------------------------------
 * cx_reduce_window(CX_RED_MAX, x, CX_SHAPE(1, 2, 2, 1), .padding = "SAME"):
 * the sum, greatest, least or mean (CX_RED_SUM, _MAX, _MIN, _MEAN) of each
 * window of x; one size for each axis of x. Padding is "VALID" (the default:
 * none), "SAME" (ceil(size / stride) results, the larger half behind), in
 * capitals or not, or "1,1;0,2", a pair for each axis of the window. What is
 * padded takes no part in a sum, the greatest and the least; a mean divides by
 * the size of the window, or by the elements that are there if
 * .exclude_padding. Integers have no mean; f16 and bf16 run in f32.
 * The gradient of the greatest and the least goes to the first one.
 *   CX_ESHAPE: a list has not one number for each axis, or a wrong one.
 *   CX_EUSER: another padding or reduction. CX_EDTYPE: the dtype is not taken.
 */
typedef struct cx_window_opt {
  CX_OPTIONS;
  cx_dims strides, dilation; /* 1 each */
  cx_dims input_dilation;
  const char *padding;
  bool exclude_padding;
  bool channels_first;     /* of the pools */
} cx_window_opt;
#define cx_reduce_window(kind, ...) \
  CX_WINDOW(cx_reduce_window_, kind, __VA_ARGS__, )
/* cx_reduce_window_by(f, xs, starts, window, .strides, ...): each window joined
 * by f: (a, b) -> c from its start on, as by cx_reduce (control.h), whose
 * trees, starts and errors it has. What is padded is the start; no
 * .exclude_padding. */
#define cx_reduce_window_by(f, xs, starts, ...) \
  CX_WINDOW_BY(f, xs, starts, __VA_ARGS__, )
#define CX_WINDOW_BY(f, xs, starts, window, ...)                 \
  cx_reduce_window_by_((f), CX_A(xs), CX_A(starts), (window),    \
                       CX_OPT(cx_window_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_reduce_window_by_(cx_fn f, cx xs, cx starts,
                                       cx_dims window, cx_window_opt opt,
                                       const char *at);
/* cx_max_pool(x, CX_SHAPE(2, 2), .strides = CX_SHAPE(2, 2)): windows over the
 * spatial axes of x (..., spatial, channels), or of x (..., channels, spatial)
 * if .channels_first, as cx_conv's default has them; lists have one number for
 * each of them. Strides are 1 if not given. */
#define cx_max_pool(...) CX_WINDOW(cx_pool_, CX_RED_MAX, __VA_ARGS__, )
#define cx_min_pool(...) CX_WINDOW(cx_pool_, CX_RED_MIN, __VA_ARGS__, )
#define cx_avg_pool(...) CX_WINDOW(cx_pool_, CX_RED_MEAN, __VA_ARGS__, )
#define CX_WINDOW(fn, kind, a, window, ...) \
  fn(kind, CX_A(a), (window), CX_OPT(cx_window_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_pool_(cx_red kind, cx a, cx_dims window, cx_window_opt opt,
                           const char *at);
CX_API CX_USED cx cx_reduce_window_(cx_red kind, cx a, cx_dims window,
                                    cx_window_opt opt, const char *at);

#ifdef __cplusplus
}
#endif
#endif
