/* collective.h - across the lanes of a vmap with an axis name. */
#ifndef CALX_COLLECTIVE_H
#define CALX_COLLECTIVE_H

#include "calx/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 7a. Collectives ---------------------------------------------------------
 * Inside cx_vmap(f, .axis_name = "i") the lanes see each other along "i". Of
 * vmaps with one name the innermost counts. Each function maps over trees.
 * What does not depend on the lane has no batch axis afterwards: it may leave
 * the vmap with an out axis of CX_NONE.
 *   CX_ETRACE: no vmap around has the axis name. CX_EUSER: no name, or one
 *   twice. CX_EINDEX: no such axis or lane. CX_ESHAPE: an axis that is not cut
 *   into the lanes.
 * Bits: a sum over lanes has those of cx_sum over an axis of their number; over
 * several names it is rounded after each, the innermost vmap's first.
 * Derivatives: of lane i with respect to all lanes, as jax.lax: the cotangent
 * of a psum is the psum of the cotangents. */
typedef enum cx_coll { CX_PSUM, CX_PMEAN, CX_PMAX, CX_PMIN } cx_coll;
/* cx_psum(tree, "i"), cx_psum(tree, "i", "j"). psum of a bool is that of i32,
 * pmean of other integers is f32 (f64 of 64 bits). */
#define cx_psum(...) CX_COLLECT_(CX_PSUM, __VA_ARGS__)
#define cx_pmean(...) CX_COLLECT_(CX_PMEAN, __VA_ARGS__)
#define cx_pmax(...) CX_COLLECT_(CX_PMAX, __VA_ARGS__)
#define cx_pmin(...) CX_COLLECT_(CX_PMIN, __VA_ARGS__)
/* The lane's number, i32[]; how many lanes there are (1 after an error). Of
 * several names the last counts fastest. */
#define cx_axis_index(...) cx_axis_index_(CX_NAMES_(__VA_ARGS__), CX_AT)
#define cx_axis_size(...) cx_axis_size_(CX_NAMES_(__VA_ARGS__), CX_AT)
/* What lane `source` has, in all. */
#define cx_pbroadcast(tree, name, source) \
  cx_pbroadcast_(CX_A(tree), (name), (source), CX_AT)
/* cx_ppermute(tree, "i", (0, 1), (1, 0)): from lane, to lane. No lane sends or
 * receives twice; one that receives nothing has zeros.
 * cx_pshuffle(tree, "i", 1, 2, 0): lane k receives from the k-th of the list,
 * which has each lane once. */
#define cx_ppermute(tree, name, ...)                           \
  cx_ppermute_(CX_A(tree), (name), CX_NARG(__VA_ARGS__),       \
               (const int[][2]){ CX_MAP(CX_BRACES, __VA_ARGS__) }, CX_AT)
#define cx_pshuffle(tree, name, ...)                           \
  cx_pshuffle_(CX_A(tree), (name), CX_NARG(__VA_ARGS__),       \
               (const int[]){ __VA_ARGS__ }, CX_AT)
typedef struct cx_tiled_opt {
  CX_OPTIONS;
  bool tiled;
} cx_tiled_opt;
/* cx_all_gather(tree, "i", axis): the lanes' arrays stacked along a new axis of
 * the result; .tiled: joined along an axis that is there.
 * cx_psum_scatter(tree, "i", axis): lane k gets part k of the sum along the
 * axis, which has the size of "i" and goes; .tiled: which is a multiple of it
 * and stays, cut.
 * cx_all_to_all(tree, "i", split, concat): part k along split goes to lane k,
 * which stacks what it gets along concat, an axis of the result; .tiled: the
 * axes stay, one cut, one joined. */
#define cx_all_gather(tree, ...) CX_TILED_(cx_all_gather_, tree, __VA_ARGS__, )
#define cx_psum_scatter(tree, ...) \
  CX_TILED_(cx_psum_scatter_, tree, __VA_ARGS__, )
#define cx_all_to_all(tree, ...) CX_TILED_2_(tree, __VA_ARGS__, )

#define CX_NAMES_(...) \
  CX_NARG(__VA_ARGS__), (const char *const[]){ __VA_ARGS__ }
#define CX_COLLECT_(kind, ...) \
  CX_CAT(CX_COLLECT_, CX_MANY(__VA_ARGS__))(kind, __VA_ARGS__)
#define CX_COLLECT_1(kind, tree) \
  cx_collective_((kind), CX_A(tree), 0, CX_AXIS_NAMES_ARE_MISSING, CX_AT)
#define CX_COLLECT_2_OR_MORE(kind, tree, ...) \
  cx_collective_((kind), CX_A(tree), CX_NAMES_(__VA_ARGS__), CX_AT)
#define CX_TILED_(fn, tree, name, axis, ...) \
  fn(CX_A(tree), (name), (axis), CX_OPT(cx_tiled_opt, __VA_ARGS__), CX_AT)
#define CX_TILED_2_(tree, name, split, concat, ...)      \
  cx_all_to_all_(CX_A(tree), (name), (split), (concat),  \
                 CX_OPT(cx_tiled_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_collective_(cx_coll kind, cx tree, int n,
                                 const char *const *names, const char *at);
CX_API CX_USED cx cx_axis_index_(int n, const char *const *names,
                                 const char *at);
CX_API int64_t cx_axis_size_(int n, const char *const *names, const char *at);
CX_API CX_USED cx cx_pbroadcast_(cx tree, const char *name, int source,
                                 const char *at);
CX_API CX_USED cx cx_ppermute_(cx tree, const char *name, int n,
                               const int (*pairs)[2], const char *at);
CX_API CX_USED cx cx_pshuffle_(cx tree, const char *name, int n,
                               const int *from, const char *at);
CX_API CX_USED cx cx_all_gather_(cx tree, const char *name, int axis,
                                 cx_tiled_opt opt, const char *at);
CX_API CX_USED cx cx_psum_scatter_(cx tree, const char *name, int axis,
                                   cx_tiled_opt opt, const char *at);
CX_API CX_USED cx cx_all_to_all_(cx tree, const char *name, int split,
                                 int concat, cx_tiled_opt opt, const char *at);

#ifdef __cplusplus
}
#endif
#endif
