/* function.h - functions and calls. */
#ifndef CALX_FUNCTION_H
#define CALX_FUNCTION_H

#include "calx/struct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 6. Functions and calls -------------------------------------------------
 * CX_DEF(f, x, w) { ... } defines the C function `static cx f(cx x, cx w)`
 * and its descriptor. f(x, w) called directly is inlined into the trace;
 * cx_call(transform(CX_FN(f)), x, w) goes through the transform. A function's
 * C code must depend on its arguments' types, its settings, nothing else.
 *
 * For other files: CX_DECLARE(f, x, w); in the header, CX_DEFINE(f, x, w)
 * { ... } in one .c file. CX_DEF(f) and CX_DECLARE(f) take no argument.
 */
typedef struct cx_def {
  const char *name, *args, *at;
  int n_args;
  const cx_rec *env;
  cx (*call)(const cx *args, const void *env);
} cx_def;

#define CX_DEF(...) CX_CAT(CX_DEF_, CX_MANY(__VA_ARGS__))(static, __VA_ARGS__)
#define CX_DEFINE(...) CX_CAT(CX_DEF_, CX_MANY(__VA_ARGS__))(, __VA_ARGS__)
#define CX_DECLARE(...) CX_CAT(CX_DECLARE_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_DECLARE_1(f) struct cx f(void); extern const cx_def f##_def
#define CX_DECLARE_2_OR_MORE(f, ...) \
  struct cx f(CX_MAP(CX_PARAM, __VA_ARGS__)); extern const cx_def f##_def
#define CX_PARAM(x) struct cx x
#define CX_DEF_1(storage, f)                                            \
  storage struct cx f(void);                                              \
  static struct cx f##_call(const struct cx *a_, const void *e_) {        \
    (void)a_, (void)e_;                                                   \
    return f();                                                           \
  }                                                                       \
  storage const cx_def f##_def __attribute__((unused)) = {                \
    #f, "", CX_AT, 0, NULL, f##_call                                      \
  };                                                                      \
  storage struct cx f(void)
#define CX_DEF_2_OR_MORE(storage, f, ...)                                      \
  storage struct cx f(CX_MAP(CX_PARAM, __VA_ARGS__));                     \
  static struct cx f##_call(const struct cx *a_, const void *e_) {        \
    (void)e_;                                                             \
    return f(CX_SPREAD(__VA_ARGS__));                                     \
  }                                                                       \
  storage const cx_def f##_def __attribute__((unused)) = {                \
    #f, #__VA_ARGS__, CX_AT, CX_NARG(__VA_ARGS__), NULL, f##_call         \
  };                                                                      \
  storage struct cx f(CX_MAP(CX_PARAM, __VA_ARGS__))

/* CX_DEF_ENV(sgd, hyper, h, w, g) { ... h->lr ... }: a function with settings
 * of the described struct `hyper`. CX_BIND(sgd, .lr = 0.1) or, from a pointer
 * to the struct, CX_BIND_TO(sgd, &settings) gives the function. */
#define CX_DEF_ENV(f, T, ...)                                             \
  CX_CAT(CX_DEF_ENV_, CX_MANY(__VA_ARGS__))(static, f, T, __VA_ARGS__)
#define CX_DEFINE_ENV(f, T, ...) \
  CX_CAT(CX_DEF_ENV_, CX_MANY(__VA_ARGS__))(, f, T, __VA_ARGS__)
#define CX_DECLARE_ENV(f, T, ...) \
  CX_CAT(CX_DECLARE_ENV_, CX_MANY(__VA_ARGS__))(f, T, __VA_ARGS__)
#define CX_DECLARE_ENV_1(f, T, env)                                     \
  typedef T f##_env;                                                      \
  struct cx f(const T *env);                                              \
  extern const cx_def f##_def
#define CX_DECLARE_ENV_2_OR_MORE(f, T, env, ...)                               \
  typedef T f##_env;                                                      \
  struct cx f(const T *env, CX_MAP(CX_PARAM, __VA_ARGS__));               \
  extern const cx_def f##_def
#define CX_DEF_ENV_1(storage, f, T, env)                                \
  typedef T f##_env;                                                      \
  storage struct cx f(const T *env);                                      \
  static struct cx f##_call(const struct cx *a_, const void *e_) {        \
    (void)a_;                                                             \
    return f((const T *)e_);                                              \
  }                                                                       \
  storage const cx_def f##_def __attribute__((unused)) = {                \
    #f, "", CX_AT, 0, &cx_rec_##T, f##_call                               \
  };                                                                      \
  storage struct cx f(const T *env)
#define CX_DEF_ENV_2_OR_MORE(storage, f, T, env, ...)                          \
  typedef T f##_env;                                                      \
  storage struct cx f(const T *env, CX_MAP(CX_PARAM, __VA_ARGS__));       \
  static struct cx f##_call(const struct cx *a_, const void *e_) {        \
    return f((const T *)e_, CX_SPREAD(__VA_ARGS__));                      \
  }                                                                       \
  storage const cx_def f##_def __attribute__((unused)) = {                \
    #f, #__VA_ARGS__, CX_AT, CX_NARG(__VA_ARGS__), &cx_rec_##T, f##_call  \
  };                                                                      \
  storage struct cx f(const T *env, CX_MAP(CX_PARAM, __VA_ARGS__))

#define CX_FN(f) cx_fn_make_(&f##_def, NULL, CX_AT)
#define CX_BIND(f, ...) \
  cx_fn_make_(&f##_def, &(const f##_env){ __VA_ARGS__ }, CX_AT)
#define CX_BIND_TO(f, env) \
  cx_fn_make_(&f##_def, (const f##_env *){ (env) }, CX_AT)
#define CX_OP(name) cx_fn_of_op_(#name, CX_AT) /* CX_OP(add), as jnp.add */
#define cx_fn_make(def, env) cx_fn_make_((def), (env), CX_AT) /* copies env */
#define cx_fn_of_op(name) cx_fn_of_op_((name), CX_AT)
CX_API cx_fn cx_fn_make_(const cx_def *def, const void *env, const char *at);
CX_API cx_fn cx_fn_of_op_(const char *name, const char *at);

/* cx_call(f, x, y, ...). With cx_spec arguments: shapes only (eval_shape). */
#define cx_call(...) CX_CAT(CX_CALL_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_CALL_1(f) cx_call_((f), 0, NULL, CX_AT)
#define CX_CALL_2_OR_MORE(f, ...) cx_call_((f), CX_AS(__VA_ARGS__), CX_AT)
#define cx_call_n(f, n, args) cx_call_((f), (n), (args), CX_AT)
CX_API cx cx_call_(cx_fn f, int n, const cx *args, const char *at);

#ifdef __cplusplus
}
#endif
#endif
