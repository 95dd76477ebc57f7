/* lanes_test.c - the order of reductions. */
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/lanes.h"

enum { N = 1000 };

/* The definition once more, as plain arithmetic: element i belongs to lane
 * i mod 64; lanes pair up over the bits of their number from the highest. */
static float sum_of_lane(const float *x, int n, int lane) {
  float sum = x[lane];
  for (int i = lane + 64; i < n; i += 64) sum += x[i];
  return sum;
}

static float sum_of_pairs(const float *x, int n, int lane, int half) {
  if (half == 64) return sum_of_lane(x, n, lane);
  const float first = sum_of_pairs(x, n, lane, 2 * half);
  if (lane + half >= n) return first;
  return first + sum_of_pairs(x, n, lane + half, 2 * half);
}

static void test_order(void **state) {
  (void)state;
  float x[N];
  for (int i = 0; i < N; i++) x[i] = sinf((float)i * 7.3f) * ldexpf(1, i % 20);
  for (int n = 1; n <= N; n += n < 140 ? 1 : 37) {
    const float got = cxi_lanes_sum_f32(x, n, 1);
    const float want = sum_of_pairs(x, n, 0, 1);
    assert_memory_equal(&got, &want, sizeof got);
  }
}

static void test_absent_lanes_from_minus_0(void **state) {
  (void)state;
  for (int n = 1; n <= 64; n++) {
    float x[64];
    for (int i = 0; i < 64; i++)
      x[i] = i < n && n != 5 ? cosf((float)(i * n)) : -0.0f;
    const float got = cxi_lanes_sum_f32(x, n, 1);
    const float filled = cxi_lanes_sum_f32(x, 64, 1);
    assert_memory_equal(&got, &filled, sizeof got);
  }
}

static void test_empty(void **state) {
  (void)state;
  const float sum = cxi_lanes_sum_f32(NULL, 0, 1);
  assert_true(sum == 0 && !signbit(sum));
  assert_true(cxi_lanes_max_f32(NULL, 0, 1) == -INFINITY);
  assert_true(cxi_lanes_min_f64(NULL, 0, 1) == INFINITY);
  assert_int_equal(cxi_lanes_max_i8(NULL, 0, 1), INT8_MIN);
  assert_int_equal(cxi_lanes_max_u32(NULL, 0, 1), 0);
  assert_true(cxi_lanes_min_u64(NULL, 0, 1) == UINT64_MAX);
  const double minus_0 = -0.0;
  assert_true(signbit(cxi_lanes_sum_f64(&minus_0, 1, 1)));
}

static void test_kinds(void **state) {
  (void)state;
  int32_t x[N];
  float y[N];
  int8_t z[N];
  int64_t total = 0;
  for (int i = 0; i < N; i++) {
    x[i] = (i * 7919) % 1009 - 500;
    y[i] = (float)x[i];
    z[i] = (int8_t)x[i];
    total += i % 3 == 0 ? x[i] : 0;
  }
  const int64_t thirds = (N + 2) / 3;
  assert_int_equal(cxi_lanes_sum_i32(x, thirds, 3), total);
  assert_true(cxi_lanes_sum_f32(y, thirds, 3) == (float)total);
  assert_int_equal(cxi_lanes_max_i32(x + N - 1, N, -1),
                   (int)cxi_lanes_max_f32(y, N, 1));
  int8_t wrapped = 0;
  for (int i = 0; i < N; i++) wrapped = (int8_t)(wrapped + z[i]);
  assert_int_equal(cxi_lanes_sum_i8(z, N, 1), wrapped);
  y[777] = NAN;
  assert_true(isnan(cxi_lanes_max_f32(y, N, 1)));
  assert_true(isnan(cxi_lanes_min_f32(y, N, 1)));
}

static void test_one_by_one(void **state) {
  (void)state;
  double x[200];
  cxi_lanes_f64 lanes = { 0 };
  for (int i = 0; i < 200; i++) {
    x[i] = sin(i);
    cxi_lanes_put_f64(&lanes, x[i], cxi_add_f64);
  }
  assert_true(cxi_lanes_join_f64(&lanes, 0, cxi_add_f64) ==
              cxi_lanes_sum_f64(x, 200, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_absent_lanes_from_minus_0),
    cmocka_unit_test(test_empty),
    cmocka_unit_test(test_kinds),
    cmocka_unit_test(test_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
