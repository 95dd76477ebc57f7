/* elementwise_test.c - values of all dtypes, views, conversions, error
 * texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/programs.h"

static void *element(const cxi_view *v, int64_t i) {
  return (char *)v->data + i * (int64_t)cxi_dtype_bytes(v->type.type);
}
static double get(const arrays *a, uint32_t k, int64_t i) {
  return cxi_element_get(a->at[k].type.type, element(&a->at[k], i));
}

/* Zeroed arrays of the types of a program's inputs. */
static arrays inputs_of(const cxi_program *p) {
  arrays in = arrays_new(p->n_in);
  for (uint32_t i = 0; i < in.n; i++)
    in.at[i] = array_zeros(cxi_type_aval(p->values[i].type));
  return in;
}

/* -- floating functions against the C library in double -------------------- */

static double d_erf_inv(double x) {
  double lo = -6, hi = 6;
  for (int i = 0; i < 200; i++) {
    const double middle = (lo + hi) / 2;
    *(erf(middle) < x ? &lo : &hi) = middle;
  }
  return (lo + hi) / 2;
}
static double d_logistic(double x) {
  return 1 / (1 + exp(-x));
}
static double d_rsqrt(double x) {
  return 1 / sqrt(x);
}
static double d_square(double x) {
  return x * x;
}
static double d_sign(double x) {
  return (x > 0) - (x < 0);
}
static double d_neg(double x) {
  return -x;
}

static void check_unary(const char *op, double (*f)(double), const char *type,
                        double places, double lo, double hi) {
  enum { N = 101 };
  char text[128];
  snprintf(text, sizeof text,
           "program @f(%%0: %s[%d]) { %%1: %s[%d] = %s %%0 return %%1 }", type,
           N, type, N, op);
  const cxi_program *p = program_parse(text);
  arrays in = inputs_of(p);
  for (int i = 0; i < N; i++)
    cxi_element_set(in.at[0].type.type, element(&in.at[0], i),
                    lo + (hi - lo) * i / (N - 1));
  arrays out = program_run(p, &in);
  for (int i = 0; i < N; i++) {
    const double x = get(&in, 0, i), is = get(&out, 0, i), want = f(x);
    if (fabs(is - want) > ldexp(fabs(want), -(int)places) + 1e-30)
      fail_msg("%s of %s at %.17g: %.17g, not %.17g", op, type, x, is, want);
  }
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
}

static void test_float_functions(void **state) {
  (void)state;
  static const struct {
    const char *op;
    double (*f)(double), lo, hi;
  } ops[] = {
    { "exp", exp, -9, 9 },         { "expm1", expm1, -5, 5 },
    { "log", log, 0.01, 50 },      { "log1p", log1p, -0.9, 9 },
    { "sin", sin, -9, 9 },         { "cos", cos, -9, 9 },
    { "tanh", tanh, -4, 4 },       { "logistic", d_logistic, -9, 9 },
    { "erf", erf, -3, 3 },         { "erf_inv", d_erf_inv, -0.99, 0.99 },
    { "sqrt", sqrt, 0, 50 },       { "rsqrt", d_rsqrt, 0.01, 50 },
    { "square", d_square, -9, 9 }, { "abs", fabs, -9, 9 },
    { "sign", d_sign, -9, 9 },     { "floor", floor, -9, 9 },
    { "ceil", ceil, -9, 9 },       { "neg", d_neg, -9, 9 },
  };
  /* Bits that must be right: all but two or, where f32 is rounded, one. */
  static const struct {
    const char *name;
    int places;
  } types[] = { { "f64", 49 }, { "f32", 21 }, { "f16", 10 }, { "bf16", 7 } };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
      check_unary(ops[i].op, ops[i].f, types[k].name, types[k].places,
                  ops[i].lo, ops[i].hi);
}

/* -- integers -------------------------------------------------------------- */

/* The result in 128 bits, before it wraps. */
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;
static wide w_add(wide x, wide y) {
  return x + y;
}
static wide w_sub(wide x, wide y) {
  return x - y;
}
static wide w_mul(wide x, wide y) {
  return (wide)((unsigned_wide)x * (unsigned_wide)y);
}
static wide w_div(wide x, wide y) {
  return y == 0 ? -1 : x / y;
}
static wide w_rem(wide x, wide y) {
  return y == 0 ? x : x % y;
}
static wide w_max(wide x, wide y) {
  return x > y ? x : y;
}
static wide w_min(wide x, wide y) {
  return x < y ? x : y;
}
static wide w_xor(wide x, wide y) {
  return x ^ y;
}

static wide widened(const cxi_view *v, int64_t i) {
  const int64_t x = cxi_element_get_int(v->type.type, element(v, i));
  return v->type.type == CX_U64 ? (wide)(uint64_t)x : (wide)x;
}

static void check_integer(const char *op, wide (*f)(wide, wide),
                          cx_dtype type) {
  static const int64_t corners[] = { 0,   1,   -1,        2,         7,
                                     -13, 127, INT64_MIN, INT64_MAX, 1000003 };
  enum { N = sizeof corners / sizeof *corners };
  const char *name = cxi_dtype_name(type);
  const size_t bytes = cxi_dtype_bytes(type);
  char text[160];
  snprintf(text, sizeof text,
           "program @f(%%0: %s[%d], %%1: %s[%d]) { %%2: %s[%d] = %s %%0, %%1 "
           "return %%2 }",
           name, N * N, name, N * N, name, N * N, op);
  const cxi_program *p = program_parse(text);
  arrays in = inputs_of(p);
  for (int i = 0; i < N * N; i++) {
    /* The ends of the range of a shorter dtype are in the high bytes. */
    const int shift = 64 - 8 * (int)bytes;
    const int64_t x = corners[i / N], y = corners[i % N];
    const int64_t a = x == INT64_MIN || x == INT64_MAX ? x >> shift : x;
    const int64_t b = y == INT64_MIN || y == INT64_MAX ? y >> shift : y;
    cxi_element_set_int(type, element(&in.at[0], i), a);
    cxi_element_set_int(type, element(&in.at[1], i), b);
  }
  arrays out = program_run(p, &in);
  for (int i = 0; i < N * N; i++) {
    const wide x = widened(&in.at[0], i), y = widened(&in.at[1], i);
    int64_t want = 0;
    cxi_element_set_int(type, &want, (int64_t)f(x, y));
    if (memcmp(&want, element(&out.at[0], i), bytes) != 0)
      fail_msg("%s %s of %lld, %lld", name, op, (long long)x, (long long)y);
  }
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
}

static void test_integers(void **state) {
  (void)state;
  static const struct {
    const char *op;
    wide (*f)(wide, wide);
  } ops[] = { { "add", w_add }, { "sub", w_sub }, { "mul", w_mul },
              { "div", w_div }, { "rem", w_rem }, { "max", w_max },
              { "min", w_min }, { "xor", w_xor } };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (int type = CX_I8; type <= CX_U64; type++)
      check_integer(ops[i].op, ops[i].f, (cx_dtype)type);
}

/* -- views ----------------------------------------------------------------- */

/* A transposed, a reversed and a repeated operand. */
static void test_strided_views(void **state) {
  (void)state;
  float a[12], row[4] = { 100, 200, 300, 400 }, out[12];
  for (int i = 0; i < 12; i++) a[i] = (float)i;
  const cx_aval tall = { CX_F32, { 2, { 4, 3 } } };
  const cx_aval wide_type = { CX_F32, { 2, { 3, 4 } } };
  const cx_aval line = { CX_F32, { 1, { 4 } } };
  const cxi_view dense = cxi_view_dense(tall, a);
  const cxi_view rows = cxi_view_dense(line, row);
  cxi_view in[2] = { cxi_view_permute(&dense, &(cx_dims){ 2, { 1, 0 } }),
                     cxi_view_broadcast(&rows, wide_type.shape,
                                        (cx_dims){ 1, { 1 } }) };
  in[1].data = &row[3];
  in[1].strides[1] = -1;
  cxi_view result = cxi_view_dense(wide_type, out);
  cxi_error error = { CX_OK, "" };
  cxi_eval eval = {
    .row = cxi_row_of(CXI_PRIM_sub), .n_in = 2, .n_out = 1, .error = &error
  };
  assert_true(eval.row->evaluate(&eval, in, &result));
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      assert_true(out[4 * i + k] == a[3 * k + i] - row[3 - k]);

  eval.row = cxi_row_of(CXI_PRIM_convert);
  eval.n_in = 1;
  eval.params = &(cxi_convert_params){ .type = CX_I16 };
  int16_t whole[12];
  result = cxi_view_dense((cx_aval){ CX_I16, wide_type.shape }, whole);
  assert_true(eval.row->evaluate(&eval, in, &result));
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++) assert_int_equal(whole[4 * i + k], 3 * k + i);
}

/* -- conversions ----------------------------------------------------------- */

static const double NUMBERS[] = {
  0,        -0.0,      0.5,    -0.5,       1.5,        2.5,      -1,
  1,        3.999,     127,    128,        -129,       255,      256,
  -32769,   65504,     65519,  65520,      65535,      65536,    1e10,
  -1e10,    0x1p31,    0x1p32, 0x1p53 + 2, 0x1p63,     0x1p64,   -0x1p63,
  1e30,     -1e30,     1e39,   1e-8,       6e-8,       -1e-40,   1e-310,
  INFINITY, -INFINITY, NAN,    1.00390625, 1.01171875, 257.0001, 0x1.01000001p0,
};
enum { N_NUMBERS = sizeof NUMBERS / sizeof *NUMBERS };

static void check_conversion(cx_dtype from, cx_dtype to) {
  char text[160];
  const char *a = cxi_dtype_name(from), *b = cxi_dtype_name(to);
  snprintf(text, sizeof text,
           "program @f(%%0: %s[%d]) { %%1: %s[%d] = convert[type=%s] %%0 "
           "return %%1 }",
           a, N_NUMBERS, b, N_NUMBERS, b);
  const cxi_program *p = program_parse(text);
  arrays in = inputs_of(p);
  for (int i = 0; i < N_NUMBERS; i++)
    cxi_element_set(from, element(&in.at[0], i), NUMBERS[i]);
  arrays out = program_run(p, &in);
  for (int i = 0; i < N_NUMBERS; i++) {
    const void *x = element(&in.at[0], i);
    uint64_t want = 0;
    if (cxi_dtype_is_float(from) || (from == CX_U64 && cxi_dtype_is_float(to)))
      cxi_element_set(to, &want, cxi_element_get(from, x));
    else
      cxi_element_set_int(to, &want, cxi_element_get_int(from, x));
    const double is = get(&out, 0, i);
    if (isnan(is) && isnan(cxi_element_get(to, &want))) continue;
    if (memcmp(&want, element(&out.at[0], i), cxi_dtype_bytes(to)) != 0)
      fail_msg("%.17g of %s to %s: %.17g", cxi_element_get(from, x), a, b, is);
  }
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
}

static void test_conversions(void **state) {
  (void)state;
  for (int from = CX_BOOL; from <= CX_F64; from++)
    for (int to = CX_BOOL; to <= CX_F64; to++)
      check_conversion((cx_dtype)from, (cx_dtype)to);
}

/* 64-bit integers just above the middle between two short floats: rounding
 * first to double would lose what lies above. */
static void test_integers_round_once(void **state) {
  (void)state;
  const cxi_program *p = program_parse("program @f(%0: u64[2], %1: i64[2]) { "
                                       "%2: bf16[2] = convert[type=bf16] %0 "
                                       "%3: bf16[2] = convert[type=bf16] %1 "
                                       "%4: f32[2] = convert[type=f32] %0 "
                                       "return %2, %3, %4 }");
  arrays in = inputs_of(p);
  uint64_t *u = in.at[0].data;
  int64_t *s = in.at[1].data;
  u[0] = (1ULL << 63) + (1ULL << 55) + 1;
  u[1] = (1ULL << 63) + (1ULL << 39) + 1;
  s[0] = -((1LL << 62) + (1LL << 54) + 1);
  s[1] = (1LL << 62) + (1LL << 54);
  arrays out = program_run(p, &in);
  assert_true(get(&out, 0, 0) == 0x1p63 + 0x1p56);
  assert_true(get(&out, 1, 0) == -(0x1p62 + 0x1p55));
  assert_true(get(&out, 1, 1) == 0x1p62);
  assert_true(get(&out, 2, 1) == 0x1p63 + 0x1p40);
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
}

/* -- choosing -------------------------------------------------------------- */

static void test_select(void **state) {
  (void)state;
  const cxi_program *p =
      program_parse("program @f(%0: i32[5], %1: f32[5]) { "
                    "%2: f32[5] = select %0, %1, 10.0:f32, 20.0:f32 "
                    "%3: bool[5] = gt %1, 2.0:f32 "
                    "%4: f32[5] = select %3, %1, nan:f32 "
                    "%5: f32[5] = select true:bool, nan:f32, %1 "
                    "return %2, %4, %5 }");
  arrays in = inputs_of(p);
  const int32_t which[5] = { -7, 0, 1, 2, 9 };
  for (int i = 0; i < 5; i++) ((float *)in.at[1].data)[i] = (float)i;
  memcpy(in.at[0].data, which, sizeof which);
  arrays out = program_run(p, &in);
  const double want[5] = { 0, 1, 10, 20, 20 };
  for (int i = 0; i < 5; i++) {
    assert_true(get(&out, 0, i) == want[i]);
    assert_true(i > 2 ? isnan(get(&out, 1, i)) : get(&out, 1, i) == i);
    assert_true(get(&out, 2, i) == i);
  }
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
}

static void test_bitcast(void **state) {
  (void)state;
  const cxi_program *p = program_parse(
      "program @f(%0: f32[2]) { %1: u8[2,4] = bitcast[type=u8] %0 "
      "%2: f32[2] = bitcast[type=f32] %1 %3: i32[2] = bitcast[type=i32] %0 "
      "return %1, %2, %3 }");
  arrays in = inputs_of(p);
  ((float *)in.at[0].data)[0] = 1;
  ((float *)in.at[0].data)[1] = -2.5f;
  arrays out = program_run(p, &in);
  assert_int_equal(((uint8_t *)out.at[0].data)[3], 0x3f);
  assert_int_equal(((uint8_t *)out.at[0].data)[2], 0x80);
  assert_true(get(&out, 1, 1) == -2.5);
  assert_int_equal(((int32_t *)out.at[2].data)[0], 0x3f800000);
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
}

/* -- errors ---------------------------------------------------------------- */

static void check_refused(const char *types, const char *equation,
                          const char *reason) {
  char text[256];
  snprintf(text, sizeof text, "program @f(%s) { %s return %%9 }", types,
           equation);
  cxi_error error = { CX_OK, "" };
  assert_null(cxi_program_parse(text, strlen(text), &error));
  if (!strstr(error.text, reason)) fail_msg("%s\n%s", text, error.text);
}

static void test_errors(void **state) {
  (void)state;
  check_refused("%0: f32[2], %1: f32[3]", "%9: f32[2] = add %0, %1",
                "operands are f32[2] and f32[3]");
  check_refused("%0: f32[2], %1: f32[2,1]", "%9: f32[2] = mul %0, %1",
                "operands are f32[2] and f32[2,1]");
  check_refused("%0: f32[2], %1: i32[2]", "%9: f32[2] = add %0, %1",
                "operands are f32 and i32 (write cx_cast)");
  check_refused("%0: i32[3]", "%9: i32[3] = exp %0",
                "needs a floating dtype, got i32[3]");
  check_refused("%0: bool[3]", "%9: bool[3] = neg %0",
                "needs an integer or floating dtype, got bool[3]");
  check_refused("%0: u8[3]", "%9: u8[3] = abs %0",
                "needs a signed or floating dtype, got u8[3]");
  check_refused("%0: f32[3]", "%9: f32[3] = not %0",
                "needs a bool or integer dtype, got f32[3]");
  check_refused("%0: key[3]", "%9: bool[3] = eq %0, %0",
                "needs a bool, integer or floating dtype, got key[3]");
  check_refused("%0: f32[3]", "%9: f32[3] = exp %0, %0",
                "takes 1 operand, got 2");
  check_refused("%0: i32[3]", "%9: i32[3] = integer_pow[y=-2] %0",
                "an integer has no power -2, got i32[3]");
  check_refused("%0: f32[3], %1: f32[3]", "%9: f32[3] = select %0, %1, %1",
                "chooses by bool or i32, got f32");
  check_refused("%0: bool[3], %1: f32[3]", "%9: f32[3] = select %0, %1, %1, %1",
                "by bool has at most 2 cases, got 3");
  check_refused("%0: i32[3], %1: f32[3]", "%9: i32[3] = pow %0, %1",
                "needs a floating dtype, got i32[3]");
  check_refused("%0: f64[3], %1: f32[3]", "%9: f64[3] = pow %0, %1",
                "operands are f64 and f32 (write cx_cast)");
  check_refused("%0: u8[3]", "%9: f32[] = bitcast[type=f32] %0",
                "to f32 needs a last axis of 4, got u8[3]");
  check_refused("%0: f32[3]", "%9: key[3] = convert[type=key] %0",
                "to key is not possible");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_float_functions),
    cmocka_unit_test(test_integers),
    cmocka_unit_test(test_strided_views),
    cmocka_unit_test(test_conversions),
    cmocka_unit_test(test_integers_round_once),
    cmocka_unit_test(test_select),
    cmocka_unit_test(test_bitcast),
    cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
