/* effect.h - functions of the host, debug prints, names of operations. */
#ifndef CALX_EFFECT_H
#define CALX_EFFECT_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 18. Effects -------------------------------------------------------------
 * A callback is an operation that calls a C function when the program runs,
 * in every executor, on the calling thread, while nothing else of the program
 * runs. It fills the results; a code other than CX_OK is the call's error. It
 * may not call functions that need a context. Buffers are dense and borrowed.
 */
typedef cx_code (*cx_host_fn)(const cx_buf *in, cx_buf *out, void *user);
/* Under vmap, if an operand is mapped: one call for each lane, in order; or one
 * call with the lanes at axis 0 of all operands and results; or so, but of 1
 * for operands that all lanes share. */
typedef enum cx_lanes {
  CX_LANES_SEQUENTIAL, CX_LANES_BROADCAST, CX_LANES_EXPAND
} cx_lanes;
typedef struct cx_callback_opt {
  CX_OPTIONS;
  void *user;              /* given to the function; part of the program */
  bool effect, ordered;
  cx_lanes lanes;
} cx_callback_opt;
/* cx_callback(f, specs, (a, b), .user, .effect, .ordered, .lanes): the result
 * has the structure, dtypes and shapes of specs (cx_spec, or arrays; cx_none():
 * no result). in[] are the leaves of the operands, out[] those of the result.
 *   without .effect  pure: run as often as the result is needed; equal calls
 *                    may become one, an unused one none
 *   .effect          run once where it stands, used or not; those of one
 *                    program run in the order in which they were recorded; a
 *                    checkpoint keeps what they return
 *   .ordered         also across lanes: CX_ENORULE under vmap of an operand
 * A while whose derivative is split (cx_linearize) cannot keep the results of
 * its steps: CX_ENORULE if it would run one with .effect or .ordered again.
 * It has no derivative: CX_ENORULE where an operand has a tangent and the
 * result is floating; cx_stop_gradient the operands, or give a custom rule.
 * CX_ETREE: no function, no specs. */
#define cx_callback(...) CX_CALLBACK_(__VA_ARGS__, )
#define CX_CALLBACK_(fn, specs, args, ...)       \
  cx_callback_((fn), (specs), CX_AS args,        \
               CX_OPT(cx_callback_opt, __VA_ARGS__), CX_AT)
CX_API cx cx_callback_(cx_host_fn f, cx specs, int n, const cx *args,
                       cx_callback_opt opt, const char *at);
/* cx_debug_print("step {} loss {:.4}", i, loss): a line when the program runs,
 * each time it runs; an effect that vmap repeats for each lane, and that
 * derivatives leave as it is. {} is an array, whole to 1000 elements;
 * {:WIDTH.PRECISIONe}, with e, f or g, as printf's; {{ and }} are braces.
 * CX_EUSER: the format is wrong, or for another number of arrays. */
#define cx_debug_print(...) \
  CX_CAT(CX_DEBUG_PRINT_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_DEBUG_PRINT_1(format) cx_debug_print_((format), 0, NULL, CX_AT)
#define CX_DEBUG_PRINT_2_OR_MORE(format, ...) \
  cx_debug_print_((format), CX_AS(__VA_ARGS__), CX_AT)
CX_API void cx_debug_print_(const char *format, int n, const cx *args,
                            const char *at);
/* Where all debug prints of the process go; NULL: to stdout. */
CX_API void cx_debug_output(void (*write)(const char *text, void *user),
                            void *user);

/* CX_NAMED("layer.%d", i); names the ops of the enclosing block. */
#define CX_NAMED(...)                                            \
  cx_scope CX_CAT(cx_named_, __COUNTER__)                        \
      __attribute__((cleanup(cx_named_pop_), unused)) =          \
          cx_named_push_(__VA_ARGS__)
CX_API cx_scope cx_named_push_(const char *format, ...) CX_PRINTF(1, 2);
CX_API void cx_named_pop_(cx_scope *name);

#ifdef __cplusplus
}
#endif
#endif
