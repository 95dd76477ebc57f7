/* file.h - reading and writing trees. */
#ifndef CALX_FILE_H
#define CALX_FILE_H

#include "calx/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 21. Files: the suffix decides (.safetensors .npz .bin .msgpack) ----- */
CX_API CX_USED cx cx_load(const char *path);
CX_API bool cx_save(const char *path, cx tree);     /* written, then renamed */
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
