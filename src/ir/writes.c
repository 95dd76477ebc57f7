/* writes.c - what is written into stands behind the reads of what it was.
 *
 *   y = dynamic_update_slice x, u, i         v = dynamic_slice x, i
 *   v = dynamic_slice x, i              ->   y = dynamic_update_slice x, u, i
 *
 * A write whose operand is read by an equation behind it, which does not depend
 * on the write, moves behind the last of those. So it can be in place; and
 * backwards, where it comes first, the reads add into the array that it hands
 * on, rather than into zeros to be added to it as a whole: the gradient of the
 * gradient of a loop takes no more than the gradient does. */
#include "ir/finish.h"
#include "ir/row.h"

typedef struct writes {
  const cxi_builder *b;
  const uint32_t *order;
  uint32_t n;
  uint32_t *place;  /* by equation of the builder: where it stands */
  uint32_t *writer; /* by value: 1 + the place of the last write to it */
  uint32_t *first;  /* by place: 1 + that of the first use; 0: none */
  uint32_t *behind; /* by place: 1 + where it moves to; 0: it stays */
} writes;

static const cxi_equation *at(const writes *w, uint32_t i) {
  return &w->b->equations[w->order[i]];
}

/* The operand that the equation writes into: 1 + its number; 0: none. */
static uint32_t written(const cxi_equation *e) {
  const cxi_row *row = cxi_row_of((cxi_prim)e->prim);
  const bool is = row->form == CXI_FORM_INDEX && row->in_place;
  return is && (uint32_t)row->in_place <= e->n_in ? (uint32_t)row->in_place : 0;
}

static bool has_writes(const writes *w) {
  for (uint32_t i = 0; i < w->n; i++)
    if (written(at(w, i))) return true;
  return false;
}

static void find_first_uses(writes *w) {
  for (uint32_t i = 0; i < w->n; i++) w->place[w->order[i]] = i;
  for (uint32_t i = 0; i < w->n; i++) {
    const cxi_equation *e = at(w, i);
    for (uint32_t k = 0; k < e->n_in; k++) {
      const uint32_t source = w->b->values[w->b->operands[e->in + k]].source;
      if (!cxi_is_equation(source)) continue;
      uint32_t *first = &w->first[w->place[source]];
      if (*first == 0) *first = i + 1;
    }
  }
}

/* Equal literals become one value later only: those are left alone. */
static bool find_moves(writes *w) {
  bool any = false;
  for (uint32_t i = 0; i < w->n; i++) {
    const cxi_equation *e = at(w, i);
    const uint32_t *operands = w->b->operands + e->in;
    for (uint32_t k = 0; k < e->n_in; k++) {
      const uint32_t j = w->writer[operands[k]];
      if (j == 0 || (w->first[j - 1] && w->first[j - 1] <= i + 1)) continue;
      w->behind[j - 1] = i + 1;
      any = true;
    }
    const uint32_t k = written(e);
    if (k && w->b->values[operands[k - 1]].source != CXI_LITERAL)
      w->writer[operands[k - 1]] = i + 1;
  }
  return any;
}

/* `next` chains what moves behind a place, the earlier first. */
static bool move(const writes *w, uint32_t *order) {
  uint32_t *head = cxi_scratch((w->n + (size_t)1) * sizeof *head);
  uint32_t *next = cxi_scratch((w->n + (size_t)1) * sizeof *next);
  uint32_t *moved = cxi_scratch((w->n + (size_t)1) * sizeof *moved);
  if (!head || !next || !moved) return false;
  for (uint32_t i = w->n; i-- > 0;) {
    if (!w->behind[i]) continue;
    next[i] = head[w->behind[i] - 1];
    head[w->behind[i] - 1] = i + 1;
  }
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->n; i++) {
    if (!w->behind[i]) moved[n++] = order[i];
    for (uint32_t j = head[i]; j; j = next[j - 1]) moved[n++] = order[j - 1];
  }
  for (uint32_t i = 0; i < w->n; i++) order[i] = moved[i];
  return true;
}

bool cxi_writes_behind_reads(const cxi_builder *b, uint32_t *order,
                             uint32_t n) {
  writes w = { .b = b, .order = order, .n = n };
  if (!has_writes(&w)) return true;
  w.place = cxi_scratch((b->n_equations + (size_t)1) * sizeof *w.place);
  w.writer = cxi_scratch((b->n_values + (size_t)1) * sizeof *w.writer);
  w.first = cxi_scratch((n + (size_t)1) * sizeof *w.first);
  w.behind = cxi_scratch((n + (size_t)1) * sizeof *w.behind);
  if (!w.place || !w.writer || !w.first || !w.behind) return false;
  find_first_uses(&w);
  return !find_moves(&w) || move(&w, order);
}
