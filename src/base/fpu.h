/* fpu.h - the floating-point mode in which the library computes.
 *
 * Rounding to nearest, subnormal numbers kept, no traps. A host program may
 * have chosen otherwise for a thread: what computes enters the mode and leaves
 * it again. Two instructions when there is nothing to change. */
#ifndef CXI_FPU_H
#define CXI_FPU_H

#include <stdint.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

typedef struct cxi_fpu {
  uint64_t control;
} cxi_fpu;

/* Returns the mode found, for cxi_fpu_leave. */
static inline cxi_fpu cxi_fpu_enter(void) {
#if defined __x86_64__
  enum { FLAGS = 0x3f, DEFAULT = 0x1f80 };
  const uint32_t found = _mm_getcsr();
  if ((found & ~(uint32_t)FLAGS) != DEFAULT) _mm_setcsr(DEFAULT);
  return (cxi_fpu){ found };
#elif defined __aarch64__
  const uint64_t found = __builtin_aarch64_get_fpcr64();
  if (found) __builtin_aarch64_set_fpcr64(0);
  return (cxi_fpu){ found };
#else
  return (cxi_fpu){ 0 };
#endif
}

static inline void cxi_fpu_leave(cxi_fpu found) {
#if defined __x86_64__
  if (_mm_getcsr() != (uint32_t)found.control)
    _mm_setcsr((uint32_t)found.control);
#elif defined __aarch64__
  if (found.control) __builtin_aarch64_set_fpcr64(found.control);
#else
  (void)found;
#endif
}

#endif
