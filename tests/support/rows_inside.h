/* rows_inside.h - what rows.c and rows_rules.c share. */
#ifndef TESTS_ROWS_INSIDE_H
#define TESTS_ROWS_INSIDE_H

#include "support/rows.h"

enum { MOST = 64 }; /* operands or results of an example */

cxi_view row_array(cx_aval type);
void *row_element(const cxi_view *v, int64_t i);
int64_t row_count(const cxi_view *v);
void row_free_all(cxi_view *arrays, uint32_t n);
const cxi_program *row_parse(const char *text);
void row_check(bool so, const char *what, const cxi_program *p);
void row_run(const cxi_program *p, const cxi_view *in, cxi_view *out);

#endif
