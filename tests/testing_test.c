/* testing_test.c - the checks for users: they pass what is right and find what
 * is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "calx/testing.h"

CX_DEF(softmax_loss, w, x) {
  return cx_sum(cx_square(cx_softmax(cx_matmul(x, w))));
}
CX_DEF(row, w, x) {
  return cx_tanh(cx_matmul(x, w));
}
CX_DEF(picked, x, i) {
  return cx_dict("y", cx_mul(cx_take(x, i, 0), 2.0), "i", i);
}
/* A rule that is wrong by a factor of two. */
CX_DEF(cube_plain, x) {
  return cx_mul(x, x, x);
}
CX_DEF(cube_wrong, primals, tangents) {
  cx x = cx_nth(primals, 0);
  return cx_tuple(cube_plain(x),
                  cx_mul(6.0, cx_square(x), cx_nth(tangents, 0)));
}
CX_DEF(cube, x) {
  return cx_call(cx_custom_jvp(CX_FN(cube_plain), CX_FN(cube_wrong)), x);
}
CX_DEF(not_scalar, x) {
  return cx_mul(x, x);
}

static int open_context(void **state) {
  *state = cx_open("cpu", .threads = 1);
  return *state == NULL;
}
static int close_context(void **state) {
  cx_close(*state);
  return 0;
}
static void right_functions(void **state) {
  (void)state;
  CX_SCOPE;
  cx w = cx_random_like(cx_spec(CX_F64, 3, 4), 1);
  cx x = cx_random_like(cx_spec(CX_F64, 5, 3), 2);
  cx_assert(cx_check_grads(CX_FN(softmax_loss), (w, x), .order = 2));
  cx_assert(cx_check_jit(cx_grad(CX_FN(softmax_loss)), (w, x)));
  cx_assert(cx_check_remat(CX_FN(softmax_loss), (w, x)));
  cx w32 = cx_random_like(cx_spec(CX_F32, 7, 3, 4), 1);
  cx x32 = cx_random_like(cx_spec(CX_F32, 7, 3), 2);
  cx_assert(cx_check_vmap(CX_FN(row), (w32, x32)));
  cx all = cx_call(cx_vmap(CX_FN(row)), w32, x32);
  cx_assert(cx_check_close(
      cx_index(all, 2), row(cx_index(w32, 2), cx_index(x32, 2)), .rtol = 1e-6));
}
static void integers_and_trees(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_random_like(cx_spec(CX_F64, 6), 3);
  cx_assert(cx_check_grads(CX_FN(picked), (x, cx_array(int32_t, 5, 0, 5))));
  cx_assert(cx_check_jit(CX_FN(picked), (x, cx_array(int32_t, 1))));
}
static void expect(const char *text, const char *part) {
  if (!text) fail_msg("nothing was found, wanted \"%s\"", part);
  if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
}
static void wrong_functions(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_random_like(cx_spec(CX_F64, 4), 1);
  expect(cx_check_grads(CX_FN(cube), (x)), "jvp against differences");
  expect(cx_check_close(cx_array(float, 1, 2), cx_array(float, 1, 3)),
         "element 1 is 2, wanted 3");
  expect(cx_check_close(cx_array(float, 1, 2), cx_array(double, 1, 2)),
         "f32[2], wanted f64[2]");
  expect(cx_check_close(cx_tuple(1, 2), cx_tuple(1, 2, 3)),
         "2 arrays, wanted 3");
  expect(cx_check_grads(CX_FN(row), (x, cx_ones(CX_F64, 3))), "matmul");
  assert_true(cx_ok());
}
static void errors(void **state) {
  (void)state;
  CX_SCOPE;
  cx r = cx_call(cx_grad(CX_FN(not_scalar)), cx_ones(CX_F32, 128));
  assert_int_equal(cx_ndim(r), 0);
  cx_assert(cx_check_error(CX_ESHAPE, "must return a scalar, got f32[128]"));
  expect(cx_check_error(CX_ESHAPE, "anything"), "wanted CX_ESHAPE");
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(right_functions),
    cmocka_unit_test(integers_and_trees),
    cmocka_unit_test(wrong_functions),
    cmocka_unit_test(errors),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
