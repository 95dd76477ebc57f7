/* file.h - reading and writing trees. */
#ifndef CALX_FILE_H
#define CALX_FILE_H

#include "calx/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 21. Files ------------------------------------------------------------
 * The suffix decides: .safetensors; to read also .index.json, which names
 * several of them. Dotted names become nested dicts.
 */
CX_API CX_USED cx cx_load(const char *path);
/* Written under another name, then renamed; false after an error, and the file
 * is as it was. */
CX_API bool cx_save(const char *path, cx tree);
/* A line for each array of a file: its name, dtype, shape, bytes. Any dtype of
 * the format is shown; "" after an error. Lives until the scope ends. */
CX_API const char *cx_inspect(const char *path);
/* Renames paths: the first pattern that matches, with one '*', wins; a
 * replacement of NULL drops the leaf. Ends with { NULL, NULL }. */
typedef struct cx_rename {
  const char *from, *to;
} cx_rename;
CX_API CX_USED cx cx_tree_rename(cx tree, const cx_rename *rules);
/* `like`'s structure with the leaves of `tree`, each checked for shape;
 * missing and surplus paths, a line each, go to out_report if not NULL and
 * are CX_ETREE otherwise. */
CX_API CX_USED cx cx_tree_match(cx like, cx tree, const char **out_report);

#ifdef __cplusplus
}
#endif
#endif
