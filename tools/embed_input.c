/* embed_input.c - the texts that calx embed reads. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"

static text_result bad(const text_reader *r, const char *why) {
  fprintf(stderr, "calx embed: line %lld: %s\n", (long long)r->line, why);
  return TEXT_BAD;
}
static text_result copy(const text_reader *r, const char *text, size_t bytes,
                        char **out_text, size_t *out_bytes) {
  *out_text = malloc(bytes + 1);
  if (!*out_text) return bad(r, "out of memory");
  memcpy(*out_text, text, bytes);
  (*out_text)[bytes] = 0;
  *out_bytes = bytes;
  return TEXT_READ;
}
static text_result from_json(const text_reader *r, const char *line,
                             size_t bytes, char **out_text, size_t *out_bytes) {
  json_error_t error;
  char why[JSON_ERROR_TEXT_LENGTH + 32];
  json_t *root = json_loadb(line, bytes, JSON_ALLOW_NUL, &error);
  if (!root) {
    snprintf(why, sizeof why, "no JSON: %s", error.text);
    return bad(r, why);
  }
  const json_t *text = json_object_get(root, "text");
  text_result result;
  if (!json_is_object(root))
    result = bad(r, "no JSON object");
  else if (!text)
    result = bad(r, "the object has no \"text\"");
  else if (!json_is_string(text))
    result = bad(r, "\"text\" is no string");
  else
    result = copy(r, json_string_value(text), json_string_length(text),
                  out_text, out_bytes);
  json_decref(root);
  return result;
}
text_result text_next(text_reader *r, char **out_text, size_t *out_bytes) {
  static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, before line 1 */
  errno = 0;
  const ssize_t got = getline(&r->room, &r->cap, r->file);
  r->line++;
  if (got < 0) {
    if (feof(r->file) && !ferror(r->file)) return TEXT_END;
    return bad(r, errno ? strerror(errno) : "cannot be read");
  }
  const char *line = r->room;
  size_t n = (size_t)got;
  if (n && line[n - 1] == '\n') n--;
  if (n && line[n - 1] == '\r') n--;
  if (r->line == 1 && n >= 3 && !memcmp(line, mark, 3)) line += 3, n -= 3;
  return r->json ? from_json(r, line, n, out_text, out_bytes)
                 : copy(r, line, n, out_text, out_bytes);
}
void text_reader_close(text_reader *r) {
  free(r->room);
  r->room = NULL;
}
