/* linalg_kernels.c - the kernels of the best instruction set, chosen once. */
#include "primitives/linalg_kernels.h"

#include <pthread.h>

#include "base/isa.h"

static cxi_linalg_kernels chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define SET(isa)                                               \
  void cxi_linalg_set_factor_##isa(cxi_linalg_kernels *set);   \
  void cxi_linalg_set_reflect_##isa(cxi_linalg_kernels *set);  \
  void cxi_linalg_set_spectral_##isa(cxi_linalg_kernels *set); \
  static void set_##isa(void) {                                \
    cxi_linalg_set_factor_##isa(&chosen);                      \
    cxi_linalg_set_reflect_##isa(&chosen);                     \
    cxi_linalg_set_spectral_##isa(&chosen);                    \
  }
SET(base)
#ifdef CXI_HAS_X86
SET(avx2)
SET(avx512)
#endif

static void choose(void) {
  switch (cxi_isa_now()) {
#ifdef CXI_HAS_X86
  case CXI_ISA_AVX512:
    set_avx512();
    break;
  case CXI_ISA_AVX2:
    set_avx2();
    break;
#endif
  default:
    set_base();
  }
}

const cxi_linalg_kernels *cxi_linalg_now(void) {
  pthread_once(&once, choose);
  return &chosen;
}
