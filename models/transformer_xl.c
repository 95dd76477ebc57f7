/* transformer_xl.c - the forward pass. */
#include "calx/models/transformer_xl.h"

#include <math.h>

#include "calx/models/nn.h"
#include "transformer_xl_words.h"

/* -- parameters ----------------------------------------------------------- */

static cx weight(cx key, int64_t in, int64_t out) {
  return cx_dict("weight", cx_mul(0.02, cx_normal(key, CX_F32, out, in)));
}
static cx bias_pair(const txl_config *c, cx key) {
  return cx_mul(0.02, cx_normal(key, CX_F32, c->n_head, c->d_head));
}
static cx layer_init(const txl_config *c, cx key) {
  int64_t m = c->d_model, inner = (int64_t)c->n_head * c->d_head;
  cx k[7];
  cx_split(key, &k[0], &k[1], &k[2], &k[3], &k[4], &k[5], &k[6]);
  cx attention = cx_dict(
      "qkv_net", weight(k[0], m, 3 * inner), "r_net", weight(k[1], m, inner),
      "o_net", weight(k[2], inner, m), "layer_norm", nn_layer_norm_init(m));
  if (c->untie_r) {
    attention = cx_put(attention, bias_pair(c, k[3]), "r_w_bias");
    attention = cx_put(attention, bias_pair(c, k[4]), "r_r_bias");
  }
  cx net = cx_dict("0", nn_linear_init(k[5], m, c->d_inner, 0.02), "3",
                   nn_linear_init(k[6], c->d_inner, m, 0.02));
  return cx_dict("dec_attn", attention, "pos_ff",
                 cx_dict("CoreNet", net, "layer_norm", nn_layer_norm_init(m)));
}
cx txl_init(const txl_config *c, cx key) {
  cx layers = cx_none(), k1, k2, k3, k4;
  cx_split(key, &k1, &k2, &k3, &k4);
  for (int i = 0; i < c->n_layer; i++)
    layers = cx_put(layers, layer_init(c, cx_fold(k1, i)), "%d", i);
  cx params = cx_put(cxi_txl_words_init(c, k2), layers, "layers");
  if (!c->untie_r) {
    params = cx_put(params, bias_pair(c, k3), "r_w_bias");
    params = cx_put(params, bias_pair(c, k4), "r_r_bias");
  }
  return params;
}
cx txl_init_mems(const txl_config *c, int64_t batch, int64_t length) {
  cx mems[CX_MAX_ARGS];
  if (c->n_layer > CX_MAX_ARGS)
    return cx_fail(CX_EUSER, "transformer_xl: %d layers, at most %d",
                   c->n_layer, CX_MAX_ARGS);
  for (int i = 0; i < c->n_layer; i++)
    mems[i] = cx_zeros(CX_F32, batch, length, c->d_model);
  return cx_tuple_n(c->n_layer, mems);
}

/* -- positions and masks -------------------------------------------------- */

/* Sines and cosines of the distances k-1, ..., 0: (k, d_model). */
static cx positions(const txl_config *c, int64_t k) {
  cx distance = cx_arange(k - 1, -1, -1, CX_F32);
  if (c->clamp_len > 0) distance = cx_minimum(distance, c->clamp_len);
  cx exponent = cx_div(cx_arange(0, c->d_model, 2, CX_F32), (double)c->d_model);
  cx frequency = cx_div(1, cx_power(10000.0, exponent));
  cx angle = cx_outer(distance, frequency);
  return cx_concat(-1, cx_sin(angle), cx_cos(angle));
}
/* True where query i may see key j: (q, k). */
static cx visible(const txl_config *c, int64_t q, int64_t m) {
  int64_t k = m + q;
  cx seen = cx_tril(cx_ones(CX_BOOL, q, k), (int)m);
  if (!c->same_length) return seen;
  int64_t over = k - c->mem_len, shift = over > 0 ? q - over : q;
  cx old = cx_tril(cx_ones(CX_BOOL, q, k), (int)-shift);
  return cx_and(seen, cx_not(old));
}
/* Appendix B of the paper: out[i][j] = x[i][j + q-1-i] where key j is visible.
 * A column is put before, rows and columns are read anew, the first row goes. */
static cx shift(cx x) {
  int64_t b, n, q, k;
  cx_sizes(x, &b, &n, &q, &k);
  x = cx_pad(x, 0, (0, 0), (0, 0), (0, 0), (1, 0));
  x = cx_index(cx_reshape(x, b, n, k + 1, q), CX_DOTS, CX_FROM(1), CX_ALL);
  return cx_reshape(x, b, n, q, k);
}

/* -- one layer ------------------------------------------------------------ */

static cx split_heads(const txl_config *c, cx x) {
  cx_dims shape = cx_shape(x);
  if (shape.n == 0) return x; /* poison */
  shape.d[shape.n - 1] = c->n_head;
  shape.d[shape.n++] = c->d_head;
  return cx_reshape(x, shape);
}
static cx project(cx w, cx x) {
  return cx_einsum("...i,oi->...o", x, w);
}

/* w (b, q, d_model), mem (b, m, d_model), r (k, d_model) */
static cx attention(const txl_config *c, cx p, cx u, cx v, cx w, cx mem, cx r,
                    cx mask, cx key) {
  cx k1, k2, x = cx_concat(1, mem, w);
  int64_t inner = (int64_t)c->n_head * c->d_head, q = cx_dim(w, 1);
  cx_split(key, &k1, &k2);
  if (c->pre_lnorm)
    x = nn_layer_norm(cx_get(p, "layer_norm"), x, c->layer_norm_epsilon);
  cx qkv = cx_get(p, "qkv_net.weight");
  cx query =
      project(cx_index(qkv, CX_TO(inner)), cx_index(x, CX_ALL, CX_FROM(-q)));
  cx keys = project(cx_index(qkv, CX_RANGE(inner, 2 * inner)), x);
  cx values = project(cx_index(qkv, CX_FROM(2 * inner)), x);
  query = split_heads(c, query), keys = split_heads(c, keys);
  values = split_heads(c, values);
  cx rk = split_heads(c, project(cx_get(p, "r_net.weight"), r));
  cx content = cx_einsum("bind,bjnd->bnij", cx_add(query, u), keys);
  cx place = cx_einsum("bind,jnd->bnij", cx_add(query, v), rk);
  cx scores =
      cx_mul(cx_add(content, shift(place)), 1 / sqrt((double)c->d_head));
  cx probs = cx_softmax(cx_where(mask, scores, -3.4028235e38));
  probs = cx_dropout(probs, c->dropatt, k1);
  cx out = cx_einsum("bnij,bjnd->bind", probs, values);
  out = project(cx_get(p, "o_net.weight"),
                cx_reshape(out, cx_dim(w, 0), q, inner));
  out = cx_add(w, cx_dropout(out, c->dropout, k2));
  return c->pre_lnorm ? out
                      : nn_layer_norm(cx_get(p, "layer_norm"), out,
                                      c->layer_norm_epsilon);
}
static cx feed_forward(const txl_config *c, cx p, cx x, cx key) {
  cx k1, k2, h = x;
  cx_split(key, &k1, &k2);
  if (c->pre_lnorm)
    h = nn_layer_norm(cx_get(p, "layer_norm"), h, c->layer_norm_epsilon);
  h = cx_relu(nn_linear(cx_get(p, "CoreNet.0"), h));
  h = nn_linear(cx_get(p, "CoreNet.3"), cx_dropout(h, c->dropout, k1));
  h = cx_add(x, cx_dropout(h, c->dropout, k2));
  return c->pre_lnorm
             ? h
             : nn_layer_norm(cx_get(p, "layer_norm"), h, c->layer_norm_epsilon);
}
CX_DEF_ENV(layer, txl_config, c, params, biases, x, mem, r, mask, key) {
  cx k1, k2;
  cx_split(key, &k1, &k2);
  x = attention(c, cx_get(params, "dec_attn"), cx_get(biases, "r_w_bias"),
                cx_get(biases, "r_r_bias"), x, mem, r, mask, k1);
  return feed_forward(c, cx_get(params, "pos_ff"), x, k2);
}

/* -- the stack ------------------------------------------------------------ */

/* The last mem_len positions of memory and segment. */
static cx remember(const txl_config *c, cx mem, cx x) {
  cx both = cx_concat(1, mem, x);
  int64_t length = cx_dim(both, 1), keep = c->mem_len;
  if (keep > length) keep = length;
  return cx_stop_gradient(cx_index(both, CX_ALL, CX_FROM(length - keep)));
}
/* u and v of a layer: its own, or the pair that all share. */
static cx biases_of(const txl_config *c, cx params, cx layer_params) {
  cx from = c->untie_r ? cx_get(layer_params, "dec_attn") : params;
  return cx_dict("r_w_bias", cx_get(from, "r_w_bias"), "r_r_bias",
                 cx_get(from, "r_r_bias"));
}
CX_DEFINE_ENV(txl_hidden, txl_config, c, params, mems, ids, key) {
  cx new_mems[CX_MAX_ARGS], k1, k2, k3;
  if (c->n_layer > CX_MAX_ARGS || cx_len(mems) != c->n_layer)
    return cx_fail(CX_ETREE, "transformer_xl: %d memories for %d layers",
                   cx_len(mems), c->n_layer);
  int64_t m = cx_dim(cx_nth(mems, 0), 1), q = cx_dim(ids, 1);
  cx_split(key, &k1, &k2, &k3);
  cx x = cx_dropout(cxi_txl_embed(c, params, ids), c->dropout, k1);
  cx r = cx_dropout(positions(c, m + q), c->dropout, k2);
  cx mask = visible(c, q, m);
  cx_fn f = CX_BIND_TO(layer, c);
  if (c->checkpoint_layers) f = cx_checkpoint(f);
  for (int i = 0; i < c->n_layer; i++) {
    CX_NAMED("layer.%d", i);
    cx p = cx_get(params, "layers.%d", i), mem = cx_nth(mems, i);
    new_mems[i] = remember(c, mem, x);
    x = cx_call(f, p, biases_of(c, params, p), x, mem, r, mask,
                cx_fold(key, i + 1));
  }
  x = cx_dropout(x, c->dropout, k3);
  return cx_tuple(x, cx_tuple_n(c->n_layer, new_mems));
}
CX_DEFINE_ENV(txl_logits, txl_config, c, params, mems, ids, key) {
  cx hidden, new_mems;
  cx_unpack(txl_hidden(c, params, mems, ids, key), &hidden, &new_mems);
  return cx_tuple(cxi_txl_scores(c, params, hidden), new_mems);
}
CX_DEFINE_ENV(txl_loss, txl_config, c, params, mems, ids, targets, key) {
  cx logits, new_mems;
  cx_unpack(txl_logits(c, params, mems, ids, key), &logits, &new_mems);
  return cx_tuple(cx_cross_entropy(logits, targets, -100), new_mems);
}
