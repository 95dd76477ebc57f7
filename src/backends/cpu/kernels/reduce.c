/* reduce.c - reductions of rows and of columns, in the order of the lanes. */
#include <math.h>
#include <string.h>

#include "backends/cpu/kernels/loops.h"
#include "base/lanes.h"

/* Elements of rows so short that many are taken at once; how many. */
enum { SHORT = 32, MANY = 64 };

#define T float
#define NUMBER float
#define WIDE(x) x
#define ROUND(x) x
#define MATH(name) cxi_##name##_f32
#define PART(name) name##_f32
#define INTEGER int32_t
#define GREATEST INT32_MAX
#define BITS cxi_bits_f32
#define OF_BITS(bits) cxi_f32_of_bits((uint32_t)(bits))
#include "backends/cpu/kernels/reduce_float.inc"
#define T double
#define NUMBER double
#define WIDE(x) x
#define ROUND(x) x
#define MATH(name) cxi_##name##_f64
#define PART(name) name##_f64
#define INTEGER int64_t
#define GREATEST INT64_MAX
#define BITS cxi_bits_f64
#define OF_BITS(bits) cxi_f64_of_bits((uint64_t)(bits))
#include "backends/cpu/kernels/reduce_float.inc"
#define T uint16_t
#define NUMBER float
#define WIDE(x) cxi_f16_widen(x)
#define ROUND(x) cxi_f16_round(x)
#define MATH(name) cxi_##name##_f32
#define PART(name) name##_f16
#define INTEGER int32_t
#define GREATEST INT32_MAX
#define BITS cxi_bits_f32
#define OF_BITS(bits) cxi_f32_of_bits((uint32_t)(bits))
#include "backends/cpu/kernels/reduce_float.inc"
#define T uint16_t
#define NUMBER float
#define WIDE(x) cxi_bf16_widen(x)
#define ROUND(x) cxi_bf16_round(x)
#define MATH(name) cxi_##name##_f32
#define PART(name) name##_bf16
#define INTEGER int32_t
#define GREATEST INT32_MAX
#define BITS cxi_bits_f32
#define OF_BITS(bits) cxi_f32_of_bits((uint32_t)(bits))
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
#define A T
#define LOAD(x) x
#define STORE(x) x
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
CXI_INLINE bool above_bool(T x, T y) {
  return y > x;
}
CXI_INLINE bool below_bool(T x, T y) {
  return y < x;
}
#define WIDE(x) x
#define IS_NAN(x) false
#define NAME(name) argmax_##name##_bool
#define BEYOND above_bool
#define EXTREMUM or_rows_bool
#include "backends/cpu/kernels/reduce_arg.inc"
#define NAME(name) argmin_##name##_bool
#define BEYOND below_bool
#define EXTREMUM and_rows_bool
#include "backends/cpu/kernels/reduce_arg.inc"
#define REDUCTION(name) \
  { name##_rows_bool, name##_columns_bool, name##_part_bool }
static const cxi_cpu_reduction reductions_bool[CXI_N_PRIMS] = {
  [CXI_PRIM_reduce_max] = REDUCTION(or),
  [CXI_PRIM_reduce_min] = REDUCTION(and),
  [CXI_PRIM_reduce_and] = REDUCTION(and),
  [CXI_PRIM_reduce_or] = REDUCTION(or),
  [CXI_PRIM_reduce_xor] = REDUCTION(xor),
  [CXI_PRIM_argmax] = { argmax_rows_bool, argmax_columns_bool, NULL },
  [CXI_PRIM_argmin] = { argmin_rows_bool, argmin_columns_bool, NULL },
};

void CXI_FOR_ISA(cxi_cpu_set_reduce)(cxi_cpu_kernels *set) {
  set->reduce[CX_BOOL] = reductions_bool;
  set->reduce[CX_I8] = reductions_i8, set->reduce[CX_U8] = reductions_u8;
  set->reduce[CX_I16] = reductions_i16, set->reduce[CX_U16] = reductions_u16;
  set->reduce[CX_I32] = reductions_i32, set->reduce[CX_U32] = reductions_u32;
  set->reduce[CX_I64] = reductions_i64, set->reduce[CX_U64] = reductions_u64;
  set->reduce[CX_F16] = reductions_f16, set->reduce[CX_BF16] = reductions_bf16;
  set->reduce[CX_F32] = reductions_f32, set->reduce[CX_F64] = reductions_f64;
}
