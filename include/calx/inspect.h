/* inspect.h - what a function records, saves and holds. */
#ifndef CALX_INSPECT_H
#define CALX_INSPECT_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 20. Inspection: strings are never NULL and live until the scope ends -- */
/* The text of the program that f is on such arguments. */
#define cx_jaxpr(...) cx_jaxpr_(CX_WITH(__VA_ARGS__), CX_AT)
/* What f's gradient keeps between its passes, a line for each value: its type,
 * where it comes from (an argument, or an operation with its line, inside a loop
 * or branch too), its bytes and the first operation that needs it; at last the
 * bytes of all together. */
#define cx_saved_residuals(...) \
  cx_saved_residuals_(CX_WITH(__VA_ARGS__), CX_AT)
/* The buffer plan of the compiled program: the peak in bytes of what lies
 * between arguments and results, the bytes of the results that take no donated
 * argument's place, then a line for each of the largest buffers with its type,
 * lifetime and source line; and one for each loop and pass that runs as
 * generated code by now: "code: add mul exp, file.c:12". */
#define cx_plan(...) cx_plan_(CX_WITH(__VA_ARGS__), CX_AT)
CX_API const char *cx_plan_(cx_fn f, int n, const cx *args, const char *at);
CX_API const char *cx_jaxpr_(cx_fn f, int n, const cx *args, const char *at);
CX_API const char *cx_saved_residuals_(cx_fn f, int n, const cx *args,
                                       const char *at);
CX_API const char *cx_cache_report(cx_fn f);  /* hits, misses and why */
CX_API const char *cx_live_report(void);      /* arrays by source line */

/* What the caches of the process did so far; docs/caches.md describes them.
 * Compiled functions are kept by program, device and donated arguments. Loops
 * and passes that get generated code count once each: in `loops` or `passes`,
 * or in `refused` if it would gain nothing; and in one of `shared` (an equal
 * one of this process had it), `read` (from the directory) and `made` (by
 * LLVM). */
typedef struct cx_cache_stats {
  uint64_t hits, misses, entries, bytes; /* compiled functions */
  uint64_t loops, passes, refused, shared, read, made;
  uint64_t failed;                       /* attempts to make code */
  uint64_t code_entries, code_bytes;     /* code in memory now */
  double made_ms, read_ms;               /* spent on it, by all threads */
  uint64_t disk_hits, disk_misses;       /* entries of the directory */
  uint64_t disk_rejected;                /* broken, or not to be trusted */
  uint64_t disk_written, disk_failed, disk_evicted;
  uint64_t disk_bytes_read, disk_bytes_written;
} cx_cache_stats;
CX_API cx_cache_stats cx_cache_now(void); /* needs no context */
/* The same as text, with the directory and why code was not found there. */
CX_API const char *cx_cache_summary(void);
/* The entries of the directory, a line each, the last used first: key, bytes,
 * seconds since. With `check` each is read: its line says by what build it is,
 * or what is wrong with it; then it has been removed. */
CX_API const char *cx_cache_entries(bool check);
/* Removes the entries of the directory, and forgets compiled functions and
 * code that nothing uses now. The number of entries; -1: there is no directory
 * that may be used. */
CX_API int64_t cx_cache_clear(void);

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
