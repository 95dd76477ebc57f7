/* group.c - what groups of tests share. */
#include "support/group.h"

#include "calx/calx.h"

/* Not the state of the group: cmocka would put it before a test's prestate. */
static cx_ctx *opened;

int open_context(void **state) {
  (void)state;
  opened = cx_open("cpu");
  return opened == NULL;
}

int close_context(void **state) {
  (void)state;
  cx_close(opened);
  return 0;
}

void test_row_values(void **state) {
  const row_group *group = *state;
  check_values(group->values, group->n_values);
}

void test_row_errors(void **state) {
  const row_group *group = *state;
  check_errors(group->errors, group->n_errors);
}

void test_row_rules(void **state) {
  const row_group *group = *state;
  for (size_t i = 0; i < group->n_rows; i++) check_rules(group->rows[i]);
}
