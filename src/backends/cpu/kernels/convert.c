/* convert.c - conversions: exact, or rounded once, as those of the rows. */
#include "backends/cpu/kernels/loops.h"
#include "base/math.h"

/* A conversion of n elements from storage type FROM to TO, f that of one. */
#define CONVERSION(name, FROM, TO, f)                                  \
  static void name(int64_t n, void *out, const void *a, const void *b, \
                   const void *c, int64_t number) {                    \
    (void)b, (void)c, (void)number;                                    \
    TO *to = out;                                                      \
    const FROM *from = a;                                              \
    CXI_INDEPENDENT                                                    \
    for (int64_t i = 0; i < n; i++) to[i] = f(from[i]);                \
  }

/* -- f16 and bf16 ---------------------------------------------------------- */

CXI_INLINE float as_f16(float x) {
  return cxi_f16_widen(cxi_f16_round(x));
}
CXI_INLINE float as_bf16(float x) {
  return cxi_bf16_widen(cxi_bf16_round(x));
}
CONVERSION(widen_f16, uint16_t, float, cxi_f16_widen)
CONVERSION(widen_bf16, uint16_t, float, cxi_bf16_widen)
CONVERSION(narrow_f16, float, uint16_t, cxi_f16_round)
CONVERSION(narrow_bf16, float, uint16_t, cxi_bf16_round)
CONVERSION(round_f16, float, float, as_f16)
CONVERSION(round_bf16, float, float, as_bf16)

/* -- floats ---------------------------------------------------------------- */

CXI_INLINE double f64_of_f32(float x) {
  return (double)x;
}
CXI_INLINE float f32_of_f64(double x) {
  return (float)x;
}
CXI_INLINE uint8_t bool_of_f32(float x) {
  return x != 0;
}
CXI_INLINE uint8_t bool_of_f64(double x) {
  return x != 0;
}
CONVERSION(f32_to_f64, float, double, f64_of_f32)
CONVERSION(f64_to_f32, double, float, f32_of_f64)
CONVERSION(f32_to_bool, float, uint8_t, bool_of_f32)
CONVERSION(f64_to_bool, double, uint8_t, bool_of_f64)

/* -- floats to i32: truncated, saturated, NaN is 0 ------------------------- */

CXI_INLINE int32_t i32_of_f64(double x) {
  const double low = x < -0x1p31 ? -0x1p31 : x;
  const double in = low > 0x1.fffffffcp30 ? 0x1.fffffffcp30 : low;
  return (int32_t)(x == x ? in : 0);
}
CXI_INLINE int32_t i32_of_f32(float x) {
  return i32_of_f64((double)x);
}
CONVERSION(f64_to_i32, double, int32_t, i32_of_f64)
CONVERSION(f32_to_i32, float, int32_t, i32_of_f32)

/* -- integers -------------------------------------------------------------- */

/* From one integer type or bool to all others; to floats with one rounding. */
#define FROM_INTEGER(s, FROM)                         \
  CXI_INLINE float s##_as_f32(FROM x) {               \
    return (float)x;                                  \
  }                                                   \
  CXI_INLINE double s##_as_f64(FROM x) {              \
    return (double)x;                                 \
  }                                                   \
  CXI_INLINE uint8_t s##_as_bool(FROM x) {            \
    return x != 0;                                    \
  }                                                   \
  CXI_INLINE uint8_t s##_as_8(FROM x) {               \
    return (uint8_t)x;                                \
  }                                                   \
  CXI_INLINE uint16_t s##_as_16(FROM x) {             \
    return (uint16_t)x;                               \
  }                                                   \
  CXI_INLINE uint32_t s##_as_32(FROM x) {             \
    return (uint32_t)x;                               \
  }                                                   \
  CXI_INLINE uint64_t s##_as_64(FROM x) {             \
    return (uint64_t)x;                               \
  }                                                   \
  CONVERSION(s##_to_f32, FROM, float, s##_as_f32)     \
  CONVERSION(s##_to_f64, FROM, double, s##_as_f64)    \
  CONVERSION(s##_to_bool, FROM, uint8_t, s##_as_bool) \
  CONVERSION(s##_to_8, FROM, uint8_t, s##_as_8)       \
  CONVERSION(s##_to_16, FROM, uint16_t, s##_as_16)    \
  CONVERSION(s##_to_32, FROM, uint32_t, s##_as_32)    \
  CONVERSION(s##_to_64, FROM, uint64_t, s##_as_64)    \
  static void set_##s(cxi_cpu_kernel *to) {           \
    to[CX_F32] = s##_to_f32;                          \
    to[CX_F64] = s##_to_f64;                          \
    to[CX_BOOL] = s##_to_bool;                        \
    to[CX_I8] = to[CX_U8] = s##_to_8;                 \
    to[CX_I16] = to[CX_U16] = s##_to_16;              \
    to[CX_I32] = to[CX_U32] = s##_to_32;              \
    to[CX_I64] = to[CX_U64] = s##_to_64;              \
  }
FROM_INTEGER(bool, uint8_t)
FROM_INTEGER(i8, int8_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(u16, uint16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u64, uint64_t)

void CXI_FOR_ISA(cxi_cpu_set_convert)(cxi_cpu_kernels *set) {
  set->widen[CX_F16] = widen_f16;
  set->widen[CX_BF16] = widen_bf16;
  set->narrow[CX_F16] = narrow_f16;
  set->narrow[CX_BF16] = narrow_bf16;
  set->round[CX_F16] = round_f16;
  set->round[CX_BF16] = round_bf16;
  set_bool(set->convert[CX_BOOL]);
  set_i8(set->convert[CX_I8]);
  set_u8(set->convert[CX_U8]);
  set_i16(set->convert[CX_I16]);
  set_u16(set->convert[CX_U16]);
  set_i32(set->convert[CX_I32]);
  set_u32(set->convert[CX_U32]);
  set_i64(set->convert[CX_I64]);
  set_u64(set->convert[CX_U64]);
  set->convert[CX_F32][CX_F64] = f32_to_f64;
  set->convert[CX_F64][CX_F32] = f64_to_f32;
  set->convert[CX_F32][CX_BOOL] = f32_to_bool;
  set->convert[CX_F64][CX_BOOL] = f64_to_bool;
  set->convert[CX_F32][CX_I32] = f32_to_i32;
  set->convert[CX_F64][CX_I32] = f64_to_i32;
}
