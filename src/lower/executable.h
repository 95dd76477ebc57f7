/* executable.h - a program compiled for a device: run from any thread.
 *
 * What a device must bring is a cxi_backend (schedule.h): one structure with
 * what it can do, and a function that compiles a unit. */
#ifndef CXI_EXECUTABLE_H
#define CXI_EXECUTABLE_H

#include "calx/context.h"
#include "ir/program.h"

struct cxi_backend;
typedef struct cxi_executable cxi_executable;

typedef struct cxi_compile_options {
  const bool *donate; /* by input: an output may take its buffer;
                                 NULL: none */
} cxi_compile_options;

/* An executable with one reference, or NULL with *error. It holds p. */
cxi_executable *cxi_compile(const cxi_program *p,
                            const struct cxi_backend *backend,
                            cxi_compile_options options, cxi_error *error);
cxi_executable *cxi_executable_retain(cxi_executable *exe);
void cxi_executable_release(cxi_executable *exe); /* NULL: nothing */

const cxi_program *cxi_executable_program(const cxi_executable *exe);
/* Bytes of the workspace a run needs, a multiple of 64; never 0. */
size_t cxi_executable_workspace(const cxi_executable *exe);
/* The donated input whose buffer output j takes: a run is then given the same
 * pointer for both. -1: the output has its own. */
int cxi_executable_alias(const cxi_executable *exe, uint32_t j);
/* The plan as text: the peak in bytes of what is between inputs and outputs,
 * the bytes of the outputs that alias no input, then the largest buffers with
 * type, lifetime, source line and scope. */
const char *cxi_executable_plan(const cxi_executable *exe);
/* The plan, then a line for each loop and pass that now runs as generated code:
 * its equations, source line and scope. In the arena; NULL without memory. */
const char *cxi_executable_report(const cxi_executable *exe, cxi_arena *arena);
size_t cxi_executable_peak(const cxi_executable *exe);
size_t cxi_executable_bytes(const cxi_executable *exe); /* of its own memory */
uint32_t cxi_executable_steps(const cxi_executable *exe);

/* Runs it on dense arrays. Outputs overlap neither each other nor inputs,
 * but for those that alias; the workspace is 64-byte aligned, and inputs are
 * aligned to their elements. Up to `threads` threads; the bits do not depend
 * on how many. From any thread, several at once; no allocation, no locks.
 * False with *error. */
bool cxi_executable_run(const cxi_executable *exe, const void *const *in,
                        void *const *out, void *workspace, int threads,
                        cxi_error *error);
/* The same, with a word on when its loops get generated code. */
bool cxi_executable_run_with(const cxi_executable *exe, const void *const *in,
                             void *const *out, void *workspace, int threads,
                             cx_loops loops, cxi_error *error);

typedef struct cxi_compile_stats {
  uint64_t compiled, live, bytes; /* over the process */
} cxi_compile_stats;
cxi_compile_stats cxi_executables_now(void);

#endif
