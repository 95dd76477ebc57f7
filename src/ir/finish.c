/* finish.c - a builder's equations, ordered and numbered, as a program.
 *
 * The order is depth-first: first what the equations with effects need, in
 * the order in which they were emitted, so that it stays theirs; then what the
 * outputs need; but that writes stand behind reads (writes.c). It depends on the
 * data flow alone, not on the order in which a compiler evaluated the arguments
 * of a call. */
#include "ir/finish.h"

typedef struct finish {
  cxi_builder *b;
  uint32_t *order, n_order; /* equations of the builder */
  uint32_t *number;         /* of each value of the builder, plus 1 */
  uint32_t n_in, n_literals;
  uint32_t *literals;    /* values of the builder, distinct */
  uint32_t *slots, mask; /* their hash table: place in literals, plus 1 */
  uint32_t n_operands, n_results;
} finish;

/* The next operand of an equation to look at. */
typedef struct frame {
  uint32_t equation, next;
} frame;

static void *array(size_t n, size_t size) {
  return cxi_scratch((n + 1) * size);
}

/* -- order ---------------------------------------------------------------- */

/* Appends what equation i needs, and then itself. */
static void order_equation(finish *f, uint32_t i, frame *stack, bool *seen) {
  const cxi_builder *b = f->b;
  uint32_t depth = 0;
  if (seen[i]) return;
  seen[i] = true;
  stack[depth++] = (frame){ i, 0 };
  while (depth > 0) {
    frame *top = &stack[depth - 1];
    const cxi_equation *e = &b->equations[top->equation];
    if (top->next == e->n_in) {
      f->order[f->n_order++] = top->equation;
      f->n_operands += e->n_in;
      f->n_results += e->n_out;
      depth--;
      continue;
    }
    uint32_t source = b->values[b->operands[e->in + top->next++]].source;
    if (cxi_is_equation(source) && !seen[source]) {
      seen[source] = true;
      stack[depth++] = (frame){ source, 0 };
    }
  }
}

static bool order_equations(finish *f, uint32_t n_out, const cx *out) {
  const cxi_builder *b = f->b;
  f->order = array(b->n_equations, sizeof *f->order);
  frame *stack = array(b->n_equations, sizeof *stack);
  bool *seen = array(b->n_equations, sizeof *seen);
  if (!f->order || !stack || !seen) return false;
  for (uint32_t i = 0; i < b->n_equations; i++)
    if (b->equations[i].effects) order_equation(f, i, stack, seen);
  for (uint32_t i = 0; i < n_out; i++) {
    uint32_t source = b->values[out[i].index - 1].source;
    if (cxi_is_equation(source)) order_equation(f, source, stack, seen);
  }
  return cxi_writes_behind_reads(b, f->order, f->n_order);
}

/* -- numbers: inputs, literals, results ----------------------------------- */

static bool refuse(finish *f, const char *text) {
  f->b->emitter.fail(&f->b->emitter, CX_ETRACE, text);
  return false;
}

static bool number_inputs(finish *f, uint32_t n_in, const cx *in) {
  f->number = array(f->b->n_values, sizeof *f->number);
  if (!f->number) return false;
  for (uint32_t i = 0; i < n_in; i++) {
    uint32_t *number = &f->number[in[i].index - 1];
    if (*number) return refuse(f, "an input is given twice");
    *number = i + 1;
  }
  f->n_in = n_in;
  return true;
}

static bool open_literals(finish *f) {
  const cxi_builder *b = f->b;
  uint32_t n = 0, slots = 4;
  for (uint32_t i = 0; i < b->n_values; i++)
    n += b->values[i].source == CXI_LITERAL;
  while (slots < 2 * (size_t)n) slots *= 2;
  f->mask = slots - 1;
  f->literals = array(n, sizeof *f->literals);
  f->slots = array(slots, sizeof *f->slots);
  return f->literals && f->slots;
}

static uint32_t hash_literal(const cxi_builder_value *v) {
  uint64_t h = (v->bits ^ (uint64_t)v->type << 56) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(h >> 32);
}

/* The number + 1 of literal v, the same for equal ones. */
static uint32_t number_literal(finish *f, uint32_t v) {
  const cxi_builder_value *values = f->b->values;
  uint32_t i = hash_literal(&values[v]) & f->mask;
  for (; f->slots[i]; i = (i + 1) & f->mask) {
    const cxi_builder_value *known = &values[f->literals[f->slots[i] - 1]];
    if (known->type == values[v].type && known->bits == values[v].bits)
      return f->n_in + f->slots[i];
  }
  f->literals[f->n_literals++] = v;
  f->slots[i] = f->n_literals;
  return f->n_in + f->n_literals;
}

/* Numbers v if it is a literal; an input has its number already. */
static bool number_leaf(finish *f, uint32_t v) {
  uint32_t source = f->b->values[v].source;
  if (cxi_is_equation(source) || f->number[v]) return true;
  if (source == CXI_INPUT)
    return refuse(f, "an input that is not among the program's is used");
  f->number[v] = number_literal(f, v);
  return true;
}

/* Literals count from the first use on. */
static bool number_leaves(finish *f, uint32_t n_out, const cx *out) {
  const cxi_builder *b = f->b;
  if (!open_literals(f)) return false;
  for (uint32_t i = 0; i < f->n_order; i++) {
    const cxi_equation *e = &b->equations[f->order[i]];
    for (uint32_t k = 0; k < e->n_in; k++)
      if (!number_leaf(f, b->operands[e->in + k])) return false;
  }
  for (uint32_t i = 0; i < n_out; i++)
    if (!number_leaf(f, out[i].index - 1)) return false;
  return true;
}

/* -- the program ---------------------------------------------------------- */

typedef struct parts {
  cxi_value *values;
  uint64_t *literals;
  cxi_equation *equations;
  uint32_t *operands, *outputs;
} parts;

/* A program with arrays of the right length; NULL without memory. */
static cxi_program *allocate(const finish *f, cxi_arena *arena, uint32_t n_out,
                             parts *a) {
  cxi_program *p = cxi_arena_alloc(arena, sizeof *p);
  if (!p) return NULL;
  p->n_in = f->n_in;
  p->n_literals = f->n_literals;
  p->n_values = f->n_in + f->n_literals + f->n_results;
  p->n_equations = f->n_order;
  p->n_operands = f->n_operands;
  p->n_out = n_out;
  p->values = a->values =
      cxi_arena_alloc(arena, (p->n_values + (size_t)1) * sizeof *a->values);
  p->literals = a->literals =
      cxi_arena_alloc(arena, (p->n_literals + (size_t)1) * sizeof *a->literals);
  p->equations = a->equations = cxi_arena_alloc(
      arena, (p->n_equations + (size_t)1) * sizeof *a->equations);
  p->operands = a->operands =
      cxi_arena_alloc(arena, (p->n_operands + (size_t)1) * sizeof *a->operands);
  p->outputs = a->outputs =
      cxi_arena_alloc(arena, (n_out + (size_t)1) * sizeof *a->outputs);
  if (!p->values || !p->literals || !p->equations || !p->operands ||
      !p->outputs)
    return NULL;
  return p;
}

static const void *copy_params(const cxi_equation *e, cxi_arena *arena) {
  const cxi_schema *schema = cxi_schema_of((cxi_prim)e->prim);
  if (!schema->fields->name) return e->params; /* static */
  return cxi_params_copy((cxi_prim)e->prim, e->params, arena);
}

static bool fill_equations(finish *f, cxi_program *p, cxi_arena *arena,
                           parts *a) {
  const cxi_builder *b = f->b;
  uint32_t n_values = f->n_in + f->n_literals, n_operands = 0;
  for (uint32_t i = 0; i < f->n_order; i++) {
    const cxi_equation *from = &b->equations[f->order[i]];
    cxi_equation *e = &a->equations[i];
    *e = *from;
    e->in = n_operands;
    e->out = n_values;
    e->params = copy_params(from, arena);
    if (!e->params) return false;
    p->effects |= e->effects;
    p->has_parts |= cxi_schema_has_programs(cxi_schema_of((cxi_prim)e->prim));
    for (uint32_t k = 0; k < e->n_in; k++)
      a->operands[n_operands++] = f->number[b->operands[from->in + k]] - 1;
    for (uint32_t k = 0; k < e->n_out; k++) {
      a->values[n_values] = (cxi_value){ b->values[from->out + k].type, i };
      f->number[from->out + k] = ++n_values;
    }
  }
  return true;
}

/* The axis names of all equations, each once, in the order of the program. */
typedef struct axes {
  cxi_arena *arena;
  cxi_name *d;
  uint32_t n, cap;
  bool ok;
} axes;

static void add_axis(cxi_name name, void *user) {
  axes *a = user;
  for (uint32_t i = 0; i < a->n; i++)
    if (a->d[i] == name) return;
  if (a->n == a->cap) {
    const uint32_t cap = a->cap ? 2 * a->cap : 4;
    cxi_name *d = cxi_arena_alloc(a->arena, cap * sizeof *d);
    a->ok = a->ok && d;
    if (!d) return;
    for (uint32_t i = 0; i < a->n; i++) d[i] = a->d[i];
    a->d = d;
    a->cap = cap;
  }
  a->d[a->n++] = name;
}

static bool fill_axes(cxi_program *p, cxi_arena *arena) {
  axes a = { .arena = arena, .ok = true };
  for (uint32_t i = 0; i < p->n_equations; i++)
    cxi_params_each_axis((cxi_prim)p->equations[i].prim, p->equations[i].params,
                         add_axis, &a);
  p->axes = (cxi_names){ a.n, a.d };
  return a.ok;
}

static void fill_leaves(const finish *f, const cx *in, parts *a) {
  const cxi_builder_value *values = f->b->values;
  for (uint32_t i = 0; i < f->n_in; i++)
    a->values[i] = (cxi_value){ values[in[i].index - 1].type, CXI_INPUT };
  for (uint32_t i = 0; i < f->n_literals; i++) {
    const cxi_builder_value *v = &values[f->literals[i]];
    a->values[f->n_in + i] = (cxi_value){ v->type, CXI_LITERAL };
    a->literals[i] = v->bits;
  }
}

static const cxi_program *assemble(finish *f, cxi_name name, const cx *in,
                                   uint32_t n_out, const cx *out) {
  cxi_arena arena = { 0 };
  parts a;
  cxi_program *p = allocate(f, &arena, n_out, &a);
  if (p) fill_leaves(f, in, &a);
  if (!p || !fill_equations(f, p, &arena, &a) || !fill_axes(p, &arena)) {
    cxi_arena_free(&arena);
    return NULL;
  }
  for (uint32_t i = 0; i < n_out; i++)
    a.outputs[i] = f->number[out[i].index - 1] - 1;
  p->name = name;
  p->arena = arena;
  return cxi_program_intern(p);
}

const cxi_program *cxi_builder_order(cxi_builder *b, cxi_name name,
                                     uint32_t n_in, const cx *in,
                                     uint32_t n_out, const cx *out) {
  const cxi_program *p = NULL;
  cxi_mark mark = cxi_scratch_mark();
  finish f = { .b = b };
  if (order_equations(&f, n_out, out) && number_inputs(&f, n_in, in) &&
      number_leaves(&f, n_out, out))
    p = assemble(&f, name, in, n_out, out);
  cxi_scratch_reset(mark);
  return p;
}
