/* fuse.h - which nodes of a graph run as one pass. */
#ifndef CXI_FUSE_H
#define CXI_FUSE_H

#include "lower/graph.h"

typedef struct cxi_fused_node {
  uint32_t cluster, next; /* the next member of its cluster */
  bool live, fusible, reduces, per_row;
  int64_t row; /* the length of the rows it reduces */
} cxi_fused_node;

/* A cluster runs at the time of its last node, `at`. Clusters are numbered
 * from the last to the first. */
typedef struct cxi_cluster {
  uint32_t first, n_members, at;
  int64_t rows, n; /* as in cxi_unit */
} cxi_cluster;

typedef struct cxi_use {
  uint32_t node, operand; /* place in the graph's operands */
} cxi_use;

typedef struct cxi_fusion {
  const cxi_graph *graph;
  int64_t row_limit;
  cxi_fused_node *nodes;
  uint32_t n_clusters;
  cxi_cluster *clusters;
  uint32_t *use_first; /* users of root v: uses[first[v]..first[v+1]) */
  cxi_use *uses;
} cxi_fusion;

/* Fills *f, in scratch memory; false without memory. */
bool cxi_fusion_find(cxi_fusion *f, const cxi_graph *g, int64_t row_limit);

#endif
