/* array_api.h - reading arrays, for what hands them out. */
#ifndef CXI_ARRAY_API_H
#define CXI_ARRAY_API_H

#include "trace/context.h"

/* The elements of a leaf that has a value; NULL after reporting as `what`.
 * *out is its item, an array or a number; *store holds a number's bits. */
const void *cxi_elements(const char *what, cx a, cxi_item *out,
                         uint64_t *store);

/* The same, where a number becomes an array of the scope: *out is an array. */
const void *cxi_array_elements(const char *what, cx a, cxi_item *out);

/* A handle for an array just filled from outside, whose reference it takes; in
 * a trace a constant. Any byte of a bool but 0 becomes true. */
cx cxi_array_take(cx_ctx *ctx, cxi_array *a);

#endif
