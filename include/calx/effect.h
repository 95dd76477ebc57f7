/* effect.h - names for the operations of a block. */
#ifndef CALX_EFFECT_H
#define CALX_EFFECT_H

#include "calx/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 18. Names for the operations of a block ------------------------------- */
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
