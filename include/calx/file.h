/* file.h - reading and writing trees. */
#ifndef CALX_FILE_H
#define CALX_FILE_H

#include "calx/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 21. Files ------------------------------------------------------------
 * The suffix decides: .safetensors, .npz (NumPy's archive), .npy (one array,
 * not a tree); to read also .index.json, which names several .safetensors.
 * Dotted names become nested dicts. NumPy has no bf16 and no keys. Its files
 * are read in either order of bytes and of axes; objects (pickles), records
 * and what else has no dtype here are CX_EDTYPE, anything unsound is CX_EIO,
 * also an archive that grows more than 256 times beyond a GiB.
 */
#define cx_load(path) cx_load_((path), CX_AT)
/* Written under another name, then renamed; false after an error, and the file
 * is as it was. */
#define cx_save(path, tree) cx_save_((path), (tree), CX_AT)
CX_API CX_USED cx cx_load_(const char *path, const char *at);
CX_API bool cx_save_(const char *path, cx tree, const char *at);
/* A line for each array of a file: its name, dtype, shape, bytes. Any dtype of
 * the format is shown; "" after an error. Lives until the scope ends. */
#define cx_inspect(path) cx_inspect_((path), CX_AT)
CX_API const char *cx_inspect_(const char *path, const char *at);
/* Renames paths: the first pattern that matches, with one '*', wins; a
 * replacement of NULL drops the leaf. Ends with { NULL, NULL }. */
typedef struct cx_rename {
  const char *from, *to;
} cx_rename;
#define cx_tree_rename(tree, rules) cx_tree_rename_((tree), (rules), CX_AT)
CX_API CX_USED cx cx_tree_rename_(cx tree, const cx_rename *rules,
                                 const char *at);
/* `like`'s structure with the leaves of `tree`, each checked for shape;
 * missing and surplus paths, a line each, go to out_report if not NULL and
 * are CX_ETREE otherwise. */
#define cx_tree_match(like, tree, out_report) \
  cx_tree_match_((like), (tree), (out_report), CX_AT)
CX_API CX_USED cx cx_tree_match_(cx like, cx tree, const char **out_report,
                                const char *at);

#ifdef __cplusplus
}
#endif
#endif
