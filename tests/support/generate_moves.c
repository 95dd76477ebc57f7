/* generate_moves.c - equations that move elements, and their sources. */
#include "support/generate.h"

#include "ops/axes.h"

static cx any(gen *g, int least_rank) {
  return gen_pick(g, CXI_ACCEPT_ANY, least_rank);
}

static int some_axis(gen *g, cx x) {
  return (int)gen_draw(g, (uint32_t)cxi_rank_at(x));
}

/* -- shapes --------------------------------------------------------------- */

/* The axes in any order at any places among the result's. */
static bool some_broadcast(gen *g, cxi_prim prim) {
  const cx x = any(g, 0);
  const cx_dims from = cxi_shape_at(x);
  cxi_broadcast_in_dim_params p = { 0 };
  int rank = from.n + (int)gen_draw(g, 3);
  if (rank > CX_MAX_DIMS) rank = CX_MAX_DIMS;
  const cx_dims order = gen_order(g, rank);
  p.shape.n = rank;
  for (int i = 0; i < rank; i++) p.shape.d[i] = gen_size(g);
  for (int i = 0; i < from.n; i++) {
    p.map.d[p.map.n++] = order.d[i];
    if (from.d[i] != 1 || gen_draw(g, 2)) p.shape.d[order.d[i]] = from.d[i];
  }
  return cxi_dims_count(&p.shape) <= 3 * gen_most(g) &&
         gen_emit(g, prim, &p, 1, &x);
}

/* The same elements: some axes joined, some split, ones put in. */
static bool some_reshape(gen *g, cxi_prim prim) {
  const cx x = any(g, 0);
  const cx_dims from = cxi_shape_at(x);
  cxi_reshape_params p = { 0 };
  int64_t held = 1;
  for (int i = 0; i < from.n; i++) {
    held *= from.d[i];
    if (gen_draw(g, 2)) continue;
    p.shape.d[p.shape.n++] = held;
    held = 1;
  }
  for (int64_t d = 2; d <= 3; d++)
    if (held > 0 && held % d == 0 && p.shape.n < 6 && gen_draw(g, 2)) {
      p.shape.d[p.shape.n++] = d;
      held /= d;
    }
  if (held != 1) p.shape.d[p.shape.n++] = held;
  if (p.shape.n < 7 && gen_one_in(g, 3)) p.shape.d[p.shape.n++] = 1;
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_transpose(gen *g, cxi_prim prim) {
  const cx x = any(g, 0);
  const cxi_transpose_params p = { .permutation =
                                       gen_order(g, cxi_rank_at(x)) };
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_squeeze(gen *g, cxi_prim prim) {
  cx_dims shape = gen_shape(g, 1, CX_MAX_DIMS);
  cxi_squeeze_params p = { 0 };
  for (int i = 0; i < shape.n; i++)
    if (gen_draw(g, 2)) {
      shape.d[i] = 1;
      p.axes.d[p.axes.n++] = i;
    }
  const cx x = gen_of(g, gen_dtype(g, CXI_ACCEPT_ANY), shape);
  return gen_emit(g, prim, &p, 1, &x);
}

/* -- joined and parted ---------------------------------------------------- */

static bool some_concatenate(gen *g, cxi_prim prim) {
  cx in[4] = { any(g, 1) };
  const cxi_concatenate_params p = { .axis = some_axis(g, in[0]) };
  const uint32_t n = 1 + gen_draw(g, 4);
  cx_dims shape = cxi_shape_at(in[0]);
  for (uint32_t i = 1; i < n; i++) {
    if (gen_draw(g, 2)) shape.d[p.axis] = gen_size(g);
    in[i] = gen_of(g, cxi_dtype_at(in[0]), shape);
  }
  return gen_emit(g, prim, &p, n, in);
}

static bool some_stack(gen *g, cxi_prim prim) {
  cx in[3] = { any(g, 0) };
  const uint32_t n = 1 + gen_draw(g, 3);
  for (uint32_t i = 1; i < n; i++) in[i] = gen_want(g, cxi_type_at(in[0]));
  const cxi_stack_params p = { .axis = gen_draw(
                                   g, (uint32_t)cxi_rank_at(in[0]) + 1) };
  return gen_emit(g, prim, &p, n, in);
}

static bool some_unstack(gen *g, cxi_prim prim) {
  const cx x = any(g, 1);
  const cxi_unstack_params p = { .axis = some_axis(g, x) };
  return cxi_shape_at(x).d[p.axis] <= 7 && gen_emit(g, prim, &p, 1, &x);
}

static bool some_split(gen *g, cxi_prim prim) {
  const cx x = any(g, 1);
  cxi_split_params p = { .axis = some_axis(g, x) };
  int64_t sizes[4], left = cxi_shape_at(x).d[p.axis];
  const uint32_t n = 1 + gen_draw(g, 4);
  for (uint32_t i = 0; i + 1 < n; i++) {
    sizes[i] = gen_draw(g, (uint32_t)left + 1);
    left -= sizes[i];
  }
  sizes[n - 1] = left;
  p.sizes = (cxi_ints){ n, sizes };
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_slice(gen *g, cxi_prim prim) {
  const cx x = any(g, 0);
  const cx_dims from = cxi_shape_at(x);
  cxi_slice_params p = { .start.n = from.n,
                         .limit.n = from.n,
                         .strides.n = from.n };
  for (int i = 0; i < from.n; i++) {
    p.start.d[i] = gen_draw(g, (uint32_t)(from.d[i] + 2) / 2);
    p.limit.d[i] = from.d[i] - gen_draw(g, (uint32_t)(from.d[i] + 2) / 2);
    if (p.limit.d[i] < p.start.d[i]) p.limit.d[i] = p.start.d[i];
    p.strides.d[i] = 1 + (gen_one_in(g, 3) ? gen_draw(g, 3) : 0);
  }
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_pad(gen *g, cxi_prim prim) {
  const cx x = any(g, 0);
  const int n = cxi_rank_at(x);
  cxi_pad_params p = { .low.n = n, .high.n = n, .interior.n = n };
  for (int i = 0; i < n; i++) {
    p.low.d[i] = (int64_t)gen_draw(g, 4) - 1;
    p.high.d[i] = (int64_t)gen_draw(g, 4) - 1;
    p.interior.d[i] = gen_one_in(g, 3) ? gen_draw(g, 3) : 0;
  }
  const cx in[2] = { x, gen_of(g, cxi_dtype_at(x), (cx_dims){ 0 }) };
  return gen_emit(g, prim, &p, 2, in);
}

static bool some_rev(gen *g, cxi_prim prim) {
  const cx x = any(g, 0);
  const cxi_rev_params p = { .axes = gen_axes(g, cxi_rank_at(x)) };
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_barrier(gen *g, cxi_prim prim) {
  cx in[3];
  const uint32_t n = 1 + gen_draw(g, 3);
  for (uint32_t i = 0; i < n; i++) in[i] = any(g, 0);
  return gen_emit(g, prim, NULL, n, in);
}

/* -- keys, sources -------------------------------------------------------- */

static bool some_wrap(gen *g, cxi_prim prim) {
  const cx_dims lead = gen_shape(g, 0, CX_MAX_DIMS - 1);
  const cx x = gen_of(g, CX_U32, cxi_dims_with(lead, lead.n, 2));
  return gen_emit(g, prim, NULL, 1, &x);
}

static cx key(gen *g) {
  return gen_of(g, CX_KEY, gen_shape(g, 0, 2));
}

static bool some_unwrap(gen *g, cxi_prim prim) {
  const cx x = key(g);
  return gen_emit(g, prim, NULL, 1, &x);
}

static bool some_iota(gen *g, cxi_prim prim) {
  cxi_iota_params p = { .type = gen_dtype(g, CXI_ACCEPT_NUMBER),
                        .shape = gen_shape(g, 1, CX_MAX_DIMS) };
  p.axis = gen_draw(g, (uint32_t)p.shape.n);
  return gen_emit(g, prim, &p, 0, NULL);
}

static bool some_pairs(gen *g, cxi_prim prim) {
  const cxi_iota_2x32_params p = { .shape = gen_shape(g, 0, 3) };
  return gen_emit(g, prim, &p, 0, NULL);
}

static bool some_keys(gen *g, cxi_prim prim) {
  const cxi_random_split_params p = { .shape = gen_shape(g, 0, 2) };
  const cx x = key(g);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_bits(gen *g, cxi_prim prim) {
  static const cx_dtype types[] = { CX_U8, CX_U16, CX_U32, CX_U64 };
  const cxi_random_bits_params p = { .type = types[gen_draw(g, 4)],
                                     .shape = gen_shape(g, 0, 3) };
  const cx x = key(g);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_gamma(gen *g, cxi_prim prim) {
  const cxi_random_gamma_params p = { .log_space = gen_draw(g, 2) };
  const cx keys = key(g);
  cx_dims shape = cxi_shape_at(keys);
  if (gen_draw(g, 2)) shape = cxi_dims_with(shape, shape.n, gen_size(g));
  const cx in[2] = { keys, gen_between(g, gen_float(g), shape, 0.1, 4) };
  return gen_emit(g, prim, &p, 2, in);
}

gen_maker *gen_move_of(cxi_prim prim) {
  static gen_maker *const makers[CXI_N_PRIMS] = {
    [CXI_PRIM_broadcast_in_dim] = some_broadcast,
    [CXI_PRIM_reshape] = some_reshape,
    [CXI_PRIM_transpose] = some_transpose,
    [CXI_PRIM_squeeze] = some_squeeze,
    [CXI_PRIM_concatenate] = some_concatenate,
    [CXI_PRIM_stack] = some_stack,
    [CXI_PRIM_unstack] = some_unstack,
    [CXI_PRIM_split] = some_split,
    [CXI_PRIM_slice] = some_slice,
    [CXI_PRIM_pad] = some_pad,
    [CXI_PRIM_rev] = some_rev,
    [CXI_PRIM_optimization_barrier] = some_barrier,
    [CXI_PRIM_random_wrap] = some_wrap,
    [CXI_PRIM_random_unwrap] = some_unwrap,
    [CXI_PRIM_iota] = some_iota,
    [CXI_PRIM_iota_2x32] = some_pairs,
    [CXI_PRIM_random_split] = some_keys,
    [CXI_PRIM_random_bits] = some_bits,
    [CXI_PRIM_random_gamma] = some_gamma,
  };
  return makers[prim];
}
