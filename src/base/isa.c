/* isa.c - which kernels this machine runs. */
#include "base/isa.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "base", "avx2", "avx512" };

const char *cxi_isa_name(cxi_isa isa) {
  return names[isa];
}

static cxi_isa isa_of_machine(void) {
#ifdef CXI_HAS_X86
  __builtin_cpu_init();
  const int avx2 = __builtin_cpu_supports("avx2") &&
                   __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("f16c");
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
