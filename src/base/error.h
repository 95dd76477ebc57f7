/* error.h - a status with its text, for functions below the public API. */
#ifndef CXI_ERROR_H
#define CXI_ERROR_H

#include "calx/context.h"

typedef struct cxi_error {
  cx_code code;               /* CX_OK: none */
  char text[504];             /* without the source line */
} cxi_error;

/* Keeps the first error; returns false, for `return cxi_error_set(...)`.
 * error may be NULL. */
bool cxi_error_set(cxi_error *error, cx_code code, const char *format, ...)
    CX_PRINTF(3, 4);

#endif
