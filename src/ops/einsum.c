/* einsum.c - contractions written as "bqnd,bknd->bnqk".
 *
 * Operands are joined two at a time, in the order of einsum_path.h. A label that
 * neither another operand nor the result needs is summed as soon as it can
 * be. */
#include <stdio.h>
#include <string.h>

#include "calx/product.h"
#include "ops/einsum_path.h"
#include "ops/ops.h"

/* A label is a number: a-z, A-Z, then the axes of "...", the last one last. */
enum { UPPER = 26, ELLIPSIS = 52, LABELS = 64 };

/* The labels of one operand's axes, in order. */
typedef struct labels {
  int n;
  uint8_t d[CX_MAX_DIMS];
} labels;
typedef struct term {
  cx x;
  labels l;
} term;
typedef struct einsum {
  const char *spec;
  int n;
  term terms[CX_MAX_ARGS];
  labels out;
  int n_ellipsis; /* the most axes that any "..." stands for */
} einsum;

/* -- reading the specification -------------------------------------------- */

static int label_of(char c) {
  return c >= 'a' && c <= 'z'   ? c - 'a'
         : c >= 'A' && c <= 'Z' ? c - 'A' + UPPER
                                : -1;
}

static char letter_of(int label) {
  return (char)(label < UPPER ? 'a' + label : 'A' + label - UPPER);
}

static cx bad_spec(const einsum *e, const char *why) {
  return cxi_fail(CX_EUSER, "einsum: \"%s\": %s", e->spec, why);
}

static bool push(labels *l, int label) {
  if (l->n == CX_MAX_DIMS) return false;
  l->d[l->n++] = (uint8_t)label;
  return true;
}

/* Reads labels up to ',' '-' or the end. `rank` < 0: the result's, whose
 * "..." stands for n_ellipsis axes. */
static const char *read_labels(einsum *e, const char *s, int rank, labels *l,
                               cx *out_poison) {
  int letters = 0, dots = 0;
  for (const char *p = s; *p && *p != ',' && *p != '-'; p++)
    letters += label_of(*p) >= 0, dots += *p == '.';
  int n = rank < 0 ? e->n_ellipsis : rank - letters;
  l->n = 0;
  for (; *s && *s != ',' && *s != '-'; s++) {
    if (*s == ' ') continue;
    bool ok;
    if (label_of(*s) >= 0) {
      ok = push(l, label_of(*s));
    } else if (strncmp(s, "...", 3) == 0 && dots == 3 && n >= 0) {
      ok = true;
      for (int i = 0; i < n; i++)
        ok = ok && push(l, ELLIPSIS + CX_MAX_DIMS - n + i);
      if (rank >= 0 && n > e->n_ellipsis) e->n_ellipsis = n;
      s += 2;
    } else {
      return *out_poison =
                 bad_spec(e, "letters, \"...\", \",\" and \"->\" only"),
             NULL;
    }
    if (!ok) return *out_poison = bad_spec(e, "too many axes"), NULL;
  }
  if (rank >= 0 && l->n != rank) {
    char text[80];
    snprintf(text, sizeof text, "an operand has %d axes, its letters are %d",
             rank, letters);
    return *out_poison = bad_spec(e, text), NULL;
  }
  return s;
}

/* Without "->": the axes of "...", then the labels that occur once, sorted. */
static void implicit_output(einsum *e) {
  int count[LABELS] = { 0 };
  for (int i = 0; i < e->n; i++)
    for (int k = 0; k < e->terms[i].l.n; k++) count[e->terms[i].l.d[k]]++;
  e->out.n = 0;
  for (int c = ELLIPSIS; c < LABELS; c++)
    if (count[c]) push(&e->out, c);
  for (int c = UPPER; c < ELLIPSIS; c++) /* upper case sorts first */
    if (count[c] == 1) push(&e->out, c);
  for (int c = 0; c < UPPER; c++)
    if (count[c] == 1) push(&e->out, c);
}

static bool parse(einsum *e, cx *out_poison) {
  const char *s = e->spec;
  for (int i = 0; i < e->n; i++) {
    s = read_labels(e, s, cxi_rank_at(e->terms[i].x), &e->terms[i].l,
                    out_poison);
    if (!s) return false;
    if (i + 1 < e->n ? *s != ',' : *s == ',') {
      char text[64];
      snprintf(text, sizeof text, "does not name %d operand%s", e->n,
               e->n == 1 ? "" : "s");
      return *out_poison = bad_spec(e, text), false;
    }
    if (*s == ',') s++;
  }
  if (!*s) return implicit_output(e), true;
  if (strncmp(s, "->", 2) != 0)
    return *out_poison = bad_spec(e, "a \"-\" without \">\""), false;
  s = read_labels(e, s + 2, -1, &e->out, out_poison);
  if (s && *s) *out_poison = bad_spec(e, "something after the result");
  return s && !*s;
}

/* -- labels --------------------------------------------------------------- */

static int place_of(const labels *l, int label) {
  for (int i = 0; i < l->n; i++)
    if (l->d[i] == label) return i;
  return -1;
}

static uint64_t set_of(const labels *l) {
  uint64_t set = 0;
  for (int i = 0; i < l->n; i++) set |= (uint64_t)1 << l->d[i];
  return set;
}

static bool in_set(uint64_t set, int label) {
  return set >> label & 1;
}

static labels without_place(labels l, int place) {
  for (int i = place; i + 1 < l.n; i++) l.d[i] = l.d[i + 1];
  l.n--;
  return l;
}

/* size[label]: how long it is; -1: no operand has it. */
static bool check_sizes(const einsum *e, int64_t *size, cx *out_poison) {
  for (int i = 0; i < LABELS; i++) size[i] = -1;
  for (int i = 0; i < e->n; i++) {
    cx_dims shape = cxi_shape_at(e->terms[i].x);
    for (int k = 0; k < shape.n; k++) {
      int64_t *s = &size[e->terms[i].l.d[k]], d = shape.d[k];
      if (*s < 0 || *s == 1) *s = d;
      if (d == *s || d == 1) continue;
      const int label = e->terms[i].l.d[k];
      const char letter[2] = { letter_of(label), 0 };
      *out_poison = cxi_fail(
          CX_ESHAPE, "einsum: \"%s\": \"%s\" is %lld and %lld", e->spec,
          label < ELLIPSIS ? letter : "...", (long long)*s, (long long)d);
      return false;
    }
  }
  for (int i = 0; i < e->out.n; i++)
    if (size[e->out.d[i]] < 0 || place_of(&e->out, e->out.d[i]) != i) {
      *out_poison =
          bad_spec(e, "the result's labels must be operands', once each");
      return false;
    }
  return true;
}

/* -- the steps ------------------------------------------------------------ */

/* A label twice in one operand: the diagonal, by a mask and a sum. */
static term diagonal(term t) {
  for (int i = 0; i < t.l.n; i++)
    for (int k = i + 1; k < t.l.n;) {
      if (t.l.d[k] != t.l.d[i]) {
        k++;
        continue;
      }
      cx_dims shape = cxi_shape_at(t.x);
      cx same = cxi_compare(CXI_PRIM_eq, cxi_iota(CX_I32, shape, i),
                            cxi_iota(CX_I32, shape, k));
      cx kept = cxi_select(same, cxi_zeros(cxi_type_at(t.x)), t.x);
      t.x = cxi_reduce_sum(kept, (cx_dims){ .n = 1, .d = { k } });
      t.l = without_place(t.l, k);
    }
  return t;
}

/* Sums the labels that are not in `needed`. */
static term sum_unneeded(term t, uint64_t needed) {
  cx_dims axes = { .n = 0 };
  labels left = { .n = 0 };
  for (int i = 0; i < t.l.n; i++) {
    if (in_set(needed, t.l.d[i]))
      push(&left, t.l.d[i]);
    else
      axes = cxi_dims_append(axes, i);
  }
  return (term){ cxi_reduce_sum(t.x, axes), left };
}

/* An axis of size 1 whose label is longer in the other operand falls away. */
static term drop_ones(term t, const term *other) {
  for (int i = 0; i < t.l.n;) {
    int k = place_of(&other->l, t.l.d[i]);
    bool drop = k >= 0 && cxi_shape_at(t.x).d[i] == 1 &&
                cxi_shape_at(other->x).d[k] != 1;
    if (drop) {
      t.x = cxi_squeeze(t.x, (cx_dims){ .n = 1, .d = { i } });
      t.l = without_place(t.l, i);
    } else {
      i++;
    }
  }
  return t;
}

/* Its axes in the order of `order`, which has all of them; others repeat. */
static cx arrange(term t, const labels *order, const cx_dims *shape) {
  cx_dims permutation = { .n = 0 }, map = { .n = 0 };
  for (int i = 0; i < order->n; i++) {
    int k = place_of(&t.l, order->d[i]);
    if (k < 0) continue;
    permutation = cxi_dims_append(permutation, k);
    map = cxi_dims_append(map, i);
  }
  cx x = cxi_transpose(t.x, permutation);
  return shape ? cxi_broadcast_in_dim(x, *shape, map) : x;
}

static term too_many_axes(void) {
  return (term){ cxi_fail(CX_ESHAPE, "einsum: more than %d axes", CX_MAX_DIMS),
                 { .n = 0 } };
}

/* Element by element over the labels of both. */
static term multiply(term a, term b) {
  labels all = a.l;
  cx_dims shape = cxi_shape_at(a.x), s = cxi_shape_at(b.x);
  bool ok = true;
  for (int i = 0; i < b.l.n; i++)
    if (place_of(&all, b.l.d[i]) < 0) {
      ok = ok && push(&all, b.l.d[i]);
      if (ok) shape = cxi_dims_append(shape, s.d[i]);
    }
  if (!ok) return too_many_axes();
  return (term){ cxi_mul(arrange(a, &all, &shape), arrange(b, &all, &shape)),
                 all };
}

/* The product of two terms, summed over the labels that are not in `needed`:
 * those of one alone first; those of both are a product's contracted axes, or,
 * where they are needed, its batch. */
static term join(term a, term b, uint64_t needed) {
  a = sum_unneeded(a, needed | set_of(&b.l));
  b = sum_unneeded(b, needed | set_of(&a.l));
  a = drop_ones(a, &b), b = drop_ones(b, &a);
  cxi_dot_general_params p = { .type = cxi_dtype_at(a.x) };
  labels out = { .n = 0 };
  bool ok = true;
  for (int i = 0; i < a.l.n; i++) {
    int k = place_of(&b.l, a.l.d[i]);
    if (k < 0) continue;
    bool batch = in_set(needed, a.l.d[i]);
    cx_dims *left = batch ? &p.lhs_batch : &p.lhs_contract;
    cx_dims *right = batch ? &p.rhs_batch : &p.rhs_contract;
    *left = cxi_dims_append(*left, i), *right = cxi_dims_append(*right, k);
    if (batch) ok = ok && push(&out, a.l.d[i]);
  }
  if (p.lhs_contract.n == 0) return multiply(a, b);
  for (int i = 0; i < a.l.n; i++)
    if (place_of(&b.l, a.l.d[i]) < 0) ok = ok && push(&out, a.l.d[i]);
  for (int i = 0; i < b.l.n; i++)
    if (place_of(&a.l, b.l.d[i]) < 0) ok = ok && push(&out, b.l.d[i]);
  if (!ok) return too_many_axes();
  return (term){ cxi_dot_general(a.x, b.x, (cx){ 0, 0 }, &p), out };
}

/* Joins all terms to one, as the path says. */
static term contract(const einsum *e, const int64_t *size) {
  term terms[2 * CX_MAX_ARGS];
  uint64_t sets[CX_MAX_ARGS], joined[2 * CX_MAX_ARGS]; /* of operands */
  const uint64_t out = set_of(&e->out);
  double sizes[LABELS];
  cxi_join steps[CX_MAX_ARGS];
  for (int i = 0; i < LABELS; i++) sizes[i] = (double)size[i];
  for (int i = 0; i < e->n; i++) {
    terms[i] = diagonal(e->terms[i]);
    sets[i] = set_of(&terms[i].l);
    joined[i] = (uint64_t)1 << i;
  }
  if (!cxi_einsum_path(e->n, sets, out, sizes, steps))
    return (term){ cxi_fail(CX_EMEMORY, "einsum: out of memory"), { .n = 0 } };
  for (int k = 0; k + 1 < e->n; k++) {
    const cxi_join step = steps[k];
    const int made = e->n + k;
    uint64_t needed = out;
    joined[made] = joined[step.a] | joined[step.b];
    for (int i = 0; i < e->n; i++)
      if (!(joined[made] >> i & 1)) needed |= sets[i];
    terms[made] = join(terms[step.a], terms[step.b], needed);
    if (!cxi_given(terms[made].x)) return terms[made];
  }
  return terms[2 * e->n - 2];
}

cx cxi_einsum(const char *spec, int n, const cx *operands) {
  einsum e = { .spec = spec, .n = n };
  cx poison, copies[CX_MAX_ARGS];
  int64_t size[LABELS];
  if (n < 1 || n > CX_MAX_ARGS)
    return cxi_fail(CX_EUSER, "einsum: 1 to %d operands, got %d", CX_MAX_ARGS,
                    n);
  if (!cxi_list_given("einsum", n, operands, &poison)) return poison;
  memcpy(copies, operands, (size_t)n * sizeof *copies);
  if (!cxi_promote("einsum", n, copies, &poison)) return poison;
  for (int i = 0; i < n; i++) e.terms[i].x = copies[i];
  if (!parse(&e, &poison) || !check_sizes(&e, size, &poison)) return poison;
  term t = contract(&e, size);
  if (!cxi_given(t.x)) return t.x;
  t = sum_unneeded(t, set_of(&e.out));
  return arrange(t, &e.out, NULL);
}

cx cx_einsum_(const char *spec, int n, const cx *operands, const char *at) {
  cxi_name before = cxi_enter(at);
  if (!spec)
    return cxi_leave(before, cxi_fail(CX_EUSER, "einsum: no specification"));
  return cxi_leave(before, cxi_einsum(spec, n, operands));
}
