/* programs.h - programs read, run and compared in tests. */
#ifndef TEST_PROGRAMS_H
#define TEST_PROGRAMS_H

#include "backends/reference/reference.h"
#include "ir/text.h"
#include "transforms/transforms.h"

/* Dense arrays, each in a buffer of its own. */
typedef struct arrays {
  uint32_t n;
  cxi_view *at;
} arrays;

arrays arrays_new(uint32_t n);
void arrays_free(arrays *a);
arrays arrays_copy(const arrays *a);
/* A zeroed array. */
cxi_view array_zeros(const cx_aval *type);
bool arrays_same_bits(const arrays *a, const arrays *b);
/* Sum of x * y over the floating arrays. */
double arrays_dot(const arrays *x, const arrays *y);
/* x += factor * y for the floating ones. */
void arrays_add(arrays *x, double factor, const arrays *y);

/* Values for the inputs of p: floats in (-1, 1), integers in 0..limit-1. */
arrays arrays_random(const cxi_program *p, uint64_t seed, int64_t limit);

/* All fail the test with the message of the error. */
const cxi_program *program_parse(const char *text);
arrays program_run(const cxi_program *p, const arrays *in);
char *program_text(const cxi_program *p);

/* ok or the test fails with the error's text and the program's. */
void check_ok(bool ok, const cxi_error *error, const cxi_program *p);

/* -- properties, each against running p itself ---------------------------- */

/* jvp, linearize and, if `reverse`, vjp of p against central differences, for
 * all floating inputs and outputs (f64) at once. */
void check_derivatives(const cxi_program *p, const arrays *in, bool reverse,
                       double tolerance);
/* vjp alone: for what has no forward mode. */
void check_reverse(const cxi_program *p, const arrays *in, double tolerance);
/* The program of p's cotangents: (ins, cotangents of floating outs) -> (outs,
 * cotangents of floating ins); with a reference. */
const cxi_program *program_vjp(const cxi_program *p);
const cxi_program *program_jvp(const cxi_program *p);
/* p over a batch against a loop over it, bit for bit, for every subset of
 * batched inputs (at most `most` of them). */
void check_batch(const cxi_program *p, uint64_t seed, int64_t limit,
                 uint32_t most);

#endif
