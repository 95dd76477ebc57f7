/* effect_test.c - callbacks and debug prints: when they run, how often, in
 * which order, on both executors. */
#include <math.h>

#include "calx/testing.h"
#include "support/written.h"
#include "support/wrong.h"

/* -- functions of the host ------------------------------------------------- */

typedef struct tally {
  int calls;
  int64_t elements, rank;
} tally;
static tally pure, noted;

static cx_code twice(const cx_buf *in, cx_buf *out, void *user) {
  tally *t = user;
  const float *x = in[0].data;
  float *y = out[0].data;
  int64_t n = 1;
  for (int i = 0; i < in[0].shape.n; i++) n *= in[0].shape.d[i];
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * 2;
  t->calls++;
  t->elements = n;
  t->rank = in[0].shape.n;
  return CX_OK;
}
static cx_code log_number(const cx_buf *in, cx_buf *out, void *user) {
  (void)out;
  char text[64];
  snprintf(text, sizeof text, "%s%g;", (const char *)user,
           (double)*(const float *)in[0].data);
  written_add(text);
  noted.calls++;
  return CX_OK;
}
static cx_code fails(const cx_buf *in, cx_buf *out, void *user) {
  (void)in, (void)out, (void)user;
  return CX_EIO;
}

static cx ask(cx x) {
  return cx_callback(twice, cx_spec_like(x), (x), .user = &pure);
}
static void tell(const char *what, cx x) {
  cx none = cx_callback(log_number, cx_none(), (x), .user = (void *)what,
                        .ordered = true);
  (void)none;
}

/* -- values ---------------------------------------------------------------- */

CX_DEF(asks, x) {
  return cx_add(ask(cx_add(x, 1)), 0.5);
}
static cx_code all_kinds(const cx_buf *in, cx_buf *out, void *user) {
  (void)user;
  ((uint8_t *)out[0].data)[0] = 7; /* true */
  ((uint8_t *)out[0].data)[1] = 0;
  *(int64_t *)out[1].data = ((const int8_t *)in[1].data)[2];
  *(double *)out[2].data = ((const double *)in[0].data)[1];
  return CX_OK;
}
CX_DEF(kinds, t) {
  cx specs =
      cx_dict("flags", cx_spec(CX_BOOL, 2), "rest",
              cx_tuple(cx_spec(CX_I64, CX_SCALAR), cx_spec(CX_F64, CX_SCALAR)));
  return cx_callback(all_kinds, specs, (t, cx_zeros(CX_F32, 0)));
}

static void values(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2, 3), want = cx_array(float, 4.5, 6.5, 8.5);
  assert_same_bits(asks(x), want);
  assert_same_bits(cx_call(CX_FN(asks), x), want);
  assert_same_bits(cx_call(cx_jit(CX_FN(asks)), x), want);
  /* operands that are views of others */
  const cx m = cx_reshape(cx_array(float, 1, 2, 3, 4, 5, 6), 2, 3);
  assert_same_bits(cx_call(cx_jit(CX_FN(asks)), cx_transpose(m, 1, 0)),
                   cx_add(cx_mul(cx_add(cx_transpose(m, 1, 0), 1), 2), 0.5));
  const cx t = cx_tuple(cx_array(double, 1, 2.5), cx_array(int8_t, 1, 2, -3));
  const cx out =
      cx_dict("flags", cx_array(bool, 1, 0), "rest",
              cx_tuple(cx_scalar(-3, CX_I64), cx_scalar(2.5, CX_F64)));
  assert_same_bits(kinds(t), out);
  assert_same_bits(cx_call(cx_jit(CX_FN(kinds)), t), out);
}

/* -- how often ------------------------------------------------------------- */

CX_DEF(unused, x) {
  cx y = ask(x), z = ask(cx_mul(x, 3));
  (void)y, (void)z;
  tell("a", cx_sum(x));
  tell("a", cx_sum(x));
  return cx_mul(x, 2);
}
CX_DEF(equal_calls, x) {
  return cx_add(ask(x), ask(x));
}

static void how_often(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2);
  const cx_fn f = cx_jit(CX_FN(unused));
  for (int i = 0; i < 3; i++) {
    pure.calls = 0;
    assert_same_bits(cx_call(f, x), cx_mul(x, 2));
    assert_int_equal(pure.calls, 0); /* pure and unused */
    assert_written("a3;a3;");        /* neither dropped nor merged */
  }
  pure.calls = 0;
  assert_same_bits(cx_call(cx_jit(CX_FN(equal_calls)), x), cx_mul(x, 4));
  assert_in_range(pure.calls, 1, 2);
}

/* -- order ----------------------------------------------------------------- */

/* Effects with much between them that a planner would like to move. */
CX_DEF(many, x) {
  cx parts[6], sum = cx_zeros_like(x);
  for (int i = 0; i < 6; i++) {
    parts[i] = cx_matmul(cx_mul(x, i + 1), x);
    if (i % 2) tell("p", cx_sum(cx_mul(x, i)));
    cx_debug_print("i{}", i);
  }
  for (int i = 5; i >= 0; i--) {
    sum = cx_add(sum, cx_sin(parts[i]));
    tell("s", cx_sum(cx_mul(x, i)));
  }
  cx_debug_print("end");
  return cx_sum(sum);
}
static const char in_order[] =
    "i0\np4;i1\ni2\np12;i3\ni4\np20;i5\ns20;s16;s12;s8;s4;s0;end\n";

static void order(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_full(1, CX_F32, 2, 2);
  cx y = many(x);
  assert_written(in_order);
  y = cx_call(CX_FN(many), x);
  assert_written(in_order);
  const cx_fn f = cx_jit(CX_FN(many));
  for (int i = 0; i < 2; i++) {
    y = cx_call(f, x);
    assert_written(in_order);
  }
  y = cx_call(cx_jit(cx_grad(CX_FN(many))), x);
  assert_written(in_order);
  y = cx_call(cx_jit(cx_value_and_grad(cx_checkpoint(CX_FN(many)))), x);
  assert_written(in_order);
  (void)y;
}

/* -- control flow ----------------------------------------------------------- */

CX_DEF(step, carry, x) {
  tell("s", x);
  cx_debug_print("{:.1f}", carry);
  return cx_tuple(cx_add(carry, x), cx_none());
}
CX_DEF(scanned, xs) {
  return cx_nth(cx_scan(CX_FN(step), cx_zeros(CX_F32, CX_SCALAR), xs), 0);
}
CX_DEF(small, x) {
  cx_debug_print("?");
  return cx_lt(x, 3);
}
CX_DEF(more, x) {
  tell("m", x);
  return cx_add(x, 1);
}
CX_DEF(looped, x) {
  return cx_while(CX_FN(small), CX_FN(more), x);
}
CX_DEF(is_positive, x) {
  cx_debug_print("yes {}", x);
  return x;
}
CX_DEF(is_negative, x) {
  cx_debug_print("no {}", x);
  return cx_neg(x);
}
CX_DEF(branched, x) {
  return cx_cond(cx_gt(x, 0), CX_FN(is_positive), CX_FN(is_negative), x);
}

static void control(void **state) {
  (void)state;
  CX_SCOPE;
  const cx xs = cx_array(float, 1, 2, 4);
  for (int jit = 0; jit < 2; jit++) {
    const cx_fn fs[] = { CX_FN(scanned), CX_FN(looped), CX_FN(branched) };
    cx_fn f[3];
    for (int i = 0; i < 3; i++) f[i] = jit ? cx_jit(fs[i]) : fs[i];
    cx y = cx_call(f[0], xs);
    assert_written("s1;0.0\ns2;1.0\ns4;3.0\n");
    y = cx_call(f[1], cx_lit_f(1));
    assert_written("?\nm1;?\nm2;?\n");
    y = cx_call(f[2], cx_lit_f(2.5));
    assert_written("yes 2.5\n");
    y = cx_call(f[2], cx_lit_f(-2));
    assert_written("no -2\n");
    (void)y;
  }
  /* the backward pass repeats nothing */
  cx y = cx_call(cx_jit(cx_grad(CX_FN(scanned))), xs);
  assert_same_bits(y, cx_ones(CX_F32, 3));
  assert_written("s1;0.0\ns2;1.0\ns4;3.0\n");
  y = cx_call(cx_grad(CX_FN(branched)), cx_lit_f(-2));
  assert_same_bits(y, cx_lit_f(-1));
  assert_written("no -2\n");
}

/* -- vmap -------------------------------------------------------------------- */

CX_DEF(by_broadcast, x, w) {
  cx y = cx_callback(twice, cx_spec_like(x), (x, w), .user = &pure,
                     .lanes = CX_LANES_BROADCAST);
  return y;
}
static cx_code times(const cx_buf *in, cx_buf *out, void *user) {
  (void)user;
  const float *x = in[0].data, *w = in[1].data;
  if (in[1].shape.n && in[1].shape.d[0] != 1) return CX_ESHAPE;
  for (int64_t i = 0; i < out[0].shape.d[0]; i++)
    ((float *)out[0].data)[i] = x[i] * w[0];
  return CX_OK;
}
CX_DEF(by_expand, x, w) {
  return cx_callback(times, cx_spec(CX_F32, CX_SCALAR), (x, w),
                     .lanes = CX_LANES_EXPAND);
}
CX_DEF(prints, x, w) {
  cx_debug_print("{} {}", x, w);
  cx_debug_print("w {}", w);
  return x;
}

static void lanes(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2, 3), w = cx_lit_f(10);
  pure.calls = 0;
  assert_same_bits(cx_call(cx_vmap(CX_FN(asks)), x),
                   cx_array(float, 4.5, 6.5, 8.5));
  assert_int_equal(pure.calls, 3);
  assert_int_equal(pure.rank, 0);
  pure.calls = 0;
  const cx_fn wide = cx_vmap(CX_FN(by_broadcast), .in = { 0, CX_NONE });
  assert_same_bits(cx_call(cx_jit(wide), x, w), cx_mul(x, 2));
  assert_int_equal(pure.calls, 1);
  assert_int_equal(pure.rank, 1);
  const cx_fn thin = cx_vmap(CX_FN(by_expand), .in = { 0, CX_NONE });
  assert_same_bits(cx_call(thin, x, w), cx_mul(x, 10));
  written_forget();
  cx y = cx_call(cx_vmap(CX_FN(prints), .in = { 0, CX_NONE }), x, w);
  assert_written("1 10\n2 10\n3 10\nw 10\n");
  y = cx_call(cx_jit(cx_vmap(cx_vmap(CX_FN(prints)))), cx_ones(CX_F32, 2, 1),
              cx_reshape(cx_array(float, 5, 6), 2, 1));
  assert_written("1 5\n1 6\nw 5\nw 6\n");
  assert_same_bits(cx_call(cx_vmap(CX_FN(asks)), cx_zeros(CX_F32, 0, 2)),
                   cx_zeros(CX_F32, 0, 2));
  (void)y;
}

/* -- derivatives ------------------------------------------------------------- */

CX_DEF(host_square, x) {
  return cx_mul(ask(x), cx_mul(x, 0.5));
}
CX_DEF(host_rule, primals, tangents) {
  cx x = cx_nth(primals, 0);
  return cx_tuple(host_square(x), cx_mul(ask(x), cx_nth(tangents, 0)));
}
CX_DEF(ruled, x) {
  return cx_sum(
      cx_call(cx_custom_jvp(CX_FN(host_square), CX_FN(host_rule)), x));
}
CX_DEF(constant, x) {
  return cx_sum(cx_mul(ask(cx_stop_gradient(x)), x));
}

static void derivatives(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2, 3);
  assert_same_bits(cx_call(cx_grad(CX_FN(ruled)), x), cx_mul(x, 2));
  assert_same_bits(cx_call(cx_jit(cx_grad(CX_FN(ruled))), x), cx_mul(x, 2));
  assert_same_bits(cx_call(cx_grad(CX_FN(constant)), x), cx_mul(x, 2));
  assert_same_bits(
      cx_call(cx_vmap(cx_grad(CX_FN(constant))), cx_reshape(x, 3, 1)),
      cx_reshape(cx_mul(x, 2), 3, 1));
}

/* -- the text ---------------------------------------------------------------- */

static void texts(void **state) {
  (void)state;
  CX_SCOPE;
  cx_debug_print("plain {{}} 100%");
  assert_written("plain {} 100%\n");
  cx_debug_print("{} {:.3f} {:8.2e}|{:6}|", cx_array(float, 0.1, 1, -2.5),
                 cx_scalar(2.0 / 3, CX_F64), 1234.5, 42);
  assert_written("[0.1 1 -2.5] 0.667 1.23e+03|    42|\n");
  cx_debug_print("{} {}", cx_reshape(cx_array(int8_t, 1, -2, 3, 4), 2, 2),
                 cx_array(bool, 1, 0));
  assert_written("[[1 -2] [3 4]] [true false]\n");
  cx_debug_print("{} {} {}", cx_scalar((double)NAN, CX_F32),
                 cx_scalar((double)INFINITY, CX_F16),
                 cx_cast(cx_array(uint64_t, 18446744073709551615u), CX_U64));
  assert_written("nan inf [18446744073709551615]\n");
  cx_debug_print("{} {}", cx_zeros(CX_F32, 0, 2), cx_scalar(0.1, CX_BF16));
  assert_written("[] 0.1\n");
  cx_debug_print("{}", cx_arange(0, 2000, 1, CX_I32));
  assert_written("[0 1 2 ... 1997 1998 1999]\n");
  cx_debug_print("{}", cx_tuple(1, cx_none()));
  assert_written("1\n");
}

/* -- wrong uses --------------------------------------------------------------- */

static cx grad_of_host(void) {
  return cx_call(cx_grad(CX_FN(asks)), cx_lit_f(1));
}
CX_DEF(told, x) {
  tell("t", x);
  return x;
}
static cx ordered_lanes(void) {
  return cx_call(cx_vmap(CX_FN(told)), cx_ones(CX_F32, 3));
}
CX_DEF(failing, x) {
  return cx_callback(fails, cx_spec_like(x), (x));
}
static cx failure(void) {
  return cx_call(cx_jit(CX_FN(failing)), cx_lit_f(1));
}
static cx failure_at_once(void) {
  return failing(cx_lit_f(1));
}
static cx no_function(void) {
  return cx_callback(NULL, cx_none(), (1));
}
static cx no_specs(void) {
  return cx_callback(twice, (cx){ 0 }, (1));
}
static cx no_operand(void) {
  return cx_callback(twice, cx_none(), ((cx){ 0 }));
}
static cx unknown_lanes(void) {
  return cx_callback(twice, cx_none(), (1), .lanes = (cx_lanes)9);
}
static cx printed(void) {
  return cx_ok() ? cx_none() : cx_add(1, 2);
}
#define PRINTED(name, ...)       \
  static cx name(void) {         \
    cx_debug_print(__VA_ARGS__); \
    return printed();            \
  }
PRINTED(too_few, "{} {}", 1)
PRINTED(too_many, "{}", 1, 2)
PRINTED(open_brace, "{", 1)
PRINTED(close_brace, "}", 1)
PRINTED(bad_spec, "{:q}", 1)
PRINTED(digits_of_int, "{:.3f}", 1)
PRINTED(no_format, NULL, 1)
CX_DEF(lane_branch, x) {
  return cx_cond(cx_gt(x, 0), CX_FN(is_positive), CX_FN(is_negative), x);
}
static cx effect_by_lane(void) {
  return cx_call(cx_vmap(CX_FN(lane_branch)), cx_ones(CX_F32, 3));
}
static cx unknown_host(void) {
  cx_fn f = cx_parse("program @f(%0: f32[]) {\n"
                     "  %1: f32[] = callback[host=99999, results=(12,0), "
                     "effect=false, ordered=false, lanes=0] %0\n"
                     "  return %1\n}\n");
  return f ? cx_call(f, cx_lit_f(1)) : cx_none();
}

static const wrong wrong_calls_[] = {
  { grad_of_host, CX_ENORULE,
    "callback: a function of the host has no derivative" },
  { ordered_lanes, CX_ENORULE, "callback: the lanes of a vmap have no order" },
  { failure, CX_EIO, "callback: the function returned CX_EIO" },
  { failure_at_once, CX_EIO, "callback: the function returned CX_EIO" },
  { no_function, CX_ETREE, "callback: no function is given" },
  { no_specs, CX_ETREE, "callback: no specs of the result are given" },
  { no_operand, CX_ETREE, "callback: operand 0 is not given" },
  { unknown_lanes, CX_EUSER, "callback: lanes 9" },
  { too_few, CX_EUSER, "debug_print: the format has 2 places for 1 arrays" },
  { too_many, CX_EUSER, "debug_print: the format has 1 places for 2 arrays" },
  { open_brace, CX_EUSER, "debug_print: \"{\" is no {}, {:.3} or {{" },
  { close_brace, CX_EUSER, "debug_print: \"}\" is no {}" },
  { bad_spec, CX_EUSER, "debug_print: \"{:q}\" is no {}" },
  { digits_of_int, CX_EUSER,
    "debug_print: digits are given for array 0, which is not floating" },
  { no_format, CX_EUSER, "debug_print: no format" },
  { effect_by_lane, CX_ENORULE, "so none may have an effect" },
  { unknown_host, CX_EUSER, "this process has no host function 99999" },
};

static void wrong_uses(void **state) {
  (void)state;
  CHECK(wrong_calls_);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values), cmocka_unit_test(how_often),
    cmocka_unit_test(order),  cmocka_unit_test(control),
    cmocka_unit_test(lanes),  cmocka_unit_test(derivatives),
    cmocka_unit_test(texts),  cmocka_unit_test(wrong_uses),
  };
  const struct CMUnitTest reference[] = {
    cmocka_unit_test(values),      cmocka_unit_test(order),
    cmocka_unit_test(control),     cmocka_unit_test(lanes),
    cmocka_unit_test(derivatives),
  };
  return cmocka_run_group_tests(tests, written_start, written_stop) +
         cmocka_run_group_tests(reference, written_start_reference,
                                written_stop);
}
