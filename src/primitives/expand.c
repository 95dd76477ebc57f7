/* expand.c - an equation written in other primitives. */
#include "primitives/expand.h"

#include "primitives/call.h"
#include "primitives/moves.h"

/* The expansion as a program from the operands to the results: held, or NULL
 * after reporting. */
static const cxi_program *expanded(const cxi_rule *r, cxi_expansion *write) {
  cx *in = cxi_handles(r->n_in, cx_none());
  cx *out = cxi_handles(r->n_out, cx_none());
  if (!in || !out) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < r->n_in; i++)
    in[i] = cxi_builder_input(&b, r->in_types[i]);
  write(r, in, out);
  return cxi_call_finish(&b, 0, r->n_in, in, r->n_out, out);
}

void cxi_jvp_through(const cxi_rule *r, cxi_expansion *write, const cx *in,
                     const cx *dx, cx *out, cx *dout) {
  const cxi_program *p = expanded(r, write);
  bool *nonzero = cxi_call_array(r->n_in, sizeof *nonzero);
  bool *nonzero_out = cxi_call_array(r->n_out, sizeof *nonzero_out);
  cx *args = cxi_handles(2 * r->n_in, cx_none());
  cx *results = cxi_handles(2 * r->n_out, cx_none());
  if (!p || !nonzero || !nonzero_out || !args || !results) return;
  uint32_t n = r->n_in, m = r->n_out;
  for (uint32_t i = 0; i < r->n_in; i++) {
    args[i] = in[i];
    nonzero[i] = cxi_given(dx[i]);
    if (nonzero[i]) args[n++] = dx[i];
  }
  const cxi_program *q =
      r->transforms->jvp(p, nonzero, NULL, r->linearizing, nonzero_out);
  if (!q || !cxi_replay(q, args, results)) return;
  for (uint32_t i = 0; i < r->n_out; i++) {
    if (out) out[i] = results[i];
    if (nonzero_out[i]) dout[i] = results[m++];
  }
}

void cxi_jvp_expansion(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                       cx *dout) {
  cxi_jvp_through(r, r->row->expand, in, dx, out, dout);
}

bool cxi_evaluate_expansion(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_mark mark = cxi_scratch_mark();
  const size_t n = (size_t)e->n_in + e->n_out;
  cxi_type *types = cxi_scratch((n + 1) * sizeof *types);
  if (!types) return cxi_error_set(e->error, CX_EMEMORY, "no memory to expand");
  for (uint32_t i = 0; i < e->n_in; i++)
    types[i] = cxi_type_make(in[i].type.type, in[i].type.shape);
  for (uint32_t i = 0; i < e->n_out; i++)
    types[e->n_in + i] = cxi_type_make(out[i].type.type, out[i].type.shape);
  const cxi_rule rule = { .row = e->row,
                          .params = e->params,
                          .n_in = e->n_in,
                          .n_out = e->n_out,
                          .in_types = types,
                          .out_types = types + e->n_in };
  const cxi_program *p = cxi_row_expand(&rule, e->error);
  const bool ok = p && cxi_call_evaluate(e, p, in, out);
  cxi_program_release(p);
  cxi_scratch_reset(mark);
  return ok;
}
