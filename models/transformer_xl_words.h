/* transformer_xl_words.h - words in and out of Transformer-XL. */
#ifndef MODELS_TRANSFORMER_XL_WORDS_H
#define MODELS_TRANSFORMER_XL_WORDS_H

#include "calx/models/transformer_xl.h"

/* {word_emb, crit}: tied words, projections shared by all clusters but the
 * first. */
cx cxi_txl_words_init(const txl_config *config, cx key);
/* ids (b, q) -> (b, q, d_model), times sqrt(d_model). */
cx cxi_txl_embed(const txl_config *config, cx params, cx ids);
/* hidden (b, q, d_model) -> (b, q, vocab_size): logits, or with cutoffs the
 * log-probabilities. */
cx cxi_txl_scores(const txl_config *config, cx params, cx hidden);

#endif
