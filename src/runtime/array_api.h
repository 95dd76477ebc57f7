/* array_api.h - reading arrays, for what hands them out. */
#ifndef CXI_ARRAY_API_H
#define CXI_ARRAY_API_H

#include "trace/item.h"

/* The elements of a leaf that has a value; NULL after reporting as `what`.
 * *out is its item, an array or a number; *store holds a number's bits. */
const void *cxi_elements(const char *what, cx a, cxi_item *out,
                         uint64_t *store);

#endif
