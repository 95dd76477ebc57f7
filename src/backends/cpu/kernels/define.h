/* define.h - a kernel from an element function: its name and signature. */
#ifndef CXI_CPU_DEFINE_H
#define CXI_CPU_DEFINE_H

#include "backends/cpu/kernels/loops.h"

#define KERNEL(name)                                                \
  static void NAME(run_##name)(int64_t n, void *out, const void *a, \
                               const void *b, const void *c, int64_t number)
#define UNUSED3 (void)b, (void)c, (void)number
#define UNUSED2 (void)c, (void)number
#define MAP1(name, f)         \
  KERNEL(name) {              \
    UNUSED3;                  \
    NAME(map1)(n, out, a, f); \
  }
#define MAP2(name, f)            \
  KERNEL(name) {                 \
    UNUSED2;                     \
    NAME(map2)(n, out, a, b, f); \
  }
#define TEST2(name)                        \
  KERNEL(name) {                           \
    UNUSED2;                               \
    NAME(test2)(n, out, a, b, NAME(name)); \
  }
#define ENTRY(name) [CXI_PRIM_##name] = NAME(run_##name),

#endif
