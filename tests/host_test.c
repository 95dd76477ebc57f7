/* host_test.c - what the host program does around the library changes no bit:
 * its floating-point mode, more threads than cores, forks, threads that share
 * an executable; and a long program compiles in linear time. */
#include "support/calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

CX_DEF(net, w, x) {
  return cx_sum(cx_exp(cx_mul(1e-30, cx_mul(1e-10, cx_matmul(x, w)))), 0);
}
/* Subnormal operands and results, by themselves and in a sum. */
CX_DEF(small, x) {
  const cx y = cx_mul(x, 1e-30);
  return cx_tuple(y, cx_mul(y, 1e20), cx_sum(y), cx_sqrt(cx_abs(y)));
}

static cx tiny_numbers(void) {
  static float numbers[5000];
  for (int i = 0; i < 5000; i++) numbers[i] = (float)(i - 2500) * 3e-12f;
  return cx_from(numbers, 5000);
}

/* -- the host's floating-point mode ---------------------------------------- */

#if defined __x86_64__
/* What a program linked with -ffast-math sets as it starts: subnormal results
 * and operands are zero; and another rounding on top. */
enum { FLUSH = 0x8040, ROUND_UP = 0x4000 };

static void mode_of_the_host(void **state) {
  (void)state;
  static const char *const devices[] = { "cpu", "reference" };
  for (int i = 0; i < 4; i++) {
    cx_ctx *ctx = cx_open(devices[i % 2], .threads = 1 + i / 2);
    CX_SCOPE;
    const cx x = tiny_numbers();
    const cx want = cx_call(CX_FN(small), x);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH | ROUND_UP);
    const cx plain = cx_call(CX_FN(small), x);
    const cx jitted = cx_call(cx_jit(CX_FN(small)), x);
    const cx single = cx_mul(x, 1e-30);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after & (FLUSH | ROUND_UP), FLUSH | ROUND_UP);
    assert_same_bits(plain, want);
    assert_same_bits(jitted, want);
    assert_same_bits(single, cx_leaf(want, 0));
    assert_true(((const float *)cx_data(single))[2501] != 0);
    cx_close(ctx);
  }
}
#endif

/* -- threads and processes ------------------------------------------------- */

static cx operand(uint64_t seed, int n, int m) {
  return cx_normal(cx_key(seed), CX_F32, n, m);
}

static void threads_above_the_cores(void **state) {
  (void)state;
  float *first = NULL;
  const int counts[] = { 1, 2, 4, 64, 1000 };
  for (int i = 0; i < 5; i++) {
    cx_ctx *ctx = cx_open("cpu", .threads = counts[i]);
    CX_SCOPE;
    const cx y =
        cx_call(cx_jit(CX_FN(net)), operand(1, 300, 200), operand(2, 100, 300));
    assert_good();
    if (!first) {
      first = malloc(200 * sizeof *first);
      memcpy(first, cx_data(y), 200 * sizeof *first);
    }
    assert_memory_equal(first, cx_data(y), 200 * sizeof *first);
    cx_close(ctx);
  }
  free(first);
}

/* A child runs what its parent compiled, and compiles anew. */
static void after_fork(void **state) {
  (void)state;
  cx_ctx *ctx = cx_open("cpu", .threads = 3);
  CX_SCOPE;
  const cx_fn f = cx_jit(CX_FN(net));
  const cx w = operand(1, 300, 200), x = operand(2, 100, 300);
  const cx want = cx_call(f, w, x);
  const float *expected = cx_data(want);
  const pid_t child = fork();
  if (child == 0) {
    const cx again = cx_call(f, w, x), new = cx_call(cx_jit(CX_FN(small)), w);
    const bool good =
        cx_error(NULL) == CX_OK && cx_data(cx_leaf(new, 0)) &&
        memcmp(cx_data(again), expected, 200 * sizeof *expected) == 0;
    _exit(good ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_same_bits(cx_call(f, w, x), want);
  cx_close(ctx);
}

typedef struct job {
  const cx_exe *exe;
  const void *in[2];
  const float *want;
  bool failed;
} job;

static void *run_often(void *argument) {
  job *j = argument;
  float out[200];
  void *space = aligned_alloc(64, (cx_exe_workspace(j->exe) + 63) / 64 * 64);
  j->failed = !space;
  for (int i = 0; i < 50 && !j->failed; i++) {
    memset(out, 0xff, sizeof out);
    j->failed = cx_exe_run(j->exe, j->in, (void *[]){ out }, space) != CX_OK ||
                memcmp(out, j->want, sizeof out) != 0;
  }
  free(space);
  return NULL;
}

static void threads_share_an_executable(void **state) {
  (void)state;
  cx_ctx *ctx = cx_open("cpu", .threads = 2);
  CX_SCOPE;
  const cx w = operand(1, 300, 200), x = operand(2, 100, 300);
  const cx want = cx_call(CX_FN(net), w, x);
  cx_exe *exe = cx_compile(CX_FN(net), w, x);
  assert_good();
  job jobs[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job){ exe, { cx_data(w), cx_data(x) }, cx_data(want), true };
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &jobs[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) assert_false(jobs[i].failed);
  cx_exe_free(exe);
  cx_close(ctx);
}

/* -- a long program -------------------------------------------------------- */

CX_STRUCT(length, (int, n));
CX_DEF_ENV(long_chain, length, e, x) {
  cx y = x;
  for (int i = 0; i < e->n / 2; i++) y = cx_add(cx_sin(y), x);
  return y;
}

static double seconds_to_compile(int n) {
  CX_SCOPE;
  struct timespec a, b;
  cx_fn f = CX_BIND(long_chain, .n = n);
  const cx x = cx_spec(CX_F32, 64);
  cx_program_free(cx_trace(f, x));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  cx_exe *exe = cx_compile(f, x);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  assert_good();
  assert_non_null(exe);
  cx_exe_free(exe);
  return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* Ten times as many equations: a square would take a hundred times as long. */
static void a_long_program(void **state) {
  (void)state;
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  double small_time = 1e9;
  for (int i = 0; i < 3; i++) {
    const double t = seconds_to_compile(10000 + 2 * i);
    if (t < small_time) small_time = t;
  }
  const double large_time = seconds_to_compile(100000);
  print_message("  10^4 equations in %.3f s, 10^5 in %.3f s\n", small_time,
                large_time);
  assert_true(large_time < 40 * small_time);
  cx_close(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#if defined __x86_64__
    cmocka_unit_test(mode_of_the_host),
#endif
    cmocka_unit_test(threads_above_the_cores),
    cmocka_unit_test(after_fork),
    cmocka_unit_test(threads_share_an_executable),
    cmocka_unit_test(a_long_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
