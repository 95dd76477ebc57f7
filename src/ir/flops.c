/* flops.c - what the equations of a program cost in floating-point operations,
 * those of the programs inside included. */
#include <string.h>

#include "ir/nest.h"
#include "ir/row.h"

static double elements(const cxi_program *p, const uint32_t *values,
                       uint32_t first, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t v = values ? values[i] : first + i;
    sum += (double)cxi_dims_count(cxi_type_shape(p->values[v].type));
  }
  return sum;
}

/* What the row says of itself. */
static double of_row(const cxi_program *p, const cxi_equation *e) {
  const cxi_mark mark = cxi_scratch_mark();
  const uint32_t *operands = cxi_operands_of(p, e);
  cxi_type *types = cxi_scratch((e->n_in + e->n_out) * sizeof *types + 1);
  double flops = 0;
  for (uint32_t i = 0; types && i < e->n_in; i++)
    types[i] = p->values[operands[i]].type;
  for (uint32_t i = 0; types && i < e->n_out; i++)
    types[e->n_in + i] = p->values[e->out + i].type;
  const cxi_rule rule = { .row = cxi_row_of((cxi_prim)e->prim),
                          .params = e->params,
                          .n_in = e->n_in,
                          .n_out = e->n_out,
                          .in_types = types,
                          .out_types = types ? types + e->n_in : NULL };
  if (types) flops = rule.row->flops(&rule);
  cxi_scratch_reset(mark);
  return flops;
}

/* Totals of programs that stand before in the nest. */
typedef struct totals {
  const cxi_nest *nest;
  double *of; /* by place in the nest */
} totals;

static double total(const totals *t, const cxi_program *p) {
  return t->of[cxi_nest_find(t->nest, p)];
}

static double of_loop(const totals *t, const cxi_equation *e) {
  if (e->prim == CXI_PRIM_scan) {
    const cxi_scan_params *s = e->params;
    return (double)s->length * total(t, s->body);
  }
  if (e->prim == CXI_PRIM_while) { /* of one step: their number is unknown */
    const cxi_while_params *w = e->params;
    return total(t, w->cond) + total(t, w->body);
  }
  double most = 0;
  const cxi_programs branches = ((const cxi_cond_params *)e->params)->branches;
  for (uint32_t i = 0; i < branches.n; i++) {
    const double one = total(t, branches.d[i]);
    if (one > most) most = one;
  }
  return most;
}

static double of_equation(const totals *t, const cxi_program *p,
                          const cxi_equation *e) {
  const cxi_row *row = cxi_row_of((cxi_prim)e->prim);
  const cxi_program *body = cxi_params_body((cxi_prim)e->prim, e->params);
  if (row->flops) return of_row(p, e);
  if (body) return total(t, body);
  switch (row->form) {
  case CXI_FORM_MOVE:
  case CXI_FORM_INDEX:
    return 0;
  case CXI_FORM_REDUCE:
    return elements(p, cxi_operands_of(p, e), 0, e->n_in);
  case CXI_FORM_CONTROL:
    return of_loop(t, e);
  default:
    return elements(p, NULL, e->out, e->n_out);
  }
}

bool cxi_program_flops(const cxi_program *p, double *out) {
  cxi_nest nest = { 0 };
  const cxi_mark mark = cxi_scratch_mark();
  bool good = cxi_nest_of(p, &nest);
  totals t = { &nest, good ? cxi_scratch(nest.n * sizeof *t.of + 1) : NULL };
  good = t.of != NULL;
  for (uint32_t k = 0; good && k < nest.n; k++) {
    const cxi_program *q = nest.programs[k];
    t.of[k] = 0;
    for (uint32_t i = 0; i < q->n_equations; i++) {
      const double flops = of_equation(&t, q, &q->equations[i]);
      t.of[k] += flops;
      if (q == p) out[i] = flops;
    }
  }
  cxi_scratch_reset(mark);
  cxi_nest_free(&nest);
  return good;
}
