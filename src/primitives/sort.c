/* sort.c - sort, top_k. */
#include "primitives/sort.h"

#include <inttypes.h>

#include "primitives/moves.h"

/* -- sort(x, ...; axis, n_keys, stable): all operands in the order of the first
 *    n_keys, the first of them the most significant, NaN last. The order of
 *    equal elements is kept, whether `stable` asks for it or not ------------ */

static bool infer_sort(cxi_infer *c) {
  const cxi_sort_params *p = c->params;
  if (c->n_in == 0)
    return cxi_infer_fail(c, CX_ESHAPE, "needs one operand or more");
  if (p->n_keys < 1 || p->n_keys > c->n_in)
    return cxi_infer_fail(c, CX_EINDEX, "%" PRId64 " keys of %d operands",
                          p->n_keys, (int)c->n_in);
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  if (!cxi_infer_axis(c, p->axis, shape->n)) return false;
  for (uint32_t i = 0; i < c->n_in; i++) {
    const bool is_key = i < p->n_keys;
    if (!cxi_infer_kind(c, i, is_key ? CXI_ACCEPT_ORDERED : CXI_ACCEPT_ANY))
      return false;
    if (!cxi_dims_equal(cxi_type_shape(c->in[i]), shape))
      return cxi_infer_fail(c, CX_ESHAPE, "%s beside %s",
                            cxi_show_type(c->in[i]).s,
                            cxi_show_type(c->in[0]).s);
    if (!cxi_infer_result(c, c->in[i])) return false;
  }
  return true;
}

/* Indices sorted along with the operands say where the tangents go. */
static void jvp_sort(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                     cx *dout) {
  const cxi_sort_params *p = r->params;
  const cx_dims *shape = cxi_type_shape(r->in_types[0]);
  const int64_t n = shape->d[p->axis];
  cx *args = cxi_handles(r->n_in + 1, cx_none());
  cx *sorted = cxi_handles(r->n_in + 1, cx_none());
  if (!args || !sorted) return;
  for (uint32_t i = 0; i < r->n_in; i++) args[i] = in[i];
  args[r->n_in] =
      cxi_iota(n > INT32_MAX ? CX_I64 : CX_I32, *shape, (int)p->axis);
  if (!cxi_sort(p, r->n_in + 1, args, sorted)) return;
  for (uint32_t i = 0; i < r->n_in; i++) {
    out[i] = sorted[i];
    if (!cx_is_none(dx[i]))
      dout[i] = cxi_gather_along(dx[i], sorted[r->n_in], (int)p->axis);
  }
}

static void batch_sort(const cxi_rule *r, const cx *in, const int *axis,
                       int64_t size, cx *out, int *out_axis) {
  cxi_sort_params p = *(const cxi_sort_params *)r->params;
  const int at = cxi_first_batched(axis, r->n_in);
  cx *args = cxi_handles(r->n_in, cx_none());
  if (!args) return;
  for (uint32_t i = 0; i < r->n_in; i++) {
    args[i] = cxi_batch_to(in[i], axis[i], at, size);
    out_axis[i] = at;
  }
  p.axis = cxi_axis_shift((int)p.axis, at);
  cxi_sort(&p, r->n_in, args, out);
}

static const char *const examples_sort[] = {
  "program @main(%0: f32[7]) { %1: f32[7] = sort[axis=0, n_keys=1, "
  "stable=true] %0 return %1 }",
  "program @main(%0: f32[2,5,3], %1: f32[2,5,3]) { %2: f32[2,5,3], "
  "%3: f32[2,5,3] = sort[axis=1, n_keys=1, stable=true] %0, %1 "
  "return %2, %3 }",
  "program @main(%0: i8[3,6], %1: f64[3,6], %2: f32[3,6]) { %3: i8[3,6], "
  "%4: f64[3,6], %5: f32[3,6] = sort[axis=1, n_keys=2, stable=false] "
  "%0, %1, %2 return %3, %4, %5 }",
  "program @main(%0: bf16[70,2]) { %1: bf16[70,2] = sort[axis=0, n_keys=1, "
  "stable=true] %0 return %1 }",
  "program @main(%0: f16[9]) { %1: f16[9] = sort[axis=0, n_keys=1, "
  "stable=true] %0 return %1 }",
  "program @main(%0: bool[9], %1: key[9]) { %2: bool[9], %3: key[9] = "
  "sort[axis=0, n_keys=1, stable=true] %0, %1 return %2, %3 }",
  "program @main(%0: u64[100], %1: i64[100]) { %2: u64[100], %3: i64[100] = "
  "sort[axis=0, n_keys=1, stable=true] %0, %1 return %2, %3 }",
  "program @main(%0: f32[0,3]) { %1: f32[0,3] = sort[axis=0, n_keys=1, "
  "stable=true] %0 return %1 }",
  "program @main(%0: f32[1,2,1,2,1,2,3]) { %1: f32[1,2,1,2,1,2,3] = "
  "sort[axis=5, n_keys=1, stable=true] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_sort = {
  .prim = CXI_PRIM_sort,
  .form = CXI_FORM_INDEX,
  .formula = "all operands in the order of the first ones",
  .infer = infer_sort,
  .jvp = jvp_sort,
  .jvp_emits = true,
  .batch = batch_sort,
  .evaluate = cxi_evaluate_sort,
  .workspace = cxi_sort_workspace,
  .no_transpose = "not linear",
  .examples = examples_sort,
};

/* -- top_k(x; k, axis) -> values, indices: the k greatest, the greatest first,
 *    in IEEE 754's total order: NaN, inf, ..., 0, -0, ..., -inf, negative NaN;
 *    of equal ones the first comes first ----------------------------------- */

static bool infer_top_k(cxi_infer *c) {
  const cxi_top_k_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED))
    return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (!cxi_infer_axis(c, p->axis, shape.n)) return false;
  const int64_t n = shape.d[p->axis];
  if (p->k < 0 || p->k > n)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "the greatest %" PRId64 " of axis %" PRId64 " of %s",
                          p->k, p->axis, cxi_show_type(c->in[0]).s);
  if (n - 1 > INT32_MAX)
    return cxi_infer_fail(
        c, CX_ESHAPE, "i32 does not hold the indices of axis %" PRId64 " of %s",
        p->axis, cxi_show_type(c->in[0]).s);
  shape.d[p->axis] = p->k;
  return cxi_infer_result(c, cxi_type_make(cxi_type_dtype(c->in[0]), shape)) &&
         cxi_infer_result(c, cxi_type_make(CX_I32, shape));
}

static void jvp_top_k(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)in;
  const cxi_top_k_params *p = r->params;
  dout[0] = cxi_gather_along(dx[0], out[1], (int)p->axis);
}

static void batch_top_k(const cxi_rule *r, const cx *in, const int *axis,
                        int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_top_k_params *p = r->params;
  cxi_top_k(in[0], p->k, cxi_axis_shift((int)p->axis, axis[0]), out);
  out_axis[0] = out_axis[1] = axis[0];
}

static const char *const examples_top_k[] = {
  "program @main(%0: f32[7]) { %1: f32[3], %2: i32[3] = top_k[k=3, axis=0] %0 "
  "return %1, %2 }",
  "program @main(%0: f32[2,5,3]) { %1: f32[2,2,3], %2: i32[2,2,3] = "
  "top_k[k=2, axis=1] %0 return %1, %2 }",
  "program @main(%0: f64[2,80]) { %1: f64[2,40], %2: i32[2,40] = "
  "top_k[k=40, axis=1] %0 return %1, %2 }",
  "program @main(%0: bf16[5]) { %1: bf16[5], %2: i32[5] = top_k[k=5, axis=0] "
  "%0 return %1, %2 }",
  "program @main(%0: f16[2,5]) { %1: f16[2,0], %2: i32[2,0] = top_k[k=0, "
  "axis=1] %0 return %1, %2 }",
  "program @main(%0: i16[4,3]) { %1: i16[1,3], %2: i32[1,3] = top_k[k=1, "
  "axis=0] %0 return %1, %2 }",
  "program @main(%0: u8[6]) { %1: u8[2], %2: i32[2] = top_k[k=2, axis=0] %0 "
  "return %1, %2 }",
  "program @main(%0: bool[0,4]) { %1: bool[0,2], %2: i32[0,2] = top_k[k=2, "
  "axis=1] %0 return %1, %2 }",
  NULL
};

const cxi_row cxi_row_top_k = {
  .prim = CXI_PRIM_top_k,
  .form = CXI_FORM_INDEX,
  .formula = "the k greatest and where they stand",
  .infer = infer_top_k,
  .jvp = jvp_top_k,
  .batch = batch_top_k,
  .evaluate = cxi_evaluate_top_k,
  .workspace = cxi_top_k_workspace,
  .no_transpose = "not linear",
  .examples = examples_top_k,
};
