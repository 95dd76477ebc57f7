/* loops.h - loops for tests of generated code, in a cache of their own. */
#ifndef TEST_LOOPS_H
#define TEST_LOOPS_H

#include "backends/cpu/code.h"
#include "support/execute.h"

/* Before and after each test: an empty directory for files of code. */
extern char loops_directory[64];
int loops_begin(void **state);
int loops_end(void **state);
/* False, said why, if no code can be made here. */
bool loops_there(void);

/* Runs a loop of `length` steps, another one for each number, and compares with
 * the reference: false, said why, if a bit differs. */
bool loops_right(int number, int length, int threads);

/* A loop of two numbers that runs for about a third of a second on tier 0. */
extern const char loops_long[];
cxi_executable *loops_compile(const char *text);

/* A run of an executable that takes and gives two f64; for pthread_create. */
typedef struct loops_call {
  const cxi_executable *exe;
  cx_loops loops;
  double out[2];
  bool good;
} loops_call;
void *loops_run(void *call);

#endif
