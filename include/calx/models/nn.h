/* nn.h - parameters and layers that models are built from.
 *
 * Parameters are trees with PyTorch's names and layouts, so that published
 * checkpoints load as they are: a linear layer has weight (out, in). */
#ifndef CALX_MODELS_NN_H
#define CALX_MODELS_NN_H

#include "calx/calx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- layers: x (..., in); params with the names shown ---------------------- */

/* x weight^T + bias: weight (out, in), bias (out) if it is there.
 * Returns (..., out). CX_ESHAPE if in differs. */
CX_API CX_USED cx nn_linear(cx params, cx x);
/* Rows of weight (n, width) by integer ids (...): (..., width). Ids that are
 * out of range give NaN. */
CX_API CX_USED cx nn_embedding(cx params, cx ids);
/* Layer normalisation over the last axis with weight and bias (n). */
CX_API CX_USED cx nn_layer_norm(cx params, cx x, double eps);
/* A convolution with weight (out, in / groups, spatial...) and, if it is there,
 * bias (out): nn_conv(params, x, .strides = CX_SHAPE(2, 2), .padding = "SAME").
 * x (batch, in, spatial...), or by .layout; options and errors of cx_conv. */
#define nn_conv(...) NN_CONV(__VA_ARGS__, )
#define NN_CONV(params, x, ...) \
  nn_conv_((params), (x), CX_OPT(cx_conv_opt, __VA_ARGS__))
CX_API CX_USED cx nn_conv_(cx params, cx x, cx_conv_opt opt);
/* Images (batch, in, height, width) to logits (batch, classes): "conv0",
 * "conv1", ... of 3 x 3, all but the first with stride 2, relu after each; the
 * mean over the image; the linear layer "head". Without pooling: Springenberg
 * et al. 2014, arXiv:1412.6806. */
CX_API CX_USED cx nn_convnet(cx params, cx x);
/* relu, gelu, gelu_new, gelu_pytorch_tanh, silu, swish, tanh: by the name that
 * configuration files use. CX_EUSER names one that is not known. */
CX_API CX_USED cx nn_activation(const char *name, cx x);

/* -- fresh parameters, f32 ------------------------------------------------- */

/* N(0, std^2) weight (out, in) and zero bias. */
CX_API CX_USED cx nn_linear_init(cx key, int64_t in, int64_t out, double std);
/* Uniform in +-sqrt(6 / (in + out)): Glorot & Bengio 2010, eq. 16. */
CX_API CX_USED cx nn_glorot(cx key, int64_t in, int64_t out);
/* N(0, 2 / in): He et al. 2015, arXiv:1502.01852, eq. 10. */
CX_API CX_USED cx nn_he(cx key, int64_t in, int64_t out);
CX_API CX_USED cx nn_embedding_init(cx key, int64_t n, int64_t width,
                                    double std);
CX_API CX_USED cx nn_layer_norm_init(int64_t n); /* ones and zeros */

/* N(0, 2 / (in window)) weight (out, in, window...), zero bias; in of a group. */
CX_API CX_USED cx nn_conv_init(cx key, int64_t in, int64_t out, cx_dims window);
/* widths: channels of the images, then features of each convolution: at least
 * one. CX_ESHAPE for less. */
CX_API CX_USED cx nn_convnet_init(cx key, cx_dims widths, int64_t classes);

/* The number of elements in all arrays of a tree. */
CX_API int64_t nn_count(cx params);

#ifdef __cplusplus
}
#endif
#endif
