/* order.c - the units in an order that needs less memory.
 *
 * The program's order is depth first from the outputs. On the way, a unit that
 * is ready runs at once if it, or the chain of units that only it feeds, frees
 * at least what it takes: a parameter's update runs as soon as its gradient is
 * there. Of the two orders the one with the lower peak is kept. */
#include "lower/schedule.h"

#include "base/alloc.h"

enum { MAX_CHAIN = 8 };

typedef struct ordering {
  const cxi_schedule *s;
  uint32_t *needs;      /* by unit: units it still waits for */
  uint32_t *user_first; /* by unit: its users in `users` */
  uint32_t *users;
  uint32_t *uses; /* by root: units that will still read it */
  bool *is_output, *done, *queued;
  uint32_t *queue, n_queue;
  uint32_t *order, n_order;
} ordering;

static bool first_of_root(const cxi_unit *unit, uint32_t k) {
  for (uint32_t i = 0; i < k; i++)
    if (unit->operands[i].root == unit->operands[k].root) return false;
  return true;
}

/* Is the buffer one that the plan allocates? */
static bool is_planned(const ordering *o, uint32_t root) {
  return cxi_is_result(&o->s->graph, root) && !o->is_output[root];
}

static int64_t bytes_made(const ordering *o, const cxi_unit *unit) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < unit->n_results; k++)
    if (!o->is_output[unit->results[k].root])
      bytes += (int64_t)cxi_root_bytes(&o->s->graph, unit->results[k].root);
  return bytes;
}

static int64_t bytes_freed(const ordering *o, const cxi_unit *unit) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < unit->n_operands; k++) {
    const uint32_t root = unit->operands[k].root;
    if (first_of_root(unit, k) && is_planned(o, root) && o->uses[root] == 1)
      bytes += (int64_t)cxi_root_bytes(&o->s->graph, root);
  }
  return bytes;
}

static void count_uses(ordering *o) {
  const cxi_graph *g = &o->s->graph;
  for (uint32_t v = 0; v < g->n_values; v++) o->uses[v] = 0;
  for (uint32_t u = 0; u < o->s->n_units; u++) {
    const cxi_unit *unit = &o->s->units[u];
    for (uint32_t k = 0; k < unit->n_operands; k++)
      o->uses[unit->operands[k].root] += first_of_root(unit, k);
  }
}

static void use_operands(ordering *o, const cxi_unit *unit) {
  for (uint32_t k = 0; k < unit->n_operands; k++)
    o->uses[unit->operands[k].root] -= first_of_root(unit, k);
}

/* The most bytes alive at once if the units run in this order. */
static int64_t peak_of(ordering *o, const uint32_t *order) {
  int64_t live = 0, peak = 0;
  count_uses(o);
  for (uint32_t i = 0; i < o->s->n_units; i++) {
    const cxi_unit *unit = &o->s->units[order ? order[i] : i];
    const int64_t made = bytes_made(o, unit), freed = bytes_freed(o, unit);
    const int64_t reused =
        unit->kind == CXI_UNIT_FUSED ? (made < freed ? made : freed) : 0;
    if (live + made - reused > peak) peak = live + made - reused;
    live += made - freed;
    use_operands(o, unit);
  }
  return peak;
}

/* u waits for the unit before `from`, 0: for none; counted, then listed. */
static void wait_for(ordering *o, int pass, uint32_t u, uint32_t from) {
  if (from == 0) return;
  if (pass == 0) {
    o->user_first[from]++;
    o->needs[u]++;
  } else {
    o->users[o->user_first[from - 1]++] = u;
  }
}

/* Lists for each unit those that wait for it, once per operand; one with
 * effects waits for the one before it that has some. */
static void find_users(ordering *o) {
  const cxi_schedule *s = o->s;
  for (int pass = 0; pass < 2; pass++) {
    uint32_t effect = 0;
    for (uint32_t u = 0; u < s->n_units; u++) {
      const cxi_unit *unit = &s->units[u];
      for (uint32_t k = 0; k < unit->n_operands; k++)
        wait_for(o, pass, u, cxi_exists_after(s, unit->operands[k].value));
      if (!unit->effects) continue;
      wait_for(o, pass, u, effect);
      effect = u + 1;
    }
    if (pass == 0)
      for (uint32_t u = 0; u < s->n_units; u++)
        o->user_first[u + 1] += o->user_first[u];
  }
  for (uint32_t u = s->n_units; u > 0; u--)
    o->user_first[u] = o->user_first[u - 1];
  o->user_first[0] = 0;
}

/* The one unit that waits for u and for nothing else, or UINT32_MAX. */
static uint32_t only_user(const ordering *o, uint32_t u) {
  const uint32_t first = o->user_first[u], last = o->user_first[u + 1];
  if (first == last) return UINT32_MAX;
  const uint32_t user = o->users[first];
  for (uint32_t i = first; i < last; i++)
    if (o->users[i] != user) return UINT32_MAX;
  return o->needs[user] == last - first ? user : UINT32_MAX;
}

/* The length of the chain from u that frees what it takes; 0: it does not. */
static uint32_t chain_that_frees(const ordering *o, uint32_t u) {
  int64_t balance = 0;
  for (uint32_t n = 1; n <= MAX_CHAIN && u != UINT32_MAX; n++) {
    const cxi_unit *unit = &o->s->units[u];
    balance += bytes_freed(o, unit) - bytes_made(o, unit);
    if (balance >= 0) return n;
    u = only_user(o, u);
  }
  return 0;
}

static void enqueue(ordering *o, uint32_t u) {
  if (o->done[u] || o->queued[u] || o->needs[u] > 0) return;
  o->queued[u] = true;
  o->queue[o->n_queue++] = u;
}

static void run_unit(ordering *o, uint32_t u) {
  const cxi_schedule *s = o->s;
  o->order[o->n_order++] = u;
  o->done[u] = true;
  use_operands(o, &s->units[u]);
  for (uint32_t i = o->user_first[u]; i < o->user_first[u + 1]; i++)
    o->needs[o->users[i]]--;
  for (uint32_t i = o->user_first[u]; i < o->user_first[u + 1]; i++)
    enqueue(o, o->users[i]);
  /* the last reader of an operand may now be worth running */
  for (uint32_t k = 0; k < s->units[u].n_operands; k++) {
    const uint32_t value = s->units[u].operands[k].value;
    const uint32_t from = cxi_exists_after(s, value);
    if (!from || o->uses[s->units[u].operands[k].root] != 1) continue;
    for (uint32_t i = o->user_first[from - 1]; i < o->user_first[from]; i++)
      enqueue(o, o->users[i]);
  }
}

static void run_what_frees(ordering *o) {
  while (o->n_queue) {
    uint32_t u = o->queue[--o->n_queue];
    o->queued[u] = false;
    if (o->done[u]) continue;
    for (uint32_t n = chain_that_frees(o, u); n > 0; n--) {
      const uint32_t next = n > 1 ? only_user(o, u) : UINT32_MAX;
      run_unit(o, u);
      u = next;
    }
  }
}

static bool make_room(ordering *o) {
  const size_t n = o->s->n_units + (size_t)2,
               m = o->s->graph.n_values + (size_t)1;
  size_t n_users = 1;
  for (uint32_t u = 0; u < o->s->n_units; u++)
    n_users += o->s->units[u].n_operands + (size_t)1;
  o->needs = cxi_scratch(n * sizeof *o->needs);
  o->user_first = cxi_scratch(n * sizeof *o->user_first);
  o->users = cxi_scratch(n_users * sizeof *o->users);
  o->uses = cxi_scratch(m * sizeof *o->uses);
  o->is_output = cxi_scratch(m);
  o->done = cxi_scratch(n);
  o->queued = cxi_scratch(n);
  o->queue = cxi_scratch(n * sizeof *o->queue);
  o->order = cxi_scratch(n * sizeof *o->order);
  return o->needs && o->user_first && o->users && o->uses && o->is_output &&
         o->done && o->queued && o->queue && o->order;
}

/* Puts the units in the order found and renumbers them. */
static bool apply(cxi_schedule *s, const uint32_t *order) {
  const size_t n = s->n_units + (size_t)1;
  cxi_unit *units = cxi_arena_alloc(&s->arena, n * sizeof *units);
  uint32_t *place = cxi_scratch(n * sizeof *place);
  if (!units || !place) return false;
  for (uint32_t i = 0; i < s->n_units; i++) {
    units[i] = s->units[order[i]];
    place[order[i]] = i;
  }
  for (uint32_t i = 0; i < s->graph.n_nodes; i++)
    if (s->node_unit[i]) s->node_unit[i] = place[s->node_unit[i] - 1] + 1;
  s->units = units;
  return true;
}

bool cxi_units_order(cxi_schedule *s, cxi_error *error) {
  const cxi_mark mark = cxi_scratch_mark();
  const cxi_graph *g = &s->graph;
  ordering o = { .s = s };
  bool ok = make_room(&o);
  if (ok) {
    for (uint32_t i = 0; i < g->n_out; i++)
      o.is_output[cxi_graph_root(g, g->outputs[i])] = true;
    find_users(&o);
    const int64_t before = peak_of(&o, NULL);
    count_uses(&o);
    /* what only saves inputs as outputs: then those inputs are free */
    for (uint32_t u = s->n_units; u-- > 0;)
      if (bytes_made(&o, &s->units[u]) == 0) enqueue(&o, u);
    run_what_frees(&o);
    for (uint32_t u = 0; u < s->n_units; u++) {
      if (!o.done[u]) run_unit(&o, u);
      run_what_frees(&o);
    }
    if (peak_of(&o, o.order) <= before) ok = apply(s, o.order);
  }
  cxi_scratch_reset(mark);
  return ok || cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}
