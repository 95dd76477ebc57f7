/* composed.h - functions that tests put under stacks of transforms. */
#ifndef TEST_COMPOSED_H
#define TEST_COMPOSED_H

#include "calx.h"

/* f(x, y, z): x floating, y floating or cx_none(), z anything without a
 * tangent or cx_none(). */
typedef struct composed {
  const char *name;
  const cx_def *def;
  void (*arguments)(cx_dtype type, cx out[3]);
  bool only_reverse; /* forward mode is an error */
} composed;

extern const composed composed_functions[];
extern const int n_composed_functions;

/* Floats in (-1, 1) from the seed, the same in every context. */
#define composed_floats(t, seed, ...) \
  composed_floats_((t), (seed), CX_DIMS(__VA_ARGS__))
cx composed_floats_(cx_dtype type, uint64_t seed, cx_dims shape);

#endif
