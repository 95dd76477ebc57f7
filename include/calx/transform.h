/* transform.h - grad, vmap, jit, checkpoint and their like. */
#ifndef CALX_TRANSFORM_H
#define CALX_TRANSFORM_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 7. Transforms: cx_fn -> cx_fn, in any order and depth ------------------
 * Given NULL they return NULL; a wrong option is a kept error. Equal
 * functions are the same pointer, so one made again costs a lookup. Options
 * are copied.
 */
/* A set of arguments, CX_ARGS(0, 2). The pointer makes .wrt = 1 and
 * .donate = 0, which a Python habit writes, a warning of the compiler. */
typedef struct cx_args {
  const struct cx_made_by_CX_ARGS *tag; /* NULL */
  uint64_t bits;
} cx_args;
#define CX_ARGS(...) ((cx_args){ NULL, CX_BITS(__VA_ARGS__) })
#define CX_BITS(...) (0ull CX_EACH(CX_ARG_BIT, , __VA_ARGS__))
#define CX_ARG_BIT(c, i) | 1ull << (i)
#define CX_NONE INT_MIN /* in vmap's axes: not mapped */

typedef struct cx_grad_opt {
  size_t size_;
  cx_args wrt;    /* CX_ARGS(...); default: argument 0. One argument gives its
                     gradient, several a tuple in argument order */
  bool has_aux;   /* f returns (loss, aux) */
  bool allow_int;
} cx_grad_opt;
/* cx_grad(f, .wrt, .has_aux): grads, or (grads, aux).
 * cx_value_and_grad: (value, grads), or ((value, aux), grads), as in JAX. */
#define cx_grad(...) CX_1(cx_grad_, cx_grad_opt, __VA_ARGS__, )
#define cx_value_and_grad(...) \
  CX_1(cx_value_and_grad_, cx_grad_opt, __VA_ARGS__, )

typedef struct cx_vmap_opt {
  size_t size_;
  int in[CX_MAX_ARGS];   /* .in = { CX_NONE, 0 }; default: axis 0 of each */
  int out[CX_MAX_ARGS];  /* an axis for each item of the result */
  cx in_tree, out_tree;  /* instead: trees of integers and cx_none() */
  int64_t axis_size;
  const char *axis_name;
} cx_vmap_opt;
#define cx_vmap(...) CX_1(cx_vmap_, cx_vmap_opt, __VA_ARGS__, )

typedef struct cx_jit_opt {
  size_t size_;
  cx_args donate;        /* CX_ARGS(...): buffers given up to the result */
  const char *device;
  int cache_max;         /* compiled signatures kept; 0: 64 */
  bool contract;         /* may fuse multiply-add and keep wider values: XLA's
                            bits instead of the bit contract's */
} cx_jit_opt;
#define cx_jit(...) CX_1(cx_jit_, cx_jit_opt, __VA_ARGS__, )

typedef enum cx_policy {
  CX_SAVE_NOTHING, CX_SAVE_DOTS, CX_SAVE_DOTS_NO_BATCH, CX_SAVE_NAMES,
  CX_SAVE_ALL_BUT_NAMES, CX_SAVE_EVERYTHING
} cx_policy;
typedef struct cx_checkpoint_opt {
  size_t size_;
  cx_policy policy;
  const char *const *names;  /* NULL-terminated */
  bool (*save)(const char *primitive, const char *name, void *user);
  void *user;
  size_t budget;             /* bytes of residuals; the library chooses */
} cx_checkpoint_opt;
#define cx_checkpoint(...) \
  CX_1(cx_checkpoint_, cx_checkpoint_opt, __VA_ARGS__, )

#define CX_1(fn, T, f, ...) fn((f), CX_OPT(T, __VA_ARGS__), CX_AT)
CX_API cx_fn cx_grad_(cx_fn f, cx_grad_opt opt, const char *at);
CX_API cx_fn cx_value_and_grad_(cx_fn f, cx_grad_opt opt, const char *at);
CX_API cx_fn cx_vmap_(cx_fn f, cx_vmap_opt opt, const char *at);
CX_API cx_fn cx_jit_(cx_fn f, cx_jit_opt opt, const char *at);
CX_API cx_fn cx_checkpoint_(cx_fn f, cx_checkpoint_opt opt, const char *at);

CX_API cx_fn cx_jvp(cx_fn f);      /* (primals, tangents) -> (out, dout) */
CX_API cx_fn cx_vjp(cx_fn f);      /* (primals, cotangents) -> (out, grads) */
CX_API cx_fn cx_jacfwd(cx_fn f);   /* with respect to argument 0 */
CX_API cx_fn cx_jacrev(cx_fn f);
CX_API cx_fn cx_hessian(cx_fn f);
/* At fixed primals (a tuple), for repeated use; the residuals are captured:
 * cx_linearize gives tangents -> dout, cx_pullback cotangents -> grads. */
CX_API cx_fn cx_linearize(cx_fn f, cx primals, cx *out_value);
CX_API cx_fn cx_pullback(cx_fn f, cx primals, cx *out_value);

/* rule: (primals, tangents) -> (out, dout). Wrap the result in a CX_DEF of
 * the public name: calling f itself inlines f without its rule. */
CX_API cx_fn cx_custom_jvp(cx_fn f, cx_fn rule);
/* fwd: f's arguments -> (out, residuals); bwd: (residuals, cotangent) -> one
 * cotangent per argument, cx_none() for "no gradient". */
CX_API cx_fn cx_custom_vjp(cx_fn f, cx_fn fwd, cx_fn bwd);
#define cx_stop_gradient(tree) cx_stop_gradient_((tree), CX_AT)
#define cx_checkpoint_name(tree, name) \
  cx_checkpoint_name_((tree), (name), CX_AT)
CX_API CX_USED cx cx_stop_gradient_(cx tree, const char *at);
CX_API CX_USED cx cx_checkpoint_name_(cx tree, const char *name,
                                      const char *at);

#ifdef __cplusplus
}
#endif
#endif
