/* fork_test.c - a process forks while other threads are in the midst of all
 * that locks: the child has the library to itself. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/calls.h"
#include "support/sanitizers.h"

#include "base/mutex.h"

static cxi_mutex outer = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_mutex inner = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static atomic_bool stop;
static bool in_the_midst; /* under both locks */

static void *nest(void *argument) {
  cxi_mutex *const first = argument, *second = first == &outer ? &inner : NULL;
  while (!atomic_load(&stop)) {
    cxi_mutex_lock(first);
    if (second) {
      cxi_mutex_lock(second);
      in_the_midst = true;
      for (volatile int i = 0; i < 200; i = i + 1) continue;
      in_the_midst = false;
      cxi_mutex_unlock(second);
    }
    cxi_mutex_unlock(first);
  }
  return NULL;
}

/* A child that waits for good is ended by its alarm. */
static void expect_child(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) fail_msg("signal %d", WTERMSIG(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* Whatever the order in which locks are nested, the fork is when none is
 * held. */
static void locks_are_free(void **state) {
  (void)state;
  if (SANITIZED) skip();
  pthread_t threads[3];
  atomic_store(&stop, false);
  for (int i = 0; i < 3; i++)
    assert_int_equal(
        pthread_create(&threads[i], NULL, nest, i ? &outer : &inner), 0);
  for (int i = 0; i < 300; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      const bool good = !in_the_midst;
      cxi_mutex_lock(&outer);
      cxi_mutex_lock(&inner);
      cxi_mutex_unlock(&inner);
      cxi_mutex_unlock(&outer);
      _exit(!good);
    }
    expect_child(child);
  }
  atomic_store(&stop, true);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

CX_DEF(curve, x) {
  return cx_sum(cx_mul(cx_sin(cx_mul(x, 0.5)), cx_exp(cx_neg(x))));
}
CX_DEF(turn, i, x) {
  return cx_add(cx_mul(x, 0.9), cx_cast(i, CX_F32));
}
CX_DEF(turns, x) {
  return cx_fori(0, 9, CX_FN(turn), x);
}

/* Traces, differentiates, compiles, keeps and forgets: shapes change with n,
 * so that there is always something new. */
static bool use_library(int n) {
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  bool good = ctx != NULL;
  if (good) {
    CX_SCOPE;
    const cx x = cx_cast(cx_iota(CX_I32, 0, 1 + n % 50), CX_F32);
    const cx y = cx_call(cx_grad(CX_FN(curve)), x);
    const cx z = cx_call(cx_jit(cx_grad(CX_FN(curve))), x);
    const cx t = cx_call(cx_jit(CX_FN(turns)), x);
    const size_t bytes = (size_t)(1 + n % 50) * sizeof(float);
    good = cx_data(y) && cx_data(z) && cx_data(t) &&
           memcmp(cx_data(y), cx_data(z), bytes) == 0 &&
           cx_error(NULL) == CX_OK;
  }
  if (n % 17 == 0) cx_cache_clear();
  cx_close(ctx);
  return good;
}

static void *use_often(void *argument) {
  bool *const good = argument;
  *good = true;
  for (int n = 0; !atomic_load(&stop); n++) *good = use_library(n) && *good;
  return NULL;
}

static void the_library_goes_on(void **state) {
  (void)state;
  if (SANITIZED) skip();
  enum { N = 3 };
  pthread_t threads[N];
  bool good[N];
  atomic_store(&stop, false);
  for (int i = 0; i < N; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_often, &good[i]), 0);
  for (int i = 0; i < 200; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(!use_library(i) || !use_library(i + 1));
    }
    expect_child(child);
  }
  atomic_store(&stop, true);
  for (int i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    assert_true(good[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(locks_are_free),
    cmocka_unit_test(the_library_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
