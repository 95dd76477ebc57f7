/* loops.h - the shape of the kernels' loops. */
#ifndef CXI_CPU_LOOPS_H
#define CXI_CPU_LOOPS_H

#include "backends/cpu/kernels.h"
#include "base/isa.h"

/* No iteration depends on another: the result may be an operand's own block,
 * but overlaps nothing in part. */
#if defined __clang__
/* it may find a loop not worth it, or impossible: then it stays as it is */
#pragma clang diagnostic ignored "-Wpass-failed"
#define CXI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CXI_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define CXI_INLINE static inline __attribute__((always_inline))

/* The parts of the set, one file each. */
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_f32)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_f64)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_bool)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_i8)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_u8)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_i16)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_u16)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_i32)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_u32)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_i64)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_u64)[CXI_N_PRIMS];
extern const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_key)[CXI_N_PRIMS];
void CXI_FOR_ISA(cxi_cpu_set_convert)(cxi_cpu_kernels *set);
void CXI_FOR_ISA(cxi_cpu_set_generate)(cxi_cpu_kernels *set);
void CXI_FOR_ISA(cxi_cpu_set_reduce)(cxi_cpu_kernels *set);
void CXI_FOR_ISA(cxi_cpu_set_places)(cxi_cpu_kernels *set);
void CXI_FOR_ISA(cxi_cpu_set_product)(cxi_cpu_kernels *set);
void CXI_FOR_ISA(cxi_cpu_kernels_fill)(cxi_cpu_kernels *set);

#endif
