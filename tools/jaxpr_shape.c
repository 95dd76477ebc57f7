/* jaxpr_shape.c - the recorded primitives that move elements. */
#include <stdlib.h>
#include <string.h>

#include "jaxpr_text.h"

/* The recorded map may cross axes; ours ascends. */
static ref in_order(jaxpr_program *p, ref x, cx_dims *map) {
  cx_dims order = { .n = map->n }, shape = x.shape;
  bool crossed = false;
  for (int i = 0; i < map->n; i++) order.d[i] = i;
  for (int i = 1; i < map->n; i++)
    for (int k = i; k > 0 && map->d[k] < map->d[k - 1]; k--) {
      int64_t m = map->d[k], o = order.d[k];
      map->d[k] = map->d[k - 1], map->d[k - 1] = m;
      order.d[k] = order.d[k - 1], order.d[k - 1] = o;
      crossed = true;
    }
  if (!crossed || map->n != x.shape.n) return x;
  for (int i = 0; i < map->n; i++) shape.d[i] = x.shape.d[order.d[i]];
  return jaxpr_emit(p, x.dtype, shape, 1, &x, "transpose[permutation=%s]",
                    jaxpr_list(order));
}

static void write_broadcast(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims map = jaxpr_dims(jaxpr_param(e, "broadcast_dimensions"));
  *e->in = in_order(p, *e->in, &map);
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "broadcast_in_dim[shape=%s, map=%s]",
                       jaxpr_list(e->out->shape), jaxpr_list(map));
}

static ref permuted(jaxpr_program *p, ref x, const json_t *order) {
  cx_dims o = jaxpr_dims(order), shape = x.shape;
  for (int i = 0; i < o.n && i < shape.n; i++)
    shape.d[i] = x.shape.d[o.d[i] >= 0 && o.d[i] < x.shape.n ? o.d[i] : 0];
  return jaxpr_emit(p, x.dtype, shape, 1, &x, "transpose[permutation=%s]",
                    jaxpr_list(o));
}

static void write_reshape(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *order = jaxpr_param(e, "dimensions");
  bool permute = order && !strcmp(e->name, "reshape");
  ref x = permute ? permuted(p, *e->in, order) : *e->in;
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, &x,
                       "reshape[shape=%s]", jaxpr_list(e->out->shape));
}

static void write_transpose(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = permuted(p, *e->in, jaxpr_param(e, "permutation"));
}

static void write_squeeze(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims axes = jaxpr_dims(jaxpr_param(e, "dimensions"));
  for (int i = 0; i < axes.n; i++)
    if (axes.d[i] < 0) axes.d[i] += e->in->shape.n;
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "squeeze[axes=%s]", jaxpr_list(axes));
}

static void write_rev(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in, "rev[axes=%s]",
                 jaxpr_ints(jaxpr_param(e, "dimensions")));
}

static void write_concatenate(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                       "concatenate[axis=%lld]",
                       (long long)jaxpr_integer(e, "dimension"));
}

static void write_stack(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                       "stack[axis=%lld]", (long long)jaxpr_integer(e, "axis"));
}

/* Results that nobody uses have no recorded type: they get their own. */
static void write_unstack(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = { .n = 0 };
  for (int i = 0; i < e->in->shape.n; i++)
    if (i != jaxpr_integer(e, "axis")) shape.d[shape.n++] = e->in->shape.d[i];
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = e->in->dtype, .shape = shape };
  jaxpr_emit_n(p, e->n_out, e->out, 1, e->in, "unstack[axis=%lld]",
               (long long)jaxpr_integer(e, "axis"));
}

static void write_split(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *sizes = jaxpr_param(e, "sizes");
  char *text = NULL;
  size_t bytes;
  FILE *list = open_memstream(&text, &bytes);
  if (!list) {
    jaxpr_fail(p->w, "out of memory");
    return;
  }
  for (int i = 0; i < e->n_out; i++) {
    json_int_t n = json_integer_value(json_array_get(sizes, (size_t)i));
    fprintf(list, "%s%lld", i ? "," : "", (long long)n);
    e->out[i] = (ref){ .dtype = e->in->dtype, .shape = e->in->shape };
    e->out[i].shape.d[jaxpr_integer(e, "axis") & 7] = n;
  }
  fclose(list);
  jaxpr_emit_n(p, e->n_out, e->out, 1, e->in, "split[sizes=(%s), axis=%lld]",
               text ? text : "", (long long)jaxpr_integer(e, "axis"));
  free(text);
}

static void write_slice(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims strides = jaxpr_dims(jaxpr_param(e, "strides"));
  if (!jaxpr_param(e, "strides"))
    for (strides.n = 0; strides.n < e->in->shape.n;) strides.d[strides.n++] = 1;
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "slice[start=%s, limit=%s, strides=%s]",
                       jaxpr_ints(jaxpr_param(e, "start_indices")),
                       jaxpr_ints(jaxpr_param(e, "limit_indices")),
                       jaxpr_list(strides));
}

static void write_pad(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *config = jaxpr_param(e, "padding_config");
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "pad[low=%s, high=%s, interior=%s]", jaxpr_list(jaxpr_column(config, 0)),
      jaxpr_list(jaxpr_column(config, 1)), jaxpr_list(jaxpr_column(config, 2)));
}

/* Axis after axis, seen as (outer, one copy): copies are an axis between. */
static void write_tile(jaxpr_program *p, jaxpr_equation *e) {
  const cx_dims reps = jaxpr_dims(jaxpr_param(e, "reps"));
  ref x = *e->in;
  cx_dims shape = x.shape;
  for (int axis = 0; axis < reps.n && axis < shape.n; axis++) {
    if (reps.d[axis] == 1) continue;
    int64_t outer = 1, copy = 1;
    for (int i = 0; i < axis; i++) outer *= shape.d[i];
    for (int i = axis; i < shape.n; i++) copy *= shape.d[i];
    const cx_dims flat = { 2, { outer, copy } };
    const cx_dims many = { 3, { outer, reps.d[axis], copy } };
    shape.d[axis] *= reps.d[axis];
    x = jaxpr_emit(p, x.dtype, flat, 1, &x, "reshape[shape=%s]",
                   jaxpr_list(flat));
    x = jaxpr_emit(p, x.dtype, many, 1, &x,
                   "broadcast_in_dim[shape=%s, map=(0,2)]", jaxpr_list(many));
    x = jaxpr_emit(p, x.dtype, shape, 1, &x, "reshape[shape=%s]",
                   jaxpr_list(shape));
  }
  *e->out = x;
}

static void write_iota(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 0, NULL,
      "iota[type=%s, shape=%s, axis=%lld]", jaxpr_dtype_text(e->out->dtype),
      jaxpr_list(e->out->shape), (long long)jaxpr_integer(e, "dimension"));
}

static void write_empty(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_full(p, e->out->dtype, e->out->shape, 0);
}

/* -- the table ------------------------------------------------------------ */

static const jaxpr_row rows[] = {
  { "broadcast_in_dim", write_broadcast },
  { "reshape", write_reshape },
  { "expand_dims", write_reshape },
  { "transpose", write_transpose },
  { "squeeze", write_squeeze },
  { "rev", write_rev },
  { "concatenate", write_concatenate },
  { "stack", write_stack },
  { "unstack", write_unstack },
  { "split", write_split },
  { "slice", write_slice },
  { "pad", write_pad },
  { "tile", write_tile },
  { "iota", write_iota },
  { "empty", write_empty },
  { "empty2", write_empty },
};
jaxpr_handler *jaxpr_shape_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
