/* path.c - dotted paths in trees, and the nearest name for messages. */
#include "trace/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* -- the nearest name ----------------------------------------------------- */

enum { LONGEST = 96 }; /* letters of a name that are compared */

static int least(int a, int b, int c) {
  const int m = a < b ? a : b;
  return m < c ? m : c;
}

/* Levenshtein's distance: insertions, deletions, changes of a letter. */
static int distance(const char *s, const char *t) {
  const size_t n = strnlen(s, LONGEST), m = strnlen(t, LONGEST);
  int row[LONGEST + 1];
  for (size_t j = 0; j <= m; j++) row[j] = (int)j;
  for (size_t i = 1; i <= n; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= m; j++) {
      const int above = row[j];
      row[j] =
          least(row[j] + 1, row[j - 1] + 1, diagonal + (s[i - 1] != t[j - 1]));
      diagonal = above;
    }
  }
  return row[m];
}

/* The nearest of names that are shown one by one. */
typedef struct nearest {
  const char *name, *best;
  uint32_t n;
  int distance;
} nearest;

static void look_at(nearest *c, const char *other) {
  const int d = distance(c->name, other);
  if (c->n++ && d >= c->distance) return;
  c->distance = d;
  c->best = other;
}

static cxi_nearest_text describe(const nearest *c) {
  cxi_nearest_text out = { "" };
  if (c->n)
    snprintf(out.text, sizeof out.text, " (have %u, nearest \"%s\")", c->n,
             c->best);
  else
    snprintf(out.text, sizeof out.text, " (have 0)");
  return out;
}

cxi_nearest_text cxi_nearest(const cxi_tree *t, const char *name) {
  nearest c = { .name = name };
  for (uint32_t i = 0; t->is_dict && i < t->n; i++)
    look_at(&c, cxi_name_text(t->names[i]));
  return describe(&c);
}

cxi_nearest_text cxi_nearest_field(const cx_rec *rec, const char *name) {
  nearest c = { .name = name };
  for (int i = 0; i < rec->n_fields; i++) look_at(&c, rec->fields[i].name);
  return describe(&c);
}

cxi_nearest_text cxi_path_nearest(cxi_item tree, const char *path) {
  enum { MOST = 4096 }; /* leaves looked at */
  cxi_nearest_text out = { "" };
  const uint32_t n = cxi_item_leaves(tree);
  char best[128] = "", text[128];
  int least_distance = 1 << 20;
  for (uint32_t i = 0; i < n && i < MOST; i++) {
    cxi_path_of_leaf(text, sizeof text, tree, i);
    const int d = distance(path, text);
    if (d >= least_distance) continue;
    least_distance = d;
    memcpy(best, text, sizeof best);
  }
  if (best[0])
    snprintf(out.text, sizeof out.text, " (have %u, nearest \"%s\")", n, best);
  else
    snprintf(out.text, sizeof out.text, " (have %u)", n);
  return out;
}

/* -- paths ---------------------------------------------------------------- */

/* The item of a tuple called `name`, a number; -1: none. */
static int64_t tuple_item(const cxi_tree *t, const char *name, size_t length) {
  char *end;
  if (length == 0 || length > 9 || name[0] < '0' || name[0] > '9') return -1;
  const long i = strtol(name, &end, 10);
  return end == name + length && i < (long)t->n ? i : -1;
}

bool cxi_path_find(cxi_item tree, const char *path, cxi_item *out) {
  while (*path) {
    const size_t length = strcspn(path, ".");
    if (tree.kind != CXI_ITEM_TREE) return false;
    const cxi_tree *t = tree.as.tree;
    const int64_t i = t->is_dict ? cxi_tree_find(t, cxi_name_of_n(path, length))
                                 : tuple_item(t, path, length);
    if (i < 0) return false;
    tree = t->items[i];
    path += length;
    if (*path == '.') path++;
  }
  *out = tree;
  return true;
}

int cxi_path_of_leaf(char *out, size_t room, cxi_item tree, uint32_t leaf) {
  int n = 0;
  if (room) *out = 0;
  while (tree.kind == CXI_ITEM_TREE) {
    const cxi_tree *t = tree.as.tree;
    uint32_t i = 0;
    while (i < t->n && leaf >= cxi_item_leaves(t->items[i]))
      leaf -= cxi_item_leaves(t->items[i++]);
    if (i == t->n) break;
    char number[16];
    snprintf(number, sizeof number, "%u", i);
    const size_t used = (size_t)n < room ? (size_t)n : room;
    n += snprintf(out + used, room - used, "%s%s", n ? "." : "",
                  t->is_dict ? cxi_name_text(t->names[i]) : number);
    tree = t->items[i];
  }
  return n;
}

char *cxi_path_print(char few[256], const char *format, va_list arguments) {
  va_list again;
  if (!format) format = "";
  va_copy(again, arguments);
  const int n = vsnprintf(few, 256, format, arguments);
  char *path = few;
  if (n < 0) few[0] = 0;
  if (n >= 256 && (path = cxi_alloc((size_t)n + 1)))
    vsnprintf(path, (size_t)n + 1, format, again);
  va_end(again);
  return path;
}
