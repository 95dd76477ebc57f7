/* policy_test.c - what each policy of a checkpoint keeps, as the saved
 * residuals tell it; and that none changes a bit. */
#include "calx/testing.h"
#include "support/wrong.h"

/* x (4,3), w (3,3), q (2,3,3): a product, a product with a batch dimension, a
 * convolution, and two values with names. */
CX_DEF(block, x, w, q) {
  cx h = cx_checkpoint_name(cx_tanh(cx_matmul(x, w)), "hidden");
  cx b = cx_matmul(cx_stack(0, h, h), q); /* (2,4,3) */
  cx c = cx_conv(cx_expand(cx_sin(b), 1), cx_ones(CX_F32, 1, 1, 2, 2));
  cx d = cx_checkpoint_name(cx_exp(c), "deep");
  return cx_sum(cx_cos(d));
}

static cx x_of(void) {
  return cx_random_like(cx_spec(CX_F32, 4, 3), 1);
}
static cx w_of(void) {
  return cx_random_like(cx_spec(CX_F32, 3, 3), 2);
}
static cx q_of(void) {
  return cx_random_like(cx_spec(CX_F32, 2, 3, 3), 3);
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)) != NULL; text++) n++;
  return n;
}

/* How many lines of its kind there are. */
typedef struct keeps {
  int product, batched, convolution, tanh, exp, sin, cos;
} keeps;

static void check_keeps(const char *what, cx_fn f, keeps want) {
  const char *text = cx_saved_residuals(f, x_of(), w_of(), q_of());
  assert_good();
  const keeps got = {
    .product = count(text, "f32[4,3] from dot_general"),
    .batched = count(text, "f32[2,4,3] from dot_general"),
    .convolution = count(text, "from conv_general_dilated"),
    .tanh = count(text, "from tanh"),
    .exp = count(text, "from exp"),
    .sin = count(text, "from sin"),
    .cos = count(text, "from cos"),
  };
  if (memcmp(&got, &want, sizeof got)) fail_msg("%s keeps:\n%s", what, text);
  const cx_fn grads[] = { cx_grad(f, .wrt = CX_ARGS(0, 1, 2)),
                          cx_grad(CX_FN(block), .wrt = CX_ARGS(0, 1, 2)) };
  const cx plain = cx_call(grads[1], x_of(), w_of(), q_of());
  assert_same_bits(cx_call(grads[0], x_of(), w_of(), q_of()), plain);
  assert_same_bits(cx_call(cx_jit(grads[0]), x_of(), w_of(), q_of()), plain);
}

static const char *const hidden[] = { "hidden", NULL };

static void policies(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_fn f = CX_FN(block);
  check_keeps("nothing", cx_checkpoint(f), (keeps){ 0 });
  check_keeps("dots", cx_checkpoint(f, .policy = CX_SAVE_DOTS),
              (keeps){ .product = 1, .batched = 1, .convolution = 1 });
  check_keeps("dots without batch",
              cx_checkpoint(f, .policy = CX_SAVE_DOTS_NO_BATCH),
              (keeps){ .product = 1 });
  check_keeps("names",
              cx_checkpoint(f, .policy = CX_SAVE_NAMES, .names = hidden),
              (keeps){ .tanh = 1 });
  check_keeps("other names",
              cx_checkpoint(f, .policy = CX_SAVE_OTHER_NAMES, .names = hidden),
              (keeps){ .exp = 1 });
  /* The product is not needed where tanh of it is kept. */
  check_keeps("dots and names",
              cx_checkpoint(f, .policy = CX_SAVE_DOTS, .names = hidden),
              (keeps){ .batched = 1, .convolution = 1, .tanh = 1 });
  check_keeps("names alone", cx_checkpoint(f, .names = hidden),
              (keeps){ .tanh = 1 });
}

/* -- a policy of one's own -------------------------------------------------- */

/* As CX_SAVE_DOTS_NO_BATCH. */
static bool plain_products(const cx_eqn *e, void *user) {
  cx_dims batch;
  int64_t none = 7;
  ++*(int *)user;
  if (strcmp(e->primitive, "dot_general")) return false;
  if (!cx_eqn_dims(e, "lhs_batch", &batch)) return false;
  if (cx_eqn_dims(e, "no_such", &batch) || cx_eqn_int(e, "lhs_batch", &none))
    return false;
  return e->n_in == 2 && e->n_out == 1 && batch.n == 0 && none == 7;
}
static bool large_values(const cx_eqn *e, void *user) {
  (void)user;
  return e->out[0].shape.n == 3 && e->out[0].type == CX_F32 &&
         strstr(e->at, "policy_test.c") && !strcmp(e->primitive, "sin");
}
static bool named_deep(const cx_eqn *e, void *user) {
  (void)user;
  return e->name && !strcmp(e->name, "deep");
}
static bool one_group(const cx_eqn *e, void *user) {
  (void)user;
  int64_t groups = 0;
  return cx_eqn_int(e, "feature_groups", &groups) && groups == 1;
}

static void own_policies(void **state) {
  (void)state;
  CX_SCOPE;
  int asked = 0;
  const cx_fn f = CX_FN(block);
  check_keeps("plain products",
              cx_checkpoint(f, .save = plain_products, .user = &asked),
              (keeps){ .product = 1 });
  assert_true(asked > 8);
  check_keeps("large values", cx_checkpoint(f, .save = large_values),
              (keeps){ .sin = 1 });
  check_keeps("deep", cx_checkpoint(f, .save = named_deep),
              (keeps){ .exp = 1 });
  check_keeps("one group", cx_checkpoint(f, .save = one_group),
              (keeps){ .convolution = 1 });
  cx_dims dims;
  int64_t number;
  assert_false(cx_eqn_dims(NULL, "axes", &dims));
  assert_false(cx_eqn_int(NULL, "axis", &number));
}

/* -- nested, in loops, of custom rules -------------------------------------- */

CX_DEF(inner, x, w) {
  return cx_sin(cx_tanh(cx_matmul(x, w)));
}
CX_DEF(outer, x, w) {
  cx h = cx_call(cx_checkpoint(CX_FN(inner)), x, w);
  return cx_sum(cx_exp(cx_call(cx_checkpoint(CX_FN(inner)), h, w)));
}
CX_DEF(outer_plain, x, w) {
  return cx_sum(cx_exp(inner(inner(x, w), w)));
}
CX_DEF(twice_nested, x, w) {
  return cx_call(cx_checkpoint(cx_checkpoint(CX_FN(outer))), x, w);
}
CX_DEF(step, carry, w) {
  cx keep =
      cx_call(cx_checkpoint(CX_FN(inner), .policy = CX_SAVE_DOTS), carry, w);
  return cx_tuple(keep, cx_sum(keep));
}
CX_DEF(step_plain, carry, w) {
  cx keep = inner(carry, w);
  return cx_tuple(keep, cx_sum(keep));
}
CX_DEF(loop, x, ws) {
  cx out = cx_scan(CX_FN(step), x, ws);
  return cx_add(cx_sum(cx_nth(out, 0)), cx_sum(cx_nth(out, 1)));
}
CX_DEF(loop_plain, x, ws) {
  cx out = cx_scan(CX_FN(step_plain), x, ws);
  return cx_add(cx_sum(cx_nth(out, 0)), cx_sum(cx_nth(out, 1)));
}
CX_DEF(going, carry) {
  return cx_lt(cx_nth(carry, 0), 4);
}
CX_DEF(advance, carry) {
  cx w = cx_nth(carry, 2);
  return cx_tuple(cx_add(cx_nth(carry, 0), 1), inner(cx_nth(carry, 1), w), w);
}
CX_DEF(bounded, x, w) {
  cx i = cx_zeros(CX_I32, CX_SCALAR);
  cx out =
      cx_while(CX_FN(going), CX_FN(advance), cx_tuple(i, x, w), .max_steps = 6);
  return cx_sum(cx_nth(out, 1));
}
CX_DEF(own_value, x) {
  return cx_mul(cx_sin(x), cx_exp(x));
}
CX_DEF(own_fwd, x) {
  cx e = cx_exp(x);
  return cx_tuple(cx_mul(cx_sin(x), e),
                  cx_tuple(x, cx_checkpoint_name(e, "e")));
}
CX_DEF(own_bwd, res, ct) {
  cx x = cx_nth(res, 0), e = cx_nth(res, 1);
  cx d = cx_add(cx_mul(cx_sin(x), e), cx_mul(cx_cos(x), e));
  return cx_tuple(cx_mul(ct, d, 3)); /* told apart from the plain one */
}
CX_DEF(own_loss, x) {
  return cx_sum(cx_call(
      cx_custom_vjp(CX_FN(own_value), CX_FN(own_fwd), CX_FN(own_bwd)), x));
}

static void assert_same_gradient(cx_fn f, cx_fn g, cx x, cx w) {
  const cx want = cx_call(cx_value_and_grad(g, .wrt = CX_ARGS(0, 1)), x, w);
  const cx_fn got = cx_value_and_grad(f, .wrt = CX_ARGS(0, 1));
  assert_same_bits(cx_call(got, x, w), want);
  assert_same_bits(cx_call(cx_jit(got), x, w), want);
  const cx xs = cx_stack(0, x, cx_neg(x)), ws = cx_stack(0, w, w);
  assert_same_bits(
      cx_call(cx_vmap(got), xs, ws),
      cx_call(cx_vmap(cx_value_and_grad(g, .wrt = CX_ARGS(0, 1))), xs, ws));
}

static void nested(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), w = w_of();
  assert_same_gradient(CX_FN(outer), CX_FN(outer_plain), x, w);
  assert_same_gradient(CX_FN(twice_nested), CX_FN(outer_plain), x, w);
  const char *text = cx_saved_residuals(CX_FN(twice_nested), x, w);
  assert_int_equal(count(text, "from argument"), 2);
  assert_int_equal(count(text, "\n"), 3);
  /* Only the inner ones: their inputs, and what exp needs. */
  text = cx_saved_residuals(CX_FN(outer), x, w);
  assert_int_equal(count(text, "from tanh"), 0);
  assert_int_equal(count(text, "from dot_general"), 0);
}

static void in_loops(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = x_of(), ws = cx_stack(0, w_of(), cx_neg(w_of()), w_of());
  assert_same_gradient(CX_FN(loop), CX_FN(loop_plain), x, ws);
  assert_same_gradient(cx_checkpoint(CX_FN(loop)), CX_FN(loop_plain), x, ws);
  assert_same_gradient(cx_checkpoint(CX_FN(bounded)), CX_FN(bounded), x,
                       w_of());
  cx_assert(cx_check_remat(CX_FN(bounded), (x, w_of())));
}

static void of_custom_rules(void **state) {
  (void)state;
  CX_SCOPE;
  static const char *const names[] = { "e", NULL };
  const cx x = x_of();
  const cx want = cx_call(cx_grad(CX_FN(own_loss)), x);
  const cx_fn none = cx_checkpoint(CX_FN(own_loss));
  const cx_fn some = cx_checkpoint(CX_FN(own_loss), .names = names);
  assert_same_bits(cx_call(cx_grad(none), x), want);
  assert_same_bits(cx_call(cx_jit(cx_grad(some)), x), want);
  assert_int_equal(count(cx_saved_residuals(none, x), "from exp"), 0);
  assert_int_equal(count(cx_saved_residuals(some, x), "from exp"), 1);
}

/* -- the text ---------------------------------------------------------------- */

CX_DEF(shown, x) {
  return cx_sum(cx_exp(cx_sin(x)));
}

static void residuals_tell_why(void **state) {
  (void)state;
  CX_SCOPE;
  const char *text = cx_saved_residuals(CX_FN(shown), cx_spec(CX_F64, 3, 2));
  assert_int_equal(count(text, "f64[3,2] from exp at "), 1);
  assert_int_equal(count(text, "f64[3,2] from cos at "), 1);
  assert_int_equal(count(text, ", 48 bytes, for mul at "), 2);
  assert_int_equal(count(text, "tests/policy_test.c:"), 4);
  assert_int_equal(count(text, "\n96 bytes in all\n"), 1);
}

static cx refused(cx_fn f) {
  if (f) cx_fail(CX_EUSER, "it was taken");
  return cx_none();
}
static cx offload(void) {
  return refused(cx_checkpoint(CX_FN(block), .policy = CX_OFFLOAD));
}
static cx unknown(void) {
  return refused(cx_checkpoint(CX_FN(block), .policy = (cx_policy)77));
}
static const wrong wrong_policies[] = {
  { offload, CX_ENORULE,
    "checkpoint: CX_OFFLOAD would move values to the host" },
  { unknown, CX_EUSER, "checkpoint: there is no policy 77" },
};

static void wrong_uses(void **state) {
  (void)state;
  CHECK(wrong_policies);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(policies),        cmocka_unit_test(own_policies),
    cmocka_unit_test(nested),          cmocka_unit_test(in_loops),
    cmocka_unit_test(of_custom_rules), cmocka_unit_test(residuals_tell_why),
    cmocka_unit_test(wrong_uses),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
