/* convolution_test.c - cx_conv and its kin, in right and wrong use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "calx/models/nn.h"
#include "calx/testing.h"
#include "support/group.h"

static void expect(cx got, int n, const double *want) {
  double x[64] = { 0 };
  const char *message = "";
  if (!cx_read(cx_cast(got, CX_F64), x, 64)) cx_error(&message);
  assert_string_equal(message, "");
  assert_int_equal(cx_size(got), n);
  for (int i = 0; i < n; i++)
    if (fabs(x[i] - want[i]) > 1e-6)
      fail_msg("%d: %g, not %g", i, x[i], want[i]);
}
#define EXPECT(got, ...)                                               \
  expect(got, (int)(sizeof(double[]){ __VA_ARGS__ } / sizeof(double)), \
         (double[]){ __VA_ARGS__ })

static void expect_shape(cx got, cx_dims want) {
  const cx_dims s = cx_shape(got);
  const char *message = "";
  if (!cx_ok()) cx_error(&message);
  assert_string_equal(message, "");
  assert_int_equal(s.n, want.n);
  for (int i = 0; i < s.n; i++) assert_int_equal(s.d[i], want.d[i]);
}

/* -- vectors: what NumPy gives --------------------------------------------- */

static void test_vectors(void **state) {
  (void)state;
  cx a = cx_array(float, 1, 2, 3), v = cx_array(float, 0, 1, 0.5);
  EXPECT(cx_convolve(a, v), 0, 1, 2.5, 4, 1.5);
  EXPECT(cx_convolve(a, v, .mode = "same"), 1, 2.5, 4);
  EXPECT(cx_convolve(a, v, .mode = "valid"), 2.5);
  EXPECT(cx_correlate(a, v), 3.5);
  EXPECT(cx_correlate(a, v, .mode = "same"), 2, 3.5, 3);
  EXPECT(cx_correlate(a, v, .mode = "full"), 0.5, 2, 3.5, 3, 0);
  /* the second is the longer one */
  cx two = cx_array(float, 1, 10);
  EXPECT(cx_convolve(two, a), 1, 12, 23, 30);
  EXPECT(cx_correlate(two, a, .mode = "full"), 3, 32, 21, 10);
  EXPECT(cx_convolve(a, two, .mode = "same"), 1, 12, 23);
  EXPECT(cx_convolve(cx_array(int, 1, 2), cx_array(int, 3)), 3, 6);
}

/* -- cx_conv --------------------------------------------------------------- */

static cx counting(cx_dims shape) {
  int64_t n = 1;
  for (int i = 0; i < shape.n; i++) n *= shape.d[i];
  return cx_reshape(cx_cast(cx_arange(0, n, 1, CX_I32), CX_F32), shape);
}

static void test_padding(void **state) {
  (void)state;
  cx x = counting(CX_SHAPE(1, 1, 5)), k = cx_ones(CX_F32, 1, 1, 2);
  EXPECT(cx_conv(x, k), 1, 3, 5, 7);
  EXPECT(cx_conv(x, k, .padding = "SAME"), 1, 3, 5, 7, 4);
  EXPECT(cx_conv(x, k, .padding = "SAME_LOWER"), 0, 1, 3, 5, 7);
  EXPECT(cx_conv(x, k, .strides = CX_SHAPE(2)), 1, 5);
  EXPECT(cx_conv(x, k, .strides = CX_SHAPE(2), .padding = "SAME"), 1, 5, 4);
  EXPECT(cx_conv(x, k, .dilation = CX_SHAPE(3)), 3, 5);
  EXPECT(cx_conv(x, k, .low = CX_SHAPE(1), .high = CX_SHAPE(-1)), 0, 1, 3, 5);
  EXPECT(cx_conv(x, k, .input_dilation = CX_SHAPE(2), .low = CX_SHAPE(-3)), 2,
         2, 3, 3, 4);
  EXPECT(cx_conv(cx_cast(x, CX_BF16), cx_cast(k, CX_BF16), .out = CX_F32), 1, 3,
         5, 7);
}

/* The same numbers in every layout. */
static void test_layouts(void **state) {
  (void)state;
  cx x = cx_random_like(cx_spec(CX_F64, 2, 4, 6, 5), 1);
  cx k = cx_random_like(cx_spec(CX_F64, 6, 2, 3, 2), 2);
  cx want =
      cx_conv(x, k, .groups = 2, .strides = CX_SHAPE(2, 1), .padding = "SAME");
  expect_shape(want, CX_SHAPE(2, 6, 3, 5));
  cx last = cx_conv(cx_transpose(x, 0, 2, 3, 1), cx_transpose(k, 2, 3, 1, 0),
                    .groups = 2, .strides = CX_SHAPE(2, 1), .padding = "SAME",
                    .layout = "NHWC,HWIO,NHWC");
  cx_assert(cx_check_close(cx_transpose(last, 0, 3, 1, 2), want));
  cx mixed = cx_conv(cx_transpose(x, 3, 0, 2, 1), cx_transpose(k, 1, 2, 3, 0),
                     .groups = 2, .strides = CX_SHAPE(2, 1), .padding = "SAME",
                     .layout = "WNHC,IHWO->HWCN");
  cx_assert(cx_check_close(cx_transpose(mixed, 3, 2, 0, 1), want));
  /* strides are in the order of the kernel's letters */
  cx crossed = cx_conv(x, cx_transpose(k, 0, 1, 3, 2), .groups = 2,
                       .strides = CX_SHAPE(1, 2), .padding = "SAME",
                       .layout = "NCHW,OIWH,NCHW");
  cx_assert(cx_check_close(crossed, want));
}

static void test_batch_groups(void **state) {
  (void)state;
  cx x = counting(CX_SHAPE(4, 1, 1)), k = cx_array(float, 1, 10);
  EXPECT(cx_conv(x, cx_reshape(k, 2, 1, 1), .batch_groups = 2), 0, 20, 1, 30);
}

CX_DEF(strided, x, k) {
  return cx_conv(x, k, .strides = CX_SHAPE(2, 3), .low = CX_SHAPE(1, 2),
                 .high = CX_SHAPE(0, 1), .dilation = CX_SHAPE(2, 1),
                 .groups = 2);
}
CX_DEF(strided_loss, x, k) {
  return cx_sum(cx_square(strided(x, k)));
}

static void test_transforms(void **state) {
  (void)state;
  cx x = cx_random_like(cx_spec(CX_F64, 2, 4, 7, 8), 1);
  cx k = cx_random_like(cx_spec(CX_F64, 4, 2, 2, 3), 2);
  cx_assert(cx_check_grads(CX_FN(strided), (x, k), .order = 2));
  cx_assert(cx_check_jit(cx_grad(CX_FN(strided_loss)), (x, k)));
  cx xs = cx_random_like(cx_spec(CX_F64, 3, 2, 4, 7, 8), 3);
  cx ks = cx_random_like(cx_spec(CX_F64, 3, 4, 2, 2, 3), 4);
  cx_assert(cx_check_vmap(CX_FN(strided), (xs, ks)));
  cx_assert(cx_check_vmap(cx_grad(CX_FN(strided_loss)), (xs, ks)));
}

/* -- cx_conv_transpose ----------------------------------------------------- */

CX_DEF(down, x, k) {
  return cx_conv(x, k, .strides = CX_SHAPE(2, 3), .padding = "SAME");
}

/* With .transpose_kernel it is the derivative of cx_conv. */
static void test_transpose(void **state) {
  (void)state;
  cx x = cx_random_like(cx_spec(CX_F64, 2, 3, 8, 9), 1);
  cx k = cx_random_like(cx_spec(CX_F64, 4, 3, 3, 5), 2);
  cx y = down(x, k);
  cx ct = cx_random_like(cx_spec(CX_F64, cx_shape(y)), 3);
  cx back = cx_conv_transpose(ct, k, .strides = CX_SHAPE(2, 3),
                              .padding = "SAME", .transpose_kernel = true);
  cx both = cx_call(cx_vjp(CX_FN(down)), cx_tuple(x, k), ct);
  cx_assert(cx_check_close(back, cx_nth(cx_nth(both, 1), 0)));
  cx v = counting(CX_SHAPE(1, 1, 3)), w = cx_ones(CX_F32, 1, 1, 2);
  EXPECT(cx_conv_transpose(v, w, .strides = CX_SHAPE(2)), 0, 0, 1, 1, 2, 2);
  EXPECT(cx_conv_transpose(v, w), 0, 1, 3, 2);
  EXPECT(cx_conv_transpose(v, w, .padding = "SAME"), 0, 1, 3);
  /* a stride beyond the kernel */
  EXPECT(cx_conv_transpose(v, w, .strides = CX_SHAPE(3), .padding = "SAME"), 0,
         0, 0, 1, 1, 0, 2, 2, 0);
}

/* -- cx_conv_patches ------------------------------------------------------- */

/* A product with the patches is the convolution. */
static void test_patches(void **state) {
  (void)state;
  cx x = cx_random_like(cx_spec(CX_F64, 2, 3, 6, 5), 1);
  cx k = cx_random_like(cx_spec(CX_F64, 4, 3, 2, 3), 2);
  cx p = cx_conv_patches(x, CX_SHAPE(2, 3), .padding = "SAME");
  expect_shape(p, CX_SHAPE(2, 18, 6, 5));
  cx y = cx_einsum("nkhw,ok->nohw", p, cx_reshape(k, 4, 18));
  cx_assert(cx_check_close(y, cx_conv(x, k, .padding = "SAME")));
  cx last = cx_conv_patches(cx_transpose(x, 0, 2, 3, 1), CX_SHAPE(2, 3),
                            .padding = "SAME", .layout = "NHWC,HWIO,NHWC");
  cx_assert(cx_check_close(cx_transpose(last, 0, 3, 1, 2), p));
}

/* -- wrong use ------------------------------------------------------------- */

static void ignore(cx poison) {
  (void)poison;
}

static void test_errors(void **state) {
  (void)state;
  cx x = cx_ones(CX_F32, 1, 2, 5), k = cx_ones(CX_F32, 3, 2, 2);
  ignore(cx_conv(x, cx_ones(CX_F32, 3, 4, 2)));
  cx_assert(cx_check_error(CX_ESHAPE, "takes 4 in each of 1 feature groups"));
  ignore(cx_conv(x, cx_ones(CX_F32, 3, 2)));
  cx_assert(cx_check_error(CX_ESHAPE, "conv: f32[1,2,5] and f32[3,2]: want"));
  ignore(cx_conv(x, cx_ones(CX_F64, 3, 2, 2)));
  cx_assert(cx_check_error(CX_EDTYPE, "f64"));
  ignore(cx_conv(x, k, .strides = CX_SHAPE(1, 1)));
  cx_assert(cx_check_error(CX_ESHAPE, ".strides [1,1]: want 1 numbers"));
  ignore(cx_conv(x, k, .strides = CX_SHAPE(0)));
  cx_assert(cx_check_error(CX_ESHAPE, "strides (0): want 1, none below 1"));
  ignore(cx_conv(x, k, .padding = "full"));
  cx_assert(cx_check_error(CX_ESHAPE, ".padding \"full\": want \"VALID\""));
  cx_assert(cx_check_close(cx_conv(x, k, .padding = "same_lower"),
                           cx_conv(x, k, .padding = "SAME_LOWER")));
  ignore(cx_conv(x, k, .padding = "SAME", .low = CX_SHAPE(1)));
  cx_assert(cx_check_error(CX_ESHAPE, "or .low and .high instead"));
  ignore(cx_conv(x, k, .padding = "SAME", .input_dilation = CX_SHAPE(2)));
  cx_assert(cx_check_error(CX_ESHAPE, "use cx_conv_transpose"));
  static const char *const layouts[] = { "NHC",
                                         "NCH,OIH",
                                         "NCW,OIH,NCW",
                                         "NCH,OIH,NCH,",
                                         "NNH,OIH,NCH",
                                         "NCHW,OIHW,NCHW",
                                         "" };
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    ignore(cx_conv(x, k, .layout = layouts[i]));
    cx_assert(cx_check_error(CX_ESHAPE, "letters for each of x, kernel"));
  }
  ignore(cx_conv(x, k, .transpose_kernel = true));
  cx_assert(cx_check_error(CX_EUSER, "is for cx_conv_transpose"));
  ignore(cx_conv_transpose(x, k, .input_dilation = CX_SHAPE(2)));
  cx_assert(cx_check_error(CX_EUSER, ".strides are the dilation"));
  ignore(cx_conv_transpose(x, k, .padding = "SAME_LOWER"));
  cx_assert(cx_check_error(CX_ESHAPE, ".padding \"SAME_LOWER\""));
  ignore(cx_conv_patches(x, CX_SHAPE(2, 2)));
  cx_assert(cx_check_error(CX_ESHAPE, "f32[1,2,5] needs 1 sizes"));
  ignore(cx_conv_patches(x, CX_SHAPE(2), .groups = 2));
  cx_assert(cx_check_error(CX_EUSER, "no .groups"));
  ignore(cx_convolve(x, k));
  cx_assert(cx_check_error(CX_ESHAPE, "convolve: wants two vectors"));
  ignore(cx_correlate(cx_ones(CX_F32, 2), cx_ones(CX_F32, 0)));
  cx_assert(cx_check_error(CX_ESHAPE, "correlate: wants two vectors"));
  ignore(cx_convolve(cx_ones(CX_F32, 2), cx_ones(CX_F32, 2), .mode = "half"));
  cx_assert(cx_check_error(CX_EUSER, ".mode \"half\": want"));
}

/* -- layers ---------------------------------------------------------------- */

CX_DEF(net_loss, params, x, labels) {
  return cx_cross_entropy(nn_convnet(params, x), labels, -1);
}

static void test_layers(void **state) {
  (void)state;
  cx k1, k2;
  cx_split(cx_key(3), &k1, &k2);
  cx layer = nn_conv_init(k1, 3, 8, CX_SHAPE(3, 3));
  cx x = cx_normal(k2, CX_F32, 2, 3, 9, 8);
  cx y = nn_conv(layer, x, .strides = CX_SHAPE(2, 2), .padding = "SAME");
  expect_shape(y, CX_SHAPE(2, 8, 5, 4));
  cx shifted = nn_conv(cx_put(layer, cx_full(2, CX_F32, 8), "bias"), x,
                       .strides = CX_SHAPE(2, 2), .padding = "SAME");
  cx_assert(cx_check_close(shifted, cx_add(y, 2)));
  cx last = nn_conv(layer, cx_transpose(x, 0, 2, 3, 1), .padding = "SAME",
                    .layout = "NHWC,OIHW,NHWC");
  cx_assert(cx_check_close(cx_transpose(last, 0, 3, 1, 2),
                           nn_conv(layer, x, .padding = "SAME")));
  /* a net learns to tell two images apart */
  cx net = nn_convnet_init(k1, CX_SHAPE(3, 8, 8), 2);
  expect_shape(nn_convnet(net, x), CX_SHAPE(2, 2));
  cx labels = cx_array(int, 0, 1);
  cx_fn step = cx_jit(cx_value_and_grad(CX_FN(net_loss)));
  double first = 0, loss = 0;
  for (int i = 0; i < 30; i++) {
    cx both = cx_call(step, net, x, labels);
    loss = cx_item(cx_nth(both, 0));
    if (i == 0) first = loss;
    net = cx_sub(net, cx_mul(0.1, cx_nth(both, 1)));
  }
  assert_true(cx_ok() && loss < 0.5 * first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_vectors),    cmocka_unit_test(test_padding),
    cmocka_unit_test(test_layouts),    cmocka_unit_test(test_batch_groups),
    cmocka_unit_test(test_transforms), cmocka_unit_test(test_transpose),
    cmocka_unit_test(test_patches),    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_layers),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
