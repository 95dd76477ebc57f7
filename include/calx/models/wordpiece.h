/* wordpiece.h - BERT's tokenizer: text to ids and back.
 *
 * Devlin et al. 2018, arXiv:1810.04805; ids agree with the tokenizers that
 * checkpoints are published with. Errors are kept as everywhere in Calx
 * (cx_error); no function here needs a context. A tokenizer is immutable:
 * threads may share it. */
#ifndef CALX_MODELS_WORDPIECE_H
#define CALX_MODELS_WORDPIECE_H

#include "calx/calx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wordpiece wordpiece;

typedef struct wordpiece_options {
  bool cased;            /* keep capitals; accents too, unless stripped */
  int strip_accents;     /* 0: with lower case only; 1: yes; -1: no */
  bool keep_cjk;         /* no blanks around CJK characters */
  bool keep_control;     /* no cleaning of control characters */
  bool specials_as_text; /* "[SEP]" in a text is ordinary text */
} wordpiece_options;

/* From a folder (tokenizer.json, else vocab.txt with tokenizer_config.json),
 * a tokenizer.json, or a vocab.txt with one token a line. options NULL: as the
 * files say. NULL after an error: CX_EIO if a file cannot be read, CX_ETREE
 * if it is not what it should be. */
CX_API wordpiece *wordpiece_load(const char *path,
                                 const wordpiece_options *options);
CX_API void wordpiece_free(wordpiece *w);

CX_API int wordpiece_size(const wordpiece *w); /* ids are 0..size-1 */
CX_API int32_t wordpiece_id(const wordpiece *w, const char *token); /* -1 */
CX_API const char *wordpiece_token(const wordpiece *w, int32_t id); /* NULL */

typedef enum wordpiece_truncation {
  WORDPIECE_LONGEST_FIRST,
  WORDPIECE_ONLY_FIRST,
  WORDPIECE_ONLY_SECOND
} wordpiece_truncation;

/* [CLS] a [SEP], or [CLS] a [SEP] b [SEP]. Offsets are code points of the
 * text, [start, end); (0, 0) for the tokens that were added. */
typedef struct wordpiece_encoding {
  int n;
  int32_t *ids, *types; /* types: 0 up to the first [SEP], then 1 */
  int32_t (*offsets)[2];
  bool *special; /* added */
} wordpiece_encoding;

/* b may be NULL. max_length counts the added tokens; 0: no limit. False
 * after an error: a text that would have to be cut below nothing. */
CX_API bool wordpiece_encode(const wordpiece *w, const char *a, size_t a_bytes,
                             const char *b, size_t b_bytes, int max_length,
                             wordpiece_truncation truncation,
                             wordpiece_encoding *out);
CX_API void wordpiece_encoding_free(wordpiece_encoding *encoding);

/* Text of ids, to be freed with free(); unknown ids are left out.
 * `clean_up` removes the blanks before ".", "?", "'s" and their like. */
CX_API char *wordpiece_decode(const wordpiece *w, const int32_t *ids, int n,
                              bool skip_special, bool clean_up);

#ifdef __cplusplus
}
#endif
#endif
