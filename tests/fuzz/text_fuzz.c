/* text_fuzz.c - any bytes as a program text: refused, or a valid program. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse((const char *)data, size, &error);
  require((p == NULL) == (error.code != CX_OK));
  if (!p) return 0;
  require(cxi_program_check(p, &error));
  char *text = cxi_program_print(p, (cxi_text_options){ .sites = true });
  const cxi_program *q = cxi_program_parse(text, strlen(text), &error);
  require(q && cxi_hash_equal(p->hash, q->hash));
  cxi_free(text);
  cxi_program_release(p);
  cxi_program_release(q);
  return 0;
}
