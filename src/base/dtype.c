/* dtype.c - the table of dtypes; single elements as numbers. */
#include "base/dtype.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

#define NAME(name, text, storage, kind) [CX_##name] = text,
#define BYTES(name, text, storage, kind) [CX_##name] = sizeof(storage),
#define KIND(name, text, storage, kind) [CX_##name] = kind,
static const char *const names[CXI_N_DTYPES] = { CXI_DTYPES(NAME) };
static const unsigned char bytes[CXI_N_DTYPES] = { CXI_DTYPES(BYTES) };
static const cxi_kind kinds[CXI_N_DTYPES] = { CXI_DTYPES(KIND) };

bool cxi_dtype_valid(int type) {
  return type > 0 && type < CXI_N_DTYPES;
}

const char *cxi_dtype_name(cx_dtype type) {
  return cxi_dtype_valid((int)type) ? names[type] : "?";
}

cx_dtype cxi_dtype_parse(const char *name, size_t length) {
  for (int i = CX_BOOL; i < CXI_N_DTYPES; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
      return (cx_dtype)i;
  return (cx_dtype)0;
}

size_t cxi_dtype_bytes(cx_dtype type) {
  return cxi_dtype_valid((int)type) ? bytes[type] : 0;
}

cxi_kind cxi_dtype_kind(cx_dtype type) {
  return cxi_dtype_valid((int)type) ? kinds[type] : (cxi_kind)0;
}

bool cxi_dtype_is_float(cx_dtype type) {
  return cxi_dtype_kind(type) == CXI_FLOAT;
}

float cxi_f16_to_f32(uint16_t bits) {
  return cxi_f16_widen(bits);
}

uint16_t cxi_f16_from_f32(float x) {
  return cxi_f16_round(x);
}

float cxi_bf16_to_f32(uint16_t bits) {
  return cxi_bf16_widen(bits);
}

uint16_t cxi_bf16_from_f32(float x) {
  return cxi_bf16_round(x);
}

/* Elements may stand at any address (a parsed file): copied, never cast. */
#define LOAD(name, storage)                                 \
  static storage load_##name(const void *at) {              \
    storage x;                                              \
    memcpy(&x, at, sizeof x);                               \
    return x;                                               \
  }
LOAD(i8, int8_t)
LOAD(u8, uint8_t)
LOAD(i16, int16_t)
LOAD(u16, uint16_t)
LOAD(i32, int32_t)
LOAD(u32, uint32_t)
LOAD(i64, int64_t)
LOAD(u64, uint64_t)
LOAD(f32, float)
LOAD(f64, double)

double cxi_element_get(cx_dtype type, const void *at) {
  switch (type) {
  case CX_BOOL: return load_u8(at) != 0;
  case CX_I8: return load_i8(at);
  case CX_U8: return load_u8(at);
  case CX_I16: return load_i16(at);
  case CX_U16: return load_u16(at);
  case CX_I32: return load_i32(at);
  case CX_U32: return load_u32(at);
  case CX_I64: return (double)load_i64(at);
  case CX_U64:
  case CX_KEY: return (double)load_u64(at);
  case CX_F16: return cxi_f16_widen(load_u16(at));
  case CX_BF16: return cxi_bf16_widen(load_u16(at));
  case CX_F32: return load_f32(at);
  case CX_F64: return load_f64(at);
  }
  return NAN;
}

int64_t cxi_element_get_int(cx_dtype type, const void *at) {
  if (type == CX_I64 || type == CX_U64 || type == CX_KEY) return load_i64(at);
  int64_t x = 0;
  const double number = cxi_element_get(type, at);
  cxi_element_set(CX_I64, &x, number);
  return x;
}

/* x truncated into [lo, hi], 0 for NaN. */
static int64_t saturate(double x, double lo, double hi) {
  if (isnan(x)) return 0;
  return (int64_t)(x < lo ? lo : x > hi ? hi : x);
}

static uint64_t saturate_u64(double x) {
  if (!(x > 0)) return 0;     /* NaN too */
  return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

static int64_t saturate_i64(double x) {
  return x >= 0x1p63 ? INT64_MAX : saturate(x, -0x1p63, 0x1p63);
}

void cxi_element_set(cx_dtype type, void *at, double x) {
  const cxi_kind kind = cxi_dtype_kind(type);
  if (type == CX_F64) {
    memcpy(at, &x, sizeof x);
  } else if (type == CX_F32) {
    const float narrow = (float)x;
    memcpy(at, &narrow, sizeof narrow);
  } else if (kind == CXI_FLOAT) {
    const float odd = cxi_f32_to_odd(x);
    const uint16_t half =
        type == CX_F16 ? cxi_f16_round(odd) : cxi_bf16_round(odd);
    memcpy(at, &half, sizeof half);
  } else if (type == CX_BOOL) {
    *(uint8_t *)at = x != 0;
  } else if (type == CX_U64 || type == CX_KEY) {
    const uint64_t whole = saturate_u64(x);
    memcpy(at, &whole, sizeof whole);
  } else if (type == CX_I64) {
    const int64_t whole = saturate_i64(x);
    memcpy(at, &whole, sizeof whole);
  } else {
    const int bits = 8 * (int)cxi_dtype_bytes(type);
    const bool sign = kind == CXI_SIGNED;
    const double hi = ldexp(1, bits - sign) - 1, lo = sign ? -hi - 1 : 0;
    cxi_element_set_int(type, at, saturate(x, lo, hi));
  }
}

/* An int64_t as a double that later rounds to a short float as x itself
 * would: what lies below the 53 places sets the last of them. */
static double sticky(int64_t x) {
  if (x > -(1LL << 53) && x < 1LL << 53) return (double)x;
  return (double)(x & 2047 ? (x & ~2047LL) | 1024 : x);
}

void cxi_element_set_int(cx_dtype type, void *at, int64_t x) {
  if (type == CX_BOOL) {
    *(uint8_t *)at = x != 0;
  } else if (type == CX_F32) {
    const float rounded = (float)x;
    memcpy(at, &rounded, sizeof rounded);
  } else if (type == CX_F64) {
    const double rounded = (double)x;
    memcpy(at, &rounded, sizeof rounded);
  } else if (cxi_dtype_is_float(type)) {
    cxi_element_set(type, at, sticky(x));
  } else {
    /* Wrapping is dropping the high bytes, which each width does itself. */
    const uint8_t x8 = (uint8_t)x;
    const uint16_t x16 = (uint16_t)x;
    const uint32_t x32 = (uint32_t)x;
    const size_t n = cxi_dtype_bytes(type);
    const void *from = n == 1   ? (const void *)&x8
                       : n == 2 ? (const void *)&x16
                       : n == 4 ? (const void *)&x32
                                : (const void *)&x;
    memcpy(at, from, n);
  }
}

int64_t cxi_read_index(cx_dtype type, const void *at) {
  const int64_t i = cxi_element_get_int(type, at);
  return type == CX_U64 && i < 0 ? INT64_MAX : i;
}

uint64_t cxi_element_fill(cx_dtype type, double fill) {
  uint64_t bits = 0;
  if (type == CX_KEY) return 0;
  if (!isnan(fill) || cxi_dtype_is_float(type))
    cxi_element_set(type, &bits, fill);
  else if (cxi_dtype_kind(type) == CXI_SIGNED)
    bits = (uint64_t)1 << (8 * cxi_dtype_bytes(type) - 1);
  else if (cxi_dtype_kind(type) == CXI_UNSIGNED)
    bits = UINT64_MAX;
  else
    bits = 1;
  return bits;
}
