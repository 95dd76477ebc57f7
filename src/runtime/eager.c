/* eager.c - the emitter of plain operations: infer, run, a new handle. */
#include <stdio.h>
#include <string.h>

#include "ir/builder.h"
#include "ir/row.h"
#include "trace/call.h"
#include "trace/device.h"

/* The context holds its emitter first. */
static cx_ctx *context_of(cxi_emitter *e) {
  return (cx_ctx *)e;
}

static bool info(cxi_emitter *e, cx a, cxi_info *out) {
  (void)e;
  const cxi_item item = cxi_item_of(a);
  switch (item.kind) {
  case CXI_ITEM_NUMBER:
    *out = (cxi_info){ item.type, true, item.weak, item.as.bits };
    return true;
  case CXI_ITEM_ARRAY:
  case CXI_ITEM_SPEC:
    *out = (cxi_info){ .type = item.type };
    return true;
  case CXI_ITEM_TREE:
    cxi_report(CX_ETREE, "an array is needed, this is a tree");
    return false;
  default:
    return false;
  }
}

static cx literal(cxi_emitter *e, cx_dtype dtype, bool weak, uint64_t bits) {
  (void)e;
  if (weak) return cxi_number_weak(dtype, bits);
  const cxi_type type = cxi_type_scalar(dtype);
  if (!type) return cxi_report(CX_EDTYPE, "a literal has no valid dtype");
  const size_t n = cxi_dtype_bytes(dtype);
  if (n < 8) bits &= (UINT64_C(1) << 8 * n) - 1;
  if (dtype == CX_BOOL) bits = bits != 0;
  return cxi_handle(
      (cxi_item){ .kind = CXI_ITEM_NUMBER, .type = type, .as.bits = bits });
}

static cx fail(cxi_emitter *e, cx_code code, const char *text) {
  (void)e;
  return cxi_report(code, text);
}

/* -- one equation --------------------------------------------------------- */

/* An operand's elements: an array's, or a number's bits in *store. */
static bool operand_view(cxi_prim prim, cx a, uint64_t *store, cxi_view *out,
                         cx *out_poison) {
  cxi_item item = cxi_number_strong(cxi_item_for(cxi_prim_name(prim), a));
  if (item.kind == CXI_ITEM_NUMBER) {
    *store = item.as.bits;
    *out = cxi_view_dense(*cxi_type_aval(item.type), store);
    return true;
  }
  if (item.kind == CXI_ITEM_ARRAY) {
    if (cxi_array_alive(item.as.array)) {
      *out = cxi_view_dense(*cxi_type_aval(item.type), item.as.array->data);
      return true;
    }
    *out_poison = cxi_report_donated(cxi_prim_name(prim), item.as.array);
  } else if (item.kind == CXI_ITEM_POISON) {
    *out_poison = item.as.handle;
  } else {
    *out_poison = cxi_reportf(CX_ETREE, "%s: %s", cxi_prim_name(prim),
                              item.kind == CXI_ITEM_SPEC ? "a spec has no value"
                                                         : "an operand is no"
                                                           " array");
  }
  return false;
}

/* The one-equation program of a call or a loop, run as a program. */
static bool run_nested(cx_ctx *ctx, cxi_prim prim, const void *params,
                       uint32_t n_in, const cxi_view *in, uint32_t n_out,
                       cxi_array **out, cxi_error *error) {
  cxi_builder b;
  cx *handles = cxi_scratch((n_in + n_out) * sizeof *handles + 1);
  if (!handles) return cxi_error_set(error, CX_EMEMORY, "out of memory");
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n_in; i++)
    handles[i] = cxi_builder_input(&b, cxi_type_of(&in[i].type));
  cxi_emit(prim, params, n_in, handles, n_out, handles + n_in);
  const cxi_program *p =
      cxi_builder_finish(&b, cxi_name_of(cxi_prim_name(prim)), n_in, handles,
                         n_out, handles + n_in, error);
  const bool good = p && ctx->device->run(ctx, p, in, out, error);
  cxi_program_release(p);
  return good;
}

static bool infer(cxi_prim prim, const void *params, uint32_t n_in,
                  const cxi_view *in, uint32_t n_out, cxi_infer *c) {
  cxi_type *types = cxi_scratch(n_in * sizeof *types + 1);
  if (!types) return cxi_error_set(&c->error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < n_in; i++) types[i] = cxi_type_of(&in[i].type);
  c->params = params;
  c->n_in = n_in;
  c->in = types;
  if (!cxi_row_of(prim)->infer(c)) {
    if (!c->error.code)
      cxi_error_set(&c->error, CX_ESHAPE, "the operands do not fit");
    return false;
  }
  if (c->n_out == n_out) return true;
  return cxi_error_set(&c->error, CX_ETRACE, "has %u results, not %u", c->n_out,
                       n_out);
}

static void release_arrays(uint32_t n, cxi_array **arrays) {
  for (uint32_t i = 0; i < n; i++) cxi_array_release(arrays[i]);
}

static bool run_single(cx_ctx *ctx, cxi_prim prim, const void *params,
                       uint32_t n_in, const cxi_view *in, uint32_t n_out,
                       cxi_array **out, cxi_error *error) {
  cxi_view *views = cxi_scratch(n_out * sizeof *views + 1);
  cxi_type few[8];
  cxi_infer c; /* field by field: the text of the error is long */
  c.n_out = 0;
  c.out = few;
  c.cap_out = 8;
  c.error.code = CX_OK;
  if (!views) return cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (!infer(prim, params, n_in, in, n_out, &c))
    return cxi_error_set(error, c.error.code, "%s", c.error.text);
  for (uint32_t i = 0; i < n_out; i++) {
    out[i] = cxi_array_make(c.out[i], ctx->account);
    if (!out[i]) {
      release_arrays(i, out);
      return cxi_error_set(error, CX_EMEMORY, "out of memory");
    }
    views[i] = cxi_view_dense(*cxi_type_aval(c.out[i]), out[i]->data);
  }
  if (ctx->device->apply(ctx, prim, params, n_in, in, n_out, views, error))
    return true;
  release_arrays(n_out, out);
  return false;
}

static bool has_programs(cxi_prim prim) {
  const cxi_form form = cxi_row_of(prim)->form;
  return form == CXI_FORM_CALL || form == CXI_FORM_CONTROL;
}

/* False, the results released, if they have a NaN and no operand has. */
static bool check_nan(cxi_prim prim, uint32_t n_in, const cxi_view *in,
                      uint32_t n_out, cxi_array **out, cx *out_poison) {
  uint32_t k = 0;
  while (k < n_out && !cxi_has_nan(out[k]->type, out[k]->data)) k++;
  if (k == n_out) return true;
  for (uint32_t i = 0; i < n_in; i++)
    if (cxi_has_nan(cxi_type_of(&in[i].type), in[i].data)) return true;
  char type[128];
  cxi_aval_print(type, sizeof type, cxi_type_aval(out[k]->type));
  *out_poison = cxi_reportf(
      CX_ENAN, "%s: the result %s has a NaN, the operands have none",
      cxi_prim_name(prim), type);
  release_arrays(n_out, out);
  return false;
}

static bool emit_here(cx_ctx *ctx, cxi_prim prim, const void *params,
                      uint32_t n_in, const cx *in, uint32_t n_out, cx *out,
                      cx *out_poison) {
  uint64_t *bits = cxi_scratch(n_in * sizeof *bits + 1);
  cxi_view *views = cxi_scratch(n_in * sizeof *views + 1);
  cxi_array **arrays = cxi_scratch(n_out * sizeof *arrays + 1);
  cxi_error error; /* its text is long: only the code is cleared */
  error.code = CX_OK;
  if (!bits || !views || !arrays)
    return *out_poison = cxi_report_memory(), false;
  for (uint32_t i = 0; i < n_in; i++)
    if (!operand_view(prim, in[i], &bits[i], &views[i], out_poison))
      return false;
  const bool good =
      has_programs(prim)
          ? run_nested(ctx, prim, params, n_in, views, n_out, arrays, &error)
          : run_single(ctx, prim, params, n_in, views, n_out, arrays, &error);
  if (!good) {
    *out_poison = error.code == CX_EMEMORY
                      ? cxi_report_memory()
                      : cxi_report_error(cxi_prim_name(prim), &error);
    return false;
  }
  if (ctx->checks && !check_nan(prim, n_in, views, n_out, arrays, out_poison))
    return false;
  for (uint32_t i = 0; i < n_out; i++) {
    cxi_item item = { .kind = CXI_ITEM_ARRAY, .type = arrays[i]->type };
    item.as.array = arrays[i];
    out[i] = cxi_handle(item);
  }
  return true;
}

static bool emit(cxi_emitter *e, cxi_prim prim, const void *params,
                 uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  const cxi_mark mark = cxi_scratch_mark();
  cx poison = { 0, 1 };
  const bool good =
      emit_here(context_of(e), prim, params, n_in, in, n_out, out, &poison);
  for (uint32_t i = 0; !good && i < n_out; i++) out[i] = poison;
  cxi_scratch_reset(mark);
  return good;
}

void cxi_eager_emitter(cxi_emitter *out) {
  *out = (cxi_emitter){ info, literal, emit, fail, NULL };
}
