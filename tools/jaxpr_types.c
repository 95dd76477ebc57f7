/* jaxpr_types.c - dtypes, lists, types and parameters of recorded programs. */
#include "jaxpr_text.h"

#include <string.h>

/* -- dtypes, lists, types ------------------------------------------------- */

static const struct {
  const char *jax, *calx;
  cx_dtype type;
} dtypes[] = {
  { "bool", "bool", CX_BOOL },     { "int8", "i8", CX_I8 },
  { "uint8", "u8", CX_U8 },        { "int16", "i16", CX_I16 },
  { "uint16", "u16", CX_U16 },     { "int32", "i32", CX_I32 },
  { "uint32", "u32", CX_U32 },     { "int64", "i64", CX_I64 },
  { "uint64", "u64", CX_U64 },     { "float16", "f16", CX_F16 },
  { "bfloat16", "bf16", CX_BF16 }, { "float32", "f32", CX_F32 },
  { "float64", "f64", CX_F64 },    { "key<fry>", "key", CX_KEY },
};
cx_dtype jaxpr_dtype(const char *name) {
  for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++)
    if (!strcmp(dtypes[i].jax, name)) return dtypes[i].type;
  return 0;
}

const char *jaxpr_dtype_text(cx_dtype dtype) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].type == dtype) return dtypes[i].calx;
  return "?";
}

cx_dims jaxpr_dims(const json_t *list) {
  cx_dims dims = { .n = (int)json_array_size(list) };
  if (dims.n > CX_MAX_DIMS) dims.n = CX_MAX_DIMS;
  for (int i = 0; i < dims.n; i++)
    dims.d[i] = json_integer_value(json_array_get(list, (size_t)i));
  return dims;
}

bool jaxpr_is_float(cx_dtype dtype) {
  return dtype == CX_F16 || dtype == CX_BF16 || dtype == CX_F32 ||
         dtype == CX_F64;
}

cx_dims jaxpr_column(const json_t *rows, size_t k) {
  cx_dims dims = { .n = (int)json_array_size(rows) };
  if (dims.n > CX_MAX_DIMS) dims.n = CX_MAX_DIMS;
  for (int i = 0; i < dims.n; i++)
    dims.d[i] =
        json_integer_value(json_array_get(json_array_get(rows, (size_t)i), k));
  return dims;
}

static char *room(void) {
  static char rooms[16][256];
  static int next;
  return rooms[next++ % 16];
}

static int print_numbers(char *text, size_t bytes, cx_dims dims) {
  int at = 0;
  text[0] = 0;
  for (int i = 0; i < dims.n; i++)
    at += snprintf(text + at, bytes - (size_t)at, "%s%lld", i ? "," : "",
                   (long long)dims.d[i]);
  return at;
}

const char *jaxpr_list(cx_dims dims) {
  char *text = room(), numbers[240];
  print_numbers(numbers, sizeof numbers, dims);
  snprintf(text, 256, "(%s)", numbers);
  return text;
}

const char *jaxpr_ints(const json_t *list) {
  return jaxpr_list(jaxpr_dims(list));
}

const char *jaxpr_type(cx_dtype dtype, cx_dims shape) {
  char *text = room(), numbers[230];
  print_numbers(numbers, sizeof numbers, shape);
  snprintf(text, 256, "%s[%s]", jaxpr_dtype_text(dtype), numbers);
  return text;
}

ref jaxpr_binding(jaxpr_writer *w, const json_t *b) {
  const char *name = json_string_value(json_object_get(b, "dtype"));
  const json_t *shape = json_object_get(b, "shape");
  ref r = { .dtype = jaxpr_dtype(name), .shape = jaxpr_dims(shape) };
  if (!r.dtype) return jaxpr_missing(w, name ? name : "a value without dtype");
  if (json_array_size(shape) > CX_MAX_DIMS)
    return jaxpr_missing(w, "more than 8 axes");
  return r;
}

/* -- parameters ----------------------------------------------------------- */

const json_t *jaxpr_param(const jaxpr_equation *e, const char *name) {
  return json_object_get(e->k, name);
}

json_int_t jaxpr_integer(const jaxpr_equation *e, const char *name) {
  return json_integer_value(jaxpr_param(e, name));
}

const char *jaxpr_truth(const jaxpr_equation *e, const char *name) {
  return json_is_true(jaxpr_param(e, name)) ? "true" : "false";
}

const char *jaxpr_enum(const jaxpr_equation *e, const char *name) {
  const char *s =
      json_string_value(json_object_get(jaxpr_param(e, name), "enum"));
  return s ? s : "";
}
