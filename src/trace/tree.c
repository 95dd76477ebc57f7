/* tree.c - tuples and dicts: made, taken apart, changed by path. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "calx/tree.h"
#include "ops/ops.h"
#include "trace/context.h"
#include "trace/path.h"

/* -- making --------------------------------------------------------------- */

bool cxi_tree_entry(const char *what, cx a, cxi_item *out, cx *out_poison) {
  *out = cxi_number_strong(cxi_item_for(what, a));
  if (out->kind == CXI_ITEM_POISON) {
    *out_poison = out->as.handle;
    return false;
  }
  if (out->kind != CXI_ITEM_NOTHING) return true;
  *out_poison = cxi_reportf(CX_ETREE, "%s: an item is not given ({0})", what);
  return false;
}

cx cxi_tree_report(const char *what, cxi_tree_fault fault, cxi_name name) {
  if (fault == CXI_TREE_TWICE)
    return cxi_reportf(CX_ETREE, "%s: the key \"%s\" stands twice", what,
                       cxi_name_text(name));
  if (fault == CXI_TREE_DEEP)
    return cxi_reportf(CX_ETREE, "%s: a tree deeper than %d levels", what,
                       CXI_TREE_DEPTH_MOST);
  return cxi_report_memory();
}

/* Takes t, whose items are filled in. */
static cx finish(const char *what, cxi_tree *t) {
  cxi_name name = 0;
  const cxi_tree_fault fault = cxi_tree_finish(t, &name);
  if (fault == CXI_TREE_GOOD)
    return cxi_handle((cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = t });
  cxi_tree_release(t);
  return cxi_tree_report(what, fault, name);
}

cx cx_tuple_(int n, const cx *items, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison = { 0, 0 };
  if (!cxi_list_given("tuple", n, items, &poison))
    return cxi_leave(before, poison);
  cxi_tree *t = cxi_tree_make((uint32_t)n, false);
  if (!t) return cxi_leave(before, cxi_report_memory());
  for (int i = 0; i < n; i++) {
    if (!cxi_tree_entry("tuple", items[i], &t->items[i], &poison)) break;
    cxi_item_retain(t->items[i]);
  }
  if (!poison.generation) return cxi_leave(before, finish("tuple", t));
  cxi_tree_release(t);
  return cxi_leave(before, poison);
}

cx cx_dict_(int n, const cx_entry *entries, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison = { 0, 0 };
  if (!cxi_list_given("dict", n, entries, &poison))
    return cxi_leave(before, poison);
  cxi_tree *t = cxi_tree_make((uint32_t)n, true);
  if (!t) return cxi_leave(before, cxi_report_memory());
  for (int i = 0; i < n && !poison.generation; i++) {
    const char *name = entries[i].name;
    if (!name || !*name || strchr(name, '.'))
      poison = cxi_reportf(CX_ETREE,
                           "dict: \"%s\" is no key (not empty,"
                           " without dots)",
                           name ? name : "");
    else if (cxi_tree_entry("dict", entries[i].value, &t->items[i], &poison))
      cxi_item_retain(t->items[i]);
    if (!poison.generation) t->names[i] = cxi_name_of(name);
  }
  if (!poison.generation) return cxi_leave(before, finish("dict", t));
  cxi_tree_release(t);
  return cxi_leave(before, poison);
}

/* -- taking apart --------------------------------------------------------- */

static cx retained(cxi_item item) {
  return cxi_handle(cxi_item_retain(item));
}

static cx no_tree(const char *what, cx a) {
  return cxi_reportf(CX_ETREE, "%s: this is %s, not a tree", what, cx_show(a));
}

/* The tree behind a handle, or poison after reporting. */
static const cxi_tree *tree_of(const char *what, cx a, cx *out_poison) {
  const cxi_item item = cxi_item_for(what, a);
  if (item.kind == CXI_ITEM_TREE) return item.as.tree;
  *out_poison =
      item.kind == CXI_ITEM_POISON ? item.as.handle : no_tree(what, a);
  return NULL;
}

cx cx_nth_(cx tree, int i, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx result = { 0, 0 };
  const cxi_tree *t = tree_of("nth", tree, &result);
  if (t) {
    const int64_t k = i < 0 ? (int64_t)i + t->n : i;
    result =
        k >= 0 && k < t->n
            ? retained(t->items[k])
            : cxi_reportf(CX_EINDEX, "nth: item %d of a tree of %u", i, t->n);
  }
  return cxi_leave(before, result);
}

cx cx_get_(const char *at, cx tree, const char *format, ...) {
  char few[256];
  va_list arguments;
  va_start(arguments, format);
  char *path = cxi_path_print(few, format, arguments);
  va_end(arguments);
  const cxi_name before = cxi_enter(at);
  const cxi_item item = cxi_item_for("get", tree);
  cxi_item found;
  cx result;
  if (!path)
    result = cxi_report_memory();
  else if (item.kind == CXI_ITEM_POISON)
    result = item.as.handle;
  else if (cxi_path_find(item, path, &found))
    result = retained(found);
  else if (item.kind != CXI_ITEM_TREE)
    result = no_tree("get", tree);
  else
    result = cxi_reportf(CX_ETREE, "no parameter named \"%s\"%s", path,
                         cxi_path_nearest(item, path).text);
  if (path != few) cxi_free(path);
  return cxi_leave(before, result);
}

bool cx_has(cx tree, const char *format, ...) {
  char few[256];
  va_list arguments;
  va_start(arguments, format);
  char *path = cxi_path_print(few, format, arguments);
  va_end(arguments);
  cxi_item found;
  const bool has = path && cxi_path_find(cxi_item_peek(tree), path, &found);
  if (path != few) cxi_free(path);
  return has;
}

void cx_unpack_(cx tree, cx **out, const char *at) {
  const cxi_name before = cxi_enter(at);
  uint32_t n = 0;
  while (out && out[n]) n++;
  cx poison = { 0, 0 };
  const cxi_tree *t = tree_of("unpack", tree, &poison);
  const bool fits = t && t->n == n;
  if (t && !fits)
    poison = cxi_reportf(CX_ETREE, "unpack: a tree of %u into %u", t->n, n);
  for (uint32_t i = 0; i < n; i++)
    *out[i] = fits ? retained(t->items[i]) : poison;
  cxi_site_use(before);
}

int cx_len(cx tree) {
  const cxi_item item = cxi_item_peek(tree);
  return item.kind == CXI_ITEM_TREE ? (int)item.as.tree->n : 0;
}

int cx_leaf_count(cx tree) {
  return (int)cxi_item_leaves(cxi_item_peek(tree));
}

/* Leaf i; kind NOTHING if there is none. */
static cxi_item leaf_at(cxi_item item, uint32_t i) {
  if (i >= cxi_item_leaves(item)) return (cxi_item){ .kind = CXI_ITEM_NOTHING };
  while (item.kind == CXI_ITEM_TREE) {
    const cxi_item *child = item.as.tree->items;
    while (i >= cxi_item_leaves(*child)) i -= cxi_item_leaves(*child++);
    item = *child;
  }
  return item;
}

cx cx_leaf_(cx tree, int i, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_item item = cxi_item_for("leaf", tree);
  if (item.kind == CXI_ITEM_POISON) return item.as.handle;
  const cxi_item leaf = leaf_at(item, i < 0 ? UINT32_MAX : (uint32_t)i);
  if (leaf.kind != CXI_ITEM_NOTHING) return retained(leaf);
  return cxi_reportf(CX_EINDEX, "leaf: %d of a tree with %u leaves", i,
                     cxi_item_leaves(item));
}

const char *cxi_leaf_path(cx tree, int i) {
  char few[512], *path = few;
  const cxi_item item = cxi_item_peek(tree);
  if (i < 0 || (uint32_t)i >= cxi_item_leaves(item)) return "";
  const int n = cxi_path_of_leaf(few, sizeof few, item, (uint32_t)i);
  if (n >= (int)sizeof few && (path = cxi_alloc((size_t)n + 1)))
    cxi_path_of_leaf(path, (size_t)n + 1, item, (uint32_t)i);
  const char *kept = path ? cxi_string_or_null(path) : NULL;
  if (!path) cxi_report_memory();
  if (path != few) cxi_free(path);
  return kept;
}

const char *cx_leaf_path(cx tree, int i) {
  const char *path = cxi_leaf_path(tree, i);
  return path ? path : "";
}

/* -- another tree --------------------------------------------------------- */

/* `like` with the leaves in order, whatever their types. */
static cxi_item rebuild(cxi_item like, const cxi_item **leaves, bool *failed) {
  if (like.kind != CXI_ITEM_TREE)
    return cxi_item_is_leaf(like) ? cxi_item_retain(*(*leaves)++) : like;
  const cxi_tree *from = like.as.tree;
  cxi_tree *t = cxi_tree_make(from->n, from->is_dict);
  if (!t) {
    *failed = true;
    return (cxi_item){ .kind = CXI_ITEM_NONE };
  }
  cxi_name unused;
  for (uint32_t i = 0; i < from->n; i++) {
    t->items[i] = rebuild(from->items[i], leaves, failed);
    if (from->is_dict) t->names[i] = from->names[i];
  }
  if (cxi_tree_finish(t, &unused) != CXI_TREE_GOOD) *failed = true;
  return (cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = t };
}

cx cx_unflatten_(const char *at, cx like, int n, const cx *leaves) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_item item = cxi_item_for("unflatten", like);
  if (item.kind == CXI_ITEM_POISON) return item.as.handle;
  if (n < 0 || (uint32_t)n != cxi_item_leaves(item))
    return cxi_reportf(CX_ETREE, "unflatten: %d leaves for a tree of %u", n,
                       cxi_item_leaves(item));
  cx poison = { 0, 0 };
  if (!cxi_list_given("unflatten", n, leaves, &poison)) return poison;
  const cxi_mark mark = cxi_scratch_mark();
  cxi_item *items = cxi_scratch((size_t)n * sizeof *items + 1);
  bool given = items != NULL;
  if (!given) poison = cxi_report_memory();
  for (int i = 0; i < n && given; i++)
    given = cxi_tree_entry("unflatten", leaves[i], &items[i], &poison);
  if (given) {
    bool failed = false;
    const cxi_item *next = items;
    const cxi_item made = rebuild(item, &next, &failed);
    if (failed) {
      cxi_item_release(made);
      poison = cxi_report_memory();
    } else {
      cxi_scratch_reset(mark);
      return cxi_handle(made);
    }
  }
  cxi_scratch_reset(mark);
  return poison;
}
