/* lax_conv.c - convolutions. */
#include "ops/lax.h"

cx cxi_conv_general_dilated(cx lhs, cx rhs,
                            const cxi_conv_general_dilated_params *params) {
  return cxi_emit1(CXI_PRIM_conv_general_dilated, params, 2,
                   (cx[]){ lhs, rhs });
}
