/* operations.c - group I: single operations on large arrays. */
#include "bench/bench.h"

enum { MILLION = 1000000 };

CX_DEF(gelu_bias_residual, x, b, r) {
  return cx_add(r, cx_gelu(cx_add(x, b)));
}
CX_DEF(gelu_tanh_bias_residual, x, b, r) {
  return cx_add(r, cx_gelu_tanh(cx_add(x, b)));
}
CX_DEF(layer_norm, x, gamma, beta) {
  return cx_layer_norm(x, gamma, beta, .eps = 1e-5);
}
CX_DEF(softmax, x) {
  return cx_softmax(x, -1);
}
CX_DEF(sum, x) {
  return cx_sum(x);
}
CX_DEF(logsumexp, x) {
  return cx_logsumexp(x, -1);
}
CX_DEF(exponential, x) {
  return cx_exp(x);
}
CX_DEF(hyperbolic, x) {
  return cx_tanh(x);
}
CX_DEF(uniform, key) {
  return cx_uniform(key, CX_F32, 10 * MILLION);
}
CX_DEF(normal, key) {
  return cx_normal(key, CX_F32, 10 * MILLION);
}
CX_DEF(sort, x) {
  return cx_sort(x, 0);
}
CX_DEF(argsort, x) {
  return cx_argsort(x, 0);
}
CX_DEF(cumsum, x) {
  return cx_cumsum(x, 0);
}
CX_DEF(gather, table, ids) {
  return cx_take(table, ids, 0);
}
CX_DEF(scatter_add, ids, updates) {
  return cx_at_add(cx_zeros(CX_F32, 10000, 64), (ids), updates);
}
CX_DEF(transpose, x) {
  return cx_transpose(x, 1, 0);
}

static void gelu(const bench_case *c, bench_work *w) {
  const bool by_tanh = c->k;
  *w = (bench_work){ .f = by_tanh ? CX_FN(gelu_tanh_bias_residual)
                                  : CX_FN(gelu_bias_residual),
                     .args = { bench_uniform("o.x", 3, c->m, c->n),
                               bench_uniform("o.b", 1, c->n),
                               bench_uniform("o.r", 1, c->m, c->n) },
                     .n_args = 3,
                     .value = BENCH_MEAN_1000,
                     .gbytes = (double)(c->m * c->n) * 12e-9 };
}
static void rows(const bench_case *c, bench_work *w) {
  cx x = bench_uniform(c->text, 5, c->m, c->n);
  *w = (bench_work){ .f = c->k ? CX_FN(logsumexp) : CX_FN(softmax),
                     .args = { x },
                     .n_args = 1,
                     .value = BENCH_MEAN_1000,
                     .gbytes = (double)(c->m * c->n) * (c->k ? 4e-9 : 8e-9) };
}
static void norm(const bench_case *c, bench_work *w) {
  *w = (bench_work){ .f = CX_FN(layer_norm),
                     .args = { bench_uniform("o.l", 1, c->m, c->n),
                               bench_uniform("o.g", 1, c->n),
                               bench_uniform("o.lb", 1, c->n) },
                     .n_args = 3,
                     .value = BENCH_MEAN_1000,
                     .gbytes = (double)(c->m * c->n) * 8e-9 };
}
/* One function of one vector. */
static void vector(const bench_case *c, bench_work *w) {
  const cx_fn functions[] = { CX_FN(sum),        CX_FN(exponential),
                              CX_FN(hyperbolic), CX_FN(cumsum),
                              CX_FN(sort),       CX_FN(argsort) };
  *w = (bench_work){ .f = functions[c->k],
                     .args = { bench_uniform(c->text, 1, c->n) },
                     .n_args = 1,
                     .value = BENCH_MEAN_1000,
                     .gbytes = (double)c->n * (double)c->m * 1e-9 };
}
static void random_numbers(const bench_case *c, bench_work *w) {
  *w = (bench_work){ .f = c->k ? CX_FN(normal) : CX_FN(uniform),
                     .args = { cx_key(0) },
                     .n_args = 1,
                     .value = BENCH_MEAN_1000 };
}
static void rows_of_table(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){ .f = CX_FN(gather),
                     .args = { bench_uniform("emb.word", 0.035, 30522, 768),
                               bench_integers("ids", 30522, 32, 512) },
                     .n_args = 2,
                     .value = BENCH_MEAN_1000,
                     .gbytes = 32 * 512 * 768 * 8e-9 };
}
static void rows_added(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){ .f = CX_FN(scatter_add),
                     .args = { bench_integers("o.i", 10000, 100000),
                               bench_uniform("o.u", 1, 100000, 64) },
                     .n_args = 2,
                     .value = BENCH_MEAN_1000,
                     .gbytes = 100000 * 64 * 4e-9 };
}
static void turned(const bench_case *c, bench_work *w) {
  *w = (bench_work){ .f = CX_FN(transpose),
                     .args = { bench_uniform("o.x", 3, c->m, c->n) },
                     .n_args = 1,
                     .value = BENCH_MEAN_1000,
                     .gbytes = (double)(c->m * c->n) * 8e-9 };
}

/* -- convolution: 3 x 3, stride 1, same size -------------------------------- */

CX_STRUCT(layout, (bool, channels_last));
CX_DEF_ENV(convolve, layout, l, x, w) {
  return cx_conv(x, w, .padding = "SAME",
                 .layout = l->channels_last ? "NHWC,HWIO,NHWC" : NULL);
}
CX_DEF_ENV(weighted, layout, l, x, w, g) {
  return cx_sum(cx_mul(convolve(l, x, w), g));
}
static void convolution(const bench_case *c, bench_work *w) {
  const bool last = c->m, gradients = c->k;
  cx x = bench_uniform("c.x", 1, 32, 64, 56, 56);
  cx kernel = bench_uniform("c.w", 0.1, 64, 64, 3, 3);
  cx g = bench_uniform("c.g", 1, 32, 64, 56, 56);
  if (last) {
    x = cx_transpose(x, 0, 2, 3, 1), g = cx_transpose(g, 0, 2, 3, 1);
    kernel = cx_transpose(kernel, 2, 3, 1, 0);
  }
  cx_fn f = CX_BIND(convolve, .channels_last = last);
  if (gradients)
    f = cx_value_and_grad(CX_BIND(weighted, .channels_last = last),
                          .wrt = CX_ARGS(0, 1));
  *w = (bench_work){ .f = f,
                     .args = { x, kernel, g },
                     .n_args = gradients ? 3 : 2,
                     .value = BENCH_MEAN,
                     .leaf = gradients ? 2 : 0,
                     .gflop = gradients ? 22.2 : 7.399 };
}

#define VECTOR(which, n, passes, name, text) \
  { "ops/" name, vector, 0, passes, n, which, CX_F32, text }
static const bench_case cases[] = {
  { "ops/gelu_bias_residual_4096x3072", gelu, 0, 4096, 3072, 0, CX_F32, "" },
  { "ops/gelu_tanh_bias_residual_4096x3072", gelu, 0, 4096, 3072, 1, CX_F32,
    "" },
  { "ops/softmax_4096x512", rows, 0, 4096, 512, 0, CX_F32, "o.s" },
  { "ops/layernorm_4096x768", norm, 0, 4096, 768, 0, CX_F32, "" },
  VECTOR(0, 10 * MILLION, 4, "sum_1e7", "o.n"),
  { "ops/logsumexp_1000x10000", rows, 0, 1000, 10000, 1, CX_F32, "o.e" },
  VECTOR(1, 10 * MILLION, 8, "exp_1e7", "o.n"),
  VECTOR(2, 10 * MILLION, 8, "tanh_1e7", "o.n"),
  { "ops/uniform_1e7", random_numbers, 0, 0, 0, 0, CX_F32, "" },
  { "ops/normal_1e7", random_numbers, 0, 0, 0, 1, CX_F32, "" },
  VECTOR(4, MILLION, 8, "sort_1e6", "o.q"),
  VECTOR(5, MILLION, 8, "argsort_1e6", "o.q"),
  VECTOR(3, 10 * MILLION, 8, "cumsum_1e7", "o.n"),
  { "ops/gather_32x512_30522x768", rows_of_table, 0, 0, 0, 0, CX_F32, "" },
  { "ops/scatter_add_1e5x64_into_1e4", rows_added, 0, 0, 0, 0, CX_F32, "" },
  { "ops/transpose_4096x3072", turned, 0, 4096, 3072, 0, CX_F32, "" },
  { "ops/conv3x3_32x64x56x56_fwd_nchw", convolution, 0, 0, 0, 0, CX_F32, "" },
  { "ops/conv3x3_32x64x56x56_fwdgrad_nchw", convolution, 0, 0, 0, 1, CX_F32,
    "" },
  { "ops/conv3x3_32x64x56x56_fwd_nhwc", convolution, 0, 1, 0, 0, CX_F32, "" },
  { "ops/conv3x3_32x64x56x56_fwdgrad_nhwc", convolution, 0, 1, 0, 1, CX_F32,
    "" },
};
const bench_group bench_operations = { 'I', "operations", cases,
                                       sizeof cases / sizeof *cases };
