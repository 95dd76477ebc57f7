/* compare.c - values against values: close, or equal bit for bit. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "testing/check.h"

static _Thread_local char failure[1024];

const char *cxi_check_fail(const char *at, const char *format, ...) {
  va_list args;
  int n = snprintf(failure, sizeof failure, "%s: ", at ? at : "check");
  va_start(args, format);
  if (n >= 0 && n < (int)sizeof failure)
    vsnprintf(failure + n, sizeof failure - (size_t)n, format, args);
  va_end(args);
  return failure;
}
const char *cxi_check_kept_error(const char *at, const char *what) {
  const char *message;
  if (cx_error(&message) == CX_OK) return NULL;
  return cxi_check_fail(at, "%s: %s", what, message);
}
bool cxi_check_is_float(cx leaf) {
  cx_dtype t = cx_type(leaf);
  return t == CX_F16 || t == CX_BF16 || t == CX_F32 || t == CX_F64;
}

/* -- the tolerance table -------------------------------------------------- */

/* Steps near the cube root of the dtype's unit of roundoff; the error of a
 * central difference is then about its square. */
cxi_tolerance cxi_check_tolerance(cx_dtype type) {
  switch (type) {
  case CX_F64:
    return (cxi_tolerance){ 1e-5, 1e-6, 1e-7, 1e-12 };
  case CX_F32:
    return (cxi_tolerance){ 1e-2, 1e-2, 2e-3, 1e-5 };
  case CX_F16:
    return (cxi_tolerance){ 1e-1, 1e-1, 5e-2, 1e-2 };
  default:
    return (cxi_tolerance){ 2e-1, 2e-1, 1e-1, 5e-2 };
  }
}
cx_dtype cxi_check_narrowest(cx tree) {
  static const cx_dtype order[] = { CX_BF16, CX_F16, CX_F32 };
  for (size_t k = 0; k < sizeof order / sizeof *order; k++)
    for (int i = 0; i < cx_leaf_count(tree); i++)
      if (cx_type(cx_leaf(tree, i)) == order[k]) return order[k];
  return CX_F64;
}

/* -- comparing ------------------------------------------------------------ */

static double element(cx_dtype t, const void *data, int64_t i) {
  switch (t) {
  case CX_BOOL:
    return ((const uint8_t *)data)[i];
  case CX_I8:
    return ((const int8_t *)data)[i];
  case CX_U8:
    return ((const uint8_t *)data)[i];
  case CX_I16:
    return ((const int16_t *)data)[i];
  case CX_U16:
    return ((const uint16_t *)data)[i];
  case CX_I32:
    return ((const int32_t *)data)[i];
  case CX_U32:
    return ((const uint32_t *)data)[i];
  case CX_I64:
    return (double)((const int64_t *)data)[i];
  case CX_U64:
  case CX_KEY:
    return (double)((const uint64_t *)data)[i];
  case CX_F32:
    return ((const float *)data)[i];
  default:
    return ((const double *)data)[i];
  }
}
static size_t bytes_of(cx a) {
  static const uint8_t width[] = {
    [CX_BOOL] = 1, [CX_I8] = 1,   [CX_U8] = 1,  [CX_I16] = 2, [CX_U16] = 2,
    [CX_F16] = 2,  [CX_BF16] = 2, [CX_I32] = 4, [CX_U32] = 4, [CX_F32] = 4,
    [CX_I64] = 8,  [CX_U64] = 8,  [CX_F64] = 8, [CX_KEY] = 8
  };
  return width[cx_type(a)] * (size_t)cx_size(a);
}
static bool same_type(cx a, cx b) {
  cx_dims s = cx_shape(a), t = cx_shape(b);
  return cx_type(a) == cx_type(b) && s.n == t.n &&
         memcmp(s.d, t.d, sizeof s.d[0] * (size_t)s.n) == 0;
}
static bool agree(double a, double b, double rtol, double atol) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= atol + rtol * fabs(b);
}
/* `path` is "" for an array that stands alone. */
static const char *compare_leaf(const char *at, const char *what,
                                const char *path, cx got, cx want, double rtol,
                                double atol) {
  char shown[104];
  if (!same_type(got, want)) {
    snprintf(shown, sizeof shown, "%s", cx_show(want));
    return cxi_check_fail(at, "%s%s%s: %s, wanted %s", what, *path ? " " : "",
                          path, cx_show(got), shown);
  }
  const void *a = cx_data(got), *b = cx_data(want);
  if (cx_size(got) == 0 || !a || !b) return NULL;
  if (rtol < 0 && memcmp(a, b, bytes_of(got)) == 0) return NULL;
  if (cx_type(got) == CX_F16 || cx_type(got) == CX_BF16) {
    if (rtol < 0)
      return cxi_check_fail(at, "%s%s%s: the bits differ", what,
                            *path ? " " : "", path);
    got = cx_cast(got, CX_F32), want = cx_cast(want, CX_F32);
    a = cx_data(got), b = cx_data(want);
  }
  bool exact = rtol < 0 || !cxi_check_is_float(got);
  double worst = -1;
  int64_t where = -1;
  for (int64_t i = 0; i < cx_size(got); i++) {
    double x = element(cx_type(got), a, i), y = element(cx_type(got), b, i);
    if (agree(x, y, exact ? 0 : rtol, exact ? 0 : atol)) continue;
    double difference = isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
    if (difference > worst) worst = difference, where = i;
  }
  if (where < 0) return NULL; /* equal but for the bits of a zero or NaN */
  return cxi_check_fail(at,
                        "%s%s%s: element %lld is %.17g, wanted %.17g "
                        "(%s%s)",
                        what, *path ? " " : "", path, (long long)where,
                        element(cx_type(got), a, where),
                        element(cx_type(got), b, where), cx_show(got),
                        exact ? ", bit for bit" : "");
}
const char *cxi_check_compare(const char *at, const char *what, cx got, cx want,
                              double rtol, double atol) {
  CX_SCOPE;
  const char *text = cxi_check_kept_error(at, what);
  if (text) return text;
  int n = cx_leaf_count(got), m = cx_leaf_count(want);
  if (n != m) return cxi_check_fail(at, "%s: %d arrays, wanted %d", what, n, m);
  for (int i = 0; !text && i < n; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s", cx_leaf_path(got, i));
    if (strcmp(path, cx_leaf_path(want, i)) != 0)
      return cxi_check_fail(at, "%s: \"%s\", wanted \"%s\"", what, path,
                            cx_leaf_path(want, i));
    text = compare_leaf(at, what, path, cx_leaf(got, i), cx_leaf(want, i), rtol,
                        atol);
  }
  return text ? text : cxi_check_kept_error(at, what);
}
double cxi_check_dot(cx a, cx b) {
  CX_SCOPE;
  double sum = 0;
  for (int i = 0; i < cx_leaf_count(a); i++) {
    cx x = cx_leaf(a, i), y = cx_leaf(b, i);
    if (!cxi_check_is_float(x)) continue;
    sum += cx_item(cx_sum(cx_mul(cx_cast(x, CX_F64), cx_cast(y, CX_F64))));
  }
  return sum;
}

/* -- public --------------------------------------------------------------- */

const char *cx_check_close_(cx got, cx want, cx_check_opt opt, const char *at) {
  cxi_tolerance t = cxi_check_tolerance(cxi_check_narrowest(got));
  double rtol = opt.rtol > 0 ? opt.rtol : t.close;
  double atol = opt.atol > 0 ? opt.atol : opt.rtol > 0 ? 0 : t.close;
  return cxi_check_compare(at, "close", got, want, rtol, atol);
}
const char *cx_check_error(cx_code code, const char *text) {
  const char *message;
  cx_code kept = cx_error(&message);
  if (kept != code)
    return cxi_check_fail(NULL, "the error is %s, wanted %s%s%s",
                          cx_code_name(kept), cx_code_name(code),
                          kept ? ": " : "", kept ? message : "");
  if (kept && text && !strstr(message, text))
    return cxi_check_fail(NULL, "\"%s\" is not in \"%s\"", text, message);
  return NULL;
}
