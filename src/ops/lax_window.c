/* lax_window.c - reductions of windows. */
#include "ops/axes.h"
#include "ops/lax.h"

/* How many windows fit along an axis; -1: not valid, or too large. */
static int64_t windows(const cxi_window *w, int axis, int64_t size) {
  const int64_t n = w->window.d[axis], stride = w->strides.d[axis];
  const int64_t base = w->base_dilation.d[axis];
  const int64_t dilation = w->window_dilation.d[axis];
  if (n < 1 || stride < 1 || base < 1 || dilation < 1) return -1;
  const int64_t low = w->low.d[axis], high = w->high.d[axis];
  const int64_t spread = cxi_size_dilated(size, base);
  const int64_t span = cxi_size_dilated(n, dilation);
  if (spread < 0 || span < 0 || !cxi_size_near(spread) ||
      !cxi_size_near(span) || !cxi_size_near(low) || !cxi_size_near(high))
    return -1;
  const int64_t padded = spread + low + high;
  return padded < span ? 0 : (padded - span) / stride + 1;
}

cx_dims cxi_window_shape(const cxi_window *w, const cx_dims *shape) {
  static const cx_dims none = { .n = -1 };
  const cx_dims *lists[] = {
    &w->window, &w->strides,       &w->low,
    &w->high,   &w->base_dilation, &w->window_dilation
  };
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (lists[i]->n != shape->n) return none;
  cx_dims result = { .n = shape->n };
  for (int i = 0; i < shape->n; i++) {
    result.d[i] = windows(w, i, shape->d[i]);
    if (result.d[i] < 0) return none;
  }
  return result;
}

cxi_window cxi_window_plain(cx_dims window) {
  const cx_dims ones = cxi_dims_repeat(window.n, 1);
  const cx_dims zeros = cxi_dims_repeat(window.n, 0);
  return (cxi_window){ .window = window,
                       .strides = ones,
                       .low = zeros,
                       .high = zeros,
                       .base_dilation = ones,
                       .window_dilation = ones };
}

cx cxi_reduce_window(cxi_prim prim, cx x, const cxi_window *w) {
  return cxi_emit1(prim, w, 1, &x);
}

/* Both primitives have the same parameters. */
static cx select_add(cxi_prim prim, cx y, cx x, const cxi_window *w,
                     bool least) {
  const cxi_select_and_gather_add_params p = {
    .window = w->window,
    .strides = w->strides,
    .low = w->low,
    .high = w->high,
    .base_dilation = w->base_dilation,
    .window_dilation = w->window_dilation,
    .least = least,
  };
  return cxi_emit1(prim, &p, 2, (cx[]){ y, x });
}

cx cxi_select_and_gather_add(cx y, cx x, const cxi_window *w, bool least) {
  return select_add(CXI_PRIM_select_and_gather_add, y, x, w, least);
}

cx cxi_select_and_scatter_add(cx y, cx x, const cxi_window *w, bool least) {
  return select_add(CXI_PRIM_select_and_scatter_add, y, x, w, least);
}

bool cxi_reduce_window_by(const cxi_program *body, uint32_t n, const cx *in,
                          const cxi_window *w, cx *out) {
  const cxi_reduce_window_params p = {
    .window = w->window,
    .strides = w->strides,
    .low = w->low,
    .high = w->high,
    .base_dilation = w->base_dilation,
    .window_dilation = w->window_dilation,
    .body = body,
  };
  return cxi_emit(CXI_PRIM_reduce_window, &p, 2 * n, in, n, out);
}

cx cxi_select_and_scatter(cx x, cx y, cx start, const cxi_window *w,
                          const cxi_program *select,
                          const cxi_program *scatter) {
  const cxi_select_and_scatter_params p = {
    .window = w->window,
    .strides = w->strides,
    .low = w->low,
    .high = w->high,
    .base_dilation = w->base_dilation,
    .window_dilation = w->window_dilation,
    .select = select,
    .scatter = scatter,
  };
  return cxi_emit1(CXI_PRIM_select_and_scatter, &p, 3, (cx[]){ x, y, start });
}
