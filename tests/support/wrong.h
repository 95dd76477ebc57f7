/* wrong.h - tables of wrong uses: what makes one, its code, its message. */
#ifndef TEST_WRONG_H
#define TEST_WRONG_H

#include "support/calls.h"

#include <stdlib.h>

typedef struct wrong {
  cx (*make)(void);
  cx_code code;
  const char *text;
} wrong;

/* All of a table, so that one run shows all that differs. What follows an error
 * works. */
static inline void check_all(const wrong *table_of, size_t n) {
  int failed = 0;
  for (size_t i = 0; i < n; i++) {
    CX_SCOPE;
    const wrong *w = &table_of[i];
    cx r = w->make();
    const char *message;
    const cx_code code = cx_error(&message);
    if (code != w->code || !strstr(message, w->text)) {
      print_error("%zu: want %s, \"%s\"\n    got %s, %s\n", i,
                  cx_code_name(w->code), w->text, cx_code_name(code), message);
      failed++;
    } else if (getenv("CX_SHOW")) {
      print_message("%s\n", message);
    }
    cx_drop(r);
    cx_error(NULL);
    assert_true(cx_item(cx_add(1.0, 2.0)) == 3);
    assert_good();
  }
  assert_int_equal(failed, 0);
}
#define CHECK(table_of) \
  check_all(table_of, sizeof(table_of) / sizeof *(table_of))

#endif
