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

/* Few elements are near +-1, but any block has one: by pieces of it. */
KERNEL(erf_inv) {
  UNUSED3;
  enum { PIECE = 64 };
  float *to = out;
  const float *x = a;
  int64_t first = 0;
  for (; first + PIECE <= n; first += PIECE, to += PIECE, x += PIECE) {
    int slow = 0;
    for (int i = 0; i < PIECE; i++) slow |= !cxi_erf_inv_is_fast_f32(x[i]);
    if (slow)
      CXI_INDEPENDENT
      for (int i = 0; i < PIECE; i++) to[i] = cxi_erf_inv_f32(x[i]);
    else
      CXI_INDEPENDENT
      for (int i = 0; i < PIECE; i++) to[i] = cxi_erf_inv_fast_f32(x[i]);
  }
  map1_f32(n - first, to, x, cxi_erf_inv_f32);
}

const cxi_cpu_kernel CXI_FOR_ISA(cxi_cpu_f32)[CXI_N_PRIMS] = { FLOAT_ENTRIES };
