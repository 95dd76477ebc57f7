/* conv_test.c - conv_general_dilated: values, order of the sum, errors, rules.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/conv.h"
#include "support/execute.h"
#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The parameters of a convolution along one dimension; the rest is given. */
#define ONE(stride, low, high, gap, spread, groups, type)                    \
  "conv_general_dilated[strides=(" #stride "), low=(" #low "), high=(" #high \
  "), lhs_dilation=(" #gap "), rhs_dilation=(" #spread                       \
  "), lhs_axes=(0,1,2), rhs_axes=(0,1,2), out_axes=(0,1,2), " groups         \
  ", type=" #type "] %0, %1"
#define ALONE "feature_groups=1, batch_groups=1"

static const row_values values[] = {
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: f32[1,1,3] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "1 2 3 4; 10 1", "12 23 34" },
  /* zeros around, every second position, every second tap */
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: f32[1,1,3] = " ONE(
        2, 1, 2, 1, 2, ALONE, f32) " return %2 }",
    "1 2 3 4; 10 1", "2 24 40" },
  /* gaps between the elements of the operand, and cropped */
  { "program @m(%0: f32[1,1,3], %1: f32[1,1,2]) { %2: f32[1,1,4] = " ONE(
        1, 0, 0, 2, 1, ALONE, f32) " return %2 }",
    "1 2 3; 10 1", "10 2 20 3" },
  { "program @m(%0: f32[1,1,5], %1: f32[1,1,2]) { %2: f32[1,1,2] = " ONE(
        1, -1, -1, 1, 1, ALONE, f32) " return %2 }",
    "1 2 3 4 5; 10 1", "23 34" },
  /* the operand goes on in zeros, which take part; in gaps there is nothing */
  { "program @m(%0: f32[1,1,2], %1: f32[1,1,2]) { %2: f32[1,1,4] = " ONE(
        1, 2, 0, 2, 1, ALONE, f32) " return %2 }",
    "1 2; inf 3", "nan 3 inf 6" },
  /* channels and features; groups of both; groups of the batch */
  { "program @m(%0: f32[1,2,2], %1: f32[2,2,1]) { %2: f32[1,2,2] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "1 2 3 4; 1 10 100 1000", "31 42 3100 4200" },
  { "program @m(%0: f32[1,2,2], %1: f32[4,1,1]) { %2: f32[1,4,2] = " ONE(
        1, 0, 0, 1, 1, "feature_groups=2, batch_groups=1", f32) " return %2 }",
    "1 2 3 4; 1 10 100 1000", "1 2 10 20 300 400 3000 4000" },
  { "program @m(%0: f32[2,1,2], %1: f32[2,1,1]) { %2: f32[1,2,2] = " ONE(
        1, 0, 0, 1, 1, "feature_groups=1, batch_groups=2", f32) " return %2 }",
    "1 2 3 4; 1 10", "1 2 30 40" },
  /* integers wrap, bools are sums of products as bools, f16 rounds once */
  { "program @m(%0: i8[1,1,2], %1: i8[1,1,2]) { %2: i8[1,1,1] = " ONE(
        1, 0, 0, 1, 1, ALONE, i8) " return %2 }",
    "100 100; 100 -3", "-28" },
  { "program @m(%0: bool[1,1,3], %1: bool[1,1,2]) { %2: bool[1,1,2] = " ONE(
        1, 0, 0, 1, 1, ALONE, bool) " return %2 }",
    "0 1 0; 1 0", "0 1" },
  { "program @m(%0: f16[1,1,3], %1: f16[1,1,3]) { %2: f16[1,1,1] = " ONE(
        1, 0, 0, 1, 1, ALONE, f16) " return %2 }",
    "2048 1 1; 1 1 1", "2050" },
  /* sums without terms */
  { "program @m(%0: f32[1,0,2], %1: f32[1,0,1]) { %2: f32[1,1,2] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "; ", "0 0" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[1,2,4], %1: f32[1,3,2]) { %2: f32[1,1,3] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "conv_general_dilated: f32[1,2,4] has 2 channels, the kernel f32[1,3,2] "
    "takes 3 in each of 1 feature groups" },
  { "program @m(%0: f32[1,2,4], %1: f32[3,1,2]) { %2: f32[1,3,3] = " ONE(
        1, 0, 0, 1, 1, "feature_groups=2, batch_groups=1", f32) " return %2 }",
    "the kernel f32[3,1,2] has 3 features, not a multiple of 2 groups" },
  { "program @m(%0: f32[3,1,4], %1: f32[2,1,2]) { %2: f32[1,2,3] = " ONE(
        1, 0, 0, 1, 1, "feature_groups=1, batch_groups=2", f32) " return %2 }",
    "f32[3,1,4] has a batch of 3, not a multiple of 2 batch groups" },
  { "program @m(%0: f32[2,2,4], %1: f32[2,1,2]) { %2: f32[1,2,3] = " ONE(
        1, 0, 0, 1, 1, "feature_groups=2, batch_groups=2", f32) " return %2 }",
    "feature_groups 2 and batch_groups 2: want positive numbers, one of them "
    "1" },
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2,2]) { %2: f32[1,1,3] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "f32[1,1,4] and f32[1,1,2,2]: want one rank, of at least 2" },
  { "program @m(%0: f32[1,1,4,4], %1: f32[1,1,2,2]) { %2: f32[1,1,3] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "lhs_axes (0,1,2): not the 4 axes, each once" },
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: f32[1,1,3] = " ONE(
        0, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "strides (0): want 1, none below 1" },
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: f32[1,1,3] = "
    "conv_general_dilated[strides=(1), low=(0,0), high=(0), "
    "lhs_dilation=(1), rhs_dilation=(1), lhs_axes=(0,1,2), rhs_axes=(0,1,2), "
    "out_axes=(0,1,2), " ALONE ", type=f32] %0, %1 return %2 }",
    "padding low (0,0): want 1" },
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: f32[1,1,0] = " ONE(
        1, -3, -2, 1, 1, ALONE, f32) " return %2 }",
    "f32[1,1,4]: padding (-3,-2) takes more than the 4 elements of spatial "
    "dimension 0" },
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: f32[1,1,3] = " ONE(
        1, 0, 0, 4611686018427387904, 1, ALONE, f32) " return %2 }",
    "a dilated size overflows" },
  { "program @m(%0: f32[1,1,4], %1: f64[1,1,2]) { %2: f32[1,1,3] = " ONE(
        1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
    "f32 and f64" },
  { "program @m(%0: f32[1,1,4], %1: f32[1,1,2]) { %2: i32[1,1,3] = " ONE(
        1, 0, 0, 1, 1, ALONE, i32) " return %2 }",
    "products of f32 are not summed to i32" },
};

static const cxi_prim rows[] = { CXI_PRIM_conv_general_dilated };

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* -- against the definition ------------------------------------------------ */

static int64_t pick(uint64_t *seed, int64_t n) {
  return (int64_t)(random_next(seed) % (uint64_t)n);
}

static cx_dims shuffled(int n, uint64_t *seed) {
  cx_dims order = { .n = n };
  for (int i = 0; i < n; i++) order.d[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int64_t k = pick(seed, i + 1), kept = order.d[i];
    order.d[i] = order.d[k];
    order.d[k] = kept;
  }
  return order;
}

/* A convolution with everything at random, and its operands' types. */
static cxi_conv_general_dilated_params
random_params(uint64_t *seed, cx_aval *lhs, cx_aval *rhs) {
  const int n = (int)pick(seed, 4), rank = n + 2;
  cxi_conv_general_dilated_params p = { .type = lhs->type,
                                        .feature_groups = 1,
                                        .batch_groups = 1 };
  if (pick(seed, 2))
    p.feature_groups += pick(seed, 3);
  else
    p.batch_groups += pick(seed, 3);
  p.strides.n = p.low.n = p.high.n = p.lhs_dilation.n = p.rhs_dilation.n = n;
  p.lhs_axes = shuffled(rank, seed);
  p.rhs_axes = shuffled(rank, seed);
  p.out_axes = shuffled(rank, seed);
  lhs->shape.n = rhs->shape.n = rank;
  const int64_t channels = 1 + pick(seed, 3);
  lhs->shape.d[p.lhs_axes.d[0]] = p.batch_groups * (1 + pick(seed, 2));
  lhs->shape.d[p.lhs_axes.d[1]] = p.feature_groups * channels;
  rhs->shape.d[p.rhs_axes.d[0]] =
      p.batch_groups * p.feature_groups * (1 + pick(seed, 3));
  rhs->shape.d[p.rhs_axes.d[1]] = channels;
  for (int i = 0; i < n; i++) {
    lhs->shape.d[p.lhs_axes.d[i + 2]] = 1 + pick(seed, 5);
    rhs->shape.d[p.rhs_axes.d[i + 2]] = 1 + pick(seed, 3);
    p.strides.d[i] = 1 + pick(seed, 3);
    p.lhs_dilation.d[i] = 1 + pick(seed, 3);
    p.rhs_dilation.d[i] = 1 + pick(seed, 3);
    p.low.d[i] = pick(seed, 5) - 1;
    p.high.d[i] = pick(seed, 5) - 1;
  }
  return p;
}

static char *text_of(const cxi_conv_general_dilated_params *p, cx_aval lhs,
                     cx_aval rhs, cx_aval *out) {
  const cxi_type in[2] = { cxi_type_make(lhs.type, lhs.shape),
                           cxi_type_make(rhs.type, rhs.shape) };
  cxi_infer c = { .params = p, .n_in = 2, .in = in };
  if (!cxi_row_of(CXI_PRIM_conv_general_dilated)->infer(&c)) return NULL;
  *out = *cxi_type_aval(c.out[0]);
  char x[128], w[128], y[128], lists[8][128], *text = malloc(2048);
  assert_non_null(text);
  cxi_aval_print(x, sizeof x, &lhs);
  cxi_aval_print(w, sizeof w, &rhs);
  cxi_aval_print(y, sizeof y, out);
  const cx_dims *const all[] = { &p->strides,      &p->low,
                                 &p->high,         &p->lhs_dilation,
                                 &p->rhs_dilation, &p->lhs_axes,
                                 &p->rhs_axes,     &p->out_axes };
  for (int i = 0; i < 8; i++) {
    cxi_dims_print(lists[i], sizeof lists[i], all[i]);
    lists[i][0] = '(';
    lists[i][strlen(lists[i]) - 1] = ')';
  }
  snprintf(text, 2048,
           "program @f(%%0: %s, %%1: %s) { %%2: %s = conv_general_dilated["
           "strides=%s, low=%s, high=%s, lhs_dilation=%s, rhs_dilation=%s, "
           "lhs_axes=%s, rhs_axes=%s, out_axes=%s, feature_groups=%lld, "
           "batch_groups=%lld, type=%s] %%0, %%1 return %%2 }",
           x, w, y, lists[0], lists[1], lists[2], lists[3], lists[4], lists[5],
           lists[6], lists[7], (long long)p->feature_groups,
           (long long)p->batch_groups, cxi_dtype_name(p->type));
  return text;
}

/* The sum at out[index], by the definition: a place is met if an element of
 * the dilated operand lies there. */
static double definition(const cxi_conv_general_dilated_params *p,
                         const cxi_view *x, const cxi_view *w,
                         const cx_dims *out, const int64_t *index) {
  const cx_dims *lhs = &x->type.shape, *rhs = &w->type.shape;
  const int64_t feature = index[p->out_axes.d[1]];
  const int64_t features = out->d[p->out_axes.d[1]];
  const int64_t channels = rhs->d[p->rhs_axes.d[1]];
  const int64_t in_group = features / (p->feature_groups * p->batch_groups);
  const int64_t group = feature / in_group;
  int64_t at[CX_MAX_DIMS] = { 0 }, from[CX_MAX_DIMS];
  double sum = 0;
  do {
    if (at[p->rhs_axes.d[0]] != feature) continue;
    const int64_t batch = index[p->out_axes.d[0]];
    from[p->lhs_axes.d[0]] =
        p->batch_groups > 1 ? group * out->d[p->out_axes.d[0]] + batch : batch;
    from[p->lhs_axes.d[1]] =
        at[p->rhs_axes.d[1]] + (p->feature_groups > 1 ? group * channels : 0);
    bool met = true;
    for (int i = 0; i < p->strides.n; i++) {
      const int64_t place = index[p->out_axes.d[i + 2]] * p->strides.d[i] +
                            at[p->rhs_axes.d[i + 2]] * p->rhs_dilation.d[i] -
                            p->low.d[i];
      const int64_t element = place / p->lhs_dilation.d[i];
      met &= place >= 0 && place % p->lhs_dilation.d[i] == 0 &&
             element < lhs->d[p->lhs_axes.d[i + 2]];
      from[p->lhs_axes.d[i + 2]] = element;
    }
    if (met)
      sum += *(double *)cxi_view_element(x, from, 8) *
             *(double *)cxi_view_element(w, at, 8);
  } while (cxi_index_next(rhs, at));
  return sum;
}

static void test_definition(void **state) {
  (void)state;
  uint64_t seed = 5;
  int ran = 0;
  for (int trial = 0; trial < 600; trial++) {
    cx_aval lhs = { CX_F64, { 0 } }, rhs = lhs, out;
    const cxi_conv_general_dilated_params p = random_params(&seed, &lhs, &rhs);
    char *text = text_of(&p, lhs, rhs, &out);
    if (!text) continue; /* cropped to nothing */
    cxi_view in[2] = { array_random(lhs, &seed), array_random(rhs, &seed) };
    cxi_view y;
    run_text(text, in, &y);
    int64_t index[CX_MAX_DIMS] = { 0 };
    const int64_t n = cxi_dims_count(&out.shape);
    for (int64_t i = 0; i < n; i++) {
      const double want = definition(&p, &in[0], &in[1], &out.shape, index);
      if (!(fabs(array_get(&y, i) - want) < 1e-12)) {
        print_error("%s\n", text);
        assert_int_equal(trial, -1);
      }
      cxi_index_next(&out.shape, index);
      ran++;
    }
    array_free(&in[0]);
    array_free(&in[1]);
    array_free(&y);
    free(text);
  }
  assert_true(ran > 1000);
}

/* One chain over the taps, then the channels of each. */
static void test_order(void **state) {
  (void)state;
  enum { CHANNELS = 7, SIZE = 19, TAPS = 4, FEATURES = 17 };
  uint64_t seed = 3;
  cxi_view in[2] = {
    array_random((cx_aval){ CX_F32, { 3, { 1, CHANNELS, SIZE } } }, &seed),
    array_random((cx_aval){ CX_F32, { 3, { FEATURES, CHANNELS, TAPS } } },
                 &seed),
  };
  const int64_t count = SIZE - TAPS + 1;
  cxi_view y;
  run_text("program @m(%0: f32[1,7,19], %1: f32[17,7,4]) { %2: f32[1,17,16] "
           "= " ONE(1, 0, 0, 1, 1, ALONE, f32) " return %2 }",
           in, &y);
  const float *x = in[0].data, *w = in[1].data, *got = y.data;
  for (int64_t o = 0; o < FEATURES; o++)
    for (int64_t i = 0; i < count; i++) {
      float sum = 0;
      for (int64_t t = 0; t < TAPS; t++)
        for (int64_t c = 0; c < CHANNELS; c++)
          sum =
              fmaf(x[c * SIZE + i + t], w[(o * CHANNELS + c) * TAPS + t], sum);
      assert_true(got[o * count + i] == sum);
    }
  array_free(&in[0]);
  array_free(&in[1]);
  array_free(&y);
}

/* Derivatives and batches with everything at random: as differences, as loops.
 */
static void test_random_rules(void **state) {
  (void)state;
  uint64_t seed = 17;
  for (int trial = 0; trial < 60; trial++) {
    cx_aval lhs = { CX_F64, { 0 } }, rhs = lhs, out;
    const cxi_conv_general_dilated_params p = random_params(&seed, &lhs, &rhs);
    char *text = text_of(&p, lhs, rhs, &out);
    if (!text) continue;
    check_rules_of(text);
    free(text);
  }
}

/* The CPU executor has the reference's bits. */
static void check_cpu(const char *text, uint64_t seed) {
  execution x;
  const char *failure = execution_open(&x, text, 0, 0, seed);
  for (int threads = 1; !failure && threads <= 2; threads++)
    failure = execution_compare(&x, threads, 0);
  if (failure) fail_msg("%s: %s", text, failure);
  execution_close(&x);
}

static void test_cpu(void **state) {
  (void)state;
  static const cx_dtype types[] = { CX_F32, CX_F64, CX_BF16, CX_F16, CX_I32 };
  uint64_t seed = 23;
  for (int trial = 0; trial < 400; trial++) {
    cx_aval lhs = { types[trial % 5], { 0 } }, rhs = lhs, out;
    const cxi_conv_general_dilated_params p = random_params(&seed, &lhs, &rhs);
    char *text = text_of(&p, lhs, rhs, &out);
    if (!text) continue;
    check_cpu(text, seed);
    free(text);
  }
}

/* Sizes around those of tiles and blocks, in both layouts, with strides, gaps
 * and groups. */
static void test_cpu_sizes(void **state) {
  (void)state;
  static const int64_t sizes[][7] = {
    /* batch, channels, size, features, window, stride, gap */
    { 1, 3, 30, 7, 3, 1, 1 },   { 2, 64, 14, 70, 3, 1, 1 },
    { 3, 16, 33, 48, 1, 1, 1 }, { 2, 5, 40, 17, 5, 2, 1 },
    { 2, 24, 9, 33, 3, 1, 2 },  { 1, 130, 12, 9, 3, 2, 3 },
    { 5, 300, 3, 20, 2, 1, 1 }, { 1, 1100, 2, 3, 1, 1, 1 },
    { 1, 1, 70, 20, 9, 1, 1 },  { 3, 1, 51, 1, 5, 3, 1 },
    { 9, 2, 11, 3, 4, 2, 2 },
  };
  for (size_t i = 0; i < COUNT(sizes); i++)
    for (int form = 0; form < 6; form++) {
      static const cx_dtype types[] = { CX_F32, CX_F64, CX_BF16 };
      const int64_t *s = sizes[i];
      const int64_t groups = s[1] % 3 == 1 || form % 2 ? 1 : s[1] % 2 ? 1 : 2;
      cxi_conv_general_dilated_params p = { .strides = { 2, { s[5], s[5] } },
                                            .low = { 2, { 1, 2 } },
                                            .high = { 2, { 0, 1 } },
                                            .lhs_dilation = { 2, { 1, s[6] } },
                                            .rhs_dilation = { 2, { 1, 2 } },
                                            .feature_groups = groups,
                                            .batch_groups = 1,
                                            .type = types[form / 2] };
      cx_aval lhs = { p.type, { 4, { 0 } } }, rhs = lhs, out;
      const bool last = form % 2;
      const cx_dims first_axes = { 4, { 0, 1, 2, 3 } };
      p.lhs_axes = p.out_axes =
          last ? (cx_dims){ 4, { 0, 3, 1, 2 } } : first_axes;
      p.rhs_axes = last ? (cx_dims){ 4, { 3, 2, 0, 1 } } : first_axes;
      const int64_t x[4] = { s[0], s[1] * groups, s[2], s[2] };
      const int64_t w[4] = { s[3] * groups, s[1], s[4], s[4] };
      for (int k = 0; k < 4; k++) {
        lhs.shape.d[p.lhs_axes.d[k]] = x[k];
        rhs.shape.d[p.rhs_axes.d[k]] = w[k];
      }
      char *text = text_of(&p, lhs, rhs, &out);
      assert_non_null(text);
      check_cpu(text, i);
      free(text);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_definition),
    cmocka_unit_test(test_random_rules),
    cmocka_unit_test(test_cpu),
    cmocka_unit_test(test_cpu_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
