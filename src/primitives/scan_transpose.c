/* scan_transpose.c - reverse mode of a linear scan: it runs the other way.
 *
 *   body(consts, carry, x) -> (carry, y), linear in some of each, becomes
 *   body'(other consts, (ct consts, ct carry), (other x, ct y))
 *     -> ((ct consts, ct carry), ct x)
 */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

/* Which operands the loop is linear in. */
static void find_linear(const cxi_rule *r, const cx *in, bool *linear,
                        bool *ok) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool *reached = cxi_array(n.out, sizeof *reached, ok);
  if (!reached) return;
  for (uint32_t i = 0; i < n.in; i++) linear[i] = cx_is_none(in[i]);
  do {
    cxi_outputs_reached(p->body, linear, reached, ok);
  } while (*ok && cxi_join(n.carry, linear + n.consts, reached));
}

/* A loop all of whose carries are linear. */
static void transpose_linear(const cxi_rule *r, const cxi_scan_params *p,
                             const bool *linear, const cx *in, const cx *ct,
                             cx *acc) {
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  bool *has_ct = cxi_array(n.out, sizeof *has_ct, &ok);
  bool *has_acc = cxi_array(n.in, sizeof *has_acc, &ok);
  cx *results = cxi_array(n.in, sizeof *results, &ok);
  cxi_wires w = cxi_wires_new(2 * (size_t)n.in + n.out, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return;
  }
  for (uint32_t i = 0; i < n.out; i++)
    has_ct[i] = i < n.carry || cxi_given(ct[i]);
  for (uint32_t i = 0; i < n.consts; i++) has_acc[i] = linear[i];
  const cxi_program *body =
      r->transforms->transpose(p->body, linear, has_ct, has_acc);
  if (!body) return;

  /* body: (other consts, other xs, ct carry, ct ys, accumulators) */
  const uint32_t other_consts = n.consts - cxi_count(n.consts, linear);
  const uint32_t other_xs = n.xs - cxi_count(n.xs, linear + n.start_xs);
  const uint32_t first_ct = other_consts + other_xs;
  const uint32_t first_acc = first_ct + cxi_count(n.out, has_ct);
  cxi_scan_params s = *p;
  s.reverse = !p->reverse;
  for (uint32_t i = 0, at = 0; i < n.consts; i++)
    if (!linear[i]) cxi_wire(&w, in[i], at++);
  s.n_consts = w.n;
  for (uint32_t i = 0, at = first_acc; i < n.consts; i++)
    if (linear[i])
      cxi_wire(&w,
               cxi_given(acc[i]) ? acc[i] : cxi_zeros(p->body->values[i].type),
               at++);
  for (uint32_t i = 0; i < n.carry; i++)
    cxi_wire(&w, cxi_given(ct[i]) ? ct[i] : cxi_zeros(r->out_types[i]),
             first_ct + i);
  s.n_carry = w.n - s.n_consts;
  for (uint32_t i = n.start_xs, at = other_consts; i < n.in; i++)
    if (!linear[i]) cxi_wire(&w, in[i], at++);
  for (uint32_t i = n.carry, at = first_ct + n.carry; i < n.out; i++)
    if (has_ct[i]) cxi_wire(&w, ct[i], at++);
  s.body = r->transforms->select(body, w.places, body->n_out, NULL);
  if (!s.body) return;
  cxi_scan(&s, w.args, results);
  for (uint32_t i = 0, k = 0; i < n.in; i++) {
    if (!linear[i]) continue;
    const cx ct_in = results[k++];
    if (i < n.consts)
      acc[i] = ct_in;
    else if (cx_is_none(in[i]))
      acc[i] = cxi_sum_given(acc[i], ct_in);
  }
}

/* Some carries are not linear, a counter say: their loop runs forwards, and
 * only what is left of the equation is transposed. */
static void transpose_rest(const cxi_rule *r, bool *linear, const cx *in,
                           const cx *ct, cx *acc) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  cx *known_out = cxi_array(n.out, sizeof *known_out, &ok);
  bool *linear_out = cxi_array(n.out, sizeof *linear_out, &ok);
  cx *rest_ct = cxi_array(n.out, sizeof *rest_ct, &ok);
  cxi_type *rest_types = cxi_array(n.out, sizeof *rest_types, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return;
  }
  cxi_scan_rest rest;
  if (!cxi_scan_cut(r, in, linear, known_out, linear_out, &rest)) return;
  bool *rest_linear = cxi_array(rest.n_in, sizeof *rest_linear, &ok);
  cx *rest_in = cxi_array(rest.n_in, sizeof *rest_in, &ok);
  cx *rest_acc = cxi_array(rest.n_in, sizeof *rest_acc, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return;
  }
  const cxi_scan_sizes left = cxi_scan_sizes_of(&rest.params);
  for (uint32_t i = 0; i < rest.n_in; i++) {
    const uint32_t from = rest.from[i];
    const bool residual = from == CXI_NOT_FROM;
    rest_in[i] = residual ? rest.known[i] : in[from];
    rest_linear[i] = !residual || (i >= left.consts && i < left.start_xs);
    rest_acc[i] = residual ? cx_none() : acc[from];
  }
  for (uint32_t i = 0, k = 0; i < n.out; i++)
    if (linear_out[i]) {
      rest_types[k] = r->out_types[i];
      rest_ct[k++] = ct[i];
    }
  cxi_rule rule = *r;
  rule.out_types = rest_types;
  transpose_linear(&rule, &rest.params, rest_linear, rest_in, rest_ct,
                   rest_acc);
  for (uint32_t i = 0; i < rest.n_in; i++)
    if (rest.from[i] != CXI_NOT_FROM) acc[rest.from[i]] = rest_acc[i];
}

void cxi_scan_transpose(const cxi_rule *r, const cx *in, const cx *ct,
                        cx *acc) {
  const cxi_scan_params *p = r->params;
  const cxi_scan_sizes n = cxi_scan_sizes_of(p);
  bool ok = true;
  bool *linear = cxi_array(n.in, sizeof *linear, &ok);
  if (linear) find_linear(r, in, linear, &ok);
  if (!linear || !ok) {
    cxi_rule_no_memory(0, NULL);
    return;
  }
  if (cxi_count(n.carry, linear + n.consts) == n.carry)
    transpose_linear(r, p, linear, in, ct, acc);
  else
    transpose_rest(r, linear, in, ct, acc);
}
