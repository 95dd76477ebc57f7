/* collective_inside_test.c - collectives under transforms, in loops, branches
 * and custom rules. */
#include "calx/testing.h"
#include "support/calls.h"

static cx over(cx_fn f, cx x) {
  return cx_call(cx_vmap(f, .axis_name = "i"), x);
}

/* -- derivatives ----------------------------------------------------------- */

/* A loss for each lane that mixes the lanes in every way. */
CX_DEF(lane_loss, x) { /* (3) */
  cx w = cx_add(cx_cast(cx_axis_index("i"), CX_F64), 1);
  cx y = cx_psum(cx_sin(cx_mul(x, w)), "i");
  y = cx_add(y, cx_pmean(cx_square(x), "i"), cx_pmax(x, "i"), cx_pmin(x, "i"));
  y = cx_add(y, cx_mul(cx_pshuffle(x, "i", 2, 0, 1), x));
  y = cx_mul(y, cx_ppermute(cx_cos(x), "i", (0, 1), (2, 0)));
  y = cx_add(y, cx_pbroadcast(cx_exp(x), "i", 1));
  cx g = cx_sin(cx_all_gather(cx_mul(x, w), "i", 1));
  y = cx_add(y, cx_psum_scatter(g, "i", 0), cx_sum(g, 0));
  y = cx_add(y, cx_sum(cx_all_to_all(cx_mul(g, g), "i", 0, 1), 1));
  return cx_sum(cx_mul(y, w));
}
/* The same on all lanes at once: what lane_loss sums to. */
CX_DEF(whole_loss, x) { /* (3,3), lane first */
  cx w = cx_reshape(cx_array(double, 1, 2, 3), 3, 1);
  cx xw = cx_mul(x, w), zero = cx_zeros(CX_F64, 1, 3), c = cx_cos(x);
  cx y = cx_sum(cx_sin(xw), 0, .keepdims = true);
  y = cx_add(y, cx_mean(cx_square(x), 0, .keepdims = true),
             cx_max(x, 0, .keepdims = true), cx_min(x, 0, .keepdims = true));
  cx last_first = cx_index(x, cx_array(int32_t, 2, 0, 1));
  y = cx_add(y, cx_mul(last_first, x));
  cx sent = cx_concat(0, cx_index(c, CX_RANGE(2, 3)),
                      cx_index(c, CX_RANGE(0, 1)), zero);
  y = cx_mul(y, sent);
  y = cx_add(y, cx_exp(cx_index(x, CX_RANGE(1, 2))));
  cx g = cx_sin(cx_transpose(xw, 1, 0)); /* in every lane */
  y = cx_add(y, cx_mul(3, g), cx_sum(g, 0, .keepdims = true));
  y = cx_add(y, cx_mul(3, cx_square(g)));
  return cx_sum(cx_mul(y, w));
}
CX_DEF(sum_of_lanes, x) {
  return cx_sum(over(CX_FN(lane_loss), x));
}
CX_DEF(sum_jit, x) {
  return cx_sum(over(cx_jit(CX_FN(lane_loss)), x));
}
CX_DEF(sum_remat, x) {
  return cx_sum(over(cx_checkpoint(CX_FN(lane_loss)), x));
}
CX_DEF(lane_slope, x) {
  return cx_call(cx_grad(CX_FN(lane_loss)), x);
}
CX_DEF(slopes, x) {
  return over(CX_FN(lane_slope), x);
}

static void derivatives(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_random_like(cx_spec(CX_F64, 3, 3), 5);
  cx_assert(cx_check_close(sum_of_lanes(x), whole_loss(x), .rtol = 1e-12));
  cx_assert(cx_check_grads(CX_FN(sum_of_lanes), (x), .order = 2));
  const cx g = cx_call(cx_grad(CX_FN(whole_loss)), x);
  cx_assert(cx_check_close(cx_call(cx_grad(CX_FN(sum_of_lanes)), x), g,
                           .rtol = 1e-12));
  cx_assert(cx_check_close(cx_call(cx_hessian(CX_FN(sum_of_lanes)), x),
                           cx_call(cx_hessian(CX_FN(whole_loss)), x),
                           .rtol = 1e-12));
  /* Inside: a lane's gradient is that of the sum of all lanes' losses. */
  cx_assert(cx_check_close(slopes(x), g, .rtol = 1e-12));
  assert_same_bits(cx_call(cx_jit(CX_FN(slopes)), x), slopes(x));
  assert_same_bits(sum_jit(x), sum_of_lanes(x));
  assert_same_bits(cx_call(cx_jit(CX_FN(sum_of_lanes)), x), sum_of_lanes(x));
  assert_same_bits(sum_remat(x), sum_of_lanes(x));
  assert_same_bits(cx_call(cx_grad(CX_FN(sum_remat)), x),
                   cx_call(cx_grad(CX_FN(sum_of_lanes)), x));
}

CX_DEF(lane_jvp, x) {
  return cx_call(cx_jvp(CX_FN(lane_loss)), cx_tuple(x), cx_tuple(cx_mul(x, x)));
}
CX_DEF(lane_vjp, x) {
  return cx_call(cx_vjp(CX_FN(lane_loss)), cx_tuple(x),
                 cx_ones(CX_F64, CX_SCALAR));
}

static void inside_forward(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_random_like(cx_spec(CX_F64, 3, 3), 6);
  const cx out = over(CX_FN(lane_jvp), x);
  const cx want =
      cx_call(cx_jvp(CX_FN(whole_loss)), cx_tuple(x), cx_tuple(cx_mul(x, x)));
  cx_assert(
      cx_check_close(cx_sum(cx_nth(out, 0)), cx_nth(want, 0), .rtol = 1e-12));
  cx_assert(
      cx_check_close(cx_sum(cx_nth(out, 1)), cx_nth(want, 1), .rtol = 1e-12));
  assert_same_bits(cx_nth(cx_nth(over(CX_FN(lane_vjp), x), 1), 0), slopes(x));
}

/* -- control flow ----------------------------------------------------------- */

CX_DEF(step, carry, x) { /* the carry is not batched before */
  cx all = cx_psum(cx_mul(x, carry), "i");
  cx next = cx_add(cx_mul(carry, 0.5), cx_sin(all));
  return cx_tuple(next, cx_mul(next, cx_cast(cx_axis_index("i"), CX_F64)));
}
CX_DEF(start, xs) {
  cx one = cx_ones(CX_F64, CX_SCALAR);
  cx out = cx_scan(CX_FN(step), one, xs);
  return cx_add(cx_nth(out, 0), cx_sum(cx_nth(out, 1)));
}
CX_DEF(whole_scan, xs) { /* (lanes, steps): a loop by hand */
  cx carry = cx_ones(CX_F64, CX_SCALAR), total = cx_zeros(CX_F64, 3);
  cx lane = cx_array(double, 0, 1, 2);
  for (int i = 0; i < 4; i++) {
    cx all = cx_sum(cx_mul(cx_take(xs, i, 1), carry));
    carry = cx_add(cx_mul(carry, 0.5), cx_sin(all));
    total = cx_add(total, cx_mul(carry, lane));
  }
  return cx_add(total, carry);
}
CX_DEF(scan_total, xs) {
  return cx_sum(cx_square(over(CX_FN(start), xs)));
}
CX_DEF(loop_total, xs) {
  return cx_sum(cx_square(whole_scan(xs)));
}
CX_DEF(only_index, carry, unused) { /* nothing is batched but the index */
  (void)unused;
  return cx_tuple(cx_add(carry, cx_axis_index("i")), cx_none());
}
CX_DEF(count_up, x) {
  (void)x;
  cx zero = cx_zeros(CX_I32, CX_SCALAR);
  return cx_nth(cx_scan(CX_FN(only_index), zero, cx_none(), .length = 4), 0);
}

static void in_scans(void **state) {
  (void)state;
  CX_SCOPE;
  const cx xs = cx_random_like(cx_spec(CX_F64, 3, 4), 2);
  assert_same_bits(over(CX_FN(start), xs), whole_scan(xs));
  cx_assert(cx_check_grads(CX_FN(scan_total), (xs), .order = 2));
  cx_assert(cx_check_close(cx_call(cx_grad(CX_FN(scan_total)), xs),
                           cx_call(cx_grad(CX_FN(loop_total)), xs),
                           .rtol = 1e-12));
  cx_assert(cx_check_jit(CX_FN(scan_total), (xs)));
  cx_assert(cx_check_remat(CX_FN(scan_total), (xs)));
  assert_same_bits(over(CX_FN(count_up), xs), cx_array(int32_t, 0, 4, 8));
}

CX_DEF(with_sum, x) {
  return cx_sub(x, cx_pmean(x, "i"));
}
CX_DEF(with_twice, x) {
  return cx_mul(x, 2);
}
CX_DEF(by_all, x) { /* the index does not depend on the lane */
  return cx_cond(cx_gt(cx_psum(x, "i"), 0), CX_FN(with_sum), CX_FN(with_twice),
                 x);
}
CX_DEF(by_lane, x) {
  return cx_cond(cx_gt(x, 0), CX_FN(with_sum), CX_FN(with_twice), x);
}
CX_DEF(shrinking, x) {
  return cx_gt(cx_psum(x, "i"), 1);
}
CX_DEF(shrink, x) {
  return cx_sub(cx_mul(x, 0.5), cx_mul(0.01, cx_pmax(x, "i")));
}
CX_DEF(until_small, x) {
  return cx_while(CX_FN(shrinking), CX_FN(shrink), x);
}
CX_DEF(until_small_bounded, x) {
  return cx_sum(
      cx_square(cx_while(CX_FN(shrinking), CX_FN(shrink), x, .max_steps = 20)));
}
CX_DEF(sum_bounded, x) {
  return cx_sum(over(CX_FN(until_small_bounded), x));
}

static void in_branches(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(double, 3, -1, 4);
  const cx centred = cx_sub(x, cx_mean(x)), twice = cx_mul(x, 2);
  assert_same_bits(over(CX_FN(by_all), x), centred);
  assert_same_bits(over(CX_FN(by_all), cx_neg(x)), cx_neg(twice));
  /* All lanes take part in a sum, those that take the other branch too. */
  assert_same_bits(over(CX_FN(by_lane), x),
                   cx_where(cx_gt(x, 0), centred, twice));
  cx y = x;
  while (cx_ok() && cx_item(cx_sum(y)) > 1)
    y = cx_sub(cx_mul(y, 0.5), cx_mul(0.01, cx_max(y)));
  assert_same_bits(over(CX_FN(until_small), x), y);
  assert_same_bits(over(cx_jit(CX_FN(until_small)), x), y);
  assert_same_bits(sum_bounded(x), cx_sum(cx_square(y)));
  cx_assert(cx_check_grads(CX_FN(sum_bounded), (x), .order = 2));
}

/* -- custom rules ----------------------------------------------------------- */

CX_DEF(centred_value, x) {
  return cx_square(cx_sub(x, cx_pmean(x, "i")));
}
CX_DEF(centred_fwd, x) {
  return cx_tuple(centred_value(x), x);
}
CX_DEF(centred_bwd, x, ct) { /* twice what it is, to be told apart */
  cx t = cx_mul(4, ct, cx_sub(x, cx_pmean(x, "i")));
  return cx_tuple(cx_sub(t, cx_pmean(t, "i")));
}
CX_DEF(centred, x) {
  return cx_call(cx_custom_vjp(CX_FN(centred_value), CX_FN(centred_fwd),
                               CX_FN(centred_bwd)),
                 x);
}
CX_DEF(centred_rule, primals, tangents) {
  cx x = cx_nth(primals, 0), dx = cx_nth(tangents, 0);
  cx c = cx_sub(x, cx_pmean(x, "i")), dc = cx_sub(dx, cx_pmean(dx, "i"));
  return cx_tuple(cx_square(c), cx_mul(4, c, dc));
}
CX_DEF(centred_forward, x) {
  return cx_call(cx_custom_jvp(CX_FN(centred_value), CX_FN(centred_rule)), x);
}
CX_DEF(plain_total, x) {
  return cx_sum(over(CX_FN(centred_value), x));
}
CX_DEF(custom_total, x) {
  return cx_sum(over(CX_FN(centred), x));
}
CX_DEF(forward_total, x) {
  return cx_sum(over(CX_FN(centred_forward), x));
}

static void in_custom_rules(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(double, 1, 2, 6);
  assert_same_bits(custom_total(x), plain_total(x));
  assert_same_bits(forward_total(x), plain_total(x));
  const cx want = cx_mul(2, cx_call(cx_grad(CX_FN(plain_total)), x));
  cx_assert(cx_check_close(cx_call(cx_grad(CX_FN(custom_total)), x), want,
                           .rtol = 1e-14));
  cx_assert(cx_check_close(cx_call(cx_grad(CX_FN(forward_total)), x), want,
                           .rtol = 1e-14));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(derivatives),     cmocka_unit_test(inside_forward),
    cmocka_unit_test(in_scans),        cmocka_unit_test(in_branches),
    cmocka_unit_test(in_custom_rules),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
