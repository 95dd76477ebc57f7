/* value.h - handles, dtypes, shapes. */
#ifndef CALX_VALUE_H
#define CALX_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "calx/pp.h"

#define CX_API __attribute__((visibility("default")))
#define CX_USED __attribute__((warn_unused_result))
#define CX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#ifdef __cplusplus
extern "C" {
#endif

/* How each struct of options starts: its size, which the macros fill in, then
 * for C a member without a size, to which a number without a name would go:
 * of cx_sum(x, 0, 1), instead of CX_AXES(0, 1), GCC warns and Clang stops. */
#ifdef __cplusplus
#define CX_OPTIONS size_t size_
#else
__extension__ struct cx_no_number {};
#define CX_OPTIONS size_t size_; struct cx_no_number no_number_
#endif

/* -- 1. Values --------------------------------------------------------------
 * One handle for an array or a tree, concrete or being traced. Copy it freely;
 * there is nothing to free. {0} is "not given" (an option left out); a failed
 * call returns poison, which is index 0 with the number of its error.
 */
typedef struct cx {
  uint32_t index, generation;
} cx;

typedef enum cx_dtype {
  CX_BOOL = 1,
  CX_I8, CX_U8, CX_I16, CX_U16, CX_I32, CX_U32, CX_I64, CX_U64,
  CX_F16, CX_BF16, CX_F32, CX_F64,
  CX_KEY                   /* a random key: 8 bytes, one element */
} cx_dtype;

enum { CX_MAX_DIMS = 8, CX_MAX_ARGS = 32 };

/* A list of integers: a shape, axes, a permutation. CX_SHAPE and CX_AXES make
 * one from numbers; more than CX_MAX_DIMS of them make n = -1, which every
 * function that takes a list reports. */
typedef struct cx_dims {
  int n;
  int64_t d[CX_MAX_DIMS];
} cx_dims;

/* The type of an array: what is known of it before it has a value. */
typedef struct cx_aval {
  cx_dtype type;
  cx_dims shape;
} cx_aval;

/* An array in memory: row-major, without gaps. */
typedef struct cx_buf {
  void *data;
  cx_dtype type;
  cx_dims shape;
} cx_buf;

/* The value that stands for an absent argument: an empty tree, JAX's None. An
 * optional operand, option or key takes it, and it stands for "no tangent" of
 * integers, bools and keys in jvp, vjp and custom rules. */
CX_API cx cx_none(void);
CX_API bool cx_is_none(cx a);

#define cx_ndim(a) cx_ndim_((a), CX_AT)            /* 0 of poison */
#define cx_dim(a, axis) cx_dim_((a), (axis), CX_AT) /* -1: the last; 1 of
                                                      poison */
#define cx_type(a) cx_type_((a), CX_AT)
#define cx_shape(a) cx_shape_((a), CX_AT)
#define cx_size(a) cx_size_((a), CX_AT)            /* number of elements */
CX_API int cx_ndim_(cx a, const char *at);
CX_API int64_t cx_dim_(cx a, int axis, const char *at);
CX_API cx_dtype cx_type_(cx a, const char *at);
CX_API cx_dims cx_shape_(cx a, const char *at);
CX_API int64_t cx_size_(cx a, const char *at);
CX_API const char *cx_show(cx a);        /* "f32[128,784]"; in debuggers too */

/* B, T, C = x.shape:  cx_sizes(x, &b, &t, &c). CX_ESHAPE if the rank differs;
 * the variables are then 1, so that sizes computed from them stay harmless. */
#define cx_sizes(...) CX_SIZES_(__VA_ARGS__, NULL)
#define CX_SIZES_(x, ...) cx_sizes_((x), (int64_t *[]){ __VA_ARGS__ }, CX_AT)
CX_API void cx_sizes_(cx a, int64_t **out_sizes, const char *at);

typedef enum cx_code {
  CX_OK, CX_ESHAPE, CX_EDTYPE, CX_ETREE, CX_EINDEX, CX_ENORULE, CX_ETRACE,
  CX_ELIFETIME, CX_ENAN, CX_EMEMORY, CX_EDEVICE, CX_EIO, CX_EUSER
} cx_code; /* docs/errors.md has an entry for each */

#ifdef __cplusplus
}
#endif
#endif
