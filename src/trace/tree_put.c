/* tree_put.c - cx_put: a tree with one leaf more, or another one.
 *
 * The nodes along the path are copied, all else is shared. A large dict would
 * make n puts quadratic in time and memory; there the result is left
 * unfinished: a small node of the latest entries on a base. It is merged when
 * it is looked at, or once it holds many entries. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "calx/tree.h"
#include "ops/ops.h"
#include "trace/path.h"

enum { LARGE = 64, PENDING = 64 };

/* -- unfinished dicts ----------------------------------------------------- */

static int64_t find_pending(const cxi_tree *t, cxi_name name) {
  for (uint32_t i = 0; i < t->n; i++)
    if (t->names[i] == name) return i;
  return -1;
}

cxi_tree *cxi_tree_merge(const cxi_tree *t) {
  const cxi_tree *base = t->base;
  uint32_t n_new = 0;
  for (uint32_t i = 0; i < t->n; i++)
    n_new += cxi_tree_find(base, t->names[i]) < 0;
  cxi_tree *merged = cxi_tree_make(base->n + n_new, true);
  if (!merged) return NULL;
  memcpy(merged->names, base->names, base->n * sizeof *base->names);
  memcpy(merged->items, base->items, base->n * sizeof *base->items);
  uint32_t at = base->n;
  for (uint32_t i = 0; i < t->n; i++) {
    const int64_t place = cxi_tree_find(base, t->names[i]);
    const uint32_t to = place < 0 ? at++ : (uint32_t)place;
    merged->names[to] = t->names[i];
    merged->items[to] = t->items[i];
  }
  for (uint32_t i = 0; i < merged->n; i++) cxi_item_retain(merged->items[i]);
  cxi_name unused;
  if (cxi_tree_finish(merged, &unused) == CXI_TREE_GOOD) return merged;
  cxi_tree_release(merged);
  return NULL;
}

/* A small node on a large base: the pending entries of `from`, if it is
 * unfinished itself, and one more. Takes `value`. NULL without memory. */
static cxi_tree *dict_pending(cxi_tree *from, cxi_name name, cxi_item value) {
  const uint32_t n = from->base ? from->n : 0;
  const int64_t again = from->base ? find_pending(from, name) : -1;
  cxi_tree *base = from->base ? from->base : from;
  cxi_tree *t = cxi_tree_make(n + (again < 0), true);
  if (!t) {
    cxi_item_release(value);
    return NULL;
  }
  t->base = base;
  __atomic_add_fetch(&base->refs, 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < n; i++) {
    t->names[i] = from->names[i];
    if (i != again) t->items[i] = cxi_item_retain(from->items[i]);
  }
  const uint32_t at = again < 0 ? n : (uint32_t)again;
  t->names[at] = name;
  t->items[at] = value;
  return t;
}

/* -- finished dicts and tuples -------------------------------------------- */

/* A node with one more or one other entry. Takes `value`. */
static cxi_tree *node_with(const cxi_tree *from, int64_t place, cxi_name name,
                           cxi_item value) {
  const uint32_t n = from ? from->n : 0;
  cxi_tree *t = cxi_tree_make(n + (place < 0), !from || from->is_dict);
  if (!t) {
    cxi_item_release(value);
    return NULL;
  }
  const uint32_t at = place < 0 ? n : (uint32_t)place;
  for (uint32_t i = 0; i < n; i++) {
    if (i != at) t->items[i] = cxi_item_retain(from->items[i]);
    if (t->is_dict) t->names[i] = from->names[i];
  }
  t->items[at] = value;
  if (t->is_dict) t->names[at] = name;
  return t;
}

/* -- along the path ------------------------------------------------------- */

typedef struct put {
  cxi_item value; /* taken */
  cx poison;
  const char *path;
} put;

static cxi_item put_at(put *p, cxi_item tree, const char *path);

/* The number that names an item of a tuple; -1 after failing. */
static int64_t tuple_place(put *p, const cxi_tree *t, const char *part,
                           size_t length) {
  char *end;
  const long i = part[0] >= '0' && part[0] <= '9' && length < 10
                     ? strtol(part, &end, 10)
                     : -1;
  if (i >= 0 && end == part + length && (uint32_t)i < t->n) return i;
  p->poison =
      cxi_reportf(CX_ETREE, "put: \"%s\": a tuple of %u has no item \"%.*s\"",
                  p->path, t->n, (int)length, part);
  return -1;
}

/* What stands under a key now; none if nothing does. */
static cxi_item child_of(const cxi_tree *t, cxi_name name, int64_t *place) {
  *place = -1;
  if (!t) return (cxi_item){ .kind = CXI_ITEM_NONE };
  if (t->base) {
    const int64_t pending = find_pending(t, name);
    if (pending >= 0) return t->items[pending];
    t = t->base;
  }
  *place = cxi_tree_find(t, name);
  if (*place >= 0) return t->items[*place];
  return (cxi_item){ .kind = CXI_ITEM_NONE };
}

/* Only the root may be left unfinished: it is looked at through its handle. */
static cxi_tree *put_entry(cxi_tree *t, bool is_root, int64_t place,
                           cxi_name name, cxi_item item,
                           cxi_tree_fault *out_fault) {
  cxi_name unused;
  *out_fault = CXI_TREE_MEMORY;
  if (!is_root || !t || !t->is_dict || (!t->base && t->n < LARGE)) {
    cxi_tree *made = node_with(t, place, name, item);
    if (made) *out_fault = cxi_tree_finish(made, &unused);
    return made;
  }
  cxi_tree *made = dict_pending(t, name, item);
  if (made) *out_fault = CXI_TREE_GOOD;
  if (!made || made->n <= PENDING) return made;
  cxi_tree *merged = cxi_tree_merge(made);
  cxi_tree_release(made);
  if (!merged) *out_fault = CXI_TREE_MEMORY;
  return merged;
}

/* The item under the first part of the path, with the rest put into it. */
static cxi_item put_part(put *p, cxi_tree *t, const char *path) {
  const size_t length = strcspn(path, ".");
  const cxi_name name = cxi_name_of_n(path, length);
  const bool is_root = path == p->path;
  int64_t place;
  cxi_item child = child_of(t, name, &place);
  if (t && !t->is_dict) {
    place = tuple_place(p, t, path, length);
    if (place < 0) return child;
    child = t->items[place];
  }
  const cxi_item item = put_at(p, child, path + length + (path[length] == '.'));
  if (p->poison.generation) return item;
  cxi_tree_fault fault;
  cxi_tree *made = put_entry(t, is_root, place, name, item, &fault);
  if (fault == CXI_TREE_GOOD)
    return (cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = made };
  cxi_tree_release(made);
  p->poison = cxi_tree_report("put", fault, 0);
  return child;
}

static cxi_item put_at(put *p, cxi_item tree, const char *path) {
  if (!*path) {
    const cxi_item value = p->value;
    p->value.kind = CXI_ITEM_NONE;
    return value;
  }
  if (tree.kind == CXI_ITEM_NONE) return put_part(p, NULL, path);
  if (tree.kind == CXI_ITEM_TREE) return put_part(p, tree.as.tree, path);
  p->poison =
      cxi_reportf(CX_ETREE, "put: \"%s\" leads through an array", p->path);
  return tree;
}

static bool is_path(const char *path) {
  return *path && *path != '.' && !strstr(path, "..") &&
         path[strlen(path) - 1] != '.';
}

static cx put_path(cx tree, cx value, const char *path) {
  put p = { .path = path };
  uint32_t parts = 1;
  for (const char *c = path; *c; c++) parts += *c == '.';
  if (!is_path(path))
    return cxi_reportf(CX_ETREE, "put: \"%s\" is no path", path);
  if (parts > CXI_TREE_DEPTH_MOST)
    return cxi_tree_report("put", CXI_TREE_DEEP, 0);
  if (!cxi_tree_entry("put", value, &p.value, &p.poison)) return p.poison;
  const cxi_item item = cxi_item_unfinished(tree);
  if (item.kind == CXI_ITEM_POISON) return item.as.handle;
  cxi_item_retain(p.value);
  const cxi_item made = put_at(&p, item, path);
  cxi_item_release(p.value);
  return p.poison.generation ? p.poison : cxi_handle(made);
}

cx cx_put_(const char *at, cx tree, cx value, const char *format, ...) {
  char few[256];
  va_list arguments;
  va_start(arguments, format);
  char *path = cxi_path_print(few, format, arguments);
  va_end(arguments);
  const cxi_name before = cxi_enter(at);
  const cx result = path ? put_path(tree, value, path) : cxi_report_memory();
  if (path != few) cxi_free(path);
  return cxi_leave(before, result);
}
