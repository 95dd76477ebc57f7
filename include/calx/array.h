/* array.h - arrays in and out. */
#ifndef CALX_ARRAY_H
#define CALX_ARRAY_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 10. Arrays in and out ----------------------------------------------- */
/* cx_from(pointer, 128, 784): copies; dtype of *pointer. A compound literal
 * stands in parentheses, its commas would end the argument:
 * cx_from(((float[]){ 1, 2, 3, 4 }), 2, 2). Without sizes: a scalar, as in all
 * functions that end in the sizes of what they make, cx_zeros(CX_F32). */
#define cx_from(...) CX_CAT(CX_FROM_, CX_MANY(__VA_ARGS__))(__VA_ARGS__)
#define CX_FROM_1(p) cx_from_((p), CX_DTYPE_OF(p), CX_SCALAR, CX_AT)
#define CX_FROM_2_OR_MORE(p, ...) \
  cx_from_((p), CX_DTYPE_OF(p), CX_DIMS(__VA_ARGS__), CX_AT)
/* cx_array(float, 1, 2, 3): jnp.array([1., 2., 3.]); reshape for more axes. */
#define cx_array(T, ...)                                                   \
  cx_from_((const T[]){ __VA_ARGS__ }, CX_DTYPE((T){ 0 }),                 \
           cx_dims_one_((int64_t)(sizeof((const T[]){ __VA_ARGS__ }) /     \
                                  sizeof(T))), CX_AT)
#if LONG_MAX > INT_MAX
#define CX_LONG CX_I64
#define CX_ULONG CX_U64
#else
#define CX_LONG CX_I32
#define CX_ULONG CX_U32
#endif
#define CX_DTYPE_OF(p) CX_DTYPE(*(p))
#define CX_DTYPE(v)                                                     \
  _Generic((v), _Bool: CX_BOOL, char: CX_I8, signed char: CX_I8,          \
           unsigned char: CX_U8, short: CX_I16, unsigned short: CX_U16,    \
           int: CX_I32, unsigned: CX_U32,                                  \
           long: CX_LONG, unsigned long: CX_ULONG,                         \
           long long: CX_I64, unsigned long long: CX_U64,                  \
           float: CX_F32, double: CX_F64)
CX_API CX_USED cx cx_from_(const void *data, cx_dtype type, cx_dims shape,
                          const char *at);
/* cx_borrow(data, type, shape, release, user): without a copy; `release` is
 * called when the last user is gone, on an error not at all. */
#define cx_borrow(...) cx_borrow_(CX_AT, __VA_ARGS__)
CX_API CX_USED cx cx_borrow_(const char *at, void *data, cx_dtype type,
                            cx_dims shape, void (*release)(void *user),
                            void *user);
/* DLPack, version 1 (dmlc.github.io/dlpack): arrays of other libraries of this
 * process, on the CPU. In: the tensor is taken, even on error, and its deleter
 * called when the last user is gone; strides and memory not aligned to 64
 * bytes, like bools, are copied at once. CX_EDTYPE for complex numbers,
 * lanes and types that Calx has not, CX_EDEVICE for other devices, CX_EUSER
 * for another major version. */
struct DLManagedTensorVersioned;
#define cx_from_dlpack(tensor) cx_from_dlpack_((tensor), CX_AT)
CX_API CX_USED cx cx_from_dlpack_(struct DLManagedTensorVersioned *tensor,
                                 const char *at);
/* Out: without a copy, dense, marked read-only; the array can no longer be
 * donated. The receiver calls the deleter, from any thread, also after
 * cx_close. NULL on error: CX_EDTYPE for keys. */
#define cx_to_dlpack(a) cx_to_dlpack_((a), CX_AT)
CX_API CX_USED struct DLManagedTensorVersioned *cx_to_dlpack_(cx a,
                                                            const char *at);
/* A shape without data, for cx_call, cx_trace, cx_compile. */
#define cx_spec(...) cx_spec_(CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_spec_like(tree) cx_spec_like_((tree), CX_AT)
#define cx_zeros(...) \
  cx_full_(cx_lit_i(0), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_ones(...) \
  cx_full_(cx_lit_i(1), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_full(v, ...) \
  cx_full_(CX_A(v), CX_THEN(CX_SCALAR, __VA_ARGS__), CX_AT)
#define cx_zeros_like(a) cx_full_like_((a), cx_lit_i(0), CX_AT)
#define cx_ones_like(a) cx_full_like_((a), cx_lit_i(1), CX_AT)
#define cx_full_like(a, v) cx_full_like_((a), CX_A(v), CX_AT)
#define cx_arange(lo, hi, step, t) \
  cx_arange_(CX_A(lo), CX_A(hi), CX_A(step), (t), CX_AT)
#define cx_linspace(lo, hi, n, t) \
  cx_linspace_(CX_A(lo), CX_A(hi), (n), (t), CX_AT)
#define cx_iota(t, ...) \
  cx_iota_((t), CX_THEN(CX_SIZES_ARE_MISSING, __VA_ARGS__), CX_AT)
#define cx_eye(t, n) cx_eye_((t), (n), (n), CX_AT)
#define cx_scalar(v, t) cx_full_(CX_A(v), (t), CX_SCALAR, CX_AT)
CX_API CX_USED cx cx_spec_(cx_dtype type, cx_dims shape, const char *at);
CX_API CX_USED cx cx_spec_like_(cx tree, const char *at);
CX_API CX_USED cx cx_full_(cx value, cx_dtype t, cx_dims shape, const char *at);
CX_API CX_USED cx cx_full_like_(cx tree, cx value, const char *at);
CX_API CX_USED cx cx_arange_(cx lo, cx hi, cx step, cx_dtype t, const char *at);
CX_API CX_USED cx cx_linspace_(cx lo, cx hi, int64_t n, cx_dtype t,
                              const char *at);
CX_API CX_USED cx cx_iota_(cx_dtype t, int axis, cx_dims shape, const char *at);
CX_API CX_USED cx cx_eye_(cx_dtype t, int64_t n, int64_t m, const char *at);

/* Out: all wait for the device; CX_ETRACE while tracing. */
/* cx_read(a, buffer, count): at most count elements; CX_EDTYPE if the
 * buffer's type is not a's. */
#define cx_read(a, p, count) \
  cx_read_((a), (p), CX_DTYPE_OF(p), (size_t)(count) * sizeof *(p), CX_AT)
#define cx_item(a) cx_item_((a), CX_AT)         /* NaN on error */
#define cx_item_int(a) cx_item_int_((a), CX_AT) /* 0 on error */
#define cx_data(a) cx_data_((a), CX_AT)         /* borrowed; NULL on error */
CX_API bool cx_read_(cx a, void *out, cx_dtype type, size_t bytes,
                     const char *at);
CX_API double cx_item_(cx a, const char *at);
CX_API int64_t cx_item_int_(cx a, const char *at);
CX_API const void *cx_data_(cx a, const char *at);
#define cx_print(tree) cx_print_((tree), CX_AT) /* NumPy's layout, to stdout */
#define cx_wait(tree) cx_wait_((tree), CX_AT)
CX_API void cx_print_(cx tree, const char *at);
CX_API void cx_wait_(cx tree, const char *at);

#ifdef __cplusplus
}
#endif
#endif
