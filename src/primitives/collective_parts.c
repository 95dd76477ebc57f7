/* collective_parts.c - all_gather, reduce_scatter, all_to_all: arrays of which
 * an axis is cut in a part for each lane. */
#include <inttypes.h>

#include "primitives/collective.h"

/* -- shared rules ---------------------------------------------------------- */

/* all_gather and reduce_scatter have the same parameters. */
typedef cxi_all_gather_params params;

/* Operand, names, size, an axis of the operand. */
static bool infer_axis(cxi_infer *c, int64_t size, int64_t axis) {
  if (!cxi_infer_count(c, 1) || !cxi_infer_axis_names(c, true)) return false;
  if (size < 1)
    return cxi_infer_fail(c, CX_ESHAPE, "an axis of %" PRId64 " lanes", size);
  return cxi_infer_axis(c, axis, cxi_type_rank(c->in[0]));
}

/* The axis is cut into a part for each lane. */
static bool infer_cut(cxi_infer *c, int64_t size, int64_t axis) {
  if (cxi_type_shape(c->in[0])->d[axis] % size == 0) return true;
  return cxi_infer_fail(c, CX_ESHAPE,
                        "axis %" PRId64 " of %s is not cut into %" PRId64
                        " parts, one for each lane",
                        axis, cxi_show_type(c->in[0]).s, size);
}

/* The vmap has the size that the equation was made for. */
static bool has_size(const cxi_rule *r, int64_t made_for, int64_t size) {
  if (made_for == size) return true;
  cxi_fail(CX_ESHAPE,
           "%s: made for %" PRId64 " lanes, along \"%.60s\" there are %" PRId64,
           cxi_prim_name(r->row->prim), made_for, cxi_name_text(r->axis_name),
           size);
  return false;
}

/* The elements of the axes lo..hi-1. */
static int64_t extent(const cx_dims *shape, int64_t lo, int64_t hi) {
  int64_t n = 1;
  for (int64_t i = lo; i < hi; i++) n *= shape->d[i];
  return n;
}

/* The result with the lanes in front. */
static cx with_lanes(const cxi_rule *r, cx x, int64_t size) {
  const cx_dims shape = *cxi_type_shape(r->out_types[0]);
  return cxi_reshape(x, cxi_dims_with(shape, 0, size));
}

/* -- all_gather(x; axes, size, axis): the lanes' x joined along axis ------- */

static bool infer_all_gather(cxi_infer *c) {
  const params *p = c->params;
  if (!infer_axis(c, p->size, p->axis)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (__builtin_mul_overflow(shape.d[p->axis], p->size, &shape.d[p->axis]))
    return cxi_infer_fail(c, CX_ESHAPE, "%s: its size overflows",
                          cxi_show_type(c->in[0]).s);
  return cxi_infer_moved(c, shape);
}

static void batch_all_gather(const cxi_rule *r, const cx *in, const int *axis,
                             int64_t size, cx *out, int *out_axis) {
  const params *p = r->params;
  const cx x = cxi_batch_to(in[0], axis[0], 0, size);
  if (!cxi_collective_is_here(r)) {
    out[0] = cxi_all_gather(x, p->axes.d[0], p->size, (int)p->axis + 1);
    out_axis[0] = 0;
    return;
  }
  if (!has_size(r, p->size, size)) return;
  const cx_dims shape = *cxi_type_shape(r->in_types[0]);
  const int64_t before = extent(&shape, 0, p->axis);
  const int64_t rest = extent(&shape, p->axis, shape.n);
  const cx flat = cxi_reshape(x, (cx_dims){ 3, { size, before, rest } });
  out[0] =
      cxi_reshape(cxi_move_axis(flat, 0, 1), *cxi_type_shape(r->out_types[0]));
  out_axis[0] = -1;
}

static void transpose_all_gather(const cxi_rule *r, const cx *in, const cx *ct,
                                 cx *acc) {
  (void)in;
  const params *p = r->params;
  acc[0] = cxi_sum_given(
      acc[0], cxi_reduce_scatter(ct[0], p->axes.d[0], p->size, (int)p->axis));
}

static const char *const no_examples[] = { NULL };

const cxi_row cxi_row_all_gather = {
  .prim = CXI_PRIM_all_gather,
  .form = CXI_FORM_NEVER,
  .formula = "x of all lanes of axes, joined along axis",
  .infer = infer_all_gather,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_all_gather,
  .batch = batch_all_gather,
  .evaluate = cxi_evaluate_collective,
  .examples = no_examples,
};

/* -- reduce_scatter(x; axes, size, axis): a part of the sum for each lane -- */

static bool infer_reduce_scatter(cxi_infer *c) {
  const params *p = c->params;
  if (!infer_axis(c, p->size, p->axis) || !infer_cut(c, p->size, p->axis) ||
      !cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER))
    return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  shape.d[p->axis] /= p->size;
  return cxi_infer_moved(c, shape);
}

static void batch_reduce_scatter(const cxi_rule *r, const cx *in,
                                 const int *axis, int64_t size, cx *out,
                                 int *out_axis) {
  const params *p = r->params;
  out_axis[0] = 0;
  if (!cxi_collective_is_here(r)) {
    const cx x = cxi_batch_to(in[0], axis[0], 0, size);
    out[0] = cxi_reduce_scatter(x, p->axes.d[0], p->size, (int)p->axis + 1);
    return;
  }
  if (!has_size(r, p->size, size)) return;
  const cx sum = axis[0] < 0
                     ? cxi_scale(in[0], (double)size)
                     : cxi_reduce_sum(in[0], (cx_dims){ 1, { axis[0] } });
  const cx_dims part = *cxi_type_shape(r->out_types[0]);
  const int64_t before = extent(&part, 0, p->axis);
  const int64_t rest = extent(&part, p->axis, part.n);
  const cx flat = cxi_reshape(sum, (cx_dims){ 3, { before, size, rest } });
  out[0] = with_lanes(r, cxi_move_axis(flat, 1, 0), size);
}

static void transpose_reduce_scatter(const cxi_rule *r, const cx *in,
                                     const cx *ct, cx *acc) {
  (void)in;
  const params *p = r->params;
  acc[0] = cxi_sum_given(
      acc[0], cxi_all_gather(ct[0], p->axes.d[0], p->size, (int)p->axis));
}

const cxi_row cxi_row_reduce_scatter = {
  .prim = CXI_PRIM_reduce_scatter,
  .form = CXI_FORM_NEVER,
  .formula = "for each lane of axes its part along axis of the sum of x",
  .infer = infer_reduce_scatter,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_reduce_scatter,
  .batch = batch_reduce_scatter,
  .evaluate = cxi_evaluate_collective,
  .examples = no_examples,
};

/* -- all_to_all(x; axes, size, split, concat): part i along split goes to lane
 *    i, which joins what it gets along concat ------------------------------ */

static bool infer_all_to_all(cxi_infer *c) {
  const cxi_all_to_all_params *p = c->params;
  if (!infer_axis(c, p->size, p->split) ||
      !cxi_infer_axis(c, p->concat, cxi_type_rank(c->in[0])) ||
      !infer_cut(c, p->size, p->split))
    return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  shape.d[p->split] /= p->size;
  if (__builtin_mul_overflow(shape.d[p->concat], p->size, &shape.d[p->concat]))
    return cxi_infer_fail(c, CX_ESHAPE, "%s: its size overflows",
                          cxi_show_type(c->in[0]).s);
  return cxi_infer_moved(c, shape);
}

/* x has the sending lanes in front; gives it with the receiving ones. In the
 * shapes below n is sent from, m sent to. */
static cx exchange(cx x, const cx_dims *s, const cxi_all_to_all_params *p) {
  const int64_t n = p->size, split = p->split, concat = p->concat;
  const int64_t last = split > concat ? split : concat;
  const int64_t a = extent(s, 0, split < concat ? split : concat);
  const int64_t tail = extent(s, last, s->n);
  if (split == concat) /* n a m tail -> m a n tail */
    return cxi_transpose(cxi_reshape(x, (cx_dims){ 4, { n, a, n, tail / n } }),
                         (cx_dims){ 4, { 2, 1, 0, 3 } });
  if (split < concat) { /* n a m b tail -> m a b n tail */
    const int64_t b = extent(s, split, concat) / n;
    return cxi_transpose(cxi_reshape(x, (cx_dims){ 5, { n, a, n, b, tail } }),
                         (cx_dims){ 5, { 2, 1, 3, 0, 4 } });
  }
  /* n a b m tail -> m a n b tail */
  const int64_t b = extent(s, concat, split);
  return cxi_transpose(cxi_reshape(x, (cx_dims){ 5, { n, a, b, n, tail / n } }),
                       (cx_dims){ 5, { 3, 1, 0, 2, 4 } });
}

static void batch_all_to_all(const cxi_rule *r, const cx *in, const int *axis,
                             int64_t size, cx *out, int *out_axis) {
  const cxi_all_to_all_params *p = r->params;
  const cx x = cxi_batch_to(in[0], axis[0], 0, size);
  out_axis[0] = 0;
  if (!cxi_collective_is_here(r)) {
    out[0] = cxi_all_to_all(x, p->axes.d[0], p->size, (int)p->split + 1,
                            (int)p->concat + 1);
    return;
  }
  if (!has_size(r, p->size, size)) return;
  out[0] = with_lanes(r, exchange(x, cxi_type_shape(r->in_types[0]), p), size);
}

static void transpose_all_to_all(const cxi_rule *r, const cx *in, const cx *ct,
                                 cx *acc) {
  (void)in;
  const cxi_all_to_all_params *p = r->params;
  const cx back = cxi_all_to_all(ct[0], p->axes.d[0], p->size, (int)p->concat,
                                 (int)p->split);
  acc[0] = cxi_sum_given(acc[0], back);
}

const cxi_row cxi_row_all_to_all = {
  .prim = CXI_PRIM_all_to_all,
  .form = CXI_FORM_NEVER,
  .formula = "part i along split of lane j to lane i of axes, along concat",
  .infer = infer_all_to_all,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_all_to_all,
  .batch = batch_all_to_all,
  .evaluate = cxi_evaluate_collective,
  .examples = no_examples,
};
