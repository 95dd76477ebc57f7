/* plan.c - lifetimes, in-place reuse and addresses of all buffers. */
#include "lower/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "lower/loop.h"

enum { REPORTED = 16 };
static const uint32_t NONE = UINT32_MAX;

/* By root, if not said otherwise. */
typedef struct planning {
  cxi_schedule *s;
  const cxi_backend *backend;
  const cxi_donation *donation;
  uint32_t *first, *last; /* units: made at, last read at */
  uint32_t *takes;        /* the root whose buffer it takes, or NONE */
  uint32_t *want;         /* the output its buffer will be, or NONE */
  bool *taken;            /* its buffer goes on to another */
  uint32_t *buffer;       /* its buffer, if the slab holds it */
  cxi_ref *at;
  int32_t *alias; /* by output */
  uint32_t n_buffers;
  cxi_interval *buffers;
  uint32_t *holds; /* by buffer: its largest root; NONE: workspace */
} planning;

/* -- outputs --------------------------------------------------------------- */

static bool may_take_input(const cxi_donation *d, uint32_t input, uint32_t j) {
  return d->inputs && d->inputs[input] &&
         (d->first < 0 || d->first + (int64_t)j == (int64_t)input);
}

bool cxi_plan_outputs(cxi_graph *g, const cxi_donation *donation) {
  const cxi_mark mark = cxi_scratch_mark();
  bool *seen = cxi_scratch(g->n_values + (size_t)1), ok = seen != NULL;
  for (uint32_t j = 0; ok && j < g->n_out; j++) {
    const uint32_t v = g->outputs[j], root = cxi_graph_root(g, v);
    const uint32_t source = g->values[root].source;
    const bool own = cxi_is_equation(source) ||
                     (source == CXI_INPUT && may_take_input(donation, root, j));
    if (own && !seen[root] && cxi_graph_is_whole(g, v)) {
      seen[root] = true;
      continue;
    }
    g->outputs[j] = cxi_graph_copy(g, v, 0, 0);
    ok = g->outputs[j] != NONE;
  }
  cxi_scratch_reset(mark);
  return ok;
}

/* -- lifetimes ------------------------------------------------------------- */

static void find_lifetimes(planning *p) {
  const cxi_schedule *s = p->s;
  for (uint32_t u = 0; u < s->n_units; u++) {
    const cxi_unit *unit = &s->units[u];
    for (uint32_t k = 0; k < unit->n_results; k++)
      p->first[unit->results[k].root] = p->last[unit->results[k].root] = u;
    for (uint32_t k = 0; k < unit->n_operands; k++)
      p->last[unit->operands[k].root] = u;
  }
  for (uint32_t j = 0; j < s->graph.n_out; j++) {
    const uint32_t root = cxi_graph_root(&s->graph, s->graph.outputs[j]);
    p->last[root] = s->n_units;
    p->want[root] = j;
    if (s->graph.values[root].source == CXI_INPUT) p->alias[j] = (int32_t)root;
  }
}

/* -- in place -------------------------------------------------------------- */

/* Each element of the result is written after the last read of the operand's
 * element at its place, in the order of the unit's equations. */
static bool fused_in_place(const cxi_unit *unit, uint32_t r, uint32_t k) {
  const uint32_t root = unit->operands[k].root;
  const size_t bytes = cxi_dtype_bytes(unit->results[r].type.type);
  uint32_t writer = 0;
  while (unit->ops[writer].result != (int32_t)r) writer++;
  for (uint32_t i = 0; i < unit->n_ops; i++) {
    const cxi_op *op = &unit->ops[i];
    for (uint32_t j = 0; j < op->n_in; j++) {
      const cxi_source *source = &unit->sources[op->in + j];
      if (source->fused) continue;
      const cxi_operand *o = &unit->operands[source->index];
      if (o->root != root) continue;
      const bool rows = op->per_row && !op->reduces;
      if (i > writer || rows != unit->ops[writer].per_row ||
          cxi_dims_count(&o->type.shape) !=
              cxi_dims_count(&unit->results[r].type.shape) ||
          cxi_dtype_bytes(o->type.type) != bytes)
        return false;
      const cxi_pattern pattern = cxi_pattern_of(&o->type.shape, o->strides);
      if (o->offset != 0 || pattern.n > 1 ||
          (pattern.n == 1 && pattern.strides[0] != 1))
        return false;
    }
  }
  return true;
}

static bool unit_in_place(const planning *p, const cxi_unit *unit, uint32_t r,
                          uint32_t k) {
  if (unit->kind == CXI_UNIT_FUSED) return fused_in_place(unit, r, k);
  for (uint32_t i = 0; i < unit->n_operands; i++)
    if (i != k && unit->operands[i].root == unit->operands[k].root)
      return false;
  if (cxi_is_loop(unit->row->prim)) return cxi_loop_in_place(unit, r, k);
  return r == 0 && unit->row->in_place == (int)k + 1 &&
         p->backend->in_place(unit, k);
}

static bool may_take(const planning *p, uint32_t u, uint32_t r, uint32_t k) {
  const cxi_graph *g = &p->s->graph;
  const cxi_unit *unit = &p->s->units[u];
  const uint32_t from = unit->operands[k].root, to = unit->results[r].root;
  const uint32_t source = g->values[from].source;
  if (p->taken[from] || p->last[from] != u || source == CXI_LITERAL ||
      !cxi_graph_is_whole(g, unit->operands[k].value) ||
      cxi_root_bytes(g, from) != cxi_root_bytes(g, to))
    return false;
  if (source == CXI_INPUT &&
      (p->want[to] == NONE || !may_take_input(p->donation, from, p->want[to])))
    return false;
  return unit_in_place(p, unit, r, k);
}

/* Backwards, so that a chain knows which output it ends in. */
static void find_reuse(planning *p) {
  const cxi_graph *g = &p->s->graph;
  for (uint32_t u = p->s->n_units; u-- > 0;) {
    const cxi_unit *unit = &p->s->units[u];
    for (uint32_t r = 0; r < unit->n_results; r++) {
      const uint32_t to = unit->results[r].root;
      uint32_t best = NONE;
      for (uint32_t k = 0; k < unit->n_operands; k++)
        if (may_take(p, u, r, k) &&
            (best == NONE ||
             g->values[unit->operands[k].root].source == CXI_INPUT))
          best = k;
      if (best == NONE) continue;
      const uint32_t from = unit->operands[best].root;
      p->takes[to] = from;
      p->taken[from] = true;
      p->want[from] = p->want[to];
      if (g->values[from].source == CXI_INPUT)
        p->alias[p->want[to]] = (int32_t)from;
    }
  }
}

/* An output whose buffer begins only after a donated input's last use may lie
 * there too. */
static void take_donated(planning *p) {
  const cxi_graph *g = &p->s->graph;
  for (uint32_t j = 0; p->donation->inputs && j < g->n_out; j++) {
    uint32_t root = cxi_graph_root(g, g->outputs[j]);
    while (p->takes[root] != NONE) root = p->takes[root];
    if (p->alias[j] >= 0 || !cxi_is_result(g, root)) continue;
    for (uint32_t i = 0; i < g->n_in; i++) {
      const bool unused = p->last[i] == NONE;
      if (!may_take_input(p->donation, i, j) || p->taken[i] ||
          p->want[i] != NONE || g->values[i].type != g->values[root].type ||
          !(unused || p->last[i] < p->first[root]))
        continue;
      p->takes[root] = i;
      p->taken[i] = true;
      p->want[i] = j;
      p->alias[j] = (int32_t)i;
      break;
    }
  }
}

/* -- addresses ------------------------------------------------------------- */

static void place_root(planning *p, uint32_t root) {
  const cxi_graph *g = &p->s->graph;
  const uint32_t from = p->takes[root];
  if (from != NONE) {
    p->at[root] = p->at[from];
    p->buffer[root] = p->buffer[from];
  } else if (p->want[root] != NONE) {
    p->at[root] = (cxi_ref){ CXI_BASE_FIRST + g->n_in + p->want[root], 0 };
  } else {
    p->buffer[root] = p->n_buffers++;
    p->holds[p->buffer[root]] = root;
    p->buffers[p->buffer[root]] = (cxi_interval){ p->first[root], p->last[root],
                                                  cxi_root_bytes(g, root), 0 };
  }
  if (p->buffer[root] == NONE) return;
  cxi_interval *b = &p->buffers[p->buffer[root]];
  if (p->last[root] > b->last) b->last = p->last[root];
}

/* Buffers for results and workspaces in the order in which they begin; false if
 * there cannot be as much. */
static bool collect_buffers(planning *p, cxi_arena *arena) {
  cxi_schedule *s = p->s;
  uint32_t literal = 0;
  for (uint32_t v = 0; v < s->graph.n_values; v++) {
    p->buffer[v] = NONE;
    if (s->graph.values[v].source == CXI_INPUT)
      p->at[v] = (cxi_ref){ CXI_BASE_FIRST + v, 0 };
    else if (s->graph.values[v].source == CXI_LITERAL)
      p->at[v] = (cxi_ref){ CXI_BASE_CONSTANTS, 8 * (int64_t)literal++ };
  }
  for (uint32_t u = 0; u < s->n_units; u++) {
    cxi_unit *unit = &s->units[u];
    for (uint32_t k = 0; k < unit->n_results; k++)
      place_root(p, unit->results[k].root);
    unit->workspace_bytes =
        unit->kind == CXI_UNIT_NONE ? 0
        : unit->kind == CXI_UNIT_ONE && cxi_is_loop(unit->row->prim)
            ? cxi_loop_workspace(unit)
            : p->backend->workspace(unit, arena);
    if (!unit->workspace_bytes) continue;
    if (unit->workspace_bytes == CXI_NO_WORKSPACE) return false;
    unit->workspace = (cxi_ref){ CXI_BASE_SLAB, (int64_t)p->n_buffers };
    p->holds[p->n_buffers] = NONE;
    p->buffers[p->n_buffers++] =
        (cxi_interval){ u, u, unit->workspace_bytes, 0 };
  }
  return true;
}

static void set_address(const planning *p, cxi_operand *o) {
  const cxi_graph *g = &p->s->graph;
  o->at = p->at[o->root];
  if (p->buffer[o->root] != NONE)
    o->at = (cxi_ref){ CXI_BASE_SLAB,
                       (int64_t)p->buffers[p->buffer[o->root]].offset };
  o->at.offset += o->offset * (int64_t)cxi_dtype_bytes(
                                  cxi_type_dtype(g->values[o->root].type));
}

static void set_addresses(planning *p) {
  for (uint32_t u = 0; u < p->s->n_units; u++) {
    cxi_unit *unit = &p->s->units[u];
    for (uint32_t k = 0; k < unit->n_operands; k++)
      set_address(p, &unit->operands[k]);
    for (uint32_t k = 0; k < unit->n_results; k++)
      set_address(p, &unit->results[k]);
    if (unit->workspace_bytes)
      unit->workspace.offset =
          (int64_t)p->buffers[unit->workspace.offset].offset;
  }
}

/* -- the report ------------------------------------------------------------ */

static int compare_bytes(const void *a, const void *b) {
  const cxi_interval *x = *(const cxi_interval *const *)a,
                     *y = *(const cxi_interval *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x < y ? -1 : x > y;
}

static char *report_buffer(const planning *p, const cxi_interval *b,
                           cxi_arena *arena, const char *before) {
  const cxi_graph *g = &p->s->graph;
  const uint32_t root = p->holds[b - p->buffers];
  const cxi_unit *unit = &p->s->units[b->first];
  cxi_name site = unit->site, scope = unit->scope;
  char type[96] = "workspace";
  if (root != NONE) {
    cxi_aval_print(type, sizeof type, cxi_type_aval(g->values[root].type));
    site = g->nodes[g->values[root].source].site;
    scope = g->nodes[g->values[root].source].scope;
  }
  return cxi_arena_print(arena, "%s%12zu %s, steps %u to %u%s%s%s%s\n", before,
                         b->bytes, type, b->first, b->last, site ? ", " : "",
                         cxi_name_text(site), scope ? " " : "",
                         cxi_name_text(scope));
}

/* Bytes of the outputs that take no donated input's place. */
static size_t result_bytes(const planning *p) {
  const cxi_graph *g = &p->s->graph;
  size_t bytes = 0;
  for (uint32_t j = 0; j < g->n_out; j++)
    if (p->alias[j] < 0)
      bytes +=
          (size_t)cxi_aval_bytes(cxi_type_aval(g->values[g->outputs[j]].type));
  return bytes;
}

/* The peak, then the largest buffers. */
static const char *report(const planning *p, size_t peak, cxi_arena *arena) {
  const cxi_mark mark = cxi_scratch_mark();
  const cxi_interval **order =
      cxi_scratch((p->n_buffers + (size_t)1) * sizeof *order);
  char *text = cxi_arena_print(
      arena, "peak %zu bytes, results %zu bytes, %u buffers, %u steps\n", peak,
      result_bytes(p), p->n_buffers, p->s->n_units);
  if (!order) text = NULL;
  for (uint32_t i = 0; text && i < p->n_buffers; i++) order[i] = &p->buffers[i];
  if (text) qsort(order, p->n_buffers, sizeof *order, compare_bytes);
  for (uint32_t i = 0; text && i < p->n_buffers && i < REPORTED; i++)
    text = report_buffer(p, order[i], arena, text);
  cxi_scratch_reset(mark);
  return text;
}

/* -- the plan -------------------------------------------------------------- */

static bool make_room(planning *p) {
  const cxi_graph *g = &p->s->graph;
  const size_t n = g->n_values + (size_t)1, m = n + p->s->n_units;
  p->first = cxi_scratch(n * sizeof *p->first);
  p->last = cxi_scratch(n * sizeof *p->last);
  p->takes = cxi_scratch(n * sizeof *p->takes);
  p->want = cxi_scratch(n * sizeof *p->want);
  p->taken = cxi_scratch(n);
  p->buffer = cxi_scratch(n * sizeof *p->buffer);
  p->at = cxi_scratch(n * sizeof *p->at);
  p->buffers = cxi_scratch(m * sizeof *p->buffers);
  p->holds = cxi_scratch(m * sizeof *p->holds);
  if (!p->first || !p->last || !p->takes || !p->want || !p->taken ||
      !p->buffer || !p->at || !p->buffers || !p->holds)
    return false;
  memset(p->last, 0xff, n * sizeof *p->last);
  memset(p->takes, 0xff, n * sizeof *p->takes);
  memset(p->want, 0xff, n * sizeof *p->want);
  return true;
}

static bool copy_constants(const cxi_graph *g, cxi_arena *arena,
                           cxi_plan *out) {
  uint32_t n = 0;
  for (uint32_t v = 0; v < g->n_values; v++)
    n += g->values[v].source == CXI_LITERAL;
  uint64_t *constants =
      cxi_arena_alloc(arena, (n + (size_t)1) * sizeof(uint64_t));
  if (!constants) return false;
  n = 0;
  for (uint32_t v = 0; v < g->n_values; v++)
    if (g->values[v].source == CXI_LITERAL) constants[n++] = g->values[v].bits;
  out->constants = constants;
  return true;
}

static bool plan_buffers(planning *p, cxi_arena *arena, cxi_plan *out) {
  const cxi_graph *g = &p->s->graph;
  p->alias = cxi_arena_alloc(arena, (g->n_out + (size_t)1) * sizeof *p->alias);
  if (!p->alias || !make_room(p) || !copy_constants(g, arena, out))
    return false;
  for (uint32_t j = 0; j < g->n_out; j++) p->alias[j] = -1;
  find_lifetimes(p);
  find_reuse(p);
  take_donated(p);
  if (!collect_buffers(p, arena)) return false;
  const size_t peak = cxi_place_intervals(p->buffers, p->n_buffers);
  if (peak == SIZE_MAX) return false;
  set_addresses(p);
  const size_t n_bases = CXI_BASE_FIRST + (size_t)g->n_in + g->n_out;
  out->n_in = g->n_in;
  out->n_out = g->n_out;
  out->alias = p->alias;
  out->slab_offset = cxi_aligned(n_bases * sizeof(char *));
  out->peak_bytes = peak;
  out->bytes = out->slab_offset + cxi_aligned(peak);
  out->report = report(p, peak, arena);
  return out->report != NULL;
}

bool cxi_plan_buffers(cxi_schedule *s, const cxi_backend *backend,
                      const cxi_donation *donation, cxi_arena *arena,
                      cxi_plan *out, cxi_error *error) {
  const cxi_mark mark = cxi_scratch_mark();
  planning p = { .s = s, .backend = backend, .donation = donation };
  const bool ok = plan_buffers(&p, arena, out);
  cxi_scratch_reset(mark);
  return ok || cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}

char **cxi_plan_bases(const cxi_plan *plan, void *workspace) {
  char **bases = workspace;
  bases[CXI_BASE_SLAB] = (char *)workspace + plan->slab_offset;
  bases[CXI_BASE_CONSTANTS] = (char *)(uintptr_t)plan->constants;
  return bases;
}
