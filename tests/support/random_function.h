/* random_function.h - functions made of random operations, from a seed. */
#ifndef TEST_RANDOM_FUNCTION_H
#define TEST_RANDOM_FUNCTION_H

#include "calx.h"

/* Random numbers of the generator. */
typedef struct chance {
  uint64_t state;
} chance;
uint32_t chance_draw(chance *c, uint32_t n); /* 0 .. n-1 */

/* The values that a function has so far. */
enum { POOL = 96 };
typedef struct pool {
  chance chance;
  int depth;     /* of functions inside that may still be made */
  int64_t most;  /* elements of a value */
  cx_dtype main; /* the dtype of most floats: see random_type_of */
  int n;
  cx values[POOL];
} pool;

typedef cx (*random_maker)(pool *p); /* {0}: not with these values */
typedef struct random_makers {
  int n;
  const random_maker *make;
} random_makers;
extern const random_makers random_arithmetic; /* random_arithmetic.c */
extern const random_makers random_movement;   /* random_movement.c */
extern const random_makers random_control;    /* random_control.c */

/* -- for makers ----------------------------------------------------------- */

typedef enum random_kind {
  A_FLOAT = 1,
  AN_INTEGER = 2,
  A_BOOL = 4,
  A_KEY = 8,
  A_NUMBER = 3,
  ANY_ARRAY = 15
} random_kind;
random_kind pool_kind_of(cx a);
/* A value of these kinds with at least this rank. If there is none: a scalar,
 * {0} for keys and for a rank that no value has. */
cx pool_pick(pool *p, int kinds, int least_rank);
/* A float of the main dtype. There always is one. */
cx pool_float(pool *p);
/* An array of a's dtype whose shape broadcasts with a's; a number at times. */
cx pool_partner(pool *p, cx a);
/* Of this dtype and shape, made from anything. */
cx pool_coerce(cx a, cx_dtype type, cx_dims shape);
/* Adds operations, then returns the pool's last value of the kinds. */
void pool_grow(pool *p, int operations);

/* -- functions ------------------------------------------------------------ */

/* f(x, y, z): x and y tuples of floats, z of what has no tangent. */
cx_fn random_function(uint64_t seed);
cx random_call(uint64_t seed, cx x, cx y, cx z); /* the C function itself */
void random_arguments(uint64_t seed, cx out[3]);
/* Of the arguments and most values in between: f64 for odd seeds. */
cx_dtype random_type_of(uint64_t seed);

#endif
