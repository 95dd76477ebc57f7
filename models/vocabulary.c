/* vocabulary.c - sorted lists of tokens, searched byte by byte. */
#include "vocabulary.h"

#include <stdlib.h>
#include <string.h>

/* By bytes, then by id, so that the last of equal tokens is the highest. */
static int compare(const void *a, const void *b) {
  const vocabulary_entry *x = a, *y = b;
  uint32_t n = x->bytes < y->bytes ? x->bytes : y->bytes;
  int order = memcmp(x->text, y->text, n);
  if (order) return order;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}
static uint32_t sort_unique(vocabulary_entry *list, uint32_t n) {
  uint32_t kept = 0;
  qsort(list, n, sizeof *list, compare);
  for (uint32_t i = 0; i < n; i++) {
    bool repeated = i + 1 < n && list[i].bytes == list[i + 1].bytes &&
                    memcmp(list[i].text, list[i + 1].text, list[i].bytes) == 0;
    if (!repeated) list[kept++] = list[i];
  }
  return kept;
}

bool vocabulary_make(vocabulary *v, uint32_t n, const char *const *tokens,
                     const char *prefix) {
  size_t bytes = 1, prefix_bytes = strlen(prefix);
  *v = (vocabulary){ .n_ids = (int32_t)n };
  for (uint32_t i = 0; i < n; i++)
    bytes += tokens[i] ? strlen(tokens[i]) + 1 : 0;
  v->text = malloc(bytes);
  v->tokens = calloc((size_t)n + 1, sizeof *v->tokens);
  v->starts = calloc((size_t)n + 1, sizeof *v->starts);
  v->rests = calloc((size_t)n + 1, sizeof *v->rests);
  if (!v->text || !v->tokens || !v->starts || !v->rests)
    return vocabulary_free(v), false;
  char *at = v->text;
  for (uint32_t i = 0; i < n; i++) {
    if (!tokens[i]) continue;
    size_t length = strlen(tokens[i]);
    memcpy(at, tokens[i], length + 1);
    v->tokens[i] = at;
    v->starts[v->n_starts++] =
        (vocabulary_entry){ at, (uint32_t)length, (int32_t)i };
    if (length > prefix_bytes && memcmp(at, prefix, prefix_bytes) == 0)
      v->rests[v->n_rests++] =
          (vocabulary_entry){ at + prefix_bytes,
                              (uint32_t)(length - prefix_bytes), (int32_t)i };
    at += length + 1;
  }
  v->n_starts = sort_unique(v->starts, v->n_starts);
  v->n_rests = sort_unique(v->rests, v->n_rests);
  return true;
}
void vocabulary_free(vocabulary *v) {
  free(v->text), free(v->tokens), free(v->starts), free(v->rests);
  *v = (vocabulary){ 0 };
}

/* The part of list[lo..hi) whose byte at `depth` is c; all have the same bytes
 * before it and at least `depth` of them. */
static void narrow(const vocabulary_entry *list, uint32_t *lo, uint32_t *hi,
                   size_t depth, unsigned char c) {
  uint32_t a = *lo, b = *hi;
  while (a < b) { /* the first with a byte >= c */
    uint32_t m = a + (b - a) / 2;
    if (list[m].bytes <= depth || (unsigned char)list[m].text[depth] < c)
      a = m + 1;
    else
      b = m;
  }
  uint32_t first = a;
  b = *hi;
  while (a < b) { /* the first with a byte > c */
    uint32_t m = a + (b - a) / 2;
    if ((unsigned char)list[m].text[depth] <= c)
      a = m + 1;
    else
      b = m;
  }
  *lo = first, *hi = a;
}
int32_t vocabulary_longest(const vocabulary_entry *list, uint32_t n,
                           const char *text, size_t bytes, size_t *out_bytes) {
  uint32_t lo = 0, hi = n;
  int32_t best = -1;
  for (size_t depth = 0; lo < hi; depth++) {
    if (list[lo].bytes == depth && depth > 0)
      best = list[lo].id, *out_bytes = depth;
    if (depth == bytes) break;
    narrow(list, &lo, &hi, depth, (unsigned char)text[depth]);
  }
  return best;
}
int32_t vocabulary_id(const vocabulary *v, const char *token, size_t bytes) {
  size_t found = 0;
  int32_t id = vocabulary_longest(v->starts, v->n_starts, token, bytes, &found);
  return id >= 0 && found == bytes ? id : -1;
}
