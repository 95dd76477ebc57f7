/* kernels_find.c - the kernel of an equation. */
#include "backends/cpu/kernels.h"

int64_t cxi_cpu_kernel_number(cxi_prim prim, const void *params) {
  switch (prim) {
  case CXI_PRIM_round:
    return ((const cxi_round_params *)params)->away;
  case CXI_PRIM_integer_pow:
    return ((const cxi_integer_pow_params *)params)->y;
  default:
    return 0;
  }
}

/* Kernels that only move bits take those of an unsigned type. */
static cxi_cpu_kernel moving_kernel(const cxi_cpu_kernels *kernels,
                                    cxi_prim prim, uint32_t n_in,
                                    const cx_dtype *in, cx_dtype out) {
  static const cx_dtype by_log2[] = { CX_U8, CX_U16, CX_U32, CX_U64 };
  if (prim != CXI_PRIM_select) return kernels->copy[cxi_cpu_log2_bytes(out)];
  return n_in == 3 && in[0] == CX_BOOL
             ? kernels->elementwise[by_log2[cxi_cpu_log2_bytes(out)]][prim]
             : NULL;
}

static cxi_cpu_kernel conversion(const cxi_cpu_kernels *kernels, cx_dtype from,
                                 cx_dtype to) {
  const cx_dtype number = cxi_cpu_is_half(from) ? CX_F32 : from;
  if (number == to) return kernels->copy[cxi_cpu_log2_bytes(to)];
  if (!cxi_cpu_is_half(to)) return kernels->convert[number][to];
  /* to f32 first: exactly, or to odd; then it is rounded once */
  if (number == CX_F32) return kernels->copy[2];
  return cxi_dtype_bytes(from) <= 2 ? kernels->convert[from][CX_F32]
                                    : kernels->odd[from];
}

cxi_cpu_kernel cxi_cpu_find_kernel(const cxi_cpu_kernels *kernels,
                                   cxi_prim prim, uint32_t n_in,
                                   const cx_dtype *in, cx_dtype out,
                                   bool *wide) {
  *wide = false;
  switch (prim) {
  case CXI_PRIM_copy:
  case CXI_PRIM_stop_gradient:
  case CXI_PRIM_name:
  case CXI_PRIM_bitcast:
  case CXI_PRIM_select:
    return moving_kernel(kernels, prim, n_in, in, out);
  default:
    break;
  }
  if (n_in == 0 || n_in > 3) return NULL;
  *wide = cxi_cpu_is_half(in[0]) || cxi_cpu_is_half(out);
  if (prim == CXI_PRIM_convert) return conversion(kernels, in[0], out);
  for (uint32_t k = 1; k < n_in; k++)
    if (in[k] != in[0]) return NULL;
  const cxi_cpu_kernel *table =
      kernels->elementwise[cxi_cpu_is_half(in[0]) ? CX_F32 : in[0]];
  return table ? table[prim] : NULL;
}
