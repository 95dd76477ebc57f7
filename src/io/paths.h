/* paths.h - trees from leaves with dotted paths. */
#ifndef CXI_PATHS_H
#define CXI_PATHS_H

#include "calx/tree.h"

typedef struct cxi_path_leaf {
  const char *path; /* "encoder.layer.3.weight" */
  cx leaf;
} cxi_path_leaf;

/* A dict of dicts; sorts the list. CX_ETREE for a path twice, a path that is
 * both a leaf and a folder, an empty name, more than 64 names in a path. */
cx cxi_tree_of_paths(const char *what, uint32_t n, cxi_path_leaf *leaves);

#endif
