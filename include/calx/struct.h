/* struct.h - described structs. */
#ifndef CALX_STRUCT_H
#define CALX_STRUCT_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 5. Described structs ---------------------------------------------------
 * CX_STRUCT(hyper, (double, lr), (cx, mean), (layer, layers, [12]));
 * declares struct and typedef `hyper` and tells the library its fields:
 * cx, a number type of one word (int, bool, double, int64_t, ...), cx_str,
 * cx_fn, or another described struct; [n] makes an array. Such a struct is
 *   - the settings of a function (CX_DEF_ENV): cx fields are inputs, numbers
 *     and strings are part of the function's identity, hashed one by one;
 *   - a tree with checked names (cx_pack, cx_as), if all its leaves are cx.
 * An unknown field type stops the compiler at the name cx_rec_<type>.
 */
typedef const char *cx_str;
typedef const struct cx_fn_ *cx_fn;

typedef struct cx_field {
  const char *name;
  size_t offset, size;
  const struct cx_rec *type;
} cx_field;
typedef struct cx_rec {
  const char *name;
  size_t size;
  int n_fields;            /* 0: a leaf */
  const cx_field *fields;
} cx_rec;

#define CX_STRUCT(T, ...)                                                 \
  typedef struct T {                                                      \
    CX_EACH(CX_FIELD_DECL, T, __VA_ARGS__)                                \
  } T;                                                                    \
  static const cx_field cx_fields_##T[] = { CX_EACH(CX_FIELD_DESC, T,     \
                                                    __VA_ARGS__) };       \
  static const cx_rec cx_rec_##T __attribute__((unused)) = {              \
    #T, sizeof(T), CX_NARG(__VA_ARGS__), cx_fields_##T                    \
  }
#define CX_FIELD_DECL(T, p) CX_CAT(CX_FIELD_DECL_, CX_NARG p) p
#define CX_FIELD_DECL_2(t, name) t name;
#define CX_FIELD_DECL_3(t, name, count) t name count;
#define CX_FIELD_DESC(T, p) CX_FIELD_DESC_(T, CX_FIELD_REC p, CX_FIELD_NAME p)
#define CX_FIELD_DESC_(...) CX_FIELD_DESC__(__VA_ARGS__)
#define CX_FIELD_DESC__(T, rec, f) \
  { #f, offsetof(T, f), sizeof(((T *)0)->f), &rec },
#define CX_FIELD_REC(t, ...) cx_rec_##t
#define CX_FIELD_NAME(...) CX_FIELD_NAME_(__VA_ARGS__, )
#define CX_FIELD_NAME_(t, name, ...) name

extern CX_API const cx_rec cx_rec_cx, cx_rec_cx_fn, cx_rec_cx_str,
    cx_rec_cx_dtype, cx_rec_cx_dims, cx_rec_bool, cx_rec__Bool, cx_rec_int,
    cx_rec_unsigned, cx_rec_int32_t, cx_rec_uint32_t, cx_rec_int64_t,
    cx_rec_uint64_t, cx_rec_size_t, cx_rec_float, cx_rec_double;

/* cx_pack(linear, .weight = w, .bias = b): a tree with the struct's names.
 * cx_as(linear, tree): the struct with its leaves; CX_ETREE with the path of
 * the first name that is missing or too many. */
#define cx_pack(T, ...) cx_pack_(&cx_rec_##T, &(const T){ __VA_ARGS__ }, CX_AT)
#define cx_as(T, tree) \
  (*(const T *)cx_as_(&cx_rec_##T, (tree), &(T){ 0 }, CX_AT))
CX_API CX_USED cx cx_pack_(const cx_rec *rec, const void *value,
                           const char *at);
CX_API const void *cx_as_(const cx_rec *rec, cx tree, void *out,
                          const char *at);

#ifdef __cplusplus
}
#endif
#endif
