/* custom_rule_test.c - custom_vjp inside everything, by hand.
 *
 * scale(x, w) = x w; its rule says 3 ct w for x and 5 ct x for w, so that a
 * true derivative shows at once. */
#include "support/calls.h"

CX_DEF(scale_value, x, w) {
  return cx_mul(x, w);
}
CX_DEF(scale_fwd, x, w) {
  return cx_tuple(cx_mul(x, w), cx_tuple(x, w));
}
CX_DEF(scale_bwd, res, ct) {
  return cx_tuple(cx_mul(ct, cx_nth(res, 1), 3), cx_mul(ct, cx_nth(res, 0), 5));
}
static cx_fn scale_rule(void) {
  return cx_custom_vjp(CX_FN(scale_value), CX_FN(scale_fwd), CX_FN(scale_bwd));
}
CX_DEF(scale, x, w) {
  return cx_call(scale_rule(), x, w);
}
CX_DEF(total_scale, x, w) {
  return cx_sum(scale(x, w));
}

static cx both(cx_fn f, cx x, cx w) {
  return cx_call(cx_grad(f, .wrt = CX_ARGS(0, 1)), x, w);
}

/* The items are exactly these arrays. */
static void assert_pair(cx pair, cx first, cx second) {
  assert_same_bits(cx_nth(pair, 0), first);
  assert_same_bits(cx_nth(pair, 1), second);
}

static cx floats(double a, double b, double c) {
  return cx_array(float, (float)a, (float)b, (float)c);
}
static cx number(double a) {
  return cx_scalar(a, CX_F32);
}

static void alone_and_under_jit(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(4, 5, 6);
  const cx dx = floats(12, 15, 18), dw = floats(5, 10, 15);
  assert_pair(both(CX_FN(total_scale), x, w), dx, dw);
  assert_pair(both(cx_jit(CX_FN(total_scale)), x, w), dx, dw);
  cx g =
      cx_call(cx_jit(cx_grad(CX_FN(total_scale), .wrt = CX_ARGS(0, 1))), x, w);
  assert_pair(g, dx, dw);
  assert_same_bits(cx_call(CX_FN(scale), x, w), floats(4, 10, 18));
}

/* c <- scale(c, w), three times: x w^3. Backwards a step multiplies by 3 w, and
 * gives w 5 times its carry: 5 x w^2 (1 + 3 + 9). */
CX_STRUCT(weight_env, (cx, w));
CX_DEF_ENV(scale_step, weight_env, e, c, i) {
  (void)i;
  cx next = scale(c, e->w);
  return cx_tuple(next, next);
}
CX_DEF(loop_loss, x, w) {
  return cx_nth(
      cx_scan(CX_BIND(scale_step, .w = w), x, cx_arange(0, 3, 1, CX_I32)), 0);
}
/* The sum of all carries: step k has the cotangent 1 + 3 w ct(k + 1). */
CX_DEF(path_loss, x, w) {
  return cx_sum(cx_nth(
      cx_scan(CX_BIND(scale_step, .w = w), x, cx_arange(0, 3, 1, CX_I32)), 1));
}

static void inside_scan(void **state) {
  (void)state;
  CX_SCOPE;
  const double x = 2, w = 0.5;
  assert_pair(both(CX_FN(loop_loss), number(x), number(w)),
              number(27 * w * w * w), number(65 * x * w * w));
  const double ct2 = 1, ct1 = 1 + 3 * w * ct2, ct0 = 1 + 3 * w * ct1;
  const double dw = 5 * (ct2 * x * w * w + ct1 * x * w + ct0 * x);
  assert_pair(both(CX_FN(path_loss), number(x), number(w)), number(3 * w * ct0),
              number(dw));
  assert_pair(
      both(cx_jit(cx_checkpoint(CX_FN(path_loss))), number(x), number(w)),
      number(3 * w * ct0), number(dw));
}

CX_DEF(plain_sum, x, w) {
  return cx_add(x, w);
}
CX_DEF(branch_loss, x, w) {
  return cx_cond(cx_gt(x, 0), CX_FN(scale), CX_FN(plain_sum), x, w);
}

static void inside_cond(void **state) {
  (void)state;
  CX_SCOPE;
  assert_pair(both(CX_FN(branch_loss), number(2), number(7)), number(21),
              number(10));
  assert_pair(both(CX_FN(branch_loss), number(-2), number(7)), number(1),
              number(1));
  /* A predicate that differs within the batch. */
  cx g = cx_call(cx_vmap(cx_grad(CX_FN(branch_loss), .wrt = CX_ARGS(0, 1))),
                 floats(2, -2, 1), floats(7, 7, 3));
  assert_pair(g, floats(21, 1, 9), floats(10, 1, 5));
}

static void inside_checkpoint(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(4, 5, 6);
  cx_fn again = cx_checkpoint(CX_FN(total_scale));
  assert_pair(both(again, x, w), floats(12, 15, 18), floats(5, 10, 15));
  again = cx_checkpoint(CX_FN(total_scale), .policy = CX_SAVE_EVERYTHING);
  assert_pair(both(again, x, w), floats(12, 15, 18), floats(5, 10, 15));
}

/* -- batches -------------------------------------------------------------- */

CX_DEF(shared_w, x, w) {
  return cx_sum(cx_call(cx_vmap(CX_FN(scale), .in = { 0, CX_NONE }), x, w));
}
CX_DEF(shared_x, x, w) {
  return cx_sum(cx_call(cx_vmap(CX_FN(scale), .in = { CX_NONE, 0 }), x, w));
}
CX_DEF(shared_rows, x, w) {
  return cx_sum(
      cx_call(cx_vmap(CX_FN(total_scale), .in = { 0, CX_NONE }), x, w));
}

/* The cotangents of what the batch shares are summed. */
static void inside_vmap(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3);
  assert_pair(both(CX_FN(shared_w), x, number(4)), floats(12, 12, 12),
              number(5 + 10 + 15));
  assert_pair(both(CX_FN(shared_x), number(4), x), number(3 + 6 + 9),
              floats(20, 20, 20));
  cx rows = cx_stack(0, x, floats(10, 20, 30)), w = floats(1, 2, 3);
  cx dx = floats(3, 6, 9);
  assert_pair(both(CX_FN(shared_rows), rows, w), cx_stack(0, dx, dx),
              floats(55, 110, 165));
  cx each = cx_call(cx_vmap(cx_grad(CX_FN(scale), .wrt = CX_ARGS(0, 1)),
                            .in = { 0, CX_NONE }),
                    x, number(4));
  assert_pair(each, floats(12, 12, 12), floats(5, 10, 15));
  /* The loss does not depend on x alone: both orders, under jit. */
  cx_fn f = cx_jit(cx_grad(cx_jit(CX_FN(shared_w)), .wrt = CX_ARGS(0, 1)));
  assert_pair(cx_call(f, x, number(4)), floats(12, 12, 12), number(30));
}

CX_DEF(loop_of_batches, x, w) {
  cx_fn one = cx_checkpoint(CX_FN(loop_loss));
  return cx_sum(cx_call(cx_vmap(one, .in = { 0, CX_NONE }), x, w));
}

static void inside_all_at_once(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn f = cx_jit(cx_grad(CX_FN(loop_of_batches), .wrt = CX_ARGS(0, 1)));
  assert_pair(cx_call(f, floats(1, 2, 3), number(2)), floats(216, 216, 216),
              number(65 * 6 * 4));
}

/* -- arguments ------------------------------------------------------------ */

CX_DEF(pick_value, x, i) {
  return cx_index(x, i);
}
CX_DEF(pick_fwd, x, i) {
  return cx_tuple(cx_index(x, i), cx_tuple(i, cx_zeros_like(x)));
}
CX_DEF(pick_bwd, res, ct) {
  cx dx = cx_at_add(cx_nth(res, 1), (cx_nth(res, 0)), cx_mul(ct, 7));
  return cx_tuple(dx, cx_none());
}
CX_DEF(pick, x, i) {
  return cx_call(
      cx_custom_vjp(CX_FN(pick_value), CX_FN(pick_fwd), CX_FN(pick_bwd)), x, i);
}

static void integers_have_no_cotangent(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3);
  cx g = cx_call(cx_grad(CX_FN(pick)), x, cx_scalar(1, CX_I32));
  assert_same_bits(g, floats(0, 7, 0));
  g = cx_call(cx_vmap(cx_grad(CX_FN(pick)), .in = { CX_NONE, 0 }), x,
              cx_array(int32_t, 2, 0));
  assert_same_bits(g, cx_stack(0, floats(0, 0, 7), floats(7, 0, 0)));
}

CX_DEF(no_w_bwd, res, ct) {
  return cx_tuple(cx_mul(ct, cx_nth(res, 1), 3), cx_none());
}
CX_DEF(only_x, x, w) {
  return cx_sum(cx_call(
      cx_custom_vjp(CX_FN(scale_value), CX_FN(scale_fwd), CX_FN(no_w_bwd)), x,
      w));
}

static void none_is_no_gradient(void **state) {
  (void)state;
  CX_SCOPE;
  assert_pair(both(CX_FN(only_x), floats(1, 2, 3), floats(4, 5, 6)),
              floats(12, 15, 18), floats(0, 0, 0));
}

/* Static settings are part of the rule. */
CX_STRUCT(factor_env, (double, factor));
CX_DEF_ENV(times_value, factor_env, e, x) {
  return cx_mul(x, e->factor);
}
CX_DEF_ENV(times_fwd, factor_env, e, x) {
  return cx_tuple(cx_mul(x, e->factor), cx_none());
}
CX_DEF_ENV(times_bwd, factor_env, e, res, ct) {
  (void)res;
  return cx_tuple(cx_mul(ct, 100 * e->factor));
}
CX_DEF(two_factors, x) {
  cx_fn two = cx_custom_vjp(CX_BIND(times_value, .factor = 2),
                            CX_BIND(times_fwd, .factor = 2),
                            CX_BIND(times_bwd, .factor = 2));
  cx_fn three = cx_custom_vjp(CX_BIND(times_value, .factor = 3),
                              CX_BIND(times_fwd, .factor = 3),
                              CX_BIND(times_bwd, .factor = 3));
  return cx_call(three, cx_call(two, x));
}

static void settings_are_static(void **state) {
  (void)state;
  CX_SCOPE;
  assert_same_bits(cx_call(CX_FN(two_factors), number(1)), number(6));
  assert_same_bits(cx_call(cx_grad(CX_FN(two_factors)), number(1)),
                   number(200 * 300));
}

/* d/dx is 3 w; it depends on w alone, and w's on x alone: 3 and 5. */
CX_DEF(slope_x, x, w) {
  return cx_call(cx_grad(CX_FN(scale)), x, w);
}
CX_DEF(slope_w, x, w) {
  return cx_call(cx_grad(CX_FN(scale), .wrt = CX_ARGS(1)), x, w);
}

static void second_order_differentiates_the_rule(void **state) {
  (void)state;
  CX_SCOPE;
  assert_pair(both(CX_FN(slope_x), number(2), number(3)), number(0), number(3));
  assert_pair(both(CX_FN(slope_w), number(2), number(3)), number(5), number(0));
}

/* -- what is wrong -------------------------------------------------------- */

CX_DEF(short_bwd, res, ct) {
  return cx_tuple(cx_mul(ct, cx_nth(res, 1)));
}
CX_DEF(wrong_shape_bwd, res, ct) {
  (void)res;
  return cx_tuple(cx_sum(ct), ct);
}
CX_DEF(wrong_fwd, x, w) {
  return cx_mul(x, w);
}
CX_DEF(other_fwd, x, w) {
  return cx_tuple(cx_sum(cx_mul(x, w)), x);
}

static void call_with(cx_fn fwd, cx_fn bwd) {
  cx x = floats(1, 2, 3);
  cx_fn f = cx_custom_vjp(CX_FN(scale_value), fwd, bwd);
  cx r = cx_call(cx_vjp(f), cx_tuple(x, x), x);
  (void)r;
}

static void mistakes_are_named(void **state) {
  (void)state;
  CX_SCOPE;
  call_with(CX_FN(scale_fwd), CX_FN(short_bwd));
  assert_error(CX_ETREE, "short_bwd");
  call_with(CX_FN(scale_fwd), CX_FN(wrong_shape_bwd));
  assert_error(CX_ETREE, "the cotangent at \"0\" is f32[], for f32[3]");
  call_with(CX_FN(wrong_fwd), CX_FN(scale_bwd));
  assert_error(CX_ETREE, "wrong_fwd");
  call_with(CX_FN(other_fwd), CX_FN(scale_bwd));
  assert_error(CX_ETREE, "other_fwd must return (out, residuals) with out f32[3]");
  cx x = floats(1, 2, 3);
  cx r = cx_call(cx_jvp(CX_FN(scale)), cx_tuple(x, x), cx_tuple(x, x));
  assert_error(CX_ENORULE, "the custom_vjp of \"scale_value\"");
  cx_fn captures = CX_BIND(scale_step, .w = x);
  r = cx_call(cx_custom_vjp(captures, CX_FN(scale_fwd), CX_FN(scale_bwd)), x,
              x);
  assert_error(CX_ETREE, "may not capture arrays");
  (void)r;
}

/* Linear forms of it exist as long as they are transposed. */
static void pullback_is_reverse_mode(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(4, 5, 6), value;
  cx_fn pull = cx_pullback(CX_FN(scale), cx_tuple(x, w), &value);
  assert_same_bits(value, floats(4, 10, 18));
  assert_pair(cx_call(pull, floats(1, 10, 100)), floats(12, 150, 1800),
              floats(5, 100, 1500));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(alone_and_under_jit),
    cmocka_unit_test(inside_scan),
    cmocka_unit_test(inside_cond),
    cmocka_unit_test(inside_checkpoint),
    cmocka_unit_test(inside_vmap),
    cmocka_unit_test(inside_all_at_once),
    cmocka_unit_test(integers_have_no_cotangent),
    cmocka_unit_test(none_is_no_gradient),
    cmocka_unit_test(settings_are_static),
    cmocka_unit_test(second_order_differentiates_the_rule),
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(pullback_is_reverse_mode),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
