/* dtype.h - what each dtype is. */
#ifndef CXI_DTYPE_H
#define CXI_DTYPE_H

#include "calx/value.h"

typedef enum cxi_kind {
  CXI_BOOLEAN = 1, CXI_UNSIGNED, CXI_SIGNED, CXI_FLOAT, CXI_RANDOM_KEY
} cxi_kind;

/* X(NAME, text, C type of storage, kind): the whole list, in cx_dtype's order.
 * f16 and bf16 are stored as the bits in a uint16_t. */
#define CXI_DTYPES(X)                                                  \
  X(BOOL, "bool", uint8_t, CXI_BOOLEAN)                                \
  X(I8, "i8", int8_t, CXI_SIGNED) X(U8, "u8", uint8_t, CXI_UNSIGNED)   \
  X(I16, "i16", int16_t, CXI_SIGNED)                                   \
  X(U16, "u16", uint16_t, CXI_UNSIGNED)                                \
  X(I32, "i32", int32_t, CXI_SIGNED)                                   \
  X(U32, "u32", uint32_t, CXI_UNSIGNED)                                \
  X(I64, "i64", int64_t, CXI_SIGNED)                                   \
  X(U64, "u64", uint64_t, CXI_UNSIGNED)                                \
  X(F16, "f16", uint16_t, CXI_FLOAT)                                   \
  X(BF16, "bf16", uint16_t, CXI_FLOAT)                                 \
  X(F32, "f32", float, CXI_FLOAT) X(F64, "f64", double, CXI_FLOAT)     \
  X(KEY, "key", uint64_t, CXI_RANDOM_KEY)

enum { CXI_N_DTYPES = CX_KEY + 1 };

bool cxi_dtype_valid(int type);          /* one of the 14 */
const char *cxi_dtype_name(cx_dtype type); /* "f32"; "?" if not valid */
cx_dtype cxi_dtype_parse(const char *name, size_t length); /* 0: unknown */
size_t cxi_dtype_bytes(cx_dtype type);   /* 0 if not valid */
cxi_kind cxi_dtype_kind(cx_dtype type);
/* Dtypes that have tangents: the floating ones. */
bool cxi_dtype_is_float(cx_dtype type);

/* Conversions of single elements; rounding to nearest, ties to even. */
float cxi_f16_to_f32(uint16_t bits);
uint16_t cxi_f16_from_f32(float x);
float cxi_bf16_to_f32(uint16_t bits);
uint16_t cxi_bf16_from_f32(float x);

/* One element of any dtype but key as a number, and back: float to integer
 * truncates, saturates, NaN gives 0; integers wrap; bool is x != 0. The
 * integer forms are exact for 64 bits. */
double cxi_element_get(cx_dtype type, const void *at);
void cxi_element_set(cx_dtype type, void *at, double x);
int64_t cxi_element_get_int(cx_dtype type, const void *at);
void cxi_element_set_int(cx_dtype type, void *at, int64_t x);
/* An index, an integer of any dtype; a u64 that does not fit becomes the
 * greatest. */
int64_t cxi_read_index(cx_dtype type, const void *at);
/* The bits of what a gather gives outside: `fill`, or, for NaN in a dtype that
 * has none, the least signed and the greatest unsigned integer, true. A key of
 * zeros. */
uint64_t cxi_element_fill(cx_dtype type, double fill);

#endif
