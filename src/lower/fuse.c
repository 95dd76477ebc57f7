/* fuse.c - elementwise equations and reductions of rows into single passes.
 *
 * Backwards, a node joins the cluster that holds all its users: its result
 * then never reaches memory. Forwards, a cluster joins an earlier one that it
 * reads from, or that reads the same, if all else it needs exists by then. */
#include "lower/fuse.h"

#include <string.h>

#include "base/alloc.h"
#include "lower/schedule.h"

enum {
  MAX_MEMBERS = 48,
  MAX_OPERANDS = CXI_FUSED_OPERANDS,
  NEAR = 48 /* nodes apart: about the same time */
};
static const uint32_t NONE = UINT32_MAX;

static bool grows(const cxi_fusion *f, uint32_t node);

/* -- what a node is -------------------------------------------------------- */

static int64_t count_of(const cxi_graph *g, uint32_t value) {
  return cxi_dims_count(cxi_type_shape(g->values[value].type));
}

/* Elements that are computed from their place alone, and from one key; an
 * index as f16 or bf16 is not: it is rounded from all its digits. */
static bool is_generated(const cxi_graph *g, const cxi_node *node) {
  if (node->row->form != CXI_FORM_SOURCE || count_of(g, node->out) == 0)
    return false;
  const cx_dtype type = cxi_type_dtype(g->values[node->out].type);
  if (node->row->prim == CXI_PRIM_iota)
    return type != CX_F16 && type != CX_BF16;
  return node->row->prim == CXI_PRIM_random_bits &&
         count_of(g, cxi_graph_operands(g, node)[0]) == 1;
}

static bool is_elementwise(const cxi_graph *g, const cxi_node *node) {
  if (node->row->form != CXI_FORM_ELEMENTWISE &&
      node->row->prim != CXI_PRIM_copy)
    return false;
  const uint32_t *in = cxi_graph_operands(g, node);
  if (node->n_out != 1 || node->n_in > MAX_OPERANDS ||
      count_of(g, node->out) == 0)
    return false;
  if (node->row->prim != CXI_PRIM_bitcast) return true;
  return cxi_dtype_bytes(cxi_type_dtype(g->values[in[0]].type)) ==
         cxi_dtype_bytes(cxi_type_dtype(g->values[node->out].type));
}

static const cx_dims *reduced_axes(const cxi_node *node, cx_dims *room) {
  switch (node->row->prim) {
  case CXI_PRIM_reduce_sum:
  case CXI_PRIM_reduce_max:
  case CXI_PRIM_reduce_min:
  case CXI_PRIM_reduce_and:
  case CXI_PRIM_reduce_or:
  case CXI_PRIM_reduce_prod:
  case CXI_PRIM_reduce_xor:
    return &((const cxi_reduce_sum_params *)node->params)->axes;
  case CXI_PRIM_argmax:
  case CXI_PRIM_argmin:
    *room = (cx_dims){ 1, { ((const cxi_argmax_params *)node->params)->axis } };
    return room;
  default:
    return NULL;
  }
}

/* The length of the rows if the node reduces the last axes; else 0. */
static int64_t reduced_row(const cxi_graph *g, const cxi_node *node) {
  cx_dims room;
  const cx_dims *axes = reduced_axes(node, &room);
  if (!axes || node->n_out != 1) return 0;
  const cx_dims *shape =
      cxi_type_shape(g->values[cxi_graph_operands(g, node)[0]].type);
  int64_t n = 1;
  for (int i = 0; i < axes->n; i++) {
    const int axis = shape->n - 1 - i;
    if (!cxi_dims_has(axes, axis) && !cxi_dims_has(axes, axis - shape->n))
      return 0;
    n *= shape->d[axis];
  }
  return count_of(g, node->out) > 0 ? n : 0;
}

/* -- levels ---------------------------------------------------------------- */

/* What a cluster becomes with one more node. */
typedef struct fit {
  int64_t rows, n; /* of the cluster then */
  bool raise;      /* its members until now become per element */
  bool per_row;    /* the level of the node's result */
} fit;

/* How a node with `count` results fits a cluster of rows x n; false: not. */

static bool fit_elements(int64_t rows, int64_t n, int64_t count, fit *out) {
  *out = (fit){ rows, n, false, true };
  if (count == rows) return true;
  if (n > 0) {
    out->per_row = false;
    return count == rows * n;
  }
  /* a value per row for a plain pass over all elements */
  *out = (fit){ count, rows / count, true, true };
  return rows % count == 0 && (count > 1 || rows <= 4096);
}

/* The same, for one that reduces rows of length `row`. */
static bool fit_reduction(int64_t rows, int64_t n, int64_t count, int64_t row,
                          fit *out) {
  *out = (fit){ count, row, false, true };
  if (row < 2) return false;
  if (n > 0) return rows == count && n == row;
  out->raise = rows != count;
  return rows == count || rows == count * row;
}

/* Does the place of a value read it element by element on its own level, or
 * repeat a row's value along the row? A key is read as a whole. */
static bool reads_level(const cxi_graph *g, uint32_t value, const fit *f,
                        bool value_per_row, bool reader_per_row,
                        const cxi_node *reader) {
  if (is_generated(g, reader)) return false;
  const cxi_graph_value *v = &g->values[value];
  const cx_dims *shape = cxi_type_shape(v->type);
  const cxi_pattern p = cxi_pattern_of(shape, v->place.strides);
  const int64_t count = cxi_dims_count(shape);
  if (v->place.offset != 0 ||
      cxi_type_dtype(v->type) != cxi_type_dtype(g->values[v->place.root].type))
    return false;
  const int64_t width = f->n > 0 ? f->n : 1;
  if (count != (reader_per_row ? f->rows : f->rows * width)) return false;
  if (value_per_row == reader_per_row)
    return p.n == 0 ? count == 1 : p.n == 1 && p.strides[0] == 1;
  if (!value_per_row) return false;
  return cxi_pattern_cover(&p, f->rows, f->n) ==
         (f->rows == 1 ? CXI_COVER_SCALAR : CXI_COVER_COLUMN);
}

/* Does `reader` take its operands per row? */
static bool reads_rows(const cxi_fusion *f, uint32_t reader, bool raise) {
  if (f->nodes[reader].reduces) return false;
  return f->nodes[reader].per_row && !raise;
}

/* -- clusters -------------------------------------------------------------- */

static bool fit_node(const cxi_fusion *f, const cxi_cluster *k, uint32_t node,
                     fit *out) {
  const cxi_graph *g = f->graph;
  const int64_t count = count_of(g, g->nodes[node].out);
  return f->nodes[node].reduces
             ? fit_reduction(k->rows, k->n, count, f->nodes[node].row, out)
             : fit_elements(k->rows, k->n, count, out);
}

static bool within_limit(const cxi_fusion *f, const fit *t) {
  return t->n <= f->row_limit;
}

static void apply_fit(cxi_fusion *f, cxi_cluster *k, const fit *t) {
  for (uint32_t m = k->first; t->raise && m != NONE; m = f->nodes[m].next)
    f->nodes[m].per_row = false;
  k->rows = t->rows;
  k->n = t->n;
}

static void add_member(cxi_fusion *f, uint32_t cluster, uint32_t node) {
  cxi_cluster *k = &f->clusters[cluster];
  f->nodes[node].cluster = cluster;
  f->nodes[node].next = k->first;
  k->first = node;
  k->n_members++;
}

static void open_cluster(cxi_fusion *f, uint32_t node) {
  const uint32_t c = f->n_clusters++;
  cxi_cluster *k = &f->clusters[c];
  *k = (cxi_cluster){ .first = NONE, .at = node };
  if (f->nodes[node].fusible) {
    k->rows = count_of(f->graph, f->graph->nodes[node].out);
    k->n = f->nodes[node].reduces ? f->nodes[node].row : 0;
    f->nodes[node].per_row = true;
  }
  add_member(f, c, node);
}

/* The one cluster that holds all users of the node's result, or NONE. */
static uint32_t only_user(const cxi_fusion *f, uint32_t node) {
  const uint32_t root = f->graph->nodes[node].out;
  uint32_t cluster = NONE;
  for (uint32_t u = f->use_first[root]; u < f->use_first[root + 1]; u++) {
    const uint32_t user = f->nodes[f->uses[u].node].cluster;
    if (cluster != NONE && user != cluster) return NONE;
    cluster = user;
  }
  return cluster;
}

/* Moving the node to a much later time must not keep more alive meanwhile. */
static bool may_wait(const cxi_fusion *f, uint32_t node, uint32_t until) {
  return until - node <= NEAR || !grows(f, node);
}

static bool grows(const cxi_fusion *f, uint32_t node) {
  const cxi_graph *g = f->graph;
  const cxi_node *n = &g->nodes[node];
  const int64_t out = cxi_aval_bytes(cxi_type_aval(g->values[n->out].type));
  for (uint32_t k = 0; k < n->n_in; k++) {
    const uint32_t root = cxi_graph_root(g, cxi_graph_operands(g, n)[k]);
    if (cxi_aval_bytes(cxi_type_aval(g->values[root].type)) > out) return true;
  }
  return false;
}

static void join_users(cxi_fusion *f, uint32_t node) {
  const cxi_graph *g = f->graph;
  const uint32_t c = f->nodes[node].fusible ? only_user(f, node) : NONE;
  if (c == NONE || !f->nodes[f->clusters[c].first].fusible ||
      f->clusters[c].n_members >= MAX_MEMBERS ||
      !may_wait(f, node, f->clusters[c].at)) {
    open_cluster(f, node);
    return;
  }
  cxi_cluster *k = &f->clusters[c];
  fit t;
  bool fits = fit_node(f, k, node, &t) && within_limit(f, &t);
  const uint32_t root = g->nodes[node].out;
  for (uint32_t u = f->use_first[root]; fits && u < f->use_first[root + 1]; u++)
    fits = reads_level(g, g->operands[f->uses[u].operand], &t, t.per_row,
                       reads_rows(f, f->uses[u].node, t.raise),
                       &g->nodes[f->uses[u].node]);
  if (!fits) {
    open_cluster(f, node);
    return;
  }
  apply_fit(f, k, &t);
  f->nodes[node].per_row = t.per_row;
  add_member(f, c, node);
}

/* -- merging forwards ------------------------------------------------------ */

/* When the value exists: the time of the cluster that makes it; 0: always. */
static uint32_t exists_after(const cxi_fusion *f, uint32_t value) {
  const uint32_t maker = cxi_graph_maker(f->graph, value);
  return cxi_is_equation(maker) ? f->clusters[f->nodes[maker].cluster].at + 1
                                : 0;
}

/* The common rows x n of two clusters: which of them must be raised. */
static bool fit_clusters(const cxi_cluster *a, const cxi_cluster *b,
                         bool *raise_a, bool *raise_b, fit *out) {
  const cxi_cluster *wide = a->n > 0 ? a : b;
  *out = (fit){ wide->rows, wide->n, false, false };
  *raise_a = *raise_b = false;
  if (a->n > 0 && b->n > 0) return a->rows == b->rows && a->n == b->n;
  if (a->n == 0 && b->n == 0) return a->rows == b->rows;
  const cxi_cluster *plain = wide == a ? b : a;
  if (plain->rows == wide->rows) return true;
  *(wide == a ? raise_b : raise_a) = true;
  return plain->rows == wide->rows * wide->n;
}

/* May cluster b run at the time of a, as one pass with it? */
static bool may_merge(const cxi_fusion *f, uint32_t a, uint32_t b, fit *out,
                      bool *raise_a, bool *raise_b) {
  const cxi_graph *g = f->graph;
  const cxi_cluster *ka = &f->clusters[a], *kb = &f->clusters[b];
  if (ka->at >= kb->at || kb->at - ka->at > NEAR ||
      ka->n_members + kb->n_members > MAX_MEMBERS ||
      !fit_clusters(ka, kb, raise_a, raise_b, out))
    return false;
  for (uint32_t m = kb->first; m != NONE; m = f->nodes[m].next) {
    const cxi_node *node = &g->nodes[m];
    for (uint32_t k = 0; k < node->n_in; k++) {
      const uint32_t v = cxi_graph_operands(g, node)[k];
      const uint32_t source = g->values[cxi_graph_root(g, v)].source;
      const uint32_t from =
          cxi_is_equation(source) ? f->nodes[source].cluster : NONE;
      if (from == b) continue;
      if (from == a) {
        /* a view of it behind a barrier exists only after that */
        if (exists_after(f, v) != ka->at + 1 ||
            !reads_level(g, v, out, f->nodes[source].per_row && !*raise_a,
                         reads_rows(f, m, *raise_b), node))
          return false;
      } else if (exists_after(f, v) > ka->at) {
        return false;
      }
    }
  }
  return true;
}

static void merge(cxi_fusion *f, uint32_t a, uint32_t b, const fit *t,
                  bool raise_a, bool raise_b) {
  cxi_cluster *ka = &f->clusters[a], *kb = &f->clusters[b];
  for (uint32_t m = ka->first; raise_a && m != NONE; m = f->nodes[m].next)
    f->nodes[m].per_row = false;
  for (uint32_t m = kb->first; m != NONE; m = f->nodes[m].next) {
    f->nodes[m].cluster = a;
    if (raise_b) f->nodes[m].per_row = false;
  }
  uint32_t last = ka->first;
  while (f->nodes[last].next != NONE) last = f->nodes[last].next;
  f->nodes[last].next = kb->first;
  ka->rows = t->rows;
  ka->n = t->n;
  ka->n_members += kb->n_members;
  kb->first = NONE;
  kb->n_members = 0;
}

static bool try_merge(cxi_fusion *f, uint32_t a, uint32_t b) {
  fit t;
  bool raise_a, raise_b;
  if (a == NONE || a == b || !f->clusters[a].n_members ||
      !f->nodes[f->clusters[a].first].fusible ||
      !may_merge(f, a, b, &t, &raise_a, &raise_b))
    return false;
  merge(f, a, b, &t, raise_a, raise_b);
  return true;
}

/* Into a cluster that makes one of its operands, or reads one of them. */
static void merge_forward(cxi_fusion *f, uint32_t cluster, uint32_t *reader) {
  const cxi_graph *g = f->graph;
  uint32_t at = cluster;
  if (f->nodes[f->clusters[cluster].first].fusible) {
    for (uint32_t m = f->clusters[cluster].first; m != NONE && at == cluster;
         m = f->nodes[m].next) {
      const cxi_node *node = &g->nodes[m];
      for (uint32_t k = 0; k < node->n_in && at == cluster; k++) {
        const uint32_t root = cxi_graph_root(g, cxi_graph_operands(g, node)[k]);
        const uint32_t source = g->values[root].source;
        const uint32_t maker =
            cxi_is_equation(source) ? f->nodes[source].cluster : NONE;
        if (count_of(g, root) < 2) continue;
        if (maker != cluster && try_merge(f, maker, cluster))
          at = maker;
        else if (try_merge(f, reader[root], cluster))
          at = reader[root];
      }
    }
  }
  for (uint32_t m = f->clusters[at].first; m != NONE; m = f->nodes[m].next)
    for (uint32_t k = 0; k < g->nodes[m].n_in; k++)
      reader[cxi_graph_root(g, cxi_graph_operands(g, &g->nodes[m])[k])] = at;
}

/* -- users ----------------------------------------------------------------- */

/* Nodes that an output or an effect needs. */
static void mark_live(cxi_fusion *f, bool *used) {
  const cxi_graph *g = f->graph;
  for (uint32_t i = 0; i < g->n_out; i++) used[g->outputs[i]] = true;
  for (uint32_t i = g->n_nodes; i-- > 0;) {
    const cxi_node *node = &g->nodes[i];
    bool live = node->effects;
    for (uint32_t k = 0; k < node->n_out; k++) live |= used[node->out + k];
    f->nodes[i].live = live;
    for (uint32_t k = 0; live && k < node->n_in; k++)
      used[cxi_graph_operands(g, node)[k]] = true;
  }
}

static bool is_user(const cxi_fusion *f, uint32_t node) {
  return f->nodes[node].live && f->graph->nodes[node].kind != CXI_NODE_VIEW;
}

/* Lists the users of each root. */
static void find_users(cxi_fusion *f) {
  const cxi_graph *g = f->graph;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
      const cxi_node *node = &g->nodes[i];
      for (uint32_t k = 0; is_user(f, i) && k < node->n_in; k++) {
        const uint32_t root = cxi_graph_root(g, g->operands[node->in + k]);
        if (pass == 0)
          f->use_first[root + 1]++;
        else
          f->uses[f->use_first[root]++] = (cxi_use){ i, node->in + k };
      }
    }
    if (pass == 0)
      for (uint32_t v = 0; v < g->n_values; v++)
        f->use_first[v + 1] += f->use_first[v];
  }
  /* filling has moved each start to the next one's */
  memmove(f->use_first + 1, f->use_first, g->n_values * sizeof *f->use_first);
  f->use_first[0] = 0;
}

bool cxi_fusion_find(cxi_fusion *f, const cxi_graph *g, int64_t row_limit) {
  f->graph = g;
  f->row_limit = row_limit;
  const size_t n = g->n_nodes + (size_t)1, m = g->n_values + (size_t)2;
  f->nodes = cxi_scratch(n * sizeof *f->nodes);
  f->clusters = cxi_scratch(n * sizeof *f->clusters);
  f->uses = cxi_scratch((g->n_operands + (size_t)1) * sizeof *f->uses);
  f->use_first = cxi_scratch(m * sizeof *f->use_first);
  uint32_t *reader = cxi_scratch(m * sizeof *reader);
  bool *used = cxi_scratch(m);
  if (!f->nodes || !f->clusters || !f->uses || !f->use_first || !reader ||
      !used)
    return false;
  mark_live(f, used);
  find_users(f);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    cxi_fused_node *node = &f->nodes[i];
    node->cluster = NONE;
    node->row =
        g->nodes[i].kind == CXI_NODE_RUN ? reduced_row(g, &g->nodes[i]) : 0;
    node->reduces = node->row >= 2 && node->row <= row_limit;
    node->fusible = g->nodes[i].kind == CXI_NODE_RUN &&
                    (node->reduces || is_generated(g, &g->nodes[i]) ||
                     is_elementwise(g, &g->nodes[i]));
  }
  for (uint32_t i = g->n_nodes; i-- > 0;)
    if (is_user(f, i)) join_users(f, i);
  memset(reader, 0xff, m * sizeof *reader);
  for (uint32_t c = f->n_clusters; c-- > 0;) merge_forward(f, c, reader);
  return true;
}
