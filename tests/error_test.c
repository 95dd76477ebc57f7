/* error_test.c - the messages a user sees, with their source lines. */
#include "support/calls.h"

/* The lines below are longer than 80: a golden message and its call stand on
 * one line each, since GCC and Clang differ in the line of a longer call. */

/* "FILE:LINE: text" of the line before the one it is called on. */
#define ASSERT_MESSAGE(code, text) assert_message(code, text, __LINE__ - 1)
static void assert_message(cx_code code, const char *text, int line) {
  char want[512];
  const char *message;
  snprintf(want, sizeof want, "%s:%d: %s", __FILE__, line, text);
  assert_int_equal(cx_error(&message), code);
  assert_string_equal(message, want);
}

CX_DEF(not_scalar, x) {
  return cx_mul(x, x);
}
CX_DEF(example_loss, x, y) {
  return cx_sum(cx_mul(x, y));
}
CX_DEF(step, x) {
  return cx_mul(x, cx_item(cx_sum(x)));
}
CX_DEF(cell, h, x) {
  return cx_tuple(cx_reshape(cx_add(h, x), 1, 64), h);
}
CX_DEF(cell_dtype, h, x) {
  return cx_tuple(
      cx_dict("a", cx_cast(cx_get(h, "a"), CX_F64), "b", cx_get(h, "b")), x);
}
CX_DEF(donated, mems) {
  return cx_add(mems, 1);
}
CX_DEF(identity, x) {
  return x;
}
CX_DEF(count, n) {
  return cx_add(n, 1);
}

static void golden_messages(void **state) {
  (void)state;
  CX_SCOPE;
  cx a = cx_ones(CX_F32, 128, 784), b = cx_ones(CX_F32, 3, 4), r;
  /* clang-format off */
  r = cx_matmul(a, b);
  ASSERT_MESSAGE(CX_ESHAPE, "matmul: inner sizes differ: f32[128,784] @ f32[3,4]");
  r = cx_call(cx_grad(CX_FN(not_scalar)), cx_ones(CX_F32, 128));
  ASSERT_MESSAGE(CX_ESHAPE, "grad(not_scalar): must return a scalar, got f32[128]");
  r = cx_call(cx_vmap(CX_FN(example_loss)), cx_ones(CX_F32, 128), cx_ones(CX_F32, 64));
  ASSERT_MESSAGE(CX_ESHAPE, "vmap(example_loss): argument 0 \"x\" has 128 along axis 0, argument 1 \"y\" has 64");
  /* clang-format on */
  (void)r;
}

static void values_are_not_known_while_tracing(void **state) {
  (void)state;
  CX_SCOPE;
  cx r = cx_call(CX_FN(step), cx_ones(CX_F32, 3));
  assert_int_equal(cx_size(r), 0);
  assert_error(CX_ETRACE, "item: the value of f32[] is not known while tracing"
                          " step; use cx_cond, cx_while or return it");
}

CX_DEF(waits, x) {
  cx_wait(cx_tuple(1, x));
  return x;
}

static void a_wait_looks_at_each_leaf(void **state) {
  (void)state;
  CX_SCOPE;
  cx m = cx_ones(CX_F32, 3), r;
  cx tree = cx_tuple(1.5, cx_dict("a", m, "b", cx_none()));
  cx_wait(tree);
  cx_wait(cx_none());
  assert_good();
  r = cx_call(cx_jit(CX_FN(donated), .donate = CX_ARGS(0)), m);
  cx_wait(tree);
  assert_error(CX_ELIFETIME,
               "wait: this array (f32[3]) was donated to donated");
  cx_wait(cx_tuple(r, cx_spec(CX_F32, 2)));
  assert_error(CX_ETRACE, "wait: f32[2] is a spec, it has no value");
  r = cx_call(CX_FN(waits), cx_ones(CX_F32, 4));
  assert_error(CX_ETRACE, "wait: the value of f32[4] is not known while"
                          " tracing waits");
  (void)r;
}

CX_DEF(sum_up, c, x) {
  c = cx_add(c, x);
  return cx_tuple(c, c);
}
CX_DEF(sum_up_while, c) {
  return cx_add(c, cx_ones(CX_F64));
}
CX_DEF(below_ten, c) {
  return cx_lt(c, 10);
}
CX_DEF(halved, i, c) {
  (void)i;
  return cx_mul(cx_nth(c, 1), 0.5);
}
CX_DEF(widened, i, c) {
  (void)i;
  return cx_add(c, cx_ones(CX_F32, 3));
}

CX_DEF(mixed, i, c) {
  (void)i;
  cx wrong = cx_add(cx_ones(CX_F16, 2), cx_ones(CX_F64, 2));
  return cx_add(c, cx_cast(cx_sum(wrong), CX_I32));
}

/* What stands in the message is what the caller wrote, and what to write. */
static void numbers_and_names(void **state) {
  (void)state;
  CX_SCOPE;
  cx i = cx_ones(CX_I32, 3), r;
  r = cx_randint(cx_key(0), 0.0, 5, CX_I32, 3);
  assert_error(CX_EDTYPE, "randint: the number 0.0 is no i32 (write 0, or cast"
                          " the array first)");
  r = cx_mul(i, 1e6);
  assert_error(CX_EDTYPE, "the number 1000000.0 is no i32 (write 1000000, or");
  r = cx_mul(i, 1e30);
  assert_error(CX_EDTYPE, "the number 1e+30 is no i32 (cast the array first)");
  r = cx_get(i, "w");
  assert_error(CX_ETREE, "get: this is i32[3], not a tree");
  cx_fn f = cx_load_fn("nothing.txt");
  assert_error(CX_EIO, "load_fn: nothing.txt: its suffix must be .calx");
  f = cx_load_fn("nothing.calx");
  assert_error(CX_EIO, "load_fn: nothing.calx: ");
  assert_false(cx_save_fn("nothing.txt", CX_FN(below_ten), i));
  assert_error(CX_EIO, "save_fn: nothing.txt: its suffix must be .calx");
  assert_null(cx_program_load("nothing.txt"));
  assert_error(CX_EIO, "program_load: nothing.txt: its suffix");
  (void)f;
  (void)r;
}

/* A carry that starts as a C number has that number's dtype. */
static void carries_that_start_as_numbers(void **state) {
  (void)state;
  CX_SCOPE;
  cx doubles = cx_ones(CX_F64, 5);
  cx r = cx_scan(CX_FN(sum_up), 0.0, doubles);
  assert_error(CX_EDTYPE, "add: dtypes differ: f32[] and f64[] (write"
                          " cx_cast(..., CX_F64)); carry \"c\" of the scan is"
                          " f32[], as the C number that it starts as: start"
                          " with cx_scalar(x, dtype)");
  r = cx_while(CX_FN(below_ten), CX_FN(sum_up_while), 0);
  assert_error(CX_EDTYPE, "carry \"c\" of the while is i32[], as the C number");
  r = cx_fori(0, 3, CX_FN(halved), cx_tuple(cx_ones(CX_F32), 1));
  assert_error(CX_EDTYPE, "mul: the number 0.5 is no i32 (cast the array"
                          " first); carry \"c.1\" of the fori is i32[], as");
  r = cx_fori(0, 3, CX_FN(widened), 0.0);
  assert_error(CX_ESHAPE, "carry \"c\" enters as f32[], leaves as f32[3]; it"
                          " starts as a C number: start with cx_full(x,"
                          " CX_F32, sizes)");
  /* the carry that the message is about */
  r = cx_fori(0, 3, CX_FN(halved), cx_tuple(0.0, 1));
  assert_error(CX_EDTYPE, "no i32 (cast the array first); carry \"c.1\" of");
  /* two that it may be about */
  r = cx_fori(0, 3, CX_FN(halved), cx_tuple(2, 1));
  assert_error(CX_EDTYPE, "first); carry \"c.0\" (or one of 1 more) of the");
  /* no word of it where the start is an array, where the message is about
   * other dtypes, or behind the loop */
  const char *other;
  r = cx_fori(0, 3, CX_FN(mixed), 1);
  assert_int_equal(cx_error(&other), CX_EDTYPE);
  assert_null(strstr(other, "C number"));
  r = cx_scan(CX_FN(sum_up), cx_zeros(CX_F32), doubles);
  const char *message;
  assert_int_equal(cx_error(&message), CX_EDTYPE);
  assert_null(strstr(message, "C number"));
  r = cx_add(cx_zeros(CX_F32), doubles);
  assert_int_equal(cx_error(&message), CX_EDTYPE);
  assert_null(strstr(message, "C number"));
  r = cx_scan(CX_FN(sum_up), cx_scalar(0, CX_F64), doubles);
  assert_good();
  (void)r;
}

static void carries_are_compared_leaf_by_leaf(void **state) {
  (void)state;
  CX_SCOPE;
  cx r = cx_scan(CX_FN(cell), cx_zeros(CX_F32, 64), cx_zeros(CX_F32, 5, 64));
  assert_error(
      CX_ESHAPE,
      "scan(cell): carry \"h\" enters as f32[64], leaves as f32[1,64]");
  cx h = cx_dict("a", cx_zeros(CX_F32, 2), "b", 1);
  r = cx_scan(CX_FN(cell_dtype), h, cx_zeros(CX_F32, 5));
  assert_error(CX_EDTYPE, "scan(cell_dtype): carry \"h.a\" enters as f32[2],"
                          " leaves as f64[2]; start with CX_F64,"
                          " cx_cast(start, CX_F64), or return"
                          " cx_cast(carry, CX_F32)");
  r = cx_scan(CX_FN(identity), h, cx_zeros(CX_F32, 5));
  assert_error(CX_ETREE, "identity takes 1 argument (x), got 2");
  (void)r;
}

static void donations_are_checked(void **state) {
  (void)state;
  CX_SCOPE;
  cx m = cx_zeros(CX_F32, 3);
  cx_fn f = cx_jit(CX_FN(donated), .donate = CX_ARGS(0));
  cx r = cx_call(f, cx_tuple(m, m));
  assert_error(CX_ELIFETIME, "donate: \"mems.0\" and \"mems.1\" are one "
                             "buffer: donate one, or a copy");
  r = cx_call(f, m);
  assert_good();
  r = cx_add(m, 1);
  assert_error(CX_ELIFETIME, "this array (f32[3]) was donated to donated at ");
  cx pinned = cx_ones(CX_F32, 3);
  assert_non_null(cx_data(pinned));
  r = cx_call(f, pinned);
  assert_error(CX_ELIFETIME, "donate: \"mems\" is borrowed, or its address was"
                             " given out by cx_data");
  cx_fn sums = cx_jit(CX_FN(example_loss), .donate = CX_ARGS(0));
  r = cx_call(sums, cx_ones(CX_F32, 4), cx_ones(CX_F32, 4));
  assert_error(CX_ESHAPE,
               "donate: \"x\" (f32[4]) fits no result of jit(example_loss)");
  r = cx_call(cx_jit(CX_FN(example_loss), .donate = CX_ARGS(2)), 1.0, 1.0);
  assert_error(CX_ETREE, "donate: jit(example_loss) has 2 arguments");
  (void)r;
}

static cx escaped;
CX_DEF(leaks, x) {
  escaped = cx_add(x, 1);
  return x;
}

static void handles_end(void **state) {
  (void)state;
  cx a, kept, r;
  {
    CX_SCOPE;
    a = cx_ones(CX_F32, 3);
    kept = cx_keep(a);
  }
  r = cx_add(a, 1);
  assert_error(CX_ELIFETIME, "this handle's scope has ended");
  r = cx_add(kept, 1);
  assert_good();
  cx_drop(kept);
  r = cx_add(kept, 1);
  assert_error(CX_ELIFETIME, "this handle has been dropped");
  r = cx_call(CX_FN(leaks), 1.0);
  assert_good();
  assert_true(cx_item(escaped) != cx_item(escaped)); /* NaN */
  assert_error(CX_ELIFETIME, "item: this handle's trace (leaks) has ended");
  cx_ctx *other = cx_open("reference"), *mine = *state;
  cx b = cx_ones(CX_F32, 3);
  assert_ptr_equal(cx_use(mine), other);
  r = cx_add(b, 1);
  assert_error(CX_ELIFETIME, "this handle belongs to another context");
  cx_close(other);
  r = cx_add(b, 1);
  assert_error(CX_ELIFETIME, "this handle is not valid here");
  (void)r;
}

CX_STRUCT(captured, (cx, w));
CX_DEF_ENV(times_w, captured, e, x) {
  return cx_mul(e->w, x);
}

static void functions_end_with_their_scope(void **state) {
  (void)state;
  cx_fn f;
  {
    CX_SCOPE;
    f = cx_jit(CX_BIND(times_w, .w = cx_ones(CX_F32, 3)));
    assert_true(cx_item(cx_sum(cx_call(f, 2.0))) == 6);
  }
  cx r = cx_call(f, 2.0);
  assert_error(CX_ELIFETIME, "this function's scope has ended");
  assert_null(cx_grad(f));
  assert_error(CX_ELIFETIME, "this function's scope has ended");
  r = cx_call(CX_BIND(times_w, .w = cx_fail(CX_EUSER, "bad")), 1.0);
  assert_error(CX_EUSER, "bad");
  (void)r;
}

static void the_first_error_is_kept(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_matmul(cx_ones(CX_F32, 2), cx_ones(CX_F32, 3));
  cx q = cx_add(cx_exp(p), cx_matmul(cx_ones(CX_F32, 4), cx_ones(CX_F32, 5)));
  assert_false(cx_ok());
  assert_int_equal(cx_dim(q, -1), 1);
  assert_string_equal(cx_show(q), "poison");
  cx good = cx_add(1.0, 2.0); /* others run */
  assert_true(cx_item(good) == 3);
  assert_error(CX_ESHAPE, "f32[2]");
  assert_true(cx_ok());
  q = cx_exp(p);
  assert_good(); /* poison passes on without a new error */
  cx slot = cx_keep(good);
  cx_swap(&slot, p);
  assert_true(cx_item(slot) == 3);
  cx_drop(slot);
  cx_drop(p);
  assert_good();
}

static int hook_calls;
static void hook(cx_code code, const char *message, void *user) {
  (void)code, (void)message;
  hook_calls += *(const int *)user;
}

static void contexts_report_on_their_own(void **state) {
  cx_ctx *mine = *state;
  int one = 1;
  cx_ctx *other = cx_open("cpu", .on_error = hook, .user = &one);
  assert_non_null(other);
  cx p = cx_fail(CX_EUSER, "here");
  p = cx_fail(CX_EUSER, "again");
  (void)p;
  assert_int_equal(hook_calls, 2);
  cx_use(mine);
  assert_true(cx_ok());
  assert_null(cx_open("cuda"));
  assert_error(CX_EDEVICE, "open(\"cuda\"): this build has no CUDA device");
  assert_null(cx_open("tpu"));
  assert_error(CX_EDEVICE, "no device is called \"tpu\"");
  cx_use(NULL);
  p = cx_from((const float[]){ 1 }, 1);
  assert_error(CX_ELIFETIME, "no context is open in this thread");
  assert_null(cx_open("cuda:1"));
  assert_error(CX_EDEVICE, "cuda:1");
  cx_use(other);
  assert_error(CX_EUSER, "here");
  cx_close(other);
  cx_use(mine);
}

static void transforms_say_what_is_wrong(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, 3), r;
  r = cx_call(cx_grad(CX_FN(count)), 1);
  assert_error(CX_EDTYPE,
               "must return a scalar of a floating dtype, got i32[]");
  r = cx_call(cx_grad(CX_FN(example_loss), .wrt = CX_ARGS(1)), x,
              cx_array(int32_t, 1, 2, 3));
  assert_error(CX_EDTYPE, "dtypes differ");
  r = cx_call(cx_grad(CX_FN(example_loss), .wrt = CX_ARGS(2)), x, x);
  assert_error(CX_ETREE, ".wrt names an argument");
  r = cx_call(cx_grad(CX_FN(example_loss), .has_aux = true), x, x);
  assert_error(CX_ETREE, "must return (loss, aux), got f32[]");
  r = cx_call(cx_vmap(CX_FN(count), .in = { CX_NONE }), x);
  assert_error(CX_ESHAPE, "no argument is mapped");
  r = cx_call(cx_vmap(CX_FN(count), .in = { 1 }), x);
  assert_error(CX_EINDEX,
               "axis 1 is out of range for argument 0 \"n\", f32[3]");
  r = cx_call(cx_vmap(CX_FN(count), .out = { 2 }), x);
  assert_error(CX_EINDEX, "out axis 2 of result 0");
  r = cx_call(cx_vmap(CX_FN(count), .out = { CX_NONE }), x);
  assert_error(CX_ESHAPE, "cannot be CX_NONE");
  r = cx_call(cx_jvp(CX_FN(count)), cx_tuple(x), cx_tuple(cx_ones(CX_F32, 4)));
  assert_error(CX_ETREE, "the tangent at \"0\" is f32[4], for f32[3]");
  r = cx_call(cx_jvp(CX_FN(count)), x, x);
  assert_error(CX_ETREE, "takes (primals, tangents)");
  r = cx_call(cx_vjp(CX_FN(count)), cx_tuple(x), cx_tuple(x));
  assert_error(CX_ETREE, "the cotangent at");
  (void)r;
}

CX_DEF(bad, x) {
  return cx_reshape(x, 7);
}
CX_DEF(ignores, x) {
  cx lost = cx_call(CX_FN(bad), x);
  (void)lost;
  return cx_sum(x);
}

/* A function that loses the poison of a failed call fails all the same, each
 * time anew: its trace is not kept. */
static void an_ignored_error_spoils_the_trace(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, 3);
  for (int i = 0; i < 2; i++) {
    cx r = cx_call(CX_FN(ignores), x);
    assert_int_equal(cx_size(r), 0);
    assert_error(CX_ESHAPE, "reshape: f32[3] has 3 elements, not [7]");
    r = cx_call(cx_jit(cx_grad(CX_FN(ignores))), x);
    assert_error(CX_ESHAPE, "reshape: f32[3] has 3 elements, not [7]");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(golden_messages),
    cmocka_unit_test(values_are_not_known_while_tracing),
    cmocka_unit_test(a_wait_looks_at_each_leaf),
    cmocka_unit_test(carries_are_compared_leaf_by_leaf),
    cmocka_unit_test(numbers_and_names),
    cmocka_unit_test(carries_that_start_as_numbers),
    cmocka_unit_test(donations_are_checked),
    cmocka_unit_test(handles_end),
    cmocka_unit_test(functions_end_with_their_scope),
    cmocka_unit_test(the_first_error_is_kept),
    cmocka_unit_test(contexts_report_on_their_own),
    cmocka_unit_test(transforms_say_what_is_wrong),
    cmocka_unit_test(an_ignored_error_spoils_the_trace),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
