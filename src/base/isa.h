/* isa.h - the instruction sets for which kernels are compiled.
 *
 * Every file of backends/cpu/kernels and primitives/linalg_kernels is compiled
 * once per set, with CXI_ISA defined as its name; there CXI_FOR_ISA(f) is
 * f_base, f_avx2 or f_avx512. */
#ifndef CXI_ISA_H
#define CXI_ISA_H

typedef enum cxi_isa {
  CXI_ISA_BASE,               /* what the compiler takes as given */
  CXI_ISA_AVX2,               /* AVX2, FMA, F16C */
  CXI_ISA_AVX512              /* AVX-512 F, BW, DQ, VL, FMA */
} cxi_isa;

/* The best set for which kernels were compiled that this machine runs.
 * CX_ISA=base, avx2 or avx512 in the environment lowers it. */
cxi_isa cxi_isa_now(void);
const char *cxi_isa_name(cxi_isa isa);

#ifdef CXI_ISA
#define CXI_FOR_ISA(name) CXI_ISA_JOIN_(name, CXI_ISA)
#define CXI_ISA_JOIN_(name, isa) CXI_ISA_JOIN2_(name, isa)
#define CXI_ISA_JOIN2_(name, isa) name##_##isa
#endif

#endif
