/* jaxpr_index.c - the recorded slices, gathers and scatters. */
#include <math.h>
#include <string.h>

#include "jaxpr_text.h"

/* A start as a signed one; what i64 does not hold lies behind every array. */
static ref signed_start(jaxpr_program *p, ref x, cx_dtype dtype) {
  if (x.dtype == CX_U64) {
    const ref far = jaxpr_full(p, CX_U64, x.shape, 0x1p53);
    x = jaxpr_emit(p, CX_U64, x.shape, 2, (ref[]){ x, far }, "min");
  }
  return jaxpr_convert(p, x, dtype);
}

/* All starts of one dtype. */
static void even_starts(jaxpr_program *p, jaxpr_equation *e, int first) {
  bool wide = false;
  for (int i = first; i < e->n_in; i++)
    wide = wide || e->in[i].dtype == CX_I64 || e->in[i].dtype == CX_U64 ||
           e->in[i].dtype == CX_U32;
  for (int i = first; i < e->n_in; i++)
    e->in[i] = signed_start(p, e->in[i], wide ? CX_I64 : CX_I32);
}

static void write_dynamic_slice(jaxpr_program *p, jaxpr_equation *e) {
  even_starts(p, e, 1);
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                       "dynamic_slice[sizes=%s]",
                       jaxpr_ints(jaxpr_param(e, "slice_sizes")));
}

static void write_dynamic_update_slice(jaxpr_program *p, jaxpr_equation *e) {
  even_starts(p, e, 2);
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                       "dynamic_update_slice");
}

static const char *mode(const jaxpr_equation *e, const char *outside) {
  const char *name = jaxpr_enum(e, "mode");
  return !strcmp(name, "CLIP")           ? "clip"
         : !strcmp(name, "FILL_OR_DROP") ? outside
                                         : "in_bounds";
}

static double fill_value(const jaxpr_equation *e) {
  const json_t *x = json_object_get(e->k, "fill_value");
  const char *text = json_string_value(x);
  if (text)
    return !strcmp(text, "inf")    ? INFINITY
           : !strcmp(text, "-inf") ? -INFINITY
                                   : NAN;
  if (json_is_boolean(x)) return json_is_true(x);
  return x ? json_number_value(x) : NAN;
}

static bool is_empty(cx_dims shape) {
  for (int i = 0; i < shape.n; i++)
    if (shape.d[i] == 0) return true;
  return false;
}

/* JAX lets windows of 1 be at no place of an axis of 0. */
static bool nothing_there(const jaxpr_equation *e, cx_dims moved) {
  return is_empty(moved) && is_empty(e->in->shape);
}

static void write_gather(jaxpr_program *p, jaxpr_equation *e) {
  if (nothing_there(e, e->out->shape)) {
    *e->out = jaxpr_full(p, e->out->dtype, e->out->shape, 0);
    return;
  }
  const json_t *d = jaxpr_param(e, "dimension_numbers");
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "gather[offset=%s, collapsed=%s, start_map=%s, operand_batch=%s, "
      "index_batch=%s, sizes=%s, mode=%s, fill=%.17g, sorted=%s, unique=%s]",
      jaxpr_ints(json_object_get(d, "offset_dims")),
      jaxpr_ints(json_object_get(d, "collapsed_slice_dims")),
      jaxpr_ints(json_object_get(d, "start_index_map")),
      jaxpr_ints(json_object_get(d, "operand_batching_dims")),
      jaxpr_ints(json_object_get(d, "start_indices_batching_dims")),
      jaxpr_ints(jaxpr_param(e, "slice_sizes")), mode(e, "fill"), fill_value(e),
      jaxpr_truth(e, "indices_are_sorted"), jaxpr_truth(e, "unique_indices"));
}

/* -- a scatter by a function ---------------------------------------------- */

/* Its parameters; `index_batch` and `window` change as axes move. */
typedef struct places {
  cx_dims window, inserted, start_map, operand_batch, index_batch;
  int function; /* (old, update) -> new, on scalars */
} places;

static bool among(cx_dims list, int64_t axis) {
  for (int i = 0; i < list.n; i++)
    if (list.d[i] == axis) return true;
  return false;
}

/* x with each window that the indices name replaced by the function of it and
 * of its update. */
static ref replace(jaxpr_program *p, const jaxpr_equation *e, const places *at,
                   ref x, ref indices, ref updates) {
  cx_dims sizes = { .n = x.shape.n };
  for (int i = 0, w = 0; i < sizes.n; i++)
    sizes.d[i] = among(at->inserted, i) || among(at->operand_batch, i)
                     ? 1
                     : updates.shape.d[at->window.d[w++]];
  ref two[2] = { x, indices }, three[3] = { x, indices };
  two[1] = jaxpr_emit(
      p, x.dtype, updates.shape, 2, two,
      "gather[offset=%s, collapsed=%s, start_map=%s, operand_batch=%s, "
      "index_batch=%s, sizes=%s, mode=%s, fill=nan, sorted=false, "
      "unique=false]",
      jaxpr_list(at->window), jaxpr_list(at->inserted),
      jaxpr_list(at->start_map), jaxpr_list(at->operand_batch),
      jaxpr_list(at->index_batch), jaxpr_list(sizes), mode(e, "clip"));
  two[0] = updates;
  three[2] = jaxpr_emit(p, x.dtype, updates.shape, 2, two,
                        "reduce[axes=(), body=@p%d]", at->function);
  return jaxpr_emit(
      p, x.dtype, x.shape, 3, three,
      "scatter[window=%s, inserted=%s, start_map=%s, operand_batch=%s, "
      "index_batch=%s, mode=%s, sorted=false, unique=false]",
      jaxpr_list(at->window), jaxpr_list(at->inserted),
      jaxpr_list(at->start_map), jaxpr_list(at->operand_batch),
      jaxpr_list(at->index_batch), mode(e, "drop"));
}

/* The axes in the order given, those before `first` joined to one. */
static ref in_turn(jaxpr_program *p, ref x, cx_dims order, int first) {
  cx_dims shape = { .n = order.n }, joined = { .n = 1, .d = { 1 } };
  for (int i = 0; i < order.n; i++) shape.d[i] = x.shape.d[order.d[i]];
  for (int i = 0; i < first; i++) joined.d[0] *= shape.d[i];
  for (int i = first; i < order.n; i++) joined.d[joined.n++] = shape.d[i];
  x = jaxpr_emit(p, x.dtype, shape, 1, &x, "transpose[permutation=%s]",
                 jaxpr_list(order));
  return jaxpr_emit(p, x.dtype, joined, 1, &x, "reshape[shape=%s]",
                    jaxpr_list(joined));
}

/* The program of one turn: (x, indices, updates) -> x. */
static int one_turn(jaxpr_program *p, const jaxpr_equation *e, const places *at,
                    const ref *operands) {
  jaxpr_program turn;
  ref in[3];
  jaxpr_open(&turn, p->w);
  for (int i = 0; i < 3; i++) {
    cx_dims shape = operands[i].shape;
    if (i > 0)
      memmove(shape.d, shape.d + 1, sizeof shape.d[0] * (size_t)--shape.n);
    in[i] = jaxpr_input(&turn, operands[i].dtype, shape);
  }
  const ref out = replace(&turn, e, at, in[0], in[1], in[2]);
  return jaxpr_close(&turn, 3, in, 1, &out);
}

/* Updates that may meet take turns, in the order of the indices; those of
 * different places along the batching axes go together. */
static ref replace_in_turn(jaxpr_program *p, const jaxpr_equation *e,
                           places at) {
  const int last = e->in[1].shape.n - 1;
  cx_dims order = { .n = 0 }, update_order = { .n = 0 }, scattered = { .n = 0 };
  for (int i = 0; i < e->in[2].shape.n; i++)
    if (!among(at.window, i)) scattered.d[scattered.n++] = i;
  for (int i = 0; i < last; i++)
    if (!among(at.index_batch, i)) order.d[order.n++] = i;
  const int first = order.n;
  for (int i = 0; i < at.index_batch.n; i++)
    order.d[order.n++] = at.index_batch.d[i];
  for (int i = 0; i < order.n; i++)
    update_order.d[update_order.n++] = scattered.d[order.d[i]];
  order.d[order.n++] = last;
  for (int i = 0; i < at.window.n; i++)
    update_order.d[update_order.n++] = at.window.d[i];
  ref in[3] = { e->in[0], in_turn(p, e->in[1], order, first),
                in_turn(p, e->in[2], update_order, first) };
  for (int i = 0; i < at.index_batch.n; i++) at.index_batch.d[i] = i;
  for (int i = 0; i < at.window.n; i++) at.window.d[i] = at.index_batch.n + i;
  const int turn = one_turn(p, e, &at, in);
  return jaxpr_emit(p, e->out->dtype, e->out->shape, 3, in,
                    "scan[body=@p%d, length=%lld, reverse=false, unroll=1, "
                    "n_consts=0, n_carry=1]",
                    turn, (long long)in[1].shape.d[0]);
}

static void write_scatter_by(jaxpr_program *p, jaxpr_equation *e,
                             const json_t *d) {
  const places at = {
    .window = jaxpr_dims(json_object_get(d, "update_window_dims")),
    .inserted = jaxpr_dims(json_object_get(d, "inserted_window_dims")),
    .start_map = jaxpr_dims(json_object_get(d, "scatter_dims_to_operand_dims")),
    .operand_batch = jaxpr_dims(json_object_get(d, "operand_batching_dims")),
    .index_batch =
        jaxpr_dims(json_object_get(d, "scatter_indices_batching_dims")),
    .function = jaxpr_nested(p->w, jaxpr_param(e, "update_jaxpr")),
  };
  if (!jaxpr_ok(p->w)) return;
  *e->out = json_is_true(jaxpr_param(e, "unique_indices"))
                ? replace(p, e, &at, e->in[0], e->in[1], e->in[2])
                : replace_in_turn(p, e, at);
}

/* Whether the function is another than (old, update) -> update. */
static bool by_function(const jaxpr_equation *e) {
  const json_t *f = json_object_get(jaxpr_param(e, "update_jaxpr"), "jaxpr");
  const json_t *update = json_array_get(json_object_get(f, "in"), 1);
  const json_t *result = json_array_get(json_object_get(f, "out"), 0);
  return f && !json_equal(json_object_get(update, "v"), result);
}

static void write_scatter(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *d = jaxpr_param(e, "dimension_numbers");
  bool set = !strcmp(e->name, "scatter"), sub = !strcmp(e->name, "scatter-sub");
  if (sub)
    e->in[2] =
        jaxpr_emit(p, e->in[2].dtype, e->in[2].shape, 1, &e->in[2], "neg");
  if (nothing_there(e, e->in[2].shape)) {
    *e->out = *e->in;
    return;
  }
  if (set && by_function(e)) {
    write_scatter_by(p, e, d);
    return;
  }
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 3, e->in,
      "scatter%s%s[window=%s, inserted=%s, start_map=%s, operand_batch=%s, "
      "index_batch=%s, mode=%s, sorted=%s, unique=%s]",
      set ? "" : "_",
      set   ? ""
      : sub ? "add"
            : e->name + strlen("scatter-"),
      jaxpr_ints(json_object_get(d, "update_window_dims")),
      jaxpr_ints(json_object_get(d, "inserted_window_dims")),
      jaxpr_ints(json_object_get(d, "scatter_dims_to_operand_dims")),
      jaxpr_ints(json_object_get(d, "operand_batching_dims")),
      jaxpr_ints(json_object_get(d, "scatter_indices_batching_dims")),
      mode(e, "drop"), jaxpr_truth(e, "indices_are_sorted"),
      jaxpr_truth(e, "unique_indices"));
}

/* -- the table ------------------------------------------------------------ */

static const jaxpr_row rows[] = {
  { "dynamic_slice", write_dynamic_slice },
  { "dynamic_update_slice", write_dynamic_update_slice },
  { "gather", write_gather },
  { "scatter", write_scatter },
  { "scatter-add", write_scatter },
  { "scatter-sub", write_scatter },
  { "scatter-mul", write_scatter },
  { "scatter-min", write_scatter },
  { "scatter-max", write_scatter },
};
jaxpr_handler *jaxpr_index_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
