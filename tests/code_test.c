/* code_test.c - loops as generated code: the bits of tier 0, whenever it is
 * made, and a library that is not there.
 *
 * ctest runs control_random_test, random_program_test and control_test a
 * second time with CALX_LLVM=now: random loops and branches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/alloc.h"
#include "support/loops.h"

static const char *const loops[] = {
  /* scalars, rows read and written, backwards */
  "program @step(%0: f32[], %1: i32[], %2: f32[3]) {"
  " %3: f32[] = reduce_sum[axes=(0)] %2 %4: f32[] = mul %0, %3"
  " %5: f32[] = tanh %4 %6: i32[] = add %1, 1: i32"
  " %7: f32[] = convert[type=f32] %6 %8: f32[] = div %5, %7"
  " return %8, %6, %4 }"
  "program @f(%0: f32[], %1: i32[], %2: f32[9,3]) {"
  " %3: f32[], %4: i32[], %5: f32[9] = scan[body=@step, length=9,"
  " reverse=true, n_consts=0, n_carry=2, unroll=1] %0, %1, %2"
  " return %3, %4, %5 }",
  /* vectors in memory that swap, a matrix that stays */
  "program @step(%0: f32[40,40], %1: f32[40]) {"
  " %2: f32[40] = dot_general[lhs_contract=(1), rhs_contract=(0),"
  " lhs_batch=(), rhs_batch=(), type=f32] %0, %1"
  " %3: f32[40] = logistic %2 %4: f32[] = reduce_max[axes=(0)] %3"
  " %5: f32[40] = broadcast_in_dim[shape=(40), map=()] %4"
  " %6: f32[40] = sub %3, %5 return %6 }"
  "program @f(%0: f32[40,40], %1: f32[40]) {"
  " %2: f32[40] = scan[body=@step, length=7, reverse=false, n_consts=1,"
  " n_carry=1, unroll=1] %0, %1 return %2 }",
  /* f16 and bf16 round at each equation */
  "program @step(%0: f16[5], %1: bf16[]) {"
  " %2: f16[5] = mul %0, %0 %3: f16[5] = sub %2, %0 %4: f16[5] = logistic %3"
  " %5: f16[5] = sqrt %4 %6: bf16[] = mul %1, %1 %7: bf16[] = add %6, %1"
  " %8: bf16[] = tanh %7 return %5, %8 }"
  "program @f(%0: f16[5], %1: bf16[]) {"
  " %2: f16[5], %3: bf16[] = scan[body=@step, length=5, reverse=false,"
  " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }",
  /* integers: wrapping, division by what is 0 at times, shifts beyond */
  "program @step(%0: i8[20], %1: u64[]) {"
  " %2: i8[20] = mul %0, 37: i8 %3: i8[20] = sub %0, 5: i8 %4: i8[20] = div "
  "%2, %3"
  " %5: i8[20] = rem %2, %3 %6: i8[20] = shift_left %5, %0"
  " %7: i8[20] = max %4, %6 %8: u64[] = mul %1, 6364136223846793005: u64"
  " %9: u64[] = add %8, 1442695040888963407: u64"
  " %10: u64[] = population_count %9 %11: u64[] = xor %9, %10"
  " return %7, %11 }"
  "program @f(%0: i8[20], %1: u64[]) {"
  " %2: i8[20], %3: u64[] = scan[body=@step, length=11, reverse=false,"
  " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }",
  /* a while with an update in place at a start that is moved inside */
  "program @cond(%0: i32[], %1: f64[100]) {"
  " %2: bool[] = lt %0, 50: i32 return %2 }"
  "program @body(%0: i32[], %1: f64[100]) {"
  " %2: i32[] = mul %0, 3: i32 %3: f64[2] = dynamic_slice[sizes=(2)] %1, %2"
  " %4: f64[2] = mul %3, %3 %5: f64[2] = add %4, %3"
  " %6: f64[100] = dynamic_update_slice %1, %5, %0 %7: i32[] = add %0, 1: i32"
  " return %7, %6 }"
  "program @f(%0: i32[], %1: f64[100]) {"
  " %2: i32[], %3: f64[100] = while[cond=@cond, body=@body, n_cond_consts=0,"
  " n_body_consts=0] %0, %1 return %2, %3 }",
  /* places before, in and behind an array: filled, dropped, moved inside */
  "program @step(%0: i8[], %1: f32[6], %2: bf16[5,3], %3: i16[4]) {"
  " %4: i8[1,1] = broadcast_in_dim[shape=(1,1), map=()] %0"
  " %5: f32[1,2] = gather[offset=(1), collapsed=(), start_map=(0),"
  " operand_batch=(), index_batch=(), sizes=(2), mode=fill, fill=nan,"
  " sorted=false, unique=false] %1, %4"
  " %6: f32[1,2] = mul %5, 3: f32"
  " %7: f32[6] = scatter[window=(1), inserted=(), start_map=(0),"
  " operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false]"
  " %1, %4, %6"
  " %8: u64[] = convert[type=u64] %0"
  " %9: u64[1,1] = broadcast_in_dim[shape=(1,1), map=()] %8"
  " %10: bf16[1,3] = gather[offset=(1), collapsed=(0), start_map=(0),"
  " operand_batch=(), index_batch=(), sizes=(1,3), mode=clip, fill=nan,"
  " sorted=false, unique=false] %2, %9"
  " %11: bf16[1,3] = add %10, 1: bf16"
  " %12: bf16[5,3] = scatter[window=(1), inserted=(0), start_map=(0),"
  " operand_batch=(), index_batch=(), mode=drop, sorted=false, unique=false]"
  " %2, %9, %11"
  " %13: i8[3,1] = broadcast_in_dim[shape=(3,1), map=()] %0"
  " %14: i16[3] = gather[offset=(), collapsed=(0), start_map=(0),"
  " operand_batch=(), index_batch=(), sizes=(1), mode=fill, fill=nan,"
  " sorted=false, unique=false] %3, %13"
  " %15: i16[4] = scatter_add[window=(), inserted=(0), start_map=(0),"
  " operand_batch=(), index_batch=(), mode=in_bounds, sorted=false,"
  " unique=false] %3, %13, %14"
  " %16: i8[] = add %0, 1: i8 return %16, %7, %12, %15, %5, %10, %14 }"
  "program @f(%0: i8[], %1: f32[6], %2: bf16[5,3], %3: i16[4]) {"
  " %4: i8[] = sub %0, 12: i8"
  " %5: i8[], %6: f32[6], %7: bf16[5,3], %8: i16[4], %9: f32[30,1,2],"
  " %10: bf16[30,1,3], %11: i16[30,3] = scan[body=@step, length=30,"
  " reverse=false, n_consts=0, n_carry=4, unroll=1] %4, %1, %2, %3"
  " return %5, %6, %7, %8, %9, %10, %11 }",
  /* columns apart from each other: more than are written out */
  "program @step(%0: f32[1200,4], %1: f32[4]) {"
  " %2: f32[1200] = dot_general[lhs_contract=(0), rhs_contract=(1),"
  " lhs_batch=(), rhs_batch=(), type=f32] %1, %0"
  " %3: f32[4] = slice[start=(3), limit=(1199), strides=(300)] %2"
  " %4: f32[4] = tanh %3 return %4, %2, %2 }"
  "program @f(%0: f32[1200,4], %1: f32[4]) {"
  " %2: f32[4], %3: f32[3,1200], %4: f32[3,1200] = scan[body=@step,"
  " length=3, reverse=false, n_consts=1, n_carry=1, unroll=1] %0, %1"
  " return %2, %3, %4 }",
};

/* False, said why, if the bits are not those of the reference. */
static bool compare_all(void) {
  bool equal = true;
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    execution x;
    const char *wrong = execution_open(&x, loops[i], 0, 0, 7 + i);
    if (!wrong) wrong = execution_compare(&x, 1, 0);
    if (wrong) print_error("%s\n%s\n", wrong, loops[i]);
    execution_close(&x);
    equal = equal && !wrong;
  }
  return equal;
}

static void test_bits(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const cx_loops before = cxi_code_set(CX_LOOPS_NOW);
  const uint64_t loops_before = cxi_code_now().loops;
  assert_true(compare_all());
  assert_int_equal(cxi_code_now().loops - loops_before,
                   sizeof loops / sizeof *loops);
  cxi_code_set(CX_LOOPS_OFF);
  assert_true(compare_all());
  assert_int_equal(cxi_code_now().loops - loops_before,
                   sizeof loops / sizeof *loops);
  cxi_code_set(before);
}

/* -- in the middle of a loop, by several threads --------------------------- */

static const char long_loop[] =
    "program @step(%0: f64[3], %1: f64[3]) {"
    " %2: f64[3] = sin %0 %3: f64[] = reduce_sum[axes=(0)] %2"
    " %4: f64[3] = mul %1, 0.5: f64 %5: f64[3] = add %4, %3"
    " return %5, %0 }"
    "program @f(%0: f64[3], %1: f64[3]) {"
    " %2: f64[3], %3: f64[3] = scan[body=@step, length=100001, reverse=false,"
    " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }";

typedef struct call {
  const cxi_executable *exe;
  double out[2][3];
  bool good;
} call;

static void *run(void *argument) {
  call *c = argument;
  static const double x[3] = { 0.1, 0.2, 0.3 }, y[3] = { 1, 2, 3 };
  const void *in[] = { x, y };
  void *out[] = { c->out[0], c->out[1] };
  void *workspace = cxi_alloc_aligned(cxi_executable_workspace(c->exe));
  cxi_error error = { 0 };
  c->good =
      workspace && cxi_executable_run(c->exe, in, out, workspace, 1, &error);
  cxi_free(workspace);
  return NULL;
}

static void test_middle(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const cx_loops before = cxi_code_set(CX_LOOPS_OFF);
  cxi_executable *exe = loops_compile(long_loop);
  call want = { .exe = exe }, got[3] = { 0 };
  run(&want);
  cxi_code_set(CX_LOOPS_WAIT);
  const uint64_t loops_before = cxi_code_now().loops;
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    got[i].exe = exe;
    assert_int_equal(pthread_create(&threads[i], NULL, run, &got[i]), 0);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  assert_int_equal(cxi_code_now().loops - loops_before, 1);
  for (int i = 0; i < 3; i++) {
    assert_true(want.good && got[i].good);
    assert_memory_equal(want.out, got[i].out, sizeof want.out);
  }
  cxi_executable_release(exe);
  cxi_code_set(before);
}

/* -- short loops, run often ------------------------------------------------ */

static const char *const short_loops[] = {
  "program @step(%0: f64[]) { %1: f64[] = mul %0, 0.5: f64 return %1 }"
  "program @f(%0: f64[]) { %1: f64[] = scan[body=@step, length=40,"
  " reverse=false, n_consts=0, n_carry=1, unroll=1] %0 return %1 }",
  "program @cond(%0: f64[]) { %1: bool[] = gt %0, 1e-9: f64 return %1 }"
  "program @body(%0: f64[]) { %1: f64[] = mul %0, 0.5: f64 return %1 }"
  "program @f(%0: f64[]) { %1: f64[] = while[cond=@cond, body=@body,"
  " n_cond_consts=0, n_body_consts=0] %0 return %1 }",
};

/* Every step counts: code after 200,000 units, however few a run has. */
static void test_short(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const cx_loops before = cxi_code_set(CX_LOOPS_WAIT);
  for (size_t i = 0; i < sizeof short_loops / sizeof *short_loops; i++) {
    cxi_executable *exe = loops_compile(short_loops[i]);
    void *workspace = cxi_alloc_aligned(cxi_executable_workspace(exe));
    const double x = 1;
    double y = 0, first = 0;
    const void *in[] = { &x };
    void *out[] = { &y };
    cxi_error error = { 0 };
    const uint64_t loops_before = cxi_code_now().loops;
    for (int run = 0; run < 7000; run++) {
      assert_true(cxi_executable_run(exe, in, out, workspace, 1, &error));
      if (run == 0) first = y;
      assert_true(y == first);
    }
    assert_int_equal(cxi_code_now().loops - loops_before, 1);
    cxi_free(workspace);
    cxi_executable_release(exe);
  }
  cxi_code_set(before);
}

/* -- a body of many kernels, on a small stack ------------------------------ */

enum { KERNELS = 100, LONG = 250 };

/* tanh of tanh of ..., each a row of a kernel. */
static const char *many_kernels(char *text, size_t size) {
  int at = snprintf(text, size, "program @step(%%0: f64[%d]) {", LONG);
  for (int i = 0; i < KERNELS; i++)
    at += snprintf(text + at, size - (size_t)at, " %%%d: f64[%d] = tanh %%%d",
                   i + 1, LONG, i);
  snprintf(text + at, size - (size_t)at,
           " return %%%d }program @f(%%0: f64[%d]) { %%1: f64[%d] ="
           " scan[body=@step, length=3, reverse=false, n_consts=0, n_carry=1,"
           " unroll=1] %%0 return %%1 }",
           KERNELS, LONG, LONG);
  return text;
}

typedef struct long_call {
  const cxi_executable *exe;
  double in[LONG], out[LONG];
  bool good;
} long_call;

static void *run_long(void *argument) {
  long_call *c = argument;
  const void *in[] = { c->in };
  void *out[] = { c->out };
  void *workspace = cxi_alloc_aligned(cxi_executable_workspace(c->exe));
  cxi_error error = { 0 };
  c->good =
      workspace && cxi_executable_run(c->exe, in, out, workspace, 1, &error);
  cxi_free(workspace);
  return NULL;
}

static void test_stack(void **state) {
  (void)state;
  if (!loops_there()) skip();
  static char text[8192];
  static long_call want, got;
  const cx_loops before = cxi_code_set(CX_LOOPS_OFF);
  cxi_executable *exe = loops_compile(many_kernels(text, sizeof text));
  for (int i = 0; i < LONG; i++) want.in[i] = 0.01 * i;
  want.exe = exe;
  got = want;
  run_long(&want);
  cxi_code_set(CX_LOOPS_NOW);
  run_long(&got); /* makes the code, for which LLVM needs a stack */
  memset(got.out, 0, sizeof got.out);
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  assert_int_equal(pthread_attr_setstacksize(&small, 128 << 10), 0);
  assert_int_equal(pthread_create(&thread, &small, run_long, &got), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&small);
  assert_true(want.good && got.good);
  assert_memory_equal(want.out, got.out, sizeof want.out);
  cxi_executable_release(exe);
  cxi_code_set(before);
}

/* -- a library that is missing, or another's ------------------------------- */

/* In a process of its own, since a library that is open stays so. */
static void without(const char *library, const char *reason) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("CALX_LLVM_LIBRARY", library, 1);
    cxi_code_set(CX_LOOPS_NOW);
    const char *why = "";
    const bool open = cxi_code_open(&why);
    _exit(compare_all() && !open && strstr(why, reason) &&
                  cxi_code_now().loops == 0
              ? 0
              : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_missing(void **state) {
  (void)state;
  without("/nowhere/libcalx_llvm.so", "not there");
}

static void test_wrong(void **state) {
  (void)state;
  const char *const wrong[] = { getenv("CALX_WRONG_PLUGIN"),
                                getenv("CALX_OTHER_PLUGIN") };
  if (!wrong[0] || !wrong[1]) skip();
  for (int i = 0; i < 2; i++) without(wrong[i], "another version");
}

/* One that never makes any: each loop tries once, however long it runs. */
static void test_failing(void **state) {
  (void)state;
  const char *library = getenv("CALX_FAILING_PLUGIN");
  if (!library) skip();
  cxi_executable *exe = loops_compile(long_loop);
  call want = { .exe = exe };
  const cx_loops before = cxi_code_set(CX_LOOPS_OFF);
  run(&want);
  static const cx_loops when[] = { CX_LOOPS_NOW, CX_LOOPS_WAIT, CX_LOOPS_AUTO };
  for (int i = 0; i < 3; i++) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("CALX_LLVM_LIBRARY", library, 1);
      cxi_code_set(when[i]);
      call got = { .exe = exe };
      /* another thread may be slow to begin */
      for (int k = 0; k < 2 || (cxi_code_now().failed == 0 && k < 1000); k++)
        run(&got);
      cxi_code_settle();
      const cxi_code_stats now = cxi_code_now();
      _exit(memcmp(want.out, got.out, sizeof want.out) || now.failed != 1 ||
            now.loops || now.refused);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  cxi_executable_release(exe);
  cxi_code_set(before);
}

/* A child goes on with what its parent made, and makes more. */
static void test_fork(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const cx_loops before = cxi_code_set(CX_LOOPS_NOW);
  const pid_t child = fork();
  if (child == 0) {
    _exit(compare_all() ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  cxi_code_set(before);
}

static void *make_again(void *argument) {
  (void)argument;
  for (int i = 0; i < 5; i++) compare_all();
  return NULL;
}

/* A child forked while another thread makes code can release its own. */
static void test_fork_while_making(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const cx_loops before = cxi_code_set(CX_LOOPS_NOW);
  static long_call c;
  static char text[8192];
  c.exe = loops_compile(many_kernels(text, sizeof text));
  run_long(&c);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, make_again, NULL), 0);
  for (int i = 0; i < 20; i++) {
    usleep(5000);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20); /* rather than wait for good */
      cxi_executable_release((cxi_executable *)(uintptr_t)c.exe);
      _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  pthread_join(thread, NULL);
  cxi_executable_release((cxi_executable *)(uintptr_t)c.exe);
  cxi_code_set(before);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_missing),
                                      cmocka_unit_test(test_wrong),
                                      cmocka_unit_test(test_failing),
                                      cmocka_unit_test(test_bits),
                                      cmocka_unit_test(test_middle),
                                      cmocka_unit_test(test_short),
                                      cmocka_unit_test(test_stack),
                                      cmocka_unit_test(test_fork),
                                      cmocka_unit_test(
                                          test_fork_while_making) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
