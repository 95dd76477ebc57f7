/* growth_test.c - the gradient of a loop over x[i] costs O(n): equations, time
 * and planned memory, unrolled in C and as a loop of the program; so do the
 * transforms of a long program. */
#include "support/calls.h"

#include <stdlib.h>
#include <time.h>

#include "trace/call.h"
#include "transforms/transforms.h"

enum { N_SIZES = 5 };
static const int sizes[N_SIZES] = { 250, 500, 1000, 2000, 4000 };

CX_DEF(unrolled, x) {
  const int64_t n = cx_dim(x, 0);
  cx sum = cx_scalar(0, CX_F32);
  for (int64_t i = 0; i < n; i++) {
    cx here = cx_index(x, i);
    sum = cx_add(cx_mul(sum, 0.5), cx_mul(cx_sin(here), here));
  }
  return sum;
}

CX_STRUCT(reads, (cx, x));
CX_DEF_ENV(step, reads, e, i, sum) {
  cx here = cx_index(e->x, i);
  return cx_add(cx_mul(sum, 0.5), cx_mul(cx_sin(here), here));
}
CX_DEF(looped, x) {
  return cx_fori(0, cx_dim(x, 0), CX_BIND(step, .x = x), cx_scalar(0, CX_F32));
}

/* A write to x[i] in each step, too. */
CX_DEF_ENV(write_step, reads, e, i, y) {
  cx here = cx_index(e->x, i);
  return cx_at_set(y, (i), cx_mul(here, here));
}
CX_DEF(written, x) {
  return cx_sum(cx_sin(
      cx_fori(0, cx_dim(x, 0), CX_BIND(write_step, .x = x), cx_zeros_like(x))));
}

/* -- measures ------------------------------------------------------------- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double equations(cx_fn f, cx x) {
  cx_program *p = cx_trace(f, x);
  double n = 0;
  for (const char *c = cx_program_text(p); (c = strstr(c, "\n  %")); c += 4)
    n++;
  cx_program_free(p);
  return n;
}

static double plan_bytes(cx_fn f, cx x) {
  const char *peak = strstr(cx_plan(f, x), "peak ");
  assert_non_null(peak);
  return strtod(peak + 5, NULL);
}

typedef struct cost {
  double equations, bytes, first, run;
} cost;

static cost cost_of(cx_fn gradient, int n) {
  CX_SCOPE;
  cx x = cx_linspace(0, 1, n, CX_F32);
  cost c = { .run = 1e9 };
  const double start = seconds();
  cx g = cx_call(gradient, x);
  assert_good();
  assert_int_equal(cx_size(g), n);
  c.first = seconds() - start;
  for (int i = 0; i < 3; i++) {
    const double before = seconds();
    g = cx_call(gradient, x);
    cx_wait(g);
    if (seconds() - before < c.run) c.run = seconds() - before;
  }
  c.equations = equations(gradient, x);
  c.bytes = plan_bytes(gradient, x);
  assert_good();
  return c;
}

/* Sixteen times the size: at most 16 times the cost, within a factor that
 * leaves noise room and a square (256 times) none. */
static bool is_linear(double small, double large, double factor) {
  return large <= factor * 16 * small;
}
static void assert_linear(const char *what, double small, double large,
                          double factor) {
  if (!is_linear(small, large, factor))
    fail_msg("%s: %g for n = %d, %g for n = %d", what, small, sizes[0], large,
             sizes[N_SIZES - 1]);
}

static double least(double a, double b) { return a < b ? a : b; }

static void measure(const char *name, cx_fn gradient, int round, cost *costs) {
  for (int i = 0; i < N_SIZES; i++) {
    const cost now = cost_of(gradient, sizes[i] + round);
    costs[i].equations = now.equations;
    costs[i].bytes = now.bytes;
    costs[i].first = least(costs[i].first, now.first);
    costs[i].run = least(costs[i].run, now.run);
    print_message("%s, n = %4d: %6.0f equations, plan %8.0f bytes, first call"
                  " %7.2f ms, then %6.3f ms\n",
                  name, sizes[i] + round, now.equations, now.bytes,
                  1e3 * now.first, 1e3 * now.run);
  }
}

/* Others use the machine too: what seems to grow faster in time is measured
 * again, with sizes that differ by one, so that each compiles anew. */
static void check(const char *name, cx_fn f) {
  enum { ROUNDS = 4 };
  cost costs[N_SIZES];
  const cost *a = costs, *b = costs + N_SIZES - 1;
  cx_fn gradient = cx_jit(cx_grad(f));
  for (int i = 0; i < N_SIZES; i++) costs[i] = (cost){ .first = 1e9, .run = 1e9 };
  for (int round = 0; round < ROUNDS; round++) {
    measure(name, gradient, round, costs);
    if (is_linear(a->first, b->first, 4) && is_linear(a->run + 2e-6, b->run, 4))
      break;
  }
  assert_linear("equations", a->equations, b->equations, 1.1);
  assert_linear("bytes", a->bytes, b->bytes, 1.1);
  assert_linear("first call", a->first, b->first, 4);
  assert_linear("run", a->run + 2e-6, b->run, 4);
}

static void unrolled_in_c(void **state) {
  (void)state;
  CX_SCOPE;
  check("unrolled", CX_FN(unrolled));
}

static void loop_of_the_program(void **state) {
  (void)state;
  CX_SCOPE;
  check("fori", CX_FN(looped));
  check("fori writing", CX_FN(written));
}

/* Both ways, and by hand: d/dx x sin x = sin x + x cos x, times 0.5^k. */
static void same_gradient(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_linspace(0, 1, 9, CX_F32);
  cx a = cx_call(cx_grad(CX_FN(unrolled)), x);
  cx b = cx_call(cx_grad(CX_FN(looped)), x);
  cx halves = cx_power(0.5, cx_arange(8, -1, -1, CX_F32));
  cx want = cx_mul(cx_add(cx_sin(x), cx_mul(x, cx_cos(x))), halves);
  assert_same_bits(a, b);
  assert_true(cx_item(cx_max(cx_abs(cx_sub(a, want)))) < 1e-6);
  assert_good();
}

/* -- long programs -------------------------------------------------------- */

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

/* Seconds to trace f for x, without earlier programs in the way. */
static double trace_seconds(cx_fn f, cx x) {
  cxi_memos_clear();
  cxi_resolves_clear();
  const double start = seconds();
  cx_program_free(cx_trace(f, x));
  assert_good();
  return seconds() - start;
}

static void transforms_of_long_programs(void **state) {
  (void)state;
  enum { SMALL = 4000, LARGE = 16 * SMALL, RUNS = 3 };
  double small[3] = { 1e9, 1e9, 1e9 }, large[3] = { 1e9, 1e9, 1e9 };
  static const char *const names[] = { "trace", "grad", "vmap of grad" };
  for (int run = 0; run < 2 * RUNS; run++) {
    CX_SCOPE;
    const bool is_large = run % 2;
    cx_fn f = CX_BIND(long_function, .equations = is_large ? LARGE : SMALL,
                      .number = run);
    cx x = cx_ones(CX_F32, 8), xs = cx_ones(CX_F32, 4, 8);
    const double t[3] = { trace_seconds(f, x), trace_seconds(cx_grad(f), x),
                          trace_seconds(cx_vmap(cx_grad(f)), xs) };
    for (int k = 0; k < 3; k++) {
      double *best = is_large ? &large[k] : &small[k];
      if (t[k] < *best) *best = t[k];
    }
  }
  for (int k = 0; k < 3; k++) {
    print_message("%s: %.1f ms for %d equations, %.1f ms for %d\n", names[k],
                  1e3 * small[k], SMALL, 1e3 * large[k], LARGE);
    if (large[k] > 3 * 16 * small[k])
      fail_msg("%s: %g s for %d equations, %g s for %d", names[k], small[k],
               SMALL, large[k], LARGE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(transforms_of_long_programs),
    cmocka_unit_test(same_gradient),
    cmocka_unit_test(unrolled_in_c),
    cmocka_unit_test(loop_of_the_program),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
