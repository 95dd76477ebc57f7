/* bert.c - the encoder. Shapes: b batch, s sequence, h hidden, n heads,
 * d head size. */
#include "calx/models/bert.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "calx/models/nn.h"

static cx norm(const bert_config *c, cx params, cx x) {
  return nn_layer_norm(params, x, c->layer_norm_eps);
}
/* (b, s, h) -> (b, s, n, d) */
static cx heads(const bert_config *c, cx x) {
  int64_t b, s, h;
  cx_sizes(x, &b, &s, &h);
  return cx_reshape(x, b, s, c->num_attention_heads, -1);
}

/* Shaw et al. 2018, arXiv:1803.02155, eq. 4: scores gain q . a[i - j]; the table
 * (2 p - 1, d) holds a at the distance i - j + p - 1. */
static cx relative_scores(const bert_config *c, cx params, cx q) {
  int64_t s = cx_dim(q, 1), p = c->max_position_embeddings;
  cx row = cx_iota(CX_I32, 0, s, s), column = cx_iota(CX_I32, 1, s, s);
  cx distance = cx_add(cx_sub(row, column), p - 1);
  cx table = cx_take(cx_get(params, "distance_embedding.weight"), distance, 0);
  return cx_einsum("bqnd,qkd->bnqk", q, table);
}
/* x (b, s, h), bias (b, 1, 1 or s, s) -> (b, s, h) */
static cx self_attention(const bert_config *c, cx params, cx x, cx bias,
                         cx key) {
  cx q = heads(c, nn_linear(cx_get(params, "query"), x));
  cx k = heads(c, nn_linear(cx_get(params, "key"), x));
  cx v = heads(c, nn_linear(cx_get(params, "value"), x));
  cx scores = cx_einsum("bqnd,bknd->bnqk", q, k);
  if (c->relative_key) scores = cx_add(scores, relative_scores(c, params, q));
  scores = cx_mul(scores, 1 / sqrt((double)cx_dim(q, -1)));
  if (!cx_is_none(bias)) scores = cx_add(scores, bias);
  cx probs = cx_checkpoint_name(cx_softmax(scores), "probs");
  probs = cx_dropout(probs, c->attention_dropout_prob, key);
  return cx_reshape(cx_einsum("bnqk,bknd->bqnd", probs, v), cx_shape(x));
}
CX_DEF_ENV(layer, bert_config, c, params, x, bias, key) {
  cx k1, k2, k3;
  cx_split(key, &k1, &k2, &k3);
  double rate = c->hidden_dropout_prob;
  cx a = self_attention(c, cx_get(params, "attention.self"), x, bias, k1);
  a = nn_linear(cx_get(params, "attention.output.dense"), a);
  x = norm(c, cx_get(params, "attention.output.LayerNorm"),
           cx_add(cx_dropout(a, rate, k2), x));
  cx f = nn_activation(c->hidden_act,
                       nn_linear(cx_get(params, "intermediate.dense"), x));
  f = nn_linear(cx_get(params, "output.dense"), f);
  return norm(c, cx_get(params, "output.LayerNorm"),
              cx_add(cx_dropout(f, rate, k3), x));
}
static cx_fn layer_fn(const bert_config *c) {
  cx_fn f = CX_BIND_TO(layer, c);
  return c->checkpoint_layers ? cx_checkpoint(f) : f;
}

/* Rows of the word embeddings; through that of the padding no gradient flows,
 * as in the published code, so that training leaves it alone. */
static cx words(const bert_config *c, cx params, cx ids) {
  cx rows = nn_embedding(params, ids);
  if (c->pad_token_id < 0) return rows;
  cx padding = cx_expand(cx_eq(ids, c->pad_token_id), -1);
  return cx_where(padding, cx_stop_gradient(rows), rows);
}
/* Word and type, then position: the published order of the sums. */
static cx embed(const bert_config *c, cx params, cx ids, cx types, cx positions,
                cx key) {
  cx word = words(c, cx_get(params, "word_embeddings"), ids);
  cx type_table = cx_get(params, "token_type_embeddings.weight");
  cx x = cx_add(word, cx_is_none(types) ? cx_index(type_table, 0)
                                        : cx_take(type_table, types, 0));
  cx table = cx_get(params, "position_embeddings.weight");
  if (!c->relative_key)
    x = cx_add(x, cx_is_none(positions) ? cx_index(table, CX_TO(cx_dim(ids, 1)))
                                        : cx_take(table, positions, 0));
  x = norm(c, cx_get(params, "LayerNorm"), x);
  return cx_dropout(x, c->hidden_dropout_prob, key);
}
static double lowest(cx_dtype type) {
  return type == CX_F16    ? -65504
         : type == CX_BF16 ? -0x1.fep127
                           : -(double)FLT_MAX;
}
/* mask (b, s) or (b, s, s) of any dtype -> what the scores gain: (b, 1, 1 or s,
 * s), 0 or the lowest number. Where nothing is visible all scores are equal and
 * the weights uniform. */
static cx visibility(cx mask, cx_dtype type) {
  if (cx_is_none(mask)) return mask;
  if (cx_type(mask) != CX_BOOL) mask = cx_ne(mask, 0);
  cx bias = cx_where(mask, cx_scalar(0, type), lowest(type));
  return cx_ndim(mask) == 3 ? cx_expand(bias, 1) : cx_expand(bias, 1, 2);
}
CX_DEFINE_ENV(bert_encode, bert_config, c, params, ids, types, mask, positions,
              key) {
  int64_t b, s;
  cx_sizes(ids, &b, &s);
  if (s > c->max_position_embeddings && cx_is_none(positions))
    return cx_fail(CX_ESHAPE,
                   "bert_encode: %lld tokens, the model has %d positions",
                   (long long)s, c->max_position_embeddings);
  cx x = embed(c, cx_get(params, "embeddings"), ids, types, positions,
               cx_fold(key, 0));
  cx bias = visibility(mask, cx_type(x));
  for (int i = 0; i < c->num_hidden_layers; i++) {
    CX_NAMED("layer.%d", i);
    x = cx_call(layer_fn(c), cx_get(params, "encoder.layer.%d", i), x, bias,
                cx_fold(key, i + 1));
  }
  return x;
}
CX_DEFINE(bert_pool, params, hidden) {
  return cx_tanh(
      nn_linear(cx_get(params, "pooler.dense"), cx_index(hidden, CX_ALL, 0)));
}
