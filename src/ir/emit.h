/* emit.h - where operations go: the current emitter of this thread.
 *
 * Tracing, running at once, a rule's builder and the splitting emitter are
 * emitters; ops and rules never know which one they write to.
 *
 * Handles: index 0 with generation 0 is "not given"; index 0 with another
 * generation is poison, the number of its error; cx_none() has the highest
 * index; all others are index + 1 of a value and the serial of its owner. */
#ifndef CXI_EMIT_H
#define CXI_EMIT_H

#include "ir/program.h"

typedef struct cxi_info {
  cxi_type type;
  bool literal, weak; /* a C number has no dtype of its own: weak */
  uint64_t bits;      /* of a literal */
} cxi_info;

typedef struct cxi_emitter cxi_emitter;
struct cxi_emitter {
  /* False, with nothing reported, for poison, none and what is not given;
   * a handle that is not valid here is reported. */
  bool (*info)(cxi_emitter *, cx, cxi_info *out);
  cx (*literal)(cxi_emitter *, cx_dtype, bool weak, uint64_t bits);
  /* Fills out[0..n_out-1], with poison if it returns false. */
  bool (*emit)(cxi_emitter *, cxi_prim, const void *params, uint32_t n_in,
               const cx *in, uint32_t n_out, cx *out);
  cx (*fail)(cxi_emitter *, cx_code, const char *text); /* returns poison */
  cxi_emitter *outer;
  /* Emits p's equation e as it is there, without checking it again; false,
   * with nothing done, without memory or where operands have other types than
   * in p. NULL: emit does it all. */
  bool (*again)(cxi_emitter *, const cxi_program *p, const cxi_equation *e,
                const cx *in, cx *out);
};
cxi_emitter *cxi_emitter_use(cxi_emitter *emitter); /* returns the one before */
cxi_emitter *cxi_emitter_now(void);                 /* never NULL */
/* Where operations go if no emitter is in use: reports that there is no
 * context (trace/context.c). */
extern cxi_emitter cxi_emitter_nowhere;
uint32_t cxi_serial_next(void); /* never 0; unique in the process */

/* The source line and scope of what is emitted. A walk sets those of the
 * equation it transforms; a public op sets its own only where none is set
 * (0). Both return the one before. */
cxi_name cxi_site_use(cxi_name site);
cxi_name cxi_site_now(void);
cxi_name cxi_scope_use(cxi_name scope);
cxi_name cxi_scope_now(void);
/* The operation that asks an emitter for what it knows of an operand, for its
 * messages; NULL: none. Returns the one before. */
const char *cxi_operation_use(const char *name);
const char *cxi_operation_now(void);

/* Handles. */
static inline bool cxi_is_poison(cx a) {
  return a.index == 0 && a.generation != 0;
}
static inline bool cxi_left_out(cx a) { /* {0}: an option not given */
  return a.index == 0 && a.generation == 0;
}
bool cxi_given(cx a);       /* an array: not {0}, none or poison */
cxi_type cxi_type_at(cx a); /* 0 of what is not given */
cx_dims cxi_shape_at(cx a); /* rank 0 of what is not given */
cx_dtype cxi_dtype_at(cx a);
int cxi_rank_at(cx a);

/* Reports an error and returns poison. */
cx cxi_fail(cx_code code, const char *format, ...) CX_PRINTF(2, 3);

/* A literal of rank 0, never weak. Integers are exact; x is rounded to the
 * dtype as by a conversion. */
cx cxi_number(cx_dtype dtype, double x);
cx cxi_integer(cx_dtype dtype, int64_t x);
cx cxi_literal_bits(cx_dtype dtype, uint64_t bits);

/* Emits one equation. */
bool cxi_emit(cxi_prim prim, const void *params, uint32_t n_in, const cx *in,
              uint32_t n_out, cx *out);
cx cxi_emit1(cxi_prim prim, const void *params, uint32_t n_in, const cx *in);

/* Emits p's equations with `in` for its inputs, at their own sites. */
bool cxi_replay(const cxi_program *p, const cx *in, cx *out);

#endif
