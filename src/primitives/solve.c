/* solve.c - what the rows share whose derivative is that of an equation. */
#include "primitives/solve.h"

#include <assert.h>
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"
#include "primitives/custom.h"
#include "primitives/families.h"

/* -- infer ---------------------------------------------------------------- */

bool cxi_solve_infer(cxi_infer *c, const cxi_solve_part *parts, uint32_t n,
                     uint32_t m, const cxi_program *solve) {
  if (m > c->n_in)
    return cxi_infer_fail(c, CX_ETREE, "%u operands, a vector has %u arrays",
                          c->n_in, m);
  const uint32_t consts = c->n_in - m;
  for (uint32_t i = consts; i < c->n_in; i++)
    if (!cxi_infer_kind(c, i, CXI_ACCEPT_FLOAT)) return false;
  cxi_type *in = cxi_scratch(((size_t)c->n_in + m + 1) * sizeof *in);
  if (!in) return cxi_infer_fail(c, CX_EMEMORY, "no memory");
  memcpy(in, c->in, c->n_in * sizeof *in);
  memcpy(in + c->n_in, c->in + consts, m * sizeof *in);
  for (uint32_t k = 0; k < n; k++) {
    const cxi_solve_part *part = &parts[k];
    if (!part->p && part->optional) continue;
    if (!cxi_custom_infer_program(c, part->what, part->p,
                                  consts + part->n_vectors * m, in, m,
                                  in + consts))
      return false;
    assert(part->p);
    if (part->exact && part->p->n_out != m)
      return cxi_infer_fail(c, CX_ETREE, "%s returns %u values, not %u",
                            part->what, part->p->n_out, m);
  }
  for (uint32_t i = 0; i < solve->n_out; i++)
    if (!cxi_infer_result(c, cxi_output_type(solve, i))) return false;
  return true;
}

/* -- batch ---------------------------------------------------------------- */

/* A part batched; what it makes of the vectors grows the mask. */
static const cxi_program *batch_part(const cxi_rule *r,
                                     const cxi_solve_part *part, uint32_t m,
                                     const int *axis, int64_t size,
                                     bool *vector, bool *grown, bool *made) {
  const uint32_t consts = r->n_in - m;
  const cxi_program *p = part->p;
  bool *in = cxi_call_array(p->n_in, sizeof *in);
  bool *force = cxi_call_array(p->n_out, sizeof *force);
  if (!in || !force) return NULL;
  for (uint32_t i = 0; i < consts; i++) in[i] = axis[i] >= 0;
  for (uint32_t k = 0; k < part->n_vectors; k++)
    memcpy(in + consts + k * m, vector, m);
  memcpy(force, vector, m);
  const cxi_program *q = r->transforms->batch(p, in, size, force, made);
  if (q) *grown = cxi_join(m, vector, made) || *grown;
  return q;
}

/* The operands of the batched equation. */
static cx *operands(const cxi_rule *r, uint32_t m, const cx *in,
                    const int *axis, int64_t size, const bool *vector) {
  const uint32_t consts = r->n_in - m;
  cx *args = cxi_call_to_front(r, in, axis);
  for (uint32_t i = consts; args && i < r->n_in; i++)
    if (vector[i - consts] && axis[i] < 0)
      args[i] = cxi_insert_axis(in[i], 0, size);
  return args;
}

cx *cxi_solve_batch(const cxi_rule *r, const cxi_solve_part *parts, uint32_t n,
                    uint32_t m, const cx *in, const int *axis, int64_t size,
                    const cxi_program **out, int *out_axis) {
  uint32_t most = 0;
  for (uint32_t k = 0; k < n; k++)
    if (parts[k].p && parts[k].p->n_out > most) most = parts[k].p->n_out;
  bool *made = cxi_call_array(most, sizeof *made), grown = true;
  bool *vector = cxi_call_array(m, sizeof *vector);
  if (!made || !vector) return NULL;
  for (uint32_t i = 0; i < m; i++) vector[i] = axis[r->n_in - m + i] >= 0;
  while (grown) {
    grown = false;
    for (uint32_t k = n; k-- > 0;) { /* what parts[0] made is left */
      out[k] = NULL;
      if (!parts[k].p) continue;
      out[k] = batch_part(r, &parts[k], m, axis, size, vector, &grown, made);
      if (!out[k]) return NULL;
    }
  }
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = made[i] ? 0 : -1;
  return operands(r, m, in, axis, size, vector);
}

/* -- dce ------------------------------------------------------------------ */

void cxi_solve_dce(const cxi_rule *r, const void *params,
                   const cxi_program **solve, uint32_t m, const cx *in,
                   const bool *used, cx *out) {
  uint32_t *kept = cxi_call_array(r->n_out, sizeof *kept), n = 0;
  cx *results = cxi_call_array(r->n_out, sizeof *results);
  if (!kept || !results) return;
  for (uint32_t i = 0; i < r->n_out; i++)
    if (i < m || used[i]) kept[n++] = i;
  *solve = r->transforms->select(*solve, NULL, n, kept);
  if (!*solve || !cxi_emit(r->row->prim, params, r->n_in, in, n, results))
    return;
  for (uint32_t k = 0; k < n; k++)
    if (used[kept[k]]) out[kept[k]] = results[k];
}

/* -- tangents ------------------------------------------------------------- */

/* The tangents of p alone, of those of its consts, as many as *out_n; which
 * results have one in nonzero. */
static const cxi_program *tangents_of(const cxi_rule *r, const cxi_program *p,
                                      const bool *nonzero_in, bool *nonzero,
                                      uint32_t *out_n) {
  const cxi_program *q =
      r->transforms->jvp(p, nonzero_in, NULL, r->linearizing, nonzero);
  if (!q) return NULL;
  *out_n = q->n_out - p->n_out;
  uint32_t *pick = cxi_call_array(*out_n, sizeof *pick);
  if (!pick) return NULL;
  for (uint32_t i = 0; i < *out_n; i++) pick[i] = p->n_out + i;
  return r->transforms->select(q, NULL, *out_n, pick);
}

bool cxi_solve_right_side(const cxi_rule *r, const cxi_program *p, uint32_t m,
                          const cx *in, const cx *dx, const cx *x, cx *rhs) {
  const uint32_t consts = r->n_in - m;
  bool *nonzero = cxi_call_array(p->n_in, sizeof *nonzero);
  bool *nonzero_out = cxi_call_array(p->n_out, sizeof *nonzero_out);
  cx *args = cxi_call_array(p->n_in + (size_t)consts, sizeof *args);
  cx *made = cxi_call_array(m, sizeof *made);
  bool any = false;
  if (!nonzero || !nonzero_out || !args || !made) return false;
  memcpy(args, in, consts * sizeof *args);
  memcpy(args + consts, x, m * sizeof *args);
  uint32_t n_args = p->n_in, n = 0, at = 0;
  for (uint32_t i = 0; i < consts; i++) {
    nonzero[i] = cxi_given(dx[i]);
    if (nonzero[i]) args[n_args++] = dx[i];
    any = any || nonzero[i];
  }
  if (any) {
    const cxi_program *q = tangents_of(r, p, nonzero, nonzero_out, &n);
    if (!q || !cxi_call_apply(r->transforms, NULL, q, args, made)) return false;
  }
  any = false;
  for (uint32_t i = 0; i < m; i++) {
    if (n && nonzero_out[i])
      rhs[i] = cxi_sum_given(rhs[i], cxi_neg(made[at++]));
    any = any || cxi_given(rhs[i]);
  }
  return any;
}

void cxi_solve_linear(const cxi_rule *r, const cxi_linear_solve_params *params,
                      uint32_t n_consts, const cx *consts, uint32_t m,
                      const cx *rhs, cx *out) {
  const cxi_program *solve = params->solve;
  cxi_linear_solve_params p = *params;
  cx *args = cxi_call_array((size_t)n_consts + m, sizeof *args);
  uint32_t *first = cxi_call_array(m, sizeof *first);
  if (!args || !first) return;
  memcpy(args, consts, n_consts * sizeof *args);
  for (uint32_t i = 0; i < m; i++) {
    first[i] = i;
    args[n_consts + i] =
        cxi_given(rhs[i]) ? rhs[i] : cxi_zeros(cxi_output_type(solve, i));
  }
  p.solve = r->transforms->select(solve, NULL, m, first);
  if (p.solve) cxi_emit(CXI_PRIM_linear_solve, &p, n_consts + m, args, m, out);
}
