/* jaxpr_elementwise.c - the recorded elementwise primitives. */
#include <string.h>

#include "jaxpr_text.h"

/* Their names are ours; operands broadcast. */
static const char *const plain[] = {
  "neg",
  "abs",
  "sign",
  "floor",
  "ceil",
  "exp",
  "expm1",
  "log",
  "log1p",
  "logistic",
  "sin",
  "cos",
  "tanh",
  "erf",
  "erf_inv",
  "lgamma",
  "digamma",
  "bessel_i0e",
  "bessel_i1e",
  "polygamma",
  "zeta",
  "igamma",
  "igammac",
  "igamma_grad_a",
  "random_gamma_grad",
  "regularized_incomplete_beta",
  "exp2",
  "log2",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "asinh",
  "acosh",
  "atanh",
  "erfc",
  "cbrt",
  "atan2",
  "sqrt",
  "rsqrt",
  "square",
  "nextafter",
  "population_count",
  "clz",
  "mulhi",
  "is_finite",
  "not",
  "add",
  "sub",
  "div",
  "rem",
  "pow",
  "max",
  "min",
  "and",
  "or",
  "xor",
  "shift_left",
  "shift_right_logical",
  "shift_right_arithmetic",
  "eq",
  "ne",
  "lt",
  "le",
  "gt",
  "ge",
  "copy",
  "stop_gradient",
  "random_seed",
  "random_wrap",
  "random_unwrap",
  "random_fold_in",
};

static const char *plain_name(const char *name) {
  if (!strcmp(name, "add_any")) return "add";
  if (!strcmp(name, "copy_p") || !strcmp(name, "random_clone")) return "copy";
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (!strcmp(plain[i], name)) return plain[i];
  return NULL;
}

/* Keys and words: no number among the operands stands for an array. */
static bool is_random(const char *name) {
  return !strncmp(name, "random_", 7) && strcmp(name, "random_fold_in") != 0 &&
         strcmp(name, "random_gamma_grad") != 0;
}

static void write_plain(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_in && !is_random(e->name); i++)
    e->in[i] = jaxpr_spread(p, e->in[i], e->out->shape);
  bool all_scalars = e->out->shape.n > 0 && !is_random(e->name);
  for (int i = 0; i < e->n_in; i++)
    all_scalars = all_scalars && e->in[i].shape.n == 0;
  if (all_scalars && e->n_in) e->in[0] = jaxpr_fill(p, e->in[0], e->out->shape);
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, e->n_in, e->in, "%s",
                       plain_name(e->name));
}

/* A choice as i32, of n cases; JAX takes any integer, the nearest case outside
 * of them. */
static ref choice_of(jaxpr_program *p, ref which, int n) {
  if (which.dtype == CX_BOOL || which.dtype == CX_I32) return which;
  if (which.dtype == CX_I64 || which.dtype == CX_U32 ||
      which.dtype == CX_U64) {
    const ref in[] = { jaxpr_full(p, which.dtype, which.shape, 0), which,
                       jaxpr_full(p, which.dtype, which.shape, n - 1) };
    which = jaxpr_emit(p, which.dtype, which.shape, 3, in, "clamp");
  }
  return jaxpr_convert(p, which, CX_I32);
}

static void write_select(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < e->n_in; i++)
    e->in[i] = jaxpr_spread(p, e->in[i], e->out->shape);
  if (e->n_in == 2) { /* one case */
    *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in + 1, "copy");
    return;
  }
  e->in[0] = choice_of(p, e->in[0], e->n_in - 1);
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
                       "integer_pow[y=%lld]", (long long)jaxpr_integer(e, "y"));
}

static void write_round(jaxpr_program *p, jaxpr_equation *e) {
  const char *method = jaxpr_enum(e, "rounding_method");
  const bool away = strcmp(method, "AWAY_FROM_ZERO") == 0;
  if (!away && strcmp(method, "TO_NEAREST_EVEN") != 0)
    jaxpr_fail(p->w, "a rounding method without its name");
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "round[away=%s]", away ? "true" : "false");
}

static void write_reduce_precision(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                 "reduce_precision[exponent_bits=%lld, mantissa_bits=%lld]",
                 (long long)jaxpr_integer(e, "exponent_bits"),
                 (long long)jaxpr_integer(e, "mantissa_bits"));
}

static void write_name(jaxpr_program *p, jaxpr_equation *e) {
  const char *name = json_string_value(json_object_get(e->k, "name"));
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "name[name=\"%s\"]", name ? name : "");
}

/* An integer that orders floats totally: -NaN, -inf, ..., -0, 0, ..., NaN. */
static ref order_of(jaxpr_program *p, ref x) {
  if (!jaxpr_is_float(x.dtype)) return x;
  const cx_dtype type = x.dtype == CX_F64   ? CX_I64
                        : x.dtype == CX_F32 ? CX_I32
                                            : CX_I16;
  const double most = type == CX_I64 ? 0 : type == CX_I32 ? 2147483647 : 32767;
  ref two[2], three[3];
  two[0] = jaxpr_emit(p, type, x.shape, 1, &x, "bitcast[type=%s]",
                      jaxpr_dtype_text(type));
  three[1] = two[0];
  two[1] = jaxpr_number(type, most);
  if (type == CX_I64)
    snprintf(two[1].text, sizeof two[1].text, "9223372036854775807:i64");
  three[2] = jaxpr_emit(p, type, x.shape, 2, two, "xor");
  two[1] = jaxpr_number(type, 0);
  three[0] = jaxpr_emit(p, CX_BOOL, x.shape, 2, two, "lt");
  return jaxpr_emit(p, type, x.shape, 3, three, "select");
}

/* eq_to, le_to, lt_to: comparisons in the total order. */
static void write_total_order(jaxpr_program *p, jaxpr_equation *e) {
  for (int i = 0; i < 2; i++)
    e->in[i] = order_of(p, jaxpr_fill(p, e->in[i], e->out->shape));
  *e->out = jaxpr_emit(p, CX_BOOL, e->out->shape, 2, e->in, "%.2s", e->name);
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

/* -- the table ------------------------------------------------------------ */

static const jaxpr_row rows[] = {
  { "mul", write_mul },
  { "select_n", write_select },
  { "clamp", write_clamp },
  { "convert_element_type", write_convert },
  { "bitcast_convert_type", write_bitcast },
  { "integer_pow", write_integer_pow },
  { "round", write_round },
  { "name", write_name },
  { "reduce_precision", write_reduce_precision },
  { "eq_to", write_total_order },
  { "le_to", write_total_order },
  { "lt_to", write_total_order },
  { "one_minus_square", write_one_minus_square },
  { "polynomial", write_polynomial },
};
jaxpr_handler *jaxpr_elementwise_handler(const char *primitive) {
  if (plain_name(primitive)) return write_plain;
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
