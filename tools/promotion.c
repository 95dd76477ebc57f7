/* promotion.c - the recorded table of promotions, row by row. */
#include "promotion.h"

#include <stdio.h>
#include <string.h>

#include "calx/calx.h"

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

/* What is wrong with a row, or empty. */
typedef struct finding {
  char why[256];
} finding;

static void wrong(finding *f, const char *what, const char *got) {
  if (!f->why[0]) snprintf(f->why, sizeof f->why, "%s: %s", what, got);
}

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
                  const dtype_name *b, cx got, finding *f) {
  const bool refused = json_object_get(result, "error") != NULL;
  const cx_code code = cx_error(NULL);
  if (refused) {
    if (code != CX_EDTYPE) wrong(f, what, "not refused");
  } else if (code != CX_OK) {
    wrong(f, what, cx_code_name(code));
  } else if (cx_type(got) != expected(result, a, b)) {
    wrong(f, what, cx_show(got));
  }
}

/* -- the tables --------------------------------------------------------------------- */

static void check_binary(const json_t *row, finding *f) {
  CX_SCOPE;
  const dtype_name *a = find(json_string_value(json_object_get(row, "a")));
  const dtype_name *b = find(json_string_value(json_object_get(row, "b")));
  if (!a || !b) {
    wrong(f, "row", "a dtype that is not known");
    return;
  }
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
    check(name, result, a, b, got, f);
    if (!strcmp(name, "where") && a->type && b->type &&
        cx_promote_types(a->type, b->type) != cx_type(got))
      wrong(f, "cx_promote_types", "not the type of a choice of both");
  }
}

static void check_unary(const json_t *row, finding *f) {
  CX_SCOPE;
  const dtype_name *a = find(json_string_value(json_object_get(row, "a")));
  if (!a) {
    wrong(f, "row", "a dtype that is not known");
    return;
  }
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
    if (!strcmp(name, "relu") && a->type == CX_BOOL) {
      /* There int64 of 64-bit mode. */
      if (cx_error(NULL) || cx_type(got) != CX_I32) wrong(f, name, "not i32");
    } else {
      check(name, result, a, NULL, got, f);
    }
  }
}

/* -- rows -------------------------------------------------------------------- */

bool table_is_promotion(const json_t *document) {
  return json_is_array(json_object_get(document, "dtypes")) &&
         json_is_array(json_object_get(document, "binary"));
}

static json_t *record_of(const json_t *row) {
  const char *a = json_string_value(json_object_get(row, "a"));
  const char *b = json_string_value(json_object_get(row, "b"));
  return json_pack("{s:s+++, s:s}", "name", "promotion/", a ? a : "?",
                   b ? "," : "", b ? b : "", "kind", "table");
}

bool promotion_each(const json_t *document,
                    void (*each)(const json_t *record, const char *why,
                                 void *user),
                    void *user) {
  static const char *const lists[] = { "binary", "unary" };
  for (size_t k = 0; k < 2; k++) {
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(document, lists[k]), i, row) {
      finding f = { "" };
      json_t *record = record_of(row);
      if (!record) return false;
      if (k == 0)
        check_binary(row, &f);
      else
        check_unary(row, &f);
      each(record, f.why, user);
      json_decref(record);
    }
  }
  return true;
}
