/* shape_move.c - broadcast_in_dim, reshape, transpose, squeeze, rev. */
#include "primitives/moves.h"

#include <inttypes.h>

/* -- broadcast_in_dim(x; shape, map): axis i of x is axis map[i] of the result;
 *    axes of size 1 repeat, as do those of the result that map lacks ------- */

static bool infer_broadcast_in_dim(cxi_infer *c) {
  const cxi_broadcast_in_dim_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_sizes(c, "shape", &p->shape))
    return false;
  const cx_dims *from = cxi_type_shape(c->in[0]);
  if (p->map.n != from->n || !cxi_axes_sorted(&p->map, p->shape.n))
    return cxi_infer_fail(
        c, CX_ESHAPE,
        "map %s: wants an ascending axis of the result %s for "
        "each axis of %s",
        cxi_show_list(&p->map).s, cxi_show_list(&p->shape).s,
        cxi_show_type(c->in[0]).s);
  for (int i = 0; i < from->n; i++)
    if (!cxi_size_equal(from->d[i], p->shape.d[p->map.d[i]]) &&
        !cxi_size_equal(from->d[i], 1))
      return cxi_infer_fail(c, CX_ESHAPE,
                            "axis %d of %s: size %" PRId64 " does not become "
                            "%" PRId64,
                            i, cxi_show_type(c->in[0]).s, from->d[i],
                            p->shape.d[p->map.d[i]]);
  return cxi_infer_moved(c, p->shape);
}

/* Sums over the axes that repeat. */
static void transpose_broadcast_in_dim(const cxi_rule *r, const cx *in,
                                       const cx *ct, cx *acc) {
  (void)in;
  const cxi_broadcast_in_dim_params *p = r->params;
  const cx_dims from = *cxi_type_shape(r->in_types[0]);
  cx_dims repeated = { 0 };
  for (int to = 0; to < p->shape.n; to++) {
    const int i = cxi_dims_find(&p->map, to);
    if (i < 0 || !cxi_size_equal(from.d[i], p->shape.d[to]))
      repeated.d[repeated.n++] = to;
  }
  cxi_accumulate(r, 0, cxi_reshape(cxi_reduce_sum(ct[0], repeated), from), acc);
}

/* The batch axis stays behind the axis it follows in x. */
static void batch_broadcast_in_dim(const cxi_rule *r, const cx *in,
                                   const int *axis, int64_t size, cx *out,
                                   int *out_axis) {
  const cxi_broadcast_in_dim_params *p = r->params;
  const int at = axis[0], to = at == 0 ? 0 : (int)p->map.d[at - 1] + 1;
  const cx_dims map = cxi_dims_insert(cxi_axes_shift(p->map, to), at, to);
  out[0] =
      cxi_broadcast_in_dim(in[0], cxi_dims_insert(p->shape, to, size), map);
  out_axis[0] = to;
}

static bool evaluate_broadcast_in_dim(cxi_eval *e, const cxi_view *in,
                                      cxi_view *out) {
  const cxi_broadcast_in_dim_params *p = e->params;
  const cxi_view from = cxi_view_broadcast(&in[0], p->shape, p->map);
  cxi_view_copy(&out[0], &from);
  return true;
}

static const char *const examples_broadcast_in_dim[] = {
  "program @main(%0: f32[]) { %1: f32[2,3] = broadcast_in_dim[shape=(2,3), "
  "map=()] %0 return %1 }",
  "program @main(%0: f32[3]) { %1: f32[2,3] = broadcast_in_dim[shape=(2,3), "
  "map=(1)] %0 return %1 }",
  "program @main(%0: f32[2,1]) { %1: f32[2,4,3] = broadcast_in_dim["
  "shape=(2,4,3), map=(0,2)] %0 return %1 }",
  "program @main(%0: f32[1,2]) { %1: f32[0,2] = broadcast_in_dim[shape=(0,2), "
  "map=(0,1)] %0 return %1 }",
  "program @main(%0: f32[0]) { %1: f32[0,3] = broadcast_in_dim[shape=(0,3), "
  "map=(0)] %0 return %1 }",
  "program @main(%0: i8[1,3,1]) { %1: i8[2,3,3] = broadcast_in_dim["
  "shape=(2,3,3), map=(0,1,2)] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_broadcast_in_dim = {
  .prim = CXI_PRIM_broadcast_in_dim,
  .form = CXI_FORM_MOVE,
  .formula = "y[.., i, ..] = x[i]",
  .infer = infer_broadcast_in_dim,
  .jvp = cxi_jvp_move,
  .transpose = transpose_broadcast_in_dim,
  .batch = batch_broadcast_in_dim,
  .evaluate = evaluate_broadcast_in_dim,
  .examples = examples_broadcast_in_dim,
};

/* -- reshape(x; shape): the same elements in row-major order --------------- */

static bool infer_reshape(cxi_infer *c) {
  const cxi_reshape_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_sizes(c, "shape", &p->shape))
    return false;
  const int64_t has = cxi_dims_count(cxi_type_shape(c->in[0]));
  const int64_t wants = cxi_dims_count(&p->shape);
  if (wants < 0 || !cxi_size_equal(has, wants))
    return cxi_infer_fail(
        c, CX_ESHAPE, "%s has %" PRId64 " elements, %s wants %" PRId64,
        cxi_show_type(c->in[0]).s, has, cxi_show_list(&p->shape).s, wants);
  return cxi_infer_moved(c, p->shape);
}

/* Also the rule of squeeze: the operand's shape again. */
static void transpose_to_operand(const cxi_rule *r, const cx *in, const cx *ct,
                                 cx *acc) {
  (void)in;
  cxi_accumulate(r, 0, cxi_reshape(ct[0], *cxi_type_shape(r->in_types[0])),
                 acc);
}

/* The place in `to` with as many elements before it as the first `at` axes of
 * `from` have; -1: there is none. */
static int same_place(const cx_dims *from, int at, const cx_dims *to) {
  int64_t before = 1, count = 1;
  for (int i = 0; i < at; i++) before = cxi_size_mul(before, from->d[i]);
  for (int i = 0; i <= to->n; i++) {
    if (cxi_size_equal(before, count)) return i;
    if (i < to->n) count = cxi_size_mul(count, to->d[i]);
  }
  return -1;
}

/* The batch axis stays where it is if the shape allows that, and is moved to
 * the front otherwise. */
static void batch_reshape(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  const cxi_reshape_params *p = r->params;
  int to = same_place(cxi_type_shape(r->in_types[0]), axis[0], &p->shape);
  cx x = in[0];
  if (to < 0) x = cxi_move_axis(x, axis[0], 0), to = 0;
  out[0] = cxi_reshape(x, cxi_dims_insert(p->shape, to, size));
  out_axis[0] = to;
}

/* Also squeeze: the result's buffer seen with the operand's shape. */
static bool evaluate_reshape(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  (void)e;
  const cxi_view to = cxi_view_dense(in[0].type, out[0].data);
  cxi_view_copy(&to, &in[0]);
  return true;
}

static const char *const examples_reshape[] = {
  "program @main(%0: f32[2,3]) { %1: f32[3,2] = reshape[shape=(3,2)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[6,4] = reshape[shape=(6,4)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,1,3]) { %1: f32[2,3] = reshape[shape=(2,3)] %0 "
  "return %1 }",
  "program @main(%0: f32[1,1]) { %1: f32[] = reshape[shape=()] %0 return %1 }",
  "program @main(%0: f32[]) { %1: f32[1,1] = reshape[shape=(1,1)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[2,0] = reshape[shape=(2,0)] %0 "
  "return %1 }",
  "program @main(%0: u16[4]) { %1: u16[2,2] = reshape[shape=(2,2)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_reshape = {
  .prim = CXI_PRIM_reshape,
  .form = CXI_FORM_MOVE,
  .formula = "x in row-major order",
  .infer = infer_reshape,
  .jvp = cxi_jvp_move,
  .transpose = transpose_to_operand,
  .batch = batch_reshape,
  .evaluate = evaluate_reshape,
  .examples = examples_reshape,
};

/* -- squeeze(x; axes): axes of size 1 left out ----------------------------- */

static bool infer_squeeze(cxi_infer *c) {
  const cxi_squeeze_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_axes(c, "axes", &p->axes))
    return false;
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  for (int i = 0; i < p->axes.n; i++)
    if (!cxi_size_equal(shape->d[p->axes.d[i]], 1))
      return cxi_infer_fail(c, CX_ESHAPE, "axis %" PRId64 " of %s is not 1",
                            p->axes.d[i], cxi_show_type(c->in[0]).s);
  const cx_dims kept = cxi_axes_rest(shape->n, &p->axes, NULL);
  return cxi_infer_moved(c, cxi_dims_pick(shape, &kept));
}

static void batch_squeeze(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_squeeze_params *p = r->params;
  const cx_dims axes = cxi_axes_shift(p->axes, axis[0]);
  out[0] = cxi_squeeze(in[0], axes);
  out_axis[0] = axis[0] - cxi_axes_below(&axes, axis[0]);
}

static const char *const examples_squeeze[] = {
  "program @main(%0: f32[1,3,1]) { %1: f32[3] = squeeze[axes=(0,2)] %0 "
  "return %1 }",
  "program @main(%0: f32[2,1,3]) { %1: f32[2,3] = squeeze[axes=(1)] %0 "
  "return %1 }",
  "program @main(%0: f32[1]) { %1: f32[] = squeeze[axes=(0)] %0 return %1 }",
  "program @main(%0: f32[1,0]) { %1: f32[0] = squeeze[axes=(0)] %0 return %1 }",
  "program @main(%0: f32[1,2,1,1]) { %1: f32[2,1] = squeeze[axes=(2,0)] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_squeeze = {
  .prim = CXI_PRIM_squeeze,
  .form = CXI_FORM_MOVE,
  .formula = "x without axes of size 1",
  .infer = infer_squeeze,
  .jvp = cxi_jvp_move,
  .transpose = transpose_to_operand,
  .batch = batch_squeeze,
  .evaluate = evaluate_reshape,
  .examples = examples_squeeze,
};

/* -- transpose(x; permutation): axis permutation[i] becomes axis i --------- */

static bool infer_transpose(cxi_infer *c) {
  const cxi_transpose_params *p = c->params;
  if (!cxi_infer_count(c, 1)) return false;
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  if (p->permutation.n != shape->n ||
      !cxi_axes_valid(&p->permutation, shape->n))
    return cxi_infer_fail(c, CX_ESHAPE,
                          "%s is not a permutation of the axes "
                          "of %s",
                          cxi_show_list(&p->permutation).s,
                          cxi_show_type(c->in[0]).s);
  return cxi_infer_moved(c, cxi_dims_pick(shape, &p->permutation));
}

static void transpose_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                                cx *acc) {
  (void)in;
  const cxi_transpose_params *p = r->params;
  cxi_accumulate(r, 0, cxi_transpose(ct[0], cxi_axes_inverse(&p->permutation)),
                 acc);
}

/* The batch axis stays at its place. */
static void batch_transpose(const cxi_rule *r, const cx *in, const int *axis,
                            int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_transpose_params *p = r->params;
  const cx_dims others = cxi_axes_shift(p->permutation, axis[0]);
  out[0] = cxi_transpose(in[0], cxi_dims_insert(others, axis[0], axis[0]));
  out_axis[0] = axis[0];
}

static bool evaluate_transpose(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_transpose_params *p = e->params;
  const cxi_view from = cxi_view_permute(&in[0], &p->permutation);
  cxi_view_copy(&out[0], &from);
  return true;
}

static const char *const examples_transpose[] = {
  "program @main(%0: f32[2,3]) { %1: f32[3,2] = transpose[permutation=(1,0)] "
  "%0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: f32[4,2,3] = transpose["
  "permutation=(2,0,1)] %0 return %1 }",
  "program @main(%0: f32[2,0,3]) { %1: f32[3,0,2] = transpose["
  "permutation=(2,1,0)] %0 return %1 }",
  "program @main(%0: f32[]) { %1: f32[] = transpose[permutation=()] %0 "
  "return %1 }",
  "program @main(%0: i64[2,2]) { %1: i64[2,2] = transpose[permutation=(1,0)] "
  "%0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_transpose = {
  .prim = CXI_PRIM_transpose,
  .form = CXI_FORM_MOVE,
  .formula = "y[i, j, ..] = x[permuted]",
  .infer = infer_transpose,
  .jvp = cxi_jvp_move,
  .transpose = transpose_transpose,
  .batch = batch_transpose,
  .evaluate = evaluate_transpose,
  .examples = examples_transpose,
};

/* -- rev(x; axes): backwards along the axes -------------------------------- */

static bool infer_rev(cxi_infer *c) {
  const cxi_rev_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_axes(c, "axes", &p->axes))
    return false;
  return cxi_infer_result(c, c->in[0]);
}

static void transpose_rev(const cxi_rule *r, const cx *in, const cx *ct,
                          cx *acc) {
  (void)in;
  const cxi_rev_params *p = r->params;
  cxi_accumulate(r, 0, cxi_rev(ct[0], p->axes), acc);
}

static void batch_rev(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_rev_params *p = r->params;
  out[0] = cxi_rev(in[0], cxi_axes_shift(p->axes, axis[0]));
  out_axis[0] = axis[0];
}

static bool evaluate_rev(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_rev_params *p = e->params;
  cxi_view from = in[0];
  const int64_t bytes = (int64_t)cxi_dtype_bytes(from.type.type);
  if (cxi_dims_count(&from.type.shape) == 0) return true;
  for (int i = 0; i < p->axes.n; i++) {
    const int axis = (int)p->axes.d[i];
    const int64_t size = from.type.shape.d[axis];
    from.data = (char *)from.data + (size - 1) * from.strides[axis] * bytes;
    from.strides[axis] = -from.strides[axis];
  }
  cxi_view_copy(&out[0], &from);
  return true;
}

static const char *const examples_rev[] = {
  "program @main(%0: f32[4]) { %1: f32[4] = rev[axes=(0)] %0 return %1 }",
  "program @main(%0: f32[2,3,2]) { %1: f32[2,3,2] = rev[axes=(2,0)] %0 "
  "return %1 }",
  "program @main(%0: f32[0,3]) { %1: f32[0,3] = rev[axes=(0,1)] %0 return %1 }",
  "program @main(%0: bool[3]) { %1: bool[3] = rev[axes=(0)] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_rev = {
  .prim = CXI_PRIM_rev,
  .form = CXI_FORM_MOVE,
  .formula = "y[i] = x[n - 1 - i]",
  .infer = infer_rev,
  .jvp = cxi_jvp_move,
  .transpose = transpose_rev,
  .batch = batch_rev,
  .evaluate = evaluate_rev,
  .examples = examples_rev,
};
