/* xl_text.h - a text as tokens: one for each byte value that occurs. */
#ifndef TOOLS_XL_TEXT_H
#define TOOLS_XL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "calx/calx.h"

typedef struct xl_vocabulary {
  int size;
  unsigned char bytes[256]; /* of token 0, 1, ... */
  int16_t token[256];       /* of a byte; -1: it does not occur */
} xl_vocabulary;

/* From the byte of each token. False if one occurs twice. */
bool xl_vocabulary_set(xl_vocabulary *v, const unsigned char *bytes, int size);

typedef struct xl_text {
  xl_vocabulary vocabulary;
  uint8_t *tokens;
  int64_t n;
  int64_t n_train, test_start; /* first 90 % and last 5 % */
} xl_text;

/* Reads a file, plain or gzip. False with a message on stderr. */
bool xl_text_read(const char *path, xl_text *out);
void xl_text_free(xl_text *text);

/* Part of a text as `batch` contiguous streams side by side, so that a memory
 * carries on from step to step: Dai et al. 2019, section 3.2. */
typedef struct xl_streams {
  const uint8_t *tokens;
  int64_t length; /* of a stream */
  int batch, segment;
} xl_streams;

xl_streams xl_streams_of(const uint8_t *tokens, int64_t n, int batch,
                         int segment);
/* Whole segments, each with its next token; 0: the text is too short. */
int64_t xl_streams_count(const xl_streams *s);
/* Segment i: ids and what follows each, (batch, segment) i32. */
void xl_streams_get(const xl_streams *s, int64_t i, cx *out_ids,
                    cx *out_targets);

#endif
