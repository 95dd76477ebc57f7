/* places.c - single elements at computed places: of gathers and scatters. */
#include "backends/cpu/kernels/loops.h"
#include "base/math.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

/* -- where ------------------------------------------------------------------ */

CXI_INLINE void locate(int64_t n, int32_t *places, const int32_t *index,
                       int64_t step, cxi_cpu_item item) {
  const int32_t last = item.last, stride = item.stride;
  if (item.drops) CXI_INDEPENDENT
  for (int64_t i = 0; i < n; i++) {
    const int32_t start = index[i * step], place = places[i];
    const bool inside = ((start >= 0) & (start <= last)) & (place >= 0);
    /* of one outside the product may overflow: as unsigned numbers */
    const uint32_t moved = (uint32_t)place + (uint32_t)start * (uint32_t)stride;
    places[i] = inside ? (int32_t)moved : -1;
  }
  else CXI_INDEPENDENT for (int64_t i = 0; i < n; i++) {
    const int32_t start = index[i * step];
    const int32_t low = start > last ? last : start;
    places[i] += (low < 0 ? 0 : low) * stride;
  }
}
static void run_locate(int64_t n, int32_t *places, const int32_t *index,
                       int64_t step, cxi_cpu_item item) {
  if (step == 1)
    locate(n, places, index, 1, item);
  else if (step == 2)
    locate(n, places, index, 2, item);
  else
    locate(n, places, index, step, item);
}

/* Places of the whole that are `step` apart. */
static void run_ramp(int64_t n, int32_t *places, int64_t first, int64_t step) {
  const int32_t from = (int32_t)first, by = (int32_t)step;
  CXI_INDEPENDENT
  for (int32_t i = 0; i < (int32_t)n; i++) places[i] = from + i * by;
}

/* Indices of another type as i32: those beyond it are outside as its greatest
 * and least are. */
#define INDICES(T, suffix, fitted)                                        \
  static void indices_##suffix(int64_t n, int32_t *out, const void *from, \
                               int64_t step) {                            \
    const T *in = from;                                                   \
    CXI_INDEPENDENT                                                       \
    for (int64_t i = 0; i < n; i++) {                                     \
      const T x = in[i * step];                                           \
      out[i] = (int32_t)(fitted);                                         \
    }                                                                     \
  }
INDICES(int8_t, i8, x)
INDICES(uint8_t, u8, x)
INDICES(int16_t, i16, x)
INDICES(uint16_t, u16, x)
INDICES(uint32_t, u32, x > INT32_MAX ? INT32_MAX : x)
INDICES(int64_t, i64, x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x)
INDICES(uint64_t, u64, x > INT32_MAX ? INT32_MAX : x)

/* -- reading: by the instructions for it, which compilers avoid ------------- */

/* As many elements as fill vectors; how many. */
#if defined __AVX512F__
CXI_INLINE int64_t pick_many_32(int64_t n, uint32_t *out, const uint32_t *whole,
                                const int32_t *places, uint32_t none) {
  const __m512i nones = _mm512_set1_epi32((int32_t)none);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i at = _mm512_loadu_si512(places + i);
    const __mmask16 inside = ~_mm512_movepi32_mask(at);
    _mm512_storeu_si512(
        out + i, _mm512_mask_i32gather_epi32(nones, inside, at, whole, 4));
  }
  return i;
}
CXI_INLINE int64_t pick_many_64(int64_t n, uint64_t *out, const uint64_t *whole,
                                const int32_t *places, uint64_t none) {
  const __m512i nones = _mm512_set1_epi64((int64_t)none);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i at = _mm256_loadu_si256((const __m256i *)(places + i));
    const __mmask8 inside = (__mmask8)~_mm256_movepi32_mask(at);
    _mm512_storeu_si512(
        out + i, _mm512_mask_i32gather_epi64(nones, inside, at, whole, 8));
  }
  return i;
}
#elif defined __AVX2__
CXI_INLINE int64_t pick_many_32(int64_t n, uint32_t *out, const uint32_t *whole,
                                const int32_t *places, uint32_t none) {
  const __m256i nones = _mm256_set1_epi32((int32_t)none);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i at = _mm256_loadu_si256((const __m256i *)(places + i));
    const __m256i inside = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(-1));
    _mm256_storeu_si256(
        (__m256i *)(out + i),
        _mm256_mask_i32gather_epi32(nones, (const int *)whole, at, inside, 4));
  }
  return i;
}
CXI_INLINE int64_t pick_many_64(int64_t n, uint64_t *out, const uint64_t *whole,
                                const int32_t *places, uint64_t none) {
  const __m256i nones = _mm256_set1_epi64x((int64_t)none);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m128i at = _mm_loadu_si128((const __m128i *)(places + i));
    const __m256i inside =
        _mm256_cvtepi32_epi64(_mm_cmpgt_epi32(at, _mm_set1_epi32(-1)));
    _mm256_storeu_si256((__m256i *)(out + i),
                        _mm256_mask_i32gather_epi64(
                            nones, (const long long *)whole, at, inside, 8));
  }
  return i;
}
#else
#define pick_many_32(n, out, whole, places, none) 0
#define pick_many_64(n, out, whole, places, none) 0
#endif
#define pick_many_8(n, out, whole, places, none) 0
#define pick_many_16(n, out, whole, places, none) 0

/* -- moving ----------------------------------------------------------------- */

#define MOVES(T, suffix)                                                \
  static void pick_##suffix(int64_t n, void *to, int64_t step,          \
                            const void *from, const int32_t *places,    \
                            const void *fill) {                         \
    T *out = to;                                                        \
    const T *whole = from;                                              \
    const T none = *(const T *)fill;                                    \
    int64_t i = 0;                                                      \
    if (step == 1) i = pick_many_##suffix(n, out, whole, places, none); \
    for (; i < n; i++)                                                  \
      out[i * step] = places[i] < 0 ? none : whole[places[i]];          \
  }                                                                     \
  static void put_##suffix(int64_t n, void *to, const int32_t *places,  \
                           const void *from, int64_t step) {            \
    T *whole = to;                                                      \
    const T *x = from;                                                  \
    for (int64_t i = 0; i < n; i++)                                     \
      if (places[i] >= 0) whole[places[i]] = x[i * step];               \
  }
MOVES(uint8_t, 8)
MOVES(uint16_t, 16)
MOVES(uint32_t, 32)
MOVES(uint64_t, 64)

/* -- joining, in the order of the positions: places may meet ---------------- */

#define JOIN(T, type, name)                                                    \
  static void name##_##type(int64_t n, void *to, const int32_t *places,        \
                            const void *from, int64_t step) {                  \
    T *whole = to;                                                             \
    const T *x = from;                                                         \
    for (int64_t i = 0; i < n; i++)                                            \
      if (places[i] >= 0)                                                      \
        whole[places[i]] = cxi_##name##_##type(whole[places[i]], x[i * step]); \
  }
#define JOINS(T, type)                                    \
  JOIN(T, type, add)                                      \
  JOIN(T, type, mul)                                      \
  JOIN(T, type, min)                                      \
  JOIN(T, type, max)                                      \
  static const cxi_cpu_join joins_##type[CXI_N_PRIMS] = { \
    [CXI_PRIM_add] = add_##type,                          \
    [CXI_PRIM_mul] = mul_##type,                          \
    [CXI_PRIM_min] = min_##type,                          \
    [CXI_PRIM_max] = max_##type,                          \
  };
JOINS(int8_t, i8)
JOINS(uint8_t, u8)
JOINS(int16_t, i16)
JOINS(uint16_t, u16)
JOINS(int32_t, i32)
JOINS(uint32_t, u32)
JOINS(int64_t, i64)
JOINS(uint64_t, u64)
JOINS(float, f32)
JOINS(double, f64)

void CXI_FOR_ISA(cxi_cpu_set_places)(cxi_cpu_kernels *set) {
  set->ramp = run_ramp;
  set->locate = run_locate;
  set->indices[CX_I8] = indices_i8, set->indices[CX_U8] = indices_u8;
  set->indices[CX_I16] = indices_i16, set->indices[CX_U16] = indices_u16;
  set->indices[CX_U32] = indices_u32;
  set->indices[CX_I64] = indices_i64, set->indices[CX_U64] = indices_u64;
  set->pick[0] = pick_8, set->pick[1] = pick_16;
  set->pick[2] = pick_32, set->pick[3] = pick_64;
  set->put[0] = put_8, set->put[1] = put_16;
  set->put[2] = put_32, set->put[3] = put_64;
  set->join[CX_I8] = joins_i8, set->join[CX_U8] = joins_u8;
  set->join[CX_I16] = joins_i16, set->join[CX_U16] = joins_u16;
  set->join[CX_I32] = joins_i32, set->join[CX_U32] = joins_u32;
  set->join[CX_I64] = joins_i64, set->join[CX_U64] = joins_u64;
  set->join[CX_F32] = joins_f32, set->join[CX_F64] = joins_f64;
}
