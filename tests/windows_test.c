/* windows_test.c - gathers and scatters on several threads: the bits of the
 * reference, where places meet above all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/execute.h"

/* A scatter's name, mode, and dtype; indices from -3 to 6 for 5 places. */
static const char combined[] =
    "program @f(%%0: %s[5,64], %%1: %s[3000,1], %%2: %s[3000,64]) {"
    " %%3: %s[3000,1] = sub %%1, 3: %s"
    " %%4: %s[5,64] = %s[window=(1), inserted=(0), start_map=(0),"
    " operand_batch=(), index_batch=(), mode=%s, sorted=false, unique=false]"
    " %%0, %%3, %%2 return %%4 }";

static const char *const texts[] = {
  /* arrays beyond a core's caches: columns, and places, are shared out */
  "program @f(%0: f32[64,70000], %1: i32[3000,1], %2: f32[3000,64]) {"
  " %3: f32[64,70000] = scatter_add[window=(1), inserted=(1), start_map=(1),"
  " operand_batch=(), index_batch=(), mode=drop, sorted=false, unique=false]"
  " %0, %1, %2 return %3 }",
  "program @f(%0: i16[90000,96], %1: u8[900,1], %2: i16[900,96]) {"
  " %3: i16[90000,96] = scatter_mul[window=(1), inserted=(0), start_map=(0),"
  " operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false]"
  " %0, %1, %2 return %3 }",
  "program @f(%0: f64[4,600000], %1: i32[50000,2], %2: f64[50000]) {"
  " %3: i32[50000,2] = mul %1, 65000: i32"
  " %4: f64[4,600000] = scatter_add[window=(), inserted=(0,1),"
  " start_map=(0,1), operand_batch=(), index_batch=(), mode=clip,"
  " sorted=false, unique=false] %0, %3, %2 return %4 }",
  /* two items, elements */
  "program @f(%0: f32[7,9], %1: i64[40000,2], %2: f32[40000]) {"
  " %3: f32[7,9] = scatter_add[window=(), inserted=(0,1), start_map=(1,0),"
  " operand_batch=(), index_batch=(), mode=drop, sorted=false, unique=false]"
  " %0, %1, %2 return %3 }",
  /* windows that overlap along the axis they move on */
  "program @f(%0: f64[12,40], %1: u8[2000,1], %2: f64[2000,4,40]) {"
  " %3: f64[12,40] = scatter_add[window=(1,2), inserted=(), start_map=(0),"
  " operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false]"
  " %0, %1, %2 return %3 }",
  /* lines that begin at different places, beside an axis of others */
  "program @f(%0: f32[6,100], %1: i32[900,2], %2: f32[900,2,80]) {"
  " %3: i32[900,2] = sub %1, 2: i32"
  " %4: f32[6,100] = scatter_add[window=(1,2), inserted=(), start_map=(1,0),"
  " operand_batch=(), index_batch=(), mode=clip, sorted=false, unique=false]"
  " %0, %3, %2 return %4 }",
  /* lines that stay, of windows that move */
  "program @f(%0: f32[12,100], %1: i32[900,1], %2: f32[900,3,100]) {"
  " %3: f32[12,100] = scatter_add[window=(1,2), inserted=(), start_map=(0),"
  " operand_batch=(), index_batch=(), mode=drop, sorted=false, unique=false]"
  " %0, %1, %2 return %3 }",
  /* batches, and windows at places between positions */
  "program @f(%0: f32[30,8,16], %1: i32[200,30,1], %2: f32[200,16,30]) {"
  " %3: f32[30,8,16] = scatter[window=(1), inserted=(1), start_map=(1),"
  " operand_batch=(0), index_batch=(1), mode=drop, sorted=false,"
  " unique=false] %0, %1, %2"
  " %4: f32[200,16,30] = gather[offset=(1), collapsed=(1), start_map=(1),"
  " operand_batch=(0), index_batch=(1), sizes=(1,1,16), mode=fill, fill=nan,"
  " sorted=false, unique=false] %3, %1"
  " %5: f32[200,30,16] = gather[offset=(2), collapsed=(1), start_map=(1),"
  " operand_batch=(0), index_batch=(1), sizes=(1,1,16), mode=clip, fill=nan,"
  " sorted=false, unique=false] %3, %1 return %3, %4, %5 }",
  /* windows of several lines, and single elements */
  "program @f(%0: i8[8,6,10], %1: i16[3000,2]) {"
  " %2: i8[3000,3,4] = gather[offset=(1,2), collapsed=(0), start_map=(0,2),"
  " operand_batch=(), index_batch=(), sizes=(1,3,4), mode=fill, fill=nan,"
  " sorted=false, unique=false] %0, %1"
  " %3: i8[3000,6] = gather[offset=(1), collapsed=(0,2), start_map=(0,2),"
  " operand_batch=(), index_batch=(), sizes=(1,6,1), mode=in_bounds, fill=nan,"
  " sorted=false, unique=false] %0, %1"
  " return %2, %3 }",
};

static void check(const char *text) {
  for (int threads = 1; threads <= 4; threads++) {
    execution x;
    const char *wrong = execution_open(&x, text, 0, 0, 17);
    if (wrong) fail_msg("%s\n%s", wrong, text);
    wrong = execution_compare(&x, threads, 0);
    if (wrong) fail_msg("%d threads: %s\n%s", threads, wrong, text);
    execution_close(&x);
  }
}

static void test_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check(texts[i]);
}

static void test_combined(void **state) {
  (void)state;
  static const char *const names[] = { "scatter", "scatter_add", "scatter_mul",
                                       "scatter_min", "scatter_max" };
  static const char *const modes[] = { "clip", "drop", "in_bounds" };
  static const char *const types[] = { "f32", "f64", "bf16", "i16", "u64" };
  static const char *const indices[] = { "i32", "i8", "i64", "u32", "u64" };
  char text[1024];
  for (int n = 0; n < 5; n++)
    for (int m = 0; m < 3; m++)
      for (int t = 0; t < 5; t++) {
        const char *type = types[t], *index = indices[t];
        snprintf(text, sizeof text, combined, type, index, type, index, index,
                 type, names[n], modes[m]);
        check(text);
      }
}

/* Single elements at places of one and of two items, beyond whole vectors and
 * blocks, clamped and filled; batches; windows read across; every index dtype,
 * up to numbers that i32 does not hold. */
static const char elements[] =
    "program @f(%%0: %s[9,11], %%1: %s[1037,2], %%2: %s[9,2053,1]) {"
    " %%3: %s[1037,2] = sub %%1, 2: %s"
    " %%4: %s[1037,2] = mul %%3, %s: %s"
    " %%5: %s[1037] = gather[offset=(), collapsed=(0,1), start_map=(0,1),"
    " operand_batch=(), index_batch=(), sizes=(1,1), mode=%s, fill=nan,"
    " sorted=false, unique=false] %%0, %%4"
    " %%6: %s[9,2053] = gather[offset=(), collapsed=(1), start_map=(1),"
    " operand_batch=(0), index_batch=(0), sizes=(1,1), mode=%s, fill=nan,"
    " sorted=false, unique=false] %%0, %%2"
    " %%7: %s[1037,1] = slice[start=(0,1), limit=(1037,2), strides=(1,1)] %%3"
    " %%8: %s[9,1037] = gather[offset=(0), collapsed=(1), start_map=(1),"
    " operand_batch=(), index_batch=(), sizes=(9,1), mode=%s, fill=nan,"
    " sorted=false, unique=false] %%0, %%7"
    " return %%5, %%6, %%8 }";
/* joined in the order of the positions, in a batch too */
static const char joined[] =
    "program @f(%%0: %s[9,11], %%1: %s[1037,2], %%2: %s[1037], %%3:"
    " %s[9,301,1], %%4: %s[9,301]) { %%5: %s[1037,2] = sub %%1, 1: %s"
    " %%6: %s[9,11] = %s[window=(), inserted=(0,1), start_map=(0,1),"
    " operand_batch=(), index_batch=(), mode=%s, sorted=false, unique=false]"
    " %%0, %%5, %%2 %%7: %s[9,11] = %s[window=(), inserted=(1),"
    " start_map=(1), operand_batch=(0), index_batch=(0), mode=%s,"
    " sorted=false, unique=false] %%6, %%3, %%4 return %%6, %%7 }";

static void test_elements(void **state) {
  (void)state;
  static const char *const names[] = { "scatter", "scatter_add", "scatter_mul",
                                       "scatter_min", "scatter_max" };
  static const char *const modes[] = { "clip", "fill" };
  static const char *const types[] = { "u8",  "bf16", "i32", "f64",
                                       "f32", "u64",  "i16", "i8" };
  static const char *const indices[] = { "i32", "i8",  "i64", "u32",
                                         "u64", "i16", "u8",  "u16" };
  static const char *const factors[] = {
    "1", "3", "3000000000", "1000000000", "4000000000", "1", "1", "1"
  };
  char text[2048];
  for (int m = 0; m < 2; m++)
    for (int t = 0; t < 8; t++) {
      const char *type = types[t], *i = indices[t], *mode = modes[m];
      snprintf(text, sizeof text, elements, type, i, i, i, i, i, factors[t], i,
               type, mode, type, mode, i, type, mode);
      check(text);
      for (int n = 0; n < 5; n++) {
        const char *drop = m ? "drop" : "clip";
        snprintf(text, sizeof text, joined, type, i, type, i, type, i, i, type,
                 names[n], drop, type, names[n], drop);
        check(text);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts),
                                      cmocka_unit_test(test_combined),
                                      cmocka_unit_test(test_elements) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
