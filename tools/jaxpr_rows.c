/* jaxpr_rows.c - the recorded primitives without nested jaxprs, one by one. */
#include <math.h>
#include <string.h>

#include "jaxpr_text.h"

static json_int_t integer(const jaxpr_equation *e, const char *name) {
  return json_integer_value(json_object_get(e->k, name));
}
static const json_t *list(const jaxpr_equation *e, const char *name) {
  return json_object_get(e->k, name);
}
static const char *truth(const jaxpr_equation *e, const char *name) {
  return json_is_true(json_object_get(e->k, name)) ? "true" : "false";
}
static const char *choice(const jaxpr_equation *e, const char *name) {
  const char *s =
      json_string_value(json_object_get(json_object_get(e->k, name), "enum"));
  return s ? s : "";
}

/* -- elementwise ------------------------------------------------------------------------- */

/* Recorded name, ours; operands broadcast. */
static const char *const plain[][2] = {
  { "neg", "neg" },
  { "abs", "abs" },
  { "sign", "sign" },
  { "floor", "floor" },
  { "ceil", "ceil" },
  { "exp", "exp" },
  { "expm1", "expm1" },
  { "log", "log" },
  { "log1p", "log1p" },
  { "logistic", "logistic" },
  { "sin", "sin" },
  { "cos", "cos" },
  { "tanh", "tanh" },
  { "erf", "erf" },
  { "erf_inv", "erf_inv" },
  { "lgamma", "lgamma" },
  { "digamma", "digamma" },
  { "bessel_i0e", "bessel_i0e" },
  { "bessel_i1e", "bessel_i1e" },
  { "polygamma", "polygamma" },
  { "zeta", "zeta" },
  { "igamma", "igamma" },
  { "igammac", "igammac" },
  { "igamma_grad_a", "igamma_grad_a" },
  { "random_gamma_grad", "random_gamma_grad" },
  { "regularized_incomplete_beta", "regularized_incomplete_beta" },
  { "exp2", "exp2" },
  { "log2", "log2" },
  { "tan", "tan" },
  { "asin", "asin" },
  { "acos", "acos" },
  { "atan", "atan" },
  { "sinh", "sinh" },
  { "cosh", "cosh" },
  { "asinh", "asinh" },
  { "acosh", "acosh" },
  { "atanh", "atanh" },
  { "erfc", "erfc" },
  { "cbrt", "cbrt" },
  { "atan2", "atan2" },
  { "sqrt", "sqrt" },
  { "rsqrt", "rsqrt" },
  { "square", "square" },
  { "nextafter", "nextafter" },
  { "population_count", "population_count" },
  { "clz", "clz" },
  { "mulhi", "mulhi" },
  { "is_finite", "is_finite" },
  { "not", "not" },
  { "add", "add" },
  { "add_any", "add" },
  { "sub", "sub" },
  { "div", "div" },
  { "rem", "rem" },
  { "pow", "pow" },
  { "max", "max" },
  { "min", "min" },
  { "and", "and" },
  { "or", "or" },
  { "xor", "xor" },
  { "shift_left", "shift_left" },
  { "shift_right_logical", "shift_right_logical" },
  { "shift_right_arithmetic", "shift_right_arithmetic" },
  { "eq", "eq" },
  { "ne", "ne" },
  { "lt", "lt" },
  { "le", "le" },
  { "gt", "gt" },
  { "ge", "ge" },
  { "copy", "copy" },
  { "copy_p", "copy" },
  { "stop_gradient", "stop_gradient" },
  { "random_seed", "random_seed" },
  { "random_wrap", "random_wrap" },
  { "random_unwrap", "random_unwrap" },
  { "random_fold_in", "random_fold_in" },
};
static const char *plain_name(const char *name) {
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (!strcmp(plain[i][0], name)) return plain[i][1];
  return NULL;
}
/* Keys and words: no number among the operands stands for an array. */
static bool is_random(const char *name) {
  return !strncmp(name, "random_", 7) && strcmp(name, "random_fold_in") &&
         strcmp(name, "random_gamma_grad");
}
static void write_plain(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_in && !is_random(e->name); i++)
    e->in[i] = jaxpr_spread(p, e->in[i], e->out->shape);
  bool all_scalars = e->out->shape.n > 0 && !is_random(e->name);
  for (int i = 0; i < e->n_in; i++)
    all_scalars = all_scalars && e->in[i].shape.n == 0;
  if (all_scalars && e->n_in)
    e->in[0] = jaxpr_emit(p, e->in[0].dtype, e->out->shape, 1, e->in,
                          "broadcast_in_dim[shape=%s, map=()]",
                          jaxpr_list(e->out->shape));
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in, "%s",
                       plain_name(e->name));
}
static void write_select(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_in; i++)
    e->in[i] = jaxpr_spread(p, e->in[i], e->out->shape);
  if (e->n_in == 2) { /* one case */
    *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in + 1, "copy");
    return;
  }
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in, "select");
}
/* On bool: (lo or x) and hi. */
static void write_clamp(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = e->out->shape;
  for (int i = 0; i < 3; i++) e->in[i] = jaxpr_spread(p, e->in[i], shape);
  if (e->out->dtype != CX_BOOL) {
    *e->out = jaxpr_emit(p, e->out->dtype, shape, 3, e->in, "clamp");
    return;
  }
  ref two[2] = { jaxpr_emit(p, CX_BOOL, shape, 2, e->in, "or"), e->in[2] };
  *e->out = jaxpr_emit(p, CX_BOOL, shape, 2, two, "and");
}
static void write_mul(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_in; i++)
    e->in[i] = jaxpr_spread(p, jaxpr_convert(p, e->in[i], e->out->dtype),
                            e->out->shape);
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in, "mul");
}
static void write_convert(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "convert[type=%s]", jaxpr_dtype_text(e->out->dtype));
}
static void write_bitcast(jaxpr_program *p, jaxpr_equation *e) {
  if (e->in->dtype == e->out->dtype) {
    *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in, "copy");
    return;
  }
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "bitcast[type=%s]", jaxpr_dtype_text(e->out->dtype));
}
static void write_integer_pow(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "integer_pow[y=%lld]", (long long)integer(e, "y"));
}
static void write_round(jaxpr_program *p, jaxpr_equation *e) {
  bool away = strcmp(choice(e, "rounding_method"), "AWAY_FROM_ZERO") == 0;
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "round[away=%s]", away ? "true" : "false");
}
static void write_reduce_precision(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                 "reduce_precision[exponent_bits=%lld, mantissa_bits=%lld]",
                 (long long)integer(e, "exponent_bits"),
                 (long long)integer(e, "mantissa_bits"));
}
static void write_name(jaxpr_program *p, jaxpr_equation *e) {
  const char *name = json_string_value(json_object_get(e->k, "name"));
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "name[name=\"%s\"]", name ? name : "");
}
/* 1 - x x */
static void write_one_minus_square(jaxpr_program *p, jaxpr_equation *e) {
  ref x[2] = { *e->in, *e->in };
  ref two[2] = { jaxpr_number(x->dtype, 1),
                 jaxpr_emit(p, x->dtype, x->shape, 2, x, "mul") };
  *e->out = jaxpr_emit(p, x->dtype, x->shape, 2, two, "sub");
}

/* c0 + x (c1 + x (...)): the operands are x, c0, c1, ... */
static void write_polynomial(jaxpr_program *p, jaxpr_equation *e) {
  cx_dtype type = e->out->dtype;
  cx_dims shape = e->out->shape;
  for (int i = 0; i < e->n_in; i++)
    e->in[i] = jaxpr_spread(p, jaxpr_convert(p, e->in[i], type), shape);
  ref sum[2] = { jaxpr_full(p, type, shape, 0) };
  for (int i = e->n_in - 1; i > 0; i--) {
    ref product[2] = { sum[0], e->in[0] };
    sum[0] = i == e->n_in - 1 ? sum[0]
                              : jaxpr_emit(p, type, shape, 2, product, "mul");
    sum[1] = e->in[i];
    sum[0] = jaxpr_emit(p, type, shape, 2, sum, "add");
  }
  *e->out = sum[0];
}

/* -- shape ------------------------------------------------------------------------------------ */

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
  cx_dims map = jaxpr_dims(list(e, "broadcast_dimensions"));
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
  const json_t *order = list(e, "dimensions");
  bool permute = order && !strcmp(e->name, "reshape");
  ref x = permute ? permuted(p, *e->in, order) : *e->in;
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, &x,
                       "reshape[shape=%s]", jaxpr_list(e->out->shape));
}
static void write_transpose(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = permuted(p, *e->in, list(e, "permutation"));
}
static void write_squeeze(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims axes = jaxpr_dims(list(e, "dimensions"));
  for (int i = 0; i < axes.n; i++)
    if (axes.d[i] < 0) axes.d[i] += e->in->shape.n;
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "squeeze[axes=%s]", jaxpr_list(axes));
}
static void write_rev(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "rev[axes=%s]", jaxpr_ints(list(e, "dimensions")));
}
static void write_concatenate(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                 "concatenate[axis=%lld]", (long long)integer(e, "dimension"));
}
static void write_stack(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                       "stack[axis=%lld]", (long long)integer(e, "axis"));
}
/* Results that nobody uses have no recorded type: they get their own. */
static void write_unstack(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = { .n = 0 };
  for (int i = 0; i < e->in->shape.n; i++)
    if (i != integer(e, "axis")) shape.d[shape.n++] = e->in->shape.d[i];
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = e->in->dtype, .shape = shape };
  jaxpr_emit_n(p, e->n_out, e->out, 1, e->in, "unstack[axis=%lld]",
               (long long)integer(e, "axis"));
}
static void write_split(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *sizes = list(e, "sizes");
  char text[512] = "";
  int at = 0;
  for (int i = 0; i < e->n_out && at < 480; i++) {
    json_int_t n = json_integer_value(json_array_get(sizes, (size_t)i));
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", i ? "," : "",
                   (long long)n);
    e->out[i] = (ref){ .dtype = e->in->dtype, .shape = e->in->shape };
    e->out[i].shape.d[integer(e, "axis") & 7] = n;
  }
  jaxpr_emit_n(p, e->n_out, e->out, 1, e->in, "split[sizes=(%s), axis=%lld]",
               text, (long long)integer(e, "axis"));
}
static void write_slice(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims strides = jaxpr_dims(list(e, "strides"));
  if (!list(e, "strides"))
    for (strides.n = 0; strides.n < e->in->shape.n;) strides.d[strides.n++] = 1;
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                 "slice[start=%s, limit=%s, strides=%s]",
                 jaxpr_ints(list(e, "start_indices")),
                 jaxpr_ints(list(e, "limit_indices")), jaxpr_list(strides));
}
static void write_pad(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *config = list(e, "padding_config");
  cx_dims low = { .n = e->in->shape.n }, high = low, interior = low;
  for (int i = 0; i < low.n; i++) {
    const json_t *x = json_array_get(config, (size_t)i);
    low.d[i] = json_integer_value(json_array_get(x, 0));
    high.d[i] = json_integer_value(json_array_get(x, 1));
    interior.d[i] = json_integer_value(json_array_get(x, 2));
  }
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 2, e->in,
                       "pad[low=%s, high=%s, interior=%s]", jaxpr_list(low),
                       jaxpr_list(high), jaxpr_list(interior));
}
/* Axis after axis, seen as (outer, one copy): copies are an axis between. */
static void write_tile(jaxpr_program *p, jaxpr_equation *e) {
  const cx_dims reps = jaxpr_dims(list(e, "reps"));
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
      jaxpr_list(e->out->shape), (long long)integer(e, "dimension"));
}
static void write_empty(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_full(p, e->out->dtype, e->out->shape, 0);
}

/* -- index --------------------------------------------------------------------------------------- */

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
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                 "dynamic_slice[sizes=%s]", jaxpr_ints(list(e, "slice_sizes")));
}
static void write_dynamic_update_slice(jaxpr_program *p, jaxpr_equation *e) {
  even_starts(p, e, 2);
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in,
                       "dynamic_update_slice");
}
static const char *mode(const jaxpr_equation *e, const char *outside) {
  const char *name = choice(e, "mode");
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
  const json_t *d = list(e, "dimension_numbers");
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "gather[offset=%s, collapsed=%s, start_map=%s, operand_batch=%s, "
      "index_batch=%s, sizes=%s, mode=%s, fill=%.17g, sorted=%s, unique=%s]",
      jaxpr_ints(json_object_get(d, "offset_dims")),
      jaxpr_ints(json_object_get(d, "collapsed_slice_dims")),
      jaxpr_ints(json_object_get(d, "start_index_map")),
      jaxpr_ints(json_object_get(d, "operand_batching_dims")),
      jaxpr_ints(json_object_get(d, "start_indices_batching_dims")),
      jaxpr_ints(list(e, "slice_sizes")), mode(e, "fill"), fill_value(e),
      truth(e, "indices_are_sorted"), truth(e, "unique_indices"));
}
static void write_scatter(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *d = list(e, "dimension_numbers");
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
      mode(e, "drop"), truth(e, "indices_are_sorted"),
      truth(e, "unique_indices"));
}

/* -- reduce, dot, random ------------------------------------------------------------------------------ */

static void write_reduce(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in, "%s[axes=%s]",
                       e->name, jaxpr_ints(list(e, "axes")));
}
static void write_argmax(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 1, e->in, "%s[axis=%lld, type=%s]",
      e->name,
      (long long)json_integer_value(json_array_get(list(e, "axes"), 0)),
      jaxpr_dtype_text(e->out->dtype));
}
static void write_cumulate(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "%s[axis=%lld, reverse=%s]", e->name,
                       (long long)integer(e, "axis"), truth(e, "reverse"));
}
const char *jaxpr_window(const jaxpr_equation *e, int rank) {
  static char text[512];
  const json_t *padding = list(e, "padding");
  cx_dims ones = { .n = rank }, low = ones, high = ones;
  for (int i = 0; i < rank; i++) {
    const json_t *pair = json_array_get(padding, (size_t)i);
    ones.d[i] = 1;
    low.d[i] = json_integer_value(json_array_get(pair, 0));
    high.d[i] = json_integer_value(json_array_get(pair, 1));
  }
  const json_t *base = list(e, "base_dilation");
  const json_t *dilation = list(e, "window_dilation");
  snprintf(text, sizeof text,
           "window=%s, strides=%s, low=%s, high=%s, base_dilation=%s, "
           "window_dilation=%s",
           jaxpr_ints(list(e, "window_dimensions")),
           jaxpr_ints(list(e, "window_strides")), jaxpr_list(low),
           jaxpr_list(high), base ? jaxpr_ints(base) : jaxpr_list(ones),
           dilation ? jaxpr_ints(dilation) : jaxpr_list(ones));
  return text;
}
static void write_reduce_window(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in, "%s[%s]",
                       e->name, jaxpr_window(e, e->in->shape.n));
}
static void write_select_window(jaxpr_program *p, jaxpr_equation *e) {
  const char *prim = json_string_value(
      json_object_get(list(e, "select_prim"), "prim"));
  const bool least = prim && !strcmp(prim, "le");
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 2, e->in,
                       "%s[%s, least=%s]", e->name,
                       jaxpr_window(e, e->in[1].shape.n), least ? "true" : "false");
}
/* Results that nobody uses have no recorded type. */
static void write_sort(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = e->in[i].dtype, .shape = e->in[i].shape };
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in,
               "sort[axis=%lld, n_keys=%lld, stable=%s]",
               (long long)integer(e, "dimension"),
               (long long)integer(e, "num_keys"), truth(e, "is_stable"));
}
static void write_top_k(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = e->in->shape;
  const int64_t axis = integer(e, "axis"), k = integer(e, "k");
  if (axis >= 0 && axis < shape.n) shape.d[axis] = k;
  e->out[0] = (ref){ .dtype = e->in->dtype, .shape = shape };
  e->out[1] = (ref){ .dtype = CX_I32, .shape = shape };
  jaxpr_emit_n(p, 2, e->out, 1, e->in, "top_k[k=%lld, axis=%lld]",
               (long long)k, (long long)axis);
}
/* An algorithm (BF16_BF16_F32_X3, ...) is a lower bound on precision, which the
 * product of the operands' own dtype satisfies; XLA's CPU does the same. */
static void write_dot(jaxpr_program *p, jaxpr_equation *e) {
  const json_t *d = list(e, "dimension_numbers");
  const json_t *contract = json_array_get(d, 0), *batch = json_array_get(d, 1);
  bool whole = e->in[0].dtype < CX_F16, sum = e->out->dtype >= CX_F16;
  if (e->in[0].dtype != e->in[1].dtype || (whole && sum))
    for (int i = 0; i < 2; i++)
      e->in[i] = jaxpr_convert(p, e->in[i], e->out->dtype);
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
  const json_t *d = list(e, "dimension_numbers"), *padding = list(e, "padding");
  cx_dims low = { .n = 0 }, high = low;
  for (; low.n < (int)json_array_size(padding) && low.n < CX_MAX_DIMS;
       low.n++) {
    const json_t *x = json_array_get(padding, (size_t)low.n);
    low.d[low.n] = json_integer_value(json_array_get(x, 0));
    high.d[low.n] = json_integer_value(json_array_get(x, 1));
  }
  high.n = low.n;
  bool whole = e->in[0].dtype < CX_F16, sum = e->out->dtype >= CX_F16;
  if (e->in[0].dtype != e->in[1].dtype || (whole && sum))
    for (int i = 0; i < 2; i++)
      e->in[i] = jaxpr_convert(p, e->in[i], e->out->dtype);
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "conv_general_dilated[strides=%s, low=%s, high=%s, lhs_dilation=%s, "
      "rhs_dilation=%s, lhs_axes=%s, rhs_axes=%s, out_axes=%s, "
      "feature_groups=%lld, batch_groups=%lld, type=%s]",
      jaxpr_ints(list(e, "window_strides")), jaxpr_list(low), jaxpr_list(high),
      jaxpr_ints(list(e, "lhs_dilation")), jaxpr_ints(list(e, "rhs_dilation")),
      jaxpr_ints(json_object_get(d, "lhs_spec")),
      jaxpr_ints(json_object_get(d, "rhs_spec")),
      jaxpr_ints(json_object_get(d, "out_spec")),
      (long long)integer(e, "feature_group_count"),
      (long long)integer(e, "batch_group_count"),
      jaxpr_dtype_text(e->out->dtype));
}
static void write_bits(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                 "random_bits[type=%s, shape=%s]",
                 jaxpr_dtype_text(e->out->dtype), jaxpr_ints(list(e, "shape")));
}
static void write_random_split(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "random_split[shape=%s]", jaxpr_ints(list(e, "shape")));
}
static void write_threefry(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = { .n = 0 };
  for (int i = 0; i < e->n_in; i++)
    if (e->in[i].shape.n > shape.n) shape = e->in[i].shape;
  for (int i = 0; i < e->n_out; i++)
    if (e->out[i].dtype) shape = e->out[i].shape;
  for (int i = 0; i < e->n_in; i++) {
    e->in[i] = jaxpr_spread(p, e->in[i], shape);
    if (e->in[i].shape.n == 0 && shape.n)
      e->in[i] =
          jaxpr_emit(p, CX_U32, shape, 1, &e->in[i],
                     "broadcast_in_dim[shape=%s, map=()]", jaxpr_list(shape));
  }
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = CX_U32, .shape = shape };
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in, "threefry2x32");
}
static void write_iota_2x32(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = jaxpr_dims(list(e, "shape"));
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = CX_U32, .shape = shape };
  jaxpr_emit_n(p, e->n_out, e->out, 0, NULL, "iota_2x32[shape=%s]",
               jaxpr_list(shape));
}

static void write_random_gamma(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 2, e->in,
                 "random_gamma[log_space=%s]", truth(e, "log_space"));
}

/* -- the table ----------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  jaxpr_handler *handle;
} rows[] = {
  { "mul", write_mul },
  { "select_n", write_select },
  { "clamp", write_clamp },
  { "convert_element_type", write_convert },
  { "bitcast_convert_type", write_bitcast },
  { "integer_pow", write_integer_pow },
  { "round", write_round },
  { "name", write_name },
  { "reduce_precision", write_reduce_precision },
  { "one_minus_square", write_one_minus_square },
  { "polynomial", write_polynomial },
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
  { "dynamic_slice", write_dynamic_slice },
  { "dynamic_update_slice", write_dynamic_update_slice },
  { "gather", write_gather },
  { "scatter", write_scatter },
  { "scatter-add", write_scatter },
  { "scatter-sub", write_scatter },
  { "scatter-mul", write_scatter },
  { "scatter-min", write_scatter },
  { "scatter-max", write_scatter },
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
  { "argmax", write_argmax },
  { "argmin", write_argmax },
  { "sort", write_sort },
  { "top_k", write_top_k },
  { "dot_general", write_dot },
  { "conv_general_dilated", write_conv },
  { "random_bits", write_bits },
  { "random_split", write_random_split },
  { "random_gamma", write_random_gamma },
  { "threefry2x32", write_threefry },
  { "iota_2x32_shape", write_iota_2x32 },
};
jaxpr_handler *jaxpr_row_handler(const char *primitive) {
  if (plain_name(primitive)) return write_plain;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, primitive)) return rows[i].handle;
  return jaxpr_linalg_handler(primitive);
}
