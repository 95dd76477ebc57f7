/* random_tail.c - normal numbers from an interval far from 0.
 *
 * With z = lo + t, the survival -log(Q(z) / Q(lo)) = t (lo + t/2) +
 * log m(lo) - log m(z), m = Q / phi the ratio of Mills, equals a truncated
 * exponential number L. Newton's method finds t, as the left side has the
 * derivative 1 / m(z). */
#include <math.h>

#include "ops/random.h"

/* m(x) = 1/(x + 1/(x + 2/(x + 3/...))): Laplace's continued fraction (Abramowitz
 * & Stegun 26.2.14). From x = 1 on, so many terms are exact in f32; those of f64
 * start beyond 8. */
enum { TERMS = 30, STEPS = 5 };

static double mills(double x) {
  double below = x;
  for (int k = TERMS; k > 0; k--) below = x + k / below;
  return 1 / below;
}
static cx mills_of(cx x) {
  cx below = x;
  for (int k = TERMS; k > 0; k--)
    below = cxi_add(x, cxi_div(cxi_number_like(x, k), below));
  return cxi_div(cxi_number_like(x, 1), below);
}
/* L in [0, -log(Q(hi) / Q(lo))): -log1p(-u (1 - Q(hi) / Q(lo))). */
static cx level(cx u, double lo, double hi) {
  const double t = hi - lo;
  const double whole = t * (lo + t / 2) + log(mills(lo)) - log(mills(hi));
  return cxi_neg(cxi_unary(CXI_PRIM_log1p, cxi_scale(u, expm1(-whole))));
}
static cx above(cx u, double lo, double hi) {
  /* So small a mass about 0 is that of a narrow interval: uniform. */
  if (lo < 1) return cxi_offset(cxi_scale(u, hi - lo), lo);
  cx l = level(u, lo, hi);
  /* sqrt(lo^2 + 2 L) - lo without cancellation */
  cx root = cxi_unary(CXI_PRIM_sqrt, cxi_offset(cxi_scale(l, 2 / lo / lo), 1));
  cx t = cxi_div(cxi_scale(l, 2 / lo), cxi_offset(root, 1));
  for (int i = 0; i < STEPS; i++) {
    cx m = mills_of(cxi_offset(t, lo));
    cx energy = cxi_mul(t, cxi_offset(cxi_scale(t, 0.5), lo));
    cx ratio = cxi_unary(CXI_PRIM_log, cxi_scale(m, 1 / mills(lo)));
    cx error = cxi_sub(cxi_sub(energy, ratio), l);
    t = cxi_max(cxi_sub(t, cxi_mul(error, m)), cxi_number_like(t, 0));
  }
  return cxi_offset(t, lo);
}
cx cxi_random_tail(cx key, cx_dtype t, cx_dims shape, double lo, double hi) {
  const cx_dtype wide = t == CX_F64 ? CX_F64 : CX_F32;
  cx u = cxi_random_uniform(key, wide, shape, cxi_number(wide, 0),
                            cxi_number(wide, 1));
  const bool mirrored = hi <= 1 && lo < -1;
  cx z = mirrored ? cxi_neg(above(u, -hi, -lo)) : above(u, lo, hi);
  return cxi_convert(z, t);
}
