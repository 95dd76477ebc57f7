/* wrong_use_test.c - wrong shapes, dtypes, axes and trees. */
#include "support/wrong.h"

static cx ones(int64_t n) {
  return cx_ones(CX_F32, n);
}
static cx matrix(int64_t n, int64_t m) {
  return cx_ones(CX_F32, n, m);
}
static cx ints(int64_t n) {
  return cx_zeros(CX_I32, n);
}

/* -- shapes --------------------------------------------------------------- */

static cx add_shapes(void) {
  return cx_add(matrix(2, 3), ones(4));
}
static cx reshape_count(void) {
  return cx_reshape(ones(6), 4, -1);
}
static cx reshape_two(void) {
  return cx_reshape(ones(6), -1, -1);
}
static cx concat_shapes(void) {
  return cx_concat(0, matrix(2, 3), matrix(2, 4));
}
static cx stack_shapes(void) {
  return cx_stack(0, ones(2), ones(3));
}
static cx broadcast_shape(void) {
  return cx_broadcast_to(ones(3), 2, 4);
}
static cx split_shape(void) {
  return cx_split_axis(ones(5), 2, 0);
}
static cx einsum_sizes(void) {
  return cx_einsum("ij,jk->ik", matrix(2, 3), matrix(4, 5));
}
static cx einsum_rank(void) {
  return cx_einsum("ijk->i", matrix(2, 3));
}
static cx einsum_letter(void) {
  return cx_einsum("ij->k", matrix(2, 3));
}
static cx matmul_scalar(void) {
  return cx_matmul(2, ones(3));
}
static cx where_shapes(void) {
  return cx_where(cx_gt(ones(2), 0), ones(3), ones(3));
}
static cx pad_pairs(void) {
  return cx_pad(matrix(2, 2), 0, (1, 1));
}
static cx pad_negative(void) {
  return cx_pad(ones(2), 0, (-3, 0));
}
static cx slice_size(void) {
  return cx_dynamic_slice(ones(3), 0, 4, 0);
}
static cx update_size(void) {
  return cx_dynamic_update(ones(3), ones(4), 0, 0);
}
static cx set_shape(void) {
  return cx_at_set(matrix(3, 4), (0), ones(3));
}
static cx norm_gamma(void) {
  return cx_layer_norm(matrix(2, 3), ones(2), ones(3));
}
static cx entropy_labels(void) {
  return cx_cross_entropy(matrix(2, 3), ints(3), -1);
}
static cx squeeze_size(void) {
  return cx_squeeze(matrix(2, 3), 0);
}
static cx many_dims(void) {
  return cx_zeros(CX_F32, 1, 1, 1, 1, 1, 1, 1, 1, 1);
}
static cx negative_size(void) {
  return cx_zeros(CX_F32, -3);
}
static cx huge_size(void) {
  return cx_zeros(CX_F32, 1ll << 40, 1ll << 40);
}
static cx tril_rank(void) {
  return cx_tril(ones(3), 0);
}
static cx sizes_rank(void) {
  int64_t a, b;
  cx_sizes(ones(3), &a, &b);
  return cx_ones(CX_F32, a, b);
}

/* -- dtypes --------------------------------------------------------------- */

static cx add_dtypes(void) {
  return cx_add(ones(2), ints(2));
}
static cx float_literal(void) {
  return cx_add(ints(2), 0.5);
}
static cx and_floats(void) {
  return cx_and(ones(2), ones(2));
}
static cx shift_floats(void) {
  return cx_shl(ones(2), 1);
}
static cx sine_of_ints(void) {
  return cx_sin(ints(2));
}
static cx negative_bool(void) {
  return cx_neg(cx_gt(ones(2), 0));
}
static cx take_floats(void) {
  return cx_take(ones(4), ones(2), 0);
}
static cx index_floats(void) {
  return cx_index(ones(4), ones(2));
}
static cx pick_floats(void) {
  return cx_pick(matrix(2, 4), ones(2));
}
static cx uniform_of_ints(void) {
  return cx_uniform(ints(2), CX_F32, 2);
}
static cx uniform_ints(void) {
  return cx_uniform(cx_key(0), CX_I32, 2);
}
static cx key_arithmetic(void) {
  return cx_add(cx_key(0), 1);
}
static cx cast_key(void) {
  return cx_cast(cx_key(0), CX_F32);
}
static cx bitcast_sizes(void) {
  return cx_bitcast(cx_gt(ones(3), 0), CX_F64);
}
static cx where_floats(void) {
  return cx_where(ones(2), 1.0, 2.0);
}
static cx matmul_dtypes(void) {
  return cx_matmul(matrix(2, 2), cx_zeros(CX_F64, 2, 2));
}
static cx bad_dtype(void) {
  return cx_zeros((cx_dtype)77, 2);
}
static cx read_dtype(void) {
  double d[2];
  cx_read(ones(2), d, 2);
  return cx_none();
}

/* -- axes ----------------------------------------------------------------- */

static cx sum_axis(void) {
  return cx_sum(matrix(2, 3), 2);
}
static cx sum_twice(void) {
  return cx_sum(matrix(2, 3), CX_AXES(0, -2));
}
static cx argmax_axis(void) {
  return cx_argmax(ones(2), 1);
}
static cx argmax_empty(void) {
  return cx_argmax(ones(0), 0);
}
static cx max_empty(void) {
  return cx_max(ones(0));
}
static cx transpose_twice(void) {
  return cx_transpose(matrix(2, 3), 0, 0);
}
static cx transpose_few(void) {
  return cx_transpose(matrix(2, 3), 0);
}
static cx expand_twice(void) {
  return cx_expand(ones(2), 0, 0);
}
static cx concat_axis(void) {
  return cx_concat(1, ones(2), ones(2));
}
static cx flip_axis(void) {
  return cx_flip(ones(2), -2);
}
static cx softmax_axis(void) {
  return cx_softmax(ones(2), 3);
}
static cx swap_axes(void) {
  return cx_swap_axes(matrix(2, 3), 0, 2);
}
static cx many_indices(void) {
  return cx_index(ones(2), 0, 0);
}
static cx index_range(void) {
  return cx_index(ones(2), 2);
}
static cx zero_step(void) {
  return cx_index(ones(2), CX_STEP(0));
}
static cx two_dots(void) {
  return cx_index(matrix(2, 2), CX_DOTS, CX_DOTS);
}

/* -- trees ---------------------------------------------------------------- */

static cx layers_tree(void) {
  return cx_dict("fc1", cx_dict("weight", matrix(2, 2), "bias", ones(2)), "fc2",
                 cx_dict("weight", matrix(2, 2), "bias", ones(2)));
}
static cx unknown_name(void) {
  return cx_get(layers_tree(), "fc2.bias_typo");
}
static cx unknown_prefix(void) {
  return cx_get(layers_tree(), "fc3.bias");
}
static cx name_of_leaf(void) {
  return cx_get(ones(2), "weight");
}
static cx nth_range(void) {
  return cx_nth(cx_tuple(1, 2), 2);
}
static cx nth_leaf(void) {
  return cx_nth(ones(2), 0);
}
static cx unpack_count(void) {
  cx a, b, c;
  cx_unpack(cx_tuple(1, 2), &a, &b, &c);
  return a;
}
static cx tree_structures(void) {
  return cx_add(cx_tuple(1, 2), cx_tuple(1, 2, 3));
}
static cx tree_names(void) {
  return cx_add(cx_dict("a", 1), cx_dict("b", 1));
}
static cx put_in_leaf(void) {
  return cx_put(cx_dict("a", 1), ones(2), "a.b");
}
static cx dict_twice(void) {
  return cx_dict("a", 1, "a", 2);
}
static cx array_of_tree(void) {
  return cx_matmul(layers_tree(), ones(2));
}
static cx leaf_range(void) {
  return cx_leaf(cx_tuple(1, 2), 2);
}
CX_STRUCT(linear_params, (cx, weight), (cx, bias));
static cx as_missing(void) {
  return cx_as(linear_params, cx_dict("weight", ones(2))).bias;
}
static cx as_extra(void) {
  return cx_as(linear_params, cx_dict("weight", 1, "bias", 2, "scale", 3)).bias;
}

static const wrong shapes[] = {
  { add_shapes, CX_ESHAPE,
    "add: shapes do not broadcast: f32[2,3] and f32[4]" },
  { reshape_count, CX_ESHAPE, "reshape: f32[6]" },
  { reshape_two, CX_ESHAPE, "reshape: " },
  { concat_shapes, CX_ESHAPE, "concatenate: axis 0: f32[2,3] and f32[2,4]" },
  { stack_shapes, CX_ESHAPE, "stack: " },
  { broadcast_shape, CX_ESHAPE, "broadcast_to: f32[3]" },
  { split_shape, CX_ESHAPE, "split_axis: " },
  { einsum_sizes, CX_ESHAPE, "\"j\" is 3 and 4" },
  { einsum_rank, CX_EUSER, "an operand has 2 axes, its letters are 3" },
  { einsum_letter, CX_EUSER, "einsum: \"ij->k\": " },
  { matmul_scalar, CX_ESHAPE, "matmul: " },
  { where_shapes, CX_ESHAPE, "where: " },
  { pad_pairs, CX_ESHAPE, "pad: " },
  { pad_negative, CX_ESHAPE, "pad: " },
  { slice_size, CX_ESHAPE, "dynamic_slice: " },
  { update_size, CX_ESHAPE,
    "dynamic_update_slice: a window of (4) does not fit into f32[3]" },
  { set_shape, CX_ESHAPE, "at_set: " },
  { norm_gamma, CX_ESHAPE, "layer_norm: " },
  { entropy_labels, CX_ESHAPE, "cross_entropy: " },
  { squeeze_size, CX_ESHAPE, "squeeze: " },
  { many_dims, CX_ESHAPE, "8" },
  { negative_size, CX_ESHAPE, "-3" },
  { huge_size, CX_ESHAPE, "" },
  { tril_rank, CX_ESHAPE, "tril: " },
  { sizes_rank, CX_ESHAPE, "f32[3]" },
};

static const wrong dtypes[] = {
  { add_dtypes, CX_EDTYPE, "add: dtypes differ: f32[2] and i32[2]" },
  { float_literal, CX_EDTYPE, "0.5" },
  { and_floats, CX_EDTYPE, "and: " },
  { shift_floats, CX_EDTYPE, "shift_left: needs an integer dtype, got f32[2]" },
  { sine_of_ints, CX_EDTYPE, "sin: " },
  { negative_bool, CX_EDTYPE, "neg: " },
  { take_floats, CX_EDTYPE, "take: " },
  { index_floats, CX_EDTYPE, "index: " },
  { pick_floats, CX_EDTYPE, "pick: " },
  { uniform_of_ints, CX_EDTYPE, "uniform: " },
  { uniform_ints, CX_EDTYPE, "uniform: " },
  { key_arithmetic, CX_EDTYPE, "add: " },
  { cast_key, CX_EDTYPE, "key" },
  { bitcast_sizes, CX_EDTYPE, "bitcast: " },
  { where_floats, CX_EDTYPE, "where: " },
  { matmul_dtypes, CX_EDTYPE, "matmul: dtypes differ: f32[2,2] and f64[2,2]" },
  { bad_dtype, CX_EDTYPE, "dtype" },
  { read_dtype, CX_EDTYPE, "read: " },
};

static const wrong axes[] = {
  { sum_axis, CX_EINDEX, "sum: axis 2" },
  { sum_twice, CX_EINDEX, "sum: " },
  { argmax_axis, CX_EINDEX, "argmax: axis 1" },
  { argmax_empty, CX_ESHAPE, "argmax: " },
  { max_empty, CX_ESHAPE, "max: " },
  { transpose_twice, CX_EINDEX, "transpose: " },
  { transpose_few, CX_EINDEX, "transpose: " },
  { expand_twice, CX_EINDEX, "expand: " },
  { concat_axis, CX_EINDEX, "concat: axis 1" },
  { flip_axis, CX_EINDEX, "flip: axis -2" },
  { softmax_axis, CX_EINDEX, "softmax: axis 3" },
  { swap_axes, CX_EINDEX, "swap_axes: axis 2" },
  { many_indices, CX_EINDEX, "index: " },
  { index_range, CX_EINDEX, "index: " },
  { zero_step, CX_EINDEX, "index: " },
  { two_dots, CX_EINDEX, "index: " },
};

static const wrong tree_uses[] = {
  { unknown_name, CX_ETREE,
    "no parameter named \"fc2.bias_typo\" (have 4, nearest \"fc2.bias\")" },
  { unknown_prefix, CX_ETREE, "no parameter named \"fc3.bias\"" },
  { name_of_leaf, CX_ETREE, "get: this is f32[2], not a tree" },
  { nth_range, CX_EINDEX, "nth: item 2 of a tree of 2" },
  { nth_leaf, CX_ETREE, "nth: " },
  { unpack_count, CX_ETREE, "unpack: " },
  { tree_structures, CX_ETREE, "add: " },
  { tree_names, CX_ETREE, "add: " },
  { put_in_leaf, CX_ETREE, "put: " },
  { dict_twice, CX_ETREE, "\"a\"" },
  { array_of_tree, CX_ETREE, "an array is needed, this is a tree" },
  { leaf_range, CX_EINDEX, "leaf: 2 of a tree with 2 leaves" },
  { as_missing, CX_ETREE, "bias" },
  { as_extra, CX_ETREE, "scale" },
};

static void wrong_shapes(void **state) {
  (void)state;
  CHECK(shapes);
}
static void wrong_dtypes(void **state) {
  (void)state;
  CHECK(dtypes);
}
static void wrong_axes(void **state) {
  (void)state;
  CHECK(axes);
}
static void wrong_trees(void **state) {
  (void)state;
  CHECK(tree_uses);
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(wrong_shapes),
    cmocka_unit_test(wrong_dtypes),
    cmocka_unit_test(wrong_axes),
    cmocka_unit_test(wrong_trees),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
