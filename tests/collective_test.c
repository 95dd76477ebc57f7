/* collective_test.c - collectives against the same on whole arrays: the lanes
 * of a vmap are axis 0. */
#include "calx/testing.h"
#include "support/calls.h"

static cx over(cx_fn f, cx x) {
  return cx_call(cx_vmap(f, .axis_name = "i"), x);
}

/* (3,2,4), all different */
static cx cube(cx_dtype type) {
  return cx_cast(cx_reshape(cx_arange(0, 24, 1, CX_I32), 3, 2, 4), type);
}

static const cx_dtype numbers[] = { CX_I8,  CX_I16,  CX_I32, CX_I64,
                                    CX_U8,  CX_U16,  CX_U32, CX_U64,
                                    CX_F16, CX_BF16, CX_F32, CX_F64 };
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

/* -- reductions ------------------------------------------------------------ */

CX_DEF(sum, x) {
  return cx_psum(x, "i");
}
CX_DEF(mean, x) {
  return cx_pmean(x, "i");
}
CX_DEF(greatest, x) {
  return cx_pmax(x, "i");
}
CX_DEF(least, x) {
  return cx_pmin(x, "i");
}
CX_DEF(shared, x) { /* of what all lanes share: 3 times, or itself */
  cx two = cx_full(2, CX_F32, 5);
  return cx_tuple(cx_psum(two, "i"), cx_pmean(two, "i"), cx_pmax(two, "i"),
                  cx_psum(1, "i"), cx_pmin(x, "i"));
}

static void reductions(void **state) {
  (void)state;
  for (int i = 0; i < N_NUMBERS; i++) {
    CX_SCOPE;
    const cx_dtype type = numbers[i];
    const cx x = cube(type);
    const cx_fn once =
        cx_vmap(CX_FN(sum), .out = { CX_NONE }, .axis_name = "i");
    cx y = cx_call(once, x);
    assert_int_equal(cx_type(y), type);
    assert_same_bits(cx_cast(y, CX_F64), cx_sum(cube(CX_F64), 0));
    assert_same_bits(over(CX_FN(sum), x), cx_stack(0, y, y, y));
    y = cx_call(cx_vmap(CX_FN(greatest), .out = { CX_NONE }, .axis_name = "i"),
                x);
    assert_same_bits(y, cx_max(x, 0));
    y = cx_call(cx_vmap(CX_FN(least), .out = { CX_NONE }, .axis_name = "i"), x);
    assert_same_bits(y, cx_min(x, 0));
    y = cx_call(cx_vmap(CX_FN(mean), .out = { CX_NONE }, .axis_name = "i"), x);
    assert_same_bits(cx_cast(y, CX_F64), cx_mean(cube(CX_F64), 0));
  }
  CX_SCOPE;
  const cx flags = cx_gt(cube(CX_F32), 11);
  assert_same_bits(cx_index(over(CX_FN(sum), flags), 0),
                   cx_sum(cx_cast(flags, CX_I32), 0));
  assert_same_bits(cx_index(over(CX_FN(greatest), flags), 0), cx_any(flags, 0));
  const cx_fn f =
      cx_vmap(CX_FN(shared), .axis_name = "i",
              .out = { CX_NONE, CX_NONE, CX_NONE, CX_NONE, CX_NONE });
  assert_same_bits(cx_call(f, cx_array(float, 3, 1, 2)),
                   cx_tuple(cx_full(6, CX_F32, 5), cx_full(2, CX_F32, 5),
                            cx_full(2, CX_F32, 5), 3, cx_lit_f(1)));
}

/* The bits are those of a sum over the axis, wherever the axis is. */
static void bits_of_sums(void **state) {
  (void)state;
  static const cx_dtype floats[] = { CX_F16, CX_BF16, CX_F32, CX_F64 };
  for (int i = 0; i < 4; i++) {
    CX_SCOPE;
    const cx x = cx_random_like(cx_spec(floats[i], 150, 7), 3);
    const cx_fn rows =
        cx_vmap(CX_FN(sum), .out = { CX_NONE }, .axis_name = "i");
    const cx_fn columns =
        cx_vmap(CX_FN(sum), .in = { 1 }, .out = { CX_NONE }, .axis_name = "i");
    assert_same_bits(cx_call(rows, x), cx_sum(x, 0));
    assert_same_bits(cx_call(columns, x), cx_sum(x, 1));
    assert_same_bits(cx_call(cx_jit(rows), x), cx_sum(x, 0));
  }
}

/* -- lanes ------------------------------------------------------------------ */

CX_DEF(where_am_i, x) {
  return cx_tuple(cx_axis_index("i"),
                  cx_add(cx_mul(x, 0), (double)cx_axis_size("i")));
}
CX_DEF(from_one, x) {
  return cx_pbroadcast(x, "i", 1);
}
CX_DEF(rotate, x) {
  return cx_ppermute(x, "i", (0, 1), (1, 2), (2, 0));
}
CX_DEF(shift, x) { /* lane 0 receives nothing */
  return cx_ppermute(x, "i", (0, 1), (1, 2));
}
CX_DEF(shuffle, x) {
  return cx_pshuffle(x, "i", 1, 2, 0);
}
CX_DEF(move_shared, x) {
  cx c = cx_full_like(x, 7);
  return cx_tuple(cx_pshuffle(c, "i", 2, 1, 0), cx_ppermute(c, "i", (2, 0)),
                  cx_pbroadcast(c, "i", 0));
}

static void lanes(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cube(CX_F32);
  const cx a = cx_index(x, 0), b = cx_index(x, 1), c = cx_index(x, 2);
  const cx zero = cx_zeros_like(a), seven = cx_full_like(a, 7);
  assert_same_bits(over(CX_FN(where_am_i), x),
                   cx_tuple(cx_array(int32_t, 0, 1, 2), cx_full_like(x, 3)));
  assert_same_bits(over(CX_FN(from_one), x), cx_stack(0, b, b, b));
  assert_same_bits(over(CX_FN(rotate), x), cx_stack(0, c, a, b));
  assert_same_bits(over(CX_FN(shift), x), cx_stack(0, zero, a, b));
  assert_same_bits(over(CX_FN(shuffle), x), cx_stack(0, b, c, a));
  const cx sevens = cx_stack(0, seven, seven, seven);
  assert_same_bits(over(CX_FN(move_shared), x),
                   cx_tuple(sevens, cx_stack(0, seven, zero, zero), sevens));
  const cx_fn middle =
      cx_vmap(CX_FN(rotate), .in = { 1 }, .out = { 1 }, .axis_name = "i");
  const cx turned = cx_transpose(x, 1, 0, 2);
  assert_same_bits(cx_call(middle, turned),
                   cx_transpose(cx_stack(0, c, a, b), 1, 0, 2));
  const cx flags = cx_gt(x, 11), keys = cx_split_n(cx_key(0), 3);
  assert_same_bits(over(CX_FN(rotate), flags), cx_roll(flags, 1, 0));
  assert_same_bits(over(CX_FN(rotate), keys), cx_roll(keys, 1, 0));
}

/* -- parts ------------------------------------------------------------------ */

CX_DEF(gather_0, x) {
  return cx_all_gather(x, "i", 0);
}
CX_DEF(gather_last, x) {
  return cx_all_gather(x, "i", -1);
}
CX_DEF(gather_tiled, x) {
  return cx_all_gather(x, "i", 1, .tiled = true);
}

static void gathers(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cube(CX_F32);
  assert_same_bits(over(CX_FN(gather_0), x), cx_stack(0, x, x, x));
  const cx last = cx_transpose(x, 1, 2, 0);
  assert_same_bits(over(CX_FN(gather_last), x), cx_stack(0, last, last, last));
  const cx tiled = cx_reshape(cx_transpose(x, 1, 0, 2), 2, 12);
  assert_same_bits(over(CX_FN(gather_tiled), x),
                   cx_stack(0, tiled, tiled, tiled));
  const cx_fn once =
      cx_vmap(CX_FN(gather_tiled), .out = { CX_NONE }, .axis_name = "i");
  assert_same_bits(cx_call(once, x), tiled);
}

CX_DEF(scatter, x) { /* (2,4,3) of which lane k gets (2,4) */
  return cx_psum_scatter(x, "i", -1);
}
CX_DEF(scatter_tiled, x) { /* (2,6,1) of which it gets (2,2,1) */
  return cx_psum_scatter(x, "i", 1, .tiled = true);
}
CX_DEF(scatter_shared, x) {
  cx y = cx_mul(cx_iota(CX_I32, 0, 3, 2), 10);
  return cx_tuple(x, cx_psum_scatter(y, "i", 0));
}

static void scatters(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_random_like(cx_spec(CX_F32, 3, 2, 4, 3), 1);
  const cx sum = cx_sum(x, 0);
  assert_same_bits(over(CX_FN(scatter), x), cx_transpose(sum, 2, 0, 1));
  const cx y = cx_reshape(cx_index(x, 0), 2, 6, 2);
  const cx z = cx_transpose(y, 2, 0, 1); /* two lanes of (2,6) */
  const cx lanes3 = cx_expand(
      cx_stack(0, cx_index(z, 0), cx_index(z, 1), cx_index(z, 0)), -1);
  const cx total = cx_reshape(cx_sum(lanes3, 0), 2, 3, 2, 1);
  assert_same_bits(over(CX_FN(scatter_tiled), lanes3),
                   cx_transpose(total, 1, 0, 2, 3));
  assert_same_bits(cx_nth(over(CX_FN(scatter_shared), x), 1),
                   cx_reshape(cx_array(int32_t, 0, 0, 30, 30, 60, 60), 3, 2));
}

CX_DEF(turn_01, x) {
  return cx_all_to_all(x, "i", 0, 1);
}
CX_DEF(turn_10, x) {
  return cx_all_to_all(x, "i", 1, 0);
}
CX_DEF(turn_11, x) {
  return cx_all_to_all(x, "i", 1, 1);
}
CX_DEF(turn_tiled, x) {
  return cx_tuple(cx_all_to_all(x, "i", 0, 2, .tiled = true),
                  cx_all_to_all(x, "i", 2, 0, .tiled = true),
                  cx_all_to_all(x, "i", 1, 1, .tiled = true));
}

/* Part k along `split` of each lane, joined along `concat`, for each k. */
static cx exchanged(cx x, int split, int concat) {
  cx out[3];
  for (int k = 0; k < 3; k++) {
    cx got[3];
    for (int j = 0; j < 3; j++)
      got[j] = cx_nth(cx_split_axis(cx_index(x, j), 3, split), k);
    out[k] = cx_concat(concat, got[0], got[1], got[2]);
  }
  return cx_stack(0, out[0], out[1], out[2]);
}

static void exchanges(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_random_like(cx_spec(CX_F32, 3, 3, 2, 5), 1);
  /* lane k of the result: [a][j][b] = lane j: [k][a][b] */
  assert_same_bits(over(CX_FN(turn_01), x), cx_transpose(x, 1, 2, 0, 3));
  const cx y = cx_random_like(cx_spec(CX_F32, 3, 2, 3, 5), 2);
  /* [j][a][b] = lane j: [a][k][b] */
  assert_same_bits(over(CX_FN(turn_10), y), cx_transpose(y, 2, 0, 1, 3));
  assert_same_bits(over(CX_FN(turn_11), y), cx_transpose(y, 2, 1, 0, 3));
  const cx z = cx_random_like(cx_spec(CX_F32, 3, 6, 9, 3), 3);
  assert_same_bits(
      over(CX_FN(turn_tiled), z),
      cx_tuple(exchanged(z, 0, 2), exchanged(z, 2, 0), exchanged(z, 1, 1)));
}

/* -- several axes ---------------------------------------------------------- */

CX_DEF(two_names, x) {
  cx index = cx_axis_index("i", "j"), size = cx_full_like(index, 0);
  size = cx_add(size, (int)cx_axis_size("j", "i"));
  return cx_tuple(cx_psum(x, "i", "j"), cx_psum(x, "j"), cx_pmax(x, "j", "i"),
                  index, size, cx_all_gather(cx_all_gather(x, "j", 0), "i", 0),
                  cx_ppermute(x, "i", (0, 2)), cx_pmean(x, "i"));
}
CX_DEF(inner_j, x) {
  return cx_call(cx_vmap(CX_FN(two_names), .axis_name = "j"), x);
}
CX_DEF(inner_i, x) { /* hides the outer "i" */
  return cx_tuple(cx_psum(x, "i"),
                  cx_call(cx_vmap(CX_FN(sum), .axis_name = "i"), x));
}

static void nested(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cube(CX_F32); /* i: 3, j: 2 */
  const cx y = over(CX_FN(inner_j), x);
  const cx s = cx_sum(x, CX_AXES(0, 1));
  assert_same_bits(cx_nth(y, 0), cx_broadcast_to(s, 3, 2, 4));
  assert_same_bits(cx_nth(y, 1),
                   cx_broadcast_to(cx_sum(x, 1, .keepdims = true), 3, 2, 4));
  assert_same_bits(cx_nth(y, 2),
                   cx_broadcast_to(cx_max(x, CX_AXES(0, 1)), 3, 2, 4));
  assert_same_bits(cx_nth(y, 3), cx_reshape(cx_arange(0, 6, 1, CX_I32), 3, 2));
  assert_same_bits(cx_nth(y, 4), cx_full(6, CX_I32, 3, 2));
  assert_same_bits(cx_nth(y, 5), cx_broadcast_to(x, 3, 2, 3, 2, 4));
  const cx first = cx_index(x, 0), zero = cx_zeros_like(first);
  assert_same_bits(cx_nth(y, 6), cx_stack(0, zero, zero, first));
  assert_same_bits(cx_nth(y, 7),
                   cx_broadcast_to(cx_mean(x, 0, .keepdims = true), 3, 2, 4));
  const cx z = over(CX_FN(inner_i), x);
  assert_same_bits(cx_nth(z, 0), cx_broadcast_to(cx_sum(x, 0), 3, 2, 4));
  assert_same_bits(cx_nth(z, 1),
                   cx_broadcast_to(cx_sum(x, 1, .keepdims = true), 3, 2, 4));
}

/* Each collective of one axis inside a vmap over another. */
CX_DEF(all_of_i, x) { /* (2,3) */
  return cx_tuple(cx_psum(x, "i"), cx_pmin(x, "i"), cx_all_gather(x, "i", 1),
                  cx_psum_scatter(x, "i", 1), cx_all_to_all(x, "i", 1, 0),
                  cx_pshuffle(x, "i", 1, 2, 0), cx_pbroadcast(x, "i", 2),
                  cx_add(cx_mul(x, 0), cx_cast(cx_axis_index("i"), CX_F32)));
}
CX_DEF(unnamed_inside, x) {
  return cx_call(
      cx_vmap(CX_FN(all_of_i), .in = { 1 }, .out = { 0, 0, 0, 0, 0, 0, 0, 0 }),
      x);
}
CX_DEF(unnamed_outside, x) {
  return over(CX_FN(all_of_i), x);
}

static void another_axis(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_random_like(cx_spec(CX_F32, 3, 2, 5, 3), 1);
  const cx y = over(CX_FN(unnamed_inside), x);
  const cx z = cx_call(cx_vmap(CX_FN(unnamed_outside), .in = { 2 }), x);
  for (int k = 0; k < 5; k++) {
    const cx want = over(CX_FN(all_of_i), cx_take(x, k, 2));
    for (int i = 0; i < 8; i++) {
      assert_same_bits(cx_take(cx_nth(y, i), k, 1), cx_nth(want, i));
      assert_same_bits(cx_index(cx_nth(z, i), k), cx_nth(want, i));
    }
  }
}

/* -- trees, ranks, programs ------------------------------------------------- */

CX_DEF(tree_sum, t) {
  return cx_psum(t, "i");
}

static void trees(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2, 4);
  const cx t = cx_dict("a", x, "b", cx_tuple(cx_cast(x, CX_I32), cx_none()));
  const cx_fn f =
      cx_vmap(CX_FN(tree_sum), .axis_name = "i", .out_tree = cx_none());
  assert_same_bits(cx_call(f, t),
                   cx_dict("a", cx_lit_f(7), "b", cx_tuple(7, cx_none())));
}

/* Seven axes beside the lanes'. */
CX_DEF(seven_axes, x) {
  cx y = cx_all_to_all(x, "i", 6, 0, .tiled = true);
  y = cx_psum_scatter(y, "i", 0, .tiled = true);
  return cx_all_gather(y, "i", 3, .tiled = true);
}

static void ranks(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_random_like(cx_spec(CX_F32, 2, 1, 2, 1, 3, 1, 2, 4), 1);
  const cx y = over(CX_FN(seven_axes), x);
  assert_string_equal(cx_show(y), "f32[2,1,2,1,6,1,2,2]");
  const cx none = cx_zeros(CX_F32, 3, 0, 2);
  assert_same_bits(over(CX_FN(gather_tiled), none), cx_zeros(CX_F32, 3, 0, 6));
  assert_same_bits(over(CX_FN(sum), none), none);
}

/* A program keeps its collectives, and their names, as text. */
CX_DEF(printed, x) {
  return cx_psum(cx_ppermute(x, "i", (0, 1)), "i");
}
CX_DEF(program_inside, x) {
  (void)cx_jaxpr(CX_FN(printed), x);
  return printed(x);
}

static void programs(void **state) {
  (void)state;
  CX_SCOPE;
  const cx x = cx_array(float, 1, 2);
  assert_same_bits(over(CX_FN(program_inside), x), cx_array(float, 1, 1));
  static const char text[] =
      "program @f(%0: f32[2]) {\n"
      "  %1: f32[2] = ppermute[axes=(\"i\"), from=(0), to=(1)] %0\n"
      "  %2: f32[2] = psum[axes=(\"i\")] %1\n"
      "  return %2\n"
      "}\n";
  cx_program *p = cx_program_parse(text);
  assert_non_null(p);
  assert_string_equal(cx_program_text(p), text);
  const cx ones = cx_ones(CX_F32, 3, 2);
  assert_same_bits(over(cx_program_fn(p), ones), ones);
  cx r = cx_call(cx_program_fn(p), cx_index(ones, 0));
  assert_error(CX_ETRACE, "no vmap around it has the axis name \"i\"");
  cx_error(NULL);
  r = cx_call(cx_jit(cx_program_fn(p)), cx_index(ones, 0));
  assert_error(CX_ETRACE, "no vmap around it has the axis name \"i\"");
  cx_error(NULL);
  const cx_fn wide = cx_vmap(cx_program_fn(p), .axis_name = "i");
  r = cx_call(wide, cx_ones(CX_F32, 1, 2));
  assert_error(CX_EINDEX,
               "ppermute: from lane 0 to 1, along \"i\" there are 1");
  cx_error(NULL);
  cx_drop(r);
  cx_program_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(reductions), cmocka_unit_test(bits_of_sums),
    cmocka_unit_test(lanes),      cmocka_unit_test(gathers),
    cmocka_unit_test(scatters),   cmocka_unit_test(exchanges),
    cmocka_unit_test(nested),     cmocka_unit_test(another_axis),
    cmocka_unit_test(trees),      cmocka_unit_test(ranks),
    cmocka_unit_test(programs),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
