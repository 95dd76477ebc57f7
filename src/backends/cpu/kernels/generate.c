/* generate.c - elements from their place alone: indices, random bits. */
#include "backends/cpu/kernels/loops.h"
#include "base/threefry.h"

/* -- iota: element e is (e / inner) % size ---------------------------------- */

#define IOTA(T, suffix)                                                \
  static void iota_##suffix(int64_t start, int64_t n, void *to,        \
                            const cxi_cpu_index *p) {                  \
    T *out = to;                                                       \
    int64_t i = start / p->inner % p->size, within = start % p->inner; \
    if (p->inner == 1)                                                 \
      for (int64_t m; n > 0; n -= m, out += m, i = 0) {                \
        m = n < p->size - i ? n : p->size - i;                         \
        for (int64_t k = 0; k < m; k++) out[k] = (T)(i + k);           \
      }                                                                \
    else                                                               \
      for (int64_t m; n > 0; n -= m, out += m, within = 0) {           \
        m = n < p->inner - within ? n : p->inner - within;             \
        for (int64_t k = 0; k < m; k++) out[k] = (T)i;                 \
        i = i + 1 == p->size ? 0 : i + 1;                              \
      }                                                                \
  }
IOTA(int8_t, i8)
IOTA(uint8_t, u8)
IOTA(int16_t, i16)
IOTA(uint16_t, u16)
IOTA(int32_t, i32)
IOTA(uint32_t, u32)
IOTA(int64_t, i64)
IOTA(uint64_t, u64)
IOTA(float, f32)
IOTA(double, f64)

/* -- random bits: element e is the hash of e -------------------------------- */

/* A round waits for the one before it, so four stretches of counters are
 * hashed side by side. The counters have one high word, low words from `low`
 * on. */
#define BITS(T, suffix, of_pair)                                          \
  CXI_INLINE T hash_##suffix(cxi_word_pair key, uint32_t a, uint32_t b) { \
    const cxi_word_pair y = cxi_threefry(key, (cxi_word_pair){ a, b });   \
    return (T)(of_pair);                                                  \
  }                                                                       \
  static void bits_##suffix(int64_t start, int64_t n, void *to,           \
                            const void *from) {                           \
    T *out = to;                                                          \
    const cxi_word_pair key = *(const cxi_word_pair *)from;               \
    while (n > 0) {                                                       \
      const uint32_t low = (uint32_t)start;                               \
      const int64_t rest = (int64_t)(UINT64_C(1) << 32) - (int64_t)low;   \
      const int64_t m = n < rest ? n : rest, quarter = m / 4;             \
      const uint32_t high = (uint32_t)((uint64_t)start >> 32);            \
      const uint32_t by = (uint32_t)quarter;                              \
      T *second = out + quarter, *third = second + quarter;               \
      T *fourth = third + quarter;                                        \
      CXI_INDEPENDENT                                                     \
      for (int64_t k = 0; k < quarter; k++) {                             \
        const uint32_t i = low + (uint32_t)k;                             \
        const T a = hash_##suffix(key, high, i);                          \
        const T b = hash_##suffix(key, high, i + by);                     \
        const T c = hash_##suffix(key, high, i + 2 * by);                 \
        const T d = hash_##suffix(key, high, i + 3 * by);                 \
        out[k] = a, second[k] = b, third[k] = c, fourth[k] = d;           \
      }                                                                   \
      for (int64_t k = 4 * quarter; k < m; k++)                           \
        out[k] = hash_##suffix(key, high, low + (uint32_t)k);             \
      start += m, n -= m, out += m;                                       \
    }                                                                     \
  }
BITS(uint8_t, u8, y.a ^ y.b)
BITS(uint16_t, u16, y.a ^ y.b)
BITS(uint32_t, u32, y.a ^ y.b)
BITS(uint64_t, u64, (uint64_t)y.a << 32 | y.b)

void CXI_FOR_ISA(cxi_cpu_set_generate)(cxi_cpu_kernels *set) {
  set->iota[CX_I8] = iota_i8, set->iota[CX_U8] = iota_u8;
  set->iota[CX_I16] = iota_i16, set->iota[CX_U16] = iota_u16;
  set->iota[CX_I32] = iota_i32, set->iota[CX_U32] = iota_u32;
  set->iota[CX_I64] = iota_i64, set->iota[CX_U64] = iota_u64;
  set->iota[CX_F32] = iota_f32, set->iota[CX_F64] = iota_f64;
  set->bits[0] = bits_u8, set->bits[1] = bits_u16;
  set->bits[2] = bits_u32, set->bits[3] = bits_u64;
}
