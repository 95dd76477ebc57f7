/* jaxpr_control.c - the recorded loops, branches and reductions by a
 * function. */
#include <stdlib.h>
#include <string.h>

#include "jaxpr_text.h"

static const json_t *jaxpr_in(const json_t *object) {
  return json_object_get(object, "jaxpr");
}

/* -- control flow --------------------------------------------------------- */

static void write_scan(jaxpr_program *p, jaxpr_equation *e) {
  ref *types;
  const json_t *body = jaxpr_param(e, "jaxpr");
  int n = jaxpr_outputs(p->w, jaxpr_in(body), &types),
      carry = (int)jaxpr_integer(e, "num_carry");
  for (int i = 0; i < e->n_out && i < n; i++) {
    if (e->out[i].dtype) continue;
    e->out[i] = types[i];
    cx_dims *s = &e->out[i].shape;
    if (i < carry || s->n == CX_MAX_DIMS) continue;
    memmove(s->d + 1, s->d, sizeof s->d[0] * (size_t)s->n++);
    s->d[0] = jaxpr_integer(e, "length");
  }
  int id = jaxpr_nested(p->w, body);
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "scan[body=@p%d, length=%lld, reverse=%s, unroll=%lld, "
               "n_consts=%lld, n_carry=%d]",
               id, (long long)jaxpr_integer(e, "length"),
               jaxpr_truth(e, "reverse"), (long long)jaxpr_integer(e, "unroll"),
               (long long)jaxpr_integer(e, "num_consts"), carry);
}

/* Batched predicates: go on while any holds; a carry whose own does not hold
 * stays as it is. */
static int any_program(jaxpr_program *p, const jaxpr_equation *e, int n_cond,
                       int n_body, int cond, ref predicate) {
  ref *in = jaxpr_refs(p->w, (size_t)e->n_in), out = predicate;
  int n = 0;
  jaxpr_program r;
  jaxpr_open(&r, p->w);
  for (int i = 0; i < e->n_in; i++)
    if (i < n_cond || i >= n_cond + n_body)
      in[n++] = jaxpr_input(&r, e->in[i].dtype, e->in[i].shape);
  jaxpr_emit_n(&r, 1, &out, n, in, "jit[body=@p%d]", cond);
  cx_dims axes = { .n = predicate.shape.n };
  for (int i = 0; i < axes.n; i++) axes.d[i] = i;
  out = jaxpr_emit(&r, CX_BOOL, (cx_dims){ .n = 0 }, 1, &out,
                   "reduce_or[axes=%s]", jaxpr_list(axes));
  return jaxpr_close(&r, n, in, 1, &out);
}

static int guarded_body(jaxpr_program *p, const jaxpr_equation *e, int n_cond,
                        int n_body, int cond, int body, ref predicate) {
  const size_t most = (size_t)e->n_in;
  ref *in = jaxpr_refs(p->w, most), *args = jaxpr_refs(p->w, most);
  ref *next = jaxpr_refs(p->w, most), three[3];
  int first = n_cond + n_body, n = 0, carries = e->n_in - first;
  jaxpr_program r;
  jaxpr_open(&r, p->w);
  for (int i = 0; i < e->n_in; i++)
    in[i] = jaxpr_input(&r, e->in[i].dtype, e->in[i].shape);
  for (int i = 0; i < e->n_in; i++)
    if (i < n_cond || i >= first) args[n++] = in[i];
  jaxpr_emit_n(&r, 1, &predicate, n, args, "jit[body=@p%d]", cond);
  for (int i = 0; i < carries; i++) next[i] = e->in[first + i];
  jaxpr_emit_n(&r, carries, next, e->n_in - n_cond, in + n_cond,
               "jit[body=@p%d]", body);
  for (int i = 0; i < carries; i++) {
    cx_dims shape = next[i].shape, map = { .n = predicate.shape.n };
    for (int k = 0; k < map.n; k++) map.d[k] = k;
    three[0] = jaxpr_emit(&r, CX_BOOL, shape, 1, &predicate,
                          "broadcast_in_dim[shape=%s, map=%s]",
                          jaxpr_list(shape), jaxpr_list(map));
    three[1] = in[first + i], three[2] = next[i];
    next[i] = jaxpr_emit(&r, next[i].dtype, shape, 3, three, "select");
  }
  return jaxpr_close(&r, e->n_in, in, carries, next);
}

static void write_while(jaxpr_program *p, jaxpr_equation *e) {
  ref *predicate;
  int n_cond = (int)jaxpr_integer(e, "cond_nconsts");
  int n_body = (int)jaxpr_integer(e, "body_nconsts");
  const json_t *cond_jaxpr = jaxpr_param(e, "cond_jaxpr");
  if (n_cond < 0 || n_body < 0 || n_cond > e->n_in || n_body > e->n_in - n_cond)
    jaxpr_fail(p->w, "a while with more constants than operands");
  jaxpr_type_outputs(p, e, jaxpr_in(jaxpr_param(e, "body_jaxpr")));
  jaxpr_outputs(p->w, jaxpr_in(cond_jaxpr), &predicate);
  int cond = jaxpr_nested(p->w, cond_jaxpr);
  int body = jaxpr_nested(p->w, jaxpr_param(e, "body_jaxpr"));
  if (!jaxpr_ok(p->w)) return;
  if (predicate->shape.n) {
    body = guarded_body(p, e, n_cond, n_body, cond, body, *predicate);
    cond = any_program(p, e, n_cond, n_body, cond, *predicate);
    n_body += n_cond; /* the body asks the predicate too */
    ref *in = jaxpr_refs(p->w, (size_t)e->n_in + (size_t)n_cond);
    int n = 0;
    if (!jaxpr_ok(p->w)) return;
    for (int i = 0; i < n_cond; i++) in[n++] = e->in[i];
    for (int i = 0; i < e->n_in; i++) in[n++] = e->in[i];
    e->n_in = n;
    e->in = in;
  }
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "while[cond=@p%d, body=@p%d, n_cond_consts=%d, "
               "n_body_consts=%d]",
               cond, body, n_cond, n_body);
}

static void write_cond(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *branches = jaxpr_param(e, "branches");
  char *text = NULL;
  size_t n = json_array_size(branches), bytes;
  FILE *list = open_memstream(&text, &bytes);
  if (!list || e->n_in < 1) {
    jaxpr_fail(p->w, list ? "a cond without operands" : "out of memory");
    if (list) fclose(list);
    free(text);
    return;
  }
  jaxpr_type_outputs(p, e, jaxpr_in(json_array_get(branches, 0)));
  for (size_t i = 0; i < n; i++)
    fprintf(list, "%s@p%d", i ? "," : "",
            jaxpr_nested(p->w, json_array_get(branches, i)));
  fclose(list);
  e->in[0] = jaxpr_convert(p, e->in[0], CX_I32);
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in, "cond[branches=(%s)]",
               text ? text : "");
  free(text);
}

/* -- reductions by a function --------------------------------------------- */

static void write_reduce_by(jaxpr_program *p, jaxpr_equation *e) {
  int id = jaxpr_nested(p->w, jaxpr_param(e, "jaxpr"));
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "reduce[axes=%s, body=@p%d]",
               jaxpr_ints(jaxpr_param(e, "dimensions")), id);
}

static void write_reduce_window_by(jaxpr_program *p, jaxpr_equation *e) {
  int id = jaxpr_nested(p->w, jaxpr_param(e, "jaxpr"));
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "reduce_window[%s, body=@p%d]", jaxpr_window(e, e->in->shape.n),
               id);
}

static void write_select_and_scatter(jaxpr_program *p, jaxpr_equation *e) {
  int select = jaxpr_nested(p->w, jaxpr_param(e, "select_jaxpr"));
  int scatter = jaxpr_nested(p->w, jaxpr_param(e, "scatter_jaxpr"));
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 3, e->in,
                       "select_and_scatter[%s, select=@p%d, scatter=@p%d]",
                       jaxpr_window(e, e->in->shape.n), select, scatter);
}

/* -- the table ------------------------------------------------------------ */

static const jaxpr_row rows[] = {
  { "reduce", write_reduce_by },
  { "reduce_window", write_reduce_window_by },
  { "select_and_scatter", write_select_and_scatter },
  { "scan", write_scan },
  { "while", write_while },
  { "cond", write_cond },
};
jaxpr_handler *jaxpr_control_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
