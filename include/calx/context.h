/* context.h - contexts, scopes, lifetimes, errors. */
#ifndef CALX_CONTEXT_H
#define CALX_CONTEXT_H

#include "calx/value.h"

/* Where a call stands, "train.c:41": GCC gives the line on which the call
 * starts, Clang the one on which it ends. */
#define CX_AT __FILE__ ":" CX_STR(__LINE__)

#ifdef __cplusplus
extern "C" {
#endif

/* -- 2. Context, scopes, lifetimes ------------------------------------------
 * One context per thread at a time: cx_open makes and enters one, cx_use
 * enters another one. The process shares pool, compile cache and devices.
 */
typedef struct cx_ctx cx_ctx;

/* When the loops of compiled functions, and passes over many elements, get
 * generated code, instead of running unit by unit and block by block. The bits
 * are the same; docs/caches.md tells what it costs. */
typedef enum cx_loops {
  CX_LOOPS_DEFAULT, /* as CALX_LLVM in the environment says; else auto */
  CX_LOOPS_AUTO,    /* after a while; made by another thread meanwhile */
  CX_LOOPS_OFF,
  CX_LOOPS_NOW,     /* before the first step, or element */
  CX_LOOPS_WAIT     /* after a while; the loop or pass waits for it */
} cx_loops;

typedef struct cx_open_opt {
  CX_OPTIONS;
  size_t memory_limit;     /* bytes; 0: none */
  int threads;             /* 0: as many as the process may use */
  void (*on_error)(cx_code code, const char *message, void *user);
  void *user;
  cx_loops loops;
} cx_open_opt;

/* cx_open("cpu", .threads = 2), or "reference", the plain executor; NULL if it
 * cannot. "cuda" is CX_EDEVICE: there is no such back end yet; CX_EUSER if
 * .loops is none of the above. */
#define cx_open(...) CX_OPEN_(__VA_ARGS__, )
#define CX_OPEN_(device, ...) \
  cx_open_((device), CX_OPT(cx_open_opt, __VA_ARGS__))
CX_API cx_ctx *cx_open_(const char *device, cx_open_opt opt);
/* All its handles end. CX_ELIFETIME, and it stays open, while another thread
 * that has not ended is in it. */
CX_API void cx_close(cx_ctx *ctx);
CX_API cx_ctx *cx_use(cx_ctx *ctx);      /* returns the one used before */

/* Handles made after CX_SCOPE; die at the end of the enclosing block, however
 * it is left: break, continue, return and goto do what they always do. Inside
 * a traced function the trace owns the handles and no scope is needed. */
#define CX_SCOPE                                             \
  cx_scope CX_CAT(cx_scope_, __COUNTER__)                    \
      __attribute__((cleanup(cx_scope_pop_), unused)) = cx_scope_push_()
typedef struct cx_scope {
  uint32_t id;
} cx_scope;
CX_API cx_scope cx_scope_push_(void);
CX_API void cx_scope_pop_(cx_scope *scope);

/* keep: use the result, which outlives the scope and is owed one drop. drop:
 * poison and donated, nothing. escape: use the result, a in the outer scope.
 * swap: keep a, drop *slot, *slot = a; poison: *slot stays as it is. */
#define cx_keep(a) cx_keep_((a), CX_AT)
#define cx_drop(a) cx_drop_((a), CX_AT)
#define cx_escape(a) cx_escape_((a), CX_AT)
#define cx_swap(slot, a) cx_swap_((slot), (a), CX_AT)
CX_API CX_USED cx cx_keep_(cx a, const char *at);
CX_API void cx_drop_(cx a, const char *at);
CX_API CX_USED cx cx_escape_(cx a, const char *at);
CX_API void cx_swap_(cx *slot, cx a, const char *at);

/* -- 3. Errors --------------------------------------------------------------
 * The first error is kept. An op with a poison operand or option returns that
 * poison, others run. Ask where you like; put cx_ok() into loop conditions.
 * cx_dim of poison is 1, cx_item NaN.
 */
CX_API bool cx_ok(void);
CX_API cx_code cx_error(const char **out_message); /* takes and clears it */
CX_API const char *cx_code_name(cx_code code);

/* For library authors: reports as an op does and returns poison. */
#define cx_fail(...) cx_fail_(CX_AT, __VA_ARGS__)
CX_API cx cx_fail_(const char *at, cx_code code, const char *format, ...)
    CX_PRINTF(3, 4);


#ifdef __cplusplus
}
#endif
#endif
