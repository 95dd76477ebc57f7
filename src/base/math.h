/* math.h - the elementwise functions on single numbers: they define the bits.
 *
 * The reference executor, the vector kernels and the loops of every tier call
 * these same functions, so that equal operands give equal bits wherever they
 * are computed. For that
 *   - the f32 functions and the exponentials of f64 are free of branches,
 *     tables and calls: a compiler that turns a loop over one into vector code
 *     keeps every operation, and each operation is exactly rounded by IEEE 754;
 *   - products and sums are fused only where cxi_fma_f32 says so, and then
 *     always (the library is compiled with -ffp-contract=off);
 *   - the other f64 functions call the C library where it is good enough.
 * The few f32 functions with a slow branch (sin, cos, tan, rem, erf_inv) come
 * with a test that tells whether an operand needs it, and the fast part by
 * itself, so that a kernel may take a block at once.
 *
 * Which NaN a NaN is (sign, payload) is left open, as IEEE 754 leaves it.
 *
 * Worst errors (tests/math_test.c and math_f64_test.c measure and print them):
 * 2 units in the last place, 4 for erf, erfc, erf_inv, lgamma and digamma.
 * Subnormal numbers are kept.
 *
 * The polynomials were computed for this file: minimax in the error relative
 * to the function itself by Remez exchange in 40 digits, coefficients rounded
 * one after the other from the constant up, the rest fitted again each time.
 * Their error is given beside them. */
#ifndef CXI_MATH_H
#define CXI_MATH_H

#include "base/half.h"
#include "base/math_f32.h"
#include "base/math_pow_f32.h"
#include "base/math_wide_f32.h"
#include "base/math_f64.h"
#include "base/math_int.h"
#include "base/math_special.h"

#endif
