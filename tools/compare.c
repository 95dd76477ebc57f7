/* compare.c - a result against a recorded array. */
#include "compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jaxpr_text.h"
#include "record.h"

static float half(uint16_t bits) {
  int e = bits >> 10 & 31, f = bits & 1023;
  float x = e == 31 ? (f ? NAN : INFINITY)
            : e     ? ldexpf((float)(1024 + f), e - 25)
                    : ldexpf((float)f, -24);
  return bits & 0x8000 ? -x : x;
}

static double number(cx_dtype t, const void *data, int64_t i) {
  const uint16_t *w = data;
  uint32_t u;
  float f;
  switch (t) {
  case CX_F32:
    return ((const float *)data)[i];
  case CX_F64:
    return ((const double *)data)[i];
  case CX_F16:
    return half(w[i]);
  default:
    u = (uint32_t)w[i] << 16;
    memcpy(&f, &u, sizeof f);
    return f;
  }
}

/* Numbers below this are flushed to zero by the recorder. */
static double least_normal(cx_dtype t) {
  return t == CX_F64 ? DBL_MIN : t == CX_F16 ? 6.103515625e-5 : (double)FLT_MIN;
}

static bool close_enough(cx_dtype t, double got, double want, double tol,
                         double scale) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return want == got;
  if (fabs(want) < least_normal(t) && fabs(got) < least_normal(t)) return true;
  return fabs(got - want) <= tol * (fabs(want) + scale);
}

static bool compare_floats(cx_dtype t, const void *got, const void *want,
                           int64_t n, double tol, char *why, size_t room) {
  double scale = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = fabs(number(t, want, i));
    if (isfinite(x) && x > scale) scale = x;
  }
  scale = scale < 1 ? scale : 1;
  for (int64_t i = 0; i < n; i++) {
    double a = number(t, got, i), b = number(t, want, i);
    if (close_enough(t, a, b, tol, scale)) continue;
    snprintf(why, room, "element %lld is %.9g, wanted %.9g (tolerance %g)",
             (long long)i, a, b, tol);
    return false;
  }
  return true;
}

bool compare_array(cx got, const json_t *array, double tol, char *why,
                   size_t room) {
  size_t bytes;
  cx_dtype t = jaxpr_dtype(json_string_value(json_object_get(array, "dtype")));
  cx_dims shape = jaxpr_dims(json_object_get(array, "shape")),
          own = cx_shape(got);
  if (cx_type(got) != t || own.n != shape.n ||
      memcmp(own.d, shape.d, sizeof own.d[0] * (size_t)own.n) != 0) {
    snprintf(why, room, "%s, wanted %s", cx_show(got), jaxpr_type(t, shape));
    return false;
  }
  unsigned char *want = record_bytes(array, &bytes);
  const void *data = cx_data(got);
  bool ok = want && (data || bytes == 0);
  if (!ok)
    snprintf(why, room, "an array cannot be read");
  else if (data && jaxpr_is_float(t))
    ok = compare_floats(t, data, want, cx_size(got), tol, why, room);
  else if (data && memcmp(data, want, bytes) != 0) {
    size_t i = 0;
    while (((const unsigned char *)data)[i] == want[i]) i++;
    snprintf(why, room, "%s: byte %zu differs", cx_show(got), i);
    ok = false;
  }
  free(want);
  return ok;
}

bool compare_outputs(cx result, const json_t *out, double tol, char *why,
                     size_t room) {
  const int n = cx_leaf_count(result);
  if (n != (int)json_array_size(out)) {
    snprintf(why, room, "%d results, wanted %zu", n, json_array_size(out));
    return false;
  }
  for (int i = 0; i < n; i++)
    if (!compare_array(cx_leaf(result, i), json_array_get(out, (size_t)i), tol,
                       why, room))
      return false;
  return true;
}
