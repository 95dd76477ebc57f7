/* code_thread_test.c - code of loops made by another thread, for several
 * threads, contexts and processes: the bits of tier 0 in every case. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/calls.h"

#include "base/store.h"
#include "support/loops.h"
#include "support/sanitizers.h"

#if defined __x86_64__
#include <immintrin.h>
#endif

static void sleep_ms(long ms) {
  const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
  nanosleep(&t, NULL);
}

static int threads_of_process(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static void *nothing(void *unused) {
  return unused;
}

/* A sanitizer has one of its own once there has been any. */
static int threads_alone(void) {
  pthread_t thread;
  cxi_code_settle();
  assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
  pthread_join(thread, NULL);
  sleep_ms(20);
  return threads_of_process();
}

/* A thread that was joined may stand in the list for a moment. */
static void expect_threads(int n) {
  for (int i = 0; i < 100 && threads_of_process() > n; i++) sleep_ms(10);
  assert_int_equal(threads_of_process(), n);
}

/* Tier 0, then code in the middle: cold, then from the file at once. Threads
 * that run one executable share one piece. */
static void test_background(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const int alone = threads_alone();
  cxi_executable *exe = loops_compile(loops_long);
  loops_call want = { exe, CX_LOOPS_OFF, { 0 }, false };
  loops_run(&want);
  for (int pass = 0; pass < 2; pass++) {
    const cxi_code_stats before = cxi_code_now();
    cxi_executable *again = loops_compile(loops_long);
    pthread_t threads[3];
    loops_call got[3];
    for (int i = 0; i < 3; i++) {
      got[i] = (loops_call){ again, CX_LOOPS_AUTO, { 0 }, false };
      assert_int_equal(pthread_create(&threads[i], NULL, loops_run, &got[i]),
                       0);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 1000 && cxi_code_now().loops == before.loops; i++)
      sleep_ms(10); /* of a machine that was slow */
    const cxi_code_stats now = cxi_code_now();
    assert_int_equal(now.loops - before.loops, 1);
    assert_int_equal(now.made - before.made, pass == 0);
    assert_int_equal(now.read - before.read, pass == 1);
    for (int i = 0; i < 3; i++) {
      assert_true(want.good && got[i].good);
      assert_memory_equal(want.out, got[i].out, sizeof want.out);
    }
    cxi_executable_release(again);
    cxi_code_forget();
  }
  cxi_executable_release(exe);
  cxi_code_settle();
  expect_threads(alone);
}

/* Executables with one loop each wait for one piece of code. */
static void test_shared(void **state) {
  (void)state;
  if (!loops_there()) skip();
  enum { N = 4 };
  cxi_executable *exes[N];
  pthread_t threads[N];
  loops_call got[N];
  const cxi_code_stats before = cxi_code_now();
  for (int i = 0; i < N; i++) {
    exes[i] = loops_compile(loops_long);
    got[i] = (loops_call){ exes[i], CX_LOOPS_NOW, { 0 }, false };
    assert_int_equal(pthread_create(&threads[i], NULL, loops_run, &got[i]), 0);
  }
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  const cxi_code_stats now = cxi_code_now();
  assert_int_equal(now.loops - before.loops, N);
  assert_int_equal(now.made - before.made, 1);
  assert_int_equal(now.shared - before.shared, N - 1);
  assert_int_equal(now.kept, 1);
  for (int i = 0; i < N; i++) {
    assert_memory_equal(got[i].out, got[0].out, sizeof got[0].out);
    cxi_executable_release(exes[i]);
  }
}

/* An executable goes while its loop waits for code, or has it made. */
static void test_release(void **state) {
  (void)state;
  if (!loops_there()) skip();
  for (int i = 0; i < 12; i++) {
    cxi_executable *exes[3];
    for (int k = 0; k < 3; k++) {
      char text[600];
      snprintf(text, sizeof text,
               "program @step(%%0: f64[]) { %%1: f64[] = mul %%0, 0.%d%d: f64"
               " return %%1 } program @f(%%0: f64[], %%1: f64[]) {"
               " %%2: f64[] = scan[body=@step, length=210000, reverse=false,"
               " n_consts=0, n_carry=1, unroll=1] %%0 return %%2, %%1 }",
               1 + i, 1 + k);
      exes[k] = loops_compile(text);
      loops_call c = { exes[k], CX_LOOPS_AUTO, { 0 }, false };
      loops_run(&c);
      assert_true(c.good);
    }
    if (i % 3 == 1) sleep_ms(3);
    for (int k = 0; k < 3; k++) cxi_executable_release(exes[k]);
  }
  cxi_code_settle();
}

/* A child forked in the middle has its own queue and threads. */
static void test_fork(void **state) {
  (void)state;
  if (SANITIZED || !loops_there()) skip();
  cxi_executable *exe = loops_compile(loops_long);
  loops_call want = { exe, CX_LOOPS_OFF, { 0 }, false };
  loops_run(&want);
  for (int i = 0; i < 6; i++) {
    cxi_executable *again = loops_compile(loops_long);
    loops_call got = { again, CX_LOOPS_AUTO, { 0 }, false };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, loops_run, &got), 0);
    sleep_ms(4 * i);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60); /* rather than wait for good */
      loops_call mine = {
        again, i % 2 ? CX_LOOPS_AUTO : CX_LOOPS_NOW, { 0 }, false
      };
      loops_run(&mine);
      cxi_executable_release(again);
      cxi_code_settle();
      _exit(memcmp(mine.out, want.out, sizeof want.out) != 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_join(thread, NULL);
    assert_memory_equal(got.out, want.out, sizeof want.out);
    cxi_executable_release(again);
    cxi_code_forget();
  }
  cxi_executable_release(exe);
}

/* The program started by test_exit: it ends while LLVM is opened or at work,
 * without closing anything. */
static int child_exit(const char *ms) {
  cxi_executable *exe = loops_compile(loops_long);
  loops_call *c = malloc(sizeof *c);
  *c = (loops_call){ exe, CX_LOOPS_AUTO, { 0 }, false };
  pthread_t thread;
  if (pthread_create(&thread, NULL, loops_run, c)) return 1;
  sleep_ms(atoi(ms));
  exit(0);
}

static void test_exit(void **state) {
  (void)state;
  if (!loops_there()) skip();
  setenv("CALX_CACHE", "off", 1);
  for (int i = 0; i < 24; i++) {
    char ms[16];
    snprintf(ms, sizeof ms, "%d", 4 * i);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      execl("/proc/self/exe", "code_thread_test", ms, (char *)NULL);
      _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
      fail_msg("after %s ms it ended with %d", ms, status);
  }
}

#if defined __x86_64__
/* What -ffast-math sets in a host: neither the thread that makes code nor the
 * code itself sees it. */
static void test_fast_math(void **state) {
  (void)state;
  if (!loops_there()) skip();
  static const char text[] =
      "program @step(%0: f64[], %1: f64[]) { %2: f64[] = mul %0, 0.9999: f64"
      " %3: f64[] = mul %1, 1e-310: f64 %4: f64[] = add %3, 4e-320: f64"
      " return %2, %4 }"
      "program @f(%0: f64[], %1: f64[]) {"
      " %2: f64[], %3: f64[] = scan[body=@step, length=300000, reverse=false,"
      " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }";
  cxi_executable *exe = loops_compile(text);
  loops_call want = { exe, CX_LOOPS_OFF, { 0 }, false };
  loops_run(&want);
  assert_true(want.out[1] > 0); /* a subnormal number */
  static const cx_loops when[] = { CX_LOOPS_AUTO, CX_LOOPS_NOW, CX_LOOPS_WAIT };
  for (int i = 0; i < 3; i++) {
    cxi_executable *again = loops_compile(text);
    loops_call got = { again, when[i], { 0 }, false };
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040 | 0x4000);
    loops_run(&got);
    if (when[i] == CX_LOOPS_AUTO) cxi_code_settle();
    got.out[1] = 0;
    loops_run(&got);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after & 0xc040, 0xc040);
    assert_memory_equal(got.out, want.out, sizeof want.out);
    cxi_executable_release(again);
    cxi_code_forget();
    assert_true(cxi_store_clear((char[160]){ 0 }) >= 0);
  }
  cxi_executable_release(exe);
}
#endif

/* -- contexts -------------------------------------------------------------- */

CX_DEF(halve, i, x) {
  return cx_mul(cx_sin(cx_add(x, cx_cast(i, CX_F64))), 0.5);
}
CX_DEF(halving, x) {
  return cx_fori(0, 20, CX_FN(halve), x);
}
static cx_exe *inner;

/* Calls back into the library from within a loop's step: another loop. */
static cx_code call_back(const cx_buf *in, cx_buf *out, void *user) {
  (void)user;
  void *workspace = aligned_alloc(64, cx_exe_workspace(inner) + 64);
  if (!workspace) return CX_EMEMORY;
  const cx_code code = cx_exe_run(inner, (const void *[]){ in[0].data },
                                  (void *[]){ out[0].data }, workspace);
  free(workspace);
  return code;
}

CX_DEF(calling, i, x) {
  (void)i;
  const cx y = cx_callback(call_back, cx_spec(CX_F64, 3), (x));
  return cx_add(cx_mul(y, 0.5), cx_cos(x));
}

CX_DEF(looping, x) {
  return cx_fori(0, 40, CX_FN(calling), x);
}

typedef struct in_context {
  cx_loops loops;
  double out[3];
  bool good;
} in_context;

static void *run_in_context(void *argument) {
  in_context *c = argument;
  cx_ctx *ctx = cx_open("cpu", .threads = 1, .loops = c->loops);
  {
    CX_SCOPE;
    static const double x[] = { 0.1, 0.2, 0.3 };
    for (int i = 0; i < 20; i++) {
      CX_SCOPE;
      const cx y = cx_call(cx_jit(CX_FN(looping)), cx_from(x, 3));
      const void *data = cx_data(y);
      c->good = data != NULL;
      if (data) memcpy(c->out, data, sizeof c->out);
    }
    c->good = c->good && cx_ok();
  }
  cx_close(ctx);
  return NULL;
}

/* Contexts that run one function at once, each with a callback that calls
 * back; what one says about loops does not bind the other. */
static void test_contexts(void **state) {
  (void)state;
  const bool has_code = loops_there();
  const int alone = threads_alone();
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  inner = cx_compile(CX_FN(halving), cx_spec(CX_F64, 3));
  assert_good();
  cx_close(ctx);
  in_context c[5] = { { .loops = CX_LOOPS_OFF },
                      { .loops = CX_LOOPS_NOW },
                      { .loops = CX_LOOPS_OFF },
                      { .loops = CX_LOOPS_AUTO },
                      { .loops = CX_LOOPS_NOW } };
  cx_cache_clear();
  const cx_cache_stats first = cx_cache_now();
  run_in_context(&c[0]);
  const cx_cache_stats off = cx_cache_now();
  assert_int_equal(off.loops + off.refused, first.loops + first.refused);
  run_in_context(&c[1]);
  const cx_cache_stats now = cx_cache_now();
  if (has_code) assert_int_equal(now.loops, off.loops + 1);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(
        pthread_create(&threads[i], NULL, run_in_context, &c[2 + i]), 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 5; i++) {
    assert_true(c[i].good);
    assert_memory_equal(c[i].out, c[0].out, sizeof c[0].out);
  }
  expect_threads(alone); /* the last close joined */
  cx_exe_free(inner);
}

int main(int argc, char **argv) {
  if (argc == 2) return child_exit(argv[1]);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_background, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_shared, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_release, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_fork, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_exit, loops_begin, loops_end),
#if defined __x86_64__
    cmocka_unit_test_setup_teardown(test_fast_math, loops_begin, loops_end),
#endif
    cmocka_unit_test_setup_teardown(test_contexts, loops_begin, loops_end)
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
