/* index_scatter.c - scatter, scatter_add. */
#include "base/alloc.h"

#include "primitives/index.h"
#include "primitives/index_window.h"

_Static_assert(sizeof(cxi_scatter_params) == sizeof(cxi_scatter_add_params),
               "the two rows share rules, which read one struct");

/* -- shared rules ---------------------------------------------------------- */

static bool infer_scatter(cxi_infer *c) {
  const cxi_scatter_params *p = c->params;
  if (!cxi_infer_count(c, 3)) return false;
  if (cxi_type_dtype(c->in[0]) != cxi_type_dtype(c->in[2]))
    return cxi_infer_fail(c, CX_EDTYPE, "%s and updates %s",
                          cxi_show_type(c->in[0]).s, cxi_show_type(c->in[2]).s);
  const cxi_windows w = cxi_scatter_windows(p, c->in[0], c->in[2]);
  if (!cxi_infer_windows(c, &w)) return false;
  if (p->mode != CX_CLIP && p->mode != CX_DROP && p->mode != CX_IN_BOUNDS)
    return cxi_infer_fail(c, CX_EINDEX, "mode is clip, drop or in_bounds");
  const cx_dims wanted = cxi_slices_shape(&w, cxi_type_shape(c->in[1]));
  if (!cxi_dims_equal(&wanted, cxi_type_shape(c->in[2])))
    return cxi_infer_fail(c, CX_ESHAPE, "updates %s do not go with indices %s",
                          cxi_show_type(c->in[2]).s, cxi_show_type(c->in[1]).s);
  return cxi_infer_result(c, c->in[0]);
}

static bool infer_scatter_add(cxi_infer *c) {
  return infer_scatter(c) && cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER);
}

static cxi_windows windows_of(const cxi_rule *r) {
  return cxi_scatter_windows(r->params, r->in_types[0], r->in_types[2]);
}

/* The windows of x that the updates went to, 0 for dropped ones. */
static cx gather_back(const cxi_rule *r, cx x, cx indices) {
  const cxi_scatter_params *p = r->params;
  const cxi_windows w = windows_of(r);
  const cx_mode mode = p->mode == CX_DROP ? CX_FILL : p->mode;
  cxi_gather_params g = cxi_gather_params_of(&w, mode, p->sorted, p->unique);
  if (mode == CX_FILL) g.fill = 0;
  return cxi_gather(x, indices, &g);
}

/* Each example has its own operand, since each has its own result. */
static void batch_scatter(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  const cxi_scatter_params *p = r->params;
  cxi_windows w = windows_of(r);
  const int index_rank = cxi_type_rank(r->in_types[1]);
  const int at = axis[0] < 0 ? 0 : axis[0];
  bool sorted = p->sorted;
  int place;
  cx indices = in[1];
  if (axis[1] < 0)
    w = cxi_windows_span(&w, at, size, &place);
  else {
    const int index_at = axis[1] < index_rank ? axis[1] : 0;
    indices = cxi_move_axis(in[1], axis[1], index_at);
    w = cxi_windows_each(&w, index_at, at, index_rank, &place);
    sorted = false;
  }
  const cx x = cxi_batch_to(in[0], axis[0], at, size);
  const cx updates = cxi_batch_to(in[2], axis[2], place, size);
  const cxi_scatter_params batched =
      cxi_scatter_params_of(&w, p->mode, sorted, p->unique);
  out[0] = cxi_emit1(r->row->prim, &batched, 3, (cx[]){ x, indices, updates });
  out_axis[0] = at;
}

/* Calls put(window of x, update) for each update that is not dropped, in the
 * order of the positions. */
static void each_update(const cxi_scatter_params *p, const cxi_view *x,
                        const cxi_view *indices, const cxi_view *updates,
                        void (*put)(const cxi_view *, const cxi_view *)) {
  const cxi_type operand = cxi_type_of(&x->type);
  const cxi_type update = cxi_type_of(&updates->type);
  const cxi_windows w = cxi_scatter_windows(p, operand, update);
  /* A broken promise drops, as XLA does. */
  const cx_mode mode = p->mode == CX_IN_BOUNDS ? CX_DROP : p->mode;
  cxi_walk walk = cxi_walk_start(&w, mode, &x->type.shape, indices);
  int64_t start[CX_MAX_DIMS];
  bool inside;
  while (cxi_walk_next(&walk, start, &inside)) {
    if (!inside) continue;
    const cxi_view window = cxi_walk_window(&walk, x, start);
    const cxi_view slice = cxi_walk_slice(&walk, updates);
    put(&window, &slice);
  }
}

/* -- scatter(x, indices, updates; ...): x with windows replaced; equal places
 *    take the last update -------------------------------------------------- */

/* Which elements of the updates are the last ones at their places: number the
 * updates, scatter the numbers, see who finds its own. */
static cx is_last(const cxi_rule *r, cx indices) {
  const cxi_windows w = windows_of(r);
  const cx_dims updates = *cxi_type_shape(r->in_types[2]);
  const cx_dims places = cxi_axes_rest(updates.n, &w.window, NULL);
  const cx_dims positions = cxi_dims_pick(&updates, &places);
  const int64_t n = cxi_dims_count(&positions);
  const cx_dtype dtype = n < INT32_MAX ? CX_I32 : CX_I64;
  const cx numbers = cxi_offset(cxi_iota(dtype, cxi_dims_repeat(1, n), 0), 1);
  const cx ids =
      cxi_broadcast_in_dim(cxi_reshape(numbers, positions), updates, places);
  const cx none = cxi_zeros(cxi_type_with_dtype(r->in_types[0], dtype));
  const cx written = cxi_scatter(none, indices, ids, r->params);
  return cxi_compare(CXI_PRIM_eq, gather_back(r, written, indices), ids);
}

/* Whether two updates can meet. One alone, or one in each place of a batch,
 * cannot: looking for the last one would cost O(size of x). */
static bool may_meet(const cxi_rule *r) {
  const cxi_scatter_params *p = r->params;
  const cx_dims *indices = cxi_type_shape(r->in_types[1]);
  const cx_dims places = cxi_axes_rest(indices->n - 1, &p->index_batch, NULL);
  const cx_dims positions = cxi_dims_pick(indices, &places);
  return !p->unique && cxi_dims_count(&positions) > 1;
}

static void transpose_scatter(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  const cxi_scatter_params *p = r->params;
  const cx zeros = cxi_zeros(r->in_types[2]);
  if (cx_is_none(in[0]))
    cxi_accumulate(r, 0, cxi_scatter(ct[0], in[1], zeros, p), acc);
  if (!cx_is_none(in[2])) return;
  cx back = gather_back(r, ct[0], in[1]);
  if (may_meet(r)) back = cxi_select(is_last(r, in[1]), zeros, back);
  cxi_accumulate(r, 2, back, acc);
}

static bool evaluate_scatter(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  cxi_view_copy(&out[0], &in[0]);
  each_update(e->params, &out[0], &in[1], &in[2], cxi_view_copy);
  return true;
}

static const char *const examples_scatter[] = {
  /* rows, perhaps equal ones */
  "program @main(%0: f32[4,3], %1: i32[3,1], %2: f32[3,3]) { %3: f32[4,3] = "
  "scatter[window=(1), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  /* elements, dropped outside */
  "program @main(%0: f32[3,4], %1: i32[2,2,2], %2: f32[2,2]) { %3: f32[3,4] = "
  "scatter[window=(), inserted=(0,1), start_map=(1,0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  /* overlapping windows at places between the positions' axes */
  "program @main(%0: f32[4,5], %1: i64[2,3,1], %2: f32[2,2,3,3]) { "
  "%3: f32[4,5] = scatter[window=(0,2), inserted=(), start_map=(1), "
  "operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f32[2,4,3], %1: u8[3,2,2,1], %2: f32[3,2,2]) { "
  "%3: f32[2,4,3] = scatter[window=(), inserted=(1), start_map=(1), "
  "operand_batch=(0,2), index_batch=(1,0), mode=drop, sorted=false, "
  "unique=false] %0, %1, %2 return %3 }",
  "program @main(%0: f32[4], %1: i32[0,1], %2: f32[0,2]) { %3: f32[4] = "
  "scatter[window=(1), inserted=(), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=true, unique=true] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: f32[4], %1: f32[2]) { %2: i32[1] = broadcast_in_dim["
  "shape=(1), map=()] 7:i32 %3: f32[4] = scatter[window=(0), inserted=(), "
  "start_map=(0), operand_batch=(), index_batch=(), mode=clip, sorted=false, "
  "unique=true] %0, %2, %1 return %3 }",
  "program @main(%0: bool[4], %1: i32[3,1], %2: bool[3]) { %3: bool[4] = "
  "scatter[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  NULL
};

const cxi_row cxi_row_scatter = {
  .prim = CXI_PRIM_scatter,
  .form = CXI_FORM_INDEX,
  .formula = "x with x[indices[p] + w] = updates[p, w]",
  .infer = infer_scatter,
  .jvp = cxi_jvp_move,
  .transpose = transpose_scatter,
  .batch = batch_scatter,
  .evaluate = evaluate_scatter,
  .in_place = 1,
  .examples = examples_scatter,
};

/* -- scatter_add(x, indices, updates; ...): x with updates added, in the order
 *    of the positions ------------------------------------------------------ */

/* The tangent of x alone passes. */
static void jvp_scatter_add(const cxi_rule *r, const cx *in, const cx *dx,
                            cx *out, cx *dout) {
  if (cx_is_none(dx[2]))
    dout[0] = dx[0];
  else
    cxi_jvp_move(r, in, dx, out, dout);
}

static void transpose_scatter_add(const cxi_rule *r, const cx *in, const cx *ct,
                                  cx *acc) {
  if (cx_is_none(in[0])) cxi_accumulate(r, 0, ct[0], acc);
  if (cx_is_none(in[2]))
    cxi_accumulate(r, 2, gather_back(r, ct[0], in[1]), acc);
}

/* f16 and bf16 round once per equation: where places may repeat, the sums are
 * kept in f32. */
static bool add_in_f32(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cx_dtype type = out->type.type;
  const size_t n = (size_t)cxi_dims_count(&out->type.shape);
  float *sums = cxi_alloc(n * sizeof *sums + 1);
  uint16_t *halves = out->data;
  if (!sums)
    return cxi_error_set(e->error, CX_EMEMORY, "scatter_add: out of memory");
  for (size_t i = 0; i < n; i++)
    sums[i] =
        type == CX_F16 ? cxi_f16_to_f32(halves[i]) : cxi_bf16_to_f32(halves[i]);
  const cxi_view wide =
      cxi_view_dense((cx_aval){ CX_F32, out->type.shape }, sums);
  each_update(e->params, &wide, &in[1], &in[2], cxi_view_add);
  for (size_t i = 0; i < n; i++)
    halves[i] =
        type == CX_F16 ? cxi_f16_from_f32(sums[i]) : cxi_bf16_from_f32(sums[i]);
  cxi_free(sums);
  return true;
}

static bool evaluate_scatter_add(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out) {
  const cxi_scatter_add_params *p = e->params;
  const cx_dtype type = out[0].type.type;
  const int64_t updates = cxi_dims_count(&in[2].type.shape);
  cxi_view_copy(&out[0], &in[0]);
  if (updates == 0) return true;
  cx_dims positions = in[1].type.shape;
  positions.n--;
  const bool repeats = !p->unique && cxi_dims_count(&positions) > 1;
  if ((type == CX_F16 || type == CX_BF16) && repeats)
    return add_in_f32(e, in, &out[0]);
  each_update(e->params, &out[0], &in[1], &in[2], cxi_view_add);
  return true;
}

static const char *const examples_scatter_add[] = {
  "program @main(%0: f32[4,3], %1: i32[3,1], %2: f32[3,3]) { %3: f32[4,3] = "
  "scatter_add[window=(1), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: f32[3,4], %1: i32[2,2,2], %2: f32[2,2]) { %3: f32[3,4] = "
  "scatter_add[window=(), inserted=(0,1), start_map=(1,0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: f32[4,5], %1: i64[2,3,1], %2: f32[2,2,3,3]) { "
  "%3: f32[4,5] = scatter_add[window=(0,2), inserted=(), start_map=(1), "
  "operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f32[2,4,3], %1: u8[3,2,2,1], %2: f32[3,2,2]) { "
  "%3: f32[2,4,3] = scatter_add[window=(), inserted=(1), start_map=(1), "
  "operand_batch=(0,2), index_batch=(1,0), mode=drop, sorted=false, "
  "unique=false] %0, %1, %2 return %3 }",
  "program @main(%0: f32[4], %1: i32[0,1], %2: f32[0,2]) { %3: f32[4] = "
  "scatter_add[window=(1), inserted=(), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=true, unique=true] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: bf16[3], %1: i32[5,1], %2: bf16[5]) { %3: bf16[3] = "
  "scatter_add[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: u8[3], %1: i32[5,1], %2: u8[5]) { %3: u8[3] = "
  "scatter_add[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=in_bounds, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  NULL
};

const cxi_row cxi_row_scatter_add = {
  .prim = CXI_PRIM_scatter_add,
  .form = CXI_FORM_INDEX,
  .formula = "x with x[indices[p] + w] += updates[p, w]",
  .infer = infer_scatter_add,
  .jvp = jvp_scatter_add,
  .transpose = transpose_scatter_add,
  .batch = batch_scatter,
  .evaluate = evaluate_scatter_add,
  .in_place = 1,
  .examples = examples_scatter_add,
};
