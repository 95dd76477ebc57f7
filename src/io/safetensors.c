/* safetensors.c - reads and writes safetensors headers. */
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "io/json.h"

/* The format allows headers of 100 MB; ten million bytes hold 10^5 tensors,
 * and reading costs some fifteen times the header's size in memory. */
enum { MAX_HEADER_BYTES = 10000000 };

/* -- dtypes --------------------------------------------------------------- */

typedef struct file_dtype {
  const char *name;
  int bits;
  cx_dtype type; /* 0: known to the format, not to Calx */
} file_dtype;
static const file_dtype dtypes[] = {
  { "BOOL", 8, CX_BOOL },  { "U8", 8, CX_U8 },    { "I8", 8, CX_I8 },
  { "U16", 16, CX_U16 },   { "I16", 16, CX_I16 }, { "F16", 16, CX_F16 },
  { "BF16", 16, CX_BF16 }, { "U32", 32, CX_U32 }, { "I32", 32, CX_I32 },
  { "F32", 32, CX_F32 },   { "U64", 64, CX_U64 }, { "I64", 64, CX_I64 },
  { "F64", 64, CX_F64 },   { "C64", 64, 0 },      { "F8_E4M3", 8, 0 },
  { "F8_E5M2", 8, 0 },     { "F8_E8M0", 8, 0 },   { "F8_E4M3FNUZ", 8, 0 },
  { "F8_E5M2FNUZ", 8, 0 }, { "F6_E2M3", 6, 0 },   { "F6_E3M2", 6, 0 },
  { "F4", 4, 0 },
};
static const file_dtype *find_dtype(const char *name) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
  return NULL;
}
static const char *dtype_name(cx_dtype type) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].type == type) return dtypes[i].name;
  return NULL;
}

/* -- one entry ------------------------------------------------------------ */

static bool refuse(cxi_error *error, const char *name, const char *why) {
  return cxi_error_set(error, CX_EIO, "safetensors: \"%.120s\": %s", name, why);
}
/* A size: an integer, not negative, at most 48 bits. */
static bool read_size(const json_t *x, uint64_t *out) {
  json_int_t value = json_is_integer(x) ? json_integer_value(x) : -1;
  if (value < 0 || value > (json_int_t)281474976710655) return false;
  *out = (uint64_t)value;
  return true;
}
static bool read_shape(const char *name, const json_t *list, cx_aval *type,
                       int bits, uint64_t *out_bytes, cxi_error *error) {
  uint64_t size, count = 1;
  bool zero = false;
  if (!json_is_array(list)) return refuse(error, name, "shape is no list");
  if (json_array_size(list) > CX_MAX_DIMS)
    return refuse(error, name, "more than 8 axes");
  type->shape.n = (int)json_array_size(list);
  for (int i = 0; i < type->shape.n; i++) {
    if (!read_size(json_array_get(list, (size_t)i), &size))
      return refuse(error, name, "shape holds no size");
    type->shape.d[i] = (int64_t)size;
    zero = zero || size == 0;
    if (__builtin_mul_overflow(count, size ? size : 1, &count))
      return refuse(error, name, "shape overflows");
  }
  if (zero) count = 0;
  if (__builtin_mul_overflow(count, (uint64_t)bits, &count) ||
      count > INT64_MAX)
    return refuse(error, name, "shape overflows");
  if (count % 8) return refuse(error, name, "its bits fill no whole byte");
  *out_bytes = count / 8;
  return true;
}
static bool read_entry(const char *name, const json_t *object,
                       cxi_tensor_entry *e, cxi_error *error) {
  const json_t *offsets = json_object_get(object, "data_offsets");
  const char *dtype = json_string_value(json_object_get(object, "dtype"));
  uint64_t bytes = 0;
  if (!json_is_object(object) || json_object_size(object) != 3 || !dtype)
    return refuse(error, name, "needs dtype, shape and data_offsets, no more");
  const file_dtype *d = find_dtype(dtype);
  if (!d) return refuse(error, name, "unknown dtype");
  if (!read_shape(name, json_object_get(object, "shape"), &e->type, d->bits,
                  &bytes, error))
    return false;
  if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
      !read_size(json_array_get(offsets, 0), &e->begin) ||
      !read_size(json_array_get(offsets, 1), &e->end) || e->end < e->begin)
    return refuse(error, name, "data_offsets are no range");
  if (e->end - e->begin != bytes)
    return refuse(error, name, "data_offsets and shape differ in bytes");
  e->type.type = d->type;
  strcpy(e->dtype, d->name);
  e->name = cxi_copy_string(name);
  return e->name ||
         cxi_error_set(error, CX_EMEMORY, "safetensors: out of memory");
}

/* -- the header ----------------------------------------------------------- */

static int by_offset(const void *a, const void *b) {
  const cxi_tensor_entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}
static bool check_metadata(const json_t *object, cxi_error *error) {
  const char *key;
  json_t *value;
  if (!json_is_object(object))
    return refuse(error, "__metadata__", "must map strings to strings");
  json_object_foreach((json_t *)object, key, value) if (
      !json_is_string(value)) return refuse(error, "__metadata__",
                                            "must map strings to strings");
  return true;
}
static bool read_entries(const json_t *root, cxi_safetensors *out,
                         cxi_error *error) {
  const char *name;
  json_t *object;
  size_t n = json_object_size(root);
  out->entries = cxi_alloc_zeroed(n + 1, sizeof *out->entries);
  if (!out->entries)
    return cxi_error_set(error, CX_EMEMORY, "safetensors: out of memory");
  json_object_foreach((json_t *)root, name, object) {
    bool is_metadata = strcmp(name, "__metadata__") == 0;
    if (is_metadata && !check_metadata(object, error)) return false;
    if (is_metadata) continue;
    if (!read_entry(name, object, &out->entries[out->n], error)) return false;
    out->n++;
  }
  return true;
}
/* The data of all tensors fill the rest of the file, without gap or overlap. */
static bool check_ranges(cxi_safetensors *out, uint64_t start, uint64_t size,
                         cxi_error *error) {
  uint64_t at = 0;
  if (out->n) qsort(out->entries, out->n, sizeof *out->entries, by_offset);
  for (uint32_t i = 0; i < out->n; i++) {
    cxi_tensor_entry *e = &out->entries[i];
    if (e->begin != at)
      return refuse(error, e->name,
                    e->begin < at ? "overlaps another tensor"
                                  : "bytes before it are nobody's");
    at = e->end;
    if (at > size - start)
      return refuse(error, e->name, "reaches past the file");
    e->begin += start, e->end += start;
  }
  if (at == size - start) return true;
  return cxi_error_set(error, CX_EIO,
                       "safetensors: %llu bytes after the last "
                       "tensor",
                       (unsigned long long)(size - start - at));
}
bool cxi_safetensors_parse(const unsigned char *file, size_t size,
                           cxi_safetensors *out, cxi_error *error) {
  uint64_t length = 0;
  *out = (cxi_safetensors){ 0 };
  if (size < 8)
    return cxi_error_set(error, CX_EIO,
                         "safetensors: %zu bytes are no file of "
                         "this kind",
                         size);
  for (int i = 7; i >= 0; i--) length = length << 8 | file[i];
  if (length > size - 8)
    return cxi_error_set(error, CX_EIO,
                         "safetensors: a header of %llu bytes in a "
                         "file of %zu",
                         (unsigned long long)length, size);
  if (length > MAX_HEADER_BYTES)
    return cxi_error_set(error, CX_EIO,
                         "safetensors: a header of %llu bytes is "
                         "too large",
                         (unsigned long long)length);
  json_error_t where;
  json_t *root = json_loadb((const char *)file + 8, (size_t)length,
                            JSON_REJECT_DUPLICATES, &where);
  bool ok = root != NULL;
  if (!ok)
    cxi_error_set(error, cxi_json_code(&where),
                  "safetensors: header: %s (byte %d)", cxi_json_text(&where),
                  where.position);
  else if (!json_is_object(root))
    ok = cxi_error_set(error, CX_EIO, "safetensors: the header is no object");
  ok = ok && read_entries(root, out, error) &&
       check_ranges(out, 8 + length, size, error);
  json_decref(root);
  if (!ok) cxi_safetensors_free(out);
  return ok;
}
void cxi_safetensors_free(cxi_safetensors *list) {
  for (uint32_t i = 0; list->entries && i < list->n; i++)
    cxi_free(list->entries[i].name);
  cxi_free(list->entries);
  *list = (cxi_safetensors){ 0 };
}

/* -- writing -------------------------------------------------------------- */

static int by_size_and_name(const void *a, const void *b) {
  const cxi_tensor_entry *x = a, *y = b;
  size_t p = cxi_dtype_bytes(x->type.type), q = cxi_dtype_bytes(y->type.type);
  return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}
/* {"dtype": ..., "shape": [...], "data_offsets": [...]}; NULL without memory */
static json_t *entry_json(const cxi_tensor_entry *e) {
  json_t *shape = json_array();
  bool whole = shape != NULL;
  for (int i = 0; whole && i < e->type.shape.n; i++)
    whole = json_array_append_new(shape, json_integer(e->type.shape.d[i])) == 0;
  if (!whole) {
    json_decref(shape);
    return NULL;
  }
  return json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtype_name(e->type.type),
                   "shape", shape, "data_offsets", (json_int_t)e->begin,
                   (json_int_t)e->end);
}
static bool add_entry(json_t *root, const cxi_tensor_entry *e,
                      cxi_error *error) {
  if (!dtype_name(e->type.type))
    return cxi_error_set(error, CX_EDTYPE,
                         "safetensors: \"%s\" is %s, which files cannot hold",
                         e->name, cxi_dtype_name(e->type.type));
  json_t *entry = entry_json(e);
  if (!entry)
    return cxi_error_set(error, CX_EMEMORY, "safetensors: out of memory");
  if (json_object_get(root, e->name))
    json_decref(entry);
  else if (json_object_set_new(root, e->name, entry) == 0)
    return true;
  return cxi_error_set(error, CX_EIO,
                       "safetensors: \"%s\": no such name can be written",
                       e->name);
}
static json_t *header_json(cxi_safetensors *list, cxi_error *error) {
  json_t *root = json_object();
  uint64_t at = 0;
  bool ok =
      root || cxi_error_set(error, CX_EMEMORY, "safetensors: out of memory");
  for (uint32_t i = 0; ok && i < list->n; i++) {
    cxi_tensor_entry *e = &list->entries[i];
    e->begin = at, e->end = at += (uint64_t)cxi_aval_bytes(&e->type);
    ok = add_entry(root, e, error);
  }
  if (ok) return root;
  json_decref(root);
  return NULL;
}
unsigned char *cxi_safetensors_header(cxi_safetensors *list, size_t *out_bytes,
                                      cxi_error *error) {
  if (list->n)
    qsort(list->entries, list->n, sizeof *list->entries, by_size_and_name);
  json_t *root = header_json(list, error);
  if (!root) return NULL;
  char *text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  size_t length = text ? strlen(text) : 0, padded = (length + 7) / 8 * 8;
  unsigned char *header = text ? cxi_alloc(8 + padded) : NULL;
  if (header) {
    for (int i = 0; i < 8; i++)
      header[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    memcpy(header + 8, text, length);
    memset(header + 8 + length, ' ', padded - length);
    *out_bytes = 8 + padded;
  } else {
    cxi_error_set(error, CX_EMEMORY, "safetensors: out of memory");
  }
  free(text);
  return header;
}
