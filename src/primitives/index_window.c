/* index_window.c - the one geometry of gather and scatter. */
#include "primitives/index_window.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "primitives/index.h"

/* -- from and to parameters ------------------------------------------------ */

cxi_windows cxi_gather_windows(const cxi_gather_params *p) {
  return (cxi_windows){ .window = p->offset,
                        .dropped = p->collapsed,
                        .start_map = p->start_map,
                        .operand_batch = p->operand_batch,
                        .index_batch = p->index_batch,
                        .sizes = p->sizes };
}

/* Operand axes that the window keeps, ascending. */
static cx_dims kept_axes(const cxi_windows *w, int rank) {
  return cxi_axes_rest(rank, &w->dropped, &w->operand_batch);
}

cxi_windows cxi_scatter_windows(const cxi_scatter_params *p, cxi_type operand,
                                cxi_type updates) {
  cxi_windows w = { .window = p->window,
                    .dropped = p->inserted,
                    .start_map = p->start_map,
                    .operand_batch = p->operand_batch,
                    .index_batch = p->index_batch };
  const cx_dims *from = cxi_type_shape(updates);
  w.sizes = cxi_dims_repeat(cxi_type_rank(operand), 1);
  const cx_dims kept = kept_axes(&w, w.sizes.n);
  for (int i = 0; i < kept.n && i < w.window.n; i++) {
    const int64_t axis = w.window.d[i];
    if (axis >= 0 && axis < from->n) w.sizes.d[kept.d[i]] = from->d[axis];
  }
  return w;
}

cxi_gather_params cxi_gather_params_of(const cxi_windows *w, cx_mode mode,
                                       bool sorted, bool unique) {
  return (cxi_gather_params){ .offset = w->window,
                              .collapsed = w->dropped,
                              .start_map = w->start_map,
                              .operand_batch = w->operand_batch,
                              .index_batch = w->index_batch,
                              .sizes = w->sizes,
                              .mode = mode,
                              .fill = NAN,
                              .sorted = sorted,
                              .unique = unique };
}

cxi_scatter_params cxi_scatter_params_of(const cxi_windows *w, cx_mode mode,
                                         bool sorted, bool unique) {
  return (cxi_scatter_params){ .window = w->window,
                               .inserted = w->dropped,
                               .start_map = w->start_map,
                               .operand_batch = w->operand_batch,
                               .index_batch = w->index_batch,
                               .mode = mode,
                               .sorted = sorted,
                               .unique = unique };
}

/* -- infer ----------------------------------------------------------------- */

static bool disjoint(const cx_dims *a, const cx_dims *b) {
  for (int i = 0; i < a->n; i++)
    if (cxi_dims_has(b, a->d[i])) return false;
  return true;
}

/* Lists of operand axes: in range, distinct, ascending where order says
 * nothing, of different axes. */
static bool infer_lists(cxi_infer *c, const cxi_windows *w, int positions) {
  const int rank = cxi_type_rank(c->in[0]);
  if (!cxi_axes_sorted(&w->dropped, rank))
    return cxi_infer_fail(c, CX_ESHAPE,
                          "collapsed or inserted axes %s: not "
                          "ascending axes of %s",
                          cxi_show_list(&w->dropped).s,
                          cxi_show_type(c->in[0]).s);
  if (!cxi_infer_axes(c, "start_map", &w->start_map) ||
      !cxi_infer_axes(c, "operand_batch", &w->operand_batch))
    return false;
  if (!cxi_axes_valid(&w->index_batch, positions) ||
      w->index_batch.n != w->operand_batch.n)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "index_batch %s: wants an axis of the indices %s, "
                          "but the last, for each of operand_batch %s",
                          cxi_show_list(&w->index_batch).s,
                          cxi_show_type(c->in[1]).s,
                          cxi_show_list(&w->operand_batch).s);
  if (!disjoint(&w->dropped, &w->operand_batch) ||
      !disjoint(&w->start_map, &w->operand_batch))
    return cxi_infer_fail(c, CX_ESHAPE,
                          "operand_batch %s has axes of another list",
                          cxi_show_list(&w->operand_batch).s);
  return true;
}

/* Axes left out have size 1; windows fit; batch axes are as long in both. */
static bool infer_window_sizes(cxi_infer *c, const cxi_windows *w) {
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  const cx_dims *indices = cxi_type_shape(c->in[1]);
  if (w->sizes.n != shape->n || !cxi_dims_valid(&w->sizes))
    return cxi_infer_fail(c, CX_ESHAPE, "sizes %s: want one per axis of %s",
                          cxi_show_list(&w->sizes).s,
                          cxi_show_type(c->in[0]).s);
  for (int i = 0; i < shape->n; i++) {
    const bool batch = cxi_dims_has(&w->operand_batch, i);
    const bool left_out = batch || cxi_dims_has(&w->dropped, i);
    if ((left_out && w->sizes.d[i] != 1) ||
        (!batch && w->sizes.d[i] > shape->d[i]))
      return cxi_infer_fail(c, CX_ESHAPE,
                            "axis %d: a window of %" PRId64 " of %s%s", i,
                            w->sizes.d[i], cxi_show_type(c->in[0]).s,
                            left_out ? ", which leaves the axis out" : "");
  }
  for (int i = 0; i < w->operand_batch.n; i++)
    if (!cxi_size_equal(shape->d[w->operand_batch.d[i]],
                        indices->d[w->index_batch.d[i]]))
      return cxi_infer_fail(c, CX_ESHAPE,
                            "batch axes differ in size: axis "
                            "%" PRId64 " of %s and %" PRId64 " of %s",
                            w->operand_batch.d[i], cxi_show_type(c->in[0]).s,
                            w->index_batch.d[i], cxi_show_type(c->in[1]).s);
  return true;
}

bool cxi_infer_windows(cxi_infer *c, const cxi_windows *w) {
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  const cx_dims *indices = cxi_type_shape(c->in[1]);
  if (!cxi_infer_kind(c, 1, CXI_ACCEPT_INTEGER)) return false;
  if (indices->n == 0)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "indices %s: the last axis holds one "
                          "index",
                          cxi_show_type(c->in[1]).s);
  const int positions = indices->n - 1;
  if (!infer_lists(c, w, positions)) return false;
  if (!cxi_size_equal(indices->d[positions], w->start_map.n))
    return cxi_infer_fail(c, CX_ESHAPE,
                          "indices %s: the last axis wants the "
                          "%d items of start_map",
                          cxi_show_type(c->in[1]).s, w->start_map.n);
  const int kept = shape->n - w->dropped.n - w->operand_batch.n;
  if (!cxi_axes_sorted(&w->window, positions + w->window.n) ||
      w->window.n != kept)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "offset or window axes %s: want %d, "
                          "ascending, of %d",
                          cxi_show_list(&w->window).s, kept, positions + kept);
  return infer_window_sizes(c, w);
}

cx_dims cxi_slices_shape(const cxi_windows *w, const cx_dims *indices) {
  const int rank = indices->n - 1 + w->window.n;
  if (rank > CX_MAX_DIMS) return (cx_dims){ .n = -1 };
  const cx_dims kept = kept_axes(w, w->sizes.n);
  cx_dims shape = { .n = rank };
  for (int i = 0, position = 0; i < rank; i++) {
    const int k = cxi_dims_find(&w->window, i);
    shape.d[i] = k >= 0 ? w->sizes.d[kept.d[k]] : indices->d[position++];
  }
  return shape;
}

/* -- batching -------------------------------------------------------------- */

/* x put in its place in an ascending list; the place in *out_place. */
static cx_dims insert_sorted(cx_dims list, int64_t x, int *out_place) {
  *out_place = cxi_axes_below(&list, x);
  return cxi_dims_insert(list, *out_place, x);
}

cxi_windows cxi_windows_span(const cxi_windows *w, int at, int64_t size,
                             int *place) {
  cxi_windows b = *w;
  b.dropped = cxi_axes_shift(w->dropped, at);
  b.start_map = cxi_axes_shift(w->start_map, at);
  b.operand_batch = cxi_axes_shift(w->operand_batch, at);
  b.sizes = cxi_dims_insert(w->sizes, at, size);
  /* How many window axes come before it; it takes the place of the next. */
  const int k = at - cxi_axes_below(&b.dropped, at) -
                cxi_axes_below(&b.operand_batch, at);
  const int n = w->window.n;
  *place = k < n ? (int)w->window.d[k] : n ? (int)w->window.d[n - 1] + 1 : 0;
  b.window = cxi_dims_insert(cxi_axes_shift(w->window, *place), k, *place);
  return b;
}

cxi_windows cxi_windows_each(const cxi_windows *w, int at, int operand_at,
                             int index_rank, int *place) {
  cxi_windows b = *w;
  const int positions = index_rank - 1, rank = positions + w->window.n;
  const cx_dims places = cxi_axes_rest(rank, &w->window, NULL);
  *place = at < positions  ? (int)places.d[at]
           : positions > 0 ? (int)places.d[positions - 1] + 1
                           : 0;
  b.window = cxi_axes_shift(w->window, *place);
  b.index_batch = cxi_axes_shift(w->index_batch, at);
  if (operand_at < 0) return b;
  int k;
  b.dropped = cxi_axes_shift(w->dropped, operand_at);
  b.start_map = cxi_axes_shift(w->start_map, operand_at);
  b.sizes = cxi_dims_insert(w->sizes, operand_at, 1);
  b.operand_batch = insert_sorted(cxi_axes_shift(w->operand_batch, operand_at),
                                  operand_at, &k);
  b.index_batch = cxi_dims_insert(b.index_batch, k, at);
  return b;
}

/* -- running --------------------------------------------------------------- */

cxi_walk cxi_walk_start(const cxi_windows *w, cx_mode mode,
                        const cx_dims *operand, const cxi_view *indices) {
  cxi_walk walk = { .w = *w,
                    .mode = mode,
                    .indices = indices,
                    .operand = *operand,
                    .positions = indices->type.shape,
                    .kept = kept_axes(w, operand->n) };
  walk.positions.n--;
  walk.place = cxi_axes_rest(walk.positions.n + w->window.n, &w->window, NULL);
  walk.done = cxi_dims_count(&walk.positions) == 0;
  walk.at[0] = -1; /* before the first */
  return walk;
}

/* Moves `at` on: the first time to zeros, then in row-major order. */
static bool next_position(cxi_walk *walk) {
  if (walk->done) return false;
  if (walk->at[0] < 0) {
    walk->at[0] = 0;
    return true;
  }
  walk->done = !cxi_index_next(&walk->positions, walk->at);
  return !walk->done;
}

bool cxi_walk_next(cxi_walk *walk, int64_t *start, bool *inside) {
  if (!next_position(walk)) return false;
  const cxi_windows *w = &walk->w;
  const cxi_view *indices = walk->indices;
  const cx_dtype dtype = indices->type.type;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(dtype);
  const bool drops = walk->mode == CX_FILL || walk->mode == CX_DROP;
  int64_t offset = 0;
  for (int i = 0; i < walk->positions.n; i++)
    offset += walk->at[i] * indices->strides[i];
  memset(start, 0, CX_MAX_DIMS * sizeof *start);
  *inside = true;
  for (int i = 0; i < w->start_map.n; i++) {
    const int64_t axis = w->start_map.d[i];
    const int64_t item = offset + i * indices->strides[walk->positions.n];
    const int64_t size = walk->operand.d[axis], window = w->sizes.d[axis];
    const int64_t s =
        cxi_read_index(dtype, (const char *)indices->data + item * bytes);
    if (drops && !cxi_start_inside(s, window, size)) *inside = false;
    start[axis] = cxi_clamp_start(s, window, size);
  }
  for (int i = 0; i < w->operand_batch.n; i++)
    start[w->operand_batch.d[i]] = walk->at[w->index_batch.d[i]];
  return true;
}

cxi_view cxi_walk_window(const cxi_walk *walk, const cxi_view *operand,
                         const int64_t *start) {
  cxi_view window = *operand;
  window.data =
      cxi_view_element(operand, start, cxi_dtype_bytes(operand->type.type));
  window.type.shape = cxi_dims_pick(&walk->w.sizes, &walk->kept);
  for (int i = 0; i < walk->kept.n; i++)
    window.strides[i] = operand->strides[walk->kept.d[i]];
  return window;
}

cxi_view cxi_walk_slice(const cxi_walk *walk, const cxi_view *slices) {
  cxi_view slice = *slices;
  int64_t offset = 0;
  for (int i = 0; i < walk->positions.n; i++)
    offset += walk->at[i] * slices->strides[walk->place.d[i]];
  slice.data = (char *)slices->data +
               offset * (int64_t)cxi_dtype_bytes(slices->type.type);
  slice.type.shape = cxi_dims_pick(&slices->type.shape, &walk->w.window);
  for (int i = 0; i < walk->w.window.n; i++)
    slice.strides[i] = slices->strides[walk->w.window.d[i]];
  return slice;
}
