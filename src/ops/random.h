/* random.h - what the functions of random numbers share. */
#ifndef CXI_OPS_RANDOM_H
#define CXI_OPS_RANDOM_H

#include "calx/random.h"
#include "ops/ops.h"

/* Whether one key, a floating dtype and a shape were given; false with
 * *out_poison. */
bool cxi_random_draw(const char *op, cx *key, cx_dtype t, cx_dims shape,
                     cx *out_poison);
/* Whether it is one key, or a shape; false with *out_poison. */
bool cxi_random_key(const char *op, cx *key, cx *out_poison);
bool cxi_random_shape(const char *op, cx_dims shape, cx *out_poison);
/* Uniform in [lo, hi), both of dtype t. */
cx cxi_random_uniform(cx key, cx_dtype t, cx_dims shape, cx lo, cx hi);
cx cxi_random_gumbel(cx key, cx_dtype t, cx_dims shape);
double cxi_random_above_minus_one(cx_dtype t); /* the number of t beside it */
double cxi_random_least_normal(cx_dtype t);    /* the smallest one above 0 */
int cxi_random_fraction(cx_dtype t);           /* bits behind the point */

/* A standard normal number in [lo, hi] where that interval has too little mass
 * to draw from by inverting erf. */
cx cxi_random_tail(cx key, cx_dtype t, cx_dims shape, double lo, double hi);

/* A C number or an array as a parameter of dtype t that broadcasts to the
 * shape; false with *out_poison. */
bool cxi_random_parameter(const char *op, cx given, cx_dtype t, cx_dims shape,
                          cx *out, cx *out_poison);

#endif
