/* generate_reduce.c - equations that reduce, cumulate, or walk windows. */
#include "support/generate.h"

#include "ops/axes.h"

/* -- reductions ----------------------------------------------------------- */

static bool some_reduction(gen *g, cxi_prim prim) {
  static const unsigned accepts[] = { CXI_ACCEPT_FLOAT, CXI_ACCEPT_INTEGER,
                                      CXI_ACCEPT_BOOL };
  for (int tries = 0; tries < 8; tries++) {
    const cx x = gen_pick(g, accepts[gen_draw(g, 3)], 1);
    const cxi_reduce_sum_params p = { .axes = gen_axes(g, cxi_rank_at(x)) };
    if (gen_emit(g, prim, &p, 1, &x)) return true;
  }
  return false;
}

static bool some_place(gen *g, cxi_prim prim) {
  const cx x = gen_pick(g, CXI_ACCEPT_ORDERED, 1);
  const cxi_argmax_params p = { .axis = gen_draw(g, (uint32_t)cxi_rank_at(x)),
                                .type = gen_dtype(g, CXI_ACCEPT_INTEGER) };
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_cumulation(gen *g, cxi_prim prim) {
  for (int tries = 0; tries < 4; tries++) {
    const cx x = gen_pick(g, CXI_ACCEPT_NUMBER, 1);
    const cxi_cumsum_params p = { .axis = gen_draw(g, (uint32_t)cxi_rank_at(x)),
                                  .reverse = gen_draw(g, 2) };
    if (gen_emit(g, prim, &p, 1, &x)) return true;
  }
  return false;
}

/* -- windows -------------------------------------------------------------- */

static cxi_window some_window(gen *g, cx_dims shape) {
  cxi_window w = cxi_window_plain(cxi_dims_repeat(shape.n, 1));
  for (int i = 0; i < shape.n; i++) {
    w.window.d[i] = 1 + gen_draw(g, 3);
    w.strides.d[i] = 1 + gen_draw(g, 2);
    w.low.d[i] = (int64_t)gen_draw(g, 4) - 1;
    w.high.d[i] = (int64_t)gen_draw(g, 4) - 1;
    if (gen_one_in(g, 4)) w.base_dilation.d[i] = 1 + gen_draw(g, 3);
    if (gen_one_in(g, 4)) w.window_dilation.d[i] = 1 + gen_draw(g, 3);
  }
  return w;
}

static bool some_windows(gen *g, cxi_prim prim) {
  for (int tries = 0; tries < 8; tries++) {
    const cx x = gen_pick(g, CXI_ACCEPT_NUMBER, 1);
    if (cxi_rank_at(x) > 4) continue;
    const cxi_window w = some_window(g, cxi_shape_at(x));
    if (gen_emit(g, prim, &w, 1, &x)) return true;
  }
  return false;
}

/* y of the windows' or of x's shape. */
static bool some_selection(gen *g, cxi_prim prim) {
  for (int tries = 0; tries < 8; tries++) {
    const cx x = gen_pick(g, CXI_ACCEPT_FLOAT, 1);
    if (cxi_rank_at(x) > 4) continue;
    const cx_dims shape = cxi_shape_at(x);
    const cxi_window w = some_window(g, shape);
    const cx_dims windows = cxi_window_shape(&w, &shape);
    if (windows.n < 0) continue;
    const bool gathers = prim == CXI_PRIM_select_and_gather_add;
    const cx in[2] = { gen_of(g, cxi_dtype_at(x), gathers ? shape : windows),
                       x };
    const cxi_select_and_gather_add_params p = { .window = w.window,
                                                 .strides = w.strides,
                                                 .low = w.low,
                                                 .high = w.high,
                                                 .base_dilation =
                                                     w.base_dilation,
                                                 .window_dilation =
                                                     w.window_dilation,
                                                 .least = gen_draw(g, 2) };
    if (gen_emit(g, prim, &p, 2, in)) return true;
  }
  return false;
}

/* -- joined by a function -------------------------------------------------
 * Its body joins scalars: add, mul, max or min of the first pair, and what
 * goes with it of the second. */

static const cxi_program *join_of(gen *g, uint32_t n, const cx_dtype *types) {
  static const cxi_prim joins[] = { CXI_PRIM_add, CXI_PRIM_max, CXI_PRIM_mul,
                                    CXI_PRIM_min };
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[4], out[2];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < 2 * n; i++)
    in[i] = cxi_builder_input(&b, cxi_type_scalar(types[i % n]));
  out[0] = cxi_binary(joins[gen_draw(g, 4)], in[0], in[n]);
  if (n == 2)
    out[1] = gen_draw(g, 2) ? cxi_select(cxi_compare(CXI_PRIM_ge, in[0], in[n]),
                                         in[3], in[1])
                            : cxi_add(in[1], in[3]);
  return cxi_builder_finish(&b, cxi_name_of("join"), 2 * n, in, n, out, &error);
}

/* n arrays of one shape, then their starts. */
static uint32_t joined(gen *g, cx_dtype *types, cx *in) {
  const uint32_t n = 1 + gen_draw(g, 2);
  in[0] = gen_pick(g, CXI_ACCEPT_NUMBER, 1);
  types[0] = cxi_dtype_at(in[0]);
  if (n == 2) {
    types[1] = gen_dtype(g, CXI_ACCEPT_NUMBER);
    in[1] = gen_of(g, types[1], cxi_shape_at(in[0]));
  }
  for (uint32_t i = 0; i < n; i++)
    in[n + i] = gen_draw(g, 2) ? gen_of(g, types[i], (cx_dims){ 0 })
                               : cxi_integer(types[i], 1);
  return n;
}

/* Bodies are walked for each element, in every run of every property. */
static bool is_walkable(cx x) {
  const cx_dims shape = cxi_shape_at(x);
  return cxi_dims_count(&shape) <= 6000;
}

static bool some_reduce(gen *g, cxi_prim prim) {
  cx in[4];
  cx_dtype types[2];
  const uint32_t n = joined(g, types, in);
  if (!is_walkable(in[0])) return false;
  const cxi_reduce_params p = { .axes = gen_axes(g, cxi_rank_at(in[0])),
                                .body = join_of(g, n, types) };
  const bool ok = p.body && gen_emit(g, prim, &p, 2 * n, in);
  cxi_program_release(p.body);
  return ok;
}

static bool some_reduce_window(gen *g, cxi_prim prim) {
  cx in[4];
  cx_dtype types[2];
  const uint32_t n = joined(g, types, in);
  if (cxi_rank_at(in[0]) > 3 || !is_walkable(in[0])) return false;
  const cxi_window w = some_window(g, cxi_shape_at(in[0]));
  const cxi_reduce_window_params p = { .window = w.window,
                                       .strides = w.strides,
                                       .low = w.low,
                                       .high = w.high,
                                       .base_dilation = w.base_dilation,
                                       .window_dilation = w.window_dilation,
                                       .body = join_of(g, n, types) };
  const bool ok = p.body && gen_emit(g, prim, &p, 2 * n, in);
  cxi_program_release(p.body);
  return ok;
}

static const cxi_program *select_of(gen *g, cx_dtype type) {
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[2];
  cxi_builder_open(&b);
  for (int i = 0; i < 2; i++)
    in[i] = cxi_builder_input(&b, cxi_type_scalar(type));
  const cx out =
      cxi_compare(gen_draw(g, 2) ? CXI_PRIM_ge : CXI_PRIM_le, in[0], in[1]);
  return cxi_builder_finish(&b, cxi_name_of("select"), 2, in, 1, &out, &error);
}

static bool some_select_and_scatter(gen *g, cxi_prim prim) {
  const cx x = gen_pick(g, CXI_ACCEPT_NUMBER, 1);
  const cx_dims shape = cxi_shape_at(x);
  const cx_dtype type = cxi_dtype_at(x);
  if (shape.n > 3 || !is_walkable(x)) return false;
  const cxi_window w = some_window(g, shape);
  const cx_dims windows = cxi_window_shape(&w, &shape);
  if (windows.n < 0) return false;
  const cx in[3] = { x, gen_of(g, type, windows),
                     gen_of(g, type, (cx_dims){ 0 }) };
  const cxi_select_and_scatter_params p = { .window = w.window,
                                            .strides = w.strides,
                                            .low = w.low,
                                            .high = w.high,
                                            .base_dilation = w.base_dilation,
                                            .window_dilation =
                                                w.window_dilation,
                                            .select = select_of(g, type),
                                            .scatter = join_of(g, 1, &type) };
  const bool ok = p.select && p.scatter && gen_emit(g, prim, &p, 3, in);
  cxi_program_release(p.select);
  cxi_program_release(p.scatter);
  return ok;
}

gen_maker *gen_reduce_of(cxi_prim prim) {
  static gen_maker *const makers[CXI_N_PRIMS] = {
    [CXI_PRIM_reduce_sum] = some_reduction,
    [CXI_PRIM_reduce_max] = some_reduction,
    [CXI_PRIM_reduce_min] = some_reduction,
    [CXI_PRIM_reduce_and] = some_reduction,
    [CXI_PRIM_reduce_or] = some_reduction,
    [CXI_PRIM_reduce_prod] = some_reduction,
    [CXI_PRIM_reduce_xor] = some_reduction,
    [CXI_PRIM_argmax] = some_place,
    [CXI_PRIM_argmin] = some_place,
    [CXI_PRIM_cumsum] = some_cumulation,
    [CXI_PRIM_cumprod] = some_cumulation,
    [CXI_PRIM_cummax] = some_cumulation,
    [CXI_PRIM_cummin] = some_cumulation,
    [CXI_PRIM_cumlogsumexp] = some_cumulation,
    [CXI_PRIM_reduce_window_sum] = some_windows,
    [CXI_PRIM_reduce_window_max] = some_windows,
    [CXI_PRIM_reduce_window_min] = some_windows,
    [CXI_PRIM_select_and_gather_add] = some_selection,
    [CXI_PRIM_select_and_scatter_add] = some_selection,
    [CXI_PRIM_reduce] = some_reduce,
    [CXI_PRIM_reduce_window] = some_reduce_window,
    [CXI_PRIM_select_and_scatter] = some_select_and_scatter,
  };
  return makers[prim];
}
