/* loops.c - loops for tests of generated code. */
#include "support/loops.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/calls.h"

char loops_directory[64];

int loops_begin(void **state) {
  (void)state;
  snprintf(loops_directory, sizeof loops_directory, "/tmp/calx-code-XXXXXX");
  if (!mkdtemp(loops_directory)) return -1;
  setenv("CALX_CACHE_DIR", loops_directory, 1);
  unsetenv("CALX_CACHE");
  unsetenv("CALX_CACHE_MAX");
  cxi_code_forget();
  return 0;
}

int loops_end(void **state) {
  (void)state;
  char command[160];
  cxi_code_settle();
  cxi_code_set(CX_LOOPS_DEFAULT);
  snprintf(command, sizeof command, "rm -rf %s", loops_directory);
  return system(command);
}

bool loops_there(void) {
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

bool loops_right(int number, int length, int threads) {
  execution x;
  const char *wrong = execution_open(&x, text_of(number, length), 0, 0, 5);
  if (!wrong) wrong = execution_compare(&x, threads, 0);
  if (wrong) print_error("%s\n", wrong);
  execution_close(&x);
  return !wrong;
}

const char loops_long[] =
    "program @step(%0: f64[], %1: f64[]) {"
    " %2: f64[] = sin %0 %3: f64[] = mul %2, %1 %4: f64[] = add %3, 0.5: f64"
    " %5: f64[] = cos %4 %6: f64[] = sub %5, %1 return %5, %6 }"
    "program @f(%0: f64[], %1: f64[]) {"
    " %2: f64[], %3: f64[] = scan[body=@step, length=1500000, reverse=false,"
    " n_consts=0, n_carry=2, unroll=1] %0, %1 return %2, %3 }";

cxi_executable *loops_compile(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) fail_msg("%s", error.text);
  cxi_executable *exe =
      cxi_compile(p, &cxi_cpu_backend, (cxi_compile_options){ 0 }, &error);
  cxi_program_release(p);
  if (!exe) fail_msg("%s", error.text);
  return exe;
}

void *loops_run(void *call) {
  loops_call *c = call;
  const double x = 0.25, y = 0.75;
  const void *in[] = { &x, &y };
  void *out[] = { &c->out[0], &c->out[1] };
  void *workspace = cxi_alloc_aligned(cxi_executable_workspace(c->exe));
  cxi_error error = { 0 };
  c->good = workspace && cxi_executable_run_with(c->exe, in, out, workspace, 1,
                                                 c->loops, &error);
  cxi_free(workspace);
  return NULL;
}
