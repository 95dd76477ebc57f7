/* tracing_bench.c - what a long program costs before it runs: tracing, its
 * gradient, a batch of gradients, simplified and planned.
 *
 *   tracing_bench [EQUATIONS...]      (10000 30000 100000)
 * A line for each size: seconds of each step, the best of three runs on
 * functions that were not traced before. A mixed program: products, sums,
 * sines, slices, and calls of a function now and then. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "calx.h"

enum { RUNS = 3, STEPS = 4 };
static const char *const names[STEPS] = { "trace", "grad", "vmap of grad",
                                          "first call" };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

CX_STRUCT(long_env, (int, equations), (int, number));

CX_DEF_ENV(long_function, long_env, e, x) {
  cx sum = cx_mul(x, 0.5 + 0.001 * e->number);
  for (int i = 0; i < e->equations / 5; i++) {
    cx a = cx_sin(sum);
    cx b = cx_mul(a, x);
    cx c = cx_sub(b, sum);
    sum = cx_add(cx_mul(c, 0.5), a);
  }
  return cx_sum(sum);
}

/* Seconds of the steps for one function of its own. */
static void measure(int equations, int number, double *best) {
  CX_SCOPE;
  cx_fn f = CX_BIND(long_function, .equations = equations, .number = number);
  cx x = cx_ones(CX_F32, 8), xs = cx_ones(CX_F32, 4, 8);
  double t[STEPS];
  double start = now();
  cx_program_free(cx_trace(f, x));
  t[0] = now() - start;
  start = now();
  cx_program_free(cx_trace(cx_grad(f), x));
  t[1] = now() - start;
  start = now();
  cx_fn each = cx_vmap(cx_grad(f));
  cx_program_free(cx_trace(each, xs));
  t[2] = now() - start;
  start = now();
  cx_wait(cx_call(cx_jit(each), xs));
  t[3] = now() - start;
  for (int i = 0; i < STEPS; i++)
    if (number % RUNS == 0 || t[i] < best[i]) best[i] = t[i];
}

int main(int argc, char **argv) {
  static const int usual[] = { 10000, 30000, 100000 };
  const int n = argc > 1 ? argc - 1 : 3;
  static int number;
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  printf("%9s", "equations");
  for (int k = 0; k < STEPS; k++) printf("  %12s", names[k]);
  printf("  %12s\n", "first three");
  for (int i = 0; i < n; i++) {
    const int equations = argc > 1 ? atoi(argv[i + 1]) : usual[i];
    double best[STEPS];
    for (int run = 0; run < RUNS; run++) measure(equations, number++, best);
    printf("%9d", equations);
    for (int k = 0; k < STEPS; k++) printf("  %10.1f ms", 1e3 * best[k]);
    printf("  %10.1f ms\n", 1e3 * (best[0] + best[1] + best[2]));
  }
  const char *message;
  if (cx_error(&message)) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return 0;
}
