/* function_fuzz.c - any bytes as a function's file: refused, or a program, and
 * a signature that prints as a text which reads back as the same. */
#include "fuzz.h"

#include <string.h>

#include "calx/calx.h"
#include "ir/program.h"
#include "trace/signature.h"

/* What a signature says is what its own text says. */
static void check_signature(const char *text, size_t length) {
  cxi_signature first, second;
  cxi_bytes printed = { 0 }, again = { 0 };
  cxi_error error = { 0 };
  size_t end;
  if (cxi_signature_parse(text, length, &first, &end, &error)) {
    require(end <= length);
    cxi_signature_print(&first, &printed);
    require(cxi_signature_parse((const char *)printed.data, printed.n, &second,
                                &end, &error));
    cxi_signature_print(&second, &again);
    require(again.n == printed.n && !memcmp(again.data, printed.data, again.n));
    cxi_signature_free(&second);
  } else {
    require(error.code != CX_OK);
  }
  cxi_signature_free(&first);
  cxi_bytes_free(&printed);
  cxi_bytes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static cx_ctx *ctx;
  if (!ctx) ctx = cx_open("cpu", .threads = 1);
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = 0;
  check_signature(text, size);
  {
    CX_SCOPE;
    cx_program *p = cx_program_parse(text);
    require(p || !cx_ok());
    for (int i = 0; i < cx_program_args(p); i++)
      require(cx_leaf_count(cx_program_arg(p, i)) >= 0);
    cx_program_free(p);
    cx_error(NULL);
  }
  free(text);
  return 0;
}
