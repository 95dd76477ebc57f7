/* code_cache_test.c - code of loops from a file, shared, and made by another
 * thread: the bits of tier 0 in every case, and what the statistics say. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/calls.h"

#include "backends/cpu/code.h"
#include "backends/cpu/code_object.h"
#include "base/alloc.h"
#include "base/build.h"
#include "base/store.h"
#include "support/execute.h"

#if defined __x86_64__
#include <immintrin.h>
#endif

static char directory[64];

static int begin(void **state) {
  (void)state;
  snprintf(directory, sizeof directory, "/tmp/calx-code-XXXXXX");
  if (!mkdtemp(directory)) return -1;
  setenv("CALX_CACHE_DIR", directory, 1);
  unsetenv("CALX_CACHE");
  unsetenv("CALX_CACHE_MAX");
  cxi_code_forget();
  return 0;
}

static int end(void **state) {
  (void)state;
  char command[160];
  cxi_code_settle();
  cxi_code_set(CX_LOOPS_DEFAULT);
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command);
}

static bool there(void) {
  const char *why;
  if (cxi_code_open(&why)) return true;
  print_message("skipped: %s\n", why);
  return false;
}

/* -- loops ----------------------------------------------------------------- */

/* A loop of `length` steps, another for each number: f64[3] and an f32[40]
 * that goes through memcpy, with kernels, a branch, a sort left to tier 0. */
static const char *text_of(int number, int length) {
  static char text[3000];
  snprintf(
      text, sizeof text,
      "program @small(%%0: f64[3]) { %%1: f64[3] = sin %%0 return %%1 }"
      "program @large(%%0: f64[3]) { %%1: f64[3] = mul %%0, 0.5: f64"
      " return %%1 }"
      "program @step(%%0: f64[3], %%1: f32[400], %%2: i32[]) {"
      " %%3: f64[] = reduce_sum[axes=(0)] %%0 %%4: bool[] = gt %%3, 0.%d: f64"
      " %%5: i32[] = convert[type=i32] %%4"
      " %%6: f64[3] = cond[branches=(@small,@large)] %%5, %%0"
      " %%7: f64[3] = add %%6, 0.25: f64"
      " %%8: f32[400] = sort[axis=0, n_keys=1, stable=true] %%1"
      " %%9: f32[400] = mul %%8, 0.75: f32 %%10: f32[400] = rev[axes=(0)] %%9"
      " %%11: i32[] = add %%2, 1: i32 return %%7, %%10, %%11, %%9 }"
      "program @f(%%0: f64[3], %%1: f32[400], %%2: i32[]) {"
      " %%3: f64[3], %%4: f32[400], %%5: i32[], %%6: f32[%d,400] ="
      " scan[body=@step, length=%d, reverse=false, n_consts=0, n_carry=3,"
      " unroll=1] %%0, %%1, %%2 return %%3, %%4, %%5, %%6 }",
      number, length, length);
  return text;
}

/* The bits of the reference, whatever made the code; false, said why. */
static bool right_once(int number, int length, int threads) {
  execution x;
  const char *wrong = execution_open(&x, text_of(number, length), 0, 0, 5);
  if (!wrong) wrong = execution_compare(&x, threads, 0);
  if (wrong) print_error("%s\n", wrong);
  execution_close(&x);
  return !wrong;
}

static void expect_right(int number, int length, int threads) {
  assert_true(right_once(number, length, threads));
}

/* A loop of numbers that runs for about a third of a second on tier 0. */
static const char long_text[] =
    "program @step(%0: f64[], %1: f64[]) {"
    " %2: f64[] = sin %0 %3: f64[] = mul %2, %1 %4: f64[] = add %3, 0.5: f64"
    " %5: f64[] = cos %4 %6: f64[] = sub %5, %1 return %5, %6 }"
    "program @f(%0: f64[], %1: f64[]) {"
    " %2: f64[], %3: f64[] = scan[body=@step, length=1500000, reverse=false,"
    " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }";

static cxi_executable *compile(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) fail_msg("%s", error.text);
  cxi_executable *exe =
      cxi_compile(p, &cxi_cpu_backend, (cxi_compile_options){ 0 }, &error);
  cxi_program_release(p);
  if (!exe) fail_msg("%s", error.text);
  return exe;
}

typedef struct call {
  const cxi_executable *exe;
  cx_loops loops;
  double out[2];
  bool good;
} call;

static void *run(void *argument) {
  call *c = argument;
  const double x = 0.25, y = 0.75;
  const void *in[] = { &x, &y };
  void *out[] = { &c->out[0], &c->out[1] };
  void *workspace = cxi_alloc_aligned(cxi_executable_workspace(c->exe));
  cxi_error error = { 0 };
  c->good = workspace &&
            cxi_executable_run_with(c->exe, in, out, workspace, 1, c->loops,
                                    &error);
  cxi_free(workspace);
  return NULL;
}

/* -- from a file ----------------------------------------------------------- */

/* Cold, warm, and from memory; each with 1, 2 and 4 threads. */
static void test_warm(void **state) {
  (void)state;
  if (!there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  for (int pass = 0; pass < 3; pass++) {
    const cxi_code_stats before = cxi_code_now();
    for (int number = 1; number < 4; number++)
      for (int threads = 1; threads <= 4; threads *= 2)
        expect_right(number, 6, threads);
    const cxi_code_stats now = cxi_code_now();
    assert_int_equal(now.loops - before.loops, 9);
    assert_int_equal(now.made - before.made, pass == 0 ? 3 : 0);
    assert_int_equal(now.read - before.read, pass == 1 ? 3 : 0);
    assert_int_equal(now.shared - before.shared, pass == 2 ? 9 : 6);
    if (pass == 0) cxi_code_forget();
  }
}

/* One piece of code for all lengths of a scan. */
static void test_lengths(void **state) {
  (void)state;
  if (!there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  const cxi_code_stats before = cxi_code_now();
  for (int length = 1; length < 6; length++) expect_right(1, length, 1);
  assert_int_equal(cxi_code_now().made - before.made, 1);
  assert_int_equal(cxi_code_now().shared - before.shared, 4);
}

/* Loops that differ in one thing each have code of their own. */
static void test_keys(void **state) {
  (void)state;
  if (!there()) skip();
  static const struct {
    const char *type, *op, *number, *direction;
  } loops[] = { { "f64[3]", "mul", "0.5: f64", "false" },
                { "f64[3]", "mul", "0.75: f64", "false" },
                { "f64[3]", "mul", "-0.5: f64", "false" },
                { "f64[3]", "sub", "0.5: f64", "false" },
                { "f64[3]", "sub", "0.5: f64", "true" },
                { "f64[4]", "mul", "0.5: f64", "false" },
                { "f64[1,3]", "mul", "0.5: f64", "false" },
                { "f64[40]", "mul", "0.5: f64", "false" },
                { "f32[3]", "mul", "0.5: f32", "false" },
                { "f16[3]", "mul", "0.5: f16", "false" },
                { "bf16[3]", "mul", "0.5: bf16", "false" },
                { "i32[3]", "mul", "5: i32", "false" } };
  enum { N = sizeof loops / sizeof *loops };
  cxi_code_set(CX_LOOPS_NOW);
  for (int pass = 0; pass < 2; pass++) {
    const cxi_code_stats before = cxi_code_now();
    for (int i = 0; i < N; i++) {
      char text[600], shape[32];
      snprintf(shape, sizeof shape, "%s", strchr(loops[i].type, '[') + 1);
      const int length = (int)(strchr(loops[i].type, '[') - loops[i].type);
      snprintf(text, sizeof text,
               "program @step(%%0: %s, %%1: %s) { %%2: %s = %s %%0, %s"
               " %%3: %s = add %%2, %%1 return %%3 }"
               "program @f(%%0: %s, %%1: %.*s[5,%s) {"
               " %%2: %s = scan[body=@step, length=5, reverse=%s, n_consts=0,"
               " n_carry=1, unroll=1] %%0, %%1 return %%2 }",
               loops[i].type, loops[i].type, loops[i].type, loops[i].op,
               loops[i].number, loops[i].type, loops[i].type, length,
               loops[i].type, shape, loops[i].type, loops[i].direction);
      execution x;
      const char *wrong = execution_open(&x, text, 0, 0, 5);
      if (!wrong) wrong = execution_compare(&x, 1, 0);
      if (wrong) fail_msg("%s\n%s", wrong, text);
      execution_close(&x);
    }
    const cxi_code_stats now = cxi_code_now();
    assert_int_equal(now.made - before.made, pass == 0 ? N : 0);
    assert_int_equal(now.read - before.read, pass == 0 ? 0 : N);
    cxi_code_forget();
  }
}

/* A process without the library, or with a wrong one, runs what is there. */
static void run_without(const char *library) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("CALX_LLVM_LIBRARY", library, 1);
    execl("/proc/self/exe", "code_cache_test", directory, (char *)NULL);
    _exit(99);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* The program started by run_without: two loops, of which one is there. */
static int child_without(const char *where) {
  setenv("CALX_CACHE_DIR", where, 1);
  unsetenv("CALX_CACHE");
  cxi_code_set(CX_LOOPS_NOW);
  if (!right_once(1, 6, 1) || !right_once(2, 6, 1)) return 1;
  const cxi_code_stats now = cxi_code_now();
  const char *why;
  if (cxi_code_open(&why)) return 2;
  return now.read == 1 && now.loops == 1 && now.made == 0 ? 0 : 3;
}

static void test_without_library(void **state) {
  (void)state;
  if (!there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  expect_right(1, 6, 1);
  run_without("/nowhere/libcalx_llvm.so");
  const char *const wrong[] = { getenv("CALX_WRONG_PLUGIN"),
                                getenv("CALX_OTHER_PLUGIN") };
  for (int i = 0; i < 2; i++)
    if (wrong[i]) run_without(wrong[i]);
}

/* Each file cut or changed at many places: made again, the bits are right. */
static void test_damaged(void **state) {
  (void)state;
  if (!there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  expect_right(1, 6, 1);
  char path[400] = "";
  DIR *d = opendir(directory);
  for (struct dirent *e; (e = readdir(d));)
    if (e->d_name[0] != '.')
      snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
  closedir(d);
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  for (int i = 0; i < 30; i++) {
    const long at = (long)(s.st_size - 1) * i / 29;
    FILE *f = fopen(path, "r+b");
    if (i % 3) {
      fseek(f, at, SEEK_SET);
      const int byte = fgetc(f);
      fseek(f, at, SEEK_SET);
      fputc(byte ^ 1 << i % 8, f);
    }
    fclose(f);
    if (i % 3 == 0) assert_int_equal(truncate(path, at), 0);
    cxi_code_forget();
    const cxi_code_stats before = cxi_code_now();
    const uint64_t rejected = cxi_store_now().rejected;
    expect_right(1, 6, 1);
    assert_int_equal(cxi_code_now().made - before.made, 1);
    assert_int_equal(cxi_store_now().rejected - rejected, 1);
    assert_non_null(strstr(cxi_code_now().why, "entry"));
  }
}

/* What has a sound checksum, but is no code: no crash, and it is replaced. */
static void test_object(void **state) {
  (void)state;
  static const unsigned char code[100] = { 0xc3 };
  const cxi_import imports[] = { { CXI_IMPORT_RUN, 0, 1, { 0 } },
                                 { CXI_IMPORT_COPY, 0, 0, { 0 } } };
  const cxi_object object = { .code = code,
                              .bytes = sizeof code,
                              .entry = 3,
                              .n_imports = 2,
                              .imports = imports,
                              .report = "pass: mul\n" };
  cxi_bytes bytes = { 0 };
  cxi_object back;
  cxi_object_write(&bytes, &object);
  assert_true(cxi_object_read(bytes.data, bytes.n, &back));
  assert_int_equal(back.bytes, sizeof code);
  assert_int_equal(back.entry, 3);
  assert_memory_equal(back.code, code, sizeof code);
  assert_memory_equal(back.imports, imports, sizeof imports);
  assert_string_equal(back.report, "pass: mul\n");
  for (uint32_t n = 0; n < bytes.n; n++) {
    unsigned char *part = malloc(n + 1); /* so that a sanitizer sees its end */
    memcpy(part, bytes.data, n);
    assert_false(cxi_object_read(part, n, &back));
    free(part);
  }
  for (uint32_t bit = 0; bit < 8 * bytes.n; bit++) {
    bytes.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    if (cxi_object_read(bytes.data, bytes.n, &back))
      assert_true(back.entry < back.bytes && strlen(back.report) < bytes.n);
    bytes.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  cxi_bytes_free(&bytes);
}

static void test_foreign_content(void **state) {
  (void)state;
  if (!there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  expect_right(1, 6, 1);
  struct dirent **names;
  char stamp[200], why[160];
  cxi_code_stamp(cxi_build_llvm, stamp);
  const int n = scandir(directory, &names, NULL, NULL);
  for (int i = 0; i < n; i++) {
    char *name = names[i]->d_name;
    if (name[0] != '.') {
      cxi_hash key = { .lo = strtoull(name + 16, NULL, 16) };
      name[16] = 0;
      key.hi = strtoull(name, NULL, 16);
      assert_true(cxi_store_put(key, stamp, "no code at all", 15, why));
    }
    free(names[i]);
  }
  free(names);
  cxi_code_forget();
  const cxi_code_stats before = cxi_code_now();
  expect_right(1, 6, 1);
  assert_int_equal(cxi_code_now().made - before.made, 1);
  assert_non_null(strstr(cxi_code_now().why, "no code"));
}

/* -- by another thread ----------------------------------------------------- */

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
  if (!there()) skip();
  const int alone = threads_alone();
  cxi_executable *exe = compile(long_text);
  call want = { exe, CX_LOOPS_OFF, { 0 }, false };
  run(&want);
  for (int pass = 0; pass < 2; pass++) {
    const cxi_code_stats before = cxi_code_now();
    cxi_executable *again = compile(long_text);
    pthread_t threads[3];
    call got[3];
    for (int i = 0; i < 3; i++) {
      got[i] = (call){ again, CX_LOOPS_AUTO, { 0 }, false };
      assert_int_equal(pthread_create(&threads[i], NULL, run, &got[i]), 0);
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
  if (!there()) skip();
  enum { N = 4 };
  cxi_executable *exes[N];
  pthread_t threads[N];
  call got[N];
  const cxi_code_stats before = cxi_code_now();
  for (int i = 0; i < N; i++) {
    exes[i] = compile(long_text);
    got[i] = (call){ exes[i], CX_LOOPS_NOW, { 0 }, false };
    assert_int_equal(pthread_create(&threads[i], NULL, run, &got[i]), 0);
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
  if (!there()) skip();
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
      exes[k] = compile(text);
      call c = { exes[k], CX_LOOPS_AUTO, { 0 }, false };
      run(&c);
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
  if (!there()) skip();
  cxi_executable *exe = compile(long_text);
  call want = { exe, CX_LOOPS_OFF, { 0 }, false };
  run(&want);
  for (int i = 0; i < 6; i++) {
    cxi_executable *again = compile(long_text);
    call got = { again, CX_LOOPS_AUTO, { 0 }, false };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, &got), 0);
    sleep_ms(4 * i);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60); /* rather than wait for good */
      call mine = { again, i % 2 ? CX_LOOPS_AUTO : CX_LOOPS_NOW, { 0 }, false };
      run(&mine);
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
  cxi_executable *exe = compile(long_text);
  call *c = malloc(sizeof *c);
  *c = (call){ exe, CX_LOOPS_AUTO, { 0 }, false };
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, c)) return 1;
  sleep_ms(atoi(ms));
  exit(0);
}

static void test_exit(void **state) {
  (void)state;
  if (!there()) skip();
  setenv("CALX_CACHE", "off", 1);
  for (int i = 0; i < 24; i++) {
    char ms[16];
    snprintf(ms, sizeof ms, "%d", 4 * i);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      execl("/proc/self/exe", "code_cache_test", "exit", ms, (char *)NULL);
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
  if (!there()) skip();
  static const char text[] =
      "program @step(%0: f64[], %1: f64[]) { %2: f64[] = mul %0, 0.9999: f64"
      " %3: f64[] = mul %1, 1e-310: f64 %4: f64[] = add %3, 4e-320: f64"
      " return %2, %4 }"
      "program @f(%0: f64[], %1: f64[]) {"
      " %2: f64[], %3: f64[] = scan[body=@step, length=300000, reverse=false,"
      " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }";
  cxi_executable *exe = compile(text);
  call want = { exe, CX_LOOPS_OFF, { 0 }, false };
  run(&want);
  assert_true(want.out[1] > 0); /* a subnormal number */
  static const cx_loops when[] = { CX_LOOPS_AUTO, CX_LOOPS_NOW, CX_LOOPS_WAIT };
  for (int i = 0; i < 3; i++) {
    cxi_executable *again = compile(text);
    call got = { again, when[i], { 0 }, false };
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040 | 0x4000);
    run(&got);
    if (when[i] == CX_LOOPS_AUTO) cxi_code_settle();
    got.out[1] = 0;
    run(&got);
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

/* -- the public interface -------------------------------------------------- */

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
  const cx_code code =
      cx_exe_run(inner, (const void *[]){ in[0].data },
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
  const bool has_code = there();
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

CX_DEF(step, i, x) {
  return cx_add(cx_mul(cx_sin(x), 0.5), cx_cast(i, CX_F64));
}
CX_DEF(looping_alone, x) {
  return cx_fori(0, 40, CX_FN(step), x);
}

static void test_reports(void **state) {
  (void)state;
  assert_string_equal(cx_cache_summary(), ""); /* without a context */
  const char *message;
  assert_int_equal(cx_error(&message), CX_ELIFETIME);
  assert_string_equal(cx_cache_entries(true), "");
  assert_int_equal(cx_error(&message), CX_ELIFETIME);
  assert_null(cx_open("cpu", .loops = (cx_loops)77));
  assert_error(CX_EUSER, ".loops is 77");
  const bool has_code = there();
  cx_ctx *ctx = cx_open("cpu", .loops = CX_LOOPS_NOW);
  {
    CX_SCOPE;
    static const double x[] = { 0.1, 0.2, 0.3 };
    (void)cx_data(cx_call(cx_jit(CX_FN(looping_alone)), cx_from(x, 3)));
    assert_good();
    assert_non_null(strstr(cx_cache_summary(), directory));
    if (has_code) {
      assert_non_null(strstr(cx_cache_summary(), "last miss: no entry"));
      assert_non_null(strstr(cx_cache_entries(false), "1 entries"));
      assert_non_null(strstr(cx_cache_entries(true), cxi_build_id));
      char command[100];
      snprintf(command, sizeof command, "truncate -s 30 %s/*", directory);
      assert_int_equal(system(command), 0);
      assert_non_null(strstr(cx_cache_entries(true), "it is not whole"));
      assert_non_null(strstr(cx_cache_entries(true), "0 entries"));
    }
    assert_true(cx_cache_clear() >= 0);
    setenv("CALX_CACHE", "off", 1);
    assert_non_null(strstr(cx_cache_summary(), "CALX_CACHE is off"));
    assert_non_null(strstr(cx_cache_entries(true), "CALX_CACHE is off"));
    assert_int_equal(cx_cache_clear(), -1);
    assert_true(cx_ok());
  }
  cx_close(ctx);
}

int main(int argc, char **argv) {
  if (argc == 2) return child_without(argv[1]);
  if (argc == 3) return child_exit(argv[2]);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_warm, begin, end),
    cmocka_unit_test_setup_teardown(test_lengths, begin, end),
    cmocka_unit_test_setup_teardown(test_keys, begin, end),
    cmocka_unit_test_setup_teardown(test_without_library, begin, end),
    cmocka_unit_test_setup_teardown(test_damaged, begin, end),
    cmocka_unit_test_setup_teardown(test_object, begin, end),
    cmocka_unit_test_setup_teardown(test_foreign_content, begin, end),
    cmocka_unit_test_setup_teardown(test_background, begin, end),
    cmocka_unit_test_setup_teardown(test_shared, begin, end),
    cmocka_unit_test_setup_teardown(test_release, begin, end),
    cmocka_unit_test_setup_teardown(test_fork, begin, end),
    cmocka_unit_test_setup_teardown(test_exit, begin, end),
#if defined __x86_64__
    cmocka_unit_test_setup_teardown(test_fast_math, begin, end),
#endif
    cmocka_unit_test_setup_teardown(test_contexts, begin, end),
    cmocka_unit_test_setup_teardown(test_reports, begin, end)
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
