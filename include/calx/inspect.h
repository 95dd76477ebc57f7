/* inspect.h - what a function records, saves and holds. */
#ifndef CALX_INSPECT_H
#define CALX_INSPECT_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 20. Inspection: strings are never NULL and live until the scope ends -- */
/* The text of the program that f is on such arguments. */
#define cx_jaxpr(f, ...) cx_jaxpr_((f), CX_AS(__VA_ARGS__), CX_AT)
/* What f's gradient keeps between its passes, a line for each value: its type,
 * where it comes from (an argument, or an operation with its line, inside a loop
 * or branch too), its bytes and the first operation that needs it; at last the
 * bytes of all together. */
#define cx_saved_residuals(f, ...) \
  cx_saved_residuals_((f), CX_AS(__VA_ARGS__), CX_AT)
/* The buffer plan of the compiled program: the peak in bytes of what lies
 * between arguments and results, the bytes of the results that take no donated
 * argument's place, then a line for each of the largest buffers with its type,
 * lifetime and source line. */
#define cx_plan(f, ...) cx_plan_((f), CX_AS(__VA_ARGS__), CX_AT)
CX_API const char *cx_plan_(cx_fn f, int n, const cx *args, const char *at);
CX_API const char *cx_jaxpr_(cx_fn f, int n, const cx *args, const char *at);
CX_API const char *cx_saved_residuals_(cx_fn f, int n, const cx *args,
                                       const char *at);
CX_API const char *cx_cache_report(cx_fn f);  /* hits, misses and why */
CX_API const char *cx_live_report(void);      /* arrays by source line */
/* While on: an operation that makes a NaN of operands without one is CX_ENAN
 * with its line; an index that is out of range (and would be clamped, filled or
 * dropped) is CX_EINDEX with the index and the array; both also inside calls,
 * loops and branches, which are then run an equation at a time; and functions
 * are traced twice, to find those that depend on more than their arguments'
 * types and settings (CX_ETRACE). */
CX_API void cx_checks(bool on);
/* Of two array dtypes: an error (strict, at first), or JAX's table. */
typedef enum cx_promote { CX_PROMOTE_STRICT, CX_PROMOTE_JAX } cx_promote;
CX_API void cx_promotion(cx_promote rule);
/* The dtype that two arrays get by that table, in either mode: f32 of f16 and
 * bf16, f64 of u64 and a signed integer. 0 for a key beside another dtype. */
CX_API cx_dtype cx_promote_types(cx_dtype a, cx_dtype b);

#ifdef __cplusplus
}
#endif
#endif
