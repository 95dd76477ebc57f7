/* jaxpr_text.h - programs recorded from JAX, as text that cx_parse reads.
 *
 * The recorded form is described in tests/data/conformance/README.md, section
 * 4. A nested jaxpr becomes a program of its own in front of the one that uses
 * it. What Calx lacks is reported by the name of the primitive. */
#ifndef TOOLS_JAXPR_TEXT_H
#define TOOLS_JAXPR_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "calx/calx.h"

/* An operand as it is written, with its type. */
typedef struct ref {
  char text[48]; /* "%12", "1.5:f32" */
  cx_dtype dtype;
  cx_dims shape;
} ref;

/* The whole text and what stopped it. */
typedef struct jaxpr_writer {
  FILE *out; /* programs that are complete */
  int n_programs;
  const json_t *rules[8]; /* parameters of the custom rules being written */
  int n_rules;
  int depth; /* of the jaxpr being written */
  struct jaxpr_room *rooms; /* of operands and results, the last one first */
  char missing[64]; /* the primitive that Calx lacks; "": none */
  char error[160];  /* the record is not as it should be; "": fine */
} jaxpr_writer;

/* A program being written. */
typedef struct jaxpr_program {
  jaxpr_writer *w;
  FILE *body;
  char *text; /* of body */
  size_t bytes;
  int n_values;
  ref *vars; /* by the record's number */
  size_t n_vars;
} jaxpr_program;

/* Writes the jaxpr and all that it nests; its constants are leading inputs.
 * NULL with w->missing or w->error; the text is to be freed. */
char *jaxpr_to_text(const json_t *jaxpr, jaxpr_writer *w);

/* -- for the handlers of primitives --------------------------------------- */

enum { JAXPR_MAX = 1024 }; /* arguments or results of a recorded case */

/* Room for n refs until the equation or program that asked is written; never
 * NULL: without memory, or for an absurd number, the writer fails and the room
 * is for one. */
ref *jaxpr_refs(jaxpr_writer *w, size_t n);

bool jaxpr_ok(const jaxpr_writer *w);
ref jaxpr_fail(jaxpr_writer *w, const char *what);
ref jaxpr_missing(jaxpr_writer *w, const char *primitive);
cx_dtype jaxpr_dtype(const char *name); /* 0: none of Calx's */
bool jaxpr_is_float(cx_dtype dtype);
const char *jaxpr_dtype_text(cx_dtype dtype);
cx_dims jaxpr_dims(const json_t *list);
/* "(2,3)", in a buffer that lives until sixteen more were asked for. */
const char *jaxpr_list(cx_dims dims);
const char *jaxpr_ints(const json_t *list);
const char *jaxpr_type(cx_dtype dtype, cx_dims shape);     /* "f32[2,3]" */
ref jaxpr_binding(jaxpr_writer *w, const json_t *binding); /* type, no text */

/* One equation with one result; `call` is the primitive with its parameters. */
ref jaxpr_emit(jaxpr_program *p, cx_dtype dtype, cx_dims shape, int n,
               const ref *in, const char *call, ...) CX_PRINTF(6, 7);
/* Several results of the types in out[], which get their names. */
void jaxpr_emit_n(jaxpr_program *p, int n_out, ref *out, int n, const ref *in,
                  const char *call, ...) CX_PRINTF(6, 7);
ref jaxpr_number(cx_dtype dtype, double x);
ref jaxpr_full(jaxpr_program *p, cx_dtype dtype, cx_dims shape, double x);
/* Axes of size 1 repeated to the shape; rank 0 stays. */
ref jaxpr_spread(jaxpr_program *p, ref x, cx_dims shape);
/* The same, and rank 0 repeated too. */
ref jaxpr_fill(jaxpr_program *p, ref x, cx_dims shape);
ref jaxpr_convert(jaxpr_program *p, ref x, cx_dtype dtype);

void jaxpr_open(jaxpr_program *p, jaxpr_writer *w);
/* A new input of the program. */
ref jaxpr_input(jaxpr_program *p, cx_dtype dtype, cx_dims shape);
/* Ends it; its number, to be written as @p<number>. */
int jaxpr_close(jaxpr_program *p, int n_in, const ref *in, int n_out,
                const ref *out);
/* Writes the equations of a jaxpr into p, with `in` for its inputs. */
void jaxpr_inline(jaxpr_program *p, const json_t *jaxpr, const ref *in,
                  ref *out);
/* A nested jaxpr as a program of its own: the parameter `name` of an equation,
 * or the object {"jaxpr": ...} itself. */
int jaxpr_nested(jaxpr_writer *w, const json_t *object);

/* An equation: in[], out[] hold the operands and the types of the results. */
typedef struct jaxpr_equation {
  const char *name;
  const json_t *k; /* parameters */
  int n_in, n_out;
  ref *in, *out;
} jaxpr_equation;
/* The types of a jaxpr's results, of which there are as many. */
int jaxpr_outputs(jaxpr_writer *w, const json_t *jaxpr, ref **out);
/* Results that nobody uses have no recorded type: they get the jaxpr's. */
void jaxpr_type_outputs(jaxpr_program *p, jaxpr_equation *e,
                        const json_t *jaxpr);
/* Its parameters; of those it lacks NULL, 0, "false" and "". */
const json_t *jaxpr_param(const jaxpr_equation *e, const char *name);
json_int_t jaxpr_integer(const jaxpr_equation *e, const char *name);
const char *jaxpr_truth(const jaxpr_equation *e, const char *name);
const char *jaxpr_enum(const jaxpr_equation *e, const char *name);
/* Column k of a list of rows of numbers, [[low, high], ...]. */
cx_dims jaxpr_column(const json_t *rows, size_t k);
/* "window=..., ..., window_dilation=...", of the record's parameters; those
 * it lacks are 1. In a buffer that lives until the next. */
const char *jaxpr_window(const jaxpr_equation *e, int rank);
typedef void jaxpr_handler(jaxpr_program *p, jaxpr_equation *e);
typedef struct jaxpr_row {
  const char *name;
  jaxpr_handler *handle;
} jaxpr_row;
jaxpr_handler *jaxpr_find(const jaxpr_row *rows, size_t n, const char *name);

/* The handler of a primitive, from the file of its family; NULL where there is
 * none. */
jaxpr_handler *jaxpr_elementwise_handler(const char *primitive);
jaxpr_handler *jaxpr_shape_handler(const char *primitive);
jaxpr_handler *jaxpr_index_handler(const char *primitive);
jaxpr_handler *jaxpr_reduce_handler(const char *primitive);
jaxpr_handler *jaxpr_random_handler(const char *primitive);
jaxpr_handler *jaxpr_linalg_handler(const char *primitive);
jaxpr_handler *jaxpr_call_handler(const char *primitive);
jaxpr_handler *jaxpr_control_handler(const char *primitive);

#endif
