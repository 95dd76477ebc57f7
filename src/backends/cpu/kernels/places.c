/* places.c - single elements at computed places: of gathers and scatters. */
#include "backends/cpu/kernels/loops.h"
#include "base/math.h"

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

/* -- moving ----------------------------------------------------------------- */

#define MOVES(T, suffix)                                               \
  static void pick_##suffix(int64_t n, void *to, int64_t step,         \
                            const void *from, const int32_t *places,   \
                            const void *fill) {                        \
    T *out = to;                                                       \
    const T *whole = from;                                             \
    const T none = *(const T *)fill;                                   \
    if (step == 1) CXI_INDEPENDENT                                     \
    for (int64_t i = 0; i < n; i++) {                                  \
      const T x = whole[places[i] < 0 ? 0 : places[i]];                \
      out[i] = places[i] < 0 ? none : x;                               \
    }                                                                  \
    else for (int64_t i = 0; i < n; i++) out[i * step] =               \
        places[i] < 0 ? none : whole[places[i]];                       \
  }                                                                    \
  static void put_##suffix(int64_t n, void *to, const int32_t *places, \
                           const void *from, int64_t step) {           \
    T *whole = to;                                                     \
    const T *x = from;                                                 \
    for (int64_t i = 0; i < n; i++)                                    \
      if (places[i] >= 0) whole[places[i]] = x[i * step];              \
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
  set->locate = run_locate;
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
