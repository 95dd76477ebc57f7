/* product.c - matrix products of f32, f64 and integers of 32 bits, where the
 * machine has the fused multiply-add of vectors. */
#include "backends/cpu/product.h"

#include <string.h>

#include "backends/cpu/kernels/loops.h"
#include "backends/cpu/kernels/zip.h"
#include "base/chain.h"

#if defined __AVX512F__
#include <immintrin.h>

#define ROWS 8
#define VECTORS 3
#define NAME(name) name##_f32
#define T float
#define V __m512
#define LANES 16
#define MASK __mmask16
#define PART(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD _mm512_loadu_ps
#define LOAD_PART(p, part) _mm512_maskz_loadu_ps(part, p)
#define STORE _mm512_storeu_ps
#define STORE_PART(p, part, x) _mm512_mask_storeu_ps(p, part, x)
#define SPREAD _mm512_set1_ps
#define ADD _mm512_add_ps
#define FMA _mm512_fmadd_ps
#include "backends/cpu/kernels/product.inc"
#define NAME(name) name##_f64
#define T double
#define V __m512d
#define LANES 8
#define MASK __mmask8
#define PART(n) ((__mmask8)((1u << (n)) - 1))
#define LOAD _mm512_loadu_pd
#define LOAD_PART(p, part) _mm512_maskz_loadu_pd(part, p)
#define STORE _mm512_storeu_pd
#define STORE_PART(p, part, x) _mm512_mask_storeu_pd(p, part, x)
#define SPREAD _mm512_set1_pd
#define ADD _mm512_add_pd
#define FMA _mm512_fmadd_pd
#include "backends/cpu/kernels/product.inc"
/* Of integers: modulo 2^32. */
typedef uint32_t u32_vector __attribute__((vector_size(64)));
#define NAME(name) name##_u32
#define T uint32_t
#define V u32_vector
#define LANES 16
#define MASK __mmask16
#define PART(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD(p) ((V)_mm512_loadu_si512(p))
#define LOAD_PART(p, part) ((V)_mm512_maskz_loadu_epi32(part, p))
#define STORE(p, x) _mm512_storeu_si512(p, (__m512i)(x))
#define STORE_PART(p, part, x) _mm512_mask_storeu_epi32(p, part, (__m512i)(x))
#define SPREAD(x) ((V)_mm512_set1_epi32((int32_t)(x)))
#define ADD(x, y) ((x) + (y))
#define FMA(x, y, z) ((x) * (y) + (z))
#include "backends/cpu/kernels/product.inc"

#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>

#define ROWS 6
#define VECTORS 2
/* From element LANES - n on: n ones, then zeros. */
static const int32_t parts_32[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };
static const int64_t parts_64[8] = { -1, -1, -1, -1 };

#define NAME(name) name##_f32
#define T float
#define V __m256
#define LANES 8
#define MASK __m256i
#define PART(n) _mm256_loadu_si256((const __m256i *)(parts_32 + 8 - (n)))
#define LOAD _mm256_loadu_ps
#define LOAD_PART(p, part) _mm256_maskload_ps(p, part)
#define STORE _mm256_storeu_ps
#define STORE_PART(p, part, x) _mm256_maskstore_ps(p, part, x)
#define SPREAD _mm256_set1_ps
#define ADD _mm256_add_ps
#define FMA _mm256_fmadd_ps
#include "backends/cpu/kernels/product.inc"
#define NAME(name) name##_f64
#define T double
#define V __m256d
#define LANES 4
#define MASK __m256i
#define PART(n) _mm256_loadu_si256((const __m256i *)(parts_64 + 4 - (n)))
#define LOAD _mm256_loadu_pd
#define LOAD_PART(p, part) _mm256_maskload_pd(p, part)
#define STORE _mm256_storeu_pd
#define STORE_PART(p, part, x) _mm256_maskstore_pd(p, part, x)
#define SPREAD _mm256_set1_pd
#define ADD _mm256_add_pd
#define FMA _mm256_fmadd_pd
#include "backends/cpu/kernels/product.inc"
/* Of integers: modulo 2^32. */
typedef uint32_t u32_vector __attribute__((vector_size(32)));
#define NAME(name) name##_u32
#define T uint32_t
#define V u32_vector
#define LANES 8
#define MASK __m256i
#define PART(n) _mm256_loadu_si256((const __m256i *)(parts_32 + 8 - (n)))
#define LOAD(p) ((V)_mm256_loadu_si256((const __m256i *)(p)))
#define LOAD_PART(p, part) ((V)_mm256_maskload_epi32((const int *)(p), part))
#define STORE(p, x) _mm256_storeu_si256((__m256i *)(p), (__m256i)(x))
#define STORE_PART(p, part, x) \
  _mm256_maskstore_epi32((int *)(p), part, (__m256i)(x))
#define SPREAD(x) ((V)_mm256_set1_epi32((int32_t)(x)))
#define ADD(x, y) ((x) + (y))
#define FMA(x, y, z) ((x) * (y) + (z))
#include "backends/cpu/kernels/product.inc"
#endif

#ifdef ROWS
#define KERNELS(type, lanes)                                                  \
  (cxi_product_kernels) {                                                     \
    ROWS, VECTORS *(lanes), lanes, multiply_##type, pack_##type, dots_##type, \
        dot_##type                                                            \
  }
#endif

void CXI_FOR_ISA(cxi_cpu_set_product)(cxi_cpu_kernels *set) {
#ifdef ROWS
  const int64_t lanes = sizeof(u32_vector) / 4;
  set->product[CX_F32] = KERNELS(f32, lanes);
  set->product[CX_F64] = KERNELS(f64, lanes / 2);
  set->product[CX_I32] = set->product[CX_U32] = KERNELS(u32, lanes);
#else
  (void)set;
#endif
}
