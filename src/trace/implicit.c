/* implicit.c - custom_linear_solve, custom_root, cg: written with the public
 * functions, the derivatives as custom_vjp. */
#include "calx/implicit.h"

#include "calx/array.h"
#include "calx/control.h"
#include "calx/elementwise.h"
#include "calx/linalg.h"
#include "calx/reduce.h"
#include "calx/shape.h"
#include "calx/tree.h"
#include "ops/ops.h"

/* -- linear systems -------------------------------------------------------- */

CX_STRUCT(system_env, (cx_fn, matvec), (cx_fn, solve),
          (cx_fn, transpose_solve));

CX_DEF_ENV(linear_solve, system_env, e, args, b) {
  return cx_call(e->solve, args, b);
}

CX_DEF_ENV(linear_solve_fwd, system_env, e, args, b) {
  const cx x = cx_call(e->solve, args, b);
  return cx_tuple(x, cx_tuple(args, x));
}

/* A' w = ct: w is b's cotangent, that of args is of -w . A x at fixed x. */
CX_DEF_ENV(linear_solve_bwd, system_env, e, residuals, ct) {
  const cx args = cx_nth(residuals, 0), x = cx_nth(residuals, 1);
  const cx w = cx_call(e->transpose_solve, args, ct);
  if (cx_is_none(args)) return cx_tuple(args, w);
  const cx grads =
      cx_nth(cx_call(cx_vjp(e->matvec), cx_tuple(args, x), cx_neg(w)), 1);
  return cx_tuple(cx_nth(grads, 0), w);
}

static cx linear_solve_of(const system_env *e, cx args, cx b) {
  const cx_fn f = cx_custom_vjp(CX_BIND_TO(linear_solve, e),
                                CX_BIND_TO(linear_solve_fwd, e),
                                CX_BIND_TO(linear_solve_bwd, e));
  return cx_call(f, args, b);
}

cx cx_custom_linear_solve_(cx_fn matvec, cx_fn solve, cx args, cx b,
                           cx_linear_solve_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const system_env e = { .matvec = matvec,
                         .solve = solve,
                         .transpose_solve =
                             opt.symmetric ? solve : opt.transpose_solve };
  if (!matvec || !solve || !e.transpose_solve)
    return cxi_leave(before, cxi_fail(CX_ETREE, "custom_linear_solve: needs "
                                                "the functions matvec and "
                                                "solve, and .transpose_solve "
                                                "or .symmetric"));
  return cxi_leave(before, linear_solve_of(&e, args, b));
}

/* -- roots ---------------------------------------------------------------- */

CX_STRUCT(root_env, (cx_fn, f), (cx_fn, solve), (cx_fn, transpose_solve));
CX_STRUCT(at_args_env, (cx_fn, f), (cx, args));

CX_DEF_ENV(root, root_env, e, args, x0) {
  return cx_call(e->solve, args, x0);
}

CX_DEF_ENV(root_fwd, root_env, e, args, x0) {
  const cx x = cx_call(e->solve, args, x0);
  return cx_tuple(x, cx_tuple(args, x));
}

CX_DEF_ENV(at_args, at_args_env, e, x) {
  return cx_call(e->f, e->args, x);
}

/* (df/dx)' w = ct by the matrix of all elements. */
static cx solve_by_jacobian(cx_fn f, cx args, cx x, cx ct) {
  const int64_t n = cx_size(x);
  const cx_fn of_x = CX_BIND(at_args, .f = f, .args = args);
  const cx jacobian = cx_reshape(cx_call(cx_jacrev(of_x), x), n, n);
  const cx w = cx_solve(cx_swap_axes(jacobian, 0, 1), cx_reshape(ct, n));
  return cx_reshape(w, cx_shape(x));
}

/* f(args, x(args)) = 0: the cotangent of args is of -w . f at fixed x. */
CX_DEF_ENV(root_bwd, root_env, e, residuals, ct) {
  const cx args = cx_nth(residuals, 0), x = cx_nth(residuals, 1);
  if (cx_is_none(args)) return cx_tuple(args, cx_none());
  const cx w = e->transpose_solve ? cx_call(e->transpose_solve, args, x, ct)
                                  : solve_by_jacobian(e->f, args, x, ct);
  const cx grads =
      cx_nth(cx_call(cx_vjp(e->f), cx_tuple(args, x), cx_neg(w)), 1);
  return cx_tuple(cx_nth(grads, 0), cx_none());
}

cx cx_custom_root_(cx_fn f, cx_fn solve, cx args, cx x0, cx_root_opt opt,
                   const char *at) {
  const cxi_name before = cxi_enter(at);
  const root_env e = { .f = f,
                       .solve = solve,
                       .transpose_solve = opt.transpose_solve };
  if (!f || !solve)
    return cxi_leave(before, cxi_fail(CX_ETREE, "custom_root: needs the "
                                                "functions f and solve"));
  const cx_fn made = cx_custom_vjp(
      CX_BIND_TO(root, &e), CX_BIND_TO(root_fwd, &e), CX_BIND_TO(root_bwd, &e));
  return cxi_leave(before, cx_call(made, args, x0));
}

/* -- conjugate gradients -------------------------------------------------- */

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
  const system_env system = { .matvec = matvec,
                              .solve = solve,
                              .transpose_solve = solve };
  return cxi_leave(before, linear_solve_of(&system, args, b));
}
