/* elementwise_special_test.c - values and derivatives at special points: zeros,
 * ties, infinities, NaN, the ends of the ranges, as recorded from JAX. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "records.h"
#include "support/programs.h"

static const char RECORD[] = "conformance/special_values.json.gz";
static const double TOLERANCE = 2e-6;

/* -- the record ------------------------------------------------------------ */

/* The operations whose names differ; the others have the primitive's name.
 * Those that are no primitives here are left out. */
static const char *const NAMES[][2] = {
  { "bitwise_not", "not" },
  { "bitwise_and", "and" },
  { "bitwise_or", "or" },
  { "bitwise_xor", "xor" },
  { "convert_element_type", "convert" },
};
static const char *primitive_of(const char *op) {
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    if (strcmp(op, NAMES[i][0]) == 0) return NAMES[i][1];
  return cxi_prim_find(op, strlen(op)) ? op : NULL;
}

/* "float32" as f32; "float32" and the like appear also as parameters. */
static cx_dtype dtype_of(const char *name) {
  static const char *const pairs[][2] = {
    { "bool", "bool" },   { "int8", "i8" },     { "uint8", "u8" },
    { "int16", "i16" },   { "uint16", "u16" },  { "int32", "i32" },
    { "uint32", "u32" },  { "float16", "f16" }, { "bfloat16", "bf16" },
    { "float32", "f32" },
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (strcmp(name, pairs[i][0]) == 0)
      return cxi_dtype_parse(pairs[i][1], strlen(pairs[i][1]));
  fail_msg("unknown dtype %s", name);
  return CX_F32;
}

static const char *text_of(json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static int sextet(char c) {
  const char *alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = strchr(alphabet, c);
  return at && c ? (int)(at - alphabet) : -1;
}

/* A one-dimensional array from base64. */
static cxi_view decode(cx_dtype type, const char *base64) {
  const size_t length = strlen(base64);
  size_t bytes = length / 4 * 3;
  for (size_t i = length; i > 0 && base64[i - 1] == '='; i--) bytes--;
  const int64_t n_elements = (int64_t)(bytes / cxi_dtype_bytes(type));
  cxi_view array = array_zeros(&(cx_aval){ type, { 1, { n_elements } } });
  unsigned char *out = array.data;
  size_t n = 0;
  uint32_t bits = 0;
  int held = 0;
  for (const char *c = base64; *c && sextet(*c) >= 0; c++) {
    bits = bits << 6 | (uint32_t)sextet(*c);
    held += 6;
    if (held >= 8 && n < bytes) out[n++] = (unsigned char)(bits >> (held -= 8));
  }
  return array;
}

/* "[y=3]", "" ... as the program text writes the record's parameters. */
static const char *params_of(json_t *entry, char *out, size_t room) {
  json_t *params = json_object_get(entry, "params");
  *out = 0;
  if (json_object_get(params, "y"))
    snprintf(out, room, "[y=%d]",
             (int)json_integer_value(json_object_get(params, "y")));
  const char *rounding = text_of(params, "rounding_method");
  if (rounding)
    snprintf(out, room, "[away=%s]",
             strcmp(rounding, "AWAY_FROM_ZERO") == 0 ? "true" : "false");
  const char *type = text_of(params, "new_dtype");
  if (type) snprintf(out, room, "[type=%s]", cxi_dtype_name(dtype_of(type)));
  return out;
}

/* -- comparing ------------------------------------------------------------- */

static double number(const cxi_view *a, int64_t i) {
  const size_t bytes = cxi_dtype_bytes(a->type.type);
  return cxi_element_get(a->type.type,
                         (const char *)a->data + i * (int64_t)bytes);
}

/* XLA treats subnormal numbers as zero and makes zero of them. */
static bool is_subnormal(double x) {
  return x != 0 && fabs(x) < 0x1p-126;
}

static bool near(double got, double want, bool exact) {
  if (isnan(want)) return isnan(got);
  if (exact || isinf(want) || isinf(got)) return got == want;
  return fabs(got - want) <= TOLERANCE * (fabs(want) + 1);
}

/* Points at which this library means to differ from the record. */
static bool differs_on_purpose(const char *what, const double *x, double got) {
  /* x^0 is the constant 1 also at x = 0. */
  if (strcmp(what, "d pow / d x0") == 0)
    return x[0] == 0 && x[1] == 0 && got == 0;
  /* The subgradient of |x| at 0 is sign(0). */
  if (strcmp(what, "d abs / d x0") == 0)
    return isnan(x[0]) ? isnan(got) : x[0] == 0 && got == 0;
  /* The record's 2^100 is 2e-6 away from it. */
  if (strcmp(what, "exp2") == 0) return x[0] == 100 && got == 0x1p100;
  /* -x / y^2 is computed without y^2, which leaves the range of f32 here. */
  if (strcmp(what, "d div / d x1") == 0)
    return x[1] * x[1] < 0x1p-126 || x[1] * x[1] > FLT_MAX;
  return false;
}

static int compare(const char *what, const arrays *in, const cxi_view *got,
                   const cxi_view *want) {
  const bool exact = !cxi_dtype_is_float(want->type.type);
  assert_true(cxi_aval_equal(&got->type, &want->type));
  int wrong = 0;
  for (int64_t i = 0; i < want->type.shape.d[0]; i++) {
    double x[2] = { 0, 0 };
    bool skip = false;
    for (uint32_t k = 0; k < in->n; k++) {
      x[k] = number(&in->at[k], i);
      skip = skip || is_subnormal(x[k]);
    }
    const double a = number(got, i), b = number(want, i);
    if (skip || near(a, b, exact) || (is_subnormal(a) && b == 0) ||
        differs_on_purpose(what, x, a))
      continue;
    print_message("%s at %.9g, %.9g: got %.9g, recorded %.9g\n", what, x[0],
                  x[1], a, b);
    wrong++;
  }
  return wrong;
}

/* -- the tests ------------------------------------------------------------- */

/* The program of one operation on vectors. */
static const cxi_program *program_of(const char *prim, const char *params,
                                     const arrays *in, const cxi_view *out) {
  const char *type = cxi_dtype_name(in->at[0].type.type);
  const char *out_type = cxi_dtype_name(out->type.type);
  const int n = (int)out->type.shape.d[0];
  char text[256];
  if (in->n == 1)
    snprintf(text, sizeof text,
             "program @f(%%0: %s[%d]) { %%1: %s[%d] = %s%s %%0 return %%1 }",
             type, n, out_type, n, prim, params);
  else
    snprintf(text, sizeof text,
             "program @f(%%0: %s[%d], %%1: %s[%d]) { "
             "%%2: %s[%d] = %s%s %%0, %%1 return %%2 }",
             type, n, type, n, out_type, n, prim, params);
  return program_parse(text);
}

static int check_values(json_t *entry, const arrays *in) {
  const char *prim = primitive_of(text_of(entry, "op"));
  if (!prim) return 0;
  char params[64], what[128];
  params_of(entry, params, sizeof params);
  arrays want = arrays_new(1);
  want.at[0] = decode(dtype_of(text_of(entry, "dtype")), text_of(entry, "out"));
  const cxi_program *p = program_of(prim, params, in, &want.at[0]);
  arrays got = program_run(p, in);
  snprintf(what, sizeof what, "%s%s", prim, params);
  const int wrong = compare(what, in, &got.at[0], &want.at[0]);
  arrays_free(&got);
  arrays_free(&want);
  cxi_program_release(p);
  return wrong;
}

/* The derivative with respect to operand k: the tangent of ones. */
static int check_derivative(json_t *entry, const arrays *in, uint32_t k,
                            const char *key) {
  const char *prim = primitive_of(text_of(entry, "op"));
  if (!prim) return 0;
  arrays want = arrays_new(1), args = arrays_new(in->n + 1);
  want.at[0] = decode(CX_F32, text_of(entry, key));
  const cxi_program *p = program_of(prim, "", in, &want.at[0]);
  const bool nonzero[2] = { k == 0, k == 1 }, instantiate = true;
  bool nonzero_out;
  cxi_error error = { CX_OK, "" };
  cxi_hold_enter();
  const cxi_program *jvp =
      cxi_jvp(p, nonzero, &instantiate, false, &nonzero_out, &error);
  check_ok(jvp != NULL, &error, p);
  for (uint32_t i = 0; i <= in->n; i++) {
    args.at[i] = array_zeros(&in->at[0].type);
    if (i < in->n) cxi_view_copy(&args.at[i], &in->at[i]);
  }
  float *ones = args.at[in->n].data;
  for (int64_t i = 0; i < want.at[0].type.shape.d[0]; i++) ones[i] = 1;
  arrays got = program_run(jvp, &args);
  char what[64];
  snprintf(what, sizeof what, "d %s / d x%u", prim, k);
  const int wrong = compare(what, in, &got.at[1], &want.at[0]);
  cxi_hold_leave();
  arrays_free(&got);
  arrays_free(&args);
  arrays_free(&want);
  cxi_program_release(p);
  return wrong;
}

/* A part of the record: operations of one dtype on its special points. */
typedef struct section {
  const char *name;
  cx_dtype type;
  int wrong;
} section;

static void check_section(const json_t *record, void *user) {
  section *part = user;
  json_t *ops = json_object_get(record, part->name), *entry;
  size_t i;
  if (json_object_get(ops, "x")) {
    arrays x = arrays_new(1);
    x.at[0] = decode(part->type, text_of(ops, "x"));
    json_array_foreach(json_object_get(ops, "unary"), i, entry) part->wrong +=
        check_values(entry, &x);
    json_array_foreach(json_object_get(ops, "unary_grad"), i, entry)
        part->wrong += check_derivative(entry, &x, 0, "out");
    arrays_free(&x);
  }
  arrays x = arrays_new(2);
  x.at[0] = decode(part->type, text_of(ops, "a"));
  x.at[1] = decode(part->type, text_of(ops, "b"));
  json_array_foreach(json_object_get(ops, "binary"), i, entry) part->wrong +=
      check_values(entry, &x);
  json_array_foreach(json_object_get(ops, "binary_grad"), i, entry) {
    part->wrong += check_derivative(entry, &x, 0, "out0");
    part->wrong += check_derivative(entry, &x, 1, "out1");
  }
  arrays_free(&x);
}

static void check_dtype(const char *name, cx_dtype type) {
  section part = { name, type, 0 };
  assert_int_equal(records_each(RECORD, check_section, &part), 1);
  assert_int_equal(part.wrong, 0);
}

static void test_f32(void **state) {
  (void)state;
  check_dtype("f32", CX_F32);
}

static void test_i32(void **state) {
  (void)state;
  check_dtype("i32", CX_I32);
}

static void test_u32(void **state) {
  (void)state;
  check_dtype("u32", CX_U32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_f32),
    cmocka_unit_test(test_i32),
    cmocka_unit_test(test_u32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
