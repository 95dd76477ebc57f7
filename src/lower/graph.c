/* graph.c - a program made flat: calls inlined, movement turned into views. */
#include "lower/graph.h"

#include <stdio.h>

#include "base/alloc.h"

/* A program being inlined. Calls nest to any depth: frames, not recursion. */
typedef struct frame {
  struct frame *caller;
  const cxi_program *p;
  uint32_t at;            /* the equation it is at */
  cxi_name scope;         /* of the calls around it */
  cxi_name inner, joined; /* the last scope asked for, joined with it */
  uint32_t map[];         /* the graph's value of each of p's */
} frame;

static bool no_memory(cxi_error *error) {
  return cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}

bool cxi_graph_is_dense(const cxi_graph *g, uint32_t value) {
  const cxi_graph_value *v = &g->values[value];
  return cxi_place_is_dense(&v->place, cxi_type_shape(v->type));
}

bool cxi_graph_is_whole(const cxi_graph *g, uint32_t value) {
  const cxi_graph_value *v = &g->values[value];
  const cxi_type root = g->values[v->place.root].type;
  return cxi_graph_is_dense(g, value) && v->place.offset == 0 &&
         cxi_aval_bytes(cxi_type_aval(v->type)) ==
             cxi_aval_bytes(cxi_type_aval(root));
}

uint32_t cxi_graph_maker(const cxi_graph *g, uint32_t value) {
  uint32_t source = g->values[value].source;
  while (cxi_is_equation(source) && g->nodes[source].kind == CXI_NODE_VIEW)
    source = g->values[cxi_graph_operands(g, &g->nodes[source])[0]].source;
  return source;
}

void cxi_graph_free(cxi_graph *g) {
  cxi_free(g->values);
  cxi_free(g->nodes);
  cxi_free(g->operands);
  cxi_free(g->outputs);
  *g = (cxi_graph){ 0 };
}

/* -- appending ------------------------------------------------------------- */

/* A value that is its own root; UINT32_MAX without memory. */
static uint32_t add_value(cxi_graph *g, cxi_type type, uint32_t source,
                          uint64_t bits) {
  if (!cxi_grow(&g->values, &g->cap_values, g->n_values + (size_t)1,
                sizeof *g->values))
    return UINT32_MAX;
  const uint32_t v = g->n_values++;
  g->values[v] = (cxi_graph_value){ type, source, 0, bits,
                                    cxi_place_dense(v, cxi_type_shape(type)) };
  return v;
}

/* Appends a node with room for its operands and results that are their own
 * roots; NULL without memory. */
static cxi_node *add_node(cxi_graph *g, cxi_node node, const uint32_t *in,
                          const cxi_type *out) {
  if (!cxi_grow(&g->nodes, &g->cap_nodes, g->n_nodes + (size_t)1,
                sizeof *g->nodes) ||
      !cxi_grow(&g->operands, &g->cap_operands,
                g->n_operands + (size_t)node.n_in, sizeof *g->operands))
    return NULL;
  node.in = g->n_operands;
  node.out = g->n_values;
  for (uint32_t k = 0; k < node.n_in; k++) g->operands[node.in + k] = in[k];
  for (uint32_t k = 0; k < node.n_out; k++)
    if (add_value(g, out[k], g->n_nodes, 0) == UINT32_MAX) return NULL;
  g->n_operands += node.n_in;
  g->nodes[g->n_nodes] = node;
  return &g->nodes[g->n_nodes++];
}

uint32_t cxi_graph_copy(cxi_graph *g, uint32_t value, cxi_name site,
                        cxi_name scope) {
  static const cxi_copy_params none = { 0 };
  const cxi_node copy = {
    CXI_NODE_RUN, false, cxi_row_of(CXI_PRIM_copy), &none, 1, 1, 0, 0,
    site,         scope
  };
  const cxi_type type = g->values[value].type;
  const cxi_node *node = add_node(g, copy, &value, &type);
  return node ? node->out : UINT32_MAX;
}

/* The value in a dense buffer: itself, or a copy made once. */
static uint32_t make_dense(cxi_graph *g, uint32_t value, const cxi_node *user) {
  if (cxi_graph_is_dense(g, value)) return value;
  if (!g->values[value].dense) {
    const uint32_t copy = cxi_graph_copy(g, value, user->site, user->scope);
    if (copy == UINT32_MAX) return copy;
    g->values[value].dense = copy + 1;
  }
  return g->values[value].dense - 1;
}

/* -- equations ------------------------------------------------------------- */

/* Places the results as views of the operands; false: they are not. */
static bool place_views(cxi_graph *g, const cxi_node *node) {
  const uint32_t *in = cxi_graph_operands(g, node);
  for (uint32_t k = 0; k < node->n_out; k++) {
    cxi_graph_value *v = &g->values[node->out + k];
    if (node->kind == CXI_NODE_BARRIER) {
      v->place = g->values[in[k]].place;
      continue;
    }
    const cxi_graph_value *from = &g->values[in[0]];
    if (!cxi_place_view(node->row->prim, node->params, k,
                        cxi_type_aval(from->type), &from->place,
                        cxi_type_aval(v->type), &v->place))
      return false;
  }
  return true;
}

/* Those whose results cxi_place_view places. */
static bool is_movement(cxi_prim prim) {
  switch (prim) {
  case CXI_PRIM_copy:
  case CXI_PRIM_stop_gradient:
  case CXI_PRIM_name:
  case CXI_PRIM_reshape:
  case CXI_PRIM_squeeze:
  case CXI_PRIM_transpose:
  case CXI_PRIM_broadcast_in_dim:
  case CXI_PRIM_slice:
  case CXI_PRIM_rev:
  case CXI_PRIM_unstack:
  case CXI_PRIM_split:
    return true;
  default:
    return false;
  }
}

/* Appends the equation with operands in[]; its results' first value through
 * out_first. */
static bool append(cxi_graph *g, cxi_node node, uint32_t *in,
                   const cxi_type *out, cxi_reads_views *reads_views,
                   uint32_t *out_first) {
  const cxi_prim prim = node.row->prim;
  if (prim == CXI_PRIM_optimization_barrier)
    node.kind = CXI_NODE_BARRIER;
  else if (is_movement(prim))
    node.kind = CXI_NODE_VIEW;
  for (uint32_t k = 0; k < node.n_in; k++) {
    if (node.kind != CXI_NODE_RUN || reads_views(node.row, k)) continue;
    in[k] = make_dense(g, in[k], &node);
    if (in[k] == UINT32_MAX) return false;
  }
  cxi_node *added = add_node(g, node, in, out);
  if (!added) return false;
  *out_first = added->out;
  if (node.kind == CXI_NODE_RUN || place_views(g, added)) return true;
  /* a reshape of something strided: of its copy, then, which is dense */
  const uint32_t dense = make_dense(g, in[0], &node);
  added = dense == UINT32_MAX ? NULL : add_node(g, node, &dense, out);
  if (!added) return false;
  *out_first = added->out;
  return place_views(g, added);
}

/* -- inlining -------------------------------------------------------------- */

/* "outer/inner", or the one that is there. */
static cxi_name scope_within(frame *f, cxi_name inner) {
  if (!inner || !f->scope) return inner ? inner : f->scope;
  if (f->inner != inner) {
    char text[256];
    snprintf(text, sizeof text, "%s/%s", cxi_name_text(f->scope),
             cxi_name_text(inner));
    f->joined = cxi_name_of(text);
    f->inner = inner;
  }
  return f->joined;
}

static frame *frame_open(const cxi_program *p, frame *caller) {
  frame *f = cxi_alloc_zeroed(1, sizeof *f + p->n_values * sizeof f->map[0]);
  if (!f) return NULL;
  f->p = p;
  f->caller = caller;
  return f;
}

static bool map_literals(cxi_graph *g, frame *f) {
  for (uint32_t i = 0; i < f->p->n_literals; i++) {
    const uint32_t v = f->p->n_in + i;
    f->map[v] =
        add_value(g, f->p->values[v].type, CXI_LITERAL, f->p->literals[i]);
    if (f->map[v] == UINT32_MAX) return false;
  }
  return true;
}

/* A frame for the body of the call that f is at, its inputs mapped. */
static frame *enter(cxi_graph *g, frame *f, const cxi_program *body) {
  const cxi_equation *e = &f->p->equations[f->at];
  frame *callee = frame_open(body, f);
  if (!callee) return NULL;
  callee->scope = scope_within(f, e->scope);
  const uint32_t *in = cxi_operands_of(f->p, e);
  for (uint32_t k = 0; k < e->n_in; k++) callee->map[k] = f->map[in[k]];
  if (map_literals(g, callee)) return callee;
  cxi_free(callee);
  return NULL;
}

/* Maps the call's results to the outputs of its body; back to the caller. */
static frame *leave(frame *f) {
  frame *caller = f->caller;
  const cxi_equation *e = &caller->p->equations[caller->at++];
  for (uint32_t k = 0; k < e->n_out; k++)
    caller->map[e->out + k] = f->map[f->p->outputs[k]];
  cxi_free(f);
  return caller;
}

/* The program in whose place the equation that f is at stands, if it is one
 * of those; false with *error. */
static bool body_of(cxi_graph *g, const frame *f, const cxi_program **out,
                    cxi_error *error) {
  const cxi_equation *e = &f->p->equations[f->at];
  const cxi_row *row = cxi_row_of((cxi_prim)e->prim);
  *out = cxi_params_body((cxi_prim)e->prim, e->params);
  if (!row->expand) return true;
  cxi_expansions *kept = g->expansions;
  const cxi_mark mark = cxi_scratch_mark();
  const size_t n = (size_t)e->n_in + e->n_out;
  cxi_type *types = cxi_scratch((n + 1) * sizeof *types);
  bool ok = types && kept &&
            cxi_grow(&kept->programs, &kept->cap, kept->n + (size_t)1,
                     sizeof *kept->programs);
  if (!ok) no_memory(error);
  for (uint32_t k = 0; ok && k < e->n_in; k++)
    types[k] = f->p->values[cxi_operands_of(f->p, e)[k]].type;
  for (uint32_t k = 0; ok && k < e->n_out; k++)
    types[e->n_in + k] = f->p->values[e->out + k].type;
  const cxi_rule rule = { .row = row,
                          .params = e->params,
                          .n_in = e->n_in,
                          .n_out = e->n_out,
                          .in_types = types,
                          .out_types = types + e->n_in };
  const cxi_name site = cxi_site_use(e->site), scope = cxi_scope_use(0);
  if (ok) *out = cxi_row_expand(&rule, error);
  cxi_site_use(site);
  cxi_scope_use(scope);
  cxi_scratch_reset(mark);
  if (!ok || !*out) return false;
  kept->programs[kept->n++] = *out;
  return true;
}

void cxi_expansions_release(cxi_expansions *e) {
  for (uint32_t i = 0; i < e->n; i++) cxi_program_release(e->programs[i]);
  cxi_free(e->programs);
  *e = (cxi_expansions){ 0 };
}

/* Appends the equation that f is at. */
static bool append_equation(cxi_graph *g, frame *f,
                            cxi_reads_views *reads_views, cxi_error *error) {
  const cxi_equation *e = &f->p->equations[f->at++];
  const cxi_row *row = cxi_row_of((cxi_prim)e->prim);
  if (row->form == CXI_FORM_NEVER) {
    cxi_eval why = { .row = row, .params = e->params, .error = error };
    return row->evaluate(&why, NULL, NULL);
  }
  const cxi_mark mark = cxi_scratch_mark();
  uint32_t *in = cxi_scratch((e->n_in + (size_t)1) * sizeof *in);
  cxi_type *out = cxi_scratch((e->n_out + (size_t)1) * sizeof *out);
  bool ok = in && out;
  for (uint32_t k = 0; ok && k < e->n_in; k++)
    in[k] = f->map[cxi_operands_of(f->p, e)[k]];
  for (uint32_t k = 0; ok && k < e->n_out; k++)
    out[k] = f->p->values[e->out + k].type;
  const cxi_node node = { CXI_NODE_RUN,
                          e->effects != 0,
                          row,
                          e->params,
                          e->n_in,
                          e->n_out,
                          0,
                          0,
                          e->site,
                          scope_within(f, e->scope) };
  uint32_t first = 0;
  ok = ok && append(g, node, in, out, reads_views, &first);
  for (uint32_t k = 0; ok && k < e->n_out; k++) f->map[e->out + k] = first + k;
  cxi_scratch_reset(mark);
  return ok || no_memory(error);
}

static bool take_outputs(cxi_graph *g, const frame *f) {
  g->n_out = f->p->n_out;
  g->outputs = cxi_alloc((g->n_out + (size_t)1) * sizeof *g->outputs);
  for (uint32_t i = 0; g->outputs && i < g->n_out; i++)
    g->outputs[i] = f->map[f->p->outputs[i]];
  return g->outputs != NULL;
}

bool cxi_graph_fill(cxi_graph *g, const cxi_program *p,
                    cxi_reads_views *reads_views, cxi_error *error) {
  frame *f = frame_open(p, NULL);
  bool ok = f != NULL;
  for (uint32_t i = 0; ok && i < p->n_in; i++) {
    f->map[i] = add_value(g, p->values[i].type, CXI_INPUT, 0);
    ok = f->map[i] != UINT32_MAX;
  }
  g->n_in = p->n_in;
  ok = ok && map_literals(g, f);
  while (ok && (f->caller || f->at < f->p->n_equations)) {
    if (f->at == f->p->n_equations) {
      f = leave(f);
      continue;
    }
    const cxi_program *body;
    ok = body_of(g, f, &body, error);
    if (!ok) break;
    if (!body) {
      ok = append_equation(g, f, reads_views, error);
      continue;
    }
    frame *callee = enter(g, f, body);
    ok = callee != NULL;
    if (ok) f = callee;
  }
  ok = ok && take_outputs(g, f);
  while (f) {
    frame *caller = f->caller;
    cxi_free(f);
    f = caller;
  }
  return ok || no_memory(error);
}
