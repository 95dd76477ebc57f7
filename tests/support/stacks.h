/* stacks.h - stacks of transforms over functions of (x, y, z).
 *
 * A stack is a word, the outermost transform first; each letter makes a
 * function of (x, y, z) from another one:
 *   G  the gradient of the sum of the sines of all floating results
 *   T  forward mode, with tangents made from the arguments
 *   V  vmap over three examples of x; y and z are not mapped
 *   W  vmap over two examples of all arguments
 *   J  jit          C  checkpoint
 *   S  a scan of two steps over x whose body captures y and z
 * Letters in `plain` are left out (J, C) or done without the library's help:
 * V, W and S by a C loop. */
#ifndef TEST_STACKS_H
#define TEST_STACKS_H

#include "calx.h"

bool is_floating(cx a);
/* NULL with a kept error. */
cx_fn stack_make(cx_fn f, const char *stack, const char *plain);
/* The sum of the sines of all floating leaves: what G differentiates. */
cx stack_total(cx tree);
cx_fn stack_total_of(cx_fn f);

/* Whether two reverse derivatives stand on a checkpoint: what it computes again
 * then has a cotangent of its own, which without it is part of a sum that is
 * multiplied as a whole. The bits may differ. */
bool stack_splits_sums(const char *stack);

/* What a call returned, as text and bytes; both NULL if it failed. */
typedef struct snapshot {
  char *types;
  unsigned char *bytes;
  size_t n_bytes;
  int n_leaves;
  struct snapshot_leaf {
    cx_dtype type;
    size_t at;
    int64_t count;
  } * leaves;
} snapshot;

/* Reads the tree out of its context. */
snapshot snapshot_of(cx tree);
void snapshot_free(snapshot *s);
/* NULL if types and bits are the same, else what differs, until the next
 * comparison. NaNs are the same whatever their sign: which operand's NaN an
 * addition returns is the compiler's choice. `tolerance` > 0: floats may differ
 * by it, relative to 1 + |a|. */
const char *snapshot_compare(const snapshot *a, const snapshot *b,
                             double tolerance);
/* Whether all floats are finite. */
bool snapshot_finite(const snapshot *s);
/* Sum of a * b over the floating leaves. */
double snapshot_dot(const snapshot *a, const snapshot *b);

#endif
