/* integer.c - elementwise kernels of the integers and of bool. */
#include "backends/cpu/kernels/define.h"
#include "base/math.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#define T int8_t
#define SUFFIX i8
#define TABLE cxi_cpu_i8
#include "backends/cpu/kernels/integer.inc"
#define T uint8_t
#define SUFFIX u8
#define TABLE cxi_cpu_u8
#include "backends/cpu/kernels/integer.inc"
#define T int16_t
#define SUFFIX i16
#define TABLE cxi_cpu_i16
#include "backends/cpu/kernels/integer.inc"
#define T uint16_t
#define SUFFIX u16
#define TABLE cxi_cpu_u16
#include "backends/cpu/kernels/integer.inc"
#define T int32_t
#define SUFFIX i32
#define TABLE cxi_cpu_i32
#include "backends/cpu/kernels/integer.inc"
#define T uint32_t
#define SUFFIX u32
#define TABLE cxi_cpu_u32
#include "backends/cpu/kernels/integer.inc"
#define T int64_t
#define SUFFIX i64
#define TABLE cxi_cpu_i64
#include "backends/cpu/kernels/integer.inc"
#define T uint64_t
#define SUFFIX u64
#define TABLE cxi_cpu_u64
#include "backends/cpu/kernels/integer.inc"

/* -- bool: 0 or 1 in a byte ------------------------------------------------ */

#define NAME(name) name##_bool
#define MATH(name) name##_bool
#define T uint8_t
CXI_INLINE T max_bool(T x, T y) {
  return x | y;
}
CXI_INLINE T min_bool(T x, T y) {
  return x & y;
}
#include "backends/cpu/kernels/maps.inc"
#include "backends/cpu/kernels/order.inc"
CXI_INLINE T xor_bool(T x, T y) {
  return x ^ y;
}
CXI_INLINE T not_bool(T x) {
  return !x;
}
MAP1(not, not_bool)
MAP2(and, min_bool)
MAP2(or, max_bool)
MAP2(xor, xor_bool)

const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_bool)[CXI_N_PRIMS] = {
  ENTRY(not ) ENTRY(and) ENTRY(or) ENTRY(xor) ENTRY(max) ENTRY(min) ENTRY(eq)
      ENTRY(ne) ENTRY(lt) ENTRY(le) ENTRY(gt) ENTRY(ge) ENTRY(clamp)
          ENTRY(select) ENTRY(copy)[CXI_PRIM_stop_gradient] = NAME(run_copy),
  [CXI_PRIM_name] = NAME(run_copy),
};

/* -- keys: only moved ------------------------------------------------------ */

const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_key)[CXI_N_PRIMS] = {
  [CXI_PRIM_select] = run_select_u64,
  [CXI_PRIM_copy] = run_copy_u64,
  [CXI_PRIM_stop_gradient] = run_copy_u64,
  [CXI_PRIM_name] = run_copy_u64,
};
