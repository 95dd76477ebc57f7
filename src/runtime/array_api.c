/* array_api.c - arrays in and out: C memory to handles and back. */
#include "runtime/array_api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calx/array.h"
#include "calx/tree.h"
#include "ops/ops.h"
#include "trace/tracer.h"
#include "trace/tree_map.h"

/* -- in ------------------------------------------------------------------- */

/* The type, or 0 after reporting. */
static cxi_type type_for(const char *what, cx_dtype dtype, cx_dims shape) {
  if (!cxi_dtype_valid((int)dtype)) {
    cxi_reportf(CX_EDTYPE, "%s: %d is no dtype", what, (int)dtype);
    return 0;
  }
  const cxi_type type =
      cxi_dims_valid(&shape) ? cxi_type_make(dtype, shape) : 0;
  char text[128];
  cxi_dims_print(text, sizeof text, &shape);
  if (!type && shape.n == -1)
    cxi_reportf(CX_ESHAPE, "%s: more than %d axes", what, CX_MAX_DIMS);
  else if (!type)
    cxi_reportf(CX_ESHAPE, "%s: %s is no shape", what, text);
  return type;
}

/* Any byte but 0 is true. */
static void make_bools(cxi_array *a, size_t n) {
  uint8_t *x = a->data;
  for (size_t i = 0; i < n; i++) x[i] = x[i] != 0;
}

cx cxi_array_take(cx_ctx *ctx, cxi_array *a) {
  if (cxi_type_dtype(a->type) == CX_BOOL) make_bools(a, cxi_array_bytes(a));
  if (!ctx->trace) {
    cxi_item item = { .kind = CXI_ITEM_ARRAY, .type = a->type };
    item.as.array = a;
    return cxi_handle(item);
  }
  const cx input = cxi_trace_constant(ctx->trace, a);
  cxi_array_release(a);
  return input;
}

cx cx_from_(const void *data, cx_dtype dtype, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx_ctx *ctx = cxi_context_need();
  const cxi_type type = ctx ? type_for("from", dtype, shape) : 0;
  if (!type) return cxi_leave(before, cxi_poison_last());
  cxi_array *a = cxi_array_make(type, ctx->account);
  if (!a) return cxi_leave(before, cxi_report_memory());
  const size_t bytes = cxi_array_bytes(a);
  if (bytes && !data) {
    cxi_array_release(a);
    return cxi_leave(before, cxi_report(CX_EUSER, "from: NULL"));
  }
  if (bytes) memcpy(a->data, data, bytes);
  return cxi_leave(before, cxi_array_take(ctx, a));
}

/* Memory that is not aligned for vectors is copied, as are bools, whose bytes
 * must be 0 or 1. */
cx cx_borrow_(const char *at, void *data, cx_dtype dtype, cx_dims shape,
              void (*release)(void *user), void *user) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx_ctx *ctx = cxi_context_need();
  const cxi_type type = ctx ? type_for("borrow", dtype, shape) : 0;
  if (!type) return cxi_poison_last();
  if ((uintptr_t)data % 64 || dtype == CX_BOOL || !data || ctx->trace) {
    const cx copy = cx_from_(data, dtype, shape, NULL);
    if (release && !cxi_is_poison(copy)) release(user);
    return copy;
  }
  /* What fails here must not release: the caller still owns the memory. */
  cxi_array *a = cxi_array_foreign(type, data, NULL, NULL);
  if (!a) return cxi_report_memory();
  const cx handle = cxi_array_take(ctx, a);
  if (cxi_is_poison(handle)) return handle;
  a->release = release;
  a->user = user;
  return handle;
}

cx cx_spec_(cx_dtype dtype, cx_dims shape, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!cxi_context_need()) return cxi_poison_last();
  const cxi_type type = type_for("spec", dtype, shape);
  if (!type) return cxi_poison_last();
  return cxi_handle((cxi_item){ .kind = CXI_ITEM_SPEC, .type = type });
}

static cx spec_leaf(const cx *leaves, void *unused) {
  (void)unused;
  const cxi_item item = cxi_number_strong(cxi_item_of(leaves[0]));
  if (item.kind == CXI_ITEM_NONE) return cx_none();
  if (item.kind == CXI_ITEM_NOTHING)
    return cxi_report(CX_ETREE, "spec_like: an array is needed, got nothing");
  if (!cxi_item_is_leaf(item)) return cxi_poison_last();
  return cxi_handle((cxi_item){ .kind = CXI_ITEM_SPEC, .type = item.type });
}

cx cx_spec_like_(cx tree, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (cxi_is_poison(tree)) return tree;
  return cxi_tree_map("spec_like", false, 1, &tree, spec_leaf, NULL);
}

/* -- out ------------------------------------------------------------------ */

/* Why an item, that of handle a or a leaf in it, has no elements. */
static void report_no_elements(const char *what, cx a, cxi_item item) {
  char type[128] = "";
  if (cxi_item_is_leaf(item))
    cxi_aval_print(type, sizeof type, cxi_type_aval(item.type));
  switch (item.kind) {
  case CXI_ITEM_POISON:
    break;
  case CXI_ITEM_ARRAY:
    cxi_report_donated(what, item.as.array);
    break;
  case CXI_ITEM_TRACER:
    cxi_reportf(CX_ETRACE,
                "%s: the value of %s is not known while tracing %s; use"
                " cx_cond, cx_while or return it",
                what, type, cxi_context_now()->trace->name);
    break;
  case CXI_ITEM_SPEC:
    cxi_reportf(CX_ETRACE, "%s: %s is a spec, it has no value", what, type);
    break;
  case CXI_ITEM_TREE:
    cxi_reportf(CX_ETREE, "%s: an array is needed, this is %s", what,
                cx_show(a));
    break;
  default:
    cxi_reportf(CX_ETREE, "%s: an array is needed, got %s", what,
                item.kind == CXI_ITEM_NONE ? "none" : "nothing");
  }
}

const void *cxi_elements(const char *what, cx a, cxi_item *out,
                         uint64_t *store) {
  *out = cxi_number_strong(cxi_item_for(what, a));
  if (out->kind == CXI_ITEM_NUMBER) {
    *store = out->as.bits;
    return store;
  }
  if (out->kind == CXI_ITEM_ARRAY && cxi_array_alive(out->as.array))
    return out->as.array->data;
  report_no_elements(what, a, *out);
  return NULL;
}

const void *cxi_array_elements(const char *what, cx a, cxi_item *out) {
  uint64_t store;
  const void *data = cxi_elements(what, a, out, &store);
  if (!data || out->kind == CXI_ITEM_ARRAY) return data;
  a = cx_from_(&store, cxi_type_dtype(out->type), CX_SCALAR, NULL);
  data = cxi_elements(what, a, out, &store);
  return out->kind == CXI_ITEM_ARRAY ? data : NULL;
}

/* An array of one element that is a number. */
static const void *element(const char *what, cx a, cxi_item *out,
                           uint64_t *store) {
  const void *data = cxi_elements(what, a, out, store);
  if (!data) return NULL;
  const cx_aval *type = cxi_type_aval(out->type);
  if (cxi_dims_count(&type->shape) == 1 && type->type != CX_KEY) return data;
  char text[128];
  cxi_aval_print(text, sizeof text, type);
  cxi_reportf(type->type == CX_KEY ? CX_EDTYPE : CX_ESHAPE,
              "%s: one number is needed, this is %s", what, text);
  return NULL;
}

double cx_item_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cxi_item item;
  uint64_t store;
  const void *data = element("item", a, &item, &store);
  cxi_site_use(before);
  return data ? cxi_element_get(cxi_type_dtype(item.type), data) : (double)NAN;
}

int64_t cx_item_int_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cxi_item item;
  uint64_t store;
  const void *data = element("item_int", a, &item, &store);
  cxi_site_use(before);
  return data ? cxi_element_get_int(cxi_type_dtype(item.type), data) : 0;
}

/* Keys may be read as their words. */
static bool readable_as(cx_dtype from, cx_dtype to) {
  if (from == to) return true;
  const bool raw = from == CX_KEY || from == CX_F16 || from == CX_BF16;
  if (raw && cxi_dtype_kind(to) == CXI_UNSIGNED)
    return cxi_dtype_bytes(from) == cxi_dtype_bytes(to);
  return (from == CX_BOOL && (to == CX_U8 || to == CX_I8));
}

bool cx_read_(cx a, void *out, cx_dtype type, size_t bytes, const char *at) {
  const cxi_name before = cxi_enter(at);
  cxi_item item;
  uint64_t store;
  const void *data = cxi_elements("read", a, &item, &store);
  if (data && !readable_as(cxi_type_dtype(item.type), type)) {
    cxi_reportf(CX_EDTYPE, "read: %s into a buffer of %s", cx_show(a),
                cxi_dtype_name(type));
    data = NULL;
  }
  if (data && bytes && !out) {
    cxi_report(CX_EUSER, "read: no buffer");
    data = NULL;
  }
  if (data) {
    const size_t have = (size_t)cxi_aval_bytes(cxi_type_aval(item.type));
    const size_t n = have < bytes ? have : bytes;
    if (n) memcpy(out, data, n);
  }
  cxi_site_use(before);
  return data != NULL;
}

/* The address stays while the array lives: it is never given away. A scalar
 * known in C is made an array of the scope. */
const void *cx_data_(cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  cxi_item item;
  const void *data = cxi_array_elements("data", a, &item);
  if (data) item.as.array->pinned = true;
  cxi_site_use(before);
  return data;
}

/* False after the first leaf without elements. Recursion is bounded by
 * CXI_TREE_DEPTH_MOST. */
static bool wait_for(cx tree, cxi_item item) {
  if (item.kind == CXI_ITEM_ARRAY && cxi_array_alive(item.as.array))
    return true;
  if (item.kind == CXI_ITEM_TREE) {
    for (uint32_t i = 0; i < item.as.tree->n; i++)
      if (!wait_for(tree, item.as.tree->items[i])) return false;
    return true;
  }
  if (!cxi_item_is_leaf(item) || item.kind == CXI_ITEM_NUMBER) return true;
  report_no_elements("wait", tree, item);
  return false;
}

/* On the CPU nothing runs ahead: a wait only asks for the values. */
void cx_wait_(cx tree, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  wait_for(tree, cxi_item_for("wait", tree));
}
