/* names.c - renaming the paths of a tree; fitting a tree to another's. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/size.h"
#include "calx/file.h"
#include "io/paths.h"
#include "trace/path.h"

/* -- renaming ------------------------------------------------------------- */

/* Whether `pattern`, with at most one '*', is the path; what '*' stands for. */
static bool matches(const char *pattern, const char *path, size_t *from,
                    size_t *bytes) {
  const char *star = strchr(pattern, '*');
  size_t n = strlen(path), before = star ? (size_t)(star - pattern) : 0;
  size_t after = star ? strlen(star + 1) : 0;
  *from = *bytes = 0;
  if (!star) return strcmp(pattern, path) == 0;
  if (before + after > n || memcmp(pattern, path, before) != 0 ||
      memcmp(star + 1, path + n - after, after) != 0)
    return false;
  *from = before, *bytes = n - before - after;
  return true;
}
static char *replaced(const char *to, const char *part, size_t bytes) {
  const char *star = strchr(to, '*');
  size_t n = strlen(to), before = star ? (size_t)(star - to) : n;
  char *text = cxi_alloc(n + bytes + 1);
  if (!text) return NULL;
  memcpy(text, to, before);
  if (star) {
    memcpy(text + before, part, bytes);
    strcpy(text + before + bytes, star + 1);
  } else {
    text[n] = 0;
  }
  return text;
}
/* The new path, allocated; NULL with *dropped, or without memory. */
static char *rename_path(const char *path, const cx_rename *rules,
                         bool *dropped) {
  size_t from, bytes;
  *dropped = false;
  for (; rules->from; rules++) {
    if (!matches(rules->from, path, &from, &bytes)) continue;
    *dropped = rules->to == NULL;
    return *dropped ? NULL : replaced(rules->to, path + from, bytes);
  }
  return cxi_copy_string(path);
}
static cx rename_tree(cx tree, const cx_rename *rules) {
  if (cxi_is_poison(tree)) return tree;
  if (!rules) return cx_fail_(NULL, CX_EUSER, "tree_rename: no rules");
  int n = cx_leaf_count(tree);
  cxi_path_leaf *list = cxi_alloc_zeroed((size_t)n + 1, sizeof *list);
  uint32_t kept = 0;
  bool ok = list != NULL;
  for (int i = 0; ok && i < n; i++) {
    bool dropped = false;
    const char *old = cxi_leaf_path(tree, i);
    char *path = old ? rename_path(old, rules, &dropped) : NULL;
    ok = path || dropped;
    if (path) list[kept++] = (cxi_path_leaf){ path, cx_leaf_(tree, i, NULL) };
  }
  cx result = ok ? cxi_tree_of_paths("tree_rename", kept, list)
                 : cx_fail_(NULL, CX_EMEMORY, "tree_rename: out of memory");
  for (uint32_t i = 0; i < kept; i++) cxi_free((char *)list[i].path);
  cxi_free(list);
  return result;
}
cx cx_tree_rename_(cx tree, const cx_rename *rules, const char *at) {
  cxi_name before = cxi_site_use(cxi_name_of_static(at));
  cx result = rename_tree(tree, rules);
  cxi_site_use(before);
  return result;
}

/* -- matching ------------------------------------------------------------- */

static void line(cxi_bytes *text, const char *what, const char *path,
                 const char *more) {
  cxi_bytes_add(text, what, strlen(what));
  cxi_bytes_add(text, path, strlen(path));
  cxi_bytes_add(text, more, strlen(more));
  cxi_bytes_add(text, "\n", 1);
}
/* The leaf of `tree` for each of `like`; false for one of another type. */
static bool match_leaves(cx like, cx tree, int n, cx *out, cxi_bytes *report,
                         int *missing) {
  for (int i = 0; i < n; i++) {
    const char *path = cxi_leaf_path(like, i);
    cx want = cx_leaf_(like, i, NULL);
    out[i] = want;
    if (!path) return false;
    if (!cx_has(tree, "%s", path)) {
      line(report, "missing: ", path, "");
      (*missing)++;
      continue;
    }
    out[i] = cx_get_(NULL, tree, "%s", path);
    if (cxi_is_poison(out[i])) return false;
    if (!cxi_item_is_leaf(cxi_item_peek(out[i]))) {
      cx_fail_(NULL, CX_ETREE, "tree_match: \"%s\" is %s, wanted %s", path,
               cx_show(out[i]), cx_show(want));
      return false;
    }
    cx_dims a = cx_shape_(want, NULL), b = cx_shape_(out[i], NULL);
    if (cxi_dims_equal(&a, &b)) continue;
    char shown[128];
    strncpy(shown, cx_show(want), sizeof shown - 1)[sizeof shown - 1] = 0;
    cx_fail_(NULL, CX_ESHAPE, "tree_match: \"%s\" is %s, wanted %s", path,
             cx_show(out[i]), shown);
    return false;
  }
  return true;
}
static cx match(cx like, cx tree, const char **out_report) {
  if (cxi_is_poison(like) || cxi_is_poison(tree))
    return cxi_is_poison(like) ? like : tree;
  int n = cx_leaf_count(like), m = cx_leaf_count(tree), missing = 0,
      surplus = 0;
  cxi_bytes report = { 0 };
  cx *leaves = cxi_alloc_zeroed((size_t)n + 1, sizeof *leaves), result;
  if (out_report) *out_report = NULL;
  if (!leaves) return cx_fail_(NULL, CX_EMEMORY, "tree_match: out of memory");
  bool ok = match_leaves(like, tree, n, leaves, &report, &missing);
  for (int i = 0; ok && i < m; i++) {
    const char *path = cxi_leaf_path(tree, i);
    if (!(ok = path != NULL)) break;
    if (cx_has(like, "%s", path)) continue;
    line(&report, "surplus: ", path, "");
    surplus++;
  }
  cxi_bytes_add(&report, "", 1);
  const char *text = report.failed ? "" : (const char *)report.data;
  if (!ok)
    result = cxi_poison_last();
  else if (report.failed)
    result = cx_fail_(NULL, CX_EMEMORY, "tree_match: out of memory");
  else if ((missing || surplus) && !out_report) /* without the last "\n" */
    result =
        cx_fail_(NULL, CX_ETREE, "tree_match: %d missing, %d too many\n%.*s",
                 missing, surplus, (int)strlen(text) - 1, text);
  else
    result = cx_unflatten_(NULL, like, n, leaves);
  if (ok && out_report && (missing || surplus)) *out_report = cxi_string(text);
  cxi_bytes_free(&report);
  cxi_free(leaves);
  return result;
}
cx cx_tree_match_(cx like, cx tree, const char **out_report, const char *at) {
  cxi_name before = cxi_site_use(cxi_name_of_static(at));
  cx result = match(like, tree, out_report);
  cxi_site_use(before);
  return result;
}
