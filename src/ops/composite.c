/* composite.c - writes a composite's programs and emits it. */
#include "ops/composite.h"

#include "ir/builder.h"

static const cxi_program *finish(cxi_builder *b, cxi_name name, uint32_t n_in,
                                 const cx *in, uint32_t n_out, const cx *out,
                                 cxi_error *error) {
  return cxi_builder_finish(b, name, n_in, in, n_out, out, error);
}
static const cxi_program *write_forward(const cxi_composite *c,
                                        const cxi_type *types, uint32_t n_out,
                                        cxi_error *error) {
  cxi_builder b;
  cx in[CXI_COMPOSITE_MAX], out[CXI_COMPOSITE_MAX];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n_in; i++)
    in[i] = cxi_builder_input(&b, types[i]);
  c->forward(in, c->number, out);
  return finish(&b, cxi_name_of(c->name), c->n_in, in, n_out, out, error);
}
static const cxi_program *write_backward(const cxi_composite *c,
                                         const cxi_program *fwd,
                                         cxi_error *error) {
  cxi_builder b;
  cx in[CXI_COMPOSITE_MAX + 1], out[CXI_COMPOSITE_MAX];
  uint32_t n_out = 0;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n_residuals; i++)
    in[i] = cxi_builder_input(&b, cxi_output_type(fwd, 1 + i));
  cx ct = in[c->n_residuals] = cxi_builder_input(&b, cxi_output_type(fwd, 0));
  c->backward(in, ct, c->number, out);
  for (uint32_t i = 0; i < c->n_in; i++)
    n_out += cxi_type_is_float(fwd->values[i].type);
  return finish(&b, cxi_name_of(c->name), c->n_residuals + 1, in, n_out, out,
                error);
}
cx cxi_composite_emit(const cxi_composite *c, const cx *in) {
  cxi_type types[CXI_COMPOSITE_MAX];
  cxi_error error = { 0 };
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (cxi_is_poison(in[i])) return in[i];
    types[i] = cxi_type_at(in[i]);
  }
  cxi_composite_params p = { .name = cxi_name_of(c->name),
                             .number = c->number };
  p.body = write_forward(c, types, 1, &error);
  p.fwd = p.body ? write_forward(c, types, 1 + c->n_residuals, &error) : NULL;
  p.bwd = p.fwd ? write_backward(c, p.fwd, &error) : NULL;
  cx result = p.bwd ? cxi_emit1(CXI_PRIM_composite, &p, c->n_in, in)
                    : cxi_fail(error.code, "%s", error.text);
  cxi_program_release(p.body);
  cxi_program_release(p.fwd);
  cxi_program_release(p.bwd);
  return result;
}
