/* derive_jacobian.c - jacfwd and jacrev: the jvp (vjp) batched over the standard
 * basis of one leaf at a time. */
#include <string.h>

#include "trace/derive.h"

static cxi_entry *no_memory(cxi_derivation *d) {
  cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  return cxi_derive_fail(d);
}

/* (n, shape...) with ones on the diagonal of (n, n): row i is basis vector i.
 * n is the number of elements. */
static cx basis(cxi_type type) {
  const cx_dims shape = *cxi_type_shape(type);
  const int64_t n = cxi_dims_count(&shape);
  const cx_dims square = { .n = 2, .d = { n, n } };
  const cx rows = cxi_iota(CX_I32, square, 0);
  const cx columns = cxi_iota(CX_I32, square, 1);
  const cx eye = cxi_convert(cxi_compare(CXI_PRIM_eq, rows, columns),
                             cxi_type_dtype(type));
  return cxi_reshape(eye, cxi_dims_with(shape, 0, n));
}

static cx_dims joined(const cx_dims *a, const cx_dims *b) {
  cx_dims out = *a;
  for (int i = 0; i < b->n; i++) out = cxi_dims_append(out, b->d[i]);
  return out;
}

/* What is differentiated with respect to what. */
typedef struct sides {
  cxi_sig x, y, aux; /* aux: 0 if there is none */
  uint32_t n_x, n_y, n_aux;
  uint32_t *place; /* of each leaf of x among the program's inputs */
} sides;

/* x: the argument in wrt, or a tuple of them. False after failing. */
static bool find_x(cxi_derivation *d, sides *s) {
  cxi_request *q = d->q;
  const uint64_t wrt = q->code->as.grad.wrt;
  cxi_sig items[64];
  uint32_t n = 0, at = d->n_lead;
  if (q->n_args < 64 && wrt >> q->n_args)
    return cxi_request_fail(q, CX_ETREE,
                            "%s: .wrt names an argument that %s does not have "
                            "(it has %u)",
                            q->code->name, q->code->inner[0]->name, q->n_args);
  s->place = cxi_scratch(d->p->n_in * sizeof *s->place + 1);
  if (!s->place) return q->poison = cxi_report_memory(), false;
  for (uint32_t i = 0; i < q->n_args; i++) {
    const uint32_t leaves = cxi_sig_leaves(q->args[i]);
    const bool here = i < 64 && wrt >> i & 1;
    if (here) items[n++] = q->args[i];
    for (uint32_t k = 0; k < leaves; k++, at++)
      if (here) s->place[s->n_x++] = at;
  }
  s->x = n == 1 ? items[0] : cxi_sig_tuple(n, items);
  if (!s->x) q->poison = cxi_report_memory();
  return s->x != 0;
}

/* The argument that input `place` of the program is a leaf of. */
static uint32_t argument_of(const cxi_derivation *d, uint32_t place) {
  uint32_t i = 0, end = d->n_lead + cxi_sig_leaves(d->q->args[0]);
  while (place >= end) end += cxi_sig_leaves(d->q->args[++i]);
  return i;
}

/* Checks that every leaf of both sides is floating and the result has at most 8
 * axes. */
static bool find_sides(cxi_derivation *d, sides *s) {
  cxi_request *q = d->q;
  const cxi_program *p = d->p;
  *s = (sides){ 0 };
  if (!find_x(d, s) || !cxi_split_aux(q, d->inner->out, &s->y, &s->aux))
    return false;
  s->n_y = cxi_sig_leaves(s->y);
  s->n_aux = p->n_out - s->n_y;
  for (uint32_t i = 0; i < s->n_x + s->n_y; i++) {
    const cxi_type type = i < s->n_x ? p->values[s->place[i]].type
                                     : cxi_output_type(p, i - s->n_x);
    char text[128];
    cxi_aval_print(text, sizeof text, cxi_type_aval(type));
    if (!cxi_type_is_float(type))
      return i < s->n_x
                 ? cxi_request_fail(
                       q, CX_EDTYPE, "%s: argument %u: %s has no derivative",
                       q->code->name, argument_of(d, s->place[i]), text)
                 : cxi_request_fail(q, CX_EDTYPE,
                                    "%s: result: %s has no derivative",
                                    q->code->name, text);
    for (uint32_t k = 0; i < s->n_x && k < s->n_y; k++)
      if (cxi_type_rank(type) + cxi_type_rank(cxi_output_type(p, k)) >
          CX_MAX_DIMS)
        return cxi_request_fail(q, CX_ESHAPE,
                                "%s: the result would have more"
                                " than %d axes",
                                q->code->name, CX_MAX_DIMS);
  }
  return true;
}

/* out's structure with x's in the place of each leaf; leaf types joined. */
static cxi_sig jacobian_sig(cxi_sig out, cxi_sig x) {
  if (cxi_sig_is_leaf(out)) {
    const uint32_t n = cxi_sig_leaves(x);
    cxi_type *types = cxi_scratch(n * sizeof *types + 1);
    if (!types) return 0;
    cxi_sig_types(x, types);
    for (uint32_t i = 0; i < n; i++) {
      types[i] = cxi_type_make(
          cxi_type_dtype(cxi_sig_type(out)),
          joined(cxi_type_shape(cxi_sig_type(out)), cxi_type_shape(types[i])));
      if (!types[i]) return 0;
    }
    return cxi_sig_with_types(x, types);
  }
  const cxi_structure *s = cxi_structure_of(out);
  if (s->is_none) return out;
  cxi_sig *items = cxi_scratch(s->n * sizeof *items + 1);
  if (!items) return 0;
  for (uint32_t i = 0; i < s->n; i++)
    if (!(items[i] = jacobian_sig(s->items[i], x))) return 0;
  return s->is_dict ? cxi_sig_dict(s->n, s->names, items)
                    : cxi_sig_tuple(s->n, items);
}

/* -- forward: a column per element of a leaf of x ------------------------- */

/* Fills column[k], (out shape k, x shape), for x's leaf. */
static bool forward_leaf(cxi_derivation *d, const sides *s, uint32_t leaf,
                         cx *column, cx *aux) {
  const cxi_program *p = d->p;
  const uint32_t at = s->place[leaf], n_in = p->n_in + 1;
  const cxi_type type = p->values[at].type;
  bool *nonzero = cxi_scratch(n_in), *all = cxi_scratch(p->n_out + 1u);
  bool *made = cxi_scratch(p->n_out + 1u), *batched = cxi_scratch(n_in);
  bool *force = cxi_scratch(2u * p->n_out + 1);
  cx *in = cxi_scratch(n_in * sizeof *in);
  cx *out = cxi_scratch(2 * p->n_out * sizeof *out + 1);
  if (!nonzero || !all || !made || !batched || !force || !in || !out)
    return cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  nonzero[at] = true;
  batched[p->n_in] = true;
  for (uint32_t i = 0; i < s->n_y; i++) all[i] = force[p->n_out + i] = true;
  const cxi_program *jvp = cxi_jvp(p, nonzero, all, false, made, &d->error);
  if (!jvp) return false;
  const int64_t n = cxi_dims_count(cxi_type_shape(type));
  bool *out_batched = cxi_scratch(jvp->n_out + 1u);
  const cxi_program *batch =
      out_batched ? cxi_batch(jvp, batched, n, force, out_batched, &d->error)
                  : NULL;
  if (!batch) return cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < p->n_in; i++) in[i] = d->in[i];
  in[p->n_in] = basis(type);
  cxi_replay(batch, in, out);
  for (uint32_t k = 0; k < s->n_aux; k++) aux[k] = out[s->n_y + k];
  for (uint32_t k = 0; k < s->n_y; k++) {
    const cx_dims *y = cxi_type_shape(cxi_output_type(p, k));
    const cx moved = cxi_move_axis(out[p->n_out + k], 0, y->n);
    column[k] = cxi_reshape(moved, joined(y, cxi_type_shape(type)));
  }
  return true;
}

/* The derivatives, or (derivatives, aux), of which there are n. */
static cxi_entry *close_sides(cxi_derivation *d, const sides *s, uint32_t n,
                              const cx *out) {
  const cxi_sig sigs[2] = { jacobian_sig(s->y, s->x), s->aux };
  const cxi_sig all = !sigs[0] ? 0 : s->aux ? cxi_sig_tuple(2, sigs) : sigs[0];
  return cxi_derive_close(d, n, out, all);
}

cxi_entry *cxi_derive_jacfwd(cxi_request *q) {
  cxi_derivation d;
  sides s;
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  if (!find_sides(&d, &s)) return cxi_entry_release(d.inner), NULL;
  const size_t n = (size_t)s.n_x * s.n_y;
  cx *columns = cxi_scratch(n * sizeof *columns + 1);
  cx *out = cxi_scratch((n + d.p->n_out) * sizeof *out + 1);
  if (!columns || !out) return no_memory(&d);
  if (!cxi_derive_open(&d)) return cxi_derive_fail(&d);
  if (s.n_x == 0 && s.n_aux) { /* nothing to differentiate by */
    cxi_replay(d.p, d.in, out);
    memmove(out, out + s.n_y, s.n_aux * sizeof *out);
  }
  for (uint32_t i = 0; i < s.n_x; i++)
    if (!forward_leaf(&d, &s, i, columns + (size_t)i * s.n_y, out + n))
      return cxi_derive_fail(&d);
  for (uint32_t k = 0; k < s.n_y; k++)
    for (uint32_t i = 0; i < s.n_x; i++)
      out[k * s.n_x + i] = columns[(size_t)i * s.n_y + k];
  return close_sides(&d, &s, (uint32_t)n + s.n_aux, out);
}

/* -- reverse: a row per element of a leaf of the result ------------------- */

/* Fills row[i], (out shape, x shape i), for the result's leaf k. */
static bool reverse_leaf(cxi_derivation *d, const sides *s, uint32_t k, cx *row,
                         cx *aux) {
  const cxi_program *p = d->p;
  const uint32_t n_x = s->n_x;
  const cxi_type type = cxi_output_type(p, k);
  const cx_dims *y = cxi_type_shape(type);
  bool *wrt = cxi_scratch(p->n_in + 1u), *ct = cxi_scratch(p->n_out + 1u);
  bool *batched = cxi_scratch(p->n_in + 1u);
  bool *force = cxi_scratch(p->n_out + n_x + 1u);
  bool *made = cxi_scratch(p->n_out + n_x + 1u);
  cx *in = cxi_scratch((p->n_in + 1u) * sizeof *in);
  cx *out = cxi_scratch((p->n_out + n_x) * sizeof *out + 1);
  if (!wrt || !ct || !batched || !force || !made || !in || !out)
    return cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < n_x; i++) {
    wrt[s->place[i]] = true;
    force[p->n_out + i] = true;
  }
  ct[k] = batched[p->n_in] = true;
  const cxi_program *vjp = cxi_vjp(p, wrt, ct, &d->error);
  const cxi_program *batch =
      vjp ? cxi_batch(vjp, batched, cxi_dims_count(y), force, made, &d->error)
          : NULL;
  if (!batch) return false;
  for (uint32_t i = 0; i < p->n_in; i++) in[i] = d->in[i];
  in[p->n_in] = basis(type);
  cxi_replay(batch, in, out);
  for (uint32_t i = 0; i < s->n_aux; i++) aux[i] = out[s->n_y + i];
  for (uint32_t i = 0; i < n_x; i++)
    row[i] =
        cxi_reshape(out[p->n_out + i],
                    joined(y, cxi_type_shape(p->values[s->place[i]].type)));
  return true;
}

cxi_entry *cxi_derive_jacrev(cxi_request *q) {
  cxi_derivation d;
  sides s;
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  if (!find_sides(&d, &s)) return cxi_entry_release(d.inner), NULL;
  const size_t n = (size_t)s.n_x * s.n_y;
  cx *out = cxi_scratch((n + d.p->n_out) * sizeof *out + 1);
  if (!out) return no_memory(&d);
  if (!cxi_derive_open(&d)) return cxi_derive_fail(&d);
  if (s.n_y == 0 && s.n_aux) cxi_replay(d.p, d.in, out); /* aux alone */
  for (uint32_t k = 0; k < s.n_y; k++)
    if (!reverse_leaf(&d, &s, k, out + (size_t)k * s.n_x, out + n))
      return cxi_derive_fail(&d);
  return close_sides(&d, &s, (uint32_t)n + s.n_aux, out);
}
