/* index_gather.c - gather. */
#include "primitives/index.h"
#include "primitives/index_window.h"

/* -- gather(x, indices; ...): the windows of x that begin at the indices;
 *    clip moves them inside, fill gives `fill` for those not wholly inside,
 *    in_bounds promises that there are none (they are moved) --------------- */

static bool infer_gather(cxi_infer *c) {
  const cxi_gather_params *p = c->params;
  const cxi_windows w = cxi_gather_windows(p);
  if (!cxi_infer_count(c, 2) || !cxi_infer_windows(c, &w)) return false;
  if (p->mode != CX_CLIP && p->mode != CX_FILL && p->mode != CX_IN_BOUNDS)
    return cxi_infer_fail(c, CX_EINDEX, "mode is clip, fill or in_bounds");
  return cxi_infer_moved(c, cxi_slices_shape(&w, cxi_type_shape(c->in[1])));
}

/* What is filled in has the tangent 0. */
static void jvp_gather(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  (void)out;
  cxi_gather_params p = *(const cxi_gather_params *)r->params;
  if (p.mode == CX_FILL) p.fill = 0;
  dout[0] = cxi_gather(dx[0], in[1], &p);
}

static void transpose_gather(const cxi_rule *r, const cx *in, const cx *ct,
                             cx *acc) {
  const cxi_gather_params *p = r->params;
  const cxi_scatter_add_params s = {
    .window = p->offset,
    .inserted = p->collapsed,
    .start_map = p->start_map,
    .operand_batch = p->operand_batch,
    .index_batch = p->index_batch,
    .mode = p->mode == CX_FILL ? CX_DROP : p->mode,
    .sorted = p->sorted,
    .unique = p->unique,
  };
  acc[0] = cxi_scatter_add(cxi_begun(acc[0], r->in_types[0]), in[1], ct[0], &s);
}

static void batch_gather(const cxi_rule *r, const cx *in, const int *axis,
                         int64_t size, cx *out, int *out_axis) {
  cxi_gather_params p = *(const cxi_gather_params *)r->params;
  cxi_windows w = cxi_gather_windows(&p);
  const int index_rank = cxi_type_rank(r->in_types[1]);
  const double fill = p.fill;
  cx indices = in[1];
  if (axis[1] < 0)
    w = cxi_windows_span(&w, axis[0], size, out_axis);
  else {
    /* The last axis stays that of the index. */
    const int at = axis[1] < index_rank ? axis[1] : 0;
    indices = cxi_move_axis(in[1], axis[1], at);
    w = cxi_windows_each(&w, at, axis[0], index_rank, out_axis);
    p.sorted = false;
    if (axis[0] < 0) p.unique = false;
  }
  p = cxi_gather_params_of(&w, p.mode, p.sorted, p.unique);
  p.fill = fill;
  out[0] = cxi_gather(in[0], indices, &p);
}

static bool evaluate_gather(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_gather_params *p = e->params;
  const cxi_windows w = cxi_gather_windows(p);
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  uint64_t bits = cxi_element_fill(in[0].type.type, p->fill);
  const cx_aval scalar = { in[0].type.type, { 0 } };
  const cxi_view fill = cxi_view_dense(scalar, &bits);
  cxi_walk walk = cxi_walk_start(&w, p->mode, &in[0].type.shape, &in[1]);
  int64_t start[CX_MAX_DIMS];
  bool inside;
  while (cxi_walk_next(&walk, start, &inside)) {
    const cxi_view to = cxi_walk_slice(&walk, &out[0]);
    const cxi_view from =
        inside ? cxi_walk_window(&walk, &in[0], start)
               : cxi_view_broadcast(&fill, to.type.shape, (cx_dims){ 0 });
    cxi_view_copy(&to, &from);
  }
  return true;
}

static const char *const examples_gather[] = {
  /* rows of a table */
  "program @main(%0: f32[4,3], %1: i32[2,1]) { %2: f32[2,3] = gather["
  "offset=(1), collapsed=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), sizes=(1,3), mode=clip, fill=nan, sorted=false, "
  "unique=false] %0, %1 return %2 }",
  /* single elements, dropped outside, the tangent's fill */
  "program @main(%0: f32[3,4], %1: i32[2,2,2]) { %2: f32[2,2] = gather["
  "offset=(), collapsed=(0,1), start_map=(1,0), operand_batch=(), "
  "index_batch=(), sizes=(1,1), mode=fill, fill=0, sorted=false, "
  "unique=false] %0, %1 return %2 }",
  /* windows at places between the positions' axes */
  "program @main(%0: f32[4,5], %1: i64[2,3,1]) { %2: f32[2,2,3,3] = gather["
  "offset=(0,2), collapsed=(), start_map=(1), operand_batch=(), "
  "index_batch=(), sizes=(2,3), mode=clip, fill=nan, sorted=false, "
  "unique=false] %0, %1 return %2 }",
  /* batch axes, in another order in the indices */
  "program @main(%0: f32[2,4,3], %1: u8[3,2,2,1]) { %2: f32[3,2,2] = gather["
  "offset=(), collapsed=(1), start_map=(1), operand_batch=(0,2), "
  "index_batch=(1,0), sizes=(1,1,1), mode=clip, fill=nan, sorted=false, "
  "unique=false] %0, %1 return %2 }",
  "program @main(%0: f32[4], %1: i32[0,1]) { %2: f32[0,2] = gather["
  "offset=(1), collapsed=(), start_map=(0), operand_batch=(), "
  "index_batch=(), sizes=(2), mode=fill, fill=nan, sorted=true, "
  "unique=true] %0, %1 return %2 }",
  /* literal indices outside */
  "program @main(%0: f32[4]) { %1: i32[1] = broadcast_in_dim[shape=(1), "
  "map=()] 7:i32 %2: f32[2] = gather[offset=(0), collapsed=(), start_map=(0), "
  "operand_batch=(), index_batch=(), sizes=(2), mode=clip, fill=nan, "
  "sorted=false, unique=false] %0, %1 return %2 }",
  "program @main(%0: f32[4]) { %1: i32[1] = broadcast_in_dim[shape=(1), "
  "map=()] -1:i32 %2: f32[2] = gather[offset=(0), collapsed=(), "
  "start_map=(0), operand_batch=(), index_batch=(), sizes=(2), mode=fill, "
  "fill=0, sorted=false, unique=false] %0, %1 return %2 }",
  /* no index at all: the window at the origin */
  "program @main(%0: f32[3,2], %1: i32[2,0]) { %2: f32[2,2] = gather["
  "offset=(1), collapsed=(1), start_map=(), operand_batch=(), index_batch=(), "
  "sizes=(2,1), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
  "return %2 }",
  /* a promise kept */
  "program @main(%0: f32[4,2]) { %1: u16[3,1] = iota[type=u16, shape=(3,1), "
  "axis=0] %2: f32[3,2] = gather[offset=(1), collapsed=(0), start_map=(0), "
  "operand_batch=(), index_batch=(), sizes=(1,2), mode=in_bounds, fill=nan, "
  "sorted=true, unique=true] %0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_gather = {
  .prim = CXI_PRIM_gather,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x[indices[p] + w] for positions p, window places w",
  .infer = infer_gather,
  .jvp = jvp_gather,
  .transpose = transpose_gather,
  .batch = batch_gather,
  .evaluate = evaluate_gather,
  .examples = examples_gather,
};
