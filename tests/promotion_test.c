/* promotion_test.c - JAX's recorded promotion table, entry by entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calx/calx.h"
#include "calx/testing.h"
#include "records.h"

static const char RECORD[] = "conformance/dtype_promotion.json.gz";

/* -- names ------------------------------------------------------------------- */

typedef struct dtype_name {
  const char *name;
  cx_dtype type; /* 0: a number of C, here true, 1 and 1.0 */
  cx_dtype alone;
} dtype_name;
static const dtype_name DTYPES[] = {
  { "bool", CX_BOOL, 0 },     { "int8", CX_I8, 0 },
  { "uint8", CX_U8, 0 },      { "int16", CX_I16, 0 },
  { "uint16", CX_U16, 0 },    { "int32", CX_I32, 0 },
  { "uint32", CX_U32, 0 },    { "int64", CX_I64, 0 },
  { "uint64", CX_U64, 0 },    { "float16", CX_F16, 0 },
  { "bfloat16", CX_BF16, 0 }, { "float32", CX_F32, 0 },
  { "float64", CX_F64, 0 },   { "weak_bool", 0, CX_BOOL },
  { "weak_int", 0, CX_I32 },  { "weak_float", 0, CX_F32 },
};
static const dtype_name *find(const char *name) {
  for (size_t i = 0; name && i < sizeof DTYPES / sizeof *DTYPES; i++)
    if (!strcmp(DTYPES[i].name, name)) return &DTYPES[i];
  fail_msg("unknown dtype %s", name ? name : "(none)");
  return NULL;
}
static cx operand(const dtype_name *d) {
  if (d->type) return cx_ones(d->type, 2);
  return d->alone == CX_BOOL  ? cx_lit_b(true)
         : d->alone == CX_I32 ? cx_lit_i(1)
                              : cx_lit_f(1);
}
static const struct {
  const char *name;
  cx_op op;
} OPS[] = {
  { "add", CX_OP_ADD },
  { "subtract", CX_OP_SUB },
  { "multiply", CX_OP_MUL },
  { "floor_divide", CX_OP_FLOOR_DIVIDE },
  { "remainder", CX_OP_MOD },
  { "power", CX_OP_POWER },
  { "maximum", CX_OP_MAXIMUM },
  { "equal", CX_OP_EQ },
  { "bitwise_and", CX_OP_AND },
  { "left_shift", CX_OP_SHL },
  { "sin", CX_OP_SIN },
  { "sqrt", CX_OP_SQRT },
  { "exp", CX_OP_EXP },
  { "abs", CX_OP_ABS },
  { "negative", CX_OP_NEG },
  { "sign", CX_OP_SIGN },
  { "square", CX_OP_SQUARE },
  { "floor", CX_OP_FLOOR },
  { "round", CX_OP_ROUND },
  { "invert", CX_OP_NOT },
  { "reciprocal", CX_OP_RECIPROCAL },
  { "isfinite", CX_OP_IS_FINITE },
  { "relu", CX_OP_RELU },
};
static cx_op op_of(const char *name) {
  for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
    if (!strcmp(OPS[i].name, name)) return OPS[i].op;
  return 0;
}

/* -- one entry ------------------------------------------------------------------ */

typedef struct tally {
  int entries, errors, wrong;
} tally;

/* The record is of 64-bit mode, in which a number of Python is int64 or
 * float64; one of C is i32 or f32. */
static cx_dtype expected(const json_t *result, const dtype_name *a,
                         const dtype_name *b) {
  const char *name = json_string_value(json_object_get(result, "dtype"));
  const cx_dtype type = find(name)->type;
  const bool wide_a = a->type == CX_F64, wide_b = b && b->type == CX_F64;
  const bool integers = a->type && b && b->type;
  if (type == CX_F64 && !wide_a && !wide_b && !integers &&
      (a->alone == CX_F32 || (b && b->alone == CX_F32)))
    return CX_F32;
  if (type == CX_I64 && !a->type && (!b || !b->type)) return CX_I32;
  return type;
}
static void check(const char *what, const json_t *result, const dtype_name *a,
                  const dtype_name *b, cx got, tally *t) {
  const bool refused = json_object_get(result, "error") != NULL;
  const cx_code code = cx_error(NULL);
  t->entries++;
  if (refused) {
    t->errors++;
    if (code == CX_EDTYPE) return;
    print_message("%s of %s, %s: not refused\n", what, a->name,
                  b ? b->name : "");
    t->wrong++;
    return;
  }
  const cx_dtype want = expected(result, a, b);
  if (code == CX_OK && cx_type(got) == want) return;
  print_message("%s of %s, %s: %s, wanted %d\n", what, a->name,
                b ? b->name : "", code ? cx_code_name(code) : cx_show(got),
                (int)want);
  t->wrong++;
}

/* -- the tables --------------------------------------------------------------------- */

static void check_binary(const json_t *row, tally *t) {
  CX_SCOPE;
  const dtype_name *a = find(json_string_value(json_object_get(row, "a")));
  const dtype_name *b = find(json_string_value(json_object_get(row, "b")));
  const char *name;
  json_t *result;
  json_object_foreach(json_object_get(row, "ops"), name, result) {
    const cx two[2] = { operand(a), operand(b) };
    const cx_op op = op_of(name);
    cx got;
    if (op)
      got = cx_fold_(op, 2, two, CX_AT);
    else if (!strcmp(name, "where"))
      got = cx_where(true, two[0], two[1]);
    else
      continue; /* true_divide, arctan2: no integer forms here */
    check(name, result, a, b, got, t);
    if (!strcmp(name, "where") && a->type && b->type)
      assert_int_equal(cx_promote_types(a->type, b->type), cx_type(got));
  }
}
static void check_unary(const json_t *row, tally *t) {
  CX_SCOPE;
  const dtype_name *a = find(json_string_value(json_object_get(row, "a")));
  const char *name;
  json_t *result;
  json_object_foreach(json_object_get(row, "ops"), name, result) {
    const cx x = operand(a);
    const cx_op op = op_of(name);
    cx got;
    if (!a->type) continue; /* a number of C becomes an array first */
    if (op)
      got = cx_unary_(op, x, CX_AT);
    else if (!strcmp(name, "max"))
      got = cx_max(x);
    else if (!strcmp(name, "all"))
      got = cx_all(x);
    else if (!strcmp(name, "ones_like"))
      got = cx_ones_like(x);
    else
      continue; /* sums and means: dtypes of their own */
    if (!strcmp(name, "relu") && a->type == CX_BOOL)
      assert_int_equal(cx_type(got), CX_I32); /* there int64 of 64-bit mode */
    else
      check(name, result, a, NULL, got, t);
  }
}
static void check_record(const json_t *record, void *user) {
  tally *t = user;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(record, "binary"), i, row)
      check_binary(row, t);
  json_array_foreach(json_object_get(record, "unary"), i, row)
      check_unary(row, t);
}
static void recorded_table(void **state) {
  (void)state;
  tally t = { 0 };
  cx_promotion(CX_PROMOTE_JAX);
  assert_int_equal(records_each(RECORD, check_record, &t), 1);
  cx_promotion(CX_PROMOTE_STRICT);
  assert_int_equal(t.wrong, 0);
  assert_true(t.entries > 2000 && t.errors > 200);
}

/* -- what the record does not hold --------------------------------------------------- */

/* The lattice is commutative and idempotent; promotion is the cast of both
 * operands. */
static void lattice(void **state) {
  (void)state;
  for (cx_dtype a = CX_BOOL; a <= CX_F64; a++)
    for (cx_dtype b = CX_BOOL; b <= CX_F64; b++) {
      const cx_dtype both = cx_promote_types(a, b);
      assert_int_equal(both, cx_promote_types(b, a));
      assert_int_equal(cx_promote_types(both, both), both);
      CX_SCOPE;
      cx x = cx_ones(a, 3), y = cx_ones(b, 3);
      cx_promotion(CX_PROMOTE_JAX);
      cx mixed = cx_maximum(x, y);
      cx_promotion(CX_PROMOTE_STRICT);
      cx cast = cx_maximum(cx_cast(x, both), cx_cast(y, both));
      cx_assert(cx_check_close(mixed, cast, .rtol = 1e-30));
    }
  assert_int_equal(cx_promote_types(CX_KEY, CX_KEY), CX_KEY);
  assert_int_equal(cx_promote_types(CX_KEY, CX_F32), 0);
  assert_int_equal(cx_promote_types(CX_F32, (cx_dtype)99), 0);
}
/* Without the switch, every pair of different dtypes is refused. */
static void strict_pairs(void **state) {
  (void)state;
  for (cx_dtype a = CX_BOOL; a <= CX_F64; a++)
    for (cx_dtype b = CX_BOOL; b <= CX_F64; b++) {
      CX_SCOPE;
      cx r = cx_maximum(cx_zeros(a, 2), cx_zeros(b, 2));
      if (a == b)
        assert_int_equal(cx_type(r), a);
      else
        cx_assert(cx_check_error(CX_EDTYPE, "dtypes differ"));
    }
}

static int open_context(void **state) {
  *state = cx_open("cpu");
  return *state == NULL;
}
static int close_context(void **state) {
  cx_close(*state);
  return 0;
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(recorded_table),
    cmocka_unit_test(lattice),
    cmocka_unit_test(strict_pairs),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
