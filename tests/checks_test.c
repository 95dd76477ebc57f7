/* checks_test.c - cx_checks: indices out of range and NaN, at their lines. */
#include "calx/testing.h"
#include "runtime/executables.h"
#include "support/calls.h"

static cx ints(int one, int two) {
  return cx_array(int32_t, one, two);
}

/* The code and the text, after "FILE:LINE: ". */
static void assert_found(cx_code code, const char *text) {
  const char *message;
  const cx_code got = cx_error(&message);
  if (got != code || !strstr(message, __FILE__ ":") || !strstr(message, text))
    fail_msg("%s: %s, wanted %s: %s", cx_code_name(got), message,
             cx_code_name(code), text);
}
#define FINDS(call, code, text) \
  do {                          \
    CX_SCOPE;                   \
    cx r_ = (call);             \
    (void)r_;                   \
    assert_found(code, text);   \
  } while (0)

/* -- one operation -------------------------------------------------------- */

static void operations(void **state) {
  (void)state;
  CX_SCOPE;
  const cx v = cx_arange(0, 5, 1, CX_F32), m = cx_ones(CX_F32, 3, 4);
  cx_checks(true);
  FINDS(cx_take(v, ints(1, 5), 0), CX_EINDEX,
        "gather: index 5 is out of range for axis 0 of f32[5]");
  FINDS(cx_take(v, ints(-1, -6), 0), CX_EINDEX,
        "gather: index -1 is out of range for axis 0 of f32[5], counted from "
        "the end already");
  FINDS(cx_index(m, CX_ALL, ints(0, 4)), CX_EINDEX,
        "gather: index 4 is out of range for axis 1 of f32[3,4]");
  FINDS(cx_index(m, ints(0, 3), ints(0, 1)), CX_EINDEX, "axis 0 of f32[3,4]");
  FINDS(cx_pick(m, cx_array(int32_t, 0, 1, 9)), CX_EINDEX, "index 9");
  FINDS(cx_at_add(v, (ints(2, 7)), 1), CX_EINDEX,
        "scatter_add: index 7 is out of range for axis 0 of f32[5]");
  FINDS(cx_at_mul(v, (ints(2, 7)), 2), CX_EINDEX, "scatter_mul: index 7");
  FINDS(cx_at_min(v, (ints(2, 7)), 2), CX_EINDEX, "scatter_min: index 7");
  FINDS(cx_at_max(v, (ints(2, 7)), 2), CX_EINDEX, "scatter_max: index 7");
  FINDS(cx_at_set(v, (ints(5, 2)), 1), CX_EINDEX, "scatter: index 5");
  FINDS(cx_dynamic_slice(v, cx_scalar(3, CX_I32), 3, 0), CX_EINDEX,
        "dynamic_slice: index 3 is out of range for axis 0 of f32[5] (3 "
        "elements from there)");
  FINDS(cx_dynamic_update(m, cx_ones(CX_F32, 2, 4), cx_scalar(2, CX_I32), 0),
        CX_EINDEX, "dynamic_update_slice: index 2");
  cx r = cx_take(v, ints(0, 4), 0); /* what is in range goes on */
  r = cx_take(v, ints(-5, -1), 0);
  r = cx_dynamic_slice(v, cx_scalar(2, CX_I32), 3, 0);
  r = cx_at_add(v, (ints(0, -1)), 1);
  r = cx_take(v, cx_zeros(CX_I32, 0), 0);
  (void)r;
  assert_good();
  cx_checks(false);
  r = cx_take(v, ints(1, 5), 0);
  assert_good();
}

/* -- within calls, loops and branches ------------------------------------- */

CX_DEF(looks_up, v, i) {
  return cx_sum(cx_take(cx_mul(v, 2), i, 0));
}
CX_DEF(visits, carry, i) {
  cx v = cx_nth(carry, 0), sum = cx_nth(carry, 1);
  return cx_tuple(cx_tuple(v, cx_add(sum, cx_index(v, i))), cx_none());
}
CX_DEF(visits_all, v, i) {
  return cx_nth(cx_nth(cx_scan(CX_FN(visits), cx_tuple(v, 0.0), i), 0), 1);
}
CX_DEF(small, s) {
  return cx_lt(cx_nth(s, 1), 8);
}
CX_DEF(walks, s) {
  cx v = cx_nth(s, 0), i = cx_nth(s, 1);
  return cx_tuple(cx_at_mul(v, (i), 2), cx_add(i, 1));
}
CX_DEF(walks_on, v, i) {
  return cx_sum(
      cx_nth(cx_while(CX_FN(small), CX_FN(walks), cx_tuple(v, cx_max(i))), 0));
}
CX_DEF(sums, v, i) {
  (void)i;
  return cx_sum(v);
}
CX_DEF(may_look_up, v, i) {
  return cx_cond(cx_gt(cx_max(i), 2), CX_FN(looks_up), CX_FN(sums), v, i);
}
CX_DEF(logs, carry, x) {
  return cx_tuple(cx_add(carry, cx_log(x)), cx_none());
}
CX_DEF(logs_all, xs) {
  return cx_nth(cx_scan(CX_FN(logs), 0.0, xs), 0);
}

static void inside(void **state) {
  (void)state;
  CX_SCOPE;
  const cx v = cx_arange(0, 5, 1, CX_F32), bad = ints(1, 5), good = ints(0, 1);
  const cx_fn functions[] = { CX_FN(looks_up), CX_FN(visits_all),
                              CX_FN(may_look_up) };
  cx_checks(true);
  for (int i = 0; i < 3; i++) {
    const cx_fn f = functions[i];
    const char *text = "index 5 is out of range for axis 0 of f32[5]";
    FINDS(cx_call(f, v, bad), CX_EINDEX, text);
    FINDS(cx_call(cx_jit(f), v, bad), CX_EINDEX, text);
    FINDS(cx_call(cx_grad(f), v, bad), CX_EINDEX, text);
    FINDS(cx_call(cx_jit(cx_grad(cx_checkpoint(f))), v, bad), CX_EINDEX, text);
    cx r = cx_call(cx_jit(cx_grad(f)), v, good);
    r = cx_call(cx_vmap(f, .in = { CX_NONE, 0 }), v, cx_stack(0, good, good));
    (void)r;
    assert_good();
  }
  FINDS(cx_call(CX_FN(walks_on), v, good), CX_EINDEX, "index 5");
  FINDS(cx_call(CX_FN(logs_all), cx_array(float, 1, 2, -1)), CX_ENAN,
        "log: the result f32[] has a NaN");
  cx_checks(false);
}

/* -- each equation runs once ----------------------------------------------- */

CX_STRUCT(nest, (int, depth));
CX_DEF_ENV(chain, nest, e, v, i) {
  if (e->depth == 0) return cx_add(v, cx_sum(cx_take(v, i, 0)));
  return cx_call(CX_BIND(chain, .depth = e->depth - 1), v, i);
}
static uint64_t equations_run(cx_fn f) {
  CX_SCOPE;
  const cx v = cx_arange(0, 5, 1, CX_F32), i = ints(0, 1);
  (void)cx_size(cx_call(cx_jit(f), v, i));
  const cxi_executables_stats before = cxi_executables_kept();
  (void)cx_size(cx_call(cx_jit(f), v, i));
  const cxi_executables_stats after = cxi_executables_kept();
  assert_good();
  return after.hits + after.misses - before.hits - before.misses;
}
static void once(void **state) {
  (void)state;
  CX_SCOPE;
  cx_checks(true);
  const uint64_t one = equations_run(CX_BIND(chain, .depth = 1));
  assert_true(one > 0);
  assert_int_equal(equations_run(CX_BIND(chain, .depth = 9)), one);
  cx_checks(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(operations),
    cmocka_unit_test(inside),
    cmocka_unit_test(once),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
