/* window.h - windows as users give them. */
#ifndef CXI_OPS_WINDOW_H
#define CXI_OPS_WINDOW_H

#include "calx/window.h"
#include "ops/ops.h"

/* The window over all axes of x, checked; false with *out_poison. */
bool cxi_window_make(const char *op, cx x, cx_dims sizes,
                     const cx_window_opt *opt, cxi_window *out,
                     cx *out_poison);

#endif
