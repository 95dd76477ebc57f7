/* custom_vmap_test.c - functions with a batching rule of their own.
 *
 * scale(x, w) = x w; its rule says 10, 100 or 1000 times that, by the arguments
 * that are batched, so that a batch without the rule shows at once. */
#include "support/beside.h"
#include "support/calls.h"

CX_DEF(scale_value, x, w) {
  return cx_mul(x, w);
}
CX_DEF_ENV(scale_rule, cx_batch, b, x, w) {
  const double factor = b->in[0] && b->in[1] ? 10 : b->in[0] ? 100 : 1000;
  return cx_mul(x, w, factor);
}
CX_DEF(scale, x, w) {
  return cx_call(cx_custom_vmap(CX_FN(scale_value), CX_FN(scale_rule)), x, w);
}
static cx floats(double a, double b, double c) {
  return cx_array(float, (float)a, (float)b, (float)c);
}
static cx number(double a) {
  return cx_scalar(a, CX_F32);
}
static cx_fn slopes(cx_fn f) {
  return cx_grad(f, .wrt = CX_ARGS(0, 1));
}
static void assert_pair(cx pair, cx first, cx second) {
  assert_same_bits(cx_nth(pair, 0), first);
  assert_same_bits(cx_nth(pair, 1), second);
}

/* -- with and without a batch ---------------------------------------------- */

CX_DEF(outer_scale, x, w) {
  return cx_call(cx_custom_vmap(CX_FN(scale_value), CX_FN(scale_rule)), x,
                 cx_sum(w));
}

static void the_rule_is_for_batches(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(4, 5, 6);
  assert_same_bits(cx_call(CX_FN(scale), number(2), number(3)), number(6));
  assert_same_bits(cx_call(cx_jit(CX_FN(scale)), number(2), number(3)),
                   number(6));
  assert_same_bits(cx_call(cx_vmap(CX_FN(scale)), x, w), floats(40, 100, 180));
  assert_same_bits(
      cx_call(cx_vmap(CX_FN(scale), .in = { 0, CX_NONE }), x, number(2)),
      floats(200, 400, 600));
  assert_same_bits(
      cx_call(cx_vmap(CX_FN(scale), .in = { CX_NONE, 0 }), number(2), x),
      floats(2000, 4000, 6000));
  assert_same_bits(cx_call(cx_jit(cx_vmap(cx_jit(CX_FN(scale)))), x, w),
                   floats(40, 100, 180));
  /* the lanes come to axis 0 from any other: w (2, 3) along axis 1 */
  cx rows = cx_stack(0, x, w);
  assert_same_bits(
      cx_call(cx_vmap(CX_FN(outer_scale), .in = { 0, 1 }), x, rows),
      floats(50, 140, 270));
}

/* The size, a result that all lanes have in common, and one of integers. */
CX_DEF(describe_value, x) {
  return cx_dict("x", x, "size", cx_scalar(1, CX_I32), "same", x);
}
CX_DEF_ENV(describe_rule, cx_batch, b, x) {
  return cx_dict("x", cx_mul(x, 2), "size", cx_scalar((int)b->size, CX_I32),
                 "same", cx_full(7, CX_F32, 2));
}
CX_DEF(describe, x) {
  return cx_call(cx_custom_vmap(CX_FN(describe_value), CX_FN(describe_rule)),
                 x);
}

static void results_may_be_common(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_reshape(cx_arange(0, 8, 1, CX_F32), CX_SHAPE(4, 2));
  cx y = cx_call(cx_vmap(CX_FN(describe), .out = { 0 }), x);
  assert_same_bits(cx_get(y, "x"), cx_mul(x, 2));
  assert_same_bits(cx_get(y, "size"), cx_array(int32_t, 4, 4, 4, 4));
  assert_same_bits(cx_get(y, "same"), cx_full_like(x, 7));
}

/* An argument that is a tree is batched as a whole. */
CX_DEF(tree_value, t, x) {
  return cx_add(cx_mul(cx_get(t, "a"), cx_get(t, "b")), x);
}
CX_DEF_ENV(tree_rule, cx_batch, b, t, x) {
  if (cx_ndim(cx_get(t, "a")) != 1 || cx_ndim(cx_get(t, "b")) != 1)
    return x; /* an error */
  return cx_add(cx_mul(cx_get(t, "a"), cx_get(t, "b"), b->in[1] ? 2 : 3), x);
}
CX_DEF(tree, a, b, x) {
  return cx_call(cx_custom_vmap(CX_FN(tree_value), CX_FN(tree_rule)),
                 cx_dict("a", a, "b", b), x);
}

static void trees_are_batched_whole(void **state) {
  (void)state;
  CX_SCOPE;
  cx a = floats(1, 2, 3);
  assert_same_bits(cx_call(cx_vmap(CX_FN(tree), .in = { 0, CX_NONE, CX_NONE }),
                           a, number(2), number(1)),
                   floats(7, 13, 19));
  assert_same_bits(
      cx_call(cx_vmap(CX_FN(tree), .in = { CX_NONE, 0, 0 }), number(2), a, a),
      floats(5, 10, 15));
}

/* -- vmap of vmap ---------------------------------------------------------- */

/* The rule calls the function itself, with a batch more each time. */
static cx_fn deep_fn(void);
CX_DEF(deep_value, x) {
  return cx_mul(x, 1);
}
CX_DEF_ENV(deep_rule, cx_batch, b, x) {
  (void)b;
  return cx_mul(cx_call(deep_fn(), x), 2);
}
static cx_fn deep_fn(void) {
  return cx_custom_vmap(CX_FN(deep_value), CX_FN(deep_rule));
}
CX_DEF(deep, x) {
  return cx_call(deep_fn(), x);
}
CX_DEF(deep_sum, x) {
  return cx_sum(cx_call(cx_vmap(cx_vmap(CX_FN(deep))), x));
}

static void vmaps_nest(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_reshape(cx_arange(0, 6, 1, CX_F32), CX_SHAPE(3, 2));
  assert_same_bits(cx_call(cx_vmap(cx_vmap(CX_FN(deep))), x), cx_mul(x, 4));
  assert_same_bits(cx_call(cx_jit(cx_vmap(cx_jit(cx_vmap(CX_FN(deep))))), x),
                   cx_mul(x, 4));
  assert_same_bits(cx_call(cx_grad(CX_FN(deep_sum)), x), cx_full_like(x, 4));
  cx each = cx_call(cx_vmap(cx_vmap(cx_grad(CX_FN(deep)))), x);
  assert_same_bits(each, cx_full_like(x, 4));
  /* the inner vmap is over w, of which x knows nothing */
  cx_fn f = cx_vmap(cx_vmap(CX_FN(scale), .in = { CX_NONE, 0 }),
                    .in = { 0, CX_NONE });
  assert_same_bits(cx_call(f, floats(1, 2, 3), floats(1, 2, 3)),
                   cx_mul(cx_outer(floats(1, 2, 3), floats(1, 2, 3)), 1000));
}

/* -- derivatives ----------------------------------------------------------- */

CX_DEF(total, x, w) {
  return cx_sum(cx_call(cx_vmap(CX_FN(scale)), x, w));
}

static void derivatives_keep_the_rule(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(4, 5, 6);
  /* without a batch: that of the function */
  assert_pair(cx_call(slopes(CX_FN(scale)), number(2), number(3)), number(3),
              number(2));
  cx pair = cx_tuple(number(2), number(3));
  assert_pair(cx_call(cx_jvp(CX_FN(scale)), pair, pair), number(6), number(12));
  /* before and after vmap: that of the rule */
  const cx dx = floats(40, 50, 60), dw = floats(10, 20, 30);
  assert_pair(cx_call(slopes(CX_FN(total)), x, w), dx, dw);
  assert_pair(cx_call(cx_jit(slopes(CX_FN(total))), x, w), dx, dw);
  assert_pair(cx_call(cx_vmap(slopes(CX_FN(scale))), x, w), dx, dw);
  assert_pair(cx_call(cx_jit(cx_vmap(slopes(cx_jit(CX_FN(scale))))), x, w), dx,
              dw);
  pair = cx_tuple(x, w);
  assert_pair(cx_call(cx_jvp(cx_vmap(CX_FN(scale))), pair, pair),
              floats(40, 100, 180), floats(80, 200, 360));
  assert_pair(cx_call(cx_vmap(cx_jvp(CX_FN(scale))), pair, pair),
              floats(40, 100, 180), floats(80, 200, 360));
  /* a cotangent of its own for each lane, also where the lanes share w */
  cx_fn f =
      cx_vmap(cx_grad(CX_FN(scale), .wrt = CX_ARGS(0)), .in = { 0, CX_NONE });
  assert_same_bits(cx_call(f, x, number(2)), floats(200, 200, 200));
  /* values of vmap(value_and_grad) come from the rule, too */
  cx vg = cx_call(cx_vmap(cx_value_and_grad(CX_FN(scale))), x, w);
  assert_pair(vg, floats(40, 100, 180), dx);
}

CX_DEF(cube_value, x) {
  return cx_mul(x, x, x);
}
CX_DEF_ENV(cube_rule, cx_batch, b, x) {
  (void)b;
  return cx_mul(x, x, x, 2);
}
CX_DEF(cube, x) {
  return cx_call(cx_custom_vmap(CX_FN(cube_value), CX_FN(cube_rule)), x);
}
CX_DEF(cube_sum, x) {
  return cx_sum(cx_call(cx_vmap(CX_FN(cube)), x));
}

/* The tangent of x^3 along dx, and the tangent of that along (ax, adx): 3 x^2 dx
 * and 6 x ax dx + 3 x^2 adx; twice that by the rule. */
CX_DEF(first_tangent, x, dx) {
  return cx_nth(cx_call(cx_jvp(CX_FN(cube)), cx_tuple(x), cx_tuple(dx)), 1);
}
CX_DEF(second_tangent, x, dx, ax, adx) {
  return cx_nth(
      cx_call(cx_jvp(CX_FN(first_tangent)), cx_tuple(x, dx), cx_tuple(ax, adx)),
      1);
}

static void tangents_of_some_lanes(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = floats(1, 2, 3), two = number(2), one = number(1);
  cx_fn f = cx_vmap(CX_FN(second_tangent), .in = { 0, CX_NONE, CX_NONE, 0 });
  assert_same_bits(cx_call(f, x, two, one, x),
                   floats(24 + 6, 48 + 48, 72 + 162));
  f = cx_vmap(CX_FN(second_tangent), .in = { CX_NONE, 0, CX_NONE, CX_NONE });
  assert_same_bits(cx_call(f, two, x, one, one), floats(48, 72, 96));
  f = cx_vmap(CX_FN(second_tangent), .in = { CX_NONE, CX_NONE, 0, CX_NONE });
  assert_same_bits(cx_call(f, two, one, x, one), floats(48, 72, 96));
}

CX_DEF_ENV(beside_rule, cx_batch, b, x) {
  (void)b;
  return cx_call(cx_vmap(CX_FN(beside)), x);
}
CX_DEF(ruled_beside, x) {
  return cx_call(cx_custom_vmap(CX_FN(beside), CX_FN(beside_rule)), x);
}
static void results_for_nothing(void **state) {
  (void)state;
  CX_SCOPE;
  assert_same_bits(cx_call(cx_grad(CX_FN(ruled_beside)), number(3)), number(4));
  assert_same_bits(
      cx_call(cx_vmap(cx_grad(CX_FN(ruled_beside))), floats(1, 2, 3)),
      floats(4, 4, 4));
  assert_good();
}

/* x^3 has 6 x and 6; the rule 12 x and 12. */
static void second_and_third_order(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3);
  cx_fn g = cx_grad(CX_FN(cube));
  assert_same_bits(cx_call(cx_grad(g), number(2)), number(12));
  assert_same_bits(cx_call(cx_grad(cx_grad(g)), number(2)), number(6));
  assert_same_bits(cx_call(cx_vmap(cx_grad(g)), x), floats(12, 24, 36));
  assert_same_bits(cx_call(cx_vmap(cx_grad(cx_grad(g))), x),
                   floats(12, 12, 12));
  assert_same_bits(cx_call(cx_grad(cx_grad(cx_grad(CX_FN(cube)))), number(2)),
                   number(6));
  cx h = cx_call(cx_hessian(CX_FN(cube_sum)), x);
  assert_same_bits(h, cx_diag(floats(12, 24, 36)));
  assert_same_bits(cx_call(cx_jit(cx_hessian(CX_FN(cube_sum))), x), h);
  assert_same_bits(cx_call(cx_jacrev(cx_vmap(CX_FN(cube))), x),
                   cx_diag(floats(6, 24, 54)));
  assert_same_bits(cx_call(cx_jacfwd(cx_vmap(CX_FN(cube))), x),
                   cx_diag(floats(6, 24, 54)));
}

/* scale is linear in each argument alone. */
CX_DEF(times_two, x) {
  return scale(x, number(2));
}
static void a_linear_one_is_transposed(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn t = cx_linear_transpose(CX_FN(times_two), cx_tuple(number(1)));
  assert_same_bits(cx_nth(cx_call(t, number(3)), 0), number(6));
  t = cx_linear_transpose(cx_vmap(CX_FN(times_two)), cx_tuple(floats(1, 1, 1)));
  assert_same_bits(cx_nth(cx_call(t, floats(1, 2, 3)), 0),
                   floats(200, 400, 600));
}

/* The derivative of a call computes values beside tangents. */
CX_DEF(squared, x) {
  return cx_mul(x, x);
}
CX_DEF(calls_value, x) {
  return cx_tanh(cx_call(cx_jit(CX_FN(squared)), x));
}
CX_DEF_ENV(calls_rule, cx_batch, b, x) {
  return b->in[0] ? cx_call(cx_vmap(CX_FN(calls_value)), x)
                  : cx_call(CX_FN(calls_value), x);
}
CX_DEF(calls, x) {
  return cx_call(cx_custom_vmap(CX_FN(calls_value), CX_FN(calls_rule)), x);
}
static void calls_inside_are_transposed(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3);
  cx want = cx_call(cx_vmap(cx_grad(CX_FN(calls_value))), x);
  assert_same_bits(cx_call(cx_grad(CX_FN(calls)), number(2)),
                   cx_call(cx_grad(CX_FN(calls_value)), number(2)));
  assert_same_bits(cx_call(cx_vmap(cx_grad(CX_FN(calls))), x), want);
  cx_fn sequential = cx_sequential_vmap(CX_FN(calls_value));
  assert_same_bits(cx_call(cx_vmap(cx_grad(sequential)), x), want);
}

/* -- inside everything ----------------------------------------------------- */

CX_STRUCT(weight_env, (cx, w));
CX_DEF_ENV(scale_step, weight_env, e, c, i) {
  (void)i;
  cx next = scale(c, e->w);
  return cx_tuple(next, next);
}
/* x w^3 and its path. */
CX_DEF(loop, x, w) {
  return cx_nth(
      cx_scan(CX_BIND(scale_step, .w = w), x, cx_arange(0, 3, 1, CX_I32)), 0);
}
CX_DEF(branch, x, w) {
  return cx_cond(cx_gt(x, 0), CX_FN(scale), CX_FN(scale_value), x, w);
}
CX_DEF(again, x, w) {
  return cx_call(cx_checkpoint(CX_FN(loop)), x, w);
}
CX_DEF(kept, x, w) {
  return cx_call(cx_checkpoint(CX_FN(scale), .policy = CX_SAVE_EVERYTHING), x,
                 w);
}

static void inside_loops_and_branches(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(2, 1, 3);
  assert_pair(cx_call(slopes(CX_FN(loop)), number(2), number(3)), number(27),
              number(54));
  /* each step has the factor 10 */
  assert_same_bits(cx_call(cx_vmap(CX_FN(loop)), x, w),
                   floats(8000, 2000, 81000));
  cx g = cx_call(cx_vmap(slopes(CX_FN(loop))), x, w);
  assert_pair(g, floats(8000, 1000, 27000), floats(12000, 6000, 81000));
  assert_pair(cx_call(cx_jit(cx_vmap(slopes(CX_FN(again)))), x, w),
              cx_nth(g, 0), cx_nth(g, 1));
  assert_pair(cx_call(cx_vmap(cx_checkpoint(slopes(CX_FN(kept)))), x, w),
              floats(20, 10, 30), floats(10, 20, 30));
  assert_same_bits(cx_call(cx_vmap(CX_FN(branch)), floats(-1, 2, -3), w),
                   floats(-2, 20, -9));
  g = cx_call(cx_vmap(slopes(CX_FN(branch))), floats(-1, 2, -3), w);
  assert_pair(g, floats(2, 10, 3), floats(-1, 20, -3));
}

/* Settings of the rule's own beside what it is told. */
CX_STRUCT(told_env, (double, factor), (cx_batch, batch));
CX_DEF_ENV(told_rule, told_env, e, x, w) {
  return cx_mul(x, w, e->factor * (double)e->batch.size);
}
CX_DEF(plain_rule, x, w) {
  return cx_sub(x, w);
}

static void rules_have_settings(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3);
  cx_fn f =
      cx_custom_vmap(CX_FN(scale_value), CX_BIND(told_rule, .factor = 0.5));
  assert_same_bits(cx_call(cx_vmap(f), x, x), floats(1.5, 6, 13.5));
  f = cx_custom_vmap(CX_FN(scale_value), CX_BIND(told_rule, .factor = 2));
  assert_same_bits(cx_call(cx_vmap(f), x, x), floats(6, 24, 54));
  f = cx_custom_vmap(CX_FN(scale_value), CX_FN(plain_rule));
  assert_same_bits(cx_call(cx_vmap(f), x, x), floats(0, 0, 0));
}

/* -- lane by lane ---------------------------------------------------------- */

static int n_calls;
static cx_code count_lanes(const cx_buf *in, cx_buf *out, void *user) {
  (void)user;
  n_calls++;
  *(float *)out->data = *(const float *)in->data * 2;
  return CX_OK;
}
CX_DEF(counted, x) {
  return cx_callback(count_lanes, cx_spec(CX_F32, CX_SCALAR), (x),
                     .lanes = CX_LANES_BROADCAST);
}
CX_DEF(sin_of, x, w) {
  return cx_mul(cx_sin(x), w);
}
CX_DEF(sin_total, x, w) {
  return cx_sum(cx_call(
      cx_vmap(cx_sequential_vmap(CX_FN(sin_of)), .in = { 0, CX_NONE }), x, w));
}
CX_DEF(sin_plain, x, w) {
  return cx_sum(cx_call(cx_vmap(CX_FN(sin_of), .in = { 0, CX_NONE }), x, w));
}

static void sequential_is_a_loop(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = number(2);
  n_calls = 0;
  assert_same_bits(cx_call(cx_vmap(cx_sequential_vmap(CX_FN(counted))), x),
                   floats(2, 4, 6));
  assert_int_equal(n_calls, 3);
  assert_same_bits(cx_call(CX_FN(sin_total), x, w),
                   cx_call(CX_FN(sin_plain), x, w));
  assert_same_bits(cx_call(cx_grad(CX_FN(sin_total)), x, w),
                   cx_call(cx_grad(CX_FN(sin_plain)), x, w));
  cx rows = cx_stack(0, x, x);
  cx_fn f = cx_vmap(cx_vmap(cx_sequential_vmap(CX_FN(sin_of))));
  assert_same_bits(cx_call(f, rows, rows), cx_mul(cx_sin(rows), rows));
  f = cx_vmap(cx_grad(cx_sequential_vmap(CX_FN(sin_of))));
  assert_same_bits(cx_call(f, x, x), cx_mul(x, cx_cos(x)));
}

/* -- what is wrong --------------------------------------------------------- */

CX_DEF(short_rule, x, w) {
  return cx_mul(cx_sum(x), cx_ones(CX_F32, 2), cx_sum(w));
}
CX_DEF(tuple_rule, x, w) {
  return cx_tuple(x, w);
}
CX_DEF(failing_rule, x, w) {
  return cx_add(x, cx_concat(0, w, w));
}
CX_DEF(one_argument, x) {
  return x;
}

static cx fails_with(cx_fn rule) {
  cx x = floats(1, 2, 3);
  return cx_call(cx_vmap(cx_custom_vmap(CX_FN(scale_value), rule)), x, x);
}

CX_DEF_ENV(captures_rule, weight_env, e, x, w) {
  return cx_mul(x, w, e->w);
}
CX_DEF(makes_rule, x, w) {
  return cx_mul(x, w, floats(1, 2, 3));
}

static void mistakes_are_named(void **state) {
  (void)state;
  CX_SCOPE;
  cx r = fails_with(CX_FN(short_rule));
  assert_error(CX_ESHAPE, "short_rule returned f32[2]");
  r = fails_with(CX_FN(tuple_rule));
  assert_error(CX_ETREE, "the batching rule tuple_rule must return");
  r = fails_with(CX_FN(failing_rule));
  assert_error(CX_ESHAPE, "add");
  r = fails_with(CX_FN(one_argument));
  assert_error(CX_ETREE, "one_argument takes 1 argument");
  r = fails_with(CX_BIND(captures_rule, .w = floats(1, 2, 3)));
  assert_error(CX_ETREE, "may not capture arrays");
  r = fails_with(CX_FN(makes_rule));
  assert_error(CX_ETRACE, "uses an array that is no argument");
  /* nothing is wrong as long as there is no batch */
  r = cx_call(cx_custom_vmap(CX_FN(scale_value), CX_FN(tuple_rule)), number(2),
              number(3));
  assert_same_bits(r, number(6));
  assert_null(cx_custom_vmap(CX_FN(scale_value), NULL));
  cx_error(NULL);
}

/* Texts with the number of a rule that is another function's. */
static void numbers_of_other_rules(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = floats(1, 2, 3), w = floats(4, 5, 6);
  assert_same_bits(cx_call(cx_vmap(CX_FN(scale)), x, w), floats(40, 100, 180));
  static const char *const bodies[] = {
    "(%0: f32[]) { return %0 }",
    "(%0: f32[], %1: f32[], %2: f32[]) { return %0 }",
    "(%0: f32[], %1: f32[]) { return %0, %1 }",
    "(%0: f32[], %1: i32[]) { return %0 }",
  };
  static const char *const calls[] = {
    "%3: f32[] = custom_vmap[body=@f, rule=1, name=\"f\"] %0 return %3 }",
    "%3: f32[] = custom_vmap[body=@f, rule=1, name=\"f\"] %0, %1, %1 return %3 "
    "}",
    "%3: f32[], %4: f32[] = custom_vmap[body=@f, rule=1, name=\"f\"] %0, %1 "
    "return %3, %4 }",
    "%3: f32[] = custom_vmap[body=@f, rule=1, name=\"f\"] %0, %2 return %3 }",
  };
  for (int i = 0; i < 4; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "program @f%s program @main(%%0: f32[], %%1: f32[], %%2: i32[]) "
             "{ %s",
             bodies[i], calls[i]);
    assert_null(cx_parse(text));
    assert_error(CX_EUSER, "no batching rule 1 for such a body");
  }
  assert_null(
      cx_parse("program @f(%0: f32[]) { return %0 }"
               "program @df(%0: f32[], %1: f32[]) { return %1, %1 }"
               "program @main(%0: f32[]) { %1: f32[], %2: f32[] = "
               "custom_vmap_derivative[body=@df, of=@f, transposed=false, "
               "wrt=(1), linearizing=false] %0, %0 return %2 }"));
  assert_error(CX_ETREE, "a body with 2 results instead of 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_rule_is_for_batches),
    cmocka_unit_test(results_may_be_common),
    cmocka_unit_test(trees_are_batched_whole),
    cmocka_unit_test(vmaps_nest),
    cmocka_unit_test(derivatives_keep_the_rule),
    cmocka_unit_test(tangents_of_some_lanes),
    cmocka_unit_test(results_for_nothing),
    cmocka_unit_test(second_and_third_order),
    cmocka_unit_test(a_linear_one_is_transposed),
    cmocka_unit_test(calls_inside_are_transposed),
    cmocka_unit_test(inside_loops_and_branches),
    cmocka_unit_test(rules_have_settings),
    cmocka_unit_test(sequential_is_a_loop),
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(numbers_of_other_rules),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
