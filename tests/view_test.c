/* view_test.c - dtypes, sizes, shapes and strided views. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/dtype.h"
#include "base/half.h"
#include "base/view.h"

static void test_dtype_table(void **state) {
  (void)state;
  static const char *const names = "bool i8 u8 i16 u16 i32 u32 i64 u64 f16 "
                                   "bf16 f32 f64 key";
  const char *at = names;
  for (int i = CX_BOOL; i <= CX_KEY; i++) {
    const size_t length = strcspn(at, " ");
    assert_int_equal(cxi_dtype_parse(at, length), i);
    assert_memory_equal(cxi_dtype_name((cx_dtype)i), at, length);
    at += length + (at[length] != 0);
  }
  assert_int_equal(cxi_dtype_parse("f3", 2), 0);
  assert_false(cxi_dtype_valid(0) || cxi_dtype_valid(CX_KEY + 1));
  assert_string_equal(cxi_dtype_name((cx_dtype)0), "?");
  assert_int_equal(cxi_dtype_bytes((cx_dtype)99), 0);
  assert_int_equal(cxi_dtype_bytes(CX_KEY), 8);
  assert_true(cxi_dtype_is_float(CX_BF16));
  assert_false(cxi_dtype_is_float(CX_KEY));
}

/* The f16 nearest to x, found among all of them. */
static uint16_t nearest_f16(double x) {
  if (fabs(x) >= 65520) return (uint16_t)(0x7c00 | (signbit(x) ? 0x8000 : 0));
  uint16_t lo = 0, hi = 0x7bff;
  while (hi - lo > 1) {
    const uint16_t mid = (uint16_t)((lo + hi) / 2);
    if (cxi_f16_to_f32(mid) <= fabs(x)) lo = mid;
    else hi = mid;
  }
  const double below = fabs(x) - cxi_f16_to_f32(lo);
  const double above = cxi_f16_to_f32(hi) - fabs(x);
  const bool up = above < below || (above == below && (hi & 1) == 0);
  return (uint16_t)((up ? hi : lo) | (signbit(x) ? 0x8000 : 0));
}

static void test_f16(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x10000; h++) {
    const float x = cxi_f16_to_f32((uint16_t)h);
    const int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
    const double want =
        exponent == 31 ? (fraction ? NAN : INFINITY)
        : exponent ? ldexp(1024 + fraction, exponent - 25)
                   : ldexp(fraction, -24);
    if (isnan(want)) {
      assert_true(isnan(x));
      assert_true(isnan(cxi_f16_to_f32(cxi_f16_from_f32(x))));
    } else {
      assert_true(x == (h >> 15 ? -want : want));
      assert_int_equal(cxi_f16_from_f32(x), h);
    }
  }
  for (uint32_t bits = 0; bits < 0xffff0000; bits += 0x3fed) {
    const float x = cxi_f32_of_bits(bits);
    if (isnan(x)) continue;
    assert_int_equal(cxi_f16_from_f32(x), nearest_f16(x));
  }
}

static void test_bf16(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x10000; h++) {
    const float x = cxi_bf16_to_f32((uint16_t)h);
    if (isnan(x)) assert_true(isnan(cxi_bf16_to_f32(cxi_bf16_from_f32(x))));
    else assert_int_equal(cxi_bf16_from_f32(x), h);
  }
  /* halfway between neighbours: to the even one */
  assert_int_equal(cxi_bf16_from_f32(cxi_f32_of_bits(0x3f808000)), 0x3f80);
  assert_int_equal(cxi_bf16_from_f32(cxi_f32_of_bits(0x3f818000)), 0x3f82);
  assert_int_equal(cxi_bf16_from_f32(cxi_f32_of_bits(0x3f808001)), 0x3f81);
  assert_int_equal(cxi_bf16_from_f32(3.4e38f), 0x7f80);
}

static void test_element_rounds_once(void **state) {
  (void)state;
  uint16_t half;
  /* Above the middle of two f16 by less than an f32 can show. */
  cxi_element_set(CX_F16, &half, 1 + 0x1p-11 + 0x1p-40);
  assert_int_equal(half, 0x3c01);
  cxi_element_set(CX_F16, &half, -1 - 0x1p-11 + 0x1p-40);
  assert_int_equal(half, 0xbc00);
  cxi_element_set(CX_BF16, &half, 1 + 0x1p-8 + 0x1p-40);
  assert_int_equal(half, 0x3f81);
  cxi_element_set(CX_F16, &half, -1e-300);
  assert_int_equal(half, 0x8000);
  cxi_element_set(CX_F16, &half, 1e300);
  assert_int_equal(half, 0x7c00);
  cxi_element_set(CX_F16, &half, NAN);
  assert_true(isnan(cxi_f16_to_f32(half)));
  cxi_element_set_int(CX_BF16, &half, (1LL << 62) + (1LL << 54) + 1);
  assert_int_equal(half, cxi_bf16_from_f32(0x1p62f) + 1);
  cxi_element_set_int(CX_BF16, &half, (1LL << 62) + (1LL << 54));
  assert_int_equal(half, cxi_bf16_from_f32(0x1p62f));
}

static int64_t set_get(cx_dtype type, double x) {
  uint64_t memory = 0;
  cxi_element_set(type, &memory, x);
  return cxi_element_get_int(type, &memory);
}

static void test_element_saturates(void **state) {
  (void)state;
  assert_int_equal(set_get(CX_I8, 200), 127);
  assert_int_equal(set_get(CX_I8, -200), -128);
  assert_int_equal(set_get(CX_I8, -1.9), -1);
  assert_int_equal(set_get(CX_U8, -1), 0);
  assert_int_equal(set_get(CX_U8, INFINITY), 255);
  assert_int_equal(set_get(CX_I32, 3e9), INT32_MAX);
  assert_int_equal(set_get(CX_U32, 5e9), UINT32_MAX);
  assert_true(set_get(CX_I64, 1e19) == INT64_MAX);
  assert_true(set_get(CX_I64, -INFINITY) == INT64_MIN);
  assert_true((uint64_t)set_get(CX_U64, 1e20) == UINT64_MAX);
  for (int t = CX_I8; t <= CX_U64; t++)
    assert_int_equal(set_get((cx_dtype)t, NAN), 0);
  assert_int_equal(set_get(CX_BOOL, -0.5), 1);
  assert_int_equal(set_get(CX_F32, 2.75), 2);
}

static void test_element_wraps(void **state) {
  (void)state;
  int8_t small = 0;
  cxi_element_set_int(CX_I8, &small, 300);
  assert_int_equal(small, 44);
  uint64_t large = 0;
  cxi_element_set_int(CX_U64, &large, -1);
  assert_true(large == UINT64_MAX);
  assert_true(cxi_element_get(CX_U64, &large) == 0x1p64);
  assert_int_equal(cxi_element_get_int(CX_U64, &large), -1);
}

static void test_sizes(void **state) {
  (void)state;
  assert_int_equal(cxi_size_mul(3, 4), 12);
  assert_int_equal(cxi_size_mul(INT64_MAX, 2), -1);
  assert_int_equal(cxi_size_add(INT64_MAX, 1), -1);
  assert_int_equal(cxi_size_add(-1, 5), -1);
  const cx_dims huge = { 3, { INT64_MAX, 2, 3 } };
  const cx_dims none = { 3, { INT64_MAX, 2, 0 } };
  assert_int_equal(cxi_dims_count(&huge), -1);
  assert_int_equal(cxi_dims_count(&none), 0);
  assert_int_equal(cxi_dims_count(&(cx_dims){ 0 }), 1);
  assert_true(cxi_dims_valid(&none));
  assert_false(cxi_dims_valid(&(cx_dims){ 9, { 0 } }));
  assert_false(cxi_dims_valid(&(cx_dims){ -1, { 0 } }));
  assert_false(cxi_dims_valid(&(cx_dims){ 1, { -1 } }));
  const cx_aval bytes = { CX_F64, { 1, { INT64_MAX / 4 } } };
  assert_int_equal(cxi_aval_bytes(&bytes), -1);
}

static void test_dims(void **state) {
  (void)state;
  const cx_dims abc = { 3, { 2, 3, 4 } };
  cx_dims made = cxi_dims_without(abc, 1);
  assert_true(cxi_dims_equal(&made, &(cx_dims){ 2, { 2, 4 } }));
  made = cxi_dims_with(made, 0, 7);
  assert_true(cxi_dims_equal(&made, &(cx_dims){ 3, { 7, 2, 4 } }));
  made = cxi_dims_append(made, 9);
  assert_int_equal(cxi_dims_find(&made, 9), 3);
  assert_false(cxi_dims_has(&made, 5));
  made = cxi_dims_range(2, 5);
  assert_true(cxi_dims_equal(&made, &(cx_dims){ 3, { 2, 3, 4 } }));

  char text[64];
  const cx_aval type = { CX_F32, abc };
  assert_int_equal(cxi_aval_print(text, sizeof text, &type), 10);
  assert_string_equal(text, "f32[2,3,4]");
  assert_int_equal(cxi_aval_print(text, 6, &type), 10);
  assert_string_equal(text, "f32[2");
  assert_int_equal(cxi_aval_print(NULL, 0, &type), 10);
  cxi_dims_print(text, sizeof text, &(cx_dims){ 0 });
  assert_string_equal(text, "[]");
}

static void test_view_moves(void **state) {
  (void)state;
  int32_t data[24];
  for (int i = 0; i < 24; i++) data[i] = i;
  const cxi_view v =
      cxi_view_dense((cx_aval){ CX_I32, { 3, { 2, 3, 4 } } }, data);
  assert_true(cxi_view_is_dense(&v));
  const cxi_view at = cxi_view_at(&v, 1, 2);
  assert_int_equal(*(int32_t *)at.data, 8);
  assert_int_equal(at.strides[0], 12);
  const cxi_view turned = cxi_view_permute(&v, &(cx_dims){ 3, { 2, 0, 1 } });
  assert_false(cxi_view_is_dense(&turned));
  int32_t out[24];
  const cxi_view to = cxi_view_dense(turned.type, out);
  cxi_view_copy(&to, &turned);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 6; j++) assert_int_equal(out[i * 6 + j], j * 4 + i);
}

static void test_view_copies(void **state) {
  (void)state;
  for (int t = CX_BOOL; t <= CX_KEY; t++) {
    const int64_t bytes = (int64_t)cxi_dtype_bytes((cx_dtype)t);
    unsigned char row[3 * 8], out[6 * 8], back[3 * 8];
    for (int i = 0; i < 24; i++) row[i] = (unsigned char)(i + 1);
    /* A row repeated twice, then read from the end. */
    const cxi_view v =
        cxi_view_dense((cx_aval){ (cx_dtype)t, { 1, { 3 } } }, row);
    const cxi_view wide = cxi_view_broadcast(&v, (cx_dims){ 2, { 2, 3 } },
                                             (cx_dims){ 1, { 1 } });
    const cxi_view to = cxi_view_dense(wide.type, out);
    cxi_view_copy(&to, &wide);
    assert_memory_equal(out, row, 3 * bytes);
    assert_memory_equal(out + 3 * bytes, row, 3 * bytes);
    cxi_view reversed = v;
    reversed.strides[0] = -1;
    reversed.data = row + 2 * bytes;
    const cxi_view last = cxi_view_dense(v.type, back);
    cxi_view_copy(&last, &reversed);
    for (int i = 0; i < 3; i++)
      assert_memory_equal(back + i * bytes, row + (2 - i) * bytes, bytes);
    cxi_view column = cxi_view_at(&to, 1, 1);
    cxi_view_zero(&column);
    assert_int_equal(out[bytes], 0);
    assert_int_equal(out[4 * bytes], 0);
    assert_memory_equal(out + 2 * bytes, row + 2 * bytes, bytes);
    cxi_view_zero(&to);
    for (int i = 0; i < 6 * bytes; i++) assert_int_equal(out[i], 0);
  }
  const cxi_view none =
      cxi_view_dense((cx_aval){ CX_F32, { 2, { 0, 3 } } }, NULL);
  cxi_view_copy(&none, &none);
  cxi_view_zero(&none);
  double x = 3, y = 0;
  const cxi_view from = cxi_view_dense((cx_aval){ CX_F64, { 0 } }, &x);
  const cxi_view to = cxi_view_dense((cx_aval){ CX_F64, { 0 } }, &y);
  cxi_view_copy(&to, &from);
  assert_true(y == 3);
}

static void test_index(void **state) {
  (void)state;
  const cx_dims shape = { 2, { 2, 3 } };
  int64_t index[CX_MAX_DIMS] = { 0 };
  int n = 0;
  do {
    assert_int_equal(index[0] * 3 + index[1], n++);
  } while (cxi_index_next(&shape, index));
  assert_int_equal(n, 6);
  assert_false(cxi_index_next(&(cx_dims){ 0 }, index));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_dtype_table),
    cmocka_unit_test(test_f16),
    cmocka_unit_test(test_bf16),
    cmocka_unit_test(test_element_rounds_once),
    cmocka_unit_test(test_element_saturates),
    cmocka_unit_test(test_element_wraps),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_dims),
    cmocka_unit_test(test_view_moves),
    cmocka_unit_test(test_view_copies),
    cmocka_unit_test(test_index),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
