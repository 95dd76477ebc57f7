/* loops.h - loops over the functions of base/math.h, once per instruction set,
 * for isa_test.c to compare. */
#ifndef LOOPS_H
#define LOOPS_H

#include <stdint.h>

typedef struct loop {
  const char *name;
  void (*run)(const float *x, const float *y, float *out, int64_t n);
} loop;
typedef struct loop_f64 {
  const char *name;
  void (*run)(const double *x, double *out, int64_t n);
} loop_f64;

/* The tables end with a null name. */
extern const loop loops_base[], loops_avx2[], loops_avx512[];
extern const loop_f64 loops_f64_base[], loops_f64_avx2[], loops_f64_avx512[];

#endif
