/* nest.c - collects a program and those inside it, without recursion. */
#include "ir/nest.h"

#include "base/alloc.h"

/* A program to visit; once its parts are on the stack above it, it is open. */
typedef struct visit {
  const cxi_program *program;
  bool open;
} visit;

typedef struct stack {
  visit *items;
  uint32_t n, cap;
  bool failed;
} stack;

static void push(const cxi_program *p, void *to) {
  stack *s = to;
  if (!cxi_grow(&s->items, &s->cap, s->n + (size_t)1, sizeof *s->items)) {
    s->failed = true;
    return;
  }
  s->items[s->n++] = (visit){ p, false };
}

/* Pushes p's parts so that the first is on top. */
static void push_parts(stack *s, const cxi_program *p) {
  uint32_t first = s->n;
  cxi_program_each_part(p, push, s);
  for (uint32_t lo = first, hi = s->n; lo + 1 < hi; lo++, hi--) {
    visit item = s->items[lo];
    s->items[lo] = s->items[hi - 1];
    s->items[hi - 1] = item;
  }
}

static uint32_t *slot_of(const cxi_nest *nest, const cxi_program *p) {
  uint32_t i = (uint32_t)p->identity.lo & nest->mask;
  while (nest->slots[i] && nest->programs[nest->slots[i] - 1] != p)
    i = (i + 1) & nest->mask;
  return &nest->slots[i];
}

static bool make_slots(cxi_nest *nest) {
  if (nest->slots && 2 * nest->n < nest->mask) return true;
  uint32_t n = nest->slots ? (nest->mask + 1) * 2 : 16;
  uint32_t *slots = cxi_alloc_zeroed(n, sizeof *slots);
  if (!slots) return false;
  cxi_free(nest->slots);
  nest->slots = slots;
  nest->mask = n - 1;
  for (uint32_t i = 0; i < nest->n; i++)
    *slot_of(nest, nest->programs[i]) = i + 1;
  return true;
}

static bool append(cxi_nest *nest, const cxi_program *p) {
  if (!make_slots(nest) ||
      !cxi_grow(&nest->programs, &nest->cap, nest->n + (size_t)1,
                sizeof *nest->programs))
    return false;
  nest->programs[nest->n++] = p;
  *slot_of(nest, p) = nest->n;
  return true;
}

bool cxi_nest_of(const cxi_program *p, cxi_nest *out) {
  stack s = { 0 };
  *out = (cxi_nest){ 0 };
  bool ok = make_slots(out);
  push(p, &s);
  while (ok && !s.failed && s.n) {
    visit *top = &s.items[s.n - 1];
    const cxi_program *q = top->program;
    if (top->open || *slot_of(out, q)) {
      s.n--;
      if (!*slot_of(out, q)) ok = append(out, q);
    } else {
      top->open = true;
      push_parts(&s, q);
    }
  }
  cxi_free(s.items);
  return ok && !s.failed;
}

uint32_t cxi_nest_find(const cxi_nest *nest, const cxi_program *p) {
  return *slot_of(nest, p) - 1;
}

void cxi_nest_free(cxi_nest *nest) {
  cxi_free(nest->programs);
  cxi_free(nest->slots);
}
