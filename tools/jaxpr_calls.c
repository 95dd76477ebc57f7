/* jaxpr_calls.c - the recorded primitives that nest jaxprs. */
#include <stdlib.h>
#include <string.h>

#include "jaxpr_text.h"

static const json_t *jaxpr_in(const json_t *object) {
  return json_object_get(object, "jaxpr");
}

/* The types of a jaxpr's outputs, by walking nothing: they are those of the
 * variables and literals that it returns. */
static ref type_of_atom(jaxpr_writer *w, const json_t *jaxpr,
                        const json_t *atom) {
  size_t i, k;
  json_t *x, *o;
  if (!json_is_integer(atom)) return jaxpr_binding(w, atom);
  json_int_t v = json_integer_value(atom);
  json_array_foreach(json_object_get(jaxpr, "in"), i,
                     x) if (json_integer_value(json_object_get(x, "v")) ==
                            v) return jaxpr_binding(w, x);
  json_array_foreach(json_object_get(jaxpr, "consts"), i,
                     x) if (json_integer_value(json_object_get(x, "v")) ==
                            v) return jaxpr_binding(w, x);
  json_array_foreach(json_object_get(jaxpr, "eqns"), i, x) json_array_foreach(
      json_object_get(x, "o"), k,
      o) if (json_is_object(o) && json_integer_value(json_object_get(o, "v")) ==
                                      v) return jaxpr_binding(w, o);
  return jaxpr_fail(w, "a result that nothing makes");
}

int jaxpr_outputs(jaxpr_writer *w, const json_t *jaxpr, ref **out) {
  size_t i;
  json_t *x;
  const json_t *outs = json_object_get(jaxpr, "out");
  *out = jaxpr_refs(w, json_array_size(outs));
  json_array_foreach(outs, i, x) if (jaxpr_ok(w))(*out)[i] =
      type_of_atom(w, jaxpr, x);
  return (int)json_array_size(outs);
}

/* The results get the body's types, also those that nobody uses. */
void jaxpr_type_outputs(jaxpr_program *p, jaxpr_equation *e,
                        const json_t *body) {
  ref *types;
  int n = jaxpr_outputs(p->w, body, &types);
  if (n != e->n_out) jaxpr_fail(p->w, "results and body differ in number");
  for (int i = 0; i < e->n_out && i < n; i++)
    if (!e->out[i].dtype) e->out[i] = types[i];
}

/* -- calls ---------------------------------------------------------------- */

static void call(jaxpr_program *p, jaxpr_equation *e, const json_t *body) {
  jaxpr_type_outputs(p, e, jaxpr_in(body));
  int id = jaxpr_nested(p->w, body);
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in, "jit[body=@p%d]", id);
}

/* A call by any of the names that JAX had for it. */
static void write_jit(jaxpr_program *p, jaxpr_equation *e) {
  static const char *const bodies[] = { "jaxpr", "call_jaxpr", "call",
                                        "fun_jaxpr", "callee" };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    if (jaxpr_param(e, bodies[i])) {
      call(p, e, jaxpr_param(e, bodies[i]));
      return;
    }
  jaxpr_fail(p->w, "a call of nothing");
}

/* NULL: none of JAX's. */
static const char *policy_of(const json_t *policy) {
  const char *fn = json_string_value(json_object_get(policy, "fn"));
  if (!fn || !strcmp(fn, "nothing_saveable")) return "nothing";
  if (!strcmp(fn, "dots_saveable") || !strcmp(fn, "checkpoint_dots"))
    return "dots";
  if (!strcmp(fn, "dots_with_no_batch_dims_saveable") ||
      !strcmp(fn, "checkpoint_dots_with_no_batch_dims"))
    return "dots_no_batch";
  if (!strcmp(fn, "save_only_these_names")) return "names";
  if (!strcmp(fn, "save_any_names_but_these")) return "other_names";
  /* JAX saves these names too. */
  if (!strcmp(fn, "save_anything_except_these_names")) return "everything";
  return strcmp(fn, "everything_saveable") ? NULL : "everything";
}

/* Quoted text, as the parser reads it. */
static void write_quoted(FILE *out, const char *text) {
  fputc('"', out);
  for (const char *c = text ? text : ""; *c; c++)
    if (*c == '"' || *c == '\\')
      fprintf(out, "\\%c", *c);
    else if ((unsigned char)*c < ' ' || *c == 127)
      fprintf(out, "\\x%02x", (unsigned)(unsigned char)*c);
    else
      fputc(*c, out);
  fputc('"', out);
}

static void write_checkpoint(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *policy = jaxpr_param(e, "policy"),
               *list = json_object_get(policy, "names");
  char *names = NULL;
  size_t bytes, i;
  json_t *x;
  if (!policy_of(policy)) {
    jaxpr_missing(p->w, "a checkpoint policy that is a function");
    return;
  }
  FILE *to = open_memstream(&names, &bytes);
  if (!to) {
    jaxpr_fail(p->w, "out of memory");
    return;
  }
  json_array_foreach(list, i, x) {
    if (i) fputc(',', to);
    write_quoted(to, json_string_value(x));
  }
  fclose(to);
  jaxpr_type_outputs(p, e, jaxpr_in(jaxpr_param(e, "jaxpr")));
  int id = jaxpr_nested(p->w, jaxpr_param(e, "jaxpr"));
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "checkpoint[body=@p%d, policy=\"%s\", names=(%s), "
               "differentiated=%s]",
               id, policy_of(policy), names, jaxpr_truth(e, "differentiated"));
  free(names);
}

/* The parameter `name` of an equation, a name of Python's, quoted and cut to
 * what a message holds. */
enum { MOST_NAME = 128 };
static void quoted_name(const jaxpr_equation *e, char out[2 * MOST_NAME]) {
  const char *name = json_string_value(jaxpr_param(e, "name"));
  int n = 0;
  for (int i = 0; name && name[i] && i < MOST_NAME - 2; i++) {
    const bool plain = (unsigned char)name[i] >= ' ' && name[i] != 127;
    if (name[i] == '"' || name[i] == '\\') out[n++] = '\\';
    out[n++] = plain ? name[i] : '?';
  }
  out[n] = 0;
}

/* The lanes of a batch one after the other; any other rule is Python, asked
 * for each size of a batch, and stays there. */
static void write_custom_vmap(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *body = jaxpr_param(e, "call");
  const char *rule =
      json_string_value(json_object_get(jaxpr_param(e, "rule"), "fn"));
  char name[2 * MOST_NAME];
  quoted_name(e, name);
  jaxpr_type_outputs(p, e, jaxpr_in(body));
  const int id = jaxpr_nested(p->w, body);
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "custom_vmap[body=@p%d, rule=%d, name=\"%s\"]", id,
               rule && !strcmp(rule, "sequential_vmap") ? 0 : -1, name);
}

/* Copies to where they are already. */
static void write_device_put(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_out && i < e->n_in; i++)
    e->out[i] =
        jaxpr_emit(p, e->in[i].dtype, e->in[i].shape, 1, &e->in[i], "copy");
}

/* Which of the lists of platforms has ours, or is for all: the branch of the
 * cond that follows. */
static void write_platform_index(jaxpr_program *p, jaxpr_equation *e) {
  size_t i, k;
  json_t *list, *name;
  int found = -1, any = -1;
  json_array_foreach(jaxpr_param(e, "platforms"), i, list) {
    if (json_array_size(list) == 0 && any < 0) any = (int)i;
    json_array_foreach(list, k, name) {
      const char *s = json_string_value(name);
      if (s && !strcmp(s, "cpu") && found < 0) found = (int)i;
    }
  }
  if (found < 0) found = any;
  if (found < 0)
    jaxpr_missing(p->w, "platform_index without the CPU");
  else
    *e->out = jaxpr_emit(p, CX_I32, (cx_dims){ .n = 0 }, 1,
                         (ref[]){ jaxpr_number(CX_I32, found) }, "copy");
}

static void write_barrier(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = e->in[i].dtype, .shape = e->in[i].shape };
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in, "optimization_barrier");
}

/* -- custom rules --------------------------------------------------------- */

/* Inputs of a program like the operands; floats get a second one after them
 * all if `tangents`. Returns how many there are in all. */
static int rule_inputs(jaxpr_program *r, const jaxpr_equation *e, bool tangents,
                       ref **out) {
  int n = e->n_in;
  ref *in = *out = jaxpr_refs(r->w, 2 * (size_t)n);
  for (int i = 0; i < e->n_in; i++)
    in[i] = jaxpr_input(r, e->in[i].dtype, e->in[i].shape);
  for (int i = 0; tangents && i < e->n_in; i++)
    if (jaxpr_is_float(e->in[i].dtype))
      in[n++] = jaxpr_input(r, e->in[i].dtype, e->in[i].shape);
  return n;
}

/* Ours takes every operand and a tangent for each float; the recorded rule
 * lacks the constants and the tangents that were zero. */
static int jvp_rule(jaxpr_program *p, const jaxpr_equation *e) {
  const json_t *rule = jaxpr_in(jaxpr_param(e, "jvp_jaxpr"));
  const json_t *in_zeros = jaxpr_param(e, "jvp_in_zeros");
  const json_t *out_zeros = jaxpr_param(e, "jvp_out_zeros");
  const size_t n_made = json_array_size(json_object_get(rule, "out"));
  const size_t n_given = json_array_size(json_object_get(rule, "in"));
  ref *in, *given = jaxpr_refs(p->w, 2 * (size_t)e->n_in);
  ref *made = jaxpr_refs(p->w, n_made + 2 * (size_t)e->n_out);
  ref *out = jaxpr_refs(p->w, 2 * (size_t)e->n_out);
  int consts = (int)jaxpr_integer(e, "num_consts"), n = 0, tangent = e->n_in,
      m = 0;
  jaxpr_program r;
  jaxpr_open(&r, p->w);
  int n_in = rule_inputs(&r, e, true, &in);
  for (int i = consts; i < e->n_in; i++) given[n++] = in[i];
  for (int i = 0; i < e->n_in; i++) {
    if (!jaxpr_is_float(e->in[i].dtype)) continue;
    bool zero = i < consts ||
                json_is_true(json_array_get(in_zeros, (size_t)(i - consts)));
    if (!zero) given[n++] = in[tangent];
    tangent++;
  }
  if (n_given == (size_t)n)
    jaxpr_inline(&r, rule, given, made);
  else
    jaxpr_fail(p->w, "a rule takes other operands");
  for (int i = 0; i < e->n_out; i++) out[m++] = made[i];
  for (int i = 0, next = e->n_out; i < e->n_out; i++) {
    bool zero = json_is_true(json_array_get(out_zeros, (size_t)i));
    ref t = { .dtype = 0 };
    if (!zero) t = made[next++];
    if (!jaxpr_is_float(e->out[i].dtype)) continue;
    out[m++] = zero ? jaxpr_full(&r, e->out[i].dtype, e->out[i].shape, 0) : t;
  }
  return jaxpr_close(&r, n_in, in, m, out);
}

/* Inside a rule the record leaves rules out, also that of the function itself
 * (relu in the rule of relu): then the enclosing one applies, three deep. */
static const json_t *rule_around(const jaxpr_writer *w, const json_t *body,
                                 const char *rule) {
  for (int i = w->n_rules; i-- > 0;)
    if (json_object_get(w->rules[i], rule) &&
        json_equal(json_object_get(w->rules[i], "call_jaxpr"), body))
      return w->n_rules < 3 ? w->rules[i] : NULL;
  return NULL;
}

static bool find_rule(jaxpr_program *p, jaxpr_equation *e, const char *rule) {
  if (!jaxpr_param(e, rule)) {
    const json_t *k = rule_around(p->w, jaxpr_param(e, "call_jaxpr"), rule);
    if (k) e->k = k;
  }
  return jaxpr_param(e, rule) && p->w->n_rules < 8;
}

static const json_t *custom_body(const jaxpr_equation *e) {
  const json_t *body = jaxpr_param(e, "call_jaxpr");
  return body ? body : jaxpr_param(e, "fun_jaxpr");
}

/* A rule that calls its own function was cut off here: the value alone. */
static bool without_rule(jaxpr_program *p, jaxpr_equation *e,
                         const json_t *body) {
  if (!json_is_true(jaxpr_param(e, "no_rule"))) return false;
  jaxpr_type_outputs(p, e, jaxpr_in(body));
  int id = jaxpr_nested(p->w, body);
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "custom_jvp[body=@p%d, rule=none]", id);
  return true;
}

static void write_custom_jvp(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *body = custom_body(e);
  if (without_rule(p, e, body)) return;
  if (!find_rule(p, e, "jvp_jaxpr")) {
    call(p, e, body);
    return;
  }
  jaxpr_type_outputs(p, e, jaxpr_in(body));
  int id = jaxpr_nested(p->w, body);
  p->w->rules[p->w->n_rules++] = e->k;
  int rule = jvp_rule(p, e);
  p->w->n_rules--;
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "custom_jvp[body=@p%d, rule=@p%d]", id, rule);
}

/* fwd: the recorded one returns some residuals, then the results; others are
 * operands handed on. Ours returns results, then all residuals. */
static int vjp_fwd(jaxpr_program *p, const jaxpr_equation *e, ref **res_out,
                   int *n_res) {
  const json_t *fwd = jaxpr_in(jaxpr_param(e, "fwd_jaxpr"));
  const json_t *from = jaxpr_param(e, "fwd_input_fwds");
  const size_t n_from = json_array_size(from);
  const size_t n_made = json_array_size(json_object_get(fwd, "out"));
  ref *in, *res = *res_out = jaxpr_refs(p->w, n_from);
  ref *made = jaxpr_refs(p->w, n_made + n_from);
  ref *out = jaxpr_refs(p->w, (size_t)e->n_out + n_from);
  int made_res = (int)jaxpr_integer(e, "fwd_num_res"), next = 0, m = 0;
  int consts = (int)jaxpr_integer(e, "num_consts");
  jaxpr_program r;
  jaxpr_open(&r, p->w);
  int n_in = rule_inputs(&r, e, false, &in);
  const bool fits =
      made_res >= 0 && n_made == (size_t)made_res + (size_t)e->n_out &&
      consts >= 0 && consts <= n_in &&
      json_array_size(json_object_get(fwd, "in")) == (size_t)(n_in - consts);
  if (fits)
    jaxpr_inline(&r, fwd, in + consts, made);
  else
    jaxpr_fail(p->w, "fwd has other operands or results");
  for (int i = 0; fits && i < e->n_out; i++) out[m++] = made[made_res + i];
  *n_res = (int)json_array_size(from);
  for (int i = 0; i < *n_res; i++) {
    const json_t *x = json_array_get(from, (size_t)i);
    const json_int_t k = json_is_integer(x) ? json_integer_value(x) : -1;
    if (json_is_integer(x) && (k < 0 || k >= n_in))
      jaxpr_fail(p->w, "fwd hands on an operand that there is not");
    res[i] = k >= 0 && k < n_in ? in[k] : made[next++];
    out[m++] = res[i];
  }
  return jaxpr_close(&r, n_in, in, m, out);
}

/* bwd: residuals and cotangents of the floating results -> one for each
 * floating operand; zeros for constants and where the record says so. */
static int vjp_bwd(jaxpr_program *p, const jaxpr_equation *e, const ref *res,
                   int n_res) {
  const json_t *bwd = jaxpr_in(jaxpr_param(e, "bwd_jaxpr"));
  const json_t *zeros = jaxpr_param(e, "bwd_out_zeros");
  const size_t n_made = json_array_size(json_object_get(bwd, "out"));
  const size_t n_in = json_array_size(json_object_get(bwd, "in"));
  ref *in = jaxpr_refs(p->w, (size_t)n_res + (size_t)e->n_out);
  ref *made = jaxpr_refs(p->w, n_made + (size_t)e->n_in);
  ref *out = jaxpr_refs(p->w, (size_t)e->n_in);
  int consts = (int)jaxpr_integer(e, "num_consts"), n = 0, m = 0, next = 0;
  jaxpr_program r;
  jaxpr_open(&r, p->w);
  for (int i = 0; i < n_res; i++)
    in[n++] = jaxpr_input(&r, res[i].dtype, res[i].shape);
  for (int i = 0; i < e->n_out; i++)
    if (jaxpr_is_float(e->out[i].dtype))
      in[n++] = jaxpr_input(&r, e->out[i].dtype, e->out[i].shape);
  if (n_in == (size_t)n)
    jaxpr_inline(&r, bwd, in, made);
  else
    jaxpr_fail(p->w, "bwd takes other operands");
  for (int i = 0; i < e->n_in; i++) {
    bool zero =
        i < consts || json_is_true(json_array_get(zeros, (size_t)(i - consts)));
    ref ct = { .dtype = 0 };
    if (!zero) ct = made[next++];
    if (!jaxpr_is_float(e->in[i].dtype)) continue;
    out[m++] = zero ? jaxpr_full(&r, e->in[i].dtype, e->in[i].shape, 0) : ct;
  }
  return jaxpr_close(&r, n, in, m, out);
}

static void write_custom_vjp(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *body = custom_body(e);
  char name[2 * MOST_NAME];
  ref *res;
  int n_res;
  if (without_rule(p, e, body)) return;
  if (!find_rule(p, e, "fwd_jaxpr")) {
    call(p, e, body);
    return;
  }
  jaxpr_type_outputs(p, e, jaxpr_in(body));
  int id = jaxpr_nested(p->w, body);
  p->w->rules[p->w->n_rules++] = e->k;
  int fwd = vjp_fwd(p, e, &res, &n_res), bwd = vjp_bwd(p, e, res, n_res);
  p->w->n_rules--;
  quoted_name(e, name);
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "custom_vjp[body=@p%d, fwd=@p%d, bwd=@p%d, name=\"%s\"]", id,
               fwd, bwd, name);
}

/* -- linear systems ------------------------------------------------------- */

static const char *const system_parts[] = { "matvec", "vecmat", "solve",
                                            "transpose_solve" };
enum { SYSTEM_PARTS = 4 };

/* Part k of a named tuple, recorded as an object or as a list. */
static const json_t *system_part(const jaxpr_equation *e, const char *param,
                                 int k) {
  const json_t *all = jaxpr_param(e, param);
  const json_t *x = json_is_array(all) ? json_array_get(all, (size_t)k)
                                       : json_object_get(all, system_parts[k]);
  return x && !json_is_null(x) ? x : NULL;
}

/* The recorded part takes constants of its own, from operand `first` on, and a
 * vector; ours all operands. */
static int system_program(jaxpr_program *p, const jaxpr_equation *e, int k,
                          int first, int consts, int all_consts) {
  const json_t *jaxpr = jaxpr_in(system_part(e, "jaxprs", k));
  const int n_out = (int)json_array_size(json_object_get(jaxpr, "out"));
  const size_t n_given = json_array_size(json_object_get(jaxpr, "in"));
  ref *in, *args = jaxpr_refs(p->w, (size_t)e->n_in);
  ref *made = jaxpr_refs(p->w, (size_t)n_out);
  int n = 0;
  jaxpr_program r;
  jaxpr_open(&r, p->w);
  rule_inputs(&r, e, false, &in);
  for (int i = 0; i < consts; i++) args[n++] = in[first + i];
  for (int i = all_consts; i < e->n_in; i++) args[n++] = in[i];
  if (n_given == (size_t)n)
    jaxpr_inline(&r, jaxpr, args, made);
  else
    jaxpr_fail(p->w, "a part of a linear system takes other operands");
  return jaxpr_close(&r, e->n_in, in, n_out, made);
}

static void write_linear_solve(jaxpr_program *p, jaxpr_equation *e) {
  int first[SYSTEM_PARTS + 1] = { 0 }, at = 0;
  char text[160];
  for (int k = 0; k < SYSTEM_PARTS; k++) {
    const json_int_t n = json_integer_value(system_part(e, "const_lengths", k));
    if (n < 0 || n > e->n_in - first[k]) {
      jaxpr_fail(p->w, "more constants than operands");
      return;
    }
    first[k + 1] = first[k] + (int)n;
  }
  if (!system_part(e, "jaxprs", 0) || !system_part(e, "jaxprs", 2)) {
    jaxpr_fail(p->w, "a linear system without matvec or solve");
    return;
  }
  jaxpr_type_outputs(p, e, jaxpr_in(system_part(e, "jaxprs", 2)));
  for (int k = 0; k < SYSTEM_PARTS; k++) {
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%s=", k ? ", " : "",
                   system_parts[k]);
    if (!system_part(e, "jaxprs", k)) {
      at += snprintf(text + at, sizeof text - (size_t)at, "none");
      continue;
    }
    const int id = system_program(p, e, k, first[k], first[k + 1] - first[k],
                                  first[SYSTEM_PARTS]);
    at += snprintf(text + at, sizeof text - (size_t)at, "@p%d", id);
  }
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in, "linear_solve[%s]", text);
}

static const jaxpr_row rows[] = {
  { "jit", write_jit },
  { "pjit", write_jit },
  { "closed_call", write_jit },
  { "core_call", write_jit },
  { "eval_jaxpr", write_jit },
  { "composite", write_jit },
  { "custom_vmap_call", write_custom_vmap },
  { "remat2", write_checkpoint },
  { "remat", write_checkpoint },
  { "checkpoint", write_checkpoint },
  { "optimization_barrier", write_barrier },
  { "device_put", write_device_put },
  { "platform_index", write_platform_index },
  { "custom_jvp_call", write_custom_jvp },
  { "custom_vjp_call", write_custom_vjp },
  { "custom_vjp_call_jaxpr", write_custom_vjp },
  { "custom_linear_solve", write_linear_solve },
};
jaxpr_handler *jaxpr_call_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
