/* plan_check.c - the proof of a plan: its units run on paper.
 *
 * A map tells which value's bytes lie where. A unit must find all bytes of what
 * it reads; what it writes takes the place of what lay there. So a buffer that
 * overlaps another while that is still needed is found by the one that reads
 * it, whatever lifetimes the planner believed in. The bodies of loops are plans
 * of their own, checked as such. */
#include "lower/plan.h"

#include <string.h>

#include "base/alloc.h"

static const uint32_t WORKSPACE = UINT32_MAX;

typedef struct range {
  uint32_t base, value; /* a root of the graph, or WORKSPACE */
  int64_t from, to;     /* bytes */
} range;

typedef struct checking {
  const cxi_schedule *s;
  const cxi_plan *plan;
  const cxi_donation *donation;
  cxi_error *error;
  uint32_t n, room, unit;
  range *ranges; /* disjoint, by base and place */
} checking;

/* -- the map --------------------------------------------------------------- */

/* The first range that ends behind `from`. */
static uint32_t position(const checking *c, uint32_t base, int64_t from) {
  uint32_t low = 0, high = c->n;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const range *r = &c->ranges[middle];
    if (r->base < base || (r->base == base && r->to <= from))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool holds(const checking *c, const range *r) {
  if (r->from >= r->to) return true;
  const uint32_t i = position(c, r->base, r->from);
  const range *found = &c->ranges[i];
  return i < c->n && found->base == r->base && found->from <= r->from &&
         found->to >= r->to && found->value == r->value;
}

/* What lay there before is gone, but for its ends on both sides. */
static bool put(checking *c, const range *r) {
  if (r->from >= r->to) return true;
  if (!cxi_grow(&c->ranges, &c->room, c->n + (size_t)2, sizeof *c->ranges))
    return cxi_error_set(c->error, CX_EMEMORY, "no memory to check a plan");
  const uint32_t first = position(c, r->base, r->from);
  uint32_t end = first, n = 0;
  while (end < c->n && c->ranges[end].base == r->base &&
         c->ranges[end].from < r->to)
    end++;
  range now[3];
  if (end > first && c->ranges[first].from < r->from) {
    now[n] = c->ranges[first];
    now[n++].to = r->from;
  }
  now[n++] = *r;
  if (end > first && c->ranges[end - 1].to > r->to) {
    now[n] = c->ranges[end - 1];
    now[n++].from = r->to;
  }
  memmove(c->ranges + first + n, c->ranges + end,
          (c->n - end) * sizeof *c->ranges);
  memcpy(c->ranges + first, now, n * sizeof *now);
  c->n = c->n - (end - first) + n;
  return true;
}

/* -- ranges ---------------------------------------------------------------- */

/* An output that takes an input's buffer lies there. */
static uint32_t base_of(const checking *c, uint32_t base) {
  const uint32_t outputs = CXI_BASE_FIRST + c->plan->n_in;
  if (base < outputs || c->plan->alias[base - outputs] < 0) return base;
  return CXI_BASE_FIRST + (uint32_t)c->plan->alias[base - outputs];
}

static range range_of(const checking *c, const cxi_operand *o) {
  const int64_t bytes = (int64_t)cxi_dtype_bytes(o->type.type);
  int64_t low = 0, high = 0;
  bool empty = false;
  for (int i = 0; i < o->type.shape.n; i++) {
    const int64_t last = (o->type.shape.d[i] - 1) * o->strides[i];
    empty |= o->type.shape.d[i] == 0;
    *(last < 0 ? &low : &high) += last;
  }
  const int64_t from = o->at.offset + low * bytes;
  return (range){ base_of(c, o->at.base), o->root, from,
                  empty ? from : o->at.offset + (high + 1) * bytes };
}

static range workspace_of(const cxi_unit *unit) {
  return (range){ unit->workspace.base, WORKSPACE, unit->workspace.offset,
                  unit->workspace.offset + (int64_t)unit->workspace_bytes };
}

/* -- units ----------------------------------------------------------------- */

static bool wrong(checking *c, const char *what, const range *r) {
  return cxi_error_set(c->error, CX_ETRACE,
                       "the plan is wrong: step %u, value %u at bytes %lld to "
                       "%lld of base %u: %s",
                       c->unit, r->value, (long long)r->from, (long long)r->to,
                       r->base, what);
}

static bool check_reads(checking *c, const cxi_unit *unit, const char *what) {
  for (uint32_t k = 0; k < unit->n_operands; k++) {
    const range r = range_of(c, &unit->operands[k]);
    if (r.base != CXI_BASE_CONSTANTS && !holds(c, &r))
      return wrong(c, what, &r);
  }
  return true;
}

/* Only memory that is the plan's to write. */
static bool check_writable(checking *c, const range *r) {
  if (r->from >= r->to) return true;
  if (r->from < 0) return wrong(c, "before its memory", r);
  if (r->base == CXI_BASE_SLAB)
    return r->to <= (int64_t)c->plan->peak_bytes ||
           wrong(c, "beyond the slab", r);
  if (r->base == CXI_BASE_CONSTANTS) return wrong(c, "over a constant", r);
  const uint32_t input = r->base - CXI_BASE_FIRST;
  if (input < c->plan->n_in &&
      !(c->donation->inputs && c->donation->inputs[input]))
    return wrong(c, "over an input that is not donated", r);
  return true;
}

/* A result lies apart from what the unit reads, or in the whole of its place. */
static bool check_in_place(checking *c, const cxi_unit *unit, const range *r) {
  if (r->from >= r->to) return true;
  for (uint32_t k = 0; k < unit->n_operands; k++) {
    const range o = range_of(c, &unit->operands[k]);
    if (o.base != r->base || o.from >= r->to || r->from >= o.to ||
        o.from >= o.to)
      continue;
    const range *whole = &c->ranges[position(c, o.base, o.from)];
    if (whole->from != r->from || whole->to != r->to)
      return wrong(c, "over a part of what the step reads", r);
  }
  return true;
}

static bool check_unit(checking *c, const cxi_unit *unit) {
  if (!check_reads(c, unit, "read after it was overwritten")) return false;
  if (unit->kind == CXI_UNIT_NONE) return true;
  const range space = workspace_of(unit);
  if (!check_writable(c, &space)) return false;
  for (uint32_t k = 0; k < unit->n_results; k++) {
    const range r = range_of(c, &unit->results[k]);
    if (!check_writable(c, &r) || !check_in_place(c, unit, &r)) return false;
  }
  if (!put(c, &space) || !check_reads(c, unit, "under the step's workspace"))
    return false;
  for (uint32_t k = 0; k < unit->n_results; k++) {
    const range r = range_of(c, &unit->results[k]);
    if (!put(c, &r)) return false;
  }
  if (!holds(c, &space)) return wrong(c, "under a result", &space);
  for (uint32_t k = 0; k < unit->n_results; k++) {
    const range r = range_of(c, &unit->results[k]);
    if (!holds(c, &r)) return wrong(c, "under another result", &r);
  }
  return true;
}

static bool check_outputs(checking *c) {
  const cxi_graph *g = &c->s->graph;
  for (uint32_t j = 0; j < g->n_out; j++) {
    const uint32_t root = cxi_graph_root(g, g->outputs[j]);
    const uint32_t base = base_of(c, CXI_BASE_FIRST + g->n_in + j);
    const range r = { base, root, 0, (int64_t)cxi_root_bytes(g, root) };
    if (!holds(c, &r)) return wrong(c, "not in its output at the end", &r);
  }
  return true;
}

bool cxi_plan_check(const cxi_schedule *s, const cxi_plan *plan,
                    const cxi_donation *donation, cxi_error *error) {
  checking c = { s, plan, donation, error, 0, 0, 0, NULL };
  bool ok = true;
  for (uint32_t i = 0; ok && i < s->graph.n_in; i++)
    ok = put(&c, &(range){ CXI_BASE_FIRST + i, i, 0,
                           (int64_t)cxi_root_bytes(&s->graph, i) });
  for (; ok && c.unit < s->n_units; c.unit++)
    ok = check_unit(&c, &s->units[c.unit]);
  ok = ok && check_outputs(&c);
  cxi_free(c.ranges);
  return ok;
}
