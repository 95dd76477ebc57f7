/* composite.h - an operation with a name, a body and its own backward. */
#ifndef CXI_COMPOSITE_H
#define CXI_COMPOSITE_H

#include "ops/ops.h"

enum { CXI_COMPOSITE_MAX = 8 };

/* forward fills out[0] with the result and out[1..n_residuals] with what
 * backward needs; the body is its first result alone, so that a value is the
 * same with and without a gradient, bit for bit. backward turns residuals and
 * the result's cotangent into a cotangent for each floating operand, in
 * order. Both emit with the operations of lax.h. */
typedef struct cxi_composite {
  const char *name;
  double number; /* of its name: layer_norm's eps; else 0 */
  uint32_t n_in, n_residuals;
  void (*forward)(const cx *in, double number, cx *out);
  void (*backward)(const cx *residuals, cx ct, double number, cx *ct_in);
} cxi_composite;

cx cxi_composite_emit(const cxi_composite *c, const cx *in);

#endif
