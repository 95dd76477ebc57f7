/* expand.c - an equation as a program of the primitives it is short for. */
#include "ir/builder.h"
#include "ir/row.h"

const cxi_program *cxi_row_expand(const cxi_rule *r, cxi_error *error) {
  const cxi_mark mark = cxi_scratch_mark();
  cx *in = cxi_scratch((r->n_in + (size_t)1) * sizeof *in);
  cx *out = cxi_scratch((r->n_out + (size_t)1) * sizeof *out);
  const cxi_program *p = NULL;
  if (in && out) {
    cxi_builder b;
    cxi_builder_open(&b);
    for (uint32_t i = 0; i < r->n_in; i++)
      in[i] = cxi_builder_input(&b, r->in_types[i]);
    for (uint32_t i = 0; i < r->n_out; i++) out[i] = (cx){ 0, 0 };
    r->row->expand(r, in, out);
    p = cxi_builder_finish(&b, 0, r->n_in, in, r->n_out, out, error);
  }
  if (!p && error->code == CX_OK)
    cxi_error_set(error, CX_EMEMORY, "no memory to expand %s",
                  cxi_prim_name(r->row->prim));
  cxi_scratch_reset(mark);
  return p;
}
