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
