/* tree_map.h - an operation on corresponding leaves of trees. */
#ifndef CXI_TREE_MAP_H
#define CXI_TREE_MAP_H

#include "trace/context.h"

/* Applied to one leaf of each operand. */
typedef cx cxi_leaf_op(const cx *leaves, void *user);

/* The operands that are trees have one structure; an array or number among
 * them goes with every leaf. Without a tree: op itself. strict: every operand
 * must be a tree of the structure. */
cx cxi_tree_map(const char *name, bool strict, int n, const cx *operands,
                cxi_leaf_op *op, void *user);

#endif
