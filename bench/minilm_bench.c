/* minilm_bench.c - sentences to vectors as all-MiniLM-L6-v2 does it, against
 * what OpenBLAS alone needs for the matrix products in it.
 *
 *   minilm_bench [threads [sentences [tokens]]]       2 32 128
 * Weights are random: they change no time. Both are run in turn; times are
 * medians, with one thread its processor time, so that a busy machine does not
 * count. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "calx/calx.h"
#include "calx/models/sentence.h"

static const sentence_config model = {
  .encoder = { .vocab_size = 30522,
               .hidden_size = 384,
               .num_hidden_layers = 6,
               .num_attention_heads = 12,
               .intermediate_size = 1536,
               .max_position_embeddings = 512,
               .type_vocab_size = 2,
               .layer_norm_eps = 1e-12,
               .hidden_act = "gelu" },
  .normalize = true,
};

static clockid_t timer = CLOCK_PROCESS_CPUTIME_ID;
static double now(void) {
  struct timespec t;
  clock_gettime(timer, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, compare);
  return times[n / 2];
}

/* -- OpenBLAS: the same products, each thread its share of the sentences ----------- */

typedef void sgemm(int order, int turn_a, int turn_b, int m, int n, int k,
                   float alpha, const float *a, int lda, const float *b,
                   int ldb, float beta, float *c, int ldc);
static sgemm *blas;

static void open_blas(void) {
  static const char *const names[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
    "libopenblas.so.0"
  };
  for (int i = 0; i < 2 && !blas; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library) *(void **)&blas = dlsym(library, "cblas_sgemm");
  }
}

typedef struct share {
  int b, s; /* sentences, tokens */
  const float *weights;
  float *x, *q, *k, *v, *scores, *wide;
} share;

/* y (rows, out) = x (rows, in) w^T, w (out, in) */
static void dense(const float *x, const float *w, float *y, int rows, int out,
                  int in) {
  blas(101, 111, 112, rows, out, in, 1, x, in, w, in, 0, y, out);
}
static void attention(const share *t) {
  const int h = model.encoder.hidden_size;
  const int n = model.encoder.num_attention_heads, d = h / n, s = t->s;
  for (int i = 0; i < t->b * n; i++) {
    const size_t at = (size_t)(i / n) * (size_t)(s * h) + (size_t)(i % n * d);
    float *scores = t->scores + (size_t)i * (size_t)(s * s);
    blas(101, 111, 112, s, s, d, 1, t->q + at, h, t->k + at, h, 0, scores, s);
    blas(101, 111, 111, s, d, s, 1, scores, s, t->v + at, h, 0, t->x + at, h);
  }
}
static void *run_share(void *argument) {
  const share *t = argument;
  const int rows = t->b * t->s, h = model.encoder.hidden_size;
  const int m = model.encoder.intermediate_size;
  for (int i = 0; i < model.encoder.num_hidden_layers; i++) {
    const float *w = t->weights + (size_t)i * (size_t)(4 * h * h + 2 * h * m);
    dense(t->x, w, t->q, rows, h, h);
    dense(t->x, w + h * h, t->k, rows, h, h);
    dense(t->x, w + 2 * h * h, t->v, rows, h, h);
    attention(t);
    dense(t->x, w + 3 * h * h, t->q, rows, h, h);
    dense(t->q, w + 4 * h * h, t->wide, rows, m, h);
    dense(t->wide, w + 4 * h * h + h * m, t->k, rows, h, m);
  }
  return NULL;
}
static float *numbers(size_t n) {
  float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
  for (size_t i = 0; x && i < n; i++) x[i] = (float)(i % 97) * 0.002f - 0.1f;
  if (!x) exit(1);
  return x;
}
static share *make_shares(int threads, int b, int s) {
  const size_t h = 384, m = 1536, layers = 6, heads = 12;
  const float *weights = numbers(layers * (4 * h * h + 2 * h * m));
  share *all = calloc((size_t)threads, sizeof *all);
  if (!all) exit(1);
  for (int i = 0; i < threads; i++) {
    share *t = &all[i];
    *t = (share){ .b = (b + i) / threads, .s = s, .weights = weights };
    const size_t rows = (size_t)t->b * (size_t)s;
    t->x = numbers(rows * h), t->q = numbers(rows * h);
    t->k = numbers(rows * h), t->v = numbers(rows * h);
    t->wide = numbers(rows * m);
    t->scores = numbers(rows * heads * (size_t)s);
  }
  return all;
}
static void run_blas(share *all, int threads) {
  pthread_t others[64];
  for (int i = 1; i < threads; i++)
    pthread_create(&others[i], NULL, run_share, &all[i]);
  run_share(&all[0]);
  for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
}

/* -- Calx ----------------------------------------------------------------- */

static void run_calx(cx params, cx ids, cx lengths) {
  CX_SCOPE;
  cx f = cx_call(cx_jit(CX_BIND_TO(sentence_vectors, &model)), params, ids,
                 lengths);
  cx_wait(f);
}

static double flops(int b, int s) {
  const double h = 384, m = 1536, rows = (double)b * s;
  return 6 * 2 * rows * (4 * h * h + 2 * h * m + 2 * s * h);
}
static void report(const char *name, double seconds, int b, int s) {
  printf("%-22s %8.2f ms %8.1f GFLOP/s %8.0f sentences/s\n", name,
         seconds * 1e3, flops(b, s) / seconds * 1e-9, b / seconds);
}
int main(int argc, char **argv) {
  enum { RUNS = 15 };
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const int b = argc > 2 ? atoi(argv[2]) : 32;
  const int s = argc > 3 ? atoi(argv[3]) : 128;
  if (threads < 1 || threads > 64 || b < threads || s < 1 || s > 512) return 2;
  if (threads > 1) timer = CLOCK_MONOTONIC;
  cx_ctx *ctx = cx_open("cpu", .threads = threads);
  if (!ctx) return 1;
  cx key = cx_key(1);
  cx params = bert_init(&model.encoder, key, 0.02);
  cx ids = cx_randint(key, 0, 30522, b, s);
  cx lengths = cx_full(s, CX_I32, b);
  open_blas();
  share *shares = blas ? make_shares(threads, b, s) : NULL;
  double ours[RUNS], theirs[RUNS];
  run_calx(params, ids, lengths);
  for (int i = 0; i < RUNS && cx_ok(); i++) {
    double start = now();
    run_calx(params, ids, lengths);
    ours[i] = now() - start;
    start = now();
    if (blas) run_blas(shares, threads);
    theirs[i] = now() - start;
  }
  const char *message;
  const bool failed = cx_error(&message) != CX_OK;
  if (failed) {
    puts(message);
  } else {
    const double x = median(ours, RUNS);
    printf("%d sentences of %d tokens, %d threads\n", b, s, threads);
    report("sentence_vectors", x, b, s);
    if (blas) {
      const double y = median(theirs, RUNS);
      report("OpenBLAS, products", y, b, s);
      printf("%.1f %% of OpenBLAS's rate\n", 100 * y / x);
    }
  }
  cx_close(ctx);
  return failed;
}
