/* printed.h - programs in the form in which they are printed, and the way
 * there and back. */
#ifndef TESTS_PRINTED_H
#define TESTS_PRINTED_H

#include "ir/program.h"

/* With every kind of field. */
extern const char *const printed_samples[];
extern const int n_printed_samples;

/* Fail if the text is no program; the result is released by the caller. */
const cxi_program *parse_printed(const char *text);
char *print_program(const cxi_program *p); /* to be freed */
/* Its text, read again, is the same program. */
void check_printed(const cxi_program *p);

#endif
