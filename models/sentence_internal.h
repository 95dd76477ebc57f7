/* sentence_internal.h - a sentence model's parts, shared by its files. */
#ifndef MODELS_SENTENCE_INTERNAL_H
#define MODELS_SENTENCE_INTERNAL_H

#include "calx/models/sentence.h"
#include "calx/models/wordpiece.h"

struct sentence_model {
  sentence_config config;
  wordpiece *tokenizer;
  cx params; /* kept */
  int max_length;
};

#endif
