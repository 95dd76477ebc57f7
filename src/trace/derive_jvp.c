/* derive_jvp.c - cx_jvp and cx_vjp: trees of tangents beside primals. */
#include <string.h>

#include "trace/derive.h"

/* The two arguments: a tuple of primals, and tangents or cotangents. */
static const cxi_structure *primals_of(cxi_request *q) {
  const cxi_structure *s = q->n_args == 2 && !cxi_sig_is_leaf(q->args[0])
                               ? cxi_structure_of(q->args[0])
                               : NULL;
  if (s && !s->is_dict && !s->is_none) return s;
  cxi_request_fail(q, CX_ETREE,
                   "%s takes (primals, %s), the primals as one"
                   " tuple",
                   q->code->name,
                   q->code->kind == CXI_CODE_JVP ? "tangents" : "cotangents");
  return NULL;
}

static cxi_entry *no_memory(cxi_derivation *d) {
  cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  return cxi_derive_fail(d);
}

static cxi_entry *ended(cxi_derivation *d) {
  cxi_entry_release(d->inner);
  return NULL;
}

/* Where there is a tangent for an integer, or none for a float, in place[]. */
static bool check_floats(cxi_derivation *d, const char *what, uint32_t n,
                         const cxi_type *types, const int64_t *place) {
  for (uint32_t i = 0; i < n; i++) {
    if (place[i] < 0 || cxi_type_is_float(types[i])) continue;
    char text[128];
    cxi_aval_print(text, sizeof text, cxi_type_aval(types[i]));
    cxi_request_fail(d->q, CX_EDTYPE, "%s: %s has no %s: give cx_none() there",
                     d->q->code->name, text, what);
    return false;
  }
  return true;
}

/* A structure with none for its integer leaves. */
static cxi_sig floats_of(cxi_sig sig) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  if (!types) return 0;
  cxi_sig_types(sig, types);
  for (uint32_t i = 0; i < n; i++)
    if (!cxi_type_is_float(types[i])) types[i] = 0;
  return cxi_sig_with_types(sig, types);
}

/* -- jvp ------------------------------------------------------------------ */

/* y, its derivative, and aux if there is one: the results in their order. */
static cxi_entry *close_with(cxi_derivation *d, uint32_t n_y, uint32_t n_rest,
                             const cx *out, cxi_sig derivative) {
  const uint32_t n_aux = d->p->n_out - n_y;
  cx *results = cxi_scratch((d->p->n_out + n_rest) * sizeof *results + 1);
  cxi_sig y, aux;
  if (!results || !derivative || !cxi_split_aux(d->q, d->inner->out, &y, &aux))
    return no_memory(d);
  memcpy(results, out, n_y * sizeof *out);
  memcpy(results + n_y, out + d->p->n_out, n_rest * sizeof *out);
  memcpy(results + n_y + n_rest, out + n_y, n_aux * sizeof *out);
  const cxi_sig sigs[3] = { y, derivative, aux };
  return cxi_derive_close(d, d->p->n_out + n_rest, results,
                          cxi_sig_tuple(aux ? 3 : 2, sigs));
}

static cxi_entry *write_jvp(cxi_derivation *d, const int64_t *place,
                            cxi_sig y) {
  const cxi_program *p = d->p;
  const uint32_t n_y = cxi_sig_leaves(y);
  const uint32_t n_primals = p->n_in - d->n_lead;
  bool *nonzero = cxi_scratch(p->n_in + 1u), *all = cxi_scratch(p->n_out + 1u);
  bool *made = cxi_scratch(p->n_out + 1u);
  cx *in = cxi_scratch(2 * p->n_in * sizeof *in + 1);
  cx *out = cxi_scratch(2 * p->n_out * sizeof *out + 1);
  if (!nonzero || !all || !made || !in || !out) return no_memory(d);
  for (uint32_t i = 0; i < n_primals; i++)
    nonzero[d->n_lead + i] = place[i] >= 0;
  for (uint32_t i = 0; i < n_y; i++)
    all[i] = cxi_type_is_float(cxi_output_type(p, i));
  const cxi_program *jvp = cxi_jvp(p, nonzero, all, false, made, &d->error);
  if (!jvp || !cxi_derive_open(d)) return cxi_derive_fail(d);
  uint32_t n = 0, n_made = 0, n_rest = 0;
  for (uint32_t i = 0; i < p->n_in; i++) in[n++] = d->in[i];
  for (uint32_t i = 0; i < n_primals; i++)
    if (place[i] >= 0) in[n++] = d->in[p->n_in + place[i]];
  cxi_replay(jvp, in, out);
  /* aux may have tangents too; they are not wanted */
  for (uint32_t i = 0; i < p->n_out; i++) {
    if (!made[i]) continue;
    if (i < n_y) out[p->n_out + n_rest++] = out[p->n_out + n_made];
    n_made++;
  }
  return close_with(d, n_y, n_rest, out, floats_of(y));
}

cxi_entry *cxi_derive_jvp(cxi_request *q) {
  cxi_derivation d;
  const cxi_structure *primals = primals_of(q);
  if (!primals || !cxi_derive_inner(&d, q, 0, primals->n, primals->items))
    return NULL;
  const uint32_t n = primals->n_leaves;
  int64_t *place = cxi_scratch(n * sizeof *place + 1);
  if (!place) return no_memory(&d);
  if (!cxi_match_tangents(q, "tangent", q->args[0], q->args[1], place))
    return ended(&d);
  const cxi_value *values = d.p->values + d.n_lead;
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  if (!types) return no_memory(&d);
  for (uint32_t i = 0; i < n; i++) types[i] = values[i].type;
  cxi_sig y, aux;
  if (!check_floats(&d, "tangent", n, types, place) ||
      !cxi_split_aux(q, d.inner->out, &y, &aux))
    return ended(&d);
  return write_jvp(&d, place, y);
}

/* -- vjp ------------------------------------------------------------------ */

static cxi_entry *write_vjp(cxi_derivation *d, const int64_t *place,
                            uint32_t n_y) {
  const cxi_program *p = d->p;
  const uint32_t n_primals = p->n_in - d->n_lead;
  bool *wrt = cxi_scratch(p->n_in + 1u);
  bool *cotangent = cxi_scratch(p->n_out + 1u);
  cx *in = cxi_scratch((p->n_in + p->n_out) * sizeof *in + 1);
  cx *out = cxi_scratch((p->n_out + p->n_in) * sizeof *out + 1);
  if (!wrt || !cotangent || !in || !out) return no_memory(d);
  for (uint32_t i = 0; i < n_primals; i++)
    wrt[d->n_lead + i] = cxi_type_is_float(p->values[d->n_lead + i].type);
  for (uint32_t i = 0; i < n_y; i++) cotangent[i] = place[i] >= 0;
  const cxi_program *vjp = cxi_vjp(p, wrt, cotangent, &d->error);
  if (!vjp || !cxi_derive_open(d)) return cxi_derive_fail(d);
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_in; i++) in[n++] = d->in[i];
  for (uint32_t i = 0; i < n_y; i++)
    if (place[i] >= 0) in[n++] = d->in[p->n_in + place[i]];
  cxi_replay(vjp, in, out);
  return close_with(d, n_y, vjp->n_out - p->n_out, out,
                    floats_of(d->q->args[0]));
}

cxi_entry *cxi_derive_vjp(cxi_request *q) {
  cxi_derivation d;
  const cxi_structure *primals = primals_of(q);
  if (!primals || !cxi_derive_inner(&d, q, 0, primals->n, primals->items))
    return NULL;
  cxi_sig y, aux;
  if (!cxi_split_aux(q, d.inner->out, &y, &aux)) return ended(&d);
  const uint32_t n = cxi_sig_leaves(y);
  int64_t *place = cxi_scratch(n * sizeof *place + 1);
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  if (!place || !types) return no_memory(&d);
  cxi_sig_types(y, types);
  if (!cxi_match_tangents(q, "cotangent", y, q->args[1], place) ||
      !check_floats(&d, "cotangent", n, types, place))
    return ended(&d);
  return write_vjp(&d, place, n);
}
