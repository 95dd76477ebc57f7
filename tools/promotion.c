/* promotion.c - the recorded table of promotions, row by row. */
#include "promotion.h"

#include <stdio.h>
#include <string.h>

#include "calx/calx.h"
#include "jaxpr_text.h"

/* -- names ---------------------------------------------------------------- */

/* A dtype, or a number of C: `type` is then what it is alone. */
typedef struct operand {
  const char *name;
  cx_dtype type;
  bool is_number;
} operand;

static operand operand_of(const json_t *row, const char *key) {
  const char *name = json_string_value(json_object_get(row, key));
  const bool is_number = name && !strncmp(name, "weak_", 5);
  const char *kind = is_number ? name + 5 : "";
  return (operand){ name ? name : "?",
                    !is_number               ? jaxpr_dtype(name)
                    : !strcmp(kind, "bool")  ? CX_BOOL
                    : !strcmp(kind, "int")   ? CX_I32
                    : !strcmp(kind, "float") ? CX_F32
                                             : 0,
                    is_number };
}

static cx value_of(operand x) {
  if (!x.is_number) return cx_ones(x.type, 2);
  return x.type == CX_BOOL  ? cx_lit_b(true)
         : x.type == CX_I32 ? cx_lit_i(1)
                            : cx_lit_f(1);
}

static const struct {
  const char *name;
  cx_op op;
} ops[] = {
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
  { "arctan2", CX_OP_ATAN2 },
};
static cx_op op_of(const char *name) {
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (!strcmp(ops[i].name, name)) return ops[i].op;
  return 0;
}

/* -- one entry ------------------------------------------------------------ */

/* What is wrong with a row, or empty. */
typedef struct finding {
  char why[256];
} finding;

static void wrong(finding *f, const char *what, const char *got) {
  if (!f->why[0]) snprintf(f->why, sizeof f->why, "%s: %s", what, got);
}

/* Without a width of its own, so that a number beside it chooses one. */
static bool has_no_width(operand x) {
  return x.is_number || x.type == CX_BOOL;
}

/* The record is of 64-bit mode, in which a number of Python is int64 or
 * float64; one of C is i32 or f32. `b` repeats a for an operation of one. */
static cx_dtype expected(const json_t *result, operand a, operand b) {
  const cx_dtype type =
      jaxpr_dtype(json_string_value(json_object_get(result, "dtype")));
  const bool numbers =
      has_no_width(a) && has_no_width(b) && (a.is_number || b.is_number);
  const bool number =
      (a.is_number && a.type == CX_F32) || (b.is_number && b.type == CX_F32);
  if (numbers && type == CX_I64) return CX_I32;
  if (type == CX_F64 &&
      (numbers || (number && a.type != CX_F64 && b.type != CX_F64)))
    return CX_F32;
  return type;
}

static void check(const char *what, const json_t *result, operand a, operand b,
                  cx got, finding *f) {
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

/* -- the tables ----------------------------------------------------------- */

static void check_binary(const json_t *row, finding *f) {
  CX_SCOPE;
  const operand a = operand_of(row, "a"), b = operand_of(row, "b");
  if (!a.type || !b.type) {
    wrong(f, "row", "a dtype that is not known");
    return;
  }
  const char *name;
  json_t *result;
  json_object_foreach(json_object_get(row, "ops"), name, result) {
    const cx two[2] = { value_of(a), value_of(b) };
    const cx_op op = op_of(name);
    cx got;
    if (op)
      got = cx_fold_(op, 2, two, CX_AT);
    else if (!strcmp(name, "where"))
      got = cx_where(true, two[0], two[1]);
    else
      continue; /* true_divide: integers are divided as integers here */
    check(name, result, a, b, got, f);
    if (!strcmp(name, "where") && !a.is_number && !b.is_number &&
        cx_promote_types(a.type, b.type) != cx_type(got))
      wrong(f, "cx_promote_types", "not the type of a choice of both");
  }
}

static void check_unary(const json_t *row, finding *f) {
  CX_SCOPE;
  const operand a = operand_of(row, "a");
  if (!a.type) {
    wrong(f, "row", "a dtype that is not known");
    return;
  }
  const char *name;
  json_t *result;
  json_object_foreach(json_object_get(row, "ops"), name, result) {
    const cx x = value_of(a);
    const cx_op op = op_of(name);
    cx got;
    if (a.is_number) continue; /* a number of C becomes an array first */
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
    if (!strcmp(name, "relu") && a.type == CX_BOOL) {
      /* There int64 of 64-bit mode. */
      if (cx_error(NULL) || cx_type(got) != CX_I32) wrong(f, name, "not i32");
    } else {
      check(name, result, a, a, got, f);
    }
  }
}

/* -- rows ----------------------------------------------------------------- */

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
