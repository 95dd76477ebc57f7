/* faults.h - small workloads with every allocation failing: those of the
 * library (in arenas too), of the models and of jansson. */
#ifndef CXI_TEST_FAULTS_H
#define CXI_TEST_FAULTS_H

#include "support/calls.h"

/* A piece of work, with its result: equal on every run. */
typedef struct workload {
  const char *name;
  cx (*run)(void);
} workload;

/* The workload with allocation N failing, alone or with all that follow, with
 * the library's tables empty and filled. Each time the result is right or
 * poison with CX_EMEMORY, and afterwards the workload works; in the end no
 * memory is held that was not held before. By default N grows faster and
 * faster; CX_ALL=1 tries each, CX_ONLY=name one workload, CX_N=123 one N.
 *
 * The program is linked with malloc, calloc, realloc, aligned_alloc and strdup
 * wrapped: cmake/tests.cmake. */
void sweep_workloads(const workload *list, size_t n);

/* r if the call before succeeded, else poison. */
cx unless_failed(bool good, cx r);

#endif
