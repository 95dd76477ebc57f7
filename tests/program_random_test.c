/* program_random_test.c - random programs against each other.
 *
 * Each program, in which any row of the table may occur, is run by every
 * executor, printed, parsed, simplified, split, batched and differentiated:
 * what support/properties.c lists must hold of it. One that fails is made
 * small and printed as text.
 *
 *   CX_SEED=17           one program           CX_SEEDS=10000  as many
 *   CX_SECONDS=600       from now for so long   CX_FIRST=5000   from this seed
 *   CX_PROGRAM=FILE      this text, with CX_SEED or all seeds up to 20
 *   CX_PROPERTY=vmap     only this property */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ir/text.h"
#include "support/generate.h"
#include "support/properties.h"
#include "support/shrink.h"
#include "support/verdict.h"
#include "transforms/transforms.h"

static int n_failed;

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

/* -- one program, apart: a crash or a loop is a failure too --------------- */

enum { MOST_SECONDS = 20 }; /* of the processor */

static verdict verdict_of_end(int status) {
  verdict v = { .failed = true };
  if (WIFSIGNALED(status) &&
      (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGALRM))
    snprintf(v.text, sizeof v.text, "time: more than %d s", MOST_SECONDS);
  else
    snprintf(v.text, sizeof v.text, "crash: status %d", status);
  return v;
}

static verdict check_apart(const cxi_program *p, uint64_t seed,
                           const char *only) {
  int ends[2], status = 0;
  verdict v = { .failed = true, .text = "no process" };
  if (pipe(ends) != 0) return v;
  const pid_t child = fork();
  if (child < 0) return v;
  if (child == 0) {
    const struct rlimit limit = { MOST_SECONDS, MOST_SECONDS + 1 };
    setrlimit(RLIMIT_CPU, &limit);
    alarm(30 * MOST_SECONDS); /* it may wait, too */
    v = properties_check(p, seed, only);
    _exit(write(ends[1], &v, sizeof v) != (ssize_t)sizeof v);
  }
  close(ends[1]);
  const ssize_t n = read(ends[0], &v, sizeof v);
  close(ends[0]);
  waitpid(child, &status, 0);
  return n == (ssize_t)sizeof v ? v : verdict_of_end(status);
}

/* -- a failing program made small ----------------------------------------- */

typedef struct failure {
  uint64_t seed;
  char name[40]; /* the property; empty: a crash */
  char kind[80]; /* how its text begins */
  verdict last;
} failure;

/* Up to the third colon, or to the first digit. */
static void kind_of(const char *text, char *out, size_t size) {
  size_t n = 0;
  for (int colons = 0; text[n] && n + 1 < size; n++) {
    if (text[n] >= '0' && text[n] <= '9') break;
    if (text[n] == ':' && ++colons == 3) break;
  }
  memcpy(out, text, n);
  out[n] = 0;
}

/* The inputs are others than those of the whole program: a few are tried. */
static bool fails_alike(const cxi_program *p, void *user) {
  failure *f = user;
  for (uint64_t seed = f->seed; seed < f->seed + 4; seed++) {
    const verdict v = check_apart(p, seed, f->name[0] ? f->name : NULL);
    char kind[80];
    kind_of(v.text, kind, sizeof kind);
    if (!v.failed || strcmp(kind, f->kind) != 0) continue;
    f->seed = seed;
    f->last = v;
    return true;
  }
  return false;
}

static void print_small(const cxi_program *p, uint64_t seed, const verdict *v) {
  failure f = { .seed = seed, .last = *v };
  const char *colon = strchr(v->text, ':');
  const bool crash =
      !strncmp(v->text, "crash", 5) || !strncmp(v->text, "time", 4);
  if (colon && !crash)
    snprintf(f.name, sizeof f.name, "%.*s", (int)(colon - v->text), v->text);
  kind_of(v->text, f.kind, sizeof f.kind);
  const cxi_program *q = shrink(p, fails_alike, &f);
  char *text = cxi_program_print(q, (cxi_text_options){ 0 });
  /* cmocka cuts long messages. */
  fprintf(stderr,
          "CX_SEED=%llu made small (CX_PROGRAM=FILE CX_SEED=%llu): %s\n%s\n",
          (unsigned long long)seed, (unsigned long long)f.seed, f.last.text,
          text ? text : "");
  cxi_free(text);
  cxi_program_release(q);
}

static void check_program(const cxi_program *p, uint64_t seed) {
  const verdict v = getenv("CX_APART")
                        ? check_apart(p, seed, getenv("CX_PROPERTY"))
                        : properties_check(p, seed, getenv("CX_PROPERTY"));
  if (!v.failed) return;
  print_error("CX_SEED=%llu: %s\n", (unsigned long long)seed, v.text);
  if (n_failed++ < 3 || getenv("CX_APART")) print_small(p, seed, &v);
}

static void check_seed(uint64_t seed, const generate_options *options) {
  cxi_error error = { 0 };
  const cxi_program *p = generate(seed, options, &error);
  if (!p) {
    print_error("CX_SEED=%llu: %s\n", (unsigned long long)seed, error.text);
    n_failed++;
    return;
  }
  check_program(p, seed);
  cxi_program_release(p);
  if (seed % 16 == 0) cxi_memos_clear();
}

/* -- tests ---------------------------------------------------------------- */

static void random_programs(void **state) {
  (void)state;
  const uint64_t seconds = number_of("CX_SECONDS", 0);
  const uint64_t one = number_of("CX_SEED", 0);
  const uint64_t first = one ? one : number_of("CX_FIRST", 1);
  const uint64_t n = one ? 1 : number_of("CX_SEEDS", 1000);
  const time_t end = time(NULL) + (time_t)seconds;
  if (getenv("CX_PROGRAM")) skip();
  for (uint64_t seed = first; seconds ? time(NULL) < end : seed < first + n;
       seed++) {
    const generate_options options = generate_options_of(seed);
    check_seed(seed, &options);
    if (seconds && seed % 5000 == 0)
      print_message("seed %llu\n", (unsigned long long)seed);
  }
  assert_int_equal(n_failed, 0);
}

/* Each row of the table in some programs of its own. */
static void rows(void **state) {
  (void)state;
  if (getenv("CX_PROGRAM") || getenv("CX_SEED") || getenv("CX_SECONDS")) skip();
  n_failed = 0;
  for (int prim = 1; prim < CXI_N_PRIMS; prim++) {
    int found = 0;
    if (generate_never((cxi_prim)prim)) continue;
    for (uint64_t k = 0; k < 12; k++) {
      const uint64_t seed = (uint64_t)prim * 64 + k;
      cxi_error error = { 0 };
      generate_options options = generate_options_of(seed);
      options.want = (cxi_prim)prim;
      const cxi_program *p = generate(seed, &options, &error);
      if (!p) fail_msg("%s: %s", cxi_prim_name((cxi_prim)prim), error.text);
      found += has_primitive(p, (cxi_prim)prim);
      check_program(p, seed);
      cxi_program_release(p);
    }
    cxi_memos_clear();
    if (found < 2)
      fail_msg("%s occurs in %d of 12 programs: support/generate.h wants a "
               "maker or examples that type",
               cxi_prim_name((cxi_prim)prim), found);
  }
  assert_int_equal(n_failed, 0);
}

/* Programs that once failed, with the seed of their arguments. */
typedef struct once_failed {
  uint64_t seed;
  const char *text;
} once_failed;
static const once_failed programs[] = {
  /* a tangent that is there but constant, handed to a rule with a backward */
  { 1796310524539,
    "program @body(%0: f16[0,3], %1: u32[], %2: f32[1,2]) {\n"
    "  return %0\n"
    "}\n"
    "program @fwd(%0: f16[0,3], %1: u32[], %2: f32[1,2]) {\n"
    "  return %0, %0, %1, %2\n"
    "}\n"
    "program @body_vjp(%0: f16[0,3], %1: u32[], %2: f32[1,2], %3: f16[0,3]) {\n"
    "  %4: f32[1,2] = broadcast_in_dim[shape=(1,2), map=()] 0.0:f32\n"
    "  return %3, %4\n"
    "}\n"
    "program @main(%0: f32[1,4,2], %1: f32[1,2], %2: u32[], %3: f64[4,2],\n"
    "    %4: f16[2,3]) {\n"
    "  %5: f16[0,3], %6: i32[0,3] = top_k[k=0, axis=0] %4\n"
    "  %7: f16[0,3] = custom_vjp[body=@body, fwd=@fwd, bwd=@body_vjp, "
    "name=\"ruled\"]\n"
    "    %5, %2, %1\n"
    "  %8: f32[0,3] = convert[type=f32] %7\n"
    "  %9: f32[0] = reshape[shape=(0)] %8\n"
    "  %10: f32[4] = pad[low=(0), high=(4), interior=(0)] %9, 0.0:f32\n"
    "  %11: f32[1,1,4] = reshape[shape=(1,1,4)] %10\n"
    "  %12: f32[4] = reshape[shape=(4)] %11\n"
    "  %13: f32[28] = pad[low=(0), high=(24), interior=(0)] %12, 0.0:f32\n"
    "  %14: f32[2,7,2] = reshape[shape=(2,7,2)] %13\n"
    "  %15: f32[28] = reshape[shape=(28)] %14\n"
    "  %16: f32[2] = slice[start=(0), limit=(2), strides=(1)] %15\n"
    "  %17: f32[2,1] = reshape[shape=(2,1)] %16\n"
    "  %18: f64[2,1] = convert[type=f64] %17\n"
    "  %19: f64[2] = reshape[shape=(2)] %18\n"
    "  %20: f64[8] = pad[low=(0), high=(6), interior=(0)] %19, 0.0:f64\n"
    "  %21: f64[4,2] = reshape[shape=(4,2)] %20\n"
    "  %22: f64[4,2] = polygamma %3, %21\n"
    "  %23: f32[4,2] = convert[type=f32] %22\n"
    "  %24: f32[8] = reshape[shape=(8)] %23\n"
    "  %25: f32[12] = pad[low=(0), high=(4), interior=(0)] %24, 0.0:f32\n"
    "  %26: f32[1,3,4] = reshape[shape=(1,3,4)] %25\n"
    "  %27: f32[12] = reshape[shape=(12)] %26\n"
    "  %28: f32[16] = pad[low=(0), high=(4), interior=(0)] %27, 0.0:f32\n"
    "  %29: f32[1,4,4] = reshape[shape=(1,4,4)] %28\n"
    "  return %29, %0\n"
    "}\n" },
};
static void programs_that_once_failed(void **state) {
  (void)state;
  const size_t n = sizeof programs / sizeof *programs;
  n_failed = 0;
  for (size_t i = 0; i < n; i++) {
    cxi_error error = { 0 };
    const char *text = programs[i].text;
    const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
    if (!p) fail_msg("%s", error.text);
    check_program(p, programs[i].seed);
    cxi_program_release(p);
  }
  assert_int_equal(n_failed, 0);
}

static char *contents_of(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (!file || !text || !fread(text, 1, (1 << 20) - 1, file))
    fail_msg("%s: nothing to read", path);
  fclose(file);
  return text;
}

static void given_program(void **state) {
  (void)state;
  if (!getenv("CX_PROGRAM")) skip();
  char *text = contents_of(getenv("CX_PROGRAM"));
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) fail_msg("%s", error.text);
  const uint64_t one = number_of("CX_SEED", 0);
  for (uint64_t seed = one ? one : 1; seed <= (one ? one : 20); seed++)
    check_program(p, seed);
  cxi_program_release(p);
  free(text);
  assert_int_equal(n_failed, 0);
}

static int open_context(void **state) {
  (void)state;
  return !properties_open();
}

static int close_context(void **state) {
  (void)state;
  properties_close();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows),
    cmocka_unit_test(programs_that_once_failed),
    cmocka_unit_test(random_programs),
    cmocka_unit_test(given_program),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
