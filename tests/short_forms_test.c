/* short_forms_test.c - calls without sizes, axes or operands; starts of all
 * axes at once. */
#include "support/calls.h"

#define ASSERT_TYPE(a, text) assert_string_equal(cx_show(a), text)

static void sizes_left_out_are_a_scalar(void **state) {
  (void)state;
  CX_SCOPE;
  const float one = 2.5f;
  cx key = cx_key(1), words = cx_key_data(key);
  assert_same_bits(cx_zeros(CX_F32), cx_zeros(CX_F32, CX_SCALAR));
  assert_same_bits(cx_ones(CX_BF16), cx_ones(CX_BF16, CX_SCALAR));
  assert_same_bits(cx_full(3, CX_I8), cx_full(3, CX_I8, CX_SCALAR));
  assert_same_bits(cx_from(&one), cx_scalar(2.5, CX_F32));
  assert_same_bits(cx_reshape(cx_ones(CX_F32, 1, 1)), cx_ones(CX_F32));
  assert_same_bits(cx_broadcast_to(cx_ones(CX_F32)), cx_ones(CX_F32));
  ASSERT_TYPE(cx_spec(CX_F16), "f16[]");
  ASSERT_TYPE(cx_bits(key, CX_U8), "u8[]");
  ASSERT_TYPE(words, "u32[2]");
  assert_good();
}

static void one_draw(void **state) {
  (void)state;
  CX_SCOPE;
  cx k = cx_key(2), alpha = cx_ones(CX_F32, 3);
#define SAME_DRAW(call, ...) \
  assert_same_bits(call(__VA_ARGS__), call(__VA_ARGS__, CX_SCALAR))
  SAME_DRAW(cx_uniform, k, CX_F32);
  SAME_DRAW(cx_normal, k, CX_F64);
  SAME_DRAW(cx_bernoulli, k, 0.5);
  SAME_DRAW(cx_randint, k, 0, 9);
  SAME_DRAW(cx_randint_as, k, CX_U8, 0, 9);
  SAME_DRAW(cx_truncated_normal, k, -1, 1, CX_F32);
  SAME_DRAW(cx_gumbel, k, CX_F32);
  SAME_DRAW(cx_exponential, k, CX_F32);
  SAME_DRAW(cx_pareto, k, 2, CX_F32);
  SAME_DRAW(cx_beta, k, 2, 3, CX_F32);
  SAME_DRAW(cx_triangular, k, 0, 1, 2, CX_F32);
  SAME_DRAW(cx_dirichlet, k, alpha, CX_F32);
  SAME_DRAW(cx_geometric, k, 0.5, CX_I32);
  SAME_DRAW(cx_poisson, k, 3, CX_I32);
  SAME_DRAW(cx_binomial, k, 5, 0.5, CX_F32);
  assert_good();
}

static void axes_left_out_are_all(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_reshape(cx_iota(CX_I32, 0, 6), 1, 2, 3);
  assert_same_bits(cx_transpose(x), cx_transpose(x, 2, 1, 0));
  assert_same_bits(cx_flip(x), cx_flip(x, 0, 1, 2));
  assert_same_bits(cx_squeeze(x), cx_squeeze(x, 0));
  assert_good();
}

CX_STRUCT(setting, (cx, x));

CX_DEF(nothing_taken) {
  return cx_full(7, CX_F32, 2);
}
CX_DEF_ENV(twice_setting, setting, s) {
  return cx_mul(2, s->x);
}
CX_DEF(chosen, i, x) {
  cx_fn f = CX_BIND(twice_setting, .x = x);
  return cx_add(cx_switch(i, (CX_FN(nothing_taken), f)),
                cx_cond(cx_gt(i, 0), f, CX_FN(nothing_taken)));
}
CX_DEF(chosen_sum, i, x) {
  return cx_sum(chosen(i, x));
}

/* Branches that take nothing; what they use came as settings. */
static void branches_without_operands(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 1, 3), i = cx_scalar(1, CX_I32);
  cx first = cx_full(14, CX_F32, 2), second = cx_mul(4, x);
  assert_same_bits(cx_call(CX_FN(chosen), cx_scalar(0, CX_I32), x), first);
  assert_same_bits(cx_call(CX_FN(chosen), i, x), second);
  assert_same_bits(cx_call(cx_jit(CX_FN(chosen)), i, x), second);
  assert_same_bits(cx_call(cx_grad(CX_FN(chosen_sum), .wrt = CX_ARGS(1)), i, x),
                   cx_full(4, CX_F32, 2));
  cx both = cx_call(cx_vmap(CX_FN(chosen), .in = { 0, CX_NONE }),
                    cx_iota(CX_I32, 0, 2), x);
  assert_same_bits(both, cx_stack(0, first, second));
  assert_same_bits(cx_cond(true, CX_FN(nothing_taken), CX_FN(nothing_taken)),
                   cx_full(7, CX_F32, 2));
  assert_good();
}

static void functions_without_arguments(void **state) {
  (void)state;
  CX_SCOPE;
  cx_program *p = cx_trace(CX_FN(nothing_taken));
  cx_exe *exe = cx_compile(CX_FN(nothing_taken));
  assert_non_null(p);
  assert_non_null(exe);
  assert_non_null(strstr(cx_jaxpr(CX_FN(nothing_taken)), "f32[2]"));
  assert_non_null(strstr(cx_plan(CX_FN(nothing_taken)), "peak"));
  cx_program_free(p);
  cx_exe_free(exe);
  assert_int_equal(cx_len(cx_tuple_n(0, NULL)), 0);
  assert_good();
}

CX_DEF(grown, state) {
  cx count = cx_at_add(cx_nth(state, 1), (), 2);
  return cx_tuple(cx_nth(state, 0), count);
}

static void empty_lists(void **state) {
  (void)state;
  CX_SCOPE;
  cx nested = cx_tuple(cx_tuple(), 1, cx_dict(), cx_dict("a", cx_tuple()));
  assert_int_equal(cx_len(nested), 4);
  assert_int_equal(cx_leaf_count(nested), 1);
  assert_int_equal(cx_len(cx_nth(nested, 2)), 0);
  assert_int_equal(cx_len(cx_get(nested, "3.a")), 0);
  cx one = cx_full(3, CX_F32), put = cx_at_set(one, (), 5);
  assert_true(cx_item(put) == 5 && cx_ndim(put) == 0);
  assert_true(cx_item(cx_at_get(put, ())) == 5);
  cx matrix = cx_ones(CX_F32, 2, 3);
  assert_same_bits(cx_at_mul(matrix, (), 4), cx_full(4, CX_F32, 2, 3));
  assert_same_bits(cx_at_get(matrix, ()), matrix);
  cx_fn fast = cx_jit(CX_FN(grown));
  cx now = cx_call(fast, cx_tuple(cx_tuple(), cx_full(1, CX_I32)));
  assert_int_equal(cx_item(cx_nth(now, 1)), 3);
  assert_good();
}

/* -- starts of all axes --------------------------------------------------- */

CX_DEF(sliced, x, i, j) {
  return cx_dynamic_slice(x, (i, j), (2, 3));
}
CX_DEF(updated, x, u, i, j) {
  return cx_dynamic_update(x, u, (i, j));
}
CX_DEF(slice_sum, x, i, j) {
  return cx_sum(cx_square(sliced(x, i, j)));
}

static void slices_in_all_axes(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_reshape(cx_arange(0, 20, 1, CX_F32), 4, 5);
  cx i = cx_scalar(1, CX_I32), j = cx_scalar(2, CX_U8);
  cx want = cx_index(x, CX_RANGE(1, 3), CX_RANGE(2, 5));
  assert_same_bits(cx_dynamic_slice(x, (i, j), (2, 3)), want);
  assert_same_bits(cx_dynamic_slice(x, (1, 2), (2, 3)), want);
  assert_same_bits(cx_dynamic_slice(x, (cx_stack(0, 1, 2)), (2, 3)), want);
  assert_same_bits(cx_dynamic_slice(x, (-3, -3), (CX_SHAPE(2, 3))), want);
  assert_same_bits(cx_dynamic_slice(x, (9, 2), (2, 3)),
                   cx_index(x, CX_RANGE(2, 4), CX_RANGE(2, 5)));
  assert_same_bits(cx_call(cx_jit(CX_FN(sliced)), x, i, j), want);
  assert_same_bits(cx_dynamic_slice(x, (cx_scalar(1, CX_I64), j), (2, 3)),
                   want);
  cx u = cx_full(-1, CX_F32, 2, 3);
  cx put = cx_dynamic_update(x, u, (i, j));
  assert_same_bits(cx_dynamic_slice(put, (i, j), (2, 3)), u);
  assert_same_bits(put, cx_at_set(x, (CX_RANGE(1, 3), CX_RANGE(2, 5)), -1));
  assert_same_bits(cx_dynamic_update(x, cx_full(-1, CX_F32, 1, 1), (3, -1)),
                   cx_at_set(x, (3, 4), -1));
  assert_same_bits(
      cx_call(cx_grad(CX_FN(slice_sum)), x, i, j),
      cx_dynamic_update(cx_zeros_like(x), cx_mul(2, want), (i, j)));
  cx all = cx_call(cx_vmap(CX_FN(updated), .in = { CX_NONE, CX_NONE, 0, 0 }), x,
                   u, cx_array(int32_t, 0, 1), cx_array(int32_t, 1, 2));
  assert_same_bits(cx_index(all, 1), put);
  assert_good();
}

static void wrong_starts(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, 4, 5);
  cx r = cx_dynamic_slice(x, (1), (2, 3));
  assert_error(CX_ESHAPE, "dynamic_slice: 1 starts for f32[4,5]");
  r = cx_dynamic_slice(x, (1, 2, 3), (2, 3));
  assert_error(CX_ESHAPE, "dynamic_slice: 3 starts for f32[4,5]");
  r = cx_dynamic_slice(x, (1, 2), (2, 6));
  assert_error(CX_ESHAPE, "dynamic_slice: sizes [2,6] of f32[4,5]");
  r = cx_dynamic_slice(x, (1, 2), (2));
  assert_error(CX_ESHAPE, "dynamic_slice: sizes [2] of f32[4,5]");
  r = cx_dynamic_slice(x, (1, 2.5), (2, 3));
  assert_error(CX_EDTYPE, "dynamic_slice");
  r = cx_dynamic_update(x, cx_ones(CX_F32, 2, 2),
                        (cx_zeros(CX_I32, 1), cx_zeros(CX_I32, 1)));
  assert_error(CX_ESHAPE, "start 0 is i32[1], not a scalar");
  r = cx_dynamic_update(x, cx_ones(CX_F32, 5, 2), (0, 0));
  assert_error(CX_ESHAPE, "dynamic_update_slice");
  r = cx_dynamic_update(x, cx_ones(CX_F64, 2, 2), (0, 0));
  assert_error(CX_EDTYPE, "dynamic_update");
  (void)r;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(sizes_left_out_are_a_scalar),
    cmocka_unit_test(one_draw),
    cmocka_unit_test(axes_left_out_are_all),
    cmocka_unit_test(branches_without_operands),
    cmocka_unit_test(functions_without_arguments),
    cmocka_unit_test(empty_lists),
    cmocka_unit_test(slices_in_all_axes),
    cmocka_unit_test(wrong_starts),
  };
  return cmocka_run_group_tests_name("short_forms", tests, setup, teardown);
}
