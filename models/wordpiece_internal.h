/* wordpiece_internal.h - a tokenizer's parts, shared by its files. */
#ifndef MODELS_WORDPIECE_INTERNAL_H
#define MODELS_WORDPIECE_INTERNAL_H

#include "calx/models/wordpiece.h"
#include "vocabulary.h"

/* A token found in the text before it is split: "[MASK]", or one added by a
 * user. `normalized`: looked for after cleaning and lower case. */
typedef struct added_token {
  char *content;
  uint32_t *codes; /* its code points, as they are looked for */
  uint32_t n_codes;
  int32_t id;
  bool special, normalized, single_word, lstrip, rstrip;
} added_token;

struct wordpiece {
  vocabulary words;
  int32_t unknown, cls, sep;
  bool lowercase, strip_accents, split_cjk, clean, specials_as_text;
  int max_word_codes; /* longer words are unknown */
  char prefix[32];
  uint32_t n_added;
  added_token *added;
};

/* A text as code points with the place in the original that each is from. */
typedef struct code {
  uint32_t c;
  int32_t at;
} code;
typedef struct codes {
  code *d;
  size_t n, cap;
  bool failed;
} codes;
void codes_add(codes *list, uint32_t c, int32_t at);
void codes_normalize(const wordpiece *w, const code *from, size_t n, codes *to);

#endif
