/* select.c - rows that choose among elements: select, clamp. */
#include <string.h>

#include "primitives/families.h"
#include "primitives/kernels.h"

/* -- select: case which; a bool chooses 0 or 1 ----------------------------- */
static bool infer_select(cxi_infer *c) {
  cx_dims shape;
  if (c->n_in < 2) return cxi_infer_fail(c, CX_ESHAPE, "has no cases");
  const cx_dtype which = cxi_type_dtype(c->in[0]);
  if (which != CX_BOOL && which != CX_I32)
    return cxi_infer_fail(c, CX_EDTYPE, "chooses by bool or i32, got %s",
                          cxi_dtype_name(which));
  if (which == CX_BOOL && c->n_in > 3)
    return cxi_infer_fail(c, CX_ESHAPE, "by bool has at most 2 cases, got %u",
                          c->n_in - 1);
  return cxi_infer_one_dtype(c, 1, c->n_in - 1) && cxi_infer_shape(c, &shape) &&
         cxi_infer_result(c, cxi_type_with_shape(c->in[1], shape));
}

static void jvp_select(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  (void)out;
  const cxi_mark mark = cxi_scratch_mark();
  cx *cases = cxi_scratch(r->n_in * sizeof *cases);
  if (!cases) {
    dout[0] = cxi_fail(CX_EMEMORY, "no memory for a tangent");
    return;
  }
  bool any = false;
  for (uint32_t i = 1; i < r->n_in; i++) {
    const bool none = cx_is_none(dx[i]);
    cases[i] = none ? cxi_number_like(in[i], 0) : dx[i];
    any = any || !none;
  }
  if (any) dout[0] = cxi_fit(r, cxi_select_n(in[0], r->n_in - 1, cases + 1));
  cxi_scratch_reset(mark);
}
static void transpose_select(const cxi_rule *r, const cx *in, const cx *ct,
                             cx *acc) {
  if (cx_is_none(ct[0])) return;
  const cxi_mark mark = cxi_scratch_mark();
  cx *cases = cxi_scratch(r->n_in * sizeof *cases);
  if (!cases) {
    cxi_fail(CX_EMEMORY, "no memory for a cotangent");
    return;
  }
  /* Each linear case gets the cotangent where it was chosen, else zero. */
  const cx zero = cxi_number_like(ct[0], 0);
  for (uint32_t i = 1; i < r->n_in; i++) cases[i] = zero;
  for (uint32_t i = 1; i < r->n_in; i++) {
    if (!cx_is_none(in[i])) continue;
    cases[i] = ct[0];
    cxi_accumulate(r, i, cxi_select_n(in[0], r->n_in - 1, cases + 1), acc);
    cases[i] = zero;
  }
  cxi_scratch_reset(mark);
}

/* The case of element `at`; an index out of range counts as the nearest. */
static int64_t chosen(const cxi_view *which, const int64_t *index,
                      int64_t n_cases) {
  const cx_dtype type = which->type.type;
  const int64_t i = cxi_element_get_int(
      type, cxi_view_element(which, index, cxi_dtype_bytes(type)));
  return i < 0 ? 0 : i < n_cases ? i : n_cases - 1;
}

static void select_any(uint32_t n_in, const cxi_view *in, const cxi_view *out) {
  if (cxi_dims_count(&out->type.shape) == 0) return;
  const size_t bytes = cxi_dtype_bytes(out->type.type);
  int64_t index[CX_MAX_DIMS] = { 0 };
  char *to = out->data;
  do {
    const cxi_view *from = &in[1 + chosen(&in[0], index, n_in - 1)];
    memmove(to, cxi_view_element(from, index, bytes), bytes);
    to += bytes;
  } while (cxi_index_next(&out->type.shape, index));
}

/* Two cases chosen by a bool: a loop for each size of element. */
static inline __attribute__((always_inline)) void select_run(const cxi_run *run,
                                                             int64_t bytes) {
  const uint8_t *which = run->in[0];
  const char *no = run->in[1], *yes = run->in[2];
  char *out = run->out;
  for (int64_t i = 0; i < run->n; i++) {
    const char *from = which[i * run->step[0]] ? yes + i * run->step[2] * bytes
                                               : no + i * run->step[1] * bytes;
    memmove(out + i * bytes, from, (size_t)bytes);
  }
}
static void select_1(const cxi_run *run) {
  select_run(run, 1);
}
static void select_2(const cxi_run *run) {
  select_run(run, 2);
}
static void select_4(const cxi_run *run) {
  select_run(run, 4);
}
static void select_8(const cxi_run *run) {
  select_run(run, 8);
}

static bool evaluate_select(cxi_eval *eval, const cxi_view *in, cxi_view *out) {
  static const cxi_kernel by_bytes[] = {
    [1] = select_1, [2] = select_2, [4] = select_4, [8] = select_8
  };
  if (in[0].type.type == CX_BOOL && eval->n_in == 3)
    cxi_kernel_run(by_bytes[cxi_dtype_bytes(out->type.type)], NULL, 3, in, out);
  else
    select_any(eval->n_in, in, out);
  return true;
}
static const char *const examples_select[] = {
  "program @f(%0: bool[2,3], %1: f32[2,3], %2: f32[2,3]) { "
  "%3: f32[2,3] = select %0, %1, %2 return %3 }",
  "program @f(%0: bool[], %1: f32[3], %2: f32[]) { "
  "%3: f32[3] = select %0, %1, %2 return %3 }",
  "program @f(%0: bool[3], %1: f64[], %2: f64[]) { "
  "%3: f64[3] = select %0, %1, %2 return %3 }",
  "program @f(%0: i32[4], %1: f32[4], %2: f32[], %3: f32[4]) { "
  "%4: f32[4] = select %0, %1, %2, %3 return %4 }",
  "program @f(%0: bool[2], %1: f32[2]) { "
  "%2: f32[2] = select %0, %1 return %2 }",
  "program @f(%0: bool[2], %1: i8[2], %2: i8[2]) { "
  "%3: i8[2] = select %0, %1, %2 return %3 }",
  "program @f(%0: bool[2], %1: key[2], %2: key[]) { "
  "%3: key[2] = select %0, %1, %2 return %3 }",
  "program @f(%0: bool[0], %1: bf16[0], %2: bf16[]) { "
  "%3: bf16[0] = select %0, %1, %2 return %3 }",
  "program @f(%0: bool[2], %1: f16[2], %2: f16[2]) { "
  "%3: f16[2] = select %0, %1, %2 return %3 }",
  NULL
};
const cxi_row cxi_row_select = {
  .prim = CXI_PRIM_select,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "case which; a bool chooses 0 or 1",
  .infer = infer_select,
  .jvp = jvp_select,
  .transpose = transpose_select,
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_select,
  .in_place = 2,
  .examples = examples_select,
};

/* -- clamp: min(max(x, lo), hi) -------------------------------------------- */
static bool infer_clamp(cxi_infer *c) {
  return cxi_infer_elementwise(c, 3, CXI_ACCEPT_ORDERED, 0);
}

/* The tangent of operand i, or 0 where the result does not follow it: x passes
 * strictly inside, lo where it is above x, hi where it is below. */
static cx clamp_passes(int i, const cx *in, cx dx) {
  const cx lo = in[0], x = in[1], hi = in[2];
  cx follows;
  if (i == 0)
    follows = cxi_binary(CXI_PRIM_and, cxi_compare(CXI_PRIM_gt, lo, x),
                         cxi_compare(CXI_PRIM_lt, lo, hi));
  else if (i == 1)
    follows = cxi_binary(CXI_PRIM_and, cxi_compare(CXI_PRIM_gt, x, lo),
                         cxi_compare(CXI_PRIM_lt, x, hi));
  else
    follows = cxi_compare(CXI_PRIM_lt, hi, x);
  return cxi_select(follows, cxi_number_like(dx, 0), dx);
}
static void jvp_clamp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)out;
  cx sum = cx_none();
  for (int i = 0; i < 3; i++)
    if (!cx_is_none(dx[i]))
      sum = cxi_sum_given(sum, clamp_passes(i, in, dx[i]));
  dout[0] = cxi_fit(r, sum);
}
static const char *const examples_clamp[] = {
  "program @f(%0: f32[2,3], %1: f32[]) { %2: f32[] = add %1, 1.0:f32 "
  "%3: f32[2,3] = clamp %1, %0, %2 return %3 }",
  "program @f(%0: f64[4], %1: f64[4]) { %2: f64[4] = add %1, 1.0:f64 "
  "%3: f64[4] = clamp %1, %0, %2 return %3 }",
  "program @f(%0: f32[]) { "
  "%1: f32[] = clamp -0.5:f32, %0, 0.5:f32 return %1 }",
  "program @f(%0: bf16[3], %1: bf16[3], %2: bf16[]) { "
  "%3: bf16[3] = clamp %0, %1, %2 return %3 }",
  "program @f(%0: f16[0], %1: f16[0], %2: f16[]) { "
  "%3: f16[0] = clamp %0, %1, %2 return %3 }",
  "program @f(%0: i32[], %1: i32[3], %2: i32[3]) { "
  "%3: i32[3] = clamp %0, %1, %2 return %3 }",
  NULL
};
const cxi_row cxi_row_clamp = {
  .prim = CXI_PRIM_clamp,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "min(max(x, lo), hi)",
  .infer = infer_clamp,
  .jvp = jvp_clamp,
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 2,
  .examples = examples_clamp,
};
