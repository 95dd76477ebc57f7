/* generate_index.c - equations whose places are known only when running. */
#include "support/generate.h"

#include <math.h>

#include "ops/axes.h"

/* -- slices at indices ---------------------------------------------------- */

/* An integer scalar of one dtype for each axis; returns how many. */
static uint32_t starts(gen *g, int rank, cx *out) {
  const cx_dtype type = gen_dtype(g, CXI_ACCEPT_INTEGER);
  for (int i = 0; i < rank; i++)
    out[i] = gen_one_in(g, 3) ? cxi_integer(type, (int64_t)gen_draw(g, 4))
                              : gen_of(g, type, (cx_dims){ 0 });
  return (uint32_t)rank;
}

static cx_dims some_sizes(gen *g, cx_dims shape) {
  for (int i = 0; i < shape.n; i++)
    if (gen_draw(g, 2)) shape.d[i] = gen_draw(g, (uint32_t)shape.d[i] + 1);
  return shape;
}

static bool some_dynamic_slice(gen *g, cxi_prim prim) {
  cx in[1 + CX_MAX_DIMS] = { gen_pick(g, CXI_ACCEPT_ANY, 1) };
  const cx_dims shape = cxi_shape_at(in[0]);
  const cxi_dynamic_slice_params p = { .sizes = some_sizes(g, shape) };
  const uint32_t n = 1 + starts(g, shape.n, in + 1);
  return gen_emit(g, prim, &p, n, in);
}

static bool some_update(gen *g, cxi_prim prim) {
  const bool adds = prim == CXI_PRIM_update_slice_add;
  cx in[2 + CX_MAX_DIMS] = { gen_pick(
      g, adds ? CXI_ACCEPT_NUMBER : CXI_ACCEPT_ANY, 1) };
  const cx_dims shape = cxi_shape_at(in[0]);
  in[1] = gen_of(g, cxi_dtype_at(in[0]), some_sizes(g, shape));
  const uint32_t n = 2 + starts(g, shape.n, in + 2);
  return gen_emit(g, prim, NULL, n, in);
}

/* -- gather and scatter --------------------------------------------------- */

/* Each axis of the operand is whole, partly, or not in the window, or goes
 * along with an axis of the indices; some have an index. */
typedef struct geometry {
  cx x, indices;
  cx_dims positions; /* of the indices */
  cx_dims dropped, start_map, operand_batch, index_batch, sizes;
  cx_dims window; /* its axes among those of the slices */
  cx_dims slices; /* their shape */
} geometry;

static void draw_axes(gen *g, geometry *w, cx_dims shape) {
  for (int i = 0; i < shape.n; i++) {
    w->sizes.d[i] = gen_draw(g, (uint32_t)shape.d[i] + 1);
    switch (gen_draw(g, 4)) {
    case 0: /* a single place */
      w->sizes.d[i] = 1;
      if (shape.d[i] > 0) w->dropped.d[w->dropped.n++] = i;
      if (shape.d[i] == 0) w->sizes.d[i] = 0;
      break;
    case 1:
      if (shape.d[i] == 0 || w->positions.n > 2) break;
      w->sizes.d[i] = 1;
      w->operand_batch.d[w->operand_batch.n++] = i;
      w->index_batch.d[w->index_batch.n++] = w->positions.n;
      w->positions.d[w->positions.n++] = shape.d[i];
      break;
    case 2:
      w->sizes.d[i] = shape.d[i];
      break;
    default:
      break;
    }
  }
  w->sizes.n = shape.n;
}

static void draw_starts(gen *g, geometry *w, int rank) {
  const cx_dims order = gen_order(g, rank);
  for (int i = 0; i < rank; i++)
    if (!cxi_dims_has(&w->operand_batch, order.d[i]) && gen_draw(g, 2))
      w->start_map.d[w->start_map.n++] = order.d[i];
}

/* The window's axes at any places, in order. */
static bool draw_slices(gen *g, geometry *w) {
  const cx_dims kept =
      cxi_axes_rest(w->sizes.n, &w->dropped, &w->operand_batch);
  const int rank = kept.n + w->positions.n;
  if (rank > CX_MAX_DIMS) return false;
  int k = 0, position = 0;
  w->slices.n = rank;
  for (int i = 0; i < rank; i++) {
    const int left = rank - i, wanted = kept.n - k;
    if ((int)gen_draw(g, (uint32_t)left) < wanted) {
      w->window.d[w->window.n++] = i;
      w->slices.d[i] = w->sizes.d[kept.d[k++]];
    } else {
      w->slices.d[i] = w->positions.d[position++];
    }
  }
  return cxi_dims_count(&w->slices) <= 2 * gen_most(g);
}

static bool draw_geometry(gen *g, unsigned accept, geometry *w) {
  *w = (geometry){ .x = gen_pick(g, accept, 1) };
  const cx_dims shape = cxi_shape_at(w->x);
  if (shape.n > 5) return false;
  draw_axes(g, w, shape);
  if (gen_draw(g, 4) && w->positions.n < 3)
    w->positions.d[w->positions.n++] = gen_size(g);
  draw_starts(g, w, shape.n);
  if (!draw_slices(g, w)) return false;
  w->indices =
      gen_of(g, gen_dtype(g, CXI_ACCEPT_INTEGER),
             cxi_dims_with(w->positions, w->positions.n, w->start_map.n));
  return true;
}

static bool some_gather(gen *g, cxi_prim prim) {
  geometry w;
  if (!draw_geometry(g, CXI_ACCEPT_ANY, &w)) return false;
  static const double fills[] = { NAN, 0, 1, -3 };
  const cxi_gather_params p = { .offset = w.window,
                                .collapsed = w.dropped,
                                .start_map = w.start_map,
                                .operand_batch = w.operand_batch,
                                .index_batch = w.index_batch,
                                .sizes = w.sizes,
                                .mode = gen_draw(g, 2) ? CX_CLIP : CX_FILL,
                                .fill = fills[gen_draw(g, 4)] };
  const cx in[2] = { w.x, w.indices };
  return gen_emit(g, prim, &p, 2, in);
}

/* A product's factors have a derivative only where their places are promised
 * to be distinct. */
static bool some_scatter(gen *g, cxi_prim prim) {
  geometry w;
  const bool any = prim == CXI_PRIM_scatter;
  if (!draw_geometry(g, any ? CXI_ACCEPT_ANY : CXI_ACCEPT_NUMBER, &w))
    return false;
  const cxi_scatter_params p = { .window = w.window,
                                 .inserted = w.dropped,
                                 .start_map = w.start_map,
                                 .operand_batch = w.operand_batch,
                                 .index_batch = w.index_batch,
                                 .mode = gen_draw(g, 2) ? CX_CLIP : CX_DROP };
  cx in[3] = { w.x, w.indices, gen_of(g, cxi_dtype_at(w.x), w.slices) };
  if (prim == CXI_PRIM_scatter_mul) in[2] = cxi_stop_gradient(in[2]);
  return gen_emit(g, prim, &p, 3, in);
}

/* -- order ---------------------------------------------------------------- */

static bool some_sort(gen *g, cxi_prim prim) {
  cx in[3] = { gen_pick(g, CXI_ACCEPT_ORDERED, 1) };
  const cx_dims shape = cxi_shape_at(in[0]);
  const uint32_t n = 1 + gen_draw(g, 3);
  const cxi_sort_params p = { .axis = gen_draw(g, (uint32_t)shape.n),
                              .n_keys = 1 + gen_draw(g, n),
                              .stable = true };
  for (uint32_t i = 1; i < n; i++)
    in[i] = gen_of(
        g, gen_dtype(g, i < p.n_keys ? CXI_ACCEPT_ORDERED : CXI_ACCEPT_ANY),
        shape);
  return gen_emit(g, prim, &p, n, in);
}

static bool some_top_k(gen *g, cxi_prim prim) {
  const cx x = gen_pick(g, CXI_ACCEPT_ORDERED, 1);
  const cx_dims shape = cxi_shape_at(x);
  cxi_top_k_params p = { .axis = gen_draw(g, (uint32_t)shape.n) };
  p.k = gen_draw(g, (uint32_t)shape.d[p.axis] + 1);
  return gen_emit(g, prim, &p, 1, &x);
}

/* Pivots are places at or below their own. */
static bool some_pivots(gen *g, cxi_prim prim) {
  cx_dims shape = gen_shape(g, 1, 3);
  const int last = shape.n - 1;
  if (shape.d[last] > 7) shape.d[last] = 7;
  const cx place = cxi_iota(CX_I32, shape, last);
  const cx most = cxi_integer(CX_I32, shape.d[last] ? shape.d[last] - 1 : 0);
  const cx x = cxi_clamp(place, gen_of(g, CX_I32, shape), most);
  const cxi_lu_pivots_to_permutation_params p = {
    .size = shape.d[last] + (int64_t)gen_draw(g, 3)
  };
  return gen_emit(g, prim, &p, 1, &x);
}

gen_maker *gen_index_of(cxi_prim prim) {
  static gen_maker *const makers[CXI_N_PRIMS] = {
    [CXI_PRIM_dynamic_slice] = some_dynamic_slice,
    [CXI_PRIM_dynamic_update_slice] = some_update,
    [CXI_PRIM_update_slice_add] = some_update,
    [CXI_PRIM_gather] = some_gather,
    [CXI_PRIM_scatter] = some_scatter,
    [CXI_PRIM_scatter_add] = some_scatter,
    [CXI_PRIM_scatter_mul] = some_scatter,
    [CXI_PRIM_scatter_min] = some_scatter,
    [CXI_PRIM_scatter_max] = some_scatter,
    [CXI_PRIM_sort] = some_sort,
    [CXI_PRIM_top_k] = some_top_k,
    [CXI_PRIM_lu_pivots_to_permutation] = some_pivots,
  };
  return makers[prim];
}
