/* record_fuzz.c - any bytes as a recorded case: refused, or a program's text,
 * which the parser then refuses or reads. */
#include "fuzz.h"

#include "jaxpr_text.h"
#include "record.h"

static void read_arrays(const json_t *list) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    size_t bytes;
    free(record_bytes(json_array_get(list, i), &bytes));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json_t *record = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
  const json_t *jaxpr = json_object_get(record, "jaxpr");
  jaxpr_writer w = { 0 };
  read_arrays(json_object_get(record, "in"));
  read_arrays(json_object_get(jaxpr, "consts"));
  char *text = jaxpr ? jaxpr_to_text(jaxpr, &w) : NULL;
  require(!jaxpr || text || w.missing[0] || w.error[0]);
  if (text) cx_program_free(cx_program_parse(text));
  cx_error(NULL);
  free(text);
  json_decref(record);
  return 0;
}
