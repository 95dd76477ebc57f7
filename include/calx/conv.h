/* conv.h - convolutions. */
#ifndef CALX_CONV_H
#define CALX_CONV_H

#include "calx/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 14a. Convolutions ------------------------------------------------------
 * Kernels are moved over the spatial axes of x as they are, not turned around:
 *   y[n, o, p] = sum over taps t and channels c of
 *                x[n, c, p stride + t dilation - low] kernel[o, c, t].
 * Lists have a number for each spatial axis, in the kernel's order; a list not
 * given is 1 for each, of padding 0.
 */
typedef struct cx_conv_opt {
  CX_OPTIONS;
  cx_dims strides;
  const char *padding;     /* "VALID" (or NULL), "SAME", "SAME_LOWER", in
                              capitals or not */
  cx_dims low, high;       /* or zeros on each side; less than 0: cut off */
  cx_dims dilation;        /* of the kernel: its taps lie so far apart */
  cx_dims input_dilation;  /* of x: its elements lie so far apart */
  int64_t groups;          /* of channels and features */
  int64_t batch_groups;    /* of the batch and features; one of both is 1 */
  /* The axes of x, kernel and result: N batch, C channels or features; of the
   * kernel O features, I channels; any other letters are spatial axes. Not
   * given: "NCHW,OIHW,NCHW", with as many spatial axes as there are. */
  const char *layout;
  cx_dtype out;            /* CX_F32 keeps the accumulator of f16, bf16 */
  bool transpose_kernel;   /* cx_conv_transpose alone */
} cx_conv_opt;

/* cx_conv(x, kernel, .strides = CX_SHAPE(2, 2), .padding = "SAME")
 *   x (batch, groups channels, spatial...), kernel (features, channels,
 *   spatial...), in the order of .layout; one dtype, any but key.
 *   Returns (batch / batch_groups, features, spatial...); f16 and bf16 are
 *   summed in f32 and rounded once. "SAME": a result of size ceil(n / stride),
 *   an odd zero at the end ("SAME_LOWER": in front). Errors: CX_ESHAPE,
 *   CX_EDTYPE. As jax.lax.conv_general_dilated. */
#define cx_conv(...) CX_AB(cx_conv_, cx_conv_opt, __VA_ARGS__, )
/* cx_conv_transpose(x, kernel, .strides = CX_SHAPE(2, 2)): x with its elements
 * .strides apart, convolved. .padding gives the sizes of which a cx_conv with
 * these strides makes x; .transpose_kernel: the kernel is that of this cx_conv,
 * and the result its derivative with respect to its input. .input_dilation is
 * not for it. As jax.lax.conv_transpose; .low, .high are its explicit padding.
 */
#define cx_conv_transpose(...) \
  CX_AB(cx_conv_transpose_, cx_conv_opt, __VA_ARGS__, )
/* The parts of x that a kernel with these sizes would be multiplied with:
 * cx_conv_patches(x, CX_SHAPE(3, 3), .padding = "SAME") has, in place of the
 * channels, channels x taps. No .groups, .batch_groups. As
 * jax.lax.conv_general_dilated_patches. */
#define cx_conv_patches(...) CX_PATCHES(__VA_ARGS__, )
#define CX_PATCHES(x, window, ...) \
  cx_conv_patches_((x), (window), CX_OPT(cx_conv_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_conv_(const cx *two, cx_conv_opt opt, const char *at);
CX_API CX_USED cx cx_conv_transpose_(const cx *two, cx_conv_opt opt,
                                     const char *at);
CX_API CX_USED cx cx_conv_patches_(cx x, cx_dims window, cx_conv_opt opt,
                                   const char *at);

typedef struct cx_convolve_opt {
  CX_OPTIONS;
  const char *mode;        /* "full", "same", "valid" */
} cx_convolve_opt;
/* Of two vectors of sizes m, n >= 1, as numpy.convolve and numpy.correlate:
 *   convolve: y[k] = sum_i a[i] v[k - i]; correlate: sum_i a[i + k] v[i].
 *   "full" returns m + n - 1 elements, "same" max(m, n), "valid" those without
 *   zeros from outside. Not given: "full"; of correlate "valid". CX_ESHAPE for
 *   other ranks and sizes of 0, CX_EUSER for another mode. */
#define cx_convolve(...) CX_AB(cx_convolve_, cx_convolve_opt, __VA_ARGS__, )
#define cx_correlate(...) CX_AB(cx_correlate_, cx_convolve_opt, __VA_ARGS__, )
CX_API CX_USED cx cx_convolve_(const cx *two, cx_convolve_opt opt,
                               const char *at);
CX_API CX_USED cx cx_correlate_(const cx *two, cx_convolve_opt opt,
                                const char *at);

#ifdef __cplusplus
}
#endif
#endif
