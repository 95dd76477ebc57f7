/* tree_map.c - operations on corresponding leaves of trees. */
#include "trace/tree_map.h"

#include <stdio.h>

#include "base/alloc.h"
#include "ops/ops.h"
#include "trace/path.h"

bool cxi_is_tree(cx a) {
  const cxi_item item = cxi_item_peek(a);
  return item.kind == CXI_ITEM_TREE || item.kind == CXI_ITEM_NONE;
}

typedef struct map {
  const char *name;
  bool strict;
  int n;
  cxi_leaf_op *op;
  void *user;
  const cxi_item *roots;
  cx poison;
} map;

/* The first operand that is a tree here; -1: none is. */
static int first_tree(const map *m, const cxi_item *at) {
  for (int i = 0; i < m->n; i++)
    if (at[i].kind == CXI_ITEM_TREE || at[i].kind == CXI_ITEM_NONE) return i;
  return -1;
}

static cx leaf_handle(cxi_item item) {
  return cxi_handle(cxi_item_retain(item));
}

static cxi_item map_leaves(map *m, const cxi_item *at) {
  cx few[8] = { { 0, 0 } }, *leaves = few;
  const cxi_item failed = { .kind = CXI_ITEM_NONE };
  if (m->n > 8 && !(leaves = cxi_alloc((size_t)m->n * sizeof *leaves))) {
    m->poison = cxi_report_memory();
    return failed;
  }
  for (int i = 0; i < m->n; i++) leaves[i] = leaf_handle(at[i]);
  const cx result = m->op(leaves, m->user);
  if (leaves != few) cxi_free(leaves);
  const cxi_item item = cxi_number_strong(cxi_item_of(result));
  if (item.kind != CXI_ITEM_POISON) return cxi_item_retain(item);
  m->poison = item.as.handle;
  return failed;
}

static bool same_node(cxi_item a, cxi_item b) {
  if (a.kind != b.kind) return false;
  if (a.kind == CXI_ITEM_NONE) return true;
  const cxi_tree *s = a.as.tree, *t = b.as.tree;
  if (s->n != t->n || s->is_dict != t->is_dict) return false;
  for (uint32_t i = 0; s->is_dict && i < s->n; i++)
    if (s->names[i] != t->names[i]) return false;
  return true;
}

static void describe(char *out, size_t room, cxi_item a) {
  const cxi_sig sig = cxi_sig_of(a);
  out[0] = 0;
  if (sig) cxi_sig_print(out, room, sig);
}

/* Structures agree, and under `strict` no operand is an array beside trees. */
static bool check_node(map *m, const cxi_item *at, int first) {
  for (int i = 0; i < m->n; i++) {
    const bool tree =
        at[i].kind == CXI_ITEM_TREE || at[i].kind == CXI_ITEM_NONE;
    /* an operand that is an array from the root on goes with every leaf */
    const bool everywhere = !m->strict && cxi_item_is_leaf(m->roots[i]);
    if (tree ? same_node(at[first], at[i]) : everywhere) continue;
    char a[120], b[120];
    describe(a, sizeof a, at[first]);
    describe(b, sizeof b, at[i]);
    m->poison =
        cxi_reportf(CX_ETREE, "%s: the trees differ: %s and %s", m->name, a, b);
    return false;
  }
  return true;
}

static cxi_item map_node(map *m, const cxi_item *at) {
  const cxi_item failed = { .kind = CXI_ITEM_NONE };
  const int first = first_tree(m, at);
  if (first < 0) return map_leaves(m, at);
  if (!check_node(m, at, first)) return failed;
  if (at[first].kind == CXI_ITEM_NONE) return failed; /* none of none */
  const cxi_tree *like = at[first].as.tree;
  cxi_tree *t = cxi_tree_make(like->n, like->is_dict);
  cxi_item few[8], *below = few;
  if (m->n > 8) below = cxi_alloc((size_t)m->n * sizeof *below);
  if (!t || !below) {
    cxi_tree_release(t);
    if (below != few) cxi_free(below);
    m->poison = cxi_report_memory();
    return failed;
  }
  for (uint32_t i = 0; i < like->n && !m->poison.generation; i++) {
    for (int k = 0; k < m->n; k++)
      below[k] = at[k].kind == CXI_ITEM_TREE ? at[k].as.tree->items[i] : at[k];
    t->items[i] = map_node(m, below);
    if (t->is_dict) t->names[i] = like->names[i];
  }
  if (below != few) cxi_free(below);
  cxi_name unused;
  if (!m->poison.generation) cxi_tree_finish(t, &unused);
  return (cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = t };
}

cx cxi_tree_map(const char *name, bool strict, int n, const cx *operands,
                cxi_leaf_op *op, void *user) {
  cxi_item few[8], *items = few;
  bool any = false;
  if (n > 8 && !(items = cxi_alloc((size_t)n * sizeof *items)))
    return cxi_report_memory();
  map m = { .name = name,
            .strict = strict,
            .n = n,
            .op = op,
            .user = user,
            .roots = items };
  for (int i = 0; i < n; i++) {
    items[i] = cxi_item_for(name, operands[i]);
    any |= items[i].kind == CXI_ITEM_TREE;
    if (items[i].kind == CXI_ITEM_POISON && !m.poison.generation)
      m.poison = items[i].as.handle;
  }
  /* Poison within goes to op as it is, which passes it on. */
  if (!any || m.poison.generation) {
    if (items != few) cxi_free(items);
    return any ? m.poison : op(operands, user);
  }
  const cxi_item made = map_node(&m, items);
  if (items != few) cxi_free(items);
  if (!m.poison.generation) return cxi_handle(made);
  cxi_item_release(made);
  return m.poison;
}
