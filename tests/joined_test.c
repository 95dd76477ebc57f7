/* joined_test.c - reductions by functions, associative scans, pooling, padding
 * modes: the public operations in right and wrong use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calx/testing.h"
#include "support/group.h"
#include "support/rows.h"

static void check_array(cx got, int n, const double *want) {
  double is[64];
  const char *message = "";
  if (!cx_read(cx_cast(got, CX_F64), is, 64)) {
    cx_error(&message);
    fail_msg("%s", message);
  }
  assert_int_equal(cx_size(got), n);
  for (int i = 0; i < n; i++)
    if (fabs(is[i] - want[i]) > 1e-12)
      fail_msg("element %d is %.17g, not %.17g", i, is[i], want[i]);
}

/* -- rows ----------------------------------------------------------------- */

static void test_rules(void **state) {
  (void)state;
  check_rules(CXI_PRIM_reduce);
  check_rules(CXI_PRIM_reduce_window);
  check_rules(CXI_PRIM_select_and_scatter);
}

#define PLAIN                                                                \
  "strides=(1), low=(0), high=(0), base_dilation=(1), window_dilation=(1), " \
  "body=@f"
static const row_values values[] = {
  /* neighbours in order: not commutative */
  { "program @f(%0: f32[], %1: f32[]) { return %1 }\n"
    "program @m(%0: f32[5], %1: f32[2,3]) { %2: f32[] = reduce[axes=(0), "
    "body=@f] %0, 9.0:f32 %3: f32[3] = reduce[axes=(0), body=@f] %1, 9.0:f32 "
    "return %2, %3 }",
    "1 2 3 4 5; 1 2 3 4 5 6", "5; 4 5 6" },
  { "program @f(%0: f32[], %1: f32[]) { %2: f32[] = sub %0, %1 return %2 }\n"
    "program @m(%0: f32[4]) { %1: f32[3] = reduce_window[window=(2), " PLAIN
    "] %0, 10.0:f32 return %1 }",
    "1 2 3 4", "7 5 3" },
  { "program @ge(%0: i32[], %1: i32[]) { %2: bool[] = ge %0, %1 return %2 }\n"
    "program @f(%0: i32[], %1: i32[]) { %2: i32[] = sub %1, %0 return %2 }\n"
    "program @m(%0: i32[4], %1: i32[3]) { %2: i32[4] = select_and_scatter["
    "window=(2), strides=(1), low=(0), high=(0), base_dilation=(1), "
    "window_dilation=(1), select=@ge, scatter=@f] %0, %1, 100:i32 return %2 }",
    "1 5 2 2; 10 20 30", "100 70 70 100" },
};
static const row_error errors[] = {
  { "program @f(%0: f32[]) { return %0 }\n"
    "program @m(%0: f32[5]) { %1: f32[] = reduce[axes=(0), body=@f] %0, "
    "1.0:f32 return %1 }",
    "reduce: the body takes 1 and gives 1 values, not 2 and 1" },
  { "program @f(%0: f32[], %1: f32[]) { %2: bool[] = lt %0, %1 return %2 }\n"
    "program @m(%0: f32[5]) { %1: f32[] = reduce[axes=(0), body=@f] %0, "
    "1.0:f32 return %1 }",
    "the body gives bool[] as value 0, not f32[]" },
  { "program @m(%0: f32[5]) { %1: f32[] = reduce[axes=(0), body=none] %0, "
    "1.0:f32 return %1 }",
    "no body" },
  { "program @f(%0: f32[], %1: f32[]) { return %0 }\n"
    "program @m(%0: f32[5], %1: f32[3]) { %2: f32[4] = reduce_window["
    "window=(2), " PLAIN "] %0, %1 return %2 }",
    "the start is f32[3]: needs rank 0, or the result's shape (4)" },
};
static void test_values(void **state) {
  (void)state;
  check_values(values, sizeof values / sizeof *values);
  check_errors(errors, sizeof errors / sizeof *errors);
}

/* -- reduce --------------------------------------------------------------- */

CX_DEF(longest, a, b) {
  cx value, place, other, other_place;
  cx_unpack(a, &value, &place);
  cx_unpack(b, &other, &other_place);
  cx stays = cx_ge(value, other);
  return cx_tuple(cx_where(stays, value, other),
                  cx_where(stays, place, other_place));
}
CX_DEF(times, a, b) {
  return cx_mul(a, b);
}
CX_DEF(product, x) {
  return cx_sum(cx_reduce(CX_FN(times), x, 2.0, 1));
}
CX_DEF(narrowed, a, b) {
  return cx_cast(cx_add(a, b), CX_F16);
}

static void test_reduce(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_reshape(cx_array(double, 3, 0, 5, 7, 2, 7), 2, 3);
  cx i = cx_reshape(cx_arange(0, 6, 1, CX_I32), 2, 3);
  cx best = cx_reduce(CX_FN(longest), cx_tuple(x, i), cx_tuple(-INFINITY, 0),
                      CX_ALL_AXES);
  check_array(cx_nth(best, 0), 1, (const double[]){ 7 });
  check_array(cx_nth(best, 1), 1, (const double[]){ 3 });
  check_array(cx_reduce(CX_FN(times), x, 2.0, 1), 2,
              (const double[]){ 0, 196 });
  check_array(cx_call(cx_grad(CX_FN(product)), x), 6,
              (const double[]){ 0, 30, 0, 28, 98, 28 });
  cx_assert(cx_check_grads(CX_FN(product), (x), .order = 2));
  cx_assert(cx_check_jit(CX_FN(product), (x)));
  cx_assert(cx_check_remat(CX_FN(product), (x)));
  cx_assert(cx_check_vmap(CX_FN(product),
                          (cx_random_like(cx_spec(CX_F64, 4, 2, 5), 1))));
  cx y = cx_reduce(CX_FN(times), x, 2.0, 2);
  cx_assert(cx_check_error(CX_EINDEX, "reduce"));
  y = cx_reduce(CX_FN(longest), x, 2.0, 0);
  assert_false(cx_ok());
  cx_assert(cx_check_error(CX_ETREE, ""));
  y = cx_reduce(CX_FN(narrowed), x, 2.0, 0);
  cx_assert(cx_check_error(CX_ESHAPE, "the body gives f16[]"));
  y = cx_reduce(CX_FN(times), x, cx_tuple(1.0, 2.0), 0);
  cx_assert(cx_check_error(CX_ETREE, "1 arrays, 2 starts"));
  (void)y;
}

/* -- associative_scan ----------------------------------------------------- */

/* y = a x + b after y = c x + d: maps compose. */
CX_DEF(after, f, g) {
  cx a, b, c, d;
  cx_unpack(f, &a, &b);
  cx_unpack(g, &c, &d);
  return cx_tuple(cx_mul(a, c), cx_add(cx_mul(b, c), d));
}
CX_DEF(run, a, b) {
  return cx_nth(cx_associative_scan(CX_FN(after), cx_tuple(a, b)), 1);
}
CX_DEF(first, a, b) {
  (void)b;
  return a;
}
CX_DEF(plus, a, b) {
  return cx_add(a, b);
}
CX_DEF(halved, a, b) {
  (void)b;
  return cx_index(a, CX_TO(1));
}

static void test_associative_scan(void **state) {
  (void)state;
  for (int n = 1; n < 10; n++) {
    CX_SCOPE;
    double a[10], b[10], want[10], y = 0;
    for (int i = 0; i < n; i++) {
      a[i] = 0.5 * i - 1, b[i] = i * i;
      want[i] = y = a[i] * y + b[i];
    }
    cx x = cx_from(a, n), z = cx_from(b, n);
    check_array(cx_call(CX_FN(run), x, z), n, want);
    cx_assert(cx_check_grads(CX_FN(run), (x, z)));
    cx_assert(cx_check_jit(CX_FN(run), (x, z)));
  }
  CX_SCOPE;
  cx x = cx_reshape(cx_arange(0, 6, 1, CX_F64), 2, 3);
  check_array(cx_associative_scan(CX_FN(plus), x, .axis = -1, .reverse = true),
              6, (const double[]){ 3, 3, 2, 12, 9, 5 });
  check_array(cx_associative_scan(CX_FN(first), x, .axis = 1), 6,
              (const double[]){ 0, 0, 0, 3, 3, 3 });
  check_array(cx_associative_scan(CX_FN(plus), cx_zeros(CX_F64, 0)), 0, NULL);
  cx y = cx_associative_scan(CX_FN(plus), x, .axis = 2);
  cx_assert(cx_check_error(CX_EINDEX, "associative_scan"));
  y = cx_associative_scan(CX_FN(after), cx_tuple(x, cx_zeros(CX_F64, 3)));
  cx_assert(cx_check_error(CX_ESHAPE, "leaf 1 is f64[3]"));
  y = cx_associative_scan(CX_FN(halved), cx_zeros(CX_F64, 6));
  cx_assert(cx_check_error(CX_ESHAPE, "leaf 0 enters as"));
  y = cx_associative_scan(CX_FN(plus), cx_none());
  cx_assert(cx_check_error(CX_ETREE, "no array"));
  (void)y;
}

/* -- windows -------------------------------------------------------------- */

CX_DEF(pooled, x) {
  return cx_max_pool(x, CX_SHAPE(2, 2), .strides = CX_SHAPE(2, 1));
}
CX_DEF(averaged, x) {
  return cx_avg_pool(x, CX_SHAPE(2, 3), .padding = "same");
}

static void test_windows(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(double, 1, 2, 3, 4, 5);
  check_array(cx_reduce_window(CX_RED_SUM, x, CX_SHAPE(2)), 4,
              (const double[]){ 3, 5, 7, 9 });
  check_array(cx_reduce_window(CX_RED_MIN, x, CX_SHAPE(2), .padding = "same",
                               .strides = CX_SHAPE(2)),
              3, (const double[]){ 1, 3, 5 });
  check_array(cx_reduce_window(CX_RED_MAX, x, CX_SHAPE(2), .padding = "1,0",
                               .dilation = CX_SHAPE(2)),
              4, (const double[]){ 2, 3, 4, 5 });
  check_array(cx_reduce_window(CX_RED_SUM, x, CX_SHAPE(2),
                               .input_dilation = CX_SHAPE(2),
                               .strides = CX_SHAPE(4)),
              2, (const double[]){ 1, 3 });
  cx flat = cx_reshape(x, 5, 1);
  check_array(cx_avg_pool(flat, CX_SHAPE(3), .padding = "same"), 5,
              (const double[]){ 1, 2, 3, 4, 3 });
  check_array(
      cx_avg_pool(flat, CX_SHAPE(3), .padding = "1,1", .exclude_padding = true),
      5, (const double[]){ 1.5, 2, 3, 4, 4.5 });
  check_array(cx_min_pool(flat, CX_SHAPE(2)), 4,
              (const double[]){ 1, 2, 3, 4 });
  cx image = cx_random_like(cx_spec(CX_F64, 2, 4, 5, 3), 1);
  cx_assert(cx_check_grads(CX_FN(pooled), (image)));
  cx first = cx_transpose(image, 0, 3, 1, 2); /* the channels */
  cx same = cx_transpose(averaged(image), 0, 3, 1, 2);
  cx_assert(cx_check_close(cx_avg_pool(first, CX_SHAPE(2, 3), .padding = "SAME",
                                       .channels_first = true),
                           same));
  cx_assert(cx_check_close(
      cx_max_pool(first, CX_SHAPE(2, 2), .strides = CX_SHAPE(2, 1),
                  .padding = "1,0;0,1", .channels_first = true),
      cx_transpose(cx_max_pool(image, CX_SHAPE(2, 2), .strides = CX_SHAPE(2, 1),
                               .padding = "1,0;0,1"),
                   0, 3, 1, 2)));
  cx_assert(cx_check_grads(CX_FN(averaged), (image)));
  cx_assert(cx_check_vmap(CX_FN(pooled), (image)));
  cx_assert(cx_check_jit(CX_FN(averaged), (image)));
  cx y = cx_reduce_window(CX_RED_SUM, x, CX_SHAPE(2, 2));
  cx_assert(cx_check_error(CX_ESHAPE, "needs 1 sizes"));
  y = cx_reduce_window(CX_RED_SUM, x, CX_SHAPE(2), .padding = "all");
  cx_assert(cx_check_error(CX_EUSER, "not \"all\""));
  y = cx_reduce_window(CX_RED_VAR, x, CX_SHAPE(2));
  cx_assert(cx_check_error(CX_EUSER, "no reduction of windows"));
  y = cx_max_pool(x, CX_SHAPE(2));
  cx_assert(cx_check_error(CX_ESHAPE, "that of the channels"));
  y = cx_max_pool(image, CX_SHAPE(2, 2), .strides = CX_SHAPE(2));
  cx_assert(cx_check_error(CX_ESHAPE, "but a list"));
  y = cx_avg_pool(cx_ones(CX_I32, 3, 1), CX_SHAPE(2));
  cx_assert(cx_check_error(CX_EDTYPE, "the mean needs a floating dtype"));
  (void)y;
}

/* -- padding -------------------------------------------------------------- */

CX_DEF(mirrored, x) {
  return cx_pad_by(x, CX_PAD_REFLECT, (2, 3), (1, 0));
}
CX_DEF(ramped, x) {
  return cx_pad_by(x, CX_PAD_LINEAR_RAMP, (2, 3), (1, 0));
}

static void test_padding(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(double, 1, 2, 4);
  static const struct {
    cx_pad_mode mode;
    double want[9];
  } cases[] = {
    { CX_PAD_EDGE, { 1, 1, 1, 2, 4, 4, 4, 4, 4 } },
    { CX_PAD_REFLECT, { 4, 2, 1, 2, 4, 2, 1, 2, 4 } },
    { CX_PAD_SYMMETRIC, { 2, 1, 1, 2, 4, 4, 2, 1, 1 } },
    { CX_PAD_WRAP, { 2, 4, 1, 2, 4, 1, 2, 4, 1 } },
    { CX_PAD_LINEAR_RAMP, { 0, 0.5, 1, 2, 4, 3, 2, 1, 0 } },
    { CX_PAD_MAXIMUM, { 4, 4, 1, 2, 4, 4, 4, 4, 4 } },
    { CX_PAD_MINIMUM, { 1, 1, 1, 2, 4, 1, 1, 1, 1 } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_array(cx_pad_by(x, cases[i].mode, (2, 4)), 9, cases[i].want);
  check_array(cx_pad_by(cx_array(int32_t, 1, 2, 2), CX_PAD_MEAN, (1, 0)), 4,
              (const double[]){ 2, 1, 2, 2 });
  check_array(cx_pad_by(cx_array(double, 7), CX_PAD_REFLECT, (1, 2)), 4,
              (const double[]){ 7, 7, 7, 7 });
  cx image = cx_random_like(cx_spec(CX_F64, 3, 2), 1);
  cx_assert(cx_check_grads(CX_FN(mirrored), (image)));
  cx_assert(cx_check_grads(CX_FN(ramped), (image)));
  cx y = cx_pad_by(x, CX_PAD_EDGE, (1, 1), (0, 0));
  cx_assert(cx_check_error(CX_ESHAPE, "needs 1 pairs, got 2"));
  y = cx_pad_by(x, CX_PAD_WRAP, (-1, 0));
  cx_assert(cx_check_error(CX_ESHAPE, "no negative sizes"));
  y = cx_pad_by(cx_zeros(CX_F64, 0), CX_PAD_EDGE, (1, 0));
  cx_assert(cx_check_error(CX_ESHAPE, "nothing to pad with"));
  y = cx_pad_by(cx_zeros(CX_F64, 1), CX_PAD_WRAP, (INT64_C(1) << 61, 0));
  cx_assert(cx_check_error(CX_EMEMORY, "pad: out of memory"));
  y = cx_pad_by(x, (cx_pad_mode)99, (1, 0));
  cx_assert(cx_check_error(CX_EUSER, "no mode"));
  (void)y;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rules),   cmocka_unit_test(test_values),
    cmocka_unit_test(test_reduce),  cmocka_unit_test(test_associative_scan),
    cmocka_unit_test(test_windows), cmocka_unit_test(test_padding),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
