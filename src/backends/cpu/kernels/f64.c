/* f64.c - elementwise kernels of f64. */
#include "backends/cpu/kernels/define.h"
#include "base/math.h"

#define NAME(name) name##_f64
#define MATH(name) cxi_##name##_f64
#define T double
#include "backends/cpu/kernels/float.inc"

MAP1(sin, MATH(sin))
MAP1(cos, MATH(cos))
MAP1(tan, MATH(tan))
MAP1(erf_inv, MATH(erf_inv))
MAP2(rem, MATH(rem))

const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_f64)[CXI_N_PRIMS] = { FLOAT_ENTRIES };
