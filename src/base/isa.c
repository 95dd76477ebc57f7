/* isa.c - which kernels this machine runs. */
#include "base/isa.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef CXI_HAS_X86
#include <cpuid.h>
#endif

static const char *const names[] = { "base", "avx2", "avx512" };

const char *cxi_isa_name(cxi_isa isa) {
  return names[isa];
}

#ifdef CXI_HAS_X86
/* Conversions of f16, of which older compilers have no name. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static cxi_isa isa_of_machine(void) {
#ifdef CXI_HAS_X86
  __builtin_cpu_init();
  const int avx2 = __builtin_cpu_supports("avx2") &&
                   __builtin_cpu_supports("fma") && has_f16c();
  if (avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return CXI_ISA_AVX512;
  if (avx2) return CXI_ISA_AVX2;
#endif
  return CXI_ISA_BASE;
}

cxi_isa cxi_isa_now(void) {
  const cxi_isa best = isa_of_machine();
  const char *wanted = getenv("CX_ISA");
  for (int i = 0; wanted && i < (int)best; i++)
    if (strcmp(wanted, names[i]) == 0) return (cxi_isa)i;
  return best;
}
