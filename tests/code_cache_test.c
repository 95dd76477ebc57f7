/* code_cache_test.c - code of loops from a file, and shared: the bits of tier 0
 * in every case, and what the statistics say. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/calls.h"

#include "backends/cpu/code_object.h"
#include "base/build.h"
#include "base/isa.h"
#include "base/store.h"
#include "support/loops.h"

static void expect_right(int number, int length, int threads) {
  assert_true(loops_right(number, length, threads));
}

/* -- from a file ----------------------------------------------------------- */

/* Cold, warm, and from memory; each with 1, 2 and 4 threads. */
static void test_warm(void **state) {
  (void)state;
  if (!loops_there()) skip();
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
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  const cxi_code_stats before = cxi_code_now();
  for (int length = 1; length < 6; length++) expect_right(1, length, 1);
  assert_int_equal(cxi_code_now().made - before.made, 1);
  assert_int_equal(cxi_code_now().shared - before.shared, 4);
}

/* Loops that differ in one thing each have code of their own. */
static void test_keys(void **state) {
  (void)state;
  if (!loops_there()) skip();
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
    execl("/proc/self/exe", "code_cache_test", loops_directory, (char *)NULL);
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
  if (!loops_right(1, 6, 1) || !loops_right(2, 6, 1)) return 1;
  const cxi_code_stats now = cxi_code_now();
  const char *why;
  if (cxi_code_open(&why)) return 2;
  return now.read == 1 && now.loops == 1 && now.made == 0 ? 0 : 3;
}

static void test_without_library(void **state) {
  (void)state;
  if (!loops_there()) skip();
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
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  expect_right(1, 6, 1);
  char path[400] = "";
  DIR *d = opendir(loops_directory);
  for (struct dirent *e; (e = readdir(d));)
    if (e->d_name[0] != '.')
      snprintf(path, sizeof path, "%s/%s", loops_directory, e->d_name);
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
  if (!loops_there()) skip();
  cxi_code_set(CX_LOOPS_NOW);
  expect_right(1, 6, 1);
  struct dirent **names;
  char stamp[200], why[160];
  cxi_code_stamp(cxi_build_llvm, stamp);
  const int n = scandir(loops_directory, &names, NULL, NULL);
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

/* -- the public interface -------------------------------------------------- */

CX_DEF(step, i, x) {
  return cx_add(cx_mul(cx_sin(x), 0.5), cx_cast(i, CX_F64));
}
CX_DEF(looping_alone, x) {
  return cx_fori(0, 40, CX_FN(step), x);
}

CX_DEF(passing, x) {
  return cx_sub(cx_exp(cx_mul(x, 0.5)), x);
}

/* The plan names what runs as code, once it does. */
static void test_plan(void **state) {
  (void)state;
  if (!loops_there()) skip();
  cx_ctx *ctx = cx_open("cpu", .loops = CX_LOOPS_NOW);
  {
    CX_SCOPE;
    cx x = cx_linspace(-1, 1, 5000, CX_F32);
    cx_fn pass = cx_jit(CX_FN(passing)), loop = cx_jit(CX_FN(looping_alone));
    cx y = cx_linspace(-1, 1, 3, CX_F64);
    assert_null(strstr(cx_plan(pass, x), "code:"));
    (void)cx_data(cx_call(pass, x));
    (void)cx_data(cx_call(loop, y));
    assert_good();
    if (cxi_isa_now() != CXI_ISA_BASE)
      assert_non_null(strstr(cx_plan(pass, x), "code: mul exp sub, "));
    assert_non_null(strstr(cx_plan(loop, y), "code: scan, "));
    assert_true(cx_ok());
  }
  cx_close(ctx);
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
  const bool has_code = loops_there();
  cx_ctx *ctx = cx_open("cpu", .loops = CX_LOOPS_NOW);
  {
    CX_SCOPE;
    static const double x[] = { 0.1, 0.2, 0.3 };
    (void)cx_data(cx_call(cx_jit(CX_FN(looping_alone)), cx_from(x, 3)));
    assert_good();
    assert_non_null(strstr(cx_cache_summary(), loops_directory));
    if (has_code) {
      assert_non_null(strstr(cx_cache_summary(), "last miss: no entry"));
      assert_non_null(strstr(cx_cache_entries(false), "1 entries"));
      assert_non_null(strstr(cx_cache_entries(true), cxi_build_id));
      char command[100];
      snprintf(command, sizeof command, "truncate -s 30 %s/*", loops_directory);
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
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_warm, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_lengths, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_keys, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_without_library, loops_begin,
                                    loops_end),
    cmocka_unit_test_setup_teardown(test_damaged, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_object, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_foreign_content, loops_begin,
                                    loops_end),
    cmocka_unit_test_setup_teardown(test_reports, loops_begin, loops_end),
    cmocka_unit_test_setup_teardown(test_plan, loops_begin, loops_end)
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
