/* pool_test.c - the pool of threads. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fpu.h"
#include "base/pool.h"

enum { N = 1000, N_THREADS = 4 };

static void count(void *argument, int64_t i) {
  _Atomic int *counts = argument;
  atomic_fetch_add(&counts[i], 1);
}

static void assert_each_once(_Atomic int *counts, int n) {
  for (int i = 0; i < n; i++) assert_int_equal(counts[i], 1);
}

static void test_each_index_once(void **state) {
  (void)state;
  for (int threads = -1; threads <= 5; threads++) {
    for (int n = 0; n <= N; n = n * 3 + 1) {
      _Atomic int counts[N] = { 0 };
      cxi_parallel(threads, n, count, counts);
      assert_each_once(counts, n);
    }
  }
  assert_true(cxi_pool_max_threads() >= 1);
}

/* Many short jobs, with pauses so that workers park in some of them. */
static void test_many_jobs(void **state) {
  (void)state;
  for (int job = 0; job < 3000; job++) {
    _Atomic int counts[7] = { 0 };
    cxi_parallel(2 + job % 3, 7, count, counts);
    assert_each_once(counts, 7);
    if (job % 500 == 0) usleep(1000);
  }
}

static void nest(void *argument, int64_t i) {
  _Atomic int *counts = argument;
  _Atomic int inner[10] = { 0 };
  cxi_parallel(N_THREADS, 10, count, inner);
  for (int k = 0; k < 10; k++) atomic_fetch_add(&counts[i], inner[k]);
}

static void test_nested(void **state) {
  (void)state;
  _Atomic int counts[20] = { 0 };
  cxi_parallel(N_THREADS, 20, nest, counts);
  for (int i = 0; i < 20; i++) assert_int_equal(counts[i], 10);
}

static void *call_often(void *failed) {
  for (int job = 0; job < 500; job++) {
    _Atomic int counts[50] = { 0 };
    cxi_parallel(3, 50, count, counts);
    for (int i = 0; i < 50; i++)
      if (counts[i] != 1) atomic_store((_Atomic bool *)failed, true);
  }
  return NULL;
}

static void test_callers_from_many_threads(void **state) {
  (void)state;
  pthread_t threads[N_THREADS];
  _Atomic bool failed = false;
  for (int t = 0; t < N_THREADS; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, call_often, &failed), 0);
  for (int t = 0; t < N_THREADS; t++) pthread_join(threads[t], NULL);
  assert_false(failed);
}

/* The child has none of its parent's threads and still gets all done. */
static void test_after_fork(void **state) {
  (void)state;
  _Atomic int warm[8] = { 0 };
  cxi_parallel(3, 8, count, warm);
  const pid_t child = fork();
  if (child == 0) {
    _Atomic int counts[100] = { 0 };
    cxi_parallel(3, 100, count, counts);
    int done = 0;
    for (int i = 0; i < 100; i++) done += counts[i] == 1;
    _exit(done == 100 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  _Atomic int counts[100] = { 0 };
  cxi_parallel(3, 100, count, counts);
  assert_each_once(counts, 100);
}

static pthread_t caller;

static void check_signals(void *argument, int64_t i) {
  (void)i;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  if (!pthread_equal(pthread_self(), caller) &&
      !sigismember(&blocked, SIGTERM))
    atomic_store((_Atomic bool *)argument, true);
  usleep(200);
}

static void test_signals_blocked(void **state) {
  (void)state;
  caller = pthread_self();
  _Atomic bool failed = false;
  cxi_parallel(N_THREADS, 16, check_signals, &failed);
  assert_false(failed);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  assert_false(sigismember(&blocked, SIGTERM));
}

#if defined __x86_64__
enum { FLUSH = 0x8040 };      /* subnormal results and operands to zero */

static void halve_smallest(void *argument, int64_t i) {
  volatile float x = 0x1p-126f;
  x *= 0.5f;
  ((float *)argument)[i] = x;
}

static void test_mode(void **state) {
  (void)state;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | FLUSH);
  float halves[64];
  cxi_parallel(N_THREADS, 64, halve_smallest, halves);
  float alone;
  cxi_parallel(1, 1, halve_smallest, &alone);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  assert_int_equal(after & FLUSH, FLUSH);
  assert_true(alone == 0x1p-127f);
  for (int i = 0; i < 64; i++) assert_true(halves[i] == 0x1p-127f);
}
#endif

/* Both indices wait for each other, so that two threads must take part; for
 * at most a millisecond, lest one thread alone wait forever. */
static void meet(void *argument, int64_t i) {
  (void)i;
  _Atomic int *met = argument;
  atomic_fetch_add(met, 1);
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    if (atomic_load(met) == 2) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec -
               start.tv_nsec < 1000000);
}

static void test_time_of_a_job(void **state) {
  (void)state;
  double best = 1e9;
  for (int round = 0; round < 20; round++) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int job = 0; job < 20; job++) {
      _Atomic int met = 0;
      cxi_parallel(2, 2, meet, &met);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double ns = (double)(end.tv_sec - start.tv_sec) * 1e9 +
                      (double)(end.tv_nsec - start.tv_nsec);
    if (ns < best) best = ns;
  }
  print_message("  fork and join of 2 threads that meet: %.2f us\n",
                best * 5e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_index_once),
    cmocka_unit_test(test_many_jobs),
    cmocka_unit_test(test_nested),
    cmocka_unit_test(test_callers_from_many_threads),
    cmocka_unit_test(test_after_fork),
    cmocka_unit_test(test_signals_blocked),
#if defined __x86_64__
    cmocka_unit_test(test_mode),
#endif
    cmocka_unit_test(test_time_of_a_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
