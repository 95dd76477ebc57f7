/* sentence.h - sentences to vectors: BERT, pooled over its tokens.
 *
 * Reimers & Gurevych 2019, arXiv:1908.10084, section 3. A model is a folder as
 * it is published: config.json, model.safetensors, tokenizer.json or vocab.txt,
 * and, where they are there, 1_Pooling/config.json, modules.json and
 * sentence_bert_config.json. */
#ifndef CALX_MODELS_SENTENCE_H
#define CALX_MODELS_SENTENCE_H

#include "calx/models/bert.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- the function ---------------------------------------------------------- */

typedef enum sentence_pooling {
  SENTENCE_MEAN, /* of the tokens, the added ones too */
  SENTENCE_CLS,  /* the first token */
  SENTENCE_MAX   /* the greatest of each component */
} sentence_pooling;
CX_STRUCT(sentence_config, (bert_config, encoder), (int, pooling),
          (bool, normalize)); /* to unit length */

/* (params, ids (b, s), lengths (b)) -> (b, h): ids beyond a length are padding
 * and do not count. */
CX_DECLARE_ENV(sentence_vectors, sentence_config, c, params, ids, lengths);

/* -- a model with its tokenizer -------------------------------------------- */

typedef struct sentence_model sentence_model;

/* NULL after an error: CX_EIO if a file is missing, CX_ETREE if it is not what
 * it should be. It belongs to the context in use. */
CX_API sentence_model *sentence_load(const char *folder);
/* The parameters in another floating dtype, in which the encoder then computes;
 * pooling is in f32 at least. False after an error. */
CX_API bool sentence_cast(sentence_model *model, cx_dtype type);
CX_API void sentence_free(sentence_model *model);

CX_API int sentence_width(const sentence_model *model);      /* h */
CX_API int sentence_max_length(const sentence_model *model); /* tokens */
CX_API const sentence_config *
sentence_configuration(const sentence_model *model);
CX_API CX_USED cx sentence_params(const sentence_model *model);

typedef struct sentence_options {
  int batch;      /* sentences at a time; 0: 32 */
  int max_length; /* tokens of a sentence, the added ones too; 0: the model's */
  int normalize;  /* 1: to unit length, -1: not; 0: as the folder says */
} sentence_options;

/* The vectors of n texts in UTF-8, one after the other in out (n, h). A text
 * too long is cut; one without tokens is [CLS] [SEP]; bytes that are no UTF-8
 * count as U+FFFD. bytes NULL: the texts end with a 0. Texts of like length are
 * computed together, padded to one of a few lengths, so that few programs are
 * compiled. False after an error. */
CX_API bool sentence_encode(const sentence_model *model, int64_t n,
                            const char *const *texts, const size_t *bytes,
                            sentence_options options, float *out);

#ifdef __cplusplus
}
#endif
#endif
