/* path.h - dotted paths in trees, and the nearest name for messages. */
#ifndef CXI_PATH_H
#define CXI_PATH_H

#include <stdarg.h>

#include "calx/struct.h"
#include "trace/context.h"

/* " (have 6, nearest "bias")" for a key that a dict does not have. */
typedef struct cxi_nearest {
  char text[192];
} cxi_nearest_text;
cxi_nearest_text cxi_nearest(const cxi_tree *t, const char *name);
/* The same for a name that is no field of a struct. */
cxi_nearest_text cxi_nearest_field(const cx_rec *rec, const char *name);

/* The subtree at the path, borrowed; false if it is not there. "" is the tree
 * itself. A tuple's items are numbers. */
bool cxi_path_find(cxi_item tree, const char *path, cxi_item *out);
/* " (have 6, nearest "fc2.bias")" among the paths of the tree's leaves. */
cxi_nearest_text cxi_path_nearest(cxi_item tree, const char *path);
/* A path of any length, in `few` if it fits, else to be freed with cxi_free;
 * NULL without memory. */
char *cxi_path_print(char few[256], const char *format, va_list arguments);
/* The path of a leaf; as snprintf. */
int cxi_path_of_leaf(char *out, size_t room, cxi_item tree, uint32_t leaf);
/* The same as a string of the scope, "" of no leaf; NULL without memory,
 * reported. */
const char *cxi_leaf_path(cx tree, int leaf);

#endif
