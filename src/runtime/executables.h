/* executables.h - programs compiled once for the process, bounded. */
#ifndef CXI_EXECUTABLES_H
#define CXI_EXECUTABLES_H

#include "lower/executable.h"
#include "trace/device.h"

/* The executable of p on the backend, with a reference; compiled if it is not
 * kept. *out_compiled (may be NULL): whether it had to be. NULL with *error.
 * donate: by input; NULL: none. */
cxi_executable *cxi_executable_for(const cxi_program *p,
                                   const struct cxi_backend *backend,
                                   const bool *donate, bool *out_compiled,
                                   cxi_error *error);
void cxi_executables_limit(size_t entries, size_t bytes);
void cxi_executables_clear(void);

typedef struct cxi_executables_stats {
  uint64_t hits, misses, entries;
  size_t bytes;
} cxi_executables_stats;
cxi_executables_stats cxi_executables_kept(void);

/* Runs it: outputs are new arrays, but that of a donated input's buffer.
 * donated[i]: input i's array is consumed. in[]: pointers; out: new arrays,
 * hollow where they inherit. False with *error; then nothing was consumed,
 * unless *out_started. */
bool cxi_executable_call(cx_ctx *ctx, const cxi_executable *exe,
                         const void *const *in, cxi_array *const *donated,
                         cxi_array **out, bool *out_started, cxi_error *error);

#endif
