/* reduce_by.c - reduce, by a function. */
#include "primitives/expand.h"
#include "primitives/joined.h"

/* -- reduce(x..., start...; axes, body) ------------------------------------ */

static cx_dims kept_axes(const cxi_reduce_params *p, int rank) {
  return cxi_axes_rest(rank, &p->axes, NULL);
}

static bool infer(cxi_infer *c) {
  const cxi_reduce_params *p = c->params;
  const cx_dims *shape;
  if (!cxi_infer_joined(c, p->body, &shape) ||
      !cxi_infer_axes(c, "axes", &p->axes))
    return false;
  const cx_dims kept = kept_axes(p, shape->n);
  const cx_dims result = cxi_dims_pick(shape, &kept);
  return cxi_infer_from_starts(c, &result);
}

typedef struct joining {
  const cxi_program *body;
  uint32_t n;
} joining;

static bool join(void *user, const cx *a, const cx *b, cx *out) {
  const joining *j = user;
  cx *args = cxi_handles(2 * j->n, cx_none());
  if (!args) return false;
  for (uint32_t i = 0; i < j->n; i++) {
    args[i] = a[i];
    args[j->n + i] = b[i];
  }
  return cxi_each(j->body, args, out);
}

/* The reduced axes first, as one; joined by neighbours, which keeps their
 * order; then from the starts. */
static void expand(const cxi_rule *r, const cx *in, cx *out) {
  const cxi_reduce_params *p = r->params;
  joining j = { p->body, r->n_out };
  const cx_dims shape = *cxi_type_shape(r->in_types[0]);
  const cx_dims kept = kept_axes(p, shape.n);
  const cx_dims result = cxi_dims_pick(&shape, &kept);
  cx_dims order = cxi_axes_rest(shape.n, &kept, NULL);
  const cx_dims reduced = cxi_dims_pick(&shape, &order);
  for (int i = 0; i < kept.n; i++) order.d[order.n++] = kept.d[i];
  const int64_t n = cxi_dims_count(&reduced);
  const cx_dims rows = { 2, { n, cxi_dims_count(&result) } };
  cx *x = cxi_handles(r->n_out, cx_none());
  cx *start = cxi_handles(r->n_out, cx_none());
  if (!x || !start) return;
  for (uint32_t i = 0; i < r->n_out; i++) {
    out[i] = start[i] = cxi_start_full(in[r->n_out + i], &result);
    x[i] = cxi_reshape(cxi_transpose(in[i], order), rows);
  }
  if (n == 0 || rows.d[1] == 0) return;
  if (!cxi_associative_fold(join, &j, r->n_out, x, 0, x)) return;
  for (uint32_t i = 0; i < r->n_out; i++) x[i] = cxi_reshape(x[i], result);
  (void)join(&j, start, x, out);
}

static void batch(const cxi_rule *r, const cx *in, const int *axis,
                  int64_t size, cx *out, int *out_axis) {
  const cxi_reduce_params *p = r->params;
  const uint32_t n = r->n_out;
  const int first = cxi_first_batched(axis, n), at = first < 0 ? 0 : first;
  const cx_dims axes = cxi_axes_shift(p->axes, at);
  const int to = at - cxi_axes_below(&axes, at);
  cx *args = cxi_handles(2 * n, cx_none());
  if (!args) return;
  for (uint32_t i = 0; i < n; i++) {
    args[i] = cxi_batch_to(in[i], axis[i], at, size);
    args[n + i] = cxi_batch_start(in[n + i], axis[n + i], to, size,
                                  cxi_type_shape(r->out_types[i]));
    out_axis[i] = to;
  }
  cxi_reduce_by(p->body, n, args, axes, out);
}

static const char *const examples[] = {
  /* a product from a start */
  "program @join(%0: f64[], %1: f64[]) { %2: f64[] = mul %0, %1 return %2 }\n"
  "program @main(%0: f64[2,5], %1: f64[]) { %2: f64[2] = reduce[axes=(1), "
  "body=@join] %0, %1 return %2 }",
  /* the greatest and its place, in two arrays */
  "program @join(%0: f32[], %1: i32[], %2: f32[], %3: i32[]) {\n"
  "  %4: bool[] = ge %0, %2\n"
  "  %5: f32[] = select %4, %2, %0\n"
  "  %6: i32[] = select %4, %3, %1\n"
  "  return %5, %6\n"
  "}\n"
  "program @main(%0: f32[3,2,2], %1: i32[3,2,2]) { %2: f32[2], %3: i32[2] = "
  "reduce[axes=(0,2), body=@join] %0, %1, -inf:f32, 0:i32 return %2, %3 }",
  /* a call inside, a start for each result */
  "program @inner(%0: f64[], %1: f64[]) { %2: f64[] = mul %0, %1 %3: f64[] = "
  "sin %2 return %3 }\n"
  "program @join(%0: f64[], %1: f64[]) { %2: f64[] = jit[body=@inner] %0, %1 "
  "return %2 }\n"
  "program @main(%0: f64[3,2], %1: f64[2]) { %2: f64[2] = reduce[axes=(0), "
  "body=@join] %0, %1 return %2 }",
  /* of nothing */
  "program @join(%0: f32[], %1: f32[]) { %2: f32[] = add %0, %1 return %2 }\n"
  "program @main(%0: f32[0,2], %1: f32[]) { %2: f32[2] = reduce[axes=(0), "
  "body=@join] %0, %1 return %2 }",
  "program @join(%0: bf16[], %1: bf16[]) { %2: bf16[] = max %0, %1 return %2 "
  "}\nprogram @main(%0: bf16[4]) { %1: bf16[] = reduce[axes=(0), "
  "body=@join] %0, 0.5:bf16 return %1 }",
  NULL
};

const cxi_row cxi_row_reduce = {
  .prim = CXI_PRIM_reduce,
  .form = CXI_FORM_CALL,
  .formula = "start joined with x over axes by body",
  .infer = infer,
  .jvp = cxi_jvp_expansion,
  .jvp_emits = true,
  .batch = batch,
  .expand = expand,
  .evaluate = cxi_evaluate_expansion,
  .no_transpose = "not linear",
  .examples = examples,
};
