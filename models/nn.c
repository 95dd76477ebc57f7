/* nn.c - layers and initialisers. */
#include "calx/models/nn.h"

#include <math.h>
#include <string.h>

cx nn_linear(cx params, cx x) {
  cx y = cx_einsum("...i,oi->...o", x, cx_get(params, "weight"));
  return cx_has(params, "bias") ? cx_add(y, cx_get(params, "bias")) : y;
}
cx nn_embedding(cx params, cx ids) {
  return cx_take(cx_get(params, "weight"), ids, 0);
}
cx nn_layer_norm(cx params, cx x, double eps) {
  return cx_layer_norm(x, cx_get(params, "weight"), cx_get(params, "bias"),
                       .eps = eps);
}
/* The bias along the features, wherever the layout has them. */
cx nn_conv_(cx params, cx x, cx_conv_opt opt) {
  cx y = cx_conv_((cx[]){ x, cx_get(params, "weight") }, opt, NULL);
  if (!cx_has(params, "bias")) return y;
  cx bias = cx_get(params, "bias");
  const char *features = opt.layout ? strrchr(opt.layout, 'C') : NULL;
  int after = cx_ndim(y) - 2; /* axes behind the features */
  if (features) after = (int)strlen(features) - 1;
  cx_dims shape = { .n = after + 1, .d = { cx_dim(bias, 0) } };
  for (int i = 1; i < shape.n && i < CX_MAX_DIMS; i++) shape.d[i] = 1;
  return cx_add(y, cx_reshape(bias, shape));
}
cx nn_convnet(cx params, cx x) {
  for (int i = 0; cx_has(params, "conv%d", i); i++) {
    int64_t stride = i ? 2 : 1;
    x = cx_relu(nn_conv(cx_get(params, "conv%d", i), x, .padding = "SAME",
                        .strides = CX_SHAPE(stride, stride)));
  }
  return nn_linear(cx_get(params, "head"), cx_mean(x, CX_AXES(2, 3)));
}
cx nn_activation(const char *name, cx x) {
  if (!strcmp(name, "gelu")) return cx_gelu(x);
  if (!strcmp(name, "gelu_new") || !strcmp(name, "gelu_pytorch_tanh"))
    return cx_gelu_tanh(x);
  if (!strcmp(name, "relu")) return cx_relu(x);
  if (!strcmp(name, "silu") || !strcmp(name, "swish")) return cx_silu(x);
  if (!strcmp(name, "tanh")) return cx_tanh(x);
  return cx_fail(CX_EUSER, "activation \"%s\" is not known", name);
}

cx nn_linear_init(cx key, int64_t in, int64_t out, double std) {
  return cx_dict("weight", cx_mul(std, cx_normal(key, CX_F32, out, in)), "bias",
                 cx_zeros(CX_F32, out));
}
cx nn_glorot(cx key, int64_t in, int64_t out) {
  double limit = sqrt(6.0 / (double)(in + out));
  cx u = cx_uniform(key, CX_F32, out, in);
  return cx_dict("weight", cx_mul(limit, cx_sub(cx_mul(2, u), 1)), "bias",
                 cx_zeros(CX_F32, out));
}
cx nn_he(cx key, int64_t in, int64_t out) {
  return nn_linear_init(key, in, out, sqrt(2.0 / (double)in));
}
cx nn_conv_init(cx key, int64_t in, int64_t out, cx_dims window) {
  cx_dims shape = { .n = 2, .d = { out, in } };
  double terms = (double)in;
  for (int i = 0; i < window.n; i++) terms *= (double)window.d[i];
  for (int i = 0; i < window.n && shape.n < CX_MAX_DIMS; i++)
    shape.d[shape.n++] = window.d[i];
  return cx_dict("weight",
                 cx_mul(sqrt(2.0 / terms), cx_normal(key, CX_F32, shape)),
                 "bias", cx_zeros(CX_F32, out));
}
cx nn_convnet_init(cx key, cx_dims widths, int64_t classes) {
  if (widths.n < 2 || widths.n > CX_MAX_DIMS)
    return cx_fail(CX_ESHAPE, "convnet: wants at least two widths, not %d",
                   widths.n);
  cx params = cx_dict(
      "head", nn_linear_init(cx_fold(key, 0), widths.d[widths.n - 1], classes,
                             sqrt(1.0 / (double)widths.d[widths.n - 1])));
  for (int i = 0; i + 1 < widths.n; i++) {
    cx layer = nn_conv_init(cx_fold(key, i + 1), widths.d[i], widths.d[i + 1],
                            CX_SHAPE(3, 3));
    params = cx_put(params, layer, "conv%d", i);
  }
  return params;
}
cx nn_embedding_init(cx key, int64_t n, int64_t width, double std) {
  return cx_dict("weight", cx_mul(std, cx_normal(key, CX_F32, n, width)));
}
cx nn_layer_norm_init(int64_t n) {
  return cx_dict("weight", cx_ones(CX_F32, n), "bias", cx_zeros(CX_F32, n));
}
int64_t nn_count(cx params) {
  CX_SCOPE;
  int64_t count = 0;
  for (int i = 0; i < cx_leaf_count(params); i++)
    count += cx_size(cx_leaf(params, i));
  return count;
}
