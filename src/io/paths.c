/* paths.c - builds a tree from the bottom, one dict per folder. */
#include "io/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "calx/context.h"

enum { MAX_NAMES = 64 };

/* A dot sorts before everything, so that a folder's leaves stand together. */
static int compare_paths(const char *a, const char *b) {
  for (; *a && *a == *b; a++, b++) continue;
  int x = *a == 0 ? 0 : *a == '.' ? 1 : 2 + (unsigned char)*a;
  int y = *b == 0 ? 0 : *b == '.' ? 1 : 2 + (unsigned char)*b;
  return x - y;
}
static int by_path(const void *a, const void *b) {
  const cxi_path_leaf *x = a, *y = b;
  return compare_paths(x->path, y->path);
}

/* What is being built: a stack of folders, each with the entries it has. */
typedef struct folder {
  uint32_t first; /* its first entry */
} folder;
typedef struct builder {
  folder folders[MAX_NAMES + 1];
  int depth; /* folders open below the root */
  cx_entry *entries;
  char **names; /* of the entries; owned */
  uint32_t n;
} builder;

static size_t name_bytes(const char *s) {
  const char *dot = strchr(s, '.');
  return dot ? (size_t)(dot - s) : strlen(s);
}
static cx close_folder(builder *b) {
  uint32_t first = b->folders[b->depth--].first;
  cx dict = cx_dict_((int)(b->n - first), b->entries + first, NULL);
  while (b->n > first) cxi_free(b->names[--b->n]);
  return dict;
}
/* Closes folders until `depth` are open; each becomes the value of the entry
 * that opened it. */
static void close_to(builder *b, int depth) {
  while (b->depth > depth) {
    cx dict = close_folder(b);
    b->entries[b->n - 1].value = dict;
  }
}
static bool add_entry(builder *b, const char *name, size_t bytes, cx value) {
  char *copy = cxi_alloc(bytes + 1);
  if (!copy) return false;
  memcpy(copy, name, bytes), copy[bytes] = 0;
  b->names[b->n] = copy;
  b->entries[b->n++] = (cx_entry){ copy, value };
  return true;
}
/* How many names the path shares with the open folders. */
static int shared_names(const builder *b, const char *path, const char **rest) {
  int depth = 0;
  while (depth < b->depth) {
    const char *open = b->names[b->folders[depth + 1].first - 1];
    size_t n = name_bytes(path);
    if (path[n] != '.' || strlen(open) != n || memcmp(open, path, n) != 0)
      break;
    path += n + 1, depth++;
  }
  *rest = path;
  return depth;
}
static bool add_leaf(builder *b, const char *what, const cxi_path_leaf *leaf) {
  const char *rest;
  close_to(b, shared_names(b, leaf->path, &rest));
  for (;;) {
    size_t n = name_bytes(rest);
    bool last = rest[n] == 0;
    uint32_t first = b->folders[b->depth].first;
    if (n == 0 || (!last && b->depth == MAX_NAMES)) {
      cx_fail_(NULL, CX_ETREE, "%s: \"%s\" is no path", what, leaf->path);
      return false;
    }
    if (b->n > first && strlen(b->names[b->n - 1]) == n &&
        memcmp(b->names[b->n - 1], rest, n) == 0) {
      cx_fail_(NULL, CX_ETREE,
               last ? "%s: \"%s\" is there twice"
                    : "%s: \"%s\": a name before the end is an array",
               what, leaf->path);
      return false;
    }
    if (!add_entry(b, rest, n, last ? leaf->leaf : cx_none())) {
      cx_fail_(NULL, CX_EMEMORY, "%s: out of memory", what);
      return false;
    }
    if (last) return true;
    b->folders[++b->depth].first = b->n;
    rest += n + 1;
  }
}
cx cxi_tree_of_paths(const char *what, uint32_t n, cxi_path_leaf *leaves) {
  builder b = { .depth = 0 };
  size_t room = (size_t)n + MAX_NAMES + 2;
  cx result = cx_none();
  b.entries = cxi_alloc_zeroed(room, sizeof *b.entries);
  b.names = cxi_alloc_zeroed(room, sizeof *b.names);
  bool ok = b.entries && b.names;
  if (!ok) result = cx_fail_(NULL, CX_EMEMORY, "%s: out of memory", what);
  if (ok && n) qsort(leaves, n, sizeof *leaves, by_path);
  for (uint32_t i = 0; ok && i < n; i++)
    if (!add_leaf(&b, what, &leaves[i])) ok = false, result = (cx){ 0, 1 };
  if (ok) {
    close_to(&b, 0);
    result = cx_dict_((int)b.n, b.entries, NULL);
  }
  for (uint32_t i = 0; b.names && i < b.n; i++) cxi_free(b.names[i]);
  cxi_free(b.entries), cxi_free(b.names);
  return result;
}
