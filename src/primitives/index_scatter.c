/* index_scatter.c - scatter, scatter_add. */
#include "primitives/index_scatter.h"

#include "primitives/index.h"

/* -- shared rules ---------------------------------------------------------- */

bool cxi_infer_scatter(cxi_infer *c) {
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
  return cxi_infer_scatter(c) && cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER);
}

static cxi_windows windows_of(const cxi_rule *r) {
  return cxi_scatter_windows(r->params, r->in_types[0], r->in_types[2]);
}

cx cxi_scatter_windows_of(const cxi_rule *r, cx x, cx indices, double fill) {
  const cxi_scatter_params *p = r->params;
  const cxi_windows w = windows_of(r);
  const cx_mode mode = p->mode == CX_DROP ? CX_FILL : p->mode;
  cxi_gather_params g = cxi_gather_params_of(&w, mode, p->sorted, p->unique);
  if (mode == CX_FILL) g.fill = fill;
  return cxi_gather(x, indices, &g);
}

/* Each example has its own operand, since each has its own result. */
void cxi_batch_scatter(const cxi_rule *r, const cx *in, const int *axis,
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

void cxi_scatter_each(const cxi_scatter_params *p, const cxi_view *x,
                      const cxi_view *indices, const cxi_view *updates,
                      cxi_scatter_put *put, void *user) {
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
    put(user, &window, &slice);
  }
}

static int64_t positions_that_meet(const cx_dims *indices,
                                   const cx_dims *index_batch) {
  const cx_dims places = cxi_axes_rest(indices->n - 1, index_batch, NULL);
  const cx_dims positions = cxi_dims_pick(indices, &places);
  return cxi_dims_count(&positions);
}

bool cxi_scatter_may_meet(const cxi_scatter_params *p, const cx_dims *indices) {
  return !p->unique && positions_that_meet(indices, &p->index_batch) > 1;
}

int64_t cxi_scatter_workspace(const cxi_eval *e, const cxi_view *in,
                              const cxi_view *out) {
  (void)e, (void)out;
  const cx_dtype type = in[0].type.type;
  if (type != CX_F16 && type != CX_BF16) return 0;
  return cxi_size_mul(cxi_dims_count(&in[0].type.shape), sizeof(float));
}

void cxi_scatter_in_f32(const cxi_scatter_params *p, const cxi_view *x,
                        const cxi_view *indices, const cxi_view *updates,
                        cxi_scatter_put *put, void *user, void *workspace) {
  const cx_dtype type = x->type.type;
  const size_t n = (size_t)cxi_dims_count(&x->type.shape);
  float *wide = workspace;
  uint16_t *halves = x->data;
  for (size_t i = 0; i < n; i++)
    wide[i] =
        type == CX_F16 ? cxi_f16_to_f32(halves[i]) : cxi_bf16_to_f32(halves[i]);
  const cxi_view view =
      cxi_view_dense((cx_aval){ CX_F32, x->type.shape }, wide);
  cxi_scatter_each(p, &view, indices, updates, put, user);
  for (size_t i = 0; i < n; i++)
    halves[i] =
        type == CX_F16 ? cxi_f16_from_f32(wide[i]) : cxi_bf16_from_f32(wide[i]);
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
  return cxi_compare(CXI_PRIM_eq,
                     cxi_scatter_windows_of(r, written, indices, 0), ids);
}

static void transpose_scatter(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  const cxi_scatter_params *p = r->params;
  const cx zeros = cxi_zeros(r->in_types[2]);
  if (cx_is_none(in[0]))
    cxi_accumulate(r, 0, cxi_scatter(ct[0], in[1], zeros, p), acc);
  if (!cx_is_none(in[2])) return;
  cx back = cxi_scatter_windows_of(r, ct[0], in[1], 0);
  /* One update alone cannot meet another: looking for the last one would cost
   * O(size of x). */
  if (cxi_scatter_may_meet(p, cxi_type_shape(r->in_types[1])))
    back = cxi_select(is_last(r, in[1]), zeros, back);
  cxi_accumulate(r, 2, back, acc);
}

static void put_copy(void *user, const cxi_view *window,
                     const cxi_view *update) {
  (void)user;
  cxi_view_copy(window, update);
}

static bool evaluate_scatter(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  cxi_view_copy(&out[0], &in[0]);
  cxi_scatter_each(e->params, &out[0], &in[1], &in[2], put_copy, NULL);
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
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with x[indices[p] + w] = updates[p, w]",
  .infer = cxi_infer_scatter,
  .jvp = cxi_jvp_move,
  .transpose = transpose_scatter,
  .batch = cxi_batch_scatter,
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
    cxi_accumulate(r, 2, cxi_scatter_windows_of(r, ct[0], in[1], 0), acc);
}

static void put_add(void *user, const cxi_view *window,
                    const cxi_view *update) {
  (void)user;
  cxi_view_add(window, update);
}

static bool evaluate_scatter_add(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out) {
  const cxi_scatter_params *p = e->params;
  const cx_dtype type = out[0].type.type;
  cxi_view_copy(&out[0], &in[0]);
  if (cxi_dims_count(&in[2].type.shape) == 0) return true;
  if ((type == CX_F16 || type == CX_BF16) &&
      cxi_scatter_may_meet(p, &in[1].type.shape))
    cxi_scatter_in_f32(p, &out[0], &in[1], &in[2], put_add, NULL, e->workspace);
  else
    cxi_scatter_each(p, &out[0], &in[1], &in[2], put_add, NULL);
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
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with x[indices[p] + w] += updates[p, w]",
  .infer = infer_scatter_add,
  .jvp = jvp_scatter_add,
  .transpose = transpose_scatter_add,
  .batch = cxi_batch_scatter,
  .evaluate = evaluate_scatter_add,
  .workspace = cxi_scatter_workspace,
  .in_place = 1,
  .examples = examples_scatter_add,
};
