/* einsum_path.c - in which order the operands of einsum are joined: dynamic
 * programming over the sets of operands. */
#include "ops/einsum_path.h"

#include <math.h>

#include "base/arena.h"
#include "calx/value.h"

enum { MOST = 10 }; /* operands for which all orders are compared */

/* The sets of operands are bits of an unsigned number. */
typedef struct search {
  int n;
  const uint64_t *labels;
  uint64_t out;
  const double *size;
  uint64_t *kept;  /* by set: the labels of its term */
  double *cost;    /* by set: multiplications to make it */
  unsigned *right; /* by set: the part that is joined last */
  int *term;       /* by set: its number among the terms; -1: not needed */
} search;

/* The labels of the set's term: those that something outside it has. */
static uint64_t kept_labels(const search *s, unsigned set) {
  uint64_t inside = 0, outside = s->out;
  for (int i = 0; i < s->n; i++)
    *(set >> i & 1 ? &inside : &outside) |= s->labels[i];
  return inside & outside;
}

static double elements(const search *s, uint64_t labels) {
  double count = 1;
  for (int i = 0; i < 64; i++)
    if (labels >> i & 1) count *= s->size[i];
  return count;
}

static double cost_of(const search *s, unsigned left, unsigned right) {
  return s->cost[left] + s->cost[right] +
         elements(s, s->kept[left] | s->kept[right]);
}

static unsigned highest(unsigned set) {
  unsigned bit = 1;
  while (set >> 1 >= bit) bit <<= 1;
  return bit;
}

/* The best last join for a set of two or more; its parts are known. */
static void choose(search *s, unsigned set) {
  const unsigned low = set & -set, others = set ^ low;
  unsigned best = highest(set);
  double least = cost_of(s, set ^ best, best);
  for (unsigned right = others; right; right = (right - 1) & others) {
    const double cost = cost_of(s, set ^ right, right);
    if (cost < least) least = cost, best = right;
  }
  if (__builtin_popcountll(s->kept[set]) > CX_MAX_DIMS) least = INFINITY;
  s->cost[set] = least;
  s->right[set] = best;
}

/* Parts are less than their set: downwards to see which are needed, upwards to
 * number them. */
static void number_steps(search *s, cxi_join *steps) {
  const unsigned all = (1u << s->n) - 1;
  int next = s->n;
  for (unsigned set = 1; set <= all; set++) s->term[set] = -1;
  s->term[all] = 0;
  for (unsigned set = all; set > 0; set--)
    if (s->term[set] == 0 && s->right[set])
      s->term[s->right[set]] = s->term[set ^ s->right[set]] = 0;
  for (int i = 0; i < s->n; i++) s->term[1u << i] = i;
  for (unsigned set = 1; set <= all; set++) {
    if (s->term[set] < 0 || !s->right[set]) continue;
    const unsigned right = s->right[set];
    steps[next - s->n] = (cxi_join){ s->term[set ^ right], s->term[right] };
    s->term[set] = next++;
  }
}

bool cxi_einsum_path(int n, const uint64_t *labels, uint64_t out,
                     const double *size, cxi_join *steps) {
  for (int i = 0; i + 1 < n; i++)
    steps[i] = (cxi_join){ i ? n + i - 1 : 0, i + 1 };
  if (n < 3 || n > MOST) return true;
  const cxi_mark mark = cxi_scratch_mark();
  const size_t sets = (size_t)1 << n;
  search s = { .n = n, .labels = labels, .out = out, .size = size };
  s.kept = cxi_scratch(sets * sizeof *s.kept);
  s.cost = cxi_scratch(sets * sizeof *s.cost);
  s.right = cxi_scratch(sets * sizeof *s.right);
  s.term = cxi_scratch(sets * sizeof *s.term);
  const bool enough = s.kept && s.cost && s.right && s.term;
  if (enough) {
    for (unsigned set = 1; set < sets; set++) {
      s.kept[set] = kept_labels(&s, set);
      if (set & (set - 1)) choose(&s, set);
    }
    number_steps(&s, steps);
  }
  cxi_scratch_reset(mark);
  return enough;
}
