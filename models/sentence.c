/* sentence.c - pooling, and texts in batches. Shapes: b batch, s sequence,
 * h hidden. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sentence_internal.h"

/* -- the function --------------------------------------------------------- */

/* hidden (b, s, h), seen (b, s) bool, lengths (b) -> (b, h) */
static cx pool(sentence_pooling how, cx hidden, cx seen, cx lengths) {
  if (how == SENTENCE_CLS) return cx_index(hidden, CX_ALL, 0);
  seen = cx_expand(seen, -1);
  if (how == SENTENCE_MAX) return cx_max(cx_where(seen, hidden, -INFINITY), 1);
  cx count = cx_expand(cx_cast(lengths, cx_type(hidden)), -1);
  return cx_div(cx_sum(cx_where(seen, hidden, 0.0), 1), count);
}
CX_DEFINE_ENV(sentence_vectors, sentence_config, c, params, ids, lengths) {
  int64_t b, s;
  cx_sizes(ids, &b, &s);
  cx place = cx_iota(cx_type(lengths), 1, b, s);
  cx seen = cx_lt(place, cx_expand(lengths, -1));
  cx hidden = bert_encode(&c->encoder, params, ids, cx_none(), seen, cx_none(),
                          cx_none());
  /* Halves end here: sums over tokens and squares need more. */
  if (cx_type(hidden) == CX_F16 || cx_type(hidden) == CX_BF16)
    hidden = cx_cast(hidden, CX_F32);
  cx x = pool((sentence_pooling)c->pooling, hidden, seen, lengths);
  if (!c->normalize) return x;
  return cx_div(x, cx_maximum(cx_norm(x, -1, .keepdims = true), 1e-12));
}

/* -- texts to ids --------------------------------------------------------- */

typedef struct text {
  int32_t *ids;
  int n;
  int64_t at; /* among those given */
} text;

static void free_texts(text *texts, int64_t n) {
  for (int64_t i = 0; texts && i < n; i++) free(texts[i].ids);
  free(texts);
}
static text *read_texts(const sentence_model *m, int64_t n,
                        const char *const *texts, const size_t *bytes,
                        int max_length) {
  text *all = calloc((size_t)n, sizeof *all);
  if (!all) cx_fail(CX_EMEMORY, "sentence_encode: out of memory");
  for (int64_t i = 0; all && i < n; i++) {
    wordpiece_encoding e;
    const size_t length = bytes ? bytes[i] : strlen(texts[i]);
    if (!wordpiece_encode(m->tokenizer, texts[i], length, NULL, 0, max_length,
                          WORDPIECE_LONGEST_FIRST, &e)) {
      free_texts(all, n);
      return NULL;
    }
    all[i] = (text){ e.ids, e.n, i };
    e.ids = NULL;
    wordpiece_encoding_free(&e);
  }
  return all;
}
static int longer_first(const void *a, const void *b) {
  const text *x = a, *y = b;
  if (x->n != y->n) return x->n < y->n ? 1 : -1;
  return (x->at > y->at) - (x->at < y->at);
}

/* -- batches -------------------------------------------------------------- */

/* n, rounded up to a multiple of `least` and of a quarter to a half of itself:
 * 8, 16, 24, 32, 48, 64, 96, 128, ... for 8. */
static int rounded_up(int n, int least) {
  int step = least;
  while (4 * step < n) step *= 2;
  return (n + step - 1) / step * step;
}
static int padded_length(const sentence_model *m, int n) {
  const int most = m->config.encoder.max_position_embeddings;
  const int padded = rounded_up(n, 8);
  return padded < most ? padded : most;
}

/* Room for the arrays of one batch, as large as the largest. */
typedef struct room {
  int32_t *ids, *lengths;
  float *vectors;
} room;

static void room_free(room *r) {
  free(r->ids), free(r->lengths), free(r->vectors);
}
static bool room_make(room *r, const sentence_model *m, int batch, int length) {
  const size_t b = (size_t)batch;
  r->ids = malloc(b * (size_t)length * sizeof *r->ids);
  r->lengths = malloc(b * sizeof *r->lengths);
  r->vectors = malloc(b * (size_t)sentence_width(m) * sizeof *r->vectors);
  if (r->ids && r->lengths && r->vectors) return true;
  cx_fail(CX_EMEMORY, "sentence_encode: out of memory");
  return false;
}
/* Fills `rows` rows of s ids; rows without a text repeat the first one. */
static void fill(const sentence_model *m, room *r, const text *texts, int n,
                 int rows, int s) {
  const int32_t padding = m->config.encoder.pad_token_id;
  for (int i = 0; i < rows; i++) {
    const text *t = &texts[i < n ? i : 0];
    int32_t *row = r->ids + (size_t)i * (size_t)s;
    memcpy(row, t->ids, (size_t)t->n * sizeof *row);
    for (int k = t->n; k < s; k++) row[k] = padding > 0 ? padding : 0;
    r->lengths[i] = t->n;
  }
}
static bool run_batch(const sentence_model *m, cx_fn f, room *r,
                      const text *texts, int n, int batch, float *out) {
  CX_SCOPE;
  const int s = padded_length(m, texts[0].n);
  int rows = rounded_up(n, 1);
  if (rows > batch) rows = batch;
  fill(m, r, texts, n, rows, s);
  const size_t h = (size_t)sentence_width(m);
  cx ids = cx_from(r->ids, rows, s), lengths = cx_from(r->lengths, rows);
  cx vectors = cx_call(f, m->params, ids, lengths);
  if (cx_type(vectors) != CX_F32) vectors = cx_cast(vectors, CX_F32);
  if (!cx_read(vectors, r->vectors, (size_t)rows * h)) return false;
  for (int i = 0; i < n; i++)
    memcpy(out + (size_t)texts[i].at * h, r->vectors + (size_t)i * h,
           h * sizeof *out);
  return true;
}
/* Texts of one padded length, at most `batch` of them. */
static int batch_size(const sentence_model *m, const text *texts, int64_t n,
                      int batch) {
  int k = 1;
  const int s = padded_length(m, texts[0].n);
  while (k < batch && k < n && padded_length(m, texts[k].n) == s) k++;
  return k;
}
static bool run_batches(const sentence_model *m, cx_fn f, const text *texts,
                        int64_t n, int batch, float *out) {
  room r = { 0 };
  bool ok = room_make(&r, m, batch, padded_length(m, texts[0].n));
  for (int64_t i = 0, k; ok && i < n; i += k) {
    k = batch_size(m, texts + i, n - i, batch);
    ok = run_batch(m, f, &r, texts + i, (int)k, batch, out);
  }
  room_free(&r);
  return ok;
}
bool sentence_encode(const sentence_model *m, int64_t n,
                     const char *const *texts, const size_t *bytes,
                     sentence_options options, float *out) {
  if (n <= 0) return true;
  int most = options.max_length > 0 ? options.max_length : m->max_length;
  if (most > m->config.encoder.max_position_embeddings) {
    cx_fail(CX_ESHAPE, "sentence_encode: %d tokens, the model has %d positions",
            most, m->config.encoder.max_position_embeddings);
    return false;
  }
  int batch = options.batch > 0 ? options.batch : 32;
  if (batch > n) batch = (int)n;
  sentence_config c = m->config;
  if (options.normalize) c.normalize = options.normalize > 0;
  text *all = read_texts(m, n, texts, bytes, most);
  if (!all) return false;
  qsort(all, (size_t)n, sizeof *all, longer_first);
  bool ok = run_batches(m, cx_jit(CX_BIND_TO(sentence_vectors, &c)), all, n,
                        batch, out);
  free_texts(all, n);
  return ok;
}
