/* size.c - sizes, shapes and types of arrays. */
#include "base/size.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/dtype.h"

int64_t cxi_size_add(int64_t a, int64_t b) {
  int64_t sum;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) return -1;
  return sum;
}

int64_t cxi_size_mul(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return -1;
  return product;
}

int64_t cxi_size_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t cxi_size_dilated(int64_t size, int64_t gap) {
  if (size == 0) return 0;
  return cxi_size_add(1, cxi_size_mul(size - 1, gap));
}

bool cxi_size_near(int64_t x) {
  return -(INT64_C(1) << 60) <= x && x <= INT64_C(1) << 60;
}

bool cxi_dims_equal(const cx_dims *a, const cx_dims *b) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++)
    if (a->d[i] != b->d[i]) return false;
  return true;
}

bool cxi_dims_valid(const cx_dims *shape) {
  if (shape->n < 0 || shape->n > CX_MAX_DIMS) return false;
  for (int i = 0; i < shape->n; i++)
    if (shape->d[i] < 0) return false;
  return true;
}

int64_t cxi_dims_count(const cx_dims *shape) {
  /* A zero makes the product zero, whatever the others would overflow to. */
  for (int i = 0; i < shape->n; i++)
    if (shape->d[i] == 0) return 0;
  int64_t count = 1;
  for (int i = 0; i < shape->n && count >= 0; i++)
    count = cxi_size_mul(count, shape->d[i]);
  return count;
}

int64_t cxi_aval_bytes(const cx_aval *type) {
  return cxi_size_mul(cxi_dims_count(&type->shape),
                      (int64_t)cxi_dtype_bytes(type->type));
}

bool cxi_aval_equal(const cx_aval *a, const cx_aval *b) {
  return a->type == b->type && cxi_dims_equal(&a->shape, &b->shape);
}

int cxi_aval_print(char *out, size_t room, const cx_aval *type) {
  const int head = snprintf(out, room, "%s", cxi_dtype_name(type->type));
  const size_t used = (size_t)head < room ? (size_t)head : room;
  return head + cxi_dims_print(used < room ? out + used : NULL, room - used,
                               &type->shape);
}

int cxi_dims_print(char *out, size_t room, const cx_dims *dims) {
  char text[CX_MAX_DIMS * 21 + 3];
  int n = snprintf(text, sizeof text, "[");
  for (int i = 0; i < dims->n && i < CX_MAX_DIMS; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64,
                  i ? "," : "", dims->d[i]);
  return snprintf(out, room, "%s]", text);
}

cx_dims cxi_dims_without(cx_dims dims, int axis) {
  assert(axis >= 0 && axis < dims.n);
  for (int i = axis; i + 1 < dims.n; i++) dims.d[i] = dims.d[i + 1];
  dims.d[--dims.n] = 0;
  return dims;
}

cx_dims cxi_dims_with(cx_dims dims, int axis, int64_t size) {
  assert(axis >= 0 && axis <= dims.n && dims.n < CX_MAX_DIMS);
  for (int i = dims.n; i > axis; i--) dims.d[i] = dims.d[i - 1];
  dims.d[axis] = size;
  dims.n++;
  return dims;
}

cx_dims cxi_dims_append(cx_dims dims, int64_t size) {
  return cxi_dims_with(dims, dims.n, size);
}

cx_dims cxi_dims_range(int64_t lo, int64_t hi) {
  assert(hi - lo <= CX_MAX_DIMS);
  cx_dims dims = { 0 };
  for (int64_t x = lo; x < hi; x++) dims.d[dims.n++] = x;
  return dims;
}

bool cxi_dims_has(const cx_dims *dims, int64_t x) {
  return cxi_dims_find(dims, x) >= 0;
}

int cxi_dims_find(const cx_dims *dims, int64_t x) {
  for (int i = 0; i < dims->n; i++)
    if (dims->d[i] == x) return i;
  return -1;
}
