/* convert.c - conversions: exact, or rounded once, as those of the rows. */
#include <string.h>

#include "backends/cpu/kernels/loops.h"
#include "base/math.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

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

CXI_INLINE float as_bf16(float x) {
  return cxi_bf16_widen(cxi_bf16_round(x));
}
CONVERSION(widen_bf16, uint16_t, float, cxi_bf16_widen)
CONVERSION(narrow_bf16, float, uint16_t, cxi_bf16_round)
CONVERSION(round_bf16, float, float, as_bf16)

#if defined __AVX512F__ || defined __F16C__
/* By the instructions for it, which give the bits of base/half.h. */
#if defined __AVX512F__
enum { AT_ONCE = 16 };
typedef __m512 floats;
#define LOAD_HALVES(from) \
  _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from)))
#define HALVES(x) _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)
#define STORE_HALVES(to, h) _mm256_storeu_si256((__m256i *)(to), h)
#define LOAD_FLOATS(from) _mm512_loadu_ps(from)
#define STORE_FLOATS(to, x) _mm512_storeu_ps(to, x)
#define OF_HALVES(h) _mm512_cvtph_ps(h)
#else
enum { AT_ONCE = 8 };
typedef __m256 floats;
#define LOAD_HALVES(from) \
  _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from)))
#define HALVES(x) _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)
#define STORE_HALVES(to, h) _mm_storeu_si128((__m128i *)(to), h)
#define LOAD_FLOATS(from) _mm256_loadu_ps(from)
#define STORE_FLOATS(to, x) _mm256_storeu_ps(to, x)
#define OF_HALVES(h) _mm256_cvtph_ps(h)
#endif
CXI_INLINE void widen_many(float *to, const uint16_t *from) {
  STORE_FLOATS(to, LOAD_HALVES(from));
}
CXI_INLINE void narrow_many(uint16_t *to, const float *from) {
  STORE_HALVES(to, HALVES(LOAD_FLOATS(from)));
}
CXI_INLINE void round_many(float *to, const float *from) {
  STORE_FLOATS(to, OF_HALVES(HALVES(LOAD_FLOATS(from))));
}
#else
enum { AT_ONCE = 1 };
CXI_INLINE void widen_many(float *to, const uint16_t *from) {
  *to = cxi_f16_widen(*from);
}
CXI_INLINE void narrow_many(uint16_t *to, const float *from) {
  *to = cxi_f16_round(*from);
}
CXI_INLINE void round_many(float *to, const float *from) {
  *to = cxi_f16_widen(cxi_f16_round(*from));
}
#endif
/* The last ones through full vectors. */
#define BY_MANY(name, FROM, TO)                                              \
  static void name##_f16(int64_t n, void *out, const void *a, const void *b, \
                         const void *c, int64_t number) {                    \
    (void)b, (void)c, (void)number;                                          \
    TO *to = out;                                                            \
    const FROM *from = a;                                                    \
    int64_t i = 0;                                                           \
    CXI_INDEPENDENT                                                          \
    for (; i + AT_ONCE <= n; i += AT_ONCE) name##_many(to + i, from + i);    \
    if (i == n) return;                                                      \
    FROM x[AT_ONCE] = { 0 };                                                 \
    TO y[AT_ONCE];                                                           \
    memcpy(x, from + i, (size_t)(n - i) * sizeof *from);                     \
    name##_many(y, x);                                                       \
    memcpy(to + i, y, (size_t)(n - i) * sizeof *to);                         \
  }
BY_MANY(widen, uint16_t, float)
BY_MANY(narrow, float, uint16_t)
BY_MANY(round, float, float)

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

/* -- floats to integers: truncated, saturated, NaN is 0 -------------------- */

/* Into a type below 64 bits, by another that vectors convert to. */
#define SATURATED(s, TO, BY, LO, HI)           \
  CXI_INLINE TO s##_of_f64(double x) {         \
    const double low = x < (LO) ? (LO) : x;    \
    const double in = low > (HI) ? (HI) : low; \
    return (TO)(BY)(x == x ? in : 0);          \
  }                                            \
  CXI_INLINE TO s##_of_f32(float x) {          \
    return s##_of_f64((double)x);              \
  }
SATURATED(i8, int8_t, int32_t, -128.0, 127.0)
SATURATED(u8, uint8_t, int32_t, 0.0, 255.0)
SATURATED(i16, int16_t, int32_t, -32768.0, 32767.0)
SATURATED(u16, uint16_t, int32_t, 0.0, 65535.0)
SATURATED(i32, int32_t, int32_t, -0x1p31, 0x1.fffffffcp30)
SATURATED(u32, uint32_t, int64_t, 0.0, 0x1.fffffffep31)

CXI_INLINE int64_t i64_of_f64(double x) {
  const double low = x < -0x1p63 ? -0x1p63 : x;
  const double in = low < 0x1p63 ? low : 0; /* of NaN: 0 */
  return x >= 0x1p63 ? INT64_MAX : (int64_t)in;
}
CXI_INLINE uint64_t u64_of_f64(double x) {
  const double low = x > 0 ? x : 0;
  return low >= 0x1p64 ? UINT64_MAX : (uint64_t)(low < 0x1p64 ? low : 0);
}
CXI_INLINE int64_t i64_of_f32(float x) {
  return i64_of_f64((double)x);
}
CXI_INLINE uint64_t u64_of_f32(float x) {
  return u64_of_f64((double)x);
}
#define FROM_FLOATS(s, TO)                       \
  CONVERSION(f64_to_##s, double, TO, s##_of_f64) \
  CONVERSION(f32_to_##s, float, TO, s##_of_f32)
FROM_FLOATS(i8, int8_t)
FROM_FLOATS(u8, uint8_t)
FROM_FLOATS(i16, int16_t)
FROM_FLOATS(u16, uint16_t)
FROM_FLOATS(i32, int32_t)
FROM_FLOATS(u32, uint32_t)
FROM_FLOATS(i64, int64_t)
FROM_FLOATS(u64, uint64_t)

/* -- to f32 rounded to odd, on the way to f16 or bf16 ----------------------- */

CXI_INLINE float odd_of_i32(int32_t x) {
  return cxi_f32_to_odd((double)x);
}
CXI_INLINE float odd_of_u32(uint32_t x) {
  return cxi_f32_to_odd((double)x);
}
/* Where f64 has no room for all places, the last of its 53 says so. */
CXI_INLINE float odd_of_i64(int64_t x) {
  const int64_t odd = (x & ~INT64_C(2047)) | ((x & 2047) != 0) << 11;
  const bool fits = x >= -(INT64_C(1) << 53) && x <= INT64_C(1) << 53;
  return cxi_f32_to_odd((double)(fits ? x : odd));
}
CXI_INLINE float odd_of_u64(uint64_t x) {
  const uint64_t odd = (x & ~UINT64_C(2047)) | (uint64_t)((x & 2047) != 0)
                                                   << 11;
  return cxi_f32_to_odd((double)(x <= UINT64_C(1) << 53 ? x : odd));
}
CONVERSION(f64_to_odd, double, float, cxi_f32_to_odd)
CONVERSION(i32_to_odd, int32_t, float, odd_of_i32)
CONVERSION(u32_to_odd, uint32_t, float, odd_of_u32)
CONVERSION(i64_to_odd, int64_t, float, odd_of_i64)
CONVERSION(u64_to_odd, uint64_t, float, odd_of_u64)

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
#define SET(TO, s)                       \
  set->convert[CX_F32][TO] = f32_to_##s; \
  set->convert[CX_F64][TO] = f64_to_##s
  SET(CX_I8, i8);
  SET(CX_U8, u8);
  SET(CX_I16, i16);
  SET(CX_U16, u16);
  SET(CX_I32, i32);
  SET(CX_U32, u32);
  SET(CX_I64, i64);
  SET(CX_U64, u64);
  set->odd[CX_F64] = f64_to_odd;
  set->odd[CX_I32] = i32_to_odd, set->odd[CX_U32] = u32_to_odd;
  set->odd[CX_I64] = i64_to_odd, set->odd[CX_U64] = u64_to_odd;
}
