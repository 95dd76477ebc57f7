/* window_by.c - reduce_window and select_and_scatter, by functions: loops over
 * the places of a window, each a step over all results at once. */
#include "primitives/expand.h"
#include "primitives/joined.h"
#include "primitives/window.h"

#include "ir/builder.h"

/* -- one place of all windows ---------------------------------------------- */

typedef struct places {
  const cxi_window *w;
  cx_dims operand, result;
  cx_dims low, high, interior; /* the padding after which all windows fit */
  cx_dims span;                /* from the first window to the last */
  int64_t count;               /* places of a window */
  bool partial;                /* some windows lack some elements */
} places;

static places places_of(const cxi_window *w, cx_dims operand, cx_dims result) {
  places p = { .w = w, .operand = operand, .result = result };
  p.low = w->low;
  p.high = p.interior = p.span = operand;
  p.count = cxi_dims_count(&w->window);
  for (int i = 0; i < operand.n; i++) {
    const int64_t base = w->base_dilation.d[i], size = operand.d[i];
    const int64_t spread = size ? (size - 1) * base + 1 : 0;
    p.interior.d[i] = base - 1;
    p.span.d[i] = (result.d[i] - 1) * w->strides.d[i] + 1;
    p.high.d[i] = p.span.d[i] + (w->window.d[i] - 1) * w->window_dilation.d[i] -
                  spread - p.low.d[i];
    p.partial = p.partial || p.low.d[i] > 0 || p.high.d[i] > 0 || base > 1;
  }
  return p;
}

static cx padded(const places *p, cx x, cx value) {
  return cxi_pad(x, value, p->low, p->high, p->interior);
}

/* Of a padded array, the elements at place k of all windows. k: i32[]. */
static cx elements_at(const places *p, cx x, cx k) {
  cx starts[CX_MAX_DIMS];
  for (int i = p->operand.n - 1; i >= 0; i--) {
    const cx size = cxi_integer(CX_I32, p->w->window.d[i]);
    starts[i] = cxi_mul(cxi_convert(cxi_binary(CXI_PRIM_rem, k, size), CX_I64),
                        cxi_integer(CX_I64, p->w->window_dilation.d[i]));
    k = cxi_div(k, size);
  }
  const cx all = cxi_dynamic_slice(x, starts, p->span);
  return cxi_slice(all, cxi_dims_repeat(p->span.n, 0), p->span, p->w->strides);
}

/* Ends a body and emits the loop over it; false after reporting. */
static bool loop(cxi_builder *b, uint32_t n_in, const cx *in, uint32_t n_out,
                 const cx *out, cxi_scan_params scan, const cx *args,
                 cx *results) {
  cxi_error error = { 0 };
  scan.body = cxi_builder_finish(b, 0, n_in, in, n_out, out, &error);
  if (!scan.body) {
    cxi_fail(error.code ? error.code : CX_EMEMORY, "%s", error.text);
    return false;
  }
  const bool ok = cxi_scan(&scan, args, results);
  cxi_program_release(scan.body);
  return ok;
}

static bool too_long(int64_t n) {
  if (n >= 0 && n < INT32_MAX) return false;
  cxi_fail(CX_ESHAPE, "windows by a function: more than 2^31 elements");
  return true;
}

/* -- reduce_window(x..., start...; window, body) --------------------------- */

static bool infer_reduce(cxi_infer *c) {
  const cxi_reduce_window_params *p = c->params;
  const cx_dims *shape;
  cx_dims result;
  return cxi_infer_joined(c, p->body, &shape) &&
         cxi_infer_window(c, 0, &result) && cxi_infer_from_starts(c, &result);
}

/* in: n padded arrays, which of their elements are there (if some are not);
 * k, n results so far. out: k + 1, n results. */
static bool reduce_step(const places *p, const cxi_program *body, uint32_t n,
                        const cx *in, cx *out) {
  const cx *so_far = in + n + p->partial + 1, k = so_far[-1];
  cx *args = cxi_handles(2 * n, cx_none());
  if (!args) return false;
  for (uint32_t i = 0; i < n; i++) {
    args[i] = so_far[i];
    args[n + i] = elements_at(p, in[i], k);
  }
  out[0] = cxi_add(k, cxi_integer(CX_I32, 1));
  if (!cxi_each(body, args, out + 1)) return false;
  if (!p->partial) return true;
  const cx there = elements_at(p, in[n], k);
  for (uint32_t i = 0; i < n; i++)
    out[1 + i] = cxi_select(there, so_far[i], out[1 + i]);
  return true;
}

static void expand_reduce(const cxi_rule *r, const cx *in, cx *out) {
  const cxi_reduce_window_params *q = r->params;
  const uint32_t n = r->n_out;
  const places p = places_of(r->params, *cxi_type_shape(r->in_types[0]),
                             *cxi_type_shape(r->out_types[0]));
  const uint32_t n_consts = n + p.partial, n_in = n_consts + 1 + n;
  cx *args = cxi_handles(n_in, cx_none()),
     *made = cxi_handles(n + 1, cx_none());
  cx *inner = cxi_handles(n_in, cx_none()),
     *results = cxi_handles(n + 1, cx_none());
  if (!args || !made || !inner || !results) return;
  for (uint32_t i = 0; i < n; i++)
    out[i] = args[n_consts + 1 + i] = cxi_start_full(in[n + i], &p.result);
  if (cxi_dims_count(&p.result) == 0 || too_long(p.count)) return;
  for (uint32_t i = 0; i < n; i++)
    args[i] = padded(
        &p, in[i], cxi_zeros(cxi_type_scalar(cxi_type_dtype(r->in_types[i]))));
  if (p.partial)
    args[n] =
        padded(&p, cxi_full(cxi_type_with_dtype(r->in_types[0], CX_BOOL), 1),
               cxi_number(CX_BOOL, 0));
  args[n_consts] = cxi_integer(CX_I32, 0);
  cxi_type *types = cxi_scratch(n_in * sizeof *types);
  if (!types) {
    cxi_fail(CX_EMEMORY, "no memory to expand reduce_window");
    return;
  }
  for (uint32_t i = 0; i < n_in; i++) {
    types[i] = cxi_type_at(args[i]);
    if (!types[i]) return; /* reported */
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n_in; i++)
    inner[i] = cxi_builder_input(&b, types[i]);
  if (!reduce_step(&p, q->body, n, inner, made) && !b.error.code) {
    cxi_builder_abandon(&b);
    return;
  }
  const cxi_scan_params scan = {
    .length = p.count, .unroll = 1, .n_consts = n_consts, .n_carry = n + 1
  };
  if (!loop(&b, n_in, inner, n + 1, made, scan, args, results)) return;
  for (uint32_t i = 0; i < n; i++) out[i] = results[1 + i];
}

static void batch_reduce(const cxi_rule *r, const cx *in, const int *axis,
                         int64_t size, cx *out, int *out_axis) {
  const cxi_reduce_window_params *p = r->params;
  const uint32_t n = r->n_out;
  const int first = cxi_first_batched(axis, n), at = first < 0 ? 0 : first;
  const cxi_window w = cxi_window_batched(r->params, at);
  cx *args = cxi_handles(2 * n, cx_none());
  if (!args) return;
  for (uint32_t i = 0; i < n; i++) {
    args[i] = cxi_batch_to(in[i], axis[i], at, size);
    args[n + i] = cxi_batch_start(in[n + i], axis[n + i], at, size,
                                  cxi_type_shape(r->out_types[i]));
    out_axis[i] = at;
  }
  cxi_reduce_window_by(p->body, n, args, &w, out);
}

static const char *const examples_reduce_window[] = {
  "program @join(%0: f64[], %1: f64[]) { %2: f64[] = mul %0, %1 return %2 }\n"
  "program @main(%0: f64[4,5], %1: f64[]) { %2: f64[2,4] = reduce_window["
  "window=(2,3), strides=(2,3), low=(0,2), high=(-1,3), base_dilation=(2,3), "
  "window_dilation=(2,3), body=@join] %0, %1 return %2 }",
  "program @join(%0: f32[], %1: i32[], %2: f32[], %3: i32[]) {\n"
  "  %4: bool[] = ge %0, %2\n"
  "  %5: f32[] = select %4, %2, %0\n"
  "  %6: i32[] = select %4, %3, %1\n"
  "  return %5, %6\n"
  "}\n"
  "program @main(%0: f32[5], %1: i32[5]) { %2: f32[3], %3: i32[3] = "
  "reduce_window[window=(3), strides=(1), low=(0), high=(0), "
  "base_dilation=(1), window_dilation=(1), body=@join] %0, %1, -inf:f32, "
  "0:i32 return %2, %3 }",
  "program @inner(%0: f64[], %1: f64[]) { %2: f64[] = mul %0, %1 %3: f64[] = "
  "sin %2 return %3 }\n"
  "program @join(%0: f64[], %1: f64[]) { %2: f64[] = jit[body=@inner] %0, %1 "
  "return %2 }\n"
  "program @main(%0: f64[3], %1: f64[2]) { %2: f64[2] = reduce_window["
  "window=(2), strides=(2), low=(1), high=(0), base_dilation=(1), "
  "window_dilation=(1), body=@join] %0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_reduce_window = {
  .prim = CXI_PRIM_reduce_window,
  .form = CXI_FORM_CALL,
  .formula = "start joined with each window of x by body",
  .infer = infer_reduce,
  .jvp = cxi_jvp_expansion,
  .jvp_emits = true,
  .batch = batch_reduce,
  .expand = expand_reduce,
  .evaluate = cxi_evaluate_expansion,
  .no_transpose = "not linear",
  .examples = examples_reduce_window,
};

/* -- select_and_scatter(x, y, start; window, select, scatter) -------------- */

static bool infer_scatter(cxi_infer *c) {
  const cxi_select_and_scatter_params *p = c->params;
  cx_dims windows;
  if (!cxi_infer_count(c, 3) || !cxi_infer_one_dtype(c, 0, 3) ||
      !cxi_infer_window(c, 0, &windows))
    return false;
  const cx_dtype type = cxi_type_dtype(c->in[0]);
  const cx_dtype two[2] = { type, type }, truth = CX_BOOL;
  if (!cxi_dims_equal(cxi_type_shape(c->in[1]), &windows))
    return cxi_infer_fail(c, CX_ESHAPE, "the windows of %s are %s, got %s",
                          cxi_show_type(c->in[0]).s, cxi_show_list(&windows).s,
                          cxi_show_type(c->in[1]).s);
  return cxi_infer_start(c, 2, cxi_type_shape(c->in[0])) &&
         cxi_infer_scalars(c, "select", p->select, 2, two, 1, &truth) &&
         cxi_infer_scalars(c, "scatter", p->scatter, 2, two, 1, &type) &&
         cxi_infer_result(c, c->in[0]);
}

/* x padded, the place of each element in x (-1: none there); k, the element
 * chosen so far and its place. The first one is chosen without a question. */
static bool choose_step(const places *p, const cxi_program *select,
                        const cx *in, cx *out) {
  const cx minus = cxi_integer(CX_I32, -1);
  const cx x = elements_at(p, in[0], in[2]);
  const cx place = elements_at(p, in[1], in[2]);
  cx stays;
  if (!cxi_each(select, (cx[]){ in[3], x }, &stays)) return false;
  const cx first = cxi_compare(CXI_PRIM_eq, in[4], minus);
  const cx there = cxi_compare(CXI_PRIM_ne, place, minus);
  const cx goes =
      cxi_binary(CXI_PRIM_or, first, cxi_unary(CXI_PRIM_not, stays));
  const cx take = cxi_binary(CXI_PRIM_and, there, goes);
  out[0] = cxi_add(in[2], cxi_integer(CX_I32, 1));
  out[1] = cxi_select(take, in[3], x);
  out[2] = cxi_select(take, in[4], place);
  return true;
}

/* The place in x chosen for each window, or -1. */
static bool choose(const places *p, const cxi_rule *r, cx x, cx *out) {
  const cxi_select_and_scatter_params *q = r->params;
  const cxi_type numbers = cxi_type_with_dtype(r->in_types[1], CX_I32);
  const cx_dims flat = { 1, { cxi_dims_count(&p->operand) } };
  const cx minus = cxi_integer(CX_I32, -1);
  const cx places_in = cxi_reshape(cxi_iota(CX_I32, flat, 0), p->operand);
  const cx zero = cxi_zeros(cxi_type_scalar(cxi_type_dtype(r->in_types[0])));
  const cx args[5] = { padded(p, x, zero), padded(p, places_in, minus),
                       cxi_integer(CX_I32, 0), cxi_zeros(r->in_types[1]),
                       cxi_full(numbers, -1) };
  cxi_type types[5];
  for (int i = 0; i < 5; i++)
    if (!(types[i] = cxi_type_at(args[i]))) return false;
  cx inner[5], made[3] = { { 0, 0 } }, results[3];
  cxi_builder b;
  cxi_builder_open(&b);
  for (int i = 0; i < 5; i++) inner[i] = cxi_builder_input(&b, types[i]);
  if (!choose_step(p, q->select, inner, made) && !b.error.code) {
    cxi_builder_abandon(&b);
    return false;
  }
  const cxi_scan_params scan = {
    .length = p->count, .unroll = 1, .n_consts = 2, .n_carry = 3
  };
  if (!loop(&b, 5, inner, 3, made, scan, args, results)) return false;
  *out = results[2];
  return true;
}

/* One window: its y is joined to the result at its place. */
static bool scatter_step(const cxi_program *scatter, const cx *in, cx *out) {
  const cx_dims one = { 1, { 1 } };
  const cx zero = cxi_integer(CX_I32, 0);
  const cx at = cxi_max(in[1], zero);
  const cx now =
      cxi_reshape(cxi_dynamic_slice(in[0], &at, one), (cx_dims){ 0 });
  cx next;
  if (!cxi_each(scatter, (cx[]){ in[2], now }, &next)) return false;
  next = cxi_select(cxi_compare(CXI_PRIM_ge, in[1], zero), now, next);
  out[0] = cxi_dynamic_update_slice(in[0], cxi_reshape(next, one), &at);
  return true;
}

static void expand_scatter(const cxi_rule *r, const cx *in, cx *out) {
  const cxi_select_and_scatter_params *q = r->params;
  const places p = places_of(r->params, *cxi_type_shape(r->in_types[0]),
                             *cxi_type_shape(r->in_types[1]));
  const int64_t n = cxi_dims_count(&p.operand);
  const cx_dims windows = { 1, { cxi_dims_count(&p.result) } };
  const cx_dtype type = cxi_type_dtype(r->in_types[0]);
  cx chosen;
  out[0] = cxi_start_full(in[2], &p.operand);
  if (n == 0 || windows.d[0] == 0 || too_long(n) || too_long(p.count) ||
      !choose(&p, r, in[0], &chosen))
    return;
  const cx args[3] = { cxi_reshape(out[0], (cx_dims){ 1, { n } }),
                       cxi_reshape(chosen, windows),
                       cxi_reshape(in[1], windows) };
  cx made = { 0, 0 }, result;
  cxi_builder b;
  cxi_builder_open(&b);
  const cx inner[3] = {
    cxi_builder_input(&b, cxi_type_make(type, (cx_dims){ 1, { n } })),
    cxi_builder_input(&b, cxi_type_scalar(CX_I32)),
    cxi_builder_input(&b, cxi_type_scalar(type)),
  };
  if (!scatter_step(q->scatter, inner, &made) && !b.error.code) {
    cxi_builder_abandon(&b);
    return;
  }
  const cxi_scan_params scan = {
    .length = windows.d[0], .unroll = 1, .n_consts = 0, .n_carry = 1
  };
  if (loop(&b, 3, inner, 1, &made, scan, args, &result))
    out[0] = cxi_reshape(result, p.operand);
}

static void batch_scatter(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  const cxi_select_and_scatter_params *p = r->params;
  const int first = cxi_first_batched(axis, 2), at = first < 0 ? 0 : first;
  const cxi_window w = cxi_window_batched(r->params, at);
  out_axis[0] = at;
  out[0] = cxi_select_and_scatter(
      cxi_batch_to(in[0], axis[0], at, size),
      cxi_batch_to(in[1], axis[1], at, size),
      cxi_batch_start(in[2], axis[2], at, size, cxi_type_shape(r->in_types[0])),
      &w, p->select, p->scatter);
}

static const char *const examples_select_and_scatter[] = {
  "program @ge(%0: f64[], %1: f64[]) { %2: bool[] = ge %0, %1 return %2 }\n"
  "program @add(%0: f64[], %1: f64[]) { %2: f64[] = add %0, %1 return %2 }\n"
  "program @main(%0: f64[5,4], %1: f64[5,4], %2: f64[]) { %3: f64[5,4] = "
  "select_and_scatter[window=(3,3), strides=(1,1), low=(1,1), high=(1,1), "
  "base_dilation=(1,1), window_dilation=(1,1), select=@ge, scatter=@add] %0, "
  "%1, %2 return %3 }",
  "program @le(%0: f32[], %1: f32[]) { %2: bool[] = le %0, %1 return %2 }\n"
  "program @mul(%0: f32[], %1: f32[]) { %2: f32[] = mul %0, %1 return %2 }\n"
  "program @main(%0: f32[4], %1: f32[2], %2: f32[4]) { %3: f32[4] = "
  "select_and_scatter[window=(2), strides=(2), low=(0), high=(0), "
  "base_dilation=(1), window_dilation=(1), select=@le, scatter=@mul] %0, %1, "
  "%2 return %3 }",
  NULL
};

const cxi_row cxi_row_select_and_scatter = {
  .prim = CXI_PRIM_select_and_scatter,
  .form = CXI_FORM_CALL,
  .formula = "start with y of each window joined where select chose x",
  .infer = infer_scatter,
  .jvp = cxi_jvp_expansion,
  .jvp_emits = true,
  .batch = batch_scatter,
  .expand = expand_scatter,
  .evaluate = cxi_evaluate_expansion,
  .no_transpose = "not linear",
  .examples = examples_select_and_scatter,
};
