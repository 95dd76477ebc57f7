/* overhead_bench.c - what a call, a plain operation, an equation and a start
 * cost, through the public API.
 *
 *   overhead_bench
 * One line a case: its name, the median time, the target. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "calx.h"

enum { CHAIN = 10000, TIMES = 21 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
/* The median over TIMES runs of f, each of `n` steps: seconds a step. */
static double median(void (*f)(int n), int n) {
  double t[TIMES];
  f(n);
  for (int i = 0; i < TIMES; i++) {
    double start = now();
    f(n);
    t[i] = (now() - start) / n;
  }
  qsort(t, TIMES, sizeof *t, by_value);
  return t[TIMES / 2];
}

CX_DEF(plus_one, x) {
  return cx_add(x, 1.0);
}
CX_DEF(chain, x) {
  for (int i = 0; i < CHAIN; i++) x = cx_sin(x);
  return x;
}
CX_STRUCT(numbered, (int, number));
CX_DEF_ENV(long_chain, numbered, e, x) { /* another function for each number */
  for (int i = 0; i < CHAIN; i++) x = cx_add(x, (double)e->number);
  return x;
}

static cx scalar, vector;
static cx_fn compiled;

static void cached_calls(int n) {
  CX_SCOPE;
  for (int i = 0; i < n; i++) (void)!cx_ndim(cx_call(compiled, scalar));
}
static void eager_adds(int n) {
  CX_SCOPE;
  for (int i = 0; i < n; i++) (void)!cx_ndim(cx_add(vector, vector));
}
static void traces(int n) {
  static int number;
  for (int i = 0; i < n; i += CHAIN) {
    cx_program *p =
        cx_trace(CX_BIND(long_chain, .number = ++number), cx_spec(CX_F32, 3));
    cx_program_free(p);
  }
}
static void line(const char *name, double seconds, double unit,
                 const char *text, const char *target) {
  printf("%-44s %9.3f %s   target %s\n", name, seconds / unit, text, target);
}
int main(void) {
  double start = now();
  cx_ctx *ctx = cx_open("cpu");
  scalar = cx_keep(cx_scalar(2.0, CX_F32));
  compiled = cx_jit(CX_FN(plus_one));
  double first = cx_item(cx_call(compiled, scalar));
  line("main to the first jitted result", now() - start, 1e-3, "ms", "20 ms");
  if (first != 3) return 1;
  vector = cx_keep(cx_ones(CX_F32, 16));
  line("cached jit call of x + 1", median(cached_calls, 1000), 1e-6, "us",
       "1 us");
  line("eager add of f32[16]", median(eager_adds, 1000), 1e-6, "us", "0.4 us");
  line("tracing an equation, finish included", median(traces, CHAIN), 1e-6,
       "us", "0.5 us");
  start = now();
  cx y = cx_call(cx_jit(CX_FN(chain)), cx_ones(CX_F32, 3));
  (void)!cx_ndim(y);
  line("10,000 sin: trace to first result", now() - start, 1e-3, "ms", "50 ms");
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code;
}
