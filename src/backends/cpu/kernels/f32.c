/* f32.c - elementwise kernels of f32. */
#include "backends/cpu/kernels/define.h"
#include "base/math.h"

#define NAME(name) name##_f32
#define MATH(name) cxi_##name##_f32
#define T float
#include "backends/cpu/kernels/float.inc"

/* The fast form for a block all of whose elements allow it. */
CXI_INLINE void trig(int64_t n, void *to, const void *from,
                     float (*fast)(float), float (*any)(float)) {
  float *out = to;
  const float *x = from;
  int slow = 0;
  for (int64_t i = 0; i < n; i++) slow |= !cxi_trig_is_fast_f32(x[i]);
  if (slow)
    for (int64_t i = 0; i < n; i++) out[i] = any(x[i]);
  else
    CXI_INDEPENDENT
  for (int64_t i = 0; i < n; i++) out[i] = fast(x[i]);
}

KERNEL(sin) {
  UNUSED3;
  trig(n, out, a, cxi_sin_fast_f32, cxi_sin_f32);
}

KERNEL(cos) {
  UNUSED3;
  trig(n, out, a, cxi_cos_fast_f32, cxi_cos_f32);
}

KERNEL(tan) {
  UNUSED3;
  trig(n, out, a, cxi_tan_fast_f32, cxi_tan_f32);
}

KERNEL(rem) {
  UNUSED2;
  float *to = out;
  const float *x = a, *y = b;
  int slow = 0;
  for (int64_t i = 0; i < n; i++) slow |= !cxi_rem_is_fast_f32(x[i], y[i]);
  if (slow)
    for (int64_t i = 0; i < n; i++) to[i] = cxi_rem_f32(x[i], y[i]);
  else
    CXI_INDEPENDENT
  for (int64_t i = 0; i < n; i++) to[i] = cxi_rem_fast_f32(x[i], y[i]);
}

const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_f32)[CXI_N_PRIMS] = { FLOAT_ENTRIES };
