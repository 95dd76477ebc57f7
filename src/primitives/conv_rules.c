/* conv_rules.c - the derivatives and the batch of a convolution: others. */
#include "ir/conv.h"
#include "primitives/conv.h"
#include "primitives/dot.h"
#include "primitives/moves.h"

typedef cxi_conv_general_dilated_params params;

/* -- axes ------------------------------------------------------------------ */

/* Axes `first` and `second` (-1: none) in front, the others in order. */
static cx_dims in_front(int rank, int first, int second) {
  cx_dims order = { .n = 1, .d = { first } };
  if (second >= 0) order.d[order.n++] = second;
  for (int i = 0; i < rank; i++)
    if (i != first && i != second) order.d[order.n++] = i;
  return order;
}

/* The size of all axes from `from` on. */
static int64_t count_from(const cx_dims *shape, int from) {
  cx_dims rest = { .n = shape->n - from };
  for (int i = 0; i < rest.n; i++) rest.d[i] = shape->d[from + i];
  return cxi_dims_count(&rest);
}

/* Axis `from`, of groups x m, becomes m, axis `to`, of n, groups x n. */
static cx regroup(cx x, int from, int to, int64_t groups) {
  if (groups == 1 || !cxi_given(x)) return x;
  const cx_dims order = in_front(cxi_rank_at(x), from, to);
  cx_dims shape = cxi_shape_at(x);
  shape = cxi_dims_pick(&shape, &order);
  const int64_t m = shape.d[0] / groups, n = shape.d[1];
  const cx_dims apart = { 4, { groups, m, n, count_from(&shape, 2) } };
  cx y = cxi_reshape(cxi_transpose(x, order), apart);
  y = cxi_transpose(y, (cx_dims){ 4, { 1, 0, 2, 3 } });
  shape.d[0] = m;
  shape.d[1] = groups * n;
  return cxi_transpose(cxi_reshape(y, shape), cxi_axes_inverse(&order));
}

/* The batch joined with an axis, counted without it: groups x size x m. */
static cx join(cx x, int batch, int axis, int64_t groups) {
  if (!cxi_given(x)) return x;
  const int with = cxi_axis_shift(axis, batch);
  const cx_dims own = cxi_shape_at(x);
  const int64_t size = own.d[batch], m = own.d[with] / groups;
  cx_dims joined = cxi_dims_without(own, batch);
  joined.d[axis] *= size;
  if (groups == 1) return cxi_reshape(cxi_move_axis(x, batch, axis), joined);
  cx_dims order = in_front(own.n, batch, with);
  const cx_dims shape = cxi_dims_pick(&own, &order);
  const cx_dims apart = { 4, { size, groups, m, count_from(&shape, 2) } };
  cx y = cxi_reshape(cxi_transpose(x, order), apart);
  y = cxi_transpose(y, (cx_dims){ 4, { 1, 0, 2, 3 } });
  order = in_front(joined.n, axis, -1);
  y = cxi_reshape(y, cxi_dims_pick(&joined, &order));
  return cxi_transpose(y, cxi_axes_inverse(&order));
}

/* The batch out of an axis of groups x size x m; *out_batch is where it is. */
static cx part(cx x, int axis, int64_t groups, int64_t size, int *out_batch) {
  *out_batch = groups == 1 ? axis : 0;
  if (!cxi_given(x)) return x;
  cx_dims own = cxi_shape_at(x);
  own.d[axis] /= size;
  if (groups == 1) return cxi_reshape(x, cxi_dims_insert(own, axis, size));
  const cx_dims order = in_front(own.n, axis, -1);
  const cx_dims shape = cxi_dims_pick(&own, &order);
  const cx_dims apart = {
    4, { groups, size, shape.d[0] / groups, count_from(&shape, 1) }
  };
  cx y = cxi_reshape(cxi_transpose(x, order), apart);
  y = cxi_transpose(y, (cx_dims){ 4, { 1, 0, 2, 3 } });
  y = cxi_reshape(y, cxi_dims_insert(shape, 0, size));
  return cxi_move_axis(y, 1, axis + 1);
}

static cx_dims swapped(cx_dims axes) {
  const int64_t first = axes.d[0];
  axes.d[0] = axes.d[1];
  axes.d[1] = first;
  return axes;
}

static cx_dims spatial(const cx_dims *axes) {
  cx_dims rest = { .n = axes->n - 2 };
  for (int i = 0; i < rest.n; i++) rest.d[i] = axes->d[i + 2];
  return rest;
}

static cx convolve(cx lhs, cx rhs, const params *p) {
  return cxi_conv_general_dilated(lhs, rhs, p);
}

/* -- transpose ------------------------------------------------------------- */

/* Along a spatial dimension the dilated sizes of operand, kernel and result. */
typedef struct reaches {
  int64_t lhs, rhs, out;
} reaches;

static reaches reaches_of(const cxi_rule *r, int i) {
  const params *p = r->params;
  const int64_t lhs = cxi_type_shape(r->in_types[0])->d[p->lhs_axes.d[i + 2]],
                rhs = cxi_type_shape(r->in_types[1])->d[p->rhs_axes.d[i + 2]],
                out = cxi_type_shape(r->out_types[0])->d[p->out_axes.d[i + 2]];
  return (reaches){ cxi_size_dilated(lhs, p->lhs_dilation.d[i]),
                    cxi_size_dilated(rhs, p->rhs_dilation.d[i]),
                    cxi_size_dilated(out, p->strides.d[i]) };
}

/* The cotangent with gaps for strides, convolved with the kernel turned
 * around; strides and gaps of the operand change places. */
static cx cotangent_of_lhs(const cxi_rule *r, cx ct, cx kernel) {
  const params *p = r->params;
  const int64_t groups = p->feature_groups * p->batch_groups;
  params q = { .strides = p->lhs_dilation,
               .lhs_dilation = p->strides,
               .rhs_dilation = p->rhs_dilation,
               .lhs_axes = p->out_axes,
               .rhs_axes = swapped(p->rhs_axes),
               .out_axes = p->lhs_axes,
               .feature_groups = groups,
               .batch_groups = 1,
               .type = cxi_type_dtype(r->in_types[0]) };
  q.low.n = q.high.n = p->strides.n;
  for (int i = 0; i < q.low.n; i++) {
    const reaches d = reaches_of(r, i);
    q.low.d[i] = d.rhs - 1 - p->low.d[i];
    q.high.d[i] = d.lhs + d.rhs - 1 - d.out - q.low.d[i];
  }
  const int features = (int)p->rhs_axes.d[0], channels = (int)p->rhs_axes.d[1];
  const cx turned = regroup(cxi_rev(kernel, spatial(&p->rhs_axes)), features,
                            channels, groups);
  return regroup(convolve(ct, turned, &q), (int)p->lhs_axes.d[1],
                 (int)p->lhs_axes.d[0], p->batch_groups);
}

/* The operand convolved with the cotangent; what was summed over, the batch,
 * becomes the channels, and groups of features groups of the batch. */
static cx cotangent_of_rhs(const cxi_rule *r, cx ct, cx x) {
  const params *p = r->params;
  params q = { .strides = p->rhs_dilation,
               .lhs_dilation = p->lhs_dilation,
               .rhs_dilation = p->strides,
               .lhs_axes = swapped(p->lhs_axes),
               .rhs_axes = swapped(p->out_axes),
               .out_axes = swapped(p->rhs_axes),
               .feature_groups = p->batch_groups,
               .batch_groups = p->feature_groups,
               .type = cxi_type_dtype(r->in_types[1]) };
  q.low = p->low;
  q.high.n = p->strides.n;
  for (int i = 0; i < q.low.n; i++) {
    const reaches d = reaches_of(r, i);
    q.high.d[i] = d.out - d.lhs + d.rhs - p->low.d[i] - 1;
  }
  return convolve(x, ct, &q);
}

/* Nothing flows through a sum without terms or to a result without elements. */
static bool is_empty(const cxi_rule *r) {
  return cxi_dims_count(cxi_type_shape(r->in_types[0])) == 0 ||
         cxi_dims_count(cxi_type_shape(r->in_types[1])) == 0 ||
         cxi_dims_count(cxi_type_shape(r->out_types[0])) == 0;
}

void cxi_conv_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                        cx *acc) {
  if (is_empty(r)) return;
  for (int i = 0; i < 2; i++) {
    if (!cx_is_none(in[i])) continue;
    const cx_dtype dtype = cxi_dot_common_float(
        cxi_type_dtype(r->in_types[1 - i]), cxi_type_dtype(r->out_types[0]));
    const cx y = cxi_convert(ct[0], dtype),
             other = cxi_convert(in[1 - i], dtype);
    acc[i] = cxi_sum_given(acc[i], i == 0 ? cotangent_of_lhs(r, y, other)
                                          : cotangent_of_rhs(r, y, other));
  }
}

/* -- batch ----------------------------------------------------------------- */

/* Examples of a batch of operands are more of the batch, of kernels more
 * features, of both more groups. */
void cxi_conv_batch(const cxi_rule *r, const cx *in, const int *axis,
                    int64_t size, cx *out, int *out_axis) {
  params p = *(const params *)r->params;
  const int lhs_batch = (int)p.lhs_axes.d[0],
            lhs_channel = (int)p.lhs_axes.d[1],
            rhs_feature = (int)p.rhs_axes.d[0];
  const int out_batch = (int)p.out_axes.d[0],
            out_feature = (int)p.out_axes.d[1];
  const int64_t groups = p.feature_groups * p.batch_groups;
  if (size == 0) {
    const cx_dims shape = *cxi_type_shape(r->out_types[0]);
    *out_axis = 0;
    *out = cxi_zeros(cxi_type_make(p.type, cxi_dims_insert(shape, 0, 0)));
  } else if (axis[1] < 0) {
    const cx x = join(in[0], axis[0], lhs_batch, p.batch_groups);
    *out = part(convolve(x, in[1], &p), out_batch, 1, size, out_axis);
  } else if (axis[0] < 0) {
    const cx w = join(in[1], axis[1], rhs_feature, groups);
    *out = part(convolve(in[0], w, &p), out_feature, groups, size, out_axis);
  } else {
    int64_t *const grown =
        p.batch_groups > 1 ? &p.batch_groups : &p.feature_groups;
    const cx x =
        join(in[0], axis[0], p.batch_groups > 1 ? lhs_batch : lhs_channel, 1);
    const cx w = join(in[1], axis[1], rhs_feature, 1);
    *grown *= size;
    *out = part(convolve(x, w, &p), out_feature, 1, size, out_axis);
  }
}
