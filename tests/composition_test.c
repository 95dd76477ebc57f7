/* composition_test.c - functions with rules of their own inside control flow
 * and transforms, two deep, against values of JAX.
 *
 * tests/data/composition/record.py says the same functions in JAX and what a
 * line of values.tsv holds. The rules are not the derivatives, so that a rule
 * that is passed over shows at once. CX_ROW=vjp,SB checks one. */
#include "support/calls.h"

#include <math.h>
#include <stdlib.h>

#include "calx/testing.h"

/* -- functions of (x, w, n) ----------------------------------------------- */

CX_DEF(jvp_value, x, w) {
  return cx_mul(cx_sin(x), w);
}
CX_DEF(jvp_rule, primals, tangents) {
  cx x = cx_nth(primals, 0), w = cx_nth(primals, 1);
  cx dx = cx_nth(tangents, 0), dw = cx_nth(tangents, 1);
  return cx_tuple(jvp_value(x, w), cx_add(cx_mul(cx_mul(cx_cos(x), 2), w, dx),
                                          cx_mul(cx_mul(cx_sin(x), 3), dw)));
}
CX_DEF(jvp, x, w, n) {
  (void)n;
  return cx_call(cx_custom_jvp(CX_FN(jvp_value), CX_FN(jvp_rule)), x, w);
}

CX_DEF(jvp_int_value, x, w, n) {
  return cx_add(cx_mul(x, w), cx_cast(n, CX_F64));
}
CX_DEF(jvp_int_rule, primals, tangents) {
  cx x, w, n;
  cx_unpack(primals, &x, &w, &n);
  cx dx = cx_nth(tangents, 0), dw = cx_nth(tangents, 1);
  cx half = cx_mul(cx_cast(n, CX_F64), 0.5);
  return cx_tuple(jvp_int_value(x, w, n),
                  cx_add(cx_mul(w, dx, 2), cx_mul(half, x, dw)));
}
CX_DEF(jvp_int, x, w, n) {
  return cx_call(cx_custom_jvp(CX_FN(jvp_int_value), CX_FN(jvp_int_rule)), x, w,
                 n);
}

CX_DEF(jvp_aux_value, x, w, n) {
  return cx_tuple(cx_mul(x, w), cx_add(n, 1));
}
CX_DEF(jvp_aux_rule, primals, tangents) {
  cx x, w, n;
  cx_unpack(primals, &x, &w, &n);
  cx dx = cx_nth(tangents, 0), dw = cx_nth(tangents, 1);
  cx dy = cx_add(cx_mul(dx, w, 2), cx_mul(x, dw, 4));
  return cx_tuple(jvp_aux_value(x, w, n), cx_tuple(dy, cx_none()));
}
CX_DEF(jvp_aux, x, w, n) {
  cx y, k;
  cx_unpack(cx_call(cx_custom_jvp(CX_FN(jvp_aux_value), CX_FN(jvp_aux_rule)), x,
                    w, n),
            &y, &k);
  return cx_mul(y, cx_cast(k, CX_F64));
}

CX_DEF(vjp_value, x, w) {
  return cx_mul(x, w);
}
CX_DEF(vjp_fwd, x, w) {
  return cx_tuple(cx_mul(x, w), cx_tuple(x, w));
}
CX_DEF(vjp_bwd, r, ct) {
  cx x = cx_nth(r, 0), w = cx_nth(r, 1);
  return cx_tuple(cx_mul(ct, w, 3), cx_sum(cx_mul(ct, x, 5)));
}
CX_DEF(vjp, x, w, n) {
  (void)n;
  return cx_call(
      cx_custom_vjp(CX_FN(vjp_value), CX_FN(vjp_fwd), CX_FN(vjp_bwd)), x, w);
}

CX_DEF(vjp_int_fwd, x, w, n) {
  return cx_tuple(jvp_int_value(x, w, n), cx_tuple(x, w, n));
}
CX_DEF(vjp_int_bwd, r, ct) {
  cx x, w, n;
  cx_unpack(r, &x, &w, &n);
  return cx_tuple(cx_mul(ct, w, cx_cast(n, CX_F64)),
                  cx_mul(cx_sum(cx_mul(ct, x)), 2), cx_none());
}
CX_DEF(vjp_int, x, w, n) {
  return cx_call(cx_custom_vjp(CX_FN(jvp_int_value), CX_FN(vjp_int_fwd),
                               CX_FN(vjp_int_bwd)),
                 x, w, n);
}

CX_DEF(vjp_aux_value, x, w) {
  return cx_tuple(cx_mul(x, w), cx_mul(x, x));
}
CX_DEF(vjp_aux_fwd, x, w) {
  return cx_tuple(vjp_aux_value(x, w), cx_tuple(x, w));
}
CX_DEF(vjp_aux_bwd, r, ct) {
  cx x = cx_nth(r, 0), w = cx_nth(r, 1), y = cx_nth(ct, 0), aux = cx_nth(ct, 1);
  return cx_tuple(cx_add(cx_mul(y, w, 3), cx_mul(aux, x, 7)),
                  cx_sum(cx_mul(y, x, 5)));
}
CX_DEF(vjp_aux, x, w, n) {
  cx y, aux;
  (void)n;
  cx_unpack(cx_call(cx_custom_vjp(CX_FN(vjp_aux_value), CX_FN(vjp_aux_fwd),
                                  CX_FN(vjp_aux_bwd)),
                    x, w),
            &y, &aux);
  return cx_add(y, cx_mul(aux, 0.25));
}

CX_STRUCT(weight_env, (cx, w));
CX_DEF_ENV(with_weight, weight_env, e, x) {
  return vjp(x, e->w, cx_none());
}
CX_DEF(captured, x, w, n) {
  (void)n;
  return cx_call(CX_BIND(with_weight, .w = cx_mul(w, 2)), x);
}

typedef struct named {
  const char *name;
  const cx_def *def;
} named;
static const named functions[] = {
  { "jvp", &jvp_def },           { "jvp_int", &jvp_int_def },
  { "jvp_aux", &jvp_aux_def },   { "vjp", &vjp_def },
  { "vjp_int", &vjp_int_def },   { "vjp_aux", &vjp_aux_def },
  { "captured", &captured_def },
};

/* -- wrappers ------------------------------------------------------------- */

CX_STRUCT(wrapped_env, (cx_fn, f));
CX_STRUCT(step_env, (cx_fn, f), (cx, w), (cx, n));

CX_DEF_ENV(scan_step, step_env, e, c, i) {
  (void)i;
  return cx_tuple(cx_call(e->f, c, e->w, e->n), cx_none());
}
CX_DEF_ENV(scanned, wrapped_env, e, x, w, n) {
  cx_fn step = CX_BIND(scan_step, .f = e->f, .w = w, .n = n);
  return cx_nth(cx_scan(step, x, cx_none(), .length = 2), 0);
}

CX_DEF(twice, x, w, n) {
  (void)w, (void)n;
  return cx_mul(x, 2);
}
CX_DEF_ENV(branched, wrapped_env, e, x, w, n) {
  return cx_cond(cx_gt(cx_sum(x), 0), e->f, CX_FN(twice), x, w, n);
}

CX_DEF(two_steps, s) {
  return cx_lt(cx_nth(s, 0), 2);
}
CX_DEF_ENV(while_step, step_env, e, s) {
  return cx_tuple(cx_add(cx_nth(s, 0), 1),
                  cx_call(e->f, cx_nth(s, 1), e->w, e->n));
}
CX_DEF_ENV(repeated, wrapped_env, e, x, w, n) {
  cx_fn step = CX_BIND(while_step, .f = e->f, .w = w, .n = n);
  cx start = cx_tuple(cx_scalar(0, CX_I32), x);
  return cx_nth(cx_while(CX_FN(two_steps), step, start, .max_steps = 3), 1);
}

CX_DEF_ENV(mapped, wrapped_env, e, x, w, n) {
  cx rows = cx_ndim(x) == 0 ? cx_reshape(x, 1) : x;
  cx_fn f = cx_vmap(e->f, .in = { 0, CX_NONE, CX_NONE });
  return cx_reshape(cx_call(f, rows, w, n), cx_shape(x));
}

static cx_fn wrapped(cx_fn f, const char *word) {
  for (size_t i = strlen(word); i-- > 0;) {
    switch (word[i]) {
    case 'S':
      f = CX_BIND(scanned, .f = f);
      break;
    case 'B':
      f = CX_BIND(branched, .f = f);
      break;
    case 'W':
      f = CX_BIND(repeated, .f = f);
      break;
    case 'V':
      f = CX_BIND(mapped, .f = f);
      break;
    case 'C':
      f = cx_checkpoint(f);
      break;
    default:
      f = cx_jit(f);
    }
  }
  return f;
}

/* -- what is compared ----------------------------------------------------- */

CX_DEF_ENV(loss, wrapped_env, e, x, w, n) {
  return cx_sum(cx_sin(cx_call(e->f, x, w, n)));
}
CX_DEF_ENV(slope, wrapped_env, e, x, w, n) {
  return cx_sum(cx_sin(cx_call(cx_grad(CX_BIND(loss, .f = e->f)), x, w, n)));
}

typedef struct row {
  char name[16], word[8];
  double sign;
  char *field[5]; /* value, by x, by w, second, tangent */
} row;

static bool read_row(char *line, row *r) {
  char *field[8] = { line };
  int n = 1;
  for (char *c = line; *c; c++) {
    if (*c == '\n') *c = 0;
    if (*c != '\t' || n == 8) continue;
    *c = 0;
    field[n++] = c + 1;
  }
  if (n != 8 || strlen(field[0]) >= sizeof r->name ||
      strlen(field[1]) >= sizeof r->word)
    return false;
  strcpy(r->name, field[0]);
  strcpy(r->word, field[1][0] == '-' ? "" : field[1]);
  r->sign = atof(field[2]);
  memcpy(r->field, field + 3, sizeof r->field);
  return true;
}

static int n_failed;

/* All numbers of the field, within what rounding leaves. */
static void compare(const row *r, const char *what, const char *field, cx got) {
  const char *message = "";
  const double *is = cx_data(got);
  const int64_t n = cx_size(got);
  char *end = (char *)(uintptr_t)field;
  if (cx_error(&message) != CX_OK || !is) {
    print_error("CX_ROW=%s,%s %s: %s\n", r->name, r->word, what, message);
    n_failed++;
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const double want = strtod(end, &end);
    if (fabs(is[i] - want) <= 1e-11 * (1 + fabs(want))) continue;
    print_error("CX_ROW=%s,%s x %g, %s[%d]: %.14g, JAX has %.14g\n", r->name,
                r->word, r->sign, what, (int)i, is[i], want);
    n_failed++;
    return;
  }
  assert_int_equal(*end, 0);
}

static const cx_def *function_of(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, name)) return functions[i].def;
  fail_msg("no function %s", name);
  return NULL;
}

static void check_row(const row *r) {
  CX_SCOPE;
  cx_fn f = wrapped(cx_fn_make(function_of(r->name), NULL), r->word);
  cx x = cx_mul(cx_array(double, 0.3, -0.7, 1.1), r->sign);
  cx w = cx_scalar(0.8, CX_F64), n = cx_scalar(2, CX_I32), g;
  compare(r, "value", r->field[0], cx_call(f, x, w, n));
  g = cx_call(cx_grad(CX_BIND(loss, .f = f), .wrt = CX_ARGS(0, 1)), x, w, n);
  compare(r, "by x", r->field[1], cx_nth(g, 0));
  compare(r, "by w", r->field[2], cx_nth(g, 1));
  cx_fn second = cx_grad(CX_BIND(slope, .f = f));
  compare(r, "second", r->field[3], cx_call(second, x, w, n));
  if (r->field[4][0] == '-') {
    if (!strchr(r->field[4], ' ')) return;
  }
  cx dx = cx_array(double, 0.5, -1, 0.25), dw = cx_scalar(0.3, CX_F64);
  g = cx_call(cx_jvp(f), cx_tuple(x, w, n), cx_tuple(dx, dw, cx_none()));
  compare(r, "tangent", r->field[4], cx_nth(g, 1));
}

/* All lines; those with jit once more under another one. */
static void values_of_jax(void **state) {
  (void)state;
  static char line[2000];
  const char *only = getenv("CX_ROW");
  FILE *file = fopen("tests/data/composition/values.tsv", "r");
  int n = 0;
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    row r;
    char name[32];
    if (!read_row(line, &r)) fail_msg("not a row: %s", line);
    snprintf(name, sizeof name, "%s,%s", r.name, r.word);
    if (only && strcmp(only, name) != 0) continue;
    check_row(&r);
    n++;
  }
  fclose(file);
  print_message("%d rows\n", n);
  assert_int_equal(n, only ? 2 : 7 * 43 * 2);
  assert_int_equal(n_failed, 0);
}

/* Forward mode of what has a reverse mode alone is an error, however deep. */
static void forward_mode_is_refused(void **state) {
  (void)state;
  static const char *const words[] = { "",  "S", "B",  "W", "C",
                                       "V", "J", "SV", "CJ" };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    CX_SCOPE;
    cx_fn f = wrapped(CX_FN(vjp), words[i]);
    cx x = cx_array(double, 0.3, 0.7, 1.1), w = cx_scalar(0.8, CX_F64);
    cx n = cx_scalar(2, CX_I32);
    cx g = cx_call(cx_jvp(f), cx_tuple(x, w, n),
                   cx_tuple(x, cx_ones_like(w), cx_none()));
    (void)!cx_data(cx_nth(g, 1));
    assert_error(CX_ENORULE, "forward mode through the custom_vjp");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_of_jax),
    cmocka_unit_test(forward_mode_is_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
