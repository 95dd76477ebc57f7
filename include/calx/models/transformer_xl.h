/* transformer_xl.h - Transformer-XL: a language model with a memory of earlier
 * segments, Dai et al. 2019, arXiv:1901.02860.
 *
 * Shapes: b batch, q query (the segment), m memory, k = m + q, n heads, d head
 * size. Parameters carry the names of published checkpoints without the prefix
 * "transformer.": word_emb.emb_layers.0.weight, layers.N.dec_attn.*,
 * layers.N.pos_ff.*, and crit.* for the softmax. */
#ifndef CALX_MODELS_TRANSFORMER_XL_H
#define CALX_MODELS_TRANSFORMER_XL_H

#include "calx/calx.h"

#ifdef __cplusplus
extern "C" {
#endif

CX_STRUCT(txl_config, (int, vocab_size), (int, d_model), (int, n_head),
          (int, d_head), (int, d_inner), (int, n_layer), (int, mem_len),
          (int, clamp_len),    /* distances above it count as it; <= 0: none */
          (bool, same_length), /* each query sees as many keys as the others */
          (bool, pre_lnorm), (bool, untie_r), /* u, v for each layer */
          (int, d_embed),     /* 0: d_model */
          (cx_dims, cutoffs), /* where clusters of the vocabulary begin */
          (int, div_val),     /* cluster i: d_embed / div_val^i; 0: 1 */
          (double, dropout), (double, dropatt), (double, layer_norm_epsilon),
          (bool, checkpoint_layers));

/* Reads config.json (a file, or the one in a folder). CX_EIO, CX_ETREE with
 * the field's name. */
CX_API bool txl_config_load(const char *path, txl_config *out);
/* Reads a checkpoint (a file, or model.safetensors in a folder) and checks
 * every shape; the prefix "transformer." is dropped, and a model without a
 * softmax has none. */
CX_API CX_USED cx txl_load(const txl_config *config, const char *path);
CX_API CX_USED cx txl_init(const txl_config *config, cx key);
/* A tuple of n_layer zeros (batch, length, d_model): the paper starts with
 * length 0, published checkpoints with mem_len, which is attended to. */
CX_API CX_USED cx txl_init_mems(const txl_config *config, int64_t batch,
                                int64_t length);

/* (params, mems, ids (b, q), key) -> (hidden (b, q, d_model), new mems).
 * The memory of a layer is its input, the last mem_len positions of (memory,
 * segment), through which no gradient flows. key: cx_none() for evaluation. */
CX_DECLARE_ENV(txl_hidden, txl_config, c, params, mems, ids, key);
/* The same with logits (b, q, vocab_size) of the token that follows each; with
 * cutoffs they are log-probabilities. */
CX_DECLARE_ENV(txl_logits, txl_config, c, params, mems, ids, key);
/* (params, mems, ids, targets (b, q), key) -> (mean cross entropy in nats, new
 * mems); targets of -100 do not count. */
CX_DECLARE_ENV(txl_loss, txl_config, c, params, mems, ids, targets, key);

/* -- training -------------------------------------------------------------- */

/* State: {params, adam, mems}. */
CX_STRUCT(txl_training, (txl_config, model), (double, clip));
CX_API CX_USED cx txl_train_init(const txl_config *config, cx params,
                                 int64_t batch);
/* (state, ids, targets, key, lr) -> (state, loss, gradient norm): one step of
 * Adam on gradients clipped to the global norm `clip` (0: as they are). */
CX_DECLARE_ENV(txl_train_step, txl_training, t, state, ids, targets, key, lr);

/* -- generation ------------------------------------------------------------ */

CX_STRUCT(txl_sampling, (txl_config, model), (int, length),
          (double, temperature)); /* 0: the likeliest token */
/* (params, mems, token (b), key) -> (tokens (b, length), mems, last token): one
 * token after the other, the memory carried along. */
CX_DECLARE_ENV(txl_generate, txl_sampling, s, params, mems, token, key);

#ifdef __cplusplus
}
#endif
#endif
