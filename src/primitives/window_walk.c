/* window_walk.c - the elements of windows, place by place. */
#include <inttypes.h>

#include "primitives/families.h"
#include "primitives/window.h"

bool cxi_infer_window(cxi_infer *c, uint32_t operand, cx_dims *out) {
  const cxi_window *w = c->params;
  const cx_dims *shape = cxi_type_shape(c->in[operand]);
  *out = cxi_window_shape(w, shape);
  if (out->n >= 0) return true;
  return cxi_infer_fail(
      c, CX_ESHAPE,
      "window %s, strides %s, low %s, high %s, base_dilation %s, "
      "window_dilation %s of %s: needs one number for each axis, all but low "
      "and high at least 1",
      cxi_show_list(&w->window).s, cxi_show_list(&w->strides).s,
      cxi_show_list(&w->low).s, cxi_show_list(&w->high).s,
      cxi_show_list(&w->base_dilation).s, cxi_show_list(&w->window_dilation).s,
      cxi_show_type(c->in[operand]).s);
}

cxi_window cxi_window_batched(const cxi_window *w, int at) {
  return (cxi_window){
    .window = cxi_dims_insert(w->window, at, 1),
    .strides = cxi_dims_insert(w->strides, at, 1),
    .low = cxi_dims_insert(w->low, at, 0),
    .high = cxi_dims_insert(w->high, at, 0),
    .base_dilation = cxi_dims_insert(w->base_dilation, at, 1),
    .window_dilation = cxi_dims_insert(w->window_dilation, at, 1),
  };
}

/* The results along an axis for which element k of the window is there: first,
 * count and step of results and of elements. */
static void fit_axis(cxi_window_walk *walk, int axis) {
  const cxi_window *w = walk->w;
  const int64_t stride = w->strides.d[axis], base = w->base_dilation.d[axis];
  const int64_t size = walk->operand.d[axis], most = walk->result.d[axis];
  const int64_t shift =
      walk->at[axis] * w->window_dilation.d[axis] - w->low.d[axis];
  const int64_t step = base / cxi_size_divisor(base, stride);
  int64_t first = shift >= 0 ? 0 : (-shift - 1) / stride + 1, tried = 0;
  while (first < most && tried < step && (first * stride + shift) % base) {
    first++;
    tried++;
  }
  const int64_t end = (size - 1) * base - shift; /* of o stride, included */
  walk->box.d[axis] = 0;
  if (first >= most || tried == step || end < first * stride) return;
  int64_t last = end / stride;
  if (last > most - 1) last = most - 1;
  walk->box.d[axis] = (last - first) / step + 1;
  walk->first_out[axis] = first;
  walk->first_in[axis] = (first * stride + shift) / base;
  walk->step_out[axis] = step;
  /* a step that is never taken may not fit */
  walk->step_in[axis] = walk->box.d[axis] > 1 ? step * stride / base : 0;
}

static void fit_box(cxi_window_walk *walk) {
  walk->box.n = walk->operand.n;
  for (int i = 0; i < walk->box.n; i++) {
    fit_axis(walk, i);
    walk->index[i] = 0;
  }
  walk->left = cxi_dims_count(&walk->box) > 0;
}

cxi_window_walk cxi_window_start(const cxi_window *w, const cx_dims *operand,
                                 const cx_dims *result) {
  cxi_window_walk walk = { .w = w, .operand = *operand, .result = *result };
  walk.done = cxi_dims_count(operand) == 0 || cxi_dims_count(result) == 0;
  if (!walk.done) fit_box(&walk);
  return walk;
}

static void place_run(cxi_window_walk *walk) {
  walk->out = walk->in = 0;
  for (int i = 0; i < walk->box.n; i++) {
    walk->out = walk->out * walk->result.d[i] + walk->first_out[i] +
                walk->index[i] * walk->step_out[i];
    walk->in = walk->in * walk->operand.d[i] + walk->first_in[i] +
               walk->index[i] * walk->step_in[i];
  }
  const int last = walk->box.n - 1;
  walk->n = last < 0 ? 1 : walk->box.d[last];
  walk->out_step = last < 0 ? 0 : walk->step_out[last];
  walk->in_step = last < 0 ? 0 : walk->step_in[last];
}

bool cxi_window_next(cxi_window_walk *walk) {
  while (!walk->done && !walk->left) {
    walk->done = !cxi_index_next(&walk->w->window, walk->at);
    if (!walk->done) fit_box(walk);
  }
  if (walk->done) return false;
  place_run(walk);
  cx_dims outer = walk->box; /* the last axis is the run */
  if (outer.n > 0) outer.d[outer.n - 1] = 1;
  walk->left = cxi_index_next(&outer, walk->index);
  return true;
}
