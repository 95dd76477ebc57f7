/* builder.h - the emitter that appends to a program being written. */
#ifndef CXI_BUILDER_H
#define CXI_BUILDER_H

#include "ir/emit.h"

typedef struct cxi_builder_value {
  cxi_type type;
  uint32_t source;            /* as in cxi_value */
  bool weak;
  uint64_t bits;              /* of a literal */
} cxi_builder_value;

typedef struct cxi_builder {
  cxi_emitter emitter;        /* first, so that a pointer converts */
  uint32_t serial;            /* the generation of its handles */
  uint32_t n_values, cap_values, n_equations, cap_equations, n_operands,
      cap_operands;
  cxi_builder_value *values;
  cxi_equation *equations;
  uint32_t *operands;
  cxi_arena arena;            /* parameters */
  bool has_parts;             /* an equation has sub-programs */
  cxi_error error;            /* the first */
  cxi_name error_site;
} cxi_builder;

/* Opens it and makes it the current emitter of the thread. */
void cxi_builder_open(cxi_builder *b);
cx cxi_builder_input(cxi_builder *b, cxi_type type);
bool cxi_builder_owns(const cxi_builder *b, cx a);
const cxi_builder_value *cxi_builder_value_of(const cxi_builder *b, cx a);

/* Orders the equations depth-first, first from those with effects, in the
 * order of emission, then from the outputs, so that dead ones fall away and
 * the text does not depend on the compiler; numbers the values; interns.
 * Restores the emitter that was current before and frees what the builder
 * holds; its error and error_site stay readable. Returns a program with a
 * reference, or NULL with the first error. */
const cxi_program *cxi_builder_finish(cxi_builder *b, cxi_name name,
                                      uint32_t n_in, const cx *in,
                                      uint32_t n_out, const cx *out,
                                      cxi_error *error);
/* Drops everything. */
void cxi_builder_abandon(cxi_builder *b);

#endif
