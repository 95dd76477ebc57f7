/* tables.c - the recorded table of special values, as records.
 *
 * A row holds an operation and its results at the points of its section, which
 * are arrays of one dimension without their shape. */
#include "tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calx/calx.h"
#include "jaxpr_text.h"
#include "record.h"

bool table_is_special(const json_t *document) {
  return json_is_object(json_object_get(document, "f32")) &&
         json_is_string(json_object_get(document, "denormals"));
}

/* -- arrays --------------------------------------------------------------- */

/* The points that are compared: not those with a subnormal operand, which the
 * recorder took for zero. */
typedef struct points {
  int64_t n;
  bool *kept;
} points;

static bool is_subnormal(float x) {
  return x != 0 && fabsf(x) < 0x1p-126f;
}

/* An array of `n` elements as a record has it. */
static json_t *array_of(const char *dtype, int64_t n, const char *base64) {
  return json_pack("{s:s, s:[I], s:s}", "dtype", dtype, "shape", (json_int_t)n,
                   "b64", base64);
}

/* The kept elements of an array, in base64 again (RFC 4648). */
static json_t *kept_of(const char *dtype, const points *p, const char *base64) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  json_t *all = array_of(dtype, p->n, base64), *out = NULL;
  size_t bytes = 0;
  unsigned char *data = record_bytes(all, &bytes);
  char *text = data ? malloc(bytes / 3 * 4 + 8) : NULL;
  json_decref(all);
  if (text && p->n) {
    const size_t size = bytes / (size_t)p->n;
    size_t n = 0, at = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < p->n; i++)
      if (p->kept[i]) {
        memmove(data + n, data + (size_t)i * size, size);
        n += size;
        kept++;
      }
    for (size_t i = 0; i < n; i += 3) {
      const unsigned second = i + 1 < n ? data[i + 1] : 0;
      const unsigned third = i + 2 < n ? data[i + 2] : 0;
      const unsigned word = (unsigned)data[i] << 16 | second << 8 | third;
      text[at++] = digits[word >> 18];
      text[at++] = digits[word >> 12 & 63];
      text[at++] = i + 1 < n ? digits[word >> 6 & 63] : '=';
      text[at++] = i + 2 < n ? digits[word & 63] : '=';
    }
    text[at] = 0;
    out = array_of(dtype, kept, text);
  }
  free(text);
  free(data);
  return out;
}

static bool find_points(points *p, const char *dtype, int n_in, json_t *section,
                        const char *const *names) {
  json_t *count = json_object_get(section, n_in == 2 ? "nb" : "n");
  p->n = json_integer_value(count);
  if (p->n <= 0 || p->n > 1 << 20) return false;
  p->kept = malloc((size_t)p->n);
  for (int64_t i = 0; p->kept && i < p->n; i++) p->kept[i] = true;
  for (int k = 0; p->kept && k < n_in && !strcmp(dtype, "float32"); k++) {
    const char *text = json_string_value(json_object_get(section, names[k]));
    json_t *all = text ? array_of(dtype, p->n, text) : NULL;
    size_t bytes;
    void *elements = record_bytes(all, &bytes);
    float *x = elements;
    for (int64_t i = 0; x && i < p->n; i++)
      if (is_subnormal(x[i])) p->kept[i] = false;
    json_decref(all);
    if (!x) return false;
    free(x);
  }
  return p->kept != NULL;
}

/* -- programs ------------------------------------------------------------- */

/* Operations that are no primitives: JAX's name and Calx's. */
static const char *const functions[][2] = {
  { "nn.gelu", "gelu_tanh" },    { "reciprocal", "reciprocal" },
  { "jnp.remainder", "mod" },    { "jnp.floor_divide", "floor_divide" },
  { "jnp.power", "power" },      { "jnp.logaddexp", "logaddexp" },
  { "nn.relu", "relu" },         { "nn.silu", "silu" },
  { "nn.softplus", "softplus" }, { "nn.sigmoid", "sigmoid" },
};

static const char *function_of(const char *op) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i][0], op)) return functions[i][1];
  return strchr(op, '.') ? strchr(op, '.') + 1 : NULL;
}

/* Traces the operation; NULL with an error if it has no such name. */
static json_t *traced(const char *name, int n_in, cx_dtype type, int64_t n) {
  const cx specs[2] = { cx_spec(type, n), cx_spec(type, n) };
  cx_program *p = cx_trace_(cx_fn_of_op(name), n_in, specs, CX_AT);
  json_t *text = p ? json_string(cx_program_text(p)) : NULL;
  cx_program_free(p);
  return text;
}

/* As records have them: a rounding method is an enum. */
static json_t *params_of(const json_t *row) {
  json_t *params = json_object_get(row, "params");
  json_t *rounding = json_object_get(params, "rounding_method");
  if (rounding)
    return json_pack("{s:{s:O}}", "rounding_method", "enum", rounding);
  return params ? json_incref(params) : json_object();
}

/* The name of the primitive: those of bits are functions of jax.lax. */
static json_t *primitive_of(const json_t *row) {
  const char *op = json_string_value(json_object_get(row, "op"));
  return json_string(!strncmp(op, "bitwise_", 8) ? op + 8 : op);
}

/* A program of one equation, as a record has it. */
static json_t *equation(const json_t *row, const char *dtype, int n_in,
                        int64_t n) {
  json_t *in = json_array(), *operands = json_array();
  for (int i = 0; i < n_in; i++) {
    json_array_append_new(in, json_pack("{s:i, s:s, s:[I]}", "v", i, "dtype",
                                        dtype, "shape", (json_int_t)n));
    json_array_append_new(operands, json_integer(i));
  }
  return json_pack(
      "{s:[], s:o, s:[{s:o, s:o, s:[{s:i, s:O, s:[I]}], s:o}], s:[i]}",
      "consts", "in", in, "eqns", "p", primitive_of(row), "i", operands, "o",
      "v", n_in, "dtype", json_object_get(row, "dtype"), "shape", (json_int_t)n,
      "k", params_of(row), "out", n_in);
}

/* -- rows ----------------------------------------------------------------- */

typedef struct table {
  double tol;
  bool (*each)(json_t *record, void *user);
  void *user;
} table;

/* The record of a row: `outs` names its arrays of results. */
static json_t *record_of(const table *t, const char *section, json_t *points_of,
                         json_t *row, const char *dtype, int n_in,
                         const char *const *outs, int n_out, bool is_grad) {
  static const char *const unary[] = { "x" }, *const binary[] = { "a", "b" };
  const char *const *names = n_in == 2 ? binary : unary;
  const char *op = json_string_value(json_object_get(row, "op"));
  const char *result = json_string_value(json_object_get(row, "dtype"));
  points p = { 0 };
  char name[160];
  json_t *in = json_array(), *out = json_array(), *record = NULL;
  bool ok = op && result && find_points(&p, dtype, n_in, points_of, names);
  for (int i = 0; ok && i < n_in; i++)
    ok = json_array_append_new(in, kept_of(dtype, &p,
                                           json_string_value(json_object_get(
                                               points_of, names[i])))) == 0;
  for (int i = 0; ok && i < n_out; i++)
    ok = json_array_append_new(
             out, kept_of(is_grad ? dtype : result, &p,
                          json_string_value(json_object_get(row, outs[i])))) ==
         0;
  int64_t n = 0;
  for (int64_t i = 0; ok && i < p.n; i++) n += p.kept[i];
  if (ok) {
    char *params = json_dumps(json_object_get(row, "params"), JSON_COMPACT);
    snprintf(name, sizeof name, "special/%s/%s%s", section, op,
             params ? params : "");
    free(params);
    record = json_pack("{s:s, s:s, s:f, s:O, s:O}", "name", name, "kind",
                       is_grad ? "grad" : "primal", "tol", t->tol, "in", in,
                       "out", out);
    const char *function = function_of(op);
    json_t *program = is_grad ? json_object() : json_incref(record);
    json_object_set_new(program, "jaxpr", equation(row, dtype, n_in, n));
    if (function)
      json_object_set_new(program, "text",
                          traced(function, n_in, jaxpr_dtype(dtype), n));
    if (is_grad) json_object_set(record, "function", program);
    json_decref(program);
  }
  free(p.kept);
  json_decref(in);
  json_decref(out);
  return record;
}

static bool each_row(const table *t, const char *section, json_t *points_of,
                     const char *rows, const char *dtype) {
  static const char *const one[] = { "out" }, *const two[] = { "out0", "out1" };
  const int n_in = !strncmp(rows, "binary", 6) ? 2 : 1;
  const bool is_grad = strstr(rows, "grad") != NULL;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(points_of, rows), i, row) {
    const int n_out = is_grad ? n_in : 1;
    json_t *record = record_of(t, section, points_of, row, dtype, n_in,
                               n_out == 2 ? two : one, n_out, is_grad);
    const bool good = record && t->each(record, t->user);
    json_decref(record);
    if (!good) return false;
  }
  return true;
}

bool table_each(const json_t *document,
                bool (*each)(json_t *record, void *user), void *user) {
  static const struct {
    const char *name, *dtype;
  } sections[] = { { "f32", "float32" },
                   { "i32", "int32" },
                   { "u32", "uint32" } };
  static const char *const rows[] = { "unary", "unary_grad", "binary",
                                      "binary_grad" };
  const table t = { json_number_value(json_object_get(document, "tol")), each,
                    user };
  for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
    json_t *section = json_object_get(document, sections[s].name);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
      if (!each_row(&t, sections[s].name, section, rows[r], sections[s].dtype))
        return false;
  }
  return true;
}
