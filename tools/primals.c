/* primals.c - the functions that derived records are made of. */
#include "primals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "record.h"
#include "undo.h"

static const char *text_of(const json_t *record, const char *name) {
  const char *s = json_string_value(json_object_get(record, name));
  return s ? s : "?";
}

char *primals_text(const json_t *record, jaxpr_writer *w) {
  const char *text = json_string_value(json_object_get(record, "text"));
  const json_t *jaxpr = json_object_get(record, "jaxpr");
  return text ? strdup(text) : jaxpr ? jaxpr_to_text(jaxpr, w) : NULL;
}

/* -- keeping --------------------------------------------------------------- */

static const primal *find(const primals *p, const char *name) {
  for (int i = p->n; i-- > 0;)
    if (!strcmp(p->list[i].name, name)) return &p->list[i];
  return NULL;
}

bool primals_add(primals *p, const json_t *record) {
  const char *kind = text_of(record, "kind"), *name = text_of(record, "name");
  const bool is_primal = !strcmp(kind, "primal");
  if (!is_primal && strcmp(kind, "jvp") != 0 && strcmp(kind, "vjp") != 0)
    return true;
  if (!is_primal && find(p, name)) return true;
  jaxpr_writer w = { 0 };
  char *text = primals_text(record, &w);
  if (!text) return true; /* it cannot run */
  if (p->n == p->cap) {
    const int cap = 2 * p->cap + 64;
    primal *more = realloc(p->list, (size_t)cap * sizeof *more);
    if (!more) return free(text), false;
    p->list = more, p->cap = cap;
  }
  p->list[p->n++] = (primal){ strdup(name), strdup(kind), text,
                              json_incref(json_object_get(record, "jaxpr")),
                              json_incref(json_object_get(record, "in_axes")) };
  return p->list[p->n - 1].name && p->list[p->n - 1].kind;
}

void primals_forget(primals *p) {
  for (int i = 0; i < p->n; i++) {
    free(p->list[i].name), free(p->list[i].kind), free(p->list[i].text);
    json_decref(p->list[i].jaxpr), json_decref(p->list[i].in_axes);
  }
  p->n = 0;
}

void primals_free(primals *p) {
  primals_forget(p);
  free(p->list);
  *p = (primals){ 0 };
}

/* -- as functions ---------------------------------------------------------- */

/* The function without its constants, which become captures. */
CX_STRUCT(closed_env, (cx_fn, f), (cx, consts));
CX_DEF_ENV(closed, closed_env, e, inputs) {
  cx items[JAXPR_MAX];
  int n = 0, n_consts = cx_len(e->consts), n_in = cx_len(inputs);
  for (int i = 0; i < n_consts; i++) items[n++] = cx_nth(e->consts, i);
  for (int i = 0; i < n_in && n < JAXPR_MAX; i++)
    items[n++] = cx_nth(inputs, i);
  return cx_call(e->f, cx_tuple_n(n, items));
}

static cx_fn closed_function(const char *text, const json_t *jaxpr,
                             cx *out_specs) {
  const json_t *consts = json_object_get(jaxpr, "consts");
  const json_t *ins = json_object_get(jaxpr, "in");
  cx items[JAXPR_MAX];
  jaxpr_writer w = { 0 };
  int n = 0, m = 0;
  cx_fn f = derive_flat(cx_parse(text));
  for (size_t i = 0; i < json_array_size(consts); i++)
    items[n++] = record_array(json_array_get(consts, i));
  cx captured = cx_tuple_n(n, items);
  for (size_t i = 0; i < json_array_size(ins); i++) {
    ref t = jaxpr_binding(&w, json_array_get(ins, i));
    items[m++] = cx_spec(t.dtype, t.shape);
  }
  *out_specs = cx_tuple_n(m, items);
  return n ? CX_BIND(closed, .f = f, .consts = captured) : f;
}

/* A single vmap of a primal program: its inputs with one axis more. */
static bool fits_inputs(const primal *p, const json_t *record) {
  const json_t *in = json_object_get(record, "in");
  const json_t *axes = json_object_get(record, "in_axes");
  const json_t *own = json_object_get(p->jaxpr, "in");
  if (strcmp(text_of(record, "kind"), "vmap") != 0 || !axes) return true;
  for (size_t i = 0; i < json_array_size(own); i++) {
    const json_t *axis = json_array_get(axes, i);
    cx_dims got = jaxpr_dims(json_object_get(json_array_get(in, i), "shape"));
    cx_dims want = jaxpr_dims(json_object_get(json_array_get(own, i), "shape"));
    int64_t a = json_is_integer(axis) ? json_integer_value(axis) : -99;
    if (a < 0 && a != -99) a += got.n;
    if (a >= 0 && a < got.n) {
      memmove(got.d + a, got.d + a + 1,
              sizeof got.d[0] * (size_t)(got.n - a - 1));
      got.n--;
    }
    if (got.n != want.n ||
        memcmp(got.d, want.d, sizeof got.d[0] * (size_t)got.n) != 0)
      return false;
  }
  return true;
}

/* The function of the name, from a program of another kind. */
static bool from_kept(const primal *p, origin *out) {
  const char *rest;
  out->text = strdup(p->text);
  out->f = closed_function(p->text, p->jaxpr, &out->specs);
  if (!strcmp(p->kind, "primal")) return true;
  out->told = true;
  out->f = undo_steps(out->f, p->kind, NULL, &out->specs, &rest);
  return *rest != 0;
}

bool primals_origin(const primals *p, const primals *given, json_t *record,
                    origin *out, char *why, size_t room) {
  const char *kind = text_of(record, "kind"), *rest = "";
  const primal *kept = find(p, text_of(record, "name"));
  if (!kept) {
    kept = find(given, text_of(record, "name"));
    if (kept && kept->in_axes && !json_object_get(record, "in_axes"))
      json_object_set(record, "in_axes", kept->in_axes);
  }
  jaxpr_writer w = { 0 };
  *out = (origin){ 0 };
  snprintf(out->kind, sizeof out->kind, "%s", kind);
  if (kept && fits_inputs(kept, record) && from_kept(kept, out)) return true;
  free(out->text);
  const json_t *function = json_object_get(record, "function");
  const json_t *own = function ? function : record;
  out->text = primals_text(own, &w);
  if (!out->text) {
    snprintf(why, room, "%s",
             w.missing[0] ? w.missing : "no program from which to derive it");
    return false;
  }
  out->f =
      closed_function(out->text, json_object_get(own, "jaxpr"), &out->specs);
  if (function) return true;
  out->f = undo_steps(out->f, kind, record, &out->specs, &rest);
  snprintf(out->kind, sizeof out->kind, "%s", rest);
  out->told = strstr(rest, "jvp") || strstr(rest, "vjp");
  snprintf(why, room, "a derivative alone, which does not tell its function");
  return *rest != 0;
}
