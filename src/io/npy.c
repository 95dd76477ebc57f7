/* npy.c - reads and writes NumPy's headers (format 1.0 to 3.0: NumPy's
 * numpy.lib.format).
 *
 * The header is a literal of Python: {'descr': '<f4', 'fortran_order': False,
 * 'shape': (3, 4), }. Only such a dict is read; there are no expressions, and
 * arrays of objects, which hold pickles, are refused. */
#include "io/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

/* -- dtypes --------------------------------------------------------------- */

typedef struct npy_dtype {
  char kind;
  int bytes;
  cx_dtype type;
} npy_dtype;
static const npy_dtype dtypes[] = {
  { 'b', 1, CX_BOOL }, { 'i', 1, CX_I8 },  { 'u', 1, CX_U8 },
  { 'i', 2, CX_I16 },  { 'u', 2, CX_U16 }, { 'f', 2, CX_F16 },
  { 'i', 4, CX_I32 },  { 'u', 4, CX_U32 }, { 'f', 4, CX_F32 },
  { 'i', 8, CX_I64 },  { 'u', 8, CX_U64 }, { 'f', 8, CX_F64 },
};

static bool refuse(cxi_error *error, const char *why) {
  return cxi_error_set(error, CX_EIO, "npy: %s", why);
}

/* "<f4": the order of bytes, the kind, the bytes of an element. Other kinds of
 * NumPy's have a size but no dtype here. */
static bool read_dtype(cxi_npy *npy, uint64_t *out_bytes, cxi_error *error) {
  const char *d = npy->dtype;
  const char order = *d, kind = order ? d[1] : 0;
  if (!order || !strchr("<>=|", order)) return refuse(error, "descr: no dtype");
  if (kind == 'O')
    return cxi_error_set(error, CX_EDTYPE,
                         "npy: objects are pickles, which are not read");
  if (!kind || !strchr("biufcSUVmM", kind) || d[2] < '0' || d[2] > '9')
    return refuse(error, "descr: no dtype");
  char *end;
  const unsigned long bytes = strtoul(d + 2, &end, 10);
  const bool date = (kind == 'm' || kind == 'M') && *end == '[';
  if ((*end && !date) || bytes > 1 << 20)
    return refuse(error, "descr: no dtype");
  *out_bytes = kind == 'U' ? 4 * bytes : bytes;
  npy->big = order == '>';
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].kind == kind && (unsigned long)dtypes[i].bytes == bytes)
      npy->type.type = dtypes[i].type;
  /* Without an order, only bytes have a meaning. */
  if (npy->type.type && order == '|' && bytes > 1) npy->type.type = 0;
  return true;
}

/* -- the dict ------------------------------------------------------------- */

typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_blanks(cursor *c) {
  while (c->at < c->end && *c->at && strchr(" \t\r\n", *c->at)) c->at++;
}
static bool take(cursor *c, char want) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != want) return false;
  c->at++;
  return true;
}
/* A string without escapes, in either kind of quotes. */
static bool take_string(cursor *c, char *out, size_t room) {
  skip_blanks(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
  const char quote = *c->at++;
  size_t n = 0;
  while (c->at < c->end && *c->at != quote) {
    if (*c->at == '\\' || *c->at == '\n' || !*c->at || n + 1 == room)
      return false;
    out[n++] = *c->at++;
  }
  out[n] = 0;
  return take(c, quote);
}
static bool take_word(cursor *c, const char *word) {
  const size_t n = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
  c->at += n;
  return true;
}
/* An integer below 2^48; the L that Python 2 wrote after some is passed. */
static bool take_size(cursor *c, int64_t *out) {
  int64_t value = 0;
  int digits = 0;
  skip_blanks(c);
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, digits++) {
    value = value * 10 + (*c->at - '0');
    if (value >> 48) return false;
  }
  if (c->at < c->end && *c->at == 'L') c->at++;
  *out = value;
  return digits > 0;
}
/* (), (3,) or (3, 4): a number in parentheses alone is no tuple. */
static bool take_shape(cursor *c, cx_dims *out) {
  bool comma = true;
  *out = (cx_dims){ 0 };
  if (!take(c, '(')) return false;
  while (!take(c, ')')) {
    if (!comma || out->n == CX_MAX_DIMS || !take_size(c, &out->d[out->n]))
      return false;
    out->n++;
    comma = take(c, ',');
  }
  return out->n != 1 || comma;
}

enum { DESCR = 1, ORDER = 2, SHAPE = 4 };

static bool read_value(cursor *c, const char *key, cxi_npy *npy, int *seen,
                       cxi_error *error) {
  int field = !strcmp(key, "descr")           ? DESCR
              : !strcmp(key, "fortran_order") ? ORDER
              : !strcmp(key, "shape")         ? SHAPE
                                              : 0;
  if (!field) return refuse(error, "the header has an unknown key");
  if (*seen & field) return refuse(error, "the header has a key twice");
  *seen |= field;
  if (field == DESCR) {
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[')
      return cxi_error_set(error, CX_EDTYPE, "npy: records are not read");
    if (!take_string(c, npy->dtype, sizeof npy->dtype))
      return refuse(error, "descr: no dtype");
  } else if (field == ORDER) {
    npy->fortran = take_word(c, "True");
    if (!npy->fortran && !take_word(c, "False"))
      return refuse(error, "fortran_order is neither True nor False");
  } else if (!take_shape(c, &npy->type.shape)) {
    return refuse(error, "shape is no tuple of at most 8 sizes");
  }
  return true;
}
static bool read_dict(cursor *c, cxi_npy *npy, cxi_error *error) {
  int seen = 0;
  bool comma = true;
  char key[16];
  if (!take(c, '{')) return refuse(error, "the header is no dict");
  while (!take(c, '}')) {
    if (!comma || !take_string(c, key, sizeof key) || !take(c, ':'))
      return refuse(error, "the header is no dict of three names");
    if (!read_value(c, key, npy, &seen, error)) return false;
    comma = take(c, ',');
  }
  skip_blanks(c);
  if (c->at != c->end) return refuse(error, "bytes after the header's dict");
  if (seen != (DESCR | ORDER | SHAPE))
    return refuse(error, "the header lacks descr, fortran_order or shape");
  return true;
}

/* -- the file ------------------------------------------------------------- */

/* The product of the sizes with bytes, with overflow checks; a size 0 counts
 * only after the others were found to be sound. */
static bool count_bytes(const cx_dims *shape, uint64_t bytes, uint64_t *out) {
  bool empty = false;
  int64_t total = (int64_t)bytes;
  for (int i = 0; i < shape->n; i++) {
    if (shape->d[i] == 0)
      empty = true;
    else
      total = cxi_size_mul(total, shape->d[i]);
    if (total < 0) return false;
  }
  *out = empty ? 0 : (uint64_t)total;
  return true;
}
bool cxi_npy_parse(const unsigned char *file, size_t size, cxi_npy *out,
                   cxi_error *error) {
  *out = (cxi_npy){ 0 };
  if (size < 10 || memcmp(file, "\x93NUMPY", 6) != 0)
    return refuse(error, "no file of NumPy's");
  const int version = file[6];
  if (version < 1 || version > 3 || file[7] != 0)
    return cxi_error_set(error, CX_EIO, "npy: unknown version %d.%d", version,
                         file[7]);
  const size_t prefix = version == 1 ? 10 : 12;
  if (size < prefix) return refuse(error, "the header is cut off");
  size_t length = (size_t)file[8] | (size_t)file[9] << 8;
  if (version > 1) length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
  if (length > CXI_NPY_MAX_HEADER - prefix)
    return refuse(error, "the header is longer than 65536 bytes");
  if (length > size - prefix) return refuse(error, "the header is cut off");
  cursor c = { (const char *)file + prefix,
               (const char *)file + prefix + length };
  uint64_t bytes = 0;
  if (!read_dict(&c, out, error) || !read_dtype(out, &bytes, error))
    return false;
  if (!count_bytes(&out->type.shape, bytes, &out->bytes))
    return refuse(error, "the shape overflows");
  out->offset = prefix + length;
  return true;
}

/* -- elements ------------------------------------------------------------- */

static void copy_element(unsigned char *to, const unsigned char *from,
                         size_t bytes, bool reversed) {
  for (size_t i = 0; i < bytes; i++) to[i] = from[reversed ? bytes - 1 - i : i];
}
/* Walks the result in its order; `at` is the element's place in the file. */
void cxi_npy_elements(const cxi_npy *npy, const unsigned char *elements,
                      void *to) {
  const cx_dims *shape = &npy->type.shape;
  const size_t bytes = cxi_dtype_bytes(npy->type.type);
  const uint64_t count = npy->bytes / bytes;
  const bool column = npy->fortran && shape->n > 1;
  if (!column && (!npy->big || bytes == 1)) {
    if (npy->bytes) memcpy(to, elements, npy->bytes);
    return;
  }
  int64_t index[CX_MAX_DIMS] = { 0 }, stride[CX_MAX_DIMS], at = 0, step = 1;
  for (int i = 0; i < shape->n; i++) {
    const int axis = column ? i : shape->n - 1 - i;
    stride[axis] = step;
    step *= shape->d[axis];
  }
  unsigned char *out = to;
  for (uint64_t i = 0; i < count; i++) {
    copy_element(out + i * bytes, elements + (size_t)at * bytes, bytes,
                 npy->big);
    for (int axis = shape->n - 1; axis >= 0; axis--) {
      at += stride[axis];
      if (++index[axis] < shape->d[axis]) break;
      at -= stride[axis] * shape->d[axis];
      index[axis] = 0;
    }
  }
}

/* -- writing -------------------------------------------------------------- */

bool cxi_npy_header(cx_aval type, unsigned char out[CXI_NPY_HEADER],
                    size_t *out_bytes, cxi_error *error) {
  const npy_dtype *d = NULL;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].type == type.type) d = &dtypes[i];
  if (!d)
    return cxi_error_set(error, CX_EDTYPE,
                         "NumPy has no %s: cast it, or write .safetensors",
                         cxi_dtype_name(type.type));
  enum { PREFIX = 10 };
  char *text = (char *)out + PREFIX;
  const size_t room = CXI_NPY_HEADER - PREFIX;
  size_t n = (size_t)snprintf(
      text, room, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
      d->bytes == 1 ? '|' : '<', d->kind, d->bytes);
  for (int i = 0; i < type.shape.n; i++)
    n += (size_t)snprintf(text + n, room - n, i ? " %lld," : "%lld,",
                          (long long)type.shape.d[i]);
  if (type.shape.n > 1) n--; /* its last comma */
  n += (size_t)snprintf(text + n, room - n, "), }");
  const size_t total = (PREFIX + n + 1 + 63) / 64 * 64;
  memset(text + n, ' ', total - PREFIX - n);
  out[total - 1] = '\n';
  const size_t length = total - PREFIX;
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (unsigned char)(length & 255);
  out[9] = (unsigned char)(length >> 8);
  *out_bytes = total;
  return true;
}
