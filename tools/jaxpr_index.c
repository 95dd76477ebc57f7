/* jaxpr_index.c - the recorded slices, gathers and scatters. */
#include <math.h>
#include <string.h>

#include "jaxpr_text.h"

/* All starts of one dtype. */
static void even_starts(jaxpr_program *p, jaxpr_equation *e, int first) {
  bool wide = false;
  for (int i = first; i < e->n_in; i++)
    wide = wide || e->in[i].dtype == CX_I64 || e->in[i].dtype == CX_U64 ||
           e->in[i].dtype == CX_U32;
  for (int i = first; i < e->n_in; i++)
    e->in[i] = jaxpr_convert(p, e->in[i], wide ? CX_I64 : CX_I32);
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

static void write_scatter(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *d = jaxpr_param(e, "dimension_numbers");
  const json_t *update =
      json_object_get(json_object_get(e->k, "update_jaxpr"), "jaxpr");
  bool set = !strcmp(e->name, "scatter"), sub = !strcmp(e->name, "scatter-sub");
  if (set && json_array_size(json_object_get(update, "eqns"))) {
    jaxpr_missing(p->w, "scatter with a function");
    return;
  }
  if (sub)
    e->in[2] =
        jaxpr_emit(p, e->in[2].dtype, e->in[2].shape, 1, &e->in[2], "neg");
  if (nothing_there(e, e->in[2].shape)) {
    *e->out = *e->in;
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
