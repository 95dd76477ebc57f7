/* code.h - generated code for loops and passes: looked for, made, kept.
 *
 * CALX_LLVM in the environment says when: `off`, never; `now`, before a loop's
 * first step and any pass; `auto` or unset, once either has run long enough on
 * tier 0, by another thread meanwhile; `wait`, then too, but it waits for it. A
 * context may say otherwise (cx_loops). */
#ifndef CXI_CPU_CODE_H
#define CXI_CPU_CODE_H

#include "lower/schedule.h"

extern const cxi_coder cxi_cpu_coder;

/* What the environment says, or was set instead; as a name. */
const char *cxi_code_when(void);
/* Instead of what the environment says, from now on; returns what was. */
cx_loops cxi_code_set(cx_loops when);
/* Opens the library; false, and why, if it cannot be had. */
bool cxi_code_open(const char **out_why);
/* Waits until no code is being made, and ends the threads that make it; what
 * was not begun is left for later. */
void cxi_code_settle(void);
/* Code that nothing uses goes. */
void cxi_code_forget(void);

typedef struct cxi_code_stats {
  uint64_t loops;       /* that got code */
  uint64_t passes;      /* that did */
  uint64_t refused;     /* that stay on tier 0 */
  uint64_t shared;      /* of all: as an equal unit of this process did */
  uint64_t read;        /* of all: from the directory */
  uint64_t made;        /* of all: by LLVM */
  uint64_t failed;      /* attempts */
  uint64_t kept, bytes; /* pieces of code in memory now, and their bytes */
  uint64_t making_ns, reading_ns;
  char why[160]; /* the last one was not in the directory */
} cxi_code_stats;
cxi_code_stats cxi_code_now(void);

/* code_pass.c: may the code of a fused unit be better than tier 0's steps, and
 * has it enough elements to matter, or should it have code of any? */
bool cxi_code_may_pay(const cxi_unit *pass, bool of_any_size);

#endif
