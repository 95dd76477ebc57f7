/* scan_jvp.c - forward mode of scan: tangents travel beside the carries. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

/* The body's forward mode and which of its inputs and outputs have tangents. */
typedef struct tangents {
  const cxi_program *body; /* (ins, tangents) -> (outs, tangents) */
  bool *in, *out;
} tangents;

/* A carry that leaves a step with a tangent enters with one. */
static bool find_tangents(const cxi_rule *r, const cx *dx, tangents *t) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  bool *instantiate = cxi_array(n.out, sizeof *instantiate, &ok);
  t->in = cxi_array(n.in, sizeof *t->in, &ok);
  t->out = cxi_array(n.out, sizeof *t->out, &ok);
  if (!ok) return false;
  for (uint32_t i = 0; i < n.in; i++) t->in[i] = cxi_given(dx[i]);
  do {
    memcpy(instantiate, t->in + n.consts, n.carry * sizeof *instantiate);
    t->body =
        r->transforms->jvp(p->body, t->in, instantiate, r->linearizing, t->out);
    if (!t->body) return true; /* reported */
  } while (cxi_join(n.carry, t->in + n.consts, t->out));
  return true;
}

/* Numbers the marked ones from `first` on. */
static void number(uint32_t n, const bool *mark, uint32_t first, uint32_t *at) {
  for (uint32_t i = 0; i < n; i++)
    if (mark[i]) at[i] = first++;
}

/* Operands [begin, end) and after them their tangents; how many. */
static uint32_t wire_part(const cxi_rule *r, const tangents *t, const cx *in,
                          const cx *dx, const uint32_t *tangent_at,
                          uint32_t begin, uint32_t end, cxi_wires *w) {
  const uint32_t before = w->n;
  for (uint32_t i = begin; i < end; i++) cxi_wire(w, in[i], i);
  for (uint32_t i = begin; i < end; i++)
    if (t->in[i])
      cxi_wire(w, cxi_given(dx[i]) ? dx[i] : cxi_zeros(r->in_types[i]),
               tangent_at[i]);
  return w->n - before;
}

/* body'(consts, dconsts, carry, dcarry, x, dx) -> carry, dcarry, y, dy */
void cxi_scan_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  tangents t = { 0 };
  uint32_t *in_at = cxi_array(n.in, sizeof *in_at, &ok);
  uint32_t *out_at = cxi_array(n.out, sizeof *out_at, &ok);
  uint32_t *order = cxi_array(2 * (size_t)n.out, sizeof *order, &ok);
  cx *results = cxi_array(2 * (size_t)n.out, sizeof *results, &ok);
  cxi_wires w = cxi_wires_new(2 * (size_t)n.in, &ok);
  if (!ok || !find_tangents(r, dx, &t)) {
    cxi_rule_no_memory(n.out, out);
    return;
  }
  if (!t.body) {
    cxi_rule_stop(n.out, out);
    return;
  }
  number(n.in, t.in, n.in, in_at);
  number(n.out, t.out, n.out, out_at);

  cxi_scan_params s = *p;
  s.n_consts = wire_part(r, &t, in, dx, in_at, 0, n.consts, &w);
  s.n_carry = wire_part(r, &t, in, dx, in_at, n.consts, n.start_xs, &w);
  wire_part(r, &t, in, dx, in_at, n.start_xs, n.in, &w);

  const uint32_t cut[] = { 0, n.carry, n.out };
  uint32_t n_results = 0;
  for (int part = 0; part < 2; part++) {
    for (uint32_t i = cut[part]; i < cut[part + 1]; i++) order[n_results++] = i;
    for (uint32_t i = cut[part]; i < cut[part + 1]; i++)
      if (t.out[i]) order[n_results++] = out_at[i];
  }
  s.body = r->transforms->select(t.body, w.places, n_results, order);
  if (!s.body) {
    cxi_rule_stop(n.out, out);
    return;
  }
  cxi_scan(&s, w.args, results);

  /* back from the order of the results to that of the equation */
  cx *by_place = cxi_array(2 * (size_t)n.out, sizeof *by_place, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.out, out);
    return;
  }
  for (uint32_t k = 0; k < n_results; k++) by_place[order[k]] = results[k];
  for (uint32_t i = 0; i < n.out; i++) {
    out[i] = by_place[i];
    if (t.out[i]) dout[i] = by_place[out_at[i]];
  }
}
