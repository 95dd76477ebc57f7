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
/* A set of arguments, CX_ARGS(0, 2). The member without a size makes .wrt = 1
 * and .donate = 0, which a Python habit writes, a warning of the compiler. */
typedef struct cx_args {
#ifndef __cplusplus
  struct cx_no_number no_number_;
#endif
  uint64_t bits;
} cx_args;
#define CX_ARGS(...) ((cx_args){ .bits = CX_BITS(__VA_ARGS__) })
#define CX_BITS(...) (0ull CX_EACH(CX_ARG_BIT, , __VA_ARGS__))
#define CX_ARG_BIT(c, i) | 1ull << (i)
#define CX_NONE INT_MIN /* in vmap's axes: not mapped */

typedef struct cx_grad_opt {
  CX_OPTIONS;
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
  CX_OPTIONS;
  int in[CX_MAX_ARGS];   /* .in = { CX_NONE, 0 }; default: axis 0 of each */
  int out[CX_MAX_ARGS];  /* an axis for each item of the result */
  cx in_tree, out_tree;  /* instead: trees of integers and cx_none() */
  int64_t axis_size;
  const char *axis_name;
} cx_vmap_opt;
#define cx_vmap(...) CX_1(cx_vmap_, cx_vmap_opt, __VA_ARGS__, )

typedef struct cx_jit_opt {
  CX_OPTIONS;
  cx_args donate;        /* CX_ARGS(...): buffers given up to the result */
  const char *device;
  int cache_max;         /* compiled signatures kept; 0: 64 */
} cx_jit_opt;
#define cx_jit(...) CX_1(cx_jit_, cx_jit_opt, __VA_ARGS__, )

typedef enum cx_policy {
  CX_SAVE_NOTHING, CX_SAVE_DOTS, CX_SAVE_DOTS_NO_BATCH, CX_SAVE_NAMES,
  CX_SAVE_ALL_BUT_NAMES, CX_SAVE_EVERYTHING, CX_SAVE_OTHER_NAMES, CX_OFFLOAD
} cx_policy;
/* An equation as a policy of one's own sees it; lives during the call. */
typedef struct cx_eqn {
  const char *primitive;     /* "dot_general" */
  const char *name;          /* that cx_checkpoint_name gives; else NULL */
  const char *at;            /* "train.c:41" */
  int n_in, n_out;
  const cx_aval *in, *out;
  const void *params;        /* for cx_eqn_dims, cx_eqn_int */
} cx_eqn;
/* A parameter of the equation by the name that the program text shows; false,
 * *out as it was, if it has none of that name and kind. Axes and sizes are
 * dims, counts and flags are int. */
CX_API bool cx_eqn_dims(const cx_eqn *e, const char *name, cx_dims *out);
CX_API bool cx_eqn_int(const cx_eqn *e, const char *name, int64_t *out);
typedef struct cx_checkpoint_opt {
  CX_OPTIONS;
  cx_policy policy;
  const char *const *names;  /* NULL-terminated */
  bool (*save)(const cx_eqn *equation, void *user);
  void *user;
  size_t budget;             /* instead of a policy: at most so many bytes */
} cx_checkpoint_opt;
/* cx_checkpoint(f, .policy, .names, .save, .budget): the backward pass computes
 * again what is not kept; no bit changes. Arguments are kept anyhow.
 *   .policy  what is kept, of the values inside:
 *            NOTHING; EVERYTHING that the backward pass uses;
 *            DOTS: results of matrix products and convolutions;
 *            DOTS_NO_BATCH: of products without batch dimensions;
 *            NAMES: what cx_checkpoint_name gave one of .names;
 *            OTHER_NAMES: what it gave another name;
 *            ALL_BUT_NAMES: all that has none of them.
 *   .names   beside NOTHING, DOTS and DOTS_NO_BATCH: these values too
 *   .save    instead: asked for each equation
 *   .budget  instead: values whose bytes, all together, are within the budget
 *            are kept, those first that save the most floating-point
 *            operations a byte. Each use of f has the budget for itself; inside
 *            vmap it counts the whole batch, inside a scan each step.
 * Policies see into scans and branches, and keep of a scan the values of all
 * steps; not into a while without .max_steps. A budget takes each as a whole.
 * CX_EUSER for an unknown policy, and for a budget beside .policy or .save.
 * CX_ENORULE for CX_OFFLOAD: values lie in the host's memory as it is. */
#define cx_checkpoint(...) \
  CX_1(cx_checkpoint_, cx_checkpoint_opt, __VA_ARGS__, )

#define CX_1(fn, T, f, ...) fn((f), CX_OPT(T, __VA_ARGS__), CX_AT)
CX_API cx_fn cx_grad_(cx_fn f, cx_grad_opt opt, const char *at);
CX_API cx_fn cx_value_and_grad_(cx_fn f, cx_grad_opt opt, const char *at);
CX_API cx_fn cx_vmap_(cx_fn f, cx_vmap_opt opt, const char *at);
CX_API cx_fn cx_jit_(cx_fn f, cx_jit_opt opt, const char *at);
CX_API cx_fn cx_checkpoint_(cx_fn f, cx_checkpoint_opt opt, const char *at);

typedef struct cx_aux_opt {
  CX_OPTIONS;
  bool has_aux;   /* f returns (y, aux): the derivative is y's */
} cx_aux_opt;
/* cx_jvp(f): (primals, tangents) -> (out, dout), or (y, dy, aux). cx_vjp(f):
 * (primals, cotangents) -> (out, grads), or (y, grads, aux). The primals are
 * one tuple. */
#define cx_jvp(...) CX_1(cx_jvp_, cx_aux_opt, __VA_ARGS__, )
#define cx_vjp(...) CX_1(cx_vjp_, cx_aux_opt, __VA_ARGS__, )
/* Derivatives of all of f's floating results with respect to .wrt, as of
 * cx_grad: a tree like y, in the place of each leaf one like the arguments,
 * (shape of y's leaf, shape of x's). With .has_aux: (derivatives, aux). The
 * Hessian has the arguments' tree twice. .allow_int is not for these.
 *   CX_EDTYPE: a leaf is not floating. CX_ESHAPE: more than 8 axes. */
#define cx_jacfwd(...) CX_1(cx_jacfwd_, cx_grad_opt, __VA_ARGS__, )
#define cx_jacrev(...) CX_1(cx_jacrev_, cx_grad_opt, __VA_ARGS__, )
#define cx_hessian(...) CX_1(cx_hessian_, cx_grad_opt, __VA_ARGS__, )
CX_API cx_fn cx_jvp_(cx_fn f, cx_aux_opt opt, const char *at);
CX_API cx_fn cx_vjp_(cx_fn f, cx_aux_opt opt, const char *at);
CX_API cx_fn cx_jacfwd_(cx_fn f, cx_grad_opt opt, const char *at);
CX_API cx_fn cx_jacrev_(cx_fn f, cx_grad_opt opt, const char *at);
CX_API cx_fn cx_hessian_(cx_fn f, cx_grad_opt opt, const char *at);
/* At fixed primals (a tuple), for repeated use; the residuals are captured:
 * cx_linearize(f, primals, &out, .has_aux) gives tangents -> dout, cx_pullback
 * cotangents -> grads. *out (NULL: not wanted) becomes f's result; with
 * .has_aux that is (y, aux), and the function that is returned is y's alone.
 * NULL after an error: CX_ETREE where the primals are no tuple, or the result
 * is no (y, aux); else what f or its derivative reported. */
#define cx_linearize(f, primals, ...) \
  CX_LINEARIZE_(cx_linearize_, f, primals, __VA_ARGS__, )
#define cx_pullback(f, primals, ...) \
  CX_LINEARIZE_(cx_pullback_, f, primals, __VA_ARGS__, )
#define CX_LINEARIZE_(fn, f, primals, out_value, ...) \
  fn((f), (primals), (out_value), CX_OPT(cx_aux_opt, __VA_ARGS__), CX_AT)
CX_API cx_fn cx_linearize_(cx_fn f, cx primals, cx *out_value, cx_aux_opt opt,
                           const char *at);
CX_API cx_fn cx_pullback_(cx_fn f, cx primals, cx *out_value, cx_aux_opt opt,
                          const char *at);
/* The transpose of a linear f: cotangents of its result -> a tuple with one for
 * each argument. The primals, a tuple, only say dtypes and shapes (cx_spec).
 *   CX_ENORULE: f is not linear. CX_EDTYPE: a leaf is not floating. */
#define cx_linear_transpose(f, primals) \
  cx_linear_transpose_((f), (primals), CX_AT)
CX_API cx_fn cx_linear_transpose_(cx_fn f, cx primals, const char *at);

/* rule: (primals, tangents) -> (out, dout). Wrap the result in a CX_DEF of
 * the public name: calling f itself inlines f without its rule. */
#define cx_custom_jvp(f, rule) cx_custom_jvp_((f), (rule), CX_AT)
CX_API cx_fn cx_custom_jvp_(cx_fn f, cx_fn rule, const char *at);
/* fwd: f's arguments -> (out, residuals); bwd: (residuals, cotangent) -> one
 * cotangent per argument, cx_none() for "no gradient". */
#define cx_custom_vjp(f, fwd, bwd) cx_custom_vjp_((f), (fwd), (bwd), CX_AT)
CX_API cx_fn cx_custom_vjp_(cx_fn f, cx_fn fwd, cx_fn bwd, const char *at);
/* What a batching rule is told: the size of the batch, and which arguments have
 * it, at axis 0 (a tree in all its leaves). */
typedef struct cx_batch {
  int64_t size;
  bool in[CX_MAX_ARGS];
} cx_batch;
extern CX_API const cx_rec cx_rec_cx_batch;
/* cx_custom_vmap(f, rule): f; in a batch, what rule makes of all lanes at once.
 * The rule has f's arguments, and is told by settings that are, or have in
 * them, a cx_batch, which is filled in for it:
 *   CX_DEF_ENV(rule, cx_batch, b, x, w) { ... if (b->in[0]) ... }
 *   cx_custom_vmap(CX_FN(f), CX_FN(rule))
 * It returns what f does, each array with the batch at axis 0, or without it if
 * the lanes have it in common. It may call the function itself: in a vmap of a
 * vmap the rule is asked again. Derivatives keep the rule, before and after
 * vmap; they compute f again from its arguments.
 *   CX_ETREE: f or the rule captures arrays; another structure is returned.
 *   CX_ESHAPE: a result is neither. CX_ETRACE: the rule failed.
 * cx_sequential_vmap(f): f; in a batch, a loop over the lanes. */
#define cx_custom_vmap(f, rule) cx_custom_vmap_((f), (rule), CX_AT)
#define cx_sequential_vmap(f) cx_sequential_vmap_((f), CX_AT)
CX_API cx_fn cx_custom_vmap_(cx_fn f, cx_fn rule, const char *at);
CX_API cx_fn cx_sequential_vmap_(cx_fn f, const char *at);
typedef enum cx_check_kind {
  CX_CHECK_USER = 1, CX_CHECK_INDEX = 2, CX_CHECK_NAN = 4, CX_CHECK_DIVISION = 8,
  CX_CHECK_ALL = 15
} cx_check_kind;
typedef struct cx_checkify_opt {
  CX_OPTIONS;
  unsigned errors; /* CX_CHECK_INDEX | CX_CHECK_NAN; 0: CX_CHECK_USER */
} cx_checkify_opt;
/* cx_checkify(f, .errors): f's arguments -> (error, result). The error is an
 * array, i32: 0, or a number that stands for what went wrong first and where;
 * under vmap one for each lane. It comes out of calls, loops (a while stops
 * at it) and branches. A function without effects: it differentiates, batches
 * and compiles.
 *   USER      a cx_check did not hold     INDEX     an index out of range
 *   DIVISION  by zero                     NAN       made of operands without
 * What is inside a custom rule is checked as one operation, by its results. */
#define cx_checkify(...) CX_1(cx_checkify_, cx_checkify_opt, __VA_ARGS__, )
CX_API cx_fn cx_checkify_(cx_fn f, cx_checkify_opt opt, const char *at);
/* The text of the first error in the array, "train.c:41: gather: an index is
 * out of range"; NULL if there is none. It is never freed. */
#define cx_checked(error) cx_checked_((error), CX_AT)
CX_API const char *cx_checked_(cx error, const char *at);
/* Keeps it as an error of the context; true if there is none. */
#define cx_throw(error) cx_throw_((error), CX_AT)
CX_API bool cx_throw_(cx error, const char *at);
/* cx_check(good, "loss is finite"), cx_check(good, "loss {:.3} in step {}",
 * loss, i): an effect, which fails the run with CX_EUSER where an element of
 * good, a bool array, does not hold; checkified, part of the error instead.
 * The arrays show in the message as in cx_debug_print (CX_EUSER for a format
 * that does not fit them); under vmap those of the first lane that fails. A
 * checkified error is a number, which has no place for them: its text is the
 * format. Without arrays the message is what it is, braces too. */
#define cx_check(good, ...) \
  CX_CAT(CX_CHECK_SAYS_, CX_MANY(__VA_ARGS__))(good, __VA_ARGS__)
#define CX_CHECK_SAYS_1(good, message) \
  cx_check_(CX_A(good), (message), 0, NULL, CX_AT)
#define CX_CHECK_SAYS_2_OR_MORE(good, message, ...) \
  cx_check_(CX_A(good), (message), CX_AS(__VA_ARGS__), CX_AT)
CX_API void cx_check_(cx good, const char *message, int n, const cx *args,
                      const char *at);
#define cx_stop_gradient(tree) cx_stop_gradient_((tree), CX_AT)
/* An array of its own, as jnp.copy. All leaves, none of which is there before
 * the others: nothing is moved across or merged with what stands behind. */
#define cx_copy(tree) cx_copy_((tree), CX_AT)
#define cx_optimization_barrier(tree) cx_optimization_barrier_((tree), CX_AT)
CX_API CX_USED cx cx_copy_(cx tree, const char *at);
CX_API CX_USED cx cx_optimization_barrier_(cx tree, const char *at);
#define cx_checkpoint_name(tree, name) \
  cx_checkpoint_name_((tree), (name), CX_AT)
CX_API CX_USED cx cx_stop_gradient_(cx tree, const char *at);
CX_API CX_USED cx cx_checkpoint_name_(cx tree, const char *name,
                                      const char *at);

#ifdef __cplusplus
}
#endif
#endif
