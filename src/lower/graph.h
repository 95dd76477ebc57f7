/* graph.h - a program made flat: calls inlined, movement turned into views.
 *
 * Values are numbered inputs first, then in the order in which they arise. A
 * value's elements lie in the buffer of its root, which is itself or the
 * value it is a view of. */
#ifndef CXI_GRAPH_H
#define CXI_GRAPH_H

#include "ir/row.h"

/* Where the elements of a value lie in its root's buffer, in elements. */
typedef struct cxi_place {
  uint32_t root;
  int64_t offset;
  int64_t strides[CX_MAX_DIMS];
} cxi_place;

typedef enum cxi_node_kind {
  CXI_NODE_RUN,    /* computes its results into buffers */
  CXI_NODE_VIEW,   /* its results are views of its operand */
  CXI_NODE_BARRIER /* result i is operand i, once all exist */
} cxi_node_kind;

typedef struct cxi_node {
  cxi_node_kind kind;
  bool effects; /* must run, used or not */
  const cxi_row *row;
  const void *params;
  uint32_t n_in, n_out;
  uint32_t in;  /* its first operand in `operands` */
  uint32_t out; /* its first result among the values */
  cxi_name site, scope;
} cxi_node;

typedef struct cxi_graph_value {
  cxi_type type;
  uint32_t source; /* its node, CXI_INPUT or CXI_LITERAL */
  uint32_t dense;  /* 1 + the value it was copied to; 0: none */
  uint64_t bits;   /* of a literal */
  cxi_place place;
} cxi_graph_value;

/* Programs that equations were expanded to: nodes point into them, so they
 * live as long as what is compiled. */
typedef struct cxi_expansions {
  uint32_t n, cap;
  const cxi_program **programs;
} cxi_expansions;
void cxi_expansions_release(cxi_expansions *e);

typedef struct cxi_graph {
  cxi_expansions *expansions; /* NULL: an equation to expand is an error */
  uint32_t n_in, n_out;
  uint32_t n_values, cap_values, n_nodes, cap_nodes, n_operands, cap_operands;
  cxi_graph_value *values;
  cxi_node *nodes;
  uint32_t *operands, *outputs;
} cxi_graph;

/* May operand k of the row be read through strides, or must it be dense? */
typedef bool cxi_reads_views(const cxi_row *row, uint32_t k);

/* Fills a {0} graph from p; its parameters stay p's. False with *error. */
bool cxi_graph_fill(cxi_graph *g, const cxi_program *p,
                    cxi_reads_views *reads_views, cxi_error *error);
void cxi_graph_free(cxi_graph *g);

/* Appends the copy of a value into a dense buffer; UINT32_MAX without
 * memory. */
uint32_t cxi_graph_copy(cxi_graph *g, uint32_t value, cxi_name site,
                        cxi_name scope);

static inline const uint32_t *cxi_graph_operands(const cxi_graph *g,
                                                 const cxi_node *node) {
  return g->operands + node->in;
}
static inline uint32_t cxi_graph_root(const cxi_graph *g, uint32_t value) {
  return g->values[value].place.root;
}
bool cxi_graph_is_dense(const cxi_graph *g, uint32_t value);
/* The node that must have run before the value exists: the one that computes
 * it, or what its view is of; CXI_INPUT, CXI_LITERAL: it is there. */
uint32_t cxi_graph_maker(const cxi_graph *g, uint32_t value);
/* Dense, and the whole of its root. */
bool cxi_graph_is_whole(const cxi_graph *g, uint32_t value);

/* -- places (place.c) ------------------------------------------------------ */

cxi_place cxi_place_dense(uint32_t root, const cx_dims *shape);
bool cxi_place_is_dense(const cxi_place *place, const cx_dims *shape);

/* The place of result k of a movement primitive on an operand at `from`;
 * false if it is no view of it. */
bool cxi_place_view(cxi_prim prim, const void *params, uint32_t k,
                    const cx_aval *from_type, const cxi_place *from,
                    const cx_aval *type, cxi_place *out);

/* Sizes and strides with neighbours joined where they are one axis and axes
 * of size 1 left out: rank 0 for one element, (n, 1) for a dense array. */
typedef struct cxi_pattern {
  int n;
  int64_t sizes[CX_MAX_DIMS], strides[CX_MAX_DIMS];
} cxi_pattern;
cxi_pattern cxi_pattern_of(const cx_dims *shape, const int64_t *strides);

int64_t cxi_pattern_count(const cxi_pattern *pattern);
/* Where element i in row-major order lies, in elements. */
int64_t cxi_pattern_offset(const cxi_pattern *pattern, int64_t i);

/* How a pattern covers rows x n elements. */
typedef enum cxi_cover {
  CXI_COVER_FULL,   /* element i of the buffer is element i */
  CXI_COVER_SCALAR, /* one element everywhere */
  CXI_COVER_ROW,    /* n elements, the same in every row */
  CXI_COVER_COLUMN, /* an element per row */
  CXI_COVER_OTHER
} cxi_cover;
cxi_cover cxi_pattern_cover(const cxi_pattern *pattern, int64_t rows,
                            int64_t n);

#endif
