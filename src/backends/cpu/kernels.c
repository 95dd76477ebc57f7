/* kernels.c - the kernels of the best instruction set, chosen once. */
#include "backends/cpu/kernels.h"

#include <pthread.h>

#include "base/isa.h"

void cxi_cpu_kernels_fill_base(cxi_cpu_kernels *set);
void cxi_cpu_kernels_fill_avx2(cxi_cpu_kernels *set);
void cxi_cpu_kernels_fill_avx512(cxi_cpu_kernels *set);

static cxi_cpu_kernels chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void) {
  switch (cxi_isa_now()) {
#ifdef CXI_HAS_X86
  case CXI_ISA_AVX512:
    cxi_cpu_kernels_fill_avx512(&chosen);
    break;
  case CXI_ISA_AVX2:
    cxi_cpu_kernels_fill_avx2(&chosen);
    break;
#endif
  default:
    cxi_cpu_kernels_fill_base(&chosen);
  }
}

const cxi_cpu_kernels *cxi_cpu_kernels_now(void) {
  pthread_once(&once, choose);
  return &chosen;
}
