/* group.h - what groups of tests share: a context around them, the tests of a
 * family of rows. */
#ifndef CXI_TEST_GROUP_H
#define CXI_TEST_GROUP_H

#include "support/rows.h"

/* Setup and teardown for cmocka_run_group_tests: a context of the CPU. */
int open_context(void **state);
int close_context(void **state);

/* check_values, check_errors, check_rules as tests: their prestate. */
typedef struct row_group {
  const row_values *values;
  size_t n_values;
  const row_error *errors;
  size_t n_errors;
  const cxi_prim *rows;
  size_t n_rows;
} row_group;
void test_row_values(void **state);
void test_row_errors(void **state);
void test_row_rules(void **state);

#endif
