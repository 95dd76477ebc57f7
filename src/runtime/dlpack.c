/* dlpack.c - arrays from and to other libraries of the process. */
#include "runtime/dlpack.h"

#include "base/alloc.h"
#include "base/view.h"
#include "calx/array.h"
#include "ops/ops.h"
#include "runtime/array_api.h"
#include "trace/tracer.h"

typedef struct DLManagedTensorVersioned managed;

/* -- in ------------------------------------------------------------------- */

static const struct {
  cx_dtype type;
  uint8_t code, bits;
} dtypes[] = {
  { CX_BOOL, CXI_DL_BOOL, 8 },    { CX_I8, CXI_DL_INT, 8 },
  { CX_U8, CXI_DL_UINT, 8 },      { CX_I16, CXI_DL_INT, 16 },
  { CX_U16, CXI_DL_UINT, 16 },    { CX_I32, CXI_DL_INT, 32 },
  { CX_U32, CXI_DL_UINT, 32 },    { CX_I64, CXI_DL_INT, 64 },
  { CX_U64, CXI_DL_UINT, 64 },    { CX_F16, CXI_DL_FLOAT, 16 },
  { CX_BF16, CXI_DL_BFLOAT, 16 }, { CX_F32, CXI_DL_FLOAT, 32 },
  { CX_F64, CXI_DL_FLOAT, 64 },
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void finish(void *user) {
  managed *t = user;
  if (t->deleter) t->deleter(t);
}

/* The type of the tensor, or 0 after reporting. */
static cxi_type type_of(const managed *t) {
  if (t->version.major != CXI_DL_MAJOR) {
    cxi_reportf(CX_EUSER, "from_dlpack: version %u.%u, this reads 1.x",
                (unsigned)t->version.major, (unsigned)t->version.minor);
    return 0;
  }
  const cxi_dl_tensor *d = &t->tensor;
  if (d->device.type != CXI_DL_CPU) {
    cxi_reportf(CX_EDEVICE,
                "from_dlpack: the tensor is on a device of type %d; bring it to"
                " the CPU first",
                (int)d->device.type);
    return 0;
  }
  cx_dims shape;
  shape.n = d->ndim;
  bool good = d->ndim >= 0 && d->ndim <= CX_MAX_DIMS && (!d->ndim || d->shape);
  if (!good) {
    cxi_reportf(CX_ESHAPE, "from_dlpack: %d axes; at most %d are supported",
                (int)d->ndim, CX_MAX_DIMS);
    return 0;
  }
  for (int i = 0; i < shape.n; i++) shape.d[i] = d->shape[i];
  int k = 0;
  while (k < DTYPES &&
         (d->dtype.lanes != 1 || d->dtype.code != dtypes[k].code ||
          d->dtype.bits != dtypes[k].bits))
    k++;
  if (k == DTYPES) {
    cxi_reportf(CX_EDTYPE,
                "from_dlpack: no dtype for code %u, %u bits, %u lanes",
                d->dtype.code, d->dtype.bits, d->dtype.lanes);
    return 0;
  }
  const cxi_type type =
      cxi_dims_valid(&shape) ? cxi_type_make(dtypes[k].type, shape) : 0;
  if (!type) {
    char text[128];
    cxi_dims_print(text, sizeof text, &shape);
    cxi_reportf(CX_ESHAPE, "from_dlpack: %s is no shape", text);
  }
  return type;
}

/* The elements one after the other, from anywhere. */
static cx gather(cx_ctx *ctx, cxi_type type, const cxi_view *from) {
  cxi_array *a = cxi_array_make(type, ctx->account);
  if (!a) return cxi_report_memory();
  const cxi_view to = cxi_view_dense(from->type, a->data);
  cxi_view_copy(&to, from);
  return cxi_array_take(ctx, a);
}

cx cx_from_dlpack_(struct DLManagedTensorVersioned *t, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx_ctx *ctx = cxi_context_need();
  if (!t) {
    if (ctx) cxi_report(CX_EUSER, "from_dlpack: NULL");
    return cxi_poison_last();
  }
  const cxi_type type = ctx ? type_of(t) : 0;
  if (!type) {
    finish(t);
    return cxi_poison_last();
  }
  const cxi_dl_tensor *d = &t->tensor;
  const int64_t count = cxi_dims_count(cxi_type_shape(type));
  if (count && !d->data) {
    finish(t);
    return cxi_report(CX_EUSER, "from_dlpack: the tensor's data is NULL");
  }
  cxi_view view = cxi_view_dense(*cxi_type_aval(type), d->data);
  if (d->data) view.data = (char *)d->data + d->byte_offset;
  if (d->strides)
    for (int i = 0; i < d->ndim; i++) view.strides[i] = d->strides[i];
  if (count == 0 || cxi_view_is_dense(&view)) {
    const cx out =
        cx_borrow_(NULL, view.data, view.type.type, view.type.shape, finish, t);
    if (cxi_is_poison(out)) finish(t);
    return out;
  }
  const cx out = gather(ctx, type, &view);
  finish(t);
  return out;
}

/* -- out ------------------------------------------------------------------ */

/* A tensor with its sizes, and the array that it holds. */
typedef struct lent {
  managed managed;
  cxi_array *array;
  int64_t shape[CX_MAX_DIMS], strides[CX_MAX_DIMS];
} lent;

static void take_back(managed *self) {
  lent *l = self->manager;
  cxi_array_release(l->array);
  cxi_free(l);
}

struct DLManagedTensorVersioned *cx_to_dlpack_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cxi_item item;
  if (!cxi_array_elements("to_dlpack", a, &item)) return NULL;
  const cx_aval *type = cxi_type_aval(item.type);
  int k = 0;
  while (k < DTYPES && dtypes[k].type != type->type) k++;
  if (k == DTYPES) {
    cxi_reportf(CX_EDTYPE, "to_dlpack: %s has no dtype of DLPack's",
                cx_show(a));
    return NULL;
  }
  lent *l = cxi_alloc_zeroed(1, sizeof *l);
  if (!l) {
    cxi_report_memory();
    return NULL;
  }
  const cxi_view view = cxi_view_dense(*type, item.as.array->data);
  l->array = cxi_array_retain(item.as.array);
  l->array->pinned = true;
  for (int i = 0; i < type->shape.n; i++) {
    l->shape[i] = type->shape.d[i];
    l->strides[i] = view.strides[i];
  }
  managed *m = &l->managed;
  m->version.major = CXI_DL_MAJOR;
  m->version.minor = CXI_DL_MINOR;
  m->manager = l;
  m->deleter = take_back;
  m->flags = CXI_DL_READ_ONLY;
  m->tensor.data = view.data;
  m->tensor.device.type = CXI_DL_CPU;
  m->tensor.ndim = type->shape.n;
  m->tensor.dtype.code = dtypes[k].code;
  m->tensor.dtype.bits = dtypes[k].bits;
  m->tensor.dtype.lanes = 1;
  m->tensor.shape = l->shape;
  m->tensor.strides = l->strides;
  return m;
}
