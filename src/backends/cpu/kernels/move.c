/* move.c - moving elements of 1, 2, 4 and 8 bytes, and the set of kernels. */
#include <string.h>

#include "backends/cpu/kernels/loops.h"
#include "backends/cpu/kernels/zip.h"

/* Elements of a vector of the instruction set, but at most 16. */
#if defined __AVX512F__
#define OF_16 16
#define OF_32 16
#define OF_64 8
#elif defined __AVX2__
#define OF_16 16
#define OF_32 8
#define OF_64 4
#else
#define OF_16 8
#define OF_32 4
#define OF_64 2
#endif

#define NAME(name) name##_8
#define T uint8_t
#define LANES 16
#include "backends/cpu/kernels/move.inc"
#define NAME(name) name##_16
#define T uint16_t
#define LANES OF_16
#include "backends/cpu/kernels/move.inc"
#define NAME(name) name##_32
#define T uint32_t
#define LANES OF_32
#include "backends/cpu/kernels/move.inc"
#define NAME(name) name##_64
#define T uint64_t
#define LANES OF_64
#include "backends/cpu/kernels/move.inc"

void CXI_FOR_ISA(cxi_cpu_kernels_fill)(cxi_cpu_kernels *set) {
  *set = (cxi_cpu_kernels){
    .elementwise = {
      [CX_BOOL] = CXI_FOR_ISA(cxi_cpu_bool), [CX_I8] = CXI_FOR_ISA(cxi_cpu_i8),
      [CX_U8] = CXI_FOR_ISA(cxi_cpu_u8), [CX_I16] = CXI_FOR_ISA(cxi_cpu_i16),
      [CX_U16] = CXI_FOR_ISA(cxi_cpu_u16), [CX_I32] = CXI_FOR_ISA(cxi_cpu_i32),
      [CX_U32] = CXI_FOR_ISA(cxi_cpu_u32), [CX_I64] = CXI_FOR_ISA(cxi_cpu_i64),
      [CX_U64] = CXI_FOR_ISA(cxi_cpu_u64), [CX_F32] = CXI_FOR_ISA(cxi_cpu_f32),
      [CX_F64] = CXI_FOR_ISA(cxi_cpu_f64), [CX_KEY] = CXI_FOR_ISA(cxi_cpu_key),
    },
    .copy = { CXI_FOR_ISA(cxi_cpu_u8)[CXI_PRIM_copy],
              CXI_FOR_ISA(cxi_cpu_u16)[CXI_PRIM_copy],
              CXI_FOR_ISA(cxi_cpu_u32)[CXI_PRIM_copy],
              CXI_FOR_ISA(cxi_cpu_u64)[CXI_PRIM_copy] },
    .fill = { fill_8, fill_16, fill_32, fill_64 },
    .spread = { spread_8, spread_16, spread_32, spread_64 },
    .turn = { turn_8, turn_16, turn_32, turn_64 },
    .line = { line_8, line_16, line_32, line_64 },
    .lines = { lines_8, lines_16, lines_32, lines_64 },
    .gather = { gather_8, gather_16, gather_32, gather_64 },
  };
  CXI_FOR_ISA(cxi_cpu_set_convert)(set);
  CXI_FOR_ISA(cxi_cpu_set_generate)(set);
  CXI_FOR_ISA(cxi_cpu_set_places)(set);
  CXI_FOR_ISA(cxi_cpu_set_product)(set);
  CXI_FOR_ISA(cxi_cpu_set_reduce)(set);
}
