/* collective_wrong_test.c - wrong uses of collectives. */
#include "support/wrong.h"

static cx over(cx_fn f, cx x) {
  return cx_call(cx_vmap(f, .axis_name = "i"), x);
}
CX_DEF(sum, x) {
  return cx_psum(x, "i");
}
CX_DEF(rotate, x) {
  return cx_ppermute(x, "i", (0, 1), (1, 2), (2, 0));
}

#define LANES(name, body)                                   \
  CX_DEF(name##_lane, x) {                                  \
    (void)x;                                                \
    return body;                                            \
  }                                                         \
  static cx name(void) {                                    \
    return over(CX_FN(name##_lane), cx_ones(CX_F32, 3, 2)); \
  }
LANES(no_such_name, cx_psum(x, "j"))
LANES(no_such_of_two, cx_pmax(x, "i", "k"))
LANES(twice, cx_pmean(x, "i", "i"))
LANES(no_name, cx_psum(x, ""))
LANES(null_name, cx_axis_index(NULL))
LANES(index_name, cx_axis_index("rows"))
LANES(size_name, cx_full_like(x, (int)cx_axis_size("rows")))
LANES(far_lane, cx_pbroadcast(x, "i", 3))
LANES(negative_lane, cx_pbroadcast(x, "i", -1))
LANES(sends_twice, cx_ppermute(x, "i", (0, 1), (0, 2)))
LANES(receives_twice, cx_ppermute(x, "i", (0, 1), (2, 1)))
LANES(far_receiver, cx_ppermute(x, "i", (0, 7)))
LANES(short_shuffle, cx_pshuffle(x, "i", 1, 0))
LANES(repeated_shuffle, cx_pshuffle(x, "i", 1, 0, 0))
LANES(gather_axis, cx_all_gather(x, "i", 2))
LANES(gather_axis_tiled, cx_all_gather(x, "i", 1, .tiled = true))
LANES(scatter_size, cx_psum_scatter(x, "i", 0))
LANES(scatter_size_tiled, cx_psum_scatter(x, "i", 0, .tiled = true))
LANES(scatter_axis, cx_psum_scatter(x, "i", -2))
LANES(exchange_size, cx_all_to_all(x, "i", 0, 0))
LANES(exchange_axis, cx_all_to_all(cx_ones(CX_F32, 3, 3), "i", 0, 5))
LANES(sum_of_keys, cx_psum(cx_key(0), "i"))
LANES(of_nothing, cx_psum(cx_none(), "i"))
LANES(unknown_kind,
      cx_collective_((cx_coll)9, x, 1, (const char *const[]){ "i" }, NULL))
CX_DEF(is_large, x) {
  return cx_gt(cx_max(cx_abs(x)), 9);
}
CX_DEF(less_mean, x) {
  return cx_sub(x, cx_add(cx_pmean(x, "i"), 1));
}
CX_DEF(inner_loop, x) {
  return cx_while(CX_FN(is_large), CX_FN(less_mean), x);
}
LANES(loop_in_loop, cx_while(CX_FN(is_large), CX_FN(inner_loop), x))
LANES(loop_in_branch, cx_cond(is_large(x), CX_FN(inner_loop), CX_FN(sum), x))
CX_DEF(add_index, a, b) {
  return cx_add(a, b, cx_cast(cx_axis_index("i"), CX_F32));
}
LANES(in_reduce, cx_reduce(CX_FN(add_index), x, 0.0, 0))
static cx outside(void) {
  return cx_psum(cx_ones(CX_F32, 3), "i");
}
static cx outside_jit(void) {
  return cx_call(cx_jit(CX_FN(sum)), cx_ones(CX_F32, 3));
}
static cx not_shared(void) {
  return cx_call(cx_vmap(CX_FN(rotate), .axis_name = "i", .out = { CX_NONE }),
                 cx_ones(CX_F32, 3));
}

static const wrong wrong_uses[] = {
  { no_such_name, CX_ETRACE,
    "psum: no vmap around it has the axis name \"j\"; there are \"i\"" },
  { no_such_of_two, CX_ETRACE,
    "pmax: no vmap around it has the axis name \"k\"" },
  { twice, CX_EUSER, "pmean: the axis \"i\" is named twice" },
  { no_name, CX_EUSER, "psum: the axis has no name" },
  { null_name, CX_EUSER, "axis_index: the axis has no name" },
  { index_name, CX_ETRACE, "axis_index: no vmap around it has the axis name" },
  { size_name, CX_ETRACE, "axis_size: no vmap around it has the axis name" },
  { far_lane, CX_EINDEX,
    "pbroadcast: there is no lane 3 of the 3 along \"i\"" },
  { negative_lane, CX_EINDEX, "pbroadcast: there is no lane -1 of the 3" },
  { sends_twice, CX_EUSER, "ppermute: a lane sends or receives twice" },
  { receives_twice, CX_EUSER, "ppermute: a lane sends or receives twice" },
  { far_receiver, CX_EINDEX, "ppermute: there is no lane 7 of the 3" },
  { short_shuffle, CX_EUSER,
    "pshuffle: 2 lanes are listed, along \"i\" there are 3" },
  { repeated_shuffle, CX_EUSER, "a lane sends or receives twice" },
  { gather_axis, CX_EINDEX, "all_gather: axis 2 is out of range for f32[2]" },
  { gather_axis_tiled, CX_EINDEX,
    "all_gather: axis 1 is out of range for f32[2]" },
  { scatter_size, CX_ESHAPE,
    "psum_scatter: axis 0 of f32[2] is not 3, the lanes along \"i\"" },
  { scatter_size_tiled, CX_ESHAPE,
    "psum_scatter: axis 0 of f32[2] is not a multiple of 3" },
  { scatter_axis, CX_EINDEX,
    "psum_scatter: axis -2 is out of range for f32[2]" },
  { exchange_size, CX_ESHAPE, "all_to_all: axis 0 of f32[2] is not 3" },
  { exchange_axis, CX_EINDEX,
    "all_to_all: axis 5 is out of range for f32[3,3]" },
  { sum_of_keys, CX_EDTYPE, "psum: needs" },
  { of_nothing, CX_ETREE, "psum: needs an array, got none" },
  { unknown_kind, CX_EUSER, "collective: 9 is none" },
  { loop_in_loop, CX_ENORULE,
    "while: the lanes along \"i\" stop apart, so no loop inside it may join" },
  { loop_in_branch, CX_ENORULE,
    "cond: the lanes along \"i\" take branches of their own" },
  { in_reduce, CX_EUSER, "names the axis \"i\" of a vmap" },
  { outside, CX_ETRACE, "psum: no vmap around it has the axis name \"i\"" },
  { outside_jit, CX_ETRACE, "psum: no vmap around it has the axis name \"i\"" },
  { not_shared, CX_ESHAPE, "depends on the mapped axis" },
};

static void wrong_calls(void **state) {
  (void)state;
  CHECK(wrong_uses);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(wrong_calls) };
  return cmocka_run_group_tests(tests, setup, teardown);
}
