/* products.c - group A: matrix products. */
#include "bench/bench.h"

CX_DEF(product, a, b) {
  return cx_matmul(a, b);
}
static void make(const bench_case *c, bench_work *w) {
  cx a = c->b > 1 ? bench_uniform("gemm.A", 1, c->b, c->m, c->k)
                  : bench_uniform("gemm.A", 1, c->m, c->k);
  cx b = c->b > 1 ? bench_uniform("gemm.B", 1, c->b, c->k, c->n)
                  : bench_uniform("gemm.B", 1, c->k, c->n);
  const double flops = 2.0 * (double)(c->b * c->m * c->n * c->k);
  *w = (bench_work){ .f = CX_FN(product),
                     .args = { cx_cast(a, c->type), cx_cast(b, c->type) },
                     .n_args = 2,
                     .value = BENCH_MEAN,
                     .gflop = flops * 1e-9,
                     .inner = flops > 2e7   ? 1
                              : flops > 1e6 ? 20
                                            : 200,
                     .least = 7,
                     .most = 400,
                     .seconds = 0.4 };
}
#define SIZE(b, m, n, k, name)                          \
  { "gemm/f32/" name, make, b, m, n, k, CX_F32, "" }, { \
    "gemm/bf16/" name, make, b, m, n, k, CX_BF16, ""    \
  }
static const bench_case cases[] = {
  SIZE(1, 128, 768, 768, "128x768x768"),
  SIZE(1, 128, 3072, 768, "128x3072x768"),
  SIZE(1, 128, 768, 3072, "128x768x3072"),
  SIZE(1, 512, 768, 768, "512x768x768"),
  SIZE(1, 4096, 768, 768, "4096x768x768"),
  SIZE(1, 1, 768, 3072, "1x768x3072"),
  SIZE(1, 32, 32, 32, "32x32x32"),
  SIZE(1, 8, 8, 8, "8x8x8"),
  SIZE(1024, 32, 32, 32, "b1024x32x32x32"),
  SIZE(1024, 8, 8, 8, "b1024x8x8x8"),
};
const bench_group bench_products = { 'A', "matrix products", cases,
                                     sizeof cases / sizeof *cases };
