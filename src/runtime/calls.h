/* calls.h - what a cx_jit function has compiled, and why. */
#ifndef CXI_CALLS_H
#define CXI_CALLS_H

#include "runtime/executables.h"
#include "trace/call.h"

/* One signature compiled: shared by its memo entry and its function's list. */
typedef struct cxi_compiled {
  uint32_t refs;
  cxi_executable *exe; /* a reference; NULL: given up */
  uint64_t used;       /* by the clock of its function */
} cxi_compiled;

/* By input of the program, whether its argument is donated: scratch memory, of
 * zeros unless f is a cx_jit with donations; NULL without memory. */
bool *cxi_calls_donation(const cxi_invocation *call);

/* The executable for this call, with a reference, compiled if need be. donate:
 * by input of the program. NULL with *error. */
cxi_executable *cxi_calls_executable(const cxi_invocation *call,
                                     const struct cxi_backend *backend,
                                     const bool *donate, cxi_error *error);

/* What the call has compiled, a reference; NULL: nothing that is still kept. */
cxi_executable *cxi_calls_kept(const cxi_invocation *call);

#endif
