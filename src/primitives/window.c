/* window.c - reductions of windows, and the choice within them. */
#include "primitives/window.h"

#include "primitives/moves.h"

/* -- reduce_window_sum, _max, _min(x) -------------------------------------- */

static bool infer_reduce(cxi_infer *c, unsigned accept) {
  cx_dims shape;
  return cxi_infer_count(c, 1) && cxi_infer_kind(c, 0, accept) &&
         cxi_infer_window(c, 0, &shape) && cxi_infer_moved(c, shape);
}

static bool infer_number(cxi_infer *c) {
  return infer_reduce(c, CXI_ACCEPT_NUMBER);
}

static bool infer_ordered(cxi_infer *c) {
  return infer_reduce(c, CXI_ACCEPT_ORDERED);
}

static void batch_reduce(const cxi_rule *r, const cx *in, const int *axis,
                         int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_window w = cxi_window_batched(r->params, axis[0]);
  out[0] = cxi_reduce_window(r->row->prim, in[0], &w);
  out_axis[0] = axis[0];
}

/* x[i] takes part in y[o] as element k of its window, counted from the end in
 * k' = n - 1 - k, if
 *   i base + k' dilation - ((n - 1) dilation - low) = o stride:
 * a window over y dilated by the strides. */
static cxi_window window_back(const cxi_rule *r) {
  const cxi_window *w = r->params;
  const cx_dims *x = cxi_type_shape(r->in_types[0]);
  const cx_dims *y = cxi_type_shape(r->out_types[0]);
  cxi_window back = *w;
  back.strides = w->base_dilation;
  back.base_dilation = w->strides;
  for (int i = 0; i < x->n; i++) {
    const int64_t span = (w->window.d[i] - 1) * w->window_dilation.d[i];
    back.low.d[i] = span - w->low.d[i];
    back.high.d[i] = (x->d[i] - 1) * w->base_dilation.d[i] + span -
                     (y->d[i] - 1) * w->strides.d[i] - back.low.d[i];
  }
  return back;
}

static void transpose_sum(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  (void)in;
  if (cxi_dims_count(cxi_type_shape(r->in_types[0])) == 0 ||
      cxi_dims_count(cxi_type_shape(r->out_types[0])) == 0)
    return;
  const cxi_window back = window_back(r);
  cxi_accumulate(
      r, 0, cxi_reduce_window(CXI_PRIM_reduce_window_sum, ct[0], &back), acc);
}

static const char *const examples_reduce_window_sum[] = {
  "program @main(%0: f32[6]) { %1: f32[5] = reduce_window_sum[window=(2), "
  "strides=(1), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,5,4,3]) { %1: f32[2,3,2,3] = "
  "reduce_window_sum[window=(1,3,2,1), strides=(1,2,2,1), low=(0,1,0,0), "
  "high=(0,1,0,0), base_dilation=(1,1,1,1), window_dilation=(1,1,1,1)] %0 "
  "return %1 }",
  "program @main(%0: f32[4,5]) { %1: f32[4,5] = reduce_window_sum[window="
  "(2,3), strides=(2,3), low=(1,2), high=(2,3), base_dilation=(2,3), "
  "window_dilation=(3,2)] %0 return %1 }",
  "program @main(%0: f64[7]) { %1: f64[2] = reduce_window_sum[window=(2), "
  "strides=(3), low=(-1), high=(-1), base_dilation=(1), window_dilation=(1)] "
  "%0 return %1 }",
  "program @main(%0: f16[5]) { %1: f16[3] = reduce_window_sum[window=(3), "
  "strides=(1), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: bf16[4]) { %1: bf16[2] = reduce_window_sum[window=(2), "
  "strides=(2), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[1,2] = reduce_window_sum[window="
  "(2,2), strides=(1,1), low=(1,0), high=(1,0), base_dilation=(1,1), "
  "window_dilation=(1,1)] %0 return %1 }",
  "program @main(%0: f32[2]) { %1: f32[0] = reduce_window_sum[window=(3), "
  "strides=(1), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[]) { %1: f32[] = reduce_window_sum[window=(), "
  "strides=(), low=(), high=(), base_dilation=(), window_dilation=()] %0 "
  "return %1 }",
  "program @main(%0: u8[6]) { %1: u8[3] = reduce_window_sum[window=(2), "
  "strides=(2), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_window_sum = {
  .prim = CXI_PRIM_reduce_window_sum,
  .form = CXI_FORM_REDUCE,
  .formula = "sum of each window of x",
  .infer = infer_number,
  .jvp = cxi_jvp_move,
  .transpose = transpose_sum,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce_window,
  .workspace = cxi_reduce_window_workspace,
  .examples = examples_reduce_window_sum,
};

/* The tangent of the first greatest (least) element of each window. */
static void jvp_extremum(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                         cx *dout) {
  (void)out;
  dout[0] = cxi_select_and_gather_add(
      dx[0], in[0], r->params, r->row->prim == CXI_PRIM_reduce_window_min);
}

static const char *const examples_reduce_window_max[] = {
  "program @main(%0: f32[6]) { %1: f32[5] = reduce_window_max[window=(2), "
  "strides=(1), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,4,4,3]) { %1: f32[2,2,2,3] = "
  "reduce_window_max[window=(1,2,2,1), strides=(1,2,2,1), low=(0,0,0,0), "
  "high=(0,0,0,0), base_dilation=(1,1,1,1), window_dilation=(1,1,1,1)] %0 "
  "return %1 }",
  "program @main(%0: f32[4,5]) { %1: f32[2,4] = reduce_window_max[window="
  "(2,3), strides=(2,3), low=(0,2), high=(-1,3), base_dilation=(2,3), "
  "window_dilation=(2,3)] %0 return %1 }",
  "program @main(%0: bf16[5]) { %1: bf16[3] = reduce_window_max[window=(3), "
  "strides=(1), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: i8[3]) { %1: i8[5] = reduce_window_max[window=(2), "
  "strides=(1), low=(2), high=(1), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: bool[4]) { %1: bool[2] = reduce_window_max[window=(2), "
  "strides=(2), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_window_max = {
  .prim = CXI_PRIM_reduce_window_max,
  .form = CXI_FORM_REDUCE,
  .formula = "greatest of each window of x",
  .infer = infer_ordered,
  .jvp = jvp_extremum,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce_window,
  .workspace = cxi_reduce_window_workspace,
  .no_transpose = "not linear",
  .examples = examples_reduce_window_max,
};

static const char *const examples_reduce_window_min[] = {
  "program @main(%0: f32[6]) { %1: f32[3] = reduce_window_min[window=(2), "
  "strides=(2), low=(0), high=(0), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[3,4]) { %1: f32[2,2] = reduce_window_min[window="
  "(2,2), strides=(1,1), low=(0,0), high=(0,0), base_dilation=(1,1), "
  "window_dilation=(1,2)] %0 return %1 }",
  "program @main(%0: f16[5]) { %1: f16[5] = reduce_window_min[window=(3), "
  "strides=(1), low=(1), high=(1), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  "program @main(%0: u32[2]) { %1: u32[3] = reduce_window_min[window=(2), "
  "strides=(1), low=(1), high=(1), base_dilation=(1), window_dilation=(1)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reduce_window_min = {
  .prim = CXI_PRIM_reduce_window_min,
  .form = CXI_FORM_REDUCE,
  .formula = "least of each window of x",
  .infer = infer_ordered,
  .jvp = jvp_extremum,
  .batch = batch_reduce,
  .evaluate = cxi_evaluate_reduce_window,
  .workspace = cxi_reduce_window_workspace,
  .no_transpose = "not linear",
  .examples = examples_reduce_window_min,
};

/* -- select_and_gather_add, select_and_scatter_add(y, x): linear in y; of bools
 *    the sum is "or" ------------------------------------------------------- */

static bool infer_select(cxi_infer *c, bool gather) {
  cx_dims windows;
  if (!cxi_infer_count(c, 2) || !cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED) ||
      !cxi_infer_kind(c, 1, CXI_ACCEPT_ORDERED) ||
      !cxi_infer_window(c, 1, &windows))
    return false;
  const cx_dims *x = cxi_type_shape(c->in[1]), *y = cxi_type_shape(c->in[0]);
  if (!cxi_dims_equal(y, gather ? x : &windows))
    return cxi_infer_fail(c, CX_ESHAPE, "the windows of %s are %s, got %s",
                          cxi_show_type(c->in[1]).s, cxi_show_list(&windows).s,
                          cxi_show_type(c->in[0]).s);
  return cxi_infer_moved(c, gather ? windows : *x);
}

static bool infer_gather(cxi_infer *c) {
  return infer_select(c, true);
}

static bool infer_scatter(cxi_infer *c) {
  return infer_select(c, false);
}

/* The choice is constant wherever it has a derivative. */
static void jvp_select(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  (void)out;
  if (cx_is_none(dx[0])) return;
  dout[0] = cxi_emit1(r->row->prim, r->params, 2, (cx[]){ dx[0], in[1] });
}

static void transpose_gather(const cxi_rule *r, const cx *in, const cx *ct,
                             cx *acc) {
  const cxi_select_and_gather_add_params *p = r->params;
  cxi_accumulate(
      r, 0, cxi_select_and_scatter_add(ct[0], in[1], r->params, p->least), acc);
}

static void transpose_scatter(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  const cxi_select_and_scatter_add_params *p = r->params;
  cxi_accumulate(
      r, 0, cxi_select_and_gather_add(ct[0], in[1], r->params, p->least), acc);
}

static void batch_select(const cxi_rule *r, const cx *in, const int *axis,
                         int64_t size, cx *out, int *out_axis) {
  const int at = cxi_first_batched(axis, 2);
  /* Both have `least` at the same place. */
  const bool least =
      ((const cxi_select_and_gather_add_params *)r->params)->least;
  const cxi_window w = cxi_window_batched(r->params, at);
  const cx y = cxi_batch_to(in[0], axis[0], at, size);
  const cx x = cxi_batch_to(in[1], axis[1], at, size);
  out_axis[0] = at;
  if (r->row->prim == CXI_PRIM_select_and_gather_add)
    out[0] = cxi_select_and_gather_add(y, x, &w, least);
  else
    out[0] = cxi_select_and_scatter_add(y, x, &w, least);
}

static const char *const examples_select_and_gather_add[] = {
  "program @main(%0: f32[6], %1: f32[6]) { %2: f32[3] = select_and_gather_add["
  "window=(2), strides=(2), low=(0), high=(0), base_dilation=(1), "
  "window_dilation=(1), least=false] %0, %1 return %2 }",
  "program @main(%0: f32[4,5], %1: f32[4,5]) { %2: f32[2,4] = "
  "select_and_gather_add[window=(2,3), strides=(2,3), low=(0,2), high=(-1,3), "
  "base_dilation=(2,3), window_dilation=(2,3), least=true] %0, %1 return %2 }",
  "program @main(%0: f16[5], %1: f16[5]) { %2: f16[5] = "
  "select_and_gather_add[window=(3), strides=(1), low=(1), high=(1), "
  "base_dilation=(1), window_dilation=(1), least=false] %0, %1 return %2 }",
  "program @main(%0: f32[2], %1: i32[2]) { %2: f32[4] = "
  "select_and_gather_add[window=(1), strides=(1), low=(1), high=(1), "
  "base_dilation=(1), window_dilation=(1), least=false] %0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_select_and_gather_add = {
  .prim = CXI_PRIM_select_and_gather_add,
  .form = CXI_FORM_REDUCE,
  .formula = "y[i] where x[i] is the first greatest of a window",
  .infer = infer_gather,
  .jvp = jvp_select,
  .transpose = transpose_gather,
  .batch = batch_select,
  .evaluate = cxi_evaluate_select_gather,
  .workspace = cxi_select_gather_workspace,
  .examples = examples_select_and_gather_add,
};

static const char *const examples_select_and_scatter_add[] = {
  "program @main(%0: f32[3], %1: f32[6]) { %2: f32[6] = "
  "select_and_scatter_add[window=(2), strides=(2), low=(0), high=(0), "
  "base_dilation=(1), window_dilation=(1), least=false] %0, %1 return %2 }",
  "program @main(%0: f32[5,4], %1: f32[5,4]) { %2: f32[5,4] = "
  "select_and_scatter_add[window=(3,3), strides=(1,1), low=(1,1), high=(1,1), "
  "base_dilation=(1,1), window_dilation=(1,1), least=true] %0, %1 return %2 }",
  "program @main(%0: bf16[3], %1: bf16[5]) { %2: bf16[5] = "
  "select_and_scatter_add[window=(3), strides=(1), low=(0), high=(0), "
  "base_dilation=(1), window_dilation=(1), least=false] %0, %1 return %2 }",
  "program @main(%0: f64[4], %1: i16[2]) { %2: f64[2] = "
  "select_and_scatter_add[window=(1), strides=(1), low=(1), high=(1), "
  "base_dilation=(1), window_dilation=(1), least=false] %0, %1 return %2 }",
  "program @main(%0: bool[5], %1: bool[6]) { %2: bool[6] = "
  "select_and_scatter_add[window=(2), strides=(1), low=(0), high=(0), "
  "base_dilation=(1), window_dilation=(1), least=false] %0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_select_and_scatter_add = {
  .prim = CXI_PRIM_select_and_scatter_add,
  .form = CXI_FORM_REDUCE,
  .formula = "y of each window added where x is its first greatest",
  .infer = infer_scatter,
  .jvp = jvp_select,
  .transpose = transpose_scatter,
  .batch = batch_select,
  .evaluate = cxi_evaluate_select_scatter,
  .workspace = cxi_select_scatter_workspace,
  .examples = examples_select_and_scatter_add,
};
