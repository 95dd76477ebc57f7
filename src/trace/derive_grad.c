/* derive_grad.c - grad and value_and_grad: vjp with the cotangent one. */
#include <stdio.h>

#include "trace/derive.h"

/* The structure of the loss within f's result: (loss, aux) or loss alone. */
static cxi_sig loss_sig(const cxi_request *q, cxi_sig out) {
  if (!q->code->as.grad.has_aux) return out;
  if (cxi_sig_is_leaf(out)) return 0;
  const cxi_structure *s = cxi_structure_of(out);
  return !s->is_none && !s->is_dict && s->n == 2 ? s->items[0] : 0;
}

static bool check_loss(cxi_request *q, const cxi_entry *inner) {
  char got[160];
  const cxi_sig loss = loss_sig(q, inner->out);
  cxi_sig_print(got, sizeof got, loss ? loss : inner->out);
  if (!loss) {
    cxi_request_fail(q, CX_ETREE, "%s: must return (loss, aux), got %s",
                     q->code->name, got);
    return false;
  }
  const bool scalar =
      cxi_sig_is_leaf(loss) && cxi_type_rank(cxi_sig_type(loss)) == 0;
  if (scalar && cxi_type_is_float(cxi_sig_type(loss))) return true;
  cxi_request_fail(q, scalar ? CX_EDTYPE : CX_ESHAPE,
                   "%s: must return a scalar%s, got %s", q->code->name,
                   scalar ? " of a floating dtype" : "", got);
  return false;
}

/* Marks the floating leaves of the arguments in wrt; others there are an
 * error unless allowed. mask covers all inputs of the inner program. */
static bool mark_wrt(cxi_derivation *d, bool *mask) {
  cxi_request *q = d->q;
  const uint64_t wrt = q->code->as.grad.wrt;
  uint32_t at = d->n_lead, leaf = 0;
  for (uint32_t i = 0; i < q->n_args; i++) {
    const uint32_t n = cxi_sig_leaves(q->args[i]);
    for (uint32_t k = 0; k < n; k++, at++, leaf++) {
      if (i >= 64 || !(wrt >> i & 1)) continue;
      const cxi_type type = d->p->values[at].type;
      mask[at] = cxi_type_is_float(type);
      if (mask[at] || q->code->as.grad.allow_int) continue;
      char text[128];
      cxi_aval_print(text, sizeof text, cxi_type_aval(type));
      cxi_request_fail(q, CX_EDTYPE,
                       "%s: %s is %s, which has no gradient (.wrt chooses"
                       " others, .allow_int leaves it out)",
                       q->code->name,
                       cxi_leaf_name_of(q->code, q->n_args, q->args, leaf).text,
                       text);
      return false;
    }
  }
  if (q->n_args >= 64 || !(wrt >> q->n_args)) return true;
  cxi_request_fail(q, CX_ETREE,
                   "%s: .wrt names an argument that %s does not"
                   " have (it has %u)",
                   q->code->name, q->code->inner[0]->name, q->n_args);
  return false;
}

/* The gradient's structure: the argument's with none for integers; a tuple if
 * several are differentiated. */
static cxi_sig grads_sig(const cxi_derivation *d, const bool *mask) {
  const cxi_request *q = d->q;
  cxi_sig items[64];
  uint32_t n = 0, at = d->n_lead;
  for (uint32_t i = 0; i < q->n_args; i++) {
    const uint32_t leaves = cxi_sig_leaves(q->args[i]);
    if (i < 64 && q->code->as.grad.wrt >> i & 1) {
      cxi_type *types = cxi_scratch(leaves * sizeof *types + 1);
      if (!types) return 0;
      for (uint32_t k = 0; k < leaves; k++)
        types[k] = mask[at + k] ? d->p->values[at + k].type : 0;
      items[n++] = cxi_sig_with_types(q->args[i], types);
    }
    at += leaves;
  }
  return n == 1 ? items[0] : cxi_sig_tuple(n, items);
}

/* grads, (grads, aux), (value, grads) or ((value, aux), grads). */
static cxi_sig result_sig(const cxi_derivation *d, cxi_sig grads) {
  const cxi_request *q = d->q;
  const cxi_sig out = d->inner->out;
  if (q->code->kind == CXI_CODE_VALUE_AND_GRAD)
    return cxi_sig_tuple(2, (const cxi_sig[]){ out, grads });
  if (!q->code->as.grad.has_aux) return grads;
  return cxi_sig_tuple(
      2, (const cxi_sig[]){ grads, cxi_structure_of(out)->items[1] });
}

static cxi_entry *write_grad(cxi_derivation *d, const bool *mask) {
  const cxi_program *p = d->p;
  uint32_t n_grads = 0;
  for (uint32_t i = 0; i < p->n_in; i++) n_grads += mask[i];
  bool *cotangent = cxi_scratch(p->n_out * sizeof *cotangent + 1);
  cx *in = cxi_scratch((p->n_in + 1u) * sizeof *in);
  cx *out = cxi_scratch((p->n_out + n_grads) * sizeof *out + 1);
  cx *results = cxi_scratch((p->n_out + n_grads) * sizeof *results + 1);
  if (!cotangent || !in || !out || !results) {
    cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
    return cxi_derive_fail(d);
  }
  cotangent[0] = true; /* the loss is the first leaf */
  if (!cxi_derive_open(d)) return cxi_derive_fail(d);
  for (uint32_t i = 0; i < p->n_in; i++) in[i] = d->in[i];
  in[p->n_in] = cxi_number(cxi_type_dtype(cxi_output_type(p, 0)), 1);
  if (!cxi_vjp_into(&d->b, p, mask, cotangent, in, out, &d->error))
    return cxi_derive_fail(d);
  const bool value = d->q->code->kind == CXI_CODE_VALUE_AND_GRAD;
  cx *at = results;
  for (uint32_t i = 0; value && i < p->n_out; i++) *at++ = out[i];
  for (uint32_t i = 0; i < n_grads; i++) *at++ = out[p->n_out + i];
  for (uint32_t i = 1; !value && i < p->n_out; i++) *at++ = out[i]; /* aux */
  const cxi_sig grads = grads_sig(d, mask);
  return cxi_derive_close(d, (uint32_t)(at - results), results,
                          grads ? result_sig(d, grads) : 0);
}

cxi_entry *cxi_derive_grad(cxi_request *q) {
  cxi_derivation d;
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  bool *mask = cxi_scratch(d.p->n_in * sizeof *mask + 1);
  if (!mask) q->poison = cxi_report_memory();
  if (mask && check_loss(q, d.inner) && mark_wrt(&d, mask))
    return write_grad(&d, mask);
  cxi_entry_release(d.inner);
  return NULL;
}
