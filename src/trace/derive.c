/* derive.c - programs of transformed functions: what derivations share. */
#include "trace/derive.h"

#include <stdio.h>
#include <string.h>

/* The captures of inner function i among those of the code. */
static uint32_t captures_before(const cxi_code *code, uint32_t i) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < i; k++) n += code->inner[k]->n_captures;
  return n;
}

bool cxi_derive_inner(cxi_derivation *d, cxi_request *q, uint32_t i,
                      uint32_t n_args, const cxi_sig *args) {
  memset(d, 0, sizeof *d);
  d->q = q;
  cxi_request inner = {
    .code = q->code->inner[i],
    .n_captures = q->code->inner[i]->n_captures,
    .captures = q->captures + captures_before(q->code, i),
    .n_args = n_args,
    .args = args,
  };
  d->inner = cxi_resolve(&inner);
  if (!d->inner) {
    q->poison = inner.poison;
    return false;
  }
  d->p = d->inner->program;
  d->n_lead = d->inner->n_lead + d->inner->n_extras;
  return true;
}

bool cxi_derive_open(cxi_derivation *d) {
  const cxi_request *q = d->q;
  d->n_in = d->n_lead;
  for (uint32_t i = 0; i < q->n_args; i++)
    d->n_in += cxi_sig_leaves(q->args[i]);
  d->in = cxi_scratch(d->n_in * sizeof *d->in + 1);
  d->types = cxi_scratch(d->n_in * sizeof *d->types + 1);
  if (!d->in || !d->types)
    return cxi_error_set(&d->error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < d->n_lead; i++) d->types[i] = d->p->values[i].type;
  uint32_t at = d->n_lead;
  for (uint32_t i = 0; i < q->n_args; i++) {
    cxi_sig_types(q->args[i], d->types + at);
    at += cxi_sig_leaves(q->args[i]);
  }
  cxi_builder_open(&d->b);
  for (uint32_t i = 0; i < d->n_in; i++)
    d->in[i] = cxi_builder_input(&d->b, d->types[i]);
  return true;
}

cxi_entry *cxi_derive_close(cxi_derivation *d, uint32_t n_out, const cx *out,
                            cxi_sig sig) {
  const cxi_program *p =
      cxi_builder_finish(&d->b, cxi_name_of(d->q->code->name), d->n_in, d->in,
                         n_out, out, &d->error);
  cxi_entry *entry = p ? cxi_entry_make(d->q, p, sig, d->inner->n_lead,
                                        d->inner->n_extras, d->inner->extras)
                       : cxi_request_error(d->q, &d->error);
  cxi_entry_release(d->inner);
  return entry;
}

cxi_entry *cxi_derive_fail(cxi_derivation *d) {
  if (d->b.serial) cxi_builder_abandon(&d->b);
  cxi_entry_release(d->inner);
  const cxi_name site = cxi_transform_error_site();
  const cxi_name before = site ? cxi_site_use(site) : cxi_site_now();
  cxi_request_error(d->q, &d->error);
  cxi_site_use(before);
  return NULL;
}

bool *cxi_float_mask(uint32_t n, const cxi_type *types) {
  bool *mask = cxi_scratch(n * sizeof *mask + 1);
  for (uint32_t i = 0; mask && i < n; i++)
    mask[i] = cxi_type_is_float(types[i]);
  return mask;
}

/* -- tangents beside primals ---------------------------------------------- */

typedef struct matching {
  cxi_request *q;
  const char *what;
  cxi_sig root;
  uint32_t primal; /* leaves passed */
  int64_t tangent;
  int64_t *place;
} matching;

static bool mismatch(matching *m, cxi_sig primal, cxi_sig tangent) {
  char path[128], a[128], b[128];
  cxi_sig_path(path, sizeof path, m->root, m->primal);
  cxi_sig_print(a, sizeof a, primal);
  cxi_sig_print(b, sizeof b, tangent);
  cxi_request_fail(m->q, CX_ETREE, "%s: the %s at \"%s\" is %s, for %s",
                   m->q->code->name, m->what, path, b, a);
  return false;
}

static bool match(matching *m, cxi_sig primal, cxi_sig tangent) {
  const cxi_structure *t =
      cxi_sig_is_leaf(tangent) ? NULL : cxi_structure_of(tangent);
  if (t && t->is_none) { /* none for a whole subtree */
    const uint32_t n = cxi_sig_leaves(primal);
    for (uint32_t i = 0; i < n; i++) m->place[m->primal++] = -1;
    return true;
  }
  if (cxi_sig_is_leaf(primal)) {
    if (t || cxi_sig_type(primal) != cxi_sig_type(tangent))
      return mismatch(m, primal, tangent);
    m->place[m->primal++] = m->tangent++;
    return true;
  }
  const cxi_structure *p = cxi_structure_of(primal);
  if (!t || p->n != t->n || p->is_dict != t->is_dict || p->is_none)
    return mismatch(m, primal, tangent);
  for (uint32_t i = 0; i < p->n; i++) {
    if (p->is_dict && p->names[i] != t->names[i])
      return mismatch(m, primal, tangent);
    if (!match(m, p->items[i], t->items[i])) return false;
  }
  return true;
}

bool cxi_match_tangents(cxi_request *q, const char *what, cxi_sig primals,
                        cxi_sig tangents, int64_t *out_place) {
  matching m = { .q = q, .what = what, .root = primals, .place = out_place };
  return match(&m, primals, tangents);
}

bool cxi_split_aux(cxi_request *q, cxi_sig out, cxi_sig *y, cxi_sig *aux) {
  *y = out;
  *aux = 0;
  if (!q->code->as.grad.has_aux) return true;
  const cxi_structure *s = cxi_sig_is_leaf(out) ? NULL : cxi_structure_of(out);
  if (s && !s->is_none && !s->is_dict && s->n == 2) {
    *y = s->items[0];
    *aux = s->items[1];
    return true;
  }
  char got[160];
  cxi_sig_print(got, sizeof got, out);
  cxi_request_fail(q, CX_ETREE, "%s: must return (y, aux), got %s",
                   q->code->name, got);
  return false;
}

/* -- one inner program as it is  -------------------- */

static cxi_entry *derive_jit(cxi_request *q) {
  cxi_derivation d;
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  cxi_entry *entry =
      cxi_entry_make(q, cxi_program_retain(d.p), d.inner->out, d.inner->n_lead,
                     d.inner->n_extras, d.inner->extras);
  cxi_entry_release(d.inner);
  return entry;
}

/* (error, result) */
static cxi_entry *derive_checkify(cxi_request *q) {
  cxi_derivation d;
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  const cxi_program *p = cxi_checkify(d.p, q->code->as.check_kinds, &d.error);
  if (!p) return cxi_derive_fail(&d);
  const cxi_sig sigs[2] = { cxi_sig_of_type(cxi_type_scalar(CX_I32)),
                            d.inner->out };
  cxi_entry *entry =
      cxi_entry_make(q, cxi_program_retain(p), cxi_sig_tuple(2, sigs),
                     d.inner->n_lead, d.inner->n_extras, d.inner->extras);
  cxi_entry_release(d.inner);
  return entry;
}

static cxi_entry *derive(cxi_request *q) {
  switch (q->code->kind) {
  case CXI_CODE_GRAD:
  case CXI_CODE_VALUE_AND_GRAD:
    return cxi_derive_grad(q);
  case CXI_CODE_VMAP:
    return cxi_derive_vmap(q);
  case CXI_CODE_JIT:
    return derive_jit(q);
  case CXI_CODE_CHECKPOINT:
    return cxi_derive_checkpoint(q);
  case CXI_CODE_JVP:
    return cxi_derive_jvp(q);
  case CXI_CODE_VJP:
    return cxi_derive_vjp(q);
  case CXI_CODE_JACFWD:
    return cxi_derive_jacfwd(q);
  case CXI_CODE_JACREV:
    return cxi_derive_jacrev(q);
  case CXI_CODE_CUSTOM_JVP:
    return cxi_derive_custom_jvp(q);
  case CXI_CODE_CUSTOM_VMAP:
    return cxi_derive_custom_vmap(q);
  case CXI_CODE_CHECKIFY:
    return derive_checkify(q);
  default:
    return cxi_derive_custom_vjp(q);
  }
}

cxi_entry *cxi_derive(cxi_request *q) {
  const cxi_mark mark = cxi_scratch_mark();
  cxi_hold_enter();
  cxi_entry *entry = derive(q);
  cxi_hold_leave();
  cxi_scratch_reset(mark);
  return entry;
}

/* -- names of arguments --------------------------------------------------- */

/* The innermost function, whose arguments those of the code are; NULL: they
 * are others. */
static const cxi_code *innermost(const cxi_code *code) {
  while (code->n_inner) {
    if (code->kind == CXI_CODE_JVP || code->kind == CXI_CODE_VJP) return NULL;
    code = code->inner[0];
  }
  return code;
}

cxi_argument cxi_argument_name(const cxi_code *code, uint32_t i) {
  cxi_argument out = { "" };
  code = innermost(code);
  if (code && code->arg_names && i < code->n_args) {
    snprintf(out.name, sizeof out.name, "%s",
             cxi_name_text(code->arg_names[i]));
    return out;
  }
  const char *at = code && code->def ? code->def->args : "";
  while (i > 0 && *at) {
    at += strcspn(at, ",");
    if (*at) at++;
    i--;
  }
  at += strspn(at, " ");
  snprintf(out.name, sizeof out.name, "%.*s", (int)strcspn(at, ", "), at);
  return out;
}

cxi_leaf_name cxi_leaf_path_of(const char *root, cxi_sig sig, uint32_t leaf) {
  cxi_leaf_name out;
  char path[160];
  cxi_sig_path(path, sizeof path, sig, leaf);
  snprintf(out.text, sizeof out.text, "\"%.64s%s%s\"", root,
           *root && *path ? "." : "", path);
  return out;
}

cxi_leaf_name cxi_leaf_name_of(const cxi_code *code, uint32_t n_args,
                               const cxi_sig *args, uint32_t leaf) {
  cxi_leaf_name out;
  uint32_t i = 0;
  while (i + 1 < n_args && leaf >= cxi_sig_leaves(args[i]))
    leaf -= cxi_sig_leaves(args[i++]);
  const cxi_argument name = cxi_argument_name(code, i);
  const cxi_leaf_name path = cxi_leaf_path_of(name.name, args[i], leaf);
  if (strcmp(path.text, "\"\"") != 0)
    snprintf(out.text, sizeof out.text, "argument %u %.200s", i, path.text);
  else
    snprintf(out.text, sizeof out.text, "argument %u", i);
  return out;
}
