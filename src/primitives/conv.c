/* conv.c - conv_general_dilated. */
#include "primitives/conv.h"

#include "primitives/families.h"

/* -- conv_general_dilated(x, w): y[n, o, p] = the sum over taps t and channels
 *    c of x[n, c, p stride + t spread - low] w[o, c, t], in groups ---------- */

/* A multiplication and an addition for each tap, also where it meets padding. */
static double flops_conv_general_dilated(const cxi_rule *r) {
  const cxi_conv_general_dilated_params *p = r->params;
  const cx_dims *kernel = cxi_type_shape(r->in_types[1]);
  double flops = 2 * (double)cxi_dims_count(cxi_type_shape(r->out_types[0]));
  for (int i = 1; i < p->rhs_axes.n; i++)
    flops *= (double)kernel->d[p->rhs_axes.d[i]];
  return flops;
}

static const char *const examples_conv_general_dilated[] = {
  /* one spatial dimension: padding, strides, gaps of both, cropping */
  "program @main(%0: f32[2,3,7], %1: f32[4,3,3]) { %2: f32[2,4,5] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[2,2,5], %1: f32[3,2,3]) { %2: f32[2,3,3] = "
  "conv_general_dilated[strides=(2), low=(2), high=(1), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[1,2,5], %1: f32[2,2,3]) { %2: f32[1,2,4] = "
  "conv_general_dilated[strides=(2), low=(1), high=(2), "
  "lhs_dilation=(2), rhs_dilation=(2), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[2,1,4], %1: f32[2,1,4]) { %2: f32[2,2,3] = "
  "conv_general_dilated[strides=(2), low=(1), high=(0), "
  "lhs_dilation=(3), rhs_dilation=(2), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[1,2,6], %1: f32[2,2,2]) { %2: f32[1,2,3] = "
  "conv_general_dilated[strides=(1), low=(-1), high=(-1), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  /* two, with the channels last */
  "program @main(%0: f32[2,5,4,3], %1: f32[3,2,3,2]) { %2: f32[2,3,2,2] "
  "= conv_general_dilated[strides=(2,2), low=(1,0), high=(1,1), "
  "lhs_dilation=(1,1), rhs_dilation=(1,1), lhs_axes=(0,3,1,2), "
  "rhs_axes=(3,2,0,1), out_axes=(0,3,1,2), feature_groups=1, "
  "batch_groups=1, type=f32] %0, %1 return %2 }",
  /* other layouts: C N, I O, spatial axes crossed */
  /* groups of features and of the batch */
  "program @main(%0: f32[2,4,5], %1: f32[6,2,2]) { %2: f32[2,6,4] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=2, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[2,3,4], %1: f32[3,1,2]) { %2: f32[2,3,4] = "
  "conv_general_dilated[strides=(2), low=(1), high=(1), "
  "lhs_dilation=(2), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=3, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[4,2,5], %1: f32[6,2,2]) { %2: f32[2,6,4] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=2, "
  "type=f32] %0, %1 return %2 }",
  /* no spatial dimension, three */
  "program @main(%0: f32[2,3], %1: f32[4,3]) { %2: f32[2,4] = "
  "conv_general_dilated[strides=(), low=(), high=(), lhs_dilation=(), "
  "rhs_dilation=(), lhs_axes=(0,1), rhs_axes=(0,1), out_axes=(0,1), "
  "feature_groups=1, batch_groups=1, type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[1,2,3,2,3], %1: f32[2,2,2,2,1]) { %2: "
  "f32[1,2,2,3,3] = conv_general_dilated[strides=(1,1,1), low=(0,1,0), "
  "high=(0,1,0), lhs_dilation=(1,1,1), rhs_dilation=(1,1,1), "
  "lhs_axes=(0,1,2,3,4), rhs_axes=(0,1,2,3,4), out_axes=(0,1,2,3,4), "
  "feature_groups=1, batch_groups=1, type=f32] %0, %1 return %2 }",
  /* without elements */
  "program @main(%0: f32[0,2,3], %1: f32[2,2,2]) { %2: f32[0,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[2,0,3], %1: f32[2,0,2]) { %2: f32[2,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[1,2,0], %1: f32[2,2,1]) { %2: f32[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(1), high=(1), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[1,2,3], %1: f32[2,2,0]) { %2: f32[1,2,4] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: f32[1,2,3], %1: f32[2,2,4]) { %2: f32[1,2,0] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  /* one operand twice; other dtypes */
  "program @main(%0: f32[3,3,3]) { %1: f32[3,3,3] = "
  "conv_general_dilated[strides=(1), low=(1), high=(1), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %0 return %1 }",
  "program @main(%0: f64[1,2,4], %1: f64[2,2,3]) { %2: f64[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f64] %0, %1 return %2 }",
  "program @main(%0: bf16[1,2,4], %1: bf16[2,2,3]) { %2: bf16[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=bf16] %0, %1 return %2 }",
  "program @main(%0: f16[1,2,4], %1: f16[2,2,3]) { %2: f32[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=f32] %0, %1 return %2 }",
  "program @main(%0: i8[1,2,4], %1: i8[2,2,3]) { %2: i32[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=i32] %0, %1 return %2 }",
  "program @main(%0: u16[1,2,4], %1: u16[2,2,3]) { %2: u16[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=u16] %0, %1 return %2 }",
  "program @main(%0: bool[1,2,4], %1: bool[2,2,3]) { %2: bool[1,2,2] = "
  "conv_general_dilated[strides=(1), low=(0), high=(0), "
  "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), "
  "rhs_axes=(0,1,2), out_axes=(0,1,2), feature_groups=1, batch_groups=1, "
  "type=bool] %0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_conv_general_dilated = {
  .prim = CXI_PRIM_conv_general_dilated,
  .form = CXI_FORM_PRODUCT,
  .formula =
      "y[n, o, p] = sum_tc x[n, c, p stride + t spread - low] w[o, c, t]",
  .infer = cxi_conv_infer,
  .jvp = cxi_jvp_bilinear,
  .transpose = cxi_conv_transpose,
  .batch = cxi_conv_batch,
  .evaluate = cxi_conv_evaluate,
  .workspace = cxi_conv_workspace,
  .flops = flops_conv_general_dilated,
  .examples = examples_conv_general_dilated,
};
