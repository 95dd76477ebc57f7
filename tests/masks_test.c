/* masks_test.c - masks with a size, different slices, bins, ends of lines,
 * numbers for what is out of bounds; the values are those of jnp 0.10.2. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calx/testing.h"
#include "support/group.h"

#define SAME(got, want) \
  cx_assert(cx_check_close((got), (want), .rtol = 1e-30, .atol = 1e-300))
#define NEAR(got, ...)                                           \
  cx_assert(cx_check_close((got), cx_array(double, __VA_ARGS__), \
                           .rtol = 4e-16, .atol = 1e-300))
#define WRONG(call, code, text)              \
  do {                                       \
    const cx x_ = (call);                    \
    (void)x_;                                \
    cx_assert(cx_check_error((code), text)); \
  } while (0)

static cx numbers(cx_dtype t) { /* 0..11 in three rows */
  return cx_cast(cx_reshape(cx_arange(0, 12, 1, CX_I32), 3, 4), t);
}
static cx odd_rows(void) {
  return cx_array(int, 1, 0, 1);
}

/* -- masks ----------------------------------------------------------------- */

static void places(void **state) {
  (void)state;
  CX_SCOPE;
  const cx m = cx_gt(cx_mod(numbers(CX_I32), 5), 2); /* 3 4 8 9 */
  SAME(cx_flatnonzero(m, 6, -1), cx_array(int, 3, 4, 8, 9, -1, -1));
  SAME(cx_flatnonzero(m, 2, -1), cx_array(int, 3, 4));
  SAME(cx_argwhere(m, 5, -1),
       cx_reshape(cx_array(int, 0, 3, 1, 0, 2, 0, 2, 1, -1, -1), 5, 2));
  SAME(cx_argwhere(numbers(CX_F32), 0, 7), cx_zeros(CX_I32, 0, 2));
  SAME(cx_flatnonzero(cx_zeros(CX_BOOL, 0), 3, 9), cx_array(int, 9, 9, 9));
}
static void masked_elements(void **state) {
  (void)state;
  CX_SCOPE;
  const cx m = cx_gt(cx_mod(numbers(CX_I32), 5), 2);
  for (cx_dtype t = CX_BOOL; t <= CX_F64; t++) {
    const cx a = numbers(t);
    const cx got = cx_extract(m, a, 6, cx_scalar(1, t));
    assert_int_equal(cx_type(got), t);
    SAME(got, cx_cast(cx_array(int, 3, 4, 8, 9, 1, 1), t));
    SAME(cx_extract(odd_rows(), a, 2, cx_scalar(0, t)),
         cx_take(a, cx_array(int, 0, 2), 0));
    SAME(cx_compress(odd_rows(), a, 1, 2, cx_scalar(0, t)),
         cx_take(a, cx_array(int, 0, 2), 1));
  }
  const cx a = numbers(CX_F32);
  SAME(cx_extract(m, a, 3, 0), cx_array(float, 3, 4, 8));
  SAME(cx_extract(odd_rows(), a, 3, -1),
       cx_concat(0, cx_index(a, CX_STEP(2)), cx_full(-1, CX_F32, 1, 4)));
  SAME(cx_compress(odd_rows(), a, -1, 3, 5),
       cx_concat(1, cx_take(a, cx_array(int, 0, 2), 1),
                 cx_full(5, CX_F32, 3, 1)));
  SAME(cx_extract(cx_zeros(CX_BOOL, 0), cx_zeros(CX_F32, 0, 2), 1, 3),
       cx_full(3, CX_F32, 1, 2));
  const cx keys = cx_split_n(cx_key(1), 3);
  SAME(cx_key_data(cx_extract(odd_rows(), keys, 3, cx_key(5))),
       cx_key_data(
           cx_stack(0, cx_index(keys, 0), cx_index(keys, 2), cx_key(5))));
}
static void wrong_masks(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = numbers(CX_F32), m = odd_rows();
  WRONG(cx_argwhere(cx_scalar(1, CX_F32), 2, 0), CX_ESHAPE,
        "argwhere: needs an axis or more");
  WRONG(cx_flatnonzero(a, -1, 0), CX_ESHAPE, "flatnonzero: -1 of f32[3,4]");
  WRONG(cx_extract(cx_array(int, 1, 0), a, 2, 0), CX_ESHAPE,
        "extract: a mask i32[2] of f32[3,4]");
  WRONG(cx_extract(m, a, 2, cx_zeros(CX_F32, 2)), CX_ESHAPE,
        "extract: the fill must be one f32, got f32[2]");
  WRONG(cx_extract(m, a, 2, cx_scalar(1, CX_I32)), CX_EDTYPE,
        "extract: the fill must be one f32");
  WRONG(cx_extract(m, numbers(CX_I32), 2, 0.5), CX_EDTYPE, "extract");
  WRONG(cx_compress(cx_array(int, 1, 0, 1, 1, 1), a, 1, 2, 0), CX_ESHAPE,
        "compress: a mask i32[5] along axis 1");
  WRONG(cx_compress(a, a, 1, 2, 0), CX_ESHAPE, "compress: a mask f32[3,4]");
  WRONG(cx_compress(m, a, 2, 2, 0), CX_EINDEX, "compress");
}

/* -- out of bounds --------------------------------------------------------- */

static void filled_reads(void **state) {
  (void)state;
  CX_SCOPE;
  const cx i = cx_array(int, 0, 7, -1, -9);
  for (cx_dtype t = CX_I8; t <= CX_F64; t++) {
    const cx v = cx_cast(cx_array(int, 3, 1, 2), t);
    SAME(cx_at_get(v, (i), .fill = cx_lit_i(5)),
         cx_cast(cx_array(int, 3, 5, 2, 5), t));
    SAME(cx_at_get(v, (i), .mode = CX_FILL, .fill = cx_lit_i(0)),
         cx_cast(cx_array(int, 3, 0, 2, 0), t));
  }
  SAME(cx_at_get(numbers(CX_F32), (i, 1), .fill = cx_lit_f(-0.5)),
       cx_array(float, 1, -0.5, 9, -0.5));
  WRONG(cx_at_get(numbers(CX_F32), (i), .fill = cx_scalar(1, CX_F32)), CX_EUSER,
        "at_get: .fill must be a C number");
  WRONG(cx_at_get(numbers(CX_I32), (i), .fill = cx_lit_f(0.5)), CX_EDTYPE,
        "at_get");
}
static void along_eight_axes(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_random_like(cx_spec(CX_F32, 2, 1, 3, 1, 2, 1, 2, 1), 1);
  const cx flat = cx_reshape(a, 2, 3, 4);
  const cx i = cx_array(int, 2, 0, 5, -1);
  const cx wide = cx_broadcast_to(cx_reshape(i, 1, 1, 4, 1, 1, 1, 1, 1), 2, 1,
                                  4, 1, 2, 1, 2, 1);
  const cx few = cx_broadcast_to(cx_reshape(i, 1, 4, 1), 2, 4, 4);
  const cx got = cx_take_along(a, wide, 2);
  SAME(cx_reshape(got, 2, 4, 4), cx_take_along(flat, few, 1));
  SAME(cx_reshape(cx_put_along(a, wide, 7, 2), 2, 3, 4),
       cx_put_along(flat, few, 7, 1));
  SAME(cx_take_along(a, cx_reshape(i, 1, 1, 4, 1, 1, 1, 1, 1), 2), got);
  WRONG(cx_take_along(a, i, 2), CX_ESHAPE, "take_along: indices i32[4]");
}

/* -- unique ---------------------------------------------------------------- */

static void check_unique(cx got, cx values, cx indices, cx inverse, cx counts) {
  SAME(cx_nth(got, 0), values);
  SAME(cx_nth(got, 1), indices);
  SAME(cx_nth(got, 2), inverse);
  SAME(cx_nth(got, 3), counts);
}
static void different_slices(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_reshape(cx_array(int, 1, 2, 0, 5, 1, 2, 3, 3), 4, 2);
  for (cx_dtype t = CX_I8; t <= CX_F64; t++) {
    const cx a = cx_cast(x, t);
    check_unique(
        cx_unique_along(a, 0, 4),
        cx_cast(cx_reshape(cx_array(int, 0, 5, 1, 2, 3, 3, 0, 5), 4, 2), t),
        cx_array(int, 1, 0, 3, 1), cx_array(int, 1, 0, 1, 2),
        cx_array(int, 1, 2, 1, 0));
  }
  check_unique(
      cx_unique_along(x, -1, 3, .fill = cx_lit_i(-1)),
      cx_reshape(cx_array(int, 1, 2, -1, 0, 5, -1, 1, 2, -1, 3, 3, -1), 4, 3),
      cx_array(int, 0, 1, 0), cx_array(int, 0, 1), cx_array(int, 1, 1, 0));
  check_unique(cx_unique(x, 7, .fill = cx_lit_i(-1)),
               cx_array(int, 0, 1, 2, 3, 5, -1, -1),
               cx_array(int, 2, 0, 1, 6, 3, 2, 2),
               cx_reshape(cx_array(int, 1, 2, 0, 4, 1, 2, 3, 3), 4, 2),
               cx_array(int, 1, 2, 2, 2, 1, 0, 0));
  /* NaN equals itself, -0 equals 0; rows by their later elements */
  const cx f = cx_reshape(
      cx_array(float, 0, NAN, -0.0, 1, 0, NAN, 0, 1, 0, 0.5, NAN, 0), 6, 2);
  const cx got = cx_unique_along(f, 0, 5);
  SAME(cx_nth(got, 3), cx_array(int, 1, 2, 2, 1, 0));
  SAME(cx_nth(got, 2), cx_array(int, 2, 1, 2, 1, 0, 3));
  SAME(cx_nth(cx_unique_along(cx_zeros(CX_BOOL, 3, 2, 2), 0, 2), 3),
       cx_array(int, 3, 0));
  WRONG(cx_unique_along(x, 2, 3), CX_EINDEX, "unique_along");
  WRONG(cx_unique_along(cx_zeros(CX_F32, 0, 2), 0, 3), CX_ESHAPE, "nothing in");
  WRONG(cx_unique(x, 3, .fill = cx_lit_f(0.5)), CX_EDTYPE, "unique");
}

/* -- bins, lines ------------------------------------------------------------ */

static void bins(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(double, 3, 1, 3, 2, 2, 9);
  NEAR(cx_histogram_bin_edges(x, 4), 1, 3, 5, 7, 9);
  NEAR(cx_histogram(x, 4), 3, 2, 0, 1);
  NEAR(cx_histogram(x, 4, .range = { 0, 3 }), 0, 1, 2, 2);
  NEAR(cx_histogram(x, 4, .weights = x), 5, 6, 0, 9);
  NEAR(cx_histogram(x, 4, .density = true), 0.25, 2 / 12.0, 0, 1 / 12.0);
  NEAR(cx_histogram_bin_edges(x, 2, .range = { 2, 2 }), 1.5, 2, 2.5);
  NEAR(cx_histogram(cx_full(7, CX_F64, 3), 2), 0, 3);
  NEAR(cx_histogram_bin_edges(cx_zeros(CX_F64, 0), 2), -0.5, 0, 0.5);
  const cx whole = cx_histogram(cx_array(int, 1, 2, 5), 3);
  assert_int_equal(cx_type(whole), CX_F32);
  SAME(whole, cx_array(float, 2, 0, 1));
  WRONG(cx_histogram(x, 0), CX_ESHAPE, "histogram: 0 bins");
  WRONG(cx_histogram(x, 3, .range = { 2, 1 }), CX_EUSER,
        "histogram: no range from 2 to 1");
  WRONG(cx_histogram_bin_edges(cx_key(1), 3), CX_EDTYPE, "needs numbers");
  WRONG(cx_histogram_bin_edges(x, -1), CX_ESHAPE, "-1 bins");
}
static void lines(void **state) {
  (void)state;
  CX_SCOPE;
  const cx xp = cx_array(double, 0, 1, 3, 4), fp = cx_array(double, 2, 5, 1, 0);
  const cx x = cx_array(double, -3, -0.5, 0, 0.25, 2, 4, 5.5, 11);
  NEAR(cx_interp(x, xp, fp), 2, 2, 2, 2.75, 3, 0, 0, 0);
  NEAR(cx_interp(x, xp, fp, .left = cx_lit_f(-7), .right = cx_lit_i(8)), -7, -7,
       2, 2.75, 3, 0, 8, 8);
  NEAR(cx_interp(x, xp, fp, .extrapolate = true), -7, 0.5, 2, 2.75, 3, 0, -1.5,
       -7);
  NEAR(cx_interp(x, xp, fp, .extrapolate = true, .right = cx_lit_i(8)), -7, 0.5,
       2, 2.75, 3, 0, 8, 8);
  NEAR(cx_interp(x, xp, fp, .period = 5), 3, 1, 2, 2.75, 3, 0, 3.5, 5);
  NEAR(cx_interp(x, cx_flip(cx_add(xp, 10), 0), cx_flip(fp, 0), .period = 5), 3,
       1, 2, 2.75, 3, 0, 3.5, 5);
  NEAR(
      cx_interp(x, cx_index(xp, CX_TO(1)), cx_index(fp, CX_TO(1)), .period = 2),
      2, 2, 2, 2, 2, 2, 2, 2);
  WRONG(cx_interp(x, xp, fp, .period = -1), CX_EUSER, "interp: a period of -1");
  WRONG(cx_interp(x, xp, fp, .period = 3, .left = cx_lit_f(0)), CX_EUSER,
        "which leaves no ends");
  WRONG(cx_interp(x, xp, fp, .left = cx_zeros(CX_F64, 2)), CX_ESHAPE,
        "interp: .left and .right must be one f64");
  WRONG(cx_interp(x, xp, fp, .right = cx_scalar(1, CX_F32)), CX_EDTYPE,
        "interp: .left and .right");
}

/* -- ndtri ------------------------------------------------------------------ */

/* Against mpmath with 40 digits. */
static void inverse_normal(void **state) {
  (void)state;
  CX_SCOPE;
  static const double known[][2] = {
    { 5e-324, -38.467405617144344 },
    { 1e-300, -37.0470962993612 },
    { 1e-100, -21.273453560965326 },
    { 1e-20, -9.262340089798407 },
    { 1e-11, -6.706023155495136 },
    { 1.3e-11, -6.667611456510741 },
    { 1e-05, -4.264890793922825 },
    { 0.001, -3.0902323061678136 },
    { 0.0749, -1.4402382675279637 },
    { 0.0751, -1.43882539275254 },
    { 0.2, -0.8416212335729142 },
    { 0.4, -0.2533471031357997 },
    { 0.4999, -0.00025066283008800747 },
    { 0.6, 0.2533471031357997 },
    { 0.9, 1.2815515655446006 },
    { 0.92499, 1.4394608308216257 },
    { 0.9251, 1.440238267527964 },
    { 0.975, 1.9599639845400538 },
    { 0.999999, 4.753424308817087 },
    { 0.999999999999999, 7.941444487415978 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const double x = cx_item(cx_ndtri(cx_scalar(known[i][0], CX_F64)));
    assert_true(fabs(x / known[i][1] - 1) < 1.5e-15);
  }
  const cx f = cx_cast(cx_ndtri(cx_array(float, 0.975, 1e-6)), CX_F64);
  cx_assert(cx_check_close(f, cx_array(double, 1.9599640178789, -4.7534242725),
                           .rtol = 3e-7));
  for (cx_dtype t = CX_F16; t <= CX_F64; t++) {
    const cx ends = cx_ndtri(cx_cast(cx_array(float, 0, 1, 1.5, -1, NAN), t));
    assert_int_equal(cx_type(ends), t);
    SAME(cx_cast(ends, CX_F32),
         cx_array(float, -INFINITY, INFINITY, NAN, NAN, NAN));
  }
  WRONG(cx_ndtri(numbers(CX_I32)), CX_EDTYPE, "ndtri");
}

/* -- transforms ------------------------------------------------------------- */

CX_DEF(masked, a) {
  const cx m = cx_gt(cx_index(a, 0), 0);
  return cx_add(cx_sum(cx_sin(cx_extract(cx_gt(a, 0), a, 5, 0.5))),
                cx_sum(cx_square(cx_compress(m, a, 1, 2, 3))));
}
CX_DEF(all_masks, a) {
  const cx m = cx_gt(a, 0);
  return cx_tuple(cx_argwhere(m, 5, -1), cx_flatnonzero(m, 5, -1),
                  cx_unique_along(cx_round(a), 0, 3), cx_histogram(a, 4),
                  cx_unique(a, 20, .fill = cx_lit_f(9)));
}
CX_DEF(between, x, fp) {
  const cx xp = cx_array(double, 0, 1, 3, 4);
  return cx_add(cx_sum(cx_sin(cx_interp(x, xp, fp, .extrapolate = true))),
                cx_sum(cx_square(cx_interp(x, xp, fp, .period = 5))));
}
CX_DEF(normal_score, a) {
  return cx_ndtri(cx_sigmoid(a));
}
CX_DEF(along, a, v) {
  const cx i = cx_reshape(cx_array(int, 2, 0, 1), 1, 1, 3, 1, 1, 1, 1, 1);
  return cx_mul(cx_sin(cx_take_along(a, i, 2)), cx_put_along(a, i, v, 2));
}
static void under_transforms(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = cx_random_like(cx_spec(CX_F64, 3, 4), 3);
  const cx many = cx_random_like(cx_spec(CX_F64, 3, 3, 4), 4);
  cx_assert(cx_check_grads(CX_FN(masked), (a), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(masked), (many)));
  cx_assert(cx_check_jit(CX_FN(masked), (a)));
  cx_assert(cx_check_vmap(CX_FN(all_masks), (many)));
  cx_assert(cx_check_jit(CX_FN(all_masks), (a)));
  const cx x = cx_array(double, -0.7, 0.3, 2.2, 5.9);
  const cx fp = cx_array(double, 2, 5, 1, 0);
  cx_assert(cx_check_grads(CX_FN(between), (x, fp)));
  cx_assert(cx_check_jit(CX_FN(between), (x, fp)));
  cx_assert(cx_check_vmap(CX_FN(between), (a, a)));
  cx_assert(cx_check_grads(CX_FN(normal_score), (cx_mul(a, 3)), .order = 2));
  cx_assert(cx_check_vmap(CX_FN(normal_score), (a)));
  const cx tall = cx_random_like(cx_spec(CX_F64, 2, 1, 3, 1, 1, 2, 1, 1), 5);
  cx_assert(cx_check_grads(CX_FN(along), (tall, cx_mul(tall, 2))));
  cx_assert(cx_check_jit(CX_FN(along), (tall, tall)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(places),
    cmocka_unit_test(masked_elements),
    cmocka_unit_test(wrong_masks),
    cmocka_unit_test(filled_reads),
    cmocka_unit_test(along_eight_axes),
    cmocka_unit_test(different_slices),
    cmocka_unit_test(bins),
    cmocka_unit_test(lines),
    cmocka_unit_test(inverse_normal),
    cmocka_unit_test(under_transforms),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
