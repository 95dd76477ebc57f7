/* implicit.h - solutions with derivatives by the implicit function theorem. */
#ifndef CALX_IMPLICIT_H
#define CALX_IMPLICIT_H

#include "calx/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 23. Implicit solutions --------------------------------------------------
 * How a solution was found is not differentiated, only what it solves: loops
 * of any length have derivatives, which cost one more solve each: forwards,
 * backwards, of any order. `args` is a tree with what the equation depends on,
 * cx_none() for nothing; what the functions capture counts as well. x is a tree
 * of floating arrays.
 *   CX_ETREE: a function is missing, or does not return a tree like x.
 *   CX_EDTYPE: x is not floating. CX_EUSER: an option out of its range.
 *   CX_ENORULE: reverse mode of a system with a while in solve, of whose
 *   transpose there is no solve.
 */
typedef struct cx_linear_solve_opt {
  CX_OPTIONS;
  cx_fn transpose_solve;   /* (args, b) -> x of A' x = b; needed in reverse mode
                              if solve cannot be transposed itself */
  bool symmetric;          /* A' = A */
  bool has_aux;            /* solve and transpose_solve return (x, something) */
} cx_linear_solve_opt;
/* cx_custom_linear_solve(matvec, solve, args, b): solve(args, b), x of A x = b
 * for the linear matvec(args, x) = A x; x and b are equal trees. */
#define cx_custom_linear_solve(...) CX_IMPLICIT( \
    cx_custom_linear_solve_, cx_linear_solve_opt, __VA_ARGS__, )

typedef struct cx_root_opt {
  CX_OPTIONS;
  cx_fn tangent_solve;     /* (args, x, b) -> v of (df/dx) v = b; default: by
                              the matrix df/dx, x of one dtype */
  cx_fn transpose_solve;   /* (args, x, ct) -> w of (df/dx)' w = ct; needed in
                              reverse mode if tangent_solve has a while */
  bool has_aux;            /* solve returns (x, something) */
} cx_root_opt;
/* cx_custom_root(f, solve, args, x0): solve(args, x0), x of f(args, x) = 0. x0
 * has no gradient. */
#define cx_custom_root(...) \
  CX_IMPLICIT(cx_custom_root_, cx_root_opt, __VA_ARGS__, )

typedef struct cx_cg_opt {
  CX_OPTIONS;
  double tol;              /* of the residual's norm beside b's; 0: 1e-5 */
  int64_t max_steps;       /* 0: 10 times the elements of b */
} cx_cg_opt;
/* cx_cg(matvec, args, b): x of A x = b for a symmetric positive definite A, by
 * conjugate gradients (Hestenes & Stiefel 1952); b one floating array. */
#define cx_cg(...) CX_CG(__VA_ARGS__, )

#define CX_IMPLICIT(fn, T, f, solve, args, b, ...) \
  fn((f), (solve), CX_A(args), CX_A(b), CX_OPT(T, __VA_ARGS__), CX_AT)
#define CX_CG(matvec, args, b, ...) \
  cx_cg_((matvec), CX_A(args), CX_A(b), CX_OPT(cx_cg_opt, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_custom_linear_solve_(cx_fn matvec, cx_fn solve, cx args,
                                         cx b, cx_linear_solve_opt opt,
                                         const char *at);
CX_API CX_USED cx cx_custom_root_(cx_fn f, cx_fn solve, cx args, cx x0,
                                 cx_root_opt opt, const char *at);
CX_API CX_USED cx cx_cg_(cx_fn matvec, cx args, cx b, cx_cg_opt opt,
                        const char *at);

#ifdef __cplusplus
}
#endif
#endif
