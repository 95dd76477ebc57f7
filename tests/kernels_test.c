/* kernels_test.c - kernels of the CPU against the reference, bit for bit: on
 * special values, sizes around whole vectors and blocks, views. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/execute.h"

static void check(const char *text, double lo, double hi) {
  execution x;
  const char *failure = execution_open(&x, text, lo, hi, 5);
  if (failure) fail_msg("%s\n%s", failure, text);
  for (int threads = 1; threads <= 2; threads++) {
    failure = execution_compare(&x, threads, 0);
    if (failure) fail_msg("%d threads: %s\n%s", threads, failure, text);
  }
  execution_close(&x);
}

/* -- reductions -------------------------------------------------------------- */

static const char *const numbers[] = { "f32", "f64", "f16", "bf16", "i8",
                                       "u8",  "i16", "u16", "i32",  "u32",
                                       "i64", "u64", "bool" };
enum { N_NUMBERS = sizeof numbers / sizeof *numbers, N_FLOATS = 4 };

/* Quotients of small whole numbers: many ties, both zeros; by a number from
 * -4 on also infinities and NaN. Which NaN a result is does not count. */
static void reduce(const char *prim, int t, const char *shape, const char *kept,
                   const char *axes, bool arg, int least) {
  char text[2048], operand[160], result[80];
  const char *type = numbers[t];
  snprintf(operand, sizeof operand, "%s[%s]", type, shape);
  snprintf(result, sizeof result, "%s[%s]", arg ? "i32" : type, kept);
  const int used = snprintf(
      text, sizeof text,
      "program @f(%%0: i32[%s], %%1: i32[%s]) { %%2: i32[%s] = sub %%0, 4: i32"
      " %%3: i32[%s] = sub %%1, %d: i32 %%4: %s = convert[type=%s] %%2"
      " %%5: %s = convert[type=%s] %%3 %%6: %s = %s %%4, %%5 %%7: %s = %s",
      shape, shape, shape, shape, least, operand, type, operand, type, operand,
      t < N_FLOATS        ? "div"
      : t < N_NUMBERS - 1 ? "mul"
                          : "and",
      result, prim);
  snprintf(text + used, sizeof text - (size_t)used,
           arg ? "[axis=%s, type=i32] %%6 return %%7 }"
           : t < N_FLOATS
               ? "[axes=(%s)] %%6 %%8: bool[%s] = eq %%7, %%7"
                 " %%9: %s = broadcast_in_dim[shape=(%s), map=()] 0: %s"
                 " %%10: %s = select %%8, %%9, %%7 return %%8, %%10 }"
               : "[axes=(%s)] %%6 return %%7 }",
           axes, kept, result, kept, type, result);
  check(text, 0, 0);
}

static const struct {
  const char *shape, *kept, *axes;
  bool one; /* axis: as argmax takes it */
} reductions[] = {
  { "3,70001", "3", "1", true },     /* rows too long to fuse */
  { "131,70", "70", "0", true },     /* columns, the last block not whole */
  { "2,130", "130", "0", true },     /* most lanes absent */
  { "5,131,9", "5,9", "1", true },   /* columns in a batch */
  { "7,41,33", "41", "0,2", false }, /* rows whose elements lie apart */
  { "150,2", "150", "1", true },     /* short rows, many at once */
  { "131,4", "131", "1", true },     { "67,31", "67", "1", true },
  { "67,33", "67", "1", true },      { "1,5", "5", "0", true },
};

static void test_reductions(void **state) {
  (void)state;
  static const char *const prims[] = { "reduce_sum", "reduce_max",
                                       "reduce_min", "reduce_prod",
                                       "argmax",     "argmin",
                                       "reduce_and", "reduce_xor" };
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    for (int t = 0; t < N_NUMBERS; t++)
      for (int p = 0; p < 8; p++) {
        const bool arg = p == 4 || p == 5, is_bool = t == N_NUMBERS - 1;
        if ((arg && !reductions[i].one) || (p > 5 && t < N_FLOATS) ||
            (is_bool && (p == 0 || p == 3)))
          continue;
        for (int least = 4; least <= 10; least += 6)
          reduce(prims[p], t, reductions[i].shape, reductions[i].kept,
                 reductions[i].axes, arg, least);
      }
}

/* -- conversions --------------------------------------------------------------- */

/* Floats inside and beyond every integer's range, with infinities, NaN and
 * numbers that round to even; integers of all lengths. */
static void test_conversions(void **state) {
  (void)state;
  static const double ranges[] = { 3, 300, 7e4, 5e9, 3e19, 1e-5 };
  char text[1024];
  for (int to = 0; to < N_NUMBERS; to++) {
    for (int from = 0; from < N_FLOATS; from++)
      for (int r = 0; from != to && r < 6; r++) {
        const char *f = numbers[from], *t = numbers[to];
        snprintf(text, sizeof text,
                 "program @f(%%0: %s[1037], %%1: i32[1037]) {"
                 " %%2: f32[1037] = convert[type=f32] %%1"
                 " %%3: f32[1037] = sub %%2, 3.0: f32"
                 " %%4: f32[1037] = div %%3, %%3"
                 " %%5: %s[1037] = convert[type=%s] %%4"
                 " %%6: %s[1037] = mul %%0, %%5 %%7: %s[1037] = div %%6, %%5"
                 " %%8: bool[1037] = eq %%7, %%7"
                 " %%9: %s[1037] = broadcast_in_dim[shape=(1037), map=()] 0: %s"
                 " %%10: %s[1037] = select %%8, %%9, %%7"
                 " %%11: %s[1037] = convert[type=%s] %%%s"
                 " %%12: %s[1037] = convert[type=%s] %%0 return %%11, %%12 }",
                 f, f, f, f, f, f, f, f, t, t, to < N_FLOATS ? "10" : "7", t,
                 t);
        check(text, -ranges[r], ranges[r]);
      }
    for (int from = N_FLOATS; from < N_NUMBERS - 1; from++)
      for (int shift = 0; from != to && shift < 64; shift += 9) {
        const char *f = numbers[from], *t = numbers[to];
        snprintf(text, sizeof text,
                 "program @f(%%0: key[]) {"
                 " %%1: u64[1037] = random_bits[type=u64, shape=(1037)] %%0"
                 " %%2: i64[1037] = bitcast[type=i64] %%1"
                 " %%3: i64[1037] = shift_right_arithmetic %%2, %d: i64"
                 " %%4: %s[1037] = convert[type=%s] %%3"
                 " %%5: %s[1037] = convert[type=%s] %%4 return %%5 }",
                 shift, f, f, t, t);
        check(text, 0, 0);
      }
  }
}

/* -- movement ------------------------------------------------------------------ */

/* Short and long lines, forwards, backwards and repeated, side by side in the
 * result or not, of elements of 1, 2, 4 and 8 bytes. */
static void test_short_lines(void **state) {
  (void)state;
  static const char *const types[] = { "u8", "i16", "f32", "f64" };
  char text[1024];
  for (int t = 0; t < 4; t++)
    for (int n = 1; n <= 18; n++) {
      const char *e = types[t];
      snprintf(text, sizeof text,
               "program @f(%%0: %s[131,%d]) {"
               " %%1: %s[131,%d] = rev[axes=(1)] %%0"
               " %%2: %s[131,%d] = concatenate[axis=1] %%0, %%1, %%0"
               " %%3: %s[131,%d] = rev[axes=(0,1)] %%2"
               " %%4: %s[131,%d,%d] = broadcast_in_dim[shape=(131,%d,%d),"
               " map=(0,1)] %%0"
               " %%5: %s[131,%d] = reshape[shape=(131,%d)] %%4"
               " %%6: %s[131,%d,2] = stack[axis=2] %%0, %%1"
               " return %%1, %%2, %%3, %%5, %%6 }",
               e, n, e, n, e, 3 * n, e, 3 * n, e, n, n, n, n, e, n * n, n * n,
               e, n);
      check(text, -100, 100);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_reductions),
                                      cmocka_unit_test(test_conversions),
                                      cmocka_unit_test(test_short_lines) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
