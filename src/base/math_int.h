/* math_int.h - elementwise functions of the integers; see math.h.
 *
 * For each dtype (the suffixes are those of the dtypes): cxi_add, sub, mul,
 * neg, abs, sign, div, rem, pow, integer_pow, max, min, shift_left,
 * shift_right_logical, shift_right_arithmetic, population_count, clz and
 * mulhi; math_int.inc is the text.
 * Sums and products wrap; nothing an operand can be is undefined. */
#ifndef CXI_MATH_INT_H
#define CXI_MATH_INT_H

#include <stdbool.h>
#include <stdint.h>

/* Products of 64 bits by 64. */
__extension__ typedef unsigned __int128 cxi_wide;
__extension__ typedef __int128 cxi_wide_signed;

/* The including file names its element type T, the unsigned type U of its
 * width, the unsigned type W in which sums do not overflow, and the suffix. */
#define CXI_INT_JOIN_(a, b) cxi_##a##_##b
#define CXI_INT_JOIN(a, b) CXI_INT_JOIN_(a, b)
#define F(name) CXI_INT_JOIN(name, SUFFIX)

#define T int8_t
#define U uint8_t
#define W uint32_t
#define SUFFIX i8
#include "base/math_int.inc"
#define T uint8_t
#define U uint8_t
#define W uint32_t
#define SUFFIX u8
#include "base/math_int.inc"
#define T int16_t
#define U uint16_t
#define W uint32_t
#define SUFFIX i16
#include "base/math_int.inc"
#define T uint16_t
#define U uint16_t
#define W uint32_t
#define SUFFIX u16
#include "base/math_int.inc"
#define T int32_t
#define U uint32_t
#define W uint32_t
#define SUFFIX i32
#include "base/math_int.inc"
#define T uint32_t
#define U uint32_t
#define W uint32_t
#define SUFFIX u32
#include "base/math_int.inc"
#define T int64_t
#define U uint64_t
#define W uint64_t
#define SUFFIX i64
#include "base/math_int.inc"
#define T uint64_t
#define U uint64_t
#define W uint64_t
#define SUFFIX u64
#include "base/math_int.inc"

#undef F
#undef CXI_INT_JOIN
#undef CXI_INT_JOIN_

#endif
