/* argmax.c - argmax, argmin. */
#include <inttypes.h>

#include "primitives/moves.h"
#include "primitives/reduce.h"

/* -- argmax, argmin(x; axis, type): the index of the first greatest or least
 *    element; the first NaN if there is one -------------------------------- */

/* Both have these parameters. */
typedef cxi_argmax_params params;
_Static_assert(sizeof(cxi_argmax_params) == sizeof(cxi_argmin_params),
               "the two rows share rules, which read one struct");

/* The greatest index that the dtype holds; -1: not an integer. */
static int64_t greatest_index(cx_dtype type) {
  if (!cxi_dtype_valid((int)type)) return -1;
  const cxi_kind kind = cxi_dtype_kind(type);
  if (kind != CXI_SIGNED && kind != CXI_UNSIGNED) return -1;
  const int bits = 8 * (int)cxi_dtype_bytes(type) - (kind == CXI_SIGNED);
  return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

static bool infer_arg(cxi_infer *c) {
  const params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED))
    return false;
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  if (!cxi_infer_axis(c, p->axis, shape->n)) return false;
  const int64_t n = shape->d[p->axis];
  if (n == 0)
    return cxi_infer_fail(c, CX_ESHAPE, "axis %" PRId64 " of %s is empty",
                          p->axis, cxi_show_type(c->in[0]).s);
  if (n - 1 > greatest_index(p->type))
    return cxi_infer_fail(
        c, CX_EDTYPE, "%s does not hold the indices of axis %" PRId64 " of %s",
        cxi_dtype_name(p->type), p->axis, cxi_show_type(c->in[0]).s);
  return cxi_infer_result(
      c, cxi_type_make(p->type, cxi_dims_without(*shape, (int)p->axis)));
}

static void batch_arg(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  (void)size;
  const params *p = r->params;
  const int along = cxi_axis_shift((int)p->axis, axis[0]);
  out[0] = r->row->prim == CXI_PRIM_argmax ? cxi_argmax(in[0], along, p->type)
                                           : cxi_argmin(in[0], along, p->type);
  out_axis[0] = axis[0] - (along < axis[0]);
}

static const char *const examples_argmax[] = {
  "program @main(%0: f32[5]) { %1: i32[] = argmax[axis=0, type=i32] %0 "
  "return %1 }",
  "program @main(%0: f32[2,3,4]) { %1: i64[2,4] = argmax[axis=1, type=i64] %0 "
  "return %1 }",
  "program @main(%0: i8[2,3]) { %1: u8[3] = argmax[axis=0, type=u8] %0 "
  "return %1 }",
  "program @main(%0: bool[4]) { %1: i32[] = argmax[axis=0, type=i32] %0 "
  "return %1 }",
  "program @main(%0: f16[0,3]) { %1: i32[0] = argmax[axis=1, type=i32] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_argmax = {
  .prim = CXI_PRIM_argmax,
  .form = CXI_FORM_REDUCE,
  .formula = "first i with the greatest x[i]",
  .infer = infer_arg,
  .batch = batch_arg,
  .evaluate = cxi_evaluate_arg,
  .workspace = cxi_arg_workspace,
  .no_jvp = "not differentiable: integer result",
  .no_transpose = "not linear",
  .examples = examples_argmax,
};

static const char *const examples_argmin[] = {
  "program @main(%0: f32[5]) { %1: i32[] = argmin[axis=0, type=i32] %0 "
  "return %1 }",
  "program @main(%0: bf16[2,3,4]) { %1: u32[2,3] = argmin[axis=2, type=u32] %0 "
  "return %1 }",
  "program @main(%0: u64[2,3]) { %1: i16[3] = argmin[axis=0, type=i16] %0 "
  "return %1 }",
  NULL
};

const cxi_row cxi_row_argmin = {
  .prim = CXI_PRIM_argmin,
  .form = CXI_FORM_REDUCE,
  .formula = "first i with the least x[i]",
  .infer = infer_arg,
  .batch = batch_arg,
  .evaluate = cxi_evaluate_arg,
  .workspace = cxi_arg_workspace,
  .no_jvp = "not differentiable: integer result",
  .no_transpose = "not linear",
  .examples = examples_argmin,
};
