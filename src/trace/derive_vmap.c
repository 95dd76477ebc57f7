/* derive_vmap.c - vmap: axes of leaves moved to the front, batch, and back. */
#include <stdio.h>
#include <string.h>

#include "trace/axes.h"
#include "trace/derive.h"

/* -- axes of leaves ------------------------------------------------------- */

/* A tree of axes laid over a tree of arrays: a leaf above a subtree holds for
 * all of it. */
typedef struct overlay {
  const int *axis; /* of the next leaf of the axes */
  int *out;        /* of the next leaf of the arrays */
} overlay;

static bool lay(overlay *o, cxi_sig axes, cxi_sig arrays) {
  if (cxi_sig_is_leaf(axes)) {
    const uint32_t n = cxi_sig_leaves(arrays);
    for (uint32_t i = 0; i < n; i++) *o->out++ = *o->axis;
    o->axis++;
    return true;
  }
  if (cxi_sig_is_leaf(arrays)) return false;
  const cxi_structure *a = cxi_structure_of(axes),
                      *t = cxi_structure_of(arrays);
  if (a->n != t->n || a->is_dict != t->is_dict || t->is_none) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    if (a->is_dict && a->names[i] != t->names[i]) return false;
    if (!lay(o, a->items[i], t->items[i])) return false;
  }
  return true;
}

/* The axis of each leaf of the arguments. */
static bool in_axes(cxi_request *q, int *out) {
  const cxi_vmap_options *v = &q->code->as.vmap;
  if (v->has_in_tree) {
    const cxi_sig args = cxi_sig_tuple(q->n_args, q->args);
    overlay o = { v->in_axes, out };
    if (!args) return q->poison = cxi_report_memory(), false;
    if (lay(&o, v->in_sig, args)) return true;
    cxi_request_fail(q, CX_ETREE,
                     "%s: .in_tree is no tree of axes for the"
                     " arguments",
                     q->code->name);
    return false;
  }
  for (uint32_t i = 0; i < q->n_args; i++)
    for (uint32_t k = cxi_sig_leaves(q->args[i]); k > 0; k--)
      *out++ = i < CX_MAX_ARGS ? v->in[i] : 0;
  return true;
}

/* The axis of each leaf of the result. */
static bool out_axes(cxi_request *q, cxi_sig sig, int *out) {
  const cxi_vmap_options *v = &q->code->as.vmap;
  if (v->has_out_tree) {
    overlay o = { v->out_axes, out };
    if (lay(&o, v->out_sig, sig)) return true;
    cxi_request_fail(q, CX_ETREE,
                     "%s: .out_tree is no tree of axes for the"
                     " result",
                     q->code->name);
    return false;
  }
  const cxi_structure *s = cxi_sig_is_leaf(sig) ? NULL : cxi_structure_of(sig);
  if (!s || s->is_dict) {
    for (uint32_t k = cxi_sig_leaves(sig); k > 0; k--) *out++ = v->out[0];
    return true;
  }
  for (uint32_t i = 0; i < s->n; i++)
    for (uint32_t k = cxi_sig_leaves(s->items[i]); k > 0; k--)
      *out++ = i < CX_MAX_ARGS ? v->out[i] : 0;
  return true;
}

/* -- the size ------------------------------------------------------------- */

typedef struct mapping {
  uint32_t n;              /* leaves of the arguments */
  int *axis;               /* counted from 0; CX_NONE */
  cxi_type *types, *inner; /* outside, inside */
  int64_t size;
} mapping;

static bool report_sizes(cxi_request *q, const mapping *m, uint32_t a,
                         uint32_t b) {
  const cxi_leaf_name x = cxi_leaf_name_of(q->code, q->n_args, q->args, a);
  const cxi_leaf_name y = cxi_leaf_name_of(q->code, q->n_args, q->args, b);
  cxi_request_fail(q, CX_ESHAPE, "%s: %s has %lld along axis %d, %s has %lld%s",
                   q->code->name, x.text,
                   (long long)cxi_type_shape(m->types[a])->d[m->axis[a]],
                   m->axis[a], y.text,
                   (long long)cxi_type_shape(m->types[b])->d[m->axis[b]],
                   m->axis[b] == m->axis[a] ? "" : " along its axis");
  return false;
}

static bool normalise(cxi_request *q, mapping *m, uint32_t i) {
  const int rank = cxi_type_rank(m->types[i]);
  const int axis = m->axis[i] < 0 ? m->axis[i] + rank : m->axis[i];
  if (axis >= 0 && axis < rank) {
    m->axis[i] = axis;
    return true;
  }
  char text[128];
  cxi_aval_print(text, sizeof text, cxi_type_aval(m->types[i]));
  cxi_request_fail(q, CX_EINDEX, "%s: axis %d is out of range for %s, %s",
                   q->code->name, m->axis[i],
                   cxi_leaf_name_of(q->code, q->n_args, q->args, i).text, text);
  return false;
}

static bool fill_sizes(cxi_request *q, mapping *m) {
  const cxi_vmap_options *v = &q->code->as.vmap;
  int64_t first = -1;
  m->size = v->axis_size;
  for (uint32_t i = 0; i < m->n; i++) {
    m->inner[i] = m->types[i];
    if (m->axis[i] == CX_NONE) continue;
    if (!normalise(q, m, i)) return false;
    const cx_dims *shape = cxi_type_shape(m->types[i]);
    const int64_t size = shape->d[m->axis[i]];
    if (first < 0 && m->size == 0) m->size = size;
    if (size != m->size && first >= 0)
      return report_sizes(q, m, (uint32_t)first, i);
    if (size != m->size) {
      cxi_request_fail(
          q, CX_ESHAPE, "%s: %s has %lld along axis %d, .axis_size is %lld",
          q->code->name, cxi_leaf_name_of(q->code, q->n_args, q->args, i).text,
          (long long)size, m->axis[i], (long long)m->size);
      return false;
    }
    if (first < 0) first = i;
    m->inner[i] =
        cxi_type_with_shape(m->types[i], cxi_dims_without(*shape, m->axis[i]));
    if (!m->inner[i]) {
      q->poison = cxi_report_memory();
      return false;
    }
  }
  if (first >= 0 || v->axis_size > 0) return true;
  cxi_request_fail(q, CX_ESHAPE,
                   "%s: no argument is mapped and no .axis_size"
                   " is given",
                   q->code->name);
  return false;
}

static bool fill_mapping(cxi_request *q, mapping *m) {
  m->n = 0;
  for (uint32_t i = 0; i < q->n_args; i++) m->n += cxi_sig_leaves(q->args[i]);
  m->axis = cxi_scratch(m->n * sizeof *m->axis + 1);
  m->types = cxi_scratch(m->n * sizeof *m->types + 1);
  m->inner = cxi_scratch(m->n * sizeof *m->inner + 1);
  if (!m->axis || !m->types || !m->inner) {
    q->poison = cxi_report_memory();
    return false;
  }
  cxi_type *at = m->types;
  for (uint32_t i = 0; i < q->n_args; i++) {
    cxi_sig_types(q->args[i], at);
    at += cxi_sig_leaves(q->args[i]);
  }
  return in_axes(q, m->axis) && fill_sizes(q, m);
}

/* The arguments as the inner function sees them. */
static cxi_sig *inner_args(const cxi_request *q, const mapping *m) {
  cxi_sig *out = cxi_scratch(q->n_args * sizeof *out + 1);
  const cxi_type *at = m->inner;
  for (uint32_t i = 0; out && i < q->n_args; i++) {
    out[i] = cxi_sig_with_types(q->args[i], at);
    at += cxi_sig_leaves(q->args[i]);
  }
  return out;
}

/* -- the program ---------------------------------------------------------- */

static cxi_entry *no_memory(cxi_derivation *d) {
  cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  return cxi_derive_fail(d);
}

/* Where result i carries the batch; checked against what was asked for. */
static bool place_output(cxi_derivation *d, uint32_t i, int *axis,
                         bool batched) {
  const int rank = cxi_type_rank(cxi_output_type(d->p, i)) + 1;
  if (*axis == CX_NONE) {
    if (!batched) return true;
    return cxi_error_set(&d->error, CX_ESHAPE,
                         "result %u depends on the"
                         " mapped axis: its out axis cannot be CX_NONE",
                         i);
  }
  if (*axis < 0) *axis += rank;
  if (*axis >= 0 && *axis < rank) return true;
  return cxi_error_set(&d->error, CX_EINDEX,
                       "out axis %d of result %u is out"
                       " of range",
                       *axis, i);
}

static cxi_entry *write_vmap(cxi_derivation *d, const mapping *m) {
  const cxi_program *p = d->p;
  bool *batched = cxi_scratch(p->n_in + 1u),
       *force = cxi_scratch(p->n_out + 1u);
  bool *made = cxi_scratch(p->n_out + 1u);
  int *axis = cxi_scratch(p->n_out * sizeof *axis + 1);
  cxi_type *types = cxi_scratch(p->n_out * sizeof *types + 1);
  cx *in = cxi_scratch(p->n_in * sizeof *in + 1);
  cx *out = cxi_scratch(p->n_out * sizeof *out + 1);
  if (!batched || !force || !made || !axis || !types || !in || !out)
    return no_memory(d);
  if (!out_axes(d->q, d->inner->out, axis)) {
    cxi_entry_release(d->inner);
    return NULL;
  }
  for (uint32_t i = 0; i < m->n; i++)
    batched[d->n_lead + i] = m->axis[i] != CX_NONE;
  for (uint32_t i = 0; i < p->n_out; i++) force[i] = axis[i] != CX_NONE;
  const cxi_program *batch =
      cxi_batch_named(p, d->q->code->as.vmap.axis_name, batched, m->size, force,
                      made, &d->error);
  if (!batch) return cxi_derive_fail(d);
  for (uint32_t i = 0; i < p->n_out; i++)
    if (!place_output(d, i, &axis[i], made[i])) return cxi_derive_fail(d);
  if (!cxi_derive_open(d)) return cxi_derive_fail(d);
  for (uint32_t i = 0; i < p->n_in; i++) {
    const int from = i < d->n_lead ? 0 : m->axis[i - d->n_lead];
    in[i] = batched[i] ? cxi_move_axis(d->in[i], from, 0) : d->in[i];
  }
  cxi_replay(batch, in, out);
  for (uint32_t i = 0; i < p->n_out; i++) {
    if (made[i]) out[i] = cxi_move_axis(out[i], 0, axis[i]);
    types[i] = cxi_type_at(out[i]);
    if (!types[i]) types[i] = cxi_output_type(p, i); /* reported by finish */
  }
  return cxi_derive_close(d, p->n_out, out,
                          cxi_sig_with_types(d->inner->out, types));
}

cxi_entry *cxi_derive_vmap(cxi_request *q) {
  cxi_derivation d;
  mapping m;
  if (!fill_mapping(q, &m)) return NULL;
  const cxi_sig *args = inner_args(q, &m);
  if (!args) return q->poison = cxi_report_memory(), NULL;
  const cxi_name name = q->code->as.vmap.axis_name;
  const cxi_named_axis *outer = cxi_named_axes_now();
  const cxi_named_axis axis = { name, m.size, outer };
  if (name) cxi_named_axes_use(&axis);
  const bool resolved = cxi_derive_inner(&d, q, 0, q->n_args, args);
  cxi_named_axes_use(outer);
  return resolved ? write_vmap(&d, &m) : NULL;
}
