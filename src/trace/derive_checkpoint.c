/* derive_checkpoint.c - checkpoint: the body under one equation, what a policy
 * of the user's chooses tagged by a name. */
#include "trace/derive.h"

#include <stdio.h>
#include <string.h>

/* -- a policy given as a function ----------------------------------------- */

typedef bool save_function(const cx_eqn *equation, void *user);

typedef struct tagging {
  save_function *save;
  void *user;
  cxi_name tag;
  cxi_error *error;
} tagging;

static const cxi_program *tag(const tagging *t, const cxi_program *p,
                              int depth);

/* The body tagged, held; false with *t->error. */
static bool tag_body(const tagging *t, const cxi_program **body, int depth) {
  const cxi_program *tagged = tag(t, *body, depth + 1);
  const cxi_program *held = tagged ? cxi_hold(tagged) : NULL;
  cxi_program_release(tagged);
  if (tagged && !held) cxi_error_set(t->error, CX_EMEMORY, "out of memory");
  if (held) *body = held;
  return held != NULL;
}

/* The field of this name and kind; NULL: there is none. */
static const void *field_of(const cx_eqn *e, const char *name,
                            cxi_field_kind kind) {
  if (!e || !e->primitive || !name || !e->params) return NULL;
  const cxi_prim prim = cxi_prim_find(e->primitive, strlen(e->primitive));
  for (const cxi_field *x = cxi_schema_of(prim)->fields; x->name; x++)
    if (x->kind == kind && !strcmp(x->name, name))
      return cxi_field_at(e->params, x);
  return NULL;
}

bool cx_eqn_dims(const cx_eqn *e, const char *name, cx_dims *out) {
  const cxi_field_dims *at = field_of(e, name, CXI_FIELD_dims);
  if (at && out) *out = *at;
  return at && out;
}

bool cx_eqn_int(const cx_eqn *e, const char *name, int64_t *out) {
  const cxi_field_int *at = field_of(e, name, CXI_FIELD_int);
  const cxi_field_bool *flag = field_of(e, name, CXI_FIELD_bool);
  if (at && out) *out = *at;
  if (flag && out) *out = *flag;
  return (at || flag) && out;
}

/* The name that a `name` equation gives; NULL of all others. */
static const char *name_given(const cxi_equation *e) {
  if (e->prim != CXI_PRIM_name) return NULL;
  return cxi_name_text(((const cxi_name_params *)e->params)->name);
}

/* What the user's function says of an equation of p. */
static bool is_saved(const tagging *t, const cxi_program *p,
                     const cxi_equation *e) {
  const cxi_mark mark = cxi_scratch_mark();
  const size_t n = (size_t)e->n_in + e->n_out;
  cx_aval *types = cxi_scratch(n * sizeof *types + 1);
  bool save = false;
  if (types) {
    for (uint32_t k = 0; k < e->n_in; k++)
      types[k] = *cxi_type_aval(p->values[cxi_operands_of(p, e)[k]].type);
    for (uint32_t k = 0; k < e->n_out; k++)
      types[e->n_in + k] = *cxi_type_aval(p->values[e->out + k].type);
    const cx_eqn view = { .primitive = cxi_prim_name((cxi_prim)e->prim),
                          .name = name_given(e),
                          .at = cxi_name_text(e->site),
                          .n_in = (int)e->n_in,
                          .n_out = (int)e->n_out,
                          .in = types,
                          .out = types + e->n_in,
                          .params = e->params };
    save = t->save(&view, t->user);
  } else {
    cxi_fail(CX_EMEMORY, "checkpoint: out of memory");
  }
  cxi_scratch_reset(mark);
  return save;
}

enum { DEEPEST = 200 };

/* Its parameters with the bodies tagged, of calls, loops and branches; false
 * with *t->error. */
static bool tag_params(const tagging *t, const cxi_equation *e, void *params,
                       int depth) {
  const cxi_program **branches;
  cxi_programs *list;
  switch ((cxi_prim)e->prim) {
  case CXI_PRIM_jit:
    return tag_body(t, &((cxi_jit_params *)params)->body, depth);
  case CXI_PRIM_checkpoint:
    return tag_body(t, &((cxi_checkpoint_params *)params)->body, depth);
  case CXI_PRIM_scan:
    return tag_body(t, &((cxi_scan_params *)params)->body, depth);
  case CXI_PRIM_cond:
    list = &((cxi_cond_params *)params)->branches;
    branches = cxi_scratch(list->n * sizeof *branches + 1);
    if (!branches) return cxi_error_set(t->error, CX_EMEMORY, "out of memory");
    for (uint32_t i = 0; i < list->n; i++) {
      branches[i] = list->d[i];
      if (!tag_body(t, &branches[i], depth)) return false;
    }
    list->d = branches;
    return true;
  default:
    return true;
  }
}

/* Emits an equation with its bodies tagged. */
static void emit_tagged(const tagging *t, const cxi_equation *e, const cx *in,
                        cx *out, int depth) {
  const size_t size = cxi_schema_of((cxi_prim)e->prim)->size;
  const cxi_mark mark = cxi_scratch_mark();
  void *params = cxi_scratch(size + 1);
  if (params) {
    memcpy(params, e->params, size);
    if (depth < DEEPEST && !tag_params(t, e, params, depth))
      cxi_fail(t->error->code, "%s", t->error->text);
    else
      cxi_emit((cxi_prim)e->prim, params, e->n_in, in, e->n_out, out);
  } else {
    cxi_fail(CX_EMEMORY, "checkpoint: out of memory");
  }
  cxi_scratch_reset(mark);
}

/* p with the results that are to be saved under the tag. A program with a
 * reference, or NULL with *t->error. */
static const cxi_program *tag(const tagging *t, const cxi_program *p,
                              int depth) {
  cxi_builder b;
  cx *value = cxi_scratch(p->n_values * sizeof *value + 1);
  cx *out = cxi_scratch(p->n_out * sizeof *out + 1);
  uint32_t most = 0;
  for (uint32_t i = 0; i < p->n_equations; i++)
    if (p->equations[i].n_in > most) most = p->equations[i].n_in;
  cx *in = cxi_scratch(most * sizeof *in + 1);
  if (!value || !out || !in) {
    cxi_error_set(t->error, CX_EMEMORY, "out of memory");
    return NULL;
  }
  const cxi_name site = cxi_site_now(), scope = cxi_scope_now();
  const cxi_name_params params = { .name = t->tag };
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    value[i] = cxi_builder_input(&b, p->values[i].type);
  for (uint32_t i = 0; i < p->n_literals; i++)
    value[p->n_in + i] = cxi_literal_bits(
        cxi_type_dtype(p->values[p->n_in + i].type), p->literals[i]);
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    const uint32_t *operands = cxi_operands_of(p, e);
    for (uint32_t k = 0; k < e->n_in; k++) in[k] = value[operands[k]];
    cxi_site_use(e->site);
    cxi_scope_use(e->scope);
    emit_tagged(t, e, in, value + e->out, depth);
    if (!is_saved(t, p, e)) continue;
    for (uint32_t k = 0; k < e->n_out; k++)
      value[e->out + k] =
          cxi_emit1(CXI_PRIM_name, &params, 1, &value[e->out + k]);
  }
  cxi_site_use(site);
  cxi_scope_use(scope);
  for (uint32_t i = 0; i < p->n_out; i++) out[i] = value[p->outputs[i]];
  return cxi_builder_finish(&b, p->name, p->n_in, value, p->n_out, out,
                            t->error);
}

/* -- the equation --------------------------------------------------------- */

static cxi_entry *write(cxi_derivation *d, const cxi_program *body,
                        cxi_name policy, cxi_names names) {
  const cxi_checkpoint_params params = { .body = body,
                                         .policy = policy,
                                         .names = names };
  cx *out = cxi_scratch(body->n_out * sizeof *out + 1);
  if (!out || !cxi_derive_open(d)) return cxi_derive_fail(d);
  cxi_emit(CXI_PRIM_checkpoint, &params, d->n_in, d->in, body->n_out, out);
  return cxi_derive_close(d, body->n_out, out, d->inner->out);
}

cxi_entry *cxi_derive_checkpoint(cxi_request *q) {
  const cxi_checkpoint_options *c = &q->code->as.checkpoint;
  cxi_derivation d;
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  if (!c->save) return write(&d, d.p, c->policy, c->names);
  /* of its own: a policy around this one, or inside, has another */
  char text[48];
  snprintf(text, sizeof text, CXI_SAVED_TAG "%016llx",
           (unsigned long long)q->code->hash.lo);
  const tagging t = { c->save, c->user, cxi_name_of(text), &d.error };
  const cxi_program *body = tag(&t, d.p, 0);
  if (!body) return cxi_derive_fail(&d);
  cxi_entry *entry =
      write(&d, body, cxi_name_of("names"), (cxi_names){ 1, &t.tag });
  cxi_program_release(body);
  return entry;
}
