/* product.c - matrix products of f32 and f64, where the machine has the fused
 * multiply-add of vectors. */
#include "backends/cpu/product.h"

#include <string.h>

#include "backends/cpu/kernels/loops.h"
#include "backends/cpu/kernels/zip.h"

#if defined __AVX512F__
#include <immintrin.h>

#define ROWS 8
#define VECTORS 3
#define NAME(name) name##_f32
#define T float
#define V __m512
#define LANES 16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define SPREAD _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#include "backends/cpu/kernels/product.inc"
#undef NAME
#undef T
#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef SPREAD
#undef FMA
#define NAME(name) name##_f64
#define T double
#define V __m512d
#define LANES 8
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define SPREAD _mm512_set1_pd
#define FMA _mm512_fmadd_pd
#include "backends/cpu/kernels/product.inc"

#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>

#define ROWS 6
#define VECTORS 2
#define NAME(name) name##_f32
#define T float
#define V __m256
#define LANES 8
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define SPREAD _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#include "backends/cpu/kernels/product.inc"
#undef NAME
#undef T
#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef SPREAD
#undef FMA
#define NAME(name) name##_f64
#define T double
#define V __m256d
#define LANES 4
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define SPREAD _mm256_set1_pd
#define FMA _mm256_fmadd_pd
#include "backends/cpu/kernels/product.inc"
#endif

void CXI_FOR_ISA(cxi_cpu_set_product)(cxi_cpu_kernels *set) {
#ifdef ROWS
  /* LANES is that of f64 here, half that of f32 */
  set->product_f32 = (cxi_product_kernels){ ROWS,      2 * VECTORS * LANES,
                                            2 * LANES, multiply_f32,
                                            pack_f32,  dots_f32 };
  set->product_f64 =
      (cxi_product_kernels){ ROWS,         VECTORS * LANES, LANES,
                             multiply_f64, pack_f64,        dots_f64 };
#else
  (void)set;
#endif
}
