/* dtypes_test.c - every row in every dtype: which it accepts, on both executors
 * the same; halves are computed in f32 and rounded once; integers wrap. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "calx/calx.h"
#include "records.h"
#include "support/execute.h"
#include "support/programs.h"

/* -- texts in another dtype ----------------------------------------------- */

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}
/* The text with dtype `to` wherever `from` stands. */
static void with_dtype(char *out, size_t room, const char *text, cx_dtype from,
                       cx_dtype to) {
  const char *name = cxi_dtype_name(from);
  const size_t n = strlen(name);
  size_t used = 0;
  for (const char *c = text; *c && used + 8 < room;) {
    const bool begins = c == text || !is_word(c[-1]);
    if (begins && strncmp(c, name, n) == 0 && !is_word(c[n])) {
      used +=
          (size_t)snprintf(out + used, room - used, "%s", cxi_dtype_name(to));
      c += n;
    } else {
      out[used++] = *c++;
    }
  }
  out[used] = 0;
}
static bool parses(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (p) cxi_program_release(p);
  return p != NULL;
}

/* -- acceptance: the record's lax table ----------------------------------- */

static const char *row_name(const char *op) {
  return !strncmp(op, "bitwise_", 8) ? op + 8 : op;
}
static cx_dtype recorded_dtype(const char *name) {
  for (cx_dtype t = CX_BOOL; t <= CX_F64; t++) {
    static const char *const names[] = {
      "",       "bool",  "int8",   "uint8",   "int16",    "uint16",  "int32",
      "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"
    };
    if (!strcmp(names[t], name)) return t;
  }
  fail_msg("unknown dtype %s", name);
  return 0;
}
/* Whether a program of the one operation parses; 1 if not as recorded. */
static int check_op(const char *op, const json_t *result, cx_dtype t,
                    int n_in) {
  const char *name = row_name(op), *type = cxi_dtype_name(t);
  char text[256];
  const char *out = json_string_value(json_object_get(result, "dtype"));
  const bool scalar = !strncmp(name, "reduce_", 7);
  if (!cxi_prim_find(name, strlen(name))) return 0;
  snprintf(text, sizeof text,
           n_in == 1 ? "program @f(%%0: %s[3]) { %%1: %s[%s] = %s%s %%0 "
                       "return %%1 }"
                     : "program @f(%%0: %s[3], %%1: %s[3]) { %%2: %s[3] = %s "
                       "%%0, %%1 return %%2 }",
           type,
           n_in == 1 ? cxi_dtype_name(out ? recorded_dtype(out) : t) : type,
           n_in == 1 ? (scalar ? "" : "3")
                     : cxi_dtype_name(out ? recorded_dtype(out) : t),
           name, scalar ? "[axes=(0)]" : "");
  if (parses(text) == (out != NULL)) return 0;
  print_message("%s of %s: %s\n", name, type,
                out ? "refused, recorded as accepted"
                    : "accepted, recorded as an error");
  return 1;
}
static void check_lax(const json_t *record, void *user) {
  int *wrong = user;
  size_t i;
  json_t *row, *result;
  const char *op;
  json_array_foreach(json_object_get(record, "lax"), i, row) {
    const cx_dtype t =
        recorded_dtype(json_string_value(json_object_get(row, "a")));
    json_object_foreach(json_object_get(row, "unary"), op, result) *wrong +=
        check_op(op, result, t, 1);
    json_object_foreach(json_object_get(row, "binary_same_dtype"), op,
                        result) *wrong += check_op(op, result, t, 2);
  }
}
static void test_recorded_acceptance(void **state) {
  (void)state;
  int wrong = 0;
  assert_int_equal(
      records_each("conformance/dtype_promotion.json.gz", check_lax, &wrong),
      1);
  assert_int_equal(wrong, 0);
}

/* -- every row, every dtype, both executors ------------------------------- */

/* Sums in halves, rounded once: the f32 program's results, rounded. */
static void check_half(const char *text, cx_dtype half) {
  char wide_text[4096];
  with_dtype(wide_text, sizeof wide_text, text, half, CX_F32);
  if (!parses(wide_text)) return;
  const cxi_program *p = program_parse(text), *w = program_parse(wide_text);
  if (p->n_equations != 1) goto done;
  arrays in = arrays_random(p, 7, 3), wide = arrays_random(w, 7, 3);
  for (uint32_t i = 0; i < in.n; i++)
    if (in.at[i].type.type == half)
      for (int64_t k = 0; k < cxi_dims_count(&in.at[i].type.shape); k++)
        ((float *)wide.at[i].data)[k] =
            (float)cxi_element_get(half, (uint16_t *)in.at[i].data + k);
    else
      cxi_view_copy(&wide.at[i], &in.at[i]);
  arrays got = program_run(p, &in), want = program_run(w, &wide);
  for (uint32_t i = 0; i < got.n; i++)
    for (int64_t k = 0; k < cxi_dims_count(&got.at[i].type.shape); k++) {
      if (got.at[i].type.type != half) continue;
      uint16_t rounded, have = ((uint16_t *)got.at[i].data)[k];
      cxi_element_set(half, &rounded, (double)((float *)want.at[i].data)[k]);
      const bool nan = isnan(cxi_element_get(half, &rounded)) &&
                       isnan(cxi_element_get(half, &have));
      if (!nan && rounded != have)
        fail_msg("element %lld is not the f32 result rounded once:\n%s",
                 (long long)k, text);
    }
  arrays_free(&in), arrays_free(&wide), arrays_free(&got), arrays_free(&want);
done:
  cxi_program_release(p);
  cxi_program_release(w);
}
/* Rows whose halves are no rounding of their f32 results: the bits are the
 * point, or bodies round at each of their equations. */
static bool is_own_kind(const cxi_row *row) {
  static const cxi_prim prims[] = { CXI_PRIM_bitcast, CXI_PRIM_nextafter,
                                    CXI_PRIM_random_gamma };
  for (size_t i = 0; i < sizeof prims / sizeof *prims; i++)
    if (row->prim == prims[i]) return true;
  return row->form == CXI_FORM_CALL || row->form == CXI_FORM_CONTROL;
}
static int n_accepted, n_refused;
static void check_row(const cxi_row *row, const char *example, cx_dtype from,
                      cx_dtype to) {
  char text[4096];
  if (strlen(example) > sizeof text / 2) return;
  with_dtype(text, sizeof text, example, from, to);
  if (strcmp(text, example) == 0 && from != to) return;
  if (!parses(text)) {
    n_refused++;
    if (row->form == CXI_FORM_MOVE && row->prim != CXI_PRIM_iota &&
        row->prim != CXI_PRIM_bitcast)
      fail_msg("a movement is refused:\n%s", text);
    return;
  }
  n_accepted++;
  execution x;
  const char *wrong = execution_open(&x, text, row->lo, row->hi, 11);
  if (!wrong) {
    wrong = execution_compare(&x, 2, 0);
    if (wrong) print_message("%s\n", wrong);
    execution_close(&x);
  }
  if (wrong) fail_msg("the executors differ: %s\n%s", wrong, text);
  if ((to == CX_F16 || to == CX_BF16) && !is_own_kind(row))
    check_half(text, to);
}
static void test_rows(void **state) {
  (void)state;
  for (cxi_prim prim = 1; prim < CXI_N_PRIMS; prim++) {
    const cxi_row *row = cxi_row_of(prim);
    for (const char *const *e = row ? row->examples : NULL; e && *e; e++)
      for (cx_dtype to = CX_BOOL; to <= CX_F64; to++) {
        check_row(row, *e, CX_F32, to);
        check_row(row, *e, CX_I32, to);
      }
  }
  print_message("%d programs run, %d refused\n", n_accepted, n_refused);
  assert_true(n_accepted > 500 && n_refused > 100);
}

/* -- integers against a model of 128 bits --------------------------------- */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static wide wrapped(cx_dtype t, wide x) {
  const int bits = 8 * (int)cxi_dtype_bytes(t);
  const wide all = (wide)1 << bits;
  x = ((x % all) + all) % all;
  return cxi_dtype_kind(t) == CXI_SIGNED && x >= all / 2 ? x - all : x;
}
static wide expected(cx_op op, cx_dtype t, wide a, wide b) {
  const int bits = 8 * (int)cxi_dtype_bytes(t);
  const wide all = (wide)1 << bits;
  const wide shift = (b % all + all) % all; /* a negative one is a large one */
  const bool sign = cxi_dtype_kind(t) == CXI_SIGNED;
  switch (op) {
  case CX_OP_ADD:
    return a + b;
  case CX_OP_SUB:
    return a - b;
  case CX_OP_MUL:
    return (wide)((unsigned_wide)a * (unsigned_wide)b);
  case CX_OP_DIV:
    return b == 0 ? -1 : a / b;
  case CX_OP_REM:
    return b == 0 ? a : a % b;
  case CX_OP_SHL:
    return shift >= bits ? 0 : (wide)((unsigned_wide)a << (int)shift);
  case CX_OP_SHR:
    return shift >= bits ? (sign && a < 0 ? -1 : 0) : a >> (int)shift;
  case CX_OP_AND:
    return a & b;
  case CX_OP_XOR:
    return a ^ b;
  case CX_OP_MAXIMUM:
    return a > b ? a : b;
  default:
    return a < b ? a : b;
  }
}
static cx scalar_of(cx_dtype t, wide x) {
  const uint64_t bits = (uint64_t)x;
  return cx_from_(&bits, t, (cx_dims){ 0 }, CX_AT);
}
static wide value_of(cx_dtype t, cx a) {
  uint64_t bits = 0;
  cx_read_(a, &bits, t, cxi_dtype_bytes(t), CX_AT);
  return wrapped(t, (wide)bits);
}
static void check_integers(cx_dtype t) {
  static const cx_op ops[] = { CX_OP_ADD,     CX_OP_SUB,    CX_OP_MUL,
                               CX_OP_DIV,     CX_OP_REM,    CX_OP_SHL,
                               CX_OP_SHR,     CX_OP_AND,    CX_OP_XOR,
                               CX_OP_MAXIMUM, CX_OP_MINIMUM };
  const int bits = 8 * (int)cxi_dtype_bytes(t);
  const wide half = (wide)1 << (bits - 1);
  const wide points[] = { 0,        1,    2,         7,        -1,   -7,
                          half - 1, half, -half + 1, bits - 1, bits, bits + 3 };
  enum { N = sizeof points / sizeof *points };
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
    for (int i = 0; i < N; i++)
      for (int k = 0; k < N; k++) {
        CX_SCOPE;
        const wide a = wrapped(t, points[i]), b = wrapped(t, points[k]);
        const cx two[2] = { scalar_of(t, a), scalar_of(t, b) };
        const wide got = value_of(t, cx_fold_(ops[o], 2, two, CX_AT));
        const wide want = wrapped(t, expected(ops[o], t, a, b));
        if (got != want)
          fail_msg("%s: operation %d of %lld, %lld is %lld, wanted %lld",
                   cxi_dtype_name(t), (int)ops[o], (long long)a, (long long)b,
                   (long long)got, (long long)want);
      }
}

/* -- conversions between all pairs ---------------------------------------- */

/* x rounded to `fraction` bits behind the point, ties to even, with the least
 * exponent and the largest number of a floating dtype. */
static double rounded(double x, int fraction, int least, double most) {
  int exponent;
  if (x == 0 || !isfinite(x)) return x;
  frexp(x, &exponent);
  int step = exponent - 1 < least ? least : exponent - 1;
  const double y = ldexp(rint(ldexp(x, fraction - step)), step - fraction);
  return fabs(y) > most ? copysign(INFINITY, x) : y;
}
static double as_float(cx_dtype t, double x) {
  if (t == CX_F16) return rounded(x, 10, -14, 65504);
  if (t == CX_BF16) return rounded(x, 7, -126, 0x1.fep127);
  return t == CX_F32 ? (double)(float)x : x;
}
static void check_conversion(cx_dtype from, cx_dtype to, double x) {
  CX_SCOPE;
  const bool float_from = cxi_dtype_is_float(from);
  cx a = cx_cast(cx_scalar(x, CX_F64), from);
  if (cxi_dtype_kind(to) != CXI_SIGNED && cxi_dtype_kind(to) != CXI_UNSIGNED) {
    const double v = cx_item(a), got = cx_item(cx_cast(a, to));
    const double want = to == CX_BOOL ? (v != 0) : as_float(to, v);
    if (got != want && !(isnan(got) && isnan(want)))
      fail_msg("%s to %s: %g gives %g", cxi_dtype_name(from),
               cxi_dtype_name(to), v, got);
    return;
  }
  const wide half = (wide)1 << (8 * (int)cxi_dtype_bytes(to) - 1);
  const bool sign = cxi_dtype_kind(to) == CXI_SIGNED;
  const wide most = sign ? half - 1 : 2 * half - 1, least = sign ? -half : 0;
  wide want;
  if (float_from) {
    const double v = cx_item(a);
    want = isnan(v)             ? 0
           : v >= (double)most  ? most
           : v <= (double)least ? least
                                : (wide)v;
  } else if (from == CX_BOOL) {
    want = cx_item(a) != 0;
  } else {
    want = wrapped(to, value_of(from, a));
  }
  const wide got = value_of(to, cx_cast(a, to));
  if (got != want)
    fail_msg("%s to %s: %g gives %lld, wanted %lld", cxi_dtype_name(from),
             cxi_dtype_name(to), x, (long long)got, (long long)want);
}
static void check_conversions(void) {
  static const double points[] = {
    0,     -0.0,        0.5,          -1.5,          1,
    -1,    2.5,         127,          128,           255,
    256,   -128,        -129,         32767,         32768,
    65504, 65536,       2147483647.0, -2147483648.0, 4294967296.0,
    1e10,  -1e10,       1e20,         -1e20,         3e38,
    1e300, 1e-8,        -1e-40,       INFINITY,      -INFINITY,
    NAN,   1.0009765625
  };
  for (cx_dtype from = CX_BOOL; from <= CX_F64; from++)
    for (cx_dtype to = CX_BOOL; to <= CX_F64; to++)
      for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        check_conversion(from, to, points[i]);
}
static void test_numbers(void **state) {
  (void)state;
  static const char *const executors[] = { "cpu", "reference" };
  for (int i = 0; i < 2; i++) {
    cx_ctx *ctx = cx_open(executors[i]);
    assert_non_null(ctx);
    for (cx_dtype t = CX_I8; t <= CX_U64; t++) check_integers(t);
    check_conversions();
    assert_true(cx_ok());
    cx_close(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_recorded_acceptance),
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
