/* file_test.c - files mapped and replaced. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"

static char folder[] = "/tmp/calx-file-XXXXXX";
static char path[64];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/a.bin", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);       /* fails if a temporary was left */
}

static void write_file(const void *bytes, size_t n) {
  cxi_error error = { 0 };
  cxi_writer *w = cxi_writer_open(path, &error);
  assert_non_null(w);
  cxi_writer_add(w, bytes, n);
  assert_true(cxi_writer_commit(w, &error));
}

static void assert_content(const void *bytes, size_t n) {
  cxi_file file;
  cxi_error error = { 0 };
  assert_true(cxi_file_map(path, &file, &error));
  assert_int_equal(file.size, n);
  if (n) assert_memory_equal(file.data, bytes, n);
  else assert_null(file.data);
  cxi_file_unmap(&file);
  assert_null(file.data);
  cxi_file_unmap(&file);
}

static void test_round_trip(void **state) {
  (void)state;
  write_file("", 0);
  assert_content("", 0);
  enum { N = 300000 };
  unsigned char *bytes = malloc(N);
  for (int i = 0; i < N; i++) bytes[i] = (unsigned char)(i * 7 + i / 256);
  write_file(bytes, N);
  assert_content(bytes, N);
  cxi_writer *w = cxi_writer_open(path, NULL);
  size_t at = 0;
  for (size_t n = 0; at + n <= N; n = n * 2 + 1) {
    cxi_writer_add(w, bytes + at, n);
    at += n;
  }
  cxi_writer_add(w, bytes + at, N - at);
  assert_true(cxi_writer_commit(w, NULL));
  assert_content(bytes, N);
  free(bytes);
}

static void test_old_file_until_commit(void **state) {
  (void)state;
  write_file("old", 3);
  assert_int_equal(chmod(path, 0640), 0);
  cxi_writer *w = cxi_writer_open(path, NULL);
  cxi_writer_add(w, "newer", 5);
  assert_content("old", 3);
  cxi_writer_abandon(w);
  assert_content("old", 3);
  cxi_writer_abandon(NULL);
  write_file("newer", 5);
  assert_content("newer", 5);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_errors(void **state) {
  (void)state;
  cxi_file file;
  cxi_error error = { 0 };
  assert_false(cxi_file_map("/nowhere/at/all", &file, &error));
  assert_int_equal(error.code, CX_EIO);
  assert_non_null(strstr(error.text, "cannot open: No such file"));
  error = (cxi_error){ 0 };
  assert_false(cxi_file_map(folder, &file, &error));
  assert_int_equal(error.code, CX_EIO);
  error = (cxi_error){ 0 };
  assert_false(cxi_file_map("/dev/null", &file, &error));
  assert_int_equal(error.code, CX_EIO);
  error = (cxi_error){ 0 };
  assert_null(cxi_writer_open("/nowhere/at/all", &error));
  assert_int_equal(error.code, CX_EIO);
  /* The name is that of a folder: found by the rename. */
  error = (cxi_error){ 0 };
  cxi_writer *w = cxi_writer_open(folder, &error);
  if (w) {
    cxi_writer_add(w, "x", 1);
    assert_false(cxi_writer_commit(w, &error));
  }
  assert_int_equal(error.code, CX_EIO);
}

static void test_no_memory(void **state) {
  (void)state;
  const size_t before = cxi_alloc_now().live_bytes;
  for (uint64_t n = 0; n < 3; n++) {
    cxi_error error = { 0 };
    cxi_alloc_fail_after(n);
    cxi_writer *w = cxi_writer_open(path, &error);
    cxi_alloc_fail_after(UINT64_MAX);
    assert_null(w);
    assert_int_equal(error.code, CX_EMEMORY);
  }
  assert_int_equal(cxi_alloc_now().live_bytes, before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round_trip),
    cmocka_unit_test(test_old_file_until_commit),
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
