/* units.c - the clusters of a graph as units with operands and results. */
#include <string.h>

#include "base/alloc.h"
#include "lower/fuse.h"
#include "lower/schedule.h"

static const uint32_t NONE = UINT32_MAX;

/* What is needed while the units are made. */
typedef struct making {
  cxi_schedule *s;
  const cxi_fusion *f;
  const bool *is_output; /* by root */
  int32_t *op_of;        /* by node: its place in its unit's ops */
} making;

bool cxi_is_result(const cxi_graph *g, uint32_t root) {
  return cxi_is_equation(g->values[root].source);
}

size_t cxi_root_bytes(const cxi_graph *g, uint32_t root) {
  return (size_t)cxi_aval_bytes(cxi_type_aval(g->values[root].type));
}

uint32_t cxi_exists_after(const cxi_schedule *s, uint32_t value) {
  const uint32_t maker = cxi_graph_maker(&s->graph, value);
  return cxi_is_equation(maker) ? s->node_unit[maker] : 0;
}

void cxi_schedule_free(cxi_schedule *s) {
  cxi_graph_free(&s->graph);
  cxi_arena_free(&s->arena);
}

static void *room(making *m, size_t n, size_t size) {
  return cxi_arena_alloc(&m->s->arena, (n + 1) * size);
}

static cxi_operand operand_of(const cxi_graph *g, uint32_t value) {
  const cxi_graph_value *v = &g->values[value];
  cxi_operand o = { .value = value,
                    .root = v->place.root,
                    .type = *cxi_type_aval(v->type),
                    .offset = v->place.offset };
  memcpy(o.strides, v->place.strides, sizeof o.strides);
  return o;
}

static bool make_one(making *m, uint32_t node_index, cxi_unit *unit) {
  const cxi_graph *g = &m->s->graph;
  const cxi_node *node = &g->nodes[node_index];
  unit->kind = node->kind == CXI_NODE_BARRIER ? CXI_UNIT_NONE : CXI_UNIT_ONE;
  unit->row = node->row;
  unit->params = node->params;
  unit->n_operands = node->n_in;
  unit->n_results = unit->kind == CXI_UNIT_NONE ? 0 : node->n_out;
  unit->operands = room(m, unit->n_operands, sizeof *unit->operands);
  unit->results = room(m, unit->n_results, sizeof *unit->results);
  if (!unit->operands || !unit->results) return false;
  for (uint32_t k = 0; k < unit->n_operands; k++)
    unit->operands[k] = operand_of(g, cxi_graph_operands(g, node)[k]);
  for (uint32_t k = 0; k < unit->n_results; k++)
    unit->results[k] = operand_of(g, node->out + k);
  return true;
}

/* The unit's operand that reads as `o` does, appended if it is new. */
static uint32_t find_operand(cxi_unit *unit, const cxi_operand *o) {
  for (uint32_t k = 0; k < unit->n_operands; k++) {
    const cxi_operand *have = &unit->operands[k];
    if (have->root == o->root && have->offset == o->offset &&
        cxi_aval_equal(&have->type, &o->type) &&
        !memcmp(have->strides, o->strides, sizeof o->strides))
      return k;
  }
  unit->operands[unit->n_operands] = *o;
  return unit->n_operands++;
}

/* Does anything but the unit itself need the node's result? */
static bool leaves_unit(const making *m, uint32_t node) {
  const cxi_fusion *f = m->f;
  const uint32_t root = m->s->graph.nodes[node].out;
  bool leaves = m->is_output[root];
  for (uint32_t u = f->use_first[root]; u < f->use_first[root + 1]; u++)
    leaves |= f->nodes[f->uses[u].node].cluster != f->nodes[node].cluster;
  return leaves;
}

static void add_op(making *m, cxi_unit *unit, uint32_t node_index,
                   uint32_t *n_sources) {
  const cxi_graph *g = &m->s->graph;
  const cxi_node *node = &g->nodes[node_index];
  cxi_op *op = &unit->ops[unit->n_ops];
  *op = (cxi_op){ node->row,
                  node->params,
                  cxi_type_dtype(g->values[node->out].type),
                  m->f->nodes[node_index].per_row,
                  m->f->nodes[node_index].reduces,
                  node->n_in,
                  *n_sources,
                  -1 };
  for (uint32_t k = 0; k < node->n_in; k++) {
    const uint32_t v = cxi_graph_operands(g, node)[k];
    const uint32_t source = g->values[cxi_graph_root(g, v)].source;
    cxi_source *s = &unit->sources[(*n_sources)++];
    if (cxi_is_equation(source) &&
        m->f->nodes[source].cluster == m->f->nodes[node_index].cluster) {
      *s = (cxi_source){ true, (uint32_t)m->op_of[source] };
    } else {
      const cxi_operand o = operand_of(g, v);
      *s = (cxi_source){ false, find_operand(unit, &o) };
    }
  }
  if (leaves_unit(m, node_index)) {
    op->result = (int32_t)unit->n_results;
    unit->results[unit->n_results++] = operand_of(g, node->out);
  }
  m->op_of[node_index] = (int32_t)unit->n_ops++;
}

static bool make_fused(making *m, const cxi_cluster *k, cxi_unit *unit) {
  const cxi_graph *g = &m->s->graph;
  size_t n_in = 0;
  for (uint32_t i = k->first; i != NONE; i = m->f->nodes[i].next)
    n_in += g->nodes[i].n_in;
  unit->kind = CXI_UNIT_FUSED;
  unit->rows = k->rows;
  unit->n = k->n;
  unit->ops = room(m, k->n_members, sizeof *unit->ops);
  unit->sources = room(m, n_in, sizeof *unit->sources);
  unit->operands = room(m, n_in, sizeof *unit->operands);
  unit->results = room(m, k->n_members, sizeof *unit->results);
  if (!unit->ops || !unit->sources || !unit->operands || !unit->results)
    return false;
  uint32_t n_sources = 0;
  for (uint32_t i = k->first; i != NONE; i = m->f->nodes[i].next)
    add_op(m, unit, i, &n_sources);
  return true;
}

/* Results without elements need no run. */
static bool is_empty(const cxi_graph *g, const cxi_node *node) {
  bool empty = !node->effects && node->kind == CXI_NODE_RUN;
  for (uint32_t k = 0; k < node->n_out; k++)
    empty &= cxi_root_bytes(g, node->out + k) == 0;
  return empty;
}

static bool make_unit(making *m, const cxi_cluster *k) {
  cxi_schedule *s = m->s;
  cxi_unit *unit = &s->units[s->n_units];
  const cxi_node *last = &s->graph.nodes[k->at];
  if (is_empty(&s->graph, last)) return true;
  unit->site = last->site;
  unit->scope = last->scope;
  unit->effects = last->effects;
  const bool ok = m->f->nodes[k->first].fusible ? make_fused(m, k, unit)
                                                : make_one(m, k->first, unit);
  s->n_units++;
  for (uint32_t i = k->first; i != NONE; i = m->f->nodes[i].next)
    s->node_unit[i] = s->n_units;
  return ok;
}

bool cxi_units_make(cxi_schedule *s, const cxi_backend *backend,
                    cxi_error *error) {
  const cxi_graph *g = &s->graph;
  const cxi_mark mark = cxi_scratch_mark();
  cxi_fusion f = { 0 };
  bool *is_output = cxi_scratch(g->n_values + (size_t)1);
  int32_t *op_of = cxi_scratch((g->n_nodes + (size_t)1) * sizeof *op_of);
  bool ok = is_output && op_of && cxi_fusion_find(&f, g, backend->row_limit);
  making m = { s, &f, is_output, op_of };
  if (ok) {
    s->units = room(&m, f.n_clusters, sizeof *s->units);
    s->node_unit = room(&m, g->n_nodes, sizeof *s->node_unit);
    ok = s->units && s->node_unit;
  }
  for (uint32_t i = 0; ok && i < g->n_out; i++)
    is_output[cxi_graph_root(g, g->outputs[i])] = true;
  for (uint32_t c = f.n_clusters; ok && c-- > 0;)
    if (f.clusters[c].n_members) ok = make_unit(&m, &f.clusters[c]);
  cxi_scratch_reset(mark);
  return ok || cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}
