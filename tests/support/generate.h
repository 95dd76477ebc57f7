/* generate.h - random typed programs in which every row of the table occurs.
 *
 * A program is written equation by equation: a primitive is drawn, its maker
 * asks for operands of the types it needs and emits it with parameters of any
 * kind that its row allows. Operands are values there are, new inputs, or made
 * from other values. Loops, branches and calls have bodies made likewise. */
#ifndef TEST_GENERATE_H
#define TEST_GENERATE_H

#include "ir/builder.h"
#include "primitives/families.h"
#include "support/random_function.h"

/* A program from a seed, with a reference; NULL with *error. */
typedef struct generate_options {
  bool sharp;    /* all floats are f64: for differences */
  bool whiles;   /* with loops that have no reverse mode */
  bool wide;     /* arrays that a kernel does not take in one block */
  bool vast;     /* arrays that threads share */
  bool longer;   /* many equations, deeper inside each other */
  cxi_prim want; /* this primitive once at least; NONE: any */
} generate_options;
generate_options generate_options_of(uint64_t seed);
const cxi_program *generate(uint64_t seed, const generate_options *options,
                            cxi_error *error);

/* Functions of this name have rules that are not their derivatives. */
#define GENERATED_BENT "bent"

/* Why no program has this primitive; NULL: they have. */
const char *generate_never(cxi_prim prim);

/* -- for makers ----------------------------------------------------------- */

enum { GEN_ROOM = 160, GEN_INPUTS = 14 };
typedef struct gen {
  chance *chance;
  generate_options options;
  cxi_builder builder;
  int depth;     /* of bodies inside that may still be made */
  uint32_t room; /* inputs there may be */
  uint32_t n, n_in;
  cx values[GEN_ROOM], in[GEN_INPUTS];
} gen;

/* Emits an equation of the primitive; false: not with these values. */
typedef bool gen_maker(gen *g, cxi_prim prim);
gen_maker *gen_maker_of(cxi_prim prim); /* by family; NULL: from its example */
gen_maker *gen_elementwise_of(cxi_prim prim);
gen_maker *gen_move_of(cxi_prim prim);
gen_maker *gen_index_of(cxi_prim prim);
gen_maker *gen_reduce_of(cxi_prim prim);
gen_maker *gen_product_of(cxi_prim prim);
gen_maker *gen_control_of(cxi_prim prim);
gen_maker gen_custom_jvp, gen_custom_vjp, gen_custom_vmap;
bool gen_from_example(gen *g, cxi_prim prim);

uint32_t gen_draw(gen *g, uint32_t n);       /* 0 .. n-1 */
bool gen_one_in(gen *g, uint32_t n);         /* true once in n */
cx_dtype gen_dtype(gen *g, unsigned accept); /* CXI_ACCEPT_... */
cx_dtype gen_float(gen *g);
int64_t gen_size(gen *g);
cx_dims gen_shape(gen *g, int least, int most); /* of so many axes */
int64_t gen_most(const gen *g);                 /* elements of a value */
cx_dims gen_axes(gen *g, int rank);             /* some, ascending */
cx_dims gen_order(gen *g, int rank);            /* all, in any order */

/* A value whose dtype is accepted and that has at least so many axes: one
 * there is, or a new one. */
cx gen_pick(gen *g, unsigned accept, int least_rank);
/* A value of this type: one there is, a new input, or made from others. */
cx gen_want(gen *g, cxi_type type);
cx gen_of(gen *g, cx_dtype type, cx_dims shape);
/* The same in (lo, hi), smoothly. */
cx gen_between(gen *g, cx_dtype type, cx_dims shape, double lo, double hi);
cx gen_squash(cx x, double lo, double hi); /* x in (lo, hi) */
void gen_put(gen *g, cx value);
/* Emits one equation and keeps its n_out results; false: it does not type. */
bool gen_emit(gen *g, cxi_prim prim, const void *params, uint32_t n_in,
              const cx *in);

/* Parameters and operands of equations with bodies: so many at most. */
enum { GEN_FEW = 16 };
/* A body with results of any types, on operands in[0..*n); NULL: none. With a
 * reference. */
const cxi_program *gen_some_body(gen *g, uint32_t n_out, uint32_t *n, cx *in);
/* A body on inputs of these types and captures of its own, whose types are
 * appended to in[*n_in...] (room for GEN_INPUTS). Its results are of the types
 * in `out`, if there is such a list, else of any. With a reference. */
const cxi_program *gen_body(gen *g, uint32_t *n_in, cxi_type *in,
                            uint32_t n_out, const cxi_type *out);

#endif
