/* rows.h - what tests of single rows share: values, errors, rules. */
#ifndef TESTS_ROWS_H
#define TESTS_ROWS_H

#include "ir/row.h"

/* A program, its inputs and outputs: arrays separated by ";", numbers by
 * blanks, "nan" and "-inf" among them. Outputs must agree exactly. */
typedef struct row_values {
  const char *text, *in, *out;
} row_values;
void check_values(const row_values *cases, size_t n);

/* A program that does not parse, and what the error must contain. */
typedef struct row_error {
  const char *text, *message;
} row_error;
void check_errors(const row_error *cases, size_t n);

/* The row's examples: text and checker agree; each batched at every choice of
 * axes is a loop, bit for bit; tangents are differences; <ct, J v> is
 * <J' ct, v>, also with accumulators. */
void check_rules(cxi_prim prim);
void check_rules_of(const char *text); /* the same of one program */

/* Memory for a dense array, filled with small numbers from *state. */
cxi_view array_random(cx_aval type, uint64_t *state);
void array_free(cxi_view *array);
uint64_t random_next(uint64_t *state);
double array_get(const cxi_view *array, int64_t i);

/* Runs a program given as text; the outputs' buffers are the caller's. */
void run_text(const char *text, const cxi_view *in, cxi_view *out);

#endif
