/* code.h - generated code for loops, if the library that makes it is there.
 *
 * CALX_LLVM in the environment says when: `off`, never; `now`, before a loop's
 * first step; `auto` or unset, once a loop has run long enough on tier 0. */
#ifndef CXI_CPU_CODE_H
#define CXI_CPU_CODE_H

#include "lower/code.h"

typedef enum cxi_code_when {
  CXI_CODE_OFF,
  CXI_CODE_NOW,
  CXI_CODE_AUTO
} cxi_code_when;

extern const cxi_coder cxi_cpu_coder;

/* Instead of what the environment says, from now on; returns what was. */
cxi_code_when cxi_code_set(cxi_code_when when);
/* Opens the library; false, and why, if it cannot be had. */
bool cxi_code_open(const char **out_why);

typedef struct cxi_code_stats {
  uint64_t loops;   /* that got code */
  uint64_t refused; /* that stay on tier 0 */
} cxi_code_stats;
cxi_code_stats cxi_code_now(void);

#endif
