/* product.h - matrix products and contractions. */
#ifndef CALX_PRODUCT_H
#define CALX_PRODUCT_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 14. Products -------------------------------------------------------- */
typedef struct cx_dot_opt {
  CX_OPTIONS;
  cx_dtype out;            /* CX_F32 keeps the accumulator of f16, bf16 */
} cx_dot_opt;
#define cx_matmul(...) CX_AB(cx_matmul_, cx_dot_opt, __VA_ARGS__, )
#define cx_outer(a, b) cx_einsum("i,j->ij", a, b)
#define cx_einsum(...) cx_einsum_(CX_WITH_SOME(__VA_ARGS__), CX_AT)
#define CX_AB(fn, T, a, b, ...) \
  fn((const struct cx[]){ CX_A(a), CX_A(b) }, CX_OPT(T, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_matmul_(const cx *two, cx_dot_opt opt, const char *at);
CX_API CX_USED cx cx_einsum_(const char *spec, int n, const cx *operands,
                            const char *at);
typedef struct cx_dot_dims {
  cx_dims contract_a, contract_b, batch_a, batch_b;
} cx_dot_dims;
/* cx_dot_general(a, b, dims, opt): lax.dot_general. */
#define cx_dot_general(...) cx_dot_general_(CX_AT, __VA_ARGS__)
CX_API CX_USED cx cx_dot_general_(const char *at, cx a, cx b, cx_dot_dims dims,
                                 cx_dot_opt opt);
#ifdef __cplusplus
}
#endif
#endif
