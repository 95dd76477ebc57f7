/* 12_unit_test.c - a unit test of functions and transforms, with cmocka. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "calx/testing.h"

CX_DEF(softmax_loss, w, x) {
  return cx_sum(cx_square(cx_softmax(cx_matmul(x, w))));
}
CX_DEF(row, w, x) {
  return cx_tanh(cx_matmul(x, w));
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
static void gradients_agree_with_differences(void **state) {
  (void)state;
  CX_SCOPE;
  cx w = cx_random_like(cx_spec(CX_F64, 3, 4), 1);
  cx x = cx_random_like(cx_spec(CX_F64, 5, 3), 2);
  cx_assert(cx_check_grads(CX_FN(softmax_loss), (w, x), .order = 2));
  cx_assert(cx_check_jit(cx_grad(CX_FN(softmax_loss)), (w, x)));
  cx_assert(cx_check_remat(CX_FN(softmax_loss), (w, x)));
}
static void vmap_is_a_loop(void **state) {
  (void)state;
  CX_SCOPE;
  cx w = cx_random_like(cx_spec(CX_F32, 7, 3, 4), 1);
  cx x = cx_random_like(cx_spec(CX_F32, 7, 3), 2);
  cx_assert(cx_check_vmap(CX_FN(row), (w, x)));
  cx all = cx_call(cx_vmap(CX_FN(row)), w, x);
  cx_assert(cx_check_close(cx_index(all, 2),
                           row(cx_index(w, 2), cx_index(x, 2)), .rtol = 1e-6));
}
static void grad_wants_a_scalar(void **state) {
  (void)state;
  CX_SCOPE;
  cx r = cx_call(cx_grad(CX_FN(not_scalar)), cx_ones(CX_F32, 128));
  assert_int_equal(cx_size(r), 0);
  cx_assert(cx_check_error(CX_ESHAPE, "must return a scalar, got f32[128]"));
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gradients_agree_with_differences),
    cmocka_unit_test(vmap_is_a_loop),
    cmocka_unit_test(grad_wants_a_scalar),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
