/* stacks.c - stacks of transforms over functions of (x, y, z). */
#include "support/stacks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

CX_STRUCT(under, (cx_fn, f));
CX_STRUCT(under_with, (cx_fn, f), (cx, y), (cx, z));

bool is_floating(cx a) {
  return cx_type(a) >= CX_F16 && cx_type(a) <= CX_F64;
}

/* -- the loss ------------------------------------------------------------- */

cx stack_total(cx tree) {
  cx sum = { 0 };
  for (int i = 0; i < cx_leaf_count(tree); i++) {
    if (!is_floating(cx_leaf(tree, i))) continue;
    cx one = cx_sum(cx_sin(cx_leaf(tree, i)));
    if (sum.index) one = cx_cast(one, cx_type(sum));
    sum = sum.index ? cx_add(sum, one) : one;
  }
  return sum.index ? sum : cx_scalar(0, CX_F32);
}

CX_DEF_ENV(total_of, under, e, x, y, z) {
  return stack_total(cx_call(e->f, x, y, z));
}
cx_fn stack_total_of(cx_fn f) {
  return CX_BIND(total_of, .f = f);
}

CX_DEF_ENV(gradient, under, e, x, y, z) {
  cx_fn f = CX_BIND(total_of, .f = e->f);
  if (cx_leaf_count(y) == 0) return cx_call(cx_grad(f), x, y, z);
  return cx_call(cx_grad(f, .wrt = CX_ARGS(0, 1)), x, y, z);
}

/* -- forward mode --------------------------------------------------------- */

/* A tangent that depends on the value; none of what has no tangent. */
static cx tangent_like(cx tree) {
  cx leaves[64];
  const int n = cx_leaf_count(tree);
  for (int i = 0; i < n; i++) {
    cx a = cx_leaf(tree, i);
    leaves[i] = is_floating(a) ? cx_add(cx_mul(a, 0.5), 0.25) : cx_none();
  }
  return cx_unflatten(tree, n, leaves);
}

CX_DEF_ENV(forward, under, e, x, y, z) {
  return cx_call(cx_jvp(e->f), cx_tuple(x, y, z),
                 cx_tuple(tangent_like(x), tangent_like(y), tangent_like(z)));
}

/* -- batches -------------------------------------------------------------- */

static cx other_leaf(cx a, int i) {
  if (i == 0) return a;
  if (is_floating(a)) return cx_sub(cx_mul(a, 0.75), 0.125 * i);
  if (cx_type(a) == CX_KEY) return cx_fold(a, i);
  if (cx_type(a) == CX_BOOL) return cx_not(a);
  return cx_maximum(cx_sub(a, i), 0);
}

/* Example i made from a tree. */
static cx example(cx tree, int i) {
  cx leaves[64];
  const int n = cx_leaf_count(tree);
  for (int k = 0; k < n; k++) leaves[k] = other_leaf(cx_leaf(tree, k), i);
  return cx_unflatten(tree, n, leaves);
}

static cx stacked(int n, const cx *trees) {
  cx leaves[64], items[8];
  const int m = cx_leaf_count(trees[0]);
  for (int k = 0; k < m; k++) {
    for (int i = 0; i < n; i++) items[i] = cx_leaf(trees[i], k);
    leaves[k] = cx_stack_(0, n, items, CX_AT);
  }
  return cx_unflatten(trees[0], m, leaves);
}

static cx examples(cx tree, int n) {
  cx trees[3];
  for (int i = 0; i < n; i++) trees[i] = example(tree, i);
  return stacked(n, trees);
}

CX_DEF_ENV(mapped_x, under, e, x, y, z) {
  return cx_call(cx_vmap(e->f, .in = { 0, CX_NONE, CX_NONE }), examples(x, 3),
                 y, z);
}
CX_DEF_ENV(looped_x, under, e, x, y, z) {
  cx out[3];
  for (int i = 0; i < 3; i++) out[i] = cx_call(e->f, example(x, i), y, z);
  return stacked(3, out);
}

CX_DEF_ENV(mapped, under, e, x, y, z) {
  return cx_call(cx_vmap(e->f), examples(x, 2), examples(y, 2), examples(z, 2));
}
CX_DEF_ENV(looped, under, e, x, y, z) {
  cx out[2];
  for (int i = 0; i < 2; i++)
    out[i] = cx_call(e->f, example(x, i), example(y, i), example(z, i));
  return stacked(2, out);
}

/* -- scans ---------------------------------------------------------------- */

CX_DEF_ENV(step, under_with, e, sum, x) {
  cx out = cx_call(e->f, x, e->y, e->z);
  cx total = cx_cast(stack_total(out), cx_type(sum));
  return cx_tuple(cx_add(cx_mul(sum, 0.5), total), out);
}
static cx first_sum(cx x) {
  return cx_zeros(cx_type(cx_leaf(x, 0)), CX_SCALAR);
}

CX_DEF_ENV(scanned, under, e, x, y, z) {
  return cx_scan(CX_BIND(step, .f = e->f, .y = y, .z = z), first_sum(x),
                 examples(x, 2));
}
CX_DEF_ENV(unrolled, under, e, x, y, z) {
  cx sum = first_sum(x), out[2];
  const under_with env = { .f = e->f, .y = y, .z = z };
  for (int i = 0; i < 2; i++)
    cx_unpack(step(&env, sum, example(x, i)), &sum, &out[i]);
  return cx_tuple(sum, stacked(2, out));
}

/* -- stacks --------------------------------------------------------------- */

static cx_fn put_on(cx_fn f, char letter, bool plain) {
  switch (letter) {
  case 'G':
    return CX_BIND(gradient, .f = f);
  case 'T':
    return CX_BIND(forward, .f = f);
  case 'V':
    return plain ? CX_BIND(looped_x, .f = f) : CX_BIND(mapped_x, .f = f);
  case 'W':
    return plain ? CX_BIND(looped, .f = f) : CX_BIND(mapped, .f = f);
  case 'S':
    return plain ? CX_BIND(unrolled, .f = f) : CX_BIND(scanned, .f = f);
  case 'J':
    return plain ? f : cx_jit(f);
  default:
    return plain ? f : cx_checkpoint(f);
  }
}

cx_fn stack_make(cx_fn f, const char *stack, const char *plain) {
  for (size_t i = strlen(stack); i-- > 0;)
    f = put_on(f, stack[i], strchr(plain, stack[i]) != NULL);
  return f;
}

bool stack_splits_sums(const char *stack) {
  const char *c = strrchr(stack, 'C');
  int derivatives = 0;
  for (; c && stack < c; stack++) derivatives += *stack == 'G';
  return derivatives > 1;
}

/* -- snapshots ------------------------------------------------------------ */

static size_t bytes_of(cx_dtype type) {
  static const size_t sizes[] = { 0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8 };
  return sizes[type];
}

snapshot snapshot_of(cx tree) {
  snapshot s = { 0 };
  if (!cx_ok()) return s;
  const int n = cx_leaf_count(tree);
  s.leaves = calloc((size_t)n + 1, sizeof *s.leaves);
  for (int i = 0; i < n; i++) {
    cx a = cx_leaf(tree, i);
    s.leaves[i].type = cx_type(a);
    s.leaves[i].at = s.n_bytes;
    s.leaves[i].count = cx_size(a);
    s.n_bytes += (size_t)cx_size(a) * bytes_of(cx_type(a));
  }
  s.n_leaves = n;
  s.bytes = calloc(s.n_bytes + 1, 1);
  s.types = strdup(cx_show(tree));
  for (int i = 0; i < n; i++) {
    const void *data = cx_data(cx_leaf(tree, i));
    const size_t bytes = (size_t)s.leaves[i].count * bytes_of(s.leaves[i].type);
    if (bytes && data) memcpy(s.bytes + s.leaves[i].at, data, bytes);
  }
  if (!cx_ok()) snapshot_free(&s);
  return s;
}

void snapshot_free(snapshot *s) {
  free(s->types);
  free(s->bytes);
  free(s->leaves);
  *s = (snapshot){ 0 };
}

static double number_at(const snapshot *s, int leaf, int64_t i) {
  const unsigned char *p = s->bytes + s->leaves[leaf].at;
  switch (s->leaves[leaf].type) {
  case CX_F32: {
    float f;
    memcpy(&f, p + 4 * i, 4);
    return f;
  }
  case CX_F64: {
    double d;
    memcpy(&d, p + 8 * i, 8);
    return d;
  }
  case CX_I32: {
    int32_t n;
    memcpy(&n, p + 4 * i, 4);
    return n;
  }
  case CX_F16:
  case CX_BF16: {
    uint16_t bits;
    memcpy(&bits, p + 2 * i, 2);
    return s->leaves[leaf].type == CX_F16 ? cxi_f16_to_f32(bits)
                                          : cxi_bf16_to_f32(bits);
  }
  default:
    return p[(size_t)i * bytes_of(s->leaves[leaf].type)];
  }
}

static uint64_t bits_at(const snapshot *s, int leaf, int64_t i) {
  const size_t size = bytes_of(s->leaves[leaf].type);
  uint64_t bits = 0;
  memcpy(&bits, s->bytes + s->leaves[leaf].at + (size_t)i * size, size);
  return bits;
}

static bool near(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= tolerance * (1 + fabs(a));
}

const char *snapshot_compare(const snapshot *a, const snapshot *b,
                             double tolerance) {
  static char text[640];
  if (!a->types || !b->types) return a->types == b->types ? NULL : "one failed";
  if (strcmp(a->types, b->types) != 0) {
    snprintf(text, sizeof text, "types differ: %.200s and %.200s", a->types,
             b->types);
    return text;
  }
  for (int k = 0; k < a->n_leaves; k++) {
    const cx_dtype type = a->leaves[k].type;
    const bool loose = tolerance > 0 && (type == CX_F32 || type == CX_F64);
    const size_t size = bytes_of(type);
    for (int64_t i = 0; i < a->leaves[k].count; i++) {
      const size_t at = a->leaves[k].at + (size_t)i * size;
      const double u = number_at(a, k, i), v = number_at(b, k, i);
      if (memcmp(a->bytes + at, b->bytes + at, size) == 0) continue;
      if (isnan(u) && isnan(v)) continue;
      if (loose && near(u, v, tolerance)) continue;
      snprintf(text, sizeof text,
               "leaf %d, element %lld: %.17g and %.17g (bits %llx and %llx,"
               " difference %.3g) in %.200s",
               k, (long long)i, u, v, (unsigned long long)bits_at(a, k, i),
               (unsigned long long)bits_at(b, k, i), u - v, a->types);
      return text;
    }
  }
  return NULL;
}

bool snapshot_finite(const snapshot *s) {
  for (int k = 0; k < s->n_leaves; k++)
    for (int64_t i = 0; i < s->leaves[k].count; i++)
      if (!isfinite(number_at(s, k, i))) return false;
  return true;
}

double snapshot_dot(const snapshot *a, const snapshot *b) {
  double sum = 0;
  for (int k = 0; k < a->n_leaves && k < b->n_leaves; k++) {
    if (a->leaves[k].type != CX_F64 && a->leaves[k].type != CX_F32) continue;
    for (int64_t i = 0; i < a->leaves[k].count; i++)
      sum += number_at(a, k, i) * number_at(b, k, i);
  }
  return sum;
}
