/* cg.c - conjugate gradients, written with the public functions. */
#include "calx/array.h"
#include "calx/control.h"
#include "calx/elementwise.h"
#include "calx/implicit.h"
#include "calx/reduce.h"
#include "calx/tree.h"
#include "ops/ops.h"

CX_STRUCT(cg_env, (cx_fn, matvec), (double, tol), (int64_t, max_steps));

static cx inner(cx a, cx b) {
  return cx_sum(cx_mul(a, b));
}

/* (x, r, p, r . r, bound, step, args) */
CX_DEF_ENV(cg_goes_on, cg_env, e, state) {
  const cx far = cx_gt(cx_nth(state, 3), cx_nth(state, 4));
  return cx_and(far, cx_lt(cx_nth(state, 5), e->max_steps));
}

CX_DEF_ENV(cg_step, cg_env, e, state) {
  cx x, r, p, rr, bound, step, args;
  cx_unpack(state, &x, &r, &p, &rr, &bound, &step, &args);
  const cx ap = cx_call(e->matvec, args, p);
  const cx alpha = cx_div(rr, inner(p, ap));
  const cx rest = cx_sub(r, cx_mul(alpha, ap)), square = inner(rest, rest);
  const cx next = cx_add(rest, cx_mul(cx_div(square, rr), p));
  return cx_tuple(cx_add(x, cx_mul(alpha, p)), rest, next, square, bound,
                  cx_add(step, 1), args);
}

CX_DEF_ENV(cg_solve, cg_env, e, args, b) {
  const cx rr = inner(b, b), bound = cx_mul(rr, e->tol * e->tol);
  const cx start =
      cx_tuple(cx_zeros_like(b), b, b, rr, bound, cx_scalar(0, CX_I64), args);
  const cx end =
      cx_while(CX_BIND_TO(cg_goes_on, e), CX_BIND_TO(cg_step, e), start);
  return cx_nth(end, 0);
}

cx cx_cg_(cx_fn matvec, cx args, cx b, cx_cg_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("cg", &b, &poison)) return cxi_leave(before, poison);
  if (!matvec)
    return cxi_leave(before, cxi_fail(CX_ETREE, "cg: no function matvec"));
  if (!cxi_dtype_is_float(cxi_dtype_at(b)))
    return cxi_leave(before,
                     cxi_fail(CX_EDTYPE, "cg: needs a floating b, got %s",
                              cxi_shown_of(b).text));
  if (!(opt.tol >= 0) || opt.max_steps < 0)
    return cxi_leave(before,
                     cxi_fail(CX_EUSER,
                              "cg: .tol %g and .max_steps %lld; both are "
                              "0 or more",
                              opt.tol, (long long)opt.max_steps));
  const cx_dims shape = cxi_shape_at(b);
  const cg_env e = { .matvec = matvec,
                     .tol = opt.tol > 0 ? opt.tol : 1e-5,
                     .max_steps =
                         opt.max_steps
                             ? opt.max_steps
                             : cxi_size_mul(10, cxi_dims_count(&shape)) };
  const cx_fn solve = CX_BIND_TO(cg_solve, &e);
  const cx_linear_solve_opt symmetric = { .symmetric = true };
  return cxi_leave(
      before, cx_custom_linear_solve_(matvec, solve, args, b, symmetric, NULL));
}
