/* cpu_windows_test.c - sums and extrema of windows, and convolutions with the
 * widest ones, on the CPU against the reference, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/execute.h"

static uint64_t state_of_draws = 17;

/* lo to hi. */
static int draw(int lo, int hi) {
  state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
  return lo + (int)((state_of_draws >> 33) % (uint64_t)(hi - lo + 1));
}

static void check(const char *text) {
  execution x;
  const char *failure = execution_open(&x, text, 0, 0, 5);
  if (failure) fail_msg("%s\n%s", failure, text);
  for (int threads = 1; threads <= 2; threads++) {
    failure = execution_compare(&x, threads, 0);
    if (failure) fail_msg("%d threads: %s\n%s", threads, failure, text);
  }
  execution_close(&x);
}

enum { AXES = 4 };
typedef int numbers[AXES];

static void list(char *to, const int *x) {
  sprintf(to, "%d,%d,%d,%d", x[0], x[1], x[2], x[3]);
}

/* Windows over quotients of small whole numbers: many ties, both zeros,
 * infinities and NaN; which NaN a result is does not count. With `turned` the
 * first and last axes are exchanged, so that elements lie apart. */
static void check_windows(const char *type, const char *kind,
                          const numbers size, const numbers window,
                          const numbers stride, const numbers low,
                          const numbers high, const numbers dilation,
                          bool turned) {
  numbers count, turn = { size[3], size[1], size[2], size[0] };
  for (int i = 0; i < AXES; i++) {
    const int span = (window[i] - 1) * dilation[i] + 1;
    const int room = size[i] + low[i] + high[i] - span;
    if (room < 0) return;
    count[i] = room / stride[i] + 1;
  }
  char text[4096], in[60], x[60], out[60], w[60], s[60], l[60], h[60], d[60];
  list(in, turned ? turn : size), list(x, size), list(out, count);
  list(w, window), list(s, stride), list(l, low), list(h, high);
  list(d, dilation);
  const bool is_float = type[0] == 'f' || type[0] == 'b';
  int used = snprintf(
      text, sizeof text,
      "program @f(%%0: i32[%s], %%1: i32[%s]) { %%2: i32[%s] = sub %%0, 4: i32"
      " %%3: i32[%s] = sub %%1, 2: i32 %%4: %s[%s] = convert[type=%s] %%2"
      " %%5: %s[%s] = convert[type=%s] %%3 %%6: %s[%s] = %s %%4, %%5"
      " %%7: %s[%s] = transpose[permutation=(%s)] %%6"
      " %%8: %s[%s] = reduce_window_%s[window=(%s), strides=(%s), low=(%s),"
      " high=(%s), base_dilation=(1,1,1,1), window_dilation=(%s)] %%7",
      in, in, in, in, type, in, type, type, in, type, type, in,
      is_float ? "div" : "mul", type, x, turned ? "3,1,2,0" : "0,1,2,3", type,
      out, kind, w, s, l, h, d);
  snprintf(text + used, sizeof text - (size_t)used,
           is_float ? " %%9: bool[%s] = eq %%8, %%8 %%10: %s[%s] ="
                      " broadcast_in_dim[shape=(%s), map=()] 0: %s"
                      " %%11: %s[%s] = select %%9, %%10, %%8"
                      " return %%9, %%11 }"
                    : " return %%8 }",
           out, type, out, out, type, type, out);
  check(text);
}

static const char *const types[] = { "f32", "f64", "f16", "bf16", "i8",
                                     "u8",  "i16", "i32", "u32",  "i64" };
static const char *const kinds[] = { "sum", "max", "min" };

/* Random windows, of steps, padding (also less than nothing) and dilation. */
static void test_random(void **state) {
  (void)state;
  for (int i = 0; i < 300; i++) {
    numbers size, window, stride, low, high, dilation;
    for (int k = 0; k < AXES; k++) {
      const bool plain = draw(0, 2) == 0;
      size[k] = draw(1, k == 3 ? 40 : 6);
      window[k] = plain ? 1 : draw(1, 3);
      stride[k] = plain ? 1 : draw(1, 3);
      low[k] = plain ? 0 : draw(-1, 2);
      high[k] = plain ? 0 : draw(-1, 2);
      dilation[k] = plain ? 1 : draw(1, 2);
    }
    check_windows(types[i % 10], kinds[i / 10 % 3], size, window, stride, low,
                  high, dilation, draw(0, 3) == 0);
  }
}

/* Lines longer than what is copied at once, several tasks, images. */
static void test_large(void **state) {
  (void)state;
  static const numbers one = { 1, 1, 1, 1 }, none = { 0 };
  static const numbers shapes[][3] = {
    { { 2, 3, 9, 16 }, { 1, 2, 2, 1 }, { 1, 1, 1, 1 } },
    { { 3, 20, 21, 17 }, { 1, 3, 3, 1 }, { 1, 2, 2, 1 } },
    { { 1, 1, 2, 2500 }, { 1, 1, 1, 3 }, { 1, 1, 1, 2 } },
    { { 1, 1, 1, 5000 }, { 1, 1, 1, 100 }, { 1, 1, 1, 1 } },
    { { 2, 30, 40, 1 }, { 1, 2, 2, 1 }, { 1, 2, 2, 1 } },
    { { 40, 50, 8, 8 }, { 1, 1, 2, 2 }, { 1, 1, 2, 2 } },
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int kind = 0; kind < 3; kind++)
      for (int turned = 0; turned < 2; turned++)
        check_windows("f32", kinds[kind], shapes[i][0], shapes[i][1],
                      shapes[i][2], none, none, one, turned);
}

/* Padding, steps and dilation as great as they can be: what is a few elements
 * away on one axis is more than there are numbers along several. */
static void test_far(void **state) {
  (void)state;
  check("program @f(%0: f32[4,32]) { %1: f32[4,32] = reduce_window_sum["
        "window=(2,1), strides=(1,1), low=(576460752303423488,0), high=(0,0), "
        "base_dilation=(1,1), window_dilation=(576460752303423488,1)] %0 "
        "return %1 }");
  check("program @f(%0: f32[4,5]) { %1: f32[1,5] = reduce_window_max["
        "window=(3,1), strides=(9223372036854775807,1), "
        "low=(1152921504606846970,0), high=(-1152921504606846970,0), "
        "base_dilation=(1,1), window_dilation=(1,9223372036854775807)] %0 "
        "return %1 }");
  check("program @f(%0: f32[2,1,4,32], %1: f32[2,1,2,1]) { %2: f32[2,2,4,32] = "
        "conv_general_dilated[strides=(1,1), low=(576460752303423488,0), "
        "high=(0,0), lhs_dilation=(1,1), rhs_dilation=(576460752303423488,1), "
        "lhs_axes=(0,1,2,3), rhs_axes=(0,1,2,3), out_axes=(0,1,2,3), "
        "feature_groups=1, batch_groups=1, type=f32] %0, %1 return %2 }");
  check("program @f(%0: f32[2,1,4,8], %1: f32[2,1,1,2]) { %2: f32[2,2,8,2] = "
        "conv_general_dilated[strides=(1,576460752303423487), "
        "low=(0,576460752303423487), high=(0,0), lhs_dilation=(1,1), "
        "rhs_dilation=(1,1), lhs_axes=(0,1,3,2), rhs_axes=(0,1,2,3), "
        "out_axes=(0,1,2,3), feature_groups=1, batch_groups=1, type=f32] %0, "
        "%1 return %2 }");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random),
    cmocka_unit_test(test_large),
    cmocka_unit_test(test_far),
  };
  return cmocka_run_group_tests_name("cpu_windows", tests, NULL, NULL);
}
