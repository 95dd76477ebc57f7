/* debug_text.h - the lines of debug prints. */
#ifndef CXI_DEBUG_TEXT_H
#define CXI_DEBUG_TEXT_H

#include "ir/type.h"
#include "base/error.h"
#include "base/view.h"

/* Whether the format is right, for n arrays of these types; false, *error. */
bool cxi_debug_format_check(const char *format, uint32_t n,
                            const cxi_type *types, cxi_error *error);
/* The line, with its end, allocated; NULL without memory. */
char *cxi_debug_text(const char *format, const cxi_view *in);

#endif
