/* execute.h - programs from text, run by the reference and by the CPU. */
#ifndef CXI_TEST_EXECUTE_H
#define CXI_TEST_EXECUTE_H

#include "backends/cpu/cpu.h"
#include "backends/reference/reference.h"
#include "ir/text.h"

/* A program with inputs and the reference's outputs. */
typedef struct execution {
  const cxi_program *program;
  cxi_view *in, *want;
} execution;

/* Parses the text and draws inputs: floats from (lo, hi), normal-like if both
 * are 0; integers from 0..9. NULL, or what went wrong. */
const char *execution_open(execution *x, const char *text, double lo, double hi,
                           uint64_t seed);
void execution_close(execution *x);
/* The outputs of the compiled program against those of the reference: NULL if
 * their bits are equal, else the difference. `tolerance` > 0: floats may
 * differ by it, relative to 1 + |x|. */
const char *execution_compare(const execution *x, int threads,
                              double tolerance);

#endif
