/* float_bits.h - the bits of a floating number of any dtype as an integer.
 *
 * A sign, exponent and mantissa in this order: numbers of one sign are ordered
 * as their bits are. */
#ifndef CXI_FLOAT_BITS_H
#define CXI_FLOAT_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* The bits of the sign, of infinity and of a quiet NaN, and how many each of
 * exponent and mantissa has. */
typedef struct cxi_float_format {
  uint64_t sign, infinity, nan;
  int exponent_bits, mantissa_bits;
} cxi_float_format;

static inline cxi_float_format cxi_float_format_of(uint64_t infinity,
                                                   int bits) {
  const int mantissa = __builtin_ctzll(infinity);
  return (cxi_float_format){ (uint64_t)1 << (bits - 1), infinity,
                             infinity | ((infinity >> 1) & ~infinity),
                             bits - 1 - mantissa, mantissa };
}

/* The number beside x in the direction of y; y if they are equal, NaN if one
 * is NaN. */
static inline uint64_t cxi_nextafter_bits(const cxi_float_format *f, uint64_t x,
                                          uint64_t y) {
  const uint64_t x_size = x & ~f->sign, y_size = y & ~f->sign;
  if (x_size > f->infinity || y_size > f->infinity) return f->nan;
  if (x == y || (x_size | y_size) == 0) return y;
  if (x_size == 0) return (y & f->sign) | 1;
  const bool outwards = ((x ^ y) & f->sign) == 0 && y_size > x_size;
  return outwards ? x + 1 : x - 1;
}

/* x rounded to a mantissa of so many bits, ties to even; then infinity beyond
 * and 0 below the range of normal numbers with an exponent of so many bits. NaN
 * becomes infinity if no bit of a mantissa is left to tell them apart. (What
 * XLA's ReducePrecision does.) */
static inline uint64_t cxi_reduce_precision_bits(const cxi_float_format *f,
                                                 uint64_t x,
                                                 int64_t exponent_bits,
                                                 int64_t mantissa_bits) {
  const uint64_t sign = x & f->sign;
  uint64_t size = x & ~f->sign;
  if (size > f->infinity) return mantissa_bits ? x : sign | f->infinity;
  if (mantissa_bits < f->mantissa_bits) {
    const uint64_t last = (uint64_t)1 << (f->mantissa_bits - mantissa_bits);
    const uint64_t even = (size & last) != 0;
    size = (size + (last / 2 - 1) + even) & ~(last - 1);
  }
  if (exponent_bits < f->exponent_bits) {
    const uint64_t bias = ((uint64_t)1 << (f->exponent_bits - 1)) - 1;
    const uint64_t reach = ((uint64_t)1 << (exponent_bits - 1)) - 1;
    const uint64_t exponent = size >> f->mantissa_bits;
    if (exponent > bias + reach) size = f->infinity;
    if (exponent <= bias - reach) size = 0;
  }
  return sign | size;
}

#endif
