/* lower_test.c - plans: memory, donation, loops in place, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cpu/cpu.h"
#include "backends/reference/reference.h"
#include "base/alloc.h"
#include "ir/text.h"

static const cxi_program *parse(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) fail_msg("%s", error.text);
  return p;
}

static cxi_executable *compile(const char *text, const bool *donate) {
  const cxi_program *p = parse(text);
  cxi_error error = { 0 };
  cxi_executable *exe = cxi_compile(
      p, &cxi_cpu_backend, (cxi_compile_options){ .donate = donate }, &error);
  if (!exe) fail_msg("%s", error.text);
  cxi_program_release(p);
  return exe;
}

static size_t peak(const char *text) {
  cxi_executable *exe = compile(text, NULL);
  const size_t bytes = cxi_executable_peak(exe);
  cxi_executable_release(exe);
  return bytes;
}

/* Elementwise chains reuse one buffer, or none if they fuse. */
static void test_chain(void **state) {
  (void)state;
  assert_int_equal(peak("program @f(%0: f32[1000]) { %1: f32[1000] = exp %0"
                        " %2: f32[1000] = sin %1 %3: f32[1000] = exp %2"
                        " return %3 }"),
                   0);
}

/* The report names the largest buffer, and the slab is written to its end. */
static void test_report(void **state) {
  (void)state;
  cxi_executable *exe = compile(
      "program @f(%0: f32[64,64], %1: i32[100]) {"
      " %2: f32[64,64] = dot_general[lhs_contract=(1), rhs_contract=(0),"
      " lhs_batch=(), rhs_batch=(), type=f32] %0, %0"
      " %3: f32[64,64] = dot_general[lhs_contract=(1), rhs_contract=(0),"
      " lhs_batch=(), rhs_batch=(), type=f32] %2, %0 return %3 }",
      NULL);
  assert_true(cxi_executable_peak(exe) >= 64 * 64 * 4);
  assert_non_null(strstr(cxi_executable_plan(exe), "f32[64,64], steps 0 to 1"));
  const size_t bytes = cxi_executable_workspace(exe);
  assert_int_equal(bytes % 64, 0);
  unsigned char *memory = cxi_buffer_take(bytes);
  float *x = calloc(64 * 64, sizeof *x), *y = calloc(64 * 64, sizeof *y);
  int32_t i[100] = { 0 };
  for (int k = 0; k < 64 * 64; k++) x[k] = 1;
  memset(memory, 0xab, bytes);
  cxi_error error = { 0 };
  assert_true(cxi_executable_run(exe, (const void *[]){ x, i }, (void *[]){ y },
                                 memory, 1, &error));
  assert_true(y[0] == 64 * 64);
  size_t top = bytes;
  while (top > 0 && memory[top - 1] == 0xab) top--;
  assert_true(bytes - top < 64);
  free(x);
  free(y);
  cxi_buffer_free(memory);
  cxi_executable_release(exe);
}

/* tanh(x w) n times and its gradient by hand: from kept activations, or
 * recomputed from x behind a barrier that waits for the cotangent. */
static char *deep_net(int n, bool recompute) {
  char *text = malloc((size_t)n * 1000 + 1000), *at = text;
  const char *dot = "dot_general[lhs_contract=(1), rhs_contract=(%d),"
                    " lhs_batch=(), rhs_batch=(), type=f32]";
  int v = 3, kept[200], x = 0;
  if (!text) return NULL;
  at += sprintf(at, "program @f(%%0: f32[256,64], %%1: f32[64,64],"
                    " %%2: f32[256,64]) {");
  for (int i = 0; i < n; i++) {
    at += sprintf(at, " %%%d: f32[256,64] = ", v);
    at += sprintf(at, dot, 0);
    at += sprintf(at, " %%%d, %%1 %%%d: f32[256,64] = tanh %%%d", x, v + 1, v);
    kept[i] = x = v + 1;
    v += 2;
  }
  int ct = 2, last = x;
  for (int i = n - 1; i >= 0; i--) {
    int y = kept[i];
    if (recompute && i % 10 == 9) {
      /* this stretch again, from its first activation */
      int from = i == 9 ? 0 : kept[i - 10];
      at += sprintf(at,
                    " %%%d: f32[256,64], %%%d: f32[256,64] ="
                    " optimization_barrier %%%d, %%%d",
                    v, v + 1, from, ct);
      from = v;
      ct = v + 1;
      v += 2;
      for (int k = i - 9; k <= i; k++) {
        at += sprintf(at, " %%%d: f32[256,64] = ", v);
        at += sprintf(at, dot, 0);
        at += sprintf(at, " %%%d, %%1 %%%d: f32[256,64] = tanh %%%d", from,
                      v + 1, v);
        kept[k] = from = v + 1;
        v += 2;
      }
      y = kept[i];
    }
    at += sprintf(at,
                  " %%%d: f32[256,64] = square %%%d"
                  " %%%d: f32[256,64] = sub 1.0:f32, %%%d"
                  " %%%d: f32[256,64] = mul %%%d, %%%d %%%d: f32[256,64] = ",
                  v, y, v + 1, v, v + 2, v + 1, ct, v + 3);
    at += sprintf(at, dot, 1);
    at += sprintf(at, " %%%d, %%1", v + 2);
    ct = v + 3;
    v += 4;
  }
  sprintf(at, " return %%%d, %%%d }", last, ct);
  return text;
}

static void test_recomputation(void **state) {
  (void)state;
  char *kept = deep_net(100, false), *again = deep_net(100, true);
  assert_non_null(kept);
  assert_non_null(again);
  const size_t one = 256 * 64 * 4;
  const size_t with = peak(kept), without = peak(again);
  assert_true(with > 95 * one);
  assert_true(without < 30 * one);
  free(kept);
  free(again);
}

/* Each parameter's update runs as its gradient completes: one gradient is
 * alive at a time, though the outputs come in the order of the layers. */
static void test_updates_early(void **state) {
  (void)state;
  enum { N = 20 };
  char *text = malloc(20000), *at = text;
  assert_non_null(text);
  at += sprintf(at, "program @f(%%0: f32[64,4]");
  for (int i = 1; i <= N; i++) at += sprintf(at, ", %%%d: f32[64,64]", i);
  at += sprintf(at, ") {");
  int v = N + 1, ct = 0, out[N + 1];
  for (int i = N; i >= 1; i--) {
    at += sprintf(at,
                  " %%%d: f32[64,64] = dot_general[lhs_contract=(1),"
                  " rhs_contract=(1), lhs_batch=(), rhs_batch=(), type=f32]"
                  " %%%d, %%%d",
                  v, ct, ct);
    at += sprintf(at, " %%%d: f32[64,64] = sub %%%d, %%%d", v + 1, i, v);
    at += sprintf(at,
                  " %%%d: f32[64,4] = dot_general[lhs_contract=(1),"
                  " rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32]"
                  " %%%d, %%%d",
                  v + 2, i, ct);
    out[i] = v + 1;
    ct = v + 2;
    v += 3;
  }
  at += sprintf(at, " return ");
  for (int i = 1; i <= N; i++)
    at += sprintf(at, "%%%d%s", out[i], i < N ? ", " : " }");
  bool donate[N + 1];
  memset(donate, 1, sizeof donate);
  donate[0] = false;
  cxi_executable *exe = compile(text, donate);
  /* a gradient, two cotangents, panels of a product */
  assert_true(cxi_executable_peak(exe) < 4 * 64 * 64 * 4);
  /* all outputs but that of the first update find a parameter's buffer */
  int own = 0;
  bool taken[N + 1] = { false };
  for (uint32_t i = 0; i < N; i++) {
    const int alias = cxi_executable_alias(exe, i);
    if (alias < 0)
      own++;
    else
      assert_false(taken[alias]);
    if (alias >= 0) taken[alias] = true;
  }
  assert_true(own <= 1);
  cxi_executable_release(exe);
  free(text);
}

/* A donated input's buffer becomes the output's. */
static void test_donation(void **state) {
  (void)state;
  const bool donate[2] = { true, false };
  cxi_executable *exe =
      compile("program @f(%0: f32[5], %1: f32[5]) { %2: f32[5] = sub %1, %0"
              " %3: f32[5] = mul %2, %2 return %2, %3 }",
              donate);
  const int first = cxi_executable_alias(exe, 0),
            second = cxi_executable_alias(exe, 1);
  assert_true((first == 0) != (second == 0));
  float x[5] = { 1, 2, 3, 4, 5 }, y[5] = { 2, 2, 2, 2, 2 }, other[5];
  void *out[2] = { first == 0 ? x : other, second == 0 ? x : other };
  void *memory = cxi_buffer_take(cxi_executable_workspace(exe));
  cxi_error error = { 0 };
  assert_true(cxi_executable_run(exe, (const void *[]){ x, y }, out, memory, 1,
                                 &error));
  assert_true(((float *)out[0])[4] == -3);
  assert_true(((float *)out[1])[4] == 9);
  cxi_buffer_free(memory);
  cxi_executable_release(exe);
}

/* A loop that updates one row of its carry per step holds no copy of it. */
static void test_loop_in_place(void **state) {
  (void)state;
  const bool donate[2] = { true, false };
  cxi_executable *exe =
      compile("program @body(%0: i32[], %1: f32[1000,8], %2: f32[1,8]) {"
              " %3: f32[1000,8] = update_slice_add %1, %2, %0, 0:i32"
              " %4: i32[] = add %0, 1:i32 return %4, %3 }"
              "program @main(%0: f32[1000,8], %1: f32[1000,1,8]) {"
              " %2: i32[], %3: f32[1000,8] = scan[body=@body, length=1000,"
              " reverse=false, unroll=1, n_consts=0, n_carry=2] 0:i32, %0, %1"
              " return %3 }",
              donate);
  assert_true(cxi_executable_peak(exe) < 4000);
  assert_int_equal(cxi_executable_alias(exe, 0), 0);
  cxi_executable_release(exe);
}

static const char *const mixed =
    "program @cond(%0: i32[], %1: f32[3]) { %2: bool[] = lt %0, 4:i32 return "
    "%2 }"
    "program @body(%0: i32[], %1: f32[3]) { %2: i32[] = add %0, 1:i32"
    " %3: f32[3] = tanh %1 %4: f32[3] = mul %3, %1 return %2, %4 }"
    "program @twice(%0: f32[3]) { %1: f32[3] = add %0, %0 return %1 }"
    "program @main(%0: f32[3], %1: f32[3,3]) { %2: f32[3] = jit[body=@twice] %0"
    " %3: i32[], %4: f32[3] = while[cond=@cond, body=@body, n_cond_consts=0,"
    " n_body_consts=0] 0:i32, %2 %5: f32[3,3] = transpose[permutation=(1,0)] %1"
    " %6: f32[3] = dot_general[lhs_contract=(1), rhs_contract=(0),"
    " lhs_batch=(), rhs_batch=(), type=f32] %5, %4"
    " %7: f32[] = reduce_sum[axes=(0)] %6 return %7, %6, %4, %0 }";

/* Every allocation of a compilation fails once: an error, nothing is left. */
static void test_failures(void **state) {
  (void)state;
  const cxi_program *p = parse(mixed);
  cxi_executable *exe = NULL;
  for (uint64_t n = 0; !exe && n < 2000; n++) {
    cxi_scratch_free();
    const size_t before = cxi_alloc_now().live_bytes;
    cxi_error error = { 0 };
    cxi_alloc_fail_after(n);
    exe = cxi_compile(p, &cxi_cpu_backend, (cxi_compile_options){ 0 }, &error);
    cxi_alloc_fail_after(UINT64_MAX);
    cxi_scratch_free();
    if (exe) break;
    assert_int_equal(error.code, CX_EMEMORY);
    assert_true(cxi_alloc_now().live_bytes <= before);
  }
  assert_non_null(exe);
  cxi_executable_release(exe);
  cxi_program_release(p);
}

/* Operands that are one number, but as copies or panels more than there can
 * be: an error, no memory of a size that has gone around. */
static void test_too_large(void **state) {
  (void)state;
  static const char *const texts[] = {
    "program @f(%0: i8[], %1: i8[]) {"
    " %2: i8[2147483648,2147483648] = broadcast_in_dim["
    "shape=(2147483648,2147483648), map=()] %0"
    " %3: i8[2147483648,2147483648] = broadcast_in_dim["
    "shape=(2147483648,2147483648), map=()] %1"
    " %4: i8[] = dot_general[lhs_contract=(0,1), rhs_contract=(0,1),"
    " lhs_batch=(), rhs_batch=(), type=i8] %2, %3 return %4 }",
    "program @f(%0: f32[3], %1: f32[2]) {"
    " %2: f32[3] = rev[axes=(0)] %0 %3: f32[2] = rev[axes=(0)] %1"
    " %4: f32[3,288230376151711744] = broadcast_in_dim["
    "shape=(3,288230376151711744), map=(0)] %2"
    " %5: f32[2,288230376151711744] = broadcast_in_dim["
    "shape=(2,288230376151711744), map=(0)] %3"
    " %6: f32[3,2] = dot_general[lhs_contract=(1), rhs_contract=(1),"
    " lhs_batch=(), rhs_batch=(), type=f32] %4, %5 return %6 }",
    "program @f(%0: f32[1,1,4], %1: f32[]) {"
    " %2: f32[1,1,1152921504606846976] = broadcast_in_dim["
    "shape=(1,1,1152921504606846976), map=()] %1"
    " %3: f32[1,1,5] = conv_general_dilated[strides=(1),"
    " low=(1152921504606846900), high=(76), lhs_dilation=(1),"
    " rhs_dilation=(1), lhs_axes=(0,1,2), rhs_axes=(0,1,2),"
    " out_axes=(0,1,2), feature_groups=1, batch_groups=1, type=f32] %0, %2"
    " return %3 }",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const cxi_program *p = parse(texts[i]);
    cxi_error error = { 0 };
    assert_null(
        cxi_compile(p, &cxi_cpu_backend, (cxi_compile_options){ 0 }, &error));
    assert_int_equal(error.code, CX_EMEMORY);
    cxi_program_release(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_chain),         cmocka_unit_test(test_report),
    cmocka_unit_test(test_recomputation), cmocka_unit_test(test_updates_early),
    cmocka_unit_test(test_donation),      cmocka_unit_test(test_loop_in_place),
    cmocka_unit_test(test_failures),      cmocka_unit_test(test_too_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
