/* nan.c - where the first NaN arises: the program again, one equation at a
 * time. */
#include <math.h>
#include <string.h>

#include "ir/builder.h"
#include "ir/row.h"
#include "trace/device.h"

bool cxi_has_nan(cxi_type type, const void *data) {
  const cx_aval *aval = cxi_type_aval(type);
  if (!cxi_dtype_is_float(aval->type)) return false;
  const int64_t n = cxi_dims_count(&aval->shape);
  const size_t bytes = cxi_dtype_bytes(aval->type);
  for (int64_t i = 0; i < n; i++)
    if (isnan(cxi_element_get(aval->type,
                              (const char *)data + i * (int64_t)bytes)))
      return true;
  return false;
}

/* The values of a program that is run again. */
typedef struct again {
  cx_ctx *ctx;
  const cxi_program *p;
  const void **data; /* by value */
  cxi_array **made;  /* by value; references */
} again;

static void again_end(again *a) {
  for (uint32_t i = 0; a->made && i < a->p->n_values; i++)
    cxi_array_release(a->made[i]);
}

static bool again_start(again *a, const void *const *in) {
  const cxi_program *p = a->p;
  a->data = cxi_scratch(p->n_values * sizeof *a->data + 1);
  a->made = cxi_scratch(p->n_values * sizeof *a->made + 1);
  if (!a->data || !a->made) return false;
  for (uint32_t i = 0; i < p->n_in; i++) a->data[i] = in[i];
  for (uint32_t i = 0; i < p->n_literals; i++)
    a->data[p->n_in + i] = &p->literals[i];
  return true;
}

/* The one-equation program that runs any equation. */
static const cxi_program *program_of(const cxi_program *p,
                                     const cxi_equation *e, cxi_error *error) {
  cxi_builder b;
  cx *handles = cxi_scratch((e->n_in + e->n_out) * sizeof *handles + 1);
  if (!handles) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < e->n_in; i++)
    handles[i] =
        cxi_builder_input(&b, p->values[cxi_operands_of(p, e)[i]].type);
  cxi_emit((cxi_prim)e->prim, e->params, e->n_in, handles, e->n_out,
           handles + e->n_in);
  return cxi_builder_finish(&b, p->name, e->n_in, handles, e->n_out,
                            handles + e->n_in, error);
}

static bool run_equation(again *a, const cxi_equation *e) {
  cxi_error error = { 0 };
  const cxi_program *one = program_of(a->p, e, &error);
  cxi_view *in = cxi_scratch(e->n_in * sizeof *in + 1);
  bool good = one && in;
  for (uint32_t i = 0; good && i < e->n_in; i++) {
    const uint32_t v = cxi_operands_of(a->p, e)[i];
    in[i] = cxi_view_dense(*cxi_type_aval(a->p->values[v].type),
                           (void *)(uintptr_t)a->data[v]);
  }
  good = good && a->ctx->device->run(a->ctx, one, in, a->made + e->out, &error);
  cxi_program_release(one);
  for (uint32_t i = 0; good && i < e->n_out; i++)
    a->data[e->out + i] = a->made[e->out + i]->data;
  return good;
}

static bool any_nan(const again *a, const cxi_equation *e, bool results) {
  for (uint32_t i = 0; i < (results ? e->n_out : e->n_in); i++) {
    const uint32_t v = results ? e->out + i : cxi_operands_of(a->p, e)[i];
    if (cxi_has_nan(a->p->values[v].type, a->data[v])) return true;
  }
  return false;
}

/* The body that stands for a call's equation, on the same operands. */
static const cxi_program *body_of(const cxi_equation *e) {
  switch ((cxi_prim)e->prim) {
  case CXI_PRIM_jit:
    return ((const cxi_jit_params *)e->params)->body;
  case CXI_PRIM_composite:
    return ((const cxi_composite_params *)e->params)->body;
  case CXI_PRIM_checkpoint:
    return ((const cxi_checkpoint_params *)e->params)->body;
  case CXI_PRIM_custom_jvp:
    return ((const cxi_custom_jvp_params *)e->params)->body;
  case CXI_PRIM_custom_vjp:
    return ((const cxi_custom_vjp_params *)e->params)->body;
  default:
    return NULL;
  }
}

static cx report(const cxi_program *p, const cxi_equation *e) {
  char type[128];
  const cxi_name before = cxi_site_use(e->site ? e->site : cxi_site_now());
  cxi_aval_print(type, sizeof type, cxi_type_aval(p->values[e->out].type));
  const cx poison = cxi_reportf(
      CX_ENAN, "%s: the result %s has a NaN, the operands have none%s%s",
      cxi_prim_name((cxi_prim)e->prim), type, e->scope ? " in " : "",
      cxi_name_text(e->scope));
  cxi_site_use(before);
  return poison;
}

/* The first equation that makes a NaN of none, also within calls. Memory that
 * is short ends the search: the results are then taken as they are. */
static bool search(cx_ctx *ctx, const cxi_program *p, const void *const *in,
                   int depth, cx *out_poison) {
  enum { DEEPEST = 200 };
  again a = { .ctx = ctx, .p = p };
  bool clean = true;
  if (!again_start(&a, in)) return true;
  for (uint32_t i = 0; i < p->n_equations && clean; i++) {
    const cxi_equation *e = &p->equations[i];
    if (!run_equation(&a, e)) break;
    if (!any_nan(&a, e, true) || any_nan(&a, e, false)) continue;
    clean = false;
    const cxi_program *body = body_of(e);
    const void **operands = cxi_scratch(e->n_in * sizeof *operands + 1);
    for (uint32_t k = 0; operands && k < e->n_in; k++)
      operands[k] = a.data[cxi_operands_of(p, e)[k]];
    const bool within = body && operands && depth < DEEPEST &&
                        !search(ctx, body, operands, depth + 1, out_poison);
    if (!within) *out_poison = report(p, e);
  }
  again_end(&a);
  return clean;
}

bool cxi_nan_check(cx_ctx *ctx, const cxi_program *p, const void *const *in,
                   cxi_array *const *out, cx *out_poison) {
  bool found = false;
  for (uint32_t i = 0; i < p->n_out && !found; i++)
    found = cxi_has_nan(out[i]->type, out[i]->data);
  for (uint32_t i = 0; i < p->n_in && found; i++)
    found = !cxi_has_nan(p->values[i].type, in[i]);
  if (!found) return true;
  const cxi_mark mark = cxi_scratch_mark();
  const bool clean = search(ctx, p, in, 0, out_poison);
  cxi_scratch_reset(mark);
  return clean;
}
