/* index_scatter_combine.c - scatter_mul, scatter_min, scatter_max. */
#include <math.h>
#include <string.h>

#include "primitives/index.h"
#include "primitives/index_scatter.h"
#include "primitives/kernels.h"

/* -- running: the kernel of the elementwise primitive on rows ------------- */

enum { PIECE = 128 }; /* elements */

/* n elements of `to`, with strides in elements, each combined with one of
 * `from`. Kernels write side by side: a strided row goes through a buffer. */
static void combine_row(cxi_kernel kernel, int64_t n, size_t bytes, void *to,
                        int64_t to_stride, const void *from,
                        int64_t from_stride) {
  uint64_t buffer[PIECE];
  const int64_t width = (int64_t)bytes;
  while (n > 0) {
    const bool direct = to_stride == 1 || n == 1;
    const int64_t count = direct || n < PIECE ? n : PIECE;
    kernel(&(cxi_run){ .n = count,
                       .out = direct ? to : buffer,
                       .in = { to, from },
                       .step = { to_stride, from_stride } });
    for (int64_t i = 0; !direct && i < count; i++)
      memcpy((char *)to + i * to_stride * width, (char *)buffer + i * width,
             bytes);
    to = (char *)to + count * to_stride * width;
    from = (const char *)from + count * from_stride * width;
    n -= count;
  }
}

/* The same with f16 or bf16 elements for a row of f32. */
static void combine_wide(cxi_kernel kernel, int64_t n, cx_dtype type, float *to,
                         int64_t to_stride, const uint16_t *from,
                         int64_t from_stride) {
  float piece[PIECE];
  while (n > 0) {
    const int64_t count = n < PIECE ? n : PIECE;
    for (int64_t i = 0; i < count; i++)
      piece[i] = type == CX_F16 ? cxi_f16_to_f32(from[i * from_stride])
                                : cxi_bf16_to_f32(from[i * from_stride]);
    combine_row(kernel, count, sizeof *to, to, to_stride, piece, 1);
    to += count * to_stride;
    from += count * from_stride;
    n -= count;
  }
}

/* user: the elementwise primitive. */
static void put_combined(void *user, const cxi_view *window,
                         const cxi_view *update) {
  const cxi_prim prim = *(const cxi_prim *)user;
  const cx_dtype type = update->type.type;
  const bool wide = window->type.type != type;
  const cxi_kernel kernel = cxi_kernel_of(prim, window->type.type);
  const size_t to_bytes = cxi_dtype_bytes(window->type.type);
  const size_t from_bytes = cxi_dtype_bytes(type);
  cx_dims outer = window->type.shape;
  if (cxi_dims_count(&outer) == 0) return;
  int64_t n = 1, to_stride = 0, from_stride = 0, index[CX_MAX_DIMS] = { 0 };
  if (outer.n > 0) {
    const int last = outer.n - 1;
    n = outer.d[last], outer.d[last] = 1;
    to_stride = window->strides[last], from_stride = update->strides[last];
  }
  do {
    void *to = cxi_view_element(window, index, to_bytes);
    const void *from = cxi_view_element(update, index, from_bytes);
    if (wide)
      combine_wide(kernel, n, type, to, to_stride, from, from_stride);
    else
      combine_row(kernel, n, to_bytes, to, to_stride, from, from_stride);
  } while (cxi_index_next(&outer, index));
}

static bool evaluate_combined(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  cxi_prim prim = e->row->prim == CXI_PRIM_scatter_mul   ? CXI_PRIM_mul
                  : e->row->prim == CXI_PRIM_scatter_min ? CXI_PRIM_min
                                                         : CXI_PRIM_max;
  const cx_dtype type = out[0].type.type;
  cxi_view_copy(&out[0], &in[0]);
  if (cxi_dims_count(&in[2].type.shape) == 0) return true;
  /* Only products round. */
  if (prim == CXI_PRIM_mul && (type == CX_F16 || type == CX_BF16) &&
      cxi_scatter_may_meet(e->params, &in[1].type.shape))
    cxi_scatter_in_f32(e->params, &out[0], &in[1], &in[2], put_combined, &prim,
                       e->workspace);
  else
    cxi_scatter_each(e->params, &out[0], &in[1], &in[2], put_combined, &prim);
  return true;
}

/* Numbers where the updates go, summed: zeros elsewhere. */
static cx scattered_sum(const cxi_rule *r, cx indices, cx updates) {
  return cxi_scatter_by(CXI_PRIM_scatter_add, cxi_zeros(r->in_types[0]),
                        indices, updates, r->params);
}

/* -- scatter_mul(x, indices, updates; ...): x with elements multiplied, in the
 *    order of the positions ------------------------------------------------- */

static bool infer_scatter_mul(cxi_infer *c) {
  return cxi_infer_scatter(c) && cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER);
}

/* Linear in x. In the updates only if none meet: then x is the factor of each;
 * else every update has the others of its place for factors. */
static void jvp_scatter_mul(const cxi_rule *r, const cx *in, const cx *dx,
                            cx *out, cx *dout) {
  (void)out;
  if (!cx_is_none(dx[0]))
    dout[0] =
        cxi_scatter_by(CXI_PRIM_scatter_mul, dx[0], in[1], in[2], r->params);
  if (cx_is_none(dx[2])) return;
  if (cxi_scatter_may_meet(r->params, cxi_type_shape(r->in_types[1]))) {
    dout[0] = cxi_fail(CX_ENORULE,
                       "scatter_mul: the derivative by the updates %s needs "
                       "distinct indices: promise them with .unique = true",
                       cxi_show_type(r->in_types[2]).s);
    return;
  }
  const cx term = cxi_mul(in[0], scattered_sum(r, in[1], dx[2]));
  dout[0] = cxi_sum_given(dout[0], term);
}

static void transpose_scatter_mul(const cxi_rule *r, const cx *in, const cx *ct,
                                  cx *acc) {
  const cx back =
      cxi_scatter_by(CXI_PRIM_scatter_mul, ct[0], in[1], in[2], r->params);
  cxi_accumulate(r, 0, back, acc);
}

static const char *const examples_scatter_mul[] = {
  "program @main(%0: f32[4,3], %1: i32[1,1], %2: f32[1,3]) { %3: f32[4,3] = "
  "scatter_mul[window=(1), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: f32[2,4,3], %1: u8[3,2,1,1], %2: f32[3,2,1]) { %3: "
  "f32[2,4,3] = scatter_mul[window=(), inserted=(1), start_map=(1), "
  "operand_batch=(0,2), index_batch=(1,0), mode=drop, sorted=false, "
  "unique=false] %0, %1, %2 return %3 }",
  "program @main(%0: f64[4,5], %1: i64[1], %2: f64[2,3]) { %3: f64[4,5] = "
  "scatter_mul[window=(0,1), inserted=(), start_map=(1), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: i32[4,3], %1: i32[3,1], %2: i32[3,3]) { %3: i32[4,3] = "
  "scatter_mul[window=(1), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: u8[3,4], %1: i32[2,2,2], %2: u8[2,2]) { %3: u8[3,4] = "
  "scatter_mul[window=(), inserted=(0,1), start_map=(1,0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: i64[4,5], %1: i64[2,3,1], %2: i64[2,2,3,3]) { %3: "
  "i64[4,5] = scatter_mul[window=(0,2), inserted=(), start_map=(1), "
  "operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f32[4], %1: i32[0,1], %2: f32[0,2]) { %3: f32[4] = "
  "scatter_mul[window=(1), inserted=(), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=true, unique=true] %0, %1, %2 return %3 "
  "}",
  "program @main(%0: bf16[3], %1: i32[1,1], %2: bf16[1]) { %3: bf16[3] = "
  "scatter_mul[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  NULL
};

const cxi_row cxi_row_scatter_mul = {
  .prim = CXI_PRIM_scatter_mul,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with x[indices[p] + w] *= updates[p, w]",
  .infer = infer_scatter_mul,
  .jvp = jvp_scatter_mul,
  .transpose = transpose_scatter_mul,
  .batch = cxi_batch_scatter,
  .evaluate = evaluate_combined,
  .workspace = cxi_scatter_workspace,
  .in_place = 1,
  .examples = examples_scatter_mul,
};

/* -- scatter_min, scatter_max: x with the least or greatest of x and the
 *    updates of each place --------------------------------------------------- */

static bool infer_scatter_ordered(cxi_infer *c) {
  return cxi_infer_scatter(c) && cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED);
}

/* All that equal the result of a place share its tangent evenly: the updates
 * among them, `hits` in number, and x. What x has to lose, each of the `all`
 * updates of the place takes a part of. */
static void jvp_scatter_ordered(const cxi_rule *r, const cx *in, const cx *dx,
                                cx *out, cx *dout) {
  const cx ones = cxi_full(r->in_types[2], 1);
  const cx zeros = cxi_zeros(r->in_types[2]);
  const cx best = cxi_scatter_windows_of(r, out[0], in[1], NAN);
  const cx old = cxi_scatter_windows_of(r, in[0], in[1], NAN);
  const cx update_wins = cxi_compare(CXI_PRIM_eq, in[2], best);
  const cx x_wins = cxi_compare(CXI_PRIM_eq, old, best);
  const cx counted =
      scattered_sum(r, in[1], cxi_select(update_wins, zeros, ones));
  const cx hits = cxi_scatter_windows_of(r, counted, in[1], NAN);
  const cx share = cxi_div(ones, cxi_offset(hits, 1)); /* where x wins too */
  cx change = cx_none();
  if (!cx_is_none(dx[0])) {
    const cx all =
        cxi_scatter_windows_of(r, scattered_sum(r, in[1], ones), in[1], NAN);
    const cx kept = cxi_select(x_wins, zeros, share);
    const cx lost = cxi_div(cxi_offset(kept, -1), all);
    change = cxi_mul(cxi_scatter_windows_of(r, dx[0], in[1], 0), lost);
  }
  if (!cx_is_none(dx[2])) {
    const cx alone = cxi_div(ones, hits);
    const cx part =
        cxi_select(update_wins, zeros, cxi_select(x_wins, alone, share));
    change = cxi_sum_given(change, cxi_mul(dx[2], part));
  }
  const cx begun = cxi_begun(dx[0], r->in_types[0]);
  dout[0] =
      cxi_scatter_by(CXI_PRIM_scatter_add, begun, in[1], change, r->params);
}

static const char *const examples_scatter_min[] = {
  "program @main(%0: f32[4,3], %1: i32[3,1], %2: f32[3,3]) { %3: f32[4,3] = "
  "scatter_min[window=(1), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: f32[3,4], %1: i32[2,2,2], %2: f32[2,2]) { %3: f32[3,4] "
  "= scatter_min[window=(), inserted=(0,1), start_map=(1,0), "
  "operand_batch=(), index_batch=(), mode=drop, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f64[4,5], %1: i64[2,3,1], %2: f64[2,2,3,3]) { %3: "
  "f64[4,5] = scatter_min[window=(0,2), inserted=(), start_map=(1), "
  "operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f32[2,4,3], %1: u8[3,2,2,1], %2: f32[3,2,2]) { %3: "
  "f32[2,4,3] = scatter_min[window=(), inserted=(1), start_map=(1), "
  "operand_batch=(0,2), index_batch=(1,0), mode=drop, sorted=false, "
  "unique=false] %0, %1, %2 return %3 }",
  "program @main(%0: f16[3], %1: i32[5,1], %2: f16[5]) { %3: f16[3] = "
  "scatter_min[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: bool[4], %1: i32[3,1], %2: bool[3]) { %3: bool[4] = "
  "scatter_min[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: i8[3], %1: i32[5,1], %2: i8[5]) { %3: i8[3] = "
  "scatter_min[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=in_bounds, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: f32[4], %1: i32[0,1], %2: f32[0,2]) { %3: f32[4] = "
  "scatter_min[window=(1), inserted=(), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=true, unique=true] %0, %1, %2 return %3 "
  "}",
  "program @main(%0: bf16[3], %1: i32[1,1], %2: bf16[1]) { %3: bf16[3] = "
  "scatter_min[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  NULL
};

const cxi_row cxi_row_scatter_min = {
  .prim = CXI_PRIM_scatter_min,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with the least of x[indices[p] + w], updates[p, w]",
  .infer = infer_scatter_ordered,
  .jvp = jvp_scatter_ordered,
  .no_transpose = "not linear",
  .batch = cxi_batch_scatter,
  .evaluate = evaluate_combined,
  .workspace = cxi_scatter_workspace,
  .in_place = 1,
  .examples = examples_scatter_min,
};

static const char *const examples_scatter_max[] = {
  "program @main(%0: f32[4,3], %1: i32[3,1], %2: f32[3,3]) { %3: f32[4,3] = "
  "scatter_max[window=(1), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: f32[3,4], %1: i32[2,2,2], %2: f32[2,2]) { %3: f32[3,4] "
  "= scatter_max[window=(), inserted=(0,1), start_map=(1,0), "
  "operand_batch=(), index_batch=(), mode=drop, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f64[4,5], %1: i64[2,3,1], %2: f64[2,2,3,3]) { %3: "
  "f64[4,5] = scatter_max[window=(0,2), inserted=(), start_map=(1), "
  "operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false] "
  "%0, %1, %2 return %3 }",
  "program @main(%0: f32[2,4,3], %1: u8[3,2,2,1], %2: f32[3,2,2]) { %3: "
  "f32[2,4,3] = scatter_max[window=(), inserted=(1), start_map=(1), "
  "operand_batch=(0,2), index_batch=(1,0), mode=drop, sorted=false, "
  "unique=false] %0, %1, %2 return %3 }",
  "program @main(%0: f16[3], %1: i32[5,1], %2: f16[5]) { %3: f16[3] = "
  "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: bool[4], %1: i32[3,1], %2: bool[3]) { %3: bool[4] = "
  "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  "program @main(%0: i8[3], %1: i32[5,1], %2: i8[5]) { %3: i8[3] = "
  "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=in_bounds, sorted=false, unique=false] %0, %1, %2 "
  "return %3 }",
  "program @main(%0: f32[4], %1: i32[0,1], %2: f32[0,2]) { %3: f32[4] = "
  "scatter_max[window=(1), inserted=(), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=drop, sorted=true, unique=true] %0, %1, %2 return %3 "
  "}",
  "program @main(%0: bf16[3], %1: i32[1,1], %2: bf16[1]) { %3: bf16[3] = "
  "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
  "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 return "
  "%3 }",
  NULL
};

const cxi_row cxi_row_scatter_max = {
  .prim = CXI_PRIM_scatter_max,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with the greatest of x[indices[p] + w], updates[p, w]",
  .infer = infer_scatter_ordered,
  .jvp = jvp_scatter_ordered,
  .no_transpose = "not linear",
  .batch = cxi_batch_scatter,
  .evaluate = evaluate_combined,
  .workspace = cxi_scatter_workspace,
  .in_place = 1,
  .examples = examples_scatter_max,
};
