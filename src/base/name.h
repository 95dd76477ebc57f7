/* name.h - strings as 32-bit ids: names, source lines, scopes.
 *
 * Ids are process-wide and never change; equal text is equal id. 0 is "". */
#ifndef CXI_NAME_H
#define CXI_NAME_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t cxi_name;

cxi_name cxi_name_of(const char *text);               /* 0 without memory */
cxi_name cxi_name_of_n(const char *text, size_t length);
/* For string literals (CX_AT): finds by pointer first. */
cxi_name cxi_name_of_static(const char *text);
const char *cxi_name_text(cxi_name name);             /* never NULL */

#endif
