/* embed_output.c - the vectors that calx embed writes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embed.h"

/* -- numbers -------------------------------------------------------------- */

/* x = digits * 10^-scale. */
static char *put_digits(char *at, long long digits, int scale) {
  char text[NUMBER_BYTES];
  for (; scale > 0 && digits % 10 == 0; scale--) digits /= 10;
  int n = snprintf(text, sizeof text, "%0*lld", scale + 1, digits);
  const int whole = n - scale;
  memcpy(at, text, (size_t)whole);
  at += whole;
  if (scale == 0) return at;
  *at++ = '.';
  memcpy(at, text + whole, (size_t)scale);
  return at + scale;
}
/* 1e-5 <= x < 1e6: scaled to an integer of 6 to 9 digits, which is exact enough
 * in f64 that division gives x back; NULL if none does. A shorter number is one
 * of 6 digits that ends with zeros. */
static char *put_plain(char *at, float x) {
  static const double power[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14 };
  int exponent = 0; /* x < 10^exponent */
  for (; exponent < 6 && (double)x >= power[exponent]; exponent++) continue;
  for (; exponent > -4 && (double)x * power[1 - exponent] < 1; exponent--)
    continue;
  for (int n = 6; n <= 9; n++) {
    const int scale = n - exponent;
    const double digits = rint((double)x * power[scale]);
    if ((float)(digits / power[scale]) != x) continue;
    char *end = put_digits(at, (long long)digits, scale);
    *end = 0;
    return strtof(at, NULL) == x ? end : NULL;
  }
  return NULL;
}
char *number_put(char *at, float x) {
  char *start = at, *end = NULL;
  if (!isfinite(x)) {
    memcpy(at, "null", 4);
    return at + 4;
  }
  if (signbit(x)) *at++ = '-';
  const float size = fabsf(x);
  if (size >= 1e-4F && size < 1e5F) end = put_plain(at, size);
  if (end) return end;
  for (int n = 1; n <= 9; n++) {
    snprintf(start, NUMBER_BYTES, "%.*g", n, (double)x);
    if (strtof(start, NULL) == x) break;
  }
  return start + strlen(start);
}

/* -- files ---------------------------------------------------------------- */

static bool failed(const vector_writer *w, const char *what) {
  fprintf(stderr, "calx embed: %s: %s: %s\n",
          w->path ? w->path : "the standard output", what, strerror(errno));
  return false;
}
/* NumPy's format 1.0: the same 128 bytes for any count. */
static bool put_header(vector_writer *w) {
  enum { BYTES = 128, PREFIX = 10 };
  char header[BYTES + 1];
  memcpy(header, "\x93NUMPY\x01\x00\x76\x00", PREFIX);
  snprintf(header + PREFIX, sizeof header - PREFIX,
           "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %d), }",
           (long long)w->count, w->width);
  const size_t n = PREFIX + strlen(header + PREFIX);
  memset(header + n, ' ', BYTES - n);
  header[BYTES - 1] = '\n';
  return fwrite(header, 1, BYTES, w->file) == BYTES;
}
static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n > m && !strcmp(text + n - m, end);
}
bool vector_writer_open(vector_writer *w, const char *path, int width) {
  *w = (vector_writer){ .file = stdout, .path = path, .width = width };
  if (!path) return true;
  w->npy = ends_with(path, ".npy");
  if (!w->npy && !ends_with(path, ".jsonl")) {
    fprintf(stderr, "calx embed: --output %s: not .npy and not .jsonl\n", path);
    return false;
  }
  const size_t bytes = strlen(path) + 32;
  w->partial = malloc(bytes);
  if (!w->partial) return failed(w, "cannot be written");
  snprintf(w->partial, bytes, "%s.%ld.partial", path, (long)getpid());
  w->file = fopen(w->partial, "wbx");
  if (w->file && (!w->npy || put_header(w))) return true;
  failed(w, "cannot be written");
  vector_writer_close(w, false);
  return false;
}
static bool put_line(vector_writer *w, char *room, const float *vector) {
  static const char open[] = "{\"embedding\": [", close[] = "]}\n";
  char *at = room + sizeof open - 1;
  memcpy(room, open, sizeof open - 1);
  for (int i = 0; i < w->width; i++) {
    if (i) *at++ = ',', *at++ = ' ';
    at = number_put(at, vector[i]);
  }
  memcpy(at, close, sizeof close - 1);
  at += sizeof close - 1;
  return fwrite(room, 1, (size_t)(at - room), w->file) == (size_t)(at - room);
}
bool vector_write(vector_writer *w, const float *vectors, int64_t n) {
  const size_t width = (size_t)w->width;
  bool ok = true;
  w->count += n;
  if (w->npy) {
    const size_t count = (size_t)n * width;
    ok = fwrite(vectors, sizeof *vectors, count, w->file) == count;
  } else {
    char *room = malloc(width * (NUMBER_BYTES + 2) + 64);
    ok = room != NULL;
    for (int64_t i = 0; ok && i < n; i++)
      ok = put_line(w, room, vectors + (size_t)i * width);
    free(room);
  }
  ok = ok && fflush(w->file) == 0;
  return ok || failed(w, "cannot be written");
}
static bool finish(vector_writer *w) {
  bool ok = !w->npy || (fseek(w->file, 0, SEEK_SET) == 0 && put_header(w));
  ok = ok && fflush(w->file) == 0 && fsync(fileno(w->file)) == 0;
  ok = fclose(w->file) == 0 && ok;
  w->file = NULL;
  return ok && rename(w->partial, w->path) == 0;
}
bool vector_writer_close(vector_writer *w, bool whole) {
  if (!w->path) return true;
  bool ok = whole && w->file;
  if (ok && !finish(w)) ok = failed(w, "cannot be written");
  if (w->file) fclose(w->file);
  if (!ok && w->partial) remove(w->partial);
  free(w->partial);
  *w = (vector_writer){ 0 };
  return ok;
}
