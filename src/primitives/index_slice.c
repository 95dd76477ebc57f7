/* index_slice.c - dynamic_slice, dynamic_update_slice, update_slice_add.
 *
 * Windows of fixed size whose starts are operands, one scalar per axis, all
 * of one integer dtype; a start is moved so that the window lies inside.
 * Under vmap with batched starts they become a gather or scatter with one
 * window per example, in clip mode, so that moved windows keep their
 * derivatives. */
#include "primitives/index.h"
#include "primitives/moves.h"

#include <math.h>

/* -- starts ---------------------------------------------------------------- */

static bool infer_starts(cxi_infer *c, uint32_t first, int rank) {
  if (!cxi_infer_count(c, first + (uint32_t)rank)) return false;
  for (uint32_t i = first; i < c->n_in; i++) {
    if (!cxi_infer_kind(c, i, CXI_ACCEPT_INTEGER)) return false;
    if (cxi_type_rank(c->in[i]) != 0)
      return cxi_infer_fail(c, CX_ESHAPE, "start %u is %s, not a scalar",
                            i - first, cxi_show_type(c->in[i]).s);
  }
  return rank == 0 || cxi_infer_one_dtype(c, first, (uint32_t)rank);
}

static void read_starts(const cxi_view *starts, const cx_dims *shape,
                        const cx_dims *window, int64_t *out) {
  for (int i = 0; i < shape->n; i++)
    out[i] =
        cxi_clamp_start(cxi_read_index(starts[i].type.type, starts[i].data),
                        window->d[i], shape->d[i]);
}

static bool any_batched(const int *axis, int n) {
  return cxi_first_batched(axis, (uint32_t)n) >= 0;
}

/* The starts for arrays with one more axis, at `at`: 0 there. */
static void insert_start(const cx *starts, int rank, cx_dtype dtype, int at,
                         cx *out) {
  for (int i = 0; i < rank; i++) out[cxi_axis_shift(i, at)] = starts[i];
  out[at] = cxi_integer(dtype, 0);
}

static cx_dtype start_dtype(const cxi_rule *r, uint32_t first) {
  return first < r->n_in ? cxi_type_dtype(r->in_types[first]) : CX_I32;
}

static cx no_room(void) {
  return cxi_fail(CX_ESHAPE, "vmap: more than %d dimensions", CX_MAX_DIMS);
}

/* indices (size, rank) from the starts, one row per example. */
static cx starts_as_indices(const cx *starts, const int *axis, int rank,
                            int64_t size) {
  cx columns[CX_MAX_DIMS];
  for (int i = 0; i < rank; i++)
    columns[i] = cxi_batch_to(starts[i], axis[i], 0, size);
  return cxi_stack(1, (uint32_t)rank, columns);
}

/* A window of `sizes` fits into operand 0. */
static bool infer_window(cxi_infer *c, const cx_dims *sizes) {
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  bool fits = cxi_dims_valid(sizes) && sizes->n == shape->n;
  for (int i = 0; fits && i < shape->n; i++) fits = sizes->d[i] <= shape->d[i];
  if (fits) return true;
  return cxi_infer_fail(c, CX_ESHAPE, "a window of %s does not fit into %s",
                        cxi_show_list(sizes).s, cxi_show_type(c->in[0]).s);
}

/* -- dynamic_slice(x, starts...; sizes): x[start:start+size] --------------- */

static bool infer_dynamic_slice(cxi_infer *c) {
  const cxi_dynamic_slice_params *p = c->params;
  if (c->n_in == 0)
    return cxi_infer_fail(c, CX_ESHAPE, "takes an array and its starts");
  return infer_starts(c, 1, cxi_type_rank(c->in[0])) &&
         infer_window(c, &p->sizes) && cxi_infer_moved(c, p->sizes);
}

static void transpose_dynamic_slice(const cxi_rule *r, const cx *in,
                                    const cx *ct, cx *acc) {
  acc[0] =
      cxi_update_slice_add(cxi_begun(acc[0], r->in_types[0]), ct[0], in + 1);
}

static cx gather_windows(const cxi_dynamic_slice_params *p, const cx *in,
                         const int *axis, int64_t size) {
  const int rank = p->sizes.n, at = axis[0];
  cxi_gather_params g = {
    .offset = cxi_dims_range(1, rank + 1),
    .start_map = cxi_axes_shift(cxi_dims_range(0, rank), at),
    .sizes = p->sizes,
    .mode = CX_CLIP,
    .fill = NAN,
  };
  if (at >= 0) {
    g.sizes = cxi_dims_insert(p->sizes, at, 1);
    g.operand_batch = cxi_dims_range(at, at + 1);
    g.index_batch = cxi_dims_range(0, 1);
    g.unique = true;
  }
  const cx indices = starts_as_indices(in + 1, axis + 1, rank, size);
  return cxi_gather(in[0], indices, &g);
}

static void batch_dynamic_slice(const cxi_rule *r, const cx *in,
                                const int *axis, int64_t size, cx *out,
                                int *out_axis) {
  const cxi_dynamic_slice_params *p = r->params;
  const int rank = p->sizes.n, at = axis[0];
  out_axis[0] = 0;
  if (rank == CX_MAX_DIMS)
    out[0] = no_room();
  else if (any_batched(axis + 1, rank))
    out[0] = gather_windows(p, in, axis, size);
  else {
    cx starts[CX_MAX_DIMS];
    insert_start(in + 1, rank, start_dtype(r, 1), at, starts);
    out[0] =
        cxi_dynamic_slice(in[0], starts, cxi_dims_insert(p->sizes, at, size));
    out_axis[0] = at;
  }
}

static bool evaluate_dynamic_slice(cxi_eval *e, const cxi_view *in,
                                   cxi_view *out) {
  const cxi_dynamic_slice_params *p = e->params;
  int64_t start[CX_MAX_DIMS];
  read_starts(in + 1, &in[0].type.shape, &p->sizes, start);
  const cxi_view window = cxi_view_window(&in[0], start, p->sizes);
  cxi_view_copy(&out[0], &window);
  return true;
}

static const char *const examples_dynamic_slice[] = {
  "program @main(%0: f32[5], %1: i32[]) { %2: f32[2] = dynamic_slice["
  "sizes=(2)] %0, %1 return %2 }",
  "program @main(%0: f32[5]) { %1: f32[3] = dynamic_slice[sizes=(3)] %0, "
  "9:i32 return %1 }",
  "program @main(%0: f32[5]) { %1: f32[3] = dynamic_slice[sizes=(3)] %0, "
  "-4:i64 return %1 }",
  "program @main(%0: f32[3,4]) { %1: f32[2,2] = dynamic_slice[sizes=(2,2)] %0, "
  "1:i32, 1:i32 return %1 }",
  "program @main(%0: f32[3,4], %1: i32[]) { %2: f32[1,4] = dynamic_slice["
  "sizes=(1,4)] %0, %1, 0:i32 return %2 }",
  "program @main(%0: f32[3,4], %1: i32[]) { %2: f32[0,4] = dynamic_slice["
  "sizes=(0,4)] %0, %1, %1 return %2 }",
  "program @main(%0: f32[]) { %1: f32[] = dynamic_slice[sizes=()] %0 "
  "return %1 }",
  "program @main(%0: f32[4], %1: u8[]) { %2: f32[1] = dynamic_slice[sizes=(1)] "
  "%0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_dynamic_slice = {
  .prim = CXI_PRIM_dynamic_slice,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x[start:start + size]",
  .infer = infer_dynamic_slice,
  .jvp = cxi_jvp_move,
  .transpose = transpose_dynamic_slice,
  .batch = batch_dynamic_slice,
  .evaluate = evaluate_dynamic_slice,
  .examples = examples_dynamic_slice,
};

/* -- updates --------------------------------------------------------------- */

static bool infer_update(cxi_infer *c) {
  if (c->n_in < 2)
    return cxi_infer_fail(c, CX_ESHAPE, "takes an array, an update, starts");
  return infer_starts(c, 2, cxi_type_rank(c->in[0])) &&
         cxi_infer_one_dtype(c, 0, 2) &&
         infer_window(c, cxi_type_shape(c->in[1])) &&
         cxi_infer_result(c, c->in[0]);
}

static bool infer_update_slice_add(cxi_infer *c) {
  return infer_update(c) && cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER);
}

/* One window per example: indices (size, rank), updates (size, window). */
static cx scatter_windows(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, int at) {
  const int rank = cxi_type_rank(r->in_types[0]);
  const cxi_scatter_params s = {
    .window = cxi_dims_range(1, rank + 1),
    .start_map = cxi_axes_shift(cxi_dims_range(0, rank), at),
    .operand_batch = cxi_dims_range(at, at + 1),
    .index_batch = cxi_dims_range(0, 1),
    .mode = CX_CLIP,
    .unique = true,
  };
  const cx x = cxi_batch_to(in[0], axis[0], at, size);
  const cx update = cxi_batch_to(in[1], axis[1], 0, size);
  const cx indices = starts_as_indices(in + 2, axis + 2, rank, size);
  if (r->row->prim == CXI_PRIM_dynamic_update_slice)
    return cxi_scatter(x, indices, update, &s);
  const cxi_scatter_add_params a = {
    .window = s.window,
    .start_map = s.start_map,
    .operand_batch = s.operand_batch,
    .index_batch = s.index_batch,
    .mode = s.mode,
    .unique = s.unique,
  };
  return cxi_scatter_add(x, indices, update, &a);
}

static void batch_update(const cxi_rule *r, const cx *in, const int *axis,
                         int64_t size, cx *out, int *out_axis) {
  const int rank = cxi_type_rank(r->in_types[0]);
  const int first = cxi_first_batched(axis, 2), at = first < 0 ? 0 : first;
  out_axis[0] = at;
  if (rank == CX_MAX_DIMS)
    out[0] = no_room();
  else if (any_batched(axis + 2, rank))
    out[0] = scatter_windows(r, in, axis, size, at);
  else {
    cx operands[2 + CX_MAX_DIMS];
    operands[0] = cxi_batch_to(in[0], axis[0], at, size);
    operands[1] = cxi_batch_to(in[1], axis[1], at, size);
    insert_start(in + 2, rank, start_dtype(r, 2), at, operands + 2);
    out[0] = cxi_emit1(r->row->prim, r->params, r->n_in + 1, operands);
  }
}

/* The result with x's elements (out may be x's buffer), and the window. */
static cxi_view updated_window(const cxi_view *in, const cxi_view *out) {
  int64_t start[CX_MAX_DIMS];
  read_starts(in + 2, &in[0].type.shape, &in[1].type.shape, start);
  cxi_view_copy(out, &in[0]);
  return cxi_view_window(out, start, in[1].type.shape);
}

/* -- dynamic_update_slice(x, update, starts...): a window replaced --------- */

static void transpose_dynamic_update_slice(const cxi_rule *r, const cx *in,
                                           const cx *ct, cx *acc) {
  const cx *starts = in + 2;
  if (cx_is_none(in[0])) {
    const cx zeros = cxi_zeros(r->in_types[1]);
    cxi_accumulate(r, 0, cxi_dynamic_update_slice(ct[0], zeros, starts), acc);
  }
  if (cx_is_none(in[1]))
    cxi_accumulate(
        r, 1, cxi_dynamic_slice(ct[0], starts, *cxi_type_shape(r->in_types[1])),
        acc);
}

static bool evaluate_dynamic_update_slice(cxi_eval *e, const cxi_view *in,
                                          cxi_view *out) {
  (void)e;
  const cxi_view window = updated_window(in, &out[0]);
  cxi_view_copy(&window, &in[1]);
  return true;
}

static const char *const examples_dynamic_update_slice[] = {
  "program @main(%0: f32[5], %1: f32[2], %2: i32[]) { %3: f32[5] = "
  "dynamic_update_slice %0, %1, %2 return %3 }",
  "program @main(%0: f32[5], %1: f32[3]) { %2: f32[5] = dynamic_update_slice "
  "%0, %1, 4:i32 return %2 }",
  "program @main(%0: f32[3,4], %1: f32[2,1]) { %2: f32[3,4] = "
  "dynamic_update_slice %0, %1, -7:i32, 2:i32 return %2 }",
  "program @main(%0: f32[3,4], %1: f32[0,4], %2: i32[]) { %3: f32[3,4] = "
  "dynamic_update_slice %0, %1, %2, %2 return %3 }",
  "program @main(%0: f32[], %1: f32[]) { %2: f32[] = dynamic_update_slice %0, "
  "%1 return %2 }",
  "program @main(%0: bool[4], %1: bool[1], %2: i64[]) { %3: bool[4] = "
  "dynamic_update_slice %0, %1, %2 return %3 }",
  NULL
};

const cxi_row cxi_row_dynamic_update_slice = {
  .prim = CXI_PRIM_dynamic_update_slice,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with x[start:start + size] = update",
  .infer = infer_update,
  .jvp = cxi_jvp_move,
  .transpose = transpose_dynamic_update_slice,
  .batch = batch_update,
  .evaluate = evaluate_dynamic_update_slice,
  .in_place = 1,
  .examples = examples_dynamic_update_slice,
};

/* -- update_slice_add(x, update, starts...): x with the update added ------- */

/* The tangent of x alone passes. */
static void jvp_update_slice_add(const cxi_rule *r, const cx *in, const cx *dx,
                                 cx *out, cx *dout) {
  if (cx_is_none(dx[1]))
    dout[0] = dx[0];
  else
    cxi_jvp_move(r, in, dx, out, dout);
}

static void transpose_update_slice_add(const cxi_rule *r, const cx *in,
                                       const cx *ct, cx *acc) {
  if (cx_is_none(in[0])) cxi_accumulate(r, 0, ct[0], acc);
  if (cx_is_none(in[1]))
    cxi_accumulate(
        r, 1, cxi_dynamic_slice(ct[0], in + 2, *cxi_type_shape(r->in_types[1])),
        acc);
}

static bool evaluate_update_slice_add(cxi_eval *e, const cxi_view *in,
                                      cxi_view *out) {
  (void)e;
  const cxi_view window = updated_window(in, &out[0]);
  cxi_view_add(&window, &in[1]);
  return true;
}

static const char *const examples_update_slice_add[] = {
  "program @main(%0: f32[5], %1: f32[2], %2: i32[]) { %3: f32[5] = "
  "update_slice_add %0, %1, %2 return %3 }",
  "program @main(%0: f32[5], %1: f32[3]) { %2: f32[5] = update_slice_add %0, "
  "%1, 4:i32 return %2 }",
  "program @main(%0: f32[3,4], %1: f32[2,1]) { %2: f32[3,4] = update_slice_add "
  "%0, %1, -7:i32, 2:i32 return %2 }",
  "program @main(%0: f32[3,0], %1: f32[1,0], %2: i32[]) { %3: f32[3,0] = "
  "update_slice_add %0, %1, %2, %2 return %3 }",
  "program @main(%0: f32[], %1: f32[]) { %2: f32[] = update_slice_add %0, %1 "
  "return %2 }",
  "program @main(%0: u8[4], %1: u8[2], %2: i64[]) { %3: u8[4] = "
  "update_slice_add %0, %1, %2 return %3 }",
  NULL
};

const cxi_row cxi_row_update_slice_add = {
  .prim = CXI_PRIM_update_slice_add,
  .valid = cxi_valid_indices,
  .invalid = "an index is out of range",
  .form = CXI_FORM_INDEX,
  .formula = "x with x[start:start + size] += update",
  .infer = infer_update_slice_add,
  .jvp = jvp_update_slice_add,
  .transpose = transpose_update_slice_add,
  .batch = batch_update,
  .evaluate = evaluate_update_slice_add,
  .in_place = 1,
  .examples = examples_update_slice_add,
};
