/* base_test.c - memory, errors, hashes, names. */
#include <pthread.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/isa.h"
#include "base/name.h"

static void test_alloc_counts(void **state) {
  (void)state;
  const cxi_alloc_stats before = cxi_alloc_now();
  char *a = cxi_alloc(1000);
  a = cxi_resize(a, 5000);
  assert_non_null(a);
  const cxi_alloc_stats during = cxi_alloc_now();
  assert_int_equal(during.calls - before.calls, 2);
  assert_in_range(during.live_bytes - before.live_bytes, 5000, 5100);
  assert_true(during.peak_bytes >= during.live_bytes);
  cxi_free(a);
  assert_int_equal(cxi_alloc_now().live_bytes, before.live_bytes);
  cxi_free(NULL);
}

static void test_alloc_edges(void **state) {
  (void)state;
  void *nothing = cxi_alloc(0);
  assert_non_null(nothing);
  nothing = cxi_resize(nothing, 0);
  assert_non_null(nothing);
  cxi_free(nothing);
  assert_null(cxi_alloc_zeroed(SIZE_MAX / 2, 3));
  assert_null(cxi_alloc_aligned(SIZE_MAX));
  assert_null(cxi_alloc(PTRDIFF_MAX));
  char *line = cxi_alloc_aligned(100);
  assert_int_equal((uintptr_t)line % 64, 0);
  cxi_free(line);
  char *copy = cxi_copy_string("text");
  assert_string_equal(copy, "text");
  cxi_free(copy);
}

static void test_alloc_faults(void **state) {
  (void)state;
  cxi_alloc_fail_after(1);
  void *a = cxi_alloc(1);
  assert_non_null(a);
  assert_null(cxi_alloc(1));
  assert_null(cxi_resize(a, 1 << 20));
  assert_null(cxi_alloc_zeroed(1, 1));
  assert_null(cxi_copy_string("a"));
  cxi_alloc_fail_after(UINT64_MAX);
  cxi_free(a);
  cxi_alloc_cap(cxi_alloc_now().live_bytes + 1000);
  assert_null(cxi_alloc(2000));
  void *b = cxi_alloc(500);
  assert_non_null(b);
  assert_null(cxi_alloc(900));
  cxi_alloc_cap(SIZE_MAX);
  cxi_free(b);
}

static void test_grow(void **state) {
  (void)state;
  int *items = NULL;
  uint32_t cap = 0, n = 0;
  for (int i = 0; i < 1000; i++) {
    assert_true(cxi_grow(&items, &cap, n + 1, sizeof *items));
    items[n++] = i;
  }
  for (int i = 0; i < 1000; i++) assert_int_equal(items[i], i);
  int *const kept = items;
  assert_false(cxi_grow(&items, &cap, UINT32_MAX, SIZE_MAX / 4));
  assert_false(cxi_grow(&items, &cap, (size_t)UINT32_MAX + 1, 1));
  cxi_alloc_fail_after(0);
  assert_false(cxi_grow(&items, &cap, cap + 1, sizeof *items));
  cxi_alloc_fail_after(UINT64_MAX);
  assert_ptr_equal(items, kept);
  cxi_free(items);
}

static void test_arena(void **state) {
  (void)state;
  const size_t before = cxi_alloc_now().live_bytes;
  cxi_arena arena = { 0 };
  for (size_t i = 0; i < 3000; i++) {
    const size_t bytes = i % 7 * i;
    unsigned char *block = cxi_arena_alloc(&arena, bytes);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 16, 0);
    for (size_t k = 0; k < bytes; k += 97) assert_int_equal(block[k], 0);
    memset(block, 0xff, bytes);
  }
  assert_string_equal(cxi_arena_print(&arena, "%s-%d", "a", 7), "a-7");
  assert_memory_equal(cxi_arena_copy(&arena, "xyz", 4), "xyz", 4);
  assert_non_null(cxi_arena_copy(&arena, NULL, 0));
  assert_null(cxi_arena_alloc(&arena, SIZE_MAX));
  cxi_alloc_fail_after(0);
  assert_null(cxi_arena_alloc(&arena, 1 << 24));
  cxi_alloc_fail_after(UINT64_MAX);
  cxi_arena_free(&arena);
  assert_int_equal(arena.bytes, 0);
  assert_int_equal(cxi_alloc_now().live_bytes, before);
}

static void test_scratch(void **state) {
  (void)state;
  cxi_scratch_free();
  const size_t before = cxi_alloc_now().live_bytes;
  const cxi_mark empty = cxi_scratch_mark();
  char *first = cxi_scratch(100);
  memset(first, 1, 100);
  const cxi_mark mark = cxi_scratch_mark();
  for (int i = 0; i < 100; i++) memset(cxi_scratch(10000), 2, 10000);
  cxi_scratch_reset(mark);
  assert_int_equal(first[99], 1);
  const char *again = cxi_scratch(5000);
  for (int i = 0; i < 5000; i++) assert_int_equal(again[i], 0);
  char *raw = cxi_scratch_raw(100); /* what it holds is not said */
  memset(raw, 3, 100);
  const char *above = cxi_scratch(100);
  for (int i = 0; i < 100; i++) assert_int_equal(raw[i], 3);
  for (int i = 0; i < 100; i++) assert_int_equal(above[i], 0);
  cxi_scratch_reset(empty);
  /* The border of a chunk: no system allocation once warm. */
  assert_non_null(cxi_scratch(60000));
  const cxi_mark border = cxi_scratch_mark();
  assert_non_null(cxi_scratch(60000));
  cxi_scratch_reset(border);
  const uint64_t calls = cxi_alloc_now().calls;
  for (int i = 0; i < 10; i++) {
    assert_non_null(cxi_scratch(60000));
    cxi_scratch_reset(border);
  }
  assert_int_equal(cxi_alloc_now().calls, calls);
  cxi_alloc_fail_after(0);
  assert_null(cxi_scratch(1 << 26));
  cxi_alloc_fail_after(UINT64_MAX);
  cxi_scratch_reset(empty);
  cxi_scratch_free();
  assert_int_equal(cxi_alloc_now().live_bytes, before);
}

static void *use_scratch(void *unused) {
  (void)unused;
  return cxi_scratch(10) ? (void *)1 : NULL;
}

static void test_scratch_of_a_thread_that_ends(void **state) {
  (void)state;
  const size_t before = cxi_alloc_now().live_bytes;
  pthread_t thread;
  void *got;
  assert_int_equal(pthread_create(&thread, NULL, use_scratch, NULL), 0);
  assert_int_equal(pthread_join(thread, &got), 0);
  assert_non_null(got);
  assert_int_equal(cxi_alloc_now().live_bytes, before);
}

static void test_error(void **state) {
  (void)state;
  cxi_error error = { 0 };
  assert_false(cxi_error_set(&error, CX_ESHAPE, "first %d", 1));
  assert_false(cxi_error_set(&error, CX_EIO, "second"));
  assert_int_equal(error.code, CX_ESHAPE);
  assert_string_equal(error.text, "first 1");
  assert_false(cxi_error_set(NULL, CX_EIO, "nowhere"));
  char longer[2000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  error = (cxi_error){ 0 };
  cxi_error_set(&error, CX_EIO, "%s", longer);
  assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

static void test_hash(void **state) {
  (void)state;
  const cxi_hash a = cxi_hash_bytes("abc", 3), b = cxi_hash_bytes("abd", 3);
  assert_true(cxi_hash_equal(a, cxi_hash_bytes("abcd", 3)));
  assert_false(cxi_hash_equal(a, b));
  cxi_bytes bytes = { 0 };
  cxi_bytes_add_u32(&bytes, 1);
  cxi_bytes_add_u64(&bytes, 2);
  cxi_bytes_add_text(&bytes, "xy");
  cxi_bytes_add(&bytes, NULL, 0);
  assert_int_equal(bytes.n, 15);
  assert_memory_equal(bytes.data + 12, "xy", 3);
  cxi_alloc_fail_after(0);
  for (int i = 0; i < 10; i++) cxi_bytes_add_u64(&bytes, 1);
  cxi_alloc_fail_after(UINT64_MAX);
  assert_true(bytes.failed);
  cxi_bytes_free(&bytes);
}

static void test_names(void **state) {
  (void)state;
  assert_int_equal(cxi_name_of(""), 0);
  assert_string_equal(cxi_name_text(0), "");
  assert_string_equal(cxi_name_text(UINT32_MAX), "");
  const cxi_name a = cxi_name_of("alpha");
  assert_int_not_equal(a, 0);
  assert_int_equal(cxi_name_of_n("alphabet", 5), a);
  assert_string_equal(cxi_name_text(a), "alpha");
  char buffer[8] = "beta"; /* equal pointer, then another text */
  const cxi_name b = cxi_name_of_static(buffer);
  assert_int_equal(cxi_name_of_static(buffer), b);
  strcpy(buffer, "alpha");
  assert_int_equal(cxi_name_of_static(buffer), a);
  cxi_alloc_fail_after(0);
  int failures = 0;
  for (int i = 0; i < 2000; i++) {
    char text[32];
    snprintf(text, sizeof text, "none %d", i);
    failures += cxi_name_of(text) == 0;
  }
  cxi_alloc_fail_after(UINT64_MAX);
  assert_true(failures > 0);
}

enum { N_THREADS = 4, N_NAMES = 20000 };

static void *make_names(void *argument) {
  uint32_t *ids = argument;
  for (int i = 0; i < N_NAMES; i++) {
    char text[32];
    snprintf(text, sizeof text, "name %d", i);
    ids[i] = cxi_name_of(text);
    if (strcmp(cxi_name_text(ids[i]), text) != 0) return NULL;
  }
  return ids;
}

static void test_names_from_threads(void **state) {
  (void)state;
  static uint32_t ids[N_THREADS][N_NAMES];
  pthread_t threads[N_THREADS];
  for (int t = 0; t < N_THREADS; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, make_names, ids[t]), 0);
  for (int t = 0; t < N_THREADS; t++) {
    void *result;
    pthread_join(threads[t], &result);
    assert_non_null(result);
  }
  for (int t = 1; t < N_THREADS; t++)
    assert_memory_equal(ids[t], ids[0], sizeof ids[0]);
}

static void test_isa(void **state) {
  (void)state;
  assert_non_null(cxi_isa_name(cxi_isa_now()));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_alloc_counts),
    cmocka_unit_test(test_alloc_edges),
    cmocka_unit_test(test_alloc_faults),
    cmocka_unit_test(test_grow),
    cmocka_unit_test(test_arena),
    cmocka_unit_test(test_scratch),
    cmocka_unit_test(test_scratch_of_a_thread_that_ends),
    cmocka_unit_test(test_error),
    cmocka_unit_test(test_hash),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_names_from_threads),
    cmocka_unit_test(test_isa),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
