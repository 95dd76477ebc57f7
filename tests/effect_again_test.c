/* effect_again_test.c - effects in what is computed again: a checkpoint's
 * recomputation and the second loop of a while that was split. They happen
 * once, wherever they stand inside. */
#include "calx/testing.h"
#include "support/written.h"
#include "support/wrong.h"

static int n_calls;

static cx_code halve(const cx_buf *in, cx_buf *out, void *user) {
  (void)user;
  n_calls++;
  *(double *)out->data = 0.5 * *(const double *)in->data;
  return CX_OK;
}

/* -- what has an effect, and results that reverse mode wants ---------------- */

CX_DEF(prints, x) {
  cx y = cx_sin(x);
  cx_debug_print("x {:.2f}", x);
  return cx_sin(y);
}
CX_DEF(by_call, x) {
  return cx_call(cx_jit(CX_FN(prints)), cx_call(cx_jit(CX_FN(prints)), x));
}
CX_DEF(step, x, i) {
  cx_debug_print("step {}", i);
  return cx_tuple(cx_sin(x), x);
}
CX_DEF(by_loop, x) {
  cx both = cx_scan(CX_FN(step), x, cx_arange(0, 3, 1, CX_I32));
  return cx_add(cx_nth(both, 0), cx_sum(cx_nth(both, 1)));
}
CX_DEF(by_branch, x) {
  return cx_cond(cx_gt(x, 0), CX_FN(prints), CX_FN(by_call), x);
}
CX_DEF(by_inner_checkpoint, x) {
  return cx_call(cx_checkpoint(CX_FN(by_call)), cx_sin(x));
}
/* Twice differentiated inside: the effect stands in a call of what is known. */
CX_DEF(by_gradient, x) {
  return cx_call(cx_grad(CX_FN(prints)), x);
}
CX_DEF(by_host, x) {
  cx half = cx_callback(halve, cx_spec(CX_F64, CX_SCALAR),
                        (cx_stop_gradient(x)), .effect = true);
  return cx_mul(cx_sin(x), cx_sin(half));
}
CX_DEF(by_host_inside, x) {
  return cx_call(cx_jit(CX_FN(by_host)), x);
}

#define PRINTED "x 0.70\n"

static void once(cx_fn f, const char *want) {
  const cx x = cx_scalar(0.7, CX_F64);
  const cx_fn again = cx_checkpoint(f);
  const cx plain = cx_call(cx_grad(f), x);
  assert_written(want);
  assert_same_bits(cx_call(cx_grad(again), x), plain);
  assert_written(want);
  assert_same_bits(cx_call(cx_jit(cx_grad(again)), x), plain);
  assert_written(want);
  cx_fn pull = cx_pullback(again, cx_tuple(x), NULL);
  assert_written(want);
  assert_same_bits(cx_nth(cx_call(pull, cx_scalar(1, CX_F64)), 0), plain);
  assert_written("");
}

static void prints_happen_once(void **state) {
  (void)state;
  CX_SCOPE;
  once(CX_FN(prints), PRINTED);
  once(CX_FN(by_call), PRINTED "x 0.60\n");
  once(CX_FN(by_loop), "step 0\nstep 1\nstep 2\n");
  once(CX_FN(by_branch), PRINTED);
  once(CX_FN(by_inner_checkpoint), "x 0.64\nx 0.57\n");
  once(CX_FN(by_gradient), PRINTED);
}

/* What an effect returned is kept. */
static void host_functions_run_once(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_scalar(0.7, CX_F64);
  const cx_fn fs[] = { CX_FN(by_host), CX_FN(by_host_inside) };
  for (int i = 0; i < 2; i++) {
    const cx want = cx_call(cx_grad(fs[i]), x);
    n_calls = 0;
    assert_same_bits(cx_call(cx_grad(cx_checkpoint(fs[i])), x), want);
    assert_int_equal(n_calls, 1);
    const cx_policy policies[] = { CX_SAVE_DOTS, CX_SAVE_EVERYTHING };
    for (int k = 0; k < 2; k++) {
      cx_fn f = cx_grad(cx_checkpoint(fs[i], .policy = policies[k]));
      assert_same_bits(cx_call(f, x), want);
      assert_int_equal(n_calls, k + 2);
    }
    assert_good();
  }
}

/* Ordered ones too: what they returned is kept, and otherwise they are not
 * looked at again. */
CX_DEF(by_ordered, x) {
  cx half = cx_callback(halve, cx_spec(CX_F64, CX_SCALAR),
                        (cx_stop_gradient(x)), .ordered = true);
  return cx_add(cx_sin(cx_sin(x)), half);
}
CX_DEF(by_ordered_inside, x) {
  return cx_call(cx_jit(CX_FN(by_ordered)), x);
}
CX_DEF(by_ordered_result, x) {
  cx half = cx_callback(halve, cx_spec(CX_F64, CX_SCALAR),
                        (cx_stop_gradient(x)), .ordered = true);
  return cx_mul(cx_sin(x), half);
}
CX_DEF(by_both, x) {
  return cx_add(cx_call(cx_jit(CX_FN(by_ordered_result)), x), by_host(x));
}
static void ordered_effects_happen_once(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_scalar(0.7, CX_F64);
  const cx_fn fs[] = { CX_FN(by_ordered), CX_FN(by_ordered_inside),
                       CX_FN(by_ordered_result), CX_FN(by_both) };
  for (int i = 0; i < 4; i++) {
    n_calls = 0;
    const cx want = cx_call(cx_grad(fs[i]), x);
    const int once = n_calls;
    assert_same_bits(cx_call(cx_grad(cx_checkpoint(fs[i])), x), want);
    assert_int_equal(n_calls, 2 * once);
    assert_good();
  }
}

/* -- a while that is split --------------------------------------------------- */

CX_DEF(below, s) {
  return cx_lt(cx_nth(s, 0), 3);
}
CX_DEF(grow, s) {
  cx_debug_print("at {}", cx_nth(s, 0));
  return cx_tuple(cx_add(cx_nth(s, 0), 1), cx_sin(cx_nth(s, 1)));
}
CX_DEF(by_while, x) {
  return cx_nth(cx_while(CX_FN(below), CX_FN(grow), cx_tuple(0, x)), 1);
}
static void a_split_while_prints_once(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_scalar(0.7, CX_F64);
  cx value;
  cx_fn push = cx_linearize(CX_FN(by_while), cx_tuple(x), &value);
  assert_written("at 0\nat 1\nat 2\n");
  cx both = cx_call(cx_jvp(CX_FN(by_while)), cx_tuple(x), cx_tuple(x));
  assert_written("at 0\nat 1\nat 2\n");
  assert_same_bits(cx_call(push, cx_tuple(x)), cx_nth(both, 1));
  assert_written("");
}

/* The result of each step is wanted again, and there is no room to keep it. */
CX_DEF(grow_by_host, s) {
  cx half = cx_callback(halve, cx_spec(CX_F64, CX_SCALAR), (cx_nth(s, 2)),
                        .effect = true);
  return cx_tuple(cx_add(cx_nth(s, 0), 1), cx_mul(cx_nth(s, 1), half), half);
}
CX_DEF(by_while_and_host, x) {
  cx start = cx_tuple(0, x, cx_scalar(8, CX_F64));
  return cx_nth(cx_while(CX_FN(below), CX_FN(grow_by_host), start), 1);
}
static void a_split_while_keeps_no_results(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_tuple(cx_scalar(0.7, CX_F64));
  cx both = cx_call(cx_jvp(CX_FN(by_while_and_host)), x, x);
  assert_good();
  assert_true(cx_item(cx_nth(both, 1)) == cx_item(cx_nth(both, 0)));
  assert_null(cx_linearize(CX_FN(by_while_and_host), x, NULL));
  assert_error(CX_ENORULE, "while: an effect would happen twice");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(prints_happen_once),
    cmocka_unit_test(host_functions_run_once),
    cmocka_unit_test(ordered_effects_happen_once),
    cmocka_unit_test(a_split_while_prints_once),
    cmocka_unit_test(a_split_while_keeps_no_results),
  };
  return cmocka_run_group_tests(tests, written_start, written_stop) +
         cmocka_run_group_tests(tests, written_start_reference, written_stop);
}
