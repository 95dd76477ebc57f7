/* eager.c - the emitter of plain operations: infer, run, a new handle. */
#include <stdio.h>
#include <string.h>

#include "base/fpu.h"
#include "ir/builder.h"
#include "ir/row.h"
#include "runtime/bounds.h"
#include "trace/call.h"
#include "trace/device.h"

/* The context holds its emitter first. */
static cx_ctx *context_of(cxi_emitter *e) {
  return (cx_ctx *)e;
}

/* Of what is no array in a slot; out of line, that info stays short. */
__attribute__((noinline)) static bool info_elsewhere(cx a, cxi_info *out) {
  const cxi_item item = cxi_item_for(cxi_operation_now(), a);
  switch (item.kind) {
  case CXI_ITEM_NUMBER:
    *out = (cxi_info){ item.type, true, item.weak, item.as.bits };
    return true;
  case CXI_ITEM_ARRAY:
  case CXI_ITEM_SPEC:
    *out = (cxi_info){ .type = item.type };
    return true;
  case CXI_ITEM_TREE:
    cxi_report_tree(cxi_operation_now(), item);
    return false;
  default:
    return false;
  }
}

/* Asked a dozen times for an operation. */
static bool info(cxi_emitter *e, cx a, cxi_info *out) {
  cxi_item item;
  if (!cxi_slot_find(context_of(e), a, &item)) return info_elsewhere(a, out);
  if (item.kind == CXI_ITEM_ARRAY)
    *out = (cxi_info){ .type = item.type };
  else if (item.kind == CXI_ITEM_NUMBER)
    *out = (cxi_info){ item.type, true, item.weak, item.as.bits };
  else
    return info_elsewhere(a, out);
  return true;
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

/* An equation being run. Arrays for few operands and results stand in it, so
 * that a plain operation takes no scratch memory. */
enum { FEW = 4 };
typedef struct running {
  cx_ctx *ctx;
  cxi_prim prim;
  const void *params;
  uint32_t n_in, n_out;
  cxi_view *in;
  cxi_type *types; /* of the operands */
  uint64_t *bits;  /* of numbers */
  cxi_array **out;
  cx poison; /* once it failed */
  cxi_error error;
  cxi_view few_in[FEW];
  cxi_type few_types[FEW];
  uint64_t few_bits[FEW];
  cxi_array *few_out[FEW];
} running;

static bool out_of_memory(running *r) {
  return cxi_error_set(&r->error, CX_EMEMORY, "out of memory");
}

static bool make_room(running *r) {
  r->in = r->few_in;
  r->types = r->few_types;
  r->bits = r->few_bits;
  r->out = r->few_out;
  if (r->n_in > FEW) {
    r->in = cxi_scratch(r->n_in * sizeof *r->in);
    r->types = cxi_scratch(r->n_in * sizeof *r->types);
    r->bits = cxi_scratch(r->n_in * sizeof *r->bits);
  }
  if (r->n_out > FEW) r->out = cxi_scratch(r->n_out * sizeof *r->out);
  return (r->in && r->types && r->bits && r->out) || out_of_memory(r);
}

static bool refuse_operand(running *r, cxi_item item) {
  const char *name = cxi_prim_name(r->prim);
  if (item.kind == CXI_ITEM_POISON)
    r->poison = item.as.handle;
  else if (item.kind == CXI_ITEM_ARRAY)
    r->poison = cxi_report_donated(name, item.as.array);
  else if (item.kind == CXI_ITEM_SPEC)
    r->poison = cxi_reportf(CX_ETREE, "%s: a spec has no value", name);
  else
    r->poison = cxi_reportf(CX_ETREE, "%s: an operand is no array", name);
  return false;
}

/* Operand i's elements: an array's, or a number's bits. */
static bool view_operand(running *r, uint32_t i, cx a) {
  cxi_item item;
  if (!cxi_slot_find(r->ctx, a, &item))
    item = cxi_number_strong(cxi_item_for(cxi_prim_name(r->prim), a));
  void *data = &r->bits[i];
  if (item.kind == CXI_ITEM_NUMBER)
    r->bits[i] = item.as.bits;
  else if (item.kind == CXI_ITEM_ARRAY && cxi_array_alive(item.as.array))
    data = item.as.array->data;
  else
    return refuse_operand(r, item);
  r->types[i] = item.type;
  r->in[i] = cxi_view_dense(*cxi_type_aval(item.type), data);
  return true;
}

/* As a program of one equation. */
static bool run_nested(running *r) {
  cxi_builder b;
  cx *handles = cxi_scratch((r->n_in + r->n_out) * sizeof *handles + 1);
  if (!handles) return out_of_memory(r);
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < r->n_in; i++)
    handles[i] = cxi_builder_input(&b, r->types[i]);
  cxi_emit(r->prim, r->params, r->n_in, handles, r->n_out, handles + r->n_in);
  const cxi_program *p =
      cxi_builder_finish(&b, cxi_name_of(cxi_prim_name(r->prim)), r->n_in,
                         handles, r->n_out, handles + r->n_in, &r->error);
  const bool good =
      p && r->ctx->device->run(r->ctx, p, r->in, r->out, &r->error);
  cxi_program_release(p);
  return good;
}

static bool infer(running *r, cxi_infer *c) {
  c->params = r->params;
  c->n_in = r->n_in;
  c->in = r->types;
  c->n_out = 0;
  c->error.code = CX_OK; /* its text is long: it is not cleared */
  if (!cxi_row_of(r->prim)->infer(c)) {
    const cx_code code = c->error.code ? c->error.code : CX_ESHAPE;
    return cxi_error_set(&r->error, code, "%s",
                         c->error.code ? c->error.text
                                       : "the operands do not fit");
  }
  if (c->n_out == r->n_out) return true;
  return cxi_error_set(&r->error, CX_ETRACE, "has %u results, not %u", c->n_out,
                       r->n_out);
}

static void release_results(running *r, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) cxi_array_release(r->out[i]);
}

static bool run_single(running *r) {
  cxi_type few_types[FEW];
  cxi_view few_views[FEW], *views = few_views;
  cxi_infer c;
  c.out = few_types;
  c.cap_out = FEW;
  if (r->n_out > FEW) views = cxi_scratch(r->n_out * sizeof *views);
  if (!views) return out_of_memory(r);
  if (!infer(r, &c)) return false;
  const cxi_device *device = r->ctx->device;
  if (device->as_program &&
      device->as_program(r->prim, r->n_in, r->in, r->n_out, c.out))
    return run_nested(r);
  for (uint32_t i = 0; i < r->n_out; i++) {
    r->out[i] = cxi_array_make(c.out[i], r->ctx->account);
    if (!r->out[i]) {
      release_results(r, i);
      return out_of_memory(r);
    }
    views[i] = cxi_view_dense(*cxi_type_aval(c.out[i]), r->out[i]->data);
  }
  if (device->apply(r->ctx, r->prim, r->params, r->n_in, r->in, r->n_out, views,
                    &r->error))
    return true;
  release_results(r, r->n_out);
  return false;
}

static bool has_programs(cxi_prim prim) {
  const cxi_form form = cxi_row_of(prim)->form;
  return form == CXI_FORM_CALL || form == CXI_FORM_CONTROL;
}

/* False, the results released, if they have a NaN and no operand has. */
static bool check_nan(running *r) {
  uint32_t k = 0;
  while (k < r->n_out && !cxi_has_nan(r->out[k]->type, r->out[k]->data)) k++;
  if (k == r->n_out) return true;
  for (uint32_t i = 0; i < r->n_in; i++)
    if (cxi_has_nan(r->types[i], r->in[i].data)) return true;
  char type[128];
  cxi_aval_print(type, sizeof type, cxi_type_aval(r->out[k]->type));
  r->poison = cxi_reportf(CX_ENAN,
                          "%s: the result %s has a NaN, the operands have none",
                          cxi_prim_name(r->prim), type);
  release_results(r, r->n_out);
  return false;
}

static bool run(running *r, const cx *in) {
  if (!make_room(r)) return false;
  for (uint32_t i = 0; i < r->n_in; i++)
    if (!view_operand(r, i, in[i])) return false;
  if (r->ctx->checks && !cxi_bounds_check(r->prim, r->params, r->in, &r->error))
    return false;
  const bool good = has_programs(r->prim) ? run_nested(r) : run_single(r);
  return good && (!r->ctx->checks || check_nan(r));
}

static cx failure(running *r) {
  if (r->poison.generation) return r->poison;
  return r->error.code == CX_EMEMORY
             ? cxi_report_memory()
             : cxi_report_error(cxi_prim_name(r->prim), &r->error);
}

static bool emit(cxi_emitter *e, cxi_prim prim, const void *params,
                 uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  running r;
  r.ctx = context_of(e);
  r.prim = prim;
  r.params = params;
  r.n_in = n_in;
  r.n_out = n_out;
  r.poison = (cx){ 0, 0 };
  r.error.code = CX_OK;
  const cxi_mark mark = cxi_scratch_mark();
  const cxi_fpu mode = cxi_fpu_enter();
  const bool good = run(&r, in);
  cxi_fpu_leave(mode);
  const cx poison = good ? (cx){ 0, 0 } : failure(&r);
  for (uint32_t i = 0; i < n_out; i++) {
    out[i] = poison;
    if (!good) continue;
    cxi_item item = { .kind = CXI_ITEM_ARRAY, .type = r.out[i]->type };
    item.as.array = r.out[i];
    out[i] = cxi_handle(item);
  }
  cxi_scratch_reset(mark);
  return good;
}

void cxi_eager_emitter(cxi_emitter *out) {
  *out = (cxi_emitter){ info, literal, emit, fail, NULL, NULL };
}
