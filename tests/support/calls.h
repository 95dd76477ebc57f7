/* calls.h - what tests of the public interface share. */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "calx.h"

static inline int setup(void **state) {
  *state = cx_open("cpu", .threads = 1);
  return *state == NULL;
}

static inline int teardown(void **state) {
  cx_close(*state);
  return 0;
}

static inline void assert_good(void) {
  const char *message;
  if (cx_error(&message) != CX_OK) fail_msg("%s", message);
}

/* The kept error has this code and contains the text. */
static inline void assert_error(cx_code code, const char *text) {
  const char *message;
  const cx_code got = cx_error(&message);
  if (got != code)
    fail_msg("%s, not %s: %s", cx_code_name(got), cx_code_name(code), message);
  if (!strstr(message, text))
    fail_msg("\"%s\" is not in \"%s\"", text, message);
}

/* Equal trees of equal bits, leaf by leaf. */
static inline void assert_same_bits(cx a, cx b) {
  assert_string_equal(cx_show(a), cx_show(b));
  for (int i = 0; i < cx_leaf_count(a); i++) {
    cx x = cx_leaf(a, i), y = cx_leaf(b, i);
    static const size_t sizes[] = {
      0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8
    };
    const size_t bytes = (size_t)cx_size(x) * sizes[cx_type(x)];
    const void *p = cx_data(x), *q = cx_data(y);
    assert_non_null(p);
    assert_non_null(q);
    assert_memory_equal(p, q, bytes);
  }
  assert_good();
}

#endif
