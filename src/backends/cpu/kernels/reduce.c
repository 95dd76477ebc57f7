/* reduce.c - reductions of rows and of columns, in the order of the lanes. */
#include <math.h>
#include <string.h>

#include "backends/cpu/kernels/loops.h"
#include "base/lanes.h"

#define T float
#define MATH(name) cxi_##name##_f32
#define PART(name) name##_f32
#define INTEGER int32_t
#define GREATEST INT32_MAX
#define BITS cxi_bits_f32
#define OF_BITS(bits) cxi_f32_of_bits((uint32_t)(bits))
#include "backends/cpu/kernels/reduce_float.inc"
#define T double
#define MATH(name) cxi_##name##_f64
#define PART(name) name##_f64
#define INTEGER int64_t
#define GREATEST INT64_MAX
#define BITS cxi_bits_f64
#define OF_BITS(bits) cxi_f64_of_bits((uint64_t)(bits))
#include "backends/cpu/kernels/reduce_float.inc"

#define T int8_t
#define LOWEST INT8_MIN
#define HIGHEST INT8_MAX
#define MATH(name) cxi_##name##_i8
#define PART(name) name##_i8
#include "backends/cpu/kernels/reduce_integer.inc"
#define T uint8_t
#define LOWEST 0
#define HIGHEST UINT8_MAX
#define MATH(name) cxi_##name##_u8
#define PART(name) name##_u8
#include "backends/cpu/kernels/reduce_integer.inc"
#define T int16_t
#define LOWEST INT16_MIN
#define HIGHEST INT16_MAX
#define MATH(name) cxi_##name##_i16
#define PART(name) name##_i16
#include "backends/cpu/kernels/reduce_integer.inc"
#define T uint16_t
#define LOWEST 0
#define HIGHEST UINT16_MAX
#define MATH(name) cxi_##name##_u16
#define PART(name) name##_u16
#include "backends/cpu/kernels/reduce_integer.inc"
#define T int32_t
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define MATH(name) cxi_##name##_i32
#define PART(name) name##_i32
#include "backends/cpu/kernels/reduce_integer.inc"
#define T uint32_t
#define LOWEST 0
#define HIGHEST UINT32_MAX
#define MATH(name) cxi_##name##_u32
#define PART(name) name##_u32
#include "backends/cpu/kernels/reduce_integer.inc"
#define T int64_t
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define MATH(name) cxi_##name##_i64
#define PART(name) name##_i64
#include "backends/cpu/kernels/reduce_integer.inc"
#define T uint64_t
#define LOWEST 0
#define HIGHEST UINT64_MAX
#define MATH(name) cxi_##name##_u64
#define PART(name) name##_u64
#include "backends/cpu/kernels/reduce_integer.inc"

/* Of truth values, 0 and 1, the greatest is the or and the least the and. */
#define T uint8_t
CXI_INLINE T both_bool(T x, T y) {
  return x & y;
}
CXI_INLINE T either_bool(T x, T y) {
  return x | y;
}
#define NAME(name) and_##name##_bool
#define OP both_bool
#define EMPTY 1
#include "backends/cpu/kernels/reduce.inc"
#define NAME(name) or_##name##_bool
#define OP either_bool
#define EMPTY 0
#include "backends/cpu/kernels/reduce.inc"
CXI_INLINE T one_of_bool(T x, T y) {
  return x ^ y;
}
#define NAME(name) xor_##name##_bool
#define OP one_of_bool
#define EMPTY 0
#include "backends/cpu/kernels/reduce.inc"
static const cxi_cpu_row_kernel by_rows_bool[CXI_N_PRIMS] = {
  [CXI_PRIM_reduce_max] = or_rows_bool,
  [CXI_PRIM_reduce_min] = and_rows_bool,
  [CXI_PRIM_reduce_and] = and_rows_bool,
  [CXI_PRIM_reduce_or] = or_rows_bool,
  [CXI_PRIM_reduce_xor] = xor_rows_bool,
};
static const cxi_cpu_column_kernel by_columns_bool[CXI_N_PRIMS] = {
  [CXI_PRIM_reduce_max] = or_columns_bool,
  [CXI_PRIM_reduce_min] = and_columns_bool,
  [CXI_PRIM_reduce_and] = and_columns_bool,
  [CXI_PRIM_reduce_or] = or_columns_bool,
  [CXI_PRIM_reduce_xor] = xor_columns_bool,
};

#define SET(TYPE, type)               \
  set->reduce[TYPE] = by_rows_##type; \
  set->reduce_columns[TYPE] = by_columns_##type
void CXI_FOR_ISA(cxi_cpu_set_reduce)(cxi_cpu_kernels *set) {
  SET(CX_BOOL, bool);
  SET(CX_I8, i8);
  SET(CX_U8, u8);
  SET(CX_I16, i16);
  SET(CX_U16, u16);
  SET(CX_I32, i32);
  SET(CX_U32, u32);
  SET(CX_I64, i64);
  SET(CX_U64, u64);
  SET(CX_F32, f32);
  SET(CX_F64, f64);
}
