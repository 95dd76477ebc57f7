/* policy_inside_test.c - policies of checkpoints around loops and branches:
 * what is kept of each step, how often a product runs, and the same bits. */
#include "calx/testing.h"
#include "support/calls.h"

static cx x_of(void) {
  return cx_random_like(cx_spec(CX_F32, 4, 3), 1);
}
static cx w_of(void) {
  return cx_random_like(cx_spec(CX_F32, 3, 3), 2);
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)) != NULL; text++) n++;
  return n;
}

/* The gradient has the bits of the plain one: alone, compiled, in a batch. */
static void assert_plain_bits(cx_fn f, cx_fn plain, cx x, cx w) {
  const cx_fn got = cx_value_and_grad(f, .wrt = CX_ARGS(0, 1));
  const cx_fn want = cx_value_and_grad(plain, .wrt = CX_ARGS(0, 1));
  const cx value = cx_call(want, x, w);
  assert_same_bits(cx_call(got, x, w), value);
  assert_same_bits(cx_call(cx_jit(got), x, w), value);
  const cx xs = cx_stack(0, x, cx_neg(x)), ws = cx_stack(0, w, cx_mul(w, 2));
  assert_same_bits(cx_call(cx_vmap(got), xs, ws),
                   cx_call(cx_vmap(want), xs, ws));
}

/* Halves x, and counts how often. */
static int n_calls;
static cx_code halve(const cx_buf *in, cx_buf *out, void *user) {
  (void)user;
  n_calls++;
  for (int i = 0; i < 12; i++)
    ((float *)out->data)[i] = ((const float *)in->data)[i] / 2;
  return CX_OK;
}
/* x sin(x / 2), whose derivative needs x / 2, which is "half". */
CX_DEF(halved, x) {
  cx half = cx_callback(halve, cx_spec_like(x), (cx_stop_gradient(x)));
  return cx_mul(x, cx_sin(cx_checkpoint_name(half, "half")));
}
/* How often x is halved in a run of the value and its gradient. */
static int halvings(cx_fn f, cx x, cx w) {
  const cx_fn both = cx_jit(cx_value_and_grad(f, .wrt = CX_ARGS(0, 1)));
  n_calls = 0;
  assert_non_null(cx_data(cx_nth(cx_call(both, x, w), 0)));
  assert_good();
  return n_calls;
}

static int kept(cx_fn f, cx x, cx w, const char *what) {
  const char *text = cx_saved_residuals(f, x, w);
  assert_good();
  return count(text, what);
}

/* -- scan ------------------------------------------------------------------ */

CX_DEF(layer, h, w) {
  return cx_checkpoint_name(cx_tanh(cx_sin(cx_matmul(h, w))), "layer");
}
CX_DEF(layer_step, h, w) {
  cx next = layer(h, w);
  return cx_tuple(next, cx_sum(cx_exp(next)));
}
CX_DEF(stack, x, ws) {
  cx out = cx_scan(CX_FN(layer_step), x, ws);
  return cx_add(cx_sum(cx_cos(cx_nth(out, 0))), cx_sum(cx_nth(out, 1)));
}
static cx ws_of(void) {
  return cx_stack(0, w_of(), cx_neg(w_of()), cx_mul(w_of(), 0.5));
}

static const char *const layers[] = { "layer", NULL };

static void steps_of_a_scan(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), ws = ws_of();
  const cx_fn none = cx_checkpoint(CX_FN(stack));
  const cx_fn dots = cx_checkpoint(CX_FN(stack), .policy = CX_SAVE_DOTS);
  const cx_fn names = cx_checkpoint(CX_FN(stack), .names = layers);
  const cx_fn all = cx_checkpoint(CX_FN(stack), .policy = CX_SAVE_EVERYTHING);
  const cx_fn fns[] = { none, dots, names, all };
  for (int i = 0; i < 4; i++) assert_plain_bits(fns[i], CX_FN(stack), x, ws);
  const char *product = "f32[3,4,3] from dot_general of each step at ";
  assert_int_equal(kept(none, x, ws, " of each step"), 0);
  assert_int_equal(kept(dots, x, ws, product), 1);
  assert_int_equal(kept(dots, x, ws, " of each step"), 1);
  assert_int_equal(kept(dots, x, ws, "144 bytes"), 1);
  assert_int_equal(kept(names, x, ws, "f32[3,4,3] from tanh of each step at "),
                   1);
  assert_int_equal(kept(names, x, ws, " of each step"), 1);
}

/* The carries are not computed again where what is kept tells them. */
CX_DEF(tagged_step, h, w) {
  cx next = cx_sin(cx_matmul(h, w));
  next = cx_checkpoint_name(next, "carry");
  return cx_tuple(next, cx_sum(cx_mul(next, next)));
}
CX_DEF(tagged, x, ws) {
  cx out = cx_scan(CX_FN(tagged_step), x, ws, .reverse = true);
  return cx_sum(cx_nth(out, 1));
}

static void backwards_and_unrolled(void **state) {
  (void)state;
  CX_SCOPE;
  static const char *const names[] = { "carry", NULL };
  const cx x = x_of(), ws = ws_of();
  assert_plain_bits(cx_checkpoint(CX_FN(tagged), .names = names), CX_FN(tagged),
                    x, ws);
  assert_plain_bits(cx_checkpoint(CX_FN(tagged), .policy = CX_SAVE_DOTS),
                    CX_FN(tagged), x, ws);
  assert_plain_bits(cx_checkpoint(CX_FN(tagged),
                                  .policy = CX_SAVE_ALL_BUT_NAMES,
                                  .names = names),
                    CX_FN(tagged), x, ws);
  assert_plain_bits(cx_checkpoint(CX_FN(tagged), .policy = CX_SAVE_OTHER_NAMES,
                                  .names = layers),
                    CX_FN(tagged), x, ws);
  assert_int_equal(kept(cx_checkpoint(CX_FN(tagged), .names = names), x, ws,
                        "from sin of each step"),
                   1);
}

/* -- loops in loops, calls in loops ---------------------------------------- */

CX_STRUCT(weights, (cx, w));
CX_DEF_ENV(inner_step, weights, e, h, i) {
  (void)i;
  return cx_tuple(cx_call(cx_jit(CX_FN(layer)), h, e->w), cx_none());
}
CX_DEF(outer_step, h, w) {
  cx out = cx_scan(CX_BIND(inner_step, .w = w), h, cx_arange(0, 2, 1, CX_I32));
  return cx_tuple(cx_nth(out, 0), cx_sum(cx_nth(out, 0)));
}
CX_DEF(nested_loops, x, ws) {
  cx out = cx_scan(CX_FN(outer_step), x, ws);
  return cx_add(cx_sum(cx_nth(out, 0)), cx_sum(cx_nth(out, 1)));
}

static void loops_nest(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), ws = ws_of();
  const cx_fn dots = cx_checkpoint(CX_FN(nested_loops), .policy = CX_SAVE_DOTS);
  assert_plain_bits(dots, CX_FN(nested_loops), x, ws);
  assert_int_equal(
      kept(dots, x, ws, "f32[3,2,4,3] from dot_general of each step at "), 1);
  assert_plain_bits(cx_checkpoint(CX_FN(nested_loops), .names = layers),
                    CX_FN(nested_loops), x, ws);
}

/* -- branches -------------------------------------------------------------- */

CX_DEF(wide, x, w) {
  return cx_exp(cx_matmul(x, w));
}
CX_DEF(narrow, x, w) {
  return cx_cos(cx_matmul(cx_sin(cx_matmul(x, w)), w));
}
CX_DEF(branches, x, w) {
  cx h = cx_cond(cx_gt(cx_sum(x), 0), CX_FN(wide), CX_FN(narrow), x, w);
  return cx_sum(cx_mul(h, h));
}
CX_DEF(branch_step, h, w) {
  cx next = cx_cond(cx_gt(cx_sum(h), 0), CX_FN(narrow), CX_FN(layer), h, w);
  return cx_tuple(next, cx_sum(next));
}
CX_DEF(branches_in_loop, x, ws) {
  cx out = cx_scan(CX_FN(branch_step), x, ws);
  return cx_sum(cx_nth(out, 1));
}

static void branches_keep(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), w = w_of(), ws = ws_of();
  const cx_fn dots = cx_checkpoint(CX_FN(branches), .policy = CX_SAVE_DOTS);
  assert_plain_bits(dots, CX_FN(branches), x, w);
  assert_plain_bits(dots, CX_FN(branches), cx_neg(x), w);
  /* two places: the branch with two products, and one of them for the other */
  assert_int_equal(
      kept(dots, x, w, "f32[4,3] from dot_general of a branch at "), 2);
  assert_plain_bits(
      cx_checkpoint(CX_FN(branches_in_loop), .policy = CX_SAVE_DOTS),
      CX_FN(branches_in_loop), x, ws);
  assert_plain_bits(cx_checkpoint(CX_FN(branches_in_loop), .names = layers),
                    CX_FN(branches_in_loop), x, ws);
}

/* -- while ----------------------------------------------------------------- */

CX_DEF(going, carry) {
  return cx_lt(cx_nth(carry, 0), 4);
}
CX_DEF(advance, carry) {
  cx w = cx_nth(carry, 2);
  return cx_tuple(cx_add(cx_nth(carry, 0), 1), layer(cx_nth(carry, 1), w), w);
}
CX_DEF(bounded, x, w) {
  cx i = cx_zeros(CX_I32, CX_SCALAR);
  cx out =
      cx_while(CX_FN(going), CX_FN(advance), cx_tuple(i, x, w), .max_steps = 6);
  return cx_sum(cx_nth(out, 1));
}
/* Without a bound, on what has no tangent: it runs again as a whole. */
CX_DEF(endless_start, x, w) {
  cx i = cx_zeros(CX_I32, CX_SCALAR);
  cx start = cx_stop_gradient(cx_tuple(i, x, w));
  cx out = cx_while(CX_FN(going), CX_FN(advance), start);
  return cx_sum(cx_mul(cx_sin(cx_matmul(x, w)), cx_nth(out, 1)));
}

static void bounded_and_endless(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), w = w_of();
  const cx_fn dots = cx_checkpoint(CX_FN(bounded), .policy = CX_SAVE_DOTS);
  assert_plain_bits(dots, CX_FN(bounded), x, w);
  assert_int_equal(kept(dots, x, w, "f32[6,4,3] from dot_general"), 1);
  assert_plain_bits(cx_checkpoint(CX_FN(endless_start), .policy = CX_SAVE_DOTS),
                    CX_FN(endless_start), x, w);
  assert_plain_bits(cx_checkpoint(CX_FN(endless_start), .names = layers),
                    CX_FN(endless_start), x, w);
}

/* -- checkpoints in checkpoints -------------------------------------------- */

CX_DEF(dots_step, h, w) {
  cx next = cx_call(cx_checkpoint(CX_FN(layer), .policy = CX_SAVE_DOTS), h, w);
  return cx_tuple(next, cx_sum(next));
}
CX_DEF(dots_loop, x, ws) {
  cx out = cx_scan(CX_FN(dots_step), x, ws);
  return cx_add(cx_sum(cx_cos(cx_nth(out, 0))), cx_sum(cx_nth(out, 1)));
}
CX_DEF(plain_step, h, w) {
  cx next = layer(h, w);
  return cx_tuple(next, cx_sum(next));
}
CX_DEF(plain_loop, x, ws) {
  cx out = cx_scan(CX_FN(plain_step), x, ws);
  return cx_add(cx_sum(cx_cos(cx_nth(out, 0))), cx_sum(cx_nth(out, 1)));
}

static bool nothing(const cx_eqn *e, void *user) {
  (void)e, (void)user;
  return false;
}
static bool dots_only(const cx_eqn *e, void *user) {
  (void)user;
  return !strcmp(e->primitive, "dot_general");
}
CX_DEF(own_step, h, w) {
  cx next = cx_call(cx_checkpoint(CX_FN(layer), .save = dots_only), h, w);
  return cx_tuple(next, cx_sum(next));
}
CX_DEF(own_loop, x, ws) {
  cx out = cx_scan(CX_FN(own_step), x, ws);
  return cx_add(cx_sum(cx_cos(cx_nth(out, 0))), cx_sum(cx_nth(out, 1)));
}

static void checkpoints_nest(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), ws = ws_of();
  const char *product = "f32[3,4,3] from dot_general of each step at ";
  assert_plain_bits(CX_FN(dots_loop), CX_FN(plain_loop), x, ws);
  assert_int_equal(kept(CX_FN(dots_loop), x, ws, product), 1);
  assert_plain_bits(cx_checkpoint(CX_FN(dots_loop)), CX_FN(plain_loop), x, ws);
  assert_int_equal(kept(cx_checkpoint(CX_FN(dots_loop)), x, ws, product), 0);
  const cx_fn both = cx_checkpoint(CX_FN(dots_loop), .policy = CX_SAVE_DOTS);
  assert_plain_bits(both, CX_FN(plain_loop), x, ws);
  assert_int_equal(kept(both, x, ws, product), 1);
  /* policies of one's own: the outer one decides of what the inner one keeps */
  assert_plain_bits(CX_FN(own_loop), CX_FN(plain_loop), x, ws);
  assert_int_equal(kept(CX_FN(own_loop), x, ws, product), 1);
  const cx_fn less = cx_checkpoint(CX_FN(own_loop), .save = nothing);
  assert_plain_bits(less, CX_FN(plain_loop), x, ws);
  assert_int_equal(kept(less, x, ws, product), 0);
  const cx_fn more = cx_checkpoint(CX_FN(plain_loop), .save = dots_only);
  assert_plain_bits(more, CX_FN(plain_loop), x, ws);
  assert_int_equal(kept(more, x, ws, product), 1);
  const cx_fn rest = cx_checkpoint(CX_FN(branches_in_loop), .save = dots_only);
  assert_plain_bits(rest, CX_FN(branches_in_loop), x, ws);
  assert_true(kept(rest, x, ws, "from dot_general of a branch at ") > 0);
}

/* -- how often ------------------------------------------------------------- */

CX_DEF(half_step, h, w) {
  cx next = cx_tanh(cx_matmul(halved(h), w));
  return cx_tuple(next, cx_sum(next));
}
CX_DEF(half_loop, x, ws) {
  cx out = cx_scan(CX_FN(half_step), x, ws);
  return cx_sum(cx_nth(out, 1));
}
CX_DEF(half_taken, x, w) {
  return cx_matmul(halved(x), w);
}
CX_DEF(half_not, x, w) {
  return cx_matmul(x, w);
}
CX_DEF(half_cond, x, w) {
  cx y =
      cx_cond(cx_gt(cx_sum(x), -100), CX_FN(half_taken), CX_FN(half_not), x, w);
  return cx_sum(cx_sin(y));
}

/* What is kept is not computed again; all else is. */
static void kept_is_not_computed_again(void **state) {
  (void)state;
  CX_SCOPE;
  static const char *const names[] = { "half", NULL };
  const cx x = x_of(), w = w_of(), ws = ws_of();
  const cx_fn loop = CX_FN(half_loop), cond = CX_FN(half_cond);
  assert_int_equal(halvings(loop, x, ws), 3);
  assert_int_equal(halvings(cx_checkpoint(loop), x, ws), 6);
  assert_int_equal(halvings(cx_checkpoint(loop, .policy = CX_SAVE_DOTS), x, ws),
                   6);
  assert_int_equal(halvings(cx_checkpoint(loop, .names = names), x, ws), 3);
  assert_int_equal(halvings(cond, x, w), 1);
  assert_int_equal(halvings(cx_checkpoint(cond), x, w), 2);
  assert_int_equal(halvings(cx_checkpoint(cond, .names = names), x, w), 1);
  assert_plain_bits(cx_checkpoint(loop, .names = names), loop, x, ws);
  assert_plain_bits(cx_checkpoint(cond, .names = names), cond, x, w);
}

/* -- derivatives of it ----------------------------------------------------- */

CX_DEF(slope, x, ws) {
  cx g = cx_call(cx_grad(cx_checkpoint(CX_FN(stack), .policy = CX_SAVE_DOTS)),
                 x, ws);
  return cx_sum(cx_mul(g, g));
}
CX_DEF(slope_plain, x, ws) {
  cx g = cx_call(cx_grad(CX_FN(stack)), x, ws);
  return cx_sum(cx_mul(g, g));
}

static void second_order(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), ws = ws_of();
  const cx got = cx_call(cx_grad(CX_FN(slope)), x, ws);
  const cx want = cx_call(cx_grad(CX_FN(slope_plain)), x, ws);
  cx_assert(cx_check_close(got, want, .rtol = 1e-4, .atol = 1e-5));
  cx_assert(cx_check_remat(CX_FN(stack), (x, ws)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_of_a_scan),
    cmocka_unit_test(backwards_and_unrolled),
    cmocka_unit_test(loops_nest),
    cmocka_unit_test(branches_keep),
    cmocka_unit_test(bounded_and_endless),
    cmocka_unit_test(checkpoints_nest),
    cmocka_unit_test(kept_is_not_computed_again),
    cmocka_unit_test(second_order),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
