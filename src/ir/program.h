/* program.h - a program: typed A-normal form in flat arrays, immutable.
 *
 * Values are numbered: inputs, then literals, then the results of the
 * equations in order. Programs are interned: equal structure with equal
 * source lines is one object, so pointers compare. They hold references to
 * their sub-programs, which are parameters of equations. */
#ifndef CXI_PROGRAM_H
#define CXI_PROGRAM_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/name.h"
#include "calx/index.h"
#include "ir/type.h"

typedef struct cxi_program cxi_program;

/* -- Primitives and their parameters -------------------------------------- */

typedef enum cxi_prim {
  CXI_PRIM_NONE,
#define PRIMITIVE(n) CXI_PRIM_##n,
#define FIELD(n, kind, field)
#define END(n)
#include "ir/primitives.def"
#undef PRIMITIVE
#undef FIELD
#undef END
  CXI_N_PRIMS
} cxi_prim;

/* A list of programs or of integers of any length, in the program's arena. */
typedef struct cxi_ints {
  uint32_t n;
  const int64_t *d;
} cxi_ints;
typedef struct cxi_names {
  uint32_t n;
  const cxi_name *d;
} cxi_names;
typedef struct cxi_programs {
  uint32_t n;
  const cxi_program *const *d;
} cxi_programs;

/* The kinds of fields: the C type of each, and how the text form writes it. */
typedef int64_t cxi_field_int;                     /* -3 */
typedef bool cxi_field_bool;                       /* true */
typedef double cxi_field_real;                     /* 1e-05, nan */
typedef cx_dims cxi_field_dims;                    /* (2,3), () */
typedef cxi_ints cxi_field_ints;                   /* (2,3) */
typedef cx_dtype cxi_field_dtype;                  /* f32 */
typedef cxi_name cxi_field_name;                   /* "text" */
typedef cxi_names cxi_field_names;                 /* ("a","b") */
typedef cxi_names cxi_field_axis_names;            /* ("i","j") of vmaps */
typedef cx_mode cxi_field_mode;                    /* clip */
typedef const cxi_program *cxi_field_program;      /* @body, none */
typedef cxi_programs cxi_field_programs;           /* (@a,@b) */
typedef enum cxi_field_kind {
  CXI_FIELD_int = 1, CXI_FIELD_bool, CXI_FIELD_real, CXI_FIELD_dims,
  CXI_FIELD_ints, CXI_FIELD_dtype, CXI_FIELD_name, CXI_FIELD_names,
  CXI_FIELD_mode, CXI_FIELD_axis_names, CXI_FIELD_program, CXI_FIELD_programs
} cxi_field_kind;

/* cxi_<primitive>_params */
#define PRIMITIVE(n) typedef struct cxi_##n##_params { char none_;
#define FIELD(n, kind, field) cxi_field_##kind field;
#define END(n) } cxi_##n##_params;
#include "ir/primitives.def"
#undef PRIMITIVE
#undef FIELD
#undef END

typedef struct cxi_field {
  const char *name;
  cxi_field_kind kind;
  size_t offset;
} cxi_field;
typedef struct cxi_schema {
  const char *name;
  size_t size;                /* of the parameter struct */
  const cxi_field *fields;    /* ends with name == NULL */
  unsigned kinds;             /* of the fields: a bit for each */
} cxi_schema;
const cxi_schema *cxi_schema_of(cxi_prim prim);
/* Whether a field is a program or a list of them. */
static inline bool cxi_schema_has_programs(const cxi_schema *schema) {
  return schema->kinds >= 1u << CXI_FIELD_program;
}
static inline const char *cxi_prim_name(cxi_prim prim) {
  return cxi_schema_of(prim)->name;
}
cxi_prim cxi_prim_find(const char *name, size_t length); /* NONE: unknown */
const char *cxi_mode_name(cx_mode mode); /* "clip" */
bool cxi_mode_find(const char *name, size_t length, cx_mode *out);
static inline const void *cxi_field_at(const void *params,
                                       const cxi_field *field) {
  return (const char *)params + field->offset;
}
/* Calls f for every program among the parameters, or among those of all
 * equations. */
void cxi_params_each_program(cxi_prim prim, const void *params,
                             void (*f)(const cxi_program *, void *), void *user);
void cxi_program_each_part(const cxi_program *p,
                           void (*f)(const cxi_program *, void *), void *user);
/* Calls f for every axis name among the parameters, in sub-programs too. */
void cxi_params_each_axis(cxi_prim prim, const void *params,
                          void (*f)(cxi_name, void *), void *user);
bool cxi_names_have(const cxi_names *list, cxi_name name);
/* What names begin with that a checkpoint's own policy gives to what it
 * saves; a user's name is none of those. */
#define CXI_SAVED_TAG "calx.saved."
/* The program that may stand in the equation's place: the body of jit,
 * composite, checkpoint, custom_jvp, custom_vjp, custom_vmap and its
 * derivatives, solve of linear_solve and root; NULL of all others. */
const cxi_program *cxi_params_body(cxi_prim prim, const void *params);
/* A deep copy in the arena; programs are not retained. NULL without memory. */
void *cxi_params_copy(cxi_prim prim, const void *params, cxi_arena *arena);
bool cxi_params_equal(cxi_prim prim, const void *a, const void *b);
/* Whether each field holds a value of its kind: lists of 0 to 8 integers,
 * known dtypes and modes, no holes in a list of programs. What a field means
 * is for infer to check. */
bool cxi_params_valid(cxi_prim prim, const void *params, cxi_error *error);

/* -- Programs ------------------------------------------------------------- */

/* The source of a value that no equation makes. */
static const uint32_t CXI_INPUT = UINT32_MAX;
static const uint32_t CXI_LITERAL = UINT32_MAX - 1;
static inline bool cxi_is_equation(uint32_t source) {
  return source < CXI_LITERAL;
}

typedef struct cxi_value {
  cxi_type type;
  uint32_t source;            /* its equation, CXI_INPUT or CXI_LITERAL */
} cxi_value;

enum { CXI_EFFECT_NONE = 0, CXI_EFFECT_DEBUG = 1, CXI_EFFECT_ORDERED = 2 };

typedef struct cxi_equation {
  uint16_t prim;              /* cxi_prim */
  uint16_t effects;
  uint32_t n_in, n_out;
  uint32_t in;                /* its first operand in `operands` */
  uint32_t out;               /* its first result among the values */
  cxi_name site, scope;       /* "train.c:41", "layer.3"; not structure */
  const void *params;         /* cxi_<primitive>_params */
} cxi_equation;

struct cxi_program {
  cxi_hash hash;              /* of the structure alone */
  uint32_t n_in, n_literals, n_values, n_equations, n_operands, n_out;
  cxi_name name;              /* of the C function */
  uint16_t effects;           /* of its equations together */
  bool has_parts;             /* an equation has sub-programs */
  cxi_names axes;             /* that its collectives name; each once */
  const cxi_value *values;
  const uint64_t *literals;   /* bits of value n_in + i, low bytes first */
  const cxi_equation *equations;
  const uint32_t *operands, *outputs;
  size_t bytes;               /* of memory */
  /* the table of programs */
  uint32_t refs;
  cxi_hash identity;          /* of structure, sites, scopes and name */
  cxi_arena arena;
  cxi_program *next;
};

static inline bool cxi_is_literal(const cxi_program *p, uint32_t value) {
  return value >= p->n_in && value < p->n_in + p->n_literals;
}
static inline uint64_t cxi_literal_bits_of(const cxi_program *p,
                                           uint32_t value) {
  return p->literals[value - p->n_in];
}
static inline cxi_type cxi_output_type(const cxi_program *p, uint32_t i) {
  return p->values[p->outputs[i]].type;
}
static inline const uint32_t *cxi_operands_of(const cxi_program *p,
                                              const cxi_equation *e) {
  return p->operands + e->in;
}

/* Takes p, whose arrays are in its arena; returns the equal one if there is
 * one already, with a reference either way. NULL without memory (p is freed). */
const cxi_program *cxi_program_intern(cxi_program *p);
const cxi_program *cxi_program_retain(const cxi_program *p);
void cxi_program_release(const cxi_program *p); /* NULL: nothing */

/* Takes a reference of its own until the outermost walk of this thread ends,
 * and returns p: what transforms hand to rules is held this way. NULL for
 * NULL, and without memory. cxi_hold_enter and cxi_hold_leave stand around
 * each walk. */
const cxi_program *cxi_hold(const cxi_program *p);
void cxi_hold_enter(void);
void cxi_hold_leave(void);

typedef struct cxi_program_stats {
  uint64_t finished, shared;  /* finished programs; those found interned */
  uint64_t live, bytes;
} cxi_program_stats;
cxi_program_stats cxi_programs_now(void);

#endif
