/* value.c - what is known of a value without reading it. */
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "trace/context.h"
#include "trace/path.h"

/* The type of a leaf; 0 of all else, of a tree after reporting. */
static cxi_type type_of(cx a, const char *what) {
  const cxi_item item = cxi_number_strong(cxi_item_for(what, a));
  if (cxi_item_is_leaf(item)) return item.type;
  if (item.kind == CXI_ITEM_TREE) cxi_report_tree(what, item);
  return 0;
}

int cx_ndim_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_type type = type_of(a, "ndim");
  return type ? cxi_type_rank(type) : 0;
}

int64_t cx_dim_(cx a, int axis, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_type type = type_of(a, "dim");
  if (!type) return 1;
  const cx_dims *shape = cxi_type_shape(type);
  const int i = axis < 0 ? axis + shape->n : axis;
  if (i >= 0 && i < shape->n) return shape->d[i];
  char text[128];
  cxi_aval_print(text, sizeof text, cxi_type_aval(type));
  cxi_reportf(CX_EINDEX, "dim: axis %d is out of range for %s", axis, text);
  return 1;
}

/* f32 of what has no dtype, so that switches stay harmless. */
cx_dtype cx_type_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_type type = type_of(a, "type");
  return type ? cxi_type_dtype(type) : CX_F32;
}

cx_dims cx_shape_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_type type = type_of(a, "shape");
  return type ? *cxi_type_shape(type) : CX_SCALAR;
}

int64_t cx_size_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cxi_type type = type_of(a, "size");
  return type ? cxi_dims_count(cxi_type_shape(type)) : 0;
}

const char *cx_show(cx a) {
  static _Thread_local char text[8][1024];
  static _Thread_local int next;
  char *out = text[next++ % 8];
  const cxi_item item = cxi_item_peek(a);
  const cxi_sig sig = cxi_sig_of(item);
  if (item.kind == CXI_ITEM_POISON)
    strcpy(out, "poison");
  else if (item.kind == CXI_ITEM_NOTHING)
    strcpy(out, "nothing");
  else if (sig)
    cxi_sig_print(out, sizeof text[0], sig);
  else
    strcpy(out, "?");
  return out;
}

void cx_sizes_(cx a, int64_t **out_sizes, const char *at) {
  const cxi_name before = cxi_enter(at);
  int n = 0;
  while (out_sizes && out_sizes[n]) *out_sizes[n++] = 1;
  const cxi_item item = cxi_item_peek(a);
  const cxi_type type = type_of(a, "sizes");
  if (type && cxi_type_rank(type) == n) {
    for (int i = 0; i < n; i++) *out_sizes[i] = cxi_type_shape(type)->d[i];
  } else if (type) {
    cxi_reportf(CX_ESHAPE, "sizes: %s has %d axes, not %d", cx_show(a),
                cxi_type_rank(type), n);
  } else if (item.kind == CXI_ITEM_NONE || item.kind == CXI_ITEM_NOTHING) {
    cxi_reportf(CX_ETREE, "sizes: %s has no shape", cx_show(a));
  }
  cxi_site_use(before);
}
