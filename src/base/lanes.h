/* lanes.h - the order in which a reduction combines its elements.
 *
 * A reduction of n elements, taken in row-major order of the reduced axes,
 * runs over 64 lanes: lane l starts with element l and then combines elements
 * l + 64, l + 128, ... in order. Then the lanes are joined in pairs: lane i
 * with lane i + 32 for i < 32, then i + 16, 8, 4, 2 and 1; lane 0 is the
 * result. With fewer than 64 elements the lanes from n on are absent and a
 * pair without a second one is its first. Of no elements the sum is +0, the
 * product 1, the maximum the dtype's lowest and the minimum its highest value.
 *
 * This is the definition: its bits depend on the elements and on n alone, and
 * every executor must give the same, on every instruction set and with any
 * number of threads. A vector kernel (64 lanes are four registers of sixteen
 * f32) may start absent lanes from -0, the identity of the sum of floats, 1 or
 * the empty maximum or minimum: that gives the same bits, NaN apart.
 *
 * For each dtype T of i8 ... f64:
 *   cxi_lanes_sum_T, cxi_lanes_prod_T, cxi_lanes_max_T, cxi_lanes_min_T
 *     (x, n, stride)
 * and for elements that come one by one, op being cxi_add_T, cxi_max_T, ...
 *   cxi_lanes_T lanes = { 0 };
 *   cxi_lanes_put_T(&lanes, x, op) ...;  y = cxi_lanes_join_T(&lanes, empty, op)
 * f16 and bf16 are reduced in f32 and rounded once, by the caller. */
#ifndef CXI_LANES_H
#define CXI_LANES_H

#include <math.h>
#include <stdint.h>

#include "base/math.h"

enum { CXI_LANES = 64 };

#define CXI_LANES_JOIN_(a, b) cxi_##a##_##b
#define CXI_LANES_JOIN(a, b) CXI_LANES_JOIN_(a, b)
#define F(name) CXI_LANES_JOIN(name, SUFFIX)

#define T int8_t
#define SUFFIX i8
#define LOWEST INT8_MIN
#define HIGHEST INT8_MAX
#include "base/lanes.inc"
#define T uint8_t
#define SUFFIX u8
#define LOWEST 0
#define HIGHEST UINT8_MAX
#include "base/lanes.inc"
#define T int16_t
#define SUFFIX i16
#define LOWEST INT16_MIN
#define HIGHEST INT16_MAX
#include "base/lanes.inc"
#define T uint16_t
#define SUFFIX u16
#define LOWEST 0
#define HIGHEST UINT16_MAX
#include "base/lanes.inc"
#define T int32_t
#define SUFFIX i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "base/lanes.inc"
#define T uint32_t
#define SUFFIX u32
#define LOWEST 0
#define HIGHEST UINT32_MAX
#include "base/lanes.inc"
#define T int64_t
#define SUFFIX i64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "base/lanes.inc"
#define T uint64_t
#define SUFFIX u64
#define LOWEST 0
#define HIGHEST UINT64_MAX
#include "base/lanes.inc"
#define T float
#define SUFFIX f32
#define LOWEST -INFINITY
#define HIGHEST INFINITY
#include "base/lanes.inc"
#define T double
#define SUFFIX f64
#define LOWEST -(double)INFINITY
#define HIGHEST (double)INFINITY
#include "base/lanes.inc"

#undef F
#undef CXI_LANES_JOIN
#undef CXI_LANES_JOIN_

#endif
