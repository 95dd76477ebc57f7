/* error.c - the first error is kept. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

bool cxi_error_set(cxi_error *error, cx_code code, const char *format, ...) {
  if (!error || error->code != CX_OK) return false;
  error->code = code;
  va_list args;
  va_start(args, format);
  if (vsnprintf(error->text, sizeof error->text, format, args) < 0)
    error->text[0] = 0;
  va_end(args);
  return false;
}
