/* jaxpr_reduce.c - the recorded reductions, windows, sorts and products. */
#include <string.h>

#include "jaxpr_text.h"

static void write_reduce(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in, "%s[axes=%s]",
                       e->name, jaxpr_ints(jaxpr_param(e, "axes")));
}

/* Over axes of the arrays, what vmap leaves of a named axis. */
static void write_collective(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *axes = jaxpr_param(e, "axes");
  const char *prim = !strcmp(e->name, "pmax")   ? "reduce_max"
                     : !strcmp(e->name, "pmin") ? "reduce_min"
                                                : "reduce_sum";
  size_t i;
  json_t *axis;
  json_array_foreach(axes, i, axis) if (!json_is_integer(axis)) {
    jaxpr_missing(p->w, "a collective over a named axis");
    return;
  }
  const cx_dims removed = jaxpr_dims(axes);
  for (int k = 0; k < e->n_out && k < e->n_in; k++) {
    cx_dims shape = { .n = 0 };
    for (int a = 0; a < e->in[k].shape.n; a++) {
      bool kept = true;
      for (int r = 0; r < removed.n; r++) kept = kept && removed.d[r] != a;
      if (kept) shape.d[shape.n++] = e->in[k].shape.d[a];
    }
    e->out[k] = jaxpr_emit(p, e->in[k].dtype, shape, 1, &e->in[k],
                           "%s[axes=%s]", prim, jaxpr_list(removed));
  }
}

static void write_argmax(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 1, e->in, "%s[axis=%lld, type=%s]",
      e->name,
      (long long)json_integer_value(json_array_get(jaxpr_param(e, "axes"), 0)),
      jaxpr_dtype_text(e->out->dtype));
}

static void write_cumulate(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 1, e->in, "%s[axis=%lld, reverse=%s]",
      e->name, (long long)jaxpr_integer(e, "axis"), jaxpr_truth(e, "reverse"));
}

const char *jaxpr_window(const jaxpr_equation *e, int rank) {
  static char text[512];
  const json_t *padding = jaxpr_param(e, "padding");
  cx_dims ones = { .n = rank };
  for (int i = 0; i < rank; i++) ones.d[i] = 1;
  const json_t *base = jaxpr_param(e, "base_dilation");
  const json_t *dilation = jaxpr_param(e, "window_dilation");
  snprintf(text, sizeof text,
           "window=%s, strides=%s, low=%s, high=%s, base_dilation=%s, "
           "window_dilation=%s",
           jaxpr_ints(jaxpr_param(e, "window_dimensions")),
           jaxpr_ints(jaxpr_param(e, "window_strides")),
           jaxpr_list(jaxpr_column(padding, 0)),
           jaxpr_list(jaxpr_column(padding, 1)),
           base ? jaxpr_ints(base) : jaxpr_list(ones),
           dilation ? jaxpr_ints(dilation) : jaxpr_list(ones));
  return text;
}

static void write_reduce_window(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in, "%s[%s]",
                       e->name, jaxpr_window(e, e->in->shape.n));
}

static void write_select_window(jaxpr_program *p, jaxpr_equation *e) {
  const char *prim =
      json_string_value(json_object_get(jaxpr_param(e, "select_prim"), "prim"));
  const bool least = prim && !strcmp(prim, "le");
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in, "%s[%s, least=%s]", e->name,
      jaxpr_window(e, e->in[1].shape.n), least ? "true" : "false");
}

/* Results that nobody uses have no recorded type. */
static void write_sort(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = e->in[i].dtype, .shape = e->in[i].shape };
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "sort[axis=%lld, n_keys=%lld, stable=%s]",
               (long long)jaxpr_integer(e, "dimension"),
               (long long)jaxpr_integer(e, "num_keys"),
               jaxpr_truth(e, "is_stable"));
}

static void write_top_k(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = e->in->shape;
  const int64_t axis = jaxpr_integer(e, "axis"), k = jaxpr_integer(e, "k");
  if (axis >= 0 && axis < shape.n) shape.d[axis] = k;
  e->out[0] = (ref){ .dtype = e->in->dtype, .shape = shape };
  e->out[1] = (ref){ .dtype = CX_I32, .shape = shape };
  jaxpr_emit_n(p, 2, e->out, 1, e->in, "top_k[k=%lld, axis=%lld]", (long long)k,
               (long long)axis);
}

/* The k greatest or least, all of them found: a recall of 1. */
static void write_approx_top_k(jaxpr_program *p, jaxpr_equation *e) {
  const bool greatest = json_is_true(jaxpr_param(e, "is_max_k"));
  const json_int_t axis = jaxpr_integer(e, "reduction_dimension");
  ref x = *e->in, out[2];
  cx_dims shape = x.shape;
  if (json_is_false(jaxpr_param(e, "aggregate_to_topk")) || shape.n == 0) {
    jaxpr_missing(p->w, "approx_top_k of parts");
    return;
  }
  const int at = (int)(axis < 0 ? axis + shape.n : axis) & 7;
  shape.d[at] = jaxpr_integer(e, "k");
  if (!greatest) x = jaxpr_emit(p, x.dtype, x.shape, 1, &x, "neg");
  out[0] = (ref){ .dtype = x.dtype, .shape = shape };
  out[1] = (ref){ .dtype = CX_I32, .shape = shape };
  jaxpr_emit_n(p, 2, out, 1, &x, "top_k[k=%lld, axis=%d]",
               (long long)shape.d[at], at);
  e->out[0] =
      greatest ? out[0] : jaxpr_emit(p, x.dtype, shape, 1, &out[0], "neg");
  e->out[1] = out[1];
}

/* Operands of two dtypes, or integers that sum to a float, are converted. */
static void even_operands(jaxpr_program *p, jaxpr_equation *e) {
  const bool whole = e->in[0].dtype < CX_F16, sum = e->out->dtype >= CX_F16;
  if (e->in[0].dtype == e->in[1].dtype && !(whole && sum)) return;
  for (int i = 0; i < 2; i++)
    e->in[i] = jaxpr_convert(p, e->in[i], e->out->dtype);
}

/* An algorithm (BF16_BF16_F32_X3, ...) is a lower bound on precision, which the
 * product of the operands' own dtype satisfies; XLA's CPU does the same. */
static void write_dot(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *d = jaxpr_param(e, "dimension_numbers");
  const json_t *contract = json_array_get(d, 0), *batch = json_array_get(d, 1);
  even_operands(p, e);
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "dot_general[lhs_contract=%s, rhs_contract=%s, lhs_batch=%s, "
      "rhs_batch=%s, type=%s]",
      jaxpr_ints(json_array_get(contract, 0)),
      jaxpr_ints(json_array_get(contract, 1)),
      jaxpr_ints(json_array_get(batch, 0)),
      jaxpr_ints(json_array_get(batch, 1)), jaxpr_dtype_text(e->out->dtype));
}

static void write_conv(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *d = jaxpr_param(e, "dimension_numbers"),
               *padding = jaxpr_param(e, "padding");
  even_operands(p, e);
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "conv_general_dilated[strides=%s, low=%s, high=%s, lhs_dilation=%s, "
      "rhs_dilation=%s, lhs_axes=%s, rhs_axes=%s, out_axes=%s, "
      "feature_groups=%lld, batch_groups=%lld, type=%s]",
      jaxpr_ints(jaxpr_param(e, "window_strides")),
      jaxpr_list(jaxpr_column(padding, 0)),
      jaxpr_list(jaxpr_column(padding, 1)),
      jaxpr_ints(jaxpr_param(e, "lhs_dilation")),
      jaxpr_ints(jaxpr_param(e, "rhs_dilation")),
      jaxpr_ints(json_object_get(d, "lhs_spec")),
      jaxpr_ints(json_object_get(d, "rhs_spec")),
      jaxpr_ints(json_object_get(d, "out_spec")),
      (long long)jaxpr_integer(e, "feature_group_count"),
      (long long)jaxpr_integer(e, "batch_group_count"),
      jaxpr_dtype_text(e->out->dtype));
}

/* -- the table ------------------------------------------------------------ */

static const jaxpr_row rows[] = {
  { "reduce_sum", write_reduce },
  { "reduce_max", write_reduce },
  { "reduce_min", write_reduce },
  { "reduce_and", write_reduce },
  { "reduce_or", write_reduce },
  { "reduce_prod", write_reduce },
  { "reduce_xor", write_reduce },
  { "reduce_window_sum", write_reduce_window },
  { "reduce_window_max", write_reduce_window },
  { "reduce_window_min", write_reduce_window },
  { "select_and_gather_add", write_select_window },
  { "select_and_scatter_add", write_select_window },
  { "cumsum", write_cumulate },
  { "cumprod", write_cumulate },
  { "cummax", write_cumulate },
  { "cummin", write_cumulate },
  { "cumlogsumexp", write_cumulate },
  { "psum", write_collective },
  { "pmax", write_collective },
  { "pmin", write_collective },
  { "argmax", write_argmax },
  { "argmin", write_argmax },
  { "sort", write_sort },
  { "top_k", write_top_k },
  { "approx_top_k", write_approx_top_k },
  { "dot_general", write_dot },
  { "conv_general_dilated", write_conv },
};
jaxpr_handler *jaxpr_reduce_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
