/* simplify.h - between simplify.c and simplify_rules.c. */
#ifndef CXI_SIMPLIFY_H
#define CXI_SIMPLIFY_H

#include "transforms/walk.h"

/* What the equation's only result is already, or the shorter way to it; {0}
 * if there is none. Bits never change. `b` is the current emitter. */
cx cxi_simplify_equation(const cxi_builder *b, cxi_prim prim,
                         const void *params, uint32_t n_in, const cx *in,
                         cxi_type type);

#endif
