/* calling.h - a program as a function that is called, for properties. */
#ifndef TEST_CALLING_H
#define TEST_CALLING_H

#include "support/stacks.h"
#include "support/verdict.h"

enum { CALLING_LEAVES = 40 };

/* f(x, (), z): the floating inputs are the tuple x, the others z. */
typedef struct calling {
  cx_fn f;
  cx args[3];
} calling;

/* Few enough inputs, and one of them floating. */
bool calling_suits(const cxi_program *p);
/* The program of the text, and its arguments, in the current context. */
calling calling_make(const char *text, const arrays *in);
/* A function of x alone; its floating results as a tuple. */
cx_fn calling_of_x(const calling *c);

/* Checks p, called on random arguments in the context of the CPU. */
typedef void calling_check(const cxi_program *p, const calling *c, verdict *v);
void calling_with(const cxi_program *p, uint64_t seed, calling_check *check,
                  verdict *v);
/* A random stack of one to three transforms, for each stream another. */
typedef struct calling_stack {
  char letters[4];
} calling_stack;
calling_stack calling_stack_of(uint64_t seed, uint64_t stream);

/* Reads what a call gave, unless there is an error. */
void calling_keep(snapshot *out, cx result);
/* Refutes if both were kept and differ. */
void calling_compare(const char *what, const snapshot *a, const snapshot *b,
                     double tolerance, verdict *v);
/* Takes the error, and refutes unless it is one that p may give. */
void calling_refusal(const cxi_program *p, const char *what, verdict *v);

#endif
