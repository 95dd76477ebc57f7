/* axes.h - the named axes of the vmaps around what is being traced. */
#ifndef CXI_TRACE_AXES_H
#define CXI_TRACE_AXES_H

#include "base/name.h"

typedef struct cxi_named_axis {
  cxi_name name;
  int64_t size;
  const struct cxi_named_axis *outer;
} cxi_named_axis;
const cxi_named_axis *cxi_named_axes_now(void); /* the innermost; NULL */
const cxi_named_axis *
cxi_named_axes_use(const cxi_named_axis *axes); /* returns those before */

#endif
