/* bench.h - work of fixed size that other libraries do too, timed.
 *
 * A case is a row of its group's table: `make` draws its operands and says what
 * is called; bench.c warms up, calls, takes times and the check value. */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "calx/calx.h"
#include "calx/models/bert.h"

/* What is recorded of the result, so that two libraries that took different
 * times are known to have done the same. */
typedef enum bench_value {
  BENCH_NONE,
  BENCH_MEAN_1000, /* mean of |x| over the first 1000 elements of `leaf` */
  BENCH_MEAN,      /* over all */
  BENCH_FIRST_3,   /* the first elements of `leaf`, at most 3 */
  BENCH_LOSSES,    /* `leaf`, a scalar, of the first 4 calls */
  BENCH_OWN        /* what `own_value` makes of the result */
} bench_value;

struct bench_line;
typedef struct bench_work {
  cx_fn f;     /* called through cx_jit, with the arguments donated that are */
  cx args[12]; /* carried */
  int n_args;
  int carried; /* so many items of the result are the next call's first args */
  bench_value value;
  int leaf; /* of the result */
  /* BENCH_OWN: the value, from the result and what stands in args[n_args...]. */
  cx (*own_value)(cx result, const struct bench_work *work);
  double gflop, gbytes; /* of one call; 0: no rate is printed */
  int inner;            /* calls in one time; 0: 1 */
  int least, most;      /* times taken at least, at most; 0: 3, 300 */
  double seconds;       /* until then, unless fewer than `least`; 0: 0.7 */
  /* Instead of f: `inner` turns of something else; false after an error. */
  bool (*turns)(int inner, void *state);
  bool (*time)(double *out_seconds, void *state); /* or takes one time itself */
  void (*tell)(struct bench_line *line, void *state); /* more about the times */
  void (*end)(void *state); /* NULL: nothing to do */
  void *state;
  int threads; /* given to make */
} bench_work;

typedef struct bench_case {
  const char *name;
  void (*make)(const struct bench_case *c, bench_work *work);
  int64_t b, m, n, k; /* sizes, as make takes them */
  cx_dtype type;
  const char *text; /* a name, as make takes it */
} bench_case;

/* A group prints one line a case; `letter` is its name on the command line. */
typedef struct bench_group {
  char letter;
  const char *title;
  const bench_case *cases;
  int n;
} bench_group;
extern const bench_group bench_products, bench_encoder, bench_training,
    bench_xl, bench_classifier, bench_dispatch, bench_compiling, bench_loops,
    bench_operations, bench_startup, bench_memory;

/* -- BERT, whose parameters groups B, C, G, J and K share ------------------- */

typedef struct bench_bert_size {
  const char *name;
  int vocabulary, hidden, layers, heads, inner;
} bench_bert_size;
const bench_bert_size *bench_bert_find(const char *name);
bert_config bench_bert_config(const bench_bert_size *size);
/* Drawn by name; with the head that predicts words if `head`. `specs`: shapes
 * alone. */
cx bench_bert_params(const bench_bert_size *size, bool head, bool specs);

/* -- data: the same numbers in every library ------------------------------- */

/* ((h >> 8) 2^-23 - 1) a, h = hash(name, i), as f32 of the shape. */
#define bench_uniform(name, a, ...) \
  bench_uniform_((name), (a), CX_DIMS(__VA_ARGS__))
cx bench_uniform_(const char *name, double a, cx_dims shape);
/* h mod `below`, i32 */
#define bench_integers(name, below, ...) \
  bench_integers_((name), (below), CX_DIMS(__VA_ARGS__))
cx bench_integers_(const char *name, uint32_t below, cx_dims shape);
/* Elements i = 0, 1, ... of a name, 32 bits: FNV-1a of the name (Fowler, Noll &
 * Vo) plus i, mixed by C. Wellons's lowbias32. */
uint32_t bench_hash(uint32_t name, uint32_t i);
uint32_t bench_name(const char *name);

/* -- what the driver is told, and tells ------------------------------------ */

enum { BENCH_VALUES = 4 };
typedef struct bench_options {
  int threads;
  bool json, quick;
  const struct bench_checks *checks; /* values to compare with, or NULL */
} bench_options;
typedef struct bench_line {
  const char *name;
  double *seconds; /* the times; sorted by bench_report */
  int n;
  double value[BENCH_VALUES];
  int n_values;
  const char *value_name; /* "check", "result", "loss" */
  double gflop, gbytes;   /* of one call; 0: not told */
  double peak_mb;         /* 0: that of this process */
} bench_line;
/* Prints it; false if a value is recorded and differs. */
bool bench_report(const bench_options *options, bench_line *line);
double bench_now(void); /* seconds */
/* A work of a name that a process of its own does, "first", "encoder", for
 * calx bench --only-start NAME: its exit status. */
int bench_start(const char *name, int threads);

#endif
