/* tree.h - tuples and dicts of arrays. */
#ifndef CALX_TREE_H
#define CALX_TREE_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 9. Trees ---------------------------------------------------------------
 * Tuples and dicts. "encoder.layer.3.weight" is nested access; a prefix is a
 * subtree. Trees are values: cx_put returns another one.
 */
/* cx_tuple(a, b); cx_tuple() */
#define cx_tuple(...) cx_tuple_(CX_AS_ANY(__VA_ARGS__), CX_AT)
#define cx_tuple_n(n, items) cx_tuple_((n), (items), CX_AT) /* may be 0, NULL */
/* cx_dict("weight", w, "bias", b); cx_dict() */
#define cx_dict(...) \
  cx_dict_(CX_CAT(CX_DICT_, CX_ANY(__VA_ARGS__))(__VA_ARGS__), CX_AT)
#define CX_DICT_0(...) 0, NULL
#define CX_DICT_1_OR_MORE(...)        \
  CX_NARG(__VA_ARGS__) / 2,      \
      (const cx_entry[]){ CX_PAIRS(CX_ENTRY, __VA_ARGS__) }
#define CX_ENTRY(name, value) { (name), CX_A(value) }
typedef struct cx_entry {
  const char *name;
  cx value;
} cx_entry;
CX_API CX_USED cx cx_tuple_(int n, const cx *items, const char *at);
CX_API CX_USED cx cx_dict_(int n, const cx_entry *entries, const char *at);

#define cx_nth(tree, i) cx_nth_((tree), (i), CX_AT) /* item i; -1: the last */
/* cx_get(p, "layer.%d.weight", i); cx_put(p, w, "layer.%d.weight", i), from
 * cx_none() on; cx_has(p, "pooler") */
#define cx_get(...) cx_get_(CX_AT, __VA_ARGS__)
#define cx_put(tree, value, ...) \
  cx_put_(CX_AT, (tree), CX_A(value), __VA_ARGS__)
/* cx_unpack(r, &params, &loss): as many as there are; poison on error. The
 * items of a dict come in the order of their sorted names. */
#define cx_unpack(...) CX_UNPACK_(__VA_ARGS__, NULL)
#define CX_UNPACK_(tree, ...) \
  cx_unpack_((tree), (struct cx *[]){ __VA_ARGS__ }, CX_AT)
CX_API CX_USED cx cx_nth_(cx tree, int i, const char *at);
CX_API CX_USED cx cx_get_(const char *at, cx tree, const char *format, ...)
    CX_PRINTF(3, 4);
CX_API CX_USED cx cx_put_(const char *at, cx tree, cx value, const char *format,
                         ...) CX_PRINTF(4, 5);
CX_API bool cx_has(cx tree, const char *format, ...) CX_PRINTF(2, 3);
CX_API void cx_unpack_(cx tree, cx **out, const char *at);

CX_API int cx_len(cx tree);                         /* items of the top level */
CX_API int cx_leaf_count(cx tree);
#define cx_leaf(tree, i) cx_leaf_((tree), (i), CX_AT)
CX_API CX_USED cx cx_leaf_(cx tree, int i, const char *at);
CX_API const char *cx_leaf_path(cx tree, int i);
/* cx_unflatten(like, n, leaves): the structure of `like` with other leaves */
#define cx_unflatten(...) cx_unflatten_(CX_AT, __VA_ARGS__)
CX_API CX_USED cx cx_unflatten_(const char *at, cx like, int n,
                               const cx *leaves);

/* cx_tree_map(f, trees...): f on corresponding leaves. The ops of section 11
 * map over trees by themselves: cx_sub(params, cx_mul(lr, grads)). */
#define cx_tree_map(...) cx_tree_map_(CX_WITH_SOME(__VA_ARGS__), CX_AT)
#define cx_tree_reduce(f, tree) cx_tree_reduce_((f), (tree), CX_AT)
CX_API CX_USED cx cx_tree_map_(cx_fn f, int n, const cx *trees, const char *at);
CX_API CX_USED cx cx_tree_reduce_(cx_fn f, cx tree, const char *at);
/* tree_stack: n trees -> (n, ...); tree_cast: floating leaves only */
#define cx_tree_stack(items) cx_tree_stack_((items), CX_AT)
#define cx_tree_cast(tree, t) cx_tree_cast_((tree), (t), CX_AT)
#define cx_global_norm(tree) cx_global_norm_((tree), CX_AT)
CX_API CX_USED cx cx_tree_stack_(cx items, const char *at);
CX_API CX_USED cx cx_tree_cast_(cx tree, cx_dtype t, const char *at);
CX_API CX_USED cx cx_global_norm_(cx tree, const char *at);

#ifdef __cplusplus
}
#endif
#endif
