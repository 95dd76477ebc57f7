/* fpu.h - the floating-point mode in which the library computes.
 *
 * Rounding to nearest, subnormal numbers kept, no traps. A host program may
 * have chosen otherwise for a thread: what computes enters the mode and leaves
 * it again. Two instructions when there is nothing to change. */
#ifndef CXI_FPU_H
#define CXI_FPU_H

#include <stdbool.h>
#include <stdint.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

typedef struct cxi_fpu {
  uint64_t control;
} cxi_fpu;

#if defined __x86_64__
/* Whatever exceptions were raised before. */
enum { CXI_MXCSR_FLAGS = 0x3f, CXI_MXCSR_DEFAULT = 0x1f80 };
static inline bool cxi_fpu_is_default(uint32_t control) {
  return (control & ~(uint32_t)CXI_MXCSR_FLAGS) == CXI_MXCSR_DEFAULT;
}
#endif

/* Returns the mode found, for cxi_fpu_leave. */
static inline cxi_fpu cxi_fpu_enter(void) {
#if defined __x86_64__
  const uint32_t found = _mm_getcsr();
  if (!cxi_fpu_is_default(found)) _mm_setcsr(CXI_MXCSR_DEFAULT);
  return (cxi_fpu){ found };
#elif defined __aarch64__
  const uint64_t found = __builtin_aarch64_get_fpcr64();
  if (found) __builtin_aarch64_set_fpcr64(0);
  return (cxi_fpu){ found };
#else
  return (cxi_fpu){ 0 };
#endif
}

/* The flags of exceptions stay where they were raised in the default mode, as
 * after any arithmetic: to clear them would cost each call. */
static inline void cxi_fpu_leave(cxi_fpu found) {
#if defined __x86_64__
  if (!cxi_fpu_is_default((uint32_t)found.control))
    _mm_setcsr((uint32_t)found.control);
#elif defined __aarch64__
  if (found.control) __builtin_aarch64_set_fpcr64(found.control);
#else
  (void)found;
#endif
}

#endif
