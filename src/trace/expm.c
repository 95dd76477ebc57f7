/* expm.c - the exponential of a matrix, written with the public functions. */
#include <math.h>

#include "calx/array.h"
#include "calx/control.h"
#include "calx/elementwise.h"
#include "calx/linalg.h"
#include "calx/reduce.h"
#include "calx/shape.h"
#include "calx/transform.h"
#include "calx/tree.h"
#include "ops/linalg.h"
#include "ops/ops.h"

/* A Pade approximant r of exp with r(a) = (v - u)^-1 (v + u), u odd and v even
 * in a, good up to a 1-norm of `radius`. Higham 2005, SIAM J. Matrix Anal. Appl.
 * 26, sections 2 and 3. */
typedef struct approximant {
  int degree;
  double radius;
  double b[14]; /* of a^0, a^1, ... */
} approximant;

static const approximant of_f32 = { 7,
                                    3.925724783138660,
                                    { 17297280, 8648640, 1995840, 277200, 25200,
                                      1512, 56, 1 } };
static const approximant of_f64 = {
  13,
  5.371920351148152,
  { 64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
    129060195264000, 10559470521600, 670442572800, 33522128640, 1323241920,
    40840800, 960960, 16380, 182, 1 }
};

/* b[0] powers[0] + b[2] powers[1] + ..., n terms */
static cx polynomial(const double *b, int n, const cx *powers) {
  cx sum = cx_mul(powers[0], b[0]);
  for (int i = 1; i < n; i++)
    sum = cx_add(sum, cx_mul(powers[i], b[2 * (size_t)i]));
  return sum;
}

/* The terms of b[from], b[from + 2], ..., divided by a if they are odd; powers:
 * I, a^2, a^4, a^6. */
static cx half(const approximant *p, int from, const cx *powers) {
  const cx low = polynomial(p->b + from, 4, powers);
  if (p->degree == 7) return low;
  const cx high = polynomial(p->b + from + 8, 3, powers + 1);
  return cx_add(low, cx_matmul(powers[3], high));
}

static cx rational(const approximant *p, cx a) {
  cx powers[4] = { cx_broadcast_to(cx_eye(cx_type(a), cx_dim(a, -1)),
                                   cx_shape(a)),
                   cx_matmul(a, a) };
  for (int i = 2; i < 4; i++) powers[i] = cx_matmul(powers[i - 1], powers[1]);
  const cx u = cx_matmul(a, half(p, 1, powers)), v = half(p, 0, powers);
  return cx_solve(cx_sub(v, u), cx_add(v, u));
}

/* -- squaring -------------------------------------------------------------- */

CX_DEF(squared, r, times, i) {
  const cx goes_on = cx_expand(cx_lt(i, times), -1, -2);
  return cx_where(goes_on, cx_matmul(r, r), r);
}
CX_DEF(unchanged, r, times, i) {
  (void)times, (void)i;
  return r;
}
/* Each matrix as often as it says; none is multiplied in vain. */
CX_DEF(square_step, i, carry) {
  const cx r = cx_nth(carry, 0), times = cx_nth(carry, 1);
  const cx any = cx_any(cx_lt(i, times));
  return cx_tuple(cx_cond(any, CX_FN(squared), CX_FN(unchanged), r, times, i),
                  times);
}

/* exp(a) = exp(a / 2^times)^(2^times) */
static cx exponential(cx a, int64_t most) {
  const approximant *p = cx_type(a) == CX_F64 ? &of_f64 : &of_f32;
  const cx norm = cx_stop_gradient(cx_matrix_norm(a, CX_NORM_1));
  const cx steps = cx_ceil(cx_log2(cx_div(norm, p->radius)));
  const cx times = cx_cast(cx_maximum(steps, 0), CX_I32);
  const cx scale = cx_exp2(cx_neg(cx_cast(times, cx_type(a))));
  const cx r = rational(p, cx_mul(a, cx_expand(scale, -1, -2)));
  const cx done =
      cx_nth(cx_fori(0, most, CX_FN(square_step), cx_tuple(r, times)), 0);
  const cx beyond = cx_expand(cx_gt(times, (int)most), -1, -2);
  return cx_where(beyond, NAN, done);
}

cx cx_expm_(cx a, cx_expm_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const int64_t most = opt.max_squarings ? opt.max_squarings : 16;
  cx poison;
  if (!cxi_matrices("expm", &a, true, &poison))
    return cxi_leave(before, poison);
  if (most < 0 || most > 1100)
    return cxi_leave(before, cxi_fail(CX_EUSER,
                                      "expm: .max_squarings %lld: want 0 to "
                                      "1100",
                                      (long long)most));
  if (cx_size(a) == 0) return cxi_leave(before, a);
  const cx_dtype type = cx_type(a);
  const bool narrow = type == CX_F16 || type == CX_BF16;
  const cx wide = exponential(narrow ? cx_cast(a, CX_F32) : a, most);
  return cxi_leave(before, narrow ? cx_cast(wide, type) : wide);
}
