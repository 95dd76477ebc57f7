/* record.c - reads recorded cases. */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "jaxpr_text.h"

/* A line of any length, without its end; false at the end of the file. */
static bool read_line(gzFile f, char **line, size_t *cap, size_t *n) {
  *n = 0;
  for (;;) {
    if (*n + 1 >= *cap) {
      size_t bigger = *cap ? 2 * *cap : 1 << 16;
      char *more = bigger > (size_t)1 << 31 ? NULL : realloc(*line, bigger);
      if (!more) return false;
      *line = more, *cap = bigger;
    }
    size_t room = *cap - *n < 1 << 30 ? *cap - *n : 1 << 30;
    if (!gzgets(f, *line + *n, (int)room)) return *n > 0;
    *n += strlen(*line + *n);
    if (*n && (*line)[*n - 1] == '\n') return (*line)[--*n] = 0, true;
  }
}
bool record_each(const char *path, bool (*each)(json_t *record, void *user),
                 void *user, char *why, size_t room) {
  gzFile f = gzopen(path, "rb");
  char *line = NULL;
  size_t cap = 0, n, number = 0;
  bool ok = f != NULL;
  if (!ok) snprintf(why, room, "%s: cannot be opened", path);
  while (ok && read_line(f, &line, &cap, &n)) {
    json_error_t error;
    number++;
    if (n == 0) continue;
    json_t *record = json_loadb(line, n, JSON_ALLOW_NUL, &error);
    ok = json_is_object(record);
    if (!ok)
      snprintf(why, room, "%s:%zu: %s", path, number,
               record ? "no object" : error.text);
    if (ok && !each(record, user)) {
      snprintf(why, room, "%s:%zu: no record as it should be", path, number);
      ok = false;
    }
    json_decref(record);
  }
  if (f && ok && !gzeof(f)) {
    snprintf(why, room, "%s: cannot be read to its end", path);
    ok = false;
  }
  free(line);
  if (f) gzclose(f);
  return ok;
}

/* -- base64 (RFC 4648) ---------------------------------------------------- */

static int digit(char c) {
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+'             ? 62
         : c == '/'             ? 63
                                : -1;
}
static bool decode(const char *text, size_t n, unsigned char *out,
                   size_t room) {
  size_t at = 0;
  uint32_t word = 0;
  int bits = 0;
  for (size_t i = 0; i < n && text[i] != '='; i++) {
    int d = digit(text[i]);
    if (d < 0) return false;
    word = word << 6 | (uint32_t)d, bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    if (at == room) return false;
    out[at++] = (unsigned char)(word >> bits);
  }
  return at == room;
}
static size_t element_bytes(cx_dtype t) {
  return t == CX_BOOL || t == CX_I8 || t == CX_U8                    ? 1
         : t == CX_I16 || t == CX_U16 || t == CX_F16 || t == CX_BF16 ? 2
         : t == CX_I32 || t == CX_U32 || t == CX_F32                 ? 4
                                                                     : 8;
}
unsigned char *record_bytes(const json_t *array, size_t *out_n) {
  const json_t *text = json_object_get(array, "b64");
  cx_dtype type =
      jaxpr_dtype(json_string_value(json_object_get(array, "dtype")));
  cx_dims shape = jaxpr_dims(json_object_get(array, "shape"));
  size_t n = type ? element_bytes(type) : 0;
  for (int i = 0; i < shape.n; i++)
    if (shape.d[i] < 0 || __builtin_mul_overflow(n, (size_t)shape.d[i], &n))
      return NULL;
  if (!type || !json_is_string(text) || n > json_string_length(text))
    return NULL;
  unsigned char *bytes = malloc(n + 8);
  if (bytes &&
      !decode(json_string_value(text), json_string_length(text), bytes, n)) {
    free(bytes);
    return NULL;
  }
  *out_n = n;
  return bytes;
}
cx record_array(const json_t *array) {
  size_t n;
  cx_dtype type =
      jaxpr_dtype(json_string_value(json_object_get(array, "dtype")));
  unsigned char *bytes = record_bytes(array, &n);
  if (!bytes) return cx_fail(CX_EIO, "record: an array cannot be read");
  cx a =
      cx_from_(bytes, type, jaxpr_dims(json_object_get(array, "shape")), NULL);
  free(bytes);
  return a;
}
