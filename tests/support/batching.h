/* batching.h - batching rules for programs, by a number made from the body.
 *
 * A rule of the library is a traced C function. These need none: each batches
 * the body that it was first seen with, in a manner that its number says. So a
 * program with such a rule is whole as text. */
#ifndef TEST_BATCHING_H
#define TEST_BATCHING_H

#include "ir/program.h"

/* Asked before the rules that there are; again, nothing more happens. */
void batching_install(void);

/* Manners of a rule, a sum of these. */
enum {
  BATCHING_ALL = 1,     /* is handed every operand with the batch */
  BATCHING_RESULTS = 2, /* all results have it */
  BATCHING_AGAIN = 4,   /* calls a function that has such a rule itself */
  BATCHING_MANNERS = 8
};
int64_t batching_number(const cxi_program *body, int manner);
/* The number for a function with another body. */
int64_t batching_renumber(int64_t number, const cxi_program *body);

#endif
