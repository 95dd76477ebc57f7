/* control.h - scan, while, cond. */
#ifndef CALX_CONTROL_H
#define CALX_CONTROL_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 8. Control flow ----------------------------------------------------- */
typedef struct cx_scan_opt {
  CX_OPTIONS;
  int64_t length;          /* needed if xs is cx_none() */
  bool reverse;
  int unroll;
} cx_scan_opt;
/* cx_scan(body, carry, xs, .length, .reverse, .unroll) -> (carry, ys);
 * body: (carry, x) -> (carry, y). Each of carry, x and y is an array or a tree;
 * x is cx_none() where xs is, y may be cx_none(). The carry must leave a step
 * with the type it entered with; a number as the carry is f32 or i32 at first,
 * and of the dtype with which it leaves if that is another. */
#define cx_scan(...) CX_SCAN_(__VA_ARGS__, )
typedef struct cx_while_opt {
  CX_OPTIONS;
  int64_t max_steps;       /* 0: no bound */
} cx_while_opt;
/* cx_while(cond, body, init, .max_steps). A bound makes it differentiable in
 * reverse mode. It stops after max_steps steps also where the condition still
 * holds; the result is then the carry so far, on which the condition tells.
 * CX_EUSER for a negative bound. */
#define cx_while(...) CX_WHILE_(__VA_ARGS__, )
/* cx_fori(lo, hi, body, init); body: (i, carry) -> carry */
#define cx_fori(lo, hi, body, init) \
  cx_fori_(CX_A(lo), CX_A(hi), (body), CX_A(init), CX_AT)
/* cx_cond(pred, then, else, operands...)
 * cx_switch(i, (f, g, h), operands...); the branches take the operands, if
 * there are any, other arrays may come as settings (CX_BIND) */
#define cx_cond(pred, then_fn, ...)                 \
  CX_CAT(CX_COND_, CX_MANY(__VA_ARGS__))            \
  (pred, then_fn, __VA_ARGS__)
#define CX_COND_1(pred, then_fn, else_fn) \
  cx_switch_(true, CX_A(pred), 2, (const cx_fn[]){ (else_fn), (then_fn) }, \
             0, NULL, CX_AT)
#define CX_COND_2_OR_MORE(pred, then_fn, else_fn, ...) \
  cx_switch_(true, CX_A(pred), 2, (const cx_fn[]){ (else_fn), (then_fn) }, \
             CX_AS(__VA_ARGS__), CX_AT)
#define cx_switch(i, ...) \
  CX_CAT(CX_SWITCH_, CX_MANY(__VA_ARGS__))(i, __VA_ARGS__)
#define CX_SWITCH_1(i, fns) \
  cx_switch_(false, CX_A(i), CX_FNS fns, 0, NULL, CX_AT)
#define CX_SWITCH_2_OR_MORE(i, fns, ...) \
  cx_switch_(false, CX_A(i), CX_FNS fns, CX_AS(__VA_ARGS__), CX_AT)
#define CX_FNS(...) CX_NARG(__VA_ARGS__), (const cx_fn[]){ __VA_ARGS__ }
typedef struct cx_map_opt {
  CX_OPTIONS;
  int64_t batch;
} cx_map_opt;
/* cx_map(f, xs, .batch): lax.map. */
#define cx_map(...) CX_2(cx_map_, cx_map_opt, __VA_ARGS__, )
/* cx_reduce(f, xs, starts, CX_AXES(0, 2)): the elements of xs along the axes
 * (CX_ALL_AXES: all) joined by f: (a, b) -> c, three trees of scalars like xs,
 * an array or a tree of arrays of one shape; starts has a number for each. f is
 * associative: neighbours are joined, then their results, and so on; the start
 * comes first. f uses no arrays but its arguments.
 *   CX_ETREE, CX_ESHAPE: f gives something else. CX_EINDEX: no such axis. */
#define cx_reduce(f, xs, starts, axes) \
  cx_reduce_by_((f), CX_A(xs), CX_A(starts), CX_DIMS_1(axes), CX_AT)
typedef struct cx_assoc_opt {
  CX_OPTIONS;
  int axis;
  bool reverse;
} cx_assoc_opt;
/* cx_associative_scan(f, xs, .axis, .reverse): y[0] = x[0], y[i] = f(y[i - 1],
 * x[i]) for an associative f, in a tree of calls on parts of xs: f: (a, b) ->
 * c, trees of arrays like xs with any length along the axis. As
 * jax.lax.associative_scan.
 *   CX_ETREE, CX_ESHAPE: f gives something else, or leaves of xs differ in
 *   length. CX_EINDEX: no such axis. */
#define cx_associative_scan(...) \
  CX_2(cx_associative_scan_, cx_assoc_opt, __VA_ARGS__, )
#define CX_2(fn, T, a, b, ...) fn((a), CX_A(b), CX_OPT(T, __VA_ARGS__), CX_AT)
#define CX_SCAN_(body, carry, xs, ...) \
  cx_scan_((body), CX_A(carry), CX_A(xs),  \
           CX_OPT(cx_scan_opt, __VA_ARGS__), CX_AT)
#define CX_WHILE_(cond, body, init, ...) \
  cx_while_((cond), (body), CX_A(init),      \
            CX_OPT(cx_while_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_scan_(cx_fn body, cx carry, cx xs, cx_scan_opt opt,
                          const char *at);
CX_API CX_USED cx cx_while_(cx_fn cond, cx_fn body, cx init, cx_while_opt opt,
                           const char *at);
CX_API CX_USED cx cx_fori_(cx lo, cx hi, cx_fn body, cx init, const char *at);
CX_API CX_USED cx cx_switch_(bool is_cond, cx which, int n_fns,
                            const cx_fn *fns, int n, const cx *operands,
                            const char *at);
CX_API CX_USED cx cx_reduce_by_(cx_fn f, cx xs, cx starts, cx_dims axes,
                                const char *at);
CX_API CX_USED cx cx_associative_scan_(cx_fn f, cx xs, cx_assoc_opt opt,
                                       const char *at);
CX_API CX_USED cx cx_map_(cx_fn f, cx xs, cx_map_opt opt, const char *at);

#ifdef __cplusplus
}
#endif
#endif
