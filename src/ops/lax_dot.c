/* lax_dot.c - products. */
#include "ops/lax.h"

cx cxi_dot_general(cx a, cx b, cx addend,
                   const cxi_dot_general_params *params) {
  const bool added = addend.index != 0 || addend.generation != 0;
  return cxi_emit1(CXI_PRIM_dot_general, params, added ? 3 : 2,
                   (cx[]){ a, b, addend });
}
