/* conv.h - what the parameters of conv_general_dilated say of two shapes.
 *
 * Along a spatial dimension, position p of the result and tap t of the kernel
 * meet at place p stride + t spread - low, element i of the operand lies at
 * place i gap. The operand goes on in zeros on both sides; a place between
 * elements has none, and the tap is left out. Which taps these are depends on
 * p modulo some period: positions of one phase have the same, at equal
 * distances, and are a convolution without gaps. */
#ifndef CXI_CONV_H
#define CXI_CONV_H

#include "ir/program.h"

typedef struct cxi_conv_dim {
  int64_t size, window, count; /* of the operand, the kernel, the result */
  int64_t stride, low, gap, spread;
  int64_t period; /* phases of this dimension */
} cxi_conv_dim;

typedef struct cxi_conv {
  int n; /* spatial dimensions */
  cxi_conv_dim dims[CX_MAX_DIMS];
  int64_t groups, batch, channels, features; /* all but the first: of a group */
  int64_t taps, positions, phases;
} cxi_conv;

/* Elements between neighbours. `outer` of the operand and the result: the
 * batch, of the kernel: the features; `inner`: channels, of the result:
 * features. */
typedef struct cxi_conv_strides {
  int64_t group, outer, inner, space[CX_MAX_DIMS];
} cxi_conv_strides;

/* Of valid parameters and shapes. */
cxi_conv cxi_conv_of(const cxi_conv_general_dilated_params *p,
                     const cx_dims *lhs, const cx_dims *rhs,
                     const cx_dims *out);
cxi_conv_strides cxi_conv_of_lhs(const cxi_conv_general_dilated_params *p,
                                 const cxi_conv *c, const int64_t *strides);
cxi_conv_strides cxi_conv_of_rhs(const cxi_conv_general_dilated_params *p,
                                 const cxi_conv *c, const int64_t *strides);
cxi_conv_strides cxi_conv_of_out(const cxi_conv_general_dilated_params *p,
                                 const cxi_conv *c, const int64_t *strides);

/* Positions first, first + step, ... of the result and taps tap, tap +
 * tap_step, ...: the i-th and the u-th meet at element
 * start + i advance + u reach. */
typedef struct cxi_conv_line {
  int64_t first, step, count;
  int64_t tap, tap_step, taps;
  int64_t start, advance, reach;
  int64_t size; /* of the operand: elements outside are zeros */
} cxi_conv_line;
typedef struct cxi_conv_phase {
  int n;
  cxi_conv_line lines[CX_MAX_DIMS];
  int64_t positions, taps;
} cxi_conv_phase;
cxi_conv_phase cxi_conv_phase_of(const cxi_conv *c, int64_t i);

#endif
