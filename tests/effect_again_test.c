/* effect_again_test.c - effects in what is computed again: a checkpoint's
 * recomputation and the second loop of a while that was split. They happen
 * once, wherever they stand inside. */
#include <math.h>

#include "calx/testing.h"
#include "support/wrong.h"

static char written[4096];
static size_t n_written;
static int n_calls;

static void note(const char *text, void *user) {
  (void)user;
  const size_t n = strlen(text);
  if (n_written + n >= sizeof written) return;
  memcpy(written + n_written, text, n + 1);
  n_written += n;
}

static int start(void **state) {
  cx_debug_output(note, NULL);
  return setup(state);
}

static int start_reference(void **state) {
  cx_debug_output(note, NULL);
  *state = cx_open("reference");
  return *state == NULL;
}

static int stop(void **state) {
  cx_debug_output(NULL, NULL);
  return teardown(state);
}

static void assert_written(const char *want) {
  assert_good();
  assert_string_equal(written, want);
  n_written = 0;
  written[0] = 0;
}

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

/* An ordered effect whose results nobody wants again is no reason to refuse. */
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
static void ordered_effects_happen_once(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_scalar(0.7, CX_F64);
  n_calls = 0;
  cx r = cx_call(cx_grad(cx_checkpoint(CX_FN(by_ordered_inside))), x);
  assert_same_bits(r, cx_call(cx_grad(CX_FN(by_ordered)), x));
  assert_int_equal(n_calls, 2);
  assert_good();
  r = cx_call(cx_grad(cx_checkpoint(CX_FN(by_ordered_result))), x);
  assert_error(CX_ENORULE, "ordered effect and cannot be run again");
  (void)r;
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

int main(void) {
#define TESTS(start)                                                         \
  cmocka_unit_test_setup_teardown(prints_happen_once, start, stop),          \
      cmocka_unit_test_setup_teardown(host_functions_run_once, start, stop), \
      cmocka_unit_test_setup_teardown(ordered_effects_happen_once, start,    \
                                      stop),                                 \
      cmocka_unit_test_setup_teardown(a_split_while_prints_once, start, stop)
  const struct CMUnitTest tests[] = { TESTS(start), TESTS(start_reference) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
