/* calx_bench.c - what the CPU executor reaches: calls, passes, products.
 *
 *   calx_bench [threads [name]]
 * One line a case: the median time of a run (of one thread: its processor time,
 * so that a busy machine does not count), and its rate: GB/s of operands
 * and results, or GFLOP/s, beside that of OpenBLAS if it is installed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/cpu.h"
#include "base/alloc.h"
#include "ir/text.h"

typedef struct bench_case {
  const char *name;
  int64_t m, n, k; /* of a product; else 0 */
  const char *text;
} bench_case;

#define PRODUCT(m, n, k)                                                     \
  "program @f(%0: f32[" #m "," #k "], %1: f32[" #k "," #n "]) { %2: f32[" #m \
  "," #n "] = dot_general[lhs_contract=(1), rhs_contract=(0), "              \
  "lhs_batch=(), rhs_batch=(), type=f32] %0, %1 return %2 }"
#define TURNED(m, n, k)                                                      \
  "program @f(%0: f32[" #m "," #k "], %1: f32[" #n "," #k "]) { %2: f32[" #m \
  "," #n "] = dot_general[lhs_contract=(1), rhs_contract=(1), "              \
  "lhs_batch=(), rhs_batch=(), type=f32] %0, %1 return %2 }"
#define GRADIENT(m, n, k)                                                    \
  "program @f(%0: f32[" #k "," #m "], %1: f32[" #k "," #n "]) { %2: f32[" #m \
  "," #n "] = dot_general[lhs_contract=(0), rhs_contract=(0), "              \
  "lhs_batch=(), rhs_batch=(), type=f32] %0, %1 return %2 }"

/* 32 images of 56 x 56, 64 channels to 64 features by 3 x 3: m positions, n
 * features, k products each. */
#define IMAGES "f32[32,64,56,56]"
#define CONV(x, w, y, low, axes_x, axes_w, axes_y)                \
  "program @f(%0: " x ", %1: " w ") { %2: " y                     \
  " = conv_general_dilated[strides=(1,1), low=" low ", high=" low \
  ", lhs_dilation=(1,1), rhs_dilation=(1,1), lhs_axes=" axes_x    \
  ", rhs_axes=" axes_w ", out_axes=" axes_y                       \
  ", feature_groups=1, batch_groups=1, type=f32] %0, %1 return %2 }"

static const bench_case cases[] = {
  { "call x+1", 0, 0, 0,
    "program @f(%0: f32[]) { %1: f32[] = add %0, 1.0:f32 return %1 }" },
  { "add 4096", 0, 0, 0,
    "program @f(%0: f32[4096], %1: f32[4096]) { %2: f32[4096] = add %0, %1"
    " return %2 }" },
  { "add 1e7", 0, 0, 0,
    "program @f(%0: f32[10000000], %1: f32[10000000]) { %2: f32[10000000] ="
    " add %0, %1 return %2 }" },
  { "exp 1e7", 0, 0, 0,
    "program @f(%0: f32[10000000]) { %1: f32[10000000] = exp %0 return %1 }" },
  { "tanh 1e7", 0, 0, 0,
    "program @f(%0: f32[10000000]) { %1: f32[10000000] = tanh %0 return %1 }" },
  { "sum 1e7", 0, 0, 0,
    "program @f(%0: f32[10000000]) { %1: f32[] = reduce_sum[axes=(0)] %0"
    " return %1 }" },
  { "column sum", 0, 0, 0,
    "program @f(%0: f32[4096,3072]) { %1: f32[3072] = reduce_sum[axes=(0)] %0"
    " return %1 }" },
  { "transpose", 0, 0, 0,
    "program @f(%0: f32[4096,3072]) { %1: f32[3072,4096] ="
    " transpose[permutation=(1,0)] %0 return %1 }" },
  { "heads apart", 0, 0, 0,
    "program @f(%0: f32[32,128,12,32]) { %1: f32[32,12,128,32] ="
    " transpose[permutation=(0,2,1,3)] %0 return %1 }" },
  { "gelu+bias+res", 0, 0, 0,
    "program @f(%0: f32[4096,1536], %1: f32[1536], %2: f32[4096,1536]) {"
    " %3: f32[4096,1536] = broadcast_in_dim[shape=(4096,1536), map=(1)] %1"
    " %4: f32[4096,1536] = add %0, %3"
    " %5: f32[4096,1536] = mul %4, 0.70710678:f32"
    " %6: f32[4096,1536] = erf %5 %7: f32[4096,1536] = add %6, 1.0:f32"
    " %8: f32[4096,1536] = mul %4, 0.5:f32 %9: f32[4096,1536] = mul %8, %7"
    " %10: f32[4096,1536] = add %9, %2 return %10 }" },
  { "softmax", 0, 0, 0,
    "program @f(%0: f32[32,12,128,128]) {"
    " %1: f32[32,12,128] = reduce_max[axes=(3)] %0"
    " %2: f32[32,12,128,128] = broadcast_in_dim[shape=(32,12,128,128),"
    " map=(0,1,2)] %1 %3: f32[32,12,128,128] = sub %0, %2"
    " %4: f32[32,12,128,128] = exp %3"
    " %5: f32[32,12,128] = reduce_sum[axes=(3)] %4"
    " %6: f32[32,12,128,128] = broadcast_in_dim[shape=(32,12,128,128),"
    " map=(0,1,2)] %5 %7: f32[32,12,128,128] = div %4, %6 return %7 }" },
  { "layer norm", 0, 0, 0,
    "program @f(%0: f32[4096,384], %1: f32[384], %2: f32[384]) {"
    " %4: f32[4096] = reduce_sum[axes=(1)] %0 %5: f32[4096] = div %4, 384.0:f32"
    " %6: f32[4096,384] = broadcast_in_dim[shape=(4096,384), map=(0)] %5"
    " %7: f32[4096,384] = sub %0, %6 %8: f32[4096,384] = square %7"
    " %9: f32[4096] = reduce_sum[axes=(1)] %8 %10: f32[4096] = div %9, "
    "384.0:f32"
    " %11: f32[4096] = add %10, 1e-05:f32 %12: f32[4096] = rsqrt %11"
    " %13: f32[4096,384] = broadcast_in_dim[shape=(4096,384), map=(0)] %12"
    " %14: f32[4096,384] = mul %7, %13"
    " %16: f32[4096,384] = broadcast_in_dim[shape=(4096,384), map=(1)] %1"
    " %17: f32[4096,384] = mul %14, %16"
    " %18: f32[4096,384] = broadcast_in_dim[shape=(4096,384), map=(1)] %2"
    " %19: f32[4096,384] = add %17, %18 return %19 }" },
  { "while 1e6", 0, 0, 0,
    "program @cond(%0: i32[], %1: f32[]) { %2: bool[] = lt %0, 1000000:i32"
    " return %2 } program @body(%0: i32[], %1: f32[]) {"
    " %2: i32[] = add %0, 1:i32 %3: f32[] = mul %1, 0.999:f32 return %2, %3 }"
    "program @main(%0: i32[], %1: f32[]) { %2: i32[], %3: f32[] ="
    " while[cond=@cond, body=@body, n_cond_consts=0, n_body_consts=0] %0, %1"
    " return %2, %3 }" },
  { "product", 4096, 384, 384, PRODUCT(4096, 384, 384) },
  { "product", 4096, 1536, 384, PRODUCT(4096, 1536, 384) },
  { "product", 4096, 384, 1536, PRODUCT(4096, 384, 1536) },
  { "product", 4096, 768, 768, PRODUCT(4096, 768, 768) },
  { "product", 128, 3072, 768, PRODUCT(128, 3072, 768) },
  { "product", 16, 384, 384, PRODUCT(16, 384, 384) },
  { "product", 1, 3072, 768, PRODUCT(1, 3072, 768) },
  { "turned", 4096, 768, 768, TURNED(4096, 768, 768) },
  { "turned", 128, 3072, 768, TURNED(128, 3072, 768) },
  { "turned", 1, 3072, 768, TURNED(1, 3072, 768) },
  { "gradient", 768, 768, 4096, GRADIENT(768, 768, 4096) },
  { "gradient", 384, 1536, 4096, GRADIENT(384, 1536, 4096) },
  { "conv NCHW", 100352, 64, 576,
    CONV(IMAGES, "f32[64,64,3,3]", IMAGES, "(1,1)", "(0,1,2,3)", "(0,1,2,3)",
         "(0,1,2,3)") },
  { "conv NHWC", 100352, 64, 576,
    CONV("f32[32,56,56,64]", "f32[3,3,64,64]", "f32[32,56,56,64]", "(1,1)",
         "(0,3,1,2)", "(3,2,0,1)", "(0,3,1,2)") },
  { "conv weights", 64, 576, 100352,
    CONV(IMAGES, IMAGES, "f32[64,64,3,3]", "(1,1)", "(1,0,2,3)", "(1,0,2,3)",
         "(1,0,2,3)") },
};

static clockid_t timer = CLOCK_THREAD_CPUTIME_ID;

static double now(void) {
  struct timespec t;
  clock_gettime(timer, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median time of a call, of at least 5 measurements and about 0.3 s. */
static double median_seconds(void (*call)(void *), void *argument) {
  double times[101], total = 0;
  call(argument);
  int64_t repeats = 1;
  double start = now();
  call(argument);
  const double once = now() - start;
  if (once < 1e-4) repeats = (int64_t)(1e-4 / (once + 1e-8)) + 1;
  int n = 0;
  while (n < 5 || (n < 101 && total < 0.3)) {
    start = now();
    for (int64_t i = 0; i < repeats; i++) call(argument);
    const double seconds = now() - start;
    times[n++] = seconds / (double)repeats;
    total += seconds;
  }
  qsort(times, (size_t)n, sizeof *times, compare);
  return times[n / 2];
}

typedef struct call {
  const cxi_executable *exe;
  const void *in[4];
  void *out[4], *workspace;
  int threads;
} call;

static void run(void *argument) {
  call *c = argument;
  cxi_error error = { 0 };
  if (!cxi_executable_run(c->exe, c->in, c->out, c->workspace, c->threads,
                          &error))
    puts(error.text);
}

/* -- OpenBLAS -------------------------------------------------------------- */

typedef void sgemm(int order, int turn_a, int turn_b, int m, int n, int k,
                   float alpha, const float *a, int lda, const float *b,
                   int ldb, float beta, float *c, int ldc);
typedef struct blas_call {
  sgemm *sgemm;
  const bench_case *b;
  call *c;
} blas_call;

static sgemm *open_blas(void) {
  static const char *const names[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
    "libopenblas.so.0"
  };
  for (int i = 0; i < 2; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    sgemm *f = NULL;
    if (library) *(void **)&f = dlsym(library, "cblas_sgemm");
    if (f) return f;
  }
  return NULL;
}

static void run_blas(void *argument) {
  const blas_call *x = argument;
  const int m = (int)x->b->m, n = (int)x->b->n, k = (int)x->b->k;
  const bool turn_a = !strcmp(x->b->name, "gradient");
  const bool turn_b = !strcmp(x->b->name, "turned");
  x->sgemm(101, turn_a ? 112 : 111, turn_b ? 112 : 111, m, n, k, 1, x->c->in[0],
           turn_a ? m : k, x->c->in[1], turn_b ? k : n, 0, x->c->out[0], n);
}

/* -- cases ----------------------------------------------------------------- */

static void *array_like(cxi_type type, size_t *bytes) {
  const cx_aval *t = cxi_type_aval(type);
  const int64_t n = cxi_dims_count(&t->shape);
  void *data = aligned_alloc(64, (size_t)(cxi_aval_bytes(t) + 64) / 64 * 64);
  for (int64_t i = 0; t->type == CX_F32 && i < n; i++)
    ((float *)data)[i] = (float)(i % 97) * 0.02f - 1;
  if (t->type != CX_F32) memset(data, 0, (size_t)cxi_aval_bytes(t));
  *bytes += (size_t)cxi_aval_bytes(t);
  return data;
}

static bool run_case(const bench_case *b, int threads) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(b->text, strlen(b->text), &error);
  cxi_executable *exe =
      p ? cxi_compile(p, &cxi_cpu_backend, (cxi_compile_options){ 0 }, &error)
        : NULL;
  if (!exe) {
    printf("%s: %s\n", b->name, error.text);
    cxi_program_release(p);
    return false;
  }
  size_t bytes = 0;
  call c = { .exe = exe,
             .threads = threads,
             .workspace = aligned_alloc(64, cxi_executable_workspace(exe)) };
  for (uint32_t i = 0; i < p->n_in; i++)
    c.in[i] = array_like(p->values[i].type, &bytes);
  for (uint32_t i = 0; i < p->n_out; i++)
    c.out[i] = array_like(cxi_output_type(p, i), &bytes);
  const double seconds = median_seconds(run, &c);
  if (b->m) {
    const double flops = 2 * (double)b->m * (double)b->n * (double)b->k;
    printf("%-14s %5lld %5lld %5lld %10.2f us %8.1f GFLOP/s", b->name,
           (long long)b->m, (long long)b->n, (long long)b->k, seconds * 1e6,
           flops / seconds * 1e-9);
    blas_call x = { open_blas(), b, &c };
    if (x.sgemm && strncmp(b->name, "conv", 4) != 0)
      printf("   one thread of OpenBLAS %8.1f",
             flops / median_seconds(run_blas, &x) * 1e-9);
    puts("");
  } else {
    printf("%-14s %28.2f us %8.1f GB/s, %u steps\n", b->name, seconds * 1e6,
           (double)bytes / seconds * 1e-9, cxi_executable_steps(exe));
  }
  for (uint32_t i = 0; i < p->n_in; i++) free((void *)(uintptr_t)c.in[i]);
  for (uint32_t i = 0; i < p->n_out; i++) free(c.out[i]);
  free(c.workspace);
  cxi_executable_release(exe);
  cxi_program_release(p);
  return true;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads > 1) timer = CLOCK_MONOTONIC;
  bool ok = true;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (argc < 3 || !strcmp(argv[2], cases[i].name))
      ok &= run_case(&cases[i], threads);
  return ok ? 0 : 1;
}
