/* bert.h - BERT: a bidirectional encoder, Devlin et al. 2018,
 * arXiv:1810.04805.
 *
 * Parameters carry the names of published checkpoints without the prefix
 * "bert.": embeddings.*, encoder.layer.N.*, pooler.dense.*. */
#ifndef CALX_MODELS_BERT_H
#define CALX_MODELS_BERT_H

#include "calx/calx.h"

#ifdef __cplusplus
extern "C" {
#endif

CX_STRUCT(bert_config, (int, vocab_size), (int, hidden_size),
          (int, num_hidden_layers), (int, num_attention_heads),
          (int, intermediate_size), (int, max_position_embeddings),
          (int, type_vocab_size),
          (int, pad_token_id), /* its row gets no gradient; -1: none */
          (double, layer_norm_eps),
          (double, hidden_dropout_prob), (double, attention_dropout_prob),
          (cx_str, hidden_act), (bool, relative_key),
          (bool, checkpoint_layers));

/* Reads config.json (a file, or the one in a folder). CX_EIO, CX_ETREE with
 * the field's name; a decoder, or positions of a kind that is not known, is an
 * error rather than another model. */
CX_API bool bert_config_load(const char *path, bert_config *out);
/* N(0, std^2) weights, zero biases; with a pooler. */
CX_API CX_USED cx bert_init(const bert_config *config, cx key, double std);
/* Reads a checkpoint (a file, or model.safetensors or its index in a folder)
 * and checks every shape: old names (gamma, beta) and the prefix are mapped,
 * heads and buffers dropped. The pooler is there if the file has it. */
CX_API CX_USED cx bert_load(const bert_config *config, const char *path);

/* (params, ids, types, mask, positions, key) -> hidden states (b, s, h).
 *   ids, types (b, s) integers; types may be cx_none(): all 0
 *   mask (b, s) or (b, s, s), bool or integers, true = visible; cx_none(): all
 *   positions (b, s) integers; cx_none(): 0, 1, ...
 *   key: of the dropout; cx_none() for evaluation
 * Each layer is one cx_call under the name "layer.N". */
CX_DECLARE_ENV(bert_encode, bert_config, c, params, ids, types, mask, positions,
               key);
/* tanh(dense(h[:, 0])): (b, h) */
CX_DECLARE(bert_pool, params, hidden);

#ifdef __cplusplus
}
#endif
#endif
