/* literal.h - numbers as arrays; lists of integers; options. */
#ifndef CALX_LITERAL_H
#define CALX_LITERAL_H

#include <limits.h>
#include "calx/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 4. Literals and lists of integers --------------------------------------
 * A number among arrays takes their dtype if it is of the same kind or a
 * lower one; a number given to cx_call, cx_tuple or cx_dict becomes an array
 * of rank 0, f32 or i32, so that a step count or a learning rate that changes
 * is an input and compiles nothing anew.
 */
CX_API cx cx_lit_f(double number);
CX_API cx cx_lit_i(long long number);
CX_API cx cx_lit_u(unsigned long long number);
CX_API cx cx_lit_b(bool number);
static inline cx cx_same_(cx a) { return a; }

/* The handle for x, an array or any C number. x appears once: with a plain
 * _Generic(x)(x) an expression nested n deep grows to 2^n times its length
 * (a polynomial of degree 7 by Horner's rule: 13 MB, 5 s). */
#define CX_A(x) CX_A_(x, CX_CAT(cx_a_, __COUNTER__))
#define CX_A_(x, v) \
  __extension__({ __auto_type v = (x); CX_BY_TYPE(v, cx_same_)(v); })
#define CX_BY_TYPE(v, same)                                              \
  _Generic(v, struct cx: same, _Bool: cx_lit_b, float: cx_lit_f,         \
           double: cx_lit_f, long double: cx_lit_f, char: cx_lit_i,      \
           signed char: cx_lit_i, unsigned char: cx_lit_i,               \
           short: cx_lit_i, unsigned short: cx_lit_i, int: cx_lit_i,     \
           unsigned: cx_lit_i, long: cx_lit_i, unsigned long: cx_lit_u,  \
           long long: cx_lit_i, unsigned long long: cx_lit_u)
#define CX_AS(...) \
  CX_NARG(__VA_ARGS__), (const struct cx[]){ CX_MAP(CX_A, __VA_ARGS__) }
/* A list that may be empty. */
#define CX_AS_ANY(...) CX_CAT(CX_AS_, CX_ANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_AS_0(...) 0, NULL
#define CX_AS_1_OR_MORE(...) CX_AS(__VA_ARGS__)

#define CX_SHAPE(...)                                                     \
  cx_dims_((int)(sizeof((int64_t[]){ 0, __VA_ARGS__ }) / sizeof(int64_t)) \
               - 1, (const int64_t[]){ 0, __VA_ARGS__ } + 1)
#define CX_AXES(...) CX_SHAPE(__VA_ARGS__)
#define CX_SCALAR ((cx_dims){ .n = 0 })
#define CX_ALL_AXES ((cx_dims){ .n = -2 })
#ifdef CALX_SHORT_NAMES
#define SH(...) CX_SHAPE(__VA_ARGS__)
#define AX(...) CX_SHAPE(__VA_ARGS__)
#endif
static inline cx_dims cx_dims_(int n, const int64_t *sizes) {
  cx_dims dims;
  dims.n = n <= CX_MAX_DIMS ? n : -1;
  for (int i = 0; i < CX_MAX_DIMS; i++) dims.d[i] = i < dims.n ? sizes[i] : 0;
  return dims;
}
static inline cx_dims cx_dims_same_(cx_dims dims) { return dims; }
static inline cx_dims cx_dims_one_(int64_t size) { return cx_dims_(1, &size); }
/* Plain numbers, or one cx_dims. */
#define CX_DIMS(...) CX_CAT(CX_DIMS_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_DIMS_1(v) \
  _Generic((v), cx_dims: cx_dims_same_, default: cx_dims_one_)(v)
#define CX_DIMS_2_OR_MORE(...) CX_SHAPE(__VA_ARGS__)
/* An argument and the sizes behind it; where there are none, `none`: a scalar,
 * all axes, or a name that says to the compiler what lacks. CX_THEN_A: the
 * argument may be a C number. */
#define CX_THEN(none, ...) \
  CX_CAT(CX_THEN_, CX_MANY(__VA_ARGS__))(none, __VA_ARGS__)
#define CX_THEN_1(none, x) (x), none
#define CX_THEN_2_OR_MORE(none, x, ...) (x), CX_DIMS(__VA_ARGS__)
#define CX_THEN_A(none, ...) \
  CX_CAT(CX_THEN_A_, CX_MANY(__VA_ARGS__))(none, __VA_ARGS__)
#define CX_THEN_A_1(none, x) CX_A(x), none
#define CX_THEN_A_2_OR_MORE(none, x, ...) CX_A(x), CX_DIMS(__VA_ARGS__)
/* An argument and the list of arrays behind it, which may be empty; which may
 * not. */
#define CX_WITH(...) CX_CAT(CX_WITH_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_WITH_1(x) (x), 0, NULL
#define CX_WITH_2_OR_MORE(x, ...) (x), CX_AS(__VA_ARGS__)
#define CX_WITH_SOME(...) \
  CX_CAT(CX_WITH_SOME_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_WITH_SOME_1(x) (x), 0, CX_ARRAYS_ARE_MISSING
#define CX_WITH_SOME_2_OR_MORE(x, ...) (x), CX_AS(__VA_ARGS__)

/* Options by name; the size says which fields the caller knows. */
#define CX_OPT(T, ...) ((T){ .size_ = sizeof(T), __VA_ARGS__ })

#ifdef __cplusplus
}
#endif
#endif
