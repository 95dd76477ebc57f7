/* axes.c - lists of axes as rules and operations need them. */
#include "ops/axes.h"

#include <inttypes.h>
#include <stdio.h>

cx_dims cxi_dims_insert(cx_dims dims, int at, int64_t size) {
  if (dims.n < 0 || dims.n >= CX_MAX_DIMS) return (cx_dims){ .n = -1 };
  return cxi_dims_with(dims, at, size);
}

bool cxi_axes_valid(const cx_dims *axes, int rank) {
  if (axes->n < 0 || axes->n > CX_MAX_DIMS) return false;
  for (int i = 0; i < axes->n; i++)
    if (axes->d[i] < 0 || axes->d[i] >= rank ||
        cxi_dims_find(axes, axes->d[i]) != i)
      return false;
  return true;
}

bool cxi_axes_sorted(const cx_dims *axes, int rank) {
  if (!cxi_axes_valid(axes, rank)) return false;
  for (int i = 1; i < axes->n; i++)
    if (axes->d[i] <= axes->d[i - 1]) return false;
  return true;
}

bool cxi_axes_identity(const cx_dims *axes) {
  for (int i = 0; i < axes->n; i++)
    if (axes->d[i] != i) return false;
  return true;
}

int cxi_axis_shift(int axis, int at) {
  return axis + (at >= 0 && axis >= at);
}

cx_dims cxi_axes_shift(cx_dims axes, int at) {
  for (int i = 0; i < axes.n; i++)
    axes.d[i] = cxi_axis_shift((int)axes.d[i], at);
  return axes;
}

cx_dims cxi_axes_rest(int rank, const cx_dims *a, const cx_dims *b) {
  cx_dims rest = { 0 };
  for (int i = 0; i < rank; i++)
    if (!(a && cxi_dims_has(a, i)) && !(b && cxi_dims_has(b, i)))
      rest.d[rest.n++] = i;
  return rest;
}

int cxi_axes_below(const cx_dims *axes, int64_t axis) {
  int below = 0;
  for (int i = 0; i < axes->n; i++) below += axes->d[i] < axis;
  return below;
}

cx_dims cxi_dims_pick(const cx_dims *shape, const cx_dims *axes) {
  cx_dims picked = { .n = axes->n };
  for (int i = 0; i < axes->n; i++) picked.d[i] = shape->d[axes->d[i]];
  return picked;
}

cx_dims cxi_axes_inverse(const cx_dims *axes) {
  cx_dims inverse = { .n = axes->n };
  for (int i = 0; i < axes->n; i++) inverse.d[axes->d[i]] = i;
  return inverse;
}

cx_dims cxi_dims_repeat(int n, int64_t value) {
  cx_dims dims = { .n = n };
  for (int i = 0; i < n; i++) dims.d[i] = value;
  return dims;
}

cxi_words cxi_show_type(cxi_type type) {
  cxi_words words;
  cxi_aval_print(words.s, sizeof words.s, cxi_type_aval(type));
  return words;
}

cxi_words cxi_show_list(const cx_dims *list) {
  cxi_words words = { "(" };
  if (list->n < 0 || list->n > CX_MAX_DIMS)
    return (cxi_words){ "(more than 8 items)" };
  size_t at = 1;
  for (int i = 0; i < list->n; i++)
    at += (size_t)snprintf(words.s + at, sizeof words.s - at, "%s%" PRId64,
                           i ? "," : "", list->d[i]);
  snprintf(words.s + at, sizeof words.s - at, ")");
  return words;
}
