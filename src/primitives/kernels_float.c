/* kernels_float.c - kernels of the floating dtypes. */
#include "primitives/kernels.h"

#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "base/math.h"

/* The included file is compiled once for each dtype: ELEMENT is what is
 * stored, NUMBER what is computed with, MATH names a function of math.h, NAME
 * makes a name of its own. It ends these definitions. f16 and bf16 compute in
 * f32 and round once. */
#define NAME(name) name##_f16
#define ELEMENT uint16_t
#define NUMBER float
#define MATH(name) cxi_##name##_f32
#define LOAD(x) cxi_f16_widen(x)
#define STORE(x) cxi_f16_round(x)
#include "primitives/kernels_float.inc"

#define NAME(name) name##_bf16
#define ELEMENT uint16_t
#define NUMBER float
#define MATH(name) cxi_##name##_f32
#define LOAD(x) cxi_bf16_widen(x)
#define STORE(x) cxi_bf16_round(x)
#include "primitives/kernels_float.inc"

#define NAME(name) name##_f32
#define ELEMENT float
#define NUMBER float
#define MATH(name) cxi_##name##_f32
#define LOAD(x) (x)
#define STORE(x) (x)
#include "primitives/kernels_float.inc"

#define NAME(name) name##_f64
#define ELEMENT double
#define NUMBER double
#define MATH(name) cxi_##name##_f64
#define LOAD(x) (x)
#define STORE(x) (x)
#include "primitives/kernels_float.inc"

const cxi_kernel *cxi_float_kernels(cx_dtype type) {
  switch (type) {
  case CX_F16:
    return kernels_f16;
  case CX_BF16:
    return kernels_bf16;
  case CX_F32:
    return kernels_f32;
  case CX_F64:
    return kernels_f64;
  default:
    return NULL;
  }
}
