/* debug_text.c - the lines of debug prints: a format with {} for arrays. */
#include "primitives/debug_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"

/* -- the format ------------------------------------------------------------ */

/* One {:WIDTH.PRECISIONe}. */
typedef struct spec {
  int width, precision; /* -1: not given */
  char how;             /* e, f, g; 0: not given */
} spec;

enum { MOST_DIGITS = 40, EDGE = 3, MOST_SHOWN = 1000 };

static int read_number(const char **at) {
  int n = 0;
  while (**at >= '0' && **at <= '9' && n <= MOST_DIGITS)
    n = 10 * n + (*(*at)++ - '0');
  return n;
}

/* Behind the "{"; the place behind the "}", NULL if it is no spec. */
static const char *read_spec(const char *at, spec *out) {
  *out = (spec){ -1, -1, 0 };
  if (*at == '}') return at + 1;
  if (*at++ != ':') return NULL;
  if (*at >= '0' && *at <= '9') out->width = read_number(&at);
  if (*at == '.') {
    at++;
    if (*at < '0' || *at > '9') return NULL;
    out->precision = read_number(&at);
  }
  if (*at == 'e' || *at == 'f' || *at == 'g') out->how = *at++;
  if (*at != '}' || out->width > MOST_DIGITS || out->precision > MOST_DIGITS)
    return NULL;
  return at + 1;
}

bool cxi_debug_format_check(const char *format, uint32_t n,
                            const cxi_type *types, cxi_error *error) {
  uint32_t used = 0;
  for (const char *at = format; *at;) {
    const char c = *at++;
    if (c != '{' && c != '}') continue;
    if (*at == c) {
      at++;
      continue;
    }
    spec s;
    const char *end = c == '{' ? read_spec(at, &s) : NULL;
    if (!end)
      return cxi_error_set(error, CX_EUSER, "\"%.40s\" is no {}, {:.3} or {{",
                           at - 1);
    if (used < n && (s.how || s.precision >= 0) &&
        !cxi_dtype_is_float(cxi_type_dtype(types[used])))
      return cxi_error_set(error, CX_EUSER,
                           "digits are given for array %u, which is not"
                           " floating",
                           used);
    used++;
    at = end;
  }
  if (used == n) return true;
  return cxi_error_set(error, CX_EUSER,
                       "the format has %u places for %u arrays", used, n);
}

/* -- text that grows ------------------------------------------------------- */

typedef struct line {
  char *text;
  uint32_t n, cap;
  bool failed;
} line;

static void add_n(line *l, const char *text, size_t n) {
  if (l->failed || !cxi_grow(&l->text, &l->cap, l->n + n + 1, 1)) {
    l->failed = true;
    return;
  }
  memcpy(l->text + l->n, text, n);
  l->n += (uint32_t)n;
  l->text[l->n] = 0;
}

static void add(line *l, const char *text) {
  add_n(l, text, strlen(text));
}

/* -- elements -------------------------------------------------------------- */

static bool gives_back(cx_dtype type, const char *text, double x) {
  const double back = strtod(text, NULL);
  if (type == CX_F64) return !(back < x) && !(back > x);
  uint64_t a = 0, b = 0;
  cxi_element_set(type, &a, back);
  cxi_element_set(type, &b, x);
  return a == b;
}

/* As few digits as give it back; 100, not 1e+02. */
static void print_shortest(char *out, size_t room, cx_dtype type, double x) {
  const bool plain = fabs(x) >= 1e-4 && fabs(x) < 1e16;
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(out, room, "%.*g", digits, x);
    if (gives_back(type, out, x) && !(plain && strchr(out, 'e'))) return;
  }
}

static void print_float(char *out, size_t room, cx_dtype type, const spec *s,
                        double x) {
  if (isnan(x))
    snprintf(out, room, "nan"); /* without a sign */
  else if (!s->how && s->precision < 0)
    print_shortest(out, room, type, x);
  else if (s->how == 'e')
    snprintf(out, room, "%.*e", s->precision < 0 ? 6 : s->precision, x);
  else if (s->how == 'f')
    snprintf(out, room, "%.*f", s->precision < 0 ? 6 : s->precision, x);
  else
    snprintf(out, room, "%.*g", s->precision < 0 ? 6 : s->precision, x);
}

static void add_element(line *l, cx_dtype type, const spec *s, const void *at) {
  char text[400], padded[MOST_DIGITS + 400];
  uint64_t bits = 0;
  switch (cxi_dtype_kind(type)) {
  case CXI_BOOLEAN:
    snprintf(text, sizeof text, "%s", *(const uint8_t *)at ? "true" : "false");
    break;
  case CXI_FLOAT:
    print_float(text, sizeof text, type, s, cxi_element_get(type, at));
    break;
  case CXI_UNSIGNED:
    memcpy(&bits, at, cxi_dtype_bytes(type));
    snprintf(text, sizeof text, "%" PRIu64, bits);
    break;
  case CXI_SIGNED:
    snprintf(text, sizeof text, "%" PRId64, cxi_element_get_int(type, at));
    break;
  default:
    memcpy(&bits, at, sizeof bits);
    snprintf(text, sizeof text, "key:%016" PRIx64, bits);
  }
  snprintf(padded, sizeof padded, "%*s", s->width < 0 ? 0 : s->width, text);
  add(l, padded);
}

/* -- arrays ---------------------------------------------------------------- */

/* [[1 2 3] [4 5 6]], on one line; of long axes the ends, if the array is large.
 * Axis by axis, at most 8 deep. */
static void add_axis(line *l, const cxi_view *v, const spec *s, int axis,
                     const char *at, bool cut) {
  if (axis == v->type.shape.n) {
    add_element(l, v->type.type, s, at);
    return;
  }
  const int64_t n = v->type.shape.d[axis];
  const int64_t step =
      v->strides[axis] * (int64_t)cxi_dtype_bytes(v->type.type);
  add(l, "[");
  for (int64_t i = 0; i < n; i++) {
    if (i) add(l, " ");
    if (cut && n > 2 * EDGE && i == EDGE) {
      add(l, "... ");
      i = n - EDGE;
    }
    add_axis(l, v, s, axis + 1, at + i * step, cut);
  }
  add(l, "]");
}

char *cxi_debug_text(const char *format, const cxi_view *in) {
  line l = { 0 };
  add(&l, "");
  for (const char *at = format; *at;) {
    const size_t plain = strcspn(at, "{}");
    add_n(&l, at, plain);
    at += plain;
    if (!*at) break;
    if (at[1] == *at) {
      add_n(&l, at, 1);
      at += 2;
      continue;
    }
    spec s;
    at = read_spec(at + 1, &s);
    add_axis(&l, in, &s, 0, in->data,
             cxi_dims_count(&in->type.shape) > MOST_SHOWN);
    in++;
  }
  add(&l, "\n");
  if (!l.failed) return l.text;
  cxi_free(l.text);
  return NULL;
}
