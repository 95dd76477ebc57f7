/* code_pass_test.c - passes as generated code: the bits of the reference at
 * every length, one piece of code for many of them, in the background too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/half.h"
#include "base/isa.h"
#include "support/loops.h"

/* Programs of ROWS x N elements: these words stand for numbers. */
static const char *const passes[] = {
  /* operands of all kinds, two results, one of them an operand's last use */
  "program @f(%0: f32[ROWS,N], %1: f32[N], %2: f32[ROWS], %3: f32[]) {"
  " %4: f32[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(1)] %1"
  " %5: f32[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %2"
  " %6: f32[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=()] %3"
  " %7: f32[ROWS,N] = add %0, %4 %8: f32[ROWS,N] = mul %7, %5"
  " %9: f32[ROWS,N] = max %8, %6 %10: f32[ROWS,N] = sub %9, %0"
  " return %8, %10 }",
  /* f16 and bf16 round at each equation */
  "program @f(%0: f16[ROWS,N], %1: bf16[ROWS,N]) {"
  " %2: f16[ROWS,N] = mul %0, %0 %3: f16[ROWS,N] = sub %2, %0"
  " %4: f16[ROWS,N] = div %3, 3.0: f16 %5: bf16[ROWS,N] = mul %1, %1"
  " %6: bf16[ROWS,N] = convert[type=bf16] %4 %7: bf16[ROWS,N] = add %5, %6"
  " return %4, %7 }",
  /* bytes, words, comparisons, choices */
  "program @f(%0: i8[ROWS,N], %1: f64[ROWS,N], %2: u8[ROWS,N]) {"
  " %3: i8[ROWS,N] = mul %0, 37: i8 %4: bool[ROWS,N] = gt %3, %0"
  " %5: f64[ROWS,N] = select %4, %1, 0.5: f64"
  " %6: i32[ROWS,N] = convert[type=i32] %5 %7: i32[ROWS,N] = shift_left %6, "
  "3: i32 %8: bool[ROWS,N] = not %4 %9: u8[ROWS,N] = add %2, 200: u8"
  " %10: u8[ROWS,N] = select %8, %9, %2 return %4, %5, %7, %10 }",
  "program @f(%0: u8[ROWS,N], %1: u8[ROWS,N]) {"
  " %2: u8[ROWS,N] = mul %0, %1 %3: u8[ROWS,N] = xor %2, %0 return %3 }",
  /* what is computed from its place */
  "program @f(%0: key[], %1: i32[ROWS,N]) {"
  " %2: u32[ROWS,N] = random_bits[shape=(ROWS,N), type=u32] %0"
  " %3: u32[ROWS,N] = shift_right_logical %2, 9: u32"
  " %4: i32[ROWS,N] = iota[axis=1, shape=(ROWS,N), type=i32]"
  " %5: i32[ROWS,N] = iota[axis=0, shape=(ROWS,N), type=i32]"
  " %6: i32[ROWS,N] = mul %4, %5 %7: i32[ROWS,N] = add %6, %1"
  " %8: bool[ROWS,N] = ge %4, %5 return %3, %7, %8 }",
  "program @f(%0: key[]) {"
  " %1: u64[ROWS,N] = random_bits[shape=(ROWS,N), type=u64] %0"
  " %2: u64[ROWS,N] = shift_right_logical %1, 12: u64"
  " %3: u8[ROWS,N] = random_bits[shape=(ROWS,N), type=u8] %0"
  " %4: u8[ROWS,N] = and %3, 15: u8 return %2, %4 }",
};
enum { N_PASSES = sizeof passes / sizeof *passes };

/* With reductions: several loops over a row. */
static const char *const rows_passes[] = {
  /* softmax, then what is left of it after another sum */
  "program @f(%0: f32[ROWS,N]) {"
  " %1: f32[ROWS] = reduce_max[axes=(1)] %0"
  " %2: f32[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %1"
  " %3: f32[ROWS,N] = sub %0, %2 %4: f32[ROWS,N] = exp %3"
  " %5: f32[ROWS] = reduce_sum[axes=(1)] %4"
  " %6: f32[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %5"
  " %7: f32[ROWS,N] = div %4, %6 %8: f32[ROWS] = log %5"
  " %9: f32[ROWS] = add %8, %1 %10: f32[ROWS,N] = mul %7, %3"
  " %11: f32[ROWS] = reduce_min[axes=(1)] %10 return %7, %9, %11 }",
  /* layer norm of halves with a scale per column and a number per row */
  "program @f(%0: f16[ROWS,N], %1: f16[N], %2: f16[ROWS]) {"
  " %3: f16[ROWS] = reduce_sum[axes=(1)] %0 %4: f16[ROWS] = mul %3, 0.125: "
  "f16 %5: f16[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %4"
  " %6: f16[ROWS,N] = sub %0, %5 %7: f16[ROWS,N] = square %6"
  " %8: f16[ROWS] = reduce_sum[axes=(1)] %7 %9: f16[ROWS] = add %8, %2"
  " %10: f16[ROWS] = rsqrt %9"
  " %11: f16[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %10"
  " %12: f16[ROWS,N] = mul %6, %11"
  " %13: f16[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(1)] %1"
  " %14: f16[ROWS,N] = mul %12, %13 return %14, %9 }",
  /* bytes, f64, a choice that crosses, products */
  "program @f(%0: i8[ROWS,N], %1: f64[ROWS,N]) {"
  " %2: i8[ROWS] = reduce_max[axes=(1)] %0"
  " %3: i8[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %2"
  " %4: bool[ROWS,N] = lt %0, %3 %5: f64[ROWS,N] = select %4, %1, 0.5: f64"
  " %6: f64[ROWS] = reduce_prod[axes=(1)] %5"
  " %7: f64[ROWS,N] = broadcast_in_dim[shape=(ROWS,N), map=(0)] %6"
  " %8: f64[ROWS,N] = sub %5, %7 %9: f64[ROWS,N] = select %4, %8, %1"
  " %10: f64[ROWS] = reduce_sum[axes=(1)] %9 return %9, %10 }",
};
enum { N_ROWS_PASSES = sizeof rows_passes / sizeof *rows_passes };

/* The program with numbers for its words. */
static const char *text_of(const char *pass, int rows, int n) {
  static char text[4096];
  size_t at = 0;
  for (const char *p = pass; *p;) {
    const bool is_rows = strncmp(p, "ROWS", 4) == 0;
    const bool is_n = *p == 'N' && (p[1] == ',' || p[1] == ')' || p[1] == ']');
    if (is_rows || is_n)
      at += (size_t)snprintf(text + at, sizeof text - at, "%d",
                             is_rows ? rows : n);
    else
      text[at++] = *p;
    p += is_rows ? 4 : 1;
    assert_true(at < sizeof text - 16);
  }
  text[at] = 0;
  return text;
}

static void check(const char *pass, int rows, int n, int threads) {
  execution x;
  const char *text = text_of(pass, rows, n);
  const char *wrong = execution_open(&x, text, 0, 0, 7);
  if (wrong) fail_msg("%s\n%s", wrong, text);
  wrong = execution_compare(&x, threads, 0);
  if (wrong) fail_msg("%d threads: %s\n%s", threads, wrong, text);
  execution_close(&x);
}

enum { N_SIZES = 7 };
static void check_all(int n, const char *const *programs,
                      const int sizes[][2]) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < N_SIZES; k++)
      for (int threads = 1; threads <= 2; threads++)
        check(programs[i], sizes[k][0], sizes[k][1], threads);
}

/* Rows shorter and longer than a register, one row, more than one task. */
static void test_bits(void **state) {
  (void)state;
  static const int sizes[N_SIZES][2] = { { 1, 1 },   { 3, 5 },    { 2, 16 },
                                         { 7, 33 },  { 1, 5000 }, { 3, 2051 },
                                         { 900, 70 } };
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  const cxi_code_stats before = cxi_code_now();
  check_all(N_PASSES, passes, sizes);
  const cxi_code_stats after = cxi_code_now();
  print_message("%d made, %.1f ms each\n", (int)(after.made - before.made),
                1e-6 * (double)(after.making_ns - before.making_ns) /
                    (double)(after.made - before.made));
  assert_true(after.passes > before.passes + 6 * N_PASSES);
  /* other lengths run the same code */
  assert_true(after.made - before.made < 4 * N_PASSES);
  assert_int_equal(after.failed, before.failed);
}

/* Rows of fewer and of more elements than a reduction has lanes. */
static void test_rows(void **state) {
  (void)state;
  static const int sizes[N_SIZES][2] = { { 3, 2 },    { 5, 17 }, { 4, 63 },
                                         { 4, 64 },   { 7, 65 }, { 1, 1000 },
                                         { 300, 200 } };
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  const cxi_code_stats before = cxi_code_now();
  check_all(N_ROWS_PASSES, rows_passes, sizes);
  const cxi_code_stats after = cxi_code_now();
  assert_int_equal(after.failed, before.failed);
  /* without an instruction to multiply and add there is no exponential */
  const int taken = N_ROWS_PASSES - (cxi_isa_now() == CXI_ISA_BASE);
  assert_true(after.passes > before.passes + (uint64_t)(6 * taken));
}

/* -- functions ------------------------------------------------------------- */

static const char *const functions[] = { "exp",      "expm1", "log", "log1p",
                                         "logistic", "tanh",  "erf", "erf_inv",
                                         "sqrt",     "rsqrt" };

static void run_on(const cxi_executable *exe, const void *in, void *out,
                   cx_loops loops) {
  cxi_error error = { 0 };
  void *workspace = cxi_alloc_aligned(cxi_executable_workspace(exe));
  assert_non_null(workspace);
  if (!cxi_executable_run_with(exe, &in, &out, workspace, 1, loops, &error))
    fail_msg("%s", error.text);
  cxi_free(workspace);
}

/* The bits of an element, of NaN the same ones whatever it is. */
static uint32_t element(cx_dtype type, const void *x, int i) {
  if (type == CX_F32) {
    const float f = ((const float *)x)[i];
    return f != f ? 0x7fc00000 : cxi_bits_f32(f);
  }
  const uint16_t bits = ((const uint16_t *)x)[i];
  const uint16_t inf = type == CX_F16 ? 0x7c00 : 0x7f80;
  return (bits & 0x7fff) > inf ? 0x7fff : bits;
}

/* All f16 and bf16 numbers; of f32 those a step apart that meets all signs,
 * exponents and many mantissas, and what is near powers of two. */
static void fill(cx_dtype type, void *x, int n) {
  for (int i = 0; i < n; i++) {
    const uint32_t near = ((uint32_t)i << 22) + (uint32_t)(i >> 10 & 31) - 16;
    const uint32_t apart = (uint32_t)i * 8191u;
    if (type == CX_F32)
      ((uint32_t *)x)[i] = i < 1 << 15 ? near : apart;
    else
      ((uint16_t *)x)[i] = (uint16_t)i;
  }
}

static void check_function(const char *name, cx_dtype type) {
  const int n = type == CX_F32 ? 1 << 19 : 1 << 16;
  const char *t = cxi_dtype_name(type);
  char text[300];
  snprintf(text, sizeof text,
           "program @f(%%0: %s[%d]) { %%1: %s[%d] = %s %%0 %%2: %s[%d] = neg "
           "%%1 return %%2 }",
           t, n, t, n, name, t, n);
  cxi_executable *exe = loops_compile(text);
  void *in = malloc(4 * (size_t)n), *plain = malloc(4 * (size_t)n),
       *code = malloc(4 * (size_t)n);
  fill(type, in, n);
  const uint64_t before = cxi_code_now().passes;
  run_on(exe, in, plain, CX_LOOPS_OFF);
  run_on(exe, in, code, CX_LOOPS_NOW);
  for (int i = 0; i < n; i++)
    if (element(type, plain, i) != element(type, code, i))
      fail_msg("%s of %s %08x: %08x, code %08x", name, t, element(type, in, i),
               element(type, plain, i), element(type, code, i));
  const bool roots = strstr(name, "sqrt") != NULL;
  if (roots || cxi_isa_now() != CXI_ISA_BASE)
    assert_int_equal(cxi_code_now().passes - before, 1);
  free(in), free(plain), free(code);
  cxi_executable_release(exe);
}

static void test_functions(void **state) {
  (void)state;
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  const cxi_code_stats before = cxi_code_now();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    check_function(functions[i], CX_F32);
    check_function(functions[i], CX_F16);
    check_function(functions[i], CX_BF16);
  }
  const cxi_code_stats after = cxi_code_now();
  print_message("%d made, %.1f ms each\n", (int)(after.made - before.made),
                1e-6 * (double)(after.making_ns - before.making_ns) /
                    (double)(after.made - before.made));
}

/* One call on tier 0, the next with code; a small pass never asks. */
static void test_when(void **state) {
  (void)state;
  if (!loops_there()) skip();
  static const struct {
    cx_loops when;
    int n, runs;
    uint64_t passes;
  } cases[] = { { CX_LOOPS_WAIT, 4000, 1, 1 },
                { CX_LOOPS_OFF, 4000, 1, 0 },
                { CX_LOOPS_WAIT, 40, 50, 0 } };
  setenv("CALX_LLVM_AFTER", "60", 1);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    execution x;
    cxi_code_forget();
    cxi_code_set(cases[k].when);
    const uint64_t before = cxi_code_now().passes;
    assert_null(execution_open(&x, text_of(passes[0], 1, cases[k].n), 0, 0, 3));
    for (int i = 0; i < cases[k].runs; i++)
      assert_null(execution_compare(&x, 2, 0));
    execution_close(&x);
    assert_int_equal(cxi_code_now().passes - before, cases[k].passes);
  }
}

/* A run may want code where none is the rule, and none where it is. */
static void test_wanted_by_a_run(void **state) {
  (void)state;
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_OFF);
  const uint64_t before = cxi_code_now().passes;
  cxi_executable *exe =
      loops_compile("program @f(%0: f32[5000]) { %1: f32[5000] = mul %0, %0"
                    " %2: f32[5000] = add %1, %0 return %2 }");
  float *in = calloc(5000, 4), *out = calloc(5000, 4);
  run_on(exe, in, out, CX_LOOPS_DEFAULT);
  assert_int_equal(cxi_code_now().passes, before);
  run_on(exe, in, out, CX_LOOPS_NOW);
  assert_int_equal(cxi_code_now().passes, before + 1);
  free(in), free(out);
  cxi_executable_release(exe);
}

/* What code would not change, or not better, has none and opens nothing. */
static void test_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
    /* a single equation */
    "program @f(%0: f32[9000]) { %1: f32[9000] = exp %0 return %1 }",
    /* read across */
    "program @f(%0: f32[90,100], %1: f32[100,90]) {"
    " %2: f32[100,90] = transpose[permutation=(1,0)] %0"
    " %3: f32[100,90] = mul %2, %1 %4: f32[100,90] = add %3, %1 return %4 }",
  };
  cxi_code_set(CX_LOOPS_NOW);
  const cxi_code_stats before = cxi_code_now();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    check(texts[i], 0, 0, 1);
  const cxi_code_stats after = cxi_code_now();
  assert_int_equal(after.passes + after.refused,
                   before.passes + before.refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_when, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_bits, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_rows, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_functions, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_wanted_by_a_run, loops_begin,
                                    loops_end),
    cmocka_unit_test_setup_teardown(test_refused, loops_begin, loops_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
