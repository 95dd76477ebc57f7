/* xl_text.c - texts, their tokens, streams of them. */
#include "xl_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static bool fail(const char *path, const char *why) {
  fprintf(stderr, "calx xl: %s: %s\n", path, why);
  return false;
}
/* All bytes of a file, to be freed; NULL with a message. */
static uint8_t *read_bytes(const char *path, int64_t *out_n) {
  enum { STEP = 1 << 20 };
  uint8_t *bytes = NULL;
  int64_t n = 0, room = 0;
  int got = 0, code = Z_OK;
  errno = 0;
  gzFile f = gzopen(path, "rb");
  if (!f) {
    fail(path, errno ? strerror(errno) : "out of memory");
    return NULL;
  }
  do {
    if (room - n < STEP) {
      uint8_t *more = realloc(bytes, (size_t)(room = 2 * room + STEP));
      if (!more) break;
      bytes = more;
    }
    got = gzread(f, bytes + n, STEP);
    if (got > 0) n += got;
  } while (got > 0);
  const char *why = got > 0 ? "out of memory" : gzerror(f, &code);
  if (code == Z_ERRNO) why = strerror(errno);
  bool bad = got > 0 || code != Z_OK;
  if (bad) fail(path, why);
  gzclose(f);
  if (bad) free(bytes), bytes = NULL;
  *out_n = n;
  return bytes;
}
bool xl_vocabulary_set(xl_vocabulary *v, const unsigned char *bytes, int size) {
  *v = (xl_vocabulary){ .size = size };
  for (int i = 0; i < 256; i++) v->token[i] = -1;
  for (int i = 0; i < size; i++) {
    if (v->token[bytes[i]] >= 0) return false;
    v->bytes[i] = bytes[i];
    v->token[bytes[i]] = (int16_t)i;
  }
  return true;
}
static void build_vocabulary(xl_text *text) {
  bool occurs[256] = { 0 };
  unsigned char bytes[256];
  int size = 0;
  for (int64_t i = 0; i < text->n; i++) occurs[text->tokens[i]] = true;
  for (int i = 0; i < 256; i++)
    if (occurs[i]) bytes[size++] = (unsigned char)i;
  xl_vocabulary_set(&text->vocabulary, bytes, size);
}
bool xl_text_read(const char *path, xl_text *out) {
  *out = (xl_text){ 0 };
  out->tokens = read_bytes(path, &out->n);
  if (!out->tokens) return false;
  if (out->n == 0) {
    xl_text_free(out);
    return fail(path, "the text is empty");
  }
  build_vocabulary(out);
  for (int64_t i = 0; i < out->n; i++)
    out->tokens[i] = (uint8_t)out->vocabulary.token[out->tokens[i]];
  out->n_train = out->n / 10 * 9;
  out->test_start = out->n - out->n / 20;
  return true;
}
void xl_text_free(xl_text *text) {
  free(text->tokens);
  *text = (xl_text){ 0 };
}

xl_streams xl_streams_of(const uint8_t *tokens, int64_t n, int batch,
                         int segment) {
  return (xl_streams){ tokens, n / batch, batch, segment };
}
int64_t xl_streams_count(const xl_streams *s) {
  return s->length > 0 ? (s->length - 1) / s->segment : 0;
}
void xl_streams_get(const xl_streams *s, int64_t i, cx *out_ids,
                    cx *out_targets) {
  int64_t width = s->segment + 1;
  int32_t *both = malloc((size_t)(s->batch * width) * sizeof *both);
  if (!both) {
    *out_ids = *out_targets = cx_fail(CX_EMEMORY, "no memory for a segment");
    return;
  }
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t t = 0; t < width; t++)
      both[b * width + t] = s->tokens[b * s->length + i * s->segment + t];
  cx tokens = cx_from(both, s->batch, width);
  *out_ids = cx_index(tokens, CX_ALL, CX_TO(s->segment));
  *out_targets = cx_index(tokens, CX_ALL, CX_FROM(1));
  free(both);
}
