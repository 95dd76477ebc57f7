/* vocabulary.h - tokens and their ids; the longest token that a text begins
 * with. */
#ifndef MODELS_VOCABULARY_H
#define MODELS_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vocabulary_entry {
  const char *text;
  uint32_t bytes;
  int32_t id;
} vocabulary_entry;

typedef struct vocabulary {
  int32_t n_ids;              /* the highest id + 1 */
  const char **tokens;        /* by id; NULL where there is none */
  uint32_t n_starts, n_rests; /* sorted by bytes */
  vocabulary_entry *starts;   /* every token as it is written */
  vocabulary_entry *rests;    /* those with the prefix, without it */
  char *text;                 /* all tokens, each with its 0 */
} vocabulary;

/* Copies n tokens; id i is tokens[i], a NULL leaves a gap. A repeated token
 * keeps its last id. False without memory. */
bool vocabulary_make(vocabulary *v, uint32_t n, const char *const *tokens,
                     const char *prefix);
void vocabulary_free(vocabulary *v);
int32_t vocabulary_id(const vocabulary *v, const char *token, size_t bytes);
/* The longest entry of the list that text begins with; -1: none. */
int32_t vocabulary_longest(const vocabulary_entry *list, uint32_t n,
                           const char *text, size_t bytes, size_t *out_bytes);

#endif
