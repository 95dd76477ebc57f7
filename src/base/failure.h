/* failure.h - what a checked program may find wrong, by number. */
#ifndef CXI_FAILURE_H
#define CXI_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "calx/value.h"

/* The number (> 0) of a code with a text; equal ones have one, for the life of
 * the process. 0 without memory. */
int32_t cxi_failure_number(cx_code code, cxi_name text);
bool cxi_failure_find(int32_t number, cx_code *code, cxi_name *text);

#endif
