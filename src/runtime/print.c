/* print.c - arrays as text, in NumPy's layout. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calx/array.h"
#include "calx/tree.h"
#include "ops/ops.h"
#include "trace/context.h"

/* More elements than this are shown by the first and last three per axis. */
enum { ALL = 1000, EDGE = 3 };

typedef struct layout {
  cx_aval type;
  const char *data;
  size_t bytes; /* of an element */
  bool cut;
  int width;
  int digits; /* after the point */
  bool scientific;
  int indent;
} layout;

/* Digits after the point that give a float back, at most 8, as NumPy. */
static int digits_of(cx_dtype type, double x) {
  char text[64];
  for (int d = 0; d < 8; d++) {
    snprintf(text, sizeof text, "%.*f", d, x);
    double back;
    sscanf(text, "%lf", &back);
    const bool same =
        type == CX_F64 ? !(back < x) && !(back > x)
                       : !((float)back < (float)x) && !((float)back > (float)x);
    if (same) return d;
  }
  return 8;
}

/* As few digits as give it back, then blanks: the points stand in line. */
static void print_fixed(char *out, size_t room, const layout *l, double x) {
  const int d = digits_of(l->type.type, x);
  snprintf(out, room, "%.*f%s%*s", d, x, d == 0 ? "." : "", l->digits - d, "");
}

static void print_element(char *out, size_t room, const layout *l,
                          const void *at) {
  const cx_dtype type = l->type.type;
  uint64_t bits;
  switch (cxi_dtype_kind(type)) {
  case CXI_BOOLEAN:
    snprintf(out, room, "%s", *(const uint8_t *)at ? "true" : "false");
    break;
  case CXI_FLOAT: {
    const double x = cxi_element_get(type, at);
    if (isnan(x))
      snprintf(out, room, "nan");
    else if (isinf(x))
      snprintf(out, room, x < 0 ? "-inf" : "inf");
    else if (l->scientific)
      snprintf(out, room, "%.*e", l->digits, x);
    else if (l->digits == 0)
      snprintf(out, room, "%.0f.", x);
    else
      print_fixed(out, room, l, x);
    break;
  }
  case CXI_RANDOM_KEY:
    memcpy(&bits, at, sizeof bits);
    snprintf(out, room, "key:%016" PRIx64, bits);
    break;
  case CXI_UNSIGNED:
    snprintf(out, room, "%" PRIu64, (uint64_t)cxi_element_get_int(type, at));
    break;
  default:
    snprintf(out, room, "%" PRId64, cxi_element_get_int(type, at));
  }
}

/* Calls f on each element that is shown. */
static void each_shown(layout *l, int axis, const char *at,
                       void (*f)(layout *, const char *at)) {
  const cx_dims *shape = &l->type.shape;
  if (axis == shape->n) {
    f(l, at);
    return;
  }
  int64_t inner = 1;
  for (int i = axis + 1; i < shape->n; i++) inner *= shape->d[i];
  for (int64_t i = 0; i < shape->d[axis]; i++) {
    if (l->cut && shape->d[axis] > 2 * EDGE && i == EDGE)
      i = shape->d[axis] - EDGE;
    each_shown(l, axis + 1, at + i * inner * (int64_t)l->bytes, f);
  }
}

static void measure_digits(layout *l, const char *at) {
  const double x = cxi_element_get(l->type.type, at);
  if (!isfinite(x)) return;
  const double size = fabs(x);
  if (size > 0 && (size >= 1e8 || size < 1e-4)) l->scientific = true;
  const int d = digits_of(l->type.type, x);
  if (d > l->digits) l->digits = d;
}

static void measure_width(layout *l, const char *at) {
  char text[400];
  print_element(text, sizeof text, l, at);
  const int n = (int)strlen(text);
  if (n > l->width) l->width = n;
}

static void print_axis(const layout *l, int axis, const char *at) {
  const cx_dims *shape = &l->type.shape;
  if (axis == shape->n) {
    char text[400];
    print_element(text, sizeof text, l, at);
    printf("%*s", l->width, text);
    return;
  }
  int64_t inner = 1;
  for (int i = axis + 1; i < shape->n; i++) inner *= shape->d[i];
  const bool last = axis == shape->n - 1;
  putchar('[');
  for (int64_t i = 0; i < shape->d[axis]; i++) {
    if (i > 0 && last) putchar(' ');
    if (i > 0 && !last) {
      for (int k = axis; k < shape->n - 1; k++) putchar('\n');
      for (int k = 0; k <= axis + l->indent; k++) putchar(' ');
    }
    if (l->cut && shape->d[axis] > 2 * EDGE && i == EDGE) {
      printf("...");
      i = shape->d[axis] - EDGE - 1;
      continue;
    }
    print_axis(l, axis + 1, at + i * inner * (int64_t)l->bytes);
  }
  putchar(']');
}

static void print_array(cx a, int indent) {
  uint64_t store;
  const cxi_item item = cxi_number_strong(cxi_item_for("print", a));
  const void *data = NULL;
  if (item.kind == CXI_ITEM_NUMBER) {
    store = item.as.bits;
    data = &store;
  } else if (item.kind == CXI_ITEM_ARRAY && cxi_array_alive(item.as.array)) {
    data = item.as.array->data;
  }
  if (!data) {
    printf("%s", cx_show(a));
    return;
  }
  layout l = { .type = *cxi_type_aval(item.type),
               .data = data,
               .indent = indent };
  l.bytes = cxi_dtype_bytes(l.type.type);
  const int64_t n = cxi_dims_count(&l.type.shape);
  l.cut = n > ALL;
  if (n > 0 && cxi_dtype_is_float(l.type.type)) {
    each_shown(&l, 0, data, measure_digits);
    if (l.scientific) l.digits = l.digits < 8 ? l.digits : 8;
  }
  if (n > 0) each_shown(&l, 0, data, measure_width);
  print_axis(&l, 0, data);
}

void cx_print_(cx tree, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const int n = cx_leaf_count(tree);
  if (cxi_item_peek(tree).kind != CXI_ITEM_TREE) {
    print_array(tree, 0);
    putchar('\n');
    return;
  }
  for (int i = 0; i < n; i++) {
    const char *path = cx_leaf_path(tree, i);
    printf("%s: ", path);
    print_array(cx_leaf_(tree, i, NULL), (int)strlen(path) + 2);
    putchar('\n');
  }
}
