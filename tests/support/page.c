/* page.c - pages of docs/ with parts that tests write. */
#include "support/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void page_add(cxi_bytes *text, const char *format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (n < 0 || (size_t)n >= sizeof line) abort();
  cxi_bytes_add(text, line, (size_t)n);
}

static char *read_all(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  enum { LIMIT = 1 << 20 };
  char *text = malloc(LIMIT);
  if (text) text[fread(text, 1, LIMIT - 1, file)] = 0;
  fclose(file);
  return text;
}

static bool rewrite(const char *path, const char *page, const char *from,
                    const char *to, const cxi_bytes *text) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool good = fwrite(page, 1, (size_t)(from - page), file) > 0 &&
              fwrite(text->data, 1, text->n, file) == text->n &&
              fputs(to, file) >= 0;
  return fclose(file) == 0 && good;
}

const char *page_part(const char *path, const char *name, const cxi_bytes *text,
                      bool write) {
  static char wrong[512];
  char mark[128];
  char *page = read_all(path);
  snprintf(mark, sizeof mark, "<!-- %s:", name);
  char *from = page ? strstr(page, mark) : NULL;
  if (from) from = strstr(from, "-->\n");
  char *to = from ? strstr(from, "<!-- end -->") : NULL;
  if (to) from += strlen("-->\n");
  const bool same = to && (size_t)(to - from) == text->n &&
                    memcmp(from, text->data, text->n) == 0;
  const char *result = NULL;
  if (!to)
    result = "has no such part";
  else if (!same && !(write && rewrite(path, page, from, to, text)))
    result = "is old: run the test with --write";
  if (result) {
    snprintf(wrong, sizeof wrong, "%s, \"%s\": %s", path, name, result);
    result = wrong;
  }
  free(page);
  return result;
}
