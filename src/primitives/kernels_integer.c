/* kernels_integer.c - kernels of bool and the integers. */
#include "primitives/kernels.h"

#include "base/math.h"

/* The included files are compiled once for each dtype: ELEMENT is its C type,
 * MATH names a function of math.h, NAME makes a name of its own. They end
 * these definitions. */
#define LOAD(x) (x)
#define STORE(x) (x)

#define NAME(name) name##_bool
#define MATH(name) NAME(name)
#define ELEMENT uint8_t
#include "primitives/kernels_bool.inc"

#define NAME(name) name##_i8
#define MATH(name) cxi_##name##_i8
#define ELEMENT int8_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_i16
#define MATH(name) cxi_##name##_i16
#define ELEMENT int16_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_i32
#define MATH(name) cxi_##name##_i32
#define ELEMENT int32_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_i64
#define MATH(name) cxi_##name##_i64
#define ELEMENT int64_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_u8
#define MATH(name) cxi_##name##_u8
#define ELEMENT uint8_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_u16
#define MATH(name) cxi_##name##_u16
#define ELEMENT uint16_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_u32
#define MATH(name) cxi_##name##_u32
#define ELEMENT uint32_t
#include "primitives/kernels_integer.inc"

#define NAME(name) name##_u64
#define MATH(name) cxi_##name##_u64
#define ELEMENT uint64_t
#include "primitives/kernels_integer.inc"

const cxi_kernel *cxi_integer_kernels(cx_dtype type) {
  switch (type) {
  case CX_BOOL:
    return kernels_bool;
  case CX_I8:
    return kernels_i8;
  case CX_U8:
    return kernels_u8;
  case CX_I16:
    return kernels_i16;
  case CX_U16:
    return kernels_u16;
  case CX_I32:
    return kernels_i32;
  case CX_U32:
    return kernels_u32;
  case CX_I64:
    return kernels_i64;
  case CX_U64:
    return kernels_u64;
  default:
    return NULL;
  }
}
