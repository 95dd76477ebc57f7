/* records.h - JSON lines, plain or gzip, from the folder of recorded cases. */
#ifndef TESTS_RECORDS_H
#define TESTS_RECORDS_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifndef CALX_TEST_DATA
#define CALX_TEST_DATA "tests/data"
#endif

/* Calls `each` for every line of CALX_TEST_DATA/name; the number of lines,
 * or -1 if the file cannot be read. */
static inline int records_each(const char *name,
                               void (*each)(const json_t *record, void *user),
                               void *user) {
  char path[1024];
  size_t cap = 1 << 16, n = 0;
  int count = 0;
  snprintf(path, sizeof path, "%s/%s", CALX_TEST_DATA, name);
  gzFile file = gzopen(path, "rb");
  if (!file) return -1;
  char *line = malloc(cap);
  while (line && gzgets(file, line + n, (int)(cap - n))) {
    n += strlen(line + n);
    if (n + 1 == cap && line[n - 1] != '\n') { /* longer than the room */
      cap *= 2;
      char *more = realloc(line, cap);
      if (!more) break;
      line = more;
      continue;
    }
    json_t *record = json_loadb(line, n, JSON_ALLOW_NUL, NULL);
    if (record) each(record, user), count++;
    json_decref(record);
    n = 0;
  }
  free(line);
  gzclose(file);
  return count;
}
static inline json_int_t record_int(const json_t *object, const char *name) {
  return json_integer_value(json_object_get(object, name));
}
static inline json_int_t record_at(const json_t *array, size_t i) {
  return json_integer_value(json_array_get(array, i));
}

#endif
