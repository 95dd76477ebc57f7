/* convert_elements.c - elements of one dtype as another.
 *
 * Elements pass through blocks of a wide type: int64_t between bool and the
 * integers, where wrapping is dropping high bytes, and double otherwise. A
 * 64-bit integer on its way to a shorter float is rounded to odd, so that the
 * one rounding that counts is the last. */
#include "primitives/convert.h"

#include "base/half.h"
#include "primitives/kernels.h"

enum { BLOCK = 256 };

typedef union block {
  double real[BLOCK];
  int64_t whole[BLOCK];
} block;

/* Elements `step` apart into a block; a block into elements side by side. */
typedef struct converter {
  void (*load_real)(int64_t n, const void *from, int64_t step, block *to);
  void (*load_odd)(int64_t n, const void *from, int64_t step, block *to);
  void (*load_whole)(int64_t n, const void *from, int64_t step, block *to);
  void (*store_real)(int64_t n, const block *from, void *to);
  void (*store_whole)(int64_t n, const block *from, void *to);
} converter;

/* -- conversions of one element -------------------------------------------- */

/* Truncated into [lo, hi], 0 for NaN; for integers below 64 bits. */
static inline int64_t saturate(double x, double lo, double hi) {
  return x != x ? 0 : (int64_t)(x < lo ? lo : x > hi ? hi : x);
}

static inline int64_t saturate_i64(double x) {
  if (x >= 0x1p63) return INT64_MAX;
  return x >= -0x1p63 ? (int64_t)x : x < 0 ? INT64_MIN : 0;
}

static inline uint64_t saturate_u64(double x) {
  if (x >= 0x1p64) return UINT64_MAX;
  return x > 0 ? (uint64_t)x : 0;
}

/* A 64-bit integer rounded to odd: a double with the last of its 53 places
 * set if places below were lost. */
static inline double odd_i64(int64_t x) {
  if (x >= -(1LL << 53) && x <= 1LL << 53) return (double)x;
  return (double)(x & 2047 ? (x & ~2047LL) | 2048 : x);
}

static inline double odd_u64(uint64_t x) {
  if (x <= 1ULL << 53) return (double)x;
  return (double)(x & 2047 ? (x & ~2047ULL) | 2048 : x);
}

/* -- loops by dtype -------------------------------------------------------- */

/* The included files are compiled once for each dtype and end its
 * definitions: ELEMENT is what is stored, TO_ELEMENT makes one of a double. */
#define NAME(name) name##_bool
#define ELEMENT uint8_t
#define TO_ELEMENT(x) ((x) != 0)
#define FROM_WHOLE(x) ((x) != 0)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"
#undef FROM_WHOLE

#define FROM_WHOLE(x) ((ELEMENT)(x))
#define NAME(name) name##_i8
#define ELEMENT int8_t
#define TO_ELEMENT(x) (ELEMENT) saturate(x, INT8_MIN, INT8_MAX)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_u8
#define ELEMENT uint8_t
#define TO_ELEMENT(x) (ELEMENT) saturate(x, 0, UINT8_MAX)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_i16
#define ELEMENT int16_t
#define TO_ELEMENT(x) (ELEMENT) saturate(x, INT16_MIN, INT16_MAX)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_u16
#define ELEMENT uint16_t
#define TO_ELEMENT(x) (ELEMENT) saturate(x, 0, UINT16_MAX)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_i32
#define ELEMENT int32_t
#define TO_ELEMENT(x) (ELEMENT) saturate(x, INT32_MIN, INT32_MAX)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_u32
#define ELEMENT uint32_t
#define TO_ELEMENT(x) (ELEMENT) saturate(x, 0, UINT32_MAX)
#define TO_ODD(x) (x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_i64
#define ELEMENT int64_t
#define TO_ELEMENT(x) saturate_i64(x)
#define TO_ODD(x) odd_i64(x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_u64
#define ELEMENT uint64_t
#define TO_ELEMENT(x) saturate_u64(x)
#define TO_ODD(x) odd_u64(x)
#include "primitives/convert_integer.inc"

#define NAME(name) name##_f16
#define ELEMENT uint16_t
#define TO_ELEMENT(x) cxi_f16_round(cxi_f32_to_odd(x))
#define TO_REAL(x) cxi_f16_widen(x)
#include "primitives/convert_float.inc"

#define NAME(name) name##_bf16
#define ELEMENT uint16_t
#define TO_ELEMENT(x) cxi_bf16_round(cxi_f32_to_odd(x))
#define TO_REAL(x) cxi_bf16_widen(x)
#include "primitives/convert_float.inc"

#define NAME(name) name##_f32
#define ELEMENT float
#define TO_ELEMENT(x) (float)(x)
#define TO_REAL(x) (x)
#include "primitives/convert_float.inc"

#define NAME(name) name##_f64
#define ELEMENT double
#define TO_ELEMENT(x) (x)
#define TO_REAL(x) (x)
#include "primitives/convert_float.inc"

static const converter *converter_of(cx_dtype type) {
  static const converter *const all[CXI_N_DTYPES] = {
    [CX_BOOL] = &converter_bool, [CX_I8] = &converter_i8,
    [CX_U8] = &converter_u8,     [CX_I16] = &converter_i16,
    [CX_U16] = &converter_u16,   [CX_I32] = &converter_i32,
    [CX_U32] = &converter_u32,   [CX_I64] = &converter_i64,
    [CX_U64] = &converter_u64,   [CX_F16] = &converter_f16,
    [CX_BF16] = &converter_bf16, [CX_F32] = &converter_f32,
    [CX_F64] = &converter_f64,
  };
  return all[type];
}

/* -- the driver ------------------------------------------------------------ */

/* What a run is converted from and to. */
typedef struct route {
  cx_dtype from, to;
} route;

static void convert_run(const cxi_run *run) {
  const route *types = run->params;
  const converter *from = converter_of(types->from);
  const converter *to = converter_of(types->to);
  const bool real =
      cxi_dtype_is_float(types->from) || cxi_dtype_is_float(types->to);
  const size_t in_bytes = cxi_dtype_bytes(types->from);
  const size_t out_bytes = cxi_dtype_bytes(types->to);
  const char *in = run->in[0];
  char *out = run->out;
  block wide;
  for (int64_t at = 0; at < run->n; at += BLOCK) {
    const int64_t n = run->n - at < BLOCK ? run->n - at : BLOCK;
    const void *source = in + at * run->step[0] * (int64_t)in_bytes;
    if (!real)
      from->load_whole(n, source, run->step[0], &wide);
    else if (types->to == CX_F64)
      from->load_real(n, source, run->step[0], &wide);
    else
      from->load_odd(n, source, run->step[0], &wide);
    void *target = out + at * (int64_t)out_bytes;
    (real ? to->store_real : to->store_whole)(n, &wide, target);
  }
}

void cxi_convert_view(const cxi_view *from, const cxi_view *to) {
  const route types = { from->type.type, to->type.type };
  if (types.from == types.to)
    cxi_view_copy(to, from);
  else
    cxi_kernel_run(convert_run, &types, 1, from, to);
}
