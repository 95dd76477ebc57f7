/* unicode.h - what BERT's tokenizer asks of a character.
 *
 * Categories, decompositions and lower case come from utf8proc. The tokenizers
 * that checkpoints are published with (Hugging Face tokenizers, the "fast"
 * dialect) have older tables of categories (Unicode 8) and newer ones of lower
 * case; unicode.c lists where they differ, so that ids agree. */
#ifndef MODELS_UNICODE_H
#define MODELS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at text, of which `length` >= 1 bytes are left, and its
 * bytes; U+FFFD and 1 where they are not UTF-8. */
uint32_t unicode_next(const char *text, size_t length, size_t *out_bytes);
/* Writes UTF-8, at most 4 bytes; returns how many. */
size_t unicode_put(uint32_t c, char *out);

bool unicode_is_space(uint32_t c);
bool unicode_is_removed(uint32_t c);     /* by the cleaning of text */
bool unicode_is_cjk(uint32_t c);         /* stands as a word of its own */
bool unicode_is_punctuation(uint32_t c); /* splits a word, is one */
bool unicode_is_word(uint32_t c);        /* letter, mark, number, connector */
bool unicode_is_accent(uint32_t c);      /* a nonspacing mark */

enum { UNICODE_MAX = 32 };
/* Canonical decomposition and lower case of one character; each returns the
 * number of code points in out[UNICODE_MAX]. */
int unicode_decompose(uint32_t c, uint32_t *out);
int unicode_lower(uint32_t c, uint32_t *out);

#endif
