/* checkify_test.c - errors as values, and checks that are none: in calls, loops
 * and branches, under each transform, on both executors. */
#include <math.h>

#include "calx/testing.h"
#include "support/wrong.h"

/* The error that f has on x: its text without the line; NULL: none. */
static const char *error_of(cx_fn f, cx x) {
  const char *text = cx_checked(cx_nth(cx_call(f, x), 0));
  assert_good();
  if (!text) return NULL;
  const char *line = strstr(text, "checkify_test.c:");
  assert_non_null(line);
  return strchr(strchr(line, ':') + 1, ':') + 2;
}

static void assert_finds(cx_fn f, unsigned errors, cx x, const char *want) {
  const cx_fn checked = cx_checkify(f, .errors = errors);
  const cx_fn ways[] = { checked, cx_jit(checked),
                         cx_checkify(cx_jit(f), .errors = errors),
                         cx_checkify(cx_checkpoint(f), .errors = errors) };
  for (int i = 0; i < 4; i++) {
    const char *got = error_of(ways[i], x);
    if (!want && got) fail_msg("%d: found \"%s\"", i, got);
    if (want && (!got || !strstr(got, want)))
      fail_msg("%d: found \"%s\", not \"%s\"", i, got ? got : "nothing", want);
  }
  /* the result is what it is without */
  cx_error(NULL);
  if (!(errors & CX_CHECK_USER) && errors)
    assert_same_bits(cx_nth(cx_call(checked, x), 1), cx_call(f, x));
}

/* -- each kind -------------------------------------------------------------- */

CX_DEF(logs, x) {
  return cx_sum(cx_log(cx_sub(x, 1)));
}
CX_DEF(divides, x) {
  return cx_div(1.0, x);
}
CX_DEF(remains, i) {
  return cx_rem(cx_full_like(i, 7), i);
}
CX_DEF(takes, i) {
  return cx_take(cx_arange(0, 5, 1, CX_F32), i, 0);
}
CX_DEF(indexes, i) {
  return cx_index(cx_arange(0, 5, 1, CX_F32), i);
}
CX_DEF(slices, i) {
  return cx_dynamic_slice(cx_arange(0, 5, 1, CX_F32), i, 3, 0);
}
CX_DEF(updates, i) {
  return cx_dynamic_update(cx_zeros(CX_F32, 5), cx_ones(CX_F32, 2), i, 0);
}
CX_DEF(scatters, i) {
  return cx_at_add(cx_zeros(CX_F32, 5), (i), 1.0);
}
CX_DEF(asserts, x) {
  cx_check(cx_gt(x, 0), "x is positive");
  cx_check(cx_lt(x, 10), "x is small");
  return cx_mul(x, 2);
}

static cx at(int i) {
  return cx_scalar(i, CX_I32);
}

static void kinds(void **state) {
  (void)state;
  CX_SCOPE;
  const cx good = cx_array(float, 2, 3), bad = cx_array(float, 2, 0);
  assert_finds(CX_FN(logs), CX_CHECK_NAN, good, NULL);
  assert_finds(CX_FN(logs), CX_CHECK_NAN, bad,
               "log: the result has a NaN, the operands have none");
  assert_finds(CX_FN(logs), CX_CHECK_ALL & ~(unsigned)CX_CHECK_NAN, bad, NULL);
  /* one that comes in is not made here */
  assert_finds(CX_FN(logs), CX_CHECK_NAN, cx_array(float, 2, NAN), NULL);
  assert_finds(CX_FN(divides), CX_CHECK_DIVISION, good, NULL);
  assert_finds(CX_FN(divides), CX_CHECK_DIVISION, bad, "div: division by zero");
  assert_finds(CX_FN(divides), CX_CHECK_INDEX, bad, NULL);
  assert_finds(CX_FN(remains), CX_CHECK_DIVISION, at(0),
               "rem: division by zero");
  const struct {
    cx_fn f;
    const char *primitive;
    int least, most; /* that are in range */
  } index[] = {
    { CX_FN(takes), "gather", -5, 4 },
    { CX_FN(indexes), "", -5, 4 },
    { CX_FN(slices), "dynamic_slice", -5, 2 },
    { CX_FN(updates), "dynamic_update_slice", -5, 3 },
    { CX_FN(scatters), "", -5, 4 },
  };
  for (size_t i = 0; i < sizeof index / sizeof *index; i++) {
    char want[80];
    snprintf(want, sizeof want, "%s: an index is out of range",
             index[i].primitive);
    assert_finds(index[i].f, CX_CHECK_INDEX, at(0), NULL);
    assert_finds(index[i].f, CX_CHECK_INDEX, at(index[i].most), NULL);
    assert_finds(index[i].f, CX_CHECK_INDEX, at(index[i].most + 1), want);
    assert_finds(index[i].f, CX_CHECK_INDEX, at(index[i].least - 1), want);
    assert_finds(index[i].f, CX_CHECK_USER | CX_CHECK_DIVISION, at(99), NULL);
  }
  assert_finds(CX_FN(asserts), 0, good, NULL);
  assert_finds(CX_FN(asserts), 0, bad, "check: x is positive");
  assert_finds(CX_FN(asserts), CX_CHECK_ALL, cx_array(float, 11), "x is small");
  /* the first one counts */
  assert_finds(CX_FN(asserts), 0, cx_array(float, 11, -1), "x is positive");
}

/* -- control flow ----------------------------------------------------------- */

CX_DEF(scan_step, carry, x) {
  cx next = cx_sub(carry, x);
  return cx_tuple(next, cx_log(next));
}
CX_DEF(scanned, xs) {
  return cx_scan(CX_FN(scan_step), cx_lit_f(5), xs);
}
CX_DEF(above, x) {
  cx_check(cx_gt(x, -5), "in the condition");
  return cx_gt(cx_abs(x), 1);
}
CX_DEF(down, x) {
  cx_check(cx_lt(x, 100), "in the body");
  return cx_sub(x, 2);
}
CX_DEF(looped, x) {
  return cx_while(CX_FN(above), CX_FN(down), x);
}
CX_DEF(takes_log, x) {
  return cx_log(x);
}
CX_DEF(takes_root, x) {
  return cx_sqrt(x);
}
CX_DEF(branched, x) {
  return cx_cond(cx_lt(x, 0), CX_FN(takes_log), CX_FN(takes_root), x);
}
CX_DEF(soft, x) {
  return cx_sum(cx_softmax(cx_sub(x, cx_max(x)), -1));
}

static void control(void **state) {
  (void)state;
  CX_SCOPE;
  assert_finds(CX_FN(scanned), CX_CHECK_NAN, cx_array(float, 1, 2), NULL);
  assert_finds(CX_FN(scanned), CX_CHECK_NAN, cx_array(float, 1, 9, -20),
               "log: the result has a NaN");
  assert_finds(CX_FN(looped), 0, cx_lit_f(9), NULL);
  assert_finds(CX_FN(looped), 0, cx_lit_f(101), "check: in the body");
  assert_finds(CX_FN(looped), 0, cx_lit_f(-7), "check: in the condition");
  assert_finds(CX_FN(looped), 0, cx_lit_f(-4), "check: in the condition");
  assert_finds(CX_FN(branched), CX_CHECK_NAN, cx_lit_f(4), NULL);
  assert_finds(CX_FN(branched), CX_CHECK_NAN, cx_lit_f(-4), "log: the result");
  assert_finds(CX_FN(soft), CX_CHECK_NAN, cx_array(float, 1, 2), NULL);
  assert_finds(CX_FN(soft), CX_CHECK_NAN, cx_array(float, 1, INFINITY),
               "the result has a NaN");
}

/* -- transforms --------------------------------------------------------------- */

CX_DEF(checked_loss, x) { /* (loss, error): for .has_aux */
  cx out = cx_call(cx_checkify(CX_FN(logs), .errors = CX_CHECK_NAN), x);
  return cx_tuple(cx_nth(out, 1), cx_nth(out, 0));
}
CX_DEF(rooted, x) {
  return cx_sum(cx_sqrt(cx_abs(x)));
}
CX_DEF(own, x) {
  return cx_log(x);
}
CX_DEF(own_fwd, x) {
  return cx_tuple(cx_log(x), x);
}
CX_DEF(own_bwd, x, ct) {
  return cx_tuple(cx_div(cx_mul(ct, 7), x));
}
CX_DEF(own_loss, x) {
  return cx_sum(
      cx_call(cx_custom_vjp(CX_FN(own), CX_FN(own_fwd), CX_FN(own_bwd)), x));
}
CX_DEF(own_checked, x) {
  return cx_nth(
      cx_call(cx_checkify(CX_FN(own_loss), .errors = CX_CHECK_ALL), x), 1);
}
static void transforms(void **state) {
  (void)state;
  CX_SCOPE;
  /* a lane has its own error */
  const cx rows = cx_reshape(cx_array(float, 2, 3, 0, 3, 2, 0), 3, 2);
  const cx_fn each = cx_vmap(cx_checkify(CX_FN(logs), .errors = CX_CHECK_NAN));
  for (int jit = 0; jit < 2; jit++) {
    const cx out = cx_call(jit ? cx_jit(each) : each, rows);
    const cx error = cx_nth(out, 0);
    assert_null(cx_checked(cx_index(error, 0)));
    assert_non_null(cx_checked(cx_index(error, 1)));
    assert_non_null(cx_checked(error));
  }
  assert_finds(cx_vmap(CX_FN(logs)), CX_CHECK_NAN, rows, "log: the result");
  assert_finds(cx_vmap(CX_FN(takes)), CX_CHECK_INDEX, cx_array(int32_t, 1, 7),
               "gather: an index is out of range");
  const cx_fn lanes = cx_vmap(cx_checkify(CX_FN(looped)));
  const cx errors = cx_nth(cx_call(lanes, cx_array(float, 9, 101, 3)), 0);
  assert_null(cx_checked(cx_index(errors, 0)));
  assert_non_null(strstr(cx_checked(cx_index(errors, 1)), "in the body"));
  assert_null(cx_checked(cx_index(errors, 2)));
  const cx_fn branches =
      cx_vmap(cx_checkify(CX_FN(branched), .errors = CX_CHECK_NAN));
  const cx found = cx_nth(cx_call(branches, cx_array(float, 4, -4)), 0);
  assert_null(cx_checked(cx_index(found, 0)));
  assert_non_null(strstr(cx_checked(cx_index(found, 1)), "log"));
  /* the derivative of what is checked, and what is wrong in a derivative */
  const cx x = cx_array(float, 2, 3);
  const cx out =
      cx_call(cx_value_and_grad(CX_FN(checked_loss), .has_aux = true), x);
  assert_same_bits(cx_nth(out, 1), cx_call(cx_grad(CX_FN(logs)), x));
  assert_null(cx_checked(cx_nth(cx_nth(out, 0), 1)));
  assert_finds(CX_FN(rooted), CX_CHECK_NAN, cx_array(float, 1, 0), NULL);
  assert_finds(cx_grad(CX_FN(rooted)), CX_CHECK_NAN, cx_array(float, 1, 0),
               "mul: the result has a NaN");
  /* a custom rule stays one */
  assert_same_bits(cx_call(cx_grad(CX_FN(own_checked)), x),
                   cx_call(cx_grad(CX_FN(own_loss)), x));
  assert_finds(CX_FN(own_loss), CX_CHECK_NAN, cx_array(float, -1),
               "custom_vjp: the result has a NaN");
}

/* -- without checkify ---------------------------------------------------------- */

CX_DEF(checks_all, x) {
  cx_check(cx_gt(x, 0), "each is positive");
  return cx_sum(x);
}

static void at_once(void **state) {
  (void)state;
  CX_SCOPE;
  const cx good = cx_array(float, 1, 2), bad = cx_array(float, 1, -2);
  const cx_fn fs[] = { CX_FN(checks_all), cx_jit(CX_FN(checks_all)),
                       cx_grad(CX_FN(checks_all)),
                       cx_jit(cx_vmap(CX_FN(checks_all))),
                       cx_jit(cx_grad(cx_checkpoint(CX_FN(checks_all)))) };
  for (int i = 0; i < 5; i++) {
    cx y = cx_call(fs[i], good);
    assert_good();
    y = cx_call(fs[i], bad);
    assert_error(CX_EUSER, "check: each is positive");
    cx_error(NULL);
    cx_drop(y);
  }
  cx_check(cx_gt(good, 0), "at once");
  assert_good();
  cx_check(cx_gt(bad, 0), "at once");
  assert_error(CX_EUSER, "check: at once");
  cx_error(NULL);
}

CX_DEF(checks_shown, x) {
  cx_check(cx_gt(x, 0), "x is {:.1f} and twice {}", x, cx_mul(x, 2));
  return cx_sum(x);
}

/* Values in the message: of a run, and of the lane that fails. */
static void messages_show_values(void **state) {
  (void)state;
  CX_SCOPE;
  const cx good = cx_scalar(3, CX_F32), bad = cx_scalar(-2, CX_F32);
  const cx_fn fs[] = { CX_FN(checks_shown), cx_jit(CX_FN(checks_shown)),
                       cx_grad(CX_FN(checks_shown)),
                       cx_jit(cx_grad(cx_checkpoint(CX_FN(checks_shown)))) };
  for (int i = 0; i < 4; i++) {
    cx y = cx_call(fs[i], good);
    assert_good();
    y = cx_call(fs[i], bad);
    assert_error(CX_EUSER, "check: x is -2.0 and twice -4");
    cx_drop(y);
  }
  const cx lanes = cx_array(float, 1, -5, 2, -7);
  cx r = cx_call(cx_jit(cx_vmap(CX_FN(checks_shown))), lanes);
  assert_error(CX_EUSER, "check: x is -5.0 and twice -10");
  cx_check(cx_lit_b(false), "{} of {}", 3, cx_array(int32_t, 1, 2));
  assert_error(CX_EUSER, "check: 3 of [1 2]");
  cx_check(cx_lit_b(false), "rows {}, then", cx_eye(CX_I32, 2));
  assert_error(CX_EUSER, "[0 1]], then");
  cx_check(cx_lit_b(false), "no value: {}");
  assert_error(CX_EUSER, "check: no value: {}");
  assert_finds(CX_FN(checks_shown), CX_CHECK_USER, bad,
               "x is {:.1f} and twice {}");
  cx_check(cx_lit_b(false), "two: {} {}", 3);
  assert_error(CX_EUSER, "check: ");
  (void)r;
}

static void thrown(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_fn f = cx_checkify(CX_FN(logs), .errors = CX_CHECK_ALL);
  assert_true(cx_throw(cx_nth(cx_call(f, cx_array(float, 2, 3)), 0)));
  assert_false(cx_throw(cx_nth(cx_call(f, cx_array(float, 2, 0)), 0)));
  assert_error(CX_ENAN, "log: the result has a NaN");
  cx_error(NULL);
  const cx_fn g = cx_checkify(CX_FN(takes), .errors = CX_CHECK_ALL);
  assert_false(cx_throw(cx_nth(cx_call(g, at(5)), 0)));
  assert_error(CX_EINDEX, "gather: an index is out of range");
  cx_error(NULL);
}

/* -- wrong uses ----------------------------------------------------------------- */

static cx unknown_kind(void) {
  cx_fn f = cx_checkify(CX_FN(logs), .errors = 99);
  if (f) cx_fail(CX_EUSER, "it was taken");
  return cx_none();
}
static cx no_error(void) {
  return cx_throw(cx_lit_f(1)) ? cx_none() : cx_none();
}
static cx foreign_error(void) {
  return cx_checked(cx_scalar(1 << 30, CX_I32)) ? cx_none() : cx_none();
}
static cx no_bool(void) {
  cx_check(cx_lit_f(1), "x");
  return cx_none();
}
static cx no_message(void) {
  cx_check(true, NULL);
  return cx_none();
}
static cx no_function(void) {
  cx_fn f = cx_checkify(NULL);
  return f ? cx_none() : cx_call(f, 1);
}
static const wrong wrong_calls[] = {
  { unknown_kind, CX_EUSER, "checkify: there are no errors 99" },
  { no_error, CX_EDTYPE, "throw: " },
  { foreign_error, CX_EINDEX, "checked: 1073741824 is no error" },
  { no_bool, CX_EDTYPE, "check: needs a bool array, got f32[]" },
  { no_message, CX_EUSER, "check: no message" },
  { no_function, CX_ETREE, "" },
};

static void wrong_uses(void **state) {
  (void)state;
  CHECK(wrong_calls);
}

static int start_reference(void **state) {
  *state = cx_open("reference");
  return *state == NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(kinds),
    cmocka_unit_test(control),
    cmocka_unit_test(transforms),
    cmocka_unit_test(at_once),
    cmocka_unit_test(messages_show_values),
    cmocka_unit_test(thrown),
    cmocka_unit_test(wrong_uses),
  };
  return cmocka_run_group_tests(tests, setup, teardown) +
         cmocka_run_group_tests(tests, start_reference, teardown);
}
