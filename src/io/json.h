/* json.h - what a failed parse of JSON is to be called. */
#ifndef CXI_JSON_H
#define CXI_JSON_H

#include <jansson.h>

#include "base/error.h"

/* CX_EMEMORY where jansson tells that memory ran out (its lexer leaves the text
 * empty then); else CX_EIO. */
static inline cx_code cxi_json_code(const json_error_t *e) {
  const bool memory =
      e->text[0] == 0 || json_error_code(e) == json_error_out_of_memory;
  return memory ? CX_EMEMORY : CX_EIO;
}
static inline const char *cxi_json_text(const json_error_t *e) {
  return cxi_json_code(e) == CX_EMEMORY ? "out of memory" : e->text;
}

#endif
