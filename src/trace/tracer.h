/* tracer.h - a C function being recorded: the emitter over a builder.
 *
 * Operands that are not the trace's own are resolved here: C numbers become
 * literals, values of an outer trace and constants made inside become extra
 * inputs, arrays from elsewhere are an error, since the recorded program would
 * go stale with them. */
#ifndef CXI_TRACER_H
#define CXI_TRACER_H

#include "ir/builder.h"
#include "trace/context.h"

/* An input beside the arguments: an array that the function made from C data,
 * or a value of an outer trace. */
typedef struct cxi_extra {
  cxi_item item; /* owns an array */
  cx input;
} cxi_extra;

struct cxi_trace {
  cxi_emitter emitter; /* first */
  cxi_builder builder;
  cx_ctx *ctx;
  cxi_trace *outer;
  const char *name; /* of the function */
  uint32_t scope;   /* its serial */
  bool failed;      /* an error was reported: poison */
  cx poison;
  uint32_t n_extras, cap_extras;
  cxi_extra *extras;
  cxi_name site, outer_scope; /* to be restored */
};

/* Makes t the current emitter. False without memory, reported. */
bool cxi_trace_open(cxi_trace *t, cx_ctx *ctx, const char *name);
/* Restores what was current; then finish or abandon the builder. */
void cxi_trace_close(cxi_trace *t);
void cxi_trace_free(cxi_trace *t); /* the extras */

/* The trace is discarded in the end; every reported error does this. */
void cxi_trace_fail(cxi_trace *t, cx poison); /* NULL: nothing */

/* A value of a trace in progress, from t outwards. */
bool cxi_trace_find(const cxi_trace *t, cx a, cxi_item *out);
/* The handle in t for any array-like handle; poison after reporting. */
cx cxi_trace_adopt(cxi_trace *t, cx a);
/* The same for a leaf. */
cx cxi_trace_adopt_item(cxi_trace *t, cxi_item leaf);
/* An input of t that holds the constant. */
cx cxi_trace_constant(cxi_trace *t, cxi_array *array);

#endif
